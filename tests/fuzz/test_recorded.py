"""Programs whose gradient reads records: what the recording kernel leaves is held to what the program leaves."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest

import weft as ti
from tests.fuzz import recorded
from tests.fuzz.comparing import bits_of
from tests.fuzz.configurations import Configuration, applied
from tests.fuzz.derivatives import Subject, execute_derivatives
from tests.fuzz.determined import FUNCTIONS, determined
from tests.fuzz.execute import Judge, prepared
from tests.fuzz.leaving import Leaving
from tests.fuzz.machines import Machine
from tests.fuzz.modes import SECOND
from tests.fuzz.nodes import Body, Stmt
from tests.fuzz.program import Program
from weft.ir.adversary import Schedule
from weft.ir.config import CompileConfig
from weft.ir.evaluate import evaluate
from weft.ir.memory_model import Memory
from weft.ir.ops import Kernel
from weft.ir.parse import parse
from weft.ir.scalar import UNARY
from weft.ir.symbols import RECORDING
from weft.ir.types import Prim, f16, f32, f64

EXACT = Configuration(options={"fast_math": False, "offline_cache": False, "cpu_max_num_threads": 1})
CONFIG = CompileConfig(fast_math=False)
COUNT = 24

# Elements that data chooses are overwritten twice, so the gradient needs records. Each sine makes errors a thousand
# times as large.
LARGE = "o_f64[i] = 1e4 * z_add_f32[None] + o_f64[i] - 1e4 * ti.round(z_add_f32[None])"
CHAOS = ["o_f64[perm[i]] = ti.sin(1000.0 * o_f64[perm[i]])"] * 3


def program_of(*lines: str) -> Program:
    loop = Stmt(
        "parallel range", [("for i in range(COUNT):", Body([Stmt("own store", [(one, None)]) for one in lines]))]
    )
    return Program("small-0", [], Body([loop]), "", {}, "same", smooth=True, floats="f32")


def rounded_otherwise() -> Any:
    """The evaluator rounds sin otherwise than the library of machine code."""
    row = UNARY["sin"]
    return patch.dict(UNARY, {"sin": replace(row, evaluate=lambda x: np.nextafter(row.evaluate(x), x.dtype.type(2)))})


def test_machine_code_that_amplifies_the_rounding_of_functions_is_no_difference() -> None:
    with rounded_otherwise():
        outcome = execute_derivatives(program_of(*CHAOS), EXACT, ("vjp",), "cpu")
    assert outcome.status == "same", outcome.detail
    assert outcome.counts["recording kernels that amplify rounding"] == 2
    assert outcome.counts["recording kernels"] == 8


def test_a_recording_kernel_that_computes_something_else_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """A last bit in machine code, which no tolerance could tell from the rounding of a function."""
    compiled = Machine.__call__

    def wrong(self: Machine, kernel: Any, *rest: Any) -> Any:
        run = compiled(self, kernel, *rest)
        if not any(param.hidden == RECORDING for param in kernel.params):
            return run

        def moved(trees: list[Any], args: list[Any]) -> list[Any]:
            values = trees[0][: 4 * COUNT].view(np.float32)
            values[:] = np.nextafter(values, np.float32(2))
            return run(trees, args)

        return moved

    monkeypatch.setattr(Machine, "__call__", wrong)
    with rounded_otherwise():
        outcome = execute_derivatives(program_of(*CHAOS), EXACT, ("vjp",), "cpu")
    assert outcome.status == "differs", outcome.detail
    assert outcome.detail.startswith("vjp, optimized, machine code: the recording kernel differs from the program")


def test_one_other_bit_is_found_of_kernels_that_record_duals(monkeypatch: pytest.MonkeyPatch) -> None:
    """The Hessian alone would not tell."""
    program = replace(program_of("o_f64[perm[i]] = ti.sin(o_f64[perm[i]])", *CHAOS[:1]), floats="f64")
    right = execute_derivatives(program, EXACT, (SECOND,), "cpu")
    assert right.status == "same", right.detail
    assert right.counts["programs with Hessians from records"] == 1
    assert right.counts["recording kernels"] == 16
    ran = recorded._Recorder.run_paired

    def run_paired(self: Any, make: Any, start: Any) -> tuple[Any, Any]:
        left, records = ran(self, make, start)
        self.subject.space.write(left, np.nextafter(self.subject.space.read(left, True), 9.0))
        return left, records

    monkeypatch.setattr(recorded._Recorder, "run_paired", run_paired)
    outcome = execute_derivatives(program, EXACT, (SECOND,))
    assert outcome.status == "differs", outcome.detail
    assert outcome.detail.startswith("vjp.jvp, chi: the recording kernel differs from the program: number ")


def test_one_other_bit_is_found_in_the_evaluator(monkeypatch: pytest.MonkeyPatch) -> None:
    launched = Subject.launch

    def launch(self: Subject, mode: str, run: Any, numbers: Any, others: Any) -> None:
        launched(self, mode, run, numbers, others)
        if self.records_kind == RECORDING:
            symbol = next(symbol for symbol in self.text.fields if symbol.name == "o_f64")
            memory = Memory(numbers.trees)
            memory.write(symbol, np.nextafter(memory.read(symbol), np.float32(2)))

    program = program_of(*CHAOS)
    assert execute_derivatives(program, EXACT, ("vjp",)).status == "same"
    monkeypatch.setattr(Subject, "launch", launch)
    outcome = execute_derivatives(program, EXACT, ("vjp",))
    assert outcome.status == "differs", outcome.detail
    assert outcome.detail.startswith("vjp, chi: the recording kernel differs from the program: number 0 of o_f64 is ")


ALL = (*FUNCTIONS, "pow", "atan2")


def all_functions(type: str, size: int) -> Kernel:
    """Puts each function of the elements of @x, or of @x and @y, in a row of @z."""
    fields = "".join(
        f"  field @{name}: {type}[{COUNT}] tree={tree} components=(0) terms=((0, 1, {COUNT}, {size})) order=(0)\n"
        for tree, name in enumerate("xy")
    )
    rows = f"(0, 1, {len(ALL)}, {COUNT * size}), (1, 1, {COUNT}, {size})"
    lines = list[str]()
    for row, kind in enumerate(ALL):
        applied = f"unary {kind} %a" if kind in FUNCTIONS else f"binary {kind} %a, %b"
        lines += [f"%k{row} = const {row} : i32", f"%p{row} = field_ptr @z[%k{row}, %i] : *{type}",
                  f"%v{row} = {applied} : {type}", f"store %p{row}, %v{row}"]  # fmt: skip
    body = "\n".join(lines)
    return parse(f"""kernel @all() -> () {{
{fields}  field @z: {type}[{len(ALL)}, {COUNT}] tree=2 components=(0) terms=({rows}) order=(0, 1)
  %0 = const 0 : i32
  %n = const {COUNT} : i32
  parallel_for begins=[%0], ends=[%n] (%i: i32) {{
%px = field_ptr @x[%i] : *{type}
%py = field_ptr @y[%i] : *{type}
%a = load %px : {type}
%b = load %py : {type}
{body}
  }}
}}
""")  # fmt: skip


@pytest.mark.parametrize("arch", ["cpu", pytest.param("emulated", marks=pytest.mark.emulated)])
@pytest.mark.parametrize("prim", [f16, f32, f64], ids=str)
def test_determined_functions_have_the_same_bits_in_machine_code(arch: str, prim: Prim) -> None:
    special = [0.0, -0.0, 1.0, -1.0, 2.0, np.inf, -np.inf, np.nan, 1e-7]
    x = np.array([*special, *np.linspace(-9, 9, COUNT - len(special))], prim.np)
    y = np.array([1.0, 2.0, 0.0, -1.0, 2.0, 0.5, -1.0, 0.0, 2.0, *np.linspace(-2, 2, COUNT - len(special))], prim.np)
    left = list[Any]()
    with determined(), np.errstate(all="ignore"):
        for how in ("evaluator", arch):
            kernel = all_functions(str(prim), prim.size)
            memory = Memory.of(kernel.fields)
            memory.write(kernel.fields[0], x)
            memory.write(kernel.fields[1], y)
            if how == "evaluator":
                evaluate(kernel, [], memory, CONFIG)
            else:
                Machine(EXACT, how)(kernel, [], CONFIG)(memory.trees, [])
            left.append(memory.read(kernel.fields[2]))
    for row, kind in enumerate(ALL):
        np.testing.assert_array_equal(bits_of(left[1][row]), bits_of(left[0][row]), err_msg=kind)
    assert len({row.tobytes() for row in left[0]}) == len(ALL)
    assert not np.array_equal(left[0][2], UNARY["sin"].evaluate(x))


def test_what_the_order_cannot_change_must_be_the_same_bits() -> None:
    """Sums of floats may be rounded otherwise, and no place else."""
    program = program_of("o_f64[i] = ti.sin(o_f64[i])", "o_i32[i] = perm[i]", "z_add_f32[None] += o_f64[i]")
    with applied(EXACT), prepared(program, False) as (data, kernel):
        subject = Subject(Judge(kernel, data, ti.lang.program.init.program().config), "bits", CONFIG, floats="f32")
        leaving = Leaving(subject)
        symbols = {symbol.name: symbol for symbol in subject.text.fields}

        def found(name: str, change: Callable[[Any], Any], exactly: bool = True) -> str:
            left = subject.primal(subject.base)
            memory = Memory(left.trees)
            memory.write(symbols[name], change(memory.read(symbols[name])))
            return leaving.differs(left, exactly)

        def bit(values: Any) -> Any:
            return np.nextafter(values, np.float32(9))

        assert not found("o_f64", lambda values: values)
        assert found("o_f64", bit).startswith("number 0 of o_f64 is ")
        assert not found("o_f64", bit, False)
        assert found("o_f64", lambda values: values * np.float32(1.001), False)
        assert found("o_i32", lambda values: values + 1, False)
        assert not found("z_add_f32", bit)
        assert found("z_add_f32", lambda values: values * np.float32(1.001))
        assert found("z_add_f32", lambda values: values * np.float32(np.nan))


def test_sums_that_a_program_amplifies_may_differ_as_much_as_its_orders_do() -> None:
    program = program_of("z_add_f32[None] += o_f64[i]")
    loop = Stmt("parallel range", [("for i in range(COUNT):", Body([Stmt("own store", [(LARGE, None)])]))])
    program.body.stmts.append(loop)
    with applied(EXACT), prepared(program, False) as (data, kernel):
        subject = Subject(Judge(kernel, data, ti.lang.program.init.program().config), "sums", CONFIG, floats="f32")
        leaving = Leaving(subject)
        symbol = next(symbol for symbol in subject.text.fields if symbol.name == "o_f64")
        values = Memory(leaving.wanted.trees).read(symbol)
        others = [subject.primal(subject.base, Schedule(seed)) for seed in range(20, 24)]
        moved = [np.abs(Memory(left.trees).read(symbol) - values).max() for left in others]
        assert max(moved) > 2e-3
        left = others[int(np.argmax(moved))]
        assert not leaving.differs(left)
        Memory(left.trees).write(symbol, values + np.float32(10.0))
        assert leaving.differs(left).startswith("number 0 of o_f64 is ")


def test_results_of_kernels_are_compared() -> None:
    """A struct, too."""
    program = program_of("o_f64[i] = ti.sin(o_f64[i])")
    program.result = "S"
    program.body.stmts.append(Stmt("return", [("return r_S[0]", None)]))
    with applied(EXACT), prepared(program, False) as (data, kernel):
        subject = Subject(Judge(kernel, data, ti.lang.program.init.program().config), "struct", CONFIG, floats="f32")
        leaving, left = Leaving(subject), subject.primal(subject.base)
        assert not leaving.differs(left)
        whole, number, vector = left.results[0]
        left.results[0] = [whole, number, np.nextafter(vector, np.float32(9))]
        assert leaving.differs(left).startswith("number 1 of result 0 is ")
