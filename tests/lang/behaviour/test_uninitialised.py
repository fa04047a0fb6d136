"""`init(check_uninitialised=True)`: what nothing has written is not read, in kernels of every arch and in Python."""

import copy
import re

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import weft
from weft.runtime.errors import DataRace, UninitialisedRead

pytestmark = pytest.mark.unverified


@pytest.fixture
def checked(ti):
    """The language with the check."""
    ti.init(arch=ti.cfg.arch, check_uninitialised=True)
    return ti


def said(fault):
    """What stands below the caret."""
    return str(fault.value).split("^\n")[-1].splitlines()


def refused(call, *lines):
    """The call reads what nothing has written, and says so in these lines."""
    with pytest.raises(UninitialisedRead) as fault:
        call()
    found, wanted = said(fault), [lines[0] + " is read before it is written", *lines[1:]]
    if weft.cfg.arch == "cuda":  # any thread may be first
        found, wanted = ([re.sub(r"-?\d+", "0", line) for line in several] for several in (found, wanted))
    assert found == wanted
    return str(fault.value)


def test_the_place_the_element_and_the_loop(checked):
    ti = checked
    x, y = ti.field(ti.f32, 8), ti.field(ti.f32, 8)

    @ti.kernel
    def first(n: ti.i32):
        for i in range(n):
            x[i] = i

    @ti.kernel
    def second():
        for i in x:
            y[i] = x[i] * 2

    first(7)
    text = refused(second, "x[7]", "where i = 7")
    assert re.search(r", in second\n *y\[i\] = x\[i\] \* 2\n {11,}\^{4}\n", text), "a caret under what is read"
    x[7] = 0
    second()
    np.testing.assert_array_equal(y.to_numpy(), [0, 2, 4, 6, 8, 10, 12, 0])


def test_an_atomic_reads(checked):
    ti = checked
    total, top = ti.field(ti.i32, ()), ti.field(ti.f64, 3)

    @ti.kernel
    def add(n: ti.i32):
        for i in range(n):
            total[None] += i

    @ti.kernel
    def largest() -> ti.f64:
        return ti.atomic_max(top[2], 1.0)

    refused(lambda: add(1), "total[None]", "where i = 0")
    add(0)
    total[None] = 1
    add(5)
    assert total[None] == 11
    refused(largest, "top[2]")
    top.fill(2)
    assert largest() == 2


def test_components_are_apart(checked):
    ti = checked
    v = ti.Vector.field(3, ti.f32, (2, 2), offset=(-1, 4), layout=ti.Layout.SOA)
    m = ti.Matrix.field(2, 2, ti.f16, 3)

    @ti.kernel
    def one(c: ti.i32):
        for i, j in v:
            v[i, j][c] = 1.0

    @ti.kernel
    def read(c: ti.template()) -> ti.f32:
        total = 0.0
        for i, j in v:
            total += v[i, j][1] if ti.static(c) else v[i, j].norm_sqr()
        return total

    @ti.kernel
    def double():
        for i in range(3):
            m[i] = m[i] * 2

    one(1)
    assert read(1) == 4
    refused(lambda: read(0), "v[-1, 4][0]", "where i = -1, j = 4")
    one(0)
    refused(lambda: read(0), "v[-1, 4][2]", "where i = -1, j = 4")
    one(2)
    assert read(0) == 12
    m[0] = m[1] = 1
    m[2][0, 0] = m[2][0, 1] = m[2][1, 1] = 1
    refused(double, "m[2][1, 0]", "where i = 2")
    m[2][1, 0] = 1
    double()
    assert (m.to_numpy() >= 2).all()


def test_structs(checked):
    ti = checked
    pair = ti.types.struct(p=ti.types.vector(2, ti.f32), k=ti.i8)

    @ti.kernel
    def run(s: ti.template(), write: ti.template()) -> ti.f32:
        total = 0.0
        for i in range(3):
            if ti.static(write):
                s[i].k = i
                s[i].p.x = 1
            else:
                whole = s[i]
                total += whole.k + whole.p[0] + whole.p[1]
        return total

    @ti.kernel
    def on_array(s: ti.types.ndarray(), what: ti.template()) -> ti.f32:
        total = 0.0
        for i in s:
            if ti.static(what == "k"):
                s[i].k = i
            elif ti.static(what == "whole"):
                s[i] = pair(p=[i, i], k=i)
            else:
                total += s[i].k + (s[i].p[1] if ti.static(what == "p") else 0)
        return total

    s, a = pair.field(shape=3), ti.ndarray(pair, 3)
    run(s, True)
    refused(lambda: run(s, False), "s[0].p[1]", "where i = 0")
    s.p.fill(1)
    assert run(s, False) == 3 + 6
    on_array(a, "k")
    assert on_array(a, "sum of k") == 3
    refused(lambda: on_array(a, "p"), "s[0].p[1]", "where i = 0")
    refused(lambda: a[1].p[0] + 1, "[1][0] of <ndarray f32x2, shape=(3,)>")
    on_array(a, "whole")
    assert on_array(a, "p") == 6
    assert a[2].p[0] == 2


def test_arrays_of_others_count_as_written(checked):
    ti = checked

    @ti.kernel
    def copy_to(a: ti.types.ndarray(), b: ti.types.ndarray()):
        for I in ti.grouped(a):
            b[I] = a[I]

    rows = np.arange(12, dtype=np.float32).reshape(3, 4)
    ours, more = ti.ndarray(ti.f32, (3, 4)), ti.ndarray(ti.f32, (3, 4))
    refused(lambda: copy_to(ours, rows), "a[0, 0]", "where I0 = 0, I1 = 0")
    copy_to(rows, ours)
    copy_to(ours, more)
    np.testing.assert_array_equal(more.to_numpy(), rows)
    columns = ti.ndarray(ti.f32, (4, 3))
    copy_to(rows.T, columns)
    assert columns[3, 2] == 11
    lent = ti.ndarray(ti.f32, 3)
    if ti.cfg.arch != "cuda":  # there, numpy is given a copy
        np.asarray(lent)[:] = 5  # nobody sees this
        assert lent[1] == 5


@pytest.mark.parametrize("debug", [False, True])
@pytest.mark.parametrize("races", [False, True])
@pytest.mark.parametrize("uninitialised", [False, True])
def test_arrays_that_overlap(ti, uninitialised, races, debug):
    """Kernels with these checks have one variant, which also runs overlapping arguments: their marks overlap too."""
    ti.init(arch=ti.cfg.arch, check_uninitialised=uninitialised, check_races=races, debug=debug)
    array = ti.types.ndarray(ti.i32, 1)
    scale = ti.field(ti.i32, shape=2)

    @ti.func
    def put(a, i, value):
        a[i] = value

    @ti.kernel
    def chain(a: array, b: array):
        for _ in range(1):
            for i in range(1, a.shape[0]):
                put(a, i, b[i - 1] + scale[0])
            scale[1] = a[1]

    @ti.kernel
    def through(a: array, b: array) -> ti.i32:
        a[1] = 3
        before = b[1]
        b[1] = 4
        return before * 10 + a[1]

    @ti.kernel
    def beyond(a: array, b: array) -> ti.i32:
        a[1] = 1
        return b[1] + b[2]

    def ndarray(full):
        made = ti.ndarray(ti.i32, 5)
        if full:
            made.fill(0)
        else:
            made[0] = 0
        return made

    scale[0] = 1
    for make in (ndarray, lambda _: np.zeros(5, np.int32)):
        for _ in range(3):  # through Python, then natively
            one, other = make(False), make(True)
            chain(one, other)
            assert [one[i] for i in range(5)] == [0, 1, 1, 1, 1]
            both = make(False)  # each read is of an element that the other name has written
            chain(both, both)
            assert [both[i] for i in range(5)] == [0, 1, 2, 3, 4]
            assert scale[1] == 1
            both = make(False)
            assert through(both, both) == 34
            assert through(make(True), make(True)) == 3
    if uninitialised:
        both = ti.ndarray(ti.i32, 5)
        refused(lambda: beyond(both, both), "b[2]")


def test_functions_are_handed_the_marks(checked):
    ti = checked
    x = ti.field(ti.f32, 4)

    @ti.real_func
    def put(a: ti.types.ndarray(ti.f32, 1), i: ti.i32):
        a[i] = 1.0
        x[i] = 1.0

    @ti.real_func
    def get(a: ti.types.ndarray(ti.f32, 1), i: ti.i32) -> ti.f32:
        return a[i] + x[i]

    @ti.kernel
    def run(a: ti.types.ndarray(ti.f32, 1), write: ti.i32, read: ti.i32) -> ti.f32:
        total = 0.0
        for i in range(write):
            put(a, i)
        for i in range(read):
            total += get(a, i)
        return total

    a = ti.ndarray(ti.f32, 4)
    assert run(a, 3, 3) == 6
    assert refused(lambda: run(a, 0, 4), "a[3]").count("in get") == 1


def test_python_scope(checked):
    ti = checked
    x, n = ti.field(ti.u8, (2, 3), name="x"), ti.ndarray(ti.i64, 4)
    v = ti.Vector.field(3, ti.f64, 2, name="v")
    refused(lambda: x[1, 2], "x[1, 2]")
    refused(lambda: n[3], "[3] of <ndarray i64, shape=(4,)>")
    refused(lambda: x.to_numpy(), "x[0, 0]")
    x[0, 0] = x[0, 1] = n[3] = 7
    assert x[0, 0] == n[3] == 7
    refused(lambda: x.to_numpy(), "x[0, 2]")
    refused(lambda: copy.copy(n).to_numpy(), "[0] of <ndarray i64, shape=(4,)>")
    n.from_numpy(np.arange(4))
    assert copy.copy(n)[2] == 2
    window = v[1]
    assert (window.n, window.shape, len(window)) == (3, (3,), 3)
    refused(lambda: window.y, "v[1][1]")
    refused(lambda: window + 1, "v[1][0]")
    window.xz = [1, 2]
    assert (window.x, v[1][2]) == (1, 2)
    refused(lambda: window.norm(), "v[1][1]")
    refused(lambda: str(v[1]), "v[1][1]")
    v[1][1] = 2
    assert v[1].norm() == 3
    m = ti.Matrix.field(2, 2, ti.f32, (), name="m")
    refused(lambda: m[None].transpose(), "m[None][0, 0]")
    m[None].fill(3)
    assert m[None].transpose().sum() == 12


def test_copies_copy_what_was_written(checked):
    ti = checked
    x, y = ti.field(ti.f32, 4, name="x"), ti.field(ti.f32, 4, name="y")
    a, b = ti.ndarray(ti.f32, 4), ti.ndarray(ti.f32, 4)
    x[2], a[1] = 5, 6
    y.fill(0)
    y.copy_from(x)
    b.copy_from(a)
    assert y[2] == 5
    assert copy.deepcopy(y)[2] == 5
    assert copy.deepcopy(b)[1] == 6
    refused(lambda: y[1], "y[1]")
    refused(lambda: copy.deepcopy(b)[0], "[0] of <ndarray f32, shape=(4,)>")


def test_operands_that_are_not_evaluated_are_not_read(checked):
    ti = checked
    x = ti.field(ti.f32, 4)

    @ti.kernel
    def run(i: ti.i32) -> ti.f32:
        a = x[i] if i < 2 else 0.0
        return a + 1 if i < 2 and x[i] > 0 else a

    x[1] = 1
    assert run(1) == 2
    assert run(3) == 0
    refused(lambda: run(0), "x[0]")


def test_beside_other_checks(ti):
    ti.init(arch=ti.cfg.arch, check_uninitialised=True, check_races=True, debug=True)
    x = ti.field(ti.f32, 4)

    @ti.kernel
    def shift(by: ti.i32):
        for i in range(3):
            x[i] = x[i + by]

    refused(lambda: shift(0), "x[0]", "where i = 0")
    x.fill(1)
    shift(0)
    with pytest.raises(DataRace):
        shift(1)
    with pytest.raises(IndexError, match=r"x\[4\] is out of bounds"):
        shift(4)


# ---- against a reference ---------------------------------------------------------------------------------------------


def places(ti, dtype):
    """Something of 4 x 6 pairs in every layout there is, by name."""
    made = {
        "plain": ti.Vector.field(2, dtype, (4, 6)),
        "apart": ti.Vector.field(2, dtype, (4, 6), layout=ti.Layout.SOA, order="ji"),
        "ndarray": ti.ndarray(ti.types.vector(2, dtype), (4, 6)),
        "struct": ti.types.struct(gap=ti.i8, pair=ti.types.vector(2, dtype)).field(shape=(4, 6)).pair,
        "member": ti.ndarray(ti.types.struct(gap=ti.i8, pair=ti.types.vector(2, dtype)), (4, 6)).pair,
        "blocks": ti.Vector.field(2, dtype),
    }
    ti.root.dense(ti.ij, (2, 3)).dense(ti.ij, 2).place(made["blocks"])
    return made


IN_KERNELS = ["write", "part", "add", "read", "read part"]
WRITE, PART, ADD, READ = range(4)
STEPS = st.tuples(
    st.sampled_from([*IN_KERNELS, "from python", "part from python", "in python", "fill"]),
    st.integers(0, 3),
    st.integers(0, 5),
    st.integers(0, 1),
)


@pytest.mark.parametrize("where", ["plain", "apart", "ndarray", "struct", "member", "blocks"])
@pytest.mark.parametrize("dtype", ["f32", "f16", "u1", "i8", "u64", "f64"])
def test_against_a_reference(ti, where, dtype):
    """Fields are new for each list of steps, since kernels are compiled for the fields that they use; arrays are too,
    and have one kernel."""
    if ti.cfg.arch == "python":
        pytest.skip("the check compiles kernels there too: the code is that of arch=cpu")
    ti.init(arch=ti.cfg.arch, check_uninitialised=True)
    prim = getattr(ti, dtype)

    @ti.func
    def act(x, what, i, j, c):
        total = ti.cast(0, prim)
        if what == WRITE:
            x[i, j] = [1, 1]
        elif what == PART:
            x[i, j][c] = 1
        elif what == ADD:
            x[i, j] += ti.cast(1, prim)
        elif what == READ:
            total = x[i, j].max()
        else:
            total = x[i, j][c]
        return total

    @ti.kernel
    def on_array(x: ti.types.ndarray(), what: ti.i32, i: ti.i32, j: ti.i32, c: ti.i32) -> prim:
        return act(x, what, i, j, c)

    def started():
        """Something that nothing has written, and what does a step to it."""
        x = places(ti, prim)[where]
        if where in ("ndarray", "member"):
            return x, lambda *step: on_array(x, *step)

        @ti.kernel
        def on_field(what: ti.i32, i: ti.i32, j: ti.i32, c: ti.i32) -> prim:
            return act(x, what, i, j, c)

        return x, on_field

    @settings(max_examples=15, deadline=None, suppress_health_check=list(HealthCheck))
    @given(steps=st.lists(STEPS, max_size=25))
    def follow(steps):
        compare(*started(), steps)

    follow()


def compare(x, act, steps):
    """Each step says what the reference says: `written`, element by element."""
    written = np.zeros((4, 6, 2), bool)
    for what, i, j, c in steps:
        part = (i, j, c) if "part" in what else (i, j)
        reads, told = what in ("add", "read", "read part", "in python"), ""
        try:
            if what == "from python":
                x[i, j] = 1
            elif what == "part from python":
                x[i, j][c] = 1
            elif what == "in python":
                x[i, j].max()
            elif what == "fill":
                if c and i == 3:  # seldom, or there is nothing left to find
                    x.fill(1)
                    written[...] = True
                continue
            else:
                act(IN_KERNELS.index(what), i, j, c)
        except UninitialisedRead as fault:
            told = str(fault)
        assert bool(told) == (reads and not written[part].all())
        if told:
            assert f"[{i}, {j}][{c if 'part' in what else int(np.argmin(written[i, j]))}]" in told
        if not reads:
            written[part] = True
