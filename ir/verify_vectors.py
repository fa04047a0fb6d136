"""The verifier's rules for ops on vectors, and for tasks and loops whose iterations run in lanes. See `verify.py`."""

from __future__ import annotations

from typing import Any, cast

from weft.ir import ops
from weft.ir.core import Op, Value
from weft.ir.ops import Kernel
from weft.ir.tasks import left_of
from weft.ir.types import Lanes, Pointer, Prim, Type, i64, lanes, u1
from weft.ir.verify_types import checks, pointee_of, require

__all__ = ["verify_vectorized"]


def verify_vectorized(op: ops.Task | ops.For) -> None:
    """Raise InternalError unless a task or loop of the level "vectors" has the argument `%left` if its iterations run
    in lanes. The decisions in its schedule were verified before."""
    if op.schedule.lanes == 1:
        return
    left = left_of(op)
    require(
        left is not None and left.type is i64,
        op,
        "runs in lanes, but its last argument is not the number of iterations that are left, an i64",
    )
    moved = [one for one in op.walk() if isinstance(one, (ops.Load, ops.Store, ops.Atomic)) and one.move]
    require(not moved, op, "runs in lanes, but contains an access with a move; expected ops on vectors")


def _vector(op: Op, value: Value) -> Lanes:
    require(isinstance(value.type, Lanes), op, f"has a value of type {value.type}; expected a vector")
    return cast(Lanes, value.type)


def _mask(op: Op, mask: Value, count: int = 0) -> None:
    vector = _vector(op, mask)
    require(vector.elem is u1, op, f"has a mask of type {vector}; expected elements of type u1")
    require(count in (0, vector.count), op, f"has a mask of {vector.count} lanes; expected {count}")


def _number(op: Op, value: Value) -> None:
    require(value.type is i64, op, f"has a lane number of type {value.type}; expected i64")


def _moved(op: Op, type: Type) -> Prim:
    """The type of the numbers at an address of lanes."""
    require(
        isinstance(type, Pointer) and isinstance(type.elem, Prim),
        op,
        f"has an address of type {type}; expected that of a scalar",
    )
    return cast(Prim, cast(Pointer, type).elem)


def _stored(op: Op, value: Value, elem: Prim, count: int) -> None:
    wanted = lanes(elem, count)
    require(value.type is wanted, op, f"stores {value.type}; expected {wanted}")


@checks(ops.Ramp)
def _ramp(op: ops.Ramp, _: Kernel) -> None:
    elem = _vector(op, op).elem
    require(op.x.type is elem, op, f"begins at a value of type {op.x.type}; expected {elem}")
    integer = isinstance(elem, Prim) and elem.is_int and elem is not u1
    require(integer or isinstance(elem, Pointer), op, f"is a ramp of type {op.type}; expected integers or addresses")


@checks(ops.Lane)
def _lane(op: ops.Lane, _: Kernel) -> None:
    vector = _vector(op, op.x)
    _number(op, op.number)
    if isinstance(op.number, ops.Const):
        require(
            0 <= op.number.value < vector.count,
            op,
            f"takes lane {op.number.value}; the vector has {vector.count} lanes",
        )


@checks(ops.Shuffle)
def _shuffle(op: ops.Shuffle, _: Kernel) -> None:
    vector = _vector(op, op.a)
    require(
        op.a.type is op.b.type, op, f"takes elements of vectors of types {op.a.type} and {op.b.type}; expected one type"
    )
    inside = all(-1 <= number < 2 * vector.count for number in op.order)
    require(
        bool(op.order) and inside, op, f"has the order {op.order}; expected numbers from -1 to {2 * vector.count - 1}"
    )
    require(
        isinstance(vector.elem, Prim) or -1 not in op.order,
        op,
        "has -1 in its order, which gives zero, but its elements are addresses",
    )


@checks(ops.FirstLanes)
def _first_lanes(op: ops.FirstLanes, _: Kernel) -> None:
    _mask(op, op)
    require(op.count.type is i64, op, f"has a count of type {op.count.type}; expected i64")
    require(op.first >= 0, op, f"begins at lane {op.first}; expected 0 or more")


@checks(ops.AnyActive, ops.FirstActive)
def _asked(op: Any, _: Kernel) -> None:
    _mask(op, op.mask)


@checks(ops.EachLane)
def _each_lane(op: ops.EachLane, _: Kernel) -> None:
    _mask(op, op.mask)
    require(
        [arg.type for arg in op.body.args] == [i64], op, "has a body whose argument is not the number of a lane, an i64"
    )


@checks(ops.LaneRandom)
def _lane_random(op: ops.LaneRandom, _: Kernel) -> None:
    _number(op, op.number)
    require(isinstance(op.type, Prim), op, f"has the type {op.type}; expected a scalar")
    task = op.parent
    while task is not None and not isinstance(task, ops.Task):
        task = task.parent
    require(task is not None and task.schedule.lanes > 1, op, "is not in a task whose iterations run in lanes")


@checks(ops.MaskedLoad)
def _masked_load(op: ops.MaskedLoad, _: Kernel) -> None:
    _mask(op, op.mask)
    pointee_of(op, op.ptr)
    _moved(op, op.ptr.type)


@checks(ops.MaskedStore)
def _masked_store(op: ops.MaskedStore, _: Kernel) -> None:
    pointee_of(op, op.ptr)
    vector = _vector(op, op.value)
    _stored(op, op.value, _moved(op, op.ptr.type), vector.count)
    _mask(op, op.mask, vector.count)


@checks(ops.Gather)
def _gather(op: ops.Gather, _: Kernel) -> None:
    vector = _vector(op, op.ptr)
    _moved(op, vector.elem)
    _mask(op, op.mask, vector.count)


@checks(ops.Scatter)
def _scatter(op: ops.Scatter, _: Kernel) -> None:
    vector = _vector(op, op.ptr)
    _stored(op, op.value, _moved(op, vector.elem), vector.count)
    _mask(op, op.mask, vector.count)
