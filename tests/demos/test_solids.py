"""What the elastic bodies of the demos must keep: energy, momentum, lengths, and the ball's inside."""

from __future__ import annotations

import numpy as np
import pytest

from weft.demos import cloth, fem

pytest.importorskip("matplotlib", reason="pictures need the extra weft[viz]")


def test_ring_at_rest_stays_at_rest() -> None:
    frame = fem.build(across=2, around=24, gravity=0.0)
    before = frame.x.to_numpy()
    frame(0)
    np.testing.assert_allclose(frame.x.to_numpy(), before, atol=1e-5)
    area = 0.5 * 24 * np.sin(2 * np.pi / 24) * (fem.OUTER**2 - fem.INNER**2)
    assert frame.area.to_numpy().sum() == pytest.approx(area, rel=1e-4)
    assert frame.mass.to_numpy().sum() == pytest.approx(area * fem.DENSITY, rel=1e-4)


@pytest.mark.parametrize("viscosity", [0.0, fem.VISCOSITY])
def test_free_ring_keeps_energy_and_momentum(viscosity: float) -> None:
    """A ring that is torn long and spins: what is inside of it cannot change its momenta; without viscosity, energy."""
    frame = fem.build(across=2, around=24, gravity=0.0, viscosity=viscosity)
    x = frame.x.to_numpy()
    centre = x.mean(0)
    d = x - centre
    frame.x.from_numpy((centre + d * np.array([1.15, 0.95])).astype(np.float32))
    v = np.stack([-3 * d[:, 1], 3 * d[:, 0]], 1) + np.array([0.4, 0.2])
    frame.v.from_numpy(v.astype(np.float32))

    mass = frame.mass.to_numpy()[:, None].astype(np.float64)

    def measure() -> tuple[float, np.ndarray, float]:
        x, v = frame.x.to_numpy().astype(np.float64), frame.v.to_numpy().astype(np.float64)
        moment = float((mass[:, 0] * (x[:, 0] * v[:, 1] - x[:, 1] * v[:, 0])).sum())
        return float((0.5 * mass * v**2).sum() + frame.energy.to_numpy().sum()), (mass * v).sum(0), moment

    frame(0)
    energy, momentum, moment = measure()
    for number in range(1, 20):
        frame(number)
    later, momentum_later, moment_later = measure()
    np.testing.assert_allclose(momentum_later, momentum, rtol=1e-3)
    assert moment_later == pytest.approx(moment, rel=5e-3)
    if viscosity:
        assert later < 0.97 * energy
    else:
        assert later == pytest.approx(energy, rel=0.02)


def test_a_mirrored_ring_stays_mirrored() -> None:
    """It falls straight down between the pegs: until it touches the third, which stands aside, left is right."""
    frame = fem.build(across=2, around=24, place=(0.5, 0.7))
    for number in range(15):
        frame(number)
    x = frame.x.to_numpy().reshape(3, 24, 2)
    other = x[:, (24 - np.arange(24)) % 24] * [-1, 1] + [1, 0]
    assert np.abs(frame.v.to_numpy()).max() > 0.3
    np.testing.assert_allclose(x, other, atol=2e-3)


def test_cloth_hangs_on_the_ball() -> None:
    """No point is inside the ball or below the floor, springs keep their length, and it comes to rest."""
    frame = cloth.build(n=40)
    speeds = []
    for _ in range(120):
        frame.step()
        speeds.append(np.linalg.norm(frame.v.to_numpy(), axis=-1).mean())
    x = frame.x.to_numpy()
    assert np.isfinite(x).all()
    away = np.linalg.norm(x - np.array(cloth.BALL), axis=-1)
    assert away.min() > cloth.RADIUS + cloth.SKIN - 1e-3
    assert x[..., 1].min() >= cloth.SKIN - 1e-4
    lengths = np.concatenate([np.linalg.norm(np.diff(x, axis=axis), axis=-1).ravel() for axis in (0, 1)])
    assert np.abs(lengths / frame.rest - 1).mean() < 0.05
    assert np.percentile(lengths, 99) < 1.25 * frame.rest
    assert speeds[-1] < 0.25 * max(speeds)
    assert x[..., 1].max() > cloth.BALL[1] + cloth.RADIUS, "it has slid off"


def test_cloth_dropped_on_the_middle_stays_symmetric() -> None:
    frame = cloth.build(n=21, shift=0.0)
    x = frame.x.to_numpy()
    x[..., 1] = cloth.HEIGHT  # without the ripple
    frame.x.from_numpy(x)
    for _ in range(14):
        frame.step()
    x = frame.x.to_numpy()
    assert x[10, 10, 1] > x[0, 10, 1] + 0.05, "it has met the ball"
    np.testing.assert_allclose(x[::-1] * [-1, 1, 1] + [1, 0, 0], x, atol=1e-3)
    np.testing.assert_allclose(x[:, ::-1] * [1, 1, -1] + [0, 0, 1], x, atol=1e-3)
