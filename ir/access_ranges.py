"""Finds the accesses of a task that may be out of bounds, and the tests before loops that prove them in bounds.

    for %k in %b .. %e { load field_ptr @x[%k + 1] }      x has 8 elements
        tested before the loop: -%b - 1 <= 0, and %e + 1 - 8 <= 0

An access has a *need* for each end of each axis: a form that must not be positive (see `linear.py`). Most needs are
proven by intervals, by loop bounds and by enclosing conditions. In the others, values that vary in a loop are replaced
by bounds that do not. The outermost loop before which all needs of an access can be tested is its *home*. An access
without a home is tested right before it.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator
from dataclasses import dataclass, field
from itertools import islice

from weft.ir.addresses import element_steps
from weft.ir.alias import Access, is_access
from weft.ir.core import Block, BlockArg, Builder, Op, Value, ops_of, pointee
from weft.ir.errors import LIBRARY
from weft.ir.intervals import interval, type_interval
from weft.ir.linear import Facts, Form, conditions, exact_form, index_form
from weft.ir.ops import (
    ArrayPtr,
    ArrayShape,
    Binary,
    Cast,
    Const,
    ElementPtr,
    FieldPtr,
    For,
    If,
    Load,
    Select,
    Shared,
    Simt,
    Task,
    TempPtr,
    Unary,
    While,
    Yield,
)
from weft.ir.tasks import Region, accesses, memory_space
from weft.ir.types import Prim, i32, i64, shape_of, u1, u32, u64

__all__ = ["Axis", "Doubt", "Survey", "computable", "in_range", "inside", "settle", "wraps_not"]

_UNSIGNED = {i32: u32, i64: u64}
_LONG, _LONG_TASK = 200, 1000  # longer loops, and longer tasks, are not duplicated, in ops
_MOST_STEPS = 100  # the most steps of the search for a test
_MOST_ANSWERS = 4
_FAR = 2**62  # larger sums may wrap around when they are computed


@dataclass(frozen=True)
class Axis:
    """The index number `position` of `ptr`, which must be in [first, first + extent). `low`, `high`: the ends that are
    not proven."""

    ptr: FieldPtr | ArrayPtr | ElementPtr
    position: int
    first: int
    extent: int | Value
    low: bool
    high: bool

    @property
    def index(self) -> Value:
        """The index."""
        return self.ptr.indices[self.position]


@dataclass
class Doubt:
    """An access that may be out of bounds: the axes in question and its needs. It also says where they are tested
    (None: not before a loop), and how: for each need, the forms of which one must not be positive."""

    op: Access
    axes: list[Axis]
    needs: list[Form]
    home: For | Task | None = None
    asked: list[list[Form]] = field(default_factory=list[list[Form]])


class Survey:
    """The accesses of one task that may be out of bounds, in program order: `doubts`. `unstable`: indices that are in
    range but might not be if they did not wrap around. `made`: the ops created for tests, users before operands."""

    def __init__(self, task: Task) -> None:
        self.task, self.facts = task, Facts()
        self.doubts: list[Doubt] = []
        self.unstable: list[tuple[Op, int]] = []
        self._loops: list[tuple[For | Task, Region]] = []
        self._extents: dict[tuple[object, int], ArrayShape] = {}
        self.made: list[Op] = []
        self._steps = 0
        box, self._front = task.bounds.last, task.bounds  # where extents of arrays are computed
        self._block(task.bounds)
        self._extents = {}
        self._front = task.body if task.kind == "serial" else task.prologue
        if isinstance(box, Yield):
            for arg, begin, end in zip(task.body.args, box.begins, box.ends, strict=True):
                self._learn_range(arg, begin, end)
        self._block(task.prologue)  # it runs for an empty box too
        if isinstance(box, Yield) and _may_double(task):
            self._loops.append((task, Region(task.body)))
        self._block(task.body)
        self._loops.clear()
        self._block(task.epilogue)

    # ---- the walk

    def _block(self, block: Block) -> None:
        """If one branch of an `if` leaves the block, its condition is known up to the end of the block."""
        mark = self.facts.mark()
        for op in block:
            if is_access(op):
                self._access(op)
            elif isinstance(op, If):
                for side, holds in ((op.then, True), (op.orelse, False)):
                    self._under(side, op.condition, holds)
                for side, holds in ((op.then, False), (op.orelse, True)):
                    if side.last is not None and side.last.terminator:
                        self._learn(op.condition, holds)
            elif isinstance(op, For):
                self._for(op)
            elif isinstance(op, While):
                self._block(op.body)
        self.facts.forget(mark)

    def _under(self, side: Block, condition: Value, holds: bool) -> None:
        mark = self.facts.mark()
        self._learn(condition, holds)
        self._block(side)
        self.facts.forget(mark)

    def _learn(self, condition: Value, holds: bool) -> None:
        for form in conditions(condition, holds):
            self.facts.learn(form)

    def _for(self, loop: For) -> None:
        mark, index = self.facts.mark(), loop.body.args[0]
        low, high = interval(loop.step)
        if low > 0:
            self._learn_range(index, loop.begin, loop.end)
        elif high < 0:
            self.facts.learn(exact_form(index).plus(exact_form(loop.begin), -1))
            self.facts.learn(exact_form(loop.end).plus(exact_form(index), -1).shifted(1))
        doubles = len(ops_of(loop.body)) <= _LONG and not loop.all_of(Simt)
        if doubles:
            self._loops.append((loop, Region(loop.body)))
        self._block(loop.body)
        if doubles:
            self._loops.pop()
        self.facts.forget(mark)

    def _learn_range(self, index: Value, begin: Value, end: Value) -> None:
        self.facts.learn(exact_form(begin).plus(exact_form(index), -1))
        self.facts.learn(exact_form(index).plus(exact_form(end), -1).shifted(1))

    # ---- an access

    def _access(self, op: Access) -> None:
        if op.span is not None and op.span.file.startswith(LIBRARY):  # a kernel of Weft's own, which knows its shapes
            return
        axes: list[Axis] = []
        needs: list[Form] = []
        for ptr in _indexed(op.ptr):
            for position in range(len(ptr.indices)):
                self._axis(ptr, position, axes, needs)
        if axes:
            doubt = Doubt(op, axes, needs)
            self._settle(doubt)
            self.doubts.append(doubt)

    def _axis(self, ptr: FieldPtr | ArrayPtr | ElementPtr, position: int, axes: list[Axis], needs: list[Form]) -> None:
        """Add the axis and its needs, unless they are proven."""
        first, extent = range_of(ptr, position, self._extent)
        index = ptr.indices[position]
        end = Form((), extent) if isinstance(extent, int) else exact_form(extent)
        limits = _limits(first, end)
        form, exact = index_form(index, first), exact_form(index)
        open_ends = [not self.facts.proves(limit(form)) for limit in limits]
        asked = open_ends  # the ends to test for the index itself, which may have wrapped
        if any(open_ends) and form != exact:
            asked = [not self.facts.proves(limit(exact)) for limit in limits]
        sure = any(open_ends) and not any(asked)
        if sure or not all(wraps_not(value) for _, _, value in form.terms):
            self.unstable.append((ptr, position))
        if any(open_ends) and not sure:
            axes.append(Axis(ptr, position, first, extent, *asked))
            needs += [limit(form) for limit, is_open in zip(limits, open_ends) if is_open]

    def _extent(self, ptr: ArrayPtr, axis: int) -> ArrayShape:
        """The extent of an array, computed where the whole task can use it."""
        assert isinstance(ptr.array, Op)
        key = getattr(ptr.array, "index", -1), axis
        if key not in self._extents:
            build = Builder(self._front, self._front.first, ptr.span)
            array = build.add(ptr.array.clone({}))
            self._extents[key] = build.add(ArrayShape(array, axis))
            self.made += self._extents[key], array
        return self._extents[key]

    # ---- where to ask

    def _settle(self, doubt: Doubt) -> None:
        """Find the outermost loop before which all needs can be tested."""
        for loop, region in self._loops:
            asked: list[list[Form]] = []
            for need in doubt.needs:
                self._steps = _MOST_STEPS
                found = _weakest(islice(self._lifted(need, loop, region), _MOST_ANSWERS))
                if not found:
                    break
                asked.append(found)
            else:
                doubt.home, doubt.asked = loop, asked
                return

    def _lifted(self, form: Form, loop: For | Task, region: Region, depth: int = 6) -> Iterator[Form]:
        """Forms of values known before the loop, each no less than `form`."""
        self._steps -= 1
        moving = next((term for term in form.terms if not _available(term[2], loop, region)), None)
        if moving is None:
            if computable(form):
                yield form
            return
        if not depth or self._steps < 0:
            return
        key, count, value = moving
        for fact in self.facts.about(key, value, count > 0):
            times, rest = divmod(count, fact.factor(key))
            if not rest:
                yield from self._lifted(form.plus(fact, -times), loop, region, depth - 1)
        ends, whole = interval(value), type_interval(value.type)
        end = ends[1] if count > 0 else ends[0]
        if end not in whole:
            rest_of = Form(tuple(term for term in form.terms if term is not moving), form.constant)
            yield from self._lifted(rest_of.shifted(count * end), loop, region, depth - 1)


def _limits(first: int, end: Form) -> tuple[Callable[[Form], Form], Callable[[Form], Form]]:
    """What must not be positive if an index of this form is in [first, first + end)."""
    return lambda form: Form((), first).plus(form, -1), lambda form: form.shifted(1 - first).plus(end, -1)


def range_of(
    ptr: FieldPtr | ArrayPtr | ElementPtr, position: int, extent: Callable[[ArrayPtr, int], Value]
) -> tuple[int, int | Value]:
    """The first index along an axis, and the number of indices. `extent` gives the extent of an array argument."""
    if isinstance(ptr, FieldPtr):
        return ptr.field.offset[position] if ptr.field.offset else 0, ptr.field.shape[position]
    if isinstance(ptr, ElementPtr):
        return 0, shape_of(pointee(ptr.base))[position]
    return 0, ptr.array.shape[position] if isinstance(ptr.array, Shared) else extent(ptr, position)


def _may_double(task: Task) -> bool:
    """Whether the task may be duplicated: its box must not depend on memory that the first copy changes."""
    written = {memory_space(op.ptr) for op in accesses(task) if not isinstance(op, Load)}
    read = [memory_space(op.ptr) for op in ops_of(task.bounds) if isinstance(op, Load)]  # no function writes there
    return not any(space in written for space in read) and len(ops_of(task.body)) <= _LONG_TASK


def _available(value: Value, loop: For | Task, region: Region) -> bool:
    """Whether the value can be computed before the loop."""
    if isinstance(loop, For):
        return region.invariant(value)
    if isinstance(value, BlockArg):
        return False
    assert isinstance(value, Op)
    if value.block is loop.bounds:
        return True
    if isinstance(value, Load) and isinstance(value.ptr, TempPtr):
        return not any(memory_space(op.ptr) == memory_space(value.ptr) for op in accesses(loop) if type(op) is not Load)
    return value.pure and all(_available(operand, loop, region) for operand in value.operands)


def computable(form: Form) -> bool:
    """Whether the sum is known not to wrap around in 64 bits."""
    reach = abs(form.constant)
    for _, count, value in form.terms:
        reach += abs(count) * max(map(abs, interval(value)))
    return reach < _FAR


def _weakest(forms: Iterable[Form]) -> list[Form]:
    """At most two of the forms that may hold. Of forms that differ by a constant, the one that holds more often."""
    found: dict[Hashable, Form] = {}
    for form in filter(_may_hold, forms):
        known = found.setdefault(form.moving(), form)
        if form.constant < known.constant:
            found[form.moving()] = form
    return list(found.values())[:2]


def _may_hold(form: Form) -> bool:
    """Whether the form may be not positive."""
    return -Form().plus(form, -1).greatest() <= 0


def wraps_not(value: Value) -> bool:
    """Whether the index is the same number if it is computed in more bits, as `widen.py` does with a 32-bit index."""
    if isinstance(value, Select):
        return wraps_not(value.a) and wraps_not(value.b)
    if isinstance(value, Binary) and value.kind in ("min", "max"):
        return wraps_not(value.lhs) and wraps_not(value.rhs)
    sums = isinstance(value, Binary) and value.kind in ("add", "sub", "mul")
    if sums or (isinstance(value, Unary) and value.kind == "neg"):
        itself = any(key is value for key, _, _ in exact_form(value).terms)
        return not itself and all(map(wraps_not, value.operands))  # type: ignore[attr-defined]
    return True


# ---- asking at an access ---------------------------------------------------------------------------------------------


def settle(ptr: Op, position: int) -> bool:
    """Convert a 32-bit index that may wrap around to a 64-bit value after it has wrapped. Gives whether the index has
    32 bits."""
    assert isinstance(ptr, FieldPtr | ArrayPtr | ElementPtr)
    index = ptr.indices[position]
    if index.type is not i32:
        return False
    first = len(ptr.operands) - len(ptr.indices)
    ptr.set_operand(first + position, Builder.at(ptr).add(Cast(index, type=i64, name=index.name)))
    return True


def inside(axis: Axis, build: Builder) -> Value:
    """Whether the index is in range: a single unsigned comparison if both ends are in question."""
    index, extent = axis.index, axis.extent
    assert isinstance(index.type, Prim)
    type = index.type if index.type in (i32, i64) else i64 if index.type.bits >= 32 else i32
    if isinstance(extent, Value) and extent.type is i64:
        type = i64
    index = index if index.type is type else build.add(Cast(index, type=type))

    def number(value: int) -> Value:
        return build.add(Const(value, type=type))

    if not axis.high:
        return build.add(Binary("ge", index, number(axis.first), type=u1))
    if isinstance(extent, int) and not axis.low:
        return build.add(Binary("lt", index, number(axis.first + extent), type=u1))
    length = number(extent) if isinstance(extent, int) else extent
    length = length if length.type is type else build.add(Cast(length, type=type))
    if not axis.low:  # of an array, whose indices begin at 0
        return build.add(Binary("lt", index, length, type=u1))
    index = build.add(Binary("sub", index, number(axis.first))) if axis.first else index
    index, length = (build.add(Cast(value, type=_UNSIGNED[type])) for value in (index, length))
    return build.add(Binary("lt", index, length, type=u1))


def in_range(ptr: Value, build: Builder) -> Value | None:
    """Whether an address is in bounds, computed at the builder's point, or None if it is known to be."""
    holds: Value | None = None
    for axis in _axes(ptr, build):
        here = inside(axis, build)
        holds = here if holds is None else build.add(Binary("and", holds, here, type=u1))
    return holds


def _axes(ptr: Value, build: Builder) -> Iterator[Axis]:
    """The axes of the address for which intervals do not prove that the index is in range."""
    for step in _indexed(ptr):
        for position, index in enumerate(step.indices):
            first, extent = range_of(step, position, lambda array, axis: build.add(ArrayShape(array.array, axis)))
            low, high = interval(index)
            above = not isinstance(extent, int) or high >= first + extent
            if low < first or above:
                yield Axis(step, position, first, extent, low < first, above)


def _indexed(ptr: Value) -> Iterator[FieldPtr | ArrayPtr | ElementPtr]:
    """The steps of an address that have indices, last step first, then its root if that is an element. (What sparse
    nodes are kept in has no such steps: its indices are not the program's.)"""
    root, steps = element_steps(ptr)
    yield from (step for step in reversed(steps) if isinstance(step, ElementPtr))
    if isinstance(root, ArrayPtr) or (isinstance(root, FieldPtr) and root.field.hidden != "sparse"):
        yield root
