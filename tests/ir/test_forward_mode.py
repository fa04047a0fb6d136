"""Forward mode: duals against central differences, in the evaluator and as machine code, and the text of kernels."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, settings

from tests.codegen.chi_runs import on_cpu
from tests.generate import Program, chi_kernels
from tests.ir.dual_kernels import BODIES, FIELDS, kernel_of, random_kernel
from tests.ir.test_passes_agree import outcome
from tests.sampling import draws, every
from weft.ir.adversary import Schedule
from weft.ir.autodiff.companions import carries
from weft.ir.config import CompileConfig
from weft.ir.core import ops_of
from weft.ir.errors import CompilationError, InternalError
from weft.ir.evaluate import evaluate
from weft.ir.memory_model import Memory
from weft.ir.ops import FieldPtr, Kernel, ParallelFor, StructFor
from weft.ir.parse import parse
from weft.ir.pipeline import TO_LOWERED, TO_TASKS, run_passes
from weft.ir.symbols import FieldSymbol
from weft.ir.text import print_ir

Values = dict[str, Any]
_X = "%q = field_ptr @x[%c0] : *f64  %v = load %q : f64"
CONFIGS = {
    "optimized": CompileConfig(fast_math=False, verify=True),
    "not optimized": CompileConfig(fast_math=False, advanced_optimization=False, verify=True),
}


def inputs_of(seed: int) -> Values:
    """Values and duals of all fields."""
    random = np.random.default_rng(seed)
    memory = Memory.of(kernel_of("").fields)
    shapes = {symbol.name: memory.read(symbol).shape for symbol in kernel_of("").fields}
    return {name: random.uniform(0.3, 1.7, shape) for name, shape in shapes.items()}


def run(kernel: Kernel, inputs: Values, config: CompileConfig, args: Any = (), **how: Any) -> tuple[Values, list[Any]]:
    memory = Memory.of(kernel.fields)
    for symbol in kernel.fields:
        memory.write(symbol, inputs[symbol.name])
    results = evaluate(kernel, list(args), memory, config, **how)
    return {symbol.name: memory.read(symbol) for symbol in kernel.fields}, results


def primal(kernel: Kernel) -> Kernel:
    return parse(print_ir(kernel).replace(" mode=jvp", ""))


def moved(inputs: Values, step: float) -> Values:
    return {name: value + step * inputs.get(f"{name}.dual", 0.0) for name, value in inputs.items()}


def differences(kernel: Kernel, inputs: Values) -> tuple[Values, Values]:
    """Central differences along the duals, of two step widths: they agree where the kernel is smooth."""
    plain, config = primal(kernel), CompileConfig(fast_math=False)

    def difference(step: float) -> Values:
        ahead, behind = (run(plain, moved(inputs, sign * step), config)[0] for sign in (1, -1))
        return {name: (ahead[name] - behind[name]) / (2 * step) for name in FIELDS}

    return difference(1e-4), difference(1e-5)


def hold(kernel: Kernel, seed: int, machine: bool = True) -> bool:
    """The duals that forward mode computes are the derivatives. False: the kernel is not smooth at the point."""
    inputs = inputs_of(seed)
    wide, near = differences(kernel, inputs)
    if any(not np.allclose(wide[name], near[name], rtol=1e-4, atol=1e-4) for name in FIELDS):
        return False
    values, _ = run(primal(kernel), inputs, CompileConfig(fast_math=False))
    outcomes: list[tuple[str, Values]] = []
    for name, config in CONFIGS.items():
        made = run_passes(parse(print_ir(kernel)), ("differentiate",), config)
        outcomes += [(f"{name}, chi", run(made, inputs, config)[0])]
        outcomes += [(f"{name}, adversary", run(made, inputs, config, schedule=Schedule(seed))[0])]
        low = run_passes(parse(print_ir(kernel)), TO_TASKS + TO_LOWERED, config)
        outcomes += [(f"{name}, lowered", run(low, inputs, config)[0])]
    if machine:
        outcomes.append(("machine code", on_cpu(kernel, inputs)))
    for how, found in outcomes:
        for name in FIELDS:
            np.testing.assert_allclose(found[name], values[name], rtol=1e-12, atol=1e-13, err_msg=f"{how}: {name}")
            dual = found[f"{name}.dual"]
            np.testing.assert_allclose(dual, near[name], rtol=1e-6, atol=1e-6, err_msg=f"{how}: {name}.dual")
    return True


@pytest.mark.parametrize("name", every(2, BODIES))
def test_duals_are_derivatives(name: str) -> None:
    assert sum(hold(kernel_of(BODIES[name]), seed, machine=seed == 0) for seed in range(4)) >= 2


def hold_random(numbers: range) -> None:
    smooth = 0
    for number in numbers:
        kernel = random_kernel(number)
        try:
            smooth += hold(kernel, number, machine=number % 5 == 0)
        except AssertionError as error:
            raise AssertionError(f"{number}: {error}\n{print_ir(kernel)}") from error
    assert smooth >= 0.6 * len(numbers)


def test_duals_of_random_kernels_are_derivatives() -> None:
    hold_random(range(2))


@pytest.mark.slow
@pytest.mark.exhaustive
@pytest.mark.parametrize("tens", range(30))
def test_duals_of_many_random_kernels_are_derivatives(tens: int) -> None:
    hold_random(range(10 * tens, 10 * tens + 10))


@pytest.mark.parametrize("name", BODIES)
def test_text(name: str, golden: Callable[[str, str], None]) -> None:
    kernel = run_passes(kernel_of(BODIES[name]), ("differentiate",), CONFIGS["optimized"])
    golden(f"forward_mode/{name.replace(' ', '_')}.chi", print_ir(kernel))


def test_a_kernel_without_a_mode_stays_as_it_is() -> None:
    kernel = kernel_of(BODIES["loops"], mode="")
    before = print_ir(kernel)
    run_passes(kernel, ("differentiate",), CONFIGS["optimized"])
    assert print_ir(kernel) == before


def test_the_mode_and_the_duals_are_read_back() -> None:
    text = print_ir(kernel_of(BODIES["loops"]))
    assert " mode=jvp {" in text
    assert "dual=@x.dual" in text
    assert print_ir(parse(text)) == text


def test_results_and_parameters_have_duals() -> None:
    """A result is followed by its dual after all results; the dual of a parameter is a hidden parameter."""
    params = "(a: f64, b: [f64; 1], n: i32, a.dual: f64 hidden=dual, b.dual: [f64; 1] hidden=dual)"
    body = """%a = arg index=0 : f64  %b = arg index=1 : [f64; 1]  %n = arg index=2 : i32
    %p = array_ptr %b[%n] : *f64  %v = load %p : f64  %r = binary mul %a, %v : f64  store %p, %r  return [%n, %r]"""
    kernel = kernel_of(body, results="(i32, f64)", params=params)
    run_passes(kernel, ("differentiate",), CONFIGS["optimized"])
    b, db = np.array([1.0, 3.0]), np.array([0.5, 0.25])
    _, results = run(kernel, inputs_of(0), CONFIGS["optimized"], [2.0, b, 1, 10.0, db])
    assert results == [1, 6.0, 30.5]
    assert [*b, *db] == [1.0, 6.0, 0.5, 30.5]


def test_a_tie_of_an_atomic_extreme_keeps_the_dual_of_the_memory() -> None:
    body = f"{_X}  %p = field_ptr @total[] : *f64  %a = atomic max %p, %v : f64"
    kernel = run_passes(kernel_of(body), ("differentiate",), CONFIGS["optimized"])
    inputs = inputs_of(0) | {"total": np.array(2.0), "total.dual": np.array(5.0)}
    inputs |= {"x": np.full(4, 2.0), "x.dual": np.full(4, 7.0)}
    assert run(kernel, inputs, CONFIGS["optimized"])[0]["total.dual"] == 5.0


@pytest.mark.parametrize(("use", "parallel"), [("", True), ("%p = field_ptr @y[%i] : *f64  store %p, %old", False)])
def test_a_loop_that_uses_old_values_of_a_sum_runs_in_order(use: str, parallel: bool) -> None:
    """The old value and its dual are two accesses, between which other iterations may add."""
    body = f"parallel_for begins=[%c0], ends=[%c4] (%i: i32) {{ %q = field_ptr @x[%i] : *f64  %v = load %q : f64 \
%z = field_ptr @z[%c0] : *f64  %old = atomic add %z, %v : f64  {use} }}"
    made = run_passes(kernel_of(body), ("differentiate",), CompileConfig())
    assert bool(list(made.all_of(ParallelFor))) == parallel


def test_a_cast_between_floats_casts_the_dual_and_one_to_an_integer_stops_it() -> None:
    body = f"""{_X}  %f = cast %v : f32  %g = cast %f : f64  %n = cast %v : i32  %m = cast %n : f64
    %r = field_ptr @y[%c0] : *f64  store %r, %g  %s = field_ptr @y[%c1] : *f64  store %s, %m"""
    inputs = inputs_of(0)
    got, _ = run(run_passes(kernel_of(body), ("differentiate",), CONFIGS["optimized"]), inputs, CONFIGS["optimized"])
    assert [*got["y.dual"][:2]] == [np.float32(inputs["x.dual"][0]), 0.0]


def test_a_field_without_a_dual_is_a_constant() -> None:
    text = print_ir(kernel_of(BODIES["operators"])).replace(" dual=@y.dual", "")
    inputs = inputs_of(3)
    got, _ = run(run_passes(parse(text), ("differentiate",), CONFIGS["optimized"]), inputs, CONFIGS["optimized"])
    _, near = differences(parse(text), inputs | {"y.dual": np.zeros(4)})
    np.testing.assert_allclose(got["z.dual"], near["z"], rtol=1e-6)


REFUSED = {
    "the dual of 'x', itself": "%p = field_ptr @x.dual[%c0] : *f64  %v = load %p : f64  %q = field_ptr @x[%c0] : *f64\n"
    "store %q, %v",
    "a call of the real function 'f'": f"{_X} %l = alloca : *f64  store %l, %v  %r = invoke function=f, [%l] : f64",
    "this exchange of shared memory": """parallel_for begins=[%c0], ends=[%c4] (%i: i32) {
        simt block_sync []
        %q = field_ptr @x[%i] : *f64  %x = load %q : f64  %p = field_ptr @total[] : *f64  %r = exchange %p, %x : f64
        }""",
    "this max of shared memory": """parallel_for begins=[%c0], ends=[%c4] (%i: i32) {
        %b = shared shape=(4) : [f64; 1]
        %p = field_ptr @total[] : *f64  %r = random : f64  %q = field_ptr @x[%i] : *f64  %x = load %q : f64
        %v = binary mul %r, %x : f64  %a = atomic max %p, %v : f64 }""",
}


@pytest.mark.parametrize("message", REFUSED)
def test_ops_without_derivatives_are_refused(message: str) -> None:
    with pytest.raises(CompilationError, match=message):
        run_passes(kernel_of(REFUSED[message]), ("differentiate",), CONFIGS["optimized"])


def test_an_overlap_of_fields_that_their_duals_lack_is_refused() -> None:
    text = print_ir(kernel_of("")).replace("field @z: f64[4] tree=9", "field @z: f64[4] tree=1")
    with pytest.raises(CompilationError, match="'x' and 'z' share memory, but their duals do not"):
        run_passes(parse(text), ("differentiate",), CONFIGS["optimized"])


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (" mode=jvp", " mode=both", "has the unknown mode 'both'"),
        ("@x.dual: f64[4]", "@x.dual: f64[3]", "another type or shape"),
        ("-> ()", "-> ()", ""),
    ],
)
def test_the_verifier_checks_modes_and_duals(old: str, new: str, message: str) -> None:
    text = print_ir(kernel_of("")).replace(old, new)
    if not message:
        text, message = (
            text.replace("@k()", "@k(a.dual: f64 hidden=dual)"),
            "no parameter of its type to be the dual of",
        )
    with pytest.raises(InternalError, match=message):
        run_passes(parse(text), ("full_simplify",), CompileConfig(verify=True))


def with_duals(kernel: Kernel) -> Kernel:
    """The kernel in forward mode; each field of floats has a dual in a tree of its own."""
    made: dict[FieldSymbol, FieldSymbol] = {}
    trees = max(symbol.tree for symbol in kernel.fields) + 1
    fields: list[FieldSymbol] = []
    for symbol in kernel.fields:
        made[symbol] = symbol
        if carries(symbol.dtype):
            dual = replace(symbol, name=f"{symbol.name}.dual", tree=trees + symbol.tree)
            fields.append(dual)
            made[symbol] = replace(symbol, dual=dual)
        fields.append(made[symbol])
    for op in ops_of(kernel.body):
        if isinstance(op, (FieldPtr, StructFor)):
            op.field = made[op.field]
    kernel.fields, kernel.mode = tuple(fields), "jvp"
    return kernel


@settings(max_examples=draws(16), deadline=None, suppress_health_check=list(HealthCheck))
@given(program=chi_kernels())
def test_forward_mode_keeps_the_values_of_random_kernels(program: Program) -> None:
    """Whatever the ops and numbers, edge cases included: values are those of the kernel without a mode, bit by bit."""
    config = CompileConfig(fast_math=False, verify=True)
    before = outcome(program.kernel, program, config)
    results = program.kernel.results
    kernel = with_duals(program.kernel)
    duals = [symbol.dual.name for symbol in kernel.fields if symbol.dual is not None]
    program.fields |= {name: np.ones_like(program.fields[name.removesuffix(".dual")]) for name in duals}
    try:
        run_passes(kernel, ("differentiate",), config)
    except CompilationError as error:
        assume(False)
        raise AssertionError from error
    stages = [parse(print_ir(kernel)), run_passes(kernel, TO_TASKS + TO_LOWERED, config)]
    for one in stages:
        after = outcome(one, program, config)
        assert len(one.results) == len(results) + 1  # of i32 and f32x2, one has a dual
        for name, values in before.items():
            np.testing.assert_array_equal(after[name], values, name)
