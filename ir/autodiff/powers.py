"""Products of equal factors, and quotients by powers of square roots, in derivatives of reverse mode.

    %s = unary sqrt %x                         %r = unary rsqrt %x
    %2 = binary mul %s, %s                     %2 = binary mul %r, %r
    %3 = binary mul %2, %s              =>     %3 = binary mul %2, %r
    %q = binary div %y, %3                     %q = binary mul %y, %3

The derivative of a quotient divides twice, by the same power, and that of a root divides by the root. The derivative of
a product multiplies, and that of `rsqrt` is a product of its values: one inverse root is all that is left.

Only with `fast_math`, whose reciprocals and reassociation these are: `1 / sqrt(x)` is `rsqrt(x)` in all kernels then.
Where x is 0, the derivative by x is 0, as that of `sqrt` is.

The gradient computes values of its kernel again, and the product may differ from the quotient in its last bits. So a
quotient stays as it is if anything that is no smooth function of it may depend on it: a branch, an index, a `floor`,
a remainder. The gradient then takes the way of its kernel.
"""

from __future__ import annotations

from weft.ir import ops
from weft.ir.addresses import root_of
from weft.ir.autodiff.companions import carries, partials_of
from weft.ir.core import Builder, Op, Value, ops_of

__all__ = ["multiply_by_inverse_roots", "power_of"]


def power_of(value: Value) -> tuple[Value | None, int]:
    """The factor of a product whose factors are all the same value, and how many there are. (None, 0): the value is no
    such product."""
    if not isinstance(value, ops.Binary) or value.kind != "mul":
        return None, 0
    for base, other in ((value.rhs, value.lhs), (value.lhs, value.rhs)):
        count = 1
        while other is not base and isinstance(other, ops.Binary) and other.kind == "mul" and base in other.operands:
            other = other.rhs if base is other.lhs else other.lhs
            count += 1
        if other is base:
            return base, count + 1
    return None, 0


def multiply_by_inverse_roots(kernel: ops.Kernel) -> None:
    """Replace the quotients of a kernel whose divisor is a square root of floats, or a product of equal ones."""
    quotients = [op for op in kernel.all_of(ops.Binary) if op.kind == "div" and _root_of(op) is not None]
    deciding = _deciding(kernel) if quotients else set[Value]()
    for op in quotients:
        if op not in deciding:
            op.replace(Builder.at(op).add(ops.Binary("mul", op.lhs, _inverse(op), name=op.name)))


def _root_of(op: ops.Binary) -> tuple[Value, int] | None:
    """The x of the divisor `sqrt(x) ** n`, and n. None: the divisor is no such power."""
    divisor = op.rhs.x if isinstance(op.rhs, ops.Splat) else op.rhs
    root, count = power_of(divisor)
    if root is None:
        root, count = divisor, 1
    return (root.x, count) if isinstance(root, ops.Unary) and root.kind == "sqrt" else None


def _inverse(op: ops.Binary) -> Value:
    """The reciprocal of the divisor."""
    found, build = _root_of(op), Builder.at(op)
    assert found is not None
    x, count = found
    one: Value = build.add(ops.Unary("rsqrt", x))
    result = one
    for _ in range(count - 1):
        result = build.add(ops.Binary("mul", result, one))
    return build.add(ops.Splat(result, type=op.rhs.type)) if isinstance(op.rhs, ops.Splat) else result


def _deciding(kernel: ops.Kernel) -> set[Value]:
    """The values on which an op depends that is no smooth function of them. What is stored may be loaded again from any
    place of the same memory."""
    stored = dict[object, list[Value]]()
    for op in kernel.all_of(ops.Store, ops.Atomic):
        stored.setdefault(_memory(op), []).append(op.operands[1])
    found, pending = set[Value](), [value for op in ops_of(kernel.body) if not _is_smooth(op) for value in op.operands]
    while pending:
        value = pending.pop()
        if value not in found and isinstance(value, Op):
            found.add(value)
            pending += [*value.operands, *(stored.get(_memory(value), ()) if isinstance(value, _READS) else ())]
    return found


_READS = ops.Load, ops.Atomic
_MOVES = (
    ops.Select, ops.MakeTensor, ops.Splat, ops.Extract, ops.MatMul, ops.Transpose, ops.Reduce, ops.MakeStruct,
    ops.Member, ops.Load, ops.Store, ops.Return,
)  # fmt: skip


_JUMPS = {"mod", "raw_mod"}  # by the divisor, their derivative is a whole number


def _is_smooth(op: Op) -> bool:
    """Whether the op moves numbers, or computes with floats in a way that has a derivative. That may jump at a kink, as
    that of a maximum does, but not elsewhere."""
    if isinstance(op, (ops.Unary, ops.Binary)):
        return op.kind not in _JUMPS and bool(partials_of(op))
    if isinstance(op, ops.Cast):
        return carries(op.type)
    return isinstance(op, _MOVES) or (isinstance(op, ops.Atomic) and op.kind in ("add", "sub"))


def _memory(op: Op) -> object:
    """A local or field that the op accesses. Any two arrays may share memory."""
    root = root_of(op.operands[0])
    return root.field if isinstance(root, ops.FieldPtr) else None if isinstance(root, ops.ArrayPtr) else root
