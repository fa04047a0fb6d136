"""The check for uninitialised elements: reports a read of an element that nothing has written.

    %p = field_ptr @x[%i]           %p = field_ptr @x[%i]            %m = field_ptr @x.marks[%i]
    %v = load %p                    %seen = load %m
                              =>    assert (%seen != 0), [%i], "x[{}] is read before it is written"
                                    %v = load %p
    store %p, %w                    store %p, %w
                                    store %m, 1

A *mark* records for one scalar whether it has been written. Marks have the same types and layout as the scalars that
they describe, so that the path to a scalar is also the path to its mark. The marks of a field are a hidden field, which
the field's cell declares as its shadow. The marks of array parameters are additional hidden array parameters after the
others, and calls pass them on to functions. An atomic counts as a read. Each scalar of a vector or struct has a mark of
its own.

The pass runs before any simplification, so that it checks what the user wrote. It does not watch locals and the shared
arrays of a block. It skips fields without such a shadow, and it skips arrays unless `check_uninitialised` is on.
"""

from __future__ import annotations

from collections.abc import Iterator

from weft.ir import ops
from weft.ir.addresses import root_of
from weft.ir.alias import Access, is_access
from weft.ir.config import CompileConfig
from weft.ir.core import Builder, Op, Value, pointee
from weft.ir.passes import pass_
from weft.ir.symbols import Param, shadow_of
from weft.ir.types import Array, Prim, Struct, Tensor, Type, array, i32, pointer, tensor, u1, with_element
from weft.ir.written import called

__all__ = ["uninitialised"]

_KIND = "marks"
_WHAT = "is read before it is written"


@pass_("uninitialised")
def uninitialised(root: ops.Kernel, config: CompileConfig) -> bool:
    """Insert a check of the mark before each read, and set the mark after each write."""
    watch = _Watch(root, config.check_uninitialised)
    if not watch.symbols and not watch.params:
        return False
    for op in list(root.walk()):
        if isinstance(op, ops.Invoke):
            watch.hand_on(op)
        elif is_access(op) and watch.has_marks(root_of(op.ptr)):
            watch.access(op)
    watch.finish()
    return True


class _Watch:
    """One run over a kernel."""

    def __init__(self, kernel: ops.Kernel, arrays: bool) -> None:
        self.kernel = kernel
        found = {symbol: shadow_of(symbol, _KIND) for symbol in kernel.fields}
        self.symbols = {symbol: marks for symbol, marks in found.items() if marks is not None}
        positions = [
            k for k, param in enumerate(kernel.params) if isinstance(param.type, Array) and arrays and not param.hidden
        ]
        self.params = {position: len(kernel.params) + k for k, position in enumerate(positions)}

    def finish(self) -> None:
        """Add the new fields and parameters to the kernel."""
        kernel = self.kernel
        arrays = [kernel.params[position] for position in self.params]
        kernel.params = (*kernel.params, *(Param(_marks_of(p.name), _kind(p.type), _KIND) for p in arrays))
        kernel.fields = (*kernel.fields, *self.symbols.values())

    def has_marks(self, root: Value) -> bool:
        """Whether the memory that an address begins in has marks."""
        if isinstance(root, ops.FieldPtr):
            return root.field in self.symbols
        return isinstance(root, ops.ArrayPtr) and isinstance(root.array, ops.Arg) and root.array.index in self.params

    def hand_on(self, op: ops.Invoke) -> None:
        """Pass the marks of array arguments on to a called function."""
        arrays = [value for value in op.values if isinstance(value, ops.Arg) and value.index in self.params]
        build = Builder.at(op)
        marks = [self.array(build, value) for value in arrays]
        names = {*op.touched}
        touched = [*op.touched, *(made.name for symbol, made in self.symbols.items() if symbol.name in names)]
        touched += [_marks_of(self.kernel.params[value.index].name) for value in arrays]
        given = [*op.values, *marks], tuple(touched), op.only_read, op.results, op.stream
        made = ops.Invoke(op.function, *given, only_written=op.only_written, type=op.type)
        op.replace(build.add(made))

    def array(self, build: Builder, arg: ops.Arg) -> Value:
        """The marks of an array parameter, as an array."""
        return build.add(ops.Arg(self.params[arg.index], type=_kind(arg.type)))

    def access(self, op: Access) -> None:
        """Check the marks of a read, or set those of a write. An atomic reads, so its check suffices: the marks are
        set."""
        assert op.block is not None
        before = Builder.at(op)
        marks = self.way(before, op.ptr)
        if isinstance(op, (ops.Store, ops.AtomicStore)):
            after = Builder(op.block, op.next, op.span)
            for leaf, _ in _leaves(after, marks, ""):
                after.add(ops.Store(leaf, _filled(after, _pointee(leaf), 1)))
            return
        name, indices = self.told(op.ptr)
        for leaf, path in _leaves(before, marks, ""):
            if not path.rpartition(".")[2].startswith("gap "):
                self.check(before, leaf, name + path, indices)

    def way(self, build: Builder, ptr: Value) -> Value:
        """The address of the mark for the memory at `ptr`."""
        made: Op
        if isinstance(ptr, ops.FieldPtr):
            made = ops.FieldPtr(self.symbols[ptr.field], ptr.indices, type=ptr.type)
        elif isinstance(ptr, ops.ArrayPtr):
            assert isinstance(ptr.array, ops.Arg)
            made = ops.ArrayPtr(self.array(build, ptr.array), ptr.indices, type=ptr.type)
        elif isinstance(ptr, ops.ElementPtr):
            made = ops.ElementPtr(self.way(build, ptr.base), ptr.indices, type=ptr.type)
        else:
            assert isinstance(ptr, ops.MemberPtr)
            made = ops.MemberPtr(self.way(build, ptr.base), ptr.index, type=ptr.type)
        build.add(made)
        made.span = ptr.span
        return made

    def check(self, build: Builder, marks: Value, name: str, indices: list[Value]) -> None:
        """Assert that the scalars there were written. The message names the first one that was not."""
        kind = _pointee(marks)
        seen = build.add(ops.Load(marks, type=kind))
        sound: Value = build.add(ops.Binary("ne", seen, _filled(build, kind, 0), type=with_element(kind, u1)))
        if isinstance(kind, Tensor):
            part = _first_missing(build, sound, kind)
            name += f"[{', '.join('{}' for _ in part)}]"
            indices = [*indices, *part]
            sound = build.add(ops.Reduce("and", sound, type=u1))
        build.add(ops.Assert(sound, indices, f"{name} {_WHAT}", "uninitialised"))

    def told(self, ptr: Value) -> tuple[str, list[Value]]:
        """The name of the memory at `ptr` in a message, such as `s[{}].p[{}]`, and the values for its slots."""
        if isinstance(ptr, ops.MemberPtr):
            name, indices = self.told(ptr.base)
            whole = _pointee(ptr.base)
            assert isinstance(whole, Struct)
            return f"{name}.{whole.members[ptr.index][0]}", indices
        assert isinstance(ptr, (ops.FieldPtr, ops.ArrayPtr, ops.ElementPtr))
        shown, member = ", ".join("{}" for _ in ptr.indices) or "None", ""
        before: list[Value] = []
        if isinstance(ptr, ops.ElementPtr):
            name, before = self.told(ptr.base)
        elif isinstance(ptr, ops.FieldPtr):
            name, member = called(ptr.field.name, ptr.span)
        else:
            assert isinstance(ptr.array, ops.Arg)
            name, _ = called(self.kernel.params[ptr.array.index].name, ptr.span)
        return f"{name}[{shown}]{member}", [*before, *ptr.indices]


def _marks_of(name: str) -> str:
    return f"{name}.marks"


def _kind(kind: Type) -> Array:
    """The type of an array's marks. They are strided: the marks of an array of another library are one mark with
    strides of 0. The marks of two arrays overlap where the arrays do, so those of an exposed array are exposed."""
    assert isinstance(kind, Array)
    return array(kind.elem, kind.ndim, contiguous=False, wide=kind.wide, exposed=kind.exposed)


def _pointee(ptr: Value) -> Prim | Tensor | Struct:
    kind = pointee(ptr)
    assert isinstance(kind, (Prim, Tensor, Struct))
    return kind


def _leaves(build: Builder, ptr: Value, path: str) -> Iterator[tuple[Value, str]]:
    """The scalars and tensors at an address, each with its path, such as ".p"."""
    kind = _pointee(ptr)
    if not isinstance(kind, Struct):
        yield ptr, path
        return
    for index, (name, member) in enumerate(kind.members):
        inner = build.add(ops.MemberPtr(ptr, index, type=pointer(member)))
        yield from _leaves(build, inner, f"{path}.{name}")


def _filled(build: Builder, kind: Type, number: int) -> Value:
    scalar = kind.elem if isinstance(kind, Tensor) else kind
    value = build.add(ops.Const(float(number) if scalar.is_float else number, type=scalar))  # type: ignore[attr-defined]
    return build.add(ops.Splat(value, type=kind)) if isinstance(kind, Tensor) else value


def _first_missing(build: Builder, sound: Value, kind: Tensor) -> list[Value]:
    """The index of the first element that is not sound."""
    whole = tensor(i32, kind.shape)
    numbers = build.add(ops.MakeTensor([build.add(ops.Const(k, type=i32)) for k in range(kind.count)], type=whole))
    past = build.add(ops.Splat(build.add(ops.Const(kind.count, type=i32)), type=whole))
    number: Value = build.add(ops.Reduce("min", build.add(ops.Select(sound, past, numbers, type=whole)), type=i32))
    part: list[Value] = []
    for extent in reversed(kind.shape[1:]):
        width = build.add(ops.Const(extent, type=i32))
        part.insert(0, build.add(ops.Binary("mod", number, width, type=i32)))
        number = build.add(ops.Binary("floordiv", number, width, type=i32))
    return [number, *part]
