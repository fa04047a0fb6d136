"""Makes the results of a kernel from their scalars: numbers, vectors, matrices, structs, or a tuple of these."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from weft.ir.symbols import is_reverse
from weft.ir.types import Prim, Tensor, flat_size, flatten
from weft.lang.data.derived import ir_mode
from weft.lang.values.matrix import Matrix
from weft.lang.values.struct import Struct as PyStruct
from weft.lang.values.types import StructType, to_ir

__all__ = ["giver", "results_of"]

_Make = Callable[[Sequence[Any]], Any]  # takes the scalars of all results, and reads its own


def results_of(results: Sequence[Any], mode: str) -> tuple[Any, ...]:
    """The annotations of what a kernel returns in a mode of MODES: in forward mode its results and then their duals, in
    reverse mode nothing."""
    found = list(results)
    for one in ir_mode(mode).split(".") if mode else ():
        if is_reverse(one):
            return ()
        found += [one for one in found if any(prim.is_float for prim in flatten(to_ir(one)))]
    return tuple(found)


def giver(results: Sequence[Any]) -> _Make:
    """The function that makes the results of a kernel from the tuple of all scalars, for these annotations."""
    if not results:
        return lambda out: None
    if len(results) > 1 and all(isinstance(to_ir(one), Prim) for one in results):
        return tuple
    makes, at = list[_Make](), 0
    for annotation in results:
        makes.append(_maker(annotation, at))
        at += flat_size(to_ir(annotation))
    return makes[0] if len(makes) == 1 else lambda out: tuple([make(out) for make in makes])


def _maker(annotation: Any, at: int) -> _Make:
    """The function that makes a value of this type from the scalars at position `at` and after it."""
    if isinstance(annotation, StructType):
        return _struct_maker(annotation, at)
    type = to_ir(annotation)
    return _tensor_maker(type, at) if isinstance(type, Tensor) else lambda out: out[at]


def _tensor_maker(type: Tensor, at: int) -> _Make:
    dtype, shape, end = type.elem.np, type.shape, at + type.count
    wrap, array = Matrix.wrap, np.array
    if len(shape) == 1:
        return lambda out: wrap(array(out[at:end], dtype))
    return lambda out: wrap(array(out[at:end], dtype).reshape(shape))


def _struct_maker(annotation: StructType, at: int) -> _Make:
    makes = list[tuple[str, _Make]]()
    for name, member in annotation.members.items():
        makes.append((name, _member_maker(member, at)))
        at += flat_size(to_ir(member))
    return lambda out: PyStruct.of(annotation, {name: make(out) for name, make in makes})


def _member_maker(annotation: Any, at: int) -> _Make:
    """As `_maker`, for members of structs: their numbers are numpy scalars of the exact type."""
    type = to_ir(annotation)
    if not isinstance(type, Prim):
        return _maker(annotation, at)
    number = type.np.type
    return lambda out: number(out[at])
