"""Compares two outcomes of one launch, and decides whether the kernel's meaning allows their differences.

Numbers are compared by their bits. All NaNs are equal. Numbers that differ are examined in the variants of `replay.py`,
one after another, until each difference is explained or no variant is left:

- A float may be off by 8 times its largest change in any variant so far, and by 16 units in the last place if anything
  in the kernel may be rounded differently at all.
- A float that changed between finite and not finite, and an integer that differs in any variant, is *unsettled*: it
  depends on the order of iterations, or on the rounding of a number, so it is not compared. The exception is a field or
  array that held the same integers in all variants in different places (a list that iterations append to). It must hold
  these integers.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from weft.ir import ops
from weft.ir.scalar import cast_value
from weft.ir.shadow.launch import ArrayPlace, Image, Launch
from weft.ir.shadow.replay import Outcome
from weft.ir.symbols import FieldSymbol
from weft.ir.types import Array, Prim, Struct, Tensor, Type, flat_size, flatten

__all__ = ["Comparison", "Difference", "compare"]

_UNITS, _FACTOR = 16, 8


@dataclass(frozen=True)
class Difference:
    """An unexpected result. `what` is an element such as "x[3]", "result", "print" or "fault". `count` numbers in the
    same field or array differ."""

    what: str
    found: str
    expected: str
    count: int = 1


@dataclass
class Comparison:
    """What `compare` found: differences that nothing explains, and how many numbers were unsettled."""

    differences: list[Difference]
    unsettled: int = 0
    variants: int = 0


@dataclass(frozen=True)
class Part:
    """Numbers of one type that a launch writes: those of a field or an array (of one member, if they are structs), or
    of the results. `values` extracts them from an outcome, and `name` names the one at an index."""

    values: Callable[[Outcome], Any]
    name: Callable[[tuple[int, ...]], str]
    title: str = ""


def compare(
    kernel: ops.Kernel,
    launch: Launch,
    expected: Outcome,
    found: Outcome,
    variants: Iterable[Outcome],
    loose: bool,
) -> Comparison:
    """The differences between `found` and `expected` that the `variants` do not explain. Variants are requested only as
    needed. `loose`: something in the kernel may be rounded differently."""
    suspects = list(_suspects(kernel, launch, expected, found, loose))
    result, pending = Comparison([]), list(suspects)
    for variant in variants if pending else ():
        result.variants += 1
        pending = [one for one in pending if not one.explained_by(variant)]
        if not pending:
            break
    result.differences = [one.difference() for one in pending]
    result.unsettled = sum(one.unsettled for one in suspects)
    return result


def _suspects(
    kernel: ops.Kernel, launch: Launch, expected: Outcome, found: Outcome, loose: bool
) -> Iterator[_Numbers | _Texts]:
    if expected.fault is not None or found.fault is not None:
        kinds = [_kind(expected), _kind(found)]
        if kinds[0] != kinds[1]:
            yield _Texts("fault", _kind, expected, found)
        return  # the progress of the other iterations is unknown
    if not _same_memory(expected.image, found.image):
        for part in _parts(kernel, launch):
            yield from _differing(part, expected, found, loose)
        yield from _differing(_rest(kernel, launch), expected, found, loose)
    for part in _results(kernel):
        yield from _differing(part, expected, found, loose)
    if Counter(expected.printed) != Counter(found.printed):
        yield _Texts("print", lambda outcome: "".join(sorted(outcome.printed)), expected, found)
    elif _is_serial(kernel) and expected.printed != found.printed:
        yield _Texts("print", lambda outcome: "".join(outcome.printed), expected, found)


def _is_serial(kernel: ops.Kernel) -> bool:
    return not kernel.all_of(ops.ParallelFor, ops.StructFor)


def _differing(part: Part, expected: Outcome, found: Outcome, loose: bool) -> Iterator[_Numbers]:
    made = _Numbers(part, expected, found, loose)
    if made.left.any():
        yield made


def _same_memory(one: Image, other: Image) -> bool:
    return all(np.array_equal(a, b) for (_, a), (_, b) in zip(one.regions, other.regions, strict=True))


def _kind(outcome: Outcome) -> str:
    """What ended a launch."""
    return "" if outcome.fault is None else outcome.fault.kind


class _Texts:
    """Something that is the same or not."""

    unsettled = 0

    def __init__(self, what: str, text: Callable[[Outcome], str], expected: Outcome, found: Outcome) -> None:
        self.what, self.text, self.expected, self.found = what, text, text(expected), text(found)

    def explained_by(self, variant: Outcome) -> bool:
        """Whether it is another in that variant as well."""
        self.unsettled = int(self.text(variant) != self.expected)
        return bool(self.unsettled)

    def difference(self) -> Difference:
        """The two."""
        return Difference(self.what, self.found, self.expected)


class _Numbers:
    """The numbers of a part that are not the same. `left`: those not explained yet."""

    def __init__(self, part: Part, expected: Outcome, found: Outcome, loose: bool) -> None:
        self.part, self.expected, self.found = part, part.values(expected), part.values(found)
        self.left = _bits(self.expected) != _bits(self.found)
        self.is_float = self.expected.dtype.kind == "f"
        self.open = np.zeros(self.left.shape, bool)
        self.contents = {_content(self.expected)}
        self.moved = np.zeros(self.left.shape, np.float64)
        if self.is_float and loose and self.left.any():
            units = _UNITS * np.finfo(self.expected.dtype).eps
            self.left &= ~(self.distance(self.found) <= units * np.abs(self.expected).astype(np.float64))

    @property
    def unsettled(self) -> int:
        """How many of them nothing is said of."""
        return int(self.open.sum())

    def distance(self, values: Any) -> Any:
        """The distance from the expected number, or NaN if one of the two is not finite."""
        with np.errstate(all="ignore"):
            apart = np.abs(values.astype(np.float64) - self.expected.astype(np.float64))
            return np.where(np.isfinite(values) & np.isfinite(self.expected), apart, np.nan)

    def explained_by(self, variant: Outcome) -> bool:
        """Remove the differences that the variant explains. Gives whether none is left."""
        if variant.fault is not None:
            return False
        values = self.part.values(variant)
        if self.is_float:
            finite = np.isfinite(values) & np.isfinite(self.expected)
            self.open |= self.left & ~finite & (_bits(values) != _bits(self.expected))
            self.moved = np.fmax(self.moved, self.distance(values))
            self.left &= ~((self.moved > 0) & (self.distance(self.found) <= _FACTOR * self.moved))
        else:
            self.open |= self.left & (values != self.expected)
            self.contents.add(_content(values))
        self.left &= ~self.open
        return not self.left.any() and not self.lacks

    @property
    def lacks(self) -> bool:
        """Whether the same integers were there in all variants, if not at the same places, and others were found."""
        if self.is_float or not self.open.any():
            return False
        return len(self.contents) == 1 and _content(self.found) not in self.contents

    def difference(self) -> Difference:
        """The first of those left."""
        if not self.left.any():
            number, expected = next(iter((Counter(self.expected.flat) - Counter(self.found.flat)).items()))
            found = int((self.found == number).sum())
            title = f"the number of times that {number} is in {self.part.title}"
            return Difference(title, str(found), str(int((self.expected == number).sum())))
        index = tuple(int(i) for i in np.argwhere(self.left)[0])
        found, expected = self.found[index], self.expected[index]
        return Difference(self.part.name(index), str(found), str(expected), int(self.left.sum()))


def _content(values: Any) -> bytes:
    """What numbers there are, at whatever place."""
    return bytes(np.sort(values, axis=None).tobytes())


def _bits(values: Any) -> Any:
    """Numbers as their bits, all NaNs alike."""
    if values.dtype.kind != "f":
        return values
    return np.where(np.isnan(values), values.dtype.type("nan"), values).view(f"i{values.itemsize}")


# ---- what a launch leaves --------------------------------------------------------------------------------------------


def _parts(kernel: ops.Kernel, launch: Launch) -> Iterator[Part]:
    for symbol in kernel.fields:
        yield _Field(symbol, launch).part
    for param, arg in zip(kernel.params, launch.args, strict=True):
        if isinstance(arg, ArrayPlace) and isinstance(param.type, Array):
            yield from _array_parts(param.name, arg, param.type)


def _results(kernel: ops.Kernel) -> Iterator[Part]:
    prims = [prim for type in kernel.results for prim in flatten(type)]
    for number, prim in enumerate(prims):
        name = "the result" if len(prims) == 1 else f"number {number} of the result"
        yield Part(_result(number, prim), lambda index, name=name: name)  # type: ignore[misc]


def _result(number: int, prim: Prim) -> Callable[[Outcome], Any]:
    return lambda outcome: np.array(cast_value(outcome.results[number], prim), prim.np)


class _Field:
    """The location of the numbers of a field."""

    def __init__(self, symbol: FieldSymbol, launch: Launch) -> None:
        self.symbol, self.tree = symbol, launch.trees[symbol.tree]
        self.inner = symbol.dtype.shape if isinstance(symbol.dtype, Tensor) else ()
        self.prim = flatten(symbol.dtype)[0]

    @cached_property
    def offsets(self) -> Any:
        """The offset of each scalar of each element from the beginning of the tree."""
        return offsets_of(self.symbol)

    @property
    def part(self) -> Part:
        """All of it."""
        return Part(self.values, self.name, self.symbol.name)

    def values(self, outcome: Outcome) -> Any:
        """The numbers, in the shape of the field and of its elements."""
        data, size = outcome.image.bytes(*self.tree), self.prim.size
        raw = data[self.offsets[..., None] + np.arange(size)]
        return np.ascontiguousarray(raw).view(self.prim.np).reshape((*self.symbol.shape, *self.inner))

    def name(self, index: tuple[int, ...]) -> str:
        """As the user writes it."""
        axes = len(self.symbol.shape)
        first = self.symbol.offset or (0,) * axes
        where = ", ".join(str(i + start) for i, start in zip(index, first)) or "None"
        part = ", ".join(map(str, index[axes:]))
        return f"{self.symbol.name}[{where}]" + (f"[{part}]" if part else "")


def offsets_of(symbol: FieldSymbol) -> Any:
    """The byte offset of each scalar of each element in its tree: an array of shape (elements, scalars)."""
    grid = np.indices(symbol.shape).reshape(len(symbol.shape), -1) if symbol.shape else np.zeros((0, 1), np.int64)
    base = np.zeros(grid.shape[1], np.int64) + symbol.path.locate(grid)
    return base[:, None] + np.array(symbol.components, np.int64)


def _array_parts(name: str, place: ArrayPlace, kind: Array) -> Iterator[Part]:
    if not isinstance(kind.elem, Struct):
        yield Part(lambda outcome: outcome.image.array(place), lambda index: f"{name}[{_listed(index)}]", name)
        return
    for path, type, offset in _leaves(kind.elem, "", 0):
        yield Part(
            lambda outcome, t=type, o=offset: _member(outcome.image, place, t, o),  # type: ignore[misc]
            lambda index, p=path, n=kind.ndim: (
                f"{name}[{_listed(index[:n])}]{p}"  # type: ignore[misc]
                + (f"[{_listed(index[n:])}]" if index[n:] else "")
            ),
            name + path,
        )


def _listed(index: Sequence[int]) -> str:
    return ", ".join(map(str, index)) or "None"


def _leaves(type: Type, path: str, offset: int) -> Iterator[tuple[str, Type, int]]:
    """Return the members that are not structs: path, type, and offset. (Gaps have no meaning.)"""
    if not isinstance(type, Struct):
        yield path, type, offset
        return
    for name, member in type.members:
        if not name.startswith("gap "):
            yield from _leaves(member, f"{path}.{name}", offset)
        offset += sum(prim.size for prim in flatten(member))


def _member(image: Image, place: ArrayPlace, type: Type, offset: int) -> Any:
    """A member of every struct of an array."""
    prim, structs = flatten(type)[0], image.array(place)
    size = prim.size * flat_size(type)
    if not structs.size:
        return np.zeros((*place.shape, flat_size(type)), prim.np)
    raw = np.ascontiguousarray(structs).view(np.uint8).reshape(*place.shape, place.dtype.itemsize)
    return np.ascontiguousarray(raw[..., offset : offset + size]).view(prim.np)


def _rest(kernel: ops.Kernel, launch: Launch) -> Part:
    """The bytes between fields and arrays, which nothing writes."""

    def values(outcome: Outcome) -> Any:
        image = outcome.image.copy()
        for symbol in kernel.fields:
            data = image.bytes(*launch.trees[symbol.tree])
            data[offsets_of(symbol)[..., None] + np.arange(flatten(symbol.dtype)[0].size)] = 0
        for arg in launch.args:
            if isinstance(arg, ArrayPlace):
                image.array(arg)[...] = np.zeros((), arg.dtype)
        return np.concatenate([data for _, data in image.regions])

    return Part(values, lambda index: f"byte {index[0]} of memory between the kernel's fields and arrays")
