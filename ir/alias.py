"""Alias analysis: the memory that an op accesses, and whether two addresses may be equal.

An address is a chain: a *root* (a local, an element of a field or an array, a temporary, the base of a tree) and steps
into it (`ElementPtr`, `MemberPtr`, `Address`). Its *space* is the coarse answer: addresses of different spaces never
alias. Within one space the chains are compared. Indices are compared by their constant difference, so `x[i]` and `x[i +
1]` are known to be different. An index outside its field is the user's error, and the analysis assumes that there is
none.

Each field is a space, and so is each array argument. A launch with overlapping arguments runs another variant of the
kernel (docs/adr/0027), whose arrays and fields are *exposed* and share one space.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import TypeGuard

from weft.ir.addresses import STEPS, byte_sum, element_steps, split
from weft.ir.core import Op, Value, classes_with, pointee
from weft.ir.ops import (
    Address,
    Alloca,
    Arg,
    ArrayPtr,
    Atomic,
    AtomicLoad,
    AtomicStore,
    CompareExchange,
    Const,
    ElementPtr,
    Exchange,
    FieldPtr,
    Gather,
    Load,
    MaskedLoad,
    MaskedStore,
    MemberPtr,
    Scatter,
    Shared,
    SharedLocal,
    Store,
    TempPtr,
)
from weft.ir.scopes import UNKNOWN, array_scope
from weft.ir.symbols import FieldSymbol
from weft.ir.types import Array, Prim, Tensor, element, flat_size

__all__ = [
    "ANYWHERE",
    "EXPOSED",
    "LOCALS",
    "TEMPS",
    "Access",
    "Overlaps",
    "accesses",
    "is_access",
    "is_place",
    "may_alias",
    "same_address",
    "space_of",
    "space_of_array",
    "space_of_field",
    "spaces_meet",
]

EXPOSED = "exposed"  # all exposed arrays and fields together
TEMPS = "temps"  # the kernel's temporaries, which differ by their bytes
ANYWHERE = "anywhere"  # unknown memory of the caller; may alias all but locals and temporaries

LOCALS = classes_with("local")

Access = (
    Load
    | Store
    | Atomic
    | AtomicLoad
    | AtomicStore
    | Exchange
    | CompareExchange
    | MaskedLoad
    | MaskedStore
    | Gather
    | Scatter
)
Effects = tuple[list[Value], list[Value], bool]


def is_access(op: Op) -> TypeGuard[Access]:
    """Whether the op reads or writes memory at one address, its `ptr`."""
    return op.effect == "address"


def space_of(ptr: Value) -> Hashable:
    """The space of an address: the Alloca or SharedLocal, the FieldSymbol, the Shared array, EXPOSED (all exposed
    arrays and fields together), TEMPS, the scope of an array argument or of an Address, or ANYWHERE."""
    scope = UNKNOWN
    while type(ptr) in STEPS:
        if type(ptr) is Address:
            scope = ptr.scope if scope is UNKNOWN else scope
        ptr = ptr.operands[0]  # type: ignore[attr-defined]
    if isinstance(ptr, (Alloca, SharedLocal)):
        return ptr
    if isinstance(ptr, FieldPtr):
        return space_of_field(ptr.field)
    if isinstance(ptr, TempPtr):
        return TEMPS
    if isinstance(ptr, ArrayPtr):
        return space_of_array(ptr.array)
    return EXPOSED if scope.exposed else scope if scope.space else ANYWHERE


def space_of_field(field: FieldSymbol) -> Hashable:
    """The space of a field's elements."""
    return EXPOSED if field.exposed else field


def space_of_array(array: Value) -> Hashable:
    """The space of an array's elements."""
    if isinstance(array, Shared):
        return array
    assert isinstance(array, Arg)
    assert isinstance(array.type, Array)
    return EXPOSED if array.type.exposed else array_scope(array.index)


def spaces_meet(a: Hashable, b: Hashable) -> bool:
    """Whether addresses of these two spaces can be equal."""
    if a == b:
        return True
    if a != ANYWHERE and b != ANYWHERE:
        return False
    other = b if a == ANYWHERE else a
    return not isinstance(other, (Alloca, SharedLocal)) and other != TEMPS


def is_place(value: Value) -> TypeGuard[Op]:
    """Whether equal ops of this kind with equal operands always have equal values."""
    return type(value) in _SPELLED


def same_address(p: Value, q: Value) -> bool:
    """Whether both are known to be the same address of one type."""
    return _same_value(p, q)


def may_alias(p: Value, q: Value) -> bool:
    """Whether the memory at `p` and at `q` may overlap."""
    return p is q or (spaces_meet(space_of(p), space_of(q)) and Overlaps(q).meets(p))


class Overlaps:
    """What overlaps the memory at an address, of memory in spaces that meet its own. It is used while no pass changes
    the address."""

    def __init__(self, ptr: Value) -> None:
        self._ptr, (self._root, self._steps) = ptr, element_steps(ptr)
        self._sum: _Sum | None = None

    def meets(self, ptr: Value) -> bool:
        """Whether the memory at another address may overlap it."""
        if ptr is self._ptr:
            return True
        root, steps = element_steps(ptr)
        if root is not self._root:
            if not self._roots_overlap(root):
                return False
            if isinstance(root, FieldPtr) and isinstance(self._root, FieldPtr):
                if root.field is not self._root.field:
                    return True  # a vector, and a component of it
            elif not same_address(root, self._root):
                return True
        # Elements of a field are the same or distinct. Parts of them are distinct if the steps are.
        # `zip` stops at the shorter chain: a whole contains its parts.
        return not any(_step_apart(a, b) for a, b in zip(steps, self._steps))

    def _roots_overlap(self, a: Value) -> bool:
        """Whether another root (or Address) overlaps its own."""
        b = self._root
        if isinstance(a, FieldPtr) and isinstance(b, FieldPtr):
            return a.field.shares_with(b.field) and not _indices_apart(a.indices, b.indices)
        if isinstance(a, ArrayPtr) and isinstance(b, ArrayPtr):
            # Elements of a strided view may overlap; those of a contiguous array do not.
            kind = a.array.type
            plain = isinstance(kind, Array) and kind.contiguous
            return not (plain and _same_value(a.array, b.array) and _indices_apart(a.indices, b.indices))
        if self._sum is None:
            self._sum = _linear(b)
        return not _bytes_apart(a, _linear(a), b, self._sum)


def accesses(op: Op) -> Effects:
    """The addresses that the op itself may read and may write, without its regions, and whether it is a barrier. A
    barrier may access any memory: nothing is known after it, and everything before it must have happened."""
    if op.effect != "address":
        return [], [], op.orders()
    ptr = [op.operands[0]]
    return ptr if op.reads else [], ptr if op.writes else [], op.orders()


def _same_value(a: Value, b: Value) -> bool:
    """Whether both are known to hold the same value: the same op, equal integer constants, or two
    forms of one address."""
    if a is b:
        return True
    if type(a) is not type(b) or a.type is not b.type or not is_place(a):
        return False
    assert isinstance(b, Op)
    if a.groups != b.groups:
        return False
    if any(getattr(a, name) != getattr(b, name) for name in a.attribute_names):
        return False
    return all(_same_value(x, y) for x, y in zip(a.operands, b.operands))


_SPELLED = classes_with("place")


def _step_apart(a: ElementPtr | MemberPtr, b: ElementPtr | MemberPtr) -> bool:
    if isinstance(a, MemberPtr) and isinstance(b, MemberPtr):
        return a.index != b.index
    if isinstance(a, ElementPtr) and isinstance(b, ElementPtr):
        return _indices_apart(a.indices, b.indices)
    return False


def _indices_apart(a: list[Value], b: list[Value]) -> bool:
    return any(_difference(i, j) not in (None, 0) for i, j in zip(a, b))


def _difference(a: Value, b: Value) -> int | None:
    """`b - a` if it is constant, else None."""
    if a is b:
        return 0
    if a.type is not b.type:
        return None
    if isinstance(a, Const) and isinstance(b, Const):
        return int(b.value) - int(a.value)
    (value_a, constant_a), (value_b, constant_b) = split(a), split(b)
    if (value_a is None) != (value_b is None):
        return None
    if value_a is not None and value_b is not None and not _same_value(value_a, value_b):
        return None
    difference = constant_b - constant_a  # modulo 2**32
    return difference if abs(difference) < 2**31 else None


_Sum = tuple[Value | None, tuple[tuple[Value, Value], ...], int]


def _bytes_apart(a: Value, sum_a: _Sum, b: Value, sum_b: _Sum) -> bool:
    """Whether two byte addresses are so far apart that the memory at them cannot overlap."""
    base_a, terms_a, start_a = sum_a
    base_b, terms_b, start_b = sum_b
    if len(terms_a) != len(terms_b) or not (base_a is base_b or (base_a and base_b and _same_value(base_a, base_b))):
        return False
    distance, moved = start_b - start_a, False
    for (i, s), (j, t) in zip(terms_a, terms_b):
        if not _same_value(s, t):
            return False
        step = _difference(i, j)
        if step is None:
            return False
        if step:
            if moved or not isinstance(s, Const):
                return False
            distance, moved = distance + step * int(s.value), True
    return distance >= _extent(a) or -distance >= _extent(b)


def _linear(ptr: Value) -> _Sum:
    """The sum of an address: base, [(index, stride)], bytes. The base of temporaries is None."""
    found = byte_sum(ptr)
    if isinstance(found.base, TempPtr):
        return None, found.terms, found.offset + found.base.offset
    return found.base, found.terms, found.offset


def _extent(ptr: Value) -> int:
    """The largest number of bytes of the value at `ptr`. Structs may have gaps."""
    elem = pointee(ptr)
    if isinstance(elem, (Prim, Tensor)):
        return element(elem).size * flat_size(elem)
    return 8 * flat_size(elem)
