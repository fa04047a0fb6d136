"""Random series of launches and writes that activate and deactivate cells: gradients of tapes against differences."""

from random import Random

import numpy as np
import pytest

from tests.sampling import draws

N = 16


class Program:
    """Fields below two pointer nodes, a mask and a list, and what may happen to them: `acts`, by name."""

    def __init__(self, ti):
        self.x, self.y, self.z, self.l = (ti.field(ti.f64, needs_grad=True) for _ in range(4))
        self.w, self.loss = ti.field(ti.f64, 4, needs_grad=True), ti.field(ti.f64, (), needs_grad=True)
        self.blocks = ti.root.pointer(ti.i, 4)
        self.mask = self.blocks.bitmasked(ti.i, 4)
        self.mask.place(self.x, self.y)
        self.blocks.dense(ti.i, 4).place(self.z)
        self.list = ti.root.pointer(ti.i, 1).dynamic(ti.j, 64, chunk_size=4)
        self.list.place(self.l)
        self.acts = {**_kernels(ti, self), **_statements(self)}

    def start(self, x, w):
        """Begin with these active elements of x, and some of z and l beside them."""
        self.blocks.deactivate_all()
        self.list.deactivate_all()
        self.w.from_numpy(w)
        self.loss.fill(0)
        for place, value in x.items():
            self.x[place] = value
            self.z[place] = place / 20
            self.l[0, place % 3] = 0.5


def _kernels(ti, p):
    x, y, z, l, w, loss = p.x, p.y, p.z, p.l, p.w, p.loss
    mask, blocks = p.mask, p.blocks

    @ti.kernel
    def own():
        for i in x:
            y[i] = ti.sin(x[i]) * w[i % 4] + y[i] * y[i] / 2

    @ti.kernel
    def scatter():
        for i in range(8):
            z[(3 * i + 1) % N] += w[i % 4] * ti.sin(x[5 * i % N] + 1)

    @ti.kernel
    def activate():
        for i in z:
            if i % 5 == 2:
                x[i] = ti.cos(z[i]) * w[0]

    @ti.kernel
    def total():
        for i in x:
            loss[None] += x[i] * x[i] + y[i] * w[1] + 0.1
        for i in z:
            loss[None] += z[i] * w[i % 4]

    @ti.kernel
    def parents():
        for c in blocks:
            z[4 * c + 1] *= w[2]
            if ti.is_active(mask, 4 * c):
                loss[None] += x[4 * c] * w[3]

    @ti.kernel
    def append():
        for i in range(4):
            l[0].append(x[4 * i] * w[i] + i)

    @ti.kernel
    def lists():
        for i, j in l:
            loss[None] += l[i, j] * l[i, j] * l[i].length() / 100

    @ti.kernel
    def drop():
        for i in x:
            if i % 3 == 1:
                ti.deactivate(mask, i)

    @ti.kernel
    def rebuild():
        for i in y:
            loss[None] += y[i] * w[2]
        for i in range(4):
            ti.deactivate(blocks, i)
        for i in range(3):
            x[6 * i] += w[i] * w[3]

    return {one.__name__: one for one in (own, scatter, activate, total, parents, append, lists, drop, rebuild)}


def _statements(p):
    def write():
        p.x[9] = 0.7

    def fill():
        p.y.fill(0.3)

    def clear():
        p.blocks.deactivate_all()

    def empty():
        p.list.deactivate_all()

    def values():
        p.z.from_numpy(np.linspace(0, 1, N) * (np.arange(N) % 3 == 0))

    return {one.__name__: one for one in (write, fill, clear, empty, values)}


@pytest.mark.filterwarnings("ignore:.*lost where the block has deactivated")
def test_random_series(ti):
    made, rng = Program(ti), Random("sparse tapes")
    names = list(made.acts)
    for _ in range(draws(48)):
        between = [rng.choice(names) for _ in range(rng.randint(3, 9))]
        # (a tape hears of elements that Python writes once a kernel has used the field)
        acts = [made.acts[name] for name in ("total", *between, "total", "lists")]
        x = {place: rng.uniform(0.2, 1.0) for place in rng.sample(range(N), 4)}
        w = np.array([rng.uniform(0.5, 1.5) for _ in range(4)])
        loop = range(len(acts)) if rng.random() < 0.5 else ti.ad.steps(len(acts), memory="8 kB")
        told = f"{[one.__name__ for one in acts]} {loop}"

        made.start(x, w)
        with ti.ad.Tape(made.loss):
            for k in loop:
                acts[k]()
        found, mine = made.w.grad.to_numpy(), made.x.grad.to_numpy()
        after = made.loss[None], made.x.to_numpy(), made.z.to_numpy(), made.l.to_numpy(), made.x.active()[0]

        def value(x, w, acts=acts):
            made.start(x, w)
            for act in acts:
                act()
            return made.loss[None]

        assert value(x, w) == pytest.approx(after[0], rel=1e-12), told
        again = made.x.to_numpy(), made.z.to_numpy(), made.l.to_numpy(), made.x.active()[0]
        assert all(np.allclose(*pair, rtol=1e-12) for pair in zip(after[1:], again, strict=True)), told
        far = 1e-5
        for k in range(4):
            step = np.eye(4)[k] * far
            slope = (value(x, w + step) - value(x, w - step)) / (2 * far)
            assert abs(slope - found[k]) < 1e-6 * (1 + abs(slope)), (told, k, slope, found[k])
        still = x.keys() & {int(place) for (place,) in after[4]}  # other gradients have no place
        for place in sorted(still):
            ends = [value(x | {place: x[place] + move}, w) for move in (far, -far)]
            slope = (ends[0] - ends[1]) / (2 * far)
            assert abs(slope - mine[place]) < 1e-6 * (1 + abs(slope)), (told, place, slope, mine[place])


@pytest.mark.filterwarnings("ignore:.*lost where the block has deactivated")
def test_random_hessians(ti):
    """Second derivatives of such series against differences of gradients, in both orders of the two modes."""
    made, rng = Program(ti), Random("sparse Hessians")
    names = list(made.acts)
    for _ in range(draws(16)):
        acts = ["total", *(rng.choice(names) for _ in range(rng.randint(2, 6))), "total", "lists"]
        memory = rng.choice([None, "12 kB"])
        x = {place: rng.uniform(0.2, 1.0) for place in rng.sample(range(N), 4)}
        w, along = (np.array([rng.uniform(0.5, 1.5) for _ in range(4)]) for _ in range(2))

        def f(acts=acts, memory=memory):
            for k in range(len(acts)) if memory is None else ti.ad.steps(len(acts), memory=memory):
                made.acts[acts[k]]()

        def gradient(w, x=x, f=f):
            made.start(x, w)
            return ti.ad.grad(f, made.w, made.loss)()

        made.start(x, w)
        found = ti.ad.hvp(f, made.w, made.loss)(along)
        far = 1e-5
        slope = (gradient(w + far * along) - gradient(w - far * along)) / (2 * far)
        np.testing.assert_allclose(found, slope, rtol=1e-6, atol=1e-6, err_msg=f"{acts} {memory}")
        made.start(x, w)
        first = ti.ad.grad(f, made.w, made.loss)() @ along
        made.start(x, w)
        assert ti.ad.jvp(f, made.w, made.loss)(along)[1] == pytest.approx(first, rel=1e-10), acts


@pytest.mark.parametrize("kind", ["pointer", "hash", "list"])
def test_gradients_in_cells_that_steps_make_again(ti, kind):
    """Steps are made again from a checkpoint at which the cells are not active in which gradients lie already."""
    x, w, loss = (ti.field(ti.f64, needs_grad=True) for _ in range(3))
    ti.root.place(w, loss)
    if kind == "list":
        ti.root.dynamic(ti.i, 64, chunk_size=4).place(x)
    else:
        getattr(ti.root, kind)(ti.i, 64).dense(ti.i, 2).place(x)

    @ti.kernel
    def step(k: ti.i32):
        x[k + 1] += x[k] * w[None] + 1

    @ti.kernel
    def end(k: ti.i32):
        loss[None] = x[k] ** 2

    count, expected, slope = 40, 0.0, 0.0
    w[None] = 0.9
    for _ in range(count):
        expected, slope = expected * 0.9 + 1, slope * 0.9 + expected
    with ti.ad.Tape(loss):
        for k in ti.ad.steps(count, memory="2 kB"):
            step(k)
        end(count)
    assert loss[None] == pytest.approx(expected**2)
    assert w.grad[None] == pytest.approx(2 * expected * slope)
