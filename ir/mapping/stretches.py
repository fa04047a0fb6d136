"""Chooses how many iterations of a loop run between two tests whether the launch must end (see
`codegen/llvm/interrupts.py`).

    while { A }                        a test in every 1000th iteration or so
    for %i in %b..%e { A }             a test before each stretch of iterations that costs about a millisecond

A loop that ends sooner has no test: the loop around it tests.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from weft.ir.core import Block, Op, Value
from weft.ir.intervals import interval, type_interval
from weft.ir.mapping.cost import price
from weft.ir.ops import Alloca, Atomic, Const, For, Invoke, Kernel, While

__all__ = ["LIKELY", "MOST_ITERATIONS", "NEVER", "WHOLE", "Stretches", "even_part", "may_overflow", "note_costs"]

# Units of `cost.py` between two tests: a millisecond or less.
_STRETCH = 4e6

# The same for a row of a box whose length is known, because LLVM optimizes it better in one piece.
_ROW = 1e8

# The most iterations between two tests, and the same if nested loops test as well, each after that time.
MOST_ITERATIONS, _ITERATIONS_AROUND = 1024, 16

# For a loop whose length each outer iteration computes: its assumed length, its largest likely length, and the price of
# its iterations up to which it is left unchanged.
_SHORT, LIKELY, _CHEAP = 4096, 1 << 14, 100.0

NEVER = 0

# The length of a stretch of a task is a multiple of this, so that it consists of whole vectors.
WHOLE = 256

_DEPTH = 8  # the depth to which expressions are examined


class Stretches:
    """The number of iterations of a loop between two tests: NEVER, a stretch of the loop, or less than 0 if the loop
    counts them down. It follows from the highest possible cost of the loop. `functions` are those whose cost is found
    here. Of others, calls say it."""

    def __init__(self, functions: Mapping[str, Kernel]) -> None:
        self._functions = functions
        self._known: dict[str, float] = {}

    def of(self, op: For | While) -> int:
        """The number for that loop."""
        each = max(self._most(op.body), 1.0)
        if isinstance(op, While):
            return -_iterations_of_price(each)
        return self._of_price(each, iterations_of(op))

    def is_likely_short(self, op: For) -> bool:
        """Whether the loop rarely runs until the first test."""
        return _is_short(op, max(self._most(op.body), 1.0))

    def of_box(self, body: Block, iterations: float, row: bool) -> int:
        """The number for a parallel loop with at most this many iterations. `row`: a loop around it tests in each
        iteration."""
        each = max(self._most(body), 1.0)
        return NEVER if row and each * iterations <= _ROW else self._of_price(each, iterations)

    def _of_price(self, each: float, iterations: float) -> int:
        if math.isinf(each):  # (a loop that ends sooner would count, and never test)
            return NEVER if iterations <= _ITERATIONS_AROUND else -_ITERATIONS_AROUND
        return NEVER if each * iterations <= _STRETCH else max(1, int(_STRETCH / each))

    def most_of(self, op: Op) -> float:
        """The highest cost of an op."""
        return self._most_of(op)

    def _most(self, block: Block) -> float:
        return sum(self._most_of(op) for op in block)

    def _most_of(self, op: Op) -> float:
        if isinstance(op, While):
            return math.inf
        if isinstance(op, For):
            each = max(self._most(op.body), 1.0)
            if _is_short(op, each):
                return each * _SHORT
            whole = each * iterations_of(op)
            return whole if whole <= _STRETCH else math.inf
        if isinstance(op, Invoke):
            return self._most_of_call(op.function) if op.function in self._functions else op.most or math.inf
        inner = sum(map(self._most, op.regions)) if op.region_names else 0.0
        return inner + (100.0 if isinstance(op, Atomic) else price(op))

    def _most_of_call(self, name: str) -> float:
        if name not in self._known:
            self._known[name] = math.inf  # for a recursive function
            self._known[name] = sum(self._most_of(op) for op in self._functions[name].body)
        return self._known[name]


def note_costs(kernel: Kernel, functions: Sequence[Kernel]) -> None:
    """Store the highest cost of the functions in each `invoke` of the kernel and of the functions."""
    known = Stretches({function.symbol: function for function in functions})
    for root in (kernel, *functions):
        for op in root.all_of(Invoke):
            most = known.most_of(op)
            op.most = 0.0 if math.isinf(most) else most


def _iterations_of_price(each: float) -> int:
    return _ITERATIONS_AROUND if math.isinf(each) else max(1, min(MOST_ITERATIONS, int(_STRETCH / each)))


def _is_short(op: For, each: float) -> bool:
    """Whether each enclosing iteration computes the length of the loop, and its iterations are cheap. It is also true
    if the step may leave the index's type, because LLVM does not vectorize stretches of such a loop."""
    return each <= _CHEAP and (any(map(_found_out, (op.begin, op.end))) or may_overflow(op))


def may_overflow(op: For) -> bool:
    """Whether an index below `end` may be less than a step from the end of its type."""
    if not isinstance(op.step, Const):
        return True
    (low, high), (least, most), step = interval(op.end), type_interval(op.end.type), int(op.step.value)
    return high - 1 + step > most if step > 0 else low + 1 + step < least


def _found_out(value: Value, depth: int = _DEPTH) -> bool:
    """Whether the value is computed from the index of an enclosing loop, or may be."""
    if not isinstance(value, Op) or isinstance(value, Alloca):
        return True
    if value.writes and value.effect != "elsewhere":
        return True
    return depth > 0 and any(_found_out(operand, depth - 1) for operand in value.operands)


def iterations_of(op: For) -> float:
    """The largest number of iterations of the loop."""
    if not isinstance(op.step, Const) or not op.step.value:
        return math.inf
    (low, high), (least, most), step = interval(op.begin), interval(op.end), int(op.step.value)
    distance = most - low if step > 0 else high - least
    return max(0.0, distance / abs(step))


def even_part(distance: float, most: int, unit: int) -> int:
    """The largest part of the distance that divides it evenly and is a multiple of `unit` not much shorter than `most`,
    or 0 if there is none."""
    if math.isinf(distance):
        return 0
    least = max(2, -(-int(distance) // most))
    parts = (parts for parts in range(least, least + 4096) if distance % (parts * unit) == 0)
    return int(distance) // next(parts, int(distance) + 1)
