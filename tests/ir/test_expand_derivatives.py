"""`expand_derivatives`: what it makes of a `derivative`, in which order, and what it refuses."""

from __future__ import annotations

import pytest

from weft.ir import ops
from weft.ir.config import CompileConfig
from weft.ir.core import ops_of
from weft.ir.errors import CompilationError
from weft.ir.evaluate import evaluate
from weft.ir.ops import Kernel
from weft.ir.parse import parse
from weft.ir.text import print_ir
from weft.ir.transforms.expand_derivatives import expand_derivatives
from weft.ir.transforms.full_simplify import full_simplify
from weft.ir.verify import verify

CONFIG = CompileConfig(fast_math=False, verify=True)


def expanded(body: str) -> Kernel:
    """The kernel `(x: f64, p: f64x2) -> (f64, f64)`, expanded and verified."""
    kernel = parse(f"""kernel @k(x: f64, p: f64x2) -> (f64, f64) {{
  field @y: f64[2] tree=0 components=(0) terms=((0, 1, 2, 8)) order=(0)
  %x = arg index=0 : f64
  %p = arg index=1 : f64x2
  %zero = const 0.0 : f64
{body}
}}""")
    assert expand_derivatives(kernel, CONFIG)
    verify(kernel, "chi")
    assert not kernel.all_of(ops.Vary, ops.Derivative)
    assert not expand_derivatives(kernel, CONFIG)
    return kernel


def results(body: str, x: float = 0.5, p: tuple[float, float] = (2.0, 3.0)) -> list[float]:
    return [float(one) for one in evaluate(expanded(body), [x, list(p)], None, CONFIG)]


def test_an_operator_costs_its_derivative() -> None:
    kernel = expanded("""  %v = vary %x : f64
  %y = binary mul %v, %v : f64
  %d = derivative %y, %v : f64
  return [%d, %zero]""")
    full_simplify(kernel, CONFIG)
    assert [op.opname for op in ops_of(kernel.body)].count("binary") == 1  # x + x
    assert "vary" not in print_ir(kernel)


def test_a_derivative_in_a_function_comes_first() -> None:
    body = """  %v = vary %x : f64
  %w = vary %v : f64
  %cube = binary mul %w, %w : f64
  %cubed = binary mul %cube, %w : f64
  %d = derivative %cubed, %w : f64
  %dd = derivative %d, %v : f64
  return [%d, %dd]"""
    assert results(body) == [0.75, 3.0]


def test_one_argument_is_not_another() -> None:
    body = """  %v = vary %x : f64
  %w = vary %x : f64
  %y = binary mul %v, %w : f64
  %a = derivative %y, %v : f64
  %b = derivative %x, %v : f64
  return [%a, %b]"""
    assert results(body) == [0.5, 0.0]  # only %v is moved, and %x itself is not


def test_vectors_have_a_number_for_each_of_theirs() -> None:
    body = """  %v = vary %p : f64x2
  %a = extract %v, index=0 : f64
  %b = extract %v, index=1 : f64
  %ab = binary mul %a, %b : f64
  %both = make_tensor [%ab, %b] : f64x2
  %j = derivative %both, %v : f64x2x2
  %s = derivative %ab, %v : f64x2
  %j01 = extract %j, index=1 : f64
  %j10 = extract %j, index=2 : f64
  %s0 = extract %s, index=0 : f64
  %sum = binary add %j10, %s0 : f64
  return [%j01, %sum]"""
    assert results(body) == [2.0, 3.0]


def test_locals_and_branches_carry_duals() -> None:
    body = """  %cell = alloca : *f64
  store %cell, %zero
  %v = vary %x : f64
  %positive = binary lt %zero, %v : u1
  if %positive then {
    %w = binary mul %v, %v : f64
    store %cell, %w
  } orelse {
    store %cell, %zero
  }
  %r = load %cell : f64
  %d = derivative %r, %v : f64
  return [%d, %r]"""
    assert results(body) == [1.0, 0.25]
    assert results(body, x=-1.0) == [0.0, 0.0]


@pytest.mark.parametrize(
    ("ops_of_function", "what"),
    [
        ("%q = field_ptr @y[%i] : *f64  store %q, %w", "this store"),
        ("%q = field_ptr @y[%i] : *f64  %o = atomic add %q, %w : f64", "this atomic"),
        ("%q = field_ptr @y[%i] : *f64  atomic_store %q, %w, order=release", "this atomic_store"),
        ("%o = invoke function=f_0, [%w], touched=(), results=(f64) : f64", "this invoke"),
    ],
)
def test_values_that_leave_are_refused(ops_of_function: str, what: str) -> None:
    with pytest.raises(CompilationError, match=what):
        expanded(f"""  %i = const 0 : i32
  %v = vary %x : f64
  %w = binary mul %v, %v : f64
  {ops_of_function.replace("  ", chr(10))}
  %d = derivative %w, %v : f64
  return [%d, %zero]""")


def test_locals_from_outside_of_the_loop_are_refused() -> None:
    body = """  %cell = alloca : *f64
  store %cell, %x
  %from = const 0 : i32
  %to = const 3 : i32
  %by = const 1 : i32
  for %from, %to, %by (%k: i32) {
    %v = vary %x : f64
    %r = load %cell : f64
    %w = binary mul %v, %r : f64
    STORE
    %d = derivative %w, %v : f64
    store %cell, %d
  }
  %end = load %cell : f64
  return [%end, %zero]"""
    assert results(body.replace("STORE", "")) == [0.5, 0.0]  # the derivative itself may leave
    with pytest.raises(CompilationError, match="this store"):
        expanded(body.replace("STORE", "store %cell, %w"))


def test_what_does_not_depend_on_the_argument_may_be_stored() -> None:
    body = """  %i = const 0 : i32
  %v = vary %x : f64
  %q = field_ptr @y[%i] : *f64
  store %q, %x
  %r = load %q : f64
  %w = binary mul %v, %r : f64
  %d = derivative %w, %v : f64
  return [%d, %zero]"""
    kernel = expanded(body)
    assert "store" in print_ir(kernel)
