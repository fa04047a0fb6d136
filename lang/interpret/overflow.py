"""Report integer overflows in kernels that run as Python with the messages of compiled kernels."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from contextvars import ContextVar
from types import FrameType, TracebackType
from typing import Any

import numpy as np

from weft.ir.scalar import range_of
from weft.lang.interpret.faults import indices, place_of, spelled, text_of
from weft.lang.program.init import program
from weft.lang.values.types import prim_of_numpy
from weft.runtime.errors import warn_overflow

__all__ = ["OVERFLOWS", "silently", "tell_overflow"]

_silent: ContextVar[bool] = ContextVar("_silent", default=False)


def silently(side: Callable[[], Any]) -> Any:
    """Call `side()` without overflow warnings. Its value is only computed to find its type."""
    token = _silent.set(True)
    try:
        return side()
    finally:
        _silent.reset(token)


def tell_overflow(kind: str, result: Any, operands: Sequence[Any], marker: str) -> None:
    """Warn, once per place, where `result` differs from the exact result of operator `kind` in the integers; see
    `ir/transforms/lower_tree_overflow.py`. Rewritten functions have `marker` among the names of their closure."""
    if _silent.get():
        return
    prim = prim_of_numpy(result.dtype)
    if kind == "matmul":
        a, b = (np.asarray(x, np.float64) for x in operands)
        fits = np.abs((a @ b if a.shape[-1] == b.shape[0] else np.outer(a, b)) - result).max() < 2.0 ** (prim.bits - 1)
    else:
        exact, (low, high) = _EXACT[kind], range_of(prim)
        fits = all(low <= exact(*map(int, row), prim.bits) <= high for row in np.broadcast(*operands, result))
    if not fits:
        shown = f"{spelled(kind, operands)} does not fit into {prim}: it became {text_of(result)}"
        _tell(shown, marker)


def _tell(text: str, marker: str) -> None:
    running = _running(marker)
    place = place_of(running, marker)
    if running is None or place is None:
        return
    kernel = running.tb_frame.f_code.co_name
    key = (kernel, place.file, place.line, place.column, place.end_line, place.end_column)
    told = program().told
    if key not in told:
        told.add(key)
        where = indices(running, marker)
        warn_overflow(f"{text}\n{where}" if where else text, place, kernel)


def _running(marker: str) -> TracebackType | None:
    """Return the running rewritten functions, the kernel first, as a traceback."""
    found: TracebackType | None = None
    frame: FrameType | None = sys._getframe()
    while frame is not None:
        if marker in frame.f_code.co_freevars:
            found = TracebackType(found, frame, frame.f_lasti, frame.f_lineno)
        frame = frame.f_back
    return found


# The exact results. Where a result would be too long to compute, a number beyond any type stands for it. The last
# operands are the result and the number of bits of its type.
_BEYOND = 1 << 64
_EXACT: dict[str, Callable[..., int]] = {
    "add": lambda a, b, *_: a + b,
    "sub": lambda a, b, *_: a - b,
    "mul": lambda a, b, *_: a * b,
    "shl": lambda a, b, _, bits: a << b if 0 <= b < bits else _BEYOND if a else 0,
    "pow": lambda a, b, result, _: result if b < 2 or abs(a) < 2 else a**b if b <= 64 else _BEYOND,
    "floordiv": lambda a, b, result, _: -a if b == -1 else result,
    "raw_div": lambda a, b, result, _: -a if b == -1 else result,
    "neg": lambda a, *_: -a,
    "abs": lambda a, *_: abs(a),
}
OVERFLOWS = frozenset((*_EXACT, "matmul"))
