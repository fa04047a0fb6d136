"""Programs with derivatives for libraries of arrays, which have the same functions under the same names: `xp` is
`jax.numpy` or `torch`."""

import inputs

__all__ = ["SMOKE", "energy", "smoke", "smoke_inputs"]

SMOKE = {"n": 110, "steps": 100, "rounds": 6}


def _carried(xp, integers, of, from_x, from_y):
    n = SMOKE["n"]
    low_x, low_y = xp.floor(from_x), xp.floor(from_y)
    fx, fy = from_x - low_x, from_y - low_y
    i, j = integers(low_x) % n, integers(low_y) % n
    k, m = (i + 1) % n, (j + 1) % n
    low = (1 - fy) * of[i, j] + fy * of[i, m]
    return (1 - fx) * low + fx * ((1 - fy) * of[k, j] + fy * of[k, m])


def smoke(xp, integers, roll, repeat, start, ink, target):
    """The loss of `more_simulations.smoke_110`. `integers(x)` makes integers of floats, `roll(x, shift, axis)` is
    numpy's, and `repeat(step, state, count)` runs a step again and again."""
    n = SMOKE["n"]
    i, j = xp.arange(n)[:, None], xp.arange(n)[None, :]

    def step(state):
        vx, vy, dye = state
        x, y = i - vx, j - vy
        ux, uy = _carried(xp, integers, vx, x, y), _carried(xp, integers, vy, x, y)
        source = -0.5 * (roll(ux, -1, 0) - roll(ux, 1, 0) + roll(uy, -1, 1) - roll(uy, 1, 1))
        p = xp.zeros_like(source)
        for _ in range(SMOKE["rounds"]):
            p = (source + roll(p, -1, 0) + roll(p, 1, 0) + roll(p, -1, 1) + roll(p, 1, 1)) / 4
        vx = ux - 0.5 * (roll(p, -1, 0) - roll(p, 1, 0))
        vy = uy - 0.5 * (roll(p, -1, 1) - roll(p, 1, 1))
        return vx, vy, _carried(xp, integers, dye, i - vx, j - vy)

    _, _, dye = repeat(step, (start, xp.zeros_like(start), ink), SMOKE["steps"] - 1)
    return ((dye - target) ** 2).mean()


def energy(xp, x):
    """The loss of `more_simulations.energy_8192`."""
    apart = x[None, :, :] - x[:, None, :]
    return -(1 / xp.sqrt((apart**2).sum(-1) + 1e-4)).sum() / (2 * len(x))


def smoke_inputs():
    """The velocity in the beginning, the smoke, and what it shall become."""
    n = SMOKE["n"]
    return inputs.floats(n, n) - 0.5, inputs.floats(n, n), inputs.floats(n + 1, n)[1:].copy()
