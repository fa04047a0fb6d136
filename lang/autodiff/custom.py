"""`ti.ad.custom`: kernels whose derivatives the user writes."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from functools import update_wrapper
from typing import Any

from weft.lang.autodiff.contexts import active, unrecorded
from weft.lang.errors import ArgumentError

__all__ = ["Custom", "custom"]


class Custom:
    """A kernel with derivatives that the user has written, as `custom` makes it. `vjp` and `jvp` decorate the rules.

    Example:
        x, y = ti.field(ti.f64, (), needs_grad=True), ti.field(ti.f64, (), needs_grad=True)

        @ti.ad.custom
        @ti.kernel
        def root():
            y[None] = ti.sqrt(x[None])

        @root.vjp
        @ti.kernel
        def root():
            x.grad[None] += y.grad[None] / (2 * y[None])
            y.grad[None] = 0.0

        x[None] = 4.0
        ti.ad.grad(root, x, y)()  # 0.25
    """

    def __init__(self, kernel: Any) -> None:
        self.kernel = kernel
        self._reverse: Callable[..., Any] | None = None
        self._forward: Callable[..., Any] | None = None
        update_wrapper(self, kernel)

    def vjp(self, function: Callable[..., Any]) -> Custom:
        """Take `function` for reverse mode: a kernel, or a Python function that launches kernels. It takes the
        arguments of the kernel. It adds to the gradients of what the kernel reads, from the gradients of what the
        kernel writes, and sets those to 0 that are overwritten. Returns this object."""
        self._reverse = _callable(function, "vjp")
        return self

    def jvp(self, function: Callable[..., Any]) -> Custom:
        """Take `function` for forward mode: a kernel, or a Python function that launches kernels. It takes the
        arguments of the kernel, and runs in the place of the kernel: it computes the values, and the duals of what the
        kernel writes. Returns this object."""
        self._forward = _callable(function, "jvp")
        return self

    def grad(self, *args: Any, **keywords: Any) -> Any:
        """Run the function for reverse mode, as `kernel.grad` runs a gradient. Raises ArgumentError if there is
        none."""
        return self._rule(self._reverse, "vjp", "gradient")(*args, **keywords)

    def __call__(self, *args: Any, **keywords: Any) -> Any:
        contexts = active()
        if not contexts:
            return self.kernel(*args, **keywords)
        tapes = [one for one in contexts if one.records]
        forward = [one for one in contexts if one.has_duals]
        run, reverse = self.kernel, self._reverse
        if tapes:
            reverse = self._rule(self._reverse, "vjp", "gradient")
        if forward:
            run = self._rule(self._forward, "jvp", "derivative in forward mode")
        launch = self.kernel.bind(args, keywords)
        with unrecorded(), ExitStack() as plain:
            for one in contexts:
                plain.enter_context(one.plainly(launch))
            result = run(*args, **keywords)
        for tape in tapes:
            tape.replace(launch, lambda: reverse(*args, **keywords))  # type: ignore[misc]
        return result

    def _rule(self, rule: Callable[..., Any] | None, name: str, what: str) -> Callable[..., Any]:
        if rule is None:
            own = self.kernel.__name__
            raise ArgumentError(
                f"kernel '{own}' has no {what} of its own: give it a function, with ti.ad.custom({own}).{name}(...)"
            )
        return rule

    def __get__(self, owner: Any, kind: Any = None) -> Any:
        return self if owner is None else _Bound(self, owner)

    def __repr__(self) -> str:
        return f"<custom {self.kernel!r}>"


class _Bound:
    """A method of an object."""

    def __init__(self, own: Custom, owner: Any) -> None:
        self._own, self._owner = own, owner
        self.__name__ = own.kernel.__name__

    def __call__(self, *args: Any, **keywords: Any) -> Any:
        return self._own(self._owner, *args, **keywords)

    def grad(self, *args: Any, **keywords: Any) -> Any:
        """As `Custom.grad`."""
        return self._own.grad(self._owner, *args, **keywords)


def custom(kernel: Any) -> Custom:
    """Give a kernel derivatives that you write: for an equation that it solves step by step, or because you know a
    cheaper or a more accurate one.

    Example:
        x, y = ti.field(ti.f64, 3, needs_grad=True), ti.field(ti.f64, 3, needs_grad=True)

        @ti.ad.custom
        @ti.kernel
        def cube_root():
            for i in x:
                y[i] = 1.0
                while ti.abs(y[i] ** 3 - x[i]) > 1e-12:
                    y[i] -= (y[i] ** 3 - x[i]) / (3 * y[i] ** 2)

        @cube_root.vjp
        @ti.kernel
        def cube_root():
            for i in x:
                x.grad[i] += y.grad[i] / (3 * y[i] ** 2)
                y.grad[i] = 0.0

        x.fill(8.0)
        value, pull = ti.ad.vjp(cube_root, x, y)()
        pull([12.0, 0.0, 0.0]).round(6).tolist()        # [1.0, 0.0, 0.0]

    Tapes, `FwdMode`, and the functions of `ti.ad.grad`, `jvp` and the others use them. Both rules may be given at once:
    `custom(kernel).vjp(back).jvp(ahead)`. The function for reverse mode sees the values that memory had after the call,
    also if later kernels overwrite them. In second derivatives, it is differentiated itself. Only fields and arrays
    that have `x.grad` or `x.dual` can be named in the rules; numbers that the kernel takes by value are constants.

    In contrast to `grad_replaced`, this takes a kernel, so that a tape knows what its rule reads. Raises ArgumentError
    for anything else, and at a call that needs a rule that is missing."""
    if not getattr(kernel, "is_kernel", False) or getattr(kernel, "kernel", kernel) is not kernel:
        raise ArgumentError(f"custom takes a kernel, not {kernel!r}; for a Python function use @ti.ad.grad_replaced")
    return Custom(kernel)


def _callable(function: Any, name: str) -> Callable[..., Any]:
    if not callable(function):
        raise ArgumentError(f"{name} takes a kernel or a function, not {function!r}")
    checked: Callable[..., Any] = function
    return checked
