"""Decompositions of small matrices, compared with numpy's: how exact they are, and that rounding does not turn them."""

import numpy as np
import pytest

from tests.sampling import only

TYPES = only(["f32"], ["f32", "f64"])
rng = np.random.default_rng(11)


def real(name):
    """The type, and the distance from 1 to its next number."""
    dtype = {"f32": np.float32, "f64": np.float64}[name]
    return dtype, np.finfo(dtype).eps


def near_identity(n, eps, count=6):
    """Matrices that are the identity up to a few roundings."""
    return np.eye(n) + eps * rng.integers(-2, 3, (count, n, n))


def hard_cases(n, name):
    """Matrices of all sizes; with values that are almost equal, zero, far apart; the last is zero."""
    _, eps = real(name)
    far = 1e30 if name == "f32" else 1e200
    turn = np.linalg.qr(rng.standard_normal((n, n)))[0]
    some = [rng.standard_normal((n, n)), turn, turn * (1 + 100 * eps * rng.standard_normal(n))]
    some += [turn * 10.0 ** -np.arange(0, 4 * n, 4), np.outer(turn[0], turn[1]), -np.eye(n), np.eye(n)[::-1]]
    return np.array([s * a for s in (1.0, 1 / far, far) for a in some] + [np.zeros((n, n))])


def decompose(ti, name, matrices, function):
    """(first, second, third) of `function` (svd, or two values) for each matrix, in f64."""
    count, n = matrices.shape[:2]
    fp = getattr(ti, name)
    a, u, v = (ti.Matrix.field(n, n, fp, count) for _ in range(3))
    s = ti.Matrix.field(n, n, fp, count) if function is ti.svd else ti.Vector.field(n, fp, count)
    a.from_numpy(matrices.astype(real(name)[0]))

    @ti.kernel
    def run():
        for i in a:
            if ti.static(function is ti.svd):
                u[i], s[i], v[i] = ti.svd(a[i])
            else:
                s[i], v[i] = ti.sym_eig(a[i])

    run()
    return [x.to_numpy().astype(np.float64) for x in (a, u, s, v)]


@pytest.mark.parametrize("name", TYPES)
@pytest.mark.parametrize("n", [2, 3])
def test_svd_keeps_the_identity_up_to_rounding(ti, n, name):
    _, eps = real(name)
    a, u, s, v = decompose(ti, name, near_identity(n, eps), ti.svd)
    for x in (u, v):  # columns may have changed places, and signs with them: nothing else
        assert np.abs(np.abs(x) - np.round(np.abs(x))).max() <= 16 * eps
    assert np.abs(s - np.eye(n)).max() <= 16 * eps
    assert np.abs(u @ v.transpose(0, 2, 1) - np.eye(n)).max() <= 16 * eps
    assert np.abs(u @ s @ v.transpose(0, 2, 1) - a).max() <= 16 * eps


@pytest.mark.parametrize("name", TYPES)
@pytest.mark.parametrize("n", [2, 3])
def test_svd_is_exact(ti, n, name):
    _, eps = real(name)
    a, u, s, v = decompose(ti, name, hard_cases(n, name), ti.svd)
    expected = np.linalg.svd(a)[1]
    size = np.maximum(expected[:, :1], 1e-300)  # not 0 for the zero matrix
    assert np.abs(u @ (s / size[..., None]) @ v.transpose(0, 2, 1) - a / size[..., None]).max() <= 16 * eps
    assert np.abs((np.abs(np.diagonal(s, 0, 1, 2)) - expected) / size).max() <= (16 if name == "f32" else 40) * eps
    for x in (u, v):
        assert np.abs(x @ x.transpose(0, 2, 1) - np.eye(n)).max() <= 16 * eps
    assert (np.linalg.det(v) > 0).all()


@pytest.mark.parametrize("name", TYPES)
@pytest.mark.parametrize("n", [2, 3])
def test_sym_eig_is_exact_and_keeps_the_identity(ti, n, name):
    _, eps = real(name)
    near, hard = near_identity(n, eps), hard_cases(n, name)
    both = np.concatenate([near, hard])
    a, _, values, vectors = decompose(ti, name, both + both.transpose(0, 2, 1), ti.sym_eig)
    size = np.maximum(np.abs(np.linalg.eigvalsh(a)).max(1), 1e-300)[:, None]
    scaled = values / size
    assert np.abs((a / size[..., None]) @ vectors - vectors * scaled[:, None, :]).max() <= 16 * eps
    assert np.abs(np.sort(scaled, 1) - np.linalg.eigvalsh(a / size[..., None])).max() <= 16 * eps
    assert np.abs(vectors @ vectors.transpose(0, 2, 1) - np.eye(n)).max() <= 16 * eps
    kept = np.abs(vectors[: len(near)])
    assert np.abs(kept - np.round(kept)).max() <= 16 * eps


@pytest.mark.parametrize("name", TYPES)
def test_eig_sees_no_more_than_there_is(ti, name):
    """Of values that are almost equal, half the digits would be lost, or they would be complex."""
    dtype, eps = real(name)
    fp = getattr(ti, name)
    far = 1e30 if name == "f32" else 1e200
    matrices = [
        *near_identity(2, eps),
        *([[s, s * 1e-3], [s * 1e-3, s]] for s in (1 / far, far)),
        [[2.0, 1.0], [0.0, 2.0]],
    ]
    a = ti.Matrix.field(2, 2, fp, len(matrices))
    values, vectors = ti.Matrix.field(2, 2, fp, len(matrices)), ti.Matrix.field(4, 2, fp, len(matrices))
    a.from_numpy(np.array(matrices, dtype))

    @ti.kernel
    def run():
        for i in a:
            values[i], vectors[i] = ti.eig(a[i])

    run()
    l, v, m = (x.to_numpy().astype(np.float64) for x in (values, vectors, a))
    expected = np.sort(np.linalg.eigvals(m).real, 1)[:, ::-1]
    assert (l[:, :, 1] == 0).all()
    assert np.abs(l[:, :, 0] / expected - 1).max() <= 16 * eps
    for k in range(2):
        assert np.abs((m @ v[:, ::2, k, None])[..., 0] / l[:, k, :1] - v[:, ::2, k]).max() <= 16 * eps
    near = np.abs(v[:6, ::2])
    assert np.abs(near - np.round(near)).max() <= 16 * eps


@pytest.mark.parametrize("n", [2, 3])
def test_polar_decomposition_near_the_identity(ti, n):
    _, eps = real("f32")
    given = near_identity(n, eps).astype(np.float32)
    a, r, s = (ti.Matrix.field(n, n, ti.f32, len(given)) for _ in range(3))
    a.from_numpy(given)

    @ti.kernel
    def run():
        for i in a:
            r[i], s[i] = ti.polar_decompose(a[i])

    run()
    for x in (r, s):
        assert np.abs(x.to_numpy() - np.eye(n)).max() <= 16 * eps
    assert np.abs(r.to_numpy() @ s.to_numpy() - given).max() <= 16 * eps


@pytest.mark.parametrize("n", [2, 3])
def test_not_a_number_stays_visible(ti, n):
    @ti.kernel
    def run(x: ti.f32) -> ti.f32:
        a = ti.Matrix.identity(ti.f32, n)
        a[0, n - 1] = x
        _u, s, _v = ti.svd(a)
        values, _vectors = ti.sym_eig(a + a.transpose())
        return s.sum() + values.sum()

    assert np.isnan(run(float("nan")))
    assert np.isnan(run(float("inf")))


@pytest.mark.parametrize("name", TYPES)
@pytest.mark.parametrize("n", [2, 3])
def test_products_of_factors_of_random_matrices(ti, n, name):
    """The largest differences that we measured are 15.4 eps in an element, and 20.2 eps in the norm."""
    _, eps = real(name)
    count = 20 if ti.cfg.arch == ti.python else 4000
    spread = 10.0 ** rng.uniform(-6, 0, (count, 1, n))
    matrices = rng.standard_normal((count, n, n)) * np.where(rng.random((count, 1, 1)) < 0.5, 1.0, spread)
    a, u, s, v = decompose(ti, name, matrices, ti.svd)
    size = np.linalg.svd(a)[1][:, :1, None]
    differences = [(u @ s @ v.transpose(0, 2, 1) - a) / size]
    a, _, values, vectors = decompose(ti, name, matrices + matrices.transpose(0, 2, 1), ti.sym_eig)
    size = np.abs(np.linalg.eigvalsh(a)).max(1)[:, None, None]
    differences.append(((vectors * values[:, None, :]) @ vectors.transpose(0, 2, 1) - a) / size)
    for difference in differences:
        assert np.abs(difference).max() <= 16 * eps
        assert np.linalg.norm(difference, axis=(1, 2)).max() <= 25 * eps
