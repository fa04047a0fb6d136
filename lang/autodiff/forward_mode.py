"""`ti.ad.FwdMode`: a block in which kernels compute directional derivatives beside their values."""

from __future__ import annotations

import math
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from weft.ir.errors import TypeMismatch, WeftError
from weft.lang.autodiff.clearing import clear_all_gradients
from weft.lang.autodiff.contexts import Block, active, suspended
from weft.lang.autodiff.variables import called, companion_if_any, companion_of, elements_of, put_numbers
from weft.lang.errors import ArgumentError

__all__ = ["FwdMode"]


class FwdMode(Block):
    """In the block, each kernel computes the duals of what it writes from the duals of what it reads.

    `loss` is a field or ndarray, or a list of them. `param` is a field or ndarray. All of them need `needs_dual=True`.
    `seed` has a number for each scalar of `param`, in the order of `param.to_numpy()`; with None it is 1, and `param`
    must be a single number. The block sets `param.dual` to the seed at its begin, and to 0 at its end. Unless
    `clear_gradients` is False, the begin sets all duals of fields to 0 first. Duals of fields and ndarrays that no
    kernel writes stay as they are.

    Kernels return their results as ever. A kernel that forward mode cannot differentiate raises CompilationError with
    its line. Raises WeftError for a loss or parameter without a dual, and ArgumentError for a seed that does not fit.

    Example:
        x = ti.field(ti.f64, 3, needs_dual=True)
        y = ti.field(ti.f64, 3, needs_dual=True)
        x.fill(2.0)

        @ti.kernel
        def square():
            for i in x:
                y[i] = x[i] ** 2

        with ti.ad.FwdMode(loss=y, param=x, seed=[1.0, 0.0, 0.5]):
            square()
        y.dual.to_numpy().tolist()  # [4.0, 0.0, 2.0]
    """

    records, has_duals = False, True
    _plain = False

    def __init__(self, loss: Any, param: Any, seed: Any = None, clear_gradients: bool = True) -> None:
        self._losses: Sequence[Any] = loss if isinstance(loss, (list, tuple)) else [loss]
        for one in self._losses:
            companion_of(one, "dual", "the loss")
        self._dual = companion_of(param, "dual", "the parameter")
        self._seed, self._clear = _seeded(param, seed), clear_gradients

    def begin(self) -> None:
        """Set the duals. (Of `Block`.)"""
        if any(context.records for context in active()):
            raise WeftError("FwdMode cannot be used inside of a Tape: gradients of duals are not supported yet")
        if self._clear:
            clear_all_gradients("dual")
        put_numbers(self._dual, self._seed)

    def finish(self, complete: bool) -> None:
        """Set the dual of the parameter to 0. (Of `Block`.)"""
        self._dual.fill(0)

    @contextmanager
    def plainly(self, launch: Any) -> Generator[None]:
        """In the block, launches compute no duals. (A `Context`.)"""
        del launch
        self._plain = True
        try:
            yield
        finally:
            self._plain = False

    def carries(self, memory: Any) -> bool:
        """Whether the memory may have a dual, where they are computed. (Of `Block`.)"""
        return not self._plain and self.may_have_dual(memory)

    @property
    def computes_duals(self) -> bool:
        """Whether launches compute duals now. (Of `Block`.)"""
        return not self._plain

    def insert(self, gradient: Callable[[], Any]) -> None:
        """Forward mode records nothing. (A `Context`.)"""

    def write(self, target: Any, source: Any, again: Callable[[], None]) -> None:
        """Set the dual of what Python writes: to that of the source, or to 0. (A `Listener`.)"""
        del again
        if self._plain:
            return
        dual, other = companion_if_any(target, "dual"), companion_if_any(source, "dual")
        if dual is None:
            return
        with suspended():
            if other is None:
                dual.fill(0)
            else:
                dual.copy_from(other)

    def write_element(self, target: Any, index: tuple[int, ...], part: Any, again: Callable[[], None]) -> None:
        """Keep the dual of an element that Python writes: it may be the beginning. (A `Listener`.)"""

    def overwrite(self, target: Any, source: Any, again: Callable[[], None]) -> None:
        """Forward mode records everything. (A `Context`.)"""
        self.write(target, source, again)

    def beside(self, kernel: Any, call: Callable[..., Any], args: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
        """Run the derivative too: functions without gradients have duals. (A `Context`.)"""
        return self.launch(kernel, call, args, keywords)

    def launch(self, kernel: Any, call: Callable[..., Any], args: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
        """Run the derivative of the kernel in its place. (A `Context`.)"""
        if self._plain:
            return call(*args, **keywords)
        derivative = kernel.derivative("jvp")
        with suspended():
            results = derivative(*args, **keywords)
        count = len(kernel.results)
        if count == 0:
            return None
        own = results[:count] if isinstance(results, tuple) else (results,)
        return own[0] if count == 1 else own


def _seeded(param: Any, seed: Any) -> Any:
    shape = elements_of(param)
    count = math.prod(shape)
    if seed is None:
        if count != 1:
            raise ArgumentError(
                f"FwdMode needs a seed: {called(param)} has {count} numbers, and the seed chooses the "
                f"direction of the derivative, as in seed=[1.0, {'0.0, ' if count == 2 else '0.0, ... '}]"
            )
        seed = [1.0]
    try:
        numbers = np.asarray(seed, np.float64)
    except (TypeError, ValueError):
        raise TypeMismatch(f"a seed must be a list of numbers, not {seed!r}") from None
    if numbers.size != count:
        raise ArgumentError(f"the seed has {numbers.size} numbers, but {called(param)} has {count}")
    return numbers.reshape(shape)
