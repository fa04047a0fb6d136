"""Sparse fields, lowered: the same values, cells and lengths as the evaluator gives for the kernel as it was
written."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from tests.sparse_trees import (
    Declared,
    I,
    branch,
    declare,
    lower,
    meant_values,
    mixed,
    place,
    stored_cells,
    stored_lengths,
    stored_values,
)
from weft.ir.config import CompileConfig
from weft.ir.evaluate import Fault, Memory, evaluate
from weft.ir.ops import Kernel
from weft.ir.parse import parse
from weft.ir.pipeline import TO_TASKS, run_passes
from weft.ir.storage.snode import SNode
from weft.ir.text import print_ir
from weft.ir.verify import verify

PLAIN = replace(CompileConfig(fast_math=False), verify=True)


def kernel_of(made: Declared, body: str, results: str = "") -> Kernel:
    """A kernel on a tree, with the numbers %0 to %9."""
    numbers = "\n".join(f"%{n} = const {n} : i32" for n in range(10))
    kernel = parse(f"kernel @k() -> ({results}) {{\n{made.text}\n{numbers}\n%v = const 5.0 : f32\n{body}\n}}")
    verify(kernel, "chi")
    return kernel


def compare(made: Declared, bodies: list[tuple[str, str]], config: CompileConfig = PLAIN) -> None:
    """Run kernels one after another, as they are and lowered, and compare what they return and leave."""
    meant, stored = Memory.of(made.fields, made.nodes), Memory.of(made.fields, made.nodes)
    for body, results in bodies:
        wanted = evaluate(kernel_of(made, body, results), [], meant, config)
        kernel, functions = lower(kernel_of(made, body, results), config)
        assert evaluate(kernel, [], stored, config, functions=functions) == wanted
        agree(made, meant, stored)


def agree(made: Declared, meant: Memory, stored: Memory) -> None:
    """Compare the memory of kernels as they are with that of lowered ones."""
    for node in made.nodes:
        if node.length is None:
            assert stored_cells(stored, node) == meant.sparse.cells(node), node.name
        else:
            lengths = meant.sparse.lengths.get(node.name, {})
            assert stored_lengths(stored, node) == {at: n for at, n in lengths.items() if n}
    for symbol in made.fields:
        assert stored_values(stored, symbol) == meant_values(meant, symbol), symbol.name


CASES: dict[str, tuple[str, str]] = {
    "reads do not activate, writes do": (
        """
        %p = field_ptr @x[%7, %8] : *f32
        %r = load %p
        %before = is_active @P1 [%2, %2]
        store %p, %v
        %after = is_active @P1 [%2, %2]
        %beside = is_active @P1 [%2, %3]
        %w = load %p
        return [%r, %before, %after, %beside, %w]""",
        "f32, u1, u1, u1, f32",
    ),
    "a cell that is written again after deactivation reads 0": (
        """
        %p = field_ptr @x[%7, %8] : *f32
        %q = field_ptr @x[%7, %7] : *f32
        %m = field_ptr @m[%5, %2] : *f32
        store %p, %v
        store %m, %v
        deactivate @P0 [%1, %1]
        %a = load %p
        %b = is_active @P1 [%2, %2]
        store %q, %v
        %c = load %p
        %d = load %m
        return [%a, %b, %c, %d]""",
        "f32, u1, f32, f32",
    ),
    "slots": (  # the first one of each pool is 1
        """
        %p = field_ptr @x[%7, %8] : *f32
        %none = is_active @P1 [%2, %2] slot=true
        store %p, %v
        %one = is_active @P1 [%2, %2] slot=true
        %above = is_active @P0 [%1, %1] slot=true
        %other = is_active @P1 [%2, %3] slot=true
        %l = field_ptr @z[%9, %2] : *i32
        %empty = is_active @D4 [%2, %2] slot=true
        store %l, %7
        %chunk = is_active @D4 [%2, %2] slot=true
        %behind = is_active @D4 [%2, %9] slot=true
        deactivate @P1 [%2, %2]
        %gone = is_active @P1 [%2, %2] slot=true
        return [%none, %one, %above, %other, %empty, %chunk, %behind, %gone]""",
        "u32, u32, u32, u32, u32, u32, u32, u32",
    ),
    "lists": (
        """
        %p = field_ptr @z[%9, %2] : *i32
        store %p, %7
        %n = length @D4 [%2]
        %j = append @D4 [%2]
        %gap = field_ptr @z[%8, %2] : *i32
        %g = load %gap
        %inside = is_active @D4 [%8, %2]
        %other = append @D4 [%3]
        deactivate @D4 [%2]
        %left = length @D4 [%2]
        %gone = load %p
        return [%n, %j, %g, %inside, %other, %left, %gone]""",
        "i32, i32, i32, u1, i32, i32, i32",
    ),
    "writes that do not activate": (
        """
        %p = field_ptr @y[%3], activates=false : *f32
        %q = field_ptr @y[%3] : *f32
        store %p, %v
        %a = load %q
        store %q, %v
        %old = atomic add %p, %v
        %b = load %q
        %r = field_ptr @x[%3, %3], activates=false : *f32
        %none = atomic add %r, %v
        %l = field_ptr @z[%3, %3], activates=false : *i32
        store %l, %3
        return [%a, %b, %none]""",
        "f32, f32, f32",
    ),
    "an element that is stored to itself is active": (
        """
        %p = field_ptr @x[%7, %8] : *f32
        %r = load %p
        store %p, %r
        %after = is_active @P1 [%2, %2]
        return [%after]""",
        "u1",
    ),
    "iterations activate the same cells": (
        """
        %e = const 24 : i32
        parallel_for begins=[%0, %0], ends=[%e, %e] (%i: i32, %j: i32) {
          %q = field_ptr @x[%i, %j] : *f32
          %w = field_ptr @x[%j, %0] : *f32
          %a = atomic add %q, %v
          %b = atomic add %w, %v
          %half = binary raw_div %i, %2 : i32
          %quarter = binary raw_div %i, %5 : i32
          %l = field_ptr @z[%half, %quarter] : *i32
          %c = atomic add %l, %i
          %n = append @D4 [%4]
        }""",
        "",
    ),
}


@pytest.mark.parametrize("name", [name for name in CASES if "iterations" not in name])
def test_lowered_kernels_mean_the_same(name: str) -> None:
    compare(declare(mixed()), [CASES[name]])


def test_iterations_activate_the_same_cells() -> None:
    body, _ = CASES["iterations activate the same cells"]
    compare(declare(mixed()), [(body.replace("%n = append @D4 [%4]", ""), "")])


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("activate @P0 [%4, %0]", r"index \[4, 0\] is out of bounds for the cells of 'P0'"),
        ("deactivate @D4 [%5]", r"index \[5\] is out of bounds for the cells of 'D4'"),
        ("for %0, %e, %1 (%i: i32) { %j = append @D4 [%4] }", r"list \[4\] of 'D4' is full: it has 20 elements"),
    ],
)
def test_failures(line: str, message: str) -> None:
    made = declare(mixed())
    body = f"%e = const 21 : i32\n{line}"
    with pytest.raises(Fault, match=message):
        evaluate(kernel_of(made, body), [], Memory.of(made.fields, made.nodes), PLAIN)
    kernel, functions = lower(kernel_of(made, body), PLAIN)
    with pytest.raises(Fault, match=message):
        evaluate(kernel, [], Memory.of(made.fields, made.nodes), PLAIN, functions=functions)


def test_a_pool_that_is_full_says_so() -> None:
    root = SNode("root")
    place(branch(root, "pointer", (I, 10)), "x")
    made = declare(root, most=200)
    assert made.nodes[0].capacity < 11
    kernel, functions = lower(
        kernel_of(
            made,
            "%e = const 10 : i32\nfor %0, %e, %1 (%i: i32) { %p = field_ptr @x[%i] : *f32\nstore %p, %v }",
        ),
        PLAIN,
    )
    with pytest.raises(Fault, match=r"no memory for cell \[\d\] of 'P0': its pool has \d cells of 8 bytes"):
        evaluate(kernel, [], Memory.of(made.fields, made.nodes), PLAIN, functions=functions)


def test_what_the_pass_makes(golden: Callable[[str, str], None]) -> None:
    root = SNode("root")
    outer = branch(root, "pointer", (I, 4))
    place(branch(branch(outer, "pointer", (I, 2)), "dense", (I, 8)), "x")
    body = """
        %e = const 63 : i32
        parallel_for begins=[%0], ends=[%e] (%i: i32) {
          %p = field_ptr @x[%i] : *f32
          %i1 = binary add %i, %1 : i32
          %q = field_ptr @x[%i1] : *f32
          %w = load %q
          store %p, %w
        }"""
    kernel = kernel_of(declare(root), body)
    run_passes(kernel, TO_TASKS[: TO_TASKS.index("lower_sparse") + 1], PLAIN)
    golden("lower_sparse.txt", print_ir(kernel))
