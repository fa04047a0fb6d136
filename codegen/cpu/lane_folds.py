"""Emits inner loops that only compute reductions: their iterations run in lanes.

    for %k in %b..%e {                          %s = zeros, a vector
      %d = ... x[%k] ...                        for %k in %b..%e, 16 rounds at once {
      if %d < %r { total += f(%d) }      ->       ... %mask ... %s += f(%d)
    }                                           }
                                                total += the sum of %s

An iteration may only compute sums (or minima or maxima) into locals outside of the loop, and may read these locals only
to add to them. The order of the iterations then does not matter, except for rounding, which `fast_math` allows. If the
loop is nested in others that use the local for nothing else, the vector lives as long as the outermost of these, and
its elements are reduced once.

LLVM would vectorize some such loops too, but for 64 iterations at once, and it runs the rest one by one. Most inner
loops of unknown length are short: neighbours, nonzero elements of a row, members of a cell. If several vectors at once
are better for long loops, the loop is emitted twice: for whole groups of vectors, and for the rest.
"""

from __future__ import annotations

from collections.abc import Callable

from weft.codegen.cpu.lane_control import write_body
from weft.codegen.cpu.lane_memory import combined
from weft.codegen.cpu.lanes import LaneWriter, Mask
from weft.codegen.llvm.control_ops import counted_turn, looks
from weft.codegen.llvm.function import Turn
from weft.codegen.llvm.scalar_ops import binary
from weft.codegen.llvm.spelling import in_memory
from weft.ir.core import Op, Value
from weft.ir.mapping.fold_choice import InnerLoop
from weft.ir.ops import For
from weft.ir.scalar import identity
from weft.ir.types import Pointer, Prim
from weft.ir.uniform import FAMILY, Uniformity

__all__ = ["write_fold"]


def write_fold(f: LaneWriter, loop: InnerLoop, op: Op, alone: Callable[[Op], None]) -> None:
    """Write a loop of that kind; `alone` writes an op the usual way."""
    for local, kind in loop.totals.items():
        f.totals[local] = _cleared(f, local, kind)
    if loop.facts is None:
        alone(op)
    else:
        assert isinstance(op, For)
        _rounds(f, op, loop.facts, loop.many)
    for local, kind in loop.totals.items():
        _hand_in(f, local, kind, f.totals.pop(local)[0])


def _rounds(f: LaneWriter, op: For, facts: Uniformity, many: int) -> None:
    begin, end = (_extended(f, bound) for bound in (op.begin, op.end))
    f.facts = facts
    turn = counted_turn(f, -abs(looks(f, op)))
    if many > 1:
        begin, turn = _groups(f, op, begin, end, many, turn), None
    with f.vectors(begin, end, turn) as first:
        _round(f, op, first)


def _round(f: LaneWriter, op: For, first: str) -> None:
    index = op.body.args[0]
    assert isinstance(index.type, Prim)
    f.values[index] = first if index.type.bits == 64 else f.set(f"trunc i64 {first} to {f.spell(index.type)}")
    write_body(f, op)


def _groups(f: LaneWriter, op: For, begin: str, end: str, many: int, turn: Turn | None) -> str:
    """The iterations that fill `many` vectors, which have sums of their own. Gives where they end. `turn` emits what
    comes after one group."""
    totals, kinds = f.totals, {store.ptr: FAMILY[kind] for store, (kind, _) in f.facts.sums.items()}
    head, body, latch, added, done = (f.fresh_label(hint) for hint in ("many", "body", "latch", "added", "done"))
    f.side_by_side(many)
    some = f.set(f"icmp slt i64 {begin}, {end}")
    f.branch(f.set(f"and i1 {some}, {_another(f, begin, end)}"), head, done)
    before, index, following = f.label, f.register("i"), f.register("n")
    f.start(head)
    f.totals = {**totals, **{local: _cleared(f, local, kind) for local, kind in kinds.items()}}
    entry = f.label
    f.start(body)
    f.lines.append(f"  {index} = phi i64 [ {begin}, %{entry} ], [ {following}, %{latch} ]")
    after = f.fresh_label("turn")
    f.here, f.region = ("splat (i1 true)",) * many, after
    _round(f, op, index)
    f.start(after)
    if turn is not None:
        turn(f)
    f.start(latch)
    f.lines.append(f"  {following} = add nsw i64 {index}, {f.span}")
    f.branch(_another(f, following, end), body, added)
    f.start(added)
    apart, f.here, f.totals = f.totals, (), totals
    f.side_by_side(1)
    for local, kind in kinds.items():
        _add_up(f, local, kind, apart[local])
    after = f.label
    f.start(done)
    return f.set(f"phi i64 [ {begin}, %{before} ], [ {following}, %{after} ]")


def _another(f: LaneWriter, index: str, end: str) -> str:
    """Whether there is a whole group from that index on. (`end` may be close to the largest number, and the distance
    may need all bits.)"""
    return f.set(f"icmp uge i64 {f.set(f'sub i64 {end}, {index}')}, {f.span}")


def _cleared(f: LaneWriter, local: Value, kind: str) -> Mask:
    """A stack slot for each vector, filled with the neutral element."""
    type = _held(local)
    with f.wide():
        vector, zero = f"<{f.lanes} x {in_memory(type)}>", f.literal(identity(kind, type), type)
    slots = tuple(f.stack(vector, align=64) for _ in range(f.many))
    for slot in slots:
        f.do(f"store {vector} {zero}, ptr {slot}, align 64")
    return slots


def _add_up(f: LaneWriter, local: Value, kind: str, slots: Mask) -> None:
    """Add the sums of several vectors to the vector that the rest of the loop adds to."""
    type, (total,) = _held(local), f.totals[local]
    vector = f"<{f.lanes} x {in_memory(type)}>"
    sums = [f.set(f"load {vector}, ptr {slot}, align 64") for slot in (total, *slots)]
    with f.wide():
        while len(sums) > 1:
            sums.append(binary(f, kind, type, sums.pop(0), sums.pop(0)))
    f.do(f"store {vector} {sums[0]}, ptr {total}, align 64")


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
