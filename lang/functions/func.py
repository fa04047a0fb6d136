"""`@func` and `@real_func`: functions that kernels call."""

from __future__ import annotations

import functools
from collections.abc import Callable
from types import FunctionType, MethodType
from typing import Any

from weft.ir.errors import CompilationError
from weft.lang.functions.annotations import evaluate_annotations
from weft.lang.functions.lost_source import find_lost
from weft.lang.values.builtins import PyFunc

__all__ = ["Func", "check_function", "func", "real_func"]


class Func:
    """A function that kernels inline where they call it. `function` is the plain Python function."""

    is_pyfunc = False

    def __init__(self, function: Callable[..., Any], is_real: bool = False) -> None:
        functools.update_wrapper(self, function)
        self.__name__ = function.__name__
        self.function, self.is_real = function, is_real

    def __call__(self, *args: Any, **keywords: Any) -> Any:
        raise CompilationError(
            f"'{self.function.__name__}' is a @func: call it from a kernel or another @func (a @pyfunc also works here)"
        )

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        return self if instance is None else MethodType(self, instance)

    def __reduce__(self) -> str:
        return self.function.__qualname__  # copy and pickle it by name, as Python does with functions

    def __repr__(self) -> str:
        return f"<func {self.function.__qualname__}>"


def func(function: Callable[..., Any], is_real_function: bool = False) -> Func:
    """Make `function` callable from kernels. Arguments are passed by value, those of `template()` parameters by
    reference. It is inlined where it is called. Annotations are optional. Raises CompilationError when Python calls it:
    a `@ti.pyfunc` can be called there.

    Example:
        @ti.func
        def bump(r, width: ti.f32):
            return ti.exp(-r * r / width)

        @ti.kernel
        def at(r: ti.f32) -> ti.f32:
            return bump(r, 2.0)

        at(1.0)  # 0.606531
    """
    check_function(function, "func")
    evaluate_annotations(function, 1)
    find_lost(function, 1)
    return Func(function, is_real_function)


def real_func(function: Callable[..., Any]) -> Func:
    """Make `function` callable from kernels without inlining it. It is compiled once and may call itself. Its
    parameters and its result need annotations, and are passed by value. Raises CompilationError where a kernel calls
    it, if annotations are missing.

    Example:
        @ti.real_func
        def gcd(a: ti.i32, b: ti.i32) -> ti.i32:
            if b == 0:
                return a
            return gcd(b, a % b)

        @ti.kernel
        def compute(a: ti.i32, b: ti.i32) -> ti.i32:
            return gcd(a, b)

        compute(48, 180)  # 12
    """
    check_function(function, "real_func")
    evaluate_annotations(function, 1)
    find_lost(function, 1)
    return Func(function, True)


def check_function(function: Any, decorator: str) -> None:
    """Raise CompilationError unless `function` can be decorated."""
    if isinstance(function, (Func, PyFunc)) or getattr(function, "is_kernel", False):
        name = function.function.__name__
        raise CompilationError(
            f"'{name}' is already a kernel or a @func: a function can have only one of these decorators"
        )
    if isinstance(function, (staticmethod, classmethod)):
        raise CompilationError(f"put @{type(function).__name__} above @ti.{decorator}, not below")
    if not isinstance(function, (FunctionType, MethodType)):
        raise CompilationError(f"@ti.{decorator} must decorate a function that is written with 'def', not {function!r}")
