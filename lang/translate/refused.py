"""Rejects calls that only make sense in Python scope. In a kernel, they would run once, when it is compiled."""

from __future__ import annotations

import builtins
from types import MethodType
from typing import Any

from weft.lang.data import make_field, make_ndarray
from weft.lang.data.field import Field
from weft.lang.data.ndarray import Ndarray
from weft.lang.data.snode_api import FieldsBuilder, Root, SNode
from weft.lang.data.struct_field import StructField
from weft.lang.program import init as program
from weft.lang.values.matrix import Matrix, Vector
from weft.lang.values.struct import Struct
from weft.lang.values.types import MatrixType, StructType

__all__ = ["why_refused"]

_PLACES = "create fields and arrays in Python, before the kernel is called"
_PROGRAM = "call it in Python, outside of kernels"
_PYTHON = "kernels cannot do input or output, run code, or change Python objects; call it in Python"

_REASONS: dict[Any, str] = {
    **dict.fromkeys(
        (
            make_field.field,
            make_ndarray.ndarray,
            Matrix.field,
            Vector.field,
            Struct.field,
            Matrix.ndarray,
            Vector.ndarray,
        ),
        _PLACES,
    ),
    **dict.fromkeys((MatrixType.field, MatrixType.ndarray, StructType.field), _PLACES),
    **dict.fromkeys((program.init, program.reset), _PROGRAM),
    **dict.fromkeys(
        (builtins.open, builtins.input, builtins.exec, builtins.eval, builtins.compile, builtins.setattr), _PYTHON
    ),
}

# Methods of these types run in Python scope. Only methods that do not change the object are allowed.
_OWNERS = (Field, StructField, Ndarray, SNode, Root, FieldsBuilder)
_LOOKS = frozenset(("describe", "get_member_field", "get_scalar_field", "parent", "get_type"))
_INSTEAD = {
    "from_numpy": "assign in a loop, or call it outside of the kernel",
    "to_numpy": "read elements, as in x[i], or call it outside of the kernel",
    "copy_from": "assign in a loop over ti.grouped(...), or call it outside of the kernel",
}


def why_refused(function: Any) -> str:
    """The reason why a kernel cannot call `function`. "" if it can."""
    plain = function.__func__ if isinstance(function, MethodType) else function
    name = getattr(plain, "__name__", "")
    owner = getattr(function, "__self__", None)
    if isinstance(owner, _OWNERS) and name not in _LOOKS:
        what = "a field" if isinstance(owner, (Field, StructField)) else f"a {type(owner).__name__}"
        return f"'{name}' of {what} works only in Python: {_INSTEAD.get(name, 'call it outside of the kernel')}"
    try:
        reason = _REASONS.get(plain, "")
    except TypeError:  # not hashable
        return ""
    return f"'{name}' cannot be called in a kernel: {reason}" if reason else ""
