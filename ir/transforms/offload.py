"""Splits the top level of a kernel into tasks."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, field

from weft.ir.alias import LOCALS, is_access, space_of
from weft.ir.config import CompileConfig
from weft.ir.core import Block, BlockArg, Builder, Op, Value
from weft.ir.ops import (
    Alloca,
    Binary,
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
from weft.ir.storage.values import size_of
from weft.ir.tasks import touched_spaces
from weft.ir.types import Array, Pointer, i32, pointer

__all__ = ["offload"]

_ON_STACK = 16 << 10  # bytes of a local of serial code
_CHEAP = 24  # up to this number of ops, a task recomputes a value and needs no temporary


@pass_("offload")
def offload(root: Kernel, config: CompileConfig) -> bool:
    """Before this pass, the kernel holds statements and parallel loops. After it, the kernel holds only tasks.

        %n = load field_ptr @n                     task serial { body { store temp_ptr 0, (load field_ptr @n) } }
        parallel_for (%i) in [0, %n) {      ->     task range_for { bounds { yield 0, load temp_ptr 0 }
          store field_ptr @x(%i), %c                 body (%i) { store field_ptr @x(%i), %c } }
        }

    Each run of serial ops between two loops becomes one `serial` task. Each parallel loop becomes a `range_for` task. A
    value from an earlier task is computed again if that is cheap and certain to give the same result. Otherwise a
    temporary of the kernel passes it on. Each mutable local that two tasks share, or of more than 16 KiB, becomes a
    temporary too. The locals of a real function stay on the stack, whatever their size: many threads may run it at
    once, and it may call itself. A struct-for becomes a box over the elements of the field. The axis that is contiguous
    in memory becomes the innermost axis.

    The tasks of routines (`enumerate_cells`) stay what they are.
    """
    if all(isinstance(op, Task) for op in root.body):
        return False
    _Offload(root).run()
    return True


def _is_large(op: Op) -> bool:
    return isinstance(op.type, Pointer) and size_of(op.type.elem) > _ON_STACK


@dataclass(eq=False)
class _Segment:
    """A run of serial ops, or one parallel loop, that will become a task. Or a task."""

    ops: list[Op]
    loop: ParallelFor | StructFor | Task | None = None
    bounds: Block = field(default_factory=Block)
    prologue: Block = field(default_factory=Block)
    # Values of earlier segments -> the values that replace them in the bounds, and in the rest of the task.
    in_bounds: dict[Value, Value] = field(default_factory=dict[Value, Value])
    in_body: dict[Value, Value] = field(default_factory=dict[Value, Value])
    written: set[Hashable] = field(default_factory=set[Hashable])  # the spaces that it may write


class _Offload:
    def __init__(self, kernel: Kernel) -> None:
        self.kernel = kernel
        self.segments = _segments(kernel.body)
        self.home: dict[Value, _Segment] = {op: segment for segment in self.segments for op in segment.ops}
        self.temps: dict[Value, TempPtr] = {}
        self.prices: dict[tuple[Value, _Segment], int | None] = {}

    def run(self) -> None:
        self.locals()
        for segment in self.segments:
            segment.written = _written(segment, self.kernel)
        for segment in self.segments:
            self.import_values(segment)
        for segment in self.segments:
            _drop_unused(segment)
            task = _task(segment)
            if task is not None:
                self.kernel.body.insert(task)

    # ---- what crosses ----

    def locals(self) -> None:
        """Move each local that only one serial segment uses into that segment. A local that several tasks use, or that
        is too large for a stack, becomes a temporary."""
        for op in [op for segment in self.segments for op in segment.ops if _is_local(op)]:
            users = list(dict.fromkeys(self.segment_of(user) for user in _users(op)))
            segment = users[0] if users else self.home[op]
            large = _is_large(op) and not self.kernel.called
            if len(users) > 1 or segment.loop is not None or large:
                self.put_in_place(op, self.temporary(op.type, op))
                continue
            # A shared local is replaced by a plain one: no iterations write it any more.
            local = Alloca(type=op.type, name=op.name, span=op.span)
            self.put_in_place(op, local)
            if segment is not self.home[local]:
                self.home[local].ops.remove(local)
                local.unlink()
                segment.ops.insert(0, local)
                self.kernel.body.insert(local, segment.ops[1])
                self.home[local] = segment

    def put_in_place(self, op: Op, made: Op) -> None:
        """Replace `op` by `made`."""
        Builder.at(op).add(made)
        home = self.home.pop(op)
        home.ops[home.ops.index(op)] = made
        self.home[made] = home
        op.replace(made)

    def segment_of(self, op: Op) -> _Segment:
        while op not in self.home:
            assert op.parent is not None, f"{op!r} is not in the kernel"
            op = op.parent
        return self.home[op]

    def temporary(self, type: object, like: Op) -> TempPtr:
        """Allocate a temporary for the pointee of `type`."""
        assert isinstance(type, Pointer)
        made = TempPtr(self.kernel.temp_bytes, type=type, name=like.name, span=like.span)
        self.kernel.temp_bytes += -(-size_of(type.elem) // 8) * 8
        return made

    def import_values(self, segment: _Segment) -> None:
        """Give the segment its own copy of each value that an earlier segment defines."""
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
                    known, place = (segment.in_bounds, bounds) if inner is segment.loop else (segment.in_body, top)
                    inner.set_operand(position, self.import_value(value, segment, place, known))
        if segment.loop is None:  # the copies were inserted first
            segment.ops = _ops_from(segment.ops)
            self.home.update((op, segment) for op in segment.ops)

    def import_value(self, value: Value, segment: _Segment, builder: Builder, known: dict[Value, Value]) -> Value:
        """Provide `value`, which an earlier task defines, at the builder's point in a segment: compute it again or read
        it from a temporary."""
        if value in known:
            return known[value]
        assert isinstance(value, Op)
        if self.price(value, segment) is not None or isinstance(value.type, (Pointer, Array)):
            for operand in value.operands:
                self.import_value(operand, segment, builder, known)
            builder.add(value.clone(known))
        else:
            known[value] = builder.add(Load(builder.add(self.temp_of(value)), name=value.name, span=value.span))
        return known[value]

    def temp_of(self, value: Op) -> Op:
        """The address of the temporary that holds `value`. The store comes right after the definition."""
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

    def price(self, value: Value, segment: _Segment) -> int | None:
        """The number of ops that compute `value` again in a segment, or None if there are too many or the result may
        differ."""
        if (value, segment) not in self.prices:
            self.prices[value, segment] = self._price(value, segment)
        return self.prices[value, segment]

    def _price(self, value: Value, segment: _Segment) -> int | None:
        if not isinstance(value, Op) or not (value.pure or self.loads_the_same(value, segment)):
            return None
        total = 1
        for operand in value.operands:
            price = self.price(operand, segment)
            if price is None:
                return None
            total += price
        return total if total <= _CHEAP else None

    def loads_the_same(self, op: Op, segment: _Segment) -> bool:
        """Whether the load gives the same in a later segment: no segment from its own up to that one writes there."""
        home = self.home.get(op)
        if not isinstance(op, Load) or home is None:
            return False
        first, last = self.segments.index(home), self.segments.index(segment)
        return all(space_of(op.ptr) not in one.written for one in self.segments[first : last + 1])


def _written(segment: _Segment, kernel: Kernel) -> set[Hashable]:
    """The spaces that ops of a segment, and what they call, may write."""
    found = set[Hashable]()
    for op in segment.ops:
        inside = [one for one in op.walk() if is_access(one)]
        found |= {space_of(one.ptr) for one in inside if one.writes} | touched_spaces(op, kernel)
    return found


def _is_local(value: Value) -> bool:
    return type(value) in LOCALS


def _users(ptr: Value) -> list[Op]:
    """The ops that use an address, or the address of a part of it."""
    users = list(ptr.users)
    for user in ptr.users:
        if isinstance(user.type, Pointer):
            users += _users(user)
    return users


def _segments(body: Block) -> list[_Segment]:
    segments: list[_Segment] = []
    for op in body:
        if isinstance(op, (ParallelFor, StructFor, Task)):
            segments.append(_Segment([op], op))
        elif segments and segments[-1].loop is None:
            segments[-1].ops.append(op)
        else:
            segments.append(_Segment([op]))
    return segments


def _ops_from(ops: list[Op]) -> list[Op]:
    """The ops of a serial segment, with all ops that were inserted before and between them."""
    start = ops[0]
    while start.prev is not None and not isinstance(start.prev, (ParallelFor, StructFor, Task)):
        start = start.prev
    found: list[Op] = []
    op: Op | None = start
    while op is not None and not isinstance(op, (ParallelFor, StructFor, Task)):
        found.append(op)
        op = op.next
    return found


def _drop_unused(segment: _Segment) -> None:
    """Remove values that only other tasks used, because these compute them now."""
    for op in reversed(list(segment.ops)):
        if not op.users and (op.pure or (op.droppable and not op.region_names)):
            segment.ops.remove(op)
            op.erase()


# ---- tasks -----------------------------------------------------------------------------------------------------------


def _task(segment: _Segment) -> Task | None:
    if isinstance(segment.loop, Task):
        segment.loop.unlink()
        return segment.loop
    return _serial(segment) if segment.loop is None else _range_for(segment, segment.loop)


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
    task = Task("range_for", loop.config, bounds=segment.bounds, prologue=segment.prologue, body=body, name=loop.name)
    task.span = loop.span
    loop.erase()
    return task


def _element_box(segment: _Segment, loop: StructFor) -> tuple[list[Value], list[Value]]:
    """The box of a struct-for. Its axes are those of the field in memory order. The body keeps the user's indices. A
    field without axes has one element, so its box has one axis of extent 1."""
    symbol, body = loop.field, loop.body
    bounds = Builder(segment.bounds, None, loop.span)
    index = body.args[0].type if body.args else i32
    box = symbol.path.enumerate(symbol.space, lambda number: bounds.add(Const(number, type=index)))
    old, start, order = body.args, Builder(body, body.first, loop.span), box.axes
    body.args = [BlockArg(index, old[axis].name if old else "", loop.span) for axis in order or (0,)]
    for position, arg in enumerate(body.args):
        arg.block = body
        if not old:
            break
        axis = order[position]
        user: Value = arg
        if symbol.offset and symbol.offset[axis]:
            user = start.add(Binary("add", arg, start.add(Const(symbol.offset[axis], type=index)), name=arg.name))
        old[axis].replace_uses(user)
    return box.begins, box.ends
