"""Second and third derivatives of random simulations that overwrite their state.

Forward mode of a gradient agrees with the product with the Hessian, and forward mode of either with the other. All
agree with differences."""

from random import Random

import numpy as np
import pytest

from tests.sampling import every

N = 3
CASES = 45
TOTAL = """
@ti.kernel
def total():
    for i in x:
        loss[None] += ti.sin(x[i]) * (i + 1) + x[i] * v[i] * v[i]
    loss[None] += s[None] * s[None] * 0.25
"""


class Drawn:
    """A random simulation: the text of its kernels, and the steps of a run, each a line of Python."""

    def __init__(self, number):
        self.random = Random(f"simulation {number}")
        self.text = "\n".join(self.kernel(f"step{k}") for k in range(2)) + TOTAL
        self.steps = [self.step() for _ in range(self.random.randint(2, 4))]

    def pick(self, *these):
        return self.random.choice(these)

    def value(self, names, still):
        """An expression of numbers that stay small. `still`: fields that the loop does not write."""
        a, b = self.random.choice(names), self.random.choice(names)
        far = f"{self.random.choice(still)}[(i + 1) % N]"
        return self.pick(f"ti.sin({a})", f"{a} * {b} * 0.5", f"0.5 * {a} + 0.25 * {b}", f"ti.cos({a} * {b})",
                         f"{a} - {far}", f"ti.select({a} > 0.375, {a} * {a}, {b} * 0.375)", f"{a} * {far}",
                         f"ti.exp(-{a} * {a})")  # fmt: skip

    def statements(self, written, indent):
        pad, still = "    " * indent, [one for one in ("x", "v", "u") if one not in written]
        names, lines = ["x[i]", "v[i]", "u[i]"], list[str]()
        for k in range(self.random.randint(1, 3)):
            value = self.value(names, still)
            kind = self.random.randrange(7)
            if kind < 3:
                lines.append(f"{pad}{self.random.choice(written)}[i] {self.pick('=', '=', '+=')} {value}")
            elif kind == 3:
                lines += [f"{pad}t{indent}{k} = ti.f64({value})", f"{pad}for _ in range({self.pick(2, 3)}):"]
                lines.append(f"{pad}    t{indent}{k} = {self.value([*names, f't{indent}{k}'], still)}")
                names.append(f"t{indent}{k}")
            elif kind == 4:
                lines.append(f"{pad}s[None] += {value}")
            elif kind == 5:
                lines += [f"{pad}if {self.random.choice(names)} > 0.125:", f"{pad}    {written[0]}[i] = {value}"]
            else:
                lines += [f"{pad}w{indent}{k} = ti.f64({self.random.choice(names)})", f"{pad}while w{indent}{k} < 1.5:"]
                lines.append(f"{pad}    w{indent}{k} += 0.5 + w{indent}{k} * w{indent}{k} * 0.25")
                names.append(f"w{indent}{k}")
        return [*lines, f"{pad}{written[0]}[i] = {self.value(names, still)} + {written[0]}[i] * 0.5"]

    def kernel(self, name):
        lines = ["@ti.kernel", f"def {name}():"]
        for _ in range(self.random.randint(1, 2)):
            written = self.pick(["x"], ["v"], ["x", "v"])
            lines += ["    for i in x:", *self.statements(written, 2)]
        return "\n".join(lines) + "\n"

    def step(self):
        return self.pick("step0()", "step1()", "step0()", "step1()", "x.fill(0.25)", "v.copy_from(x)", "v[1] = 0.5")


@pytest.mark.parametrize("number", every(15, range(CASES)))
def test_derivatives(ti, number, tmp_path):
    check(ti, number, tmp_path)


def check(ti, number, folder):
    """Raises AssertionError if derivatives of that simulation differ. Gives what was compared."""
    drawn = Drawn(number)
    space = {"ti": ti, "N": N, **{name: ti.field(ti.f64, N) for name in "xvu"}}
    space |= {name: ti.field(ti.f64, ()) for name in ("s", "loss")}
    path = folder / f"simulation_{number}.py"
    path.write_text(drawn.text)
    exec(compile(drawn.text, str(path), "exec"), space)
    x, loss = space["x"], space["loss"]
    random = np.random.default_rng(number)
    at, along, by = (random.uniform(-1, 1, N) for _ in range(3))
    told = f"{drawn.text}\n{drawn.steps}"

    def f():
        for step in drawn.steps:
            eval(compile(step, "<step>", "exec"), space)
        space["total"]()

    def start(values):
        x.from_numpy(values)
        space["v"].from_numpy(np.linspace(-0.5, 1, N))
        space["u"].from_numpy(np.linspace(0.75, -0.25, N))
        for name in ("s", "loss"):
            space[name].fill(0.25)

    gradient, hessian = ti.ad.grad(f, x, loss), ti.ad.hvp(f, x, loss)

    def run(function, *directions):
        start(at)
        return function(*directions)

    def differs(function, wanted):
        """By how much differences of a function differ from its derivative, in parts of it."""
        ends = []
        for sign in (1, -1):
            start(at + sign * 1e-5 * by)
            ends.append(function())
        return np.abs((ends[0] - ends[1]) / 2e-5 - wanted).max() / (1 + np.abs(wanted).max())

    second = run(hessian, by)
    if not np.abs(second).max() < 1e3:
        return "large"
    other = run(ti.ad.jvp(gradient, x), by)[1]
    np.testing.assert_allclose(other, second, rtol=1e-8, atol=1e-10, err_msg=told)
    assert differs(gradient, second) < 1e-4, told
    third = run(ti.ad.jvp(lambda: hessian(along), x), by)[1]
    other = run(ti.ad.jvp(lambda: ti.ad.jvp(gradient, x)(along)[1], x), by)[1]
    np.testing.assert_allclose(other, third, rtol=1e-8, atol=1e-10, err_msg=told)
    assert differs(lambda: hessian(along), third) < 1e-4 or np.abs(third).max() > 1e3, told
    return "same" if np.abs(third).max() > 0 else "same, all 0"
