"""The patterns by which `ti.ad.jacobian` colours columns, on random programs: they must have every number that is not
0. The indices are sums, remainders, limits, permutations, numbers from a field, and indices of serial loops."""

import numpy as np
import pytest

import weft as ti
from tests.lang.behaviour.derivatives import close
from tests.sampling import every
from weft.lang.autodiff import jacobians

N = 14
KINDS = 9


@ti.func
def place(i, kind: ti.template(), c: ti.template(), table: ti.template()):
    """A number that may be an index of a field of N numbers."""
    k = i + c
    if ti.static(kind == 1):
        k = (i + c + N) % N
    elif ti.static(kind == 2):
        k = ti.max(i - ti.abs(c), 0)
    elif ti.static(kind == 3):
        k = ti.min(i + ti.abs(c), N - 1)
    elif ti.static(kind == 4):
        k = N - 1 - i
    elif ti.static(kind == 5):
        k = table[i]
    elif ti.static(kind == 6):
        k = (i * 2 + N) % N
    elif ti.static(kind == 7):
        k = ti.abs(c)
    elif ti.static(kind == 8):
        k = ti.max(ti.min(i + c, N - 2), 1)
    return k


@ti.kernel
def pointwise(a: ti.template(), b: ti.template(), kinds: ti.template(), cs: ti.template(), table: ti.template()):
    for i in range(N):
        j, k = place(i, kinds[0], cs[0], table), place(i, kinds[1], cs[1], table)
        if 0 <= j < N and 0 <= k < N:
            b[i] += a[j] * a[k]


@ti.kernel
def scattered(a: ti.template(), b: ti.template(), kinds: ti.template(), cs: ti.template(), table: ti.template()):
    for i in range(1, N):
        j, k = place(i, kinds[0], cs[0], table), place(i, kinds[1], cs[1], table)
        if 0 <= j < N and 0 <= k < N:
            b[j] += ti.sin(a[k])


@ti.kernel
def windowed(a: ti.template(), b: ti.template(), kinds: ti.template(), cs: ti.template(), table: ti.template()):
    for i in range(N):
        s = ti.f64(0.0)
        for d in range(-1, 2):
            k = place(i + d, 0, cs[0], table)
            if 0 <= k < N:
                s += a[k] * (d + 2)
        k = place(i, kinds[1], cs[1], table)
        if 0 <= k < N:
            b[k] += s * s


KERNELS = (pointwise, scattered, windowed)


@pytest.mark.parametrize("seed", every(8, range(64)))
def test_patterns_have_all_that_is_not_0(seed, monkeypatch):
    ti.init(arch=ti.cpu)
    random = np.random.default_rng(seed)
    fields, table = [ti.field(ti.f64, N) for _ in range(3)], ti.field(ti.i32, N)
    table.from_numpy(random.integers(0, N, N))
    # most of the programs have only indices of which something is known
    kinds = [0, 1, 2, 3, 8] if seed // 8 % 4 else [*range(KINDS)]
    calls = []
    for _ in range(int(random.integers(1, 4))):
        a, b = random.permutation(3)[:2]
        chosen = tuple(int(random.choice(kinds)) for _ in range(2)), tuple(map(int, random.integers(-2, 3, 2)))
        calls.append((KERNELS[random.integers(3)], fields[a], fields[b], *chosen, table))
    starts = [random.uniform(0.5, 1.5, N) for _ in fields]

    def program():
        for kernel, *arguments in calls:
            kernel(*arguments)

    def reset():
        for one, start in zip(fields, starts):
            one.from_numpy(start)

    monkeypatch.setattr(jacobians._Jacobian, "_agrees", lambda *_: True)  # the colours alone must be right
    monkeypatch.setattr(jacobians._Jacobian, "_reverse", lambda *_: pytest.fail("rows are not coloured"))
    for x in fields[:2]:
        reset()
        found = ti.ad.jacobian(program, x, fields)()
        reset()
        _, pull = ti.ad.vjp(program, x, fields)()
        for k in range(3):
            for row in range(N):
                weights = [np.zeros(N) for _ in fields]
                weights[k][row] = 1.0
                close(found[k][row], pull(weights))
