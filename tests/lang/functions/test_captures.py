"""A kernel notices that what it took from the program around it has changed."""

from __future__ import annotations

import gc
import types
import weakref
from collections.abc import Callable, Sequence
from random import Random
from typing import Any

import numpy as np
import pytest

import weft as ti

Case = tuple[Callable[[], int], Any, Callable[[], None]]  # a call, its kernel, and what changes its meaning

N = 3
LIST = [1, 2]
VECTOR = ti.Vector([1, 2])
settings = types.SimpleNamespace(a=1)


@pytest.fixture(params=["cpu", "python"], autouse=True)
def arch(request: pytest.FixtureRequest) -> None:
    ti.init(arch=getattr(ti, request.param))


def test_globals_attributes_and_contents(monkeypatch: pytest.MonkeyPatch):
    @ti.kernel
    def k() -> ti.i32:
        return N + VECTOR[0] * 10 + LIST[1] * 100 + settings.a * 1000

    assert k() == 1213
    monkeypatch.setitem(globals(), "N", 4)
    assert k() == 1214
    LIST[1] = 3
    assert k() == 1314
    monkeypatch.setattr(settings, "a", 7)
    assert k() == 7314
    VECTOR[0] = 5
    assert k() == 7354
    VECTOR[0], LIST[1] = 1, 2


def test_outer_variables_functions_and_fields():
    n, x, y = 1, ti.field(ti.i32, ()), ti.field(ti.i32, ())
    y[None] = 10

    @ti.func
    def f():
        return 100

    @ti.kernel
    def k() -> ti.i32:
        return n + x[None] + f()

    assert k() == 101
    n = 2
    assert k() == 102
    x = y
    assert k() == 112

    @ti.func
    def g():
        return 200

    f = g  # noqa: F811 - that is the point
    assert k() == 212


def test_attributes_of_self():
    @ti.data_oriented
    class Thing:
        def __init__(self) -> None:
            self.n = 3

        @ti.kernel
        def k(self) -> ti.i32:
            return self.n

    thing = Thing()
    assert thing.k() == 3
    thing.n = 4
    assert thing.k() == 4


def test_nothing_changed_nothing_is_compiled():
    ti.init(arch=ti.cpu)
    n = 1000

    @ti.kernel
    def k() -> ti.i32:
        return n

    assert k() == 1000
    (before,) = k._instances.values()
    n = int("1000")  # another object, the same constant
    assert k() == 1000
    assert list(k._instances.values()) == [before]


# ---- back and forth --------------------------------------------------------------------------------------------------


def pair_of_fields() -> tuple[Any, Any]:
    """Two of the same kind, which hold 1 and 2."""
    x, y = ti.field(ti.i32, ()), ti.field(ti.i32, ())
    x[None], y[None] = 1, 2
    return x, y


def closure() -> Case:
    x, y = pair_of_fields()

    @ti.kernel
    def k() -> ti.i32:
        return x[None]

    def swap() -> None:
        nonlocal x, y
        x, y = y, x

    return k, k, swap


def closure_of_a_function() -> Case:
    x, y = pair_of_fields()

    @ti.func
    def f():
        return x[None]

    @ti.kernel
    def k() -> ti.i32:
        return f()

    def swap() -> None:
        nonlocal x, y
        x, y = y, x

    return k, k, swap


def number() -> Case:
    n = 1

    @ti.kernel
    def k() -> ti.i32:
        return n

    def swap() -> None:
        nonlocal n
        n = 3 - n

    return k, k, swap


def function() -> Case:
    @ti.func
    def one():
        return 1

    @ti.func
    def two():
        return 2

    f, g = one, two

    @ti.kernel
    def k() -> ti.i32:
        return f()

    def swap() -> None:
        nonlocal f, g
        f, g = g, f

    return k, k, swap


def items(make: Callable[[Sequence[Any]], Any]) -> Case:
    fields = make(pair_of_fields())

    @ti.kernel
    def k() -> ti.i32:
        return fields[0][None]

    def swap() -> None:
        nonlocal fields
        if isinstance(fields, tuple):
            fields = fields[::-1]
        else:
            fields[0], fields[1] = fields[1], fields[0]

    return k, k, swap


@ti.data_oriented
class Pair:
    def __init__(self) -> None:
        self.x, self.y = pair_of_fields()

    @ti.kernel
    def k(self) -> ti.i32:
        return self.x[None]

    def swap(self) -> None:
        self.x, self.y = self.y, self.x


def attributes_of_an_object() -> Case:
    pair = Pair()
    return pair.k, Pair.k, pair.swap


def attributes_of_an_inner_object() -> Case:
    @ti.data_oriented
    class Outer:
        def __init__(self) -> None:
            self.now, self.then = Pair(), Pair()
            self.then.swap()

        @ti.kernel
        def k(self) -> ti.i32:
            return self.now.x[None]

        def swap(self) -> None:
            self.now, self.then = self.then, self.now

    outer = Outer()
    return outer.k, Outer.k, outer.swap


def a_namespace() -> Case:
    space = types.SimpleNamespace()
    space.x, space.y = pair_of_fields()

    @ti.kernel
    def k() -> ti.i32:
        return space.x[None]

    def swap() -> None:
        space.x, space.y = space.y, space.x

    return k, k, swap


def attributes_of_a_class() -> Case:
    class Two:
        x, y = pair_of_fields()

    @ti.kernel
    def k() -> ti.i32:
        return Two.x[None]

    def swap() -> None:
        Two.x, Two.y = Two.y, Two.x

    return k, k, swap


def slots() -> Case:
    class Slotted:
        __slots__ = ("x", "y")

    slotted = Slotted()
    slotted.x, slotted.y = pair_of_fields()

    @ti.kernel
    def k() -> ti.i32:
        return slotted.x[None]

    def swap() -> None:
        slotted.x, slotted.y = slotted.y, slotted.x

    return k, k, swap


CASES = {
    **{f.__name__: f for f in (closure, closure_of_a_function, number, function, a_namespace, attributes_of_a_class)},
    **{f.__name__: f for f in (attributes_of_an_object, attributes_of_an_inner_object, slots)},
    "tuple": lambda: items(tuple),
    "list": lambda: items(list),
    "dict": lambda: items(lambda pair: dict(enumerate(pair))),
}


@pytest.mark.parametrize("case", CASES)
def test_what_alternates_is_compiled_once_for_each(case: str):
    call, kernel, swap = CASES[case]()
    for step in range(10):
        assert call() == 1 + step % 2
        swap()
    assert len(kernel._instances) == 2


def test_a_class_constant_that_an_object_overrides():
    @ti.data_oriented
    class Model:
        scale = 3

        @ti.kernel
        def k(self) -> ti.i32:
            return self.scale

    a, b = Model(), Model()
    assert (a.k(), b.k()) == (3, 3)
    a.scale = 4
    assert (a.k(), b.k()) == (4, 3)
    Model.scale = 5
    assert (a.k(), b.k()) == (4, 5)
    del a.scale
    assert (a.k(), b.k()) == (5, 5)


def test_captures_in_nested_containers():
    table = {"a": ([1, 2], [3]), "v": ti.Vector([4, 5])}

    @ti.kernel
    def k() -> ti.i32:
        return table["a"][0][1] * 100 + table["a"][1][0] * 10 + table["v"][0]

    assert k() == 234
    table["a"][0][1] = 7
    assert k() == 734
    table["v"][0] = 1
    assert k() == 731
    table["a"] = ([7, 7], [9])
    assert k() == 791


def test_equal_is_not_the_same_constant():
    values, n = [1], 0.0

    @ti.kernel
    def k() -> ti.i32:
        return ti.static(isinstance(values[0], int))

    @ti.kernel
    def sign(one: ti.f32) -> ti.f32:
        return ti.math.sign(one / n)

    assert (k(), sign(1)) == (1, 1)
    values[0], n = 1.0, -0.0
    assert (k(), sign(1)) == (0, -1)


def test_captures_in_structs_and_arrays():
    body = ti.types.struct(mass=ti.i32, v=ti.types.vector(2, ti.i32))(mass=1, v=[2, 3])
    table = np.array([10, 20])

    @ti.kernel
    def k() -> ti.i32:
        return body.mass + body.v[1] * 10 + ti.static(int(table[1])) * 100

    assert [k(), k()] == [2031, 2031]
    body.mass = 4
    assert k() == 2034
    body.v[1] = 5
    assert k() == 2054
    table[1] = 30
    assert k() == 3054


def test_templates_are_told_by_what_is_in_them():
    pair = ti.types.struct(a=ti.i32)

    @ti.kernel
    def angle(c: ti.template()) -> ti.f64:
        return ti.atan2(ti.f64(0.0), ti.f64(c[0]))

    @ti.kernel
    def first(c: ti.template()) -> ti.i32:
        return ti.static(c["a"])

    @ti.kernel
    def member(c: ti.template()) -> ti.i32:
        return c.a

    for kind in (float, np.float32, np.float64):
        signs = [angle((kind(zero),)) > 3 for zero in (0.0, -0.0, 0.0, -0.0)]
        assert signs == [False, True, False, True]
    named, struct = {"a": 1}, pair(a=1)
    assert (first(named), member(struct)) == (1, 1)
    named["a"], struct.a = 2, 3
    assert (first(named), member(struct)) == (2, 3)


def test_an_object_in_a_template_makes_way_for_another():
    class Point:
        def __init__(self, n: int) -> None:
            self.n = n

    @ti.kernel
    def k(c: ti.template()) -> ti.i32:
        return c[0].n

    points = [Point(1)]
    place = id(points[0])
    assert k(points) == 1
    points.clear()
    others = [Point(2)]  # one of these will lie where the first one did
    while id(others[-1]) != place and len(others) < 10_000:
        others.append(Point(2))
    assert k(others[-1:]) == 2


def test_vectors_of_self_and_their_elements():
    @ti.data_oriented
    class Model:
        def __init__(self) -> None:
            self.v = ti.Vector([1, 2])

        @ti.kernel
        def k(self) -> ti.i32:
            return self.v[1] + ti.static(self.v.n) * 10

    model = Model()
    assert model.k() == 22
    model.v[1] = 5
    assert model.k() == 25
    model.v = ti.Vector([0, 1, 1])
    assert model.k() == 31
    model.v = ti.Vector([0.0, 1.0, 1.0])
    assert model.k() == 31


def test_few_are_kept_and_the_oldest_go_first():
    n = 0

    @ti.kernel
    def k() -> ti.i32:
        return n

    for n in range(20):
        assert k() == n
    kept = list(k._instances.values())
    assert len(kept) == 8
    n = 15
    assert k() == 15
    assert len(k._instances) == 8
    n = 3
    assert k() == 3
    assert not any(one in kept[:1] for one in k._instances.values())


def test_nothing_is_kept_alive():
    @ti.kernel
    def k() -> ti.i32:
        return holder.x[None] + pair[0][None] + inside["pair"][1][None]

    holder, pair, inside = Pair(), pair_of_fields(), {"pair": pair_of_fields()}
    gone: list[weakref.ref[Any]] = []
    for _ in range(5):
        holder, pair = Pair(), pair_of_fields()
        inside["pair"] = pair_of_fields()
        gone += [weakref.ref(one) for one in (holder, holder.x, *pair, *inside["pair"])]
        assert k() == 4
    gc.collect()
    assert [one() is None for one in gone] == [True] * 24 + [False] * 6
    assert len(k._instances) == 1
    holder = pair = inside = None  # type: ignore[assignment]
    gc.collect()
    assert all(one() is None for one in gone)
    assert len(k._instances) == 0


def test_random_changes_mean_what_a_kernel_made_anew_means():
    """Whatever is rebound, a kernel that has met much gives what one that has met nothing gives."""
    random = Random(7)
    pair, n, f = Pair(), 1, [1, 2]
    fields = [*pair_of_fields(), *pair_of_fields()]

    def make() -> Any:
        @ti.kernel
        def k() -> ti.i32:
            return pair.x[None] + fields[0][None] * 10 + n * 100 + f[1] * 1000

        return k

    old = make()
    changes: list[Callable[[], None]] = [
        pair.swap,
        lambda: random.shuffle(fields),
        lambda: f.__setitem__(1, random.randrange(3)),
        lambda: fields[0].fill(random.randrange(5)),
    ]
    for _ in range(30):
        random.choice(changes)()
        if random.random() < 0.3:
            n = random.randrange(3)
        if random.random() < 0.1:
            pair = Pair()
            changes[0] = pair.swap
        assert old() == make()()
