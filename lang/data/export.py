"""Lends memory to other libraries: numpy, PyTorch, JAX and CuPy see a field or an ndarray as one of their own arrays.

Nothing is copied. A borrower keeps the memory alive, even if the field is destroyed or the program is reset. The memory
is freed after the last borrower has gone. A field in nested blocks cannot be described as a strided array, so it can
only be copied."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import numpy as np

from weft.ir.errors import WeftError

__all__ = ["Lender"]


class Lender:
    """An object that lends its memory through `__array_interface__`, `__cuda_array_interface__` and DLPack.

    `numpy.asarray` and similar functions return a view of CPU memory and a copy of GPU memory."""

    # keeps the lent memory alive as long as this object, which borrowers refer to: the latest one, and what was before
    _lent: tuple[Any, Any] | None = None
    lends = False  # whether other libraries may have arrays that share its memory

    def _lend(self) -> Any:
        """The elements, axis by axis, as a numpy array or a window onto GPU memory. Raises BufferError if they do not
        form a strided array, and FieldError if they no longer exist."""
        raise NotImplementedError

    def _copied(self) -> Any:
        """The elements as a new numpy array."""
        raise NotImplementedError

    @property
    def ndim(self) -> int:
        """The number of axes."""
        raise NotImplementedError

    def _mark(self) -> None:
        """Mark all elements as written."""
        raise NotImplementedError

    def _repr_html_(self) -> str:
        """How a notebook shows the object: statistics and a picture, or why its elements cannot be read."""
        arrays = import_module("weft.lang.notebook.arrays")  # only notebooks need it
        try:
            shown: str = arrays.html_of_array(repr(self), self._copied(), self.ndim)
        except WeftError as error:
            shown = arrays.html_of_note(repr(self), str(error))
        return shown

    def _interface(self, name: str) -> Any:
        try:
            cells = self._lend()
        except BufferError as error:
            raise AttributeError(f"{name}: {error}") from None
        if not hasattr(type(cells), name):
            where = "the CPU" if isinstance(cells, np.ndarray) else "a GPU"
            raise AttributeError(f"{name}: the memory belongs to {where}")
        self._mark()  # writes of the borrower are not observed
        self.lends = True
        if self._lent is None or self._lent[0] is not cells:
            self._lent = cells, self._lent
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
            raise ValueError(
                "numpy cannot use this array without a copy: its memory is on a GPU, or has another layout or type"
            )
        result = self._copied() if view is None else view
        if view is not None:
            self._mark()
            self.lends = True
        return result if dtype is None else result.astype(dtype, copy=False)

    def __dlpack__(self, **keywords: Any) -> Any:
        """Make a DLPack capsule. `stream` is the consumer's GPU stream; it waits for everything that was launched so
        far."""
        cells = self._lend()
        self._mark()
        self.lends = True
        if not isinstance(cells, np.ndarray):
            return import_module("weft.runtime.dlpack").export(cells, **keywords)
        if keywords.get("stream") is not None:
            raise BufferError("the memory is on the CPU, which has no streams")
        return cells.__dlpack__(**keywords)

    def __dlpack_device__(self) -> tuple[int, int]:
        cells = self._lend()
        if isinstance(cells, np.ndarray):
            return (1, 0)  # kDLCPU
        pair: tuple[int, int] = cells.__dlpack_device__()
        return pair
