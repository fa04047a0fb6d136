"""What the drawing demos must get right: light is neither lost nor made, triangles have no cracks, the nearest wins."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import weft
from weft.demos import balls, cornell, rasterizer
from weft.demos.palette import Palette
from weft.demos.shades import SHADES

pytest.importorskip("matplotlib", reason="pictures need the extra weft[viz]")


@pytest.mark.parametrize("name", SHADES)
def test_palettes_are_matplotlibs(name: str) -> None:
    from matplotlib import colormaps

    palette = Palette(name)
    out = weft.Vector.field(3, weft.f32, 260)
    inputs = np.array([-1.0, *np.linspace(0, 1, 257), 1.01, 3.0], np.float32)

    @weft.kernel
    def look(t: weft.types.ndarray(dtype=weft.f32, ndim=1)):  # type: ignore[valid-type]
        for i in out:
            out[i] = palette(t[i])

    look(inputs)
    np.testing.assert_allclose(out.to_numpy(), colormaps[name](np.clip(inputs, 0, 1))[:, :3], atol=0.019)


def mean_light(frames: int, **options: Any) -> tuple[Any, Any]:
    """The mean radiance of the whole picture, and how sure that is."""
    frame = cornell.build(size=64, **options)
    means, before = [], np.zeros(3)
    for number in range(frames):
        frame(number)
        now = frame.light.to_numpy().mean((0, 1))
        means.append((now - before) / options.get("paths", cornell.PATHS))
        before = now
    return np.mean(means, 0), np.std(means, 0) / np.sqrt(frames)


def test_aiming_at_the_lamp_changes_no_brightness() -> None:
    """Two estimators of the same integral: paths that aim at the lamp, and paths that find it by chance."""
    aimed, sure = mean_light(24, paths=8)
    found, less_sure = mean_light(24, paths=24, aim=False)
    assert (np.abs(aimed - found) < 4 * np.hypot(sure, less_sure)).all(), (aimed, found, sure, less_sure)
    assert (4 * np.hypot(sure, less_sure) < 0.05 * aimed).all(), "the comparison says something"


def test_direct_light_is_the_integral_over_the_lamp() -> None:
    """One bounce: a place on the back wall gets what numerical integration over the lamp gives."""
    frame = cornell.build(size=64, paths=16, longest=1)
    for number in range(20):
        frame(number)
    count = 20 * 16
    measured = frame.light.to_numpy()[36:40, 40:44].mean((0, 1)) / count
    spots = 0.5 + 2 * 0.985 * (np.array([[i, j] for i in range(36, 40) for j in range(40, 44)]) + 0.5 - 32) / 64
    low_x, high_x, low_z, high_z = cornell.LAMP
    x, z = np.meshgrid(np.linspace(low_x, high_x, 201), np.linspace(low_z, high_z, 201))
    shares = []
    for across, up in spots:  # where these pixels see the back wall, at z = 1
        square = (x - across) ** 2 + (1 - up) ** 2 + (z - 1) ** 2
        shares.append(((1 - z) * (1 - up) / square**2).mean())  # both cosines, over the square of the distance
    area = (high_x - low_x) * (high_z - low_z)
    expected = np.array(cornell.WHITE) * np.array(cornell.GLOW) * np.mean(shares) * area / np.pi
    np.testing.assert_allclose(measured, expected, rtol=0.03)


def test_black_walls_give_no_light(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("WHITE", "RED", "GREEN"):
        monkeypatch.setattr(cornell, name, (0.0, 0.0, 0.0))
    frame = cornell.build(size=32)
    frame(0)
    light = frame.light.to_numpy()
    lamp = np.abs(light / cornell.PATHS - np.array(cornell.GLOW)).max(-1) < 1e-3
    assert lamp.sum() > 10
    dark = light[:, :8].max()  # the floor in front
    assert dark == 0


def screen(points: Any) -> Any:
    """Points in space that appear at these places of the screen (pixels from the middle, z)."""
    points = np.asarray(points, np.float64)
    scale = rasterizer.ZOOM * rasterizer.HEIGHT / (5.2 - points[:, 2:])
    return np.concatenate([points[:, :2] / scale, points[:, 2:]], 1).astype(np.float32)


def draw(points: Any, triangles: Any) -> tuple[Any, Any]:
    """Which triangle is where (-1 none), and the depth."""
    frame = rasterizer.build(screen(points), np.array(triangles, np.int32), samples=1)
    frame.transform(weft.Matrix(np.eye(3).tolist()))
    frame.rasterize()
    key = frame.front.to_numpy()
    there = key != rasterizer.EMPTY
    depth = rasterizer.NEAR + (key >> rasterizer.NUMBER) * (rasterizer.FAR - rasterizer.NEAR) / rasterizer.DEPTHS
    return np.where(there, key & (2**rasterizer.NUMBER - 1), -1), np.where(there, depth, np.inf)


def test_a_fan_of_triangles_has_no_crack_and_no_overlap() -> None:
    """A fan around a point: each alone, their pixels are disjoint; together they are the polygon."""
    turn = np.linspace(0, 2 * np.pi, 12, endpoint=False) + 0.1
    points = [(0.3, 0.2, 0)] + [(90 * np.cos(t), 90 * np.sin(t), 0) for t in turn]
    fan = [(0, 1 + k, 1 + (k + 1) % 12) for k in range(12)]
    together, _ = draw(points, fan)
    counts = sum((draw(points, [one])[0] >= 0).astype(int) for one in fan)
    assert counts.max() == 1, "an edge belongs to one triangle"
    np.testing.assert_array_equal(counts == 1, together >= 0)
    area = 0.5 * 12 * 90**2 * np.sin(np.pi / 6)
    assert counts.sum() == pytest.approx(area, rel=0.01)
    assert counts[200:280, 140:220].all(), "no crack in the middle"


def test_a_square_on_pixel_centres_follows_the_top_left_rule() -> None:
    """Corners at centres of pixels: of the four sides, the left and the top one belong to the square."""
    points = [(x + 0.5, y + 0.5, 0) for x, y in ((-8, -8), (8, -8), (8, 8), (-8, 8))]
    seen, _ = draw(points, [(0, 1, 2), (0, 2, 3)])
    assert (seen >= 0).sum() == 16 * 16


def test_the_nearest_wins_in_any_order() -> None:
    """Two triangles that pierce each other: at each pixel the smaller depth, whichever comes first."""
    points = [(-60, -60, 1), (60, -60, -1), (0, 70, 0), (-60, -50, -1), (60, -50, 1), (0, 70, 0.1)]
    one, depth = draw(points, [(0, 1, 2), (3, 4, 5)])
    other, same = draw(points, [(3, 4, 5), (0, 1, 2)])
    assert {0, 1} <= set(one.ravel())
    agree = depth == same
    np.testing.assert_array_equal(depth, same)
    tie = np.abs(one + other - 1)[(one >= 0) & agree]
    assert (tie != 0).mean() < 0.02, "ties go to the lower number, all else to the nearer"
    alone, lone = draw(points, [(0, 1, 2)])
    assert (depth <= lone).all()
    flat = draw([(-60, -60, 1), (60, -60, 1), (0, 70, 1)], [(0, 1, 2)])[1]
    np.testing.assert_allclose(flat[flat < np.inf], 4.2, atol=3e-4)
    assert (draw(points, [(0, 2, 1)])[0] == -1).all(), "seen from behind there is nothing"


def test_balls_hide_and_shade_each_other() -> None:
    """The nearer ball is seen; a ball throws a shadow on the floor where the sun says; order does not matter."""
    x, color = weft.Vector.field(3, weft.f32, 2), weft.Vector.field(3, weft.f32, 2)
    view = balls.Balls(x, color, 0.1, eye=(0.5, 0.5, 3.0), target=(0.5, 0.3, 0.5))
    places = np.array([[0.5, 0.3, 0.8], [0.5, 0.3, 0.3]], np.float32)
    colors = np.array([[0.8, 0.0, 0.0], [0.0, 0.0, 0.8]], np.float32)
    pictures = []
    for order in ((0, 1), (1, 0)):
        x.from_numpy(places[list(order)])
        color.from_numpy(colors[list(order)])
        pictures.append(view.draw().copy())
    np.testing.assert_allclose(pictures[0], pictures[1], atol=2e-3)
    height, width = pictures[0].shape[:2]
    red, _, blue = pictures[0][height // 2, width // 2]
    assert red > blue + 0.3
    sun = balls.SUN
    shadow = places[0] - sun * (places[0, 1] / sun[1])

    @weft.kernel
    def lit(p: weft.math.vec3) -> weft.f32:  # type: ignore[valid-type]
        return view.sunshine(p)

    assert lit(weft.Vector([float(c) for c in shadow])) == 0
    assert lit(weft.Vector([float(shadow[0]) + 0.4, 0.0, float(shadow[2])])) == 1
