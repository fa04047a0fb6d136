"""Functions and lists of Taichi's modules about number types, and `loop_unique`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from weft.ir.types import FLOATS, INTEGERS
from weft.lang.values.builtins import pyfunc

if TYPE_CHECKING:
    Template = Any  # to type checkers, a template argument is what it is bound to
else:
    from weft.lang.values.types import Template

__all__ = ["all_types", "integer_types", "loop_unique", "real_types"]

# Python's types mean the defaults of `init`.
real_types: list[Any] = [*FLOATS, float]
integer_types: list[Any] = [*INTEGERS, int, bool]
all_types: list[Any] = real_types + integer_types
real_type_ids, integer_type_ids = [id(t) for t in real_types], [id(t) for t in integer_types]
type_ids: list[int] = real_type_ids + integer_type_ids


@pyfunc
def loop_unique(val: Any, covers: Template = None) -> Any:
    """Return `val`. (It tells Taichi's compiler that the values of all iterations differ. Weft's compiler infers
    that.)"""
    return val
