"""When a nest of loops becomes one box, and when it must not."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import weft as ti
from tests.ir.test_task_passes import EXACT, run
from weft.ir import pipeline
from weft.ir.ops import Kernel, Task
from weft.ir.parse import parse
from weft.ir.verify import verify

N = 32


@pytest.fixture
def axes(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """The number of axes of each parallel task that was compiled since the last look."""
    seen: list[int] = []
    collapse = pipeline.find_pass("collapse")

    def watched(root: Kernel, config: Any) -> bool:
        changed = collapse(root, config)
        seen.extend(len(op.body.args) for op in root.body if isinstance(op, Task) and op.kind == "range_for")
        return changed

    monkeypatch.setitem(pipeline.PASSES, "collapse", watched)

    def look() -> list[int]:
        found = list(seen)
        seen.clear()
        return found

    ti.init(arch=ti.cpu)
    yield look
    ti.reset()


def test_a_map_over_two_and_three_axes(axes: Any) -> None:
    x, z = ti.field(ti.i32, (N, N)), ti.field(ti.i32, (N, N, N))

    @ti.kernel
    def k(n: ti.i32):
        for i in range(N):
            for j in range(1, n):
                x[i, j] += i * 100 + j
        for i in range(N):
            for j in range(N):
                for m in range(N):
                    z[i, j, m] = i + j * m

    k(N - 1)
    assert axes() == [2, 3]
    i, j = np.mgrid[:N, :N]
    np.testing.assert_array_equal(x.to_numpy(), np.where((j >= 1) & (j < N - 1), i * 100 + j, 0))
    i, j, m = np.mgrid[:N, :N, :N]
    np.testing.assert_array_equal(z.to_numpy(), i + j * m)


def test_a_sum_into_a_fixed_place_and_a_continue(axes: Any) -> None:
    s = ti.field(ti.i32, ())

    @ti.kernel
    def k():
        for i in range(N):
            row = i * 2
            for j in range(N):
                if j % 2 == 0:
                    continue
                s[None] += row + j

    k()
    assert axes() == [2]
    assert s[None] == sum(2 * i + j for i in range(N) for j in range(N) if j % 2)


def test_what_carries_something_from_round_to_round_stays_a_loop(axes: Any) -> None:
    x, y = ti.field(ti.i32, (N, N)), ti.field(ti.i32, N)

    @ti.kernel
    def scan():
        for i in range(N):
            for j in range(1, N):
                x[i, j] = x[i, j - 1] + 1

    @ti.kernel
    def total():
        for i in range(N):
            t = 0
            for j in range(N):
                t += x[i, j]
            y[i] = t

    @ti.kernel
    def rows():
        for i in range(N):
            for j in range(N):
                y[i] += x[i, j]

    @ti.kernel
    def last():
        for i in range(N):
            for j in range(N):
                y[i] = j

    @ti.kernel
    def found():
        for i in range(N):
            for j in range(N):
                if x[i, j] > 3:
                    y[i] = j
                    break

    for kernel in (scan, total, rows, last, found):
        kernel()
    assert axes() == [1] * 5
    assert y.to_numpy().tolist() == [4] * N


def test_bounds_that_differ_from_row_to_row_and_short_loops_stay(axes: Any) -> None:
    x = ti.field(ti.i32, (N, N))

    @ti.kernel
    def triangle():
        for i in range(N):
            for j in range(i):
                x[i, j] = 1

    @ti.kernel
    def short():
        for i in range(N):
            for j in range(3):
                x[i, j] = 2

    triangle()
    short()
    assert axes() == [1, 1]
    expected = np.tril(np.ones((N, N), np.int32), -1)
    expected[:, :3] = 2
    np.testing.assert_array_equal(x.to_numpy(), expected)


def test_loops_that_do_not_count_by_one_stay(axes: Any) -> None:
    x, y = ti.field(ti.i32, (N, N)), ti.field(ti.i32, (N, N))

    @ti.kernel
    def k(step: ti.i32):
        for i in range(N):
            for j in range(0, N, 2):
                x[i, j] = i + j
        for i in range(N):
            for j in range(0, N, step):
                y[i, j] = i + j

    k(3)
    assert axes() == [1, 1]
    sums = np.add.outer(np.arange(N), np.arange(N))
    assert (x.to_numpy() == sums * (np.arange(N) % 2 == 0)).all()
    assert (y.to_numpy() == sums * (np.arange(N) % 3 == 0)).all()


def test_an_array_passed_twice_keeps_the_order_of_the_inner_loop(axes: Any) -> None:
    @ti.kernel
    def scan(a: ti.types.ndarray(dtype=ti.i32, ndim=2), b: ti.types.ndarray(dtype=ti.i32, ndim=2)):
        for i in range(N):
            for j in range(1, N):
                a[i, j] = b[i, j - 1] + 1

    x = np.zeros((N, N), np.int32)
    scan(x, x)
    assert axes() == [2, 1]  # that for arrays that are apart, which is not run, and that for such as overlap
    np.testing.assert_array_equal(x, np.tile(np.arange(N), (N, 1)))


def test_locals_of_the_inner_loop_and_jumps_of_loops_in_it(axes: Any) -> None:
    x, y = ti.field(ti.i32, (N, N)), ti.field(ti.i32, (N, N))

    @ti.kernel
    def k():
        for i in range(N):
            for j in range(N):
                t = i
                while True:
                    t += j + 1
                    if t > 40:
                        break
                y[i, j] = t - x[i, j]

    k()
    assert axes() == [2]
    i, j = np.mgrid[:N, :N]
    np.testing.assert_array_equal(y.to_numpy(), i + (j + 1) * np.maximum(1, (40 - i) // (j + 1) + 1))


def test_arrays_that_are_only_read_may_be_one(axes: Any) -> None:
    y = ti.field(ti.i32, (N, N))

    @ti.kernel
    def product(a: ti.types.ndarray(dtype=ti.i32, ndim=2), b: ti.types.ndarray(dtype=ti.i32, ndim=2)):
        for i in range(N):
            for j in range(N):
                y[i, j] = a[i, j] + b[j, i]

    x = np.arange(N * N, dtype=np.int32).reshape(N, N)
    product(x, x)
    assert set(axes()) == {2}
    np.testing.assert_array_equal(y.to_numpy(), x + x.T)


NEST = """kernel @k(a: [i32; 2 exposed], b: [i32; 2 exposed], c: [i32; 2], n: i32) -> () temp_bytes=16 {
  field @x: i32[32, 32] tree=0 components=(0) terms=((0, 1, 32, 128), (1, 1, 32, 4)) order=(0, 1) exposed=true
  field @s: i32 tree=1 components=(0)
  task range_for bounds {
    %begin = const 0 : i32
    %rows = const 32 : i32
    yield begins=[%begin], ends=[%rows]
  } prologue {
    %a = arg index=0 : [i32; 2 exposed]
    %b = arg index=1 : [i32; 2 exposed]
    %c = arg index=2 : [i32; 2]
    %n = arg index=3 : i32
    %t = temp_ptr offset=0 : *i32
    %m = load %t : i32
    %0 = const 0 : i32
    %1 = const 1 : i32
    %2 = const 2 : i32
    %32 = const 32 : i32
    %s = field_ptr @s[] : *i32
    %own = alloca : *i32
  } body (%i: i32) {
    BEFORE
    for BOUNDS (%j: i32) {
      %pa = array_ptr %a[%i, %j] : *i32
      %pb = array_ptr %b[%i, %j] : *i32
      %pc = array_ptr %c[%i, %j] : *i32
      %px = field_ptr @x[%i, %j] : *i32
      BODY
    }
  }
}
"""
COPY = "%v = load {} : i32\nstore {}, %v"
UNDER = "%q = binary lt %j, %n : u1\nif %q then {{\n{}\n}}"
# What a nest does, its inner bounds, what stands before the inner loop, and whether it is one box.
NESTS = {
    "after a load of an exposed array, to another": (
        "store %pa, %v",
        "%0, %32, %1",
        "%pd = array_ptr %b[%i, %i] : *i32\n%v = load %pd : i32",
        False,
    ),
    "after a load of an exposed field, to an exposed array": (
        "store %pa, %v",
        "%0, %32, %1",
        "%pd = field_ptr @x[%i, %i] : *i32\n%v = load %pd : i32",
        False,
    ),
    "after a load of an exposed field, to that field": (
        "store %px, %v",
        "%0, %32, %1",
        "%pd = field_ptr @x[%i, %i] : *i32\n%v = load %pd : i32",
        False,
    ),
    "from one exposed array to another": (COPY.format("%pb", "%pa"), "%0, %32, %1", "", False),
    "from an exposed field to an exposed array": (COPY.format("%px", "%pa"), "%0, %32, %1", "", False),
    "from an exposed array to an exposed field": (COPY.format("%pa", "%px"), "%0, %32, %1", "", False),
    "in an exposed array": (COPY.format("%pa", "%pa"), "%0, %32, %1", "", True),
    "in an exposed field": (COPY.format("%px", "%px"), "%0, %32, %1", "", True),
    "from an exposed array to one that is apart": (COPY.format("%pa", "%pc"), "%0, %32, %1", "", True),
    "from two exposed ones to one that is apart": (
        "%v = load %pa : i32\n%w = load %px : i32\n%u = binary add %v, %w : i32\nstore %pc, %u",
        "%0, %32, %1",
        "",
        True,
    ),
    "to a number of the task": ("store %pc, %j", "%0, %n, %1", "", True),
    "from a number of the task": ("store %pc, %j", "%n, %32, %1", "", True),
    "to what another task has computed": ("store %pc, %j", "%0, %m, %1", "", False),
    "to the index": ("store %pc, %j", "%0, %i, %1", "", False),
    "to what is computed of the index": ("store %pc, %j", "%0, %e, %1", "%e = binary add %i, %1 : i32", False),
    "from the index": ("store %pc, %j", "%i, %32, %1", "", False),
    "to what is computed of a number": ("store %pc, %j", "%0, %e, %1", "%e = binary add %n, %1 : i32", True),
    "after a load": ("store %pc, %v", "%0, %32, %1", "%v = load %s : i32", True),
    "after a load of what it writes": (
        "store %pc, %v",
        "%0, %32, %1",
        "%pd = array_ptr %c[%i, %i] : *i32\n%v = load %pd : i32",
        False,
    ),
    "after a load of what it adds to": ("%o = atomic add %s, %v : i32", "%0, %32, %1", "%v = load %s : i32", False),
    "after a load of another temporary": (
        "%u = temp_ptr offset=8 : *i32\n%o = atomic add %u, %v : i32",
        "%0, %32, %1",
        "%v = load %t : i32",
        True,
    ),
    "after a condition": (
        "store %pc, %j",
        "%0, %32, %1",
        "%q = binary lt %i, %n : u1\nif %q then {\n%v = load %s : i32\n}",
        False,
    ),
    "after a store": ("store %pc, %j", "%0, %32, %1", "store %s, %i", False),
    "after a sum": ("store %pc, %j", "%0, %32, %1", "%o = atomic add %s, %1 : i32", False),
    "after a load of a local of the task": ("store %pc, %v", "%0, %32, %1", "%v = load %own : i32", True),
    "into a local of the task": ("%v = load %own : i32\nstore %pc, %v\nstore %own, %j", "%0, %32, %1", "", False),
    "after a load of a local of the task that it writes": (
        "store %pc, %v\nstore %own, %j",
        "%0, %32, %1",
        "%v = load %own : i32",
        False,
    ),
    "a local in it": ("%l = alloca : *i32\nstore %l, %j\n%v = load %l : i32\nstore %pc, %v", "%0, %32, %1", "", True),
    "after a local": ("store %pc, %j", "%0, %32, %1", "%l = alloca : *i32\nstore %l, %i", False),
    "a sum of which the old value is wanted": ("%o = atomic add %s, %j : i32\nstore %pc, %o", "%0, %32, %1", "", False),
    "a sum of which the old value is not wanted": ("%o = atomic add %s, %j : i32", "%0, %32, %1", "", True),
    "a sum that is read": ("%o = atomic add %s, %j : i32\n%v = load %s : i32\nstore %pc, %v", "%0, %32, %1", "", False),
    "a sum and a maximum": ("%o = atomic add %s, %j : i32\n%e = atomic max %s, %j : i32", "%0, %32, %1", "", False),
    "a sum and a difference": ("%o = atomic add %s, %j : i32\n%e = atomic sub %s, %j : i32", "%0, %32, %1", "", True),
    "a sum into each row": (
        "%r = array_ptr %c[%i, %0] : *i32\n%o = atomic add %r, %j : i32",
        "%0, %32, %1",
        "",
        False,
    ),
    "it is left": (f"store %pc, %j\n{UNDER.format('break')}", "%0, %32, %1", "", False),
    "its rounds are left": (f"{UNDER.format('continue')}\nstore %pc, %j", "%0, %32, %1", "", True),
    "a loop in it is left": (
        f"store %pc, %j\nfor %0, %n, %1 (%k: i32) {{\n{UNDER.format('break')}\n}}",
        "%0, %32, %1",
        "",
        True,
    ),
    "a while in it is left": (f"store %pc, %j\nwhile {{\n{UNDER.format('break')}\n}}", "%0, %32, %1", "", True),
    "it prints": ('print [], parts=("j")', "%0, %32, %1", "", False),
    "it draws": ("%r = random : i32\nstore %pc, %r", "%0, %32, %1", "", False),
    "it asserts": ("%q = binary lt %j, %n : u1\nassert %q, [], message=m\nstore %pc, %j", "%0, %32, %1", "", False),
    "in steps": ("store %pc, %j", "%0, %32, %2", "", False),
    "in unknown steps": ("store %pc, %j", "%0, %32, %n", "", False),
    "a store into a fixed place": ("store %s, %j", "%0, %32, %1", "", False),
}


@pytest.mark.parametrize("title", NESTS)
def test_nests(title: str) -> None:
    body, bounds, before, one = NESTS[title]
    made = parse(NEST.replace("BODY", body).replace("BOUNDS", bounds).replace("BEFORE", before))
    verify(made, "tasks")
    assert pipeline.find_pass("collapse")(made, EXACT) == one
    verify(made, "tasks")
    (task,) = (op for op in made.body if isinstance(op, Task))
    assert len(task.body.args) == 1 + one


@pytest.mark.parametrize("title", [title for title, (*_, one) in NESTS.items() if one])
def test_one_box_means_what_the_nest_meant(title: str) -> None:
    body, bounds, before, _ = NESTS[title]
    text = NEST.replace("BODY", body).replace("BOUNDS", bounds).replace("BEFORE", before)
    numbers = np.arange(40 * 40, dtype=np.int32).reshape(40, 40)
    given = numbers, 2 * numbers, 3 * numbers, 32 if "while" in body else 20
    expected, made = run(parse(text), *given), parse(text)
    assert pipeline.find_pass("collapse")(made, EXACT)
    for what, value in run(made, *given).items():
        np.testing.assert_array_equal(value, expected[what])
