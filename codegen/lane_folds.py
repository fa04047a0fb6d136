"""Inner loops that only sum up: their rounds run in lanes.

    for %k in %b..%e {                          %s = zeros, a vector
      %d = ... x[%k] ...                        for %k in %b..%e, 16 rounds at once {
      if %d < %r { total += f(%d) }      ->       ... %mask ... %s += f(%d)
    }                                           }
                                                total += the sum of %s

What a round leaves must be sums (or least or greatest values) in locals outside, and nothing else, and a round may not
read them but to add: then the order of the rounds does not matter, but for rounding, which `fast_math` allows. Where
the loop stands in others that do no more with the local, the vector lives as long as the outermost of these, and its
elements are added up once.

LLVM would do this with some such loops, too, but for 64 rounds at once, and with the rest one by one. Most inner loops
of unknown length are short: neighbours, nonzero elements of a row, members of a cell. Where several vectors at once are
better for long ones, the loop is written twice: for whole groups of vectors, and for what is left.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from weft.codegen.lane_control import write_body
from weft.codegen.lane_memory import combined
from weft.codegen.lanes import LaneWriter
from weft.codegen.scalar_ops import binary
from weft.codegen.spelling import in_memory
from weft.ir.core import Op, Value
from weft.ir.ops import For
from weft.ir.transforms.thread_local import identity
from weft.ir.types import Pointer, Prim
from weft.ir.uniform import FAMILY, Uniformity

__all__ = ["InnerLoop"]


@dataclass
class InnerLoop:
    """A loop whose rounds run in lanes, by those facts, if there are any, `many` vectors at once if it is long; and the
    locals that are vectors as long as it runs, each with how its elements are combined."""

    facts: Uniformity | None = None
    many: int = 1
    totals: dict[Value, str] = field(default_factory=dict[Value, str])

    def write(self, f: LaneWriter, op: Op, alone: Callable[[Op], None]) -> None:
        """Write it; `alone` writes an op the usual way."""
        for local, kind in self.totals.items():
            f.totals[local] = f.stack(f"<{f.lanes} x {in_memory(_held(local))}>", align=64)
            _clear(f, local, kind)
        if self.facts is None:
            alone(op)
        else:
            assert isinstance(op, For)
            _rounds(f, op, self.facts, self.many)
        for local, kind in self.totals.items():
            _hand_in(f, local, kind, f.totals.pop(local))


def _rounds(f: LaneWriter, op: For, facts: Uniformity, many: int) -> None:
    begin, end = (_extended(f, bound) for bound in (op.begin, op.end))
    f.facts = facts
    if many > 1:
        begin = _groups(f, op, begin, end, many)
    with f.vectors(begin, end) as first:
        _round(f, op, first)


def _round(f: LaneWriter, op: For, first: str) -> None:
    index = op.body.args[0]
    assert isinstance(index.type, Prim)
    f.values[index] = first if index.type.bits == 64 else f.set(f"trunc i64 {first} to {f.spell(index.type)}")
    write_body(f, op)


def _groups(f: LaneWriter, op: For, begin: str, end: str, many: int) -> str:
    """The rounds that fill `many` vectors, with sums of their own; gives where they end."""
    lanes, totals = f.lanes, f.totals
    kinds = {store.ptr: FAMILY[kind] for store, (kind, _) in f.facts.sums.items()}
    head, body, latch, added, done = (f.fresh_label(hint) for hint in ("many", "body", "latch", "added", "done"))
    f.lanes, size = many * lanes, many * lanes
    f.totals = {**totals, **{local: f.stack(f"<{size} x {in_memory(_held(local))}>", align=64) for local in kinds}}
    f.branch(f.set(f"icmp sle i64 {f.set(f'add i64 {begin}, {size}')}, {end}"), head, done)
    before, index, following = f.label, f.register("i"), f.register("n")
    f.start(head)
    for local, kind in kinds.items():
        _clear(f, local, kind)
    entry = f.label
    f.start(body)
    f.lines.append(f"  {index} = phi i64 [ {begin}, %{entry} ], [ {following}, %{latch} ]")
    f.mask, f.region = "splat (i1 true)", latch
    _round(f, op, index)
    f.start(latch)
    f.lines.append(f"  {following} = add nsw i64 {index}, {size}")
    f.branch(f.set(f"icmp sle i64 {f.set(f'add i64 {following}, {size}')}, {end}"), body, added)
    f.start(added)
    f.mask = ""
    wide, f.totals, f.lanes = f.totals, totals, lanes
    for local, kind in kinds.items():
        _narrow(f, local, kind, wide[local], size)
    after = f.label
    f.start(done)
    return f.set(f"phi i64 [ {begin}, %{before} ], [ {following}, %{after} ]")


def _clear(f: LaneWriter, local: Value, kind: str) -> None:
    type = _held(local)
    with f.wide():
        zero = f.literal(identity(kind, type), type)
        f.do(f"store <{f.lanes} x {in_memory(type)}> {zero}, ptr {f.totals[local]}, align 64")


def _narrow(f: LaneWriter, local: Value, kind: str, slot: str, size: int) -> None:
    """Add what has come together in a long vector to the one that the rest of the loop sums up in."""
    type = _held(local)
    name = in_memory(type)
    part = f.set(f"load <{size} x {name}>, ptr {slot}, align 64")
    while size > f.lanes:
        vector, size = f"<{size} x {name}>", size // 2
        orders = (", ".join(f"i32 {k + start}" for k in range(size)) for start in (0, size))
        pair = (f"{vector} {part}, {vector} poison, <{size} x i32> <{order}>" for order in orders)
        low, high = (f.set(f"shufflevector {operands}") for operands in pair)
        with f.wide(size):
            part = binary(f, kind, type, low, high)
    with f.wide():
        old = f.set(f"load <{size} x {name}>, ptr {f.totals[local]}, align 64")
        f.do(f"store <{size} x {name}> {binary(f, kind, type, old, part)}, ptr {f.totals[local]}, align 64")


def _extended(f: LaneWriter, bound: Value) -> str:
    text = f.typed(bound)
    return text.removeprefix("i64 ") if text.startswith("i64 ") else f.set(f"sext {text} to i64")


def _hand_in(f: LaneWriter, local: Value, kind: str, slot: str) -> None:
    type = _held(local)
    part = combined(f, kind, type, f.set(f"load <{f.lanes} x {in_memory(type)}>, ptr {slot}, align 64"))
    old = f.set(f"load {in_memory(type)}, ptr {f.use(local)}, align {type.size}")
    f.do(f"store {in_memory(type)} {binary(f, kind, type, old, part)}, ptr {f.use(local)}, align {type.size}")


def _held(local: Value) -> Prim:
    assert isinstance(local.type, Pointer)
    assert isinstance(local.type.elem, Prim)
    return local.type.elem
