"""Modes of modes: reverse mode of gradients and of duals, against forward mode of them."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

from tests.codegen.chi_runs import on_cpu
from tests.fuzz.modes import with_second
from tests.ir.dual_kernels import BODIES, FIELDS, kernel_of
from tests.ir.reverse_checks import CONFIGS, PLAIN, point_of, run
from tests.ir.test_reverse_mode import MORE
from tests.sampling import every
from weft.ir.adversary import Schedule
from weft.ir.errors import CompilationError
from weft.ir.memory_model import Memory
from weft.ir.ops import Kernel
from weft.ir.parse import parse
from weft.ir.pipeline import TO_LOWERED, TO_TASKS, run_passes
from weft.ir.symbols import COMPANIONS
from weft.ir.text import print_ir

Values = dict[str, Any]
NESTED = {"vjp": ("vjp.jvp", "vjp.vjp2"), "jvp": ("jvp.jvp2", "jvp.vjp")}  # forward and reverse mode of each


def without_companions(kernel: Kernel) -> Kernel:
    """A kernel of `dual_kernels.py` whose fields have no duals."""
    lines = [line for line in print_ir(kernel).splitlines() if not re.match(r"\s*field @[\w.]*\.dual:", line)]
    return parse(re.sub(r" dual=@[\w.]*", "", "\n".join(lines).replace(" mode=jvp", "")))


def in_mode(text: str, mode: str) -> Kernel:
    """The kernel in a mode of two parts, or in the first part of it, with all companions."""
    kernel = with_second(parse(text), 12, mode if "." in mode else NESTED[mode][0])
    kernel.mode = mode
    return kernel


def named(values: Values, kind: str) -> Values:
    return {f"{name}.{kind}": value for name, value in values.items()}


def filled(kernel: Kernel, values: Values) -> Values:
    """The values of all fields of a kernel, which are 0 where none is given."""
    memory = Memory.of(kernel.fields)
    return {symbol.name: values.get(symbol.name, memory.read(symbol)) for symbol in kernel.fields}


def outcomes(text: str, mode: str, inputs: Values, before: Values, machine: bool) -> dict[str, Values]:
    """The memory after a derivative, computed in several ways. What it needs from before its kernel is put there."""
    found: dict[str, Values] = {}
    for name, config in CONFIGS.items():
        made = run_passes(in_mode(text, mode), ("differentiate",), config)
        now = filled(made, inputs | {one: before[one] for one in made.saved})
        low = run_passes(in_mode(text, mode), TO_TASKS + TO_LOWERED, config)
        found |= {f"{name}, chi": run(made, now, config), f"{name}, lowered": run(low, now, config)}
        found[f"{name}, adversary"] = run(made, now, config, schedule=Schedule(3))
        if machine and name == "optimized":
            found["machine code"] = on_cpu(in_mode(text, mode), now)
    return found


def hold(kernel: Kernel, seed: int, inner: str, machine: bool = False) -> None:
    """The derivative in the mode `inner` is a function of values and derivatives. Forward and reverse mode of it give
    products with one Jacobian."""
    point, text, kind = point_of(kernel, seed), print_ir(without_companions(kernel)), COMPANIONS[inner]
    forward, reverse = NESTED[inner]
    along, against = COMPANIONS[forward.split(".")[1]], COMPANIONS[reverse.split(".")[1]]
    random = np.random.default_rng(seed)

    def drawn() -> Values:
        values = {name: random.uniform(-1, 1, np.shape(value)) for name, value in point.before.items()}
        return values | named(point.cotangent if inner == "vjp" else point.tangent, kind)

    start, tangent, weights = point.before | named(drawn(), kind), drawn(), drawn()
    start = {name: start[name] for name in (*FIELDS, *(f"{field}.{kind}" for field in FIELDS))}
    if inner == "vjp":  # the values after the kernel, but those that the gradient needs from before it
        first = run_passes(in_mode(text, "vjp"), ("differentiate",), PLAIN)
        after = run(parse(text), {name: start[name] for name in FIELDS})
        start |= {name: value for name, value in after.items() if name not in first.saved}
    made = run_passes(in_mode(text, inner), ("differentiate",), PLAIN)
    end = run(made, filled(made, start))
    moved = run_passes(in_mode(text, forward), ("differentiate",), PLAIN)
    duals = run(moved, filled(moved, start | named(tangent, along)))
    left = [weights[name] * duals[f"{name}.{along}"] for name in start]
    inputs = {name: end[name] for name in start} | named(weights, against)
    for how, memory in outcomes(text, reverse, inputs, start, machine).items():
        right = [tangent[name] * memory[f"{name}.{against}"] for name in start]
        size = sum(np.abs(term).sum() for term in (*left, *right))
        difference = abs(sum(term.sum() for term in left) - sum(term.sum() for term in right))
        assert difference <= 1e-12 * size, f"{how}: {difference / size:.2e} of the sum of the terms"


REFUSED = {
    "vjp": {
        "extremes": "an atomic xchg in a parallel loop",
        "products": "an atomic xchg in a parallel loop",
        "two loops": "the value of 'z.grad' that is read here",
        "a recurrence in memory": "the value of 'x.grad' that is read here",
        "extremes of memory": "an atomic xchg in a parallel loop",
        "an extreme of constants": "an atomic xchg in a parallel loop",
        "an extreme of a local and constants": "an atomic xchg in a parallel loop",
        "an extreme of a local": "an atomic xchg in a parallel loop",
        "an extreme of a local that no iteration reaches": "an atomic xchg in a parallel loop",
        "extremes of a local that begins with an element": "an atomic xchg in a parallel loop",
        "atomic products": "the value of 'v.grad' that is read here",
    },
    "jvp": {"products": "an atomic xchg", "atomic products": "the value of 'z' that is read here"},
}


LOOPS = [name for name, body in (BODIES | MORE).items() if re.search(r"for %c0|for %n|while", body)]


def hold_or_refuse(name: str, inner: str) -> None:
    kernel, refused = kernel_of((BODIES | MORE)[name]), REFUSED[inner].get(name)
    if refused is None:
        hold(kernel, 0, inner, machine=name == "operators")
    else:
        with pytest.raises(CompilationError, match=re.escape(refused)):
            hold(kernel, 0, inner)


@pytest.mark.parametrize("inner", NESTED)
@pytest.mark.parametrize("name", every(4, [name for name in (*BODIES, *MORE) if name not in LOOPS]))
def test_reverse_mode_of_a_derivative_agrees_with_forward_mode(name: str, inner: str) -> None:
    hold_or_refuse(name, inner)


@pytest.mark.slow
@pytest.mark.exhaustive
@pytest.mark.parametrize("inner", NESTED)
@pytest.mark.parametrize("name", LOOPS)
def test_reverse_mode_of_the_derivative_of_a_loop_agrees_with_forward_mode(name: str, inner: str) -> None:
    hold_or_refuse(name, inner)
