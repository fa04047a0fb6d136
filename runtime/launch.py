"""Launching CPU kernels: arguments into the context, one native call, results and faults out.

A `Frame` is the memory of one launch: the context's slots and after them the error record. A kernel keeps the frames
it has used, so a launch allocates nothing, and as many may be under way at once as there are Python threads.
"""

from __future__ import annotations

import ctypes
import struct
import sys
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from weft.ir.artifact import ERROR_WORDS, Artifact, Site, Slots
from weft.ir.errors import InternalError
from weft.ir.scalar import cast_value
from weft.ir.types import Array, Prim, Type, flatten, i64, u64
from weft.runtime.errors import FORMATS, assemble, fault, read_scalars

if TYPE_CHECKING:
    from weft.runtime.cpu import CpuDevice

__all__ = ["CpuKernel", "array_argument"]

_ENTRY = ctypes.CFUNCTYPE(None, ctypes.c_void_p)
_PRINT = ctypes.CFUNCTYPE(None, ctypes.c_int64, ctypes.c_void_p)


def array_argument(array: Any, ndim: int) -> tuple[int, tuple[int, ...], tuple[int, ...]]:
    """What an `Array` parameter takes for a numpy array: address, extents and byte strides of its first `ndim` axes."""
    return array.__array_interface__["data"][0], array.shape[:ndim], array.strides[:ndim]


class Frame:
    """Memory of one launch; `address` is a ctypes pointer, `words` are its signed 8-byte words."""

    __slots__ = ("address", "buffer", "record", "words")

    def __init__(self, slots: int) -> None:
        memory = np.zeros(slots + ERROR_WORDS + 8, np.int64)
        start = -memory.ctypes.data % 64 // 8
        self.buffer: Any = memory[start : start + slots + ERROR_WORDS].data.cast("B")
        self.words = self.buffer.cast("q")
        base = int(memory.ctypes.data) + 8 * start
        self.address = ctypes.c_void_p(base)
        self.record = base + 8 * slots


class CpuKernel:
    """A loaded kernel: `kernel(trees, args)`.

    `trees` are the base addresses of the kernel's SNode trees. `args` has one item per parameter: a number for a
    primitive, the sequence of its scalars (row-major) for a tensor or struct, `(address, shape, byte strides)` for an
    array. Returns the scalars of all results, as Python numbers. Raises what an assertion or a print raised.
    """

    def __init__(self, artifact: Artifact, device: CpuDevice) -> None:
        slots = artifact.slots
        self.artifact, self.device = artifact, device
        self._code = device.loader.load(artifact.code, (artifact.entry,))
        self._run: Any = _ENTRY(self._code[artifact.entry])
        self._spread = _spreaders(slots)
        self._input = struct.Struct("=QQQ" + "Q" * slots.trees + _formats(_scalars(slots)))
        self._output = struct.Struct("=" + _formats([p for type in slots.results for p in flatten(type)]))
        self._result_at = 8 * slots.result_start
        self._state = slots.count  # the error record's first word
        self._frames: list[Frame] = []
        self._raised: list[BaseException] = []
        self._callback: Any = None
        self._services: Any = None
        self._table = self._service_table(artifact.sites)
        self._next_seed = device.next_seed

    def __call__(self, trees: Sequence[int], args: Sequence[Any]) -> tuple[Any, ...]:
        try:
            frame = self._frames.pop()
        except IndexError:
            frame = Frame(self._state)
        values: Sequence[Any] = args
        if self._spread is not None:
            values = []
            for spread, arg in zip(self._spread, args):
                spread(values, arg)
        head = (self._table, frame.record, self._next_seed(), *trees)
        try:
            self._input.pack_into(frame.buffer, 0, *head, *values)
        except (struct.error, OverflowError, TypeError, ValueError):
            self._pack_cast(frame, head, values)
        self._run(frame.address)
        if frame.words[self._state] or self._raised:
            self._fail(frame)
        result = self._output.unpack_from(frame.buffer, self._result_at)
        self._frames.append(frame)
        return result

    def _pack_cast(self, frame: Frame, head: tuple[int, ...], values: Sequence[Any]) -> None:
        """The same for values that `struct` refuses: they are cast as a kernel would, by wrapping or saturating."""
        types = _scalars(self.artifact.slots)
        if len(types) != len(values) or len(head) != 3 + self.artifact.slots.trees:
            found = f"{len(head) - 3} trees and {len(values)} scalars"
            raise InternalError(
                f"launch: kernel {self.artifact.name} takes {self.artifact.slots.trees} trees and {len(types)} scalars,"
                f" not {found}"
            )
        cast = [cast_value(value, type).item() for type, value in zip(types, values)]
        self._input.pack_into(frame.buffer, 0, *head, *cast)

    def _fail(self, frame: Frame) -> None:
        """Raises what went wrong, and makes the frame ready for the next launch."""
        at = self._state
        state, site = frame.words[at], frame.words[at + 1]
        values = bytes(frame.buffer[8 * (at + 2) :])
        frame.words[at] = 0
        self._frames.append(frame)
        if self._raised:
            raise self._raised.pop(0)
        if state != 2:
            raise InternalError(f"launch: kernel {self.artifact.name} left an error record in state {state}")
        raise fault(self.artifact.sites[site], values)

    def _service_table(self, sites: tuple[Site, ...]) -> int:
        """Address of the service table: the device's, or one of our own if the kernel prints."""
        if not any(site.kind == "print" for site in sites):
            return self.device.services
        self._callback = _PRINT(_printer(sites, self._raised))
        address = ctypes.cast(self._callback, ctypes.c_void_p).value or 0
        self._services = self.device.service_table(address)
        return ctypes.addressof(self._services)


def _scalars(slots: Slots) -> list[Prim]:
    """The type of each slot that the parameters take."""
    result: list[Prim] = []
    for param in slots.params:
        type = param.type
        result += [u64] + [i64] * (2 * type.ndim) if isinstance(type, Array) else flatten(type)
    return result


def _formats(prims: Sequence[Prim]) -> str:
    return "".join(FORMATS[prim.text] for prim in prims)


def _spread_array(values: list[Any], arg: tuple[int, Sequence[int], Sequence[int]]) -> None:
    address, shape, strides = arg
    values.append(address)
    values.extend(shape)
    values.extend(strides)


def _spreaders(slots: Slots) -> list[Callable[[list[Any], Any], None]] | None:
    """How each argument becomes scalars; None where all are scalars already."""
    types: list[Type] = [param.type for param in slots.params]
    if all(isinstance(type, Prim) for type in types):
        return None
    return [
        list[Any].append if isinstance(type, Prim) else _spread_array if isinstance(type, Array) else list[Any].extend
        for type in types
    ]


def _printer(sites: tuple[Site, ...], raised: list[BaseException]) -> Callable[[int, int], None]:
    """The native code's print service. What goes wrong in it, Ctrl-C included, is raised after the launch."""
    sizes = [8 * sum(len(flatten(type)) for type in site.types) for site in sites]

    def show(site: int, values: int) -> None:
        try:
            text = format_print(sites[site], ctypes.string_at(values, sizes[site]) if sizes[site] else b"")
            if sys.stdout is not None:
                sys.stdout.write(text)
        except BaseException as error:
            raised.append(error)

    return show


def format_print(site: Site, slots: bytes) -> str:
    """The text of a print: literal parts as they are, a part `NUL spec` is the next value formatted by `spec`."""
    scalars = iter(read_scalars(site.types, slots))
    values = iter([assemble(type, scalars) for type in site.types])
    return "".join(_format(next(values), part[1:]) if part[:1] == "\0" else part for part in site.text)


def _format(value: Any, spec: str) -> str:
    if not spec:
        return str(value)
    return format(value.item() if isinstance(value, np.generic) else value, spec)
