"""Parallel loops that run in order: their random numbers, and what synchronized their iterations."""

from __future__ import annotations

import numpy as np
import pytest

from tests.ir.dual_kernels import kernel_of
from weft.ir import ops
from weft.ir.autodiff.draws import number_draws
from weft.ir.autodiff.serial import run_serially
from weft.ir.autodiff.splitting import split_synchronizing
from weft.ir.config import CompileConfig
from weft.ir.evaluate import evaluate
from weft.ir.memory_model import Memory
from weft.ir.verify import verify

_FIELD = "field @h: f64[4, 3] tree=12 components=(0) offset=(2, 5)"
_HALO = f"{_FIELD} terms=((0, 1, 4, 24), (1, 1, 3, 8))"
FIELDS = {
    "rows": f"{_HALO} order=(0, 1)",
    "columns": f"{_FIELD} terms=((0, 1, 4, 8), (1, 1, 3, 32)) order=(1, 0)",
    "halo": f"{_HALO} order=(0, 1) halo=((1, 0), (0, 1))",
}
_DRAWS = """%a = random stream=1 : f64  %b = random stream=1 : f64  %c = binary mul %b, %a : f64
%d = binary sub %c, %b : f64  %p = field_ptr @h[%i, %j] : *f64  store %p, %d"""
LOOPS = {
    "a box": "parallel_for begins=[%c2, %c5], ends=[%c6, %c8] (%i: i32, %j: i32)",
    "a field": "struct_for @h (%i: i32, %j: i32)",
}


def left(kernel: ops.Kernel) -> np.ndarray:
    trees = [np.zeros(40) for _ in range(13)]
    evaluate(kernel, [], Memory([tree.view(np.uint8) for tree in trees]), CompileConfig())
    return trees[12]


@pytest.mark.parametrize("again", [False, True])
@pytest.mark.parametrize("layout", FIELDS)
@pytest.mark.parametrize("loop", LOOPS)
def test_an_iteration_draws_the_same_numbers_in_order(loop: str, layout: str, again: bool) -> None:
    numbers = "%c2 = const 2 : i32 %c5 = const 5 : i32 %c6 = const 6 : i32 %c8 = const 8 : i32"
    kernel = kernel_of(f"{numbers} {LOOPS[loop]} {{ {_DRAWS} }}", mode="", fields=FIELDS[layout])
    wanted = left(kernel)
    if again:
        number_draws(kernel)
    (found,) = kernel.all_of(ops.ParallelFor, ops.StructFor)
    run_serially(found)
    verify(kernel, "chi")
    assert not kernel.all_of(ops.ParallelFor, ops.StructFor, ops.Random)
    np.testing.assert_array_equal(left(kernel), wanted)
    assert np.count_nonzero(wanted) in (6, 12)


@pytest.mark.parametrize("expected", [1.0, 2.0])
def test_what_synchronizes_iterations_is_split_in_serial_code(expected: float) -> None:
    """`x[0]` is 2 at the begin. A comparison compares bits."""
    kernel = kernel_of(
        f"""%e = const {expected} : f64 %seven = const 7.0 : f64 %nine = const 9.0 : f64
        %p = field_ptr @x[%c0] : *f64 %q = field_ptr @y[%c0] : *f64 %r = field_ptr @z[%c0] : *f64
        %s = field_ptr @total[] : *f64
        %a = compare_exchange %p, %e, %seven : f64  %b = exchange %q, %a : f64
        %c = atomic_load %p : f64  atomic_store %r, %c  store %s, %b""",
        mode="",
    )
    split_synchronizing(kernel)
    verify(kernel, "chi")
    assert not kernel.all_of(ops.CompareExchange, ops.Exchange, ops.AtomicLoad, ops.AtomicStore)
    trees = [np.full(40, 2.0) for _ in range(12)]
    evaluate(kernel, [], Memory([tree.view(np.uint8) for tree in trees]), CompileConfig())
    found = [trees[symbol.tree][0] for symbol in kernel.fields if symbol.name in ("x", "y", "z", "total")]
    assert found == ([2.0, 2.0, 2.0, 2.0] if expected == 1.0 else [7.0, 2.0, 7.0, 2.0])


def test_a_comparison_of_zeros_of_both_signs_stores_nothing() -> None:
    kernel = kernel_of(
        """%e = const -0.0 : f64 %seven = const 7.0 : f64 %p = field_ptr @x[%c0] : *f64
        %a = compare_exchange %p, %e, %seven : f64""",
        mode="",
    )
    split_synchronizing(kernel)
    trees = [np.zeros(40) for _ in range(12)]
    evaluate(kernel, [], Memory([tree.view(np.uint8) for tree in trees]), CompileConfig())
    assert not np.any(trees)
