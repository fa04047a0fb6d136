"""Lending memory to other libraries: numpy, PyTorch, JAX, CuPy see a field or an ndarray as an array of theirs.

Nothing is copied. Who borrows keeps the memory: it stays as it is when the field is destroyed or the program reset, and
goes when the last borrower does. A field in nested blocks is no array that others know; it can only be copied.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

import numpy as np

__all__ = ["Lender"]


class Lender:
    """Something with memory to lend, by `__array_interface__`, `__cuda_array_interface__` and DLPack.

    numpy.asarray and the like give a view where the memory is the CPU's, a copy where it is a GPU's."""

    _lent: Any = None  # what was lent lives as long as this object, which borrowers refer to

    def _lend(self) -> Any:
        """The elements, axis by axis, as a numpy array or a window onto a GPU's memory. BufferError where they are no
        strided array; FieldError where they no longer exist."""
        raise NotImplementedError

    def _copied(self) -> Any:
        """The elements as a new numpy array."""
        raise NotImplementedError

    def _mark(self) -> None:
        """All elements count as written."""
        raise NotImplementedError

    def _interface(self, name: str) -> Any:
        try:
            cells = self._lend()
        except BufferError as error:
            raise AttributeError(f"{name}: {error}") from None
        if not hasattr(type(cells), name):
            where = "the CPU" if isinstance(cells, np.ndarray) else "a GPU"
            raise AttributeError(f"{name}: the memory is that of {where}")
        self._mark()  # what is done to it is not seen
        self._lent = cells
        return getattr(cells, name)

    @property
    def __array_interface__(self) -> dict[str, Any]:
        facts: dict[str, Any] = self._interface("__array_interface__")
        return facts

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        facts: dict[str, Any] = self._interface("__cuda_array_interface__")
        return facts

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        try:
            cells = None if copy else self._lend()
        except BufferError:
            cells = None
        view = cells if isinstance(cells, np.ndarray) else None
        if copy is False and (view is None or dtype not in (None, view.dtype)):
            raise ValueError("this array cannot be had without a copy: its memory is a GPU's, or laid out otherwise")
        result = self._copied() if view is None else view
        if view is not None:
            self._mark()
        return result if dtype is None else result.astype(dtype, copy=False)

    def __dlpack__(self, **keywords: Any) -> Any:
        """A DLPack capsule. `stream` (of a GPU): the consumer's, which will wait for what was launched so far."""
        cells = self._lend()
        self._mark()
        if not isinstance(cells, np.ndarray):
            return import_module("weft.runtime.dlpack").export(cells, **keywords)
        if keywords.get("stream") is not None:
            raise BufferError("the memory is the CPU's, where there are no streams")
        return cells.__dlpack__(**keywords)

    def __dlpack_device__(self) -> tuple[int, int]:
        cells = self._lend()
        if isinstance(cells, np.ndarray):
            return (1, 0)  # kDLCPU
        pair: tuple[int, int] = cells.__dlpack_device__()
        return pair
