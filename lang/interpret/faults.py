"""Report faults of kernels that run as Python as compiled kernels do: with the place, a caret, the index and the
shape."""

from __future__ import annotations

import linecache
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from types import CodeType, TracebackType
from typing import Any

import numpy as np

from weft.ir.errors import Span
from weft.ir.transforms.check_arithmetic import DIVIDES, FINITE, SPELLING
from weft.lang.functions.source import LIBRARY
from weft.lang.interpret.places import FieldCells, flat_index
from weft.lang.program.init import program
from weft.lang.values.matrix import Matrix
from weft.runtime.errors import ArithmeticFault, IndexFault, KernelFault

__all__ = ["Loop", "indices", "out_of_bounds", "place_of", "placed", "sound", "spelled", "text_of"]


@dataclass(frozen=True)
class Loop:
    """A loop of a rewritten function: the lines of its body and the names of its indices."""

    first: int
    last: int
    names: tuple[str, ...]


def out_of_bounds(name: str, index: Any, over: Any) -> IndexFault | None:
    """Return the fault of `name[index]` if `over` has no such element, or None if the index is not at fault. `over` is
    a matrix, or the cells of a field or array."""
    shape, offset = tuple(over.shape), (0,) * len(over.shape)
    if isinstance(over, FieldCells):
        offset = tuple(over.field.offset)
        name = name or getattr(over.field, "name", "")
    if isinstance(index, tuple) and len(index) == len(shape):  # check the first of the elements that a slice selects
        index = tuple(i.indices(n)[0] if isinstance(i, slice) else i for i, n in zip(index, shape))
    try:
        indices = flat_index(index)
    except (TypeError, ValueError):  # not indices
        return None
    if len(indices) != len(shape) or all(a <= i < a + n for i, a, n in zip(indices, offset, shape)):
        return None
    start = f", from index {offset}" if any(offset) else ""
    return IndexFault(f"{name}[{', '.join(map(str, indices))}] is out of bounds: its shape is {shape}{start}")


def sound(kind: str, result: Any, *operands: Any) -> Any:
    """Return `result` of operator `kind` if it passes the enabled checks; see `ir/transforms/check_arithmetic.py`."""
    config = program().config
    if config.debug and kind in DIVIDES and result.dtype.kind != "f" and not np.all(operands[1]):
        raise ArithmeticFault(f"{spelled(kind, operands)} divides by zero")
    if config.check_nan and result.dtype.kind == "f" and kind not in FINITE and not np.isfinite(result).all():
        floats = [x for x in operands if x.dtype.kind == "f"]
        alike = all(x.shape == result.shape for x in floats)
        was_nan, was_infinite = (
            np.logical_or.reduce([test(x) if alike else test(x).any() for x in floats] or [False])
            for test in (np.isnan, np.isinf)
        )
        if np.any(np.isnan(result) & ~was_nan | np.isinf(result) & ~was_infinite & ~was_nan):
            raise ArithmeticFault(f"{spelled(kind, operands)} is {text_of(result)}")
    return result


def spelled(kind: str, operands: Sequence[Any]) -> str:
    """Return the text of the operation on those operands."""
    text = "-({})" if kind == "neg" else SPELLING.get(kind) or f"{kind}({', '.join('{}' for _ in operands)})"
    return text.format(*map(text_of, operands))


def text_of(value: Any) -> str:
    """Return a number or an array as a message shows it."""
    return "[" + ", ".join(map(text_of, value)) + "]" if np.ndim(value) else str(value)


def placed(fault: KernelFault, marker: str) -> KernelFault:
    """Add the place in the user's program to the fault. The place is that of the innermost functions that have `marker`
    among the names of their closure, callers first."""
    span = place_of(fault.__traceback__, marker)
    where = indices(fault.__traceback__, marker)
    text = f"\n{span.render()}\n{fault}" if span is not None else str(fault)
    text += f"\n{where}" if where else ""
    return type(fault)(text)


def place_of(entry: TracebackType | None, marker: str) -> Span | None:
    """Return the place of the innermost of those functions that the user wrote, or None if there is none."""
    span: Span | None = None
    while entry is not None:
        code = entry.tb_frame.f_code
        if marker in code.co_freevars and not code.co_filename.startswith(LIBRARY):
            span = _span(entry, span)
        entry = entry.tb_next
    return span


def indices(entry: TracebackType | None, marker: str) -> str:
    """Return the indices of all running loops, outermost first, such as "where i = 3, j = 0"; "" if there are none."""
    found: list[str] = []
    while entry is not None:
        variables, code = entry.tb_frame.f_locals, entry.tb_frame.f_code
        rewritten = marker in code.co_freevars and code.co_name != "<lambda>"
        loops = variables[marker].loops if rewritten and not code.co_filename.startswith(LIBRARY) else ()
        for loop in loops:
            if loop.first <= entry.tb_lineno <= loop.last:
                found += [text for name in loop.names if name in variables for text in _shown(name, variables[name])]
        entry = entry.tb_next
    return f"where {', '.join(found)}" if found else ""


def _shown(name: str, value: Any) -> Iterator[str]:
    """Return an index, or an index vector as the compiled kernel knows it."""
    if isinstance(value, Matrix):
        yield from (f"{name}{axis} = {index}" for axis, index in enumerate(value.values.tolist()))
    else:
        yield f"{name} = {value}"


def _span(entry: TracebackType, caller: Span | None) -> Span:
    code: CodeType = entry.tb_frame.f_code
    line, end_line, column, end_column = _position(code, entry)
    return Span(
        code.co_filename,
        line or entry.tb_lineno,
        column or 0,
        end_line or entry.tb_lineno,
        end_column or 0,
        code.co_name,
        caller,
    )


def _position(code: CodeType, entry: TracebackType) -> tuple[int | None, int | None, int | None, int | None]:
    """Return the first line, last line, column and end column of an entry; the whole line before Python 3.11."""
    if sys.version_info >= (3, 11):
        return next(islice(code.co_positions(), entry.tb_lasti // 2, None))
    text = linecache.getline(code.co_filename, entry.tb_lineno).rstrip().encode()
    return entry.tb_lineno, entry.tb_lineno, len(text) - len(text.lstrip()), len(text)
