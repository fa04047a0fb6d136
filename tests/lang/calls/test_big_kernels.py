"""Kernels much longer, deeper or wider than people write: they compile in time that grows with their size, or say why
not."""

from __future__ import annotations

import re
import sys
from typing import Any

import numpy as np
import pytest

import weft as ti
from weft.ir.errors import CompilationError


@pytest.fixture(autouse=True)
def start() -> None:
    ti.init(arch=ti.cpu, offline_cache=False)


def made(lines: list[str], **names: Any) -> Any:
    text = "\n".join(["@ti.kernel", "def k():", *lines])
    space: dict[str, Any] = {"ti": ti, **names}
    exec(text, space)
    return space["k"]


def elifs(count: int, x: Any) -> Any:
    """A chain of so many."""
    sides = [line for j in range(1, count) for line in (f"        elif x[i] == {j}:", f"            x[i] = {j + 100}")]
    return made(["    for i in x:", "        if x[i] == 0:", "            x[i] = 100", *sides], x=x)


def test_a_chain_of_elifs() -> None:
    x = ti.field(ti.i32, 150)
    x.from_numpy(np.arange(150, dtype=np.int32))
    elifs(120, x)()
    assert x.to_numpy().tolist() == [*range(100, 220), *range(120, 150)]


def test_deep_nesting_raises_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    x = ti.field(ti.i32, 3)
    kernel = elifs(340, x)
    with pytest.raises(CompilationError, match=r"'k' is nested too deeply .*sys\.setrecursionlimit.*elif"):
        kernel()
    limit = sys.getrecursionlimit()
    try:
        sys.setrecursionlimit(8_000)
        kernel()
    finally:
        sys.setrecursionlimit(limit)
    assert x.to_numpy().tolist() == [100] * 3


def test_hundreds_of_inlined_calls() -> None:
    x = ti.field(ti.f32, 4)

    @ti.func
    def f(a, b):
        if a > b:
            a -= b
        return a + 1

    made(["    for i in x:", "        s = x[i]", *[f"        s = f(s, {j}.5)" for j in range(500)], "        x[i] = s"],
         x=x, f=f)()  # fmt: skip
    s = np.float32(0)
    for j in range(500):
        s = np.float32(s - (j + 0.5) if s > j + 0.5 else s) + np.float32(1)
    assert x[0] == s


def test_all_elements_of_a_large_matrix_one_by_one() -> None:
    """Each is a scope of aliases by itself: of pairs of them there would be a million."""
    n = 32
    m, x = ti.Matrix.field(n, n, ti.f32, 3), ti.field(ti.f32, 3)
    values = np.random.default_rng(1).integers(0, 9, (3, n, n)).astype(np.float32)
    m.from_numpy(values)

    @ti.kernel
    def k():
        for i in m:
            a = m[i]
            s = 0.0
            for p, q in ti.static(ti.ndrange(n, n)):
                s += a[p, q]
            x[i] = s

    k()
    assert x.to_numpy().tolist() == values.sum(axis=(1, 2)).tolist()
    lists = re.findall(r"^!\d+ = !\{(.*)\}$", k.last.artifact.llvm, re.MULTILINE)
    assert max(len(one.split(",")) for one in lists) < 100


def test_few_components_stay_apart() -> None:
    v = ti.Vector.field(3, ti.f32, 8)

    @ti.kernel
    def k():
        for i in v:
            v[i][0] = v[i][1] + v[i][2]

    k()
    assert k.last.artifact.llvm.count('distinct !{!"field:v#') == 3
