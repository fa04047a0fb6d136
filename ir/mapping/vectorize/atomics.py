"""Writes atomics in lanes: one for all lanes, one lane after another, or several together, one lane after another.

atomic add %p, %u, move=wait           each_lane %mask (%k: i64) {
atomic add %q, %w, move=wait     ->      %x = lane %anchors, %k
                                         atomic add (address %x, offset=0), (lane %u, %k)
                                         atomic add (address %x, offset=4), (lane %w, %k)
                                       }
"""

from __future__ import annotations

from weft.ir.core import Value
from weft.ir.mapping.vectorize.addresses import anchor_of, lane_type, place, scope_of
from weft.ir.mapping.vectorize.state import Vectorizer, by_lane
from weft.ir.mapping.vectorize.sums import combine
from weft.ir.ops import Address, Atomic, LaneRandom, Random, Store
from weft.ir.scalar import cast_value
from weft.ir.types import Prim, i64, pointer

__all__: list[str] = []


@by_lane(Atomic)
def _atomic(v: Vectorizer, op: Atomic) -> Value | None:
    if op.move == "combine":
        combine(v, op)
    elif op.move == "wait":
        _fused(v, op)
    else:
        return _each(v, op)
    return None


def _fused(v: Vectorizer, last: Atomic) -> None:
    """Several atomics, one lane after another. They are written with the last one."""
    group = v.memory.atomics(last)
    if not group:
        return
    with v.each() as number:
        for op in group:
            v.point.build.span = op.span
            _for_lane(v, op, number)


def _each(v: Vectorizer, op: Atomic) -> Value | None:
    """One atomic, one lane after another. Gives the old values, if they are used."""
    results = _results(v, lane_type(op.ptr)) if op.users else None
    with v.each() as number:
        old = _for_lane(v, op, number)
        if results is not None:
            _give(v, results, number, old)
    return v.load(results) if results is not None else None


def _for_lane(v: Vectorizer, op: Atomic, number: Value) -> Value:
    """The atomic of one lane. Atomics at constant distances share the address that they start from."""
    if v.facts.step(op.ptr) is not None:
        ptr = v.of_lane(op.ptr, number)
    else:
        anchor, distance = anchor_of(v, op.ptr)
        ptr = place(v, v.element(anchor, number), scope_of(op.ptr), pointer(lane_type(op.ptr)), distance)
    return v.add(Atomic(op.kind, ptr, v.of_lane(op.value, number)))


# ---- results of lanes ------------------------------------------------------------------------------------------------


@by_lane(Random)
def _random(v: Vectorizer, op: Random) -> Value:
    """Each lane draws for itself, because its numbers depend on its iteration and on how many it drew before."""
    assert isinstance(op.type, Prim)
    results = _results(v, op.type)
    with v.each() as number:
        drawn = LaneRandom(v.moved(number, v.current * v.lanes), op.stream, type=op.type)
        _give(v, results, number, v.add(drawn))
    return v.load(results)


def _results(v: Vectorizer, type: Prim) -> Value:
    """A local for what each lane gives. It is 0 for inactive lanes."""
    local = v.local(v.wide(type))
    v.add(Store(local, v.literal(cast_value(0, type).item(), type)))
    return local


def _give(v: Vectorizer, results: Value, number: Value, value: Value) -> None:
    assert isinstance(value.type, Prim)
    size = v.const(value.type.size, i64)
    element = Address(results, [number], [size], 0, scope_of(results), type=pointer(value.type))
    v.add(Store(v.add(element), value))
