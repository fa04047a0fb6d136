"""Kernel parameters: what each accepts, which part of an argument selects the instance, and what the launcher gets."""

from __future__ import annotations

import reprlib
from collections.abc import Iterable, Iterator
from enum import Enum
from itertools import chain
from typing import Any

import numpy as np

from weft.ir import types as ir
from weft.ir.errors import TypeMismatch, WeftError
from weft.ir.scalar import cast_value, range_of
from weft.ir.types import Prim, Struct, Tensor, Type, u1
from weft.lang.data.borrow import view_of
from weft.lang.data.direct_tensors import is_packed
from weft.lang.data.field_annotations import FieldAnnotation
from weft.lang.data.ndarray import Ndarray
from weft.lang.data.snode_api import SNode
from weft.lang.data.struct_ndarray import StructNdarray, current_layout
from weft.lang.errors import ArgumentError
from weft.lang.functions.annotations import is_template
from weft.lang.translate.entry import Argument
from weft.lang.values.brackets import meant
from weft.lang.values.matrix import Matrix
from weft.lang.values.numbers import array_of
from weft.lang.values.struct import Struct as PyStruct
from weft.lang.values.struct import convert
from weft.lang.values.types import CompoundType, NdarrayType, Ref, StructType, prim_of_numpy, to_ir

__all__ = [
    "ArrayParameter",
    "Compound",
    "Parameter",
    "Scalar",
    "Template",
    "make_parameter",
    "template_key",
    "told_by_identity",
]

_INTEGERS: tuple[type, ...] = (int, np.integer, np.bool_)
_NUMBERS: tuple[type, ...] = (int, float, np.integer, np.floating, np.bool_)


class Parameter:
    """A kernel parameter. If `keyed`, `key(value)` is part of the key of the instance. Unless it is a compile-time
    value, the launcher gets `pack(value)`."""

    keyed = False

    def __init__(self, name: str, annotation: Any) -> None:
        self.name, self.annotation = name, annotation

    def key(self, value: Any) -> Any:
        """The part of the argument that is fixed at compile time."""
        raise NotImplementedError

    def argument(self, value: Any) -> Argument:
        """How the translator binds the argument."""
        return Argument(self.name, to_ir(self.annotation), self.annotation)

    def pack(self, value: Any) -> Any:
        """Convert the argument for the launcher. Raises ArgumentError if it does not fit."""
        raise NotImplementedError

    def refuse(self, value: Any, wanted: str) -> ArgumentError:
        """The error for an argument that does not fit."""
        return ArgumentError(f"argument '{self.name}' must be {wanted}, got {_described(value)}")


def _described(value: Any) -> str:
    if isinstance(value, np.generic):
        return f"{type(value).__name__} {value}"
    if isinstance(value, np.ndarray) or (hasattr(value, "dtype") and hasattr(value, "shape")):
        kind = "an array" if isinstance(value, np.ndarray) else f"a {type(value).__name__}"
        return f"{kind} of {value.dtype} with shape {tuple(value.shape)}"
    kind = type(value).__name__
    if isinstance(value, Enum):
        return f"{value}"
    if isinstance(value, (int, float, str, list, tuple, dict)):
        return f"{kind} {reprlib.repr(value)}"  # abbreviated
    return f"{kind} {value!r}" if isinstance(value, Matrix) else f"a {kind}"


class Scalar(Parameter):
    """A number. Float parameters accept integers; integer parameters do not accept floats."""

    def __init__(self, name: str, annotation: Any, prim: Prim) -> None:
        super().__init__(name, annotation)
        self.prim = prim
        self._fits = _NUMBERS if prim.is_float else _INTEGERS
        self.range = range_of(prim) if prim.is_int and prim is not u1 else None

    def pack(self, value: Any) -> Any:
        number: Any = value
        if not isinstance(value, self._fits):
            item = getattr(value, "item", None)  # arrays and tensors with one element
            number = item() if item is not None and getattr(value, "ndim", 1) == 0 else value
            if not isinstance(number, self._fits):
                raise self.refuse(value, f"{'a number' if self.prim.is_float else 'an integer'} ({self.prim})")
        if isinstance(number, int):
            number = int.__int__(number)  # (the value that native code reads, even if a subclass overrides __int__)
        if self.range is not None and not self.range[0] <= number <= self.range[1]:
            low, high = self.range
            raise self.refuse(value, f"an integer from {low} to {high} ({self.prim})")
        try:
            return float(number) if self.prim.is_float else int(number)
        except OverflowError:
            raise self.refuse(value, f"a number ({self.prim})") from None


class Compound(Parameter):
    """A vector, matrix or struct. It is passed by value, as its scalars."""

    def __init__(self, name: str, annotation: Any) -> None:
        super().__init__(name, annotation)
        self.type: Type = to_ir(annotation)
        self._wanted = repr(annotation)
        if isinstance(self.type, Tensor) and self.type.elem.is_int and self.type.elem is not u1:
            self._wanted += ", of integers from {} to {}".format(*range_of(self.type.elem))

    def pack(self, value: Any) -> Any:
        if isinstance(value, dict) or (isinstance(value, PyStruct) and value.struct_type is not self.annotation):
            _check_member(self.name, value, self.annotation)
        try:
            return _scalars(self.type, _converted(value, self.annotation))
        except (WeftError, ValueError, TypeError) as error:
            raise self.refuse(value, self._wanted) from error


def _check_member(name: str, value: Any, annotation: Any) -> None:
    """Raise ArgumentError if a member of a struct does not fit, before the struct is made. `name` is the path to the
    member."""
    if isinstance(annotation, StructType):
        if isinstance(value, (tuple, list)):
            value = dict(zip(annotation.members, value))
        given = value if isinstance(value, dict) else value.entries if isinstance(value, PyStruct) else {}
        for member, inner in annotation.members.items():
            if member in given:
                _check_member(f"{name}.{member}", given[member], inner)
        return
    kind = to_ir(annotation)
    if isinstance(kind, Prim) or (isinstance(value, (Matrix, np.ndarray)) and np.ndim(value)):
        make_parameter(name, annotation).pack(value)
    elif isinstance(value, (list, tuple)) and isinstance(kind, Tensor) and kind.elem.is_int and kind.elem is not u1:
        try:
            _check_integers(array_of(value), kind.elem)
        except TypeMismatch as error:
            raise make_parameter(name, annotation).refuse(value, f"{annotation!r}, {error.message}") from None


def _converted(value: Any, annotation: Any) -> Any:
    if isinstance(annotation, StructType):
        if not isinstance(value, (PyStruct, dict)):
            raise TypeMismatch("not a struct")
        return convert(value, annotation)
    shape: tuple[int, ...] = annotation.shape
    array = array_of(value)
    if array.shape != shape:
        raise TypeMismatch(f"shape {array.shape}")
    return array


def _scalars(type: Type, value: Any) -> list[Any]:
    """The scalars of a value in memory order, as Python numbers."""
    if isinstance(type, Struct):
        return [scalar for name, member in type.members for scalar in _scalars(member, value.entries[name])]
    values = array_of(value)
    prim = ir.element(type)
    if isinstance(type, Tensor) and prim.is_int and prim is not u1:
        _check_integers(values, prim)
    cast = np.asarray(cast_value(values, prim))
    return list(cast.ravel().tolist()) if isinstance(type, Tensor) else [cast.item()]


def _check_integers(values: Any, prim: Prim) -> None:
    """Raise TypeMismatch if these numbers cannot be integers of type `prim`."""
    low, high = range_of(prim)
    if values.dtype.kind == "f" or not all(low <= number <= high for number in values.ravel().tolist()):
        raise TypeMismatch(f"of integers from {low} to {high}")


class ArrayParameter(Parameter):
    """An array: a Weft ndarray, a numpy array, or an array of another library (see `borrow.py`). It is not copied."""

    keyed = True
    annotation: NdarrayType

    def __init__(self, name: str, annotation: NdarrayType) -> None:
        super().__init__(name, annotation)
        wanted = annotation.element
        self._tail = len(wanted.shape) if isinstance(wanted, Tensor) else annotation.element_dim
        self._seen: tuple[Any, Any] | None = None

    def key(self, value: Any) -> Any:
        if type(value) is np.ndarray and not self._tail:
            flags = value.flags
            return (value.dtype, value.ndim, flags.c_contiguous, flags.writeable, _is_wide(value.shape))
        if isinstance(value, StructNdarray):
            return (value.struct_type, value.ndim, _is_wide(value.shape))
        array = self._array(value)
        self._seen = value, array
        contiguous = array.flags.c_contiguous
        axes = array.ndim - self._inner(value)
        return (
            array.dtype,
            array.ndim,
            array.shape[axes:],
            contiguous or array.strides[axes:],
            array.flags.writeable,
            _is_wide(array.shape),
        )

    def argument(self, value: Any) -> Argument:
        if isinstance(value, StructNdarray):
            return self._struct_argument(value)
        array = self._array(value)
        prim, wanted = self._prim(array), self.annotation.element
        inner = self._inner(value)
        shape = tuple(array.shape[array.ndim - inner :])
        element: Type = ir.tensor(prim, shape) if inner else prim
        ndim = array.ndim - inner
        if wanted is not None and element is not wanted:
            self._wrong_element(element, wanted)
        self._check_axes(array, ndim)
        if self.annotation.element_shape not in (None, shape):
            raise self.refuse(array, f"an array whose last axes are {self.annotation.element_shape}")
        if inner and not array.flags.c_contiguous and not is_packed(shape, array.strides[ndim:], prim):
            hint = "its last axes are those of an element, whose numbers must be contiguous in memory"
            raise ArgumentError(f"argument '{self.name}': {hint}; pass a copy made with numpy.ascontiguousarray")
        kind = ir.array(element, ndim, bool(array.flags.c_contiguous), _is_wide(array.shape))
        return Argument(self.name, kind, self.annotation, None if array.flags.writeable else "read-only")

    def _struct_argument(self, value: StructNdarray) -> Argument:
        wanted = self.annotation.dtype
        if wanted is not None and wanted != value.struct_type:
            raise self.refuse(value, f"an array of {wanted!r}")
        self._check_axes(value, value.ndim)
        annotation = NdarrayType(value.struct_type, value.ndim, boundary=self.annotation.boundary)
        kind = ir.array(current_layout(value.struct_type).ir, value.ndim, wide=_is_wide(value.shape))
        return Argument(self.name, kind, annotation)

    def _check_axes(self, value: Any, ndim: int) -> None:
        if self.annotation.ndim is not None and ndim != self.annotation.ndim:
            raise self.refuse(value, f"an array of {self.annotation.ndim} axes")

    def _wrong_element(self, element: Type, wanted: Type) -> None:
        hint = ""
        if isinstance(wanted, Prim) and isinstance(element, Prim):
            hint = f"; convert it: {self.name}.astype(np.{wanted.np.name})"
        raise ArgumentError(f"argument '{self.name}' must be an array of {wanted}, got one of {element}{hint}")

    def _prim(self, array: Any) -> Prim:
        if not array.dtype.isnative:
            raise self.refuse(array, "an array in the machine's byte order")
        try:
            return prim_of_numpy(array.dtype)
        except TypeMismatch:
            raise self.refuse(array, "an array of numbers") from None

    def _inner(self, value: Any) -> int:
        """The number of trailing axes that belong to the element."""
        if isinstance(value, Ndarray):
            return len(value.element_shape)
        return self._tail

    def _array(self, value: Any) -> Any:
        if type(value) is np.ndarray:
            return value
        if isinstance(value, Ndarray):
            return value.array()
        try:
            view = view_of(value)
        except TypeMismatch as error:
            raise ArgumentError(f"argument '{self.name}', {_described(value)}: {error.message}") from None
        if view is None:
            raise self.refuse(value, "an array")
        return view

    def pack(self, value: Any) -> Any:
        if isinstance(value, StructNdarray):
            return value.place()
        seen, self._seen = self._seen, None  # the view that `key` has just made of it
        array = seen[1] if seen is not None and seen[0] is value else self._array(value)
        if type(array) is np.ndarray:
            return array
        return array.argument(array.ndim - self._inner(value))


def _is_wide(shape: tuple[int, ...]) -> bool:
    """Whether an axis has more elements than an i32 can count. Then the kernel is compiled with i64 indices. They are
    used only where they are needed, because 32-bit indices take fewer registers and instructions."""
    return max(shape, default=0) >= 2**31


class Template(Parameter):
    """A compile-time argument: a field, a number, a function, or any other object."""

    keyed = True

    def key(self, value: Any) -> Any:
        return template_key(value)

    def argument(self, value: Any) -> Argument:
        if isinstance(self.annotation, FieldAnnotation) and not self.annotation.accepts(value):
            raise self.refuse(value, f"a field, as {self.annotation!r} says")
        return Argument(self.name, value=value)

    def pack(self, value: Any) -> Any:
        return value


def template_key(value: Any) -> Any:
    """The key of a compile-time value: its type and value if it is plain data, its contents if it is a container, else
    its identity (an int)."""
    if isinstance(value, np.generic):
        return (type(value), value.tobytes())
    if isinstance(value, float):
        return (type(value), value.hex())  # -0.0 differs from 0.0, and all NaNs are equal
    if isinstance(value, int):
        return (type(value), value)
    if value is None or isinstance(value, (str, Type, CompoundType)):
        return (str, value) if isinstance(value, str) else (type(value), value)
    if isinstance(value, (Matrix, np.ndarray)):
        cells = value if isinstance(value, np.ndarray) else value.values
        return (type(value), cells.shape, cells.dtype.str, cells.tobytes())
    parts = _parts(value)
    return id(value) if parts is None else (type(value), *map(template_key, parts))


def told_by_identity(value: Any) -> Iterator[Any]:
    """The objects in a compile-time value that its key identifies only by identity."""
    parts = _parts(value)
    if parts is not None:
        for part in parts:
            yield from told_by_identity(part)
    elif isinstance(template_key(value), int):
        yield value


def _parts(value: Any) -> Iterable[Any] | None:
    """The parts of a container, one after another. None for anything else. An SNode is made anew at each mention of a
    node, so what counts is the node of the tree."""
    if isinstance(value, SNode):
        return value.node, value.offset
    if isinstance(value, (tuple, list)):
        return value
    if isinstance(value, dict):
        return chain.from_iterable(value.items())
    if isinstance(value, SNode):  # an object for each look at a node
        return (value.node, value.offset)
    return (value.struct_type, *value.entries.values()) if isinstance(value, PyStruct) else None


def make_parameter(name: str, annotation: Any) -> Parameter:
    """The parameter for an annotation. Raises TypeMismatch for an invalid annotation."""
    if isinstance(annotation, Ref):
        raise TypeMismatch(
            "a kernel takes its arguments by value, so its parameters cannot be references: use ti.ref in "
            "functions only"
        )
    if is_template(annotation):
        return Template(name, annotation)
    annotation = meant(annotation)
    if isinstance(annotation, NdarrayType):
        return ArrayParameter(name, annotation)
    kind = to_ir(annotation)
    if isinstance(kind, Prim):
        return Scalar(name, annotation, kind)
    return Compound(name, annotation)
