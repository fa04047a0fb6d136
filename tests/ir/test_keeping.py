"""Store or recompute: the minimum cut, and what it keeps of the iterations of a loop. Tensors that become values."""

from __future__ import annotations

import itertools
import math
import random
import re
from dataclasses import replace

import numpy as np
import pytest

from tests.ir.dual_kernels import kernel_of
from tests.ir.reverse_checks import CONFIGS, hold_dot_product, in_mode, point_of, run
from tests.sampling import every
from weft.ir import ops
from weft.ir.autodiff import checkpoints
from weft.ir.autodiff.cuts import choose
from weft.ir.autodiff.tensors import assemble_tensors
from weft.ir.core import ops_of
from weft.ir.parse import parse
from weft.ir.pipeline import TO_LOWERED, TO_TASKS, run_passes
from weft.ir.target import CPU, GPU
from weft.ir.text import print_ir
from weft.ir.verify import verify


def _least(depends: dict[int, list[int]], wanted: list[int], again: dict[int, float], keep: dict[int, float]) -> float:
    """The price of the best of all choices."""
    best = math.inf
    for chosen in itertools.product((None, keep, again), repeat=len(depends)):
        there = {item for item, prices in enumerate(chosen) if prices}
        made = [item for item, prices in enumerate(chosen) if prices is again]
        if there.issuperset(wanted) and all(there.issuperset(depends[item]) for item in made):
            best = min(best, sum(prices[item] for item, prices in enumerate(chosen) if prices))
    return best


def test_no_choice_is_cheaper() -> None:
    for seed in range(60):
        draw = random.Random(seed)
        count = draw.randint(1, 6)
        depends = {item: draw.sample(range(item), min(item, draw.randint(0, 2))) for item in range(count)}
        again = {item: draw.choice([0, 1, 2, 5, 20, math.inf]) for item in range(count)}
        keep = {item: draw.choice([1, 3, 4, *[math.inf] * (again[item] < math.inf)]) for item in range(count)}
        wanted = draw.sample(range(count), draw.randint(1, count))
        choice = choose(depends, wanted, again.__getitem__, keep.__getitem__)
        price = sum(keep[item] for item in choice.kept) + sum(again[item] for item in choice.again)
        assert price == _least(depends, wanted, again, keep), seed
        there = choice.kept | choice.again
        assert there.issuperset(wanted)
        assert all(there.issuperset(depends[item]) for item in choice.again)
        assert not choice.kept & choice.again


_SERIAL = """%px = field_ptr @x[%c0] : *f64  %x = load %px : f64  %py = field_ptr @y[%c1] : *f64  %y = load %py : f64
    %l = alloca : *f64  store %l, %x  %many = const {count} : i32
    for %c0, %many, %c1 (%k: i32) {{ {body} }}  %r = load %l : f64  %pz = field_ptr @z[%c0] : *f64  store %pz, %r"""
_SLOW = """%1 = load %l : f64  %2 = unary tanh %1 : f64  %3 = binary mul %2, %y : f64  %4 = binary add %3, %x : f64
    store %l, %4"""
_FAST = """%1 = load %l : f64  %2 = binary mul %1, %1 : f64  %f = const 0.05 : f64  %3 = binary mul %2, %f : f64
    %4 = binary mul %3, %y : f64  %5 = binary add %4, %x : f64  store %l, %5"""
_BRANCH = """%1 = load %l : f64  %2 = unary sin %1 : f64  %p = binary lt %1, %y : u1  if %p then {{
    %3 = binary mul %2, %y : f64  store %l, %3 }} orelse {{ %4 = binary mul %2, %x : f64  store %l, %4 }}
    %5 = load %l : f64  %6 = unary cos %5 : f64  %7 = binary mul %6, %5 : f64  store %l, %7"""
_NESTED = """%1 = load %l : f64  %2 = unary exp %1 : f64  %f = const 0.01 : f64  %s = alloca : *f64  store %s, %f
    %n = binary and %k, %c3 : i32  for %c0, %n, %c1 (%j: i32) {{ %3 = load %s : f64  %4 = binary mul %3, %2 : f64
    store %s, %4 }}  %5 = load %s : f64  %6 = unary sin %5 : f64  %7 = binary mul %6, %y : f64  store %l, %7"""
_INSIDE = """%1 = load %l : f64  %p = binary lt %1, %y : u1  if %p then {{ %2 = unary tanh %1 : f64
    %3 = binary mul %2, %y : f64  %q = binary lt %3, %x : u1  if %q then {{ %4 = unary sin %3 : f64
    %5 = binary mul %4, %x : f64  %6 = binary add %5, %3 : f64  store %l, %6 }} orelse {{ store %l, %3 }} }} orelse {{
    %7 = unary exp %1 : f64  %f = const 0.1 : f64  %8 = binary mul %7, %f : f64  store %l, %8 }}"""
_TWICE = """%1 = load %l : f64  %s = alloca : *f64  store %s, %1  %p = binary lt %1, %y : u1  if %p then {{
    %2 = unary exp %1 : f64  %3 = binary mul %2, %y : f64  store %s, %3 }}  %4 = load %s : f64
    %q = binary lt %4, %x : u1  if %q then {{ %5 = load %s : f64  %6 = unary sin %5 : f64  store %s, %6 }} orelse {{
    %7 = load %s : f64  %8 = unary tanh %7 : f64  %9 = binary mul %8, %x : f64  store %s, %9 }}  %10 = load %s : f64
    %11 = unary cos %10 : f64  %12 = binary mul %11, %y : f64  store %l, %12"""
_AROUND = """%1 = load %l : f64  %p = binary lt %1, %y : u1  if %p then {{ %2 = unary sin %1 : f64  store %l, %2
    for %c0, %c3, %c1 (%j: i32) {{ %3 = load %l : f64  %4 = unary tanh %3 : f64  %5 = binary mul %4, %y : f64
    store %l, %5 }} }} orelse {{ %6 = unary cos %1 : f64  %7 = binary mul %6, %x : f64  store %l, %7 }}"""
LOOPS = {"slow": _SLOW, "fast": _FAST, "branch": _BRANCH, "nested": _NESTED}
LOOPS |= {"inside": _INSIDE, "twice": _TWICE, "around": _AROUND}


def _kernel(name: str, count: int) -> ops.Kernel:
    return kernel_of("%c3 = const 3 : i32  " + _SERIAL.format(count=count, body=LOOPS[name].format()))


def _gradient(name: str, count: int) -> str:
    kernel = in_mode(_kernel(name, count), "vjp")
    return print_ir(run_passes(kernel, ("differentiate", "full_simplify"), CONFIGS["optimized"]))


@pytest.mark.parametrize(("name", "count"), every(5, itertools.product(LOOPS, (1, 5, 80))))
def test_the_dot_product_is_that_of_forward_mode(name: str, count: int) -> None:
    hold_dot_product(_kernel(name, count), 0, machine=count == 5)


_CHOSEN = """%1 = load %l : f64  %p = binary lt %1, %y : u1  for %c0, %c3, %c1 (%j: i32) { %s = alloca : *i32
    if %p then { store %s, %j } orelse { store %s, %c1 }  %m = load %s : i32  %o = field_ptr @x[%m] : *f64
    %2 = load %o : f64  %3 = unary sin %2 : f64  %4 = load %l : f64  %5 = binary add %4, %3 : f64  store %l, %5 }"""
_COUNTED = """%1 = load %l : f64  %n = cast %1 : i32  for %c0, %c3, %c1 (%j: i32) { %s = alloca : *i32  store %s, %c0
    for %c0, %n, %c1 (%h: i32) { %g = binary and %h, %c3 : i32  store %s, %g }  %m = load %s : i32
    %o = field_ptr @x[%m] : *f64  %2 = load %o : f64  %3 = unary sin %2 : f64  %4 = load %l : f64
    %5 = binary add %4, %3 : f64  store %l, %5 }"""


@pytest.mark.parametrize("body", [_CHOSEN, _COUNTED])
def test_what_decides_inside_of_a_loop_without_a_derivative_of_its_own(body: str) -> None:
    """The condition and the bound are computed before the inner loop, and only they use that value."""
    text = "%c3 = const 3 : i32  " + _SERIAL.format(count=5, body=body)
    hold_dot_product(kernel_of(text), 1, machine=False)


def test_slow_operators_are_computed_once() -> None:
    assert len(re.findall("unary tanh", _gradient("slow", 200))) == 1


@pytest.mark.parametrize(("name", "slow"), [("inside", "tanh"), ("inside", "exp"), ("twice", "exp")])
def test_slow_operators_in_branches_are_computed_once(name: str, slow: str) -> None:
    """Values of a branch that is not taken are never used, so that nothing has to be kept of them."""
    assert len(re.findall(f"unary {slow}", _gradient(name, 200))) == 1


def test_products_are_computed_again() -> None:
    text = _gradient("fast", 200)
    assert "slots = alloca : *f64x200\n" in text  # the state, and no other value
    assert "*f64x200x2" not in text


@pytest.mark.parametrize(("count", "where"), [(200, "alloca"), (20_000, "shared_local")])
def test_many_slots_are_not_on_a_stack(count: int, where: str) -> None:
    assert re.search(f"slots = {where} : .f64x{count}", _gradient("fast", count))
    lowered = run_passes(in_mode(_kernel("fast", count), "vjp"), TO_TASKS + TO_LOWERED, CONFIGS["optimized"])
    assert (lowered.temp_bytes >= 8 * count) == (where == "shared_local")


def test_too_many_iterations_share_slots(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checkpoints, "_MANY", 70)
    monkeypatch.setattr(checkpoints, "_FEW", 70)
    assert "f64x200" not in _gradient("slow", 200)
    for name in ("slow", "inside", "twice"):
        hold_dot_product(_kernel(name, 80), 0, machine=False)


_TABLE = """%c3 = const 3 : i32  %px = field_ptr @x[%c0] : *f64  %x = load %px : f64
    %t = alloca : *f64x{shape}  %s = splat %x : f64x{shape}  store %t, %s  %many = const {count} : i32
    for %c0, %many, %c1 (%k: i32) {{ for %c0, %c3, %c1 (%a: i32) {{ %b = binary and %a, %c1 : i32
    %e = element_ptr %t[{at}] : *f64  %o = element_ptr %t[{other}] : *f64  %1 = load %e : f64  %2 = load %o : f64
    %3 = binary mul %1, %2 : f64  %4 = unary sin %3 : f64  store %e, %4 }} }}
    %f = element_ptr %t[{other}] : *f64  %r = load %f : f64  %pz = field_ptr @z[%c0] : *f64  store %pz, %r"""
_VECTOR = {"at": "%a", "other": "%c3"}
_MATRIX = {"at": "%a, %b", "other": "%c3, %c1"}


@pytest.mark.parametrize(("shape", "first", "leaves"), [("{}", 40, False), ("16x{}", 5, False), ("16x{}", 5, True)])
def test_large_tensors_are_copied_by_loops(
    shape: str, first: int, leaves: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The gradient of a gradient keeps the slots of the first one. The code does not grow with them."""
    if leaves:
        monkeypatch.setattr(checkpoints, "_MANY", 0)
        monkeypatch.setattr("weft.ir.autodiff.leaves._MANY", (2, 2, 4))
        monkeypatch.setattr("weft.ir.autodiff.leaves._DIGIT", 1)
    places, sizes = _MATRIX if "x" in shape else _VECTOR, set[int]()
    for extent in (first, 10 * first):
        text = _TABLE.format(shape=shape.format(extent), count=5, **places)
        made = run_passes(in_mode(kernel_of(text), "vjp"), ("differentiate",), CONFIGS["optimized"])
        sizes.add(len(ops_of(made.body)))
    assert len(sizes) == 1
    hold_dot_product(kernel_of(_TABLE.format(shape=shape.format(first), count=5, **places)), 1, machine=False)


_ASSEMBLED = """%px = field_ptr @x[%c0] : *f64  %x = load %px : f64  %py = field_ptr @y[%c1] : *f64  %y = load %py : f64
    %v = alloca : *f64x2  {first}  {body}  %w = load %v : f64x2  %r = reduce add %w : f64
    %pz = field_ptr @z[%c0] : *f64  store %pz, %r"""
_FIRST = "%e0 = element_ptr %v[%c0] : *f64  store %e0, %x"
_SECOND = "%p = binary mul %x, %y : f64  %e1 = element_ptr %v[%c1] : *f64  store %e1, %p"
TENSORS = {
    "elements": (_FIRST, _SECOND, True),
    "a whole and an element": ("%s = splat %y : f64x2  store %v, %s", _SECOND, True),
    "an element that is read": (
        _FIRST,
        f"{_SECOND}  %o = load %e1 : f64  %t = binary mul %o, %o : f64  store %e0, %t",
        True,
    ),
    "a whole that is read between": (
        "%s = splat %y : f64x2  store %v, %s",
        f"%o = load %v : f64x2  %t = binary mul %o, %o : f64x2  store %v, %t  {_SECOND}",
        True,
    ),
    "an element that is only sometimes stored": (
        f"{_FIRST}  {_SECOND}",
        "%b = binary lt %x, %y : u1  if %b then { store %e0, %p }",
        False,
    ),
    "an index that is known only at run time": (
        f"{_FIRST}  {_SECOND}",
        "%n = cast %x : i32  %k = binary and %n, %c1 : i32  %e = element_ptr %v[%k] : *f64  store %e, %y",
        False,
    ),
    "an atomic": (f"{_FIRST}  {_SECOND}", "%o = atomic add %e1, %x : f64", False),
}


@pytest.mark.parametrize("name", TENSORS)
def test_tensors_that_a_block_assembles_become_values(name: str) -> None:
    first, body, assembled = TENSORS[name]
    kernel = kernel_of(_ASSEMBLED.format(first=first, body=body))
    made = parse(print_ir(kernel))
    assemble_tensors(made)
    verify(made, "chi")
    assert bool(made.all_of(ops.Alloca)) != assembled
    point = point_of(kernel, 1)
    duals = {f"{field}.dual": value for field, value in point.tangent.items()}
    expected = run(in_mode(kernel, ""), point.before | duals)
    np.testing.assert_array_equal(run(in_mode(made, ""), point.before | duals)["z"], expected["z"])
    hold_dot_product(kernel, 1, machine=False)


def test_a_tensor_with_an_element_without_a_value_stays() -> None:
    kernel = kernel_of(_ASSEMBLED.format(first=_FIRST, body=""))
    assemble_tensors(kernel)
    assert kernel.all_of(ops.Alloca)


_SOME = """parallel_for begins=[%c0], ends=[%c4] (%i: i32) {{ %px = field_ptr @x[%i] : *f64  %x = load %px : f64
    %py = field_ptr @y[%i] : *f64  %y = load %py : f64  %l = alloca : *f64  store %l, %x  %f = unary floor %x : f64
    %u = cast %f : i32  {bounds}  for %b, %e, %step (%k: i32) {{ {body} }}  %r = load %l : f64
    %s = binary mul %r, %r : f64  %pz = field_ptr @z[%i] : *f64  store %pz, %s }}"""
_STATE = "%1 = load %l : f64  %2 = unary sin %1 : f64  %3 = binary mul %2, %y : f64  store %l, %3"
_TERM = """%0 = cast %k : f64  %1 = binary mul %y, %0 : f64  %2 = {op} %1 : f64  %3 = load %l : f64
    %4 = binary add %3, %2 : f64  store %l, %4"""
_BOUND = "%step = const {step} : i32  %b = {begin} : i32  %e = {end} : i32"

# The bounds of a loop, and how many slots it has. None: it has leaves.
_BOUNDS = {
    "a known number": (_BOUND.format(step=1, begin="const 0", end="const 5"), 5),
    "an upper bound": (_BOUND.format(step=1, begin="const 0", end="binary min %u, %c4"), 4),
    "a lower bound of the begin": (_BOUND.format(step=1, begin="binary max %u, %c1", end="const 4"), 3),
    "steps of two": (_BOUND.format(step=2, begin="const 1", end="binary min %u, %c4"), 2),
    "downwards": (_BOUND.format(step=-1, begin="binary min %u, %c4", end="const -1"), 5),
    "no upper bound": (_BOUND.format(step=1, begin="const 0", end="binary max %u, %c4"), None),
    "no upper bound downwards": (_BOUND.format(step=-1, begin="binary max %u, %c4", end="const -1"), None),
    "no bound of the begin": (_BOUND.format(step=1, begin="binary min %u, %c1", end="const 4"), None),
}


@pytest.mark.parametrize("name", every(3, _BOUNDS))
def test_loops_of_at_most_a_known_length_have_a_slot_for_each_iteration(name: str) -> None:
    bounds, slots = _BOUNDS[name]
    kernel = kernel_of(_SOME.format(bounds=bounds, body=_STATE))
    text = print_ir(run_passes(in_mode(kernel, "vjp"), ("differentiate", "full_simplify"), CONFIGS["optimized"]))
    assert ("%leaf" in text) == (slots is None)
    assert slots is None or f": *f64x{slots}\n" in text
    hold_dot_product(kernel, 1, machine=False)


@pytest.mark.parametrize(("op", "leaves"), [("binary mul %1,", False), ("unary sin", False), ("unary tanh", True)])
def test_leaves_keep_no_values_that_are_cheap_to_compute(op: str, leaves: bool) -> None:
    body = _TERM.format(op=op)
    bounds = _BOUND.format(step=1, begin="const 0", end="binary max %u, %c4")
    kernel = kernel_of(_SOME.format(bounds=bounds, body=body))
    text = print_ir(run_passes(in_mode(kernel, "vjp"), ("differentiate", "full_simplify"), CONFIGS["optimized"]))
    assert ("%leaf" in text) == leaves
    hold_dot_product(kernel, 1, machine=False)


@pytest.mark.parametrize(
    ("end", "on_gpu"), [("const 5", 2), ("const 100", 1), ("binary max %u, %c4", 1)], ids=["short", "long", "unknown"]
)
def test_a_gpu_computes_again_what_a_cpu_keeps(end: str, on_gpu: int) -> None:
    """The state is kept, and its sine only where slots become registers."""
    kernel = kernel_of(_SOME.format(bounds=_BOUND.format(step=1, begin="const 0", end=end), body=_STATE))
    for traits, kept in ((CPU, 2), (GPU, on_gpu)):
        config = replace(CONFIGS["optimized"], traits=traits)
        text = print_ir(run_passes(in_mode(kernel, "vjp"), ("differentiate",), config))
        rows = [size for size in re.findall(r"slots\S* = alloca : \*f64x(\d+)", text) if size != "128"]  # (checkpoints)
        assert len(rows) == kept
