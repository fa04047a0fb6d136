"""Parallel loops that reverse mode refuses for a race that is certain, each beside one that it takes."""

from __future__ import annotations

import pytest

from tests.ir.dual_kernels import kernel_of
from tests.ir.reverse_checks import CONFIGS, in_mode
from tests.ir.test_reverse_arrays import arrays
from weft.ir.errors import CompilationError
from weft.ir.ops import Kernel
from weft.ir.parse import parse
from weft.ir.pipeline import run_passes
from weft.ir.text import print_ir

_NUMBERS = "%c2 = const 2 : i32 %c3 = const 3 : i32 "


def _loop(body: str, end: str = "%c4") -> str:
    moved = " ".join(f"%i{k} = binary add %i, %c{k} : i32" for k in (1, 2, 3))
    return f"parallel_for begins=[%c0], ends=[{end}] (%i: i32) {{ {moved} {body} }}"


def _copy(source: str, target: str) -> str:
    """One element becomes the square of another one."""
    return f"%p = {source} %1 = load %p : f64  %2 = binary mul %1, %1 : f64  %q = {target} store %q, %2 "


def _x(index: str) -> str:
    return f"field_ptr @x[{index}] : *f64"


def _a(*indices: str, array: str = "%a") -> str:
    return f"array_ptr {array}[{', '.join(indices)}] : *f64"


# Bodies in one axis, with the end of the loop, and whether they race.
FIELDS: dict[str, tuple[str, str, bool]] = {
    "the next element": (_copy(_x("%i1"), _x("%i")), "%c4", True),
    "the element before": (_copy(_x("%i"), _x("%i1")), "%c3", True),
    "its own element": (_copy(_x("%i"), _x("%i")), "%c4", False),
    "an element that no iteration stores": (_copy(_x("%i2"), _x("%i")), "%c2", False),
    "the last element that an iteration stores": (_copy(_x("%i1"), _x("%i")), "%c2", True),
    "another field": (_copy(_x("%i1"), "field_ptr @z[%i] : *f64"), "%c4", False),
    "a fixed element": (_copy(_x("%c3"), _x("%i")), "%c3", False),
    "two stores": (
        "%f = const 1.0 : f64 %p = " + _x("%i") + " store %p, %f %q = " + _x("%i1") + " store %q, %f",
        "%c3",
        True,
    ),
    "a sum of the next element": (
        "%f = const 1.0 : f64 %p = " + _x("%i") + " store %p, %f %q = " + _x("%i1") + " %o = atomic add %q, %f : f64",
        "%c3",
        True,
    ),
    "sums only": (
        "%f = const 1.0 : f64 %q = " + _x("%i1") + " %o = atomic add %q, %f : f64 %p = " + _x("%i")
        + " %r = atomic add %p, %f : f64",
        "%c3",
        False,
    ),
    "one element": (_copy(_x("%i"), "field_ptr @z[%c1] : *f64"), "%c2", True),
    "one element, once": (_copy(_x("%i"), "field_ptr @z[%c1] : *f64"), "%c1", False),
    "a number in one element": ("%f = const 1.0 : f64 %q = field_ptr @z[%c1] : *f64  store %q, %f", "%c2", False),
    "one element that is read": (
        "%p = field_ptr @z[%c1] : *f64  %z1 = load %p : f64  %w = " + _x("%i")
        + " %x1 = load %w : f64  %s1 = binary mul %z1, %x1 : f64  store %p, %s1",
        "%c2",
        True,
    ),
    "another part": (
        """%v0 = field_ptr @v[%i] : *f64x2  %e = element_ptr %v0[%c0] : *f64  %v1 = field_ptr @v[%i1] : *f64x2
        %g = element_ptr %v1[%c1] : *f64  %1 = load %g : f64  store %e, %1""",
        "%c3",
        False,
    ),
    "a store that others may overwrite": (
        "%f = const 1.0 : f64 %q = " + _x("%i1") + " %p = " + _x("%i")
        + " store %p, %f, relaxed=true store %q, %f, relaxed=true",
        "%c3",
        False,
    ),
}  # fmt: skip


def _races(kernel: Kernel) -> bool:
    """Whether the kernel is refused, for a race."""
    message = ""
    try:
        run_passes(in_mode(kernel, "vjp"), ("differentiate",), CONFIGS["not optimized"])
    except CompilationError as error:
        message = str(error)
    return "a parallel loop with a race" in message


@pytest.mark.parametrize("name", FIELDS)
def test_fields(name: str) -> None:
    body, end, races = FIELDS[name]
    assert _races(kernel_of(_NUMBERS + _loop(body, end))) is races


@pytest.mark.parametrize(("number", "races"), [("%i1", True), ("%i3", True), ("%i4", False)])
def test_loops_over_fields(number: str, races: bool) -> None:
    """All elements of a field of 4."""
    body = f"%i4 = binary add %i, %c4 : i32 {_copy(_x(number), _x('%i'))}"
    text = print_ir(kernel_of(_NUMBERS + _loop(body)))
    start = text.index("begins=")
    text = text[:start].replace("parallel_for", "struct_for @x") + text[text.index("(", text.index("ends=")) :]
    assert _races(parse(text)) is races


# The rows of an array with two axes, or of two arrays.
ARRAYS: dict[str, tuple[str, str, bool]] = {
    "the next element": (_copy(_a("%i1"), _a("%i")), "[f64; 1]", True),
    "another array": (_copy(_a("%i1", array="%b"), _a("%i")), "[f64; 1]", False),
    "another row": (_copy(_a("%c0", "%i1"), _a("%c1", "%i")), "[f64; 2]", False),
    "the same row": (_copy(_a("%c1", "%i1"), _a("%c1", "%i")), "[f64; 2]", True),
    "a diagonal beside": (_copy(_a("%i1", "%i"), _a("%i", "%i")), "[f64; 2]", False),
    "a diagonal further": (_copy(_a("%i1", "%i1"), _a("%i", "%i")), "[f64; 2]", True),
}


@pytest.mark.parametrize("name", ARRAYS)
def test_arrays(name: str) -> None:
    body, kind, races = ARRAYS[name]
    assert _races(arrays(_loop(body), kind)) is races


def test_a_loop_of_unknown_length_has_two_iterations() -> None:
    for index, races in (("%i1", True), ("%i2", False)):
        body = _loop(_copy(_a(index), _a("%i")), "%n")
        assert _races(arrays(f"%n = array_shape %a, axis=0 : i32  {body}")) is races
