"""Masks accesses that may be out of bounds, and versions loops if one test covers all iterations."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import replace

from weft.ir.access_ranges import Axis, Doubt, Survey, computable, inside, settle, wraps_not
from weft.ir.alias import Access, is_access
from weft.ir.config import CompileConfig
from weft.ir.core import Block, BlockArg, Builder, Op, Value, ops_of
from weft.ir.intervals import interval
from weft.ir.linear import Form
from weft.ir.ops import (
    Alloca,
    ArrayPtr,
    ArrayShape,
    Binary,
    Cast,
    Const,
    ElementPtr,
    FieldPtr,
    For,
    If,
    Kernel,
    Load,
    MakeStruct,
    Select,
    Shared,
    Simt,
    Splat,
    Store,
    Task,
    Warn,
    Yield,
)
from weft.ir.passes import pass_
from weft.ir.target import Traits
from weft.ir.tasks import Region, tasks_of
from weft.ir.transforms.bounds import about, named
from weft.ir.transforms.defer_warning import can_wait, in_straight_body, load_anyway
from weft.ir.transforms.split_indices import split_indices
from weft.ir.types import VOID, Array, Struct, Tensor, Type, element, i32, i64, pointer, shape_of, u1
from weft.ir.types import Pointer as PointerType

__all__ = ["mask_accesses"]

_LONG = 800  # a longer rest of a block is not duplicated, in ops
_FAR = 2**64
_WORTH = 2  # tests that the duplication must save

Pointer = FieldPtr | ArrayPtr | ElementPtr


@pass_("mask_accesses")
def mask_accesses(root: Kernel, config: CompileConfig) -> bool:
    """Executes an access that may be out of bounds only if its indices are in range:

                                           %ok = binary lt (cast %i : u32), 8
        %v = load field_ptr @x[%i]         %t = alloca
                                    ->     if %ok { store %t, (load field_ptr @x[%i]) }
                                           else { store %t, 0 ; warn %i, "x[{}] is out of bounds: its shape is (8,)" }
                                           %v = load %t

    An out-of-bounds store is dropped. An out-of-bounds atomic gives 0. If values known before a loop or a task decide
    the test for all of its iterations (see `access_ranges.py`), the test is made once, and the code exists in two
    versions: one without masks and one with them. For a task, one of the two versions gets an empty box:

        range_for over [0, %n) {           range_for over [0, select(%n <= 8, %n, 0)) { store field_ptr @x[%i] }
            store field_ptr @x[%i]   ->    range_for over [0, select(%n <= 8, 0, %n)) { masked }
        }

    Accesses that are proven to be in range by intervals, by loop bounds or by enclosing conditions are not masked. The
    pass runs only with `mask_out_of_bounds`, and not if `bounds` has inserted assertions. After this pass no access is
    out of bounds.
    """
    if not config.masks:
        return False
    changed = False
    for task in tasks_of(root):
        changed |= split_indices(task)
        changed |= _Masking(root, task, config.traits).changed
    return changed


class _Masking:
    """One run over a task. `inside` holds, for each op, the doubts about accesses in it, in program order."""

    def __init__(self, kernel: Kernel, task: Task, traits: Traits) -> None:
        self.kernel, self.task = kernel, task
        self.defers = traits.joins_iterations and task.kind != "serial"
        survey = Survey(task)
        self.changed = bool(survey.doubts)
        for ptr, position in survey.unstable:
            self.changed |= settle(ptr, position)
        self.inside: dict[Op, list[Doubt]] = {}
        for doubt in survey.doubts:
            op: Op | None = doubt.op
            while op is not None and op is not kernel:
                self.inside.setdefault(op, []).append(doubt)
                op = op.parent
        self.settled: set[Op] = set()
        self.masked: dict[Value, Value] = {}  # masked access -> op that gives its value
        self.op(task)
        for made in survey.made:
            if not made.users:
                made.erase()

    def doubts(self, ops: Iterable[Op]) -> list[Doubt]:
        """The doubts about accesses in these ops that are not settled."""
        return [doubt for op in ops for doubt in self.inside.get(op, ()) if doubt.op not in self.settled]

    def op(self, op: Op) -> None:
        """Process an op with doubts: test before it what can be tested there, then process the remaining doubts."""
        doubts = self.doubts([op])
        if isinstance(op, For | Task) and any(doubt.home is op for doubt in doubts):
            self.version(op, doubts)
        for region in op.regions:
            self.block(region, not isinstance(op, Task) or region is op.body)

    def block(self, block: Block, splits: bool) -> None:
        """Process the accesses of a block in order. `splits`: no value of the block is used outside of it."""
        for op in list(block):
            doubts = self.doubts([op])
            if not doubts:
                continue
            if doubts[0].op is not op:
                self.op(op)
            elif splits and (group := self.group(op)):
                self.split(op, group)
                return
            elif self.defers and in_straight_body(op) and all(map(can_wait, self.doubts(block))):
                self.wait(doubts[0])
            else:
                self.mask(doubts[0].op, doubts[0].axes)

    # ---- versions

    def version(self, home: For | Task, doubts: list[Doubt]) -> None:
        """Version a loop or task: the original runs if the test before it holds, else a copy in which all accesses are
        masked."""
        mine = [doubt for doubt in doubts if doubt.home is home]
        holds = self.asked(home, mine)
        copies: dict[Value, Value] = {}
        copy = home.clone(copies)
        if isinstance(home, For):
            branch = Builder.at(home).add(If(holds, True))
            home.unlink()
            branch.then.append(home)
            branch.orelse.append(copy)
        else:
            assert home.block is not None
            assert isinstance(copy, Task)
            home.block.insert(copy, home.next)
            _empty_unless(home, holds, True)
            _empty_unless(copy, copies[holds], False)
        self.settled.update(doubt.op for doubt in mine)
        self.mask_copies(doubts, copies)

    def asked(self, home: For | Task, doubts: Sequence[Doubt]) -> Value:
        """Emit the test before a loop, or in the bounds of a task: whether all needs are met."""
        needs = [need for doubt in doubts for need in doubt.asked]
        if isinstance(home, For):
            before, region = Builder.at(home), Region(home.body)
            return _all_hold(needs, lambda value: region.hoist(self.masked.get(value, value), before), before)
        limits = home.bounds.last
        assert limits is not None
        inside = Builder.at(limits)
        return _all_hold(needs, lambda value: _in_bounds(value, home, inside), inside)

    def group(self, first: Op) -> list[Doubt]:
        """The accesses in the rest of the block that one test before `first`, the first of them, can cover, and nested
        accesses that need no further test. Empty if that is not worth duplicating the rest of the block."""
        rest = _rest(first)
        copied = [*rest, *ops_of(*(region for op in rest for region in op.regions))]
        if len(copied) > _LONG or any(isinstance(op, Simt) for op in copied):  # threads of a block would diverge
            return []
        early = _Rest(rest, self.masked)
        doubts = self.doubts(rest)
        direct = [doubt for doubt in doubts if doubt.op.block is first.block and early.knows(doubt.needs)]
        most = _decisive([[need] for doubt in direct for need in doubt.needs])
        met = {key: need[0].constant for key, need in most.items()}
        spared = [
            doubt for doubt in doubts if all(need.constant <= met.get(need.moving(), -_FAR) for need in doubt.needs)
        ]
        return spared if sum(len(doubt.needs) for doubt in spared) - len(met) >= _WORTH else []

    def split(self, first: Op, group: list[Doubt]) -> None:
        """Version the rest of the block: the original runs if the test before it holds, else a masked copy."""
        rest = _rest(first)
        inside, doubts, build = _Rest(rest, self.masked), self.doubts(rest), Builder.at(first)
        holds = _all_hold(
            [[need] for doubt in group for need in doubt.needs], lambda value: inside.hoist(value, build), build
        )
        branch, copies = build.add(If(holds, True)), dict[Value, Value]()
        for op in rest:
            branch.orelse.append(op.clone(copies))
        for op in rest:
            op.unlink()
            branch.then.append(op)
        for doubt in group:
            _own_address(doubt.op, branch)
        self.settled.update(doubt.op for doubt in group)
        self.mask_copies(doubts, copies)
        self.block(branch.then, True)

    def mask_copies(self, doubts: Sequence[Doubt], copies: dict[Value, Value]) -> None:
        """Mask the copies of these accesses."""
        for doubt in doubts:
            op = copies[doubt.op]
            assert isinstance(op, Op)
            assert is_access(op)
            self.mask(op, [_copied(axis, copies) for axis in doubt.axes])

    # ---- masks

    def mask(self, op: Access, axes: Sequence[Axis]) -> None:
        """Execute the access only if these indices are in range."""
        build = Builder.at(op)
        never = next((axis for axis in axes if _is_outside(axis)), None)
        if never is not None:
            self.warn(build, never.ptr)
            if op.type is not VOID:
                self.masked[op] = _zero(op.type, build)
                op.replace_uses(self.masked[op])
            op.erase()
            return
        steps: dict[Pointer, Value] = {}
        for axis in axes:
            if not wraps_not(axis.index):
                settle(axis.ptr, axis.position)
            here, known = inside(axis, build), steps.get(axis.ptr)
            steps[axis.ptr] = here if known is None else build.add(Binary("and", known, here, type=u1))
        holds = _combined("and", [*steps.values()], build)
        branch, old = If(holds), None
        if op.users:
            old = build.add(Alloca(type=pointer(op.type), name=op.name))
            build.add(Store(old, _zero(op.type, build)))
        build.add(branch)
        if old is not None:
            self.masked[op] = build.add(Load(old, name=op.name))
            op.replace_uses(self.masked[op])
        op.unlink()
        branch.then.append(op)
        if old is not None:
            Builder(branch.then, None, op.span).add(Store(old, op))
        for ptr, here in steps.items():
            outside = branch.orelse
            if len(steps) > 1:
                outside = Builder(outside, None, op.span).add(If(here)).orelse
            self.warn(Builder(outside, None, op.span), ptr)

    def wait(self, doubt: Doubt) -> None:
        """Mask a load without a branch, and report it after the loop."""
        op = doubt.op
        value, told = load_anyway(doubt, self.task, _zero(op.type, Builder.at(op)))
        for axis, outside, index in told:
            after = Builder(self.task.epilogue, None, op.span)
            self.warn(Builder(after.add(If(outside)).then, None, op.span), axis.ptr, {axis.position: index})
        self.masked[op] = value
        self.settled.add(op)
        op.replace(value)

    def warn(self, build: Builder, ptr: Pointer, known: dict[int, Value] | None = None) -> None:
        """Report the indices of the missing element: those in `known`, or all indices."""
        known = dict(enumerate(ptr.indices)) if known is None else known
        unknown: list[Value] = []
        if isinstance(ptr, FieldPtr):
            what = about(ptr)
        elif isinstance(ptr, ElementPtr):
            assert isinstance(ptr.base.type, PointerType)
            what = f"its shape is {shape_of(ptr.base.type.elem)}"
        elif isinstance(ptr.array, Shared):
            what = f"its shape is {ptr.array.shape}"
        else:
            assert isinstance(ptr.array.type, Array)
            unknown = [build.add(ArrayShape(ptr.array, axis)) for axis in range(ptr.array.type.ndim)]
            what = "its shape is ({}{})".format(", ".join("{}" for _ in unknown), "," if len(unknown) == 1 else "")
        shown = ", ".join("{}" if position in known else ":" for position in range(len(ptr.indices)))
        build.add(Warn([*known.values(), *unknown], f"{named(self.kernel, ptr)}[{shown}] is out of bounds: {what}"))


def _own_address(op: Access, branch: If) -> None:
    """Compute the address of an access in the branch that the access is in. There, its indices are known to be in
    range, so that its distance from other addresses is known. The masked copy keeps the address from before."""
    user: Op = op
    ptr = op.ptr
    while isinstance(ptr, FieldPtr | ArrayPtr | ElementPtr) and not ptr.within(branch):
        own = ptr.clone({})
        assert user.block is not None
        user.block.insert(own, user)
        user.set_operand(user.operands.index(ptr), own)
        user, ptr = own, own.operands[0]


def _is_outside(axis: Axis) -> bool:
    """Whether the index is known to be out of range."""
    low, high = interval(axis.index)
    return high < axis.first or (isinstance(axis.extent, int) and low >= axis.first + axis.extent)


def _zero(type: Type, build: Builder) -> Value:
    if isinstance(type, Struct):
        return build.add(MakeStruct([_zero(member, build) for _, member in type.members], type=type))
    scalar = element(type)
    value = build.add(Const(0.0 if scalar.is_float else False if scalar is u1 else 0, type=scalar))
    return build.add(Splat(value, type=type)) if isinstance(type, Tensor) else value


def _copied(axis: Axis, copies: dict[Value, Value]) -> Axis:
    ptr = copies.get(axis.ptr, axis.ptr)
    assert isinstance(ptr, Pointer)
    extent = copies.get(axis.extent, axis.extent) if isinstance(axis.extent, Value) else axis.extent
    return replace(axis, ptr=ptr, extent=extent)


def _rest(first: Op) -> list[Op]:
    """The op and the ops after it in its block."""
    found: list[Op] = []
    op: Op | None = first
    while op is not None:
        found.append(op)
        op = op.next
    return found


class _Rest:
    """The rest of a block, and which of its values can be computed before it."""

    def __init__(self, rest: Sequence[Op], masked: dict[Value, Value]) -> None:
        self.masked = masked
        self.inside = {*rest, *ops_of(*(region for op in rest for region in op.regions))}

    def knows(self, needs: Sequence[Form]) -> bool:
        """Whether the values of these forms can be computed before the rest."""
        return all(computable(need) and all(self.early(value) for _, _, value in need.terms) for need in needs)

    def early(self, value: Value) -> bool:
        """Whether the value can be computed before the rest. A block argument belongs to an enclosing block."""
        value = self.masked.get(value, value)
        if isinstance(value, BlockArg):
            return True
        assert isinstance(value, Op)
        return value not in self.inside or (value.pure and all(map(self.early, value.operands)))

    def hoist(self, value: Value, build: Builder) -> Value:
        """Such a value, computed before the rest."""
        value = self.masked.get(value, value)
        if not isinstance(value, Op) or value not in self.inside:
            return value
        return build.add(value.clone({operand: self.hoist(operand, build) for operand in value.operands}))


# ---- questions before loops ------------------------------------------------------------------------------------------


def _all_hold(needs: Sequence[list[Form]], place: Callable[[Value], Value], build: Builder) -> Value:
    """Whether each need has a form that is not positive."""
    met: list[Value] = []
    for need in _decisive(needs).values():
        ways = [_not_positive(form, place, build) for form in need]
        met.append(_combined("or", ways, build))
    return _combined("and", met, build)


def _combined(kind: str, values: Sequence[Value], build: Builder) -> Value:
    """Combine the values one after another by an operator that keeps their type."""
    total, *rest = values
    for value in rest:
        total = build.add(Binary(kind, total, value, type=total.type))
    return total


def _decisive(needs: Sequence[list[Form]]) -> dict[Hashable, list[Form]]:
    """The largest of the needs that differ only by a constant."""
    found: dict[Hashable, list[Form]] = {}
    for need in needs:
        key = need[0].moving() if len(need) == 1 else tuple(form.spelling() for form in need)
        known = found.get(key)
        if known is None or need[0].constant > known[0].constant:
            found[key] = need
    return found


def _not_positive(form: Form, place: Callable[[Value], Value], build: Builder) -> Value:
    """Compare the terms that are added with those that are subtracted. A single 32-bit value is compared by itself."""
    if len(form.terms) == 1 and (term := form.terms[0])[2].type is i32 and abs(term[1]) == 1:
        limit = -form.constant * term[1]
        if -(2**31) <= limit < 2**31:
            kind = "le" if term[1] > 0 else "ge"
            return build.add(Binary(kind, place(term[2]), build.add(Const(limit, type=i32)), type=u1))
    sides: list[Value] = []
    for sign, constant in ((1, max(form.constant, 0)), (-1, max(-form.constant, 0))):
        terms = [_product(place(value), sign * count, build) for _, count, value in form.terms if sign * count > 0]
        if constant or not terms:
            terms.append(build.add(Const(constant, type=i64)))
        sides.append(_combined("add", terms, build))
    return build.add(Binary("le", *sides, type=u1))


def _product(value: Value, count: int, build: Builder) -> Value:
    wide = value if value.type is i64 else build.add(Cast(value, type=i64))
    return wide if count == 1 else build.add(Binary("mul", wide, build.add(Const(count, type=i64)), type=i64))


def _in_bounds(value: Value, task: Task, build: Builder) -> Value:
    """A value of the task, computed in its bounds."""
    assert isinstance(value, Op)
    if value.block is task.bounds:
        return value
    return build.add(value.clone({operand: _in_bounds(operand, task, build) for operand in value.operands}))


def _empty_unless(task: Task, holds: Value, wanted: bool) -> None:
    """Make the box empty unless `holds` has the wanted value."""
    limits = task.bounds.last
    assert isinstance(limits, Yield)
    begin, end = limits.begins[0], limits.ends[0]
    end = Builder.at(limits).add(Select(holds, end, begin) if wanted else Select(holds, begin, end))
    limits.set_operand(len(limits.begins), end)
