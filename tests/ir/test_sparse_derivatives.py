"""Derivatives of kernels with sparse fields: random trees and kernels, and each condition of `autodiff/topology.py`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from tests.sampling import draws
from tests.sparse_derivatives import CONFIG, Case, drawn_case, evaluated
from tests.sparse_second_derivatives import NESTED, REVERSED, SECOND, check_second, drawn_second_case
from tests.sparse_trees import Declared, I, J, branch, declare, place
from weft.ir import ops
from weft.ir.autodiff import demand, reverse
from weft.ir.autodiff.topology import Topology
from weft.ir.errors import CompilationError
from weft.ir.interleaving import Schedule
from weft.ir.pipeline import run_passes
from weft.ir.storage.snode import SNode
from weft.ir.symbols import NodeSymbol
from weft.ir.types import f64, i32

PLAIN = replace(CONFIG, verify=False)


@pytest.mark.parametrize("five", range(draws(24)))
def test_derivatives_of_random_kernels_agree(five: int) -> None:
    """Many random kernels can be differentiated, and these have derivatives other than 0."""
    done = found = 0
    for seed in range(5 * five, 5 * five + 5):
        try:
            case = drawn_case(seed)
            ways = [evaluated(replace(PLAIN, advanced_optimization=seed % 2 == 0))] if seed % 5 < 2 else []
            found += case.check(seed, ways, schedule=Schedule(seed) if seed % 2 else None)
            done += 1
        except CompilationError:
            continue
    assert done
    assert found


@pytest.mark.parametrize("mode", [SECOND, REVERSED, NESTED])
@pytest.mark.parametrize("five", range(draws(12)))
def test_second_derivatives_of_random_kernels_agree(five: int, mode: str) -> None:
    """Many random kernels can be differentiated twice. H v agrees with differences, and <u, H v> with <v, H u>; both
    modes of the gradient have one Jacobian."""
    done = found = 0
    for seed in range(5 * five, 5 * five + 5):
        try:
            case = drawn_second_case(seed, mode)
            ways = [evaluated(replace(PLAIN, advanced_optimization=seed % 2 == 0))] if seed % 5 == 3 else []
            found += check_second(case, seed, mode, ways, schedule=Schedule(seed) if seed % 2 else None)
            done += 1
        except CompilationError:
            continue
    assert done
    assert found


# ---- small kernels ---------------------------------------------------------------------------------------------------


def tree() -> Declared:
    """x, y and the integers `count` lie in cells of a mask below a pointer node P0, z in blocks of it, b in blocks of
    twice the size, and l in lists."""
    root = SNode("root")

    def put(node: SNode, name: str) -> None:
        for kind in ("", ".grad", ".dual"):
            place(node, name + kind, f64)

    put(root, "sum")
    put(root, "k")
    put(branch(root, "dense", (I, 20)), "k2")
    outer = branch(root, "pointer", (I, 5))
    mask = branch(outer, "bitmasked", (I, 4))
    put(mask, "x")
    put(mask, "y")
    place(mask, "count", i32)
    put(branch(outer, "dense", (I, 4)), "z")
    put(branch(outer, "dense", (I, 8)), "b")
    put(branch(branch(root, "dense", (I, 2)), "dynamic", (J, 8), chunk=2), "l")
    made = declare(root)
    known = {one.name: one for one in made.fields}
    own = [one for name, one in known.items() if f"{name}.grad" in known]
    linked = [replace(one, grad=known[f"{one.name}.grad"], dual=known[f"{one.name}.dual"]) for one in own]
    return replace(made, fields=(*(one for one in made.fields if one not in own), *linked))


MADE = tree()
ADD = "{p} = field_ptr @sum[] : *f64\n{o} = atomic add {p}, {v} : f64\n"
START = """
%w = const 0.7 : f64
%a = field_ptr @x[%1] : *f64
store %a, %w
%b = field_ptr @x[%6] : *f64
store %b, %w
%c = field_ptr @z[%2] : *f64
store %c, %w
%d = append @{list} [%0] : i32
%e = field_ptr @l[%0, %d] : *f64
store %e, %w
"""


def node(kind: str) -> NodeSymbol:
    return next(one for one in MADE.nodes if one.kind == kind)


def added(value: str, name: str = "") -> str:
    return ADD.format(p=f"%p{name}", o=f"%o{name}", v=value)


def case(body: str) -> Case:
    names = {"list": node("dynamic").name, "mask": node("bitmasked").name, "pointer": node("pointer").name}
    before = START
    for key, name in names.items():
        body, before = body.replace(f"{{{key}}}", name), before.replace(f"{{{key}}}", name)
    return Case(MADE, [before], body)


SQUARE = """%v = load %q : f64
%both = binary mul %v, %v : f64
%other = field_ptr @k[] : *f64
%k = load %other : f64
%t = binary add %both, %k : f64
"""
OWN = f"%q = field_ptr @x[%i] : *f64\n{SQUARE}"
BLOCK = """%four = const 4 : i32
%first = binary mul %c, %four : i32
%second = binary add %first, {rest} : i32
%q = field_ptr @z[%second] : *f64
"""

RIGHT = {
    "own elements": f"struct_for @x (%i: i32) {{\n{OWN}store %q, %t\n{added('%t')}}}",
    "a sibling in the same cell": f"struct_for @x (%i: i32) {{\n{OWN}%r = field_ptr @y[%i] : *f64\nstore %r, %t\n}}",
    "another element of the visited cell": f"""struct_for @{{pointer}}.table, cells=true (%c: i32) {{
{BLOCK.format(rest="%3")}{SQUARE}store %q, %t\n{added("%t")}}}""",
    "an element that becomes active": f"parallel_for begins=[%0], ends=[%3] (%i: i32) {{\n{OWN}"
    "%far = binary add %i, %8 : i32\n%r = field_ptr @y[%far] : *f64\nstore %r, %t\n}",
    "an element of a mask in the visited cell": "struct_for @{pointer}.table, cells=true (%c: i32) {\n"
    f"{BLOCK.format(rest='%3').replace('@z', '@x')}{SQUARE}store %q, %t\n{added('%t')}}}",
    "cells of a mask": f"struct_for @{{mask}}.table, cells=true (%i: i32) {{\n{OWN}%r = field_ptr @y[%i] : *f64\n"
    f"store %r, %t\n{added('%t')}}}",
    "a local, and an atomic load of integers elsewhere": f"struct_for @x (%i: i32) {{\n{OWN}"
    "%far = binary add %i, %5 : i32\n%n = field_ptr @count[%far] : *i32\n%m = atomic_load %n : i32\n"
    "%u = cast %m : f64\n%s = binary add %t, %u : f64\n"
    f"%h = alloca : *f64\nstore %h, %s\n%g = load %h : f64\n{added('%g')}}}",
    "a loop over a dense field": "struct_for @k2 (%i: i32) {\n%j = binary raw_div %i, %4 : i32\n"
    f"{OWN}%r = field_ptr @y[%j] : *f64\n%old = atomic add %r, %t : f64\n}}",
    "another node loses cells": f"struct_for @x (%i: i32) {{\n{OWN}{added('%t')}}}\n"
    "parallel_for begins=[%0], ends=[%2] (%n: i32) {\ndeactivate @{list}[%n]\n}",
    "own elements in blocks": f"struct_for @z (%i: i32) {{\n{OWN.replace('@x', '@z')}store %q, %t\n{added('%t')}}}",
    "a read elsewhere": "struct_for @x (%i: i32) {\n%far = binary add %i, %5 : i32\n"
    f"{OWN.replace('@x[%i]', '@y[%far]')}{added('%t')}}}",
    "a write elsewhere that activates nothing": f"struct_for @x (%i: i32) {{\n{OWN}%far = binary add %i, %5 : i32\n"
    f"%r = field_ptr @y[%far], activates=false : *f64\n%old = atomic add %r, %t : f64\n{added('%t')}}}",
    "a write to a dense field": f"struct_for @x (%i: i32) {{\n{OWN}%r = field_ptr @k2[%i] : *f64\nstore %r, %t\n}}",
    "whether a cell is active": f"struct_for @x (%i: i32) {{\n{OWN}%asked = is_active @{{mask}}[%i]\n"
    f"if %asked then {{\n{added('%t')}}}\n}}",
    "the length of a list": f"struct_for @x (%i: i32) {{\n{OWN}%n = length @{{list}}[%0] : i32\n"
    f"%m = cast %n : f64\n%u = binary mul %t, %m : f64\n{added('%u')}}}",
    "a list": f"struct_for @l (%i: i32, %j: i32) {{\n%q = field_ptr @l[%i, %j] : *f64\n{SQUARE}{added('%t')}}}",
}

REFUSED = {
    "a loop activates what it visits": (
        f"struct_for @x (%i: i32) {{\n{OWN}%far = binary add %i, %4 : i32\n%r = field_ptr @y[%far] : *f64\n"
        f"%old = atomic add %r, %t : f64\n{added('%t')}}}",
        "a loop over active cells of 'B1', of which the kernel may activate some",
    ),
    "a later loop activates what the first one visits": (
        f"struct_for @x (%i: i32) {{\n{OWN}{added('%t')}}}\nparallel_for begins=[%0], ends=[%9] (%n: i32) {{\n"
        "activate @{mask}[%n]\n}",
        "a loop over active cells of 'B1', of which the kernel may activate some",
    ),
    "an element behind the visited cell": (
        f"struct_for @{{pointer}}.table, cells=true (%c: i32) {{\n{BLOCK.format(rest='%4')}{SQUARE}store %q, %t\n"
        f"{added('%t')}}}",
        "a loop over active cells of 'P0', of which the kernel may activate some",
    ),
    "blocks of another size": (
        f"struct_for @z (%i: i32) {{\n{OWN.replace('@x', '@z')}%r = field_ptr @b[%i] : *f64\nstore %r, %t\n}}",
        "a loop over active cells of 'P0', of which the kernel may activate some",
    ),
    "twice the index": (
        f"struct_for @z (%i: i32) {{\n{OWN.replace('@x', '@z')}%far = binary add %i, %i : i32\n"
        "%r = field_ptr @z[%far] : *f64\nstore %r, %t\n}",
        "a loop over active cells of 'P0', of which the kernel may activate some",
    ),
    "an element before the visited cell": (
        f"struct_for @{{pointer}}.table, cells=true (%c: i32) {{\n{BLOCK.format(rest='%less')}{SQUARE}store %q, %t\n"
        f"{added('%t')}}}".replace("%second =", "%less = const -1 : i32\n%second ="),
        "a loop over active cells of 'P0', of which the kernel may activate some",
    ),
    "an element as far as the number of the cell": (
        "struct_for @{pointer}.table, cells=true (%c: i32) {\n%q = field_ptr @b[%c] : *f64\n"
        f"{SQUARE}store %q, %t\n}}",
        "a loop over active cells of 'P0', of which the kernel may activate some",
    ),
    "a function that activates what a loop visits": (
        f"struct_for @x (%i: i32) {{\n{OWN}{added('%t')}}}\ninvoke function=f, [], touched=(count)",
        "a loop over active cells of 'B1', of which the kernel may activate some",
    ),
    "a loop deactivates what it visits": (
        f"struct_for @x (%i: i32) {{\n{OWN}{added('%t')}deactivate @{{mask}}[%i]\n}}",
        "a loop over active cells of 'B1', of which the kernel deactivates some",
    ),
    "a cell above goes": (
        f"parallel_for begins=[%0], ends=[%3] (%i: i32) {{\n{OWN}{added('%t')}}}\n"
        "parallel_for begins=[%0], ends=[%2] (%c: i32) {\ndeactivate @{pointer}[%c]\n}",
        "this access to 'x', whose cells the kernel deactivates",
    ),
    "a serial loop": (
        f"struct_for @x, config={{serialize=true}} (%i: i32) {{\n{OWN}{added('%t')}}}",
        "serialize=True",
    ),
    "whether a cell was active": (
        f"parallel_for begins=[%0], ends=[%3] (%i: i32) {{\n{OWN}%asked = is_active @{{mask}}[%i]\n"
        f"activate @{{mask}}[%i]\nif %asked then {{\n{added('%t')}}}\n}}",
        "needs the result of this is_active",
    ),
    "the index of an appended element": (
        f"parallel_for begins=[%0], ends=[%2] (%i: i32) {{\n{OWN}%n = append @{{list}}[%i] : i32\n"
        "%r = field_ptr @l[%i, %n] : *f64\nstore %r, %t\n}",
        "needs the result of this append",
    ),
    "a write to what is active, before more becomes active": (
        f"parallel_for begins=[%0], ends=[%3] (%i: i32) {{\n{OWN}%far = binary add %i, %8 : i32\n"
        "%r = field_ptr @y[%far], activates=false : *f64\n%old = atomic add %r, %t : f64\n}\n"
        "parallel_for begins=[%8], ends=[%9] (%n: i32) {\nactivate @{mask}[%n]\n}",
        "this write to 'y', which changes only what is active, while the kernel activates cells",
    ),
}


@pytest.mark.parametrize("name", RIGHT)
def test_what_is_differentiated(name: str) -> None:
    assert case(RIGHT[name]).check(5, [evaluated(CONFIG)]) >= 3


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_refused(name: str) -> None:
    body, message = REFUSED[name]
    kernel = case(body).kernel(case(body).body, "vjp")
    with pytest.raises(CompilationError, match=message):
        run_passes(kernel, ("differentiate",), CONFIG)


def test_a_function_may_read_what_a_loop_visits() -> None:
    body = f"struct_for @x (%i: i32) {{\n{OWN}{added('%t')}}}\n"
    kernel = case("").kernel(f"{body}invoke function=f, [], touched=(count), only_read=(count)", "vjp")
    assert run_passes(kernel, ("differentiate",), CONFIG).all_of(ops.StructFor)


def test_forward_mode_of_a_loop_over_cells_in_order() -> None:
    """A maximum needs an order. The numbers that iterations draw are not known in it."""
    loop = f"struct_for @x (%i: i32) {{\n{OWN}DRAW%p = field_ptr @sum[] : *f64\n%o = atomic max %p, %t : f64\n}}"
    kernel = case("").kernel(loop.replace("DRAW", ""), "jvp")
    (found,) = run_passes(kernel, ("differentiate",), CONFIG).all_of(ops.StructFor)
    assert isinstance(found, ops.StructFor)
    assert found.config.serialize
    kernel = case("").kernel(loop.replace("DRAW", "%n = random : f64\nstore %q, %n\n"), "jvp")
    with pytest.raises(CompilationError, match="a loop over active cells that draws random numbers"):
        run_passes(kernel, ("differentiate",), CONFIG)


WITHOUT: dict[str, Callable[[Topology], None]] = {
    "a loop activates what it visits": lambda topology: topology.grown.clear(),
    "an element behind the visited cell": lambda topology: topology.grown.clear(),
    "a loop deactivates what it visits": lambda topology: topology.shrunk.clear(),
    "a cell above goes": lambda topology: topology.shrunk.clear(),
    "whether a cell was active": lambda topology: topology.grown.clear(),
    "a write to what is active, before more becomes active": lambda topology: topology.grown.clear(),
}


@pytest.mark.parametrize("name", WITHOUT)
def test_what_is_refused_would_be_wrong(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the condition, the derivatives do not agree."""
    find = Topology.of

    def blind(kernel: ops.Kernel) -> Topology:
        found = find(kernel)
        WITHOUT[name](found)
        return found

    monkeypatch.setattr(demand.Topology, "of", blind)
    with pytest.raises(AssertionError):
        case(REFUSED[name][0]).check(5)


def test_a_gradient_activates_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """The derivative of a read of what is not active goes nowhere."""
    far = f"parallel_for begins=[%0], ends=[%9] (%i: i32) {{\n{OWN}{added('%t')}}}"
    assert case(far).check(5) >= 3
    monkeypatch.setattr(reverse, "keep_cells", lambda _: None)
    with pytest.raises(AssertionError, match="the gradient changed what is active"):
        case(far).check(5)


def test_a_gradient_below_another_node_is_refused() -> None:
    """Its cells are as large, but others are active."""
    root = SNode("root")
    for name in ("x", "x.grad"):
        place(branch(branch(root, "pointer", (I, 4)), "dense", (I, 4)), name, f64)
    made = declare(root)
    x, other = made.fields
    body = "parallel_for begins=[%0], ends=[%9] (%i: i32) {\n%q = field_ptr @x[%i] : *f64\nstore %q, %w\n}"
    kernel = Case(replace(made, fields=(other, replace(x, grad=other))), [], "").kernel(
        f"%w = const 0.5 : f64\n{body}", "vjp"
    )
    with pytest.raises(CompilationError, match=r"'x' and its grad 'x\.grad' are not in the same cells"):
        run_passes(kernel, ("differentiate",), CONFIG)


def test_a_gradient_in_other_cells_is_refused() -> None:
    fields = {one.name: one for one in MADE.fields}
    apart = [replace(one, grad=fields["z.grad"]) if one.name == "x" else one for one in MADE.fields]
    made = replace(MADE, fields=tuple(apart))
    kernel = replace(case(RIGHT["own elements"]), made=made).kernel(RIGHT["own elements"], "vjp")
    with pytest.raises(CompilationError, match=r"'x' and its grad 'z\.grad' are not in the same cells"):
        run_passes(kernel, ("differentiate",), CONFIG)
