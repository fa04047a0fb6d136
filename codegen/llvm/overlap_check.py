"""`weft_overlaps(ctx)`: whether memory of a launch overlaps that its kernel assumes to be distinct (`ir/overlaps.py`).

    low(a) < high(b) and low(b) < high(a)      for each such pair

An array extends from its lowest byte to its highest. Two interleaved arrays, such as the even and odd elements of one
buffer, therefore count as overlapping. A launch calls the check before it runs anything. If the result is true, another
variant of the kernel runs, which assumes nothing.
"""

from __future__ import annotations

from functools import reduce

from weft.codegen.llvm.function import FunctionWriter, TargetHooks
from weft.codegen.llvm.memory_ops import read_slot
from weft.codegen.llvm.module import ModuleWriter
from weft.ir.ops import Kernel
from weft.ir.overlaps import apart, span_of
from weft.ir.types import Array, flatten

__all__ = ["write_check"]

_NAME = "weft_overlaps"

Span = tuple[str, str]


def write_check(module: ModuleWriter, target: TargetHooks, kernel: Kernel) -> str:
    """Add the function, if there is something to compare; gives its name, else nothing."""
    pairs = apart(kernel)
    if not pairs.arrays and not pairs.trees:
        return ""
    f = FunctionWriter(module, target)
    wanted = sorted({array for pair in pairs.arrays for array in pair} | {array for array, _ in pairs.trees})
    arrays = {array: _array(f, array) for array in wanted}
    trees = {tree: _tree(f, kernel, tree) for tree in sorted({tree for _, tree in pairs.trees})}
    met = [_meet(f, arrays[a], arrays[b]) for a, b in pairs.arrays]
    met += [_meet(f, arrays[a], trees[tree]) for a, tree in pairs.trees]
    some = reduce(lambda a, b: f.set(f"or i1 {a}, {b}"), met)
    body = "\n".join(["entry:", *f.lines, f"  ret i1 {some}"])
    module.functions.append(f"define zeroext i1 @{_NAME}(ptr noalias %ctx) {target.attributes} {{\n{body}\n}}\n")
    return _NAME


def _meet(f: FunctionWriter, a: Span, b: Span) -> str:
    one, other = f.set(f"icmp ult i64 {a[0]}, {b[1]}"), f.set(f"icmp ult i64 {b[0]}, {a[1]}")
    return f.set(f"and i1 {one}, {other}")


def _tree(f: FunctionWriter, kernel: Kernel, tree: int) -> Span:
    base = read_slot(f, f.module.slots.FIRST_TREE + tree, "i64")
    low, high = span_of(kernel, tree)
    return f.set(f"add i64 {base}, {low}") if low else base, f.set(f"add i64 {base}, {high}")


def _array(f: FunctionWriter, index: int) -> Span:
    """The first byte of an array, and the one after the last."""
    type, start = f.module.slots.params[index].type, f.module.slots.param_start[index]
    assert isinstance(type, Array)
    base, size = read_slot(f, start, "i64"), str(sum(prim.size for prim in flatten(type.elem)))
    extents = [read_slot(f, start + 1 + axis, "i64") for axis in range(type.ndim)]
    if type.contiguous:
        for extent in extents:
            size = f.set(f"mul i64 {size}, {extent}")
        return base, f.set(f"add i64 {base}, {size}")
    least, greatest = (f.module.declare(f"i64 @llvm.s{kind}.i64(i64, i64)") for kind in ("min", "max"))
    low, high = base, f.set(f"add i64 {base}, {size}")
    for axis, extent in enumerate(extents):
        stride = read_slot(f, start + 1 + type.ndim + axis, "i64")
        reach = f.set(f"mul i64 {f.set(f'sub i64 {extent}, 1')}, {stride}")
        low = f.set(f"add i64 {low}, {f.set(f'call i64 @{least}(i64 {reach}, i64 0)')}")
        high = f.set(f"add i64 {high}, {f.set(f'call i64 @{greatest}(i64 {reach}, i64 0)')}")
    return low, high
