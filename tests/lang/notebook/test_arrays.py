"""How fields look in notebooks: the numbers and the pixels of their HTML."""

from __future__ import annotations

import base64
import io
import re

import numpy as np
import pytest

import weft as ti
from weft.lang.notebook.thumbnails import colored, png, scale_of, thumbnail

Image = pytest.importorskip("PIL.Image")


def _pictures(html: str) -> list[np.ndarray]:
    data = re.findall(r"data:image/png;base64,([^']+)'", html)
    return [np.asarray(Image.open(io.BytesIO(base64.b64decode(one)))) for one in data]


def _rows(html: str) -> dict[str, str]:
    return dict(re.findall(r"<th[^>]*>(.*?)</th><td>(.*?)</td>", html))


@pytest.fixture(autouse=True)
def program() -> None:
    ti.init(arch=ti.cpu)


def test_statistics_and_picture_of_a_field() -> None:
    x = ti.field(ti.f32, (30, 20), name="<heat>")
    values = np.linspace(1, 5, 600, dtype=np.float32).reshape(30, 20)
    values[3, 4], values[0, 0] = np.nan, np.inf
    x.from_numpy(values)
    html = x._repr_html_()
    assert "&lt;heat&gt;" in html
    finite = values[np.isfinite(values)]
    rows = _rows(html)
    assert float(rows["mean"]) == pytest.approx(finite.mean(), rel=1e-5)
    assert (float(rows["min"]), float(rows["max"])) == pytest.approx((finite.min(), finite.max()), rel=1e-5)
    assert (rows["NaN"], rows["infinite"]) == ("<b>1</b> of 600", "<b>1</b> of 600")
    picture, bar = _pictures(html)
    assert picture.shape == (20, 30, 3)
    assert tuple(picture[19, 0]) == tuple(picture[20 - 1 - 4, 3]) == (220, 0, 200), "x to the right, y up"
    assert tuple(bar[0, 0]) == (68, 1, 84)
    assert tuple(bar[0, -1]) == tuple(picture[0, -1]) == (253, 231, 37)


def test_zero_is_white_between_signs() -> None:
    scale = scale_of(-2.0, 1.0)
    assert scale == (-2.0, 2.0, True)
    assert colored(np.array([-2.0, 0.0, 2.0]), scale).tolist() == [[33, 102, 172], [247, 247, 247], [178, 24, 43]]
    assert scale_of(0.0, 1.0) == (0.0, 1.0, False)


def test_colours_are_shown_as_they_are() -> None:
    x = ti.Vector.field(3, ti.f32, (4, 3))
    x[0, 2] = [1, 0.5, 0]
    (picture,) = _pictures(x._repr_html_())
    assert picture[0, 0].tolist() == [255, 128, 0]
    x[0, 0] = [2, 0, 0]
    assert "lengths of the vectors" in x._repr_html_()


@pytest.mark.parametrize(
    ("made", "told"),
    [
        (lambda: ti.field(ti.i32, ()), "<td>0</td>"),
        (lambda: ti.field(ti.u8, 1000), "elements"),
        (lambda: ti.field(ti.f64, (3, 4, 5)), "the middle along axis 2"),
        (lambda: ti.Matrix.field(2, 2, ti.f32, (3, 3)), "Frobenius norms"),
        (lambda: ti.Vector.field(2, ti.f16, 7), "lengths of the vectors"),
        (lambda: ti.ndarray(ti.f32, (4, 4)), "ndarray f32"),
        (lambda: ti.Struct.field({"a": ti.f32, "b": ti.math.vec2}, shape=4), "<code>.b</code>"),
        (lambda: ti.field(ti.f32), "is not placed"),
        (lambda: ti.root.dense(ti.ij, (4, 1)).dense(ti.ij, (1, 4)).place(placed := ti.field(ti.i32)) and placed, "min"),
    ],
)
def test_all_kinds(made: object, told: str) -> None:
    assert told in made()._repr_html_()  # type: ignore[operator]


def test_large_fields_are_sampled(monkeypatch: pytest.MonkeyPatch) -> None:
    from weft.lang.notebook import arrays

    monkeypatch.setattr(arrays, "_MOST", 100)
    x = ti.field(ti.f32, (100, 100))
    x.fill(3)
    assert _rows(x._repr_html_())["of"] == "a sample of 1 in 10 along each axis"


def test_pillow_reads_our_png() -> None:
    picture = np.random.default_rng(0).integers(0, 255, (7, 5, 3), dtype=np.uint8)
    assert (np.asarray(Image.open(io.BytesIO(png(picture)))) == picture).all()


def test_a_plot_of_one_axis() -> None:
    numbers = np.array([-1.0, 0.0, 1.0])
    plot = thumbnail(numbers, scale_of(-1.0, 1.0))
    drawn = (plot != 255).any(2)
    assert drawn[:24, 2].all()
    assert not drawn[:23, 0].any()
    assert drawn[25:, 0].all()
