"""Arrays of any library as operands of array functions: what a kernel is given for one, and new ones of the same kind.

Where kernels run on the CPU, an operand's memory is seen as a numpy array, whatever the library. Where they run on a
GPU it stays what it is; only Weft's own fields and ndarrays are seen through an ndarray, which can have another shape.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache, partial
from importlib import import_module
from typing import Any

import numpy as np

from weft.ir.errors import TypeMismatch
from weft.ir.types import Prim
from weft.lang.data.borrow import view_of
from weft.lang.data.export import Lender
from weft.lang.data.make_ndarray import ndarray
from weft.lang.data.ndarray import Ndarray, ndarray_over
from weft.lang.data.struct_ndarray import StructNdarray
from weft.lang.program.init import program
from weft.lang.values.types import prim_of_numpy

__all__ = [
    "Library",
    "Maker",
    "Shape",
    "arguments_as",
    "is_contiguous",
    "lent",
    "library_of",
    "may_overlap",
    "prim_of",
    "reshaped",
    "result_library",
    "span",
    "view",
]

Shape = tuple[int, ...]
Maker = Callable[[], Any]


@dataclass(frozen=True)
class Library:
    """Who made an array. `maker(shape, prim, like)` is what makes others, packed, where `like` lies (and does not keep
    it); `given(made)` is what the user gets of one."""

    name: str
    maker: Callable[[Shape, Prim, Any], Maker]
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
        return lent(value)
    if not program().backend.own_memory or not hasattr(value, "shape"):
        return _numpys(value)
    return value.detach() if hasattr(value, "detach") else value


def lent(value: Any) -> Any:
    """A field's or an ndarray's numbers, the axes of its elements being axes like others. TypeMismatch where they are
    no strided array."""
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


def reshaped(seen: Any, shape: Shape) -> Any:
    """A contiguous view with another shape, over the same memory."""
    if seen.shape == shape:
        return seen
    if not isinstance(seen, Ndarray):
        return seen.reshape(shape)
    cells: Any = seen.array()
    strides = _row_strides(shape, cells.dtype.itemsize)
    return ndarray_over(seen.dtype, shape, type(cells)(cells.buffer, cells.dtype, shape, cells.offset, strides))


def arguments_as(views: Sequence[Any], numbers: Sequence[int], shape: Shape) -> list[Any]:
    """The arguments of a kernel: the views, all but the numbers at those places having another shape."""
    return [one if k in numbers else reshaped(one, shape) for k, one in enumerate(views)]


def _row_strides(shape: Shape, size: int) -> Shape:
    return tuple(size * math.prod(shape[axis + 1 :]) for axis in range(len(shape)))


def is_contiguous(seen: Any) -> bool:
    """Whether a view's elements lie side by side in order."""
    cells: Any = seen.array() if isinstance(seen, Ndarray) else seen
    if hasattr(cells, "flags"):
        return bool(cells.flags.c_contiguous)
    return hasattr(cells, "is_contiguous") and cells.is_contiguous()


def span(seen: Any) -> tuple[int, int] | None:
    """The first byte that a view reaches and the one behind the last; None if that is not known, or there are none."""
    if 0 in seen.shape:
        return None
    array = seen.array() if isinstance(seen, Ndarray) else seen
    strides: Sequence[int] | None
    if isinstance(array, np.ndarray):
        address, strides = array.__array_interface__["data"][0], array.strides
    elif array is not seen:  # on a GPU
        address, strides = array.address, array.strides
    elif hasattr(array, "data_ptr"):
        is_whole = array.is_contiguous()
        address, strides = array.data_ptr(), None if is_whole else [step * array.itemsize for step in array.stride()]
    elif (facts := getattr(array, "__cuda_array_interface__", None)) is not None:
        address, strides = facts["data"][0], facts.get("strides")
    else:
        return None
    size = prim_of(seen).size
    if strides is None:
        return address, address + size * math.prod(seen.shape)
    reach = [(extent - 1) * step for extent, step in zip(seen.shape, strides)]
    return address + sum(r for r in reach if r < 0), address + sum(r for r in reach if r > 0) + size


def may_overlap(a: Any, b: Any) -> bool:
    """Whether the bytes from first to last of two views have some in common, as far as that is known."""
    if type(a) is np.ndarray and type(b) is np.ndarray:
        return np.may_share_memory(a, b)
    ours, theirs = span(a), span(b)
    return ours is not None and theirs is not None and ours[0] < theirs[1] and theirs[0] < ours[1]


# ---- new arrays ------------------------------------------------------------------------------------------------------


def _numpys_maker(shape: Shape, prim: Prim, like: Any) -> Maker:
    return partial(np.empty, shape, prim.np)


def _torchs_maker(shape: Shape, prim: Prim, like: Any) -> Maker:
    torch = import_module("torch")
    return partial(torch.empty, shape, dtype=getattr(torch, prim.np.name), device=like.device)


def _cupys_maker(shape: Shape, prim: Prim, like: Any) -> Maker:
    empty, device = import_module("cupy").empty, like.device

    def make() -> Any:
        with device:
            return empty(shape, prim.np)

    return make


def _wefts_maker(shape: Shape, prim: Prim, like: Any) -> Maker:
    return partial(np.empty, shape, prim.np) if 0 in shape else partial(ndarray, prim, shape)  # (which has elements)


def _jaxs_maker(shape: Shape, prim: Prim, like: Any) -> Maker:
    return (_wefts_maker if program().backend.own_memory else _numpys_maker)(shape, prim, like)


def _jax_given(made: Any) -> Any:
    if 0 in made.shape:
        return import_module("jax.numpy").asarray(made)
    return import_module("jax.dlpack").from_dlpack(made)


_MODULES = {"numpy": "numpy", "torch": "torch", "cupy": "cupy", "jax": "jax", "jaxlib": "jax", "weft": "weft"}

_LIBRARIES = {
    row.name: row
    for row in (
        Library("numpy", _numpys_maker),
        Library("torch", _torchs_maker),
        Library("cupy", _cupys_maker),
        Library("weft", _wefts_maker),
        Library("jax", _jaxs_maker, _jax_given),  # what JAX has cannot be written to: what it will have is
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
