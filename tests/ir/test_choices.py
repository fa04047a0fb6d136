"""The sweep of a loop whose result is not chosen is skipped."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from tests.ir.dual_kernels import FIELDS, kernel_of
from tests.ir.reverse_checks import PLAIN, in_mode, point_of, run
from weft.ir import ops
from weft.ir.pipeline import run_passes
from weft.ir.transforms import differentiate

FAST = replace(PLAIN, fast_math=True)

_SUMS = """parallel_for begins=[%c0], ends=[%c4] (%i: i32) {{ %px = field_ptr @x[%i] : *f64  %x = load %px : f64
    %f = const 1.5 : f64  %least = alloca : *f64  store %least, %f  for %c0, %c4, %c1 (%k: i32) {{
        %sum = alloca : *f64  %zero = const 0.0 : f64  store %sum, %zero  for %c0, %c3, %c1 (%j: i32) {{
            %n = binary add %k, %j : i32  %m = binary and %n, %c3 : i32  %py = field_ptr @y[%m] : *f64
            %y = load %py : f64  %1 = binary sub %x, %y : f64  %2 = binary mul %1, %1 : f64  %3 = load %sum : f64
            %4 = binary add %3, %2 : f64  store %sum, %4  {inside} }}
        %5 = load %sum : f64  %6 = load %least : f64  {choose}  store %least, %7  {behind} }}
    %8 = load %least : f64  %pz = field_ptr @z[%i] : *f64  store %pz, %8 }}"""
_MIN, _MAX = "%7 = binary min %6, %5 : f64", "%7 = binary max %5, %6 : f64"
_SELECT = "%p = binary lt %5, %6 : u1  %7 = select %p, %5, %6 : f64"
LOOPS: dict[str, tuple[dict[str, str], bool]] = {
    "a minimum": ({"choose": _MIN}, True),
    "a maximum": ({"choose": _MAX}, True),
    "a select": ({"choose": _SELECT}, True),
    "a sum": ({"choose": "%7 = binary add %6, %5 : f64"}, False),
    "a minimum of what is scaled": ({"choose": "%s = binary mul %5, %f : f64  %7 = binary min %6, %s : f64"}, False),
    "a minimum, and a store": (
        {"choose": _MIN, "behind": "%t = field_ptr @total[] : *f64  %o = atomic add %t, %5 : f64"},
        False,
    ),
    "a minimum, and a sum in the loop": (
        {"choose": _MIN, "inside": "%t = field_ptr @total[] : *f64  %o = atomic add %t, %2 : f64"},
        False,
    ),
}


def _kernel(name: str) -> ops.Kernel:
    parts, _ = LOOPS[name]
    return kernel_of("%c3 = const 3 : i32  " + _SUMS.format(**({"inside": "", "behind": ""} | parts)))


def _guards(kernel: ops.Kernel) -> list[ops.If]:
    return [op for op in kernel.all_of(ops.If) if op.all_of(ops.For)]


@pytest.mark.parametrize("name", LOOPS)
def test_a_loop_whose_result_is_not_chosen_is_skipped(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(differentiate, "split_extremes", lambda _: None)  # `test_winners.py` is about these
    _, skipped = LOOPS[name]
    kernel = in_mode(_kernel(name), "vjp")
    exact = run_passes(in_mode(_kernel(name), "vjp"), ("differentiate",), PLAIN)
    fast = run_passes(kernel, ("differentiate",), FAST)
    assert not _guards(exact)
    assert bool(_guards(fast)) == skipped
    point = point_of(_kernel(name), 2)
    before = point.before | {f"{field}.grad": value for field, value in point.cotangent.items()}
    expected, got = run(exact, before), run(fast, before)
    for field in FIELDS:
        np.testing.assert_array_equal(got[f"{field}.grad"], expected[f"{field}.grad"])
        assert np.abs(got["y.grad"] - before["y.grad"]).max() > 0
