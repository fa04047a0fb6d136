"""Rows of `measure.py`: what a call of a kernel costs that does next to nothing, back to back."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import weft as ti

__all__ = ["calls"]


def _four_tasks(x: Any) -> Callable[[], Any]:
    @ti.kernel
    def tasks():
        for i in x:
            x[i] += 1
        for i in range(3):
            x[i + 1] += 1
        for i in range(2):
            x[i + 2] += 1
        for i in range(4):
            x[i] -= 1

    return tasks


def calls() -> dict[str, Callable[[], Any]]:
    """The calls, by the names of their rows."""
    x = ti.field(ti.f32, 4)
    vec = ti.types.vector(3, ti.f32)
    pair = ti.types.struct(a=ti.f32, b=vec)
    array = ti.types.ndarray(ti.f32, 1)

    @ti.kernel
    def nothing():
        for i in x:
            x[i] = 0

    @ti.kernel
    def scalars(a: ti.i32, b: ti.f32, c: ti.f32, d: ti.i32):
        for i in x:
            x[i] = a + b + c + d

    @ti.kernel
    def structs(p: pair, v: vec):
        for i in x:
            x[i] = p.a + p.b[0] + v[1]

    @ti.kernel
    def five(a: array, b: array, c: array, d: array, e: array):
        for i in a:
            a[i] = b[i] + c[i] + d[i] + e[i]

    @ti.kernel
    def ten(
        a: array, b: array, c: array, d: array, e: array, f: array, g: array, h: array, p: array, q: array
    ):  # fmt: skip
        for i in a:
            a[i] = b[i] + c[i] + d[i] + e[i] + f[i] + g[i] + h[i] + p[i] + q[i]

    @ti.kernel
    def answer() -> ti.i32:
        return 42

    arrays = [ti.ndarray(ti.f32, 8) for _ in range(10)]
    p, v = pair(a=1, b=[1, 2, 3]), ti.Vector([1.0, 2.0, 3.0])
    return {
        "launch": nothing,
        "launch, 4 scalars": lambda: scalars(1, 2.0, 3.0, 4),
        "launch, struct and vector": lambda: structs(p, v),
        "launch, 5 arrays": lambda: five(*arrays[:5]),
        "launch, 10 arrays": lambda: ten(*arrays),
        "launch, 4 tasks": _four_tasks(x),
        "launch and answer": answer,
        "element read": lambda: x[1],
    }
