"""Numbers: the types of results, the signs of quotients, wrapping, shifting, casting, and what nan and infinity do."""

import math
import operator

import numpy as np
import pytest

pytestmark = pytest.mark.filterwarnings("ignore::weft.PrecisionWarning")  # values are cut short on purpose

INTS = ("i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64")
FLOATS = ("f16", "f32", "f64")
SAMPLES = (-130, -7, -3, -1, 0, 1, 2, 3, 7, 127, 128, 200, 255, 65_535, 2**31 - 1, -(2**31), 2**32 - 1, 2**63 - 1)

# The common type of two: floats beat integers, then the wider wins, then the unsigned one.
RANK = {name: (name in FLOATS, int(name[1:]), name[0] == "u") for name in (*INTS, *FLOATS)}


def common(a: str, b: str) -> str:
    return max(a, b, key=RANK.__getitem__)


def wrap(value: int, name: str) -> int:
    """`value` modulo 2**bits, in the range of the integer type."""
    bits = int(name[1:])
    value &= 2**bits - 1
    return value - 2**bits if name[0] == "i" and value >= 2 ** (bits - 1) else value


@pytest.mark.parametrize("name", INTS)
def test_integer_arithmetic_wraps(ti, name):
    @ti.kernel
    def run(a: ti.types.ndarray(), b: ti.types.ndarray(), out: ti.types.ndarray()):
        for i in range(a.shape[0]):
            out[i, 0] = a[i] + b[i]
            out[i, 1] = a[i] - b[i]
            out[i, 2] = a[i] * b[i]
            out[i, 3] = -a[i]
            out[i, 4] = abs(a[i])
            out[i, 5] = ~a[i]
            out[i, 6] = a[i] & b[i]
            out[i, 7] = a[i] | b[i]
            out[i, 8] = a[i] ^ b[i]
            out[i, 9] = ti.min(a[i], b[i])
            out[i, 10] = ti.max(a[i], b[i])

    pairs = [(wrap(a, name), wrap(b, name)) for a in SAMPLES for b in SAMPLES[::3]]
    a, b = (np.array(side, name_of(name)) for side in zip(*pairs))
    out = np.zeros((len(pairs), 11), a.dtype)
    run(a, b, out)
    both = (operator.and_, operator.or_, operator.xor, min, max)
    for row, (x, y) in zip(out.tolist(), pairs):
        expected = [x + y, x - y, x * y, -x, abs(x), ~x, *(f(x, y) for f in both)]
        assert row == [wrap(value, name) for value in expected], (x, y)


def name_of(name: str) -> str:
    """numpy's name of a type."""
    return {"i": "int", "u": "uint", "f": "float"}[name[0]] + name[1:]


@pytest.mark.parametrize("name", INTS)
def test_quotients_and_remainders(ti, name):
    @ti.kernel
    def run(a: ti.types.ndarray(), b: ti.types.ndarray(), out: ti.types.ndarray()):
        for i in range(a.shape[0]):
            out[i, 0] = a[i] // b[i]
            out[i, 1] = a[i] % b[i]
            out[i, 2] = ti.raw_div(a[i], b[i])
            out[i, 3] = ti.raw_mod(a[i], b[i])

    samples = {wrap(x, name) for x in (-128, -100, -7, -3, -2, -1, 1, 2, 3, 7, 100)} - {0}
    low = wrap(2 ** (int(name[1:]) - 1), name)
    pairs = [(a, b) for a in sorted(samples | {0}) for b in sorted(samples) if (a, b) != (low, -1)]
    a, b = (np.array(side, name_of(name)) for side in zip(*pairs))
    out = np.zeros((len(pairs), 4), a.dtype)
    run(a, b, out)
    for row, (x, y) in zip(out.tolist(), pairs):
        truncated = abs(x) // abs(y) * (1 if (x < 0) == (y < 0) else -1)
        assert row == [x // y, x % y, truncated, x - truncated * y], (x, y)


@pytest.mark.parametrize("name", ["i8", "i32", "i64", "u8", "u32"])
def test_integer_division_by_zero_gives_zero(ti, name):
    dt = getattr(ti, name)

    @ti.kernel
    def run(a: dt, b: dt) -> ti.types.vector(4, ti.i64):
        return ti.Vector([a // b, a % b, ti.raw_div(a, b), ti.raw_mod(a, b)], ti.i64)

    assert run(7, 0).to_list() == [0] * 4


@pytest.mark.parametrize("name", INTS)
def test_shifts(ti, name):
    bits = int(name[1:])

    @ti.kernel
    def run(a: ti.types.ndarray(), b: ti.types.ndarray(), out: ti.types.ndarray()):
        for i in range(a.shape[0]):
            out[i, 0] = a[i] << b[i]
            out[i, 1] = a[i] >> b[i]
            out[i, 2] = ti.bit_shr(a[i], b[i])
            out[i, 3] = ti.bit_shl(a[i], b[i])
            out[i, 4] = ti.bit_sar(a[i], b[i])

    pairs = [(wrap(x, name), n) for x in SAMPLES for n in range(bits)]
    a, b = (np.array(side, name_of(name)) for side in zip(*pairs))
    out = np.zeros((len(pairs), 5), a.dtype)
    run(a, b, out)
    for row, (x, n) in zip(out.tolist(), pairs):
        expected = [x << n, x >> n, (x & (2**bits - 1)) >> n, x << n, x >> n]
        assert row == [wrap(value, name) for value in expected], (x, n)


@pytest.mark.parametrize("left", [*INTS, *FLOATS])
def test_types_of_results(ti, left):
    """A local has the type of its first value: what it makes of a second one shows which that was."""
    big = -0x7E7D_7C7B_7A79_7877

    for right in (*INTS, *FLOATS):
        a, b = getattr(ti, left), getattr(ti, right)

        @ti.kernel
        def run(x: a, y: b, big: ti.i64) -> ti.types.vector(5, ti.f64):
            total, product, least, chosen, quotient = x + y, x * y, ti.min(x, y), x if x > y else y, x / y
            total, product, least, chosen, quotient = big, big, big, big, big
            return ti.Vector([total, product, least, chosen, quotient], ti.f64)

        kind = common(left, right)
        divided = kind if kind in FLOATS else "f32"
        found = run(3, 2, big).to_list()
        with np.errstate(over="ignore"):
            expected = [float(np.int64(big).astype(name_of(k))) for k in (*[kind] * 4, divided)]
        assert found == expected, (left, right)


@pytest.mark.parametrize("name", FLOATS)
def test_float_arithmetic_is_numpys(ti, name):
    ti.init(arch=ti.cfg.arch, fast_math=False)

    @ti.kernel
    def run(a: ti.types.ndarray(), b: ti.types.ndarray(), out: ti.types.ndarray()):
        for i in range(a.shape[0]):
            out[i, 0] = a[i] + b[i]
            out[i, 1] = a[i] - b[i]
            out[i, 2] = a[i] * b[i]
            out[i, 3] = a[i] / b[i]
            out[i, 4] = -a[i]
            out[i, 5] = ti.sqrt(abs(a[i]))

    samples = np.array([0.0, -0.0, 1, -1.5, 0.1, 3.14159, 1e-4, 60000, np.inf, -np.inf, np.nan], name_of(name))
    a, b = np.repeat(samples, len(samples)), np.tile(samples, len(samples))
    out = np.zeros((len(a), 6), a.dtype)
    run(a, b, out)
    with np.errstate(all="ignore"):
        wanted = np.stack([a + b, a - b, a * b, a / b, -a, np.sqrt(np.abs(a))], axis=1)
    np.testing.assert_array_equal(out, wanted)
    assert (np.signbit(out[:, :4]) == np.signbit(wanted[:, :4]))[~np.isnan(wanted[:, :4])].all()


def test_comparisons_with_nan(ti):
    ti.init(arch=ti.cfg.arch, fast_math=False)

    @ti.kernel
    def run(a: ti.f32, b: ti.f32) -> ti.types.vector(6, ti.i32):
        return ti.Vector([int(a < b), int(a <= b), int(a > b), int(a >= b), int(a == b), int(a != b)])

    compares = (operator.lt, operator.le, operator.gt, operator.ge, operator.eq, operator.ne)
    for a in (0.0, -1.0, math.nan, math.inf):
        for b in (0.0, -0.0, math.nan, -math.inf):
            assert run(a, b).to_list() == [int(f(a, b)) for f in compares], (a, b)


def test_division_of_integers_is_of_floats(ti):
    @ti.kernel
    def run(a: ti.i32, b: ti.i32) -> ti.f32:
        return a / b

    assert run(7, 2) == 3.5
    assert run(-1, 4) == -0.25
    assert run(1, 3) == pytest.approx(1 / 3)


def test_remainder_of_floats_has_the_divisors_sign(ti):
    @ti.kernel
    def run(a: ti.f64, b: ti.f64) -> ti.types.vector(2, ti.f64):
        return ti.Vector([a % b, a // b], ti.f64)

    for a in (7.5, -7.5, 0.25, -0.25):
        for b in (2.0, -2.0, 0.5):
            assert run(a, b).to_list() == pytest.approx([a % b, a // b])


def test_casts_between_integers_wrap(ti):
    for source in ("i32", "i64", "u8"):
        for target in INTS:
            a, b = getattr(ti, source), getattr(ti, target)

            @ti.kernel
            def run(x: a) -> b:
                return ti.cast(x, b)  # noqa: B023

            for value in (0, 1, -1, 127, 128, 300, -32_769, 2**31 - 1):
                kept = wrap(value, source)
                assert run(kept) == wrap(kept, target), (source, target, value)


def test_casts_from_floats_truncate(ti):
    @ti.kernel
    def run(x: ti.f32) -> ti.types.vector(4, ti.i64):
        return ti.Vector([int(x), ti.cast(x, ti.i64), ti.i16(x), ti.cast(ti.cast(x, ti.f64), ti.i32)], ti.i64)

    for x in (0.0, 0.9, -0.9, 2.5, -2.5, 1e3, -32767.5):
        assert run(x).to_list() == [int(x)] * 4


def test_casts_of_huge_floats_saturate(ti):
    @ti.kernel
    def run(x: ti.f32) -> ti.types.vector(3, ti.i64):
        return ti.Vector([ti.cast(x, ti.i32), ti.cast(x, ti.u8), ti.cast(x, ti.i8)], ti.i64)

    assert run(1e20).to_list() == [2**31 - 1, 255, 127]
    assert run(-1e20).to_list() == [-(2**31), 0, -128]
    assert run(math.nan).to_list() == [0, 0, 0]


def test_bit_casts(ti):
    @ti.kernel
    def run(x: ti.f32) -> ti.u32:
        return ti.bit_cast(x, ti.u32)

    @ti.kernel
    def back(x: ti.i64) -> ti.f64:
        return ti.bit_cast(x, ti.f64)

    for x in (1.0, -0.0, 3.5):
        assert run(x) == int(np.float32(x).view(np.uint32))
    assert back(int(np.float64(0.1).view(np.int64))) == 0.1


def test_a_variable_keeps_its_first_type(ti):
    @ti.kernel
    def run() -> ti.types.vector(3, ti.f32):
        a = 1
        a = 2.7
        b = 0.5
        b = 3
        b /= 2
        c = ti.u8(250)
        c += 10
        return ti.Vector([a, b, c], ti.f32)

    assert run().to_list() == [2, 1.5, 4]


def test_an_annotation_may_be_repeated(ti):
    @ti.kernel
    def run() -> ti.f32:
        a: ti.f32 = 1
        a: ti.f32 = 3.5
        v: ti.math.vec2 = [1, 2]
        v: ti.math.vec2 = [a, 4]
        return a + v.x

    assert run() == 7


def test_powers(ti):
    @ti.kernel
    def whole(a: ti.i32, b: ti.i32) -> ti.i32:
        return a**b

    @ti.kernel
    def real(a: ti.f64, b: ti.f64) -> ti.types.vector(2, ti.f64):
        return ti.Vector([a**b, ti.pow(a, 2)], ti.f64)

    assert [whole(3, 4), whole(-2, 3), whole(5, 0), whole(0, 0), whole(7, 1)] == [81, -8, 1, 1, 7]
    assert whole(3, 40) == wrap(3**40, "i32")
    for a, b in ((2.0, 0.5), (1.5, -3.0), (0.0, 0.0), (9.0, 1.5)):
        assert real(a, b).to_list() == pytest.approx([a**b, a * a])


def test_bools_are_numbers(ti):
    @ti.kernel
    def run(a: ti.i32) -> ti.types.vector(4, ti.i32):
        t = a > 2
        u = a > 100
        return ti.Vector([t + t, int(not t), int(t and not u), t * 5 - u])

    assert run(3).to_list() == [2, 0, 1, 5]
    assert run(0).to_list() == [0, 1, 0, 0]


def test_literals_wider_than_the_default(ti):
    ti.init(arch=ti.cfg.arch, default_ip=ti.i64, default_fp=ti.f64)

    @ti.kernel
    def run() -> ti.i64:
        a = 1
        a = a << 40
        return a + 0.5 * 4

    @ti.kernel
    def third() -> ti.f64:
        return 1 / 3

    assert run() == 2**40 + 2
    assert third() == 1 / 3


FUNCTIONS = {
    "sin": 1.2, "cos": 1.2, "tan": 0.7, "asin": 0.3, "acos": 0.3, "tanh": 0.8, "exp": 1.7, "log": 2.5,
    "sqrt": 2.0, "floor": -2.5, "ceil": -2.5, "abs": -3.25,
}  # fmt: skip


@pytest.mark.parametrize("name", FUNCTIONS)
def test_unary_functions(ti, name):
    function, value = getattr(ti, name), FUNCTIONS[name]

    @ti.kernel
    def single(x: ti.f32) -> ti.f32:
        return function(x)

    @ti.kernel
    def double(x: ti.f64) -> ti.f64:
        return function(x)

    exact = abs(value) if name == "abs" else getattr(math, name)(value)
    assert single(value) == pytest.approx(exact, rel=1e-6)
    assert double(value) == pytest.approx(exact, rel=1e-13)


@pytest.mark.parametrize("name", ["f32", "f64"])
def test_exponentials_far_from_zero(ti, name):
    """Tails are zero, what is too large is infinite, nan stays, with fast_math too; a long loop, so that it is in
    vectors where there are any."""

    @ti.kernel
    def run(x: ti.types.ndarray(), out: ti.types.ndarray()):
        for i in range(x.shape[0]):
            out[i] = ti.exp(x[i])

    some = [-math.inf, -1e30, -1000.0, -800.0, -2.5, -0.0, 0.0, 1e-6, 1.0, 20.0, 800.0, 1e30, math.inf, math.nan]
    x = np.tile(np.array(some, name_of(name)), 20)
    out = np.ones_like(x)
    run(x, out)
    with np.errstate(over="ignore"):
        exact = np.exp(x.astype(np.float64)).astype(x.dtype)
    np.testing.assert_allclose(out, exact, rtol=1e-5 if name == "f32" else 1e-13)


def test_more_functions(ti):
    @ti.kernel
    def run(x: ti.f64, y: ti.f64) -> ti.types.vector(6, ti.f64):
        return ti.Vector([ti.rsqrt(x), ti.atan2(y, x), ti.round(y), ti.max(x, y, 0.0), ti.min(x, y, 9), x // y], ti.f64)

    x, y = 2.5, -1.5
    expected = [1 / math.sqrt(x), math.atan2(y, x), -2, x, y, x // y]
    assert run(x, y).to_list() == pytest.approx(expected, rel=1e-6)


def test_counting_bits(ti):
    @ti.kernel
    def run(x: ti.i32) -> ti.types.vector(2, ti.i32):
        return ti.Vector([ti.math.popcnt(x), ti.math.clz(x)])

    assert run(0xF0F0).to_list() == [8, 16]
    assert run(1).to_list() == [1, 31]
    assert run(-1).to_list() == [32, 0]

    @ti.kernel
    def of_constants() -> ti.types.vector(4, ti.i32):
        return ti.Vector([ti.math.clz(1), ti.math.popcnt(-1), ti.math.clz(ti.i64(1)), ti.bit_shr(-1, 28)])

    assert of_constants().to_list() == [31, 32, 63, 15]


def test_min_and_max_prefer_numbers_to_nan(ti):
    ti.init(arch=ti.cfg.arch, fast_math=False)

    @ti.kernel
    def run(a: ti.f32, b: ti.f32) -> ti.types.vector(2, ti.f32):
        return ti.Vector([ti.min(a, b), ti.max(a, b)])

    assert run(math.nan, 2).to_list() == [2, 2]
    assert run(2, math.nan).to_list() == [2, 2]
    assert run(-math.inf, math.inf).to_list() == [-math.inf, math.inf]


def test_vectors_of_the_default_types(ti):
    ti.init(arch=ti.cfg.arch, default_fp=ti.f64, default_ip=ti.i64)

    @ti.kernel
    def run(n: int, x: float) -> ti.types.vector(4, ti.f64):
        a, b, c, m = ti.math.ivec2(n * 10**6), ti.math.uvec2(n * 10**6), ti.math.vec2(x), ti.math.mat2(x, 0, 0, x)
        return ti.Vector([a.x - 10**11, b.y - ti.u64(10**11), c.x - x, m[1, 1] - x])

    assert run(10**5, 0.1).to_list() == [0, 0, 0, 0]
    assert (ti.math.ivec2.dtype, ti.math.uvec2.dtype, ti.math.vec2.dtype) == (ti.i64, ti.u64, ti.f64)
    ti.init(arch=ti.cfg.arch)
    assert (ti.math.ivec2.dtype, ti.math.uvec2.dtype, ti.math.vec2.dtype) == (ti.i32, ti.u32, ti.f32)
