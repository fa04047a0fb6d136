"""Reverse mode: gradients against forward mode, in the evaluator and as machine code, and the text of kernels."""

from __future__ import annotations

import re
from collections.abc import Callable

import numpy as np
import pytest

from tests.ir.dual_kernels import BODIES, kernel_of, random_kernel
from tests.ir.reverse_checks import CONFIGS, PLAIN, hold_dot_product, hold_in_pieces, in_mode, point_of, run
from tests.ir.test_forward_mode import with_duals
from tests.sampling import every
from weft.ir import ops
from weft.ir.autodiff.torn import Torn
from weft.ir.config import CompileConfig
from weft.ir.errors import CompilationError
from weft.ir.mapping.stretches import iterations_of
from weft.ir.parse import parse
from weft.ir.pipeline import run_passes
from weft.ir.text import print_ir

_REFUSED_BODIES = ("products",)


def _loop(body: str) -> str:
    return f"""parallel_for begins=[%c0], ends=[%c4] (%i: i32) {{
        %px = field_ptr @x[%i] : *f64  %x = load %px : f64  %py = field_ptr @y[%i] : *f64  %y = load %py : f64
        %pz = field_ptr @z[%i] : *f64  %l = alloca : *f64  store %l, %x  %many = const 150 : i32 {body} }}"""


_STEP = """%1 = load %l : f64  %2 = unary sin %1 : f64  %3 = binary mul %2, %y : f64  %4 = binary add %3, %x : f64
    store %l, %4"""
# The index, or 1: a number of which nothing is known.
_UNKNOWN = "%floor = unary floor %x : f64  %one = cast %floor : i32  %u = binary max %one, %i : i32"

MORE: dict[str, str] = {
    "an iteration of known length": _loop(
        f"for %c0, %c4, %c1 (%k: i32) {{ {_STEP} }}  %r = load %l : f64 store %pz, %r"
    ),
    "products of one factor": _loop(
        """%2 = binary mul %x, %x : f64  %3 = binary mul %x, %2 : f64  %4 = binary mul %y, %y : f64
        %5 = binary mul %4, %4 : f64  %6 = binary mul %5, %4 : f64  %7 = binary mul %3, %6 : f64  store %pz, %7"""
    ),
    "an iteration that ends early": _loop(
        f"""{_UNKNOWN}  %n = binary mul %u, %many : i32  for %c0, %n, %c1 (%k: i32) {{ {_STEP}
        %lim = binary sub %n, %c4 : i32  %p = binary gt %k, %lim : u1  if %p then {{ break }}
        %5 = load %l : f64  %f0 = const 0.4 : f64  %6 = binary mul %5, %f0 : f64  store %l, %6 }}
        %r = load %l : f64 store %pz, %r"""
    ),
    "an iteration downwards": _loop(
        f"""{_UNKNOWN}  %n = binary mul %u, %many : i32  %down = const -3 : i32  for %n, %c1, %down (%k: i32) {{
        %f = cast %k : f64  %f0 = const 0.001 : f64  %g = binary mul %f, %f0 : f64  {_STEP}
        %5 = load %l : f64  %6 = binary mul %5, %g : f64  store %l, %6 }}  %r = load %l : f64 store %pz, %r"""
    ),
    "nested iterations": _loop(
        f"""{_UNKNOWN}  %n = binary mul %u, %c4 : i32
        for %c0, %n, %c1 (%k: i32) {{ for %c0, %k, %c1 (%j: i32) {{ {_STEP} }}
        %p = binary lt %k, %i : u1  if %p then {{ %5 = load %l : f64  %6 = binary mul %5, %y : f64  store %l, %6 }}
        orelse {{ for %c0, %c4, %c1 (%h: i32) {{ %7 = load %l : f64  %8 = binary mul %7, %x : f64  store %l, %8 }} }} }}
        %r = load %l : f64 store %pz, %r"""
    ),
    "a local array": _loop(
        """%a = alloca : *f64x2x2  %m = field_ptr @m[%i] : *f64x2x2  %v = load %m : f64x2x2  store %a, %v
        for %c0, %c4, %c1 (%k: i32) { %1 = binary and %k, %c1 : i32  %e = element_ptr %a[%1, %c0] : *f64
        %2 = load %e : f64  %o = binary sub %c1, %1 : i32  %f = element_ptr %a[%c1, %o] : *f64  %3 = load %f : f64
        %4 = binary mul %2, %3 : f64  store %f, %4 }
        %5 = load %a : f64x2x2  %6 = reduce add %5 : f64  store %pz, %6"""
    ),
    "a sum that needs no state": _loop(
        """for %c0, %c4, %c1 (%k: i32) { %p = field_ptr @y[%k] : *f64  %1 = load %p : f64  %2 = binary mul %1, %x : f64
        %3 = load %l : f64  %4 = binary add %3, %2 : f64  store %l, %4 }  %r = load %l : f64 store %pz, %r"""
    ),
    "a sum that only a later op needs": _loop(
        """for %c0, %c4, %c1 (%k: i32) { %s = alloca : *f64  %f = const 0.5 : f64  store %s, %f
        for %c0, %k, %c1 (%j: i32) { %p = field_ptr @y[%j] : *f64  %1 = load %p : f64  %2 = binary mul %1, %x : f64
        %3 = load %s : f64  %4 = binary add %3, %2 : f64  store %s, %4 }
        %5 = load %s : f64  %6 = load %l : f64  %7 = binary mul %5, %6 : f64  store %l, %7 }
        %r = load %l : f64 store %pz, %r"""
    ),
    "a state that only the next state needs": _loop(
        _UNKNOWN
        + """ %n = binary mul %u, %many : i32  %b = alloca : *f64  store %b, %y  %f0 = const 0.001 : f64
        for %c0, %n, %c1 (%k: i32) { %1 = load %l : f64  %2 = unary sin %1 : f64  %3 = load %b : f64
        %4 = binary add %2, %3 : f64  store %l, %4  %5 = binary mul %1, %f0 : f64  %6 = binary add %3, %5 : f64
        store %b, %6 }  %r = load %l : f64 store %pz, %r"""
    ),
    "two loops": _loop("%1 = binary mul %x, %y : f64  store %pz, %1")
    + """parallel_for begins=[%c0], ends=[%c4] (%j: i32) { %p = field_ptr @z[%j] : *f64  %2 = load %p : f64
        %q = field_ptr @x[%j] : *f64  %3 = load %q : f64  %4 = binary mul %2, %3 : f64
        %t = field_ptr @total[] : *f64  %5 = atomic add %t, %4 : f64 }""",
    "a field that is overwritten": _loop("%1 = binary mul %x, %x : f64  store %px, %1"),
    "an element that iterations overwrite": """for %c0, %c4, %c1 (%k: i32) { %q = field_ptr @x[%c0] : *f64
        %v = load %q : f64  %w = binary mul %v, %v : f64  store %q, %w }""",
    "elements that iterations overwrite": _loop(
        """for %c0, %c4, %c1 (%k: i32) { %1 = load %px : f64  %2 = binary mul %1, %y : f64  %3 = load %pz : f64
        %4 = binary lt %2, %3 : u1  if %4 then { store %px, %2 }
        orelse { %5 = binary mul %3, %1 : f64 store %pz, %5 } }"""
    ),
    "a recurrence in memory": """for %c1, %c4, %c1 (%k: i32) { %j = binary sub %k, %c1 : i32
        %p = field_ptr @x[%j] : *f64  %1 = load %p : f64  %2 = binary mul %1, %1 : f64
        %q = field_ptr @x[%k] : *f64  store %q, %2 }""",
    "a value from outside of a loop": "%q = field_ptr @x[%c1] : *f64  %s = load %q : f64\n"
    + _loop("%1 = binary mul %s, %x : f64  store %pz, %1"),
    "extremes of memory": """%t = field_ptr @total[] : *f64  %f = const 0.1 : f64  store %t, %f """
    + _loop(
        """%a = atomic max %t, %x : f64  %p = field_ptr @z[%c0] : *f64  %d = atomic min %p, %y : f64
        %q = field_ptr @v[%c1] : *f64x2  %r = make_tensor [%x, %y] : f64x2  %o = atomic max %q, %r : f64x2"""
    ),
    "an extreme of constants": """%f = const 1.0 : f64 %t = field_ptr @total[] : *f64 """
    + _loop("%a = atomic max %t, %f : f64  %p = field_ptr @z[%i] : *f64  %d = atomic min %p, %f : f64"),
    "an extreme of a local and constants": """%s = shared_local : *f64  %g = field_ptr @z[%c0] : *f64
        %f0 = load %g : f64  store %s, %f0  %f = const 1.0 : f64 """
    + _loop("%b = atomic max %s, %f : f64")
    + "%r = load %s : f64  %q = unary sqrt %r : f64  %t = field_ptr @total[] : *f64  store %t, %q",
    "an extreme of a local": "%s = shared_local : *f64  %f0 = const 0.5 : f64  store %s, %f0\n"
    + _loop("%b = atomic max %s, %y : f64")
    + "%r = load %s : f64  %q = unary sqrt %r : f64  %t = field_ptr @total[] : *f64  store %t, %q",
    "an extreme of a local that no iteration reaches": "%s = shared_local : *f64  %f0 = const 2.0 : f64 store %s, %f0 "
    + _loop("%b = atomic max %s, %y : f64")
    + "%r = load %s : f64  %t = field_ptr @total[] : *f64  store %t, %r",
    "extremes of a local that begins with an element": """%s = shared_local : *f64  %g = field_ptr @x[%c1] : *f64
        %f0 = load %g : f64  store %s, %f0 """
    + _loop("%b = atomic min %s, %y : f64")
    + "%r = load %s : f64  %t = field_ptr @total[] : *f64  store %t, %r",
    "atomic products": _loop(
        """%f = const 1.0 : f64  %1 = binary mul %x, %y : f64  %t = field_ptr @total[] : *f64
        %a = atomic mul %t, %1 : f64  %p = binary gt %x, %f : u1
        if %p then { for %c0, %i, %c1 (%k: i32) { %q = field_ptr @z[%k] : *f64  %d = atomic mul %q, %y : f64 } }
        orelse { %o = atomic mul %t, %y : f64 }
        %r = field_ptr @v[%c1] : *f64x2  %s = make_tensor [%x, %y] : f64x2  %g = atomic mul %r, %s : f64x2"""
    ),
    "products of factors without a derivative": """%f = const 0.5 : f64 """
    + _loop(
        """%n = cast %i : f64  %p = field_ptr @z[%c0] : *f64  %d = atomic mul %p, %n : f64
        %t = field_ptr @total[] : *f64  %a = atomic mul %t, %f : f64"""
    ),
    "products of a shared local": """%q = field_ptr @x[%c1] : *f64  %b = load %q : f64
        %s = shared_local : *f64  store %s, %b  """
    + _loop("%1 = unary sin %x : f64  %a = atomic mul %s, %1 : f64")
    + """%r = load %s : f64  %o = unary sqrt %r : f64  %t = field_ptr @total[] : *f64  store %t, %o  store %s, %r
        parallel_for begins=[%c0], ends=[%c4] (%j: i32) { %u = field_ptr @y[%j] : *f64  %w = load %u : f64
            %h = atomic mul %s, %w : f64 }
        %g = load %s : f64  %k = binary mul %g, %g : f64  %e = field_ptr @z[%c0] : *f64  store %e, %k""",
    "random numbers": """%q = field_ptr @x[%c1] : *f64  %s = load %q : f64  %f = const 0.5 : f64
        %r0 = random : f64  %5 = binary mul %s, %r0 : f64
        %w = field_ptr @z[%c0] : *f64  store %w, %5 """
    + _loop(
        """%a = random stream=1 : f64  %p = binary lt %a, %f : u1
        if %p then { %b = random stream=1 : f64x2  %e = extract %b, index=1 : f64  %d = binary mul %e, %y : f64
            %t = field_ptr @total[] : *f64  %o = atomic add %t, %d : f64 }
        for %c0, %i, %c1 (%k: i32) { %1 = load %px : f64  %g = random stream=1 : f64  %2 = binary mul %1, %g : f64
            %3 = unary sin %2 : f64  store %px, %3 }"""
    )
    + """%r1 = random : f64  %u = field_ptr @z[%c1] : *f64  %v = binary mul %s, %r1 : f64  store %u, %v""",
    **{
        f"a return before parallel loops is {name}": f"""%q = field_ptr @x[%c1] : *f64  %v = load %q : f64
        %f = const {limit} : f64  %p = binary gt %v, %f : u1  %t = field_ptr @total[] : *f64
        if %p then {{ %1 = binary mul %v, %v : f64  store %t, %1  return [] }}
        %o = field_ptr @y[%c0] : *f64  %s = load %o : f64  %a = binary mul %s, %s : f64  %h = cast %a : i32
        %n = binary add %h, %c1 : i32  %b = atomic add %t, %a : f64
        parallel_for begins=[%c0], ends=[%n] (%j: i32) {{ %u = field_ptr @x[%j] : *f64  %w = load %u : f64
            %e = binary mul %w, %a : f64  %g = atomic add %t, %e : f64 }}
        for %c0, %c4, %c1 (%k: i32) {{ %m = field_ptr @y[%k] : *f64  %r = load %m : f64  %d = binary gt %r, %s : u1
            if %d then {{ return [] }} }}"""
        + _loop("%3 = binary mul %x, %s : f64  %4 = unary sin %3 : f64  store %pz, %4")
        for name, limit in (("taken", 0.1), ("not taken", 9.0))
    },
    "an early return": """%q = field_ptr @x[%c1] : *f64  %s = load %q : f64  %f = const 1.0 : f64
        %t = field_ptr @total[] : *f64  %p = binary gt %s, %f : u1  %u = binary mul %s, %s : f64
        for %c0, %c4, %c1 (%k: i32) { %o = field_ptr @y[%k] : *f64  %1 = load %o : f64  %2 = binary gt %1, %s : u1
        if %2 then { %3 = binary mul %1, %s : f64  store %t, %3  return [] } orelse { %4 = atomic add %t, %u : f64 } }
        %5 = unary sin %u : f64  %6 = field_ptr @z[%c0] : *f64  store %6, %5""",
}  # fmt: skip


@pytest.mark.parametrize("name", every(2, [*(name for name in BODIES if name not in _REFUSED_BODIES), *MORE]))
def test_the_dot_product_is_that_of_forward_mode(name: str) -> None:
    # machine code uses fast_math, which has no extremes of computed values
    hold_dot_product(kernel_of((BODIES | MORE)[name]), 0, machine=name != "extremes")


def hold_random(numbers: range) -> None:
    """Random kernels. Those that store to a field in two loops may be refused: then each of their loops is held."""
    for number in numbers:
        kernel, machine = random_kernel(number), number % 10 == 0
        try:
            try:
                hold_dot_product(kernel, number, machine)
            except Torn:
                hold_in_pieces(kernel, number, machine)
        except AssertionError as error:
            raise AssertionError(f"{number}: {error}\n{print_ir(kernel)}") from error


def test_the_dot_product_of_random_kernels_is_that_of_forward_mode() -> None:
    hold_random(range(10, 11))


@pytest.mark.slow
@pytest.mark.exhaustive
@pytest.mark.parametrize("tens", range(30))
def test_the_dot_product_of_many_random_kernels_is_that_of_forward_mode(tens: int) -> None:
    hold_random(range(10 * tens, 10 * tens + 10))


_X = "%q = field_ptr @x[%c0] : *f64  %v = load %q : f64 "
REFUSED = {
    "the gradient of 'x', itself": "%p = field_ptr @x.dual[%c0] : *f64  %v = load %p : f64"
    + " %q = field_ptr @x[%c0] : *f64  store %q, %v",
    "a call of the real function 'f', which calls itself and may write 'y'": _X
    + "%r = invoke function=f, [%v], touched=(y) : f64",
    "the value of 'x' that is read here": "for %c0, %c4, %c1 (%k: i32) { %q = field_ptr @x[%k] : *f64 "
    "%v = load %q : f64 %w = binary mul %v, %v : f64  %p = field_ptr @x[%c1] : *f64  store %p, %w }",
    "an atomic xchg in a parallel loop": BODIES["products"],
    "an atomic mul in a parallel loop that accesses this memory otherwise": _loop(
        "%p = field_ptr @z[%c0] : *f64  %1 = atomic mul %p, %x : f64  %2 = atomic add %p, %y : f64"
    ),
    "an atomic mul of a part of a local": "%s = shared_local : *f64x2  %f = const 1.0 : f64 "
    "%o = make_tensor [%f, %f] : f64x2  store %s, %o "
    + _loop("%e = element_ptr %s[%c1] : *f64  %1 = atomic mul %e, %x : f64")
    + "%r = load %s : f64x2  %g = extract %r, index=1 : f64  %p = field_ptr @z[%c0] : *f64  store %p, %g",
    "an atomic max of a computed value": BODIES["extremes"],
    "a parallel loop with a race: this reads an element of 'x'": _loop(
        "%j = binary sub %i, %c1 : i32  %p = field_ptr @x[%j] : *f64  %1 = load %p : f64  store %px, %1"
    ),
    "a parallel loop with a race: this writes an element of 'z'": _loop(
        "%j = binary sub %i, %c1 : i32  %p = field_ptr @z[%j] : *f64  store %pz, %x  store %p, %y"
    ),
    "the old value of an atomic sub": _loop(
        "%p = field_ptr @z[%c0] : *f64  %1 = atomic sub %p, %x : f64  %2 = unary sin %1 : f64  store %py, %2"
    ),
    "the old value of an atomic add": _loop(
        "%p = field_ptr @z[%c0] : *f64  %1 = atomic add %p, %x : f64  store %py, %1"
    ),
}


@pytest.mark.parametrize("message", REFUSED)
def test_ops_without_derivatives_are_refused(message: str) -> None:
    with pytest.raises(CompilationError, match=message):
        run_passes(in_mode(kernel_of(REFUSED[message]), "vjp"), ("differentiate",), CompileConfig())


GOLDEN = (*BODIES, *MORE)


@pytest.mark.parametrize("name", [name for name in GOLDEN if name not in _REFUSED_BODIES])
def test_text(name: str, golden: Callable[[str, str], None]) -> None:
    kernel = run_passes(
        in_mode(kernel_of((BODIES | MORE)[name]), "vjp"), ("differentiate", "full_simplify"), CONFIGS["optimized"]
    )
    golden(f"reverse_mode/{name.replace(' ', '_')}.chi", print_ir(kernel))


def test_lost_derivatives_and_saved_memory_are_listed() -> None:
    body = _loop("%1 = binary mul %x, %x : f64  store %px, %1  store %pz, %1")
    kernel = in_mode(kernel_of(body), "vjp")
    text = print_ir(kernel).replace(" grad=@z.grad", "")
    made = run_passes(parse(text), ("differentiate",), CONFIGS["optimized"])
    assert made.saved == ("x",)
    assert [place.name for place in made.lost] == ["z"]
    assert " saved=(x) lost=(z) {" in print_ir(made)
    assert print_ir(parse(print_ir(made))) == print_ir(made)


def test_a_result_with_a_derivative_is_lost() -> None:
    kernel = in_mode(
        kernel_of(f"{_X} %r = unary sin %v : f64  %n = cast %v : i32  return [%n, %r]", results="(i32, f64)"), "vjp"
    )
    made = run_passes(kernel, ("differentiate",), CONFIGS["optimized"])
    assert [place.name for place in made.lost] == ["return"]
    assert made.results == ()


@pytest.mark.parametrize("mode", ["jvp", "vjp"])
def test_no_derivative_goes_through_the_bits_of_a_number(mode: str) -> None:
    """`ti.stop_grad` depends on it."""
    body = f"""{_X} %n = bit_cast %v : i64  %s = bit_cast %n : f64  %r = binary mul %s, %v : f64
        %p = field_ptr @z[%c0] : *f64  store %p, %r"""
    kernel = run_passes(in_mode(kernel_of(body), mode), ("differentiate",), CONFIGS["optimized"])
    point, kind = point_of(kernel_of(body), 0), "dual" if mode == "jvp" else "grad"
    given = point.before | {f"{field}.{kind}": np.ones_like(value) for field, value in point.before.items()}
    found, x = run(kernel, given), point.before["x"][0]
    if mode == "jvp":
        assert found["z.dual"][0] == x
    else:
        assert (found["z.grad"][0], found["x.grad"][0]) == (0.0, 1.0 + x)


# ---- derivatives of gradients ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["operators", "branches", "loops", "structs", "an iteration that ends early", "sums"])
def test_the_dual_of_a_gradient_is_its_derivative(name: str) -> None:
    """Forward mode of the kernel that reverse mode makes, against central differences of that kernel."""
    kernel = kernel_of((BODIES | MORE)[name])
    gradient = run_passes(in_mode(kernel, "vjp"), ("differentiate",), CONFIGS["optimized"])
    text = re.sub(r" grad=@\S+", "", print_ir(gradient))
    both = run_passes(with_duals(parse(text)), ("differentiate",), CONFIGS["optimized"])
    point = point_of(kernel, 1)
    base = point.before | {f"{field}.grad": value for field, value in point.cotangent.items()}
    random = np.random.default_rng(2)
    along = {field: random.uniform(-1, 1, np.shape(value)) for field, value in base.items()}
    found = run(both, base | {f"{field}.dual": value for field, value in along.items()})
    step = 1e-6
    ahead, behind = (run(parse(text), {f: base[f] + h * along[f] for f in base}) for h in (step, -step))
    for field in base:
        difference = (ahead[field] - behind[field]) / (2 * step)
        np.testing.assert_allclose(found[f"{field}.dual"], difference, rtol=1e-5, atol=1e-6, err_msg=field)


def test_the_mode_of_second_derivatives_runs_both_passes() -> None:
    """`vjp.jvp` gives the derivatives that the two passes give one after another."""
    kernel = kernel_of(BODIES["operators"])
    once = run_passes(in_mode(kernel, "vjp"), ("differentiate",), CONFIGS["optimized"])
    plain = parse(re.sub(r" grad=@\S+", "", print_ir(once)))
    wanted = run_passes(with_duals(plain), ("differentiate",), CONFIGS["optimized"])
    text = print_ir(with_duals(in_mode(kernel, "vjp"))).replace("mode=jvp", "mode=vjp.jvp")
    made = run_passes(parse(re.sub(r"grad=@(\w+).grad_1", r"grad=@\1.grad", text)), ("differentiate",), PLAIN)
    point = point_of(kernel, 5)
    given = {symbol.name: np.full(np.shape(point.before[symbol.name.split(".")[0]]), 0.7) for symbol in made.fields}
    for name, value in run(wanted, given).items():
        np.testing.assert_allclose(run(made, given)[name], value, rtol=1e-12)


@pytest.mark.parametrize("name", ["an iteration that ends early", "a state that only the next state needs"])
def test_a_leaf_has_a_known_number_of_rows(name: str) -> None:
    """So the loops over rows need not be divided, nor compiled twice, so that launches can be interrupted."""
    kernel = run_passes(
        in_mode(kernel_of((BODIES | MORE)[name]), "vjp"), ("differentiate", "full_simplify"), CONFIGS["optimized"]
    )
    over_leaves, over_rows = next(
        (loop, inner) for loop in kernel.all_of(ops.For) for inner in loop.body if isinstance(inner, ops.For)
    )
    assert iterations_of(over_leaves) > 1 << 20
    assert iterations_of(over_rows) == 256
