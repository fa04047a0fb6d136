"""What the gathers of gradients must leave as it is: one case for each condition in `autodiff/stencils.py` that the
cases of `test_gather_adjoints.py` do not reach, and its neighbour that is allowed."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.ir import test_gather_adjoints as base
from tests.ir.test_gather_adjoints import PLAIN, STENCIL, add, gathered, hold, kernel
from weft.ir.ops import FieldPtr, Kernel
from weft.ir.parse import parse
from weft.ir.pipeline import find_pass
from weft.ir.text import print_ir

_STRUCT = "{p: f64, q: f64}"
_STRUCTS = f"""\
  field @s.grad: {_STRUCT}[8] tree=9 components=(0, 8) terms=((0, 1, 8, 16)) order=(0)
  field @s: {_STRUCT}[8] tree=10 components=(0, 8) terms=((0, 1, 8, 16)) order=(0) grad=@s.grad
"""
_EXPOSED = "".join(
    f"  field @e{n}: f64[8] tree={20 + n} components=(0) terms=((0, 1, 8, 8)) order=(0) exposed=true\n" for n in (1, 2)
)
_COMPONENT = "  field @w.grad: f64[8] tree=4 components=(8) terms=((0, 1, 8, 16)) order=(0)\n"


def more(body: str, box: str = "begins=[%1], ends=[%7] (%i: i32)", params: str = "[f64; 1]") -> Kernel:
    """A kernel with more fields: of structs, and of one component of `v.grad`. `params`: the type of the arrays."""
    head, fields = base.HEAD, _COMPONENT + (_STRUCTS if "@s.grad" in body else "") + (_EXPOSED if "@e1" in body else "")
    try:
        base.HEAD = head.replace("  %n = arg", fields + "  %n = arg", 1).replace("[f64; 1]", params)
        return kernel(body, box)
    finally:
        base.HEAD = head


def _array(*indices: str, name: str = "") -> str:
    """An addition to an element of the gradient of the array."""
    n = name or "".join(one.strip("%") for one in indices)
    return f"%q{n} = array_ptr %aa[{', '.join(indices)}] %a{n} = atomic add %q{n}, %v : f64 "


_TWO = _array("%l") + _array("%u")
_ROWS = _array("%t", "%l") + _array("%t", "%u")
_WIDE = "%wide = cast %t : i64 "
_COMPONENTS = """%c0 = field_ptr @v.grad[%l] %c1 = element_ptr %c0[%0] : *f64 %c2 = atomic add %c1, %v : f64
    %d0 = field_ptr @v.grad[%u] %d1 = element_ptr %d0[%0] : *f64 %d2 = atomic add %d1, %v : f64 """

# Loops that stay, with the type of their arrays.
LEFT: dict[str, tuple[str, str]] = {
    "a strided array": (_TWO, "[f64; 1 strided]"),
    "an exposed array": (_TWO, "[f64; 1 exposed]"),
    "an array with wide indices": (_TWO, "[f64; 1 wide]"),
    "a load of elements of the array": (f"%p = array_ptr %aa[%i] %w = load %p : f64 store %g, %w {_TWO}", "[f64; 1]"),
    "a load of a row of the array that may be the same": (
        f"%p = array_ptr %aa[%n, %i] %w = load %p : f64 store %g, %w {_ROWS}",
        "[f64; 2]",
    ),
    "an exposed array beside it": (
        f"%other = arg index=2 : [f64; 1 exposed] %p = array_ptr %other[%i] store %p, %none {_TWO}",
        "[f64; 1 exposed]",
    ),
    "a write before a load of memory that may overlap": (
        "%p = field_ptr @e1[%i] store %p, %h %q = field_ptr @e2[%i] %w = load %q : f64 " + STENCIL.replace("%v", "%w"),
        "[f64; 1]",
    ),
    "the axis twice": (add("x.grad", "%i", "%l") + add("x.grad", "%i", "%u"), "[f64; 1]"),
    "an offset that is far": (
        "%f = const 70000 : i32 %m = binary add %i, %f : i32 " + add("x.grad", "%t", "%m") + add("x.grad", "%t", "%l"),
        "[f64; 1]",
    ),
    "a wide row": (_WIDE + STENCIL.replace("%t", "%wide"), "[f64; 1]"),
    "a row that a serial loop changes": (f"for %0, %2, %1 (%k: i32) {{ {STENCIL.replace('%t', '%k')} }}", "[f64; 1]"),
    "a part that is not known": (_COMPONENTS.replace("[%0] : *f64", "[%t] : *f64"), "[f64; 1]"),
    "a load of a component": (
        f"%p = field_ptr @w.grad[%i] %w = load %p : f64 store %g, %w {_COMPONENTS.replace('[%0] :', '[%1] :')}",
        "[f64; 1]",
    ),
    "an atomic on a local": (
        f"%s = alloca : *f64 store %s, %v %o = atomic add %s, %h : f64 %w = load %s {STENCIL.replace('%v', '%w')}",
        "[f64; 1]",
    ),
    "memory of a thread block": (f"%sh = shared shape=(8) : [f64; 1] {STENCIL}", "[f64; 1]"),
    "a fence": (f"fence {STENCIL}", "[f64; 1]"),
}  # fmt: skip


@pytest.mark.parametrize("name", LEFT)
def test_loops_that_stay(name: str) -> None:
    body, params = LEFT[name]
    assert gathered(more(body, params=params)) is None


def test_wide_loops_stay() -> None:
    box = "begins=[%e1], ends=[%e7] (%j: i64)"
    ends = "%e1 = const 1 : i64 %e7 = const 7 : i64 "
    text = print_ir(kernel(STENCIL))
    start, end = text.index("begins="), text.index(" {", text.index("begins="))
    text = text[:start] + box + text[end:].replace("{", "{\n    %i = cast %j : i32", 1)
    assert gathered(parse(text.replace("parallel_for", ends + "parallel_for", 1))) is None


# Loops that become gathers, each beside one that stays.
TAKEN: dict[str, tuple[str, str, int]] = {
    "two rows of an array": (
        f"%k = binary sub %t, %1 : i32 %p = array_ptr %aa[%k, %i] store %p, %none {_ROWS}",
        "[f64; 2]",
        0,
    ),
    "a write before a load of other memory": (
        "%p = field_ptr @y.grad[%i] store %p, %h %q = field_ptr @e1[%i] %w = load %q : f64 "
        + STENCIL.replace("%v", "%w"),
        "[f64; 1]",
        0,
    ),
    "another array": (
        f"%other = arg index=2 : [f64; 1] %p = array_ptr %other[%i] %w = load %p : f64 store %g, %w {_TWO}",
        "[f64; 1]",
        0,
    ),
    "members of structs": (
        """%c0 = field_ptr @s.grad[%l] %c1 = member_ptr %c0, index=0 : *f64 %c2 = atomic add %c1, %v : f64
        %d0 = field_ptr @s.grad[%u] %d1 = member_ptr %d0, index=1 : *f64 %d2 = atomic add %d1, %h : f64""",
        "[f64; 1]",
        0,
    ),
    "a load of the other component": (
        f"%p = field_ptr @w.grad[%i] %w = load %p : f64 store %g, %w {STENCIL}",
        "[f64; 1]",
        0,
    ),
    "a continue of a serial loop": (
        f"""%s = alloca : *f64 store %s, %none for %0, %2, %1 (%k: i32) {{ %c = binary eq %k, %t : u1
        if %c then {{ continue }} store %s, %v }} %w = load %s : f64 store %g, %w {STENCIL}""",
        "[f64; 1]",
        0,
    ),
    "an atomic on a local that is nobody's contribution": (
        f"%s = alloca : *f64 store %s, %v %old = atomic add %s, %h : f64 %w = load %s : f64 store %g, %w {STENCIL}",
        "[f64; 1]",
        1,
    ),
    "a row that is computed in the loop": (
        f"%r = binary add %t, %0 : i32 {STENCIL.replace('%t', '%r')}",
        "[f64; 1]",
        0,
    ),
}


@pytest.mark.parametrize("name", TAKEN)
def test_loops_that_become_gathers(name: str) -> None:
    body, params, atomics = TAKEN[name]
    made = more(body, params=params)
    if params == "[f64; 2]" or "@s.grad" in body:  # `hold` has arrays of one axis, and no structs
        assert gathered(made) is not None
    else:
        hold(made, atomics, inside=False)


@pytest.mark.parametrize("change", ["halo", "far"])
def test_fields_that_a_loop_runs_over(change: str) -> None:
    """A loop over a field with a halo does not run over all of its elements; indices near the ends of 32 bits may wrap
    around into a field that lies there."""
    made = kernel(STENCIL)
    text = print_ir(made)
    if change == "halo":
        start = text.index("begins=")
        text = text[:start].replace("parallel_for", "struct_for @y") + text[text.index("(", text.index("ends=")) :]
        made = parse(text)
        loop = next(iter(made.body.last.walk()))
        path = replace(loop.field.path, cell=replace(loop.field.path.cell, halo=((1, 1),)))  # type: ignore[attr-defined]
        loop.field = replace(loop.field, path=path)  # type: ignore[attr-defined]
        assert not find_pass("gather_adjoints")(made, PLAIN)
        return
    for offset in (-(1 << 30) - 4, (1 << 30) - 2):
        moved = parse(text)
        (symbol,) = {op.field for op in moved.all_of(FieldPtr) if op.field.name == "x.grad"}
        other = replace(symbol, offset=(0, offset))
        moved.fields = tuple(
            other if one is symbol else replace(one, grad=other) if one.grad is symbol else one for one in moved.fields
        )
        for op in moved.all_of(FieldPtr):
            op.field = next(one for one in moved.fields if one.name == op.field.name)
        assert not find_pass("gather_adjoints")(moved, PLAIN)
