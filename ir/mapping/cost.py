"""A rough price of running ops once, in units of about a quarter of a nanosecond on a CPU core.

It decides how long a chunk of a parallel loop should be, and whether threads that fight over atomics beat one that does
not. Only the order of magnitude matters.
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
    Store,
    Task,
    Unary,
    While,
)
from weft.ir.tasks import is_masked, usual_ops
from weft.ir.types import Prim

__all__ = ["PRICES", "SLOW", "TRANSCENDENTAL", "Cost", "cost_of", "length", "price", "trips"]

# How often we guess a loop of unknown length runs.
_UNKNOWN_TRIPS = 16
SLOW = frozenset(("div", "floordiv", "mod", "raw_div", "raw_mod", "pow", "atan2", "sqrt", "rsqrt"))
TRANSCENDENTAL = frozenset(
    ("sin", "cos", "tan", "asin", "acos", "atan", "sinh", "cosh", "tanh", "exp", "exp2", "log", "log2")
)


@dataclass
class Cost:
    """`work` without atomics; `atomics`: what they cost when they lock; `plain`: what they cost when they do not."""

    work: float = 0.0
    atomics: float = 0.0
    plain: float = 0.0

    @property
    def contest(self) -> int:
        """Up to so many threads that lock are no faster than one that need not. (Never as many as `MANY_THREADS`.)"""
        return max(1, int((self.work + self.atomics) / max(self.work + self.plain, 1.0)))


def cost_of(block: Block) -> Cost:
    """The price of one run of `block`."""
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
    """What an op costs that is no loop, without what is inside of it."""
    found = PRICES.get(type(op), CHEAP)
    return found(op) if callable(found) else found


def _operator(op: Binary | Unary) -> float:
    return 20.0 if op.kind in TRANSCENDENTAL else 8.0 if op.kind in SLOW else 1.0


def _atomic(op: Atomic) -> float:
    """Where others may update the same place."""
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
    Binary: _operator,
    Unary: _operator,
}


def trips(op: For | While) -> float:
    """How often the loop runs, or a guess."""
    if isinstance(op, For) and all(isinstance(v, Const) for v in (op.begin, op.end, op.step)):
        begin, end, step = (v.value for v in (op.begin, op.end, op.step) if isinstance(v, Const))
        return max(0.0, (end - begin) / step) if step else 0.0
    return _UNKNOWN_TRIPS


def length(task: Task) -> int:
    """How many ops the body usually runs, those of inner blocks too."""
    return len(usual_ops(task.body))
