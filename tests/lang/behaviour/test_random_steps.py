"""Random programs with loops of `ti.ad.steps`: launches, also of kernels that record values, numbers and copies that
Python writes, loops in loops, rows of arrays by number, and what stands around the loops. The gradients are those
without `steps`, bit by bit."""

import random

import numpy as np
import pytest

from tests.sampling import every
from weft.lang.autodiff.series import MemoryTooSmall

N, ROWS, COUNT = 4, 3, 4


class Machine:
    """Arrays, and what a program does with them. `records`: whether some kernels record values."""

    def __init__(self, ti, records):
        self.ti, self.records = ti, records
        self.arrays = [ti.ndarray(ti.f64, N, needs_grad=True) for _ in range(COUNT)]
        self.table = ti.ndarray(ti.f64, (ROWS, N), needs_grad=True)
        self.constant = ti.ndarray(ti.f64, N)
        self.order = ti.ndarray(ti.i32, N)
        self.order.from_numpy(np.array([2, 0, 3, 1], np.int32))
        self.loss = ti.field(ti.f64, (), needs_grad=True)
        loss = self.loss

        @ti.kernel
        def update(a: ti.types.ndarray(), b: ti.types.ndarray(), s: ti.f64):
            for i in a:
                a[i] = a[i] * s + ti.sin(b[(i + 1) % N]) * b[i]

        @ti.kernel
        def replace(a: ti.types.ndarray(), b: ti.types.ndarray(), c: ti.types.ndarray()):
            for i in range(1, N):  # the first element keeps its value
                a[i] = ti.sin(b[i]) * c[i - 1] + 0.1

        @ti.kernel
        def put(table: ti.types.ndarray(), row: ti.i32, b: ti.types.ndarray()):
            for i in b:
                table[row, i] = b[i] * b[i] * 0.3

        @ti.kernel
        def get(table: ti.types.ndarray(), row: ti.i32, a: ti.types.ndarray()):
            for i in a:
                a[i] += 0.5 * ti.cos(table[row, i])

        @ti.kernel
        def shake(c: ti.types.ndarray()):
            for i in c:
                c[i] = ti.random(ti.f64)

        @ti.kernel
        def add(a: ti.types.ndarray()):
            ti.loop_config(serialize=True)
            for i in a:
                loss[None] += ti.sin(a[i])

        @ti.kernel
        def twice(a: ti.types.ndarray(), b: ti.types.ndarray(), order: ti.types.ndarray()):
            for i in a:
                a[order[i]] = ti.sin(a[order[i]]) * b[i] + 0.2
                a[order[i]] = a[order[i]] * a[order[i]] + 0.3

        @ti.kernel
        def until(a: ti.types.ndarray(), order: ti.types.ndarray(), most: ti.i32):
            for i in a:
                n = 0
                while n < most and a[order[i]] < 0.8:
                    n += 1
                    a[order[i]] = a[order[i]] * (1.5 - 0.5 * a[order[i]])

        self.kernels = update, replace, put, get, shake, add, twice, until

    def act(self, draw, t):
        """A random action in step `t`."""
        update, replace, put, get, shake, add, twice, until = self.kernels
        a, b = draw.sample(self.arrays, 2)
        row = draw.randrange(ROWS)
        actions = [
            lambda: update(a, b, 0.5 + 0.01 * t),
            lambda: replace(a, b, draw.choice([b, self.constant])),
            lambda: put(self.table, (row + t) % ROWS, b),
            lambda: get(self.table, row, a),
            lambda: shake(self.constant),
            lambda: add(a),
            lambda: a.fill(0.1 * t),
            lambda: a.copy_from(b),
            lambda: self.constant.from_numpy(np.full(N, 0.2 * t)),
            lambda: a.__setitem__(row, 0.3 + b[0]),
            lambda: self.table.__setitem__((row, 1), 0.7),
            lambda: twice(a, b, self.order),
            lambda: until(a, self.order, row + t % 3),
        ]
        draw.choices(actions, [6, 6, 4, 4, 2, 3, 1, 1, 1, 1, 1, *[3 * self.records] * 2])[0]()

    def run(self, seed, memory):
        """A random program. `memory`: what its loops may use, None for plain loops."""
        ti = self.ti
        ti.seed(seed)
        numbers = np.random.default_rng(seed)
        for one in (*self.arrays, self.table):
            one.from_numpy(numbers.uniform(0.1, 0.9, one.shape))
            one.grad.fill(0.0)
        self.constant.fill(0.4)
        shape = random.Random(seed)
        plans = [shape.randrange(10**6) for _ in range(2)]  # most steps do the same
        size, count = shape.randint(1, 5), shape.randint(1, 14)
        nested, ends, odd = shape.random() < 0.3, shape.random() < 0.2, shape.random() < 0.4

        def steps(n):
            return range(n) if memory is None else ti.ad.steps(n, memory=memory)

        def body(t, plan):
            draw = random.Random(plan)
            for _ in range(size):
                self.act(draw, t)

        with ti.ad.Tape(self.loss):
            body(0, plans[0] + 1)
            for _ in range(shape.randint(1, 2)):
                for t in steps(count):
                    body(t, plans[t % 3 == 2 and odd])
                    if nested and t % 2:
                        for k in steps(t % 4):
                            body(k, plans[1])
                    if ends and t == 6:
                        break
                body(0, plans[0] + 2)
            self.kernels[5](self.arrays[0])
        every = *self.arrays, self.table
        return [one.to_numpy() for array in every for one in (array, array.grad)] + [self.loss.to_numpy()]


@pytest.mark.parametrize("seed", every(6, range(36)))
def test_random_programs(ti, seed):
    if ti.cfg.arch != "cpu" and seed % 4:
        pytest.skip("fewer of them on other arches")
    machine = Machine(ti, records=seed < 6)  # (takes twice as long)
    for number in range(3 * seed, 3 * seed + 3):
        wanted = machine.run(number, None)
        memory = random.Random(number).choice([600, 1000, 2000, 10**6])
        try:
            found = machine.run(number, memory)
        except MemoryTooSmall:
            found = machine.run(number, 10 * memory)
        for a, b in zip(found, wanted, strict=True):
            np.testing.assert_array_equal(a, b)
