"""Several Python threads at once, taken off the processor as often as Python allows; on a free-threaded Python they run
side by side."""

from __future__ import annotations

import gc
import random
import sys
import threading
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import weft as ti
from weft.ir.types import array, f32, i32, pointer, struct, tensor
from weft.lang.data.field_tree import FieldError, FieldTree
from weft.lang.kernels.kernel import Kernel
from weft.lang.program import init as program_state
from weft.lang.program.init import program
from weft.runtime import epochs

THREADS, ROUNDS = 4, 150
Numbers = ti.types.ndarray()


@pytest.fixture(autouse=True)
def _restless() -> Iterator[None]:
    usual = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(usual)


def together(*works: Callable[[int], Any], rounds: int = ROUNDS) -> list[list[Any]]:
    """What each of the works gave, so many times, each on a thread of its own, all begun at once. Raises what one
    raised."""
    start, wrong = threading.Barrier(len(works)), list[BaseException]()
    answers: list[list[Any]] = [[] for _ in works]

    def run(k: int) -> None:
        try:
            start.wait()
            for _ in range(rounds):
                if wrong:
                    return
                answers[k].append(works[k](k))
        except BaseException as error:
            wrong.append(error)

    threads = [threading.Thread(target=run, args=(k,)) for k in range(len(works))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if wrong:
        raise wrong[0]
    return answers


def test_the_first_call_of_a_kernel():
    ti.init(arch=ti.cpu)
    for _ in range(5):

        @ti.kernel
        def double(a: ti.i32) -> ti.i32:
            return a * 2

        assert together(*[double] * THREADS, rounds=1) == [[2 * k] for k in range(THREADS)]


def test_the_first_use_of_all_begins_one_program():
    for _ in range(20):
        ti.reset()
        found = together(*[lambda _: program()] * THREADS, rounds=1)
        assert len({id(one) for (one,) in found}) == 1


def test_programs_that_begin_at_once_have_numbers_of_their_own():
    numbers = together(*[lambda _: (ti.init(arch=ti.cpu), program_state.program())[1]] * THREADS, rounds=10)
    seen = {id(one): one.generation for several in numbers for one in several}
    assert len(set(seen.values())) == len(seen)


def test_one_kernel_on_one_field():
    ti.init(arch=ti.cpu)
    x = ti.field(ti.i32, 100)

    @ti.kernel
    def first(n: ti.i32):
        x[0] += n

    @ti.kernel
    def all_of_them():
        for i in x:
            x[i] += 1

    together(*[lambda k: (first(k), all_of_them())] * THREADS)
    assert x[0] == ROUNDS * (sum(range(THREADS)) + THREADS)
    assert (x.to_numpy()[1:] == ROUNDS * THREADS).all()


def test_arguments_of_many_kinds():
    ti.init(arch=ti.cpu)
    vec = ti.types.vector(2, ti.f32)
    pair = ti.types.struct(a=ti.i32, v=vec)
    shared = pair(a=1, v=[2.0, 3.0])

    @ti.kernel
    def first(a: Numbers, n: ti.f32) -> ti.f64:
        return a[0] + n

    @ti.kernel
    def whole(p: pair) -> ti.f32:
        return p.a + p.v[0] + p.v[1]

    def work(k: int) -> None:
        kind = random.choice([np.float32, np.int32, np.float64, np.int8])
        a = ti.ndarray(random.choice([ti.f32, ti.i32]), 3)
        a[0] = 4
        assert [first(np.full(3, 5, kind), 1), first(np.full(3, 5, kind), np.float32(2)), first(a, 1.0)] == [6, 7, 5]
        shared.a, shared.v = 1, ti.Vector([2.0, 3.0])  # the members are exchanged while others read them
        assert [whole(pair(a=k, v=[2.0, 3.0])), whole(shared)] == [k + 5, 6]

    together(*[work] * THREADS)


def test_elements():
    ti.init(arch=ti.cpu)
    x, a, m = ti.field(ti.i32, (THREADS, 3)), ti.ndarray(ti.f32, (THREADS, 3)), ti.Vector.field(2, ti.f32, THREADS)

    def work(k: int) -> None:
        x[k, 1] += 1
        a[k, 2] += 2
        m[k] = [x[k, 1], 0.5]
        assert m[k][0] == x[k, 1]

    together(*[work] * THREADS)
    assert [[x[k, 1], a[k, 2], m[k][0]] for k in range(THREADS)] == [[ROUNDS, 2 * ROUNDS, ROUNDS]] * THREADS


def test_a_field_that_two_threads_use_first_computes_nothing(monkeypatch: pytest.MonkeyPatch):
    """`==` of a field computes elements, for which the field must have been used."""
    ti.init(arch=ti.cpu)
    x, read_by, answers = ti.field(ti.f32, 3, needs_grad=True), FieldTree.read_by, list[float]()

    def read_by_two(tree: FieldTree, reader: Any) -> None:
        read_by(tree, reader)
        read_by(tree, reader)

    def use() -> None:
        x.grad._measured()  # as the other thread does
        answers.extend([x[0], x.grad[0]])

    monkeypatch.setattr(FieldTree, "read_by", read_by_two)
    thread = threading.Thread(target=use, daemon=True)
    thread.start()
    thread.join(60)
    assert answers == [0, 0]
    ti.ad.clear_all_gradients()
    x._slots[0].tree.destroy()
    with pytest.raises(FieldError, match="was destroyed"):
        x[0]


def test_fields_and_arrays_come_and_go():
    ti.init(arch=ti.cpu)
    kept: list[Any] = [None]
    memory = program().device.memory

    @ti.kernel
    def third(f: ti.template()) -> ti.f32:
        return f[2]

    def work(k: int) -> None:
        x = ti.field(ti.f32, 10 + k)
        x[2] = k
        kept[0] = ti.ndarray(ti.f32, 10)
        assert [third(x), third(x)] == [k, k]
        y, builder = ti.field(ti.i32), ti.FieldsBuilder()
        builder.dense(ti.i, 4).place(y)
        tree = builder.finalize()
        y[2] = k
        tree.destroy()

    together(*[work] * THREADS, lambda _: gc.collect(), rounds=15)
    kept[0] = None
    gc.collect()
    assert (memory.total, memory.holders()) == (0, [])


def test_a_captured_field_and_a_captured_number_are_exchanged():
    ti.init(arch=ti.cpu)
    space: dict[str, Any] = {"ti": ti, "n": 0}

    def made(k: int) -> Any:
        x = ti.field(ti.i32, 100)
        x.fill(k)
        return x

    space["x"] = made(0)
    exec("def total() -> ti.i32:\n    s = 0\n    for i in range(100):\n        s += x[i]\n    return s + n", space)
    total = ti.kernel(space["total"])
    total()

    def exchange(k: int) -> None:
        space["x"] = made(random.randrange(5))
        space["n"] = random.randrange(3)

    def look(_: int) -> None:
        for _ in range(20):
            assert total() in {100 * of_x + n for of_x in range(5) for n in range(3)}

    together(look, look, look, exchange, rounds=15)


def test_a_captured_field_is_dropped_when_its_kernel_is_about_to_be_launched(monkeypatch: pytest.MonkeyPatch):
    ti.init(arch=ti.cpu)
    space: dict[str, Any] = {"ti": ti, "x": ti.field(ti.i32, 3)}
    exec("def first() -> ti.i32:\n    return x[0]", space)
    first = ti.kernel(space["first"])
    assert first.run() == 0
    launched, times = Kernel._launched, list[str]()

    def exchanging(self: Any, *rest: Any) -> Any:
        if not times:
            space["x"] = ti.field(ti.i32, 3)
            space["x"][0] = 7
            gc.collect()  # (a free-threaded Python keeps closures until then, and with them what was compiled for)
        times.append(self.__name__)
        return launched(self, *rest)

    monkeypatch.setattr(Kernel, "_launched", exchanging)
    assert (first.run(), times) == (7, ["first"] * 2)


def test_what_is_told_by_being_one_is_one():
    shapes = iter(range(2, 1 << 20))
    ti.init(arch=ti.cpu)
    current = program()
    for _ in range(50):
        n = next(shapes)

        def make(_: int, n: int = n) -> tuple[Any, ...]:
            of_n = tensor(f32, (n,))
            return of_n, struct((("a", of_n), ("b", i32))), array(of_n, n), pointer(of_n), current.kind(n)

        found = [one for (one,) in together(*[make] * THREADS, rounds=1)]
        assert all(a is b for one in found for a, b in zip(one[:-1], found[0][:-1], strict=True))
    numbers = together(*[lambda k: current.kind(random.randrange(1000))] * THREADS)
    assert len(set(current._kinds.values())) == len(current._kinds)
    assert {number for several in numbers for number in several} <= set(current._kinds.values())


def test_array_functions():
    ti.init(arch=ti.cpu)

    @ti.elementwise
    def mixed(a: ti.f32, b: ti.f32) -> ti.f32:
        return a * 2 + b

    @ti.func
    def add(a, b):
        return a + b

    total = ti.reduce(add, 0)

    def work(k: int) -> None:
        numbers = np.full(random.randrange(1, 50), k, np.float32)
        assert (mixed(numbers, 1.0) == 2 * k + 1).all()
        wide = np.full((3, 5000), k, np.float64)
        assert total(wide) == 15000 * k

    together(*[work] * THREADS, rounds=40)


def test_objects_that_are_replaced_during_a_call_are_kept_until_it_ends():
    ti.init(arch=ti.cpu)
    vec = ti.types.vector(2, ti.f32)

    class Thing:
        """What a test keeps."""

    class Meanwhile:
        """A vector; something is let go of while it is packed."""

        @property
        def values(self) -> Any:
            thing = Thing()
            held.append(id(thing))
            epochs.keep(_Told(thing, held))
            return np.array([held.count(0), 2.0], np.float32)

    held: list[int] = []

    @ti.kernel
    def first(v: vec) -> ti.f32:
        return v[0]

    assert [first(ti.Vector([1.0, 2.0])), first([3.0, 4.0])] == [1, 3]
    assert first(Meanwhile()) == 0  # not gone while it was packed,
    assert held.count(0) == 1  # but when the call was over


class _Told:
    """Notes a 0 when it goes."""

    def __init__(self, thing: Any, notes: list[int]) -> None:
        self.thing, self.notes = thing, notes

    def __del__(self) -> None:
        self.notes.append(0)
