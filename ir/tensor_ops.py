"""The ops on whole tensors and structs, which `scalarize` replaces by ops on scalars. `ops.py` exports them too."""

from __future__ import annotations

from weft.ir.core import Op, Value, attr, operand, operands
from weft.ir.types import Struct, Type, element, shape_of, tensor

__all__ = ["Extract", "MakeStruct", "MakeTensor", "MatMul", "Member", "Transpose"]

# ---- tensors and structs ---------------------------------------------------------------------------------------------


class MakeTensor(Op, name="make_tensor", pure=True, levels="chi tasks"):
    """Builds a tensor of the op's type from its scalars in row-major order."""

    values: list[Value] = operands()


class Extract(Op, name="extract", pure=True, levels="chi tasks"):
    """Gives one element of a tensor value. `index` is constant and counts in row-major order."""

    x: Value = operand()
    index: int = attr()

    def result_type(self) -> Type:
        return element(self.x.type)


class MatMul(Op, name="matmul", pure=True, levels="chi tasks"):
    """Multiplies an n x k matrix by a k x m matrix, or by a vector of k elements."""

    lhs: Value = operand()
    rhs: Value = operand()

    def result_type(self) -> Type:
        return tensor(element(self.lhs.type), (shape_of(self.lhs.type)[0], *shape_of(self.rhs.type)[1:]))


class Transpose(Op, name="transpose", pure=True, levels="chi tasks"):
    """Transposes a matrix."""

    x: Value = operand()

    def result_type(self) -> Type:
        return tensor(element(self.x.type), shape_of(self.x.type)[::-1])


class MakeStruct(Op, name="make_struct", pure=True, levels="chi tasks"):
    """Builds a struct of the op's type from its members in order."""

    values: list[Value] = operands()


class Member(Op, name="member", pure=True, levels="chi tasks"):
    """Gives the member number `index` of a struct value."""

    x: Value = operand()
    index: int = attr()

    def result_type(self) -> Type:
        assert isinstance(self.x.type, Struct)
        return self.x.type.members[self.index][1]
