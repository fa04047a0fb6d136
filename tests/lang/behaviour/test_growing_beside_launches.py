"""Trees of sparse fields that grow while other threads use their fields."""

import gc
import os
from threading import Event, Thread, active_count

import numpy as np
import pytest

from weft.lang.data.sparse_access import SPARSE
from weft.lang.program.init import program

pytestmark = pytest.mark.usefixtures("kept_kernels")


@pytest.fixture
def on_cpu(ti):
    if program().arch != "cpu":
        pytest.skip("locks are the same on every arch")


class Tree:
    """A tree with two sparse fields, and a dense one. The gradient of `total` lets it grow."""

    def __init__(self, ti):
        self.x, self.y, self.z, self.loss = x, y, z, loss = *(ti.field(ti.f64) for _ in range(3)), ti.field(ti.f64, ())
        ti.root.pointer(ti.i, 8).dense(ti.i, 4).place(x, y)
        ti.root.dense(ti.i, 4).place(z)

        @ti.kernel
        def total():
            for i in x:
                loss[None] += x[i] ** 3

        @ti.kernel
        def add(first: ti.i32):
            for i in range(first, first + 8):
                y[i] += 1

        @ti.kernel
        def count() -> ti.f64:
            sum = ti.f64(0)
            for i in y:
                sum += y[i]
            return sum

        @ti.kernel
        def look(n: ti.i32) -> ti.f64:  # native code calls it
            sum = ti.f64(0)
            ti.loop_config(serialize=True)
            for i in range(n):
                sum += y[i % 32]
            return sum

        @ti.kernel
        def note(value: ti.f64):  # it uses no sparse field, but their tree
            z[1] += value

        self.add, self.count, self.look, self.note, self.total = add, count, look, note, total
        x[5], y[20] = 2.0, 4.0

    def gradient(self, ti):
        return ti.ad.grad(self.total, self.x, self.loss)()


def in_thread(run):
    """A thread that runs it. Its `done` is set at the end."""
    thread = Thread(target=lambda: (run(), thread.done.set()))
    thread.done = Event()
    thread.start()
    return thread


def held(monkeypatch, name):
    """Two events: that function of SPARSE is reached, and it may go on."""
    inner, reached, free = getattr(SPARSE, name), Event(), Event()

    def waiting(*args):
        reached.set()
        assert free.wait(60)
        return inner(*args)

    monkeypatch.setattr(SPARSE, name, waiting)
    return reached, free


@pytest.mark.parametrize("moment", ["contents", "put_contents"])
def test_who_uses_the_tree_waits_for_its_growth(ti, monkeypatch, moment):
    if program().arch != "cpu" and moment == "contents":
        pytest.skip("one moment is enough there")
    tree, found = Tree(ti), {}
    for _ in range(2):
        assert tree.look(32) == 4
        tree.note(1.0)
    tree.add(0)
    reached, free = held(monkeypatch, moment)
    growth = in_thread(lambda: found.update(gradient=tree.gradient(ti)))
    assert reached.wait(60)
    uses = [
        lambda: tree.add(8),
        lambda: found.update(look=tree.look(8)),
        lambda: tree.note(2.0),
        lambda: tree.y.__setitem__(30, 7.0),
        lambda: found.update(y=tree.y[20]),
        lambda: tree.z.__setitem__(2, 5.0),
        lambda: found.update(z=tree.z[1] > 0),
        lambda: found.update(active=len(tree.x.active()[0])),
    ]
    threads = [in_thread(use) for use in uses]
    assert not any(thread.done.wait(0.01) for thread in threads)
    free.set()
    assert all(thread.done.wait(60) for thread in (growth, *threads))
    assert found.pop("gradient")[5] == 12
    assert found.pop("active") in (12, 16, 20, 24)
    assert found == {"look": 8, "y": 4, "z": True}
    assert tree.count() == 4 + 16 + 7
    assert tree.z.to_numpy().tolist() == [0, 4, 5, 0]


def test_a_growth_waits_for_launches(ti, on_cpu):
    """One that native code makes, too."""
    tree, found, began = Tree(ti), [], Event()
    for _ in range(2):
        tree.look(32)

    def use():
        began.set()
        found.append(tree.look(60_000_000))

    use = in_thread(use)
    assert began.wait(60)
    tree.gradient(ti)
    assert use.done.wait(60)
    assert found == [4 * 60_000_000 / 32]


def test_a_growth_waits_for_whoever_holds_the_tree(ti, on_cpu):
    tree, inside, free = Tree(ti), Event(), Event()
    field_tree = tree.x.snode.tree

    def use():
        with field_tree.held():
            inside.set()
            assert free.wait(60)
            tree.add(0)  # a launch of the thread that holds it does not wait

    use = in_thread(use)
    assert inside.wait(60)
    growth = in_thread(lambda: tree.gradient(ti))
    assert not growth.done.wait(0.05)
    assert field_tree.grown == 0
    free.set()
    assert growth.done.wait(60)
    assert use.done.wait(60)
    assert (field_tree.grown, tree.count()) == (1, 12)


def test_a_thread_that_holds_a_tree_cannot_let_one_grow(ti, on_cpu):
    tree = Tree(ti)
    with tree.x.snode.tree.held(), pytest.raises(ti.WeftError, match="while this thread runs a kernel"):
        tree.gradient(ti)
    assert tree.gradient(ti)[5] == 12


def test_an_error_during_a_growth_lets_the_others_go_on(ti, on_cpu, monkeypatch):
    tree, other = Tree(ti), ti.field(ti.f64)
    builder = ti.FieldsBuilder()
    builder.pointer(ti.i, 4).place(other)

    def stop(*_):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(SPARSE, "contents", stop)
        with pytest.raises(KeyboardInterrupt):
            tree.gradient(ti)
    assert in_thread(lambda: (tree.add(0), other.__setitem__(2, 1.0))).done.wait(60)
    assert (tree.count(), other[2], tree.gradient(ti)[5]) == (12, 1, 12)


def test_two_threads_that_need_the_same_let_a_tree_grow_once(ti, on_cpu):
    tree = Tree(ti)
    threads = [in_thread(lambda: tree.gradient(ti)) for _ in range(3)]
    assert all(thread.done.wait(60) for thread in threads)
    assert tree.x.snode.tree.grown == 1


def test_locks_of_threads_that_ended_are_forgotten(ti, on_cpu):
    tree = Tree(ti)
    for _ in range(3):
        assert in_thread(lambda: tree.add(0)).done.wait(60)
    gc.collect()
    assert len(program().layouts._all) <= 1 + active_count()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
def test_a_child_that_was_forked_lets_a_tree_grow(ti, on_cpu):
    """Threads of the parent that held it do not exist there."""
    tree, inside, free = Tree(ti), Event(), Event()

    def use():
        with tree.x.snode.tree.held():
            inside.set()
            free.wait(60)

    use = in_thread(use)
    assert inside.wait(60)
    child = os.fork()
    if not child:
        try:
            os._exit(0 if tree.gradient(ti)[5] == 12 else 1)
        finally:
            os._exit(2)
    try:
        for _ in range(6000):
            done, status = os.waitpid(child, os.WNOHANG)
            if done:
                break
            free.wait(0.01)
        assert (done, status) == (child, 0)
    finally:
        free.set()
        use.join()


def test_sums_beside_a_growth(ti, on_cpu):
    """Nothing that launches and Python write meanwhile is lost."""
    tree, rounds, stop, errors = Tree(ti), [0], Event(), []

    def use():
        while not stop.is_set() or rounds[0] < 20:
            tree.add(0)
            tree.note(1.0)
            tree.z[3] = tree.z[3] + 1
            tree.y[31] = tree.y[31] + 1
            rounds[0] += 1
            if tree.count() != 4 + 9 * rounds[0]:
                errors.append(rounds[0])

    use = in_thread(use)
    try:
        assert tree.gradient(ti)[5] == 12
        assert ti.ad.hvp(tree.total, tree.x, tree.loss)(np.ones(32))[5] == 12
    finally:
        stop.set()
        use.join()
    assert not errors
    assert tree.z.to_numpy().tolist() == [0, rounds[0], 0, rounds[0]]


def test_a_block_that_is_open_while_a_tree_grows_has_to_run_again(ti, on_cpu):
    """Its launches have the addresses of the old memory."""
    tape_loss, y = ti.field(ti.f64, (), needs_grad=True), ti.field(ti.f64, needs_grad=True)
    x = ti.field(ti.f64)
    builder = ti.FieldsBuilder()
    builder.pointer(ti.i, 4).dense(ti.i, 4).place(x, y)
    x[1], y[2], y[3] = 2.0, 3.0, 4.0
    loss = ti.field(ti.f64, ())

    @ti.kernel
    def total():
        for i in x:
            loss[None] += x[i] ** 3

    @ti.kernel
    def read(i: ti.i32):
        tape_loss[None] += y[i] ** 2

    def block(grows):
        with ti.ad.Tape(tape_loss):
            read(2)
            if grows:
                assert in_thread(lambda: ti.ad.grad(total, x, loss)()).done.wait(60)
            read(3)
        return y.grad.to_numpy()[:4].tolist()

    for _ in range(3):
        assert block(False) == [0, 0, 6, 8]
    with pytest.raises(ti.WeftError, match="run the block again"):
        block(True)
    assert x.snode.tree.grown == 1
    for _ in range(3):
        assert block(False) == [0, 0, 6, 8]
