"""Iterations that run on a warp whose lanes share the iterations of a loop (see the pass `warps_per_row`).

All lanes run the ops before the loop. In the loop, lane l runs the iterations l, l + 32, l + 64 ... The first lane runs
the ops after the loop, with the sums of all lanes, which shuffles compute.
"""

from __future__ import annotations

from weft.codegen.gpu.block_reduce import warp_reduce
from weft.codegen.gpu.device_writer import DeviceWriter
from weft.codegen.gpu.unroll_and_jam import write_jammed
from weft.codegen.llvm.spelling import constant, in_register
from weft.ir.core import Value
from weft.ir.mapping.serial_loops import independent_and_ordered, trips_of
from weft.ir.mapping.warp_sums import LANES, around, sums_of
from weft.ir.ops import For, Task
from weft.ir.scalar import identity
from weft.ir.types import Prim

__all__ = ["write_warp"]


# ---- code ------------------------------------------------------------------------------------------------------------


def write_warp(f: DeviceWriter, task: Task, loop: For, lane: str) -> None:
    """The task's body in a warp; `lane` is an i32."""
    (before, behind), sums = around(task, loop), sums_of(loop)
    for op in before:
        f.op(op)
    first = f.set(f"icmp eq i32 {lane}, 0")
    for one in sums:
        name, place = in_register(one.type), f.use(one.local)
        begin = f.set(f"load {name}, ptr {place}, align {one.type.size}")
        neutral = constant(identity(one.kind, one.type), one.type)
        mine = f.set(f"select i1 {first}, {name} {begin}, {name} {neutral}")
        f.do(f"store {name} {mine}, ptr {place}, align {one.type.size}")
    _write_lane(f, loop, lane)
    for one in sums:
        name, place = in_register(one.type), f.use(one.local)
        mine = f.set(f"load {name}, ptr {place}, align {one.type.size}")
        f.do(f"store {name} {warp_reduce(f, one.kind, one.type, mine)}, ptr {place}, align {one.type.size}")
    lead, after = f.fresh_label("lead"), f.fresh_label("after")
    f.branch(first, lead, after)
    f.start(lead)
    for op in behind:
        f.op(op)
    f.jump(after)
    f.start(after)


def _write_lane(f: DeviceWriter, loop: For, lane: str) -> None:
    """The iterations of one lane, with unroll-and-jam."""
    index, trips, outside = loop.body.args[0], trips_of(loop) or 0, f.values
    assert isinstance(index.type, Prim)
    type = in_register(index.type)
    begin = lane if type == "i32" else f.set(f"zext i32 {lane} to {type}")
    begin = f.set(f"add {type} {begin}, {f.use(loop.begin)}")
    independent, ordered = independent_and_ordered(loop.body)
    whole, beside_each = trips // LANES, loop.schedule.jam
    with f.loop("0", str(whole // beside_each), type=type) as number:
        start = f.set(f"add {type} {f.set(f'mul {type} {number}, {LANES * beside_each}')}, {begin}")
        places = [start, *(f.set(f"add {type} {start}, {LANES * k}") for k in range(1, beside_each))]
        f.indices.steps |= {place: (start, LANES * k) for k, place in enumerate(places)}
        beside: list[dict[Value, str]] = [{**outside, index: place} for place in places]
        write_jammed(f, independent, beside, {index})
        for one in beside:
            write_jammed(f, ordered, [one], {index, *independent})
    for done in range(whole - whole % beside_each, whole):
        f.values = {**outside, index: f.set(f"add {type} {begin}, {LANES * done}")}
        f.block(loop.body)
    if trips % LANES:
        some, rest = f.fresh_label("some"), f.fresh_label("rest")
        f.branch(f.set(f"icmp ult i32 {lane}, {trips % LANES}"), some, rest)
        f.start(some)
        f.values = {**outside, index: f.set(f"add {type} {begin}, {LANES * whole}")}
        f.block(loop.body)
        f.jump(rest)
        f.start(rest)
    f.values = outside
