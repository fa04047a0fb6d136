"""Writes inner loops that only compute reductions: their iterations run in lanes (see `mapping/fold_choice.py`).

    for %k in %b..%e {                          %s = zeros, a vector
      %d = ... x[%k] ...                        for %k in %b..%e, 16 iterations at once {
      if %d < %r { total += f(%d) }      ->       ... %mask ... %s += f(%d)
    }                                           }
                                                total += reduce %s

An iteration may only compute sums (or minima or maxima) into locals outside of the loop, and may read these locals only
to add to them. The order of the iterations then does not matter, except for rounding, which `fast_math` allows. If the
loop is nested in others that use the local for nothing else, the vector lives as long as the outermost of these, and
its elements are reduced once.

LLVM would vectorize some such loops too, but for 64 iterations at once, and it runs the rest one by one. Most inner
loops of unknown length are short: neighbours, nonzero elements of a row, members of a cell. If several vectors at once
are better for long loops, the loop is written twice: for whole groups of vectors, and for the rest.
"""

from __future__ import annotations

from collections.abc import Mapping

from weft.ir.core import Block, BlockArg, Builder, Op, Value, ops_of
from weft.ir.mapping.fold_choice import InnerLoop, inner_loops
from weft.ir.mapping.layouts import Layouts
from weft.ir.mapping.vectorize.control import write_body
from weft.ir.mapping.vectorize.state import Mask, Point, Vectorizer
from weft.ir.ops import Alloca, Binary, Cast, Const, FirstLanes, For, If, Load, Reduce, Select, Splat, Store, Task
from weft.ir.scalar import identity
from weft.ir.schedule import LoopSchedule
from weft.ir.types import Pointer, Prim, i64, lanes, pointer, u1
from weft.ir.uniform import FAMILY, Uniformity

__all__ = ["vectorize_loops"]


def vectorize_loops(task: Task, layouts: Layouts) -> None:
    """Write the loops of the task that run in lanes."""
    loops = inner_loops(ops_of(task.body))
    totals: dict[tuple[Op, Value], Value] = {}
    for op, loop in [*loops.items()]:
        if loop.facts is None:
            continue
        assert isinstance(op, For)
        mine: dict[Value, Mask] = {}
        for local in dict.fromkeys(store.ptr for store in loop.facts.sums):
            home = _home(op, local, loops)
            if (home, local) not in totals:
                totals[home, local] = _total(home, local, loops[home].totals[local], op.schedule.lanes)
            mine[local] = (totals[home, local],)
        _write(op, loop.facts, layouts, mine)


def _home(op: Op, local: Value, loops: Mapping[Op, InnerLoop]) -> Op:
    """The loop during which the total of a local is a vector: this one, or one around it."""
    around: Op | None = op
    while around is not None and not (around in loops and local in loops[around].totals):
        around = around.parent
    assert around is not None
    return around


def _total(home: Op, local: Value, kind: str, width: int) -> Value:
    """The vector of a total: it begins with neutral elements before the loop, and is added to the local after it."""
    total = _cleared(Builder.at(home), local, kind, width)
    assert home.block is not None
    type, after = _held(local), Builder(home.block, home.next, home.span)
    part = after.add(Reduce(kind, after.add(Load(total, type=lanes(type, width)))))
    old = after.add(Load(local, type=type))
    after.add(Store(local, after.add(Binary(kind, old, part))))
    return total


def _cleared(build: Builder, local: Value, kind: str, width: int) -> Value:
    """A local with a vector of neutral elements."""
    type = _held(local)
    total = build.add(Alloca(type=pointer(lanes(type, width))))
    neutral = build.add(Const(identity(kind, type), type=type))
    build.add(Store(total, build.add(Splat(neutral, type=lanes(type, width)))))
    return total


def _held(local: Value) -> Prim:
    assert isinstance(local.type, Pointer)
    assert isinstance(local.type.elem, Prim)
    return local.type.elem


def _write(op: For, facts: Uniformity, layouts: Layouts, totals: Mapping[Value, Mask]) -> None:
    build, many = Builder.at(op), op.schedule.vectors
    iterations = _Iterations(build, op, facts, layouts)
    begin, end = (_extended(build, bound) for bound in (op.begin, op.end))
    if many == 1:
        iterations.write(begin, end, totals)
    else:
        rest = _rest(build, begin, end, op.schedule.lanes * many)
        whole = build.add(Binary("sub", end, rest))
        groups = build.add(If(build.add(Binary("lt", begin, whole))))
        _Iterations(Builder(groups.then, span=op.span), op, facts, layouts).write_groups(begin, whole, totals)
        iterations.write(build.add(Const(0, type=i64)), rest, totals, whole)
    op.erase()


def _extended(build: Builder, bound: Value) -> Value:
    return bound if bound.type is i64 else build.add(Cast(bound, type=i64))


def _rest(build: Builder, begin: Value, end: Value, span: int) -> Value:
    """The number of iterations that are left after whole groups of `span`. (`end - begin` may need all 64 bits.)"""
    below = build.add(Binary("and", build.add(Binary("sub", end, begin)), build.add(Const(span - 1, type=i64))))
    return build.add(Select(build.add(Binary("lt", begin, end)), below, build.add(Const(0, type=i64))))


class _Iterations:
    """Writes the iterations of a loop at a point."""

    def __init__(self, build: Builder, op: For, facts: Uniformity, layouts: Layouts) -> None:
        self.build, self.op, self.facts, self.layouts = build, op, facts, layouts

    def write(self, begin: Value, end: Value, totals: Mapping[Value, Mask], first: Value | None = None) -> None:
        """One vector after another, the last one masked. The iterations count from `first` on, if it is given."""
        stretch = self.op.schedule.stretch if first is None else 0  # the rest is short
        v, (index, left) = self._loop(begin, end, LoopSchedule(self.op.schedule.lanes, stretch=stretch))
        v.point.active = (v.add(FirstLanes(left, type=v.wide(u1))),)
        self._body(v, index if first is None else v.binary("add", first, index), totals)

    def write_groups(self, begin: Value, end: Value, totals: Mapping[Value, Mask]) -> None:
        """Whole groups of vectors, which have totals of their own."""
        many, width = self.op.schedule.vectors, self.op.schedule.lanes
        kinds = {store.ptr: FAMILY[kind] for store, (kind, _) in self.facts.sums.items()}
        mine = {
            local: tuple(_cleared(self.build, local, kind, width) for _ in range(many)) for local, kind in kinds.items()
        }
        v, (index, _) = self._loop(begin, end, LoopSchedule(width, many, self.op.schedule.stretch))
        v.point.active = (v.full_mask(),) * many
        self._body(v, index, mine)
        for local, kind in kinds.items():
            ((total,), slots) = totals[local], mine[local]
            sums: list[Value] = [
                self.build.add(Load(slot, type=lanes(_held(local), width))) for slot in (total, *slots)
            ]
            while len(sums) > 1:
                sums.append(self.build.add(Binary(kind, sums.pop(0), sums.pop(0))))
            self.build.add(Store(total, sums[0]))

    def _loop(self, begin: Value, end: Value, schedule: LoopSchedule) -> tuple[Vectorizer, list[BlockArg]]:
        width, many, index = schedule.lanes, schedule.vectors, self.op.body.args[0]
        body = Block([BlockArg(i64, index.name, index.span), BlockArg(i64, "left", index.span)])
        step = self.build.add(Const(width * many, type=i64))
        self.build.add(For(begin, end, step, schedule, body=body))
        v = Vectorizer(Point(Builder(body, span=self.op.span)), self.facts, self.layouts, width, many)
        return v, body.args

    def _body(self, v: Vectorizer, index: Value, totals: Mapping[Value, Mask]) -> None:
        (arg,) = self.op.body.args
        v.known[arg] = (index if arg.type is i64 else v.add(Cast(index, type=arg.type)),)
        v.locals.totals = dict(totals)
        write_body(v, self.op)
