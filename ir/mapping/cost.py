"""Estimates the cost of running ops once, in units of about a quarter of a nanosecond on a CPU core.

The estimate determines the length of a chunk of a parallel loop, and whether several threads that contend for atomics
are faster than one thread without locks. Only its order of magnitude matters.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from weft.ir.core import Block, Op
from weft.ir.ops import (
    Atomic,
    AtomicLoad,
    AtomicStore,
    Binary,
    CompareExchange,
    Const,
    Exchange,
    Fence,
    For,
    Invoke,
    Load,
    Random,
    RandomAt,
    Store,
    Task,
    Unary,
    While,
)
from weft.ir.tasks import is_masked, usual_ops
from weft.ir.types import Prim

__all__ = ["PRICES", "SLOW", "TRANSCENDENTAL", "Cost", "cost_of", "length", "price", "trips"]

# The guessed number of iterations of a loop of unknown length.
_UNKNOWN_TRIPS = 16
SLOW = frozenset(("div", "floordiv", "mod", "raw_div", "raw_mod", "pow", "atan2", "sqrt", "rsqrt"))
TRANSCENDENTAL = frozenset(
    ("sin", "cos", "tan", "asin", "acos", "atan", "sinh", "cosh", "tanh", "exp", "exp2", "log", "log2")
)


@dataclass
class Cost:
    """`work` is the cost without atomics. `atomics` is their cost with locks, and `plain` their cost without."""

    work: float = 0.0
    atomics: float = 0.0
    plain: float = 0.0

    @property
    def contest(self) -> int:
        """The largest number of locking threads that are no faster than one thread without locks. It is always less
        than `MANY_THREADS`."""
        return max(1, int((self.work + self.atomics) / max(self.work + self.plain, 1.0)))


def cost_of(block: Block) -> Cost:
    """The cost of one run of `block`."""
    total = Cost()
    _add(block, 1.0, total)
    return total


def _add(block: Block, times: float, total: Cost) -> None:
    for op in block:
        if isinstance(op, Atomic):
            total.atomics += times * price(op)
            total.plain += times * 12.0
        elif isinstance(op, (For, While)):
            _add(op.body, times * trips(op), total)
        else:
            total.work += times * price(op)
            for inner in op.regions[:1] if is_masked(op) else op.regions:
                _add(inner, times, total)


def price(op: Op) -> float:
    """The cost of an op that is not a loop, without its nested ops."""
    found = PRICES.get(type(op), CHEAP)
    return found(op) if callable(found) else found


def _operator(op: Binary | Unary) -> float:
    return 20.0 if op.kind in TRANSCENDENTAL else 8.0 if op.kind in SLOW else 1.0


def _atomic(op: Atomic) -> float:
    """The cost if other threads may update the same memory."""
    assert isinstance(op.value.type, Prim)
    return 100.0 if op.value.type.is_float or op.kind == "mul" else 50.0


CHEAP = 0.5
PRICES: dict[type[Op], float | Callable[[Any], float]] = {
    Load: 2.0,
    Store: 2.0,
    Atomic: _atomic,
    AtomicLoad: 2.0,
    AtomicStore: 2.0,
    Exchange: 50.0,
    CompareExchange: 50.0,
    Fence: 50.0,
    Invoke: 60.0,
    Random: 60.0,
    RandomAt: 60.0,
    Binary: _operator,
    Unary: _operator,
}


def trips(op: For | While) -> float:
    """The number of iterations of the loop, or a guess."""
    if isinstance(op, For) and all(isinstance(v, Const) for v in (op.begin, op.end, op.step)):
        begin, end, step = (v.value for v in (op.begin, op.end, op.step) if isinstance(v, Const))
        return max(0.0, (end - begin) / step) if step else 0.0
    return _UNKNOWN_TRIPS


def length(task: Task) -> int:
    """The number of ops that the body usually runs, with those of nested blocks."""
    return len(usual_ops(task.body))
