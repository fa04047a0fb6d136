"""Faults of kernels that run as Python, in the words of compiled ones: place, caret, index and shape."""

from __future__ import annotations

from itertools import islice
from types import CodeType, TracebackType
from typing import Any

from weft.ir.errors import Span
from weft.lang.interpret_places import FieldCells, flat_index
from weft.runtime.errors import IndexFault, KernelFault

__all__ = ["out_of_bounds", "placed"]


def out_of_bounds(name: str, index: Any, over: Any) -> IndexFault | None:
    """The fault of `name[index]` where `over` (a matrix, or the cells of a field or array) has no such element; None
    if it is not the index that is wrong."""
    shape, offset = tuple(over.shape), (0,) * len(over.shape)
    if isinstance(over, FieldCells):
        offset = tuple(over.field.offset)
        name = name or getattr(over.field, "name", "")
    try:
        indices = flat_index(index)
    except (TypeError, ValueError):  # a slice
        return None
    if len(indices) != len(shape) or all(a <= i < a + n for i, a, n in zip(indices, offset, shape)):
        return None
    start = f", from index {offset}" if any(offset) else ""
    return IndexFault(f"{name}[{', '.join(map(str, indices))}] is out of bounds: its shape is {shape}{start}")


def placed(fault: KernelFault, marker: str) -> KernelFault:
    """The fault with the place in the user's program: that of the innermost functions with `marker` among their
    closure's names, callers first."""
    span: Span | None = None
    entry = fault.__traceback__
    while entry is not None:
        if marker in entry.tb_frame.f_code.co_freevars:
            span = _span(entry, span)
        entry = entry.tb_next
    text = f"\n{span.render()}\n{fault}" if span is not None else str(fault)
    return type(fault)(text).with_traceback(fault.__traceback__)


def _span(entry: TracebackType, caller: Span | None) -> Span:
    code: CodeType = entry.tb_frame.f_code
    line, end_line, column, end_column = next(islice(code.co_positions(), entry.tb_lasti // 2, None))
    return Span(
        code.co_filename,
        line or entry.tb_lineno,
        column or 0,
        end_line or entry.tb_lineno,
        end_column or 0,
        code.co_name,
        caller,
    )
