"""Marks for `init(check_uninitialised=True)`: reading an element that nothing has written is an error.

The *mark* of a scalar is a scalar of the same type. It is 0 until something writes the scalar, and 1 from then on. In a
tree or an ndarray, all marks have the same distance from their scalars, so the address of a mark is the address of its
scalar plus that distance. The marks of a field are a shadow of the field, in a tree of its own (`shadows.py`). Those of
an ndarray follow it in memory that is allocated twice as large. Kernels check and set marks themselves
(`ir/transforms/uninitialised.py`). This module tells them where the marks of their arrays are. In Python scope, fields
and ndarrays check and set marks too (`marked.py`)."""

from __future__ import annotations

import weakref
from bisect import bisect_right, insort
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from weft.ir.types import Array, Prim, Tensor, Type, element, flat_size

if TYPE_CHECKING:
    from weft.ir.artifact import Artifact

__all__ = ["SLACK", "Marking", "Places", "allocate", "behind", "places_of"]

_UNIT = 64
SLACK = 2  # indices


def behind(program: Any, size: int) -> int:
    """The distance in bytes from a scalar to its mark, in memory of this size. 0 if the program keeps no marks."""
    return -(-size // _UNIT) * _UNIT if program.config.check_uninitialised else 0


def allocate(program: Any, size: int, owner: str, reach: int) -> Any:
    """Allocate a zeroed buffer on the device of the program, with room for marks if the program keeps them. An access
    whose index is wrong by one is at most `reach` bytes outside of the buffer. No other buffer lies within twice that
    distance."""
    distance, memory = behind(program, size), program.device.memory
    buffer = memory.allocate(distance + size, owner, SLACK * reach)
    if distance:
        places_of(program).add(memory.address(buffer), size, distance, buffer)
    return buffer


def places_of(program: Any) -> Places:
    """The record of the program's memory that has marks."""
    with program.lock:
        program.marks = program.marks or Places(program)
        found: Places = program.marks
        return found


class Places:
    """The memory that has marks, by address."""

    def __init__(self, program: Any) -> None:
        self._program = weakref.proxy(program)
        self._starts: list[int] = []
        self._spans: dict[int, tuple[int, int]] = {}  # start -> (size of the memory, distance of its marks)
        self._ones: dict[Type, Any] = {}

    def add(self, start: int, size: int, distance: int, buffer: Any) -> None:
        """Record memory of this size whose marks are at this distance, until `buffer` is freed."""
        insort(self._starts, start)
        self._spans[start] = size, distance
        held = buffer if getattr(buffer, "base", None) is None else buffer.base  # the object that outlives all views
        weakref.finalize(held, self._remove, start).atexit = False

    def _remove(self, start: int) -> None:
        self._starts.remove(start)
        del self._spans[start]

    def of(self, address: int) -> int:
        """The address of the mark of the scalar at this address. 0 if it has none."""
        position = bisect_right(self._starts, address) - 1
        if position < 0:
            return 0
        start = self._starts[position]
        size, distance = self._spans[start]
        return address + distance if address < start + size else 0

    def array(self, arg: Any, kind: Array) -> tuple[int, tuple[int, ...], tuple[int, ...]]:
        """The marks of an array argument, as an array argument. Arrays of other libraries count as written: all their
        elements share one mark."""
        if isinstance(arg, tuple):
            address, shape, strides = arg[:3]
        else:
            address, shape, strides = arg.__array_interface__["data"][0], arg.shape, arg.strides
            shape, strides = shape[: kind.ndim], strides[: kind.ndim]
        marks = self.of(address)
        return (marks, shape, strides) if marks else (self._one(kind.elem), shape, (0,) * kind.ndim)

    def _one(self, kind: Type) -> int:
        """The address of an element of this type whose marks are set."""
        memory = self._program.device.memory
        if kind not in self._ones:
            assert isinstance(kind, (Prim, Tensor))  # arrays of structs are ndarrays, which have marks
            prim, count = element(kind), flat_size(kind)
            self._ones[kind] = memory.allocate(prim.size * count, "the check of uninitialised elements")
            memory.view(self._ones[kind], prim.np, (count,))[...] = 1
        return int(memory.address(self._ones[kind]))


class Marking:
    """A loaded kernel that checks the marks of its array arguments. It takes the arguments of the kernel and passes the
    marks as well."""

    def __init__(self, program: Any, run: Callable[..., Any], artifact: Artifact) -> None:
        self.program, self.inner = program, run
        params = enumerate(artifact.slots.params)
        self.arrays = [(k, param.type) for k, param in params if isinstance(param.type, Array) and not param.hidden]

    def __call__(self, trees: Sequence[int], args: Sequence[Any]) -> Any:
        places = places_of(self.program)
        return self.inner(trees, [*args, *(places.array(args[position], kind) for position, kind in self.arrays)])
