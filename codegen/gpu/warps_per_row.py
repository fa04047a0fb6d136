"""Sums along rows: a warp makes each iteration, and its lanes share the rounds of the loop inside.

    for i in y:                               a thread for each i: 32 of them read from 32 rows at a time
        s = 0.0
        for j in range(n): s += a[i, j]
        y[i] = s

    a warp for each i; lane l takes j = l, l + 32, l + 64 ...          32 lanes read one line
    s = what its lanes have, by shuffles; y[i] = s                     the first lane

Only for many rounds, whose number is known, and where some read goes along memory as the loop's index does and lies
far from what the neighbouring iteration reads. Floats are added in another order, as `fast_math` allows.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from weft.codegen.gpu.block_reduce import warp_reduce
from weft.codegen.gpu.simt import threads_together
from weft.codegen.gpu.unroll_and_jam import apart_and_in_turn, is_ordered, trips_of, write_together
from weft.codegen.llvm.spelling import constant, in_register
from weft.ir.addresses import element_of, split
from weft.ir.core import Op, Value
from weft.ir.ops import Address, Alloca, Binary, Const, For, Load, Store, Task
from weft.ir.transforms.thread_local import identity
from weft.ir.types import Prim, f32, f64, i32, i64, u32, u64

if TYPE_CHECKING:
    from weft.codegen.gpu.ops import DeviceWriter

__all__ = ["LANES", "Team", "team_of", "write_team"]

LANES = 32
_FEWEST = 256  # rounds
_BESIDE = 4  # rounds of a lane side by side
_NEAR, _FAR = 16, 64  # bytes: side by side, on another line
_KINDS = {"sub": "add", **{kind: kind for kind in ("add", "mul", "min", "max", "and", "or", "xor")}}  # how lanes join
_TYPES = (f32, f64, i32, i64, u32, u64)


@dataclass(frozen=True)
class _Sum:
    """A local to which each round of the loop adds; `kind`: how two such are joined."""

    local: Alloca
    kind: str
    type: Prim


@dataclass(frozen=True)
class Team:
    """The loop that lanes share, and its sums."""

    loop: For
    sums: tuple[_Sum, ...]


def team_of(task: Task, fast_math: bool) -> Team | None:
    """The loop of the task that a warp's lanes should share, if there is one."""
    loops = [op for op in task.body if isinstance(op, For)]
    if len(loops) != 1 or threads_together(task) or any(isinstance(op, Load) for op in task.bounds):
        return None
    if any(is_ordered(op) for op in task.walk()) or task.epilogue.first is not None:
        return None
    (loop,) = loops
    if (trips_of(loop) or 0) < _FEWEST or not _along_rows(task, loop):
        return None
    before, _ = _around(task, loop)
    if not isinstance(loop.step, Const) or loop.step.value != 1 or not all(map(_local, [*task.prologue, *before])):
        return None
    sums = _sums(loop)
    if not sums or any(one.type.is_float and not fast_math for one in sums):
        return None
    return Team(loop, sums)


def _around(task: Task, loop: For) -> tuple[list[Op], list[Op]]:
    """The ops of the body before and behind the loop."""
    ops = list(task.body)
    place = ops.index(loop)
    return ops[:place], ops[place + 1 :]


def _local(op: Op) -> bool:
    """Whether all lanes may do it: it changes locals only."""
    return op.pure or isinstance(op, Alloca | Load) or (isinstance(op, Store) and isinstance(op.ptr, Alloca))


def _sums(loop: For) -> tuple[_Sum, ...]:
    """What the loop adds to; nothing if it does anything else."""
    found = dict[Op, _Sum]()
    for op in loop.body:
        if isinstance(op, Store):
            one = _sum(loop, op)
            if one is None:
                return ()
            found[one.local] = one
    touched = {op.ptr for op in loop.body if isinstance(op, Load) and not op.invariant}
    plain = all(op.pure or isinstance(op, Load | Store) for op in loop.body)
    return tuple(found.values()) if plain and touched <= set(found) else ()


def _sum(loop: For, store: Store) -> _Sum | None:
    local, total = store.ptr, store.value
    if not isinstance(local, Alloca) or not isinstance(total, Binary) or total.kind not in _KINDS:
        return None
    if total.type not in _TYPES:
        return None
    reads = [op for op in loop.body if isinstance(op, Load) and op.ptr is local]
    sides = (total.lhs,) if total.kind == "sub" else (total.lhs, total.rhs)
    if len(reads) != 1 or list(reads[0].users) != [total] or sum(side is reads[0] for side in sides) != 1:
        return None
    if list(total.users) != [store]:
        return None
    assert isinstance(total.type, Prim)
    return _Sum(local, _KINDS[total.kind], total.type)


def _along_rows(task: Task, loop: For) -> bool:
    """Whether a read goes along memory with the loop, far from what the next iteration reads, and none goes along it
    with the iterations."""
    index, inner, some = loop.body.args[0], task.body.args[-1], False
    for op in loop.body:
        place = element_of(op.ptr)[0] if isinstance(op, Load) else None
        if not isinstance(place, Address):
            continue
        strides = {
            split(at)[0]: abs(int(step.value)) if isinstance(step, Const) else _FAR
            for at, step in zip(place.indices, place.strides, strict=True)
        }
        if 0 < strides.get(inner, 0) < _FAR:
            return False
        some |= 0 < strides.get(index, 0) <= _NEAR and strides.get(inner, 0) >= _FAR
    return some


# ---- code ------------------------------------------------------------------------------------------------------------


def write_team(f: DeviceWriter, task: Task, team: Team, lane: str) -> None:
    """The task's body in a warp; `lane` is an i32."""
    before, behind = _around(task, team.loop)
    for op in before:
        f.op(op)
    first = f.set(f"icmp eq i32 {lane}, 0")
    for one in team.sums:
        name, place = in_register(one.type), f.use(one.local)
        begin = f.set(f"load {name}, ptr {place}, align {one.type.size}")
        neutral = constant(identity(one.kind, one.type), one.type)
        mine = f.set(f"select i1 {first}, {name} {begin}, {name} {neutral}")
        f.do(f"store {name} {mine}, ptr {place}, align {one.type.size}")
    _write_share(f, team.loop, lane)
    for one in team.sums:
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


def _write_share(f: DeviceWriter, loop: For, lane: str) -> None:
    """The rounds of one lane, some of them side by side."""
    index, trips, outside = loop.body.args[0], trips_of(loop) or 0, f.values
    assert isinstance(index.type, Prim)
    type = in_register(index.type)
    begin = lane if type == "i32" else f.set(f"zext i32 {lane} to {type}")
    begin = f.set(f"add {type} {begin}, {f.use(loop.begin)}")
    apart, in_turn = apart_and_in_turn(loop.body)
    whole = trips // LANES
    with f.loop("0", str(whole // _BESIDE), type=type) as number:
        start = f.set(f"add {type} {f.set(f'mul {type} {number}, {LANES * _BESIDE}')}, {begin}")
        places = [start, *(f.set(f"add {type} {start}, {LANES * k}") for k in range(1, _BESIDE))]
        f.steps |= {place: (start, LANES * k) for k, place in enumerate(places)}
        beside: list[dict[Value, str]] = [{**outside, index: place} for place in places]
        write_together(f, apart, beside, {index})
        for one in beside:
            write_together(f, in_turn, [one], {index, *apart})
    for done in range(whole - whole % _BESIDE, whole):
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
