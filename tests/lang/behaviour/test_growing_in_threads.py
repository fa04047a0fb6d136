"""Trees of sparse fields that grow while another thread compiles kernels."""

from threading import Event, Thread

import numpy as np
import pytest

from weft.lang.program.init import program


@pytest.fixture(autouse=True)
def compiled(ti):
    if program().backend.interprets:
        pytest.skip("arch=python compiles no kernel of the program")


@pytest.fixture
def fields(ti):
    """Two fields in a tree with two active blocks, and a kernel whose gradient lets the tree grow."""
    x, y, loss = ti.field(ti.f64), ti.field(ti.f64), ti.field(ti.f64, ())
    ti.root.pointer(ti.i, 4).dense(ti.i, 4).place(x, y)

    @ti.kernel
    def total():
        for i in x:
            loss[None] += x[i] ** 3

    x[5], x[12] = 2.0, 3.0
    return x, y, lambda: ti.ad.grad(total, x, loss)()


def test_a_tree_grows_while_a_kernel_is_translated(ti, fields):
    x, y, gradient = fields
    translating, grown = Event(), Event()

    def pause():
        translating.set()
        assert grown.wait(60)
        return 2

    @ti.kernel
    def scale():
        for i in x:
            x[i] *= ti.static(pause())
            y[i] += 1

    worker = Thread(target=scale)
    worker.start()
    assert translating.wait(60)
    np.testing.assert_array_equal(gradient()[[5, 12]], [12, 27])
    grown.set()
    worker.join()
    assert (x[5], x[12], y[5], y[12], y[6]) == (4, 6, 1, 1, 1)
    assert len(x.active()[0]) == 8


def test_a_tree_grows_between_the_translation_and_the_launch(ti, fields, monkeypatch):
    """The code is for the old layout then, so it is compiled again."""
    x, y, gradient = fields
    from weft.lang.calls import compile as compiling

    make, grown = compiling.make_artifact, []

    def growing(tree, *others):
        if tree.name == "scale" and not grown:
            grown.append(True)
            worker = Thread(target=gradient)
            worker.start()
            worker.join(60)
            assert not worker.is_alive()
        return make(tree, *others)

    monkeypatch.setattr(compiling, "make_artifact", growing)

    @ti.kernel
    def scale():
        for i in x:
            x[i] *= 2
            y[i] += 1

    scale()
    assert grown
    assert (x[5], x[12], y[5], y[12], y[6]) == (4, 6, 1, 1, 1)


def test_growth_does_not_wait_for_kernels_that_other_threads_compile(ti, fields):
    """It launches kernels itself, with which it copies what the tree holds."""
    x, _, gradient = fields
    lock = program().lock
    inside, done = Event(), Event()
    from weft.lang.data.sparse_access import SPARSE

    contents = SPARSE.contents

    def waiting(tree):
        inside.set()
        assert done.wait(60)
        return contents(tree)

    SPARSE.contents = waiting
    try:
        worker = Thread(target=gradient)
        worker.start()
        assert inside.wait(60)
        free = lock.acquire(timeout=5)  # as a thread does that has compiled a kernel, to load it
        assert free
        lock.release()
    finally:
        SPARSE.contents = contents
        done.set()
        worker.join()
    assert x[5] == 2


def test_one_growth_is_enough(ti, fields):
    x, y, gradient = fields
    loss = ti.field(ti.f64, ())

    @ti.kernel
    def total():
        for i in x:
            loss[None] += x[i] ** 3 * y[i]

    y[5] = 1.0
    tree = x.snode.tree
    assert ti.ad.hvp(total, x, loss)(np.ones(16))[5] == 12
    assert tree.grown == 1
    ti.ad.jvp(total, x, loss)(np.ones(16))
    assert tree.grown == 1
