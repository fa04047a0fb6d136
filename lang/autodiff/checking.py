"""`ti.ad.check`: tests the derivatives of a kernel against differences, and against one another."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from weft.lang.autodiff.contexts import suspended
from weft.lang.autodiff.cutting import Derivatives, plan_of
from weft.lang.autodiff.differences import DUAL_TOLERANCES, Check, compare_with_differences
from weft.lang.autodiff.memory import Copy
from weft.lang.autodiff.memory_use import Uses, uses_of
from weft.lang.autodiff.tape import Tape
from weft.lang.autodiff.variables import elements_of, numbers_in, places_of, put_numbers, where_active
from weft.lang.errors import ArgumentError
from weft.lang.kernels.draws import next_key, numbers_from
from weft.lang.program.init import program

__all__ = ["Check", "check"]


@dataclass
class _Variable:
    """Memory with a gradient that the kernel reads or writes, and a direction in it. `places`, `ends`: which elements
    stand for it before and after the kernel runs, see `numbers_in`."""

    name: str
    value: Any
    places: Any
    start: Any
    weights: Any  # the gradient of the test's loss by what the kernel leaves there
    direction: Any
    gradient: Any = None
    ends: Any = None

    @property
    def size(self) -> int:
        """The size of a number."""
        return int(self.start.dtype.itemsize)


def check(kernel: Any, *args: Any, seed: int = 0) -> Check:
    """Test the derivatives of a kernel for these arguments, with the values that memory has now. Prints a report, and
    returns it: it is true if all tests passed. Memory, gradients and duals have their old values afterwards.

    The loss of the test is a sum with random weights of all that the kernel writes. The *difference test* moves each
    field or array along a random direction, and compares the change of the loss with the gradient. Where they differ,
    it names the elements. The *dot-product test* compares the gradient with forward mode, if the memory has duals: both
    compute the same number, except for rounding. `seed` chooses the weights and directions.

    Raises CompilationError if the kernel cannot be differentiated, and ArgumentError if it reads and writes no memory
    with a gradient.

    Example:
        x = ti.field(ti.f64, 2, needs_grad=True)
        y = ti.field(ti.f64, (), needs_grad=True)
        x.fill(0.5)

        @ti.kernel
        def energy():
            for i in x:
                y[None] += ti.sin(x[i])

        bool(ti.ad.check(energy))  # True
    """
    if not getattr(kernel, "is_kernel", False):
        raise ArgumentError(f"check takes a kernel and its arguments, not {kernel!r}")
    bound = getattr(kernel, "kernel", kernel)
    owner = () if bound is kernel else (kernel.class_instance,)
    with suspended():
        plan = plan_of(None, bound, bound, (*owner, *args), {}, Derivatives())
        gradients = [piece.grad.bind((*owner, *args), {}) for piece, _ in plan.pieces] or [plan.gradient]
        flat, every = gradients[0].flat, [uses_of(one.instance) for one in gradients]  # the pieces number memory alike
        variables = _variables(every, flat, np.random.default_rng(seed))
        if not variables:
            raise ArgumentError(
                f"kernel '{bound.__name__}' uses no memory that has a gradient: needs_grad=True makes it"
            )
        report = Check(bound.__name__)
        kept = [
            (one, numbers_in(one, v.places), v.places)
            for v in variables
            for one in (v.value, *v.value.companions.values())
        ]
        places = {one.place for uses in every for one in uses.writes}
        written = [Copy.of(every[0].memory(place, flat)) for place in places]
        try:
            _test(report, bound, (*owner, *args), variables, written, seed)
        finally:
            for copy in written:
                copy.put_back()
            for one, numbers, places in kept:
                put_numbers(one, numbers, places)
    print(report)
    return report


def _variables(every: Sequence[Uses], flat: Sequence[Any], random: np.random.Generator) -> list[_Variable]:
    uses, places = every[0], sorted({one.place for uses in every for one in (*uses.every_read, *uses.writes)})
    found: list[_Variable] = []
    for place in filter(uses.has_gradient, places):
        value = uses.memory(place, flat).owner
        if "grad" not in getattr(value, "companions", {}):
            raise ArgumentError(f"check takes fields and ndarrays, not {type(value).__name__}")
        places = places_of(value)
        start = numbers_in(value)
        weights, direction = (random.uniform(-1.0, 1.0, start.shape).astype(start.dtype) for _ in range(2))
        found.append(_Variable(uses.name(place), value, places, start, weights, direction))
    return found


def _test(report: Check, kernel: Any, args: Any, variables: list[_Variable], written: list[Copy], seed: int) -> None:
    present, key = program(), next_key(program())

    def run(one: Any) -> None:
        """With the same random numbers each time."""
        with numbers_from(present, key):
            one(*args)

    def restart() -> None:
        for copy in written:
            copy.put_back()
        for one in variables:
            put_numbers(one.value, one.start, one.places)

    def loss_at(moves: dict[int, Any]) -> float:
        restart()
        for k, move in moves.items():
            put_numbers(variables[k].value, variables[k].start + move, variables[k].places)
        run(kernel)
        return float(sum((one.weights.astype(np.float64) * numbers_in(one.value, one.ends)).sum() for one in variables))

    tape = Tape(clear_gradients=False)
    with tape:
        run(kernel)
    for one in variables:
        one.ends = places_of(one.value)
        if one.ends is not None:  # other elements than before
            shape, random = elements_of(one.value), np.random.default_rng(seed)
            one.weights = random.uniform(-1.0, 1.0, shape).astype(one.start.dtype)
        put_numbers(one.value.grad, one.weights)
    tape.grad()
    for one in variables:
        one.gradient = numbers_in(one.value.grad, one.places)
    restart()
    for one in variables:  # what was not active has no derivative
        one.gradient = where_active(one.value, one.gradient)
    _dot_product(report, lambda: run(kernel.derivative("jvp")), variables, restart)
    for k, one in enumerate(variables):
        compare_with_differences(report, one.name, one.gradient, one.direction, lambda move, k=k: loss_at({k: move}))  # type: ignore[misc]


def _dot_product(
    report: Check, forward_mode: Callable[[], None], variables: list[_Variable], restart: Callable[[], None]
) -> None:
    """Compare <weights, J direction>, by forward mode, with <J^T weights, direction>, by reverse mode."""
    lacking = [one.name for one in variables if "dual" not in one.value.companions]
    if lacking:
        report.lines.append(f"no dot-product test: '{lacking[0]}' has no dual (needs_dual=True)")
        return
    restart()
    for one in variables:
        put_numbers(one.value.dual, one.direction, one.places)
    forward_mode()
    duals = [numbers_in(one.value.dual, one.ends).astype(np.float64) for one in variables]
    forward = float(sum((one.weights * dual).sum() for one, dual in zip(variables, duals, strict=True)))
    terms = [one.gradient.astype(np.float64) * one.direction for one in variables]
    size = sum(np.abs(term).sum() for term in terms)
    size += sum(np.abs(one.weights * dual).sum() for one, dual in zip(variables, duals, strict=True))
    allowed = max(DUAL_TOLERANCES[one.size] for one in variables) * float(size)
    report.compare("forward and reverse mode", forward, float(sum(term.sum() for term in terms)), allowed)
