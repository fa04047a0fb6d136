"""Random numbers: the published vectors, the same numbers on every arch and number of threads, their distribution."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import weft as ti
from weft.ir.philox import number, philox4x32

ARCHS = ("cpu", "python")
ONES = 0xFFFFFFFF


@pytest.mark.parametrize(
    ("counter", "key", "words"),
    [
        ((0, 0, 0, 0), (0, 0), (0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8)),
        ((ONES,) * 4, (ONES, ONES), (0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD)),
        (
            (0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344),
            (0xA4093822, 0x299F31D0),
            (0xD16CFE09, 0x94FDCCEB, 0x5001E420, 0x24126EA1),
        ),
    ],
)
def test_the_known_answers_of_random123(counter: Any, key: Any, words: Any) -> None:
    assert philox4x32(counter, key) == words


def _everything(arch: str, **options: Any) -> list[Any]:
    """Numbers of all types, in and out of loops of all kinds."""
    ti.init(arch=arch, random_seed=7, **options)
    box = ti.field(ti.f32, (7, 300))
    turned = ti.field(ti.u32, (5, 6), order="ji")
    moved = ti.field(ti.i64, (4, 3), offset=(-2, 1))
    wide = ti.field(ti.f64, 40)
    half, small = ti.field(ti.f16, 40), ti.field(ti.i8, 40)
    normal = ti.field(ti.f32, 100)

    @ti.func
    def twice(scale):
        return scale * (ti.random() + ti.random(ti.f32))

    @ti.kernel
    def fill(n: ti.i32) -> ti.f32:
        first = ti.random()
        for i, j in ti.ndrange(7, (0, 300)):
            box[i, j] = twice(0.5) if i % 2 == 0 else ti.random()
        for I in ti.grouped(turned):
            turned[I] = ti.random(ti.u32)
        for i, j in moved:
            moved[i, j] = ti.random(ti.i64)
            for _ in range(i + 2):
                moved[i, j] = ti.random(ti.i64)
        for i in range(0, n, 3):
            wide[i] = ti.random(ti.f64)
        for _ in range(n - n):  # an empty loop is a loop
            first += 1.0
        for i in ti.static(range(2)):
            for j in range(20):
                half[20 * i + j], small[20 * i + j] = ti.random(ti.f16), ti.random(ti.i8)
        ti.loop_config(serialize=True)
        for _ in range(5):
            first += ti.random()
        for i in normal:
            normal[i] = ti.randn()
        return first + ti.random()

    results = [fill(40), fill(40)]
    ti.seed(11)
    results.append(fill(40))
    fields = (box, turned, moved, wide, half, small)
    return [*results, normal.to_numpy(), *(x.to_numpy() for x in fields)]


def _same(a: list[Any], b: list[Any]) -> None:
    for x, y in zip(a[:3], b[:3], strict=True):
        assert x == pytest.approx(y, abs=1e-6)  # sums of floats, in any order
    np.testing.assert_allclose(a[3], b[3], rtol=2e-4, atol=1e-5)  # log and cos are not rounded alike
    for x, y in zip(a[4:], b[4:], strict=True):
        np.testing.assert_array_equal(x, y)


def test_numbers_are_the_same_everywhere() -> None:
    one = _everything("cpu", cpu_max_num_threads=1)
    _same(one, _everything("cpu", cpu_max_num_threads=4))
    _same(one, _everything("cpu", advanced_optimization=False))
    _same(one, _everything("python"))
    assert len({float(x) for x in one[:3]}) == 3


@pytest.mark.parametrize("arch", ARCHS)
def test_each_number_is_where_it_was_drawn(arch: str) -> None:
    from weft.ir.philox import launch_key

    ti.init(arch=arch, random_seed=3)
    x = ti.field(ti.u32, (3, 4))

    @ti.kernel
    def fill():
        for i, j in x:
            ti.random()
            x[i, j] = ti.random(ti.u32)

    fill()
    fill()
    expected = [[number(ti.u32, launch_key(3, 1), 4 * i + j, 1, 1) for j in range(4)] for i in range(3)]
    assert x.to_numpy().tolist() == expected


@pytest.mark.parametrize("arch", ARCHS)
def test_distributions(arch: str) -> None:
    ti.init(arch=arch)
    n = 200_000 if arch == "cpu" else 3_000
    uniform, normal, whole = ti.field(ti.f32, n), ti.field(ti.f64, n), ti.field(ti.i32, n)

    @ti.kernel
    def fill():
        for i in uniform:
            uniform[i], normal[i], whole[i] = ti.random(), ti.randn(ti.f64), ti.random(ti.i32)

    fill()
    u, z, k = uniform.to_numpy(), normal.to_numpy(), whole.to_numpy()
    error = 4 / np.sqrt(n)
    assert u.min() >= 0
    assert u.max() < 1
    assert abs(u.mean() - 0.5) < error * np.sqrt(1 / 12)
    counts, _ = np.histogram(u, 16, (0, 1))
    assert ((counts - n / 16) ** 2 / (n / 16)).sum() < 45  # chi square of 15 degrees of freedom: 1 in 10000
    assert abs(np.corrcoef(u[1:], u[:-1])[0, 1]) < error
    assert abs(z.mean()) < error
    assert abs(z.std() - 1) < error
    assert abs((z**3).mean()) < error * np.sqrt(15)
    assert (np.abs(z) < 1).mean() == pytest.approx(0.6827, abs=error)
    assert k.min() < -(2**31) * (1 - 50 / n)
    assert k.max() > 2**31 * (1 - 50 / n)
    for bit in range(32):
        assert abs((k >> bit & 1).mean() - 0.5) < error / 2 * 1.2


def _first(make: Callable[[], None]) -> float:
    make()

    @ti.kernel
    def draw() -> ti.f64:
        return ti.random(ti.f64)

    return float(draw())


@pytest.mark.parametrize("arch", ARCHS)
def test_seeds(arch: str) -> None:
    draws = [_first(lambda seed=seed: ti.init(arch=arch, random_seed=seed)) for seed in (0, 1, 2, 0)]
    assert draws[0] == draws[3]
    assert len(set(draws)) == 3
    assert _first(lambda: ti.seed(1)) == draws[1]
    ti.seed(5)
    again = ti.random(), ti.randn()
    ti.seed(5)
    assert (ti.random(), ti.randn()) == again


@pytest.mark.parametrize("arch", ARCHS)
def test_python_s_generators_draw_once_and_a_warning_says_so(arch: str) -> None:
    ti.init(arch=arch)
    x = ti.field(ti.f64, (2, 3))
    ours = np.random.default_rng(3)

    @ti.kernel
    def fill():
        for i in range(3):
            x[0, i] = random.random()
            x[1, i] = ours.random()

    with pytest.warns(SyntaxWarning) as given:
        fill()
    said = [str(one.message).splitlines()[-1] for one in given]
    assert [one.filename for one in given] == [__file__] * 2
    assert said[0].startswith("the compiler calls random.random once, when it compiles the kernel, ")
    assert said[1].startswith("the compiler calls ours.random once, ")
    if arch == "cpu":  # in Python the kernel's text is run as it is
        assert len(set(x.to_numpy()[0])) == len(set(x.to_numpy()[1])) == 1
