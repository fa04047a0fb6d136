"""Arrays of any library as operands of array functions: what a kernel is given for one, and new ones of the same kind.

Where kernels run on the CPU, an operand's memory is seen as a numpy array, whatever the library. Where they run on a
GPU it stays what it is; only Weft's own fields and ndarrays are seen through an ndarray, which can have another shape.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from typing import Any

import numpy as np

from weft.ir.errors import TypeMismatch
from weft.ir.types import Prim
from weft.lang.arrays.borrow import view_of
from weft.lang.arrays.export import Lender
from weft.lang.init import cuda, program
from weft.lang.ndarray import Ndarray, ndarray, ndarray_over
from weft.lang.struct_ndarray import StructNdarray
from weft.lang.types import prim_of_numpy

__all__ = ["Library", "flat_or_none", "library_of", "prim_of", "reshaped", "result_library", "span", "view"]

Shape = tuple[int, ...]


@dataclass(frozen=True)
class Library:
    """Who made an array. `empty(shape, prim, like)` makes another one where `like` lies; `given(view)` is what the user
    gets of it."""

    name: str
    empty: Callable[[Shape, Prim, Any], Any]
    given: Callable[[Any], Any] = lambda made: made


def library_of(value: Any) -> Library:
    """The library of an array."""
    kind: Any = type(value)
    return _LIBRARIES[_name_of(kind)]


@cache
def _name_of(kind: Any) -> str:
    for base in kind.__mro__:
        root = base.__module__.partition(".")[0]
        if root in _MODULES:
            return _MODULES[root]
    return "numpy"


def view(value: Any) -> Any:
    """What a kernel is given for an array. TypeMismatch for what is no array of numbers, or lies where no kernel
    reaches."""
    if type(value) is np.ndarray:
        return value
    if isinstance(value, StructNdarray):
        raise TypeMismatch("its elements are structs: give a member of it")
    if isinstance(value, Lender):
        return _lent(value)
    if program().arch != cuda or not hasattr(value, "shape"):
        return _numpys(value)
    return value.detach() if hasattr(value, "detach") else value


def _lent(value: Any) -> Any:
    """A field's or an ndarray's numbers, the axes of its elements being axes like others."""
    try:
        cells = value._lend()
    except BufferError as error:
        raise TypeMismatch(str(error)) from None
    if isinstance(cells, np.ndarray):
        return cells
    if isinstance(value, Ndarray) and not value.element_shape:
        return value
    return ndarray_over(prim_of_numpy(cells.dtype), cells.shape, cells)


def _numpys(value: Any) -> Any:
    seen = view_of(value)
    if seen is None:
        raise TypeMismatch("it is neither an array nor a number")
    return seen


def prim_of(seen: Any) -> Prim:
    """The type of a view's elements. TypeMismatch where the language has none like it."""
    dtype = seen.dtype
    if isinstance(dtype, Prim):
        return dtype
    return prim_of_numpy(dtype if isinstance(dtype, np.dtype) else _numpys_type(dtype))


@cache
def _numpys_type(dtype: Any) -> np.dtype[Any]:
    """The type that torch's is."""
    name = str(dtype).rpartition(".")[2]
    if not hasattr(np, name) or name.startswith("complex"):
        raise TypeMismatch(f"no type of a kernel is {name}: convert it, as in tensor.float()")
    return np.dtype(name)


def flat_or_none(seen: Any) -> Any:
    """A view as one axis, over the same memory; None if its elements do not lie side by side in order."""
    return reshaped(seen, (math.prod(seen.shape),))


def reshaped(seen: Any, shape: Shape) -> Any:
    """A view with another shape, over the same memory; None if its elements do not lie side by side in order."""
    if isinstance(seen, Ndarray):
        cells: Any = seen.array()
        if not cells.flags.c_contiguous:
            return None
        if shape == seen.shape:
            return seen
        strides = _row_strides(shape, cells.dtype.itemsize)
        return ndarray_over(seen.dtype, shape, type(cells)(cells.buffer, cells.dtype, shape, cells.offset, strides))
    if not _is_contiguous(seen):
        return None
    return seen if seen.shape == shape else seen.reshape(shape)


def _row_strides(shape: Shape, size: int) -> Shape:
    return tuple(size * math.prod(shape[axis + 1 :]) for axis in range(len(shape)))


def _is_contiguous(seen: Any) -> bool:
    if hasattr(seen, "flags"):
        return bool(seen.flags.c_contiguous)
    return hasattr(seen, "is_contiguous") and seen.is_contiguous()


def span(seen: Any) -> tuple[int, int] | None:
    """The first byte that a view reaches and the one behind the last; None if that is not known, or there are none."""
    if 0 in seen.shape:
        return None
    array = seen.array() if isinstance(seen, Ndarray) else seen
    if isinstance(array, np.ndarray):
        address, strides = array.__array_interface__["data"][0], array.strides
    elif array is not seen:  # on a GPU
        address, strides = array.address, array.strides
    elif hasattr(array, "data_ptr"):
        address, strides = array.data_ptr(), tuple(step * array.itemsize for step in array.stride())
    elif hasattr(array, "__cuda_array_interface__"):
        facts = array.__cuda_array_interface__
        address, strides = facts["data"][0], facts.get("strides")
    else:
        return None
    size = prim_of(seen).size
    if strides is None:
        return address, address + size * math.prod(seen.shape)
    reach = [(extent - 1) * step for extent, step in zip(seen.shape, strides)]
    return address + sum(r for r in reach if r < 0), address + sum(r for r in reach if r > 0) + size


# ---- new arrays ------------------------------------------------------------------------------------------------------


def _numpy_empty(shape: Shape, prim: Prim, like: Any) -> Any:
    return np.empty(shape, prim.np)


def _torch_empty(shape: Shape, prim: Prim, like: Any) -> Any:
    torch = import_module("torch")
    return torch.empty(shape, dtype=getattr(torch, prim.np.name), device=like.device)


def _cupy_empty(shape: Shape, prim: Prim, like: Any) -> Any:
    with like.device:
        return import_module("cupy").empty(shape, prim.np)


def _weft_empty(shape: Shape, prim: Prim, like: Any) -> Any:
    return np.empty(shape, prim.np) if 0 in shape else ndarray(prim, shape)  # (an ndarray has elements)


def _jax_empty(shape: Shape, prim: Prim, like: Any) -> Any:
    return _weft_empty(shape, prim, like) if program().arch == cuda else np.empty(shape, prim.np)


def _jax_given(made: Any) -> Any:
    if 0 in made.shape:
        return import_module("jax.numpy").asarray(made)
    return import_module("jax.dlpack").from_dlpack(made)


_MODULES = {"numpy": "numpy", "torch": "torch", "cupy": "cupy", "jax": "jax", "jaxlib": "jax", "weft": "weft"}

_LIBRARIES = {
    row.name: row
    for row in (
        Library("numpy", _numpy_empty),
        Library("torch", _torch_empty),
        Library("cupy", _cupy_empty),
        Library("weft", _weft_empty),
        Library("jax", _jax_empty, _jax_given),  # what JAX has cannot be written to: what it will have is
    )
}


def result_library(arrays: Sequence[Any]) -> tuple[Library, Any]:
    """The library that a result comes from, and which operand says so: numpy arrays give way to those of others, of
    which the first counts."""
    chosen: tuple[Library, Any] = _LIBRARIES["numpy"], None
    for array in arrays:
        library = library_of(array)
        if library.name != "numpy":
            return library, array
    return chosen
