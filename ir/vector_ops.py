"""The ops on vectors: values of all SIMD lanes of a CPU. Only `vectorize` creates them, and `ops.py` exports them too.

    %m = first_lanes %left : <16 x u1>            the lanes that have an iteration
    %p = address %x, indices=[%i], ... : *f32     the address of lane 0
    %v = masked_load %p, %m : <16 x f32>          16 numbers that are adjacent in memory; 0 in the other lanes
    %2 = splat %two : <16 x f32>
    %w = binary mul %v, %2 : <16 x f32>           all lanes compute, the inactive ones too
    masked_store %p, %w, %m

A value of a vector type, `<16 x f32>`, has one element for each lane. Elementwise ops take operands of one number of
lanes. `splat` puts a scalar into all lanes, and `reduce` combines the lanes into a scalar. A *mask*, `<16 x u1>`, says
which lanes are active. Every op that accesses memory for several lanes takes a mask, and control flow is uniform: `if`,
`while` and `for` have scalar conditions.
"""

from __future__ import annotations

from weft.ir.core import Block, Op, Value, attr, operand, region
from weft.ir.types import Lanes, Pointer, Type, i64, lanes, u1

__all__ = [
    "AnyActive",
    "EachLane",
    "FirstActive",
    "FirstLanes",
    "Gather",
    "Lane",
    "LaneRandom",
    "MaskedLoad",
    "MaskedStore",
    "Ramp",
    "Scatter",
    "Shuffle",
]

# ---- vectors ---------------------------------------------------------------------------------------------------------


class Ramp(Op, name="ramp", pure=True, steps_into=True, levels="vectors"):
    """Gives `x + (first + k) * step` in lane k. `x` is an integer, or an address, whose `step` counts bytes. An integer
    wraps around."""

    x: Value = operand()
    step: int = attr()
    first: int = attr(default=0)


class Lane(Op, name="lane", pure=True, steps_into=True, levels="vectors"):
    """Gives the element of lane `number` (i64), which must be a number of a lane."""

    x: Value = operand()
    number: Value = operand()

    def result_type(self) -> Type:
        assert isinstance(self.x.type, Lanes)
        return self.x.type.elem


class Shuffle(Op, name="shuffle", pure=True, levels="vectors"):
    """Gives in lane k the element number `order[k]` of the vectors `a` and `b`, end to end, or 0 for -1. `a` and `b`
    have the same type. The result has as many lanes as `order` has numbers."""

    a: Value = operand()
    b: Value = operand()
    order: tuple[int, ...] = attr()

    def result_type(self) -> Type:
        assert isinstance(self.a.type, Lanes)
        return lanes(self.a.type.elem, len(self.order))


class FirstLanes(Op, name="first_lanes", pure=True, levels="vectors"):
    """Gives a mask. Lane k is active if `first + k < count`. `count` is an i64 of any value."""

    count: Value = operand()
    first: int = attr(default=0)


class AnyActive(Op, name="any_active", pure=True, levels="vectors"):
    """Gives whether any lane of a mask is active."""

    mask: Value = operand()

    def result_type(self) -> Type:
        return u1


class FirstActive(Op, name="first_active", pure=True, levels="vectors"):
    """Gives the number (i64) of the lowest active lane of a mask, or 0 if no lane is active."""

    mask: Value = operand()

    def result_type(self) -> Type:
        return i64


class MaskedLoad(Op, name="masked_load", reads=True, effect="address", droppable=True, levels="vectors"):
    """Reads adjacent numbers: lane k reads the number k after the one at `ptr`, if it is active. Inactive lanes read
    nothing and get 0."""

    ptr: Value = operand()
    mask: Value = operand()

    def result_type(self) -> Type:
        assert isinstance(self.ptr.type, Pointer)
        assert isinstance(self.mask.type, Lanes)
        return lanes(self.ptr.type.elem, self.mask.type.count)


class MaskedStore(Op, name="masked_store", writes=True, effect="address", levels="vectors"):
    """Writes adjacent numbers: lane k writes its element of `value` to the place k after the one at `ptr`, if it is
    active."""

    ptr: Value = operand()
    value: Value = operand()
    mask: Value = operand()


class Gather(Op, name="gather", reads=True, effect="address", droppable=True, levels="vectors"):
    """Reads for each active lane the number at its address. Inactive lanes read nothing and get 0."""

    ptr: Value = operand()
    mask: Value = operand()

    def result_type(self) -> Type:
        assert isinstance(self.ptr.type, Lanes)
        assert isinstance(self.ptr.type.elem, Pointer)
        return lanes(self.ptr.type.elem.elem, self.ptr.type.count)


class Scatter(Op, name="scatter", writes=True, effect="address", levels="vectors"):
    """Writes for each active lane its element of `value` to its address. If two lanes have the same address, the higher
    lane writes last."""

    ptr: Value = operand()
    value: Value = operand()
    mask: Value = operand()


class EachLane(Op, name="each_lane", droppable=True, levels="vectors"):
    """Runs `body` for each active lane in ascending order. The argument of `body` is the number (i64) of the lane. No
    `break` or `continue` leaves the body. `some`: at least one lane is active. `cold`: the body rarely runs."""

    mask: Value = operand()
    some: bool = attr(default=False)
    cold: bool = attr(default=False)
    body: Block = region(default=None)


class LaneRandom(Op, name="lane_random", reads=True, writes=True, effect="elsewhere", levels="vectors"):
    """Gives the next random number of the iteration `number` (i64) after the first one of this group, as `random` does
    for its iteration."""

    number: Value = operand()
    stream: int = attr(0)
