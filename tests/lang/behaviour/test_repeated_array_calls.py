"""Calls of array functions that are like earlier ones use what was found for these: they give what first calls do."""

import gc
import importlib
import importlib.util
import weakref
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.sampling import draws
from weft.ir.errors import WeftError
from weft.lang.arrays.call_keys import Calls

SHAPES = [(), (1,), (4,), (3, 4), (3, 1), (2, 3, 4), (0,), (0, 4), (3, 5)]
KINDS = {np.float32: "f32", np.float64: "f64", np.int32: "i32", np.uint8: "u8", np.int64: "i64"}
NUMBERS = [0, -1, 127, 128, -129, 2**31 - 1, 2**31, -(2**31) - 1, 2**63, 2**64, 0.5, True]
NUMBERS += [np.float64(2), np.float32(3), np.uint8(7), np.int64(-5)]


def windowed(values):
    """The values in every other element of a larger array."""
    whole = np.zeros([2 * extent for extent in values.shape], values.dtype)
    part = whole[tuple(slice(None, None, 2) for _ in values.shape)]
    part[...] = values
    return part


def tensor(ti, values):
    if importlib.util.find_spec("torch") is None:
        return values
    return importlib.import_module("torch").from_numpy(values.copy())


def parameter(ti, values):
    """Of a module: a tensor of another class, which may have gradients."""
    made = tensor(ti, values)
    if made is values:
        return values
    return importlib.import_module("torch").nn.Parameter(made, requires_grad=made.is_floating_point())


def filled(made, values):
    made.from_numpy(values)
    return made


def has_places(values):
    return values.ndim > 0 and values.size > 0


MAKERS = {
    "numpy": lambda ti, values: values,
    "fortran": lambda ti, values: np.asfortranarray(values),
    "window": lambda ti, values: windowed(values),
    "reversed": lambda ti, values: values[..., ::-1] if values.ndim else values,
    "torch": tensor,
    "parameter": parameter,
    "ndarray": lambda ti, values: filled(ti.ndarray(getattr(ti, KINDS[values.dtype.type]), values.shape), values),
    "field": lambda ti, values: filled(ti.field(getattr(ti, KINDS[values.dtype.type]), values.shape), values),
}
OPERANDS = st.one_of(
    st.sampled_from(NUMBERS), st.tuples(st.sampled_from([*MAKERS]), st.sampled_from(SHAPES), st.sampled_from([*KINDS]))
)


def operand(ti, drawn):
    if not isinstance(drawn, tuple):
        return drawn
    maker, shape, kind = drawn
    values = np.arange(1, 1 + np.prod(shape, dtype=int), dtype=kind).reshape(shape)
    return MAKERS[maker if has_places(values) else "numpy"](ti, values)


def outcome(run):
    """What a call gives, in terms that can be compared; or its error."""
    try:
        made = run()
    except WeftError as error:
        return type(error), str(error)
    return [told(one) for one in (made if isinstance(made, tuple) else (made,))]


def told(one):
    values = one.to_numpy() if hasattr(one, "to_numpy") else np.asarray(one)
    return type(one), values.dtype, values.shape, values.tobytes()


def both(function, *args, **keywords):
    """The outcomes of a call that may be like earlier ones, and of one that is like none."""
    first = outcome(lambda: function(*args, **keywords))
    known, function._calls = function._calls, Calls()
    try:
        return first, outcome(lambda: function(*args, **keywords))
    finally:
        function._calls = known


@pytest.fixture
def two(ti):
    @ti.elementwise
    def two(x, y=2, w=0.5):
        return x * y + w, x > y

    return two


@pytest.fixture
def mix(ti):
    @ti.elementwise
    def mix(x, y):
        return x - 3 * y

    return mix


@settings(max_examples=draws(25), deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
@given(st.lists(st.lists(OPERANDS, min_size=1, max_size=3), min_size=2, max_size=5))
def test_sequences_of_elementwise_calls(ti, two, calls):
    for drawn in [*calls, *calls]:
        repeated, first = both(two, *(operand(ti, one) for one in drawn))
        assert repeated == first


AXES = st.sampled_from([None, 0, 1, -1, (), (0,), [0], (0, 1), (1, 0), [-1, 0], 1.0, (1.0,), True, 3, "x", [[0]]])


def add(a, b):
    return a + b


def times(x, y=2):
    return x * y


@pytest.fixture
def sums(ti):
    return ti.reduce(add, 0), ti.reduce(add, None, map=times)


@settings(max_examples=draws(25), deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
@given(
    st.lists(
        st.tuples(OPERANDS, OPERANDS, AXES, st.booleans(), st.sampled_from([None, "f64", "i64"])),
        min_size=2,
        max_size=5,
    )
)
def test_sequences_of_reductions(ti, sums, calls):
    for x, y, axis, keepdims, kind in [*calls, *calls]:
        how = {"axis": axis, "keepdims": keepdims, "dtype": kind and getattr(ti, kind)}
        for function, operands in zip(sums, ((x,), (x, y))):
            repeated, first = both(function, *(operand(ti, one) for one in operands), **how)
            assert repeated == first


def test_reductions_of_arrays_that_lie_in_many_ways(ti, sums):
    values = np.arange(12.0).reshape(3, 4)
    makers = [MAKERS[name] for name in ("numpy", "fortran", "window", "reversed", "torch", "ndarray")]
    for make in makers * 2:
        for axis in (None, 0, 1, 0.0, (0, 1)):
            if axis == 0.0 and type(axis) is float:
                with pytest.raises(WeftError, match=r"axis 0\.0 does not exist"):
                    sums[0](make(ti, values), axis=axis)
                continue
            x = make(ti, values)
            seen = x.to_numpy() if hasattr(x, "to_numpy") else np.asarray(x)
            for keepdims in (False, True):
                got = sums[0](x, axis=axis, keepdims=keepdims)
                got = got.to_numpy() if hasattr(got, "to_numpy") else np.asarray(got)
                want = seen.sum(axis, keepdims=keepdims)
                assert got.shape == want.shape
                assert np.array_equal(got, want)


def test_reductions_keep_nothing_and_see_changes(ti, sums):
    factor = 2

    def larger(x):
        return x * factor

    total, scaled = sums[0], ti.reduce(add, 0, map=larger)
    x = np.ones(5, np.int32)
    for factor, kind in ((2, np.int32), (2.5, np.float32)):
        for _ in range(3):
            got = scaled(x)
            assert (got, got.dtype) == (5 * factor, kind)
    ti.init(arch=ti.cfg.arch, default_fp=ti.f64)
    assert [scaled(x).dtype for _ in range(2)] == [np.float64] * 2
    a = ti.ndarray(ti.f32, (3, 4))
    made = total(a, axis=0)
    alive = [weakref.ref(x), weakref.ref(a), weakref.ref(made)]
    for _ in range(3):
        assert type(total(a)) is float
        total(x)
    del x, a, made
    gc.collect()
    assert [one() for one in alive] == [None] * 3


def test_arrays_of_one_shape_that_lie_in_many_ways(ti, mix):
    values = np.arange(12.0).reshape(3, 4)
    makers = [MAKERS[name] for name in ("numpy", "fortran", "window", "reversed", "torch")]
    for a in makers * 2:
        for b in makers:
            x, y = a(ti, values), b(ti, values)
            assert np.array_equal(mix(x, y), np.asarray(x) - 3 * np.asarray(y))


def line(start, step):
    """Five elements of a pool."""
    return lambda pool: pool[start : start + 5 * step : step]


def square(row, column, turned):
    """Nine elements of a pool."""

    def view(pool):
        part = pool[:36].reshape(6, 6)[row : row + 3, column : column + 3]
        return part.T if turned else part

    return view


CORNERS = st.integers(0, 3)
LINES, SQUARES = (
    st.builds(line, st.integers(0, 9), st.integers(1, 3)),
    st.builds(square, CORNERS, CORNERS, st.booleans()),
)


@settings(max_examples=draws(60), deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
@given(
    st.lists(st.one_of(st.tuples(LINES, LINES, LINES), st.tuples(SQUARES, SQUARES, SQUARES)), min_size=1, max_size=6)
)
def test_results_that_lie_among_operands(ti, mix, views):
    """Calls with equal keys lie in memory in all ways."""
    for x, y, out in views:
        pool = np.arange(40.0)
        wanted = pool.copy()
        out(wanted)[...] = x(pool) - 3 * y(pool)
        mix(x(pool), y(pool), out=out(pool))
        assert pool.tolist() == wanted.tolist()


def test_operands_are_not_kept(ti, mix):
    x, y = np.ones(5), np.ones(5)
    made, alive = [], [weakref.ref(x), weakref.ref(y)]
    for _ in range(3):
        made.append(weakref.ref(mix(x, y)))
        mix(x, y, out=x)
    a = ti.ndarray(ti.f32, 3)
    made.append(weakref.ref(mix(a, 1.0)))
    alive.append(weakref.ref(a))
    del x, y, a
    gc.collect()
    assert [one() for one in (*alive, *made)] == [None] * len(alive + made)


def test_many_shapes_are_not_all_remembered(ti, mix):
    for n in range(1, 300):
        assert mix(np.ones(n), 1.0).shape == (n,)
    assert len(mix._calls) <= 256


def test_a_changed_name_and_a_new_program(ti):
    factor = 2

    @ti.elementwise
    def scaled(x):
        return x * factor

    x = np.ones(3, np.int32)
    for factor, kind in ((2, np.int32), (3, np.int32), (2.5, np.float32)):
        for _ in range(3):
            got = scaled(x)
            assert (got.dtype, got.tolist()) == (kind, [factor] * 3)
    ti.init(arch=ti.cfg.arch, default_fp=ti.f64)
    assert [scaled(x).dtype for _ in range(3)] == [np.float64] * 3
    kept = ti.ndarray(ti.f32, 3)
    kept.fill(1)
    assert (scaled(kept).to_numpy() == 2.5).all()
    ti.init(arch=ti.cfg.arch)
    with pytest.raises(WeftError, match="no longer exists"):
        scaled(kept)


def test_defaults_are_those_of_the_definition(ti):
    @ti.elementwise
    def f(x, /, y=2, z=3):
        return x * 100 + y * 10 + z

    one = np.ones(1, np.int32)
    for _ in range(2):
        assert [int(got[0]) for got in (f(one), f(one, 4), f(one, 4, 5), f(one, z=6), f(one, z=6, y=7))] == [
            123, 143, 145, 126, 176
        ]  # fmt: skip
        for wrong in ({"x": one}, {"x": one, "y": 1}):
            with pytest.raises(WeftError, match="takes x, y, z"):
                f(**wrong)
        with pytest.raises(WeftError, match="multiple values"):
            f(one, 1, y=2)
        with pytest.raises(WeftError, match="unexpected keyword argument 'v'"):
            f(one, v=2)


def test_wrong_results_stay_wrong(ti, mix):
    x, out = np.ones(3), np.ones(3)
    mix(x, x, out=out)
    for wrong in ((), (out, out), np.ones(4), np.ones(3, int), 1.0, [1]):
        for _ in range(2):
            with pytest.raises(WeftError):
                mix(x, x, out=wrong)
    out.flags.writeable = False
    with pytest.raises(WeftError, match="read-only"):
        mix(x, x, out=out)


def test_threads_share_what_is_remembered(ti, mix):
    def calls(thread):
        for n in range(1, 60):
            x = np.full(1 + (n + thread) % 7, float(thread))
            assert (mix(x, 2 * x) == -5 * thread).all()
        return True

    with ThreadPoolExecutor(4) as pool:
        assert all(pool.map(calls, range(8)))
