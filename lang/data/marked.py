"""Checks in Python scope that elements are written before they are read (`init(check_uninitialised=True)`,
`marks.py`)."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from weft.ir.types import Prim
from weft.lang.data.elements import SliceGiven, element_index, element_value
from weft.lang.data.field_tree import NOT_HELD
from weft.lang.data.writes import LISTENERS, tell_element
from weft.lang.values.makers import MAKERS
from weft.lang.values.matrix import Matrix, Vector
from weft.runtime.errors import UninitialisedRead

__all__ = ["Marked"]


class Marked:
    """An object with elements that may have marks, which record which elements have been written. `_marks` is indexed
    like the elements. None means that all elements count as written."""

    _marks: Any = None
    _slots: Any = ()  # of a field

    if TYPE_CHECKING:

        @property
        def dtype(self) -> Prim: ...
        @property
        def element_shape(self) -> tuple[int, ...]: ...

    def __getitem__(self, key: Any) -> Any:
        try:
            position = self._position(key)
        except SliceGiven:
            return MAKERS.part(self, key)
        with self._held():
            return self._element(self._window(), position, key)

    def __setitem__(self, key: Any, value: Any) -> None:
        try:
            position = self._position(key)
        except SliceGiven:
            MAKERS.assign(MAKERS.part(self, key), value)
            return
        element = element_value(value, self.dtype, self.element_shape, self._label())
        if LISTENERS.get():
            tell_element(self, element_index(key), None, partial(self.__setitem__, key, element.copy()))
        with self._held():
            self._window()[position] = element
            self._mark(position)

    def load(self, key: Any) -> Any:
        """The element as a vector or matrix that is a view, or as a numpy scalar."""
        return self[key]

    def _position(self, key: Any) -> Any:
        """The position of an element in the window. Raises SliceGiven for a key with a slice, and FieldIndexError if
        there is no such element."""
        raise NotImplementedError

    def _held(self) -> AbstractContextManager[Any]:
        """What the window is used in: meanwhile, no other thread gives the fields of its tree other memory."""
        tree = self._slots[0].tree if self._slots else None
        return NOT_HELD if tree is None else tree.held()

    def _window(self) -> Any:
        """The elements, as a numpy array or a window onto GPU memory."""
        raise NotImplementedError

    def _label(self) -> str:
        """What messages call this object."""
        raise NotImplementedError

    def _check(self, position: Any, key: Any) -> None:
        """Raise UninitialisedRead unless element `key`, at `position` of the marks, was written."""
        if self._marks is not None and not self._marks[position]:
            raise _missing(self._called(), key)

    def _check_all(self) -> None:
        """Raise UninitialisedRead unless all elements were written."""
        if self._marks is not None:
            marks = np.asarray(self._marks[...])
            if not marks.all():
                where = np.unravel_index(int(np.argmin(marks != 0)), marks.shape)
                raise _missing(self._called(), self._user_index(tuple(int(i) for i in where)))

    def _mark(self, position: Any = ...) -> None:
        """Mark the elements at `position` as written."""
        if self._marks is not None:
            self._marks[position] = 1

    def _element(self, cells: Any, position: Any, key: Any) -> Matrix:
        """The vector or matrix at `position`, as a view."""
        if self._marks is None or np.all(self._marks[position]):
            return self._told(cells[position], key) if LISTENERS.get() else Matrix.wrap(cells[position])
        made: type[_Window] = _VectorWindow if cells[position].ndim == 1 else _MatrixWindow
        window = object.__new__(made)
        window.cells, window.marks, window.place = cells[position], self._marks[position], (self._called(), key)
        return window

    def _told(self, values: Any, key: Any) -> Matrix:
        """The vector or matrix `key` with these values, of whose changes blocks of `ti.ad` hear."""
        kind: type[_Told] = _ToldVector if values.ndim == 1 else _Told
        made = object.__new__(kind)
        made.values, made.owner, made.index = values, self, element_index(key)
        return made

    def _called(self) -> str:
        """The name of this object in messages."""
        raise NotImplementedError

    def _user_index(self, position: tuple[int, ...]) -> Any:
        """The index of the element at `position` that the program uses."""
        raise NotImplementedError


def _missing(name: str, key: Any, part: Any = None) -> UninitialisedRead:
    """The error for a read of element `key`, or of a part of it, in the object of this name."""
    shown = [", ".join(map(str, one)) if isinstance(one, tuple) else str(one) for one in (key, part)]
    index = f"[{shown[0] or None}]" + (f"[{shown[1]}]" if part is not None else "")
    what = f"{name}{index}" if name.isidentifier() else f"{index} of {name}"
    return UninitialisedRead(f"{what} is read before it is written")


class _Window(Matrix):
    """A vector or matrix some of whose elements were not written. `place` is the object that contains it, and the
    position."""

    __slots__ = ("cells", "marks", "place")
    cells: Any
    marks: Any
    place: tuple[str, Any]

    @property
    def values(self) -> Any:
        """The elements. Raises UninitialisedRead unless all of them were written."""
        marks = np.asarray(self.marks)
        if not marks.all():
            part = tuple(int(i) for i in np.unravel_index(int(np.argmin(marks != 0)), marks.shape))
            raise _missing(*self.place, part)
        return self.cells

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(self.cells.shape)

    @property
    def dtype(self) -> Prim:
        return Matrix.wrap(self.cells).dtype

    def __getitem__(self, key: Any) -> Any:
        item = Matrix.wrap(self.cells)[key]
        if not np.all(self.marks[key]):
            raise _missing(*self.place, key)
        return item

    def _put(self, key: Any, value: Any) -> None:
        self.cells[key] = value
        self.marks[key] = 1

    def _pick(self, positions: Sequence[int]) -> Any:
        for position in positions:
            self[position]
        return self.cells[list(positions)]


class _VectorWindow(_Window, Vector):
    """A vector some of whose elements were not written."""

    __slots__ = ()


class _MatrixWindow(_Window):
    """A matrix some of whose elements were not written."""

    __slots__ = ()


class _Told(Matrix):
    """An element of a field or ndarray, in a block of `ti.ad`, which hears of its changes."""

    __slots__ = ("index", "owner")
    owner: Any
    index: tuple[int, ...]

    def _put(self, key: Any, value: Any) -> None:
        tell_element(self.owner, self.index, key, partial(self._again, key, np.array(value)))
        super()._put(key, value)

    def _again(self, key: Any, value: Any) -> None:
        super()._put(key, value)


class _ToldVector(_Told, Vector):
    """A vector of a field or ndarray, in a block of `ti.ad`."""

    __slots__ = ()
