"""What reverse mode refuses and what it takes, op by op, as ops of one parallel loop."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.ir.dual_kernels import kernel_of
from tests.ir.reverse_checks import CONFIGS, in_mode
from weft.ir.errors import CompilationError
from weft.ir.pipeline import run_passes

_FIELDS = """field @w: f64[4] tree=12 components=(0) terms=((0, 1, 4, 8)) offset=(0) order=(0)
field @n: i32[4] tree=13 components=(0) terms=((0, 1, 4, 4)) offset=(0) order=(0)"""
_AT = """%px = field_ptr @x[%i] : *f64  %x = load %px : f64  %py = field_ptr @y[%i] : *f64  %y = load %py : f64
%pz = field_ptr @z[%i] : *f64  %pw = field_ptr @w[%i] : *f64  %pn = field_ptr @n[%i] : *i32  %n = load %pn : i32
%pt = field_ptr @total[] : *f64  %n0 = field_ptr @n[%c0] : *i32  %pv = field_ptr @v[%i] : *f64x2 %v = load %pv : f64x2
%half = const 0.5 : f64 """


def refusal(body: str, fast_math: bool = False, before: str = "", behind: str = "") -> str:
    """Why the kernel is refused, "" if it is not."""
    text = f"{before} parallel_for begins=[%c0], ends=[%c4] (%i: i32) {{ {_AT} {body} }} {behind}"
    kernel = in_mode(kernel_of(text, fields=_FIELDS), "vjp")
    try:
        run_passes(kernel, ("differentiate",), replace(CONFIGS["optimized"], fast_math=fast_math))
    except CompilationError as error:
        return str(error)
    return ""


_OLD, _OTHERWISE = "old value of an atomic", "accesses this memory otherwise"
# The body, and a part of the error; "": it is taken.
OPS: dict[str, tuple[str, str]] = {
    "a relaxed store": ("store %pz, %x, relaxed=true", "a store of a value that other iterations may overwrite"),
    "a relaxed store of a constant": ("store %pz, %half, relaxed=true", ""),
    "a relaxed store to memory without a gradient": ("store %pw, %x, relaxed=true store %pz, %x", ""),
    "an exchange": ("%r = exchange %px, %half : f64", "exchange of memory that carries a derivative"),
    "an exchange of memory without a gradient": ("%r = exchange %pw, %x : f64 store %pz, %x", ""),
    "an exchange of integers": ("%r = exchange %n0, %n : i32 store %pz, %x", ""),
    "an exchange that gives an index": (
        "%r = exchange %n0, %n : i32 %p = field_ptr @y[%r] : *f64 %1 = load %p : f64 %2 = binary mul %1, %x : f64 "
        "store %pz, %2", "a kernel that needs exchange"),
    "an exchange that gives a number of another field": (
        "%r = exchange %n0, %n : i32 %p = field_ptr @n[%i] : *i32 store %p, %r store %pz, %x", ""),
    "a counter": ("%r = atomic add %n0, %c1 : i32 store %pz, %x", ""),
    "a counter that gives an integer": ("%r = atomic add %n0, %c1 : i32 store %pn, %r store %pz, %x", ""),
    "a counter that gives an index": (
        "%r = atomic add %n0, %c1 : i32 %p = field_ptr @z[%r] : *f64 store %p, %x", f"{_OLD} add"),
    "a counter that gives an index of what is read": (
        "%r = atomic add %n0, %c1 : i32 %p = field_ptr @y[%r] : *f64 %1 = load %p : f64 store %pz, %1", f"{_OLD} add"),
    "a counter that gives a condition": (
        "%r = atomic add %n0, %c1 : i32 %t = binary lt %r, %c1 : u1 if %t then { store %pz, %x }", f"{_OLD} add"),
    "a counter that gives an element of a vector": (
        "%r = atomic add %n0, %c1 : i32 %e = element_ptr %pv[%r] : *f64 store %e, %x", f"{_OLD} add"),
    "an old sum": ("%r = atomic add %pt, %x : f64 store %pz, %r", "a derivative by the old value of an atomic add"),
    "an old sum of memory without a gradient": ("%r = atomic add %pw, %x : f64 store %pz, %x", ""),
    "an old sum that nothing differentiates": ("%r = atomic add %pt, %x : f64 store %pw, %r", ""),
    "an old sum that is a factor": (
        "%r = atomic add %pt, %x : f64 %1 = binary mul %r, %y : f64 store %pz, %1", f"{_OLD} add"),
    "an exclusive or of integers": ("%r = atomic xor %n0, %c1 : i32 store %pz, %x", ""),
    "a product whose old value is used": ("%r = atomic mul %pt, %x : f64 store %pw, %r", _OTHERWISE),
    "a product beside a load": (
        "%r = atomic mul %pt, %x : f64 %1 = load %pt : f64 store %pw, %1", _OTHERWISE),
    "a product without a gradient, beside a load": (
        "%r = atomic mul %pw, %x : f64 %1 = load %pw : f64 store %pw, %1 store %pz, %x", ""),
    "two products": ("%r = atomic mul %pt, %x : f64 %s = atomic mul %pt, %y : f64", ""),
    "a function that reads memory": (
        "%r = invoke function=f, [%x], touched=(y), only_read=(y) : f64 store %pz, %r", ""),
    "a function that writes memory": (
        "%r = invoke function=f, [%x], touched=(y) : f64 store %pz, %r", "'f', which calls itself and may write 'y'"),
    "a function that writes some memory": (
        "%r = invoke function=f, [%x], touched=(y, v), only_read=(y) : f64 store %pz, %r",
        "'f', which calls itself and may write 'v'"),
    "a function that does nothing but write": (
        "%r = invoke function=f, [%x], touched=(y, v), only_read=(y), only_written=(v) : f64 store %pz, %r", ""),
    "a function that does nothing but write what carries no derivative": (
        "%r = invoke function=f, [%x], touched=(n), only_written=(n) : f64 store %pz, %r", ""),
    "a function that writes and uses other memory": (
        "%r = invoke function=f, [%x], touched=(y, v), only_written=(v) : f64 store %pz, %r",
        "'f', which calls itself and may write 'y' and use values of it"),
    "a function that has a reference": (
        "%l = alloca : *f64 store %l, %y %r = invoke function=f, [%x, %l] : f64 store %pz, %r",
        "'f', which calls itself and may write memory of the program"),
    "a function that has a reference to an integer": (
        "%l = alloca : *i32 store %l, %c1 %r = invoke function=f, [%x, %l] : f64 store %pz, %r", ""),
    "the gradient itself": (
        "%p = field_ptr @y.dual[%i] : *f64 %1 = load %p : f64 store %pz, %1", "uses 'y.grad', the gradient of 'y'"),
}  # fmt: skip


@pytest.mark.parametrize("name", OPS)
def test_ops_of_a_parallel_loop(name: str) -> None:
    body, message = OPS[name]
    found = refusal(body)
    assert (message in found) if message else not found, found


_SLOTS = "%s = shared_local : *i32 store %s, %c0"
SHARED: dict[str, tuple[str, str, str, str]] = {
    "a counter": (_SLOTS, "%r = atomic add %s, %c1 : i32 store %pz, %x", "", ""),
    "a counter that is read later": (
        _SLOTS, "%r = atomic add %s, %c1 : i32 store %pz, %x",
        "%a = load %s : i32 %p = field_ptr @x[%a] : *f64 %b = load %p : f64 %q = field_ptr @y[%c0] : *f64 "
        "store %q, %b", ""),
    "slots": (_SLOTS, "%r = atomic add %s, %c1 : i32 %p = field_ptr @z[%r] : *f64 store %p, %x", "", f"{_OLD} add"),
    "slots of a vector": (
        _SLOTS, "%r = atomic add %s, %c1 : i32 %e = element_ptr %pv[%r] : *f64 store %e, %x", "", f"{_OLD} add"),
    "a condition": (
        _SLOTS, "%r = atomic add %s, %c1 : i32 %t = binary lt %r, %c1 : u1 if %t then { store %pz, %x }", "",
        f"{_OLD} add"),
    "a sum whose later value is needed": (
        "%s = shared_local : *f64 %o = const 0.5 : f64 store %s, %o", "%r = atomic add %s, %x : f64",
        "%a = load %s : f64 %b = unary sqrt %a : f64 %q = field_ptr @y[%c0] : *f64 store %q, %b", ""),
    "a sum whose old values are needed": (
        "%s = shared_local : *f64 %o = const 0.5 : f64 store %s, %o",
        "%r = atomic add %s, %x : f64 %1 = binary mul %r, %y : f64 store %pz, %1", "", f"{_OLD} add"),
}  # fmt: skip


@pytest.mark.parametrize("name", SHARED)
def test_atomics_of_shared_locals(name: str) -> None:
    before, body, behind, message = SHARED[name]
    found = refusal(body, before=before, behind=behind)
    assert (message in found) if message else not found, found


# The value of an atomic maximum, and whether it is computed again with the same bits, without and with fast_math.
VALUES: dict[str, tuple[str, bool, bool]] = {
    "a load": ("%r = binary min %x, %x : f64", True, True),
    "a constant": ("%r = binary max %half, %half : f64", True, True),
    "minus": ("%r = unary neg %x : f64", True, True),
    "an absolute value of a minimum": ("%a = binary min %x, %y : f64 %r = unary abs %a : f64", True, True),
    "a sum": ("%r = binary add %x, %y : f64", True, False),
    "a root of a quotient": ("%a = binary div %x, %y : f64 %r = unary sqrt %a : f64", True, False),
    "minus a sum": ("%a = binary add %x, %y : f64 %r = unary neg %a : f64", True, False),
    "a sine": ("%r = unary sin %x : f64", False, False),
    "the sum with a sine": ("%a = unary sin %x : f64 %r = binary add %a, %y : f64", False, False),
    "a number of an integer": (
        "%a = binary mul %n, %n : i32 %b = cast %a : f64 %r = binary max %b, %x : f64", True, True),
    "an entry": ("%r = extract %v, index=1 : f64", True, True),
    "an entry of a sine": ("%a = unary sin %v : f64x2 %r = extract %a, index=1 : f64", False, False),
    "either": ("%t = binary lt %n, %c1 : u1 %r = select %t, %x, %y : f64", True, True),
    "either a sine": ("%t = binary lt %n, %c1 : u1 %a = unary sin %x : f64 %r = select %t, %a, %y : f64", False, False),
    "a sum of entries": ("%r = reduce add %v : f64", False, False),
    "a local": (
        "%l = alloca : *f64 store %l, %x %t = binary lt %n, %c1 : u1 if %t then { %a = unary sin %y : f64 "
        "store %l, %a } %r = load %l : f64", False, False),
}  # fmt: skip


@pytest.mark.parametrize("fast_math", [False, True])
@pytest.mark.parametrize("name", VALUES)
def test_extremes_of_computed_values(name: str, fast_math: bool) -> None:
    body, *exact = VALUES[name]
    found = refusal(f"{body} %m = atomic max %pt, %r : f64", fast_math)
    assert ("an atomic max of a computed value" in found) is not exact[fast_math], found
    assert not refusal(f"{body} %m = atomic max %pw, %r : f64 store %pz, %x", fast_math)
