"""Functions whose gradients the user writes, and functions without gradients."""

from __future__ import annotations

from collections.abc import Callable
from functools import update_wrapper
from typing import Any

from weft.lang.autodiff.contexts import active, constant, unrecorded
from weft.lang.errors import ArgumentError

__all__ = ["grad_for", "grad_replaced", "no_grad"]


class _Replaced:
    """A Python function that tapes record as one call. `gradient` is the function that computes its gradient."""

    def __init__(self, primal: Callable[..., Any]) -> None:
        self.primal = primal
        self.gradient: Callable[..., Any] | None = None
        self.__name__ = getattr(primal, "__name__", "a function")
        update_wrapper(self, primal)

    def __call__(self, *args: Any, **keywords: Any) -> Any:
        tapes = [context for context in active() if context.records]
        if tapes and self.gradient is None:
            raise ArgumentError(
                f"'{self.__name__}' has no gradient: write a function for it, with @ti.ad.grad_for({self.__name__})"
            )
        with unrecorded():
            result = self.primal(*args, **keywords)
        for tape in tapes:
            tape.insert(lambda: self.grad(*args, **keywords))
        return result

    def grad(self, *args: Any, **keywords: Any) -> Any:
        """Run the gradient. Raises ArgumentError if there is none."""
        if self.gradient is None:
            raise ArgumentError(f"'{self.__name__}' has no gradient: write @ti.ad.grad_for({self.__name__})")
        return self.gradient(*args, **keywords)

    def __get__(self, owner: Any, kind: Any = None) -> Any:
        return self if owner is None else _Bound(self, owner)


class _Bound:
    """A method with a gradient of its own, of an object."""

    def __init__(self, replaced: _Replaced, owner: Any) -> None:
        self._replaced, self._owner = replaced, owner

    def __call__(self, *args: Any, **keywords: Any) -> Any:
        return self._replaced(self._owner, *args, **keywords)

    def grad(self, *args: Any, **keywords: Any) -> Any:
        """Run the gradient."""
        return self._replaced.grad(self._owner, *args, **keywords)


def grad_replaced(func: Callable[..., Any]) -> Any:
    """Decorate a Python function that launches kernels, whose gradient is written by hand with `grad_for`.

    A tape records a call of the function, and not the kernels that it launches. The function may be a method. A call
    under a tape raises ArgumentError if there is no gradient.

    Example:
        x = ti.field(ti.f32, (), needs_grad=True)
        loss = ti.field(ti.f32, (), needs_grad=True)

        @ti.kernel
        def square():
            loss[None] = x[None] ** 2

        @ti.ad.grad_replaced
        def run():
            square()

        @ti.ad.grad_for(run)
        def run_backward():
            x.grad[None] += 100.0

        with ti.ad.Tape(loss):
            run()
        x.grad[None]  # 100.0
    """
    if not callable(func):
        raise ArgumentError(f"grad_replaced must decorate a function, not {func!r}")
    return _Replaced(func)


def grad_for(primal: Any) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Decorate the function that computes the gradient of `primal`, which `grad_replaced` has decorated. It gets the
    arguments of the call. Tapes run it in reverse order, and `primal.grad(...)` runs it at once. Raises ArgumentError
    for a function that `grad_replaced` has not decorated.

    Example:
        x = ti.field(ti.f32, (), needs_grad=True)

        @ti.ad.grad_replaced
        def forward(scale):
            pass

        @ti.ad.grad_for(forward)
        def backward(scale):
            x.grad[None] += scale

        forward.grad(2.5)
        x.grad[None]  # 2.5
    """
    if not isinstance(primal, _Replaced):
        raise ArgumentError(f"grad_for takes a function that is decorated with @ti.ad.grad_replaced, not {primal!r}")

    def decorate(gradient: Callable[..., Any]) -> Callable[..., Any]:
        primal.gradient = gradient
        return gradient

    return decorate


def no_grad(func: Callable[..., Any]) -> Any:
    """Decorate a Python function whose kernels no tape records, so that no gradient flows through them.

    Example:
        x = ti.field(ti.f32, (), needs_grad=True)
        y = ti.field(ti.f32, (), needs_grad=True)
        loss = ti.field(ti.f32, (), needs_grad=True)
        x[None] = 3.0

        @ti.kernel
        def scale():
            y[None] = 2 * x[None]

        @ti.kernel
        def add():
            loss[None] += y[None] + x[None]

        @ti.ad.no_grad
        def constant_part():
            scale()

        with ti.ad.Tape(loss):
            constant_part()
            add()
        x.grad[None]  # 1.0
    """
    if not callable(func):
        raise ArgumentError(f"no_grad must decorate a function, not {func!r}")

    def decorated(*args: Any, **keywords: Any) -> Any:
        with constant():
            return func(*args, **keywords)

    return update_wrapper(decorated, func)
