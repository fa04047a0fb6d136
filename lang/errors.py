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
    """The kernel uses a Python construct that kernels do not support. It is a CompilationError and a SyntaxError.

    Example:
        @ti.kernel
        def f():
            with open("file"):
                pass

        f()  # raises UnsupportedSyntax
    """


class UnknownName(CompilationError, NameError):
    """A name or an attribute does not exist. It is a CompilationError and a NameError.

    Example:
        @ti.kernel
        def f() -> ti.i32:
            return undefined_name

        f()  # raises UnknownName
    """


class WrongIndex(CompilationError, IndexError):
    """The number of indices is wrong, or an index is out of bounds, which the compiler can see. It is a
    CompilationError and an IndexError.

    Example:
        x = ti.field(ti.f32, (4, 4))

        @ti.kernel
        def f() -> ti.f32:
            return x[0]

        f()  # raises WrongIndex
    """


class PrecisionWarning(UserWarning):
    """A kernel stores a value in a type that may not represent it exactly. The warning is given at compile time, once
    for each place. `ti.cast` says that it is meant.

    Example:
        import warnings

        @ti.kernel
        def shorten(x: ti.f32) -> ti.i32:
            n = 0
            n = x * 2
            return n

        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            value = shorten(1.3)
        value, [one.category.__name__ for one in caught]  # (2, ['PrecisionWarning'])
    """


class GradientWarning(UserWarning):
    """A derivative ends where the program may not expect it, or a gradient is computed from other values than those
    that its kernel had. The warning is given once for each place. `ti.stop_grad` and `ti.ad.no_grad` end derivatives on
    purpose.

    Example:
        import warnings

        x, y = ti.field(ti.f32, (), needs_grad=True), ti.field(ti.f32, ())
        loss = ti.field(ti.f32, (), needs_grad=True)

        @ti.kernel
        def first():
            y[None] = x[None] * 2

        @ti.kernel
        def second():
            loss[None] = y[None]

        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            with ti.ad.Tape(loss):
                first()
                second()
        [one.category.__name__ for one in caught]  # ['GradientWarning']
    """


class RaceWarning(UserWarning):
    """Several iterations of a parallel loop assign the same variable of the kernel. The warning is given at compile
    time, once for each place. With `debug=True` it is a CompilationError.

    Example:
        import warnings

        @ti.kernel
        def last(n: ti.i32) -> ti.i32:
            found = 0
            for i in range(n):
                found = i
            return found

        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            value = last(10)
        [one.category.__name__ for one in caught]  # ['RaceWarning']
    """


class ArgumentError(WeftError, RuntimeError, TypeError):
    """The arguments of a kernel call do not match the kernel's parameters. It is a WeftError, a RuntimeError and a
    TypeError. Its other name is `ti.TaichiRuntimeTypeError`.

    Example:
        @ti.kernel
        def f(x: ti.f32):
            pass

        f("text")  # raises ArgumentError
        f()  # raises ArgumentError
    """


class WrongResult(InternalError):
    """`init(verify="results")` found that the machine code of a kernel computed a wrong result. The message names the
    kernel, the difference, and the pass that caused it, if a pass did.

    Example:
        ti.init(arch=ti.cpu, verify="results")

        @ti.kernel
        def add(a: ti.i32, b: ti.i32) -> ti.i32:
            return a + b

        add(2, 3)  # 5
        issubclass(ti.WrongResult, ti.InternalError)  # True
    """


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
