"""Versions parallel loops whose iterations near the boundary differ from all others."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from weft.ir.config import CompileConfig
from weft.ir.core import Builder, Value, ops_of
from weft.ir.intervals import interval, type_interval
from weft.ir.linear import Form, exact_form
from weft.ir.ops import Binary, Cast, Const, If, Kernel, Task
from weft.ir.passes import pass_
from weft.ir.tasks import box_of, is_masked, parallel_tasks, usual_ops
from weft.ir.types import Prim, i32, u1

__all__ = ["version_interior"]

_NEAR = 8  # iterations between a bound and the end of the box
_WIDE = 8 * _NEAR  # the shortest box, along an axis, of which most iterations are in the interior
_FEWEST = 3  # branches that depend on what becomes a constant
_LONG = 400  # ops of a body

# For `a kind b`: what it is where a form in a and b is not positive; the factors of both, and a constant.
_DECIDED: dict[str, tuple[tuple[bool, int, int, int], ...]] = {
    "lt": ((True, 1, -1, 1), (False, -1, 1, 0)),
    "le": ((True, 1, -1, 0), (False, -1, 1, 1)),
    "gt": ((True, -1, 1, 1), (False, 1, -1, 0)),
    "ge": ((True, -1, 1, 0), (False, 1, -1, 1)),
    "eq": ((False, 1, -1, 1), (False, -1, 1, 1)),
    "ne": ((True, 1, -1, 1), (True, -1, 1, 1)),
}


@dataclass(frozen=True)
class _Decided:
    """A comparison that has this value in the interior: where `index >= bound`, or `index <= bound` (`above`)."""

    op: Binary
    value: bool
    axis: int
    above: bool
    bound: int


@pass_("version_interior")
def version_interior(root: Kernel, config: CompileConfig) -> bool:
    """Versions a parallel loop that has branches at the boundary of its box. Adjoints of stencils have many:

        range_for body (%i: i64) {              range_for body (%i: i64) {
          if %i > 0 { A }                         if (1 <= %i) and (%i <= 254) { A ; B ; C }
          B                              ->       else { if %i > 0 { A } ; B ; if %i < 255 { C } }
          if %i < 255 { C }                     }
        }

    In the first version, a comparison of an index with a bound near an end of the box is a constant. Groups of SIMD
    lanes in the interior then test once, and have no masks of their own.

    The pass replaces a comparison of one index of the box, plus a number, with a number, where neither side can wrap
    around. The test before the first version implies what such a comparison gives, whatever the box is. That a bound is
    near an end of the box is only a guess about which iterations are frequent.

    The body is doubled, so the pass applies only if at least three branches depend on such comparisons, if the body
    has at most 400 ops, and if an axis has at least 64 iterations. It runs only for targets with vectors: on a GPU,
    threads that disagree would run both versions.
    """
    changed = False
    for task in parallel_tasks(root) if config.traits.lanes > 1 else ():
        found = _worthwhile(task)
        if found:
            _version(task, found)
            changed = True
    return changed


def _worthwhile(task: Task) -> list[_Decided]:
    """The comparisons that become constants, or none if versions do not pay."""
    inside = ops_of(task.body)
    if len(inside) > _LONG:
        return []
    usual = usual_ops(task.body)
    found = [decided for op in usual if isinstance(op, Binary) and (decided := _decided(op, task))]
    depends: set[Value] = {one.op for one in found}
    for op in usual:
        if op.type is u1 and op.pure and not depends.isdisjoint(op.operands):
            depends.add(op)
    branches = [op for op in usual if isinstance(op, If) and not is_masked(op) and op.condition in depends]
    return found if len(branches) >= _FEWEST else []


def _decided(op: Binary, task: Task) -> _Decided | None:
    """What the comparison is in the interior, if it compares an index with a number near an end of the box."""
    if op.type is not u1 or not all(isinstance(x.type, Prim) and x.type.is_int for x in op.operands):
        return None
    for value, left, right, constant in _DECIDED.get(op.kind, ()):
        form = Form((), constant).plus(exact_form(op.lhs), left).plus(exact_form(op.rhs), right)
        if len(form.terms) == 1 and (place := _place(form, task)) is not None:
            return _Decided(op, value, *place)
    return None


def _place(form: Form, task: Task) -> tuple[int, bool, int] | None:
    """The axis, the side and the bound of the index where the form is not positive, if that is nearly the whole box."""
    _, factor, index = form.terms[0]
    axes = [axis for axis in range(len(box_of(task).begins)) if task.body.args[axis] is index]
    if abs(factor) != 1 or not axes:
        return None
    axis, bound = axes[0], -factor * form.constant
    first, last = interval(index)
    if last - first < _WIDE:
        return None
    near = bound <= first + _NEAR if factor < 0 else bound >= last - _NEAR
    held = max(bound, first) if factor < 0 else min(bound, last)  # the type of the index may not hold one behind an end
    return (axis, factor > 0, held) if near else None


def _version(task: Task, found: list[_Decided]) -> None:
    """Make the body the second version, with the first one before it."""
    body, copies = list(task.body), dict[Value, Value]()
    build = Builder(task.body)
    branch = If(_interior(task, found, build), general=True)
    for op in body:
        branch.then.append(op.clone(copies))
    for op in body:
        op.unlink()
        branch.orelse.append(op)
    build.add(branch)
    for decided in found:
        copy = copies[decided.op]
        assert isinstance(copy, Binary)
        copy.replace(Builder.at(copy).add(Const(decided.value, type=u1)))


def _interior(task: Task, found: list[_Decided], build: Builder) -> Value:
    """Whether an iteration is in the interior: each index is at the tightest of its bounds, or behind it."""
    holds: Value | None = None
    for axis, above, bound in _tightest(found):
        index: Value = task.body.args[axis]
        (least, most), (low, high) = interval(index), type_interval(i32)
        if index.type is not i32 and low <= least and most <= high:  # more lanes at once
            index = build.add(Cast(index, type=i32))
        limit = build.add(Const(bound, type=index.type))
        here = build.add(Binary("le" if above else "ge", index, limit, type=u1))
        holds = here if holds is None else build.add(Binary("and", holds, here, type=u1))
    assert holds is not None
    return holds


def _tightest(found: list[_Decided]) -> Iterator[tuple[int, bool, int]]:
    for axis, above in dict.fromkeys((one.axis, one.above) for one in found):
        bounds = [one.bound for one in found if (one.axis, one.above) == (axis, above)]
        yield axis, above, min(bounds) if above else max(bounds)
