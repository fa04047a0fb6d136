"""Loops that take an extreme: reverse mode sweeps the iteration that won, and gives what it gives of the whole loop."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from tests.ir.dual_kernels import FIELDS, kernel_of
from tests.ir.reverse_checks import PLAIN, in_mode, point_of, run
from tests.sampling import every
from weft.ir.autodiff.winners import split_extremes
from weft.ir.ops import Binary, For, Kernel
from weft.ir.pipeline import TO_LOWERED, TO_TASKS, run_passes
from weft.ir.transforms import differentiate
from weft.ir.verify import verify

FAST = replace(PLAIN, fast_math=True)
_KERNEL = """parallel_for begins=[%c0], ends=[%c4] (%i: i32) {{ %px = field_ptr @x[%i] : *f64  %x = load %px : f64
    %py = field_ptr @y[%i] : *f64  %y = load %py : f64  %pz = field_ptr @z[%i] : *f64  %l = alloca : *f64
    %start = const {start} : f64  store %l, %start  %end = const {end} : i32  %o = alloca : *f64  store %o, %x
    %a0 = load %l : f64  %early = binary min %a0, %x : f64
    {loop}  %r = load %l : f64  %s = binary mul %r, %y : f64  store %pz, %s }}"""
_LOOP = "for %c0, %end, %c1 (%k: i32) {{ {} }}"
_VALUE = (
    "%pk = field_ptr @x[%k] : *f64  %xk = load %pk : f64  %d = binary sub %xk, %y : f64  %v = binary mul %d, %d : f64"
)
_MIN = "%m = load %l : f64  %t = binary min %m, %v : f64  store %l, %t"

# The body of a loop, and whether only the iteration that won is swept.
LOOPS: dict[str, tuple[str, bool]] = {
    "a minimum": (f"{_VALUE} {_MIN}", True),
    "operands the other way round": (f"{_VALUE} {_MIN.replace('%m, %v', '%v, %m')}", True),
    "a maximum": (f"{_VALUE} {_MIN.replace('min', 'max')}", True),
    "a loop and a branch in it": (
        "%s0 = alloca : *f64  store %s0, %y  for %c0, %c4, %c1 (%b: i32) { %pk = field_ptr @x[%b] : *f64 "
        "%xk = load %pk : f64  %q = load %s0 : f64  %q1 = binary mul %q, %xk : f64  store %s0, %q1 } "
        "%even = binary eq %k, %c1 : u1  if %even then { %h = load %s0 : f64  %h1 = unary sin %h : f64 "
        f"store %s0, %h1 }}  %kf = cast %k : f64  %w = load %s0 : f64  %v = binary mul %w, %kf : f64  {_MIN}",
        True,
    ),
    "a sum": (f"{_VALUE} {_MIN.replace('min', 'add')}", False),
    "a value that depends on the local": (
        f"{_VALUE} %e = load %l : f64  %v1 = binary mul %v, %e : f64  {_MIN.replace('%v', '%v1')}",
        False,
    ),
    "a value that depends on what the operator takes": (
        f"{_VALUE} %m = load %l : f64  %v1 = binary mul %v, %m : f64  %t = binary min %m, %v1 : f64  store %l, %t",
        False,
    ),
    "a store in a branch": (
        f"{_VALUE} %p = binary gt %k, %c1 : u1  {_MIN.replace('store %l, %t', 'if %p then { store %l, %t }')}",
        False,
    ),
    "another use of the extreme": (f"{_VALUE} {_MIN}  store %o, %t", False),
    "another local from outside": (f"{_VALUE} {_MIN}  store %o, %v", False),
    "an extreme in a branch": (f"{_VALUE} %p = binary gt %k, %c1 : u1  if %p then {{ {_MIN} }}", False),
    "memory of the program": (f"{_VALUE} {_MIN}  store %pz, %v", False),
    "a value from outside": (_MIN.replace("%v", "%y"), False),
    "a random number": (f"%n = random : f64  {_VALUE} {_MIN}", False),
    "memory of the program at an index of the loop": (
        f"{_VALUE} {_MIN}  %pq = field_ptr @z[%k] : *f64  store %pq, %v",
        False,
    ),
    "an extreme in memory that the value may read": (
        f"%pa = field_ptr @y[%k] : *f64  %w = load %pa : f64  %v = unary sin %w : f64  {_MIN.replace('%l', '%py')}",
        False,
    ),
    "a value that is not the extreme": (f"{_VALUE} {_MIN.replace('store %l, %t', 'store %l, %xk')}", False),
    "another use of the extreme in the iteration": (
        f"{_VALUE} {_MIN}  %h = alloca : *f64  %t2 = binary mul %t, %t : f64  store %h, %t2",
        False,
    ),
    "an extreme of two other values": (f"{_VALUE} %t = binary min %v, %y : f64  store %l, %t", False),
    "an extreme of the local and itself": (f"{_VALUE} {_MIN.replace('%m, %v', '%m, %m').replace('%l', '%o')}", False),
    "an extreme of a value without a derivative": (f"%kf = cast %k : f64  {_MIN.replace('%v', '%kf')}", False),
    "an extreme that was taken before": (
        f"{_VALUE} {_MIN.replace('store %l, %t', 'store %l, %early')}", False,
    ),
}  # fmt: skip


def made(body: str, end: int = 4, start: str = "1e30") -> Kernel:
    return in_mode(kernel_of(_KERNEL.format(loop=_LOOP.format(body), start=start, end=end)), "vjp")


def count_extremes(kernel: Kernel) -> int:
    return sum(isinstance(op, Binary) and op.kind in ("min", "max") for op in kernel.walk())


@pytest.mark.parametrize("name", LOOPS)
def test_which_loops_are_split(name: str) -> None:
    body, split = LOOPS[name]
    kernel = made(body)
    loops = len(kernel.all_of(For))
    extremes = count_extremes(kernel)
    split_extremes(kernel)
    verify(kernel, "chi")
    assert (len(kernel.all_of(For)) > loops) == split
    assert count_extremes(kernel) == extremes + split  # one in each loop, and none in the iteration that won


VECTORS = """%lv = alloca : *f64x2  %v0 = splat %start : f64x2  store %lv, %v0  for %c0, %end, %c1 (%k: i32) {
    %pv = field_ptr @v[%k] : *f64x2  %vk = load %pv : f64x2  %m = load %lv : f64x2  %t = binary min %m, %vk : f64x2
    store %lv, %t }  %best = load %lv : f64x2  %e = extract %best, index=0 : f64  store %l, %e"""
UNKNOWN = "%b = cast %y : i32  for %BEGIN, %END, %STEP (%k: i32) {" + f"{_VALUE} {_MIN}" + "}"


def in_kernel(loops: str) -> Kernel:
    """A kernel with other loops in place of the loop."""
    text = _KERNEL.format(loop="LOOPS", start="1e30", end=4)
    for name, value in (("BEGIN", "c0"), ("END", "end"), ("STEP", "c1")):
        loops = loops.replace(name, value)
    return in_mode(kernel_of(text.replace("LOOPS", loops)), "vjp")


def test_an_extreme_of_each_component_stays() -> None:
    kernel = in_kernel(VECTORS)
    split_extremes(kernel)
    assert len(kernel.all_of(For)) == 1


@pytest.mark.parametrize("limit", ["BEGIN", "END", "STEP"])
def test_a_loop_of_unknown_length_is_split(limit: str) -> None:
    kernel = in_kernel(UNKNOWN.replace(limit, "b"))
    split_extremes(kernel)
    verify(kernel, "chi")
    assert len(kernel.all_of(For)) == 2


def test_two_loops_are_split() -> None:
    other = re.sub(r"%(pk|xk|d|v|m|t|k)\b", r"%\g<1>9", UNKNOWN.replace("%l", "%o").replace("%b = cast %y : i32", ""))
    kernel = in_kernel(UNKNOWN + other)
    split_extremes(kernel)
    verify(kernel, "chi")
    assert len(kernel.all_of(For)) == 4


def test_a_loop_around_one_that_is_split_stays() -> None:
    inner = UNKNOWN.replace("%l", "%in").replace("%b = cast %y : i32", "")
    around = f"{_VALUE.replace('%', '%o').replace('%ok', '%j').replace('%oy', '%y')} "
    around += "%in = alloca : *f64  store %in, %od  " + inner
    around += "  %os = load %in : f64  %om = load %l : f64  %ot = binary min %om, %os : f64  store %l, %ot"
    kernel = in_kernel(f"for %c0, %c4, %c1 (%j: i32) {{ {around} }}")
    split_extremes(kernel)
    verify(kernel, "chi")
    assert len(kernel.all_of(For)) == 3


@pytest.mark.parametrize(("end", "split"), [(0, False), (2, False), (3, True)])
def test_short_loops_stay(end: int, split: bool) -> None:
    kernel = made(f"{_VALUE} {_MIN}", end)
    split_extremes(kernel)
    assert (len(kernel.all_of(For)) > 1) == split


def gradients(kernel: Kernel, given: dict[str, Any]) -> dict[str, Any]:
    made = run_passes(kernel, TO_TASKS + TO_LOWERED, FAST)
    after = run(made, given, FAST)
    return {name: after[f"{name}.grad"] for name in FIELDS}


SPLIT = [name for name, (_, split) in LOOPS.items() if split]


@pytest.mark.parametrize("start", every(2, ["1e30", "-1e30", "0.25", "nan"]))
@pytest.mark.parametrize("name", SPLIT)
def test_the_winner_gets_what_the_loop_gives(name: str, start: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for seed, step in ((0, 0.0), (1, 0.5), (2, 0.5), (3, 1.0)):
        kernel = made(LOOPS[name][0], start=start)
        point = point_of(kernel, seed)
        before = {key: value if not step else np.round(value / step) * step for key, value in point.before.items()}
        if seed == 3:
            before["x"][1] = np.nan
        given = before | {f"{key}.grad": value for key, value in point.cotangent.items()}
        found = gradients(made(LOOPS[name][0], start=start), given)
        with monkeypatch.context() as patch:
            patch.setattr(differentiate, "split_extremes", lambda _: None)
            wanted = gradients(made(LOOPS[name][0], start=start), given)
        for key in FIELDS:  # (0 times a derivative that is NaN is left out)
            mine = np.where(np.isnan(wanted[key]), np.nan, found[key])
            np.testing.assert_allclose(mine, wanted[key], rtol=1e-12, atol=1e-14, err_msg=f"{key}, {seed}")
