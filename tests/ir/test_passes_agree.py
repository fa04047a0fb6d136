"""Every pass keeps what a program means: random kernels evaluate to the same before and after it."""

from __future__ import annotations

from importlib.util import find_spec
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings

from tests.generate import Program, chi_kernels
from weft.ir.config import CompileConfig
from weft.ir.evaluate import evaluate
from weft.ir.ops import Kernel
from weft.ir.pipeline import TO_LOWERED, TO_TASKS, run_passes
from weft.ir.text import print_ir

EXACT = CompileConfig(fast_math=False, verify=True)
SIMPLIFY = ("fold", "algebra", "forward", "cse", "licm", "unreachable", "die", "full_simplify")
examples = settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))


def bits(values: Any) -> Any:
    """Numbers as their bits, all NaNs alike: signed zeros differ."""
    values = np.asarray(values)
    if values.dtype.kind != "f":
        return values
    return np.where(np.isnan(values), values.dtype.type("nan"), values).view(f"i{values.itemsize}")


def outcome(kernel: Kernel, program: Program, config: CompileConfig) -> dict[str, Any]:
    """All that a run of the kernel leaves: fields, array, results, prints."""
    memory = program.memory()
    args = [np.copy(arg) if isinstance(arg, np.ndarray) else arg for arg in program.args]
    results = evaluate(kernel, args, memory, config)
    seen = {symbol.name: bits(memory.read(symbol)) for symbol in kernel.fields}
    seen |= {f"result {number}": bits(value) for number, value in enumerate(results)}
    return seen | {"array": bits(args[-1]), "printed": np.array(memory.printed)}


def check(program: Program, names: tuple[str, ...], config: CompileConfig, level: str = "chi") -> None:
    """Run the passes on the program's kernel; after each, nested ones too, it means what it meant."""
    start = print_ir(program.kernel)
    expected = outcome(program.kernel, program, config)
    before = [start]

    def compare(name: str, kernel: Kernel, changed: bool, _: float) -> None:
        if not changed:
            return
        got = outcome(kernel, program, config)
        for what, value in expected.items():
            if not np.array_equal(got[what], value):
                pytest.fail(
                    f"{name} changed {what}: {value} became {got[what]}\n{before[-1]}\nbecame\n{print_ir(kernel)}"
                )
        before.append(print_ir(kernel))

    run_passes(program.kernel, names, config, compare, level)


def there(name: str) -> bool:
    return find_spec(f"weft.ir.transforms.{name}") is not None


@pytest.mark.parametrize("name", [name for name in SIMPLIFY if there(name)])
@examples
@given(program=chi_kernels())
def test_a_pass_alone(name: str, program: Program) -> None:
    check(program, (name,), EXACT)


@examples
@given(program=chi_kernels(mixed=True))
def test_the_pipelines(program: Program) -> None:
    check(program, tuple(filter(there, TO_TASKS + TO_LOWERED)), EXACT, "untyped")


@examples
@given(program=chi_kernels(mixed=True))
def test_the_pipelines_in_debug(program: Program) -> None:
    config = CompileConfig(fast_math=False, verify=True, debug=True, threads=3)
    check(program, tuple(filter(there, TO_TASKS + TO_LOWERED)), config, "untyped")
