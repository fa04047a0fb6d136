"""Atomic products of shared memory in parallel loops: `x[k] *= v`.

Memory holds the product of its old value and of all factors, in any order. With `a` for the adjoint of the final value
and `p` for that value,

    the adjoint of a factor v        a * (p / v)                    in the backward sweep of the loop
    the adjoint of the old value     a * all factors                after it, by a second loop of atomic products

The division needs factors other than 0: the product of the others is not known if one is 0. The gradient then fails
with the line of the product. It does not fail if `a` is 0. A factor without a derivative may be 0.
"""

from __future__ import annotations

from weft.ir import ops
from weft.ir.addresses import root_of
from weft.ir.alias import space_of, spaces_meet
from weft.ir.autodiff.adjoints import Frame, filled
from weft.ir.autodiff.companions import carries
from weft.ir.core import Op, Value
from weft.ir.types import shape_of

__all__ = ["apart_from_products", "loop_around", "pull_factor", "scale", "scales"]

_PARALLEL = (ops.ParallelFor, ops.StructFor)
_ZERO = "reverse mode cannot differentiate an atomic product with a factor of 0 in a parallel loop"


def scales(op: Op, acts: set[Op]) -> bool:
    """Whether an op multiplies the adjoint of its memory."""
    return isinstance(op, ops.Atomic) and op.kind == "mul" and op in acts


def loop_around(op: Op) -> Op | None:
    """The parallel loop around an op."""
    return next((outer for outer in op.around() if isinstance(outer, _PARALLEL)), None)


def apart_from_products(op: ops.Atomic) -> Op | None:
    """An access of the parallel loop, other than products, that may meet the memory of a product in it."""
    loop = loop_around(op)
    assert loop is not None
    for other in loop.walk():
        product = isinstance(other, ops.Atomic) and other.kind == "mul" and not other.users
        if other.effect != "address" or product:
            continue
        if spaces_meet(space_of(other.operands[0]), space_of(op.ptr)):
            return other
    return None


def pull_factor(frame: Frame, op: ops.Atomic, local: bool) -> Value:
    """The adjoint of a factor."""
    add, factor = frame.build.add, frame.value(op.value)
    adjoint = add(ops.Load(frame.adjoint(op.ptr)))
    final = frame.value(op) if local else add(ops.Load(frame.address(op.ptr)))
    zero = filled(frame.build, factor.type)
    vanishes = add(ops.Binary("eq", factor, zero))
    harmless = add(ops.Binary("eq", adjoint, zero))
    sound: Value = add(ops.Binary("or", add(ops.Binary("ne", factor, zero)), harmless))
    if shape_of(sound.type):
        sound = add(ops.Reduce("and", sound))
    add(ops.Assert(sound, [], _ZERO, "arithmetic"))
    return add(ops.Select(vanishes, zero, add(ops.Binary("mul", adjoint, add(ops.Binary("div", final, factor))))))


def scale(frame: Frame, op: ops.Atomic) -> None:
    """Multiply the adjoint of the memory by a factor."""
    assert carries(op.value.type)
    assert root_of(op.ptr) is not None
    frame.build.add(ops.Atomic("mul", frame.adjoint(op.ptr), frame.value(op.value)))
