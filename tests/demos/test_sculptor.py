"""The sculptor: rays meet what is nearest, light is that of an integral, blocks exist where something is."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import weft
from weft.demos import runner, sculptor
from weft.demos.voxels import AIR, BLOCK, FLOOR, ROOM, Voxels

pytest.importorskip("matplotlib", reason="pictures need the extra weft[viz]")


def nearest(cells: Any, origin: Any, ray: Any) -> tuple[float, Any, Any]:
    """How far it is to the nearest of these cells, to their sides, by the distance to each of them."""
    with np.errstate(divide="ignore"):
        a, b = (cells - origin) / ray, (cells + 1 - origin) / ray
    near, far = np.minimum(a, b).max(1), np.maximum(a, b).min(1)
    met = (near < far) & (near > 0)
    if not met.any():
        return np.inf, None, None
    first = np.flatnonzero(met)[near[met].argmin()]
    axis = np.minimum(a, b)[first].argmax()
    return near[first], -np.sign(ray[axis]) * np.eye(3)[axis], first


def test_rays_meet_the_nearest_cell() -> None:
    """Random cells, in blocks and alone, from inside and outside of the room: the same cell, side and distance."""
    voxels, draw = Voxels(), np.random.default_rng(5)
    cells = np.unique(draw.integers(0, 20, (900, 3)) * draw.choice([1, 4, 12], (900, 1)), axis=0)
    materials = draw.integers(1, FLOOR, len(cells))
    voxels.cell.from_active(cells, materials)
    count = 400
    origins = draw.uniform(-60, 300, (count, 3)).astype(np.float32)
    origins[:, 1] = abs(origins[:, 1])
    goals = cells[draw.integers(0, len(cells), count)] + draw.uniform(-0.2, 1.2, (count, 3))
    rays = (goals - origins).astype(np.float32)
    rays[::10] = np.eye(3)[draw.integers(0, 3, count // 10)]  # along an axis
    rays /= np.linalg.norm(rays, axis=1, keepdims=True)
    found = weft.Vector.field(4, weft.f32, count), weft.field(weft.i32, count)

    @weft.kernel
    def meet(origin: weft.types.ndarray(dtype=weft.math.vec3), ray: weft.types.ndarray(dtype=weft.math.vec3)):  # type: ignore[valid-type]
        for k in found[1]:
            far, normal, found[1][k] = voxels.meet(origin[k], ray[k])
            found[0][k] = weft.math.vec4(normal, far)

    meet(origins, rays)
    places, kinds = found[0].to_numpy(), found[1].to_numpy()
    inside = {tuple(cell) for cell in cells}
    hits = compared = 0
    for k in range(count):
        if tuple(np.floor(origins[k]).astype(int)) in inside:
            continue
        compared += 1
        far, normal, first = nearest(cells, origins[k].astype(float), rays[k].astype(float))
        floor = -origins[k, 1] / rays[k, 1] if rays[k, 1] < 0 else np.inf
        if first is None:
            assert kinds[k] == (FLOOR if floor < np.inf else AIR)
            continue
        hits += 1
        assert abs(places[k, 3] - far) < 0.01
        if np.sort(np.abs(origins[k] + far * rays[k] - np.round(origins[k] + far * rays[k])))[1] > 1e-3:  # no edge
            assert kinds[k] == materials[first]
            np.testing.assert_allclose(places[k, :3], normal)
    assert compared > 350
    assert hits > 150


def test_the_floor_has_the_light_of_the_sun_and_the_sky(monkeypatch: pytest.MonkeyPatch) -> None:
    """An empty room: the floor in the middle against the integral over the sky."""

    @weft.func
    def sky(ray: Any) -> Any:
        return weft.math.vec3(1.0, ray.y, 0.5 * ray.x * ray.x)

    monkeypatch.setattr(sculptor, "sky", sky)
    monkeypatch.setattr(sculptor, "SPREAD", 0.0)
    frame = sculptor.build(size=(32, 24), paths=64)
    frame.strokes, frame.camera.rise = [], 1.2
    for number in range(8):
        frame(number)
    light = frame.light.to_numpy() / frame.count.to_numpy()[..., None]
    measured = light[14:18, 10:14].mean((0, 1))
    sun = np.array(sculptor.SUN) / np.linalg.norm(sculptor.SUN)
    mean = np.array([1.0, 2 / 3, 0.125])  # of the sky, weighted by the cosine
    expected = np.array(sculptor.COLORS[FLOOR]) * (mean + np.array(sculptor.SUNLIGHT) * sun[1])
    np.testing.assert_allclose(measured, expected, rtol=0.03)


class Hands:
    """A window in which these keys are held."""

    def __init__(self, *keys: str) -> None:
        self.keys = keys

    def is_pressed(self, key: str) -> bool:
        return key in self.keys

    def get_cursor_pos(self) -> tuple[float, float]:
        return 0.5, 0.15


def solid(frame: Any) -> set[tuple[int, ...]]:
    """The cells with a material."""
    indices, values = frame.voxels.cell.active()
    return {tuple(int(i) for i in at) for at in indices[values != AIR]}


def test_hands_add_and_take_away_and_blocks_follow() -> None:
    frame = sculptor.build(size=(32, 24))
    frame.strokes = [stroke for stroke in frame.strokes if stroke[0] <= 0]  # the hill
    frame(0)
    hill = solid(frame)
    frame.steer(Hands("5", "e"))
    assert solid(frame) == hill
    assert frame.material == 5
    frame.steer(Hands(weft.ui.LMB))
    frame(1)
    more = solid(frame) - hill
    p, radius = np.array(frame.mark[:3]), frame.mark[3]
    assert radius > 6
    assert more
    assert hill < solid(frame)
    assert all(np.linalg.norm(np.array(at) + 0.5 - p) < radius for at in more)
    assert {frame.voxels.cell[at] for at in more} == {5}
    frame.steer(Hands(weft.ui.RMB))
    frame(2)
    assert solid(frame) < hill | more
    for hole in ((60.0, 10.0, 128.0), (128.0, 10.0, 128.0), (200.0, 10.0, 128.0)):
        frame.strokes.append((3, weft.math.vec3(hole), weft.math.vec3(45.0), 0.0, AIR))
    frame(3)
    blocks = {tuple(int(i) for i in at) for at in frame.voxels.cell.active()[0] // BLOCK}
    assert blocks == {tuple(i // BLOCK for i in at) for at in solid(frame)}
    assert 0 < len(blocks) < len({tuple(i // BLOCK for i in at) for at in hill})
    assert len(blocks) * BLOCK**3 < ROOM**3 / 100


def test_a_pixel_begins_anew_where_something_else_is_in_front() -> None:
    frame = sculptor.build(size=(32, 24))
    frame.strokes = [stroke for stroke in frame.strokes if stroke[0] <= 0]
    for number in range(sculptor.KEPT + 5):
        frame(number)
    assert (frame.count.to_numpy() == sculptor.KEPT + 5).all()
    before = frame.front.to_numpy()
    frame.steer(Hands(weft.ui.LMB))
    frame(99)
    new = np.abs(frame.front.to_numpy() - before).max(-1) > 0.01
    counts = frame.count.to_numpy()
    assert (counts[new] == 1).all()
    assert (counts[~new] == sculptor.KEPT + 1).all()
    assert 0 < new.sum() < new.size / 2


def test_a_steered_demo_gets_its_window_and_does_not_start_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("WEFT_GUI_FRAMES", "5")
    monkeypatch.setattr(runner, "has_display", lambda: True)
    seen = list[Any]()

    class Frame:
        keys = (("Mouse", "adds"),)

        def steer(self, window: Any) -> None:
            seen.append(window.get_cursor_pos())

        def __call__(self, number: int) -> Any:
            seen.append(number)
            return np.zeros((8, 8, 3), np.float32)

    runner.play(Frame(), 3, "steered")
    numbers = [one for one in seen if isinstance(one, int)]
    assert numbers == list(range(len(numbers)))
    assert len(numbers) >= 4
    assert len(seen) == 2 * len(numbers) - 1
    said = capsys.readouterr().out
    assert "  Mouse       adds\n" in said
    assert "  Space       pause, or go on\n" in said
