"""Slices of vectors and matrices, beside indices known only when the kernel runs: read, written, updated."""

import numpy as np
import pytest

from weft.ir.errors import CompilationError

START = np.arange(12.0).reshape(3, 4)


def test_of_a_variable(ti):
    wide = ti.types.matrix(3, 4, ti.f32)

    @ti.kernel
    def read(i: ti.i32, j: ti.i32) -> ti.types.vector(14, ti.f32):
        m = wide(START.ravel().tolist())
        a, b, c, d, e = m[i, :], m[:, j], m[i, 1:3], (m + m)[1:, j], m[i, ::-2]
        return ti.Vector([*a, *b, *c, *d, *e, m[ti.i32(1), 2:].sum()])

    @ti.kernel
    def write(i: ti.i32, j: ti.i32) -> wide:
        m = wide(START.ravel().tolist())
        m[i, :] = ti.Vector([-1.0, -2.0, -3.0, -4.0])
        m[:, j] = 7
        m[i, 1:3] += 100
        m[:, j + 1] *= ti.Vector([2.0, 3.0, 4.0])
        m[0, :], m[i, :] = m[i, :], m[0, :]
        m[i, 2:] = m[i, :2]
        return m

    for i in range(3):
        for j in range(3):
            m = START.copy()
            parts = m[i, :], m[:, j], m[i, 1:3], (m + m)[1:, j], m[i, ::-2], [m[1, 2:].sum()]
            assert read(i, j).to_list() == np.concatenate(parts).tolist()
            m[i, :] = [-1, -2, -3, -4]
            m[:, j] = 7
            m[i, 1:3] += 100
            m[:, j + 1] *= [2, 3, 4]
            m[0, :], m[i, :] = m[i, :].copy(), m[0, :].copy()
            m[i, 2:] = m[i, :2].copy()
            assert np.array_equal(write(i, j).to_numpy(), m)


def test_of_elements_of_fields_and_arrays(ti):
    x = ti.Matrix.field(3, 4, ti.f32, 5)
    a = ti.Matrix.ndarray(3, 4, ti.f32, 5)

    @ti.func
    def change(y: ti.template(), k, i, j):
        y[k][i, :] = y[k + 1][2 - i, :] * 2
        y[k][:, j] += 1
        y[k][i, 1:3] -= ti.Vector([5.0, 6.0])
        y[k + 1][:2, j] = y[k][i, 1:3]

    @ti.kernel
    def of_field(i: ti.i32, j: ti.i32):
        for _ in range(1):
            change(x, 2, i, j)

    @ti.kernel
    def of_array(y: ti.types.ndarray(ti.types.matrix(3, 4, ti.f32), 1), i: ti.i32, j: ti.i32):
        for _ in range(1):
            change(y, 2, i, j)

    start = np.arange(60, dtype=np.float32).reshape(5, 3, 4)
    for i, j in ((0, 0), (1, 3), (2, 2)):
        y = start.copy()
        y[2][i, :] = y[3][2 - i, :] * 2
        y[2][:, j] += 1
        y[2][i, 1:3] -= [5, 6]
        y[3][:2, j] = y[2][i, 1:3]
        x.from_numpy(start)
        of_field(i, j)
        assert np.array_equal(x.to_numpy(), y)
        a.from_numpy(start)
        of_array(a, i, j)
        assert np.array_equal(a.to_numpy(), y)


def test_in_parallel(ti):
    x = ti.Matrix.field(3, 3, ti.f32, 40)

    @ti.kernel
    def run():
        for k in x:
            for i in range(3):
                x[k][i, :] += x[k][(i + 1) % 3, :]
            for j in range(3):
                x[k][:, j] = x[k][:, 2 - j] * 0.5

    y = np.random.default_rng(1).integers(0, 64, (40, 3, 3)).astype(np.float32)
    x.from_numpy(y)
    run()
    for k in range(40):
        for i in range(3):
            y[k][i, :] += y[k][(i + 1) % 3, :]
        for j in range(3):
            y[k][:, j] = y[k][:, 2 - j] * 0.5
    assert np.array_equal(x.to_numpy(), y)


def test_of_constants_parameters_and_templates(ti):
    constant = ti.Matrix([[1.0, 2.0], [3.0, 4.0]])
    x = ti.Matrix.field(2, 2, ti.f32, ())

    @ti.func
    def set_row(m: ti.template(), i, v):
        m[i, :] = v

    @ti.kernel
    def run(m: ti.math.mat2, i: ti.i32) -> ti.math.mat2:
        n = m
        set_row(n, i, constant[i, :] + m[:, i])
        set_row(x[None], 1 - i, n[i, :] * 2)
        return n

    assert run(ti.Matrix([[10.0, 20.0], [30.0, 40.0]]), 1).to_list() == [[10, 20], [23, 44]]
    assert x[None].to_list() == [[46, 88], [0, 0]]


def test_out_of_bounds(ti):
    ti.init(arch=ti.cfg.arch, debug=True)
    x = ti.Matrix.field(3, 4, ti.f32, 5)

    @ti.kernel
    def read(i: ti.i32) -> ti.f32:
        m = ti.Matrix([[1.0, 2.0], [3.0, 4.0]])
        return m[i, :].sum()

    @ti.kernel
    def write(j: ti.i32):
        x[0][1:, j] = 3.0

    assert read(1) == 7
    with pytest.raises(IndexError, match=r"m\[2, 0\] is out of bounds: its shape is \(2, 2\)"):
        read(2)
    write(3)
    with pytest.raises(IndexError, match=r"x\[0\]\[1, 4\] is out of bounds: its shape is \(3, 4\)"):
        write(4)


@pytest.mark.parametrize(
    ("index", "message"),
    [
        ("m[0, n:]", "the bounds of a slice must be known"),
        ("m[ti.Vector([n, 1]), :]", "an index beside a slice must be a single integer"),
        ("m[5, :]", r"index 5 of axis 0 is out of bounds"),
        ("m[1.5, :]", "an index must be an integer, not f32"),
        ("m[n, 1:1]", "this slice is empty"),
        ("m[n, :, 0]", "takes 2 indices, got 3"),
    ],
)
def test_mistakes(ti, index, message):
    body = f"m = ti.Matrix([[1.0, 2.0], [3.0, 4.0]])\n    return {index}.sum()\n"
    text = f"@ti.kernel\ndef k(n: ti.i32) -> ti.f32:\n    {body}"
    exec(text, scope := {"ti": ti})
    with pytest.raises(CompilationError, match=message):
        scope["k"](1)


def test_a_place_is_found_once_and_in_order(ti):
    """Also where several of its elements are written. A plain assignment computes its value first, another its place,
    as Python does."""
    count = ti.field(ti.i32, 16)
    v = ti.Vector.field(4, ti.i32, 8)
    m = ti.Matrix.field(2, 2, ti.f32, 8)

    @ti.func
    def next_of(k):
        return ti.atomic_add(count[k], 1)

    @ti.kernel
    def run() -> ti.i32:
        v[next_of(0)].xy = ti.Vector([next_of(0) + 10, next_of(0) + 10])
        v[next_of(1) + 3][1:3] = ti.Vector([next_of(1) + 20, next_of(1) + 20])
        v[next_of(2)].wz += ti.Vector([next_of(2) + 30, next_of(2) + 30])
        v[next_of(3) + 1].x += next_of(3) + 40
        v[next_of(4) + 1][1] += 2 * next_of(4) + 50
        m[next_of(5)] @= ti.Matrix([[1.0, 2.0], [3.0, 4.0]])
        m[next_of(6) + 1][next_of(6), :] += next_of(6)
        return ti.atomic_add(v[next_of(7) + 6].x, next_of(7) + 60)

    m[0] = [[1, 0], [0, 1]]
    assert run() == 0
    assert count.to_numpy().tolist() == [3, 3, 3, 2, 2, 1, 3, 2] + [0] * 8
    wanted = np.zeros((8, 4), int)
    wanted[2, :2] = 10, 11
    wanted[5, 1:3] = 20, 21
    wanted[0, 2:] = 32, 31
    wanted[1, :2] = 41, 52
    wanted[6, 0] = 61
    assert v.to_numpy().tolist() == wanted.tolist()
    assert m.to_numpy()[:2].tolist() == [[[1, 2], [3, 4]], [[0, 0], [2, 2]]]


def test_what_is_not_used_is_evaluated_once(ti):
    count = ti.field(ti.i32, 16)

    @ti.func
    def next_of(k):
        return ti.atomic_add(count[k], 1)

    @ti.kernel
    def run() -> ti.types.vector(8, ti.i32):
        a = ti.Vector([next_of(0), next_of(0)])[0]
        b = ti.Vector([next_of(1), next_of(1)]).y
        c = ti.Matrix([[next_of(2), next_of(2)], [5, 6]])[next_of(2) - 1, :]
        d = (next_of(3), next_of(3))[1]
        e = {"a": next_of(4), "b": next_of(4)}
        f = [x + x for x in [next_of(5), next_of(5)]]
        g = len([next_of(6), next_of(6)]) + ti.Vector([next_of(6), 1]).n + ti.zero(next_of(6))
        return ti.Vector([a, b, c[0], d, e["b"] + e["b"], f[0] + f[1], g, 0])

    assert run().to_list() == [0, 1, 5, 1, 2, 2, 4, 0]
    assert count.to_numpy().tolist() == [2, 2, 3, 2, 2, 2, 4] + [0] * 9
