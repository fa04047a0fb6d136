"""Kernels as objects: their arguments, what is compiled when, methods, lifetimes."""

from __future__ import annotations

import copy
import gc
import pickle
import threading
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import weft as ti


@pytest.fixture(autouse=True)
def program() -> Iterator[None]:
    ti.init(arch=ti.cpu)
    yield
    ti.reset()


def test_numpy_arrays_are_not_copied() -> None:
    @ti.kernel
    def k(a: ti.types.ndarray(), b: ti.types.ndarray(dtype=ti.math.vec3, ndim=1)) -> ti.f32:
        for i, j in ti.ndrange(a.shape[0], a.shape[1]):
            a[i, j] += i * j
        for I in ti.grouped(a):
            a[I] *= 2
        for i in b:
            b[i] += ti.Vector([1.0, 2.0, i])
            b[i].x = 7
        s = 0.0
        for i in range(b.shape[0]):
            s += b[i].sum()
        return s

    a, b = np.ones((3, 4), np.float32), np.zeros((5, 3), np.float32)
    assert k(a, b) == 35 + 10 + 10
    assert a.tolist() == [[2 * (1 + i * j) for j in range(4)] for i in range(3)]
    assert b[:, 0].tolist() == [7] * 5


def test_strided_arrays_and_ndarrays() -> None:
    @ti.kernel
    def k(a: ti.types.ndarray(ndim=2)):
        for i, j in a:
            a[i, j] = i * 10 + j

    whole = np.zeros((4, 6), np.float32)
    k(whole[::2, ::-1])
    assert whole.tolist() == [[5, 4, 3, 2, 1, 0], [0] * 6, [15, 14, 13, 12, 11, 10], [0] * 6]
    own = ti.ndarray(ti.i32, (2, 2))
    k(own)
    assert own.to_numpy().tolist() == [[0, 1], [10, 11]]
    assert len(k._instances) == 2


def test_arguments_by_name_and_of_many_types() -> None:
    @ti.kernel
    def k(a: int, b: float, v: ti.types.vector(2, ti.i32), m: ti.types.matrix(2, 2, float), on: bool) -> float:
        return a + b + v[1] + m[1, 0] + (1000 if on else 0)

    assert k(1, b=2, v=ti.Vector([3, 4]), m=[[1, 2], [5, 6]], on=True) == 1 + 2 + 4 + 5 + 1000
    assert k(np.int64(1), np.float32(2), [3, 4], np.zeros((2, 2)), False) == 7


def test_templates_compile_once_for_each_value() -> None:
    x, y = ti.field(ti.i32, 3), ti.field(ti.f32, (2, 2))

    @ti.kernel
    def k(f: ti.template(), n: ti.template()):
        for I in ti.grouped(f):
            f[I] += n

    for _ in range(3):
        k(x, 1)
        k(y, 1)
    k(x, 1.0)
    assert x.to_numpy().tolist() == [4, 4, 4]
    assert y.to_numpy().tolist() == [[3, 3], [3, 3]]
    assert len(k._instances) == 3


def test_an_instance_goes_with_what_it_was_compiled_for() -> None:
    @ti.kernel
    def k(f: ti.template()):
        for i in f:
            f[i] += 1

    x = ti.field(ti.i32, 3)
    k(x)
    assert len(k._instances) == 1
    del x
    gc.collect()
    assert len(k._instances) == 0


@ti.data_oriented
class Sim:
    def __init__(self, n: int) -> None:
        self.n = n
        self.p = ti.field(ti.f32, shape=n)
        self.gravity = ti.Vector([0.0, -9.8])

    @ti.func
    def twice(self, i):
        return self.p[i] * 2

    def size(self) -> int:
        return self.n

    @ti.kernel
    def step(self, dt: ti.f32) -> ti.f32:
        for i in self.p:
            self.p[i] += dt * i * self.gravity[1]
        s = 0.0
        for i in range(self.size()):
            s += self.twice(i)
        return s


class Faster(Sim):
    def size(self) -> int:
        return 2


def test_methods_are_compiled_for_each_object() -> None:
    a, b, c = Sim(4), Sim(6), Faster(4)
    assert a.step(0.1) == pytest.approx(-9.8 * 0.1 * 6 * 2)
    assert b.step(0.1) == pytest.approx(-9.8 * 0.1 * 15 * 2)
    assert a.step(dt=0.1) == pytest.approx(-9.8 * 0.2 * 6 * 2)
    assert c.step(0.1) == pytest.approx(-9.8 * 0.1 * 2)
    assert len(Sim.step._instances) == 3
    del a, b, c
    gc.collect()
    assert len(Sim.step._instances) == 0


def test_a_rebound_name_means_the_new_field() -> None:
    holder: dict[str, Any] = {}
    source = "def get():\n    return 0\n"
    exec(source, holder)
    x = ti.field(ti.i32, 2)

    @ti.kernel
    def k():
        x[0] += 1

    k()
    x = ti.field(ti.i32, 2)
    k()
    k()
    assert x.to_numpy().tolist() == [2, 0]


def test_a_kernel_outlives_reset() -> None:
    @ti.kernel
    def k(a: ti.i32) -> float:
        return a / 2

    assert k(3) == 1.5
    ti.init(arch=ti.cpu, default_fp=ti.f64)
    assert k(3) == 1.5


def test_two_threads_compile_and_launch() -> None:
    x = ti.field(ti.i32, 1000)

    @ti.kernel
    def k(n: ti.template()):
        for i in x:
            ti.atomic_add(x[i], n)

    failures: list[BaseException] = []

    def work(n: int) -> None:
        try:
            for _ in range(20):
                k(n)
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=work, args=(n,)) for n in (1, 2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    assert set(x.to_numpy().tolist()) == {60}


def test_string_annotations_may_name_locals() -> None:
    pair = ti.types.vector(2, ti.i32)

    def make(kind: Any) -> Any:
        @ti.kernel
        def k(a: kind) -> kind:
            return a * 2

        return k

    assert make(pair)(ti.Vector([1, 2])).to_list() == [2, 4]


def test_kernel_returns_python_values() -> None:
    @ti.kernel
    def k() -> (ti.i32, ti.f32, ti.math.vec2, bool):
        return 1, 2.5, ti.Vector([1, 2]), True

    a, b, v, on = k()
    assert (type(a), type(b), on) == (int, float, True)
    assert v.to_list() == [1, 2]


def test_loops_of_a_function_called_as_a_statement_are_parallel() -> None:
    x, largest = ti.field(ti.i32, 1000), ti.field(ti.i32, ())

    @ti.func
    def fill(a: ti.template(), factor):
        for i in a:
            a[i] = factor * i

    @ti.func
    def first_above(a: ti.template(), limit):
        for i in range(1000):
            if a[i] > limit:
                largest[None] = i
                break

    @ti.kernel
    def k():
        fill(x, 3)
        first_above(x, 100)  # ends early: runs in order

    k()
    assert x.to_numpy().tolist() == [3 * i for i in range(1000)]
    assert largest[None] == 34


@ti.kernel
def doubled(n: ti.i32) -> ti.i32:
    return 2 * n


@ti.func
def halved(n):
    return n / 2


@ti.data_oriented
class Holder:
    def __init__(self, n: int) -> None:
        self.n, self.step = n, doubled

    @ti.kernel
    def own(self) -> ti.i32:
        return self.n


def test_kernels_are_copied_and_pickled_as_functions_are() -> None:
    for one in (doubled, halved, Holder.own, ti.math.mix):
        for same in (copy.copy(one), copy.deepcopy(one), pickle.loads(pickle.dumps(one))):
            assert same is one
    holder = copy.deepcopy(Holder(3))
    assert (holder.step(2), holder.own()) == (4, 3)
    bound = pickle.loads(pickle.dumps(Holder(5).own))
    assert (bound(), copy.copy(bound)()) == (5, 5)

    @ti.kernel
    def local():
        pass

    with pytest.raises((AttributeError, pickle.PicklingError), match="local"):
        pickle.dumps(local)
