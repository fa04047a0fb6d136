"""A box that is known, or else empty: one of two versions of a task runs, and LLVM knows the length of its rows."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import weft as ti
from tests.sampling import every
from weft.ir.ops import Task
from weft.ir.parse import parse
from weft.ir.tasks import known_extent

TEXT = """kernel @k(n: i64) -> () {{
  task range_for bounds {{
    %n = scalar_arg index=0, part=0 : i64
    %0 = const 0 : i64
    %3 = const 3 : i64
    %64 = const 64 : i64
    %c = binary lt %n, %3 : u1
    %d = binary gt %n, %0 : u1
    {ends}
    yield begins=[{begin}], ends=[%end]
  }} body (%i: i64) {{
  }}
}}
"""
ENDS = {
    "a number": ("%0", "%end = const 64 : i64", (0, 64)),
    "or none": ("%0", "%end = select %c, %64, %0 : i64", (0, 64)),
    "none or": ("%3", "%end = select %c, %3, %64 : i64", (3, 64)),
    "of two tests": ("%0", "%one = select %c, %64, %0 : i64\n%end = select %d, %one, %0 : i64", (0, 64)),
    "two numbers": ("%0", "%end = select %c, %64, %3 : i64", None),
    "one of three": ("%0", "%one = select %c, %64, %3 : i64\n%end = select %d, %one, %0 : i64", None),
    "any": ("%0", "%end = binary add %n, %n : i64", None),
    "from anywhere": ("%n", "%end = select %c, %64, %n : i64", None),
}


@pytest.mark.parametrize("name", ENDS)
def test_which_extents_are_known(name: str) -> None:
    begin, ends, wanted = ENDS[name]
    (task,) = parse(TEXT.format(begin=begin, ends=ends)).all_of(Task)
    assert known_extent(task, 0) == wanted


@pytest.mark.parametrize(
    ("shape", "threads"), every(3, [((64,), 1), ((3, 64), 1), ((64, 3), 2), ((3, 64), 2), ((64,), 2), ((64, 3), 1)])
)
def test_one_version_runs(shape: tuple[int, ...], threads: int) -> None:
    """Where no step is out of bounds, the version without masks. Where one is, it may write nothing."""
    ti.init(arch=ti.cpu, cpu_max_num_threads=threads)
    before, x, behind = (ti.field(ti.f32, (4, *shape)) for _ in range(3))
    total = ti.field(ti.f32, ())

    @ti.kernel
    def step(t: ti.i32):
        for I in ti.grouped(ti.ndrange(*shape)):
            value = ti.sqrt(x[t - 1, I] * 4.0) + 1.0
            if value > 2.0:
                value -= 0.5 * x[t - 1, I]
            x[t, I] = value
            total[None] += value

    first = np.random.default_rng(0).random(shape).astype(np.float32)
    for field in (before, x, behind):
        field.fill(9.0)
    given = x.to_numpy()
    given[0] = first
    x.from_numpy(given)
    wanted, added = given.copy(), 0.0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for t in (1, 2, 3, 4, 0, -1, 5, 2**31 - 1, -(2**31)):
            step(t)
            old = wanted[t - 1] if 1 <= t <= 4 else np.zeros(shape, np.float32)
            new = np.sqrt(old * 4) + 1
            new = np.where(new > 2, new - 0.5 * old, new)
            added += float(new.sum())
            if 0 <= t < 4:
                wanted[t] = new
    np.testing.assert_allclose(x.to_numpy(), wanted, rtol=1e-5)
    assert total[None] == pytest.approx(added, rel=1e-4)
    assert np.all(before.to_numpy() == 9.0)
    assert np.all(behind.to_numpy() == 9.0)


def test_rows_of_whole_vectors_have_no_masks() -> None:
    ti.init(arch=ti.cpu, cpu_max_num_threads=1)
    x, pull = ti.field(ti.f32, (8, 512)), ti.field(ti.f32, 16)

    @ti.kernel
    def step(t: ti.i32):
        for i in range(512):
            total = 0.0
            for k in range(16):
                total += pull[k] * ti.exp(x[t - 1, i] * pull[k])
            x[t, i] = total

    step(1)
    whole = step.stages(1).llvm_optimized
    body = whole[whole.index("@weft_task0(") :].partition("\n}\n")[0]
    assert "load <64 x float>" in body or "load <16 x float>" in body or "load <8 x float>" in body
    assert "llvm.masked" not in body
