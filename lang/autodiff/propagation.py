"""Forward mode for the transforms of functions: a block in which kernels compute duals beside their values.

In contrast to `FwdMode`, all memory of floats has a dual (`data/derived.py`), and each is set to 0 before the first
kernel of the block uses it. So the block computes the derivative of the whole function."""

from __future__ import annotations

from collections.abc import Callable, Generator, Hashable, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from weft.ir.errors import WeftError
from weft.ir.types import flatten
from weft.lang.autodiff.contexts import Block, suspended
from weft.lang.autodiff.lost import Losses, flow_of
from weft.lang.autodiff.memory import memory_of
from weft.lang.autodiff.memory_use import uses_of
from weft.lang.autodiff.selection import Number
from weft.lang.autodiff.variables import clear_element
from weft.lang.calls.boxes import can_box
from weft.lang.data.derived import derived, is_derived, with_siblings
from weft.lang.data.ndarray import Ndarray
from weft.lang.values.types import to_ir

__all__ = ["Again", "Propagation", "float_results", "owners_of"]


class Propagation(Block):
    """The block. `kernel` is the kernel whose `numbers` have a direction of their own, by name."""

    records, has_duals, whole = False, True, True
    _plain = False

    def __init__(self, kernel: Any = None) -> None:
        self.kernel = kernel
        self.numbers: dict[str, Any] = {}
        self.results: list[tuple[Any, Any]] = []  # what kernels have returned, each with its dual
        self._known: set[Hashable] = set()
        self._losses = Losses(strict=True, results=True)

    def seed(self, variable: Any, direction: Any) -> None:
        """Set the dual of a variable."""
        if isinstance(variable, Number):
            self.numbers[variable.name] = direction
            return
        with suspended():
            self._meet(variable).from_numpy(direction)

    def dual_of_result(self, value: Any) -> Any:
        """The dual of what a kernel has returned. None if `value` is no such object."""
        return next((dual for result, dual in reversed(self.results) if result is value), None)

    def dual(self, memory: Any) -> Any:
        """The dual of memory, after the block."""
        with suspended():
            return self._meet(memory)

    def know(self, memory: Any) -> None:
        """Keep the dual of this memory: the caller has set it to 0."""
        self._known.add(memory_of(memory).key)

    def _meet(self, memory: Any) -> Any:
        """The dual of memory, which is 0 at the first call."""
        dual = derived(memory, "dual")
        if dual is not None and memory_of(memory).key not in self._known:
            self.know(memory)
            with_siblings(dual).fill(0)
        return dual

    def derivative(self, kernel: Any) -> Any:
        """What the block runs in the place of a kernel."""
        return kernel.derivative("jvp*", tuple(self.numbers) if kernel is self.kernel else ())

    def launch(self, kernel: Any, call: Callable[..., Any], args: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
        """Run the derivative of the kernel in its place. (A `Context`.)"""
        if self._plain:
            return call(*args, **keywords)
        if kernel.mode:
            raise WeftError(
                f"{kernel.__name__}() is launched where its derivative is needed: launch a kernel that computes the "
                "same, or use ti.ad.hvp without a gradient by hand"
            )
        with suspended():
            launch = self.derivative(kernel).bind(args, keywords)
            for owner in owners_of(launch):
                self._meet(owner)
            for name, box in _boxes(launch).items():
                derived(box, "dual").from_numpy(np.asarray(self.numbers[name]))
            given = launch()
            uses = uses_of(launch.instance)
            self._losses.follow(kernel.__name__, uses, partial(flow_of, uses, launch.flat))
        return self._split(kernel, given)

    def again(self, kernel: Any, args: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
        """What makes such a launch again, with its duals. (Where none are computed, without.)"""
        if self._plain:
            return kernel.bind(args, keywords)
        launch = self.derivative(kernel).bind(args, keywords)
        return Again(launch, [(box, np.array(self.numbers[name])) for name, box in _boxes(launch).items()])

    def _split(self, kernel: Any, given: Any) -> Any:
        """The results of a kernel. Notes their duals."""
        count = len(kernel.results)
        if count == 0:
            return None
        every: Sequence[Any] = given if isinstance(given, tuple) else (given,)
        own, duals = every[:count], iter(every[count:])
        for value, annotation in zip(own, kernel.results, strict=True):
            if _carries(annotation):
                dual = next(duals)
                if can_box(annotation):
                    self.results.append((value, dual))
        return own[0] if count == 1 else own

    @contextmanager
    def plainly(self, launch: Any) -> Generator[None]:
        """In the block, launches compute no duals. (A `Context`.)"""
        with suspended():
            for owner in () if launch is None else owners_of(launch):
                self._meet(owner)
        before, self._plain = self._plain, True
        try:
            yield
        finally:
            self._plain = before

    def carries(self, memory: Any) -> bool:
        """Whether the memory may have a dual, where they are computed. (Of `Block`.)"""
        return not self._plain and self.may_have_dual(memory)

    @property
    def computes_duals(self) -> bool:
        """Whether launches compute duals now. (Of `Block`.)"""
        return not self._plain

    def dual_of(self, memory: Any) -> Any:
        """The dual of a field or ndarray. (Of `Duals`.)"""
        return self._meet(memory)

    def insert(self, gradient: Callable[[], Any]) -> None:
        """Forward mode records nothing. (A `Context`.)"""

    def beside(self, kernel: Any, call: Callable[..., Any], args: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
        """Run the derivative too. (A `Context`.)"""
        return self.launch(kernel, call, args, keywords)

    def overwrite(self, target: Any, source: Any, again: Callable[[], None]) -> None:
        """As `write`. (A `Context`.)"""
        self.write(target, source, again)

    def write(self, target: Any, source: Any, again: Callable[[], None]) -> None:
        """Set the dual of what Python writes: to that of the source, or to 0. (A `Listener`.)"""
        del again
        if self._plain or is_derived(target):
            return
        with suspended():
            dual = self._meet(target)
            other = None if source is None else self._meet(source)
            if dual is not None and other is None:
                dual.fill(0)
            elif dual is not None:
                dual.copy_from(other)

    def may_have_dual(self, memory: Any) -> bool:
        """Whether a field or ndarray may have a dual that is not 0."""
        return memory_of(memory).key in self._known

    def write_element(self, target: Any, index: tuple[int, ...], part: Any, again: Callable[[], None]) -> None:
        """Set the dual of an element that Python writes to 0, if a launch has used that memory. (A `Listener`.)"""
        del again
        if not is_derived(target) and memory_of(target).key in self._known:
            with suspended():
                clear_element(derived(target, "dual"), index, part)


@dataclass
class Again:
    """A launch that computes duals, to be made again. `boxes`: those of numbers, with their directions."""

    launch: Any
    boxes: list[tuple[Any, Any]]

    def launched(self) -> None:
        """It was made now: note its random numbers."""
        self.launch.key = self.launch.instance.drawn

    def __call__(self) -> None:
        """Make it."""
        for box, direction in self.boxes:
            derived(box, "dual").from_numpy(direction)
        self.launch()


def owners_of(launch: Any) -> list[Any]:
    """The fields and ndarrays of floats that a launch of a derivative uses, without gradients and duals."""
    arrays = [flat for flat in launch.flat if isinstance(flat, Ndarray)]
    made = {id(one) for array in arrays for one in (*array.made.values(), *array.companions.values())}
    fields = [one for one in uses_of(launch.instance).fields() if not is_derived(one)]
    every = [*fields, *(one for one in arrays if id(one) not in made)]
    return [one for one in every if one.dtype.is_float]


def float_results(kernel: Any) -> tuple[str, ...]:
    """The boxes of the results of a kernel that can have a gradient."""
    return tuple(f"return.{k}" for k, annotation in enumerate(kernel.results) if can_box(annotation))


def _boxes(launch: Any) -> dict[str, Any]:
    boxes = launch.kernel.boxes
    return {} if boxes is None else boxes.found(launch.flat)


def _carries(annotation: Any) -> bool:
    return any(prim.is_float for prim in flatten(to_ir(annotation)))
