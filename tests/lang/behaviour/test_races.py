"""`init(check_races=True)`: iterations that meet on an element are found, on every arch; what is in order is not."""

import re

import numpy as np
import pytest

from weft.runtime.errors import DataRace

pytestmark = pytest.mark.unverified


@pytest.fixture
def races(ti):
    """The language with the race check."""
    ti.init(arch=ti.cfg.arch, check_races=True)
    return ti


def said(race):
    """The message without the places, one line each."""
    lines = str(race.value).strip().splitlines()
    return [line for line in lines if not line.startswith("    ") and "File" not in line]


def test_an_iteration_reads_what_another_writes(races):
    ti = races
    x = ti.field(ti.f32, 8)

    @ti.kernel
    def shift():
        for i in range(7):
            x[i] = x[i + 1] + 1

    with pytest.raises(DataRace) as race:
        shift()
    assert said(race)[:2] == ["iteration i = 1 writes x[1], and", "iteration i = 0 reads it:"]
    text = str(race.value)
    assert text.count("x[i] = x[i + 1] + 1") == 2
    assert re.search(r"\n *\^{19}\n.*\n.*\n.*\n {11,}\^{8}\n", text), "carets under the store, then under the load"


def test_the_same_value_written_twice_is_a_race(races):
    ti = races
    found = ti.field(ti.i32, ())

    @ti.kernel
    def search(n: ti.i32):
        for i in range(n):
            if i % 3 == 2:
                found[None] = 1

    search(5)
    with pytest.raises(DataRace) as race:
        search(6)
    assert said(race)[:2] == ["iteration i = 5 writes found[None], and", "iteration i = 2 writes it:"]


def test_an_atomic_and_a_plain_access(races):
    ti = races
    total = ti.field(ti.f32, 2)

    @ti.kernel
    def run(k: ti.i32) -> ti.f32:
        seen = 0.0
        for _ in range(4):
            total[0] += 1
            seen += total[k]
        return seen

    assert run(1) == 0
    with pytest.raises(DataRace) as race:
        run(0)
    assert said(race)[:2] == ["iteration _ = 1 updates total[0], and", "iteration _ = 0 reads it:"]


def test_what_has_an_order_is_no_race(races):
    ti = races
    x, y = ti.field(ti.f32, 16), ti.field(ti.f32, 16)
    v = ti.Vector.field(3, ti.f32, (4, 4), offset=(-2, 1))
    n = ti.field(ti.i32, ())

    @ti.kernel
    def run() -> ti.f32:
        total, top = 0.0, -1.0
        for i in x:
            x[i] = x[i] + i
            x[i] += 1
        for i in x:
            y[i] = x[(i + 3) % 16] + x[i]
            total += y[i]
            ti.atomic_max(top, y[i])
            ti.atomic_add(n[None], 1)
        for i, j in v:
            own = ti.Vector([0.0, 0.0, 0.0])
            for k in range(3):
                own[k] += k
                v[i, j][k] = own[k]
            v[i, j] += 1.0
        n[None] = n[None] + 1
        for _ in range(1):
            n[None] = n[None] + 1
        ti.loop_config(serialize=True)
        for i in range(15):
            x[i + 1] = x[i]
        return total + top

    first = run()
    expected = sum((i + 3) % 16 + i + 2 for i in range(16)) + 29
    assert first == expected
    assert n[None] == 18
    np.testing.assert_array_equal(v.to_numpy()[0, 0], [1, 2, 3])
    run()


def test_components_are_apart(races):
    ti = races
    pair = ti.types.struct(p=ti.types.vector(2, ti.f32), k=ti.i32)
    s, v = pair.field(shape=3), ti.Vector.field(2, ti.f32, 3)

    @ti.kernel
    def apart():
        for i in range(2):
            v[1][i] = i
            s[1].p[i] = v[1][i]

    @ti.kernel
    def whole():
        for i in range(2):
            s[1].p[1] = 1
            s[i].k = i

    apart()
    with pytest.raises(DataRace, match=r"s\[1\]\.p\[1\], and"):
        whole()


def test_arrays(races):
    ti = races

    @ti.kernel
    def halves(a: ti.types.ndarray(), b: ti.types.ndarray()):
        for i in range(1, a.shape[0], 2):
            a[i] = 1
            b[i // 2] = 2

    halves(np.zeros(9), np.zeros(9))
    a = np.zeros(9)
    with pytest.raises(DataRace) as race:
        halves(a, a)
    assert said(race)[:2] == ["iteration i = 3 writes a[1], and", "iteration i = 1 writes it:"]


def test_in_functions(races):
    ti = races
    x = ti.field(ti.i32, 4)

    @ti.func
    def inlined(i):
        x[i // 2] = i

    @ti.real_func
    def called(i: ti.i32) -> ti.i32:
        x[i % 3] = i
        return i

    @ti.kernel
    def run(real: ti.template()):
        for i in x:
            if ti.static(real):
                called(i)
            else:
                inlined(i)

    with pytest.raises(DataRace, match=r"in run\n(.*\n)+.*in inlined"):
        run(False)
    with pytest.raises(DataRace, match=r"in called\n") as race:
        run(True)
    assert said(race)[:2] == ["iteration i = 3 writes x[0], and", "iteration i = 0 writes it:"]


def test_a_local_of_the_kernel(races):
    ti = races

    @ti.kernel
    def last(n: ti.i32) -> ti.i32:
        found = -1
        for i in range(n):
            if i % 4 == 3:
                found = i
        return found

    assert last(5) == 3
    with pytest.raises(DataRace) as race:
        last(8)
    assert said(race)[:2] == ["iteration i = 7 writes found, and", "iteration i = 3 writes it:"]


def test_loops_of_several_axes_name_them_all(races):
    ti = races
    column = ti.field(ti.i32, 5)
    grid = ti.field(ti.i32, (3, 5), order="ji")

    @ti.kernel
    def sum_up():
        for i, j in ti.ndrange((2, 4), 5):
            column[j] = column[j] + i * j

    @ti.kernel
    def columns():
        for i, j in grid:
            column[i] = j

    with pytest.raises(DataRace) as race:
        sum_up()
    assert said(race)[0] == "iteration i = 3, j = 0 reads column[0], and"
    with pytest.raises(DataRace) as race:
        columns()
    assert said(race)[:2] == ["iteration i = 0, j = 1 writes column[0], and", "iteration i = 0, j = 0 writes it:"]


def test_an_index_out_of_bounds_is_reported_first(races):
    ti = races
    x = ti.field(ti.i32, 4)

    @ti.kernel
    def run():
        for i in range(5):
            x[i] = i

    with pytest.raises(IndexError, match=r"x\[4\] is out of bounds"):
        run()


def test_only_where_it_is_asked_for(ti):
    x = ti.field(ti.i32, ())

    @ti.kernel
    def run():
        for _ in range(4):
            x[None] = 1

    run()
    assert x[None] == 1
