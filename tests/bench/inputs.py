"""What all peers compute with: the same numbers for everyone, and how a sample of a result is taken."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

__all__ = [
    "CALLS",
    "Program",
    "block",
    "bytes_of",
    "cells",
    "floats",
    "lattice",
    "picture",
    "sample",
    "sparse",
    "swirl",
]

CALLS = 1000  # how often a step of the small programs calls or loops: milliseconds of a step are microseconds of a call
_SAMPLES = 1009


@dataclass(frozen=True)
class Program:
    """`step` does the measured work once; `result` gives a sample of what it has computed so far."""

    step: Callable[[], Any]
    result: Callable[[], Any]


def sample(*arrays: Any) -> Any:
    """About a thousand numbers of each array, evenly spread, as doubles."""
    flat = [np.asarray(array).reshape(-1) for array in arrays]
    return np.concatenate([each[:: max(1, each.size // _SAMPLES)].astype(np.float64) for each in flat])


def floats(*shape: int) -> Any:
    """f32 in [0, 1)."""
    return np.random.default_rng(1).random(shape, np.float32)


def bytes_of(n: int) -> Any:
    """u8, all values about equally often."""
    return np.random.default_rng(2).integers(0, 256, n, np.uint8)


def cells(n: int, dtype: Any) -> Any:
    """n x n cells, three of ten alive."""
    return (np.random.default_rng(3).random((n, n)) < 0.3).astype(dtype)


def picture(n: int) -> Any:
    """n x n pixels of three floats."""
    return np.random.default_rng(4).random((n, n, 3), np.float32)


def sparse(rows: int) -> tuple[Any, Any, Any]:
    """A matrix in CSR form, about 8 elements a row near its diagonal: (starts, columns, values)."""
    rng = np.random.default_rng(5)
    counts = rng.integers(4, 13, rows)
    starts = np.concatenate([[0], np.cumsum(counts)]).astype(np.int32)
    near = np.repeat(np.arange(rows), counts) + rng.integers(-5000, 5001, starts[-1])
    return starts, np.clip(near, 0, rows - 1).astype(np.int32), rng.random(starts[-1], np.float32)


def block(count: int, axes: int) -> Any:
    """Particles that fill a block, 0.2 to 0.6 along each axis."""
    return 0.2 + 0.4 * np.random.default_rng(6).random((count, axes), np.float32)


def lattice(side: int) -> Any:
    """side^3 particles in a block, a little off their places."""
    place = np.stack(np.meshgrid(*[np.arange(side)] * 3, indexing="ij"), axis=-1).reshape(-1, 3)
    jitter = np.random.default_rng(7).random((side**3, 3)) - 0.5
    return (0.05 + (place + 0.3 * jitter) * 0.9 / side).astype(np.float32)


def swirl(n: int) -> Any:
    """Velocities of n x n cells in some eddies."""
    x, y = np.meshgrid(np.arange(n) * 2 * np.pi / n, np.arange(n) * 2 * np.pi / n, indexing="ij")
    return np.stack([np.sin(2 * x) * np.cos(3 * y), -np.cos(2 * x) * np.sin(3 * y)], axis=-1).astype(np.float32) * 0.2


def reals(*shape: int) -> Any:
    """f64 in [-1, 1)."""
    return np.random.default_rng(8).uniform(-1, 1, shape)


def clouds(n: int, k: int, d: int) -> tuple[Any, Any]:
    """Points around centroids, and guesses of the centroids."""
    rng = np.random.default_rng(9)
    centres = rng.uniform(-1, 1, (k, d))
    return centres[rng.integers(0, k, n)] + 0.2 * rng.normal(size=(n, d)), centres + 0.1 * rng.normal(size=(k, d))


def mixture(n: int, k: int, d: int) -> tuple[Any, ...]:
    """Points, and a mixture of Gaussians: weights, means, diagonals and lower triangles."""
    rng = np.random.default_rng(10)
    shapes = (n, d), (k,), (k, d), (k, d), (k, d * (d - 1) // 2)
    return tuple(rng.normal(size=shape) * 0.5 for shape in shapes)


def network(layers: int, b: int, count: int) -> tuple[Any, Any, Any]:
    """Weights and biases of a network with a memory, those of its input and output, and a text of 0 and 1."""
    rng = np.random.default_rng(11)
    letters = (rng.random((count, b)) < 0.4).astype(np.float64)
    return rng.uniform(-1, 1, (8 * layers, b)), rng.uniform(-1, 1, (3, b)), letters


def observations(n: int) -> tuple[Any, Any]:
    """For each observation the camera (rotation, centre, focal length, principal point, distortions), the point and the
    weight; and where it was seen."""
    rng = np.random.default_rng(12)
    parts = [rng.uniform(-0.5, 0.5, (n, 3)), rng.uniform(-1, 1, (n, 3)), rng.uniform(0.5, 2, (n, 1))]
    parts += [rng.uniform(-0.2, 0.2, (n, 2)), rng.uniform(-0.1, 0.1, (n, 2)), rng.uniform(-1, 1, (n, 2))]
    parts += [rng.uniform(4, 8, (n, 1)), rng.uniform(0.5, 1.5, (n, 1))]
    return np.concatenate(parts, axis=1), rng.uniform(-1, 1, (n, 2))
