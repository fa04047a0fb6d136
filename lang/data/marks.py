"""`init(check_uninitialised=True)`: what nothing has written is not read.

The memory of each field tree and ndarray is made twice as long, and the second half holds the *marks*: the mark of a
scalar is a scalar of its type, as far behind it as the first half is long, 0 until something writes the scalar and 1
from then on. So the way to a scalar, with all its strides, is the way to its mark. Kernels check and set marks by
themselves (`ir/transforms/uninitialised.py`): here they are told where the marks of their trees and arrays are. In
Python scope fields and ndarrays do the same (`marked.py`).
"""

from __future__ import annotations

import weakref
from bisect import bisect_right, insort
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from weft.ir.symbols import Marks
from weft.ir.types import Array, Prim, Tensor, Type, element, flat_size

if TYPE_CHECKING:
    from weft.ir.artifact import Artifact

__all__ = ["Marking", "Places", "allocate", "behind"]

_UNIT = 64
_SLACK = 2  # indices


def behind(program: Any, size: int) -> int:
    """How many bytes behind a scalar of memory of that size its mark is; 0 if the program keeps no marks."""
    return -(-size // _UNIT) * _UNIT if program.config.check_uninitialised else 0


def allocate(program: Any, size: int, owner: str, reach: int) -> Any:
    """A zeroed buffer of the program's device, with the marks in it where the program keeps any. Where an index is
    wrong by one, an access misses it by `reach` bytes at most; there and twice as far is nothing of anybody's."""
    distance, memory = behind(program, size), program.device.memory
    buffer = memory.allocate(distance + size, owner, _SLACK * reach)
    if distance:
        with program.lock:
            program.marks = program.marks or Places(program)
            program.marks.add(memory.address(buffer), distance, buffer)
    return buffer


class Places:
    """Which memory has marks, by address."""

    def __init__(self, program: Any) -> None:
        self._program = weakref.proxy(program)
        self._starts: list[int] = []
        self._distances: dict[int, int] = {}
        self._ones: dict[Type, Any] = {}

    def add(self, start: int, distance: int, buffer: Any) -> None:
        """There is memory now, as long as its marks are far; until it is freed."""
        insort(self._starts, start)
        self._distances[start] = distance
        held = buffer if getattr(buffer, "base", None) is None else buffer.base  # what outlives all views
        weakref.finalize(held, self._remove, start).atexit = False

    def _remove(self, start: int) -> None:
        self._starts.remove(start)
        del self._distances[start]

    def of(self, address: int) -> int:
        """Where the mark of the scalar at that address is; 0 if it has none."""
        position = bisect_right(self._starts, address) - 1
        if position < 0:
            return 0
        start = self._starts[position]
        distance = self._distances[start]
        return address + distance if address < start + distance else 0

    def array(self, arg: Any, kind: Array) -> tuple[int, tuple[int, ...], tuple[int, ...]]:
        """The marks of an array argument, as an array argument. What others made counts as written: all its elements
        have the same marks."""
        if isinstance(arg, tuple):
            address, shape, strides = arg[:3]
        else:
            address, shape, strides = arg.__array_interface__["data"][0], arg.shape, arg.strides
            shape, strides = shape[: kind.ndim], strides[: kind.ndim]
        marks = self.of(address)
        return (marks, shape, strides) if marks else (self._one(kind.elem), shape, (0,) * kind.ndim)

    def _one(self, kind: Type) -> int:
        """Where an element of that type is whose marks are set."""
        memory = self._program.device.memory
        if kind not in self._ones:
            assert isinstance(kind, (Prim, Tensor))  # arrays of structs are ndarrays, which have marks
            prim, count = element(kind), flat_size(kind)
            self._ones[kind] = memory.allocate(prim.size * count, "the check of uninitialised elements")
            memory.view(self._ones[kind], prim.np, (count,))[...] = 1
        return int(memory.address(self._ones[kind]))


class Marking:
    """A loaded kernel that checks marks: takes what the kernel takes, and gives it the marks as well."""

    def __init__(self, program: Any, run: Callable[..., Any], artifact: Artifact, marks: Marks) -> None:
        self.program, self.inner, self.marks = program, run, marks
        self.trees, params = artifact.slots.trees, artifact.slots.params
        self.arrays = [(k, p.type) for k, p in enumerate(params) if isinstance(p.type, Array)]
        self.arrays = self.arrays[: len(self.arrays) // 2]  # the others are their marks

    def __call__(self, trees: Sequence[int], args: Sequence[Any]) -> Any:
        program = self.program
        program.marks = program.marks or Places(program)
        places = program.marks
        given = [*trees, *[0] * (self.marks.first - len(trees)), *map(places.of, trees[: self.marks.trees])]
        arrays = [places.array(args[position], kind) for position, kind in self.arrays]
        return self.inner(given[: self.trees], [*args, *arrays])
