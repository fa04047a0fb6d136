"""Cuts the top level of a kernel into tasks."""

from __future__ import annotations

from dataclasses import dataclass, field

from weft.ir.alias import root_of, same_address, space_of
from weft.ir.config import CompileConfig
from weft.ir.core import Block, BlockArg, Builder, Op, Value, ops_of
from weft.ir.errors import InternalError
from weft.ir.layout import size_of
from weft.ir.ops import (
    ATOMICS,
    Alloca,
    Atomic,
    Binary,
    Cast,
    Const,
    Kernel,
    Load,
    ParallelFor,
    Store,
    StructFor,
    Task,
    TempPtr,
    Yield,
)
from weft.ir.passes import pass_
from weft.ir.tasks import accesses, touched_spaces
from weft.ir.types import Array, Pointer, Type, i32, i64, pointer

__all__ = ["accumulate_atomically", "offload"]

_CHEAP = 24  # ops that a task rather computes again than reads from a temporary


@pass_("offload")
def offload(root: Kernel, config: CompileConfig) -> bool:
    """Before: statements and parallel loops. After: only tasks.

        %n = load field_ptr @n                     task serial { body { store temp_ptr 0, (load field_ptr @n) } }
        parallel_for (%i) in [0, %n) {      ->     task range_for { bounds { yield 0, load temp_ptr 0 }
          store field_ptr @x(%i), %c                 body (%i) { store field_ptr @x(%i), %c } }
        }

    Serial ops between two loops become one `serial` task, each parallel loop a `range_for` task. A value from an
    earlier task is computed again where that is cheap and sure to give the same; else it crosses in a temporary of the
    kernel, as does every mutable local that two tasks share. What a parallel loop accumulates in such a local becomes
    atomic. A struct-for becomes a box over the field's elements, the axis that is contiguous in memory innermost.

    Does nothing to a kernel that holds tasks already."""
    if any(isinstance(op, Task) for op in root.body):
        return False
    _Offload(root).run()
    return True


@dataclass(eq=False)
class _Segment:
    """A run of serial ops, or one parallel loop, on its way to be a task."""

    ops: list[Op]
    loop: ParallelFor | StructFor | None = None
    bounds: Block = field(default_factory=Block)
    prologue: Block = field(default_factory=Block)
    # Values of earlier segments, as the bounds, and as the rest of the task, see them.
    in_bounds: dict[Value, Value] = field(default_factory=dict[Value, Value])
    in_body: dict[Value, Value] = field(default_factory=dict[Value, Value])


class _Offload:
    def __init__(self, kernel: Kernel) -> None:
        self.kernel = kernel
        self.segments = _segments(kernel.body)
        self.home: dict[Value, _Segment] = {op: segment for segment in self.segments for op in segment.ops}
        self.temps: dict[Value, TempPtr] = {}
        self.prices: dict[Value, int | None] = {}

    def run(self) -> None:
        for segment in self.segments:
            if segment.loop is not None:
                accumulate_atomically(segment.loop)
        self.locals()
        self.written = {space_of(op.ptr) for op in accesses(self.kernel) if not isinstance(op, Load)}
        self.written.update(touched_spaces(self.kernel, self.kernel))
        for segment in self.segments:
            self.import_values(segment)
        for segment in self.segments:
            _drop_unused(segment)
            task = _serial(segment) if segment.loop is None else _range_for(segment, segment.loop)
            if task is not None:
                self.kernel.body.insert(task)

    # ---- what crosses ----

    def locals(self) -> None:
        """A local that only one serial run uses moves there; one that several tasks use becomes a temporary."""
        for op in [op for segment in self.segments for op in segment.ops if isinstance(op, Alloca)]:
            users = list(dict.fromkeys(self.segment_of(user) for user in _users(op)))
            home = self.home[op]
            if users in ([], [home]):
                continue
            if len(users) == 1 and users[0].loop is None:
                home.ops.remove(op)
                op.unlink()
                users[0].ops.insert(0, op)
                self.kernel.body.insert(op, users[0].ops[1])
                self.home[op] = users[0]
                continue
            made = self.temporary(op.type, op)
            Builder.at(op).add(made)
            home.ops[home.ops.index(op)] = made
            self.home[made] = home
            op.replace(made)

    def segment_of(self, op: Op) -> _Segment:
        while op not in self.home:
            parent = op.parent
            if parent is None:
                raise InternalError(f"offload: {op!r} is not in the kernel")
            op = parent
        return self.home[op]

    def temporary(self, type: object, like: Op) -> TempPtr:
        """A new temporary for what `type` points to."""
        assert isinstance(type, Pointer)
        made = TempPtr(self.kernel.temp_bytes, type=type, name=like.name, span=like.span)
        self.kernel.temp_bytes += -(-size_of(type.elem) // 8) * 8
        return made

    def import_values(self, segment: _Segment) -> None:
        """Give the segment its own copy of each value that an earlier one defines."""
        if segment.loop is None:
            first = segment.ops[0]
            top = Builder(self.kernel.body, first, first.span)
        else:
            top = Builder(segment.prologue, None, segment.loop.span)
        for op in segment.ops:
            bounds = Builder(segment.bounds, None, op.span)
            for inner in op.walk():
                for position, value in enumerate(inner.operands):
                    home = self.home.get(value)
                    if home is None or home is segment:
                        continue
                    if inner is segment.loop:
                        inner.set_operand(position, self.import_value(value, bounds, segment.in_bounds))
                    else:
                        inner.set_operand(position, self.import_value(value, top, segment.in_body))
        if segment.loop is None:  # the copies were put in front
            segment.ops = _ops_from(segment.ops)
            self.home.update((op, segment) for op in segment.ops)

    def import_value(self, value: Value, builder: Builder, known: dict[Value, Value]) -> Value:
        """`value`, of an earlier task, at the builder's point: computed again, or read from a temporary."""
        if value in known:
            return known[value]
        assert isinstance(value, Op)
        if self.price(value) is not None or isinstance(value.type, (Pointer, Array)):
            for operand in value.operands:
                self.import_value(operand, builder, known)
            builder.add(value.clone(known))
        else:
            known[value] = builder.add(Load(builder.add(self.temp_of(value)), name=value.name, span=value.span))
        return known[value]

    def temp_of(self, value: Op) -> Op:
        """The address of the temporary that holds `value`, stored right after its definition."""
        kept = self.temps.get(value)
        if kept is None:
            kept = self.temps[value] = self.temporary(pointer(value.type), value)
            after = Builder(self.kernel.body, value.next, value.span)
            store = Store(after.add(kept), value)
            segment = self.home[value]
            place = segment.ops.index(value) + 1
            segment.ops[place:place] = [kept, after.add(store)]
            self.home[kept] = self.home[store] = segment
        return kept.clone({})

    def price(self, value: Value) -> int | None:
        """How many ops it takes to compute `value` anew; None if that is too much, or may give something else."""
        if value not in self.prices:
            self.prices[value] = self._price(value)
        return self.prices[value]

    def _price(self, value: Value) -> int | None:
        if not isinstance(value, Op) or not (value.pure or self.constant_load(value)):
            return None
        total = 1
        for operand in value.operands:
            price = self.price(operand)
            if price is None:
                return None
            total += price
        return total if total <= _CHEAP else None

    def constant_load(self, op: Op) -> bool:
        """Whether it reads memory that the kernel never writes."""
        return isinstance(op, Load) and space_of(op.ptr) not in self.written and not isinstance(root_of(op.ptr), Alloca)


def _users(ptr: Value) -> list[Op]:
    """What uses an address, or the address of a part of it."""
    users = list(ptr.users)
    for user in ptr.users:
        if isinstance(user.type, Pointer):
            users += _users(user)
    return users


def _segments(body: Block) -> list[_Segment]:
    segments: list[_Segment] = []
    for op in body:
        if isinstance(op, (ParallelFor, StructFor)):
            segments.append(_Segment([op], op))
        elif segments and segments[-1].loop is None:
            segments[-1].ops.append(op)
        else:
            segments.append(_Segment([op]))
    return segments


def _ops_from(ops: list[Op]) -> list[Op]:
    """The ops of a serial segment with all that was put between and before them."""
    start = ops[0]
    while start.prev is not None and not isinstance(start.prev, (ParallelFor, StructFor)):
        start = start.prev
    found: list[Op] = []
    op: Op | None = start
    while op is not None and not isinstance(op, (ParallelFor, StructFor)):
        found.append(op)
        op = op.next
    return found


def _drop_unused(segment: _Segment) -> None:
    """Values that only other tasks wanted are computed there now."""
    for op in reversed(list(segment.ops)):
        if not op.users and (op.pure or isinstance(op, (Load, Alloca))):
            segment.ops.remove(op)
            op.erase()


# ---- tasks -----------------------------------------------------------------------------------------------------------


def _serial(segment: _Segment) -> Task | None:
    if not segment.ops:
        return None
    task = Task("serial", span=segment.ops[0].span)
    for op in segment.ops:
        op.unlink()
        task.body.insert(op)
    return task


def _range_for(segment: _Segment, loop: ParallelFor | StructFor) -> Task:
    begins, ends = (loop.begins, loop.ends) if isinstance(loop, ParallelFor) else _element_box(segment, loop)
    segment.bounds.insert(Yield(begins, ends, span=loop.span))
    body, loop.body = loop.body, Block()
    task = Task("range_for", loop.config, (), (), segment.bounds, segment.prologue, body, name=loop.name)
    task.span = loop.span
    loop.erase()
    return task


def _element_box(segment: _Segment, loop: StructFor) -> tuple[list[Value], list[Value]]:
    """The box of a struct-for. Its axes are the field's in memory order; the body keeps the user's indices. A field
    without axes has one element: a box of one axis and extent 1."""
    symbol, body = loop.field, loop.body
    order = symbol.order or tuple(range(len(symbol.shape)))
    bounds = Builder(segment.bounds, None, loop.span)
    extents = [symbol.shape[axis] for axis in order] or [1]
    index = i32 if max(extents) < 2**31 else i64
    begins: list[Value] = [bounds.add(Const(0, type=index)) for _ in extents]
    ends: list[Value] = [bounds.add(Const(extent, type=index)) for extent in extents]
    old, start = body.args, Builder(body, body.first, loop.span)
    body.args = [BlockArg(index, old[axis].name if old else "", loop.span) for axis in order or (0,)]
    for position, arg in enumerate(body.args):
        arg.block = body
        if not old:
            break
        axis = order[position]
        user: Value = arg
        if symbol.offset and symbol.offset[axis]:
            user = start.add(Binary("add", arg, start.add(Const(symbol.offset[axis], type=index)), name=arg.name))
        if old[axis].type is not index:
            user = start.add(Cast(user, type=old[axis].type, name=arg.name))
        old[axis].replace_uses(user)
    return begins, ends


# ---- locals that a parallel loop adds to -----------------------------------------------------------------------------


def accumulate_atomically(loop: ParallelFor | StructFor) -> None:
    """`s = s + a` in a parallel loop, where `s` is a local of the kernel: iterations share it, so it must be atomic."""
    inside = set(ops_of(loop.body))
    for op in loop.all_of(Store):
        if isinstance(root_of(op.ptr), Alloca) and root_of(op.ptr) not in inside:
            _make_atomic(op)


def _make_atomic(store: Store) -> None:
    """`store p, (load p) + a + b` becomes an atomic for each addend; also where the sum is of a wider type than `p`:
    then the addends are cast, as they are for an element of a field."""
    steps: list[tuple[Binary, Value]] = []
    narrowed = store.value if isinstance(store.value, Cast) else None
    value = store.value if narrowed is None else narrowed.x
    while isinstance(value, Binary) and value.kind in ATOMICS and (not steps or _family(value) == _family(steps[0][0])):
        lhs, rhs = value.lhs, value.rhs
        if value.kind != "sub" and _is_load_of(rhs, store.ptr):
            lhs, rhs = rhs, lhs
        steps.append((value, rhs))
        value = lhs
    load = value.x if isinstance(value, Cast) else value
    if not steps or not _is_load_of(value, store.ptr) or (narrowed is None) is not (load is value):
        return
    assert isinstance(load, Load)
    if load.block is not store.block or _changed_between(load, store):
        return
    builder = Builder.at(store)
    for step, amount in reversed(steps[1:]):
        builder.add(Atomic(step.kind, store.ptr, _cast(builder, amount, store.value.type)))
    final, amount = steps[0][0], _cast(builder, steps[0][1], store.value.type)
    old = builder.add(Atomic(final.kind, store.ptr, amount))
    if any(len(one.users) > 1 for one in (final, narrowed) if one is not None):
        new = builder.add(Binary(final.kind, old, amount, type=store.value.type))
        if narrowed is not None:
            _replace_after(narrowed, new, store)
        _replace_after(final, _cast(builder, new, final.type), store)
    store.erase()
    chain = [narrowed, *(step for step, _ in steps), value, load]
    for dead in dict.fromkeys(one for one in chain if isinstance(one, Op)):
        if not dead.users:
            dead.erase()


def _is_load_of(value: Value, ptr: Value) -> bool:
    """Whether that is what lies at `ptr`, or a cast of it."""
    load = value.x if isinstance(value, Cast) else value
    return isinstance(load, Load) and same_address(load.ptr, ptr)


def _cast(builder: Builder, value: Value, type: Type) -> Value:
    return value if value.type is type else builder.add(Cast(value, type=type))


def _replace_after(before: Op, new: Value, store: Store) -> None:
    """`new` in place of `before`, where that is used behind the store."""
    for user in [user for user in before.users if user is not store and _follows(user, store)]:
        for position, operand in enumerate(user.operands):
            if operand is before:
                user.set_operand(position, new)


def _family(op: Binary) -> str:
    return "add" if op.kind == "sub" else op.kind


def _changed_between(load: Load, store: Store) -> bool:
    op = load.next
    while op is not None and op is not store:
        for inner in op.walk():
            if isinstance(inner, (Store, Atomic)) and root_of(inner.ptr) is root_of(store.ptr):
                return True
        op = op.next
    return False


def _follows(user: Op, op: Op) -> bool:
    """Whether `user` comes after `op`, in its block or deeper."""
    inner: Op | None = user
    while inner is not None and inner.block is not op.block:
        inner = inner.parent
    while inner is not None and inner is not op:
        inner = inner.prev
    return inner is op
