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
from weft.ir.symbols import COMPANIONS
from weft.ir.types import flatten
from weft.lang.autodiff.contexts import Block, active, suspended
from weft.lang.autodiff.lost import Losses, flow_of
from weft.lang.autodiff.memory import memory_of
from weft.lang.autodiff.memory_use import uses_of
from weft.lang.autodiff.nesting import again, hand_out, heard_by, memory_in, refuse_third, run_derivative
from weft.lang.autodiff.selection import Number
from weft.lang.autodiff.variables import clear_element, numbers_in, put_numbers
from weft.lang.calls.boxes import can_box
from weft.lang.calls.results import results_of
from weft.lang.data.derived import derived, is_derived, with_siblings
from weft.lang.data.ndarray import Ndarray
from weft.lang.data.operations import Operation
from weft.lang.kernels.draws import last_key
from weft.lang.kernels.launch import Launch
from weft.lang.values.types import to_ir

__all__ = ["Again", "Propagation", "carries_floats", "float_results", "owners_of"]


class Propagation(Block):
    """The block. `kernel` is the kernel whose `numbers` have a direction of their own, by name."""

    records, has_duals, whole, nests = False, True, True, True
    _plain = False
    _own = "jvp"  # the mode of launches that are no derivatives

    def __init__(self, kernel: Any = None) -> None:
        self.kernel = kernel
        self.numbers: dict[str, Any] = {}
        self.results: list[tuple[Any, Any]] = []  # what kernels have returned, each with its dual
        self._known: dict[Hashable, Any] = {}  # the memory that has a dual
        self._losses = Losses(strict=True, results=True)
        self._outer = active()
        for one in self._outer:
            one.enclose(self._kind)

    @property
    def _kind(self) -> str:
        """The companion that holds duals."""
        return COMPANIONS[self._own]

    def enclose(self, kind: str) -> None:
        """A function in the block begins to compute derivatives: leave it the memory of duals. (A `Context`.)"""
        if kind == self._kind:
            refuse_third(self._outer)
            self._own = "jvp2"
            with suspended():
                for memory in self._known.values():
                    put_numbers(derived(memory, self._kind), numbers_in(derived(memory, kind)))

    def seed(self, variable: Any, direction: Any) -> None:
        """Set the dual of a variable."""
        if isinstance(variable, Number):
            self.numbers[variable.name] = direction
            return
        with heard_by(self._outer):
            put_numbers(self._meet(variable), direction)

    def dual_of_result(self, value: Any) -> Any:
        """The dual of what a kernel has returned. None if `value` is no such object."""
        return next((dual for result, dual in reversed(self.results) if result is value), None)

    def dual(self, memory: Any) -> Any:
        """The dual of memory, after the block."""
        with heard_by(self._outer):
            return self._meet(memory)

    def know(self, memory: Any) -> None:
        """Keep the dual of this memory: the caller has set it to 0."""
        self._known[memory_of(memory).key] = memory

    def _meet(self, memory: Any) -> Any:
        """The dual of memory, which is 0 at the first call."""
        dual = derived(memory, self._kind)
        if dual is not None and memory_of(memory).key not in self._known:
            self.know(memory)
            with_siblings(dual).fill(0)
        return dual

    def derivative(self, kernel: Any) -> Any:
        """What the block runs in the place of a kernel."""
        return kernel.derivative(f"{self._own}*", tuple(self.numbers) if kernel is self.kernel else ())

    def launch(self, kernel: Any, call: Callable[..., Any], args: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
        """Run the derivative of the kernel in its place. (A `Context`.)"""
        if self._plain:
            return call(*args, **keywords)
        if kernel.mode:
            return self._launch_by_hand(kernel, call, args, keywords)
        with heard_by(self._outer):
            launch = self.derivative(kernel).bind(args, keywords)
            return self._launched(kernel, launch, kernel.results, _boxes(launch))

    def record(self, kernel: Any, recorded: Any, args: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
        """Run a launch that computes duals and records them (`RecordedLaunch`)."""
        launch = recorded.bind(args, keywords)
        for owner in owners_of(launch):
            self._meet(owner)
        for name, box in _boxes(launch).items():
            if name in self.numbers:
                derived(box, self._kind).from_numpy(np.asarray(self.numbers[name]))
        given, uses = recorded.make(), uses_of(launch.instance)
        self._losses.follow(kernel.__name__, uses, partial(flow_of, uses, launch.flat))
        return self._split(kernel.results, given)

    def _launch_by_hand(self, kernel: Any, call: Callable[..., Any], args: Any, keywords: Any) -> Any:
        """Run forward mode of a derivative that the program itself launches."""
        if kernel.mode != "vjp" or self._outer:
            raise WeftError(
                f"{kernel.__name__}() is launched where its derivative is needed: launch a kernel that computes the "
                "same, or use ti.ad.hvp without a gradient by hand"
            )
        launch = kernel.bind(args, keywords)
        if launch.instance.facts.draws:
            launch.key = last_key(self.derivative(kernel.primal), args, keywords)
        return self.launch_derivative(launch, lambda: call(*args, **keywords))

    def again(self, kernel: Any, args: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
        """What makes such a launch again, with its duals. (Where none are computed, without.)"""
        if self._plain:
            return kernel.bind(args, keywords)
        launch = self.derivative(kernel).bind(args, keywords)
        return Again(launch, [(box, np.array(self.numbers[name])) for name, box in _boxes(launch).items()])

    def launch_derivative(self, launch: Launch, run: Callable[[], Any]) -> Any:
        """Run forward mode of a launch of a derivative in its place. (A `Context`.)"""
        if self._plain:
            return run()
        with suspended():
            numbers = tuple(self.numbers) if launch.kernel.primal is self.kernel else ()
            made, kernel = again(launch, self._own, numbers), launch.kernel
            boxes = {name: box for name, box in _boxes(made).items() if name in numbers}
            return self._launched(kernel, made, results_of(kernel.results, kernel.mode), boxes)

    def _launched(self, kernel: Any, launch: Launch, results: Sequence[Any], boxes: dict[str, Any]) -> Any:
        """Run the derivative of a kernel with these results. `boxes`: those of numbers that have a direction."""
        uses = uses_of(launch.instance)
        for one in memory_in(launch, uses):
            if one.role != self._kind:
                self._meet(one)
        for name, box in boxes.items():
            derived(box, self._kind).from_numpy(np.asarray(self.numbers[name]))
        given = run_derivative(launch, self._outer)
        if not kernel.mode:  # what a gradient leaves out is constant to it
            self._losses.follow(kernel.__name__, uses, partial(flow_of, uses, launch.flat))
        return self._split(results, given)

    def note(self, value: Any, box: Any, memory: Any, told: str, places: Any) -> None:
        """A function in the block has given Python a value from memory. (A `Context`.)"""
        of = self.dual(memory)
        dual = numbers_in(of, places)
        with heard_by(self._outer):
            self.results.append((value, hand_out(dual.item() if dual.ndim == 0 else dual, of, places=places)))

    def _split(self, results: Sequence[Any], given: Any) -> Any:
        """The results of a kernel. Notes their duals."""
        count = len(results)
        if count == 0:
            return None
        every: Sequence[Any] = given if isinstance(given, tuple) else (given,)
        own, duals = every[:count], iter(every[count:])
        for value, annotation in zip(own, results, strict=True):
            if carries_floats(annotation):
                dual = next(duals)
                if can_box(annotation):
                    self.results.append((value, dual))
        return own[0] if count == 1 else own

    @contextmanager
    def plainly(self, launch: Any) -> Generator[None]:
        """In the block, launches compute no duals. (A `Context`.)"""
        with heard_by(self._outer):
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

    def operate(self, operation: Operation, run: Callable[[], Any]) -> Any:
        """Run an operation, and compute the duals of what it writes. (A `Listener`.)"""
        if self._outer:
            self.refuse(operation, "no second derivative")
            return run()
        return super().operate(operation, run)

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
        if self._plain or target.role == self._kind:
            return
        with heard_by(self._outer):
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
        if target.role != self._kind and memory_of(target).key in self._known:
            with heard_by(self._outer):
                clear_element(derived(target, self._kind), index, part)


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


def carries_floats(annotation: Any) -> bool:
    """Whether a value of that type has floats."""
    return any(prim.is_float for prim in flatten(to_ir(annotation)))
