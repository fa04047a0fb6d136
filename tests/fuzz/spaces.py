"""The numbers of a program as vectors: what a kernel starts from, and what it leaves."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from tests.fuzz.modes import has_floats
from tests.fuzz.places import PLACES
from weft.ir.autodiff.companions import carries
from weft.ir.memory_model import Memory
from weft.ir.ops import Kernel
from weft.ir.types import Array, Prim, Struct, Tensor, Type, f16, f32, f64, flatten

__all__ = ["PRECISION", "Numbers", "Precision", "Space", "carrying", "copied", "floats_in", "floats_of", "nothing"]


@dataclass
class Numbers:
    """What a kernel starts from or leaves: the bytes of its trees, its arguments, and its results."""

    trees: list[Any]
    args: list[Any]
    results: list[Any] = field(default_factory=list[Any])

    def copy(self) -> Numbers:
        return Numbers([tree.copy() for tree in self.trees], [copied(arg) for arg in self.args])


def copied(arg: Any) -> Any:
    return arg.copy() if isinstance(arg, (np.ndarray, list)) else arg


@dataclass(frozen=True)
class Precision:
    """How exact floats of a type are: what one rounding changes, and the tolerance of values and of dot products, by
    the size of what is compared."""

    ulp: float
    values: float
    products: float


PRECISION = {
    "f64": Precision(2.3e-16, 1e-9, 1e-12),
    "f32": Precision(1.2e-7, 1e-4, 1e-5),
    "f16": Precision(1e-3, 3e-2, 2e-2),
}


class Space:
    """Where the floats of a kernel are. `cells`: for each tree and type of floats, their bytes. `params`: the
    parameters that have some. `loose`: for each of those in memory, whether its place depends on the order of
    iterations."""

    def __init__(self, kernel: Kernel, trees: int) -> None:
        self.params = {k: one.type for k, one in enumerate(kernel.params) if has_floats(one.type)}
        self.results = [type for type in kernel.results if carries(type)]
        found: dict[tuple[int, Prim], set[int]] = {
            (tree, prim): set() for tree in range(trees) for prim in (f16, f32, f64)
        }
        loose: dict[tuple[int, Prim], set[int]] = {key: set() for key in found}
        memory = Memory([np.zeros(0, np.uint8)] * trees)
        for symbol in kernel.fields:
            for point in np.ndindex(*symbol.shape):
                place = memory.place(symbol, [i + start for i, start in zip(point, symbol.offset or (0,) * len(point))])
                for start, prim in zip(place.offsets, place.prims):
                    if prim.is_float:
                        found[symbol.tree, prim].add(start)
                        if symbol.name in PLACES and PLACES[symbol.name].unordered:
                            loose[symbol.tree, prim].add(start)
        self.cells = [
            (tree, prim, np.array(sorted(one), int)[:, None] + np.arange(prim.size))
            for (tree, prim), one in found.items()
        ]
        self.loose = [at in loose[key] for key, one in found.items() for at in sorted(one)]

    def ordered(self, count: int) -> Any:
        """Of so many numbers, those that do not depend on the order of iterations."""
        return ~np.array([*self.loose, *[False] * (count - len(self.loose))], bool)

    def in_memory(self, numbers: Numbers) -> Any:
        """Of a vector of inputs, which are in fields or arrays."""
        parts = [np.full(len(at), True) for _, _, at in self.cells]
        for k, type in self.params.items():
            parts.append(np.full(floats_of(numbers.args[k], type).size, isinstance(type, Array)))
        return np.concatenate(parts or [np.zeros(0, bool)])

    def read(self, numbers: Numbers, inputs: bool) -> Any:
        """The vector of those numbers; of inputs, with all parameters, otherwise with arrays and results."""
        parts = [numbers.trees[tree][at].reshape(-1).view(prim.np) for tree, prim, at in self.cells]
        for k, type in self.params.items():
            if isinstance(type, Array) or inputs:
                parts.append(floats_of(numbers.args[k], type))
        parts += [floats_of(value, type) for value, type in zip(numbers.results, self.results, strict=False)]
        return np.concatenate([np.asarray(part, np.float64).reshape(-1) for part in parts] or [np.zeros(0)])

    def write(self, numbers: Numbers, vector: Any, inputs: bool = True) -> None:
        """Put the numbers of such a vector there. Behind parameters come those of results, which are not written."""
        start = 0

        def take(count: int) -> Any:
            nonlocal start
            start += count
            return vector[start - count : start]

        for tree, prim, at in self.cells:
            numbers.trees[tree][at] = take(len(at)).astype(prim.np).view(np.uint8).reshape(-1, prim.size)
        for k, type in self.params.items():
            if isinstance(type, Array) or inputs:
                count = floats_of(numbers.args[k], type).size
                numbers.args[k] = _with_floats(numbers.args[k], type, list(take(count)))


def floats_of(value: Any, type: Type) -> Any:
    """The floats in a value of a type, as a vector of f64."""
    if isinstance(type, Array):
        return np.asarray(value, np.float64).reshape(-1)
    return np.array([x for x, prim in zip(_scalars(value, type), flatten(type)) if prim.is_float], np.float64)


def _scalars(value: Any, type: Type) -> list[Any]:
    if isinstance(type, Prim):
        return [value]
    if isinstance(type, Struct):
        members = [value[name] for name, _ in type.members] if isinstance(value, dict) else list(value)
        return [x for one, (_, inner) in zip(members, type.members) for x in _scalars(one, inner)]
    return list(np.asarray(value, object).reshape(-1))


def _with_floats(value: Any, type: Type, floats: list[Any]) -> Any:
    """The same value with other floats, which are taken from the list."""
    if isinstance(type, Array):
        value.reshape(-1)[:] = floats
        return value
    if isinstance(type, Struct):
        parts = [value[name] for name, _ in type.members] if isinstance(value, dict) else list(value)
        made = []
        for one, (_, inner) in zip(parts, type.members):
            count = floats_in(inner)
            made.append(_with_floats(one, inner, floats[:count]))
            del floats[:count]
        return made
    if not carries(type):
        return value
    return floats[0] if isinstance(type, Prim) else np.array(floats).reshape(type.shape)


def nothing(value: Any, type: Type) -> Any:
    """A companion of an argument, all 0."""
    if isinstance(type, Array):
        return np.zeros_like(value)
    if isinstance(type, Struct):
        parts = [value[name] for name, _ in type.members] if isinstance(value, dict) else list(value)
        return [nothing(one, inner) for one, (_, inner) in zip(parts, type.members)]
    return np.zeros(type.shape, type.elem.np) if isinstance(type, Tensor) else type.np.type(0)


def floats_in(type: Type) -> int:
    return sum(prim.is_float for prim in flatten(type))


def carrying(results: Sequence[Any], types: Sequence[Type]) -> list[Any]:
    return [value for value, type in zip(results, types, strict=True) if carries(type)]
