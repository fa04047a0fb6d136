"""The derivatives of a kernel, which are kernels: `grad`, and those that tapes and functions of `ti.ad` run."""

from __future__ import annotations

from collections.abc import Callable
from threading import RLock
from typing import Any, NoReturn

from weft.lang.data.derived import ASSIGNS
from weft.lang.program import init as program_state

__all__ = ["Differentiable"]


class Differentiable:
    """The part of `Kernel` that makes kernels of its derivatives."""

    __name__: str
    function: Callable[..., Any]
    mode: str
    primal: Any
    piece: int | None
    _derivatives: dict[tuple[str, tuple[str, ...], int | None, bool], Any]
    _lock: RLock

    def __init__(self, function: Callable[..., Any], mode: str = "", boxed: tuple[str, ...] = ()) -> None:
        raise NotImplementedError  # `Kernel` has it

    def fail(self, message: str) -> NoReturn:
        raise NotImplementedError  # `Kernel` has it

    @property
    def grad(self) -> Any:
        """The kernel that computes the gradients of what this one reads from the gradients of what it writes. It takes
        the same arguments."""
        return self.derivative("vjp")

    @property
    def assign(self) -> Any:
        """Of `kernel.grad`: the kernel that sets the gradients of the fields that the kernel reads and does not write.
        `kernel.grad` adds to them. Raises AttributeError if this is another kernel, and CompilationError at the call if
        an array has a gradient."""
        if self.mode not in ("vjp", ASSIGNS) or self.primal is None:
            raise AttributeError(f"'{self.__name__}' is no gradient of a kernel: write kernel.grad.assign(...)")
        return self.primal.derivative(ASSIGNS)

    def derivative(self, mode: str, boxed: tuple[str, ...] = ()) -> Any:
        """The derivative of this kernel: a kernel that takes the same arguments. In mode "jvp" it also computes duals,
        which follow its results. In mode "vjp" it computes gradients, and has no results. In mode "vjp.jvp" it computes
        the duals of gradients, too. `boxed` are the numbers that have derivatives, and at the end what the kernel does
        with records, if it has some (see `calls/boxes.py`). A mode that ends with `*` or `=` is one of
        `data/derived.py`."""
        known = self._derivatives.get((mode, boxed, self.piece, False))
        if known is None and self.mode:
            self.fail(f"'{self.__name__}' is a derivative, and has no '.grad' itself: use ti.ad.hvp")
        made, now = known or self.related(mode, boxed, self.piece), program_state.current_program()
        made.given = "vjp" in mode
        if now is not None and made.given:
            now.zeros = False
        return made

    def related(self, mode: str, boxed: tuple[str, ...], piece: int | None, checks: bool = False) -> Any:
        """The kernel that is this one in a mode, or a piece of this one, or with the check of races."""
        key = mode, boxed, piece, checks
        with self._lock:
            if key not in self._derivatives:
                made: Any = type(self)(self.function, mode, boxed)
                made.primal, made.piece, made.checks = self, piece, checks
                self._derivatives[key] = made
            return self._derivatives[key]
