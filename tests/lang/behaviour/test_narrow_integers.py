"""Integers that leave the range of their type wrap before anybody looks at them: every type, operator and consumer."""

import numpy as np
import pytest

INTS = ("i8", "u8", "i16", "u16", "i32", "u32")
# By name: what the operator gives, of numpy's integers of 64 bits; it is cut to the type afterwards.
OPERATORS = {
    "neg": lambda x, y: -x,
    "abs": lambda x, y: abs(x),
    "sub": lambda x, y: x - y,
    "add": lambda x, y: x + y,
    "mul": lambda x, y: x * y,
    "not": lambda x, y: ~x,
    "neg of sub": lambda x, y: y - x,
}
KINDS = (*OPERATORS, "abs of sub")
TABLE = 64


def values(type):
    """Pairs of numbers of that type, at the edges of the narrow types most of them."""
    edges = np.array([-(2**31), -32768, -129, -128, -1, 0, 5, 127, 255, 32767, 2**31 - 1])
    kept = np.unique(edges.astype(type.np))
    x, y = np.meshgrid(kept, kept)
    return x.ravel(), y.ravel()


def wrapped(name, type, x, y):
    """What the operator gives, as a number of that type."""
    x, y = x.astype(np.int64), y.astype(np.int64)
    if name == "abs of sub":
        return np.abs((x - y).astype(type.np).astype(np.int64)).astype(type.np)
    return OPERATORS[name](x, y).astype(type.np)


def operation(ti):
    """The function that computes what is looked at."""

    @ti.func
    def computed(kind: ti.template(), p, q):
        c = p
        if ti.static(kind == "neg"):
            c = -p
        elif ti.static(kind == "abs"):
            c = abs(p)
        elif ti.static(kind == "sub"):
            c = p - q
        elif ti.static(kind == "add"):
            c = p + q
        elif ti.static(kind == "mul"):
            c = p * q
        elif ti.static(kind == "not"):
            c = ~p
        elif ti.static(kind == "neg of sub"):
            c = -(p - q)
        else:
            c = abs(p - q)
        return c

    return computed


def seen(type, c, y):
    """What each consumer of `c` sees, in the order of the fields of the test."""
    long, other = c.astype(np.int64), y.astype(np.int64)
    divisor = np.where(other == 0, 1, other)
    return [
        long,
        c.astype(np.int32),
        c.astype(np.uint64),
        c.astype(np.float64),
        c.astype(np.float32),
        long < other,
        long < 0,
        long > 100,
        long // 3,
        long % 7,
        np.where(other == 0, 0, long // divisor).astype(type.np),
        long >> 2,
        np.minimum(long, other),
        np.maximum(long, other),
        long % TABLE * 3,
    ]


@pytest.mark.parametrize("type", INTS)
def test_wrapped_values_are_read_wrapped(ti, type):
    type = getattr(ti, type)
    x, y = values(type)
    n, kinds = len(x), len(KINDS)
    a, b = ti.field(type, n), ti.field(type, n)
    wide = ti.field(ti.i64, (kinds, n))
    word = ti.field(ti.i32, (kinds, n))
    unsigned = ti.field(ti.u64, (kinds, n))
    real = ti.field(ti.f64, (kinds, n))
    single = ti.field(ti.f32, (kinds, n))
    less, negative, above = (ti.field(ti.i32, (kinds, n)) for _ in range(3))
    third, rest, ratio, shifted = (ti.field(ti.i64, (kinds, n)) for _ in range(4))
    smaller, larger, found = (ti.field(ti.i64, (kinds, n)) for _ in range(3))
    table, total, greatest = ti.field(ti.i32, TABLE), ti.field(ti.i64, kinds), ti.field(ti.i64, kinds)

    computed = operation(ti)

    @ti.func
    def look(k: ti.template(), i, c):
        wide[k, i] = c
        word[k, i] = ti.cast(c, ti.i32)
        unsigned[k, i] = ti.cast(c, ti.u64)
        real[k, i] = c
        single[k, i] = c
        less[k, i] = c < b[i]
        negative[k, i] = c < 0
        above[k, i] = c > 100
        third[k, i] = c // 3
        rest[k, i] = c % 7
        ratio[k, i] = c // b[i]
        shifted[k, i] = c >> 2
        smaller[k, i] = ti.min(c, b[i])
        larger[k, i] = ti.max(c, b[i])
        found[k, i] = table[c % TABLE]
        total[k] += c
        ti.atomic_max(greatest[k], c)

    @ti.kernel
    def run():
        for i in a:
            for k in ti.static(range(kinds)):
                look(k, i, computed(ti.static(KINDS[k]), a[i], b[i]))

    a.from_numpy(x)
    b.from_numpy(y)
    table.from_numpy(np.arange(TABLE, dtype=np.int32) * 3)
    greatest.fill(-(2**62))
    run()
    for k, name in enumerate(KINDS):
        c = wrapped(name, type, x, y)
        long = c.astype(np.int64)
        consumers = [wide, word, unsigned, real, single, less, negative, above]
        consumers += [third, rest, ratio, shifted, smaller, larger, found]
        for number, (made, right) in enumerate(zip(consumers, seen(type, c, y), strict=True)):
            np.testing.assert_array_equal(made.to_numpy()[k], right, f"{name} of {type}, consumer {number}")
        assert total[k] == long.sum(), name
        assert greatest[k] == long.max(), name


@pytest.mark.parametrize("type", ["i8", "i16"])
def test_differences_of_two_types(ti, type):
    """The common type of u8 and i16 is i16, that of u8 and i8 is u8."""
    narrow = getattr(ti, type)
    x, y = np.meshgrid(
        np.array([0, 1, 127, 128, 255], np.uint8),
        np.unique(np.array([-32768, -128, 0, 1, 127, 32767]).astype(narrow.np)),
    )
    x, y = x.ravel(), y.ravel()
    a, b = ti.field(ti.u8, len(x)), ti.field(narrow, len(x))
    plain, positive, turned = (ti.field(ti.i32, len(x)) for _ in range(3))

    @ti.kernel
    def run(zero: ti.u8):
        for i in a:
            plain[i] = a[i] - b[i]
            positive[i] = abs(a[i] - b[i])
            turned[i] = zero - b[i]

    a.from_numpy(x)
    b.from_numpy(y)
    run(0)
    common = np.int16 if type == "i16" else np.uint8
    difference = (x.astype(np.int64) - y).astype(common)
    np.testing.assert_array_equal(plain.to_numpy(), difference)
    np.testing.assert_array_equal(positive.to_numpy(), np.abs(difference.astype(np.int64)).astype(common))
    np.testing.assert_array_equal(turned.to_numpy(), (-y.astype(np.int64)).astype(common))


@pytest.mark.parametrize("type", ["i8", "i16", "i32", "i64"])
@pytest.mark.parametrize("kind", ["min", "max"])
def test_extremes_of_negated_numbers(ti, type, kind):
    """`max(max(a, -b), -c)`, and truth values as factors."""
    x, y = values(getattr(ti, type))
    z = np.roll(x, 3)
    a, b, c, chain, scaled = (ti.field(getattr(ti, type), len(x)) for _ in range(5))
    extreme = getattr(ti, kind)

    @ti.kernel
    def run() -> ti.i64:
        for i in a:
            chain[i] = extreme(extreme(a[i], -b[i]), -c[i])
            scaled[i] = extreme(extreme(a[i], -b[i] * (a[i] < c[i])), -c[i] * (b[i] <= a[i]))
        best = ti.cast(0, ti.i32)
        for i in range(a.shape[0]):
            for v in range(5):
                ti.atomic_max(best, (-i) * (v <= a[v]))
        return best

    for field, array in ((a, x), (b, y), (c, z)):
        field.from_numpy(array)
    found = run()
    pick, cut = (np.minimum if kind == "min" else np.maximum), x.dtype
    x, y, z = (array.astype(np.int64) for array in (x, y, z))

    def wrap(array):
        return array.astype(cut).astype(np.int64)

    np.testing.assert_array_equal(chain.to_numpy(), pick(pick(x, wrap(-y)), wrap(-z)))
    factors = pick(pick(x, wrap(-y) * (x < z)), wrap(-z) * (y <= x))
    np.testing.assert_array_equal(scaled.to_numpy(), factors)
    assert found == 0
