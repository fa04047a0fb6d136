"""Many shapes on a GUI's canvas: what kernels draw is what numpy draws."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import weft as ti
from weft.lang.ui import stamping
from weft.lang.ui.gui_canvas import GuiCanvas


@pytest.fixture(autouse=True, params=[1, 3])
def threads(request: pytest.FixtureRequest) -> Iterator[None]:
    ti.init(arch=ti.cpu, cpu_max_num_threads=request.param)
    yield
    ti.reset()


def drawn(monkeypatch: pytest.MonkeyPatch, few: int, draw: Callable[[GuiCanvas], None]) -> Any:
    """The pixels, drawn by kernels where there are more shapes than `few`."""
    monkeypatch.setattr(stamping, "_FEW", few)
    canvas = GuiCanvas(150, 90)
    canvas.clear(0x336699)
    draw(canvas)
    return canvas.pixels


def shapes() -> tuple[Any, Any, Any]:
    """Places, some of them nowhere or far away; radii from nothing to all of the canvas; colours."""
    rng = np.random.default_rng(5)
    places, radii = rng.random((80, 2)) * 1.4 - 0.2, rng.random(80) * 6
    places[:4] = [(np.nan, 0.5), (0.5, np.inf), (1e12, -1e12), (0.5, 1 + 1e-9)]
    radii[4:8] = [0, 1e9, 1e-3, 200]
    return places, radii, rng.random((80, 3)).astype(np.float32)


def test_circles(monkeypatch: pytest.MonkeyPatch) -> None:
    places, radii, colors = shapes()
    radii[8] = np.inf
    by_numpy, by_kernel = (drawn(monkeypatch, few, lambda c: c.circles(places, radii, colors)) for few in (1000, 1))
    np.testing.assert_allclose(by_kernel, by_numpy, atol=1e-6)
    assert len(np.unique(by_kernel)) > 1000


def test_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    places, radii, colors = shapes()
    ends = np.roll(places, 1, 0)
    ends[20:23] = places[20:23]
    ends[30, 0], ends[31, 1] = places[30, 0], places[31, 1]
    by_numpy, by_kernel = (
        drawn(monkeypatch, few, lambda c: c.lines(places[10:], ends[10:], radii[10:], colors[10:])) for few in (1000, 1)
    )
    np.testing.assert_allclose(by_kernel, by_numpy, atol=1e-6)
    assert len(np.unique(by_kernel)) > 1000


def test_kernels_are_for_many_shapes_on_the_cpu() -> None:
    assert stamping.worth_kernels(1000)
    assert not stamping.worth_kernels(1)
    ti.init(arch=ti.python)
    assert not stamping.worth_kernels(1000)
