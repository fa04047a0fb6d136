"""Elements of memory that become locals in reverse mode (`autodiff/promotion.py`), and those that must not."""

from __future__ import annotations

import numpy as np
import pytest

from tests.ir.dual_kernels import FIELDS, kernel_of
from tests.ir.reverse_checks import CONFIGS, hold_dot_product, in_mode
from weft.ir import ops
from weft.ir.errors import CompilationError
from weft.ir.pipeline import run_passes

_NUMBERS = "%c2 = const 2 : i32 %c3 = const 3 : i32 %c17 = const 17 : i32 "
_HALF = "%half = const 0.5 : f64 "


def _square(place: str, name: str = "") -> str:
    """The element becomes half of its square plus a half, if it is in bounds: it is not 0 where 0 is read."""
    n = name
    return f"""%l{n} = load {place} : f64  %s{n} = binary mul %l{n}, %l{n} : f64  %h{n} = binary mul %s{n}, %half : f64
        %t{n} = binary add %h{n}, %half : f64  store {place}, %t{n} """


def _each(body: str) -> str:
    """For each element %px of x, with its neighbour %pn two further, which may be out of bounds."""
    return f"""{_NUMBERS}{_HALF}parallel_for begins=[%c0], ends=[%c4] (%i: i32) {{ %px = field_ptr @x[%i] : *f64
        %pz = field_ptr @z[%i] : *f64  %py = field_ptr @y[%i] : *f64  %y = load %py : f64
        %further = binary add %i, %c2 : i32  {body} }}"""


def _thrice(body: str) -> str:
    return f"for %c0, %c3, %c1 (%k: i32) {{ {body} }} "


_READ = "%r = load {} : f64  %q = binary mul %r, %y : f64  store %pz, %q "

# Kernels whose gradients are right, by the memory that must be put back.
PROMOTED: dict[str, tuple[str, tuple[str, ...]]] = {
    "an element out of bounds": (
        _each(f"%pn = field_ptr @x[%further] : *f64 {_thrice(_square('%pn'))} {_READ.format('%pn')}"),
        ("x",),
    ),
    "an element out of bounds, in one part of a vector": (
        _each(f"""%pn = field_ptr @v[%further] : *f64x2  %e = element_ptr %pn[%c1] : *f64
            {_thrice(_square('%e'))} {_READ.format('%e')}"""),
        ("v",),
    ),
    "two elements of a row": (
        _each("""%p0 = field_ptr @m[%i] : *f64x2x2  %a = element_ptr %p0[%c0, %c0] : *f64
            %b = element_ptr %p0[%c0, %c1] : *f64 """
            + _thrice(_square("%a") +
            "%w = load %a : f64 %u = load %b : f64 %o = binary mul %w, %u : f64 store %b, %o")),
        ("m",),
    ),
    "two addresses of one element": (
        _each(f"""%p0 = field_ptr @x[%i] : *f64  %p1 = field_ptr @x[%i] : *f64
            {_thrice(_square('%p0', 'a') + _square('%p1', 'b'))} {_READ.format('%px')}"""),
        ("x",),
    ),
    "an address that is computed in the loop": (
        _each(_thrice(f"%pa = field_ptr @x[%i] : *f64 {_square('%pa')}")),
        ("x",),
    ),
    "no parallel loop": (
        f"{_NUMBERS}{_HALF} %p = field_ptr @x[%c2] : *f64 {_thrice(_square('%p'))}",
        ("x",),
    ),
    "two elements, no parallel loop": (
        f"""{_NUMBERS}{_HALF} %p = field_ptr @x[%c2] : *f64  %q = field_ptr @x[%c1] : *f64
        {_thrice(_square('%p', 'a') + _square('%q', 'b') + "%m = binary mul %ta, %tb : f64 store %q, %m")}""",
        ("x",),
    ),
    "an index that memory holds": (
        f"""{_NUMBERS}{_HALF} %pt = field_ptr @y[%c0] : *f64  %y = load %pt : f64  %i = cast %y : i32
        %p = field_ptr @x[%i] : *f64 {_thrice(_square('%p'))}""",
        ("x",),
    ),
}  # fmt: skip

# Kernels that are refused: their elements cannot be locals.
KEPT: dict[str, str] = {
    "an index of a serial loop": (
        f"""{_NUMBERS}{_HALF} for %c0, %c2, %c1 (%j: i32) {{ for %c0, %c4, %c1 (%k: i32) {{
        %p = field_ptr @x[%k] : *f64 {_square('%p')} }} }}"""
    ),
    "an index that the first use computes": (
        f"""{_NUMBERS}{_HALF} for %c0, %c2, %c1 (%j: i32) {{ %pt = field_ptr @y[%j] : *f64  %y = load %pt : f64
        %i = cast %y : i32  %p = field_ptr @x[%i] : *f64 {_square('%p')} }}"""
    ),
    "elements that may be one": (
        f"""{_NUMBERS}{_HALF} %pt = field_ptr @y[%c0] : *f64  %y = load %pt : f64  %i = cast %y : i32
        %p = field_ptr @x[%i] : *f64  %q = field_ptr @x[%c1] : *f64
        {_thrice(_square('%p', 'a') + _square('%q', 'b'))}"""
    ),
    "elements of other iterations": (
        _each(
            "%p1 = field_ptr @x[%c1] : *f64 "
            + _thrice("%a = load %px : f64 " + _square("%p1"))
            + _READ.format("%px")
        )
    ),
}  # fmt: skip


@pytest.mark.filterwarnings("ignore:.*out of bounds")
@pytest.mark.parametrize("name", PROMOTED)
def test_gradients_of_promoted_elements(name: str) -> None:
    body, saved = PROMOTED[name]
    kernel = kernel_of(body)
    for config in CONFIGS.values():
        assert run_passes(in_mode(kernel, "vjp"), ("differentiate",), config).saved == saved
    hold_dot_product(kernel, seed=1)


@pytest.mark.parametrize("name", KEPT)
def test_elements_that_stay_in_memory(name: str) -> None:
    with pytest.raises(CompilationError, match="but the kernel overwrites it"):
        run_passes(in_mode(kernel_of(KEPT[name]), "vjp"), ("differentiate",), CONFIGS["optimized"])


@pytest.mark.parametrize(("count", "promoted"), [(16, True), (17, False)])
def test_the_most_elements(count: int, promoted: bool) -> None:
    """A field of 20 elements, of which a kernel changes some in each round of a loop."""
    field = "f64[20] tree={} components=(0) terms=((0, 1, 20, 8)) offset=(0) order=(0)"
    fields = f"field @w.dual: {field.format(12)}\nfield @w: {field.format(13)} dual=@w.dual"
    numbers = " ".join(f"%n{k} = const {k} : i32 %w{k} = field_ptr @w[%n{k}] : *f64" for k in range(count))
    rounds = _thrice(" ".join(_square(f"%w{k}", f"_{k}_") for k in range(count)))
    kernel = in_mode(kernel_of(f"{_NUMBERS}{_HALF}{numbers} {rounds}", fields=fields), "vjp")
    if promoted:
        assert run_passes(kernel, ("differentiate",), CONFIGS["optimized"]).saved == ("w",)
        return
    with pytest.raises(CompilationError, match="but the kernel overwrites it"):
        run_passes(kernel, ("differentiate",), CONFIGS["optimized"])


def test_memory_is_read_once_and_never_written() -> None:
    body, _ = PROMOTED["two addresses of one element"]
    made = run_passes(in_mode(kernel_of(body), "vjp"), ("differentiate",), CONFIGS["optimized"])
    pointers = [op for op in made.all_of(ops.FieldPtr) if op.field.name in FIELDS]
    assert not any(isinstance(user, (ops.Store, ops.Atomic)) for op in pointers for user in op.users)
    assert np.sum([len(op.users) for op in pointers if op.field.name == "x"]) == 1
