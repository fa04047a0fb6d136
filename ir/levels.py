"""Which ops each level of the IR may hold; what else holds there is said in `verify.py`."""

from __future__ import annotations

__all__ = ["LEVELS"]

_VALUES = {"const", "unary", "binary", "select", "cast", "bit_cast", "load", "store", "atomic", "alloca"}
_SYNCHRONIZATION = {"atomic_load", "atomic_store", "exchange", "compare_exchange", "fence"}
_CONTROL = _SYNCHRONIZATION | {"if", "for", "while", "break", "continue", "print", "assert", "warn", "invoke", "simt"}
_MADE = {"make_tensor", "splat", "extract", "matmul", "transpose", "reduce", "make_struct", "member"}
_WHOLE = _MADE | {"arg", "scalar_arg", "random"}
_PLACES = {"shared", "field_ptr", "array_ptr", "array_shape", "element_ptr", "member_ptr", "temp_ptr"}
_ADDRESSES = {"tree_base", "array_base", "shared_base", "array_extent", "array_stride", "address", "temp_ptr"}
_LOWERED = _ADDRESSES | {"arg", "scalar_arg", "random", "returned"}

_TARGETLESS = frozenset(_VALUES | _CONTROL | _LOWERED | {"kernel", "task", "yield", "store_result", "exit"})
_MAPPED = frozenset({"aligned", "atomic_row", "clamp", "stack_left"})  # what only passes of TO_MAPPED and TO_LANES make

LEVELS: dict[str, frozenset[str]] = {
    "chi": frozenset(
        _VALUES
        | _CONTROL
        | _WHOLE
        | _PLACES - {"temp_ptr"}
        | {"kernel", "parallel_for", "struct_for", "return", "shared_local"}
    ),
    "tasks": frozenset(
        _VALUES | _CONTROL | _WHOLE | _PLACES | {"kernel", "task", "yield", "return", "store_result", "exit"}
    ),
    "lowered": _TARGETLESS,
    "mapped": _TARGETLESS | _MAPPED,
}
