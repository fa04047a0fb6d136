"""Every pass keeps what a program means: random kernels evaluate to the same before and after it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, given, settings

from tests.generate import Program, chi_kernels
from tests.generate_tree import kernel_trees, program_of
from tests.sampling import draws
from weft.ir.adversary import Schedule
from weft.ir.config import CompileConfig
from weft.ir.core import Builder
from weft.ir.evaluate import evaluate
from weft.ir.ops import Atomic, Binary, Kernel, Load, Store
from weft.ir.passes import PASSES, pass_
from weft.ir.pipeline import TO_LOWERED, TO_TASKS, run_passes
from weft.ir.text import print_ir

EXACT = CompileConfig(fast_math=False, verify=True)
SIMPLIFY = ("fold", "algebra", "forward", "cse", "licm", "unreachable", "die", "full_simplify")
SCHEDULES = (None, Schedule(1), Schedule(0), Schedule(2), Schedule(3))
examples = settings(max_examples=draws(40), deadline=None, suppress_health_check=list(HealthCheck))


def bits(values: Any) -> Any:
    """Numbers as their bits, all NaNs alike: signed zeros differ."""
    values = np.asarray(values)
    if values.dtype.kind != "f":
        return values
    return np.where(np.isnan(values), values.dtype.type("nan"), values).view(f"i{values.itemsize}")


def outcome(
    kernel: Kernel, program: Program, config: CompileConfig, schedule: Schedule | None = None
) -> dict[str, Any]:
    """All that a run of the kernel leaves: fields, array, results, prints."""
    memory = program.memory()
    args = [np.copy(arg) if isinstance(arg, np.ndarray) else arg for arg in program.args]
    results = evaluate(kernel, args, memory, config, schedule=schedule)
    seen = {symbol.name: bits(memory.read(symbol)) for symbol in kernel.fields}
    seen |= {f"result {number}": bits(value) for number, value in enumerate(results)}
    return seen | {"array": bits(args[-1]), "printed": np.array(memory.printed)}


def check(program: Program, names: tuple[str, ...], config: CompileConfig, level: str = "chi") -> None:
    """Run the passes on the program's kernel; after each, nested ones too, it means what it meant, whatever the order
    of its iterations."""
    start = print_ir(program.kernel)
    expected = outcome(program.kernel, program, config)
    before = [start]

    def compare(name: str, kernel: Kernel, changed: bool, *_: float) -> None:
        if not changed:
            return
        got = outcome(kernel, program, config, SCHEDULES[len(before) % len(SCHEDULES)])
        for what, value in expected.items():
            if not np.array_equal(got[what], value):
                pytest.fail(
                    f"{name} changed {what}: {value} became {got[what]}\n{before[-1]}\nbecame\n{print_ir(kernel)}"
                )
        before.append(print_ir(kernel))

    run_passes(program.kernel, names, config, compare, level)


@pytest.mark.parametrize("name", SIMPLIFY)
@examples
@given(program=chi_kernels())
def test_a_pass_alone(name: str, program: Program) -> None:
    check(program, (name,), EXACT)


@examples
@given(program=chi_kernels(mixed=True))
def test_the_pipelines(program: Program) -> None:
    check(program, TO_TASKS + TO_LOWERED, EXACT, "untyped")


@examples
@given(program=chi_kernels(mixed=True))
def test_the_pipelines_with_checks_of_indices(program: Program) -> None:
    config = CompileConfig(fast_math=False, verify=True, boundary_check=True, threads=3)
    check(program, TO_TASKS + TO_LOWERED, config, "untyped")


@examples
@given(drawn=kernel_trees())
def test_the_pipelines_from_the_tree(drawn: Any) -> None:
    check(program_of(drawn, EXACT), TO_TASKS + TO_LOWERED, EXACT, "untyped")


def swap_differences(root: Kernel, config: CompileConfig) -> bool:
    differences = [op for op in root.walk() if isinstance(op, Binary) and op.kind == "sub"]
    for op in differences:
        op.set_operands([op.rhs, op.lhs], op.groups)
    return bool(differences)


def lose_atomicity(root: Kernel, config: CompileConfig) -> bool:
    """In order, this is right."""
    atomics = [op for op in root.walk() if isinstance(op, Atomic) and op.kind in ("add", "min", "xor")]
    for op in atomics:
        build = Builder.at(op)
        old = build.add(Load(op.ptr))
        build.add(Store(op.ptr, build.add(Binary(op.kind, old, op.value, type=old.type)), relaxed=True))
        op.replace(old)
    return bool(atomics)


@pytest.mark.parametrize("wrong", [swap_differences, lose_atomicity])
def test_a_wrong_pass_is_caught(wrong: Any) -> None:
    pass_("wrong")(wrong)

    @settings(examples, max_examples=300, phases=[Phase.generate], database=None)
    @given(program=chi_kernels())
    def run(program: Program) -> None:
        check(program, ("wrong",), EXACT)

    try:
        with pytest.raises(pytest.fail.Exception):
            run()
    finally:
        del PASSES["wrong"]
