"""What the waves, patterns and algorithms of the demos must do, counted and measured."""

from __future__ import annotations

import importlib
from collections import Counter
from typing import Any

import numpy as np
import pytest

import weft
from tests.sampling import every
from weft.demos import contours, mandelbrot, physarum, reaction, seams, sorting, waves

pytest.importorskip("matplotlib", reason="pictures need the extra weft[viz]")


def wave_energy(u: Any, w: Any) -> float:
    """What the leapfrog scheme conserves: (w - u)^2 - c^2 u . laplacian(w), with the demo's Laplacian."""
    u, w = (np.pad(field.astype(np.float64), 1) for field in (u, w))
    sides = w[:-2, 1:-1] + w[2:, 1:-1] + w[1:-1, :-2] + w[1:-1, 2:]
    corners = w[:-2, :-2] + w[2:, :-2] + w[:-2, 2:] + w[2:, 2:]
    laplacian = (4 * sides + corners - 20 * w[1:-1, 1:-1]) / 6
    u, w = u[1:-1, 1:-1], w[1:-1, 1:-1]
    return float(((w - u) ** 2).sum() - waves.COURANT**2 * (u * laplacian).sum())


def test_waves_keep_their_energy_and_their_speed() -> None:
    """A closed tank without losses: the energy stays; a round pulse goes at c, as far along an axis as diagonally."""
    n = 161
    frame = waves.build(width=n, height=n, sponge=0, slits=0)
    i, j = np.meshgrid(np.arange(n) - n // 2, np.arange(n) - n // 2, indexing="ij")
    pulse = np.exp(-(i**2 + j**2) / 18.0).astype(np.float32)
    a, b, c = frame.before, frame.now, frame.after
    a.from_numpy(pulse)
    b.from_numpy(pulse)
    before = wave_energy(a.to_numpy(), b.to_numpy())
    for _ in range(120):
        frame.step(a, b, c)
        a, b, c = b, c, a
    u = b.to_numpy()
    assert wave_energy(a.to_numpy(), u) == pytest.approx(before, rel=1e-4)
    along = np.argmax(u[n // 2 :, n // 2])
    diagonal = np.argmax(np.diag(u)[n // 2 :]) * np.sqrt(2)
    assert along == pytest.approx(120 * waves.COURANT, abs=4)
    assert diagonal == pytest.approx(along, abs=1.5)
    np.testing.assert_allclose(u[::-1], u, atol=1e-5)
    np.testing.assert_allclose(u.T, u, atol=1e-5)


def test_two_slits_interfere_where_young_says() -> None:
    """Dark where the ways differ by half a wave, bright where they do not; above is as below."""
    frame = waves.build()
    for number in range(150):
        frame(number)
    total = np.zeros((waves.WIDTH, waves.HEIGHT))
    for number in range(150, 160):
        frame(number)
        fields = [field.to_numpy() for field in (frame.before, frame.now, frame.after)]
        total += max(fields, key=lambda u: float(np.abs(u).sum())) ** 2
    wall = int(waves.WALL * waves.WIDTH)
    x, y = 170, waves.HEIGHT / 2
    heights = np.arange(waves.HEIGHT) + 0.5 - y
    ways = [np.hypot(x, heights - side * waves.SLITS / 2) for side in (1, -1)]
    apart = np.abs(ways[0] - ways[1]) / waves.WAVELENGTH
    column = total[wall + 4 + x]
    near = np.abs(heights) < 120
    bright = column[near & (np.abs(apart - np.round(apart)) < 0.1)].mean()
    dark = column[near & (np.abs(apart % 1 - 0.5) < 0.1)].mean()
    assert dark < 0.15 * bright
    np.testing.assert_allclose(total[:, ::-1], total, atol=2e-3 * total.max())


def test_reaction_only_turns_one_into_the_other() -> None:
    """Without feed and decay, u + v in all is constant; with them, both stay in 0..1, and a square seed symmetric."""
    frame = reaction.build(n=64, feed=0.0, kill=0.0, seeds=3)
    before = frame.now.to_numpy().sum()
    frame(0)
    after = frame.now.to_numpy()
    assert after.sum() == pytest.approx(before, rel=1e-5)
    assert after[..., 1].sum() > 0
    frame = reaction.build(n=96, seeds=1)
    for number in range(20):
        frame(number)
    now = frame.now.to_numpy()
    assert 0 <= now.min() <= now.max() <= 1
    assert now[..., 1].max() > 0.2, "it has died"
    for other in (now[::-1], now[:, ::-1], now.swapaxes(0, 1)):
        np.testing.assert_allclose(other, now, atol=2e-3)


def test_physarum_counts_its_agents() -> None:
    frame = physarum.build(n=64, agents=500)
    frame.walk()
    assert frame.arrived.to_numpy().sum() == 500
    for number in range(30):
        frame(number)
    x, scent = frame.x.to_numpy(), frame.scent.to_numpy()
    assert (x >= 0).all()
    assert (x <= 64).all()
    # What is there is a geometric series: each step all fades, then each agent adds its share, and 500 at the start.
    q, share = physarum.FADE, physarum.SHARE * 500
    assert scent.sum() == pytest.approx(share * ((1 - q**30) / (1 - q) + q**29), rel=1e-3)


def test_mandelbrot_knows_distance_and_area() -> None:
    """Right of the set, its edge is the cardioid e^it / 2 - e^2it / 4; its area is 1.5066 (Forstemann, 2017)."""
    frame = mandelbrot.build(width=400, height=400, centre=(-0.6, 0.0), zoom=1.0)
    frame(0)
    away = frame.distance.to_numpy()
    pixel = 2.8 / 400
    assert (away == 0).sum() * pixel**2 == pytest.approx(1.5066, rel=0.02)
    last = (np.arange(400) + 0.75 - 200) * pixel - 0.6  # the last sample of a pixel
    turn = np.exp(1j * np.linspace(-np.pi, np.pi, 4001))
    edge = turn / 2 - turn**2 / 4
    true = np.abs(last[:, None] + 0.75j * pixel - edge).min(1)
    right = (last > 0.29) & (last < 0.6)  # nearer to the cusp, small bulbs are nearer than the cardioid
    assert (away[right, 200] < 4 * true[right]).all()
    assert (away[right, 200] > true[right]).all()
    inside = np.abs(last + 1) < 0.2  # the disc around -1, where the period is two
    assert (away[inside, 200] == 0).all()


@pytest.mark.parametrize("n", [2, 8, 64])
def test_networks_sort(n: int) -> None:
    """Every row ends sorted, with the values it began with: after n steps and after log n (log n + 1) / 2."""
    frame = sorting.build(n=n, rows=5)
    slow, fast = frame.slow, frame.fast
    before = slow.to_numpy()
    assert np.array_equal(np.sort(before, 1), np.tile((np.arange(n, dtype=np.float32) + 0.5) / n, (5, 1)))
    for step in range(n):
        frame.transpose(slow, step % 2)
    plan = sorting.stages(n)
    assert len(plan) == (n.bit_length() - 1) * n.bit_length() // 2
    for step in plan:
        frame.merge(fast, *step)
    assert np.array_equal(slow.to_numpy(), np.sort(before, 1))
    assert np.array_equal(fast.to_numpy(), np.sort(before, 1))


def test_contours_close_and_measure_a_circle() -> None:
    """Every end of a segment lies on the level and on one other segment; a cone's contour has a circle's length."""
    frame = contours.build(cells=40, size=64)
    i, j = np.meshgrid(np.arange(41), np.arange(41), indexing="ij")
    frame.height.from_numpy(np.hypot(i - 20.1, j - 19.7).astype(np.float32))
    segments = frame.trace(12.5)
    ends = Counter(map(tuple, segments.reshape(-1, 2)))
    assert set(ends.values()) == {2}, "a contour is closed"
    np.testing.assert_allclose(np.hypot(*(np.array(list(ends)) - [20.1, 19.7]).T), 12.5, atol=0.03)
    x0, y0, x1, y1 = segments.T
    assert np.hypot(x1 - x0, y1 - y0).sum() == pytest.approx(2 * np.pi * 12.5, rel=0.01)
    assert 0.5 * abs((x0 * y1 - x1 * y0).sum()) == pytest.approx(np.pi * 12.5**2, rel=0.01), "all turn the same way"


def test_contours_of_noise_are_closed() -> None:
    """Random heights, all sixteen cases: inside of the picture every end is met by exactly one other."""
    frame = contours.build(cells=30, size=64)
    height = np.zeros((31, 31), np.float32)
    height[1:-1, 1:-1] = np.random.default_rng(5).random((29, 29))
    frame.height.from_numpy(height)
    segments = frame.trace(0.5)
    assert set(Counter(map(tuple, segments.reshape(-1, 2))).values()) == {2}
    assert 0 < len(segments) <= 2 * 30 * 30


def cheapest(cost: Any) -> float:
    """The cost of the cheapest seam, by the recurrence written with numpy."""
    best = cost[0].astype(np.float64)
    for row in cost[1:]:
        padded = np.pad(best, 1, constant_values=np.inf)
        best = row + np.minimum(np.minimum(padded[:-2], padded[1:-1]), padded[2:])
    return float(best.min())


def test_seams_are_connected_and_cheapest() -> None:
    picture = np.random.default_rng(4).random((24, 30, 3)).astype(np.float32)
    frame = seams.build(picture)
    frame.measure(30)
    cost = frame.cost.to_numpy()
    path = frame.find().to_numpy()
    assert np.abs(np.diff(path)).max() <= 1
    assert cost[np.arange(24), path].sum() == pytest.approx(cheapest(cost), rel=1e-5)
    frame(0)
    left = frame.pixels.to_numpy()[:, : 30 - seams.SEAMS]
    for now, was in zip(left, picture):
        kept = [tuple(pixel) for pixel in was]
        assert all(tuple(pixel) in kept for pixel in now), "only whole pixels go"


def test_seams_spare_what_stands_out() -> None:
    """A bright post on a plain wall is as wide after ten seams as before."""
    picture = np.full((20, 40, 3), 0.2, np.float32)
    picture[:, 17:22] = [0.9, 0.1, 0.4]
    frame = seams.build(picture)
    for number in range(5):
        frame(number)
    now = frame.pixels.to_numpy()[:, : 40 - 5 * seams.SEAMS]
    assert ((now[..., 0] > 0.8).sum(1) == 5).all()


SMALL: dict[str, dict[str, Any]] = {
    "sorting": {"n": 8, "rows": 2},
    "reaction": {"n": 12, "seeds": 2},
    "waves": {"width": 20, "height": 16, "sponge": 4, "slits": 6},
    "physarum": {"n": 16, "agents": 20},
    "contours": {"cells": 6, "size": 16},
    "superpixels": {"picture": np.random.default_rng(5).random((12, 16, 3)), "step": 4},
}


@pytest.mark.parametrize("name", every(3, SMALL))
def test_the_same_in_python(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Small enough to be interpreted: the same picture, number for number."""
    module = importlib.import_module(f"weft.demos.{name}")
    for constant in ("STEPS", "LEVELS"):
        if hasattr(module, constant):
            monkeypatch.setattr(module, constant, 2)
    pictures = []
    for arch in (weft.cpu, weft.python):
        weft.init(arch=arch, random_seed=3)
        pictures.append(module.build(**SMALL[name])(0))
    np.testing.assert_allclose(pictures[0], pictures[1], atol=1e-4)
