"""Emits loops over the lanes of vectors, and the elements that they read of vectors.

    each_lane %m (%k: i64) { ... }           a loop over the bits of %m
    lane %v, %k                              a load from a stack slot with %v, if the loop reads %v

Vectors whose elements a lane adds to adjacent memory (`ir/mapping/lane_rows.py`) share a slot, in which the elements of
a lane are adjacent too: LLVM then adds them by one instruction.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import replace

from weft.codegen.cpu.vector_writer import (
    ALIGNED,
    Spilled,
    VectorWriter,
    as_bytes,
    bits_of,
    held_as,
    lowest_bit,
    on_vectors,
    vector_of,
)
from weft.codegen.llvm.cold_versions import write_apart
from weft.codegen.llvm.function import EMITTERS, spell
from weft.codegen.llvm.spelling import in_memory
from weft.ir.core import Op, Value
from weft.ir.mapping.lane_rows import rows_of_lanes
from weft.ir.ops import Const, EachLane, Lane, LaneRandom, Random
from weft.ir.types import Lanes, Prim, u1

__all__: list[str] = []  # it registers rows


@on_vectors(Lane)
def _lane(f: VectorWriter, op: Lane) -> str:
    if op in f.read:
        return f.read[op]
    spilled, type, number = f.spilled.get(op.x), vector_of(op.x), f.use(op.number)
    if spilled is None or isinstance(op.number, Const):
        return f.set(f"extractelement {spell(type)} {f.use(op.x)}, i64 {number}")
    held = in_memory(type.elem) if isinstance(type.elem, Prim) else spell(type.elem)
    whole = held if spilled.width == 1 else f"[{spilled.width} x {held}]"
    place = f.set(f"getelementptr {whole}, ptr {spilled.slot}, i64 {number}")
    if spilled.width > 1:
        place = f.set(f"getelementptr {held}, ptr {place}, i64 {spilled.position}")
    loaded = f.set(f"load {held}, ptr {place}")
    return f.set(f"trunc i8 {loaded} to i1") if type.elem is u1 else loaded


@on_vectors(EachLane)
def _each_lane(f: VectorWriter, op: EachLane) -> None:
    """A loop over the bits of the mask. Vectors of which the body reads single elements are stored first: LLVM would
    store them again in each iteration."""
    number = op.body.args[0]
    read = [user for user in number.users if isinstance(user, Lane)]
    outside = dict.fromkeys(lane.x for lane in read if isinstance(lane.x, Op) and not lane.x.within(op))
    new = [vector for vector in outside if vector not in f.spilled]
    taken = list[tuple[str, str]]()
    for row in rows_of_lanes(op) if f.memory.plain and not op.cold else ():  # atomic sums are single anyway
        if all(vector in new for vector in row):
            taken.append(_spill_row(f, row))
    for vector in new:
        if vector not in f.spilled:
            taken.append(_spill(f, vector))
    with _lanes(f, op) as lane:
        f.values[number] = lane
        if op.cold:
            _cold(f, op)
        else:
            f.block(op.body)
    for vector in new:
        del f.spilled[vector]
    for slot, type in taken:
        f.spare.setdefault(type, []).append(slot)


def _spill(f: VectorWriter, vector: Value) -> tuple[str, str]:
    """Store the vector in a slot. Gives the slot and its type."""
    type = held_as(vector_of(vector))
    slot = _store(f, type, as_bytes(f, vector))
    f.spilled[vector] = Spilled(slot)
    return slot, type


def _spill_row(f: VectorWriter, row: Sequence[Value]) -> tuple[str, str]:
    """Store two or four vectors in one slot, the elements of each lane side by side."""
    type, width = vector_of(row[0]), len(row)
    parts, count = [f.use(vector) for vector in row], type.count
    while len(parts) > 2:
        pairs = zip(parts[::2], parts[1::2], strict=True)
        parts = [_shuffled(f, type, count, pair, [*range(2 * count)]) for pair in pairs]
        count *= 2
    order = [k * type.count + lane for lane in range(type.count) for k in range(width)]
    whole = f"<{width * type.count} x {spell(type.elem)}>"
    slot = _store(f, whole, _shuffled(f, type, count, parts, order))
    f.spilled |= {vector: Spilled(slot, width, position) for position, vector in enumerate(row)}
    return slot, whole


def _shuffled(f: VectorWriter, type: Lanes, count: int, pair: Sequence[str], order: Sequence[int]) -> str:
    """These elements of two vectors of `count` elements."""
    a, b = (f"<{count} x {spell(type.elem)}> {one}" for one in pair)
    return f.set(f"shufflevector {a}, {b}, <{len(order)} x i32> <{', '.join(f'i32 {k}' for k in order)}>")


def _store(f: VectorWriter, type: str, value: str) -> str:
    """A slot with that value in it."""
    spare = f.spare.get(type)
    slot = spare.pop() if spare else f.stack(type, align=ALIGNED)
    f.do(f"store {type} {value}, ptr {slot}, align {ALIGNED}")
    return slot


def _cold(f: VectorWriter, op: EachLane) -> None:
    """The body, in a function of its own if it is long. The elements that it reads of vectors are its parameters."""
    elements = [lane for lane in op.body if isinstance(lane, Lane) and lane.x in f.spilled]
    f.read = {lane: _lane(f, lane) or "" for lane in elements}
    one, end = f.fresh_label("one"), f.fresh_label("rest")
    f.start(one)
    in_lanes, f.in_lanes = f.in_lanes, False
    write_apart(f, op.body, end)
    f.in_lanes = in_lanes
    f.start(end)
    f.read = {}


@contextmanager
def _lanes(f: VectorWriter, op: EachLane) -> Generator[str]:
    """A loop over the active lanes, in ascending order. Gives the number of the lane (i64). LLVM does not unroll a
    loop that rarely runs."""
    head, latch, done = f.fresh_label("lane"), f.fresh_label("latch"), f.fresh_label("done")
    start, bits = bits_of(f, op.mask)
    left, rest, before = f.register("left"), f.register("rest"), f.label
    if op.some:
        f.jump(head)
    else:
        f.branch(f.set(f"icmp ne {bits} {start}, 0"), head, done)
    f.lines.append(f"{head}:")
    f.lines.append(f"  {left} = phi {bits} [ {start}, %{before} ], [ {rest}, %{latch} ]")
    f.label, f.open = head, True
    yield lowest_bit(f, left, bits)
    f.start(latch)
    lower = f.set(f"sub {bits} {left}, 1")
    f.lines.append(f"  {rest} = and {bits} {left}, {lower}")
    f.branch(f.set(f"icmp ne {bits} {rest}, 0"), head, done, f.module.loop_hints(copies=not op.cold))
    f.start(done)


@on_vectors(LaneRandom)
def _lane_random(f: VectorWriter, op: LaneRandom) -> str:
    """Each iteration counts its own random numbers, next to those of the others."""
    before, number = f.random, f.use(op.number)
    draws = f.set(f"getelementptr i32, ptr {before.draws}, i64 {number}")
    f.random = replace(before, draws=draws, lane=f.set(f"add i64 {before.lane}, {number}"))
    drawn = EMITTERS[Random](f, op) or ""
    f.random = before
    return drawn
