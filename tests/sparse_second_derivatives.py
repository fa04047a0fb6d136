"""Second derivatives of random kernels on random sparse trees, against differences of gradients, symmetry, and dot
products.

For weights w of what a kernel leaves, H v is the derivative of J^T w along v, and the gradient of <w, J v>. The
gradient kernel itself is a function of values and gradients: forward and reverse mode of it give products with one
Jacobian."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from copy import deepcopy
from dataclasses import dataclass
from random import Random
from typing import Any

import numpy as np

from tests.sparse_derivatives import Case, Index, Vector, Way, case_on, smooth_tree
from tests.sparse_trees import Declared, stored_value
from weft.ir.config import CompileConfig
from weft.ir.evaluate import evaluate
from weft.ir.ops import Kernel
from weft.ir.pipeline import run_passes
from weft.ir.symbols import COMPANIONS

__all__ = ["NESTED", "REVERSED", "SECOND", "check_second", "drawn_second_case"]

SECOND, REVERSED, NESTED = "vjp.jvp", "jvp.vjp", "vjp.vjp2"
_SYMMETRIC = 1e-10  # of the sum of the terms' absolute values
_FAR, _NEAR = 1e-6, 1e-7  # the width of differences, and how near they come
_ROUNDED = 1e-12  # lowered kernels add in another order
State = dict[str, Vector]  # the numbers of the fields, and of their companions, by kind


def kinds_of(mode: str) -> tuple[str, str, str]:
    """The companions in a mode: those of its first part, those of its second, and the second ones of the first."""
    first, second = (COMPANIONS[one] for one in mode.split("."))
    return first, second, f"{first}.{second}"


def drawn_second_case(seed: int, mode: str) -> Case:
    """The random case of that number, with the companions of a mode."""
    kinds = dict.fromkeys(("grad", "dual", *kinds_of(mode), *(kinds_of(SECOND) if mode == NESTED else ())))

    def tree(rng: Random) -> Declared:
        return smooth_tree(rng, tuple(kinds))

    return case_on(tree, seed)


def check_second(case: Case, seed: int, mode: str, ways: Sequence[Way] = (), **how: Any) -> int:
    """Check second derivatives in a mode. Gives how many of them are not 0. Raises CompilationError where the mode is
    refused, and AssertionError where they are wrong."""
    checked = _Second(case, mode, np.random.default_rng(seed), ways, how)
    return checked.nested() if mode == NESTED else checked.hessian()


@dataclass
class _Second:
    """The checks of a case in a mode. `how`: how the evaluator runs derivatives."""

    case: Case
    mode: str
    random: Any
    ways: Sequence[Way]
    how: dict[str, Any]

    def __post_init__(self) -> None:
        self.kernel = self.derived(self.mode, self.case.config)  # refused before anything runs
        self.start, self.jvp = self.case.start(), self.derived("jvp", self.case.config)
        self.after = self.case.moved(self.start, {})
        self.inputs, self.outputs = self.case.active(self.start), self.case.active(self.after)
        self.values = self.case.get(self.start, "", self.inputs)

    def derived(self, mode: str, config: CompileConfig) -> Kernel:
        return run_passes(self.case.kernel(self.case.body, mode), ("differentiate",), config)

    def drawn(self, where: Iterable[tuple[str, Index]]) -> Vector:
        return {at: self.random.uniform(-1, 1) for at in where}

    def run(self, kernel: Kernel, given: State, wanted: Sequence[str]) -> State:
        """What a derivative makes of these numbers in the memory that the program leaves: the companions of the
        `wanted` kinds."""
        memory = deepcopy(self.after)
        for kind, numbers in given.items():
            self.case.put(memory, kind, numbers)
        evaluate(kernel, [], memory, self.case.config, **self.how)
        assert self.case.cells(memory) == self.case.cells(self.after), "the derivative changed what is active"
        return {kind: self.case.get(memory, kind, self.outputs) for kind in wanted}

    def before(self, saved: Iterable[str], kind: str, numbers: Vector) -> Vector:
        """The numbers from before the kernel that a derivative needs; 0 where an element was not active."""
        return {at: numbers.get(at, 0.0) for at in self.outputs if at[0] + kind in saved}

    def hold(self, given: Callable[[Iterable[str]], State], found: State) -> None:
        """Lowered kernels leave the same. `given`: what they begin with, by what their derivative needs from before."""
        for way in self.ways:
            memory, trees = self.case.left_by(way)
            way.run(self.case.kernel(self.case.body), trees)
            for kind, numbers in given(self.derived(self.mode, way.config).saved).items():
                self.case.put_stored(memory, kind, numbers)
            way.run(self.case.kernel(self.case.body, self.mode), trees)
            for kind, numbers in found.items():
                for (name, at), one in numbers.items():
                    other = float(stored_value(memory, self.case.companion(name, kind), at))
                    assert abs(other - one) <= _ROUNDED * (1 + abs(one)), (self.mode, name, kind, at, other, one)

    # ---- Hessians ----------------------------------------------------------------------------------------------------

    def hessian(self) -> int:
        """Compare H v with differences of gradients, and <u, H v> with <v, H u>."""
        weights, directions = self.drawn(self.outputs), [self.drawn(self.inputs) for _ in range(2)]
        products = [self.product(weights, direction) for direction in directions]
        ends = [self.gradient(weights, {at: sign * _FAR * v for at, v in directions[0].items()}) for sign in (1, -1)]
        for at in self.inputs:
            slope, one = (ends[0][at] - ends[1][at]) / (2 * _FAR), products[0][at]
            assert abs(slope - one) <= _NEAR * (1 + abs(one)), (self.mode, at, slope, one)
        terms = [[one[at] * v[at] for at in self.inputs] for one, v in zip(products, reversed(directions), strict=True)]
        size = sum(abs(one) for part in terms for one in part)
        assert abs(sum(terms[0]) - sum(terms[1])) <= _SYMMETRIC * size, (sum(terms[0]), sum(terms[1]))
        return sum(one != 0 for product in products for one in product.values())

    def product(self, weights: Vector, direction: Vector) -> Vector:
        """H v."""
        ahead = deepcopy(self.start)
        self.case.put(ahead, "dual", direction)
        evaluate(self.jvp, [], ahead, self.case.config, **self.how)
        duals = self.case.get(ahead, "dual", self.outputs)
        first, second, both = kinds_of(self.mode)
        lead, result, kind = (first, both, "") if self.mode == SECOND else (both, second, ".dual")

        def given(saved: Iterable[str]) -> State:
            moved = duals | self.before(saved, kind, direction)
            return {"": self.before(saved, "", self.values), "dual": moved, lead: weights}

        found = self.run(self.kernel, given(self.kernel.saved), (result,))
        self.hold(given, found)
        return {at: found[result].get(at, 0.0) for at in self.inputs}

    def gradient(self, weights: Vector, step: Vector) -> Vector:
        """J^T w of the kernel that starts so far away."""
        start, kernel = deepcopy(self.start), self.derived("vjp", self.case.config)
        moved = {at: value + step[at] for at, value in self.values.items()}
        self.case.put(start, "", moved)
        memory = self.case.moved(start, {})
        self.case.put(memory, "", self.before(kernel.saved, "", moved))
        self.case.put(memory, "grad", weights)
        evaluate(kernel, [], memory, self.case.config)
        return self.case.get(memory, "grad", self.inputs)

    # ---- gradients of gradients --------------------------------------------------------------------------------------

    def nested(self) -> int:
        """Compare forward mode of the gradient with reverse mode of it."""
        push = self.derived(SECOND, self.case.config)
        gradients, *drawn = (self.drawn(self.outputs) for _ in range(5))
        (by_value, by_gradient), weights = drawn[:2], drawn[2:]
        given: State = {"": self.before(push.saved, "", self.values), "grad": gradients}
        duals = {"dual": by_value, "grad.dual": by_gradient}
        found = self.run(push, given | duals, ("", "grad", *duals))
        left = [found[kind][at] * one[at] for kind, one in zip(duals, weights, strict=True) for at in self.outputs]
        seeds = dict(zip(("grad2", "grad.grad2"), weights, strict=True))
        values = self.case.get(self.after, "", self.outputs) | given[""]

        def back(saved: Iterable[str]) -> State:
            numbers = found[""] | self.before(saved, "", values)
            return {"": numbers, "grad": found["grad"] | self.before(saved, ".grad", gradients)} | seeds

        pulled = self.run(self.kernel, back(self.kernel.saved), tuple(seeds))
        self.hold(back, pulled)
        pairs = zip(pulled.values(), duals.values(), strict=True)
        right = [one[at] * other[at] for one, other in pairs for at in self.outputs]
        size = sum(map(abs, left)) + sum(map(abs, right))
        assert abs(sum(left) - sum(right)) <= _SYMMETRIC * size, (sum(left), sum(right))
        return sum(one != 0 for one in right)
