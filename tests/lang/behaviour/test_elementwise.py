"""`ti.elementwise`: functions of numbers as functions of arrays."""

import numpy as np
import pytest

from weft.ir.errors import WeftError


@pytest.fixture
def mix(ti):
    @ti.elementwise
    def mix(x, y, w=0.5):
        return x * (1 - w) + y * w

    return mix


def wanted(x, y, w=0.5):
    return x * (1 - w) + y * w


SHAPES = [
    [(5,), (5,)],
    [(3, 4), (3, 4)],
    [(3, 4), (4,)],
    [(3, 1), (4,)],
    [(1, 4), (3, 1)],
    [(2, 3, 4), (3, 1)],
    [(2, 1, 4), (5, 1, 3, 1)],
    [(), (3,)],
    [(), ()],
    [(1,), (1, 1)],
    [(0,), (1,)],
    [(3, 0), (3, 1)],
]


@pytest.mark.parametrize(("a", "b"), SHAPES)
def test_shapes_broadcast_as_numpys(mix, a, b):
    x, y = np.random.default_rng(1).random(a), np.random.default_rng(2).random(b)
    x, y = np.asarray(x), np.asarray(y)
    got, want = mix(x, y), wanted(x, y)
    assert type(got) is type(want)
    assert (got.dtype, got.shape) == (want.dtype, want.shape)
    np.testing.assert_allclose(got, want)


def test_strided_operands(mix):
    x = np.arange(24.0).reshape(4, 6)
    for a, b in ((x.T, x.T[::-1]), (x[::2, 1:4], x[1::2, :3]), (x[:, ::-1], x[0]), (np.broadcast_to(x[0], (4, 6)), x)):
        np.testing.assert_allclose(mix(a, b, 0.25), wanted(a, b, 0.25))


def test_types_are_those_of_a_kernel(ti):
    @ti.elementwise
    def add(a, b):
        return a + b

    cases = [
        (np.int32, np.int32, np.int32),
        (np.uint8, np.int16, np.int16),
        (np.int32, np.float32, np.float32),  # (numpy: float64)
        (np.float32, np.float64, np.float64),
        (np.float16, np.float16, np.float16),
        (np.int64, np.uint64, np.uint64),
    ]
    for a, b, want in cases:
        assert add(np.ones(3, a), np.ones(3, b)).dtype == want
    for array, number, want in (
        (np.float32, 1.5, np.float32),
        (np.float64, 1.5, np.float64),
        (np.int32, 1.5, np.float32),
        (np.uint8, 300, np.int32),
        (np.int64, 1, np.int64),
        (np.int32, 2**40, np.int64),
        (np.float32, np.float64(2), np.float64),
        (np.int32, True, np.int32),
    ):
        got = add(np.ones(2, array), number)
        assert (got.dtype, got[0]) == (want, np.asarray(number + 1).astype(want))


def test_a_double_keeps_its_digits(ti):
    @ti.elementwise
    def add(a, b):
        return a + b

    assert add(np.zeros(1), 0.1)[0] == 0.1


def test_numbers_alone(ti, mix):
    assert mix(1.0, 3.0) == 2
    assert type(mix(1.0, 3.0)) is np.float32
    assert type(mix(np.float64(1), 3.0)) is np.float64


def test_keywords_and_defaults(mix):
    x = np.arange(3.0)
    np.testing.assert_allclose(mix(y=x, x=1.0, w=x), wanted(1.0, x, x))


def test_several_results(ti):
    @ti.elementwise
    def polar(x, y):
        return ti.sqrt(x * x + y * y), ti.atan2(y, x), x > y

    x, y = np.random.default_rng(3).random((2, 4, 3), np.float32)
    r, angle, greater = polar(x, y[0])
    np.testing.assert_allclose(r, np.hypot(x, y[0]), rtol=1e-5)
    np.testing.assert_allclose(angle, np.arctan2(y[0], x), rtol=1e-5)
    assert greater.dtype == bool
    assert (greater == (x > y[0])).all()
    out = np.empty((4, 3)), np.empty((4, 3)), np.empty((4, 3), np.int32)
    assert polar(x, y[0], out=out) is out
    assert (out[2] == greater).all()
    assert (out[0] == r).all()


def test_out(ti, mix):
    x, y = np.arange(6.0), np.ones(6)
    out = np.zeros(12, np.float32)
    assert mix(x, y, out=out[::2]) is not None
    np.testing.assert_allclose(out[::2], wanted(x, y))
    assert not out[1::2].any()
    mix(x, y, out=x)
    np.testing.assert_allclose(x, wanted(np.arange(6.0), y))


def test_out_that_overlaps_an_operand(ti):
    @ti.elementwise
    def add(a, b):
        return a + b

    a = np.arange(1000.0)
    want = a.copy()
    want[1:] = want[:-1] + want[1:]
    add(a[:-1], a[1:], out=a[1:])
    assert (a == want).all()
    square = np.arange(16.0).reshape(4, 4)
    want = square + square.T
    add(square, square.T, out=square)
    assert (square == want).all()

    @ti.elementwise
    def swap(a, b):
        return b, a

    a, b = np.arange(5), np.arange(5) + 10
    swap(a, b, out=(a, b))
    assert (a.tolist(), b.tolist()) == ([10, 11, 12, 13, 14], [0, 1, 2, 3, 4])


def test_fields_and_ndarrays(ti, mix):
    x, y = ti.field(ti.f32, (3, 4)), ti.ndarray(ti.f32, (3, 4))
    x.fill(1)
    y.fill(3)
    got = mix(x, y)
    assert isinstance(got, ti.Ndarray)
    assert (got.to_numpy() == 2).all()
    row = np.arange(4, dtype=np.float32)
    np.testing.assert_allclose(mix(row, x).to_numpy(), np.broadcast_to(wanted(row, 1), (3, 4)))
    mix(x, 5.0, out=x)
    assert (x.to_numpy() == 3).all()
    v = ti.Vector.field(2, ti.f32, 3)
    v.fill(2)
    assert mix(v, 0.0).shape == (3, 2)
    soa = ti.Vector.field(2, ti.f32, 3, layout=ti.Layout.SOA)
    soa.fill(4)
    assert (mix(soa, v).to_numpy() == 3).all()
    nested = ti.field(ti.f32)
    ti.root.dense(ti.i, 2).dense(ti.i, 2).place(nested)
    assert mix(nested, 1.0).shape == (4,)  # one axis, one stride
    blocks = ti.field(ti.f32)
    ti.root.dense(ti.ij, 2).dense(ti.ij, 2).place(blocks)
    with pytest.raises(WeftError, match=r"elementwise 'mix': operand 'x'.*nested blocks"):
        mix(blocks, 1.0)


def test_functions_of_the_language(ti):
    x = np.array([1.0, -2.0])
    assert ti.elementwise(ti.max)(x, 0.5).tolist() == [1, 0.5]
    assert ti.elementwise(ti.abs)(x).tolist() == [1, 2]

    @ti.func
    def square(x):
        return x * x

    @ti.pyfunc
    def cube(x):
        return square(x) * x

    assert ti.elementwise(square)(x).tolist() == [1, 4]
    assert ti.elementwise(cube)(x).tolist() == [1, -8]


def test_methods(ti):
    @ti.data_oriented
    class Scale:
        def __init__(self, factor):
            self.factor = factor

        @ti.func
        def scaled(self, x, more=0):
            return x * self.factor + more

    scale = Scale(3)
    scaled = ti.elementwise(scale.scaled)
    assert scaled(np.arange(3)).tolist() == [0, 3, 6]
    scale.factor = 4
    assert scaled(np.arange(3), more=1).tolist() == [1, 5, 9]


def test_warnings_come_once_and_show_the_users_lines(ti):
    @ti.elementwise
    def whole(x):
        y = 0
        y += x
        return y

    with pytest.warns(UserWarning, match="the fraction is lost") as caught:
        assert whole(np.array([1.5])).tolist() == [1]
    assert len(caught) == 1
    assert "generated" not in str(caught[0].message)


def test_control_flow(ti):
    @ti.elementwise
    def collatz(n):
        steps = 0
        while n > 1:
            n = n // 2 if n % 2 == 0 else 3 * n + 1
            steps += 1
        return steps

    assert collatz(np.arange(1, 8)).tolist() == [0, 1, 7, 2, 5, 8, 16]


SCALE = 2


def test_a_global_that_changes(ti):
    global SCALE

    @ti.elementwise
    def scaled(x):
        return x * SCALE

    SCALE = 2
    assert scaled(np.ones(2, np.int32)).tolist() == [2, 2]
    SCALE = 2.5
    got = scaled(np.ones(2, np.int32))
    assert (got.dtype, got.tolist()) == (np.float32, [2.5, 2.5])


def test_a_new_program(ti, mix):
    assert mix(np.float32(1), 2).dtype == np.float32
    x = np.ones(2, np.int32)
    assert mix(x, 0.0).dtype == np.float32
    ti.init(arch=ti.cfg.arch, default_fp=ti.f64)
    assert mix(x, 0.0).dtype == np.float64


def test_names_of_parameters(ti):
    @ti.elementwise
    def f(_function, _i0, out0, i):
        return _function + _i0 * 10 + out0 * 100 + i * 1000

    assert f(np.array([1, 2]), 1, 1, np.array([1, 2])).tolist() == [1111, 2112]


def test_mistakes(ti, mix):
    x = np.zeros((2, 3))
    for run, message in (
        (lambda: mix(x, np.zeros((3, 2))), r"elementwise 'mix'.*cannot be broadcast: x\(2, 3\), y\(3, 2\)"),
        (lambda: mix(x), "takes x, y, w: missing a required argument: 'y'"),
        (lambda: mix(x, [1, 2, 3]), "operand 'y'.*neither an array nor a number"),
        (lambda: mix(x, None), "operand 'y', None: it is neither an array nor a number"),
        (lambda: mix(x, np.zeros(3, complex)), r"operand 'y', ndarray of shape \(3,\).*complex128"),
        (lambda: mix(x, 2**70), "operand 'y' is 1180591620717411303424, which does not fit any integer type"),
        (lambda: mix(x, 1, out=np.zeros((3, 2))), r"returns shape \(2, 3\), but out= has shape \(3, 2\)"),
        (lambda: mix(x, 1, out=np.zeros((2, 3), int)), "returns elements of f64, but out= has elements of i64"),
        (lambda: mix(x, 1, out=(x, x)), "returns 1 arrays, but out= has 2"),
        (lambda: mix(x, 1, out=3), "out=.*neither"),
        (lambda: mix(x, ti.types.struct(a=ti.f32).field(shape=3)), "operand 'y'"),
        (lambda: ti.elementwise(3), "not 3"),
        (lambda: ti.elementwise(ti.f32), "function of numbers"),
        (lambda: ti.elementwise(lambda *a: 1), "parameter 'a' must be positional"),
    ):
        with pytest.raises(WeftError, match=message):
            run()
    frozen = np.zeros(3)
    frozen.flags.writeable = False
    with pytest.raises(WeftError, match="read-only"):
        mix(frozen, 1.0, out=frozen)


def test_mistakes_in_the_function(ti):
    @ti.elementwise
    def vector(x):
        return ti.Vector([x, x])

    @ti.elementwise
    def unknown(x):
        return x + nothing  # noqa: F821

    @ti.elementwise
    def shifts(x):
        return x << 1

    for function, message in (
        (vector, "in vector\n.*\n.*\nit returns a value of type f64x2: return a number, or a tuple"),
        (unknown, "in unknown\n.*\n.*\n'nothing' is not defined"),
        (shifts, "in shifts\n"),
    ):
        with pytest.raises(WeftError, match=message) as caught:
            function(np.ones(2))
        assert "generated" not in str(caught.value)


def test_tensors(torch, mix):
    x, y = torch.rand(3, 4), torch.rand(4, 3)
    got = mix(x, y.T)
    assert isinstance(got, torch.Tensor)
    assert torch.allclose(got, wanted(x, y.T))
    assert torch.allclose(mix(x, y.T[0], out=x), x)
    assert mix(torch.ones(2, requires_grad=True), np.ones(2)).tolist() == [1, 1]
    assert mix(torch.tensor(1.0), torch.tensor(3.0)).tolist() == 2
    with pytest.raises(WeftError, match=r"operand 'y', Tensor of shape \(2,\).*bfloat16"):
        mix(1.0, torch.ones(2, dtype=torch.bfloat16))


def test_jax_arrays(jnp, mix):
    x = jnp.arange(4.0)
    got = mix(x, np.ones((3, 1), np.float32))
    assert isinstance(got, type(x))
    assert np.allclose(got, wanted(np.asarray(x), np.ones((3, 1))))
    with pytest.raises(WeftError, match="read-only"):
        mix(x, 1.0, out=x)
