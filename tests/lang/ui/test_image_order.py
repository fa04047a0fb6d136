"""Which way is up: `order="xy"` and `order="yx"`, and the warning where neither is said."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import weft as ti

PHOTO = np.random.default_rng(0).integers(0, 256, (4, 6, 3)).astype(np.uint8)  # 4 rows of 6 pixels


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from PIL import Image

    monkeypatch.chdir(tmp_path)
    ti.init(arch=ti.cpu)
    Image.fromarray(PHOTO).save("photo.png")


def content(name: str) -> Any:
    from PIL import Image

    return np.asarray(Image.open(name))


def test_reading() -> None:
    assert (ti.tools.imread("photo.png", order="yx") == PHOTO).all()
    assert (ti.tools.imread("photo.png", order="xy") == PHOTO[::-1].swapaxes(0, 1)).all()
    assert (ti.tools.imread("photo.png") == ti.tools.imread("photo.png", order="xy")).all()
    assert ti.tools.imread("photo.png", 1, "yx").shape == (4, 6, 1)


@pytest.mark.parametrize("image", [PHOTO, PHOTO[:, :, 0], PHOTO / 255, PHOTO.astype(np.uint16) * 257])
def test_writing(image: Any) -> None:
    ti.tools.imwrite(image, "rows.png", order="yx")
    assert np.abs(content("rows.png").astype(int) - (PHOTO if image.ndim == 3 else PHOTO[:, :, 0])).max() <= 1
    ti.tools.imwrite(image[::-1].swapaxes(0, 1), "columns.png", order="xy")
    assert (content("columns.png") == content("rows.png")).all()


def test_fields_have_an_order_too() -> None:
    field = ti.Vector.field(3, ti.u8, (4, 6))
    field.from_numpy(PHOTO)
    ti.tools.imwrite(field, "a.png", order="yx")
    assert (content("a.png") == PHOTO).all()


def test_a_photograph_is_not_turned_without_a_word() -> None:
    from PIL import Image

    for image in (PHOTO, PHOTO[:, :, 0], Image.open("photo.png")):
        with pytest.warns(ti.tools.ImageOrderWarning, match=r"imwrite takes .* order='yx'") as record:
            ti.tools.imwrite(image, "a.png")
        assert record[0].filename == __file__


def test_what_is_clear_is_not_warned_of() -> None:
    field = ti.Vector.field(3, ti.u8, (6, 4))
    read = ti.tools.imread("photo.png")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for image in (field, ti.ndarray(ti.u8, (6, 4)), np.zeros((6, 4)), read, read[1:, ::2], [[0.5, 0.25]]):
            ti.tools.imwrite(image, "a.png")
        ti.tools.imwrite(PHOTO, "a.png", order="xy")
        manager = ti.tools.VideoManager("film", automatic_build=False)
        manager.write_frame(PHOTO)


def test_showing(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("DISPLAY", "WAYLAND_DISPLAY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("WEFT_GUI_FRAMES", "1")
    ti.tools.imshow(PHOTO, "shown", order="yx")
    assert (content("out/shown.png") == PHOTO).all()
    with pytest.warns(ti.tools.ImageOrderWarning, match="imshow takes"):
        ti.tools.imshow(PHOTO, "turned")
    assert content("out/turned.png").shape == (6, 4, 3)  # 4 wide, 6 high


@pytest.mark.parametrize("order", ["ij", "YX", 1, ["xy"]])
def test_other_orders(order: Any) -> None:
    for call in (
        lambda: ti.tools.imread("photo.png", order=order),
        lambda: ti.tools.imwrite(PHOTO, "a.png", order=order),
        lambda: ti.tools.imshow(PHOTO, order=order),
    ):
        with pytest.raises(ValueError, match="must be 'xy' or 'yx', not"):
            call()
    assert not Path("a.png").exists()
