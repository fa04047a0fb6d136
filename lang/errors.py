"""The exceptions and warnings that Weft raises, under Weft's names and under Taichi's.

A mistake in a kernel raises a `CompilationError`, whose message shows the file, the line and a caret. Each kind of
mistake is also the Python exception that one would expect: an unknown name is a `NameError`, a wrong type a
`TypeError`. A wrong argument of a launch raises an `ArgumentError`. An error while a kernel runs raises a
`KernelFault`.

The compiler gives three warnings. A `PrecisionWarning` says that a value may lose precision where it is stored. A
`RaceWarning` says that several iterations of a parallel loop assign the same variable. An `OverflowWarning` says that
an integer overflowed in debug mode."""

from __future__ import annotations

import os

from weft.ir.errors import CompilationError, InternalError, TypeMismatch, WeftError
from weft.runtime.errors import (
    ArithmeticFault,
    CapacityFault,
    DataRace,
    IndexFault,
    KernelFault,
    MemoryFault,
    OutOfBoundsWarning,
    OutOfMemory,
    OverflowWarning,
    RecursionFault,
    UninitialisedRead,
)

__all__ = [
    "ArgumentError",
    "ArithmeticFault",
    "CapacityFault",
    "CompilationError",
    "DataRace",
    "GradientWarning",
    "IndexFault",
    "InternalError",
    "KernelFault",
    "MemoryFault",
    "OutOfBoundsWarning",
    "OutOfMemory",
    "OverflowWarning",
    "PrecisionWarning",
    "RaceWarning",
    "RecursionFault",
    "StaticAssertion",
    "TaichiAssertionError",
    "TaichiCompilationError",
    "TaichiIndexError",
    "TaichiNameError",
    "TaichiRuntimeError",
    "TaichiRuntimeTypeError",
    "TaichiSyntaxError",
    "TaichiTypeError",
    "TypeMismatch",
    "UninitialisedRead",
    "UnknownName",
    "UnsupportedSyntax",
    "WeftError",
    "WrongIndex",
    "WrongResult",
    "beneath_compiler",
    "without_compiler",
]


class StaticAssertion(CompilationError, AssertionError):
    """The condition of a `static_assert` is false."""


class UnsupportedSyntax(CompilationError, SyntaxError):
    """The kernel uses a Python construct that kernels do not support."""


class UnknownName(CompilationError, NameError):
    """A name or an attribute does not exist."""


class WrongIndex(CompilationError, IndexError):
    """The number of indices is wrong, or an index is out of bounds."""


class PrecisionWarning(UserWarning):
    """A kernel stores a value in a type that may not represent it exactly. The warning is given at compile time, once
    for each place."""


class GradientWarning(UserWarning):
    """A derivative ends where the program may not expect it, or a gradient is computed from other values than those
    that its kernel had. The warning is given once for each place. `ti.stop_grad` and `ti.ad.no_grad` end derivatives on
    purpose."""


class RaceWarning(UserWarning):
    """Several iterations of a parallel loop assign the same variable of the kernel. The warning is given at compile
    time, once for each place. With `debug=True` it is a CompilationError."""


class ArgumentError(WeftError, RuntimeError, TypeError):
    """The arguments of a kernel call do not match the kernel's parameters."""


class WrongResult(InternalError):
    """`init(verify="results")` found that the machine code of a kernel computed a wrong result. The message names the
    kernel, the difference, and the pass that caused it, if a pass did."""


TaichiCompilationError = CompilationError
TaichiSyntaxError = UnsupportedSyntax
TaichiNameError = UnknownName
TaichiTypeError = TypeMismatch
TaichiIndexError = WrongIndex
TaichiRuntimeError = WeftError
TaichiRuntimeTypeError = ArgumentError
TaichiAssertionError = KernelFault


def beneath_compiler(error: Exception) -> Exception:
    """Return an exception that the program raised while the compiler called it, with only the frames of the program in
    its traceback."""
    if os.environ.get("WEFT_TRACEBACK") == "full" or error.__traceback__ is None:
        return error
    return error.with_traceback(error.__traceback__.tb_next)


def without_compiler(error: CompilationError) -> CompilationError:
    """Return the exception for raising it again, without the compiler's frames in its traceback. There are dozens of
    them, and they do not help the user. They are kept if WEFT_TRACEBACK is "full"."""
    return error if os.environ.get("WEFT_TRACEBACK") == "full" else error.with_traceback(None)
