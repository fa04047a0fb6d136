"""Numbers that a kernel takes or returns by value, in memory that can have a gradient: hidden arrays of one element.

    kernel @k(a: f64, a.box: [f64; 0] hidden=box, return.0.box: [f64; 0] hidden=box)

    %a = arg 0                                %a = load array_ptr (arg 1)[]
    return %y                        =>       store array_ptr (arg 2)[], %y
                                              return %y

A derivative then treats them as all memory. The launch puts the argument into its box. Nothing else writes to the box
of a parameter, so every load gives the value of the argument.
"""

from __future__ import annotations

from weft.ir import ops
from weft.ir.core import Builder
from weft.ir.symbols import BOX
from weft.ir.types import Array

__all__ = ["use_boxes"]


def use_boxes(kernel: ops.Kernel) -> None:
    """Load the parameters that have a box from it, and store the results that have one to it."""
    boxes = {param.name.removesuffix(f".{BOX}"): k for k, param in enumerate(kernel.params) if param.hidden == BOX}
    if not boxes:
        return
    for arg in kernel.all_of(ops.Arg):
        name = kernel.params[arg.index].name
        if name in boxes and not isinstance(arg.type, Array):
            build = Builder.at(arg)
            arg.replace(build.add(ops.Load(_place(kernel, build, boxes[name]))))
    for end in kernel.all_of(ops.Return):
        build = Builder.at(end)
        for k, value in enumerate(end.values):
            if f"return.{k}" in boxes:
                build.add(ops.Store(_place(kernel, build, boxes[f"return.{k}"]), value))


def _place(kernel: ops.Kernel, build: Builder, index: int) -> ops.ArrayPtr:
    return build.add(ops.ArrayPtr(build.add(ops.Arg(index, type=kernel.params[index].type)), []))
