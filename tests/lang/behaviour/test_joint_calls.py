"""Reverse mode of real functions that give their values together with their adjoints (`ir/autodiff/joint.py`)."""

import linecache
import random

import numpy as np
import pytest

from tests.sampling import every

HEAD = """
@ti.real_func
def f(n: ti.i32, x: ti.f64) -> ti.f64:
    a, b, total = x, x * 0.5 + w[ti.max(n, 0)], ti.cast(0.0, ti.f64)"""

KERNEL = """
@ti.kernel
def program():
    ti.loop_config(serialize=SERIAL)
    for i in y:
        out[i] += f(3, y[i]) * w[i]
"""


class Drawn:
    """A random function that calls itself. `statements` draws the lines of a block, `value` an expression of reals."""

    def __init__(self, seed: int) -> None:
        self.random, self.calls, self.loops = random.Random(seed), 0, 0

    def value(self, depth: int = 2) -> str:
        one = self.random.choice
        if depth == 0:
            return one(("a", "b", "total", "x", "w[n]", "w[n - 1]", "0.7"))
        left, right = self.value(depth - 1), self.value(0)
        if self.calls < 3 and one((True, False, False)):
            self.calls += 1
            left = f"f(n - {one((1, 2))}, {self.value(0)})"
        return one((f"({left} * {right})", f"({left} - {right})", f"({left} + {right})", f"ti.sin({left})",
                    f"({left} / (2.0 + {right} * {right}))", f"ti.min({left}, {right})"))  # fmt: skip

    def statements(self, margin: str, depth: int) -> list[str]:
        one, lines = self.random.choice, list[str]()
        for _ in range(self.random.randint(1, 3)):
            kind = self.random.randrange(7 if depth else 4)
            if kind == 0:
                lines.append(f"{margin}total {one('+-')}= {self.value()}")
            elif kind == 1:
                calls = [f"{self.value(0)} * f(n - {one((1, 2))}, {self.value(0)})" for _ in range(2)]
                lines.append(f"{margin}total {one('+-')}= {' + '.join(calls)}")
            elif kind < 4:
                lines.append(f"{margin}{one(('a', 'b', 'total'))} = {self.value()}")
            else:
                self.loops += 1
                head = (f"for k{self.loops} in range(2):", "if n % 2 == 0:", "if a > b:")[kind - 4]
                lines += [margin + head, *self.statements(margin + "    ", depth - 1)]
        return lines

    def text(self) -> str:
        if self.random.random() < 0.5:
            lines = ["    if n <= 0:", "        return x * w[0]", *self.statements("    ", 2)]
        else:
            lines = ["    if n > 0:", *self.statements("        ", 2), "    else:", "        total = w[1] * x"]
        if not self.calls:
            lines += ["    if n > 0:", "        total += w[1] * f(n - 1, a)"]
        return "\n".join([HEAD, *lines, f"    return total {self.random.choice('+-')} a * b"])


def made(ti, seed):
    """A kernel that calls a random function, with its fields and its text."""
    w, y, out = (ti.field(ti.f64, 4) for _ in range(3))
    name, text = f"<joint {seed}>", Drawn(seed).text() + KERNEL
    names = {"ti": ti, "w": w, "y": y, "out": out, "SERIAL": seed % 2 == 1}
    linecache.cache[name] = (len(text), None, text.splitlines(keepends=True), name)
    exec(compile(text, name, "exec"), names)
    values = np.random.default_rng(seed)
    for field in (w, y):
        field.from_numpy(values.uniform(-1, 1, 4))
    return names["program"], w, y, out, text


@pytest.mark.parametrize("seed", every(21, range(42)))
def test_reverse_mode_agrees_with_forward_mode(ti, seed):
    program, w, y, out, text = made(ti, seed)
    values = np.random.default_rng(seed + 1)
    dw, dy, weights = values.uniform(-1, 1, (3, 4))
    _, pull = ti.ad.vjp(program, [w, y], out)()
    gw, gy = pull(weights)
    _, ahead = ti.ad.jvp(program, [w, y], out)([dw, dy])
    terms = np.concatenate([gw * dw, gy * dy, ahead * weights])
    assert abs((gw @ dw + gy @ dy) - ahead @ weights) <= 1e-11 * max(1.0, np.abs(terms).sum()), text


@pytest.mark.parametrize("carried", ["locals", "memory"])
def test_loops_whose_iterations_depend_on_one_another(ti, carried):
    """What they carry is no sum, so their adjoints must run backwards."""
    x, out = ti.field(ti.f64, 5), ti.field(ti.f64, 3)

    @ti.real_func
    def f(n: ti.i32, v: ti.f64) -> ti.f64:
        r = v
        if n > 0:
            r = x[n] * f(n - 1, v * x[0])
        return r

    @ti.real_func
    def parts(n: ti.i32, v: ti.f64) -> ti.f64:
        a = ti.Vector([v, 0.0, 0.0], ti.f64)
        for j in range(2):
            a[j + 1 - n] = a[(j + n) % 2] + x[j] * f(2, x[j + 1])
        return a[2] + a[1] * 0.5

    @ti.real_func
    def used(n: ti.i32, v: ti.f64) -> ti.f64:
        a, s = v, v * 0.0
        for j in range(3):
            t = a + x[j] * f(n, x[j + 1])
            a = t
            s += t * 0.5
        return s + a

    @ti.real_func
    def last(n: ti.i32, v: ti.f64) -> ti.f64:
        a = v
        for j in range(3):
            b = a
            for k in range(2):
                a = b + x[k] * f(n, x[j + 1])
        return a

    @ti.kernel
    def program():
        ti.loop_config(serialize=True)
        for i in out:
            if ti.static(carried == "locals"):
                out[i] += parts(i % 2, x[i]) + used(i, x[i]) * x[i]
                out[i] -= last(i, x[i])
            else:
                out[i % 2] = 0.5 * out[(i + 1) % 2] + x[i] * f(2, x[i + 1])

    x.from_numpy(np.linspace(0.4, 1.2, 5))
    out.from_numpy(np.array([1.1, 0.7, 0.3]))
    weights, direction = np.array([1.0, -2.0, 3.0]), np.linspace(-1, 2, 5)
    _, pull = ti.ad.vjp(program, x, out)()
    slope = pull(weights) @ direction
    _, ahead = ti.ad.jvp(program, x, out)(direction)
    np.testing.assert_allclose(slope, ahead @ weights, rtol=1e-12)
