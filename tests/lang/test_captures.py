"""A kernel notices that what it took from the program around it has changed."""

from __future__ import annotations

import types

import pytest

import weft as ti

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
