"""The types of Weft's IR: primitives, tensors, structs, arrays, pointers.

Types are interned: two equal types are one object, so they are compared by identity (`is`) and hash quickly. The
printer writes their text and the parser reads it: `f32`, `f32x3`, `f32x3x3`, `{x: f32, v: f32x3}`, `[f32; 2]` (an array
argument of two axes), `*f32`, `<16 x f32>` (one f32 for each of 16 SIMD lanes).
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from math import prod
from typing import Any, ClassVar, Literal, TypeVar

import numpy as np

__all__ = [
    "FLOATS",
    "INTEGERS",
    "PRIMS",
    "VOID",
    "Array",
    "Lanes",
    "Pointer",
    "Prim",
    "Struct",
    "Tensor",
    "Type",
    "array",
    "element",
    "exposed",
    "f16",
    "f32",
    "f64",
    "flat_size",
    "flatten",
    "i8",
    "i16",
    "i32",
    "i64",
    "lane_count",
    "lanes",
    "pointer",
    "shape_of",
    "struct",
    "tensor",
    "u1",
    "u8",
    "u16",
    "u32",
    "u64",
    "with_element",
]


class Type:
    """Any IR type. Immutable and interned."""

    __slots__ = ("text",)
    text: str

    def __repr__(self) -> str:
        return self.text


class Prim(Type):
    """A primitive: `kind` is "u" (unsigned, u1 is the truth value), "i" (signed) or "f" (IEEE float)."""

    __slots__ = ("bits", "kind", "np")

    cast: ClassVar[Callable[[Any, Prim], Any]]  # a number as that type, by the rules of `scalar.py`, which sets it

    def __init__(self, kind: Literal["u", "i", "f"], bits: int) -> None:
        self.kind, self.bits = kind, bits
        self.text = f"{kind}{bits}"
        self.np: np.dtype[Any] = np.dtype(np.bool_ if bits == 1 else f"{kind}{bits // 8}")

    @property
    def size(self) -> int:
        """Bytes in memory; a u1 takes one."""
        return max(1, self.bits // 8)

    @property
    def is_float(self) -> bool:
        return self.kind == "f"

    @property
    def is_int(self) -> bool:
        """Any integer, the truth value u1 included."""
        return self.kind != "f"

    @property
    def is_signed(self) -> bool:
        return self.kind != "u"

    def to_string(self) -> str:
        """Its name, `f32`."""
        return self.text

    def __call__(self, value: Any = 0) -> Any:
        """`f32(1)` in Python scope: `value` as a numpy scalar of this type (casts follow the kernel's rules)."""
        return Prim.cast(value, self)

    def __reduce__(self) -> tuple[Any, ...]:
        return _prim, (self.text,)


class Tensor(Type):
    """A vector (`shape` of one extent) or a matrix (two) of primitives, row-major."""

    __slots__ = ("elem", "shape")

    def __init__(self, elem: Prim, shape: tuple[int, ...]) -> None:
        self.elem, self.shape = elem, shape
        self.text = "x".join([elem.text, *map(str, shape)])

    @property
    def count(self) -> int:
        """How many scalars it holds."""
        return prod(self.shape)

    def __reduce__(self) -> tuple[Any, ...]:
        return tensor, (self.elem, self.shape)


class Struct(Type):
    """A record: ordered named members of primitive, tensor or struct type."""

    __slots__ = ("members",)

    def __init__(self, members: tuple[tuple[str, Type], ...]) -> None:
        self.members = members
        self.text = "{" + ", ".join(f"{name}: {type.text}" for name, type in members) + "}"

    def index(self, name: str) -> int:
        """Position of member `name`; KeyError if there is none."""
        for position, (member, _) in enumerate(self.members):
            if member == name:
                return position
        raise KeyError(name)

    def __reduce__(self) -> tuple[Any, ...]:
        return struct, (self.members,)


class Array(Type):
    """An n-D array argument in the caller's memory. The launch passes its base, its extents and its byte strides.

    `contiguous` arrays are C-ordered without gaps, so the strides follow from the extents. Elements may be primitives,
    tensors or structs. The scalars of one element are adjacent. Extents, and the indices of loops over the array, are
    i32. They are i64 for a `wide` array, which has more elements along an axis than an i32 can count.

    An access to an array does not affect other memory, unless the array is `exposed`: all exposed memory may overlap.
    """

    __slots__ = ("contiguous", "elem", "exposed", "ndim", "wide")

    def __init__(self, elem: Type, ndim: int, contiguous: bool, wide: bool, exposed: bool) -> None:
        self.elem, self.ndim, self.contiguous, self.wide, self.exposed = elem, ndim, contiguous, wide, exposed
        marks = {"strided": not contiguous, "wide": wide, "exposed": exposed}
        self.text = f"[{elem.text}; {' '.join([str(ndim), *(mark for mark, given in marks.items() if given)])}]"

    @property
    def index(self) -> Prim:
        """The type of its extents."""
        return i64 if self.wide else i32

    def __reduce__(self) -> tuple[Any, ...]:
        return array, (self.elem, self.ndim, self.contiguous, self.wide, self.exposed)


class Pointer(Type):
    """The address of a value of type `elem`: a local, a field's element, an array's element."""

    __slots__ = ("elem",)

    def __init__(self, elem: Type) -> None:
        self.elem = elem
        self.text = "*" + elem.text

    def __reduce__(self) -> tuple[Any, ...]:
        return pointer, (self.elem,)


class Lanes(Type):
    """A vector: one value of type `elem`, a scalar or an address, for each of `count` SIMD lanes. The elements are
    adjacent in memory."""

    __slots__ = ("count", "elem")

    def __init__(self, elem: Prim | Pointer, count: int) -> None:
        self.elem, self.count = elem, count
        self.text = f"<{count} x {elem.text}>"

    def __reduce__(self) -> tuple[Any, ...]:
        return lanes, (self.elem, self.count)


class _Void(Type):
    """The type of ops without a value."""

    __slots__ = ()

    def __init__(self) -> None:
        self.text = "void"

    def __reduce__(self) -> str:
        return "VOID"


VOID = _Void()
u1, u8, u16, u32, u64 = (Prim("u", n) for n in (1, 8, 16, 32, 64))
i8, i16, i32, i64 = (Prim("i", n) for n in (8, 16, 32, 64))
f16, f32, f64 = (Prim("f", n) for n in (16, 32, 64))
INTEGERS: tuple[Prim, ...] = (u1, i8, u8, i16, u16, i32, u32, i64, u64)
FLOATS: tuple[Prim, ...] = (f16, f32, f64)
PRIMS: dict[str, Prim] = {prim.text: prim for prim in INTEGERS + FLOATS}


def _prim(name: str) -> Prim:
    return PRIMS[name]


T = TypeVar("T")
_made: dict[tuple[Any, ...], Any] = {}


def _one(kind: Callable[..., T], *facts: Any) -> T:
    """The interned type with these attributes. If two threads request it at the same time, both get the same object."""
    found: T = _made.setdefault((kind, *facts), kind(*facts))
    return found


@cache
def tensor(elem: Prim, shape: tuple[int, ...], /) -> Tensor:
    """The tensor type of that element and shape (one or two extents, each >= 1)."""
    if not 1 <= len(shape) <= 2 or min(shape) < 1:
        raise ValueError(f"a tensor must have one or two extents of at least 1, not {shape}")
    return _one(Tensor, elem, shape)


@cache
def struct(members: tuple[tuple[str, Type], ...], /) -> Struct:
    """The struct type of those (name, type) members."""
    return _one(Struct, members)


def array(elem: Type, ndim: int, contiguous: bool = True, wide: bool = False, exposed: bool = False) -> Array:
    """The type of an array argument."""
    return _array(elem, ndim, contiguous, wide, exposed)


def exposed(type: Array) -> Array:
    """The type of such an array that may overlap other ones."""
    return array(type.elem, type.ndim, type.contiguous, type.wide, exposed=True)


@cache
def _array(elem: Type, ndim: int, contiguous: bool, wide: bool, exposed: bool, /) -> Array:  # (equal ones are one)
    return _one(Array, elem, ndim, contiguous, wide, exposed)


@cache
def pointer(elem: Type, /) -> Pointer:
    """The type of an address of an `elem`."""
    return _one(Pointer, elem)


@cache
def lanes(elem: Type, count: int, /) -> Lanes:
    """The vector type of `count` lanes. `elem` is a primitive or the type of an address."""
    if not isinstance(elem, Prim | Pointer) or count < 1:
        raise ValueError(f"a vector of {count} {elem} does not exist")
    return _one(Lanes, elem, count)


def lane_count(type: Type) -> int:
    """The number of lanes of a vector type, 0 for anything else."""
    return type.count if isinstance(type, Lanes) else 0


def element(type: Type) -> Prim:
    """The primitive of a primitive, tensor or vector type; TypeError for others."""
    if isinstance(type, Prim):
        return type
    if isinstance(type, Tensor):
        return type.elem
    if isinstance(type, Lanes) and isinstance(type.elem, Prim):
        return type.elem
    raise TypeError(f"{type} has no scalar elements")


def shape_of(type: Type) -> tuple[int, ...]:
    """The extents of a tensor type, () for anything else."""
    return type.shape if isinstance(type, Tensor) else ()


def with_element(type: Type, elem: Prim) -> Type:
    """`type` (scalar, tensor or vector) with `elem` in place of its primitive."""
    if isinstance(type, Lanes):
        return lanes(elem, type.count)
    return tensor(elem, type.shape) if isinstance(type, Tensor) else elem


def flatten(type: Type) -> list[Prim]:
    """The scalars of a value in memory order: row-major tensors, members in order."""
    if isinstance(type, Prim):
        return [type]
    if isinstance(type, Tensor):
        return [type.elem] * type.count
    if isinstance(type, Lanes) and isinstance(type.elem, Prim):
        return [type.elem] * type.count
    if isinstance(type, Struct):
        return [scalar for _, member in type.members for scalar in flatten(member)]
    raise TypeError(f"{type} has no scalars")


def flat_size(type: Type) -> int:
    """How many scalars `flatten` gives."""
    if isinstance(type, Prim):
        return 1
    return type.count if isinstance(type, Tensor | Lanes) else len(flatten(type))
