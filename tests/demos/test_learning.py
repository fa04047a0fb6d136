"""What the demos that learn must do: their loss goes down, and their gradients are those of differences."""

from __future__ import annotations

import importlib
from typing import Any

import numpy as np
import pytest

import weft
from weft.demos import billiards, drape, focus, learning, lens, skywriting, walker

pytest.importorskip("matplotlib", reason="pictures need the extra weft[viz]")

# How each is built small, how many rounds it learns, and what part of its loss may be left.
SMALL: dict[str, tuple[dict[str, int], int, float]] = {
    "lens": ({"n": 32}, 20, 0.3),
    "skywriting": ({"width": 48, "height": 24, "steps": 12}, 12, 0.7),
    "drape": ({"n": 8, "steps": 60, "size": 40}, 25, 0.6),
}


@pytest.mark.parametrize("name", SMALL)
def test_the_loss_goes_down(name: str) -> None:
    sizes, rounds, part = SMALL[name]
    demo = importlib.import_module(f"weft.demos.{name}").build(**sizes)
    losses = [demo.learn() for _ in range(rounds)]
    assert np.isfinite(losses).all()
    assert min(losses[1:]) < part * losses[0]


def test_the_wave_gathers() -> None:
    """The loss is minus the logarithm of an energy: that grows by half within ten rounds."""
    demo = focus.build(width=80, height=64, steps=220)
    first = demo.learn()
    assert min(demo.learn() for _ in range(9)) < first - np.log(1.5)


def test_the_robot_learns_to_go_to_the_right() -> None:
    """The loss is minus a distance in metres."""
    demo = walker.build(steps=60)
    first = demo.learn()
    for _ in range(9):
        last = demo.learn()
    assert np.isfinite(demo.x.to_numpy()).all()
    assert last < first - 0.002


# How each is built for a comparison with differences, what is learned (the fields' name), and the step of a difference.
COMPARED: dict[str, tuple[dict[str, int], str, float]] = {
    "walker": ({"steps": 30}, "weight", 0.02),
    "focus": ({"width": 80, "height": 64, "steps": 220}, "design", 0.02),
    "skywriting": ({"width": 32, "height": 16, "steps": 6}, "breath", 0.01),
    "drape": ({"n": 8, "steps": 40, "size": 32}, "numbers", 0.02),
    "lens": ({"n": 32}, "hills", 0.05),
}


class _Still:
    """Takes the place of what moves the parameters, and moves nothing."""

    def step(self, *_: float) -> None:
        """Leave them where they are."""


@pytest.mark.parametrize("name", COMPARED)
def test_the_gradient_is_that_of_differences(name: str) -> None:
    """Along itself: there the derivative is the largest."""
    sizes, learned, step = COMPARED[name]
    demo = importlib.import_module(f"weft.demos.{name}").build(**sizes)
    demo.adam, demo.adams = _Still(), []
    numbers = getattr(demo, learned)
    numbers = numbers[2] if isinstance(numbers, list) else numbers
    base = np.random.default_rng(4).normal(0, 0.3, numbers.to_numpy().shape).astype(np.float32)

    def loss(values: Any) -> float:
        numbers.from_numpy(values.astype(np.float32))
        found: float = demo.learn()
        return found

    loss(base)
    slope = numbers.grad.to_numpy()
    way = slope / np.abs(slope).max()
    by_difference = (loss(base + step * way) - loss(base - step * way)) / (2 * step)
    assert (slope * way).sum() == pytest.approx(by_difference, rel=0.05)


def test_a_shot_is_found() -> None:
    """None of a few shots pots the ninth ball at first; later, one does."""
    demo = billiards.build(shots=8, steps=600)
    demo.learn()
    assert demo.near.to_numpy().min() > billiards.POCKET
    for _ in range(25):
        demo.learn()
    assert demo.near.to_numpy().min() < billiards.POCKET


def test_balls_keep_their_momentum() -> None:
    """Away from the cushions, all that a ball gains another loses; energy is lost by the part that the bounce says."""
    demo = billiards.build(shots=3, steps=104)
    demo.begin()
    for t in range(104):
        demo.step(t)
    speeds = demo.v.to_numpy() / (1 - billiards.DRAG * billiards.DT) ** np.arange(105)[:, None, None, None]
    total = speeds.sum(2)
    assert np.abs(speeds[-1] - speeds[0]).max() > 1
    np.testing.assert_allclose(total, np.broadcast_to(total[0], total.shape), atol=2e-3)
    assert ((speeds[-1] ** 2).sum((1, 2)) <= 1.0001 * (speeds[0] ** 2).sum((1, 2))).all()


def test_all_light_arrives() -> None:
    """Flat glass throws even light; the light of a hill is as much, but elsewhere."""
    demo = lens.build(n=32)
    demo.bend()
    demo.trace(demo.wall[0], lens.RAYS, 1)
    inner = demo.wall[0].to_numpy()[1:-1, 1:-1]
    np.testing.assert_allclose(inner, 1, atol=1e-4)
    x, y = np.meshgrid(np.arange(33) - 16, np.arange(33) - 16)
    demo.height.from_numpy((2 * np.exp(-(x**2 + y**2) / 60)).astype(np.float32))
    demo.wall[0].fill(0)
    demo.bend()
    demo.trace(demo.wall[0], lens.RAYS, 1)
    light = demo.wall[0].to_numpy()
    assert light.sum() == pytest.approx(32**2, rel=0.07)
    assert light[14:18, 14:18].mean() > 1.5


def test_adam_finds_a_minimum() -> None:
    """Of a sum of squares, for numbers, vectors and matrices."""
    fields = [weft.field(weft.f32, 3, needs_grad=True), weft.Vector.field(2, weft.f32, (2, 2), needs_grad=True)]
    fields.append(weft.Matrix.field(2, 2, weft.f32, 2, needs_grad=True))
    adam = learning.Adam(fields, 0.1)
    for _ in range(150):
        for k, field in enumerate(fields):
            field.grad.from_numpy((2 * (field.to_numpy() - k - 1)).astype(np.float32))
        adam.step()
    for k, field in enumerate(fields):
        np.testing.assert_allclose(field.to_numpy(), k + 1, atol=0.05)


def test_skywriting_writes_what_the_letters_are() -> None:
    letters = skywriting.letters(64, 32)
    assert set(np.unique(letters)) == {0, 1}
    assert (letters.reshape(4, 16, 32).mean((1, 2)) > 0.05).all()


def test_the_hidden_numbers_have_no_loss() -> None:
    demo = drape.build(n=8, steps=30, size=32)
    demo.numbers.from_numpy(np.array(drape.HIDDEN, np.float32))
    assert demo.learn() < 1e-9
