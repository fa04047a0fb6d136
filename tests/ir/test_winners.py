"""Loops that take an extreme: reverse mode sweeps the iteration that won, and gives what it gives of the whole loop."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from tests.ir.dual_kernels import FIELDS, kernel_of
from tests.ir.reverse_checks import PLAIN, in_mode, point_of, run
from tests.sampling import every
from weft.ir.autodiff.winners import split_extremes
from weft.ir.ops import For, Kernel
from weft.ir.pipeline import TO_LOWERED, TO_TASKS, run_passes
from weft.ir.transforms import differentiate
from weft.ir.verify import verify

FAST = replace(PLAIN, fast_math=True)
_KERNEL = """parallel_for begins=[%c0], ends=[%c4] (%i: i32) {{ %px = field_ptr @x[%i] : *f64  %x = load %px : f64
    %py = field_ptr @y[%i] : *f64  %y = load %py : f64  %pz = field_ptr @z[%i] : *f64  %l = alloca : *f64
    %start = const {start} : f64  store %l, %start  %end = const {end} : i32  %o = alloca : *f64  store %o, %x
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
}


def made(body: str, end: int = 4, start: str = "1e30") -> Kernel:
    return in_mode(kernel_of(_KERNEL.format(loop=_LOOP.format(body), start=start, end=end)), "vjp")


@pytest.mark.parametrize("name", LOOPS)
def test_which_loops_are_split(name: str) -> None:
    body, split = LOOPS[name]
    kernel = made(body)
    loops = len(kernel.all_of(For))
    split_extremes(kernel)
    verify(kernel, "chi")
    assert (len(kernel.all_of(For)) > loops) == split


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
