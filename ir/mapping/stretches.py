"""How many rounds of a loop lie between two looks whether the launch shall end (see `codegen/llvm/interrupts.py`).

    while { A }                        a look in every 1000th round or so
    for %i in %b..%e { A }             a look before each stretch of rounds that costs about a millisecond

A loop that is over sooner is left alone: the loop around it looks.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

from weft.ir.core import Block, Op, Value
from weft.ir.intervals import interval, type_interval
from weft.ir.mapping.cost import price
from weft.ir.ops import Alloca, Atomic, Const, For, Invoke, Kernel, While

__all__ = ["LIKELY", "MOST_ROUNDS", "NEVER", "Stretches", "even_part", "may_overflow"]

# Units of `cost.py` between two looks: a millisecond or less.
_STRETCH = 4e6

# The same for a row of a box whose length is known: LLVM makes more of it in one piece.
_ROW = 1e8

# Rounds between two looks at most, and where there are loops inside that look as well, each when it has lasted so long.
MOST_ROUNDS, _ROUNDS_AROUND = 1024, 16

# What is taken for the length of a loop that each iteration finds out for itself, how long it is likely to be at most,
# and the price of its rounds up to which it is left alone.
_SHORT, LIKELY, _CHEAP = 4096, 1 << 14, 100.0

NEVER = 0
_DEPTH = 8  # how far up an expression to look


class Stretches:
    """Between two looks lie so many rounds of a loop: NEVER, a stretch of it, or less than 0: it counts them down. By
    what the loop can cost at most. The functions are those that kernels call."""

    def __init__(self, functions: Mapping[str, Kernel]) -> None:
        self._functions = functions
        self._known: dict[str, float] = {}

    def of(self, op: For | While) -> int:
        """Of that loop."""
        each = max(self._most(op.body), 1.0)
        if isinstance(op, While):
            return -_rounds_of_price(each)
        return self._of_price(each, rounds_of(op))

    def is_likely_short(self, op: For) -> bool:
        """Whether that loop seldom lasts until the first look."""
        return _is_short(op, max(self._most(op.body), 1.0))

    def of_rounds(self, body: Block, rounds: float, row: bool) -> int:
        """Of a parallel loop with so many rounds at most; `row`: a loop around it looks in each round."""
        each = max(self._most(body), 1.0)
        return NEVER if row and each * rounds <= _ROW else self._of_price(each, rounds)

    def _of_price(self, each: float, rounds: float) -> int:
        if math.isinf(each):
            return -_ROUNDS_AROUND
        return NEVER if each * rounds <= _STRETCH else max(1, int(_STRETCH / each))

    def _most(self, block: Block) -> float:
        return sum(self._most_of(op) for op in block)

    def _most_of(self, op: Op) -> float:
        if isinstance(op, While):
            return math.inf
        if isinstance(op, For):
            each = max(self._most(op.body), 1.0)
            if _is_short(op, each):
                return each * _SHORT
            whole = each * rounds_of(op)
            return whole if whole <= _STRETCH else math.inf
        if isinstance(op, Invoke):
            return self._most_of_call(op.function)
        inner = sum(map(self._most, op.regions))
        return inner + (100.0 if isinstance(op, Atomic) else price(op))

    def _most_of_call(self, name: str) -> float:
        if name not in self._known:
            self._known[name] = math.inf  # of a function that calls itself
            self._known[name] = sum(self._most_of(op) for op in self._functions[name].body)
        return self._known[name]


def _rounds_of_price(each: float) -> int:
    return _ROUNDS_AROUND if math.isinf(each) else max(1, min(MOST_ROUNDS, int(_STRETCH / each)))


def _is_short(op: For, each: float) -> bool:
    """Whether each iteration around finds out how long the loop is, and its rounds are cheap. (Or the step may lead out
    of the index's type: of stretches of such a loop LLVM makes no vectors.)"""
    return each <= _CHEAP and (any(map(_found_out, (op.begin, op.end))) or may_overflow(op))


def may_overflow(op: For) -> bool:
    """Whether an index that is short of `end` may be less than a step from the end of its type."""
    if not isinstance(op.step, Const):
        return True
    (low, high), (least, most), step = interval(op.end), type_interval(op.end.type), int(op.step.value)
    return high - 1 + step > most if step > 0 else low + 1 + step < least


def _found_out(value: Value, depth: int = _DEPTH) -> bool:
    """Whether the value comes from the index of a loop around, or may do so."""
    if not isinstance(value, Op) or isinstance(value, Alloca):
        return True
    if value.writes and value.effect != "elsewhere":
        return True
    return depth > 0 and any(_found_out(operand, depth - 1) for operand in value.operands)


def rounds_of(op: For) -> float:
    """How many rounds the loop has at most."""
    if not isinstance(op.step, Const) or not op.step.value:
        return math.inf
    (low, high), (least, most), step = interval(op.begin), interval(op.end), int(op.step.value)
    distance = most - low if step > 0 else high - least
    return max(0.0, distance / abs(step))


def even_part(distance: float, most: int, unit: int) -> int:
    """The largest part of the distance, a multiple of `unit` not much shorter than `most`, that goes into it without a
    rest; 0 if there is none."""
    if math.isinf(distance):
        return 0
    least = max(2, -(-int(distance) // most))
    parts = (parts for parts in range(least, least + 4096) if distance % parts == 0 and distance / parts % unit == 0)
    return int(distance) // next(parts, int(distance) + 1)
