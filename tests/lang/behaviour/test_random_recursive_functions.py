"""Derivatives of random recursive functions that read some fields, and write others.

Each is compared with differences, and the tape with forward mode and with products of the Hessian."""

from random import Random

import numpy as np
import pytest

from tests.sampling import every

N = 4
CASES = 60
TOTAL = """
@ti.kernel
def total():
    for k in range(N * N):
        loss[None] += ti.sin(y[k]) * (k + 1) + z[k] ** 2
    loss[None] += w[None] * w[None]
"""


class Drawn:
    """A random program. `text`: two functions that may call one another, and a kernel that calls them."""

    def __init__(self, number):
        self.random, self.fresh = Random(f"recursive {number}"), 0
        results = [self.random.random() < 0.7 for _ in range(2)]
        self.calls = [name for name, gives in zip("fg", results) if gives]
        functions = "\n\n".join(self.function(name, gives) for name, gives in zip("fg", results, strict=True))
        self.text = f"{functions}\n\n{self.kernel(results)}"

    def value(self, names):
        """An expression of numbers that are not large."""
        a, b = (self.random.choice(names) for _ in range(2))
        index = self.random.choice(("n", "(n + i) % N", "i"))
        forms = (f"ti.sin({a})", f"{a} * {b} * 0.5", f"{a} + 0.5 * {b}", f"x[{index}] * {a}", "0.75",
                 f"ti.cos(x[{index}] * {a})", f"ti.select(u[{index}] > {a}, {a}, {b} * {b} * 0.25)",
                 f"u[{index}] - {a}")  # fmt: skip
        return self.random.choice(forms)

    def statement(self, names, indent):
        """A line that stores or adds, computes a local, or calls."""
        kind, pad = self.random.randrange(8), "    " * indent
        place = self.random.choice(("i * N + n", "i * N + n", "i * N + (n + 1) % N"))
        if kind < 2:
            return f"{pad}y[{place}] = {self.value(names)}"
        if kind < 4:
            target = self.random.choice((f"z[{place}]", "z[0]", "w[None]"))
            return f"{pad}{target} {self.random.choice(('+=', '-='))} {self.value(names)}"
        if kind == 4:
            return f"{pad}c[i] += n"
        name = self.random.choice(names[1:]) if len(names) > 1 and kind == 5 else f"t{self.fresh}"
        self.fresh += 1
        callee = self.random.choice("fg")
        if kind == 6:
            call = f"{callee}(i, n - 1, {self.value(names)})"
            if callee not in self.calls:
                return pad + call
            line = f"{pad}{name} = {call}"
        else:
            line = f"{pad}{name} = ti.f64({self.value(names)})"
        if name not in names and indent == 2:
            names.append(name)
        return line

    def function(self, name, gives):
        names, lines = ["v"], list[str]()
        early = self.random.random() < 0.4
        if early:
            lines.append(self.last(names, gives))
        for _ in range(self.random.randint(2, 5)):
            if self.random.random() < 0.25:
                lines.append(f"        if {self.random.choice(names)} > 0.375:")
                lines.append(self.statement([*names], 3))
            else:
                lines.append(self.statement(names, 2))
        if not early:
            lines.append(self.last(names, gives))
        head = f"@ti.real_func\ndef {name}(i: ti.i32, n: ti.i32, v: ti.f64){' -> ti.f64' if gives else ''}:"
        first = "    r = ti.f64(v)" if gives else "    v0 = v"
        end = "    return r + v" if gives else "    v0 = v"
        return "\n".join([head, first, "    if n > 0:", *lines, end])

    def last(self, names, gives):
        """A call that is certain."""
        callee = self.random.choice("fg")
        call = f"{callee}(i, n - 1, {self.value(names)})"
        return f"        r = {call} * {self.value(names)}" if callee in self.calls and gives else f"        {call}"

    def kernel(self, results):
        lines = ["@ti.kernel", "def run():", "    for i in range(N):", "        n = 1"]
        for name, gives in zip("fg", results, strict=True):
            call = f"{name}(i, {self.random.choice((1, 2, 3))}, {self.value(['x[i]'])})"
            used = self.random.choice((f"s = {call}\n        w[None] += s * s", f"w[None] += {call} * x[0]"))
            lines.append(f"        {used if gives else call}")
        return "\n".join(lines)


def differences(run, at, step=1e-5):
    return np.array([(run(at + step * d) - run(at - step * d)) / (2 * step) for d in np.eye(len(at))])


@pytest.mark.parametrize("number", every(20, range(CASES)))
def test_derivatives(ti, number, tmp_path):
    check(ti, number, tmp_path)


def check(ti, number, folder):
    """Raises AssertionError if derivatives of that program differ."""
    drawn = Drawn(number)
    names = {"x": N, "u": N, "y": N * N, "z": N * N, "w": ()}
    made = {
        name: ti.field(ti.f64, shape, needs_grad=name != "u", needs_dual=name != "u") for name, shape in names.items()
    }
    space = {"ti": ti, "N": N, "c": ti.field(ti.i32, N), "loss": ti.field(ti.f64, (), needs_grad=True), **made}
    path = folder / f"recursive_{number}.py"
    path.write_text(f"{drawn.text}\n\n\n{TOTAL}")
    exec(compile(path.read_text(), str(path), "exec"), space)
    x, loss = space["x"], space["loss"]
    random = np.random.default_rng(number)
    at, direction = random.uniform(-1, 1, N), random.uniform(-1, 1, N)

    def f():
        space["run"]()
        space["total"]()

    def start(values):
        for name in ("y", "z", "w"):
            made[name].fill(0.25)
        made["u"].from_numpy(np.linspace(-1, 1, N))
        loss.fill(0)
        space["c"].fill(0)
        x.from_numpy(values)

    def value(values):
        start(values)
        f()
        return loss[None]

    wanted = differences(value, at)
    start(at)
    counts = None
    with ti.ad.Tape(loss):
        f()
        counts = space["c"].to_numpy()
    size = 1 + np.abs(wanted).max()
    if size > 1e3:  # differences are not accurate then
        return
    np.testing.assert_allclose(x.grad.to_numpy(), wanted, atol=1e-5 * size, err_msg=drawn.text)
    np.testing.assert_array_equal(space["c"].to_numpy(), counts)  # the gradient has no effects
    start(at)
    along = ti.ad.jvp(f, x, loss)(direction)[1]
    np.testing.assert_allclose(along, x.grad.to_numpy() @ direction, rtol=1e-9, atol=1e-12, err_msg=drawn.text)

    def slope(values):
        start(values)
        return ti.ad.grad(f, x, loss)()

    start(at)
    product = ti.ad.hvp(f, x, loss)(direction)
    second = (slope(at + 1e-5 * direction) - slope(at - 1e-5 * direction)) / 2e-5
    np.testing.assert_allclose(product, second, atol=1e-4 * (1 + np.abs(second).max()), err_msg=drawn.text)
