"""Turn faults of running kernels into Python exceptions."""

from __future__ import annotations

import struct
import warnings
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from weft.ir.errors import Span, WeftError, message_parts, shown_values
from weft.ir.types import Prim, Struct, Tensor, Type, flat_size, flatten

if TYPE_CHECKING:
    from weft.ir.artifact import Site

__all__ = [
    "ArithmeticFault",
    "CapacityFault",
    "DataRace",
    "IndexFault",
    "KernelFault",
    "MemoryFault",
    "OutOfBoundsWarning",
    "OutOfMemory",
    "OverflowWarning",
    "Overlapping",
    "RecursionFault",
    "UninitialisedRead",
    "assemble",
    "fault",
    "kind_of_fault",
    "read_scalars",
    "show",
    "warn",
    "warn_overflow",
]

FORMATS: dict[str, str] = {
    "u1": "?7x",
    "u8": "B7x",
    "u16": "H6x",
    "u32": "I4x",
    "u64": "Q",
    "i8": "b7x",
    "i16": "h6x",
    "i32": "i4x",
    "i64": "q",
    "f16": "e6x",
    "f32": "f4x",
    "f64": "d",
}  # format of a scalar in its 8-byte slot, for `struct`


class KernelFault(WeftError, AssertionError):
    """An assertion of a kernel failed, with `debug=True`. Indices out of bounds, overflows and divisions by zero that a
    check finds are such errors too. Weft calls it KernelFault. The message shows the line and the values. It is an
    AssertionError.

    Example:
        ti.init(arch=ti.cpu, debug=True)

        @ti.kernel
        def f(n: ti.i32):
            for i in range(n):
                assert i < 10

        f(20)  # raises KernelFault
    """


class IndexFault(KernelFault, IndexError):
    """An index is out of the bounds of its field or array."""


class MemoryFault(IndexFault):
    """A kernel accessed memory outside of all its fields and arrays. An unchecked index was far out of bounds. With
    `debug=True` or `check_out_of_bound=True`, the index itself is reported. It is a `TaichiAssertionError` and an
    IndexError.

    Example:
        issubclass(ti.MemoryFault, ti.TaichiAssertionError)  # True
    """


class ArithmeticFault(KernelFault, ArithmeticError):
    """A kernel computed an operation that has no value."""


class RecursionFault(KernelFault, RecursionError):
    """The functions of a kernel recursed until the stack was full."""


class DataRace(KernelFault):
    """Two iterations of a parallel loop access one element, at least one of them writes it, and nothing orders them.
    `check_races=True` finds such accesses.

    Example:
        ti.init(arch=ti.cpu, check_races=True)
        x = ti.field(ti.i32, 10)

        @ti.kernel
        def shift():
            for i in range(9):
                x[i] = x[i + 1]

        shift()  # raises DataRace
    """


class UninitialisedRead(KernelFault):
    """A kernel read an element that was never written. `check_uninitialised=True` finds such reads.

    Example:
        ti.init(arch=ti.cpu, check_uninitialised=True)
        x = ti.field(ti.f32, 4)

        @ti.kernel
        def read() -> ti.f32:
            return x[2]

        read()  # raises UninitialisedRead
    """


class OutOfBoundsWarning(RuntimeWarning):
    """A kernel accessed an element outside of its field or array. A load gave 0, and a store was dropped. The warning
    is given once for each place.

    Example:
        import warnings

        x = ti.field(ti.f32, 4)

        @ti.kernel
        def read(i: ti.i32) -> ti.f32:
            return x[i]

        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            value = read(9)
            ti.sync()
        value, [one.category.__name__ for one in caught]  # (0.0, ['OutOfBoundsWarning'])
    """


class OverflowWarning(RuntimeWarning):
    """A kernel computed an integer that does not fit its type, with `check_overflow=True` and `debug=True`. The value
    wrapped around.

    Example:
        import warnings

        ti.init(arch=ti.cpu, debug=True)

        @ti.kernel
        def grow(a: ti.i32) -> ti.i32:
            return a * a

        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            value = grow(100000)
        value, [one.category.__name__ for one in caught]  # (1410065408, ['OverflowWarning'])
    """


class OutOfMemory(WeftError, MemoryError):
    """There is not enough memory. The message gives the requested size and the owners of the used memory. It is a
    MemoryError.

    Example:
        x = ti.field(ti.f64, (1 << 15, 1 << 15, 1 << 15))
        x[0, 0, 0] = 1  # raises OutOfMemory
    """


class CapacityFault(KernelFault, OutOfMemory):
    """A list is full, or no more cells of a sparse node fit into memory."""


class Overlapping(Exception):
    """A launch was refused: its arguments overlap, and this variant of the kernel requires that they do not."""


_FAULTS: dict[str, type[KernelFault]] = {
    "assert": KernelFault,
    "bounds": IndexFault,
    "arithmetic": ArithmeticFault,
    "recursion": RecursionFault,
    "race": DataRace,
    "uninitialised": UninitialisedRead,
    "memory": CapacityFault,
}


def kind_of_fault(error: KernelFault) -> str:
    """Return the kind of the assertion that raised `error`, or "memory" if none did."""
    return next((kind for kind, made in _FAULTS.items() if type(error) is made), "memory")


def fault(site: Site, slots: bytes) -> KernelFault:
    """Return the exception of `site`. The values in `slots` fill the slots of its message in order."""
    place = f"\n{site.span.render()}\n" if site.span is not None else ""
    return _FAULTS[site.kind](place + _filled(site, slots))


def warn(site: Site, slots: bytes, kernel: str) -> None:
    """Warn, at the line of the program, of a masked access or an overflow."""
    text = _filled(site, slots)
    if site.kind == "overflow":
        warn_overflow(text, site.span, kernel)
    else:
        text = (
            f"kernel '{kernel}': {text}; a read out of bounds returns 0, and a write out of bounds has no "
            "effect (this warning appears once for each kernel)"
        )
        _warn(OutOfBoundsWarning(text), site.span)


def warn_overflow(text: str, span: Span | None, kernel: str) -> None:
    """Warn of an overflow at that place."""
    place = f"\n{span.render()}\n" if span is not None else " "
    _warn(OverflowWarning(f"in kernel '{kernel}':{place}{text}"), span)


def _warn(warning: Warning, span: Span | None) -> None:
    if span is None:
        warnings.warn(warning, stacklevel=3)
    else:
        warnings.warn_explicit(warning, None, span.file, span.line)


def _filled(site: Site, slots: bytes) -> str:
    from weft.ir.artifact import ERROR_WORDS

    known = [type for k, type in enumerate(site.types) if sum(map(flat_size, site.types[: k + 1])) <= ERROR_WORDS - 2]
    scalars = iter(read_scalars(known, slots))
    pieces, specs = message_parts(site.text[0])
    values = shown_values(site.kind, [assemble(type, scalars) for type in known][: len(pieces) - 1])
    shown = [show(value, spec) for value, spec in zip(values, specs)] + ["..."] * (len(pieces) - 1 - len(values))
    return pieces[0] + "".join(value + piece for value, piece in zip(shown, pieces[1:]))


def read_scalars(types: Iterable[Type], slots: bytes) -> Sequence[Any]:
    """Read the scalars of values of those types, one 8-byte slot each. f32 and f16 become numpy scalars, which print
    with as few digits as their precision needs."""
    prims = [prim for type in types for prim in flatten(type)]
    values = struct.unpack_from("=" + "".join(FORMATS[prim.text] for prim in prims), slots)
    return [prim.np.type(value) if prim.is_float else value for prim, value in zip(prims, values)]


def assemble(type: Type, scalars: Any) -> Any:
    """Make a printable value of `type` from an iterator of its scalars: vectors become `[1, 2]`."""
    if isinstance(type, Prim):
        return next(scalars)
    if isinstance(type, Struct):
        return {name: assemble(member, scalars) for name, member in type.members}
    if isinstance(type, Tensor):
        flat = Listing(next(scalars) for _ in range(type.count))
        if len(type.shape) == 1:
            return flat
        width = type.shape[1]
        return Listing(Listing(flat[k : k + width]) for k in range(0, len(flat), width))
    raise TypeError(f"{type} has no scalars")


class Listing(list[Any]):
    """A list that shows its items with `str`, and applies a format spec to each of them."""

    def __str__(self) -> str:
        return "[" + ", ".join(map(str, self)) + "]"

    def __format__(self, spec: str) -> str:
        return "[" + ", ".join(format(_plain(item), spec) for item in self) + "]"


def show(value: Any, spec: str) -> str:
    """Format a value; without a spec, as `print` writes it."""
    return format(_plain(value), spec) if spec else str(value)


def _plain(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else value
