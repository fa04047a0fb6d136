"""Arrays of any library as operands of array functions: views that kernels take, and new arrays of the same library.

If kernels run on the CPU, the memory of an operand is viewed as a numpy array, whatever its library. If they run on a
GPU, the operand is passed as it is. Only Weft's own fields and ndarrays are viewed through an ndarray, because that can
be reshaped."""

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
from weft.lang.data.ndarray import Ndarray
from weft.lang.data.struct_ndarray import StructNdarray
from weft.lang.data.views import view_of_memory
from weft.lang.data.writes import LISTENERS, derivatives_wanted
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
    "new_array",
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
    """The library that made an array. `maker(shape, prim, like)` returns a function that makes packed arrays on the
    device of `like`, without keeping `like` alive. `given(made)` converts such an array to what the user receives."""

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
    """The view of an array that a kernel takes. Raises TypeMismatch if this is not an array of numbers, or if kernels
    cannot access its memory."""
    if type(value) is np.ndarray:
        return value
    if isinstance(value, StructNdarray):
        raise TypeMismatch("its elements are structs: pass one of its members")
    if isinstance(value, Lender):
        return lent(value)
    if not program().backend.own_memory or not hasattr(value, "shape"):
        return _numpys(value)
    return value.detach() if hasattr(value, "detach") else value


def lent(value: Any) -> Any:
    """The numbers of a field or ndarray. The axes of its elements become further axes. Raises TypeMismatch if they do
    not form a strided array."""
    try:
        cells = value._lend()
    except BufferError as error:
        raise TypeMismatch(str(error)) from None
    heard = bool(LISTENERS.get())  # blocks of `ti.ad` know fields and ndarrays, but not the numpy arrays over them
    if isinstance(cells, np.ndarray) and not heard:
        return cells
    if isinstance(value, Ndarray) and not value.element_shape:
        return value
    return view_of_memory(value, prim_of_numpy(cells.dtype), lambda cells: cells)


def _numpys(value: Any) -> Any:
    seen = view_of(value)
    if seen is None:
        raise TypeMismatch("it is neither an array nor a number")
    return seen


def prim_of(seen: Any) -> Prim:
    """The element type of a view. Raises TypeMismatch if the language has no such type."""
    dtype = seen.dtype
    if isinstance(dtype, Prim):
        return dtype
    return prim_of_numpy(dtype if isinstance(dtype, np.dtype) else _numpys_type(dtype))


@cache
def _numpys_type(dtype: Any) -> np.dtype[Any]:
    """The numpy type that matches a torch type."""
    name = str(dtype).rpartition(".")[2]
    if not hasattr(np, name) or name.startswith("complex"):
        raise TypeMismatch(f"kernels do not support elements of type {name}: convert it, as in tensor.float()")
    return np.dtype(name)


def reshaped(seen: Any, shape: Shape) -> Any:
    """A contiguous view with another shape over the same memory."""
    if seen.shape == shape:
        return seen
    if not isinstance(seen, Ndarray):
        return seen.reshape(shape)
    return view_of_memory(seen, seen.dtype, partial(_reshaped_cells, shape=shape))


def _reshaped_cells(cells: Any, shape: Shape) -> Any:
    if isinstance(cells, np.ndarray):
        return cells.reshape(shape)
    return type(cells)(cells.buffer, cells.dtype, shape, cells.offset, _row_strides(shape, cells.dtype.itemsize))


def arguments_as(views: Sequence[Any], numbers: Sequence[int], shape: Shape) -> list[Any]:
    """The arguments of a kernel: the views with the shape `shape`. The arguments at the positions `numbers` are plain
    numbers, and stay as they are."""
    return [one if k in numbers else reshaped(one, shape) for k, one in enumerate(views)]


def _row_strides(shape: Shape, size: int) -> Shape:
    return tuple(size * math.prod(shape[axis + 1 :]) for axis in range(len(shape)))


def is_contiguous(seen: Any) -> bool:
    """Whether the elements of a view are contiguous, in row-major order."""
    cells: Any = seen.array() if isinstance(seen, Ndarray) else seen
    if hasattr(cells, "flags"):
        return bool(cells.flags.c_contiguous)
    return hasattr(cells, "is_contiguous") and cells.is_contiguous()


def span(seen: Any) -> tuple[int, int] | None:
    """The address of the first byte of a view and the address after its last byte. None if they are not known or if the
    view has no elements."""
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
    """Whether two views may share bytes. It compares the ranges from the first to the last byte, as far as they are
    known."""
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
    return partial(_empty, prim, shape) if 0 in shape else partial(_new, prim, shape)


def new_array(prim: Prim, shape: Shape) -> Any:
    """A new ndarray, which may have no elements."""
    return _wefts_maker(shape, prim, None)()


def _new(prim: Prim, shape: Shape) -> Any:
    return ndarray(prim, shape, **(derivatives_wanted() if prim.is_float else {}))


def _empty(prim: Prim, shape: Shape) -> Any:
    """An ndarray without elements: the part without elements of one that has some."""
    some = ndarray(prim, tuple(max(1, extent) for extent in shape))
    return some[tuple(slice(extent) for extent in shape)]


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
        Library("jax", _jaxs_maker, _jax_given),  # JAX arrays are immutable: kernels write to what becomes a JAX array
    )
}


def result_library(arrays: Sequence[Any]) -> tuple[Library, Any]:
    """The library of the result, and the operand that determines it. Arrays of other libraries take precedence over
    numpy's; among several, the first one counts."""
    chosen: tuple[Library, Any] = _LIBRARIES["numpy"], None
    for array in arrays:
        library = library_of(array)
        if library.name != "numpy":
            return library, array
    return chosen
