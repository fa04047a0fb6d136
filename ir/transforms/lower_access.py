"""Lowers each address to a base, a byte offset, and an index times a stride for each axis."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod

from weft.ir.addresses import element_steps, root_of, split
from weft.ir.alias import is_access
from weft.ir.config import CompileConfig
from weft.ir.core import Block, Builder, Op, Value, ops_of, pointee
from weft.ir.errors import InternalError
from weft.ir.ops import (
    Address,
    Alloca,
    Arg,
    ArrayBase,
    ArrayExtent,
    ArrayPtr,
    ArrayShape,
    ArrayStride,
    Binary,
    Cast,
    Const,
    ElementPtr,
    FieldPtr,
    Kernel,
    MemberPtr,
    ScalarArg,
    Select,
    Shared,
    SharedBase,
    Task,
    TempPtr,
    TreeBase,
)
from weft.ir.passes import pass_
from weft.ir.scopes import Scope, array_scope
from weft.ir.storage.level import Place
from weft.ir.storage.values import member_offset, size_of
from weft.ir.symbols import FieldSymbol, scopes_of
from weft.ir.tasks import tasks_of
from weft.ir.types import Array, Pointer, Prim, Struct, Tensor, Type, flatten, pointer, u1
from weft.ir.widen import FARTHEST, Widener

__all__ = ["lower_access"]

_POINTERS = (FieldPtr, ArrayPtr, ElementPtr, MemberPtr, TempPtr)


@pass_("lower_access")
def lower_access(root: Kernel, config: CompileConfig) -> bool:
    """For a field of f32 with 8 columns, in a loop over %i and %j:

        body (%i : i32, %j : i32) {                        prologue { %base = tree_base 0 }
          %j1 = %j + 1                                     body (%i : i64, %j : i64) {
          %v = load field_ptr @x(%i, %j1)            ->      %p = address %base, %i * 32 + %j * 4, offset=4, "field:x"
        }                                                    %v = load %p

    All indices become i64 (see `widen.py`), including those of the tasks' loops and of inner loops. `offset` holds the
    user's offset of a field, constants in indices, and the positions of components. Each digit of an index into nested
    blocks costs a division and a remainder, or a shift and a mask if the size of the block is a power of two. A
    component that is chosen at run time is addressed by a stride if the components are evenly spaced, else by a chain
    of selects. Strides of arrays are computed in the prologue.

    The scope of an address is the field (`field:x`, or `field:x#2` if all accesses choose their component at compile
    time), the array (`array:0`), the array of the block (`shared:0`), the local (`local:3`) or the temporary
    (`temp:16`). Locals of one scalar are left unchanged.

    The pass runs once, after `scalarize`: every load, store and atomic must access a scalar.
    """
    lowering = _Lowering(root, config.boundary_check)
    tasks = tasks_of(root)
    for task in tasks:
        lowering.task(task)
    return bool(tasks)


def _address(place: Place, type: Type, scope: Scope, like: Op) -> Address:
    return Address(place.base, place.indices, place.strides, place.offset, scope, type=type, name=like.name)


class _Lowering:
    def __init__(self, kernel: Kernel, exact: bool) -> None:
        self.widen = Widener(exact)
        self.scopes = scopes_of(kernel.fields)
        self.whole = {
            op.base.field
            for op in kernel.all_of(ElementPtr)
            if isinstance(op.base, FieldPtr) and not _constants(op.indices)
        }
        self.locals: dict[Value, int] = {}
        self.arrays: dict[Shared, int] = {}
        self.elements: dict[FieldPtr, Place] = {}

    def task(self, task: Task) -> None:
        for op in ops_of(*task.regions):
            if isinstance(op, ArrayShape):
                self.shape(op)
            elif isinstance(op, Arg) and isinstance(op.type, Prim):
                op.replace(Builder.at(op).add(ScalarArg(op.index, 0, type=op.type, name=op.name)))
        if task.kind != "serial":
            self.widen.widen_task(task)
        pointers: list[Op] = task.all_of(*_POINTERS)
        for op in pointers:
            self.pointer(op)
        for op in reversed(pointers):
            if not op.users:
                op.erase()
        for op in (*task.all_of(Arg), *task.all_of(Shared)):
            if not op.users:
                op.erase()

    def shape(self, op: ArrayShape) -> None:
        """Extents fit the index type of the array."""
        builder = Builder.at(op)
        assert op.block is not None
        assert isinstance(op.array.type, Array)
        extent = self.extent(op.block, _array_index(op.array), op.array.type, op.axis)
        op.replace(extent if op.type is extent.type else builder.add(Cast(extent, type=op.type, name=op.name)))

    def pointer(self, op: Op) -> None:
        """Give each load, store and atomic of a scalar its lowered address."""
        accesses = [user for user in op.users if is_access(user)]
        if not accesses:
            return
        assert isinstance(op.type, Pointer)
        if not isinstance(op.type.elem, Prim):
            raise InternalError(
                f"lower_access: {accesses[0]!r} accesses a whole {op.type.elem}; scalarize must run before"
            )
        root = root_of(op)
        address = _ROOTS[type(root)](self, op, root)
        for user in accesses:
            if isinstance(root, FieldPtr) and user.writes:
                self.activate(user, root)
            user.set_operand(0, address)

    # ---- fields ----

    def field_address(self, op: Op, root: Value) -> Value:
        assert isinstance(root, FieldPtr)
        symbol, after = root.field, _after(op)
        scope = self.scopes[symbol]
        if op is root:
            place = self.field_place(root)
            place.offset += symbol.components[0]
            return after.add(_address(place, op.type, scope, op))
        assert isinstance(op, ElementPtr)
        place = self.element_place(root)
        inside = place.copy()
        self.component(inside, symbol, op)
        if symbol not in self.whole:
            scope = Scope(scope.space, _row_major(symbol, op.indices), scope.exposed)
        return after.add(_address(inside, op.type, scope, op))

    def activate(self, access: Op, root: FieldPtr) -> None:
        """Activate the element before a write, if a level of the field does not always have all cells."""
        symbol = root.field
        if not symbol.path.is_full:
            symbol.path.activate(_Chi(self, access), self.tree_place(access, symbol), root.indices, symbol.space)

    def tree_place(self, op: Op, symbol: FieldSymbol) -> Place:
        """The address at which the field's tree begins."""
        assert op.block is not None
        return Place(self.widen.share(op.block, TreeBase(symbol.tree), ("tree", symbol.tree)))

    def element_place(self, root: FieldPtr) -> Place:
        """The address at which an element with several components begins. It is computed once for all components that
        are accessed."""
        if root not in self.elements:
            place = self.field_place(root)
            if len(root.users) > 1:
                start = _address(place, pointer(flatten(root.field.dtype)[0]), self.scopes[root.field], root)
                place = Place(_after(root).add(start))
            self.elements[root] = place
        return self.elements[root]

    def field_place(self, root: FieldPtr) -> Place:
        symbol = root.field
        place = self.tree_place(root, symbol)
        symbol.path.address(_Chi(self, root), place, root.indices, symbol.space)
        return place

    def component(self, place: Place, symbol: FieldSymbol, op: ElementPtr) -> None:
        """Add the offset of the chosen component in its element."""
        places = symbol.components
        assert op.block is not None
        assert isinstance(symbol.dtype, Tensor)
        if _constants(op.indices):
            place.offset += places[_row_major(symbol, op.indices)]
            return
        strides = _even_strides(places, symbol.dtype.shape)
        if strides is not None:
            place.offset += places[0]
            for index, stride in zip(op.indices, strides):
                self.index(place, op, index, stride)
            return
        place.indices.append(self.selected(places, symbol.dtype.shape, op))
        place.strides.append(self.widen.constant(op.block, 1))

    def selected(self, places: tuple[int, ...], shape: tuple[int, ...], op: ElementPtr) -> Value:
        """The byte offset of a component chosen at run time, by comparing its number with all component numbers."""
        before, constant = Builder.at(op), self.widen.constant
        number = self.widen(op.indices[0])
        if len(shape) == 2:
            row = before.add(Binary("mul", number, constant(before.block, shape[1])))
            number = before.add(Binary("add", row, self.widen(op.indices[1])))
        chosen = constant(before.block, places[0])
        for k in range(1, len(places)):
            here = before.add(Binary("eq", number, constant(before.block, k), type=u1))
            chosen = before.add(Select(here, constant(before.block, places[k]), chosen))
        return chosen

    # ---- arrays ----

    def array_address(self, op: Op, root: Value) -> Value:
        assert isinstance(root, ArrayPtr)
        assert root.block is not None
        if isinstance(root.array, Shared):
            return self.shared_address(op, root, root.array)
        number, kind = _array_index(root.array), root.array.type
        assert isinstance(kind, Array)
        place = Place(self.widen.share(root.block, ArrayBase(number), ("array", number)))
        size = sum(scalar.size for scalar in flatten(kind.elem))
        for axis, index in enumerate(root.indices):
            if kind.contiguous and axis == kind.ndim - 1:
                self.index(place, root, index, size)
                continue
            place.indices.append(self.widen(index))
            place.strides.append(self.stride(root.block, number, axis, kind, size))
        self.inner(place, op, packed=True)
        return _after(op).add(_address(place, op.type, array_scope(number, kind.exposed), op))

    def shared_address(self, op: Op, root: ArrayPtr, array: Shared) -> Value:
        """Shared arrays are packed like array arguments, and their shape is known."""
        assert root.block is not None
        assert isinstance(array.type, Array)
        stride = size = sum(scalar.size for scalar in flatten(array.type.elem))
        number = self.arrays.setdefault(array, len(self.arrays))
        base = SharedBase(number, size * prod(array.shape))
        place = Place(self.widen.share(root.block, base, ("shared", number)))
        for index, extent in zip(reversed(root.indices), reversed(array.shape), strict=True):
            self.index(place, root, index, stride)
            stride *= extent
        self.inner(place, op, packed=True)
        return _after(op).add(_address(place, op.type, Scope(f"shared:{number}"), op))

    def extent(self, block: Block, number: int, kind: Array, axis: int) -> Value:
        return self.widen.share(block, ArrayExtent(number, axis, kind.wide), ("extent", number, axis))

    def stride(self, block: Block, number: int, axis: int, kind: Array, size: int) -> Value:
        """The stride in bytes along an axis: the product of the extents after it."""
        key = ("stride", number, axis)
        if not kind.contiguous:
            return self.widen.share(block, ArrayStride(number, axis), key)
        if axis == kind.ndim - 1:
            return self.widen.constant(block, size)
        inner = self.stride(block, number, axis + 1, kind, size)
        found = self.widen.shared.get((self.widen.home(block), key))
        if found is None:
            found = self.widen.share(block, Binary("mul", self.extent(block, number, kind, axis + 1), inner), key)
        return found

    # ---- locals and temporaries ----

    def local_address(self, op: Op, root: Value) -> Value:
        number = self.locals.setdefault(root, len(self.locals))
        place = Place(root)
        self.inner(place, op, packed=False)
        return _after(op).add(_address(place, op.type, Scope(f"local:{number}"), op))

    def temp_address(self, op: Op, root: Value) -> Value:
        assert isinstance(root, TempPtr)
        place = Place(root)
        self.inner(place, op, packed=False)
        return _after(op).add(_address(place, op.type, Scope(f"temp:{root.offset}"), op))

    # ---- indices and parts ----

    def index(self, place: Place, op: Op, index: Value, stride: int, start: int = 0) -> None:
        """Add `(index - start) * stride` before `op`. Constants go into the offset, unless they are too large."""
        assert op.block is not None
        rest, constant = split(index, exact=True)
        if rest is None or abs(constant - start) * stride <= FARTHEST:
            place.offset += (constant - start) * stride
        else:
            rest, value = index, self.widen(index)
            if start:
                rest = Builder.at(op).add(Binary("sub", value, self.widen.constant(op.block, start)))
        if rest is not None:
            place.indices.append(self.widen(rest))
            place.strides.append(self.widen.constant(op.block, stride))

    def inner(self, place: Place, op: Op, packed: bool) -> None:
        """Add the steps from the root to `op`: members of structs, elements of tensors."""
        _, steps = element_steps(op)
        for step in steps:
            whole = pointee(step.base)
            if isinstance(step, MemberPtr):
                assert isinstance(whole, Struct)
                place.offset += _packed_offset(whole, step.index) if packed else member_offset(whole, step.index)
                continue
            assert isinstance(whole, Tensor)
            assert step.block is not None
            stride = whole.count * whole.elem.size
            for index, extent in zip(step.indices, whole.shape):
                stride //= extent
                self.index(place, step, index, stride)


class _Chi:
    """The interface through which the levels of a field's path emit ops: right before `at`."""

    def __init__(self, lowering: _Lowering, at: Op) -> None:
        assert at.block is not None
        self.lowering, self.at, self.block = lowering, at, at.block

    def literal(self, index: Value) -> int | None:
        return int(index.value) if isinstance(index, Const) else None

    def add_index(self, place: Place, index: Value, stride: int, first: int) -> None:
        self.lowering.index(place, self.at, index, stride, first)

    def add_digit(self, place: Place, digit: Value, stride: int) -> None:
        place.indices.append(digit)
        place.strides.append(self.lowering.widen.constant(self.block, stride))

    def from_zero(self, index: Value, first: int) -> Value:
        value = self.lowering.widen(index)
        return self._binary("sub", value, first) if first else value

    def quotient(self, value: Value, divisor: int) -> Value:
        if divisor == 1:
            return value
        if divisor & (divisor - 1):
            return self._binary("raw_div", value, divisor)
        return self._binary("shr", value, divisor.bit_length() - 1)

    def remainder(self, value: Value, divisor: int) -> Value:
        if divisor == 1:
            return self.lowering.widen.constant(self.block, 0)
        if divisor & (divisor - 1):
            return self._binary("raw_mod", value, divisor)
        return self._binary("and", value, divisor - 1)

    def _binary(self, kind: str, value: Value, by: int) -> Value:
        return Builder.at(self.at).add(Binary(kind, value, self.lowering.widen.constant(self.block, by)))


_ROOTS: dict[type[Value], Callable[[_Lowering, Op, Value], Value]] = {
    FieldPtr: _Lowering.field_address,
    ArrayPtr: _Lowering.array_address,
    Alloca: _Lowering.local_address,
    TempPtr: _Lowering.temp_address,
}


def _after(op: Op) -> Builder:
    assert op.block is not None
    return Builder(op.block, op.next, op.span)


def _array_index(array: Value) -> int:
    if not isinstance(array, Arg):
        raise InternalError(f"lower_access: {array!r} is not an array parameter")
    return array.index


def _constants(indices: Sequence[Value]) -> bool:
    return all(isinstance(index, Const) for index in indices)


def _row_major(symbol: FieldSymbol, indices: Sequence[Value]) -> int:
    """The number of the component with these constant indices."""
    assert isinstance(symbol.dtype, Tensor)
    number = 0
    for index, extent in zip(indices, symbol.dtype.shape):
        assert isinstance(index, Const)
        number = number * extent + int(index.value)
    return number


def _even_strides(places: tuple[int, ...], shape: tuple[int, ...]) -> list[int] | None:
    """The bytes per step along each axis of the tensor, if its components are evenly spaced."""
    columns = shape[-1]
    column = places[1] - places[0] if columns > 1 else 0
    strides = [column]
    if len(shape) == 2:
        strides.insert(0, places[columns] - places[0] if shape[0] > 1 else 0)
    even = (k // columns * strides[0] * (len(shape) - 1) + k % columns * column for k in range(len(places)))
    return strides if all(place - places[0] == step for place, step in zip(places, even)) else None


def _packed_offset(whole: Struct, index: int) -> int:
    """The scalars of an array's element are adjacent."""
    return sum(size_of(scalar) for _, member in whole.members[:index] for scalar in flatten(member))
