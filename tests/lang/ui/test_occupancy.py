"""`ti.tools.draw_tree`: where a sparse field is active."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import weft as ti
from weft.ir.errors import TypeMismatch
from weft.lang.ui import occupancy


@pytest.fixture(autouse=True)
def fresh() -> None:
    ti.init(arch=ti.cpu)


def shown(image: Any, colour: tuple[float, ...]) -> Any:
    """Which pixels have a colour."""
    return np.abs(image - np.array(colour, np.float32)).max(-1) < 1e-3


def test_cells_and_elements_lie_where_they_are(tmp_path: Path) -> None:
    x = ti.field(ti.f32)
    ti.root.pointer(ti.ij, (4, 2)).bitmasked(ti.ij, 4).place(x, offset=(-3, 5))
    x[-3 + 5, 5 + 2] = 1
    image = ti.tools.draw_tree(x, tmp_path / "x.png", size=64)
    assert image.shape == (64, 32, 3)
    assert (tmp_path / "x.png").stat().st_size > 0
    yellow = np.argwhere(shown(image, occupancy._ACTIVE))
    assert yellow.min(axis=0).tolist() == [20, 8]
    assert yellow.max(axis=0).tolist() == [23, 11]
    empty = shown(image, occupancy._EMPTY)
    assert not empty[16:32, :16].any()
    assert empty.sum() == 64 * 32 - 16 * 16


def test_what_lies_on_one_another_is_brighter() -> None:
    x = ti.field(ti.i32)
    ti.root.hash(ti.ijk, 8).dense(ti.ijk, 2).place(x)
    m = ti.field(ti.i32)
    ti.root.hash(ti.ijk, 8).place(m)
    for k in range(3):
        m[-100, 7, k * 1000] = 1
    m[-99, 7, 0] = 1
    image = ti.tools.draw_tree(m, size=32)
    assert image.shape == (32, 16, 3)
    assert (image[0].min(axis=0) > image[31].max(axis=0)).all()
    assert ti.tools.draw_tree(x, size=16).shape[2] == 3  # nothing is active


def test_lists_and_large_fields() -> None:
    z, large = ti.field(ti.f32), ti.field(ti.f32)
    ti.root.dynamic(ti.i, 40, chunk_size=8).place(z)
    ti.root.pointer(ti.ij, 1000).dense(ti.ij, 10).place(large)
    z[9] = 1
    large[9999, 0] = 1
    band = ti.tools.draw_tree(z, size=400)
    assert band.shape == (400, 25, 3)
    assert (band[100] != band[99]).any()
    assert shown(band, occupancy._EMPTY)[160:].all()
    assert not shown(band, occupancy._EMPTY)[:160].any()
    image = ti.tools.draw_tree(large, size=100)
    assert image.shape == (100, 100, 3)
    assert np.argwhere(~shown(image, occupancy._EMPTY)).tolist() == [[99, 0]]


def test_what_is_refused() -> None:
    for wrong in (3, ti.field(ti.f32, ())):
        with pytest.raises(TypeMismatch, match="a field with at least one axis"):
            ti.tools.draw_tree(wrong)
    with pytest.raises(TypeMismatch, match="from 16 on"):
        ti.tools.draw_tree(ti.field(ti.f32, 4), size=2)
