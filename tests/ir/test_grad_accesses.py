"""Which writes to gradients set all elements of a box to 0: one case for each condition in `autodiff/grad_accesses.py`,
and what the evaluator says of the memory afterwards."""

from __future__ import annotations

import numpy as np
import pytest

from tests.ir.test_gather_adjoints import HEAD, PLAIN
from weft.ir.evaluate import evaluate
from weft.ir.memory_model import Memory
from weft.ir.ops import Kernel
from weft.ir.parse import parse
from weft.ir.pipeline import find_pass
from weft.ir.text import print_ir
from weft.ir.verify import verify

_WHOLE = "begins=[%0], ends=[%8] (%i: i32)"
_Y = "%g = field_ptr @y.grad[%i]"
_X = "%j = binary sub %i, %1 : i32  %g = field_ptr @x.grad[%t, %j]"  # its indices begin at -1


def kernel(body: str, box: str = _WHOLE, before: str = "") -> Kernel:
    made = parse(f"{HEAD} {before} parallel_for {box} {{ {body} }} }}\n")
    verify(made, "chi")
    return made


def rows(made: Kernel) -> list[str]:
    """The rows of a kernel, which holds what they say."""
    find_pass("note_gradients")(made, PLAIN)
    again = parse(print_ir(made))
    assert again.grad_accesses == made.grad_accesses
    assert not find_pass("note_gradients")(again, PLAIN)
    memory = Memory.of(made.fields)
    for symbol in made.fields:
        memory.write(symbol, np.ones(memory.read(symbol).shape))
    evaluate(made, [7, 1, np.ones(8), np.ones(8)], memory, PLAIN)
    found = {symbol.name: (symbol, memory.read(symbol)) for symbol in made.fields}
    left = {name: np.ones(values.shape, bool) for name, (_, values) in found.items()}
    for row in made.grad_accesses:
        kind, indices, name = row.split(" ")
        parts = [None if one == "*" else one.split(":") for one in indices.split(",")]
        numbers = [slice(None) if one is None else {"-": 0, "0": 7, "1": 1}[one[0]] + int(one[1]) for one in parts]
        first = found[name][0].offset or (0,) * len(parts)
        box = tuple(n if isinstance(n, slice) else n - start for n, start in zip(numbers, first, strict=True))
        left[name][box] = kind == "write"
    for name, (_, values) in found.items():
        assert not values[~left[name]].any()
    return list(made.grad_accesses)


CLEARS = {
    "all elements": (f"{_Y} store %g, %none", ["clear * y.grad"]),
    "a row, whose index is an argument": (f"{_X} store %g, %none", ["clear 1:0,* x.grad"]),
    "a row, whose index is a constant": (
        "%j = binary sub %i, %1 : i32  %g = field_ptr @x.grad[%2, %j] store %g, %none",
        ["clear -:2,* x.grad"],
    ),
    "vectors": (
        "%s = splat %none : f64x2  %g = field_ptr @v.grad[%i] store %g, %s",
        ["clear * v.grad"],
    ),
    "after the iteration has added to the element": (
        f"{_Y} %a = atomic add %g, %h : f64 store %g, %none",
        ["clear * y.grad"],
    ),
    "beside another row": (
        f"{_X} store %g, %none %k = binary sub %t, %1 : i32  %o = field_ptr @x.grad[%k, %j] store %o, %h",
        ["clear 1:0,* x.grad", "write 1:-1,* x.grad"],
    ),
    "memory without a gradient is left out": ("%g = field_ptr @plain[%i] store %g, %h", []),
}


@pytest.mark.parametrize("name", CLEARS)
def test_boxes_that_become_0(name):
    body, wanted = CLEARS[name]
    assert rows(kernel(body)) == wanted


WRITES = {
    "another value": f"{_Y} store %g, %h",
    "a negative zero": f"%z = const -0.0 : f64 {_Y} store %g, %z",
    "a branch": f"%c = binary gt %i, %2 : u1 if %c then {{ {_Y} store %g, %none }}",
    "a serial loop around it": f"for %0, %n, %1 (%k: i32) {{ {_Y} store %g, %none }}",
    "a jump before it": f"%c = binary gt %i, %2 : u1 if %c then {{ continue }} {_Y} store %g, %none",
    "one element": "%g = field_ptr @y.grad[%2] store %g, %none",
    "elements that lie elsewhere": "%j = binary add %i, %1 : i32  %g = field_ptr @y.grad[%j] store %g, %none",
    "a computed index": "%j = binary mod %i, %6 : i32  %g = field_ptr @y.grad[%j] store %g, %none",
    "a part of an element": "%e = field_ptr @v.grad[%i] %g = element_ptr %e[%0] : *f64 store %g, %none",
    "one index for both axes": "%g = field_ptr @z.grad[%i, %i] store %g, %none",
    "an update": f"{_Y} %a = atomic add %g, %none : f64",
}


@pytest.mark.parametrize("name", WRITES)
def test_what_is_no_clear(name):
    assert not [row for row in rows(kernel(WRITES[name])) if row.startswith("clear")]


@pytest.mark.parametrize("box", ["begins=[%1], ends=[%8]", "begins=[%0], ends=[%7]", "begins=[%0], ends=[%n]"])
def test_boxes_that_lack_elements(box):
    assert rows(kernel(f"{_Y} store %g, %none", f"{box} (%i: i32)")) == ["write * y.grad"]


def test_a_later_write_stays():
    later = f"{_Y} store %g, %none %a = atomic add %g, %h : f64"
    assert rows(kernel(later)) == ["clear * y.grad", "write * y.grad"]


def test_another_iteration_may_write_the_element():
    earlier = (
        f"%j = binary sub %i, %1 : i32  %o = field_ptr @y.grad[%j] %a = atomic add %o, %h : f64 {_Y} store %g, %none"
    )
    assert rows(kernel(earlier)) == ["clear * y.grad", "write * y.grad"]


def test_rows_are_in_the_order_of_the_loops():
    def earlier(value: str) -> str:
        loop = _WHOLE.replace("%i", "%e")
        return f"parallel_for {loop} {{ %f = field_ptr @y.grad[%e] store %f, {value} }}"

    assert rows(kernel(f"{_Y} store %g, %none", before=earlier("%h"))) == ["write * y.grad", "clear * y.grad"]
    assert rows(kernel(f"{_Y} store %g, %h", before=earlier("%none"))) == ["clear * y.grad", "write * y.grad"]


def test_a_field_that_shares_the_memory_is_a_write():
    head = HEAD.replace(
        "  %n = arg", "  field @w: f64[8] tree=2 components=(0) terms=((0, 1, 8, 8)) order=(0)\n  %n = arg"
    )
    made = parse(f"{head} parallel_for {_WHOLE} {{ %g = field_ptr @w[%i] store %g, %h }} }}\n")
    find_pass("note_gradients")(made, PLAIN)
    assert made.grad_accesses == ("write * w",)
