"""Where the derivatives of a kernel's memory and parameters are, and which values carry a derivative.

A field names the fields of its gradient and of its dual. The gradient or the dual of a parameter is a hidden parameter:

    kernel @k(a: [f32; 1], a.dual: [f32; 1] hidden=dual)

A field, an array or a parameter without the companion that a mode needs is a constant in that mode.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from weft.ir import ops
from weft.ir.addresses import root_of
from weft.ir.autodiff.rules import DERIVATIVES
from weft.ir.core import Op, Value, ops_of
from weft.ir.rewrite import Fixed
from weft.ir.scalar import BINARY, UNARY
from weft.ir.symbols import COMPANIONS, FieldSymbol, role_of
from weft.ir.types import Pointer, Prim, Struct, Tensor, Type, flatten

__all__ = ["Companions", "active_values", "carries", "partials_of", "pointee"]


class Companions:
    """The companions of a kernel's fields and parameters in a mode, by default that of the kernel."""

    def __init__(self, kernel: ops.Kernel, mode: str = "") -> None:
        self.mode = mode or kernel.mode
        self.kind = COMPANIONS[self.mode]
        named = {param.name: index for index, param in enumerate(kernel.params) if param.hidden == self.kind}
        found = {index: named.get(f"{param.name}.{self.kind}") for index, param in enumerate(kernel.params)}
        self.params = {index: other for index, other in found.items() if other is not None}
        self.types, self.names = [param.type for param in kernel.params], [param.name for param in kernel.params]
        self.paired = next((index for index, param in enumerate(kernel.params) if role_of(param.hidden)[2]), None)
        self.owners = {self.field(symbol): symbol for symbol in kernel.fields if self.field(symbol) is not None}

    def field(self, symbol: FieldSymbol) -> FieldSymbol | None:
        """The gradient or the dual of a field."""
        found: FieldSymbol | None = getattr(symbol, self.kind)
        return found

    def has(self, root: Value) -> bool:
        """Whether memory of the program that begins at `root` has a companion."""
        if isinstance(root, ops.FieldPtr):
            return self.field(root.field) is not None
        return isinstance(root, ops.ArrayPtr) and isinstance(root.array, ops.Arg) and root.array.index in self.params

    def is_record(self, ptr: Value) -> bool:
        """Whether it is the address of a record that is followed by its dual (`records.py`)."""
        root = root_of(ptr)
        return isinstance(root, ops.ArrayPtr) and isinstance(root.array, ops.Arg) and root.array.index == self.paired

    def recorded(self, op: Value) -> ops.Load | None:
        """The load of the record whose bits a value has."""
        word = op.x if isinstance(op, ops.BitCast) else None
        word = word.x if isinstance(word, ops.Cast) else word
        return word if isinstance(word, ops.Load) and self.is_record(word.ptr) else None

    def beside(self, names: Sequence[str]) -> list[str]:
        """The names of the companions of the fields and parameters with these names."""
        fields = [made.name for made, own in self.owners.items() if made is not None and own.name in names]
        return fields + [self.names[other] for index, other in self.params.items() if self.names[index] in names]

    def touches(self, op: ops.Invoke) -> bool:
        """Whether a function may access a field or array with a companion."""
        return bool(self.beside(op.touched))


def carries(type: Type) -> bool:
    """Whether a value of that type has a float, which may carry a derivative."""
    return isinstance(type, (Prim, Tensor, Struct)) and any(prim.is_float for prim in flatten(type))


def pointee(ptr: Value) -> Type:
    """The type of the value at an address."""
    assert isinstance(ptr.type, Pointer)
    return ptr.type.elem


def partials_of(op: ops.Unary | ops.Binary) -> list[tuple[Value, object]]:
    """The operands by which the operator has a derivative other than 0, each with its partial derivative."""
    name = (UNARY[op.kind] if isinstance(op, ops.Unary) else BINARY[op.kind]).derivative
    if name is None or not carries(op.type):
        return []
    pairs = zip(op.operands, DERIVATIVES[name].partials, strict=True)
    return [(value, part) for value, part in pairs if not (isinstance(part, Fixed) and part.value == 0.0)]


_CARRIERS = (
    ops.Select, ops.MakeTensor, ops.Splat, ops.Extract, ops.MatMul, ops.Transpose, ops.Reduce, ops.MakeStruct,
    ops.Member, ops.Cast, ops.BitCast, ops.Vary,
)  # fmt: skip


def active_values(kernel: ops.Kernel, companions: Companions, start: Iterable[Value] = ()) -> set[Value]:
    """The values that may carry a derivative, and the locals that may hold one: what memory with a companion flows
    into, and `start`. Integers, truth values and constants do not."""
    active = set(start)
    every = ops_of(kernel.body)
    grown = True
    while grown:
        before = len(active)
        for op in every:
            if op not in active and _becomes_active(op, active, companions):
                active.add(op)
            if isinstance(op, (ops.Store, ops.Atomic)) and op.value in active:
                root = root_of(op.ptr)
                if isinstance(root, (ops.Alloca, ops.SharedLocal, ops.Shared)) and carries(op.value.type):
                    active.add(root)
        grown = len(active) > before
    return active


def _becomes_active(op: Op, active: set[Value], companions: Companions) -> bool:
    if not carries(op.type):
        return False
    if isinstance(op, ops.Arg):
        return op.index in companions.params
    if companions.recorded(op) is not None:
        return True
    if isinstance(op, (ops.Load, ops.Atomic)):
        root = root_of(op.ptr)
        return root in active or companions.has(root)
    if isinstance(op, ops.Invoke):
        return any(value in active for value in op.values) or companions.touches(op)
    if isinstance(op, (ops.Unary, ops.Binary)):
        return any(value in active for value, _ in partials_of(op))
    return isinstance(op, _CARRIERS) and any(value in active for value in op.operands)
