"""Holds reverse mode to forward mode: the dot-product test over all memory of a kernel."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from tests.codegen.chi_runs import on_cpu
from tests.ir.dual_kernels import FIELDS
from weft.ir.adversary import Schedule
from weft.ir.config import CompileConfig
from weft.ir.evaluate import evaluate
from weft.ir.memory_model import Memory
from weft.ir.ops import Kernel, ParallelFor
from weft.ir.parse import parse
from weft.ir.pipeline import TO_LOWERED, TO_TASKS, run_passes
from weft.ir.text import print_ir

__all__ = [
    "CONFIGS",
    "PLAIN",
    "Point",
    "gradients",
    "hold_dot_product",
    "hold_in_pieces",
    "in_mode",
    "point_of",
    "run",
]

Values = dict[str, Any]
CONFIGS = {
    "optimized": CompileConfig(fast_math=False, verify=True),
    "not optimized": CompileConfig(fast_math=False, advanced_optimization=False, verify=True),
}
PLAIN = CompileConfig(fast_math=False)


def in_mode(kernel: Kernel, mode: str) -> Kernel:
    """A kernel of `dual_kernels.py` in another mode: none, forward or reverse."""
    text = print_ir(kernel).replace(" mode=jvp", f" mode={mode}" if mode else "")
    return parse(text.replace(".dual", ".grad").replace("dual=", "grad=") if mode == "vjp" else text)


def run(kernel: Kernel, inputs: Values, config: CompileConfig = PLAIN, **how: Any) -> Values:
    """The memory after a run in the evaluator. `inputs` has the values of all fields."""
    memory = Memory.of(kernel.fields)
    for symbol in kernel.fields:
        memory.write(symbol, inputs[symbol.name])
    evaluate(kernel, [], memory, config, **how)
    return {symbol.name: memory.read(symbol) for symbol in kernel.fields}


@dataclass(frozen=True)
class Point:
    """Where the test is made: the memory before, a tangent of all of it before, and a cotangent of all of it after."""

    before: Values
    tangent: Values
    cotangent: Values


def point_of(kernel: Kernel, seed: int) -> Point:
    """Random numbers for a kernel of `dual_kernels.py`."""
    random, memory = np.random.default_rng(seed), Memory.of(kernel.fields)
    shapes = {symbol.name: memory.read(symbol).shape for symbol in kernel.fields if symbol.name in FIELDS}
    before = {name: random.uniform(0.3, 1.7, shape) for name, shape in shapes.items()}
    tangent, cotangent = ({name: random.uniform(-1, 1, shape) for name, shape in shapes.items()} for _ in range(2))
    return Point(before, tangent, cotangent)


def gradients(kernel: Kernel, point: Point, machine: bool = True) -> dict[str, Values]:
    """The gradients of all memory before the kernel, computed in several ways."""
    after = run(in_mode(kernel, ""), point.before | {f"{name}.dual": value for name, value in point.tangent.items()})
    found: dict[str, Values] = {}
    for name, config in CONFIGS.items():
        made = run_passes(in_mode(kernel, "vjp"), ("differentiate",), config)
        now = {field: after[field] for field in FIELDS} | {field: point.before[field] for field in made.saved}
        inputs = now | {f"{field}.grad": value for field, value in point.cotangent.items()}
        low = run_passes(in_mode(kernel, "vjp"), TO_TASKS + TO_LOWERED, config)
        outcomes = {"chi": run(made, inputs, config), "lowered": run(low, inputs, config)}
        outcomes["read back"] = run(parse(print_ir(made)), inputs, config)
        outcomes["adversary"] = run(made, inputs, config, schedule=Schedule(3))
        for how, memory in outcomes.items():
            for field in FIELDS:
                np.testing.assert_array_equal(memory[field], inputs[field], f"{how} writes {field}")
            found[f"{name}, {how}"] = {field: memory[f"{field}.grad"] for field in FIELDS}
        if machine and name == "optimized":
            memory = on_cpu(in_mode(kernel, "vjp"), inputs)
            found["machine code"] = {field: memory[f"{field}.grad"] for field in FIELDS}
    return found


def _pieces(kernel: Kernel) -> list[Kernel]:
    """The kernel cut at its parallel loops, as a tape cuts it: each piece has one of them."""
    count = sum(isinstance(op, ParallelFor) for op in kernel.body)
    found: list[Kernel] = []
    for number in range(count):
        piece = parse(print_ir(kernel))
        loops = [op for op in piece.body if isinstance(op, ParallelFor)]
        for loop in (*loops[:number], *loops[number + 1 :]):
            loop.erase()
        found.append(piece)
    return found


def hold_in_pieces(kernel: Kernel, seed: int, machine: bool = True) -> None:
    """The dot-product test of each piece, which starts from what the piece before it left."""
    point = point_of(kernel, seed)
    for piece in _pieces(kernel):
        hold_at(piece, point, machine)
        duals = {f"{name}.dual": value for name, value in point.tangent.items()}
        after = run(in_mode(piece, ""), point.before | duals)
        point = replace(point, before={name: after[name] for name in FIELDS})


def hold_dot_product(kernel: Kernel, seed: int, machine: bool = True) -> dict[str, Values]:
    """For tangents v and cotangents w of all memory, <J v, w> is <v, J^T w>."""
    return hold_at(kernel, point_of(kernel, seed), machine)


def hold_at(kernel: Kernel, point: Point, machine: bool = True) -> dict[str, Values]:
    """The same at that point."""
    forward = run_passes(parse(print_ir(kernel)), ("differentiate",), PLAIN)
    duals = run(forward, point.before | {f"{name}.dual": value for name, value in point.tangent.items()})
    left = [point.cotangent[name] * duals[f"{name}.dual"] for name in FIELDS]
    found = gradients(kernel, point, machine)
    for how, gradient in found.items():
        right = [point.tangent[name] * gradient[name] for name in FIELDS]
        size = sum(np.abs(term).sum() for term in (*left, *right))
        difference = abs(sum(term.sum() for term in left) - sum(term.sum() for term in right))
        assert difference <= 1e-12 * size, f"{how}: {difference / size:.2e} of the sum of the terms"
    return found
