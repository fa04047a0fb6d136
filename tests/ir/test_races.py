"""`races`: iterations that touch one element without an order are found, others are not. Run by the evaluator."""

from __future__ import annotations

import re
from collections.abc import Callable
from itertools import combinations, product
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.generate import ARRAY, Program, chi_kernels
from tests.ir.test_passes_agree import bits
from tests.sampling import draws
from weft.ir.config import CompileConfig
from weft.ir.evaluate import Fault, Memory, evaluate
from weft.ir.ops import Kernel, Random
from weft.ir.parse import parse
from weft.ir.races import ARRAYS, CELL_WORDS, HEADER, RaceTable, shadow_symbol
from weft.ir.races_touch import touch_kernels
from weft.ir.text import print_ir
from weft.ir.transforms.races import races
from weft.ir.verify import verify

examples = settings(max_examples=draws(100), deadline=None, suppress_health_check=list(HealthCheck))
PLAIN = CompileConfig(fast_math=False)
N = 6


def watched(kernel: Kernel) -> RaceTable:
    """Put the check into a kernel."""
    table = RaceTable(shadow_symbol(1 + max((symbol.tree for symbol in kernel.fields), default=-1)))
    kernel.fields = (*kernel.fields, table.shadow)
    assert races(kernel, CompileConfig(races=table))
    verify(kernel, "chi")
    return table


def run(kernel: Kernel, table: RaceTable, args: list[Any], memory: Memory, arrays: int = 0) -> Any:
    """Run a watched kernel on a shadow of its own; `arrays`: the scalars of array arguments. Fault for a race."""
    shadow = np.zeros(HEADER + CELL_WORDS * (table.cells + arrays), np.int64)
    for region in table.arrays():
        shadow[ARRAYS + region.array] = table.cells
    memory.trees.append(shadow.view(np.uint8))
    return evaluate(kernel, args, memory, PLAIN, functions=touch_kernels(table.shadow))


def test_nothing_without_a_table():
    kernel = parse(source([Access("write", 1, 0, 1)]))
    assert not races(kernel, PLAIN)


def test_text(golden: Callable[[str, str], None]):
    """The whole text of a watched loop, and of the function that notes a write."""
    kernel = parse((Path(__file__).parent / "golden" / "races.before.chi").read_text())
    table = watched(kernel)
    golden("races.chi", print_ir(kernel).rstrip() + "\n")
    golden("races_touch.txt", "\n".join(print_ir(touch) for touch in touch_kernels(table.shadow)).rstrip() + "\n")
    assert [access.kind for access in table.accesses] == ["read", "atomic", "write", "read"]
    assert [loop.names for loop in table.loops] == [("i",), ("k", "j")]


@examples
@given(program=chi_kernels())
def test_programs_without_races_run_as_before(program: Program):
    for op in program.kernel.walk():
        if isinstance(op, Random):
            op.stream = 0
    before, plain = program.memory(), [np.copy(x) if isinstance(x, np.ndarray) else x for x in program.args]
    expected = evaluate(program.kernel, plain, before, PLAIN)
    fields, memory = program.kernel.fields, program.memory()
    table = watched(program.kernel)
    args = [np.copy(x) if isinstance(x, np.ndarray) else x for x in program.args]
    given = run(program.kernel, table, args, memory, args[-1].size)
    for a, b in zip(given, expected, strict=True):
        np.testing.assert_array_equal(bits(a), bits(b))
    for symbol in fields:
        np.testing.assert_array_equal(bits(memory.read(symbol)), bits(before.read(symbol)))


class Access(NamedTuple):
    """A touch of x[(scale * i + start) % N] in the iterations where i % every == 0."""

    kind: str
    scale: int
    start: int
    every: int

    def element(self, i: int) -> int | None:
        return (self.scale * i + self.start) % N if i % self.every == 0 else None


def source(accesses: list[Access]) -> str:
    """A kernel whose loop makes these accesses, one after the other, to a field of vectors' second components."""
    lines = [
        "kernel @random() -> () {",
        f"  field @x: f32x2[{N}] tree=0 components=(0, 4) terms=((0, 1, {N}, 8)) offset=(0) order=(0)",
        "  %zero = const 0 : i32",
        f"  %n = const {N} : i32",
        "  %one = const 1 : i32",
        "  %f = const 1.0 : f32",
        "  parallel_for begins=[%zero], ends=[%n] (%i: i32) {",
    ]
    for number, access in enumerate(accesses):
        a = {"read": "load %p{0} : f32", "write": "store %p{0}, %f", "atomic": "atomic add %p{0}, %f : f32"}[
            access.kind
        ]
        text = a.format(number)
        result = "" if access.kind == "write" else f"%r{number} = "
        lines += [
            f"    %s{number} = const {access.scale} : i32",
            f"    %b{number} = const {access.start} : i32",
            f"    %e{number} = const {access.every} : i32",
            f"    %m{number} = binary mul %i, %s{number} : i32",
            f"    %a{number} = binary add %m{number}, %b{number} : i32",
            f"    %k{number} = binary mod %a{number}, %n : i32",
            f"    %g{number} = binary mod %i, %e{number} : i32",
            f"    %c{number} = binary eq %g{number}, %zero : u1",
            f"    if %c{number} then {{",
            f"      %q{number} = field_ptr @x[%k{number}] : *f32x2",
            f"      %p{number} = element_ptr %q{number}[%one] : *f32",
            f"      {result}{text}",
            "    }",
        ]
    return "\n".join([*lines, "  }", "}"])


def racy(accesses: list[Access]) -> bool:
    """Whether two different iterations meet on one element, not both reading and not both by atomics."""
    return any(
        a.element(i) is not None and a.element(i) == b.element(j) and {a.kind, b.kind} not in ({"read"}, {"atomic"})
        for i, j in combinations(range(N), 2)
        for a, b in product(accesses, repeat=2)
    )


KINDS = st.sampled_from(("read", "write", "atomic"))
ACCESSES = st.lists(
    st.builds(Access, KINDS, st.sampled_from((0, 1, 1, 5, 2)), st.integers(0, N - 1), st.integers(1, N))
)


@settings(max_examples=draws(150), deadline=None)
@given(accesses=ACCESSES.filter(bool))
def test_races_are_found_exactly_where_there_are_some(accesses: list[Access]):
    kernel = parse(source(accesses))
    memory, table = Memory.of(kernel.fields), watched(kernel)
    if not racy(accesses):
        run(kernel, table, [], memory)
        return
    with pytest.raises(Fault) as caught:
        run(kernel, table, [], memory)
    assert caught.value.kind == "race"


def test_loops_that_follow_one_another_have_an_order():
    loop = source([Access("write", 0, 0, N)]).removesuffix("  }\n}").split("  parallel_for")[1]
    again = re.sub(r"%(?=[^znof])", "%again_", loop)
    head = source([]).split("  parallel_for")[0]
    kernel = parse(f"{head}  parallel_for{loop}  }}\n  parallel_for{again}  }}\n}}")
    memory, table = Memory.of(kernel.fields), watched(kernel)
    run(kernel, table, [], memory)
    assert len(table.loops) == 2


def test_arrays_have_cells_too():
    kernel = parse(
        "kernel @k(data: [f32; 1]) -> () {\n"
        "  %zero = const 0 : i32\n  %three = const 3 : i32\n  %f = const 1.0 : f32\n"
        "  parallel_for begins=[%zero], ends=[%three] (%i: i32) {\n"
        "    %data = arg index=0 : [f32; 1]\n    %p = array_ptr %data[%zero] : *f32\n    store %p, %f\n  }\n}"
    )
    assert kernel.params[0].type is ARRAY
    table = watched(kernel)
    with pytest.raises(Fault, match="a race"):
        run(kernel, table, [np.zeros(3, np.float32)], Memory([]), 3)


@pytest.mark.parametrize("op", ["fence", "%old = exchange %p, %i, order=acquire : i32"])
def test_a_kernel_that_synchronises_is_not_checked(op: str) -> None:
    """The shadow knows nothing of acquire and release: what they order would be called a race."""
    made = parse(
        f"""kernel @k() -> () {{
  field @x: i32[8] tree=0 components=(0) terms=((0, 1, 8, 4)) order=(0)
  %0 = const 0 : i32
  %8 = const 8 : i32
  %p = field_ptr @x[%0] : *i32
  parallel_for begins=[%0], ends=[%8] (%i: i32) {{
    {op}
    store %p, %i
  }}
}}"""
    )
    table = RaceTable(shadow_symbol(1))
    assert not races(made, CompileConfig(races=table))
    assert table.unchecked
    assert not table.accesses
