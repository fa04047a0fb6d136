"""Which values reverse mode loads again, which must be put back, and which kernels it refuses: a value is gone."""

from __future__ import annotations

import numpy as np
import pytest

from tests.codegen.chi_runs import on_cpu
from tests.ir.dual_kernels import FIELDS, kernel_of
from tests.ir.reverse_checks import CONFIGS, PLAIN, hold_dot_product, in_mode, point_of, run
from tests.sampling import every
from weft.ir.errors import CompilationError
from weft.ir.parse import parse
from weft.ir.pipeline import run_passes
from weft.ir.text import print_ir

_IN_ORDER = "%c2 = const 2 : i32 %c3 = const 3 : i32 %down = const -1 : i32 "


def _square(source: str, target: str) -> str:
    """x[target] = x[source] ** 2"""
    return f"""%p = field_ptr @x[{source}] : *f64  %1 = load %p : f64  %2 = binary mul %1, %1 : f64
        %q = field_ptr @x[{target}] : *f64  store %q, %2"""


def _serial(head: str, body: str) -> str:
    near = "%up = binary add %k, %c1 : i32  %below = binary sub %k, %c1 : i32 "
    return f"{_IN_ORDER} for {head} (%k: i32) {{ {near} {body} }}"


def _parallel(number: int, body: str) -> str:
    """A loop whose values have names of its own."""
    text = f"""parallel_for begins=[%c0], ends=[%c4] (%i: i32) {{ %px = field_ptr @x[%i] : *f64
        %py = field_ptr @y[%i] : *f64  %pz = field_ptr @z[%i] : *f64  {body} }} """
    for name in ("i", "px", "py", "pz", "1", "2", "3", "4", "5", "l"):
        text = text.replace(f"%{name} ", f"%n{number}{name} ").replace(f"%{name},", f"%n{number}{name},")
        text = text.replace(f"%{name}]", f"%n{number}{name}]").replace(f"%{name}:", f"%n{number}{name}:")
    return text


_SQUARE = "%1 = load %px : f64  %2 = binary mul %1, %1 : f64  store {}, %2"

_PRODUCT = "%1 = load %px : f64  %4 = field_ptr @total[] : *f64  %5 = atomic mul %4, %1 : f64"
_EXTREME = "%1 = load %{} : f64  %4 = field_ptr @total[] : *f64  %5 = atomic {} %4, %1 : f64"

# The body of a kernel, and the fields that must be put back; None: it is refused.
MEMORY: dict[str, tuple[str, tuple[str, ...] | None]] = {
    "the element before, upwards": (_serial("%c1, %c4, %c1", _square("%below", "%k")), ()),
    "the element after, upwards": (_serial("%c0, %c3, %c1", _square("%up", "%k")), ("x",)),
    "the element after, downwards": (_serial("%c2, %down, %down", _square("%up", "%k")), ()),
    "the element before, downwards": (_serial("%c3, %c0, %down", _square("%below", "%k")), ("x",)),
    "elements between those that are stored": (_serial("%c0, %c4, %c2", _square("%k", "%up")), ()),
    "the element itself": (_serial("%c0, %c4, %c1", _square("%k", "%k")), ("x",)),
    "two fixed elements": (_serial("%c0, %c4, %c1", _square("%c0", "%c1")), ()),
    "one of all elements is stored": (_serial("%c0, %c4, %c1", _square("%k", "%c1")), None),
    "one of all elements is read": (_serial("%c0, %c4, %c1", _square("%c1", "%k")), None),
    "the outer loop moves on": (
        _serial("%c0, %c3, %c1", "for %c0, %c2, %c1 (%j: i32) { " + _square("%k", "%up") + " }"),
        (),
    ),
    "the outer loop repeats": (
        _IN_ORDER
        + "for %c0, %c2, %c1 (%j: i32) { for %c0, %c3, %c1 (%k: i32) { %up = binary add %k, %c1 : i32 "
        + _square("%k", "%up")
        + " } }",
        None,
    ),
    "parts of one matrix": (
        _serial(
            "%c0, %c4, %c1",
            """%p = field_ptr @m[%c1] : *f64x2x2  %e = element_ptr %p[%c0, %c0] : *f64  %1 = load %e : f64
            %2 = binary mul %1, %1 : f64  %f = element_ptr %p[%c0, %c1] : *f64  store %f, %2""",
        ),
        (),
    ),
    "either read or stored": (
        """%p = field_ptr @x[%c0] : *f64  %q = field_ptr @y[%c0] : *f64  %1 = load %q : f64  %f = const 1.0 : f64
        %r = field_ptr @z[%c0] : *f64  %2 = binary lt %1, %f : u1
        if %2 then { %3 = load %p : f64  %4 = binary mul %3, %3 : f64  store %r, %4 } orelse { store %p, %1 }""",
        (),
    ),
    "read in one iteration, stored in another": (
        _IN_ORDER
        + """for %c0, %c4, %c1 (%k: i32) { %p = field_ptr @x[%c0] : *f64  %r = field_ptr @z[%k] : *f64
        %2 = binary eq %k, %c2 : u1  %q = field_ptr @y[%k] : *f64  %1 = load %q : f64
        if %2 then { store %p, %1 } orelse { %3 = load %p : f64  %4 = binary mul %3, %3 : f64  store %r, %4 } }""",
        ("x",),
    ),
    "read, then stored by a loop": (
        _parallel(1, _SQUARE.format("%pz")) + _parallel(2, "%1 = load %py : f64  store %px, %1"),
        ("x",),
    ),
    "stored by a loop, then read": (
        _parallel(1, "%1 = load %py : f64  store %px, %1") + _parallel(2, _SQUARE.format("%pz")),
        (),
    ),
    "overwritten by two loops": (_parallel(1, _SQUARE.format("%px")) + _parallel(2, _SQUARE.format("%px")), None),
    "overwritten several times by an iteration": (
        _parallel(1, "for %c0, %c4, %c1 (%k: i32) { " + _SQUARE.format("%px") + " }"),
        ("x",),
    ),
    "an element that may be out of bounds": (
        _IN_ORDER
        + _parallel(
            1,
            """%3 = binary add %i, %c1 : i32  %4 = binary lt %3, %c4 : u1  if %4 then {
            for %c0, %c4, %c1 (%k: i32) { """
            + _square("%3", "%3")
            + " } }",
        ),
        ("x",),
    ),
    "an element that no iteration stores": (
        _serial(
            "%c0, %c4, %c2",
            """%far = binary add %k, %c3 : i32  %3 = binary lt %far, %c4 : u1  %q = field_ptr @x[%k] : *f64
            %r = field_ptr @z[%k] : *f64  %s = field_ptr @y[%k] : *f64  %4 = load %s : f64  store %q, %4
            if %3 then { %p = field_ptr @x[%far] : *f64  %1 = load %p : f64  %2 = binary mul %1, %1 : f64
            store %r, %2 }""",
        ),
        (),
    ),
    "read and stored in one branch": (
        """%p = field_ptr @x[%c0] : *f64  %q = field_ptr @y[%c0] : *f64  %1 = load %q : f64  %f = const 1.0 : f64
        %r = field_ptr @z[%c0] : *f64  %2 = binary lt %1, %f : u1
        if %2 then { %3 = load %p : f64  %4 = binary mul %3, %3 : f64  store %r, %4  store %p, %1 }""",
        ("x",),
    ),
    "read by one serial loop, stored by the next": (
        """%p = field_ptr @x[%c0] : *f64  %q = field_ptr @y[%c0] : *f64  %1 = load %q : f64
        for %c0, %c4, %c1 (%k: i32) { %r = field_ptr @z[%k] : *f64  %3 = load %p : f64  %4 = binary mul %3, %3 : f64
        store %r, %4 } for %c0, %c4, %c1 (%j: i32) { %s = field_ptr @x[%j] : *f64  store %s, %1 }""",
        ("x",),
    ),
    "maxima by two loops": (
        _parallel(1, _EXTREME.format("px", "max")) + _parallel(2, _EXTREME.format("py", "max")),
        (),
    ),
    "a maximum and a minimum of one element": (
        _parallel(1, _EXTREME.format("px", "max")) + _parallel(2, _EXTREME.format("py", "min")),
        None,
    ),
    "a maximum that is overwritten": (
        _parallel(1, _EXTREME.format("px", "max"))
        + "%t = field_ptr @total[] : *f64  %f = const 0.5 : f64  store %t, %f",
        None,
    ),
    "a value that a maximum replaces": (
        """%t = field_ptr @total[] : *f64  %1 = load %t : f64  %2 = binary mul %1, %1 : f64
        %q = field_ptr @z[%c0] : *f64  store %q, %2 """
        + _parallel(1, _EXTREME.format("px", "max")),
        None,
    ),
    "products by two loops": (_parallel(1, _PRODUCT) + _parallel(2, _PRODUCT), None),
    "a product that is overwritten": (
        _parallel(1, _PRODUCT) + "%t = field_ptr @total[] : *f64  %f = const 0.5 : f64  store %t, %f",
        None,
    ),
    "a linear use needs no value": (
        _serial("%c0, %c4, %c1", "%p = field_ptr @x[%c1] : *f64  %1 = load %p : f64 "
            "%2 = binary add %1, %1 : f64 store %p, %2"),
        (),
    ),
    "an index that is overwritten is needed": (
        """%p = field_ptr @total[] : *f64  %1 = load %p : f64  %2 = cast %1 : i32  %q = field_ptr @x[%2] : *f64
        %3 = load %q : f64  store %p, %3""",
        ("total",),
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", every(2, MEMORY))
def test_the_memory_that_must_be_put_back(name: str) -> None:
    body, saved = MEMORY[name]
    kernel = kernel_of(body)
    if saved is None:
        with pytest.raises(CompilationError, match="but the kernel overwrites it"):
            run_passes(in_mode(kernel, "vjp"), ("differentiate",), CONFIGS["optimized"])
        return
    made = run_passes(in_mode(kernel, "vjp"), ("differentiate",), CONFIGS["optimized"])
    assert made.saved == saved
    for seed in range(3):
        hold_dot_product(kernel, seed, machine=False)


def test_a_field_and_one_of_its_components_are_one_memory() -> None:
    body = """%p = field_ptr @w[%c0] : *f64  %1 = load %p : f64  %2 = binary mul %1, %1 : f64
        %r = field_ptr @z[%c0] : *f64  store %r, %2
        %q = field_ptr @v[%c0] : *f64x2  %3 = splat %2 : f64x2  store %q, %3"""
    part = "f64[4] tree={} components=(8) terms=((0, 1, 4, 16)) offset=(0) order=(0) exposed=true"
    fields = f"field @w.grad: {part.format(4)}\nfield @w: {part.format(5)} grad=@w.grad\nfield @m.grad:"
    text = print_ir(in_mode(kernel_of(body.replace("@w[", "@z[")), "vjp")).replace("field @m.grad:", fields)
    text = text.replace("field_ptr @z[%c0]", "field_ptr @w[%c0]", 1).replace(
        " grad=@v.grad", " exposed=true grad=@v.grad"
    )
    made = run_passes(parse(text), ("differentiate",), CONFIGS["optimized"])
    assert made.saved == ("w",)


@pytest.mark.parametrize("factor", every(3, [0, 1, 21, 22, 43, 1500, 2000]))
def test_loops_of_any_length(factor: int) -> None:
    """Below, at and above the number of slots, and its square: iteration i of the parallel loop has 3 * i * factor."""
    body = f"""%f = const {3 * factor} : i32  %half = const 0.5 : f64
    parallel_for begins=[%c0], ends=[%c4] (%i: i32) {{ %px = field_ptr @x[%i] : *f64  %x = load %px : f64
        %py = field_ptr @y[%i] : *f64  %y = load %py : f64  %l = alloca : *f64  store %l, %x
        %n = binary mul %i, %f : i32
        for %c0, %n, %c1 (%k: i32) {{ %1 = load %l : f64  %2 = unary sin %1 : f64  %3 = binary mul %2, %y : f64
            %4 = binary mul %3, %half : f64  %5 = binary add %4, %x : f64  store %l, %5 }}
        %r = load %l : f64  %pz = field_ptr @z[%i] : *f64  store %pz, %r }}"""
    kernel = kernel_of(body)
    point = point_of(kernel, factor)
    forward = run_passes(parse(print_ir(kernel)), ("differentiate",), PLAIN)
    after = run(forward, point.before | {f"{name}.dual": value for name, value in point.tangent.items()})
    inputs = {name: after[name] for name in FIELDS} | {f"{name}.grad": value for name, value in point.cotangent.items()}
    found = on_cpu(in_mode(kernel, "vjp"), inputs)
    left = sum(np.sum(point.cotangent[name] * after[f"{name}.dual"]) for name in FIELDS)
    right = sum(np.sum(point.tangent[name] * found[f"{name}.grad"]) for name in FIELDS)
    assert abs(left - right) < 1e-12
