"""Reverse mode of kernels with array parameters: their gradients, and which arrays must be put back."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.ir.dual_kernels import kernel_of
from tests.ir.reverse_checks import CONFIGS, PLAIN, in_mode
from weft.ir.autodiff.hoisting import hoist_loads
from weft.ir.errors import CompilationError
from weft.ir.evaluate import evaluate
from weft.ir.memory_model import Memory
from weft.ir.ops import ArrayPtr, For, Kernel, Load
from weft.ir.parse import parse
from weft.ir.pipeline import run_passes
from weft.ir.text import print_ir


def arrays(body: str, kind: str = "[f64; 1]") -> Kernel:
    """A kernel with two arrays of that type, in reverse mode."""
    params = f"(a: {kind}, b: {kind}, a.grad: {kind} hidden=grad, b.grad: {kind} hidden=grad)"
    head = f"%a = arg index=0 : {kind} %b = arg index=1 : {kind} %c2 = const 2 : i32 %c3 = const 3 : i32 "
    return in_mode(kernel_of(head + body, params=params), "vjp")


def _square(source: str, target: str) -> str:
    return f"""%p = array_ptr {source} : *f64  %1 = load %p : f64  %2 = binary mul %1, %1 : f64
        %q = array_ptr {target} : *f64  store %q, %2"""


def _loop(body: str) -> str:
    return f"for %c0, %c3, %c1 (%k: i32) {{ %up = binary add %k, %c1 : i32 {body} }}"


SQUARES: dict[str, tuple[str, str, tuple[str, ...] | None]] = {
    "upwards": (_loop(_square("%a[%k]", "%a[%up]")), "[f64; 1]", ()),
    "a strided array may overlap itself": (_loop(_square("%a[%k]", "%a[%up]")), "[f64; 1 strided]", None),
    "exposed arrays may overlap": (_loop(_square("%a[%k]", "%b[%k]")), "[f64; 1 exposed]", None),
    "another array": (_loop(_square("%a[%k]", "%b[%k]")), "[f64; 1]", ()),
    "the same array, downwards": (_loop(_square("%a[%up]", "%a[%k]")), "[f64; 1]", ("a",)),
    "an index from before the loop": (
        "%n = array_shape %a, axis=0 : i32  %m = binary sub %n, %c1 : i32 " + _loop(_square("%a[%n]", "%a[%m]")),
        "[f64; 1]",
        (),
    ),
    "the same index from before the loop": (
        "%n = array_shape %a, axis=0 : i32  %m = binary sub %n, %c1 : i32 " + _loop(_square("%a[%m]", "%a[%m]")),
        "[f64; 1]",
        ("a",),
    ),
}


@pytest.mark.parametrize("optimized", CONFIGS)
@pytest.mark.parametrize("name", SQUARES)
def test_the_arrays_that_must_be_put_back(name: str, optimized: str) -> None:
    body, kind, saved = SQUARES[name]
    kernel = arrays(body, kind)
    if saved is None:
        with pytest.raises(CompilationError, match="but the kernel overwrites it"):
            run_passes(kernel, ("differentiate",), CONFIGS[optimized])
        return
    assert run_passes(kernel, ("differentiate",), CONFIGS[optimized]).saved == saved


def test_members_of_one_element_are_apart() -> None:
    kind = "[{p: f64, q: f64}; 1]"
    body = """%e = array_ptr %a[%c0] : *{{p: f64, q: f64}}  %p = member_ptr %e, index=0 : *f64
        %q = member_ptr %e, index={} : *f64  %1 = load %p : f64  %2 = binary mul %1, %1 : f64  store %q, %2"""
    apart = run_passes(arrays(body.format(1), kind), ("differentiate",), CONFIGS["optimized"])
    same = run_passes(arrays(body.format(0), kind), ("differentiate",), CONFIGS["optimized"])
    assert (apart.saved, same.saved) == ((), ("a",))


def test_the_gradients_of_arrays() -> None:
    """b[k] = a[k] ** 2 * b[k], and then a[0] = b[1]."""
    body = """parallel_for begins=[%c0], ends=[%c3] (%k: i32) { %p = array_ptr %a[%k] : *f64  %1 = load %p : f64
        %2 = binary mul %1, %1 : f64  %q = array_ptr %b[%k] : *f64  %3 = load %q : f64  %4 = binary mul %2, %3 : f64
        store %q, %4 } %r = array_ptr %b[%c1] : *f64  %5 = load %r : f64  %s = array_ptr %a[%c0] : *f64  store %s, %5"""
    made = run_passes(arrays(body), ("differentiate",), CONFIGS["optimized"])
    assert made.saved == ("a", "b")
    a, b = np.array([1.0, 2.0, 3.0]), np.array([0.5, 0.25, 2.0])
    da, db = np.array([10.0, 20.0, 30.0]), np.array([1.0, 2.0, 3.0])
    args: list[Any] = [a, b, da, db]
    evaluate(parse(print_ir(made)), args, Memory.of(made.fields), PLAIN)
    after = np.array([1.0, 2.0 + 10.0, 3.0])  # a[0] was stored: its adjoint goes to b[1]
    np.testing.assert_allclose(db, after * np.array([1.0, 4.0, 9.0]))
    np.testing.assert_allclose(da, np.array([0.0, 20.0, 30.0]) + after * 2 * np.array([1.0, 2.0, 3.0]) * b)


@pytest.mark.parametrize(
    ("end", "store", "hoisted"), [("%c3", "", True), ("%c3", "store %p, %3", False), ("%n", "", False)]
)
def test_a_load_that_does_not_change_in_a_loop_is_summed_in_a_local(end: str, store: str, hoisted: bool) -> None:
    """Not if the loop stores to it, nor if the loop may run no iteration and the address may be out of bounds."""
    body = f"""%n = array_shape %a, axis=0 : i32  %p = array_ptr %a[%n] : *f64  for %c0, {end}, %c1 (%k: i32) {{
        %1 = load %p : f64  %q = array_ptr %b[%k] : *f64  %2 = load %q : f64  %3 = binary mul %1, %2 : f64
        %r = field_ptr @z[%k] : *f64  %4 = atomic add %r, %3 : f64  {store} }}"""
    kernel = arrays(body)
    hoist_loads(kernel)
    (loop,) = kernel.all_of(For)
    assert (sum(isinstance(op.ptr, ArrayPtr) for op in loop.all_of(Load)) == 1) == hoisted
