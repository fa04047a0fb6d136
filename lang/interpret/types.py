"""Types of values in a kernel that runs as Python (see `values.py`): how numbers get their types, and how variables and
parameters keep theirs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from weft.ir.errors import TypeMismatch
from weft.ir.scalar import cast_value
from weft.ir.types import Prim, f64, i64
from weft.lang.functions.annotations import is_template
from weft.lang.interpret.places import as_array
from weft.lang.program.init import program
from weft.lang.values.argpack import ArgPackType, Members
from weft.lang.values.matrix import Matrix
from weft.lang.values.numbers import array_of
from weft.lang.values.struct import Struct, convert
from weft.lang.values.types import MatrixType, NdarrayType, StructType, prim_of_numpy, primitive

__all__ = ["assigned", "captured", "fit", "is_known", "is_value", "keeping", "own", "stored", "strong"]


def strong(x: Any) -> Any:
    """Return `x` as a value of a kernel. Python numbers get the default types. Raises TypeMismatch if an integer does
    not fit."""
    if isinstance(x, np.generic):  # must precede `float`: a np.float64 is a float
        return x
    if isinstance(x, bool):
        return np.bool_(x)
    if isinstance(x, int):
        prim = program().config.default_ip
        value = cast_value(x, prim)
        if int(value) != x:
            raise TypeMismatch(f"the integer {x} does not fit default_ip, {prim}: write ti.i64({x}), ti.u32({x}) ...")
        return value
    if isinstance(x, float):
        return cast_value(x, program().config.default_fp)
    if isinstance(x, np.ndarray) and x.ndim == 0:
        return x[()]
    if isinstance(x, list):
        return [strong(item) for item in x]
    return tuple(strong(item) for item in x) if type(x) is tuple else x


def is_value(x: Any) -> bool:
    """Return whether operators apply the rules of kernels to `x`."""
    return isinstance(x, (bool, int, float, np.generic, Matrix))


def is_known(x: Any) -> bool:
    """Return whether `x` is a number known before the kernel runs. Such numbers follow Python's rules among
    themselves."""
    return isinstance(x, (bool, int, float)) and not isinstance(x, np.generic)


def captured(x: Any) -> Any:
    """Convert an outside value for a kernel: numpy numbers become Python numbers; matrices and structs that Python made
    with 64-bit numbers get the default types."""
    if isinstance(x, np.generic):
        return x.item()
    if isinstance(x, Matrix) and x.dtype in (f64, i64):
        return Matrix.wrap(cast_value(x.values, primitive(float if x.dtype.is_float else int)))
    return x.as_constant() if isinstance(x, Struct) else x


def own(x: Any) -> Any:
    """Return `x` for a new variable. Matrices and structs are copied, also in lists. Python numbers get a type."""
    if isinstance(x, list) or type(x) is tuple:
        return type(x)([item if is_known(item) else own(item) for item in x])
    return x.copy() if isinstance(x, (Matrix, Struct)) else strong(x)


def keeping(kind: type) -> Callable[..., Any]:
    """Make a class whose objects keep the values that they are given, not the variables."""

    def value(x: Any) -> Any:
        return x.copy() if isinstance(x, (Matrix, Struct)) else x

    return lambda *args, **keywords: kind(*map(value, args), **{name: value(x) for name, x in keywords.items()})


def fit(x: Any, annotation: Any) -> Any:
    """Convert `x` to the type `annotation` of a parameter: cast and copied; templates and arrays are passed
    unchanged."""
    if is_template(annotation):
        return x
    if isinstance(annotation, NdarrayType):
        return as_array(x, annotation)
    if isinstance(annotation, MatrixType):
        values = array_of(x)
        if values.shape not in (annotation.shape, ()):
            raise TypeMismatch(f"expected {annotation!r}, got shape {values.shape}")
        return Matrix.wrap(np.broadcast_to(cast_value(values, annotation.dtype), annotation.shape).copy())
    if isinstance(annotation, StructType):
        return convert(x, annotation)
    if isinstance(annotation, ArgPackType):
        pack = Members()
        for name, inner in annotation.members.items():
            pack.set([name], fit(x[name], inner))
        return pack
    if isinstance(annotation, Prim) or annotation in (int, float, bool):
        return cast_value(x, primitive(annotation))
    return own(x)


def assigned(old: Any, value: Any) -> Any:
    """Return `value` in the type of `old`, for a variable that held `old`."""
    if isinstance(old, np.generic):
        if isinstance(value, Matrix):
            raise TypeMismatch(f"a variable of type {prim_of_numpy(old.dtype)} cannot hold a matrix")
        return cast_value(strong(value), prim_of_numpy(old.dtype))
    if isinstance(old, Matrix):
        values = array_of(value)
        if values.shape not in (old.shape, ()):
            raise TypeMismatch(f"a variable of shape {old.shape} cannot hold a value of shape {values.shape}")
        return Matrix.wrap(np.broadcast_to(cast_value(values, old.dtype), old.shape).copy())
    return fit(value, old.struct_type) if isinstance(old, Struct) else own(value)


def stored(old: Any, value: Any) -> Any:
    """Store `value` in the variable that holds `old`. A matrix or struct is changed in place, because it may have
    aliases."""
    made = assigned(old, value)
    if isinstance(old, Matrix):
        old.values[...] = made.values
        return old
    if isinstance(old, Struct):
        for name in old.keys:
            setattr(old, name, made[name])
        return old
    return made
