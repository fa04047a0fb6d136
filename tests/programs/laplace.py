"""A plate held at different temperatures on its sides: Jacobi's iteration, until hardly anything changes."""

import taichi as ti

ti.init(default_fp=ti.f64)

n = 20
now = ti.field(float, shape=(n, n))
then = ti.field(float, shape=(n, n))
residual = ti.field(float, shape=())


@ti.kernel
def hold(hot: float):
    for i in range(n):
        now[0, i] = then[0, i] = hot
        if i > 0:  # the corner belongs to the first row
            now[i, n - 1] = then[i, n - 1] = -hot / 2


@ti.kernel
def relax(source: ti.template(), target: ti.template()) -> float:
    residual[None] = 0
    for i, j in ti.ndrange((1, n - 1), (1, n - 1)):
        mean = 0.0
        for di, dj in ti.static([(0, 1), (1, 0), (0, -1), (-1, 0)]):
            mean += source[i + di, j + dj] / 4
        ti.atomic_max(residual[None], abs(mean - source[i, j]))
        target[i, j] = mean
    return residual[None]


def main():
    hold(8.0)
    left, steps = 1.0, 0
    while left > 1e-3 and steps < 400:
        left = relax(now, then)
        left = max(left, relax(then, now))
        steps += 2
    return {"plate": now.to_numpy(), "steps": steps, "left": left}
