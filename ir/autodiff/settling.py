"""What a gradient computes again, loads again, and takes from records."""

from __future__ import annotations

from weft.ir import ops
from weft.ir.autodiff.clobbers import Clobbers
from weft.ir.autodiff.companions import Companions
from weft.ir.autodiff.demand import Demand, updates_local
from weft.ir.autodiff.functions import Form
from weft.ir.autodiff.order import needs_order, put_in_order
from weft.ir.autodiff.promotion import promote
from weft.ir.autodiff.records import RecordParam, is_recordable, number_loose
from weft.ir.autodiff.refusals import gives_lost, is_inexact
from weft.ir.autodiff.splitting import split_atomics
from weft.ir.core import Op, Value

__all__ = ["settled"]


def settled(
    kernel: ops.Kernel,
    companions: Companions,
    fast_math: bool,
    form: Form | None,
    records: RecordParam | None,
) -> tuple[Demand, Clobbers]:
    """The demand of a kernel without jumps, and what memory still holds. Memory that would be overwritten too early
    becomes locals where that is possible. With `records`, what `record_param` gives, the launch runs loops in order
    whose order matters, and records what is still missing."""
    demand = Demand(kernel, companions, fast_math, form)
    again = records is not None and records[2]
    if records and put_in_order(
        op for op in demand.ops if needs_order(demand, op) or (again and gives_lost(demand, op))
    ):
        split_atomics(kernel)
        demand = Demand(kernel, companions, fast_math, form)
    clobbers = Clobbers(kernel, demand)
    if clobbers.torn and promote(kernel, clobbers.promotable):
        split_atomics(kernel)
        demand = Demand(kernel, companions, fast_math, form)
        clobbers = Clobbers(kernel, demand)
    recorded: dict[Op, Value | None] = {}
    while records and (more := _missing(demand, clobbers) - recorded.keys()):
        recorded |= dict.fromkeys(more)
        demand = Demand(kernel, companions, fast_math, form, recorded)
        clobbers = Clobbers(kernel, demand)
    if records and put_in_order(_left(demand, clobbers)):
        split_atomics(kernel)
        return settled(kernel, companions, fast_math, form, records)
    words = 2 if records and records[3] else 1
    numbers = number_loose(kernel, [op for op in demand.ops if op in recorded and op in demand.needed], words)
    if numbers:
        demand = Demand(kernel, companions, fast_math, form, recorded | numbers)
        clobbers = Clobbers(kernel, demand)
    return demand, clobbers


def _left(demand: Demand, clobbers: Clobbers) -> list[Op]:
    """The extremes and products whose final value, or the operand that won, a launch cannot record. In serial code they
    are loads and stores, of which it can record the loads."""
    return [*(read.op for read, _, _ in clobbers.torn), *(op for op in demand.ops if is_inexact(demand, op))]


def _missing(demand: Demand, clobbers: Clobbers) -> set[Op]:
    """The values that a launch can record, and that a gradient does not have otherwise: loads of memory that the kernel
    overwrites, the values of ops that synchronize iterations, and operands of minima and maxima."""
    wanted: set[Op] = {read.op for read in clobbers.gone if isinstance(read.op, ops.Load)}
    # (in the sweep of an atomic on a local, the value of the atomic is what the local holds after the loop)
    wanted |= {op for op in demand.ops if gives_lost(demand, op) and not (op in demand.acts and updates_local(op))}
    wanted |= {op.value for op in demand.ops if isinstance(op, ops.Atomic) and is_inexact(demand, op)}  # type: ignore[misc]
    return {op for op in wanted if is_recordable(op)}
