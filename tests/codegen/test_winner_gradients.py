"""Gradients of random loops that take an extreme: by the sweep of the winner, and by that of the whole loop."""

import linecache
import random

import numpy as np
import pytest

import weft as ti
from tests.sampling import every
from weft.ir.transforms import differentiate

NUMBERS = ("x[i]", "x[(i + k) % 9]", "c[k % 5]", "c[(k + i) % 5]", "0.5", "ti.cast(k, ti.f64) * 0.25")


class Drawn:
    """A random kernel of fields x, y and c."""

    def __init__(self, seed: int) -> None:
        self.one = random.Random(seed).choice

    def value(self, depth: int = 2) -> str:
        if depth == 0:
            return self.one(NUMBERS)
        a, b = self.value(depth - 1), self.value(0)
        return self.one((f"({a} * {b})", f"({a} - {b})", f"({a} + {b})", f"ti.sin({a})", f"ti.abs({a})"))

    def text(self) -> str:
        lines = [
            "@ti.kernel",
            "def run():",
            "    for i in x:",
            f"        best = ti.cast({self.one(('1e30', '-1e30', '0.3'))}, ti.f64)",
            f"        for k in range({self.one(('5', '7', 'i % 4 + 3', '3'))}):",
            f"            v = ti.cast({self.value()}, ti.f64)",
        ]
        if self.one((True, False)):
            lines += ["            for j in range(3):", f"                v += {self.value(1).replace('k', '(k + j)')}"]
        if self.one((True, False)):
            lines += ["            if k % 2 == 0:", f"                v *= {self.value(0)}"]
        lines.append(f"            best = ti.{self.one(('min', 'max'))}({self.one(('best, v', 'v, best'))})")
        return "\n".join(
            [*lines, f"        y[i] = {self.one(('best', 'best * x[i]', 'ti.sin(best)', 'best + c[i % 5]'))}"]
        )


def gradients(seed: int):
    """The gradients by x and c. In every third program, numbers are multiples of a quarter, so that there are ties."""
    ti.init(arch=ti.cpu, offline_cache=False, cpu_max_num_threads=1 + seed % 2)
    x, y, c = (ti.field(ti.f64, count, needs_grad=True) for count in (37, 37, 5))
    scale, values = 4.0 if seed % 3 == 0 else 1e9, np.random.default_rng(seed)
    for field in (x, c):
        field.from_numpy(np.round(values.uniform(-1, 1, field.shape) * scale) / scale)
    text, name, names = Drawn(seed).text(), f"<winner {seed}>", {"ti": ti, "x": x, "y": y, "c": c}
    linecache.cache[name] = (len(text), None, text.splitlines(keepends=True), name)
    exec(compile(text, name, "exec"), names)
    names["run"]()
    y.grad.from_numpy(values.uniform(-1, 1, 37))
    names["run"].grad()
    found = x.grad.to_numpy(), c.grad.to_numpy()
    ti.reset()
    return found, text


@pytest.mark.parametrize("seed", every(12, range(36)))
def test_the_sweep_of_the_winner_gives_what_that_of_the_loop_gives(seed, monkeypatch):
    found, text = gradients(seed)
    monkeypatch.setattr(differentiate, "split_extremes", lambda _: None)
    wanted, _ = gradients(seed)
    for mine, other in zip(found, wanted, strict=True):
        np.testing.assert_allclose(mine, other, rtol=1e-9, atol=1e-11, err_msg=text)
