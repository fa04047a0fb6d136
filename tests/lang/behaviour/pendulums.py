"""Pendulums, whose gradients tests of `ti.ad.steps` compare."""

import numpy as np

START = np.linspace(0.1, 2.0, 16)
STATE = 2 * START.nbytes


class Pendulums:
    """Pendulums that swing: fields x and v, the stiffness k, and an input u of each step."""

    def __init__(self, ti):
        self.ti = ti
        x, v, k, u, r = (ti.field(ti.f64, len(START), needs_grad=True, name=name) for name in "xvkur")
        self.x, self.v, self.k, self.u, self.r = x, v, k, u, r
        self.loss = loss = ti.field(ti.f64, (), needs_grad=True)

        @ti.kernel
        def step(dt: ti.f64):
            for i in x:
                v[i] -= dt * (k[i] * ti.sin(x[i]) + u[i])
            for i in x:
                x[i] += dt * v[i]

        @ti.kernel
        def add():
            ti.loop_config(serialize=True)
            for i in x:
                loss[None] += x[i] * x[i]

        @ti.kernel
        def shake():
            for i in r:
                r[i] = ti.random(ti.f64)
            for i in u:
                u[i] += 0.1 * r[i]

        self.shift = shift = ti.field(ti.f64, len(START))  # no gradient reads it

        @ti.kernel
        def push():
            for i in shift:
                v[i] += shift[i]

        self.step, self.add, self.shake, self.push = step, add, shake, push

    def gradients(self, body, *steps, **options):
        """All numbers after a tape around `body`. `steps`: the memory, if any."""
        self.ti.seed(3)
        self.x.from_numpy(START)
        self.v.fill(0.0)
        self.u.fill(0.1)
        self.r.fill(0.0)
        self.k.from_numpy(2.0 + START)
        with self.ti.ad.Tape(self.loss, **options) as tape:
            body(*steps)
        self.tape = tape
        fields = self.x, self.v, self.k, self.u, self.r, self.loss
        return [one.to_numpy() for field in fields for one in (field, field.grad)]

    def compare(self, body, memories, count=20):
        """Compare a loop with and without `steps`."""
        wanted = self.gradients(body, range(count))
        for memory in memories:
            found = self.gradients(body, self.ti.ad.steps(count, memory=memory))
            for a, b in zip(found, wanted, strict=True):
                np.testing.assert_array_equal(a, b)
