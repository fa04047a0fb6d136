"""`ti.ad.custom`: derivatives of kernels that the user writes, under each way to differentiate."""

import numpy as np
import pytest

from tests.lang.behaviour.derivatives import close
from weft.lang.errors import ArgumentError


class Roots:
    """y = the cube root of x by Newton's method, with rules that are 10 times too large, to tell them from those of
    the kernel, and loss = the sum of the squares of y."""

    def __init__(self, ti):
        needed = {"needs_grad": True, "needs_dual": True}
        x, y, loss = (ti.field(ti.f64, n, **needed) for n in (3, 3, ()))
        self.x, self.y, self.loss = x, y, loss

        @ti.ad.custom
        @ti.kernel
        def root():
            for i in x:
                y[i] = ti.max(x[i], 1.0)
                for _ in range(40):
                    y[i] -= (y[i] ** 3 - x[i]) / (3 * y[i] ** 2)

        @root.vjp
        @ti.kernel
        def back():
            for i in x:
                x.grad[i] += 10 * y.grad[i] / (3 * y[i] ** 2)
                y.grad[i] = 0.0

        @ti.kernel
        def ahead():
            for i in x:
                y.dual[i] = 10 * x.dual[i] / (3 * y[i] ** 2)

        @ti.kernel
        def energy():
            for i in y:
                loss[None] += y[i] ** 2

        @ti.kernel
        def destroy():
            for i in y:
                y[i] = -5.0

        def jvp():
            root.kernel()
            ahead()

        assert back is root
        root.jvp(jvp)

        def program():
            root()
            energy()
            destroy()  # the rule needs `y` from before

        self.root, self.program = root, program
        self.at = np.array([1.0, 8.0, 27.0])
        self.slopes = 10 * 2 * np.array([1.0, 2.0, 3.0]) / (3 * np.array([1.0, 4.0, 9.0]))  # 2 y * 10 y'
        x.from_numpy(self.at)


def test_a_tape_uses_the_rule(ti):
    roots = Roots(ti)
    with ti.ad.Tape(roots.loss):
        roots.program()
    close(roots.loss[None], 14.0)
    close(roots.x.grad.to_numpy(), roots.slopes)
    with ti.ad.Tape(roots.loss), ti.ad.Tape():
        roots.program()
    close(roots.x.grad.to_numpy(), roots.slopes)


def test_forward_mode_uses_the_rule(ti):
    roots = Roots(ti)
    with ti.ad.FwdMode(roots.loss, roots.x, [1.0, 0.0, 2.0]):
        roots.program()
    close(roots.loss.dual[None], roots.slopes @ [1.0, 0.0, 2.0])
    close(roots.loss[None], 14.0)


def test_transforms_use_the_rule(ti):
    roots = Roots(ti)
    value, gradient = ti.ad.value_and_grad(roots.program, roots.x, roots.loss)()
    close(value, 14.0)
    close(gradient, roots.slopes)
    roots.loss[None] = 0.0
    close(ti.ad.jvp(roots.program, roots.x, roots.loss)([1.0, 0.0, 2.0]), [14.0, roots.slopes @ [1.0, 0.0, 2.0]])
    # the rule for reverse mode is differentiated: x' = 20 y / (3 y ** 2) = (20 / 3) / y, and y' is that of the rule
    along = np.array([1.0, 2.0, -1.0])
    y = np.cbrt(roots.at)
    close(ti.ad.hvp(roots.program, roots.x, roots.loss)(along), -20 / 3 / y**2 * (10 * along / (3 * y**2)))


def test_rules_are_for_calls_and_can_be_launched(ti):
    roots = Roots(ti)
    roots.root()
    close(roots.y.to_numpy(), [1.0, 2.0, 3.0])
    roots.y.grad.fill(1.0)
    roots.root.grad()
    close(roots.x.grad.to_numpy(), 10 / (3 * np.array([1.0, 4.0, 9.0])))
    roots.x.grad.fill(0.0)
    with ti.ad.Tape(roots.loss):
        ti.ad.no_grad(roots.root)()
    assert not roots.x.grad.to_numpy().any()


def test_methods(ti):
    @ti.data_oriented
    class Doubled:
        def __init__(self):
            self.x, self.y = (ti.field(ti.f64, (), needs_grad=True) for _ in range(2))

        @ti.ad.custom
        @ti.kernel
        def step(self, k: ti.f64):
            self.y[None] = k * self.x[None]

        @step.vjp
        def step(self, k):
            self.back(k)

        @ti.kernel
        def back(self, k: ti.f64):
            self.x.grad[None] += 7 * k * self.y.grad[None]
            self.y.grad[None] = 0.0

    one = Doubled()
    one.x[None] = 2.0
    with ti.ad.Tape(one.y):
        one.step(3.0)
    assert (one.y[None], one.x.grad[None]) == (6.0, 21.0)
    close(ti.ad.grad(one.step, one.x, one.y)(k=2.0), 14.0)


def test_rules_that_are_missing(ti):
    roots = Roots(ti)
    bare = ti.ad.custom(roots.root.kernel)
    with pytest.raises(ArgumentError, match=r"kernel 'root' has no gradient of its own: .*custom.root..vjp"):
        ti.ad.grad(bare, roots.x, roots.loss)()
    with pytest.raises(ArgumentError, match="no gradient of its own"):
        bare.grad()
    bare.vjp(roots.root.grad)
    with pytest.raises(ArgumentError, match=r"no derivative in forward mode of its own: .*\.jvp"):
        ti.ad.jvp(bare, roots.x, roots.y)([1.0, 1.0, 1.0])
    with pytest.raises(ArgumentError, match=r"custom takes a kernel, not .*grad_replaced"):
        ti.ad.custom(roots.program)
    with pytest.raises(ArgumentError, match="vjp takes a kernel or a function, not 3"):
        bare.vjp(3)
