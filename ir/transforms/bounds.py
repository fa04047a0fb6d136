"""Checks indices in debug mode.

    %p = field_ptr @x[%i]            %p = field_ptr @x[%i]
    %v = load %p               =>    assert (%i >= 0 and %i < 8), [%i], "x[{}] is out of bounds: its shape is (8,)"
                                     %v = load %p

The assertion comes before the access, not before the address. Addresses are pure and may have been computed earlier,
outside the `if` that guards the access. An address is checked once on each path to an access. Indices that are known to
be in range, such as constants and the indices of loops over the same range, are not checked. Elements of tensors are
checked like elements of fields.
"""

from __future__ import annotations

from collections.abc import Sequence

from weft.ir import ops
from weft.ir.affine import leaf_key
from weft.ir.alias import is_access
from weft.ir.config import CompileConfig
from weft.ir.core import Block, BlockArg, Builder, Op, Value, pointee
from weft.ir.intervals import interval
from weft.ir.passes import pass_
from weft.ir.types import Array, Prim, i32, i64, shape_of, u1
from weft.ir.written import subscripted

__all__ = ["about", "bounds", "named"]

# The smallest index of an axis, and its extent: a number, or an op that computes it.
Axis = tuple[int, "int | Value"]


@pass_("bounds")
def bounds(root: ops.Kernel, config: CompileConfig) -> bool:
    """Insert an assertion before each access that may be out of bounds. This pass runs only in debug mode."""
    if not (config.debug or config.boundary_check):
        return False
    checker = Checker(root)
    checker.block(root.body)
    return checker.changed


class Checker:
    """One run over a kernel. `checked` holds the addresses that are checked on every path to the current point."""

    def __init__(self, kernel: ops.Kernel) -> None:
        self.kernel, self.changed = kernel, False
        self.checked: set[Value] = set()

    def block(self, block: Block) -> None:
        """Check the accesses in `block` and in its nested blocks."""
        fresh: list[Value] = []
        for op in block:
            if is_access(op):
                self.access(op, op.ptr, fresh)
            for inner in op.regions:
                self.block(inner)
        self.checked.difference_update(fresh)

    def access(self, op: Op, ptr: Value, fresh: list[Value]) -> None:
        """Check every step of the address that `op` uses, outermost step first."""
        if ptr in self.checked:
            return
        if isinstance(ptr, (ops.ElementPtr, ops.MemberPtr)):
            self.access(op, ptr.base, fresh)
        build = Builder.at(op)
        if isinstance(ptr, ops.FieldPtr):
            first = ptr.field.offset or (0,) * len(ptr.field.shape)
            self.check(build, ptr.indices, list(zip(first, ptr.field.shape)), named(self.kernel, ptr), about(ptr))
        elif isinstance(ptr, ops.ArrayPtr):
            assert isinstance(ptr.array.type, Array)
            if isinstance(ptr.array, ops.Shared):
                shape = ptr.array.shape
                self.check(
                    build, ptr.indices, [(0, n) for n in shape], named(self.kernel, ptr), f"its shape is {shape}"
                )
            else:
                extents = [_extent(build, ptr, axis) for axis in range(ptr.array.type.ndim)]
                self.check(
                    build, ptr.indices, [(0, extent) for extent in extents], named(self.kernel, ptr), "its shape is "
                )
        elif isinstance(ptr, ops.ElementPtr):
            shape = shape_of(pointee(ptr.base))
            self.check(build, ptr.indices, [(0, n) for n in shape], named(self.kernel, ptr), f"its shape is {shape}")
        self.checked.add(ptr)
        fresh.append(ptr)

    def check(self, build: Builder, indices: Sequence[Value], axes: Sequence[Axis], name: str, about: str) -> None:
        """Assert that each index is in range on its axis, unless that is proven."""
        condition: Value | None = None
        for index, (first, extent) in zip(indices, axes, strict=True):
            for test in _tests(build, index, first, extent):
                condition = test if condition is None else build.add(ops.Binary("and", condition, test, type=u1))
        if condition is None:
            return
        shown = ", ".join("{}" for _ in indices)
        unknown = [extent for _, extent in axes if isinstance(extent, Value)]
        shape = "({}{})".format(", ".join("{}" for _ in unknown), "," if len(unknown) == 1 else "") if unknown else ""
        message = f"{name}[{shown}] is out of bounds: {about}{shape}"
        build.add(ops.Assert(condition, [*indices, *unknown], message, "bounds"))
        self.changed = True


def named(kernel: ops.Kernel, ptr: ops.FieldPtr | ops.ArrayPtr | ops.ElementPtr) -> str:
    """The user's name for the memory that `ptr` is an element of."""
    return subscripted(ptr.span) or _name(kernel, ptr.base if isinstance(ptr, ops.ElementPtr) else ptr)


def _name(kernel: ops.Kernel, ptr: Value) -> str:
    """A description for memory that has no name in the source."""
    if isinstance(ptr, (ops.ElementPtr, ops.MemberPtr)):
        return _name(kernel, ptr.base)
    if isinstance(ptr, ops.FieldPtr):
        return ptr.field.name
    if isinstance(ptr, ops.ArrayPtr) and isinstance(ptr.array, ops.Arg):
        return kernel.params[ptr.array.index].name
    if isinstance(ptr, ops.ArrayPtr):
        return ptr.array.name
    return getattr(ptr, "name", "") or "a local"


def about(ptr: ops.FieldPtr) -> str:
    """A text about the shape of a field, for messages."""
    text = f"its shape is {ptr.field.shape}"
    return f"{text}, from index {ptr.field.offset}" if any(ptr.field.offset) else text


def _extent(build: Builder, ptr: ops.ArrayPtr, axis: int) -> Value:
    return build.add(ops.ArrayShape(ptr.array, axis))


def _tests(build: Builder, index: Value, first: int, extent: int | Value) -> list[Value]:
    """The comparisons needed to test `first <= index < first + extent`, given what is known about the index."""
    if isinstance(extent, ops.ArrayShape) and _runs_over(index, extent):
        return []
    low, high = interval(index)
    tests: list[Value] = []
    end = extent if isinstance(extent, Value) else first + extent
    beyond = end.type is i64 if isinstance(end, Value) else first < -(2**31) or end >= 2**31
    wide = index if index.type is i64 or (index.type is i32 and not beyond) else build.add(ops.Cast(index, type=i64))
    assert isinstance(wide.type, Prim)

    def compare(kind: str, limit: Value) -> None:
        tests.append(build.add(ops.Binary(kind, wide, limit, type=u1)))

    if low < first:
        compare("ge", build.add(ops.Const(first, type=wide.type)))
    if isinstance(end, Value):
        compare("lt", end if wide.type is end.type else build.add(ops.Cast(end, type=wide.type)))
    elif high >= end:
        compare("lt", build.add(ops.Const(end, type=wide.type)))
    return tests


def _runs_over(index: Value, extent: ops.ArrayShape) -> bool:
    """Whether `index` is the index of a loop from 0 to the extent of that axis."""
    if not isinstance(index, BlockArg) or index.block is None:
        return False
    loop, position = index.block.owner, index.block.args.index(index)
    if not isinstance(loop, ops.ParallelFor):
        return False
    begin, end = loop.begins[position], loop.ends[position]
    return leaf_key(end) == leaf_key(extent) and interval(begin)[0] >= 0
