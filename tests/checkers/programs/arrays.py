# pyright: strict
"""Kernels on arrays. Strict checkers find no error, and the program runs. Annotations are strings."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import numpy as np

import weft as ti
import weft.math as tm
from weft.math import vec3

if TYPE_CHECKING:
    from collections.abc import Sequence

vec5 = Annotated[ti.Vector[ti.f32], 5]
mat23 = Annotated[ti.Matrix[ti.f32], 2, 3]


@ti.kernel
def blend(a: ti.Array[ti.f32, 2], b: ti.Array2[ti.f32], amount: ti.f32 = 0.5) -> None:
    """b moves towards a."""
    for i, j in b:
        far = ti.abs(a[i, j] - b[i, j])
        b[i, j] += amount * (a[i, j] - b[i, j])
        if far > 1.0:
            b[i, j] = ti.max(b[i, j], 0.0)


@ti.kernel
def light(points: ti.Array1[ti.vec3], sun: vec3, out: ti.NDArray[ti.f32, 1]) -> tuple[ti.f32, ti.i32]:
    """How bright each point is; the brightest, and how many are lit."""
    brightest, lit = 0.0, 0
    for i in range(points.shape[0]):
        shade = tm.clamp(tm.dot(tm.normalize(points[i]), sun), 0.0, 1.0)
        out[i] = shade
        ti.atomic_max(brightest, shade)
        if shade > 0.5:
            lit += 1
    return brightest, lit


@ti.kernel
def sums(v: vec5, m: mat23, unknown: ti.Template) -> vec3:
    """Sums of many kinds."""
    row = m[0, :]
    whole = ti.Vector([v.sum(), v[0], m[1, 2]]) + row
    for k in ti.static(range(5)):
        whole.x += v[k] * ti.select(k > 2, 1.0, -1.0)
    bits = ti.ivec3(1, 2, 3) << 2
    whole += bits * ti.cast(bits.x, ti.f32) + ti.i32(unknown)
    return whole


def run(numbers: Sequence[float] = (1.0, 2.0, 3.0)) -> tuple[float, int, float]:
    """What the kernels compute from these numbers."""
    a, b = np.full((2, 3), numbers[0], np.float32), ti.ndarray(ti.f32, (2, 3))
    blend(a, b)
    blend(b=b, a=a, amount=0.25)
    points = np.array([numbers, numbers], np.float32)
    shades = np.zeros(2, np.float32)
    brightest, lit = light(points, ti.vec3(0, 0, 1), shades)
    total = sums(ti.Vector([1.0, 2.0, 3.0, 4.0, 5.0]), ti.Matrix([[1, 2, 3], [4, 5, 6]]), 1)
    blend.compile(a, b)
    return b[0, 0] + brightest, lit, total.x + total.zyx.y
