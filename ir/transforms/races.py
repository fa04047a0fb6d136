"""The race check: runs iterations serially and records each access to shared memory in a shadow.

    parallel_for (%i) in [0, %n) {         %i: for 0, %n {
      store field_ptr @x[%k], %v     =>      store shadow[MARK], (load shadow[MARK]) + STEP     # the next iteration
    }                                        store field_ptr @x[%k], %v
                                             invoke touch_write, [cell of @x[%k], number of the site]
                                           }

`ir/races.py` defines cells, sites and marks. Its functions compare the accesses. The pass runs before all passes that
remove or merge accesses, so that it records what the user wrote. The record comes after the access, so that the check
of the indices comes before both. A local of an iteration is private and is not watched. A local that iterations share
is watched like a field.

The shadow is a hidden field of the kernel. The pass does nothing if the config has no table. It skips kernels whose
threads cooperate in blocks (`simt`), because their accesses between barriers have no serial order. It skips kernels
that order memory by acquire and release too, because the shadow does not model such orders.
"""

from __future__ import annotations

from collections.abc import Sequence

from weft.ir import ops
from weft.ir.addresses import element_steps, root_of
from weft.ir.alias import Access, is_access
from weft.ir.autodiff.serial import keep_random_numbers
from weft.ir.config import CompileConfig
from weft.ir.core import Block, BlockArg, Builder, Op, Value, pointee
from weft.ir.passes import pass_
from weft.ir.races import ARRAYS, BOX, FIRST, LOOP, MARK, STEP, Loop, RaceTable, Region
from weft.ir.trips import ONCE, TRIP, indices_of
from weft.ir.types import VOID, Array, Struct, Type, flat_size, i32, i64, shape_of

__all__ = ["races"]

_LOOPS = (ops.ParallelFor, ops.StructFor)
_KIND: dict[type[Op], str] = {ops.Load: "read", ops.Store: "write"}  # other accesses are atomic


@pass_("races")
def races(root: ops.Kernel, config: CompileConfig) -> bool:
    """Make parallel loops serial, and record the shared memory that their iterations access."""
    table = config.races
    if table is None:
        return False
    if root.nodes or any(isinstance(op, (ops.Simt, ops.Shared)) or _orders(op) for op in root.walk()):
        table.unchecked = True
        return False
    watch = _Watch(root, table)
    loops = [op for op in root.body if isinstance(op, _LOOPS)]
    for loop in loops:
        keep_random_numbers(loop)
        watch.all(loop)
        watch.loop(loop)
    if watch.in_function:
        watch.all(root)
    return True


def _orders(op: Op) -> bool:
    """Whether the op orders accesses of different iterations that would otherwise race."""
    return op.orders() and not isinstance(op, ops.Invoke)


class _Watch:
    """One run over a kernel."""

    def __init__(self, kernel: ops.Kernel, table: RaceTable) -> None:
        self.kernel, self.table = kernel, table
        self.in_function = kernel.called or kernel.symbol in table.functions

    def all(self, root: Op) -> None:
        """Watch a loop, or a function."""
        found = list(root.walk())
        inside = set(found)
        for op in found:
            self.op(op, inside)

    def op(self, op: Op, inside: set[Op]) -> None:
        """Watch one op of a loop or a function. `inside` holds the ops of that loop or function."""
        if isinstance(op, ops.Random):
            op.stream = 0  # the loop is serial now
        elif isinstance(op, ops.Invoke):
            op.stream, op.touched = 0, (*op.touched, self.table.shadow.name)
        elif is_access(op):
            root = root_of(op.ptr)
            if not (isinstance(root, ops.Alloca) and root in inside):
                self.access(op, root)

    # ---- accesses ----

    def access(self, op: Access, root: Value) -> None:
        """Insert the record of an access after it."""
        assert op.block is not None
        build = Builder(op.block, op.next, op.span)
        region = self.region(root)
        if region is None:
            return
        kind = _KIND.get(type(op), "atomic")
        site = _const(build, self.table.access(kind, op.span))
        steps, width = _within(build, op.ptr)
        cell = _sum(build, [self.first(build, region, root), steps])
        if width > 1:
            index = BlockArg(i64, "part", op.span)
            begin, end, step = (_const(build, n) for n in (0, width, 1))
            loop = build.add(ops.For(begin, end, step, body=Block([index])))
            build = Builder(loop.body, None, op.span)
            cell = _sum(build, [cell, index])
        function = f"touch_{kind}"
        build.add(ops.Invoke(function, [cell, site], (self.table.shadow.name,), type=VOID))

    def region(self, root: Value) -> Region | None:
        """The memory that an address begins in, or None if it is not known outside of a function."""
        if isinstance(root, ops.FieldPtr):
            return self.table.field(root.field, root.span)
        if isinstance(root, (ops.Alloca, ops.SharedLocal)):
            return self.table.local(root)
        if isinstance(root, ops.ArrayPtr) and isinstance(root.array, ops.Arg) and isinstance(root.array.type, Array):
            kind, index = root.array.type, root.array.index
            if not self.in_function:  # the parameters of a function are not those of the launch
                return self.table.array(index, self.kernel.params[index].name, kind)
        return None

    def first(self, build: Builder, region: Region, root: Value) -> Value:
        """The first cell of the element at `root`."""
        if isinstance(root, ops.FieldPtr):
            extents: list[Value] = [_const(build, n) for n in region.shape]
            return self.element(build, _const(build, region.first), root.indices, region, extents)
        if isinstance(root, ops.ArrayPtr):
            extents = [_wide(build, build.add(ops.ArrayShape(root.array, k))) for k in range(len(root.indices))]
            base = build.add(ops.Load(self.word(build, ARRAYS + region.array)))
            return self.element(build, base, root.indices, region, extents)
        return _const(build, region.first)

    def element(
        self, build: Builder, base: Value, indices: Sequence[Value], region: Region, extents: Sequence[Value]
    ) -> Value:
        """`base` plus the row-major number of the element, counted in scalars."""
        number: Value = _const(build, 0)
        for axis, (index, extent) in enumerate(zip(indices, extents, strict=True)):
            start = -region.offset[axis] if region.offset else 0
            number = _mul(build, number, extent)
            number = _sum(build, [number, _wide(build, index), _const(build, start)])
        return _sum(build, [base, _mul(build, number, _const(build, region.width))])

    # ---- loops ----

    def loop(self, loop: ops.ParallelFor | ops.StructFor) -> None:
        """Turn the loop into a nest of serial loops that number their iterations."""
        build = Builder.at(loop)
        args, old = list(loop.body.args), loop.body
        order, begins, ends = _box(build, loop)
        names = [_told(arg) for arg in args]
        number = self.table.loop(Loop(tuple(name for name, _, _ in names), tuple(order), loop.span))
        first = _sum(build, [self.load(build, MARK), _const(build, STEP)])
        self.store(build, FIRST, first)
        self.store(build, LOOP, _const(build, number))
        for axis, (begin, end) in enumerate(zip(begins, ends)):
            _, start, step = names[order[axis]] if args else ("", None, None)
            words = (begin, end, start or _const(build, 0), step or _const(build, 1))
            for part, value in enumerate(words):
                self.store(build, BOX + 4 * axis + part, _wide(build, value))
        inner = build
        for axis, (begin, end) in enumerate(zip(begins, ends)):
            arg = args[order[axis]] if args else None
            index = BlockArg(begin.type, arg.name if arg is not None else ONCE, loop.span)
            one = inner.add(ops.Const(1, type=begin.type))
            nest = inner.add(ops.For(begin, end, one, body=Block([index])))
            if arg is not None:
                arg.replace_uses(index)
            inner = Builder(nest.body, None, loop.span)
        self.advance(inner, MARK)
        inner.block.take(old)
        self.advance(build, MARK)
        self.store(build, FIRST, self.load(build, MARK))
        loop.erase()

    def advance(self, build: Builder, word: int) -> None:
        self.store(build, word, _sum(build, [self.load(build, word), _const(build, STEP)]))

    def load(self, build: Builder, word: int) -> Value:
        return build.add(ops.Load(self.word(build, word)))

    def store(self, build: Builder, word: int, value: Value) -> None:
        build.add(ops.Store(self.word(build, word), value))

    def word(self, build: Builder, word: int) -> Value:
        """The address of a word of the header."""
        return build.add(ops.FieldPtr(self.table.shadow, [_const(build, word)]))


def _box(build: Builder, loop: ops.ParallelFor | ops.StructFor) -> tuple[list[int], list[Value], list[Value]]:
    """The axes of the loop from the slowest to the fastest, as numbers of its indices, and the begin and end of each
    axis."""
    if isinstance(loop, ops.ParallelFor):
        return list(range(len(loop.begins))), list(loop.begins), list(loop.ends)
    symbol, args = loop.field, loop.body.args
    box = symbol.path.enumerate(symbol.space, int)
    order = list(box.axes) or [0]
    first = symbol.space.first or (0,)
    types = [args[axis].type if args else i32 for axis in order]
    begins, ends = (
        [build.add(ops.Const(first[axis] + limit, type=type)) for axis, limit, type in zip(order, limits, types)]
        for limits in (box.begins, box.ends)
    )
    return order, [*begins], [*ends]


def _told(arg: BlockArg) -> tuple[str, Value | None, Value | None]:
    """The user's name for the index of an axis, and how its values follow from those of the box: the first value and
    the step. A loop with a step counts its trips and computes the user's index from the trip."""
    if arg.name == TRIP:
        for index in indices_of(arg):
            if isinstance(index, ops.Binary) and isinstance(index.rhs, ops.Binary):
                begin, step = index.lhs, index.rhs.rhs
                if _known_before(begin, arg) and _known_before(step, arg):
                    return index.name, begin, step
    return arg.name, None, None


def _known_before(value: Value, arg: BlockArg) -> bool:
    """Whether a value is available when the loop begins."""
    loop = arg.block.owner if arg.block is not None else None
    return loop is not None and isinstance(value, Op) and value.block is loop.block


def _within(build: Builder, ptr: Value) -> tuple[Value, int]:
    """The first scalar of its element that `ptr` points to, and the number of scalars."""
    width, found = flat_size(pointee(ptr)), [_const(build, 0)]
    for step in reversed(element_steps(ptr)[1]):
        whole = pointee(step.base)
        if isinstance(step, ops.MemberPtr):
            found.append(_const(build, _members_before(whole, step.index)))
        else:
            number: Value = _const(build, 0)
            for index, extent in zip(step.indices, shape_of(whole), strict=True):
                number = _sum(build, [_mul(build, number, _const(build, extent)), _wide(build, index)])
            found.append(number)
    return _sum(build, found), width


def _members_before(whole: Type, index: int) -> int:
    assert isinstance(whole, Struct)
    return sum(flat_size(member) for _, member in whole.members[:index])


def _const(build: Builder, value: int) -> Value:
    return build.add(ops.Const(value, type=i64))


def _wide(build: Builder, value: Value) -> Value:
    return value if value.type is i64 else build.add(ops.Cast(value, type=i64))


def _sum(build: Builder, values: Sequence[Value]) -> Value:
    total, *rest = [value for value in values if not _is(value, 0)] or [values[0]]
    for value in rest:
        total = build.add(ops.Binary("add", total, value, type=i64))
    return total


def _mul(build: Builder, a: Value, b: Value) -> Value:
    if _is(a, 0) or _is(b, 1):
        return a
    return build.add(ops.Binary("mul", a, b, type=i64))


def _is(value: Value, number: int) -> bool:
    return isinstance(value, ops.Const) and value.value == number
