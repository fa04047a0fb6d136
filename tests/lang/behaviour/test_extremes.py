"""The least and the greatest of floats: a number wins over NaN, and -0.0 is smaller than 0.0."""

import numpy as np
import pytest


@pytest.mark.parametrize("lanes", [1, 8])
@pytest.mark.parametrize("type", ["f16", "f32", "f64"])
def test_extremes_of_zeros_and_nan(ti, type, lanes):
    ti.init(arch=ti.cfg.arch, fast_math=False)
    prim = getattr(ti, type)
    few = np.array([0.0, -0.0, 1.5, -2.0, np.inf, -np.inf, np.nan], prim.np)
    x, y = (array.ravel() for array in np.meshgrid(few, few))
    a, b, least, most = (ti.field(prim, x.size) for _ in range(4))
    left, right, turned = (ti.field(prim, x.size) for _ in range(3))

    @ti.kernel
    def run():
        ti.loop_config(simd=lanes)
        for i in a:
            least[i], most[i] = ti.min(a[i], b[i]), ti.max(a[i], b[i])
            left[i], right[i] = 1.0 / ti.min(a[i], b[i]), 1.0 / ti.max(a[i], b[i])
            turned[i] = ti.min(ti.min(a[i], -b[i]), ti.abs(b[i]))

    def extreme(pick, low, p, q):
        with np.errstate(invalid="ignore"):
            return np.where(p == q, np.where(np.signbit(p) == low, p, q), pick(p, q))

    a.from_numpy(x)
    b.from_numpy(y)
    run()
    low, high = extreme(np.fmin, True, x, y), extreme(np.fmax, False, x, y)
    third = extreme(np.fmin, True, extreme(np.fmin, True, x, -y), np.abs(y))
    with np.errstate(divide="ignore"):
        wanted = {least: low, most: high, left: 1 / low, right: 1 / high, turned: third}
    for field, values in wanted.items():
        found = field.to_numpy()
        np.testing.assert_array_equal(found, values)
        known = ~np.isnan(values)
        np.testing.assert_array_equal(np.signbit(found)[known], np.signbit(values)[known])
