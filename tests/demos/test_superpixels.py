"""Superpixels against a plain numpy version of the same algorithm, and against what a picture is known to show."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import weft
from weft.demos import superpixels

pytest.importorskip("matplotlib", reason="pictures need the extra weft[viz]")

STEP, COMPACT, ROUNDS = 16, 12.0, 10


def mosaic(height: int, width: int, cells: int) -> tuple[Any, Any]:
    """The numbers of the cells of a Voronoi diagram, and a picture of it with some noise."""
    rng = np.random.default_rng(2)
    pixels = np.stack(np.meshgrid(np.arange(height), np.arange(width), indexing="ij"), -1)
    sites = rng.random((cells, 2)) * (height, width)
    truth = ((pixels[:, :, None] - sites) ** 2).sum(-1).argmin(-1)
    picture = rng.random((cells, 3))[truth] + 0.03 * rng.standard_normal((height, width, 3))
    return truth, np.clip(picture, 0, 1).astype(np.float32)


def lab(picture: Any) -> Any:
    """sRGB as CIE L*a*b*, by the book."""
    light = np.where(picture <= 0.04045, picture / 12.92, ((picture + 0.055) / 1.055) ** 2.4)
    xyz = light @ np.array([[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]]).T
    t = xyz / (0.9505, 1.0, 1.089)
    x, y, z = np.moveaxis(np.where(t > 0.008856, np.cbrt(t), 7.787 * t + 16 / 116), -1, 0)
    return np.stack([116 * y - 16, 500 * (x - y), 200 * (y - z)], -1)


def plain(picture: Any) -> Any:
    """The algorithm as published: each center claims what is nearest to it in a window of twice its step."""
    colors, (height, width) = lab(picture.astype(np.float64)), picture.shape[:2]
    rows, columns = height // STEP, width // STEP
    y, x = np.meshgrid((np.arange(rows) + 0.5) * height / rows, (np.arange(columns) + 0.5) * width / columns)
    places = np.stack([y.T.ravel(), x.T.ravel()], -1) - 0.5
    means = colors[places[:, 0].round().astype(int), places[:, 1].round().astype(int)]
    pixels = np.stack(np.meshgrid(np.arange(height), np.arange(width), indexing="ij"), -1)
    owner = np.zeros((height, width), int)
    for _ in range(ROUNDS):
        best = np.full((height, width), np.inf)
        for k, place in enumerate(places):
            low, high = np.maximum(place - STEP, 0).astype(int), np.ceil(place + STEP).astype(int) + 1
            window = slice(low[0], high[0]), slice(low[1], high[1])
            away = ((colors[window] - means[k]) ** 2).sum(-1)
            away += (COMPACT / STEP) ** 2 * ((pixels[window] - place) ** 2).sum(-1)
            owner[window] = np.where(away < best[window], k, owner[window])
            best[window] = np.minimum(best[window], away)
        for k in range(len(places)):
            if (owner == k).any():
                places[k], means[k] = pixels[owner == k].mean(0), colors[owner == k].mean(0)
    return owner


def edges(numbers: Any) -> Any:
    result = np.zeros(numbers.shape, bool)
    result[:-1] |= numbers[1:] != numbers[:-1]
    result[:, :-1] |= numbers[:, 1:] != numbers[:, :-1]
    return result


def boundary_recall(truth: Any, patches: Any) -> float:
    """The share of the true edges that have an edge of a patch within two pixels."""
    found = np.pad(edges(patches), 2)
    height, width = truth.shape
    near = np.any([found[i : i + height, j : j + width] for i in range(5) for j in range(5)], axis=0)
    return float(near[edges(truth)].mean())


def accuracy(truth: Any, patches: Any) -> float:
    """The share of the pixels that would be right if each patch were of what it shows most of."""
    counts = np.zeros((patches.max() + 1, truth.max() + 1))
    np.add.at(counts, (patches.ravel(), truth.ravel()), 1)
    return float(counts.max(1).sum() / truth.size)


def pieces(patches: Any) -> int:
    """How many connected pieces there are."""
    left, count = {*np.ndindex(patches.shape)}, 0
    while left:
        todo, count = [left.pop()], count + 1
        while todo:
            i, j = todo.pop()
            for other in ((i + 1, j), (i - 1, j), (i, j + 1), (i, j - 1)):
                if other in left and patches[other] == patches[i, j]:
                    left.discard(other)
                    todo.append(other)
    return count


def clustered(picture: Any, monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setattr(superpixels, "ROUNDS", ROUNDS)
    demo = superpixels.build(picture, STEP, COMPACT)
    for number in range(ROUNDS + 1):
        demo(number)
    return demo


def test_patches_are_those_of_the_published_algorithm(monkeypatch: pytest.MonkeyPatch) -> None:
    truth, picture = mosaic(128, 160, 20)
    nearest, wanted = clustered(picture, monkeypatch).nearest.to_numpy(), plain(picture)
    assert nearest.max() < wanted.max() + 1 == 80
    assert (
        nearest == wanted
    ).mean() > 0.8  # (windows differ a little: nine cells here, a square around a center there)
    for measure in (boundary_recall, accuracy):
        assert measure(truth, nearest) > 0.98
        assert measure(truth, nearest) > measure(truth, wanted) - 0.01


def test_connected_patches_still_follow_the_edges(monkeypatch: pytest.MonkeyPatch) -> None:
    truth, picture = mosaic(128, 160, 20)
    demo = clustered(picture, monkeypatch)
    patches = demo.patch.to_numpy()
    assert pieces(demo.nearest.to_numpy()) > len(np.unique(patches)) > 70
    assert pieces(patches) == len(np.unique(patches))
    assert boundary_recall(truth, patches) > 0.9
    assert accuracy(truth, patches) > 0.95


@pytest.mark.unverified
def test_connecting_has_no_races(monkeypatch: pytest.MonkeyPatch) -> None:
    weft.init(arch=weft.cpu, check_races=True)
    assert clustered(mosaic(48, 64, 6)[1], monkeypatch).patch.to_numpy().min() >= 0
