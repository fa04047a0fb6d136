"""Integers as linear forms over opaque values, and known facts about them. This suffices to prove that an index is in
range, or to find the test that a loop needs before it runs.

    %j = binary add %i, 2         2 - 3 + 1 * %i <= 0      holds if %i <= 1 is known
    x[%j] of three elements

A form stands for the sum in the unbounded integers. An op that may wrap around in its type is an opaque value
(`exact_form`). For an index the op may be split nevertheless (`index_form`): if the sum is in the range of an index, it
is what the op gives, even if intermediate values wrap.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator
from dataclasses import dataclass

from weft.ir.affine import leaf_key
from weft.ir.core import Value
from weft.ir.intervals import interval, type_interval, unclipped
from weft.ir.ops import Binary, Cast, Const, Unary
from weft.ir.types import Prim

__all__ = ["Facts", "Form", "conditions", "exact_form", "index_form"]

_MOST_FACTS = 8  # of one value
_DEPTH = 4  # the most facts in a chain


@dataclass(frozen=True)
class Form:
    """`constant` plus the sum of factor times value. Values that are known to be equal have one key
    (see `leaf_key`)."""

    terms: tuple[tuple[Hashable, int, Value], ...] = ()
    constant: int = 0

    def plus(self, other: Form, factor: int = 1) -> Form:
        """The sum of this form and a multiple of the other."""
        factors = {key: (count, value) for key, count, value in self.terms}
        for key, count, value in other.terms:
            factors[key] = factors.get(key, (0, value))[0] + factor * count, value
        terms = tuple((key, count, value) for key, (count, value) in factors.items() if count)
        return Form(terms, self.constant + factor * other.constant)

    def shifted(self, by: int) -> Form:
        """The sum of this form and a number."""
        return Form(self.terms, self.constant + by)

    def factor(self, key: Hashable) -> int:
        """The factor of a value."""
        return next(count for other, count, _ in self.terms if other == key)

    def greatest(self) -> int:
        """An upper bound of the form, by the interval of each value."""
        total = self.constant
        for _, count, value in self.terms:
            low, high = interval(value)
            total += count * (high if count > 0 else low)
        return total

    def moving(self) -> Hashable:
        """A key that is equal for forms that differ by a constant."""
        return frozenset((key, count) for key, count, _ in self.terms)

    def spelling(self) -> Hashable:
        """A key that is equal for equal forms."""
        return self.moving(), self.constant


def exact_form(value: Value) -> Form:
    """The form of an integer, through ops that are known not to wrap around."""
    if isinstance(value, Const):
        return Form((), int(value.value))
    if isinstance(value, Cast) and _keeps(value):
        return exact_form(value.x)
    if isinstance(value, Binary | Unary) and _fits(value):
        found = _combined(value, exact_form)
        if found is not None:
            return found
    return Form(((leaf_key(value), 1, value),))


def index_form(value: Value, first: int) -> Form:
    """The form of an index into memory whose first index is `first`. If the form is in a range of indices, so is the
    index, and it is the same number, although nested ops may wrap around: they all wrap at the same width, except below
    a cast. For unsigned ops this holds only if no index is negative: `u32(%i) - u32(%j)` is never -1."""
    if isinstance(value, Cast) and _keeps(value):
        return index_form(value.x, first)
    assert isinstance(value.type, Prim)
    return _wrapping(value) if value.type.bits >= 32 and (value.type.is_signed or first >= 0) else exact_form(value)


def _wrapping(value: Value) -> Form:
    found = _combined(value, _wrapping) if isinstance(value, Binary | Unary) else None
    return exact_form(value) if found is None else found


def _combined(value: Binary | Unary, form: Callable[[Value], Form]) -> Form | None:
    if isinstance(value, Unary):
        return Form().plus(form(value.x), -1) if value.kind == "neg" else None
    if value.kind in ("add", "sub"):
        return form(value.lhs).plus(form(value.rhs), 1 if value.kind == "add" else -1)
    if value.kind == "mul" and isinstance(value.rhs, Const):
        return Form().plus(form(value.lhs), int(value.rhs.value))
    if value.kind == "mul" and isinstance(value.lhs, Const):
        return Form().plus(form(value.rhs), int(value.lhs.value))
    if value.kind == "shl" and isinstance(value.rhs, Const) and 0 <= int(value.rhs.value) < 31:
        return Form().plus(form(value.lhs), 1 << int(value.rhs.value))
    return None


def _keeps(cast: Cast) -> bool:
    """Whether the cast preserves the value."""
    source = cast.x.type
    if not isinstance(source, Prim) or not source.is_int:
        return False
    (low, high), (least, most) = interval(cast.x), type_interval(cast.type)
    return least <= low and high <= most


def _fits(value: Binary | Unary) -> bool:
    """Whether the op is known not to wrap around."""
    found, (least, most) = unclipped(value), type_interval(value.type)
    return found is not None and least <= found[0] and found[1] <= most


# ---- conditions ------------------------------------------------------------------------------------------------------

# For `a kind b`: a form that is not positive if it holds, as factors of a and of b, and a constant.
_COMPARED: dict[str, tuple[tuple[int, int, int], ...]] = {
    "lt": ((1, -1, 1),),
    "le": ((1, -1, 0),),
    "gt": ((-1, 1, 1),),
    "ge": ((-1, 1, 0),),
    "eq": ((1, -1, 0), (-1, 1, 0)),
}
_OPPOSITE = {"lt": "ge", "le": "gt", "gt": "le", "ge": "lt", "ne": "eq"}


def conditions(value: Value, holds: bool) -> Iterator[Form]:
    """Forms that are not positive if the u1 `value` is true (`holds`), or false."""
    if isinstance(value, Unary) and value.kind == "not":
        yield from conditions(value.x, not holds)
    if not isinstance(value, Binary):
        return
    if value.kind == ("and" if holds else "or"):
        yield from conditions(value.lhs, holds)
        yield from conditions(value.rhs, holds)
        return
    kind = value.kind if holds else _OPPOSITE.get(value.kind, "")
    if kind not in _COMPARED or not all(isinstance(x.type, Prim) and x.type.is_int for x in value.operands):
        return
    a, b = exact_form(value.lhs), exact_form(value.rhs)
    for first, second, constant in _COMPARED[kind]:
        yield Form((), constant).plus(a, first).plus(b, second)


# ---- what is known ---------------------------------------------------------------------------------------------------


class Facts:
    """Forms that are known to be not positive at the current point of a walk, by the values in them."""

    def __init__(self) -> None:
        self._of: dict[Hashable, list[Form]] = {}
        self._learnt: list[Form] = []

    def mark(self) -> int:
        """A mark to which `forget` can return."""
        return len(self._learnt)

    def learn(self, form: Form) -> None:
        """Add the fact that the form is not positive. If a maximum is at most a bound, so are its operands. If a
        minimum is at least a bound, so are its operands."""
        self._learnt.append(form)
        for key, _, _ in form.terms:
            self._of.setdefault(key, []).append(form)
        for key, count, value in form.terms:
            if isinstance(value, Binary) and value.kind == ("max" if count > 0 else "min"):
                for operand in value.operands:
                    self.learn(form.plus(Form(((key, 1, value),)), -count).plus(exact_form(operand), count))

    def forget(self, mark: int) -> None:
        """Return to the facts at that mark."""
        while len(self._learnt) > mark:
            for key, _, _ in self._learnt.pop().terms:
                self._of[key].pop()

    def about(self, key: Hashable, value: Value, above: bool) -> Iterator[Form]:
        """The facts that bound the value from above, or from below, latest fact first."""
        found = [form for form in reversed(self._of.get(key, ())) if (form.factor(key) > 0) == above]
        yield from found[:_MOST_FACTS]
        yield from _limits(value, above)

    def proves(self, form: Form, depth: int = _DEPTH) -> bool:
        """Whether the form is known to be not positive."""
        if form.greatest() <= 0:
            return True
        if not depth:
            return False
        for key, count, value in form.terms:
            for fact in self.about(key, value, count > 0):
                times, rest = divmod(count, fact.factor(key))
                if not rest and self.proves(form.plus(fact, -times), depth - 1):
                    return True
        return False


def _limits(value: Value, above: bool) -> Iterator[Form]:
    """A minimum is not greater than its operands. A maximum is not less than its operands."""
    if isinstance(value, Binary) and value.kind == ("min" if above else "max"):
        itself = Form(((leaf_key(value), 1, value),))
        for operand in (value.lhs, value.rhs):
            form = itself.plus(exact_form(operand), -1)
            yield form if above else Form().plus(form, -1)
