"""The errors a user of Weft meets, under our names and under Taichi's.

A mistake in a kernel is a `CompilationError`: it shows file, line and a caret. Each kind is also the Python exception
one would expect: an unknown name is a `NameError`, a wrong type a `TypeError`. A wrong argument of a launch is an
`ArgumentError`; what goes wrong while a kernel runs is a `KernelFault`. A value that may lose something where it is
stored is a `PrecisionWarning`, a variable that iterations assign at once a `RaceWarning`, an integer that overflows in
debug mode an `OverflowWarning`.
"""

from __future__ import annotations

import os

from weft.ir.errors import CompilationError, InternalError, TypeMismatch, WeftError
from weft.runtime.errors import (
    ArithmeticFault,
    IndexFault,
    KernelFault,
    MemoryFault,
    OutOfBoundsWarning,
    OutOfMemory,
    OverflowWarning,
    RecursionFault,
)

__all__ = [
    "ArgumentError",
    "ArithmeticFault",
    "CompilationError",
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
    "UnknownName",
    "UnsupportedSyntax",
    "WeftError",
    "WrongIndex",
    "WrongResult",
    "beneath_compiler",
    "without_compiler",
]


class StaticAssertion(CompilationError, AssertionError):
    """A `static_assert` does not hold."""


class UnsupportedSyntax(CompilationError, SyntaxError):
    """Python that has no meaning in a kernel."""


class UnknownName(CompilationError, NameError):
    """A name or attribute that is not there."""


class WrongIndex(CompilationError, IndexError):
    """A wrong number of indices, or one that lies outside."""


class PrecisionWarning(UserWarning):
    """A kernel makes a value fit a place that may not hold it whole. Given when it is compiled, once for each place."""


class RaceWarning(UserWarning):
    """Iterations of a parallel loop assign one variable of the kernel. Given when it is compiled, once for each place;
    with `debug=True` a CompilationError."""


class ArgumentError(WeftError, RuntimeError, TypeError):
    """A kernel was called with arguments that do not fit its parameters."""


class WrongResult(InternalError):
    """With `init(verify="results")`: what the machine code of a kernel made is not what the kernel means. Names the
    kernel, what differs, and the pass at fault, if it is one."""


TaichiCompilationError = CompilationError
TaichiSyntaxError = UnsupportedSyntax
TaichiNameError = UnknownName
TaichiTypeError = TypeMismatch
TaichiIndexError = WrongIndex
TaichiRuntimeError = WeftError
TaichiRuntimeTypeError = ArgumentError
TaichiAssertionError = KernelFault


def beneath_compiler(error: Exception) -> Exception:
    """What something of the program raised, called by the compiler: with the frames of the program alone."""
    if os.environ.get("WEFT_TRACEBACK") == "full" or error.__traceback__ is None:
        return error
    return error.with_traceback(error.__traceback__.tb_next)


def without_compiler(error: CompilationError) -> CompilationError:
    """The mistake, to be raised anew: its traceback no longer leads through the compiler, dozens of frames that tell
    nothing to who made it. They stay where WEFT_TRACEBACK is "full"."""
    return error if os.environ.get("WEFT_TRACEBACK") == "full" else error.with_traceback(None)
