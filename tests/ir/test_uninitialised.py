"""`uninitialised`: reading what nothing has written is a fault, and nothing else changes. Run by the evaluator."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings

from tests.generate import Program, chi_kernels
from tests.ir.test_passes_agree import bits
from tests.sampling import draws
from weft.ir.config import CompileConfig
from weft.ir.evaluate import Fault, Memory, evaluate
from weft.ir.ops import Kernel
from weft.ir.parse import parse
from weft.ir.storage.cell import Shadow
from weft.ir.text import print_ir
from weft.ir.transforms.uninitialised import uninitialised
from weft.ir.verify import verify

examples = settings(max_examples=draws(100), deadline=None, suppress_health_check=list(HealthCheck))
PLAIN = CompileConfig(fast_math=False)


def watched(kernel: Kernel) -> int:
    """Put the check into a kernel; gives the number of its trees."""
    trees = 1 + max((symbol.tree for symbol in kernel.fields), default=-1)
    declare(kernel, trees)
    assert uninitialised(kernel, CompileConfig(check_uninitialised=True))
    verify(kernel, "chi")
    return trees


def declare(kernel: Kernel, first: int) -> None:
    """Give each field marks for a shadow: those of tree k in tree `first + k`."""
    for symbol in kernel.fields:
        shadow = Shadow("marks", f"{symbol.name}.marks", first + symbol.tree)
        cell = replace(symbol.path.cell, shadows=(shadow,))
        object.__setattr__(symbol, "path", replace(symbol.path, cell=cell))


def test_nothing_without_marks():
    kernel = parse((Path(__file__).parent / "golden" / "uninitialised.before.chi").read_text())
    before = print_ir(kernel)
    assert not uninitialised(kernel, PLAIN)
    assert print_ir(kernel) == before


def test_text(golden: Callable[[str, str], None]):
    kernel = parse((Path(__file__).parent / "golden" / "uninitialised.before.chi").read_text())
    watched(kernel)
    golden("uninitialised.chi", print_ir(kernel).rstrip() + "\n")


def copied(args: list[Any]) -> list[Any]:
    return [np.copy(x) if isinstance(x, np.ndarray) else x for x in args]


@examples
@given(program=chi_kernels())
def test_programs_whose_elements_were_written_run_as_before(program: Program):
    before = program.memory()
    expected = evaluate(program.kernel, copied(program.args), before, PLAIN)
    fields, memory = program.kernel.fields, program.memory()
    watched(program.kernel)
    marks = [np.ones_like(x) for x in program.args if isinstance(x, np.ndarray) and x is program.args[-1]]
    whole = Memory.of(program.kernel.fields)
    whole.trees[: len(memory.trees)] = memory.trees
    for symbol in program.kernel.fields[len(fields) :]:
        whole.write(symbol, np.ones_like(whole.read(symbol)))
    given = evaluate(program.kernel, [*copied(program.args), *marks], whole, PLAIN)
    for a, b in zip(given, expected, strict=True):
        np.testing.assert_array_equal(bits(a), bits(b))
    for symbol in fields:
        np.testing.assert_array_equal(bits(memory.read(symbol)), bits(before.read(symbol)))
    for symbol in program.kernel.fields[len(fields) :]:
        assert whole.read(symbol).all()


def test_what_is_missing_is_named():
    kernel = parse((Path(__file__).parent / "golden" / "uninitialised.before.chi").read_text())
    trees = watched(kernel)
    memory = Memory.of(kernel.fields)
    data, marks = np.zeros(4, np.float32), np.array([1, 0, 1, 1], np.float32)
    v_marks = next(symbol for symbol in kernel.fields if symbol.name == "v.marks")
    assert v_marks.tree == trees + 1
    memory.write(v_marks, np.array([[1, 1], [1, 0], [1, 1], [1, 1]]))
    with pytest.raises(Fault, match=r"v\[0\]\[1\] is read before it is written") as caught:
        evaluate(kernel, [1, data, marks], memory, PLAIN)
    assert caught.value.kind == "uninitialised"
    memory.write(v_marks, np.ones((4, 2)))
    with pytest.raises(Fault, match=r"data\[1\] is read before it is written"):
        evaluate(kernel, [2, data, marks], memory, PLAIN)
    evaluate(kernel, [1, data, marks], memory, PLAIN)


@pytest.mark.parametrize(
    ("op", "faults"),
    [
        ("atomic_store %p, %1", False),
        ("%got = atomic_load %p : i32", True),
        ("%got = exchange %p, %1 : i32", True),
        ("%got = compare_exchange %p, %1, %1 : i32", True),
    ],
)
def test_atomic_accesses(op: str, faults: bool):
    """An atomic store writes; what gives what was there reads it."""
    kernel = parse(f"""kernel @k() -> () {{
  field @x: i32 tree=0 components=(0)
  %1 = const 1 : i32
  %p = field_ptr @x[] : *i32
  {op}
  %after = load %p : i32
}}""")
    watched(kernel)
    with pytest.raises(Fault, match="before it is written") if faults else nullcontext():
        evaluate(kernel, [], Memory.of(kernel.fields), PLAIN)
