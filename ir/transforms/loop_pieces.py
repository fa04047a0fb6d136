"""Cuts the box of a task into pieces, in the order of its iterations. A piece is an iteration of the task then."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from weft.ir.core import Block, BlockArg, Builder, Value
from weft.ir.ops import Binary, Cast, Const, FieldPtr, For, Kernel, Load, Select, Store, Task, TempPtr, Yield
from weft.ir.storage.book import count_size
from weft.ir.symbols import FieldSymbol, NodeSymbol
from weft.ir.target import Traits
from weft.ir.tasks import box_of
from weft.ir.types import Type, i32, i64, pointer, u1

__all__ = ["LoopPieces", "known_iterations"]


class LoopPieces:
    """The pieces of the box of a task, which counts appends to these nodes: `cut` copies of it, then `plan`.

        yield begins=[%b], ends=[%e]             (a task that computes the numbers of pieces and of iterations)
        body (%i) { ... }                  ->    yield begins=[0], ends=[%pieces]
                                                 body (%p) {
                                                     for %n from (%p * iterations) / pieces to the next piece {
                                                         %i = %b + %n
                                                         ...
                                                     }
                                                 }

    A piece should have as many iterations as there are lists, because each has a row of counts."""

    def __init__(self, kernel: Kernel, task: Task, nodes: Sequence[NodeSymbol], traits: Traits) -> None:
        self.kernel, self.task, self.nodes, self.traits = kernel, task, nodes, traits
        box = box_of(task)
        self.axes = list(zip(box.begins, box.ends, strict=True))
        self.bounds = task.bounds  # of the task before it is cut
        self.first_temp = kernel.temp_bytes  # the temporaries: 8 bytes for each number

    @property
    def known_total(self) -> int | None:
        """How many iterations there are, if that is known."""
        return _product(self.axes)

    def _temp(self, build: Builder, number: int, type: Type = i64) -> TempPtr:
        return build.add(TempPtr(self.first_temp + 8 * number, type=pointer(type)))

    def _known(self, build: Builder, number: int) -> Value:
        return build.add(Load(self._temp(build, number)))

    def plan(self) -> None:
        """Insert the task that computes the numbers: 0: pieces, 1: iterations, then the begin and the extent of each
        axis."""
        self.kernel.temp_bytes += 8 * (2 + 2 * len(self.axes))
        plan, copies = Task("serial", span=self.task.span), dict[Value, Value]()
        for op in self.bounds:
            if not isinstance(op, Yield):
                plan.body.insert(op.clone(copies))
        build = Builder(plan.body, None, self.task.span)
        total, zero, one = (build.add(Const(number, type=i64)) for number in (1, 0, 1))
        product: Value = total
        for axis, (begin, end) in enumerate(self.axes):
            first, behind = (_wide(build, copies.get(value, value)) for value in (begin, end))
            extent = build.add(Binary("max", build.add(Binary("sub", behind, first)), zero))
            build.add(Store(self._temp(build, 2 + 2 * axis), first))
            build.add(Store(self._temp(build, 3 + 2 * axis), extent))
            product = build.add(Binary("mul", product, extent))
        build.add(Store(self._temp(build, 1), product))
        share = build.add(Const(self.share, type=i64))
        pieces: Value = build.add(Binary("max", build.add(Binary("raw_div", product, share)), one))
        pieces = build.add(Binary("min", pieces, build.add(Const(self.most, type=i64))))
        build.add(Store(self._temp(build, 0), pieces))
        some = build.add(Binary("gt", product, zero, type=u1))
        rows = build.add(Cast(build.add(Select(some, pieces, zero)), type=i32))
        for node in self.nodes:
            build.add(Store(build.add(FieldPtr(node.part("rows"), [])), rows))
        self.kernel.body.insert(plan, self.task)

    @property
    def most(self) -> int:
        """The most pieces for which there are counts, besides the row of the new lengths."""
        return max(min(self.traits.rows, *(count_size(node.lists) // node.lists - 1 for node in self.nodes)), 1)

    @property
    def share(self) -> int:
        """How many iterations a piece should have."""
        return max(*(2 * node.lists for node in self.nodes), 256) if self.traits.counts_appends else 16

    def cut(self, task: Task, ready: Sequence[FieldSymbol] = ()) -> BlockArg:
        """Cut the box of the task, or of a copy of it, which has other bounds then. Gives the number of the piece.
        Nothing runs if a number in `ready` is not 0."""
        for op in reversed(list(task.bounds)):
            op.erase()
        build, piece = Builder(task.bounds, None, task.span), BlockArg(i32)
        zero = build.add(Const(0, type=i32))
        pieces: Value = build.add(Cast(self._known(build, 0), type=i32))
        for part in ready:
            is_ready = build.add(Binary("eq", build.add(Load(build.add(FieldPtr(part, [])))), zero, type=u1))
            pieces = build.add(Select(is_ready, pieces, zero))
        build.add(Yield([zero], [pieces]))
        inner = Block(list(task.body.args))
        inner.take(task.body)
        task.body.args, piece.block = [piece], task.body
        build = Builder(task.body, None, task.span)
        count, total, wide = self._known(build, 0), self._known(build, 1), build.add(Cast(piece, type=i64))
        next_one = build.add(Binary("add", wide, build.add(Const(1, type=i64))))
        ends = [
            build.add(Binary("raw_div", build.add(Binary("mul", number, total)), count)) for number in (wide, next_one)
        ]
        self._loop(build, ends, inner)
        return piece

    def _loop(self, build: Builder, ends: Sequence[Value], body: Block) -> None:
        """Make a loop over these iterations of the box."""
        args, axes = list(body.args), range(len(self.axes))
        begins = [self._number(build, begin, 2 + 2 * k) for k, (begin, _) in enumerate(self.axes)]
        if len(args) == 1:
            limits: list[Value] = []
            for end in ends:
                limits.append(build.add(Binary("add", begins[0], _as(build, end, args[0].type))))
        else:
            known = self.known_total
            number = BlockArg(i32 if known is not None and known < 2**31 else i64)
            extents = [self._extent(build, k, number.type) for k in axes]
            start = Builder(body, body.first, build.span)
            rest: Value = number
            for k in reversed(axes):
                at = rest if k == 0 else start.add(Binary("raw_mod", rest, extents[k]))
                rest = rest if k == 0 else start.add(Binary("raw_div", rest, extents[k]))
                args[k].replace_uses(start.add(Binary("add", begins[k], _as(start, at, args[k].type))))
            body.args, number.block = [number], body
            limits = [_as(build, end, number.type) for end in ends]
        one = build.add(Const(1, type=limits[0].type))
        build.add(For(limits[0], limits[1], one, body=body))

    def _number(self, build: Builder, value: Value, temp: int) -> Value:
        """The begin of an axis: a constant if it is known."""
        if isinstance(value, Const):
            return build.add(Const(value.value, type=value.type))
        return _as(build, self._known(build, temp), value.type)

    def _extent(self, build: Builder, axis: int, type: Type) -> Value:
        begin, end = self.axes[axis]
        if isinstance(begin, Const) and isinstance(end, Const):
            return build.add(Const(max(int(end.value) - int(begin.value), 0), type=type))
        return _as(build, self._known(build, 3 + 2 * axis), type)


def known_iterations(task: Task) -> int | None:
    """How many iterations a task has, if that is known."""
    box = box_of(task)
    return _product(list(zip(box.begins, box.ends, strict=True)))


def _product(axes: Sequence[tuple[Value, Value]]) -> int | None:
    sizes = [
        max(int(end.value) - int(begin.value), 0)
        for begin, end in axes
        if isinstance(begin, Const) and isinstance(end, Const)
    ]
    return prod(sizes) if len(sizes) == len(axes) else None


def _as(build: Builder, value: Value, type: Type) -> Value:
    return value if value.type is type else build.add(Cast(value, type=type))


def _wide(build: Builder, value: Value) -> Value:
    return _as(build, value, i64)
