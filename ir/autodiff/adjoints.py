"""The adjoints of values and of memory, while a backward sweep is generated.

The adjoint of a value is the sum of what its uses contribute. Uses in the value's own block contribute SSA values, and
the sum of a tensor or struct is kept by parts. If inner blocks use the value, they add to an *accumulator*, a local
around them. The adjoint of a local is another local. The adjoint of memory of the program is its companion.
"""

from __future__ import annotations

from collections.abc import Callable, Set
from dataclasses import dataclass, field

from weft.ir import ops
from weft.ir.addresses import root_of
from weft.ir.autodiff.companions import Companions, carries, pointee
from weft.ir.core import Block, Builder, Value
from weft.ir.errors import Span
from weft.ir.types import Pointer, Prim, Struct, Tensor, Type, element, flat_size, i32, pointer, shape_of, u1

__all__ = ["Frame", "Sum", "accumulate", "clear", "filled", "leaves", "local_like", "part_of", "plus"]


def filled(build: Builder, type: Type) -> Value:
    """A value of that type whose numbers are all 0."""
    if isinstance(type, Prim):
        return build.add(ops.Const(0.0 if type.is_float else False if type is u1 else 0, type=type))
    if isinstance(type, Tensor):
        return build.add(ops.Splat(filled(build, type.elem), type=type))
    assert isinstance(type, Struct)
    return build.add(ops.MakeStruct([filled(build, member) for _, member in type.members], type=type))


def plus(build: Builder, a: Value, b: Value) -> Value:
    """The sum of two adjoints of one type. The integers of a struct are 0."""
    if not isinstance(a.type, Struct):
        return build.add(ops.Binary("add", a, b)) if carries(a.type) else a
    members = [
        plus(build, build.add(ops.Member(a, index)), build.add(ops.Member(b, index)))
        if carries(type)
        else filled(build, type)
        for index, (_, type) in enumerate(a.type.members)
    ]
    return build.add(ops.MakeStruct(members, type=a.type))


@dataclass
class Sum:
    """The sum of contributions to a value of that type: to the whole, and to its elements or members."""

    type: Type
    whole: Value | None = None
    parts: dict[int, Sum] = field(default_factory=dict["int", "Sum"])

    def add(self, build: Builder, value: Value, path: tuple[int, ...] = ()) -> None:
        """Contribute a value to the part at `path`."""
        if path:
            first = path[0]
            inner = self.parts.setdefault(first, Sum(_part_type(self.type, first)))
            inner.add(build, value, path[1:])
        else:
            self.whole = value if self.whole is None else plus(build, self.whole, value)

    def get(self, build: Builder) -> Value | None:
        """The sum; None: nothing contributed."""
        if not self.parts:
            return self.whole
        types = _part_types(self.type)
        values = [self.parts[index].get(build) if index in self.parts else None for index in range(len(types))]
        given = [filled(build, type) if value is None else value for value, type in zip(values, types, strict=True)]
        kind = ops.MakeStruct if isinstance(self.type, Struct) else ops.MakeTensor
        made = build.add(kind(given, type=self.type))
        return made if self.whole is None else plus(build, self.whole, made)


def _part_types(type: Type) -> list[Type]:
    if isinstance(type, Struct):
        return [member for _, member in type.members]
    return [element(type)] * flat_size(type)


def _part_type(type: Type, index: int) -> Type:
    return type.members[index][1] if isinstance(type, Struct) else element(type)


class Frame:
    """A block that is being generated, for one block of the kernel. `values`: what stands for each of the kernel's
    values here. `sums`: adjoints of the block's own values. `places`: the adjoint of each local, and the accumulators.
    `zero`: adjoints of locals that hold 0 at this point. `parallel`: the body of a parallel loop, or inside of one.
    `unknown`: values that calls have yet to give (`joint.py`). `waiting`: what needs them, to be emitted then."""

    def __init__(self, build: Builder, companions: Companions, outer: Frame | None = None, parallel: bool = False):
        self.build, self.companions, self.outer = build, companions, outer
        self.values: dict[Value, Value] = {}
        self.sums: dict[Value, Sum] = {}
        self.places: dict[Value, Value] = {}
        self.zero: set[Value] = set()
        self.unknown: Set[Value] = frozenset()
        self.waiting: list[Callable[[], None]] = []
        self.parallel: bool = parallel or (outer is not None and outer.parallel)

    @property
    def outermost(self) -> Builder:
        """Builds at the beginning of the kernel."""
        frame = self
        while frame.outer is not None:
            frame = frame.outer
        block = frame.build.block
        return Builder(block, block.first, self.build.span)

    def inner(self, block: Block, span: Span | None, parallel: bool = False) -> Frame:
        """A frame for a block inside of this one."""
        self.zero.clear()
        return Frame(Builder(block, None, span), self.companions, self, parallel)

    def value(self, value: Value) -> Value:
        """What stands for a value of the kernel. Constants and arguments are made where they are used."""
        frame: Frame | None = self
        while frame is not None:
            if value in frame.values:
                return frame.values[value]
            frame = frame.outer
        if isinstance(value, (ops.Const, ops.Arg)):
            made = value.clone({})
            self.values[value] = self.build.add(made)
            return made
        raise KeyError(f"{value!r} is not computed here")

    def known(self, value: Value) -> Value:
        """What stands for a value, or the value itself, of which only the type is used."""
        try:
            return self.value(value)
        except KeyError:
            return value

    def place(self, value: Value) -> Value | None:
        """The adjoint of a local, or the accumulator of a value."""
        frame: Frame | None = self
        while frame is not None:
            if value in frame.places:
                return frame.places[value]
            frame = frame.outer
        return None

    def address(self, ptr: Value) -> Value:
        """The address here of what a needed access of the kernel accesses."""
        if isinstance(ptr, (ops.ElementPtr, ops.MemberPtr)):
            return self._step(ptr, self.address(ptr.base))
        if isinstance(ptr, ops.FieldPtr):
            return self.build.add(ops.FieldPtr(ptr.field, [self.value(index) for index in ptr.indices]))
        if isinstance(ptr, ops.ArrayPtr):
            indices = [self.value(index) for index in ptr.indices]
            return self.build.add(ops.ArrayPtr(self.value(ptr.array), indices))
        return self.value(ptr)

    def adjoint(self, ptr: Value) -> Value:
        """The address of the adjoint of what is at an address of the kernel."""
        if isinstance(ptr, (ops.ElementPtr, ops.MemberPtr)):
            return self._step(ptr, self.adjoint(ptr.base))
        if isinstance(ptr, ops.FieldPtr):
            symbol = self.companions.field(ptr.field)
            assert symbol is not None
            return self.build.add(ops.FieldPtr(symbol, [self.value(index) for index in ptr.indices]))
        if isinstance(ptr, ops.ArrayPtr):
            assert isinstance(ptr.array, ops.Arg)
            number, array = self.companions.params[ptr.array.index], ptr.array
            kind = self.companions.types[number]
            made = self.build.add(ops.Arg(number, type=kind, name=f"{array.name}.grad" if array.name else ""))
            return self.build.add(ops.ArrayPtr(made, [self.value(index) for index in ptr.indices]))
        place = self.place(ptr)
        assert place is not None, ptr
        return place

    def _step(self, ptr: ops.ElementPtr | ops.MemberPtr, base: Value) -> Value:
        if isinstance(ptr, ops.ElementPtr):
            return self.build.add(ops.ElementPtr(base, [self.value(index) for index in ptr.indices]))
        return self.build.add(ops.MemberPtr(base, ptr.index))

    def contribute(self, value: Value, adjoint: Value, path: tuple[int, ...] = ()) -> None:
        """Add to the adjoint of a value, or of its part at `path`."""
        place = self.place(value)
        if place is not None:
            for index in path:
                place = part_of(self.build, place, index)
            accumulate(self, place, adjoint)
            return
        self.sums.setdefault(value, Sum(value.type)).add(self.build, adjoint, path)


def part_of(build: Builder, ptr: Value, index: int) -> Value:
    """The address of an element, counted in row-major order, or of a member."""
    type = pointee(ptr)
    if isinstance(type, Struct):
        return build.add(ops.MemberPtr(ptr, index))
    shape = shape_of(type)
    numbers = (index,) if len(shape) == 1 else divmod(index, shape[1])
    return build.add(ops.ElementPtr(ptr, [build.add(ops.Const(number, type=i32)) for number in numbers]))


def leaves(build: Builder, ptr: Value) -> list[Value]:
    """The addresses of all scalars of what is at `ptr`."""
    type = pointee(ptr)
    if isinstance(type, Prim):
        return [ptr]
    count = len(type.members) if isinstance(type, Struct) else flat_size(type)
    return [leaf for index in range(count) for leaf in leaves(build, part_of(build, ptr, index))]


def accumulate(frame: Frame, place: Value, adjoint: Value) -> None:
    """Add to the adjoint at an address: by atomics where other iterations may add at the same time."""
    build, root = frame.build, root_of(place)
    if isinstance(root, ops.Alloca) or (isinstance(root, ops.SharedLocal) and not frame.parallel):
        if place in frame.zero:
            frame.zero.discard(place)
            build.add(ops.Store(place, adjoint))
            return
        frame.zero.discard(root)
        build.add(ops.Store(place, plus(build, build.add(ops.Load(place)), adjoint)))
        return
    if not isinstance(adjoint.type, Struct):
        build.add(ops.Atomic("add", place, adjoint))
        return
    for index, (_, type) in enumerate(adjoint.type.members):
        if carries(type):
            member = build.add(ops.Member(adjoint, index))
            accumulate(frame, build.add(ops.MemberPtr(place, index)), member)


def clear(frame: Frame, place: Value) -> None:
    """Set the adjoint at an address to 0."""
    build, type = frame.build, pointee(place)
    build.add(ops.Store(place, filled(build, type)))
    if isinstance(place, (ops.Alloca, ops.SharedLocal)):
        frame.zero.add(place)


def local_like(frame: Frame, local: Value, shared: bool, name: str) -> Value:
    """A new local that holds 0, for adjoints of what that local holds, or of that value."""
    kind = local.type if isinstance(local.type, Pointer) else pointer(local.type)
    made = frame.build.add(ops.SharedLocal(type=kind, name=name) if shared else ops.Alloca(type=kind, name=name))
    clear(frame, made)
    return made
