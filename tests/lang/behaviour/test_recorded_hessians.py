"""Second derivatives of kernels whose launches record values: the duals of these are recorded beside them."""

import numpy as np
import pytest

from tests.sampling import every
from weft.lang.kernels.draws import next_key, numbers_from
from weft.lang.program.init import program

N = 6
RANDOM = np.random.default_rng(0)
START, ALONG = RANDOM.uniform(0.3, 1.4, N), RANDOM.uniform(-1, 1, N)
VECTORS = RANDOM.uniform(0.5, 1.5, (N, 2))


class Program:
    """Kernels that overwrite what their gradients need, and what adds up what they leave."""

    def __init__(self, ti):
        self.x, self.y = ti.field(ti.f64, N), ti.field(ti.f64, 2 * N)
        self.v, self.count = ti.Vector.field(2, ti.f64, N), ti.field(ti.i32, ())
        self.m, self.total = ti.field(ti.f64, ()), ti.field(ti.f64, ())
        x, y, v, m, count, total = self.x, self.y, self.v, self.m, self.count, self.total

        @ti.kernel
        def known_loops(k: ti.f64):
            for i in x:
                for j in range(3):
                    y[(i * 7) % N] *= ti.sin(y[(i * 7) % N]) + x[i] * j * k

        @ti.kernel
        def slots(k: ti.f64):
            for i in x:
                if x[i] > 0.5:
                    y[ti.atomic_add(count[None], 1)] = k * x[i] ** 3

        @ti.kernel
        def unknown_loops(k: ti.f64):
            for i in x:
                s = x[i]
                j = 0
                while s < 3.0 and j < 10:
                    s += x[i] * s * 0.3
                    v[(i * 7) % N] = [s * v[(i * 7) % N][0], s * k]
                    s += v[(i * 7) % N][0] * 0.1
                    j += 1
                y[i] += s

        @ti.kernel
        def extremes(k: ti.f64):
            for i in x:
                ti.atomic_max(m[None], ti.sin(x[i]) * x[i] * k)

        @ti.kernel
        def old_values(k: ti.f64):
            for i in x:
                old = ti.atomic_mul(m[None], x[i] + k)
                y[i] = old * old

        @ti.kernel
        def draws(k: ti.f64):
            for i in x:
                for _ in range(2):
                    y[(i * 7) % N] *= ti.sin(y[(i * 7) % N]) + x[i] * k * ti.random(ti.f64)

        @ti.kernel
        def add_up():
            for i in y:
                total[None] += y[i] ** 2 * (i + 1)
            for i in v:
                total[None] += v[i].norm_sqr()
            total[None] += m[None] ** 2

        self.add_up = add_up
        self.kernels = {one.__name__: one for one in (known_loops, slots, unknown_loops, extremes, old_values, draws)}

    def start(self, numbers):
        """Set the fields."""
        self.x.from_numpy(numbers)
        self.v.from_numpy(VECTORS)
        self.y.fill(0.5)
        self.m.fill(0.25)
        self.count.fill(0)
        self.total.fill(0)


KERNELS = ("known_loops", "slots", "unknown_loops", "extremes", "old_values", "draws")
FAR = 1e-6


@pytest.mark.parametrize("steps", [False, True])
@pytest.mark.parametrize("name", every(3, KERNELS))
def test_products_with_the_hessian(ti, name, steps):
    """As differences of gradients, with the same random numbers."""
    made = Program(ti)
    kernel, key = made.kernels[name], next_key(program())

    def f(k):
        for _ in ti.ad.steps(2, memory="1 MB") if steps else range(1):
            kernel(k)
        made.add_up()

    def along(derivative, move, *args):
        made.start(START + move * ALONG)
        with numbers_from(program(), key):
            return derivative(f, made.x, made.total)(*args, 0.7)

    slopes = [along(ti.ad.grad, move) for move in (FAR, -FAR)]
    found = along(ti.ad.hvp, 0, ALONG)
    np.testing.assert_allclose(found, (slopes[0] - slopes[1]) / (2 * FAR), rtol=1e-6, atol=1e-7)


def test_numbers_that_are_passed_by_value(ti):
    """In f32, whose records have half of a word, and with integers and vectors among the records."""
    x, v, at = ti.field(ti.f32, N), ti.Vector.field(2, ti.f32, N), ti.field(ti.i32, N)

    @ti.kernel
    def energy(k: ti.f64) -> ti.f64:
        total = ti.f64(0)
        for i in x:
            at[i] = i + 1
            at[i] = at[i] * 5 % N
            v[at[i]] *= [x[i], ti.cast(k, ti.f32)]
            v[at[i]] *= v[at[i]] * ti.cast(k, ti.f32)
            total += ti.cast(v[at[i]].sum(), ti.f64)
        return total

    def start(move):
        x.from_numpy((START + move * ALONG).astype(np.float32))
        v.from_numpy(VECTORS.astype(np.float32))
        return 0.7 + 2 * move

    far = 1e-2
    slopes = [ti.ad.grad(energy, ["k", x])(start(move)) for move in (far, -far)]
    found = ti.ad.hvp(energy, ["k", x])([2.0, ALONG], start(0))
    for one, ahead, behind in zip(found, *slopes, strict=True):
        np.testing.assert_allclose(one, (ahead - behind) / (2 * far), rtol=1e-2, atol=1e-2)
