"""Locals that branches of a loop change, in code that is not optimized before it is reversed."""

import numpy as np

from tests.lang.behaviour.derivatives import close


def test_without_optimizations(ti):
    """A value in a branch is used by the backward sweep through the op around it, which must run again."""
    n = 3
    found = []
    for advanced in (True, False):
        ti.init(arch=ti.cfg.arch, advanced_optimization=advanced)
        x, y = (ti.field(ti.f64, n, needs_grad=True) for _ in range(2))

        @ti.kernel
        def mix(x: ti.template(), y: ti.template()):
            for i in x:
                a, b, c = ti.f64(1.0), ti.f64(0.0), x[i]
                for t in range(6):
                    d = a
                    if t % 2 == 0:
                        a = b + c
                    else:
                        b = d * c
                    c = a * 0.5 if c > 1 else c * 1.125
                    d = c
                    if d > 1.25:
                        a = d
                y[i] = a + b * c

        at = np.array([0.4, 0.9, 1.3])
        x.from_numpy(at)
        with ti.ad.Tape() as tape:
            mix(x, y)
        y.grad.fill(1.0)
        tape.grad()
        found.append(x.grad.to_numpy())
        ends = []
        for step in (1e-6, -1e-6):
            x.from_numpy(at + step)
            mix(x, y)
            ends.append(y.to_numpy())
        close(found[-1], (ends[0] - ends[1]) / 2e-6, rtol=1e-6)
    close(*found)
