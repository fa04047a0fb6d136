"""The recording kernel and the counting kernel of a gradient kernel that needs records (see `records.py`)."""

from __future__ import annotations

from weft.ir import ops
from weft.ir.autodiff.adjoints import filled
from weft.ir.autodiff.companions import Companions
from weft.ir.autodiff.records import RecordParam, Records
from weft.ir.autodiff.settling import settled
from weft.ir.autodiff.structure import structure
from weft.ir.core import Builder, Op, Value, pointee
from weft.ir.symbols import COUNTING
from weft.ir.types import pointer

__all__ = ["record"]


def record(kernel: ops.Kernel, fast_math: bool, param: RecordParam) -> None:
    """Let a kernel store the records that its gradient kernel reads, or store their number and do nothing else. `param`
    is the parameter for the records. The kernel gets the form that the gradient kernel is made from, which computes the
    same."""
    returned = _results_in_locals(kernel)
    structure(kernel)
    demand, _ = settled(kernel, Companions(kernel), fast_math, None, param)
    records = Records(demand, param)
    first = kernel.body.first
    build = Builder(kernel.body, first, kernel.span)
    counts = param[1] == COUNTING
    records.begin(build, stores=not counts)
    kernel.records = records.text
    if counts:
        records.count(build)
        _drop_from(first)
        kernel.results = ()
        return
    for value in records.values:
        records.store(value)
    if returned:
        end = Builder(kernel.body, None, kernel.span)
        end.add(ops.Return([end.add(ops.Load(local)) for local in returned]))


def _results_in_locals(kernel: ops.Kernel) -> list[Value]:
    """Let a kernel store its results to locals, and return nothing."""
    build = Builder(kernel.body, kernel.body.first, kernel.span)
    locals: list[Value] = [build.add(ops.Alloca(type=pointer(type), name="result")) for type in kernel.results]
    for local in locals:
        build.add(ops.Store(local, filled(build, pointee(local))))
    for end in kernel.all_of(ops.Return):
        at = Builder.at(end)
        for local, value in zip(locals, end.values, strict=True):
            at.add(ops.Store(local, value))
        end.set_operands([], (0,))
    return locals


def _drop_from(first: Op | None) -> None:
    """Erase an op and all that follow it."""
    dropped = list[Op]()
    while first is not None:
        dropped.append(first)
        first = first.next
    for op in reversed(dropped):
        op.erase()
