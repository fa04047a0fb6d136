"""Kernels compiled before they are used, on several threads: nothing runs, nothing is compiled twice, errors show."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from concurrent.futures import CancelledError
from typing import Any

import numpy as np
import pytest

import weft as ti
import weft.lang.calls.compile as compiler
from weft.lang.errors import ArgumentError, TypeMismatch


@pytest.fixture(params=["cpu", "python"])
def arch(request: pytest.FixtureRequest) -> str:
    ti.init(arch=request.param)
    return str(request.param)


@pytest.fixture
def translated(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of the kernels that are translated from now on."""
    seen: list[str] = []
    translate = compiler.translate_kernel

    def noting(function: Callable[..., Any], *args: Any) -> Any:
        seen.append(function.__name__)
        return translate(function, *args)

    monkeypatch.setattr(compiler, "translate_kernel", noting)
    return seen


def _kernels(x: Any, count: int) -> list[Any]:
    def make(n: int) -> Any:
        @ti.kernel
        def k():
            for i in x:
                x[i] += n * i

        return k

    return [make(n) for n in range(count)]


def test_compile_runs_nothing(arch: str, translated: list[str]):
    x = ti.field(ti.i32, 4)

    @ti.kernel
    def k(n: ti.i32, t: ti.template(), a: ti.types.ndarray(), more: ti.f32 = 1.0) -> ti.i32:
        for i in x:
            x[i] += n + t
        a[0] += 1
        return ti.i32(more)

    array = np.zeros(3, np.float32)
    assert k.compile(1, 2, array) is None
    assert translated == ["k"]
    assert x.to_numpy().tolist() == [0] * 4
    assert array[0] == 0
    assert k(5, 2, np.ones(7, np.float32), more=3.0) == 3
    assert x[3] == 7
    assert translated == ["k"]
    k.compile(9, 2, array, more=2)
    assert translated == ["k"]
    k.compile(9, 3, array)
    k.compile(9, 3, np.zeros(2, np.int32))
    assert translated == ["k"] * 3


def test_for_arguments_that_overlap(translated: list[str]):
    ti.init(arch=ti.cpu)

    @ti.kernel
    def add(a: ti.types.ndarray(ti.f32, 1), b: ti.types.ndarray(ti.f32, 1), n: ti.i32):
        for i in range(n):
            a[i] += b[i]

    x, y = ti.ndarray(ti.f32, 4), ti.ndarray(ti.f32, 4)
    add.compile(x, y, 4)
    assert translated == ["add"]
    ti.warm((add, x, x, 4))
    assert translated == ["add"] * 2
    x.fill(1)
    add(x, x, 4)
    add(x, y, 4)
    assert translated == ["add"] * 2
    assert x.to_numpy().tolist() == [2] * 4


def test_methods(arch: str, translated: list[str]):
    @ti.data_oriented
    class Thing:
        def __init__(self, n: int) -> None:
            self.n = n

        @ti.kernel
        def k(self, a: ti.i32) -> ti.i32:
            return a * self.n

    two, three = Thing(2), Thing(3)
    two.k.compile(1)
    three.k.compile_async(a=1).result()
    Thing.k.compile(two, 1)
    assert translated == ["k", "k"]
    assert (two.k(5), three.k(5)) == (10, 15)
    assert translated == ["k", "k"]
    with pytest.raises(ArgumentError, match="is a method"):
        Thing.k.compile()


def test_many_at_once_give_what_one_by_one_gives(translated: list[str]):
    ti.init(arch=ti.cpu, compile_threads=4)
    x = ti.field(ti.i32, 100)
    kernels = _kernels(x, 24)
    ti.warm(*kernels)
    assert len(translated) == 24
    assert not x.to_numpy().any()
    for k in kernels:
        k()
    assert x.to_numpy().tolist() == [i * sum(range(24)) for i in range(100)]
    assert len(translated) == 24


def test_a_call_waits_for_its_code_and_no_other(monkeypatch: pytest.MonkeyPatch):
    ti.init(arch=ti.cpu, compile_threads=2)
    translate = compiler.translate_kernel
    began, go = threading.Event(), threading.Event()
    compiled: list[str] = []

    def slow(function: Callable[..., Any], *args: Any) -> Any:
        compiled.append(function.__name__)
        if function.__name__ == "late":
            began.set()
            assert go.wait(30)
        return translate(function, *args)

    monkeypatch.setattr(compiler, "translate_kernel", slow)

    @ti.kernel
    def late() -> ti.i32:
        return 1

    @ti.kernel
    def quick() -> ti.i32:
        return 2

    future = late.compile_async()
    assert began.wait(30)
    assert quick() == 2
    assert not future.done()
    threading.Timer(0.1, go.set).start()
    assert late() == 1
    future.result()
    assert compiled == ["late", "quick"]


def test_errors_show_at_result_and_at_use(arch: str):
    @ti.kernel
    def wrong(a: ti.template()) -> ti.i32:
        return a + ti.Vector([1, 2])

    @ti.kernel
    def right() -> ti.i32:
        return 1

    with pytest.raises(TypeMismatch):
        wrong.compile(1)
    future = wrong.compile_async(1)
    with pytest.raises(TypeMismatch):
        future.result()
    with pytest.raises(TypeMismatch):
        wrong(1)
    with pytest.raises(TypeMismatch):
        ti.warm(right, (wrong, 1))
    with pytest.raises(ArgumentError, match="takes a"):
        wrong.compile()
    with pytest.raises(ArgumentError, match="not 3"):
        ti.warm(3)
    assert right() == 1


def test_what_has_changed_since_is_compiled_again(translated: list[str]):
    ti.init(arch=ti.cpu)
    n = 1

    @ti.kernel
    def k() -> ti.i32:
        return n

    k.compile()
    n = 2
    assert k() == 2
    assert len(translated) == 2


def test_a_reset_drops_pending_compilations(monkeypatch: pytest.MonkeyPatch):
    ti.init(arch=ti.cpu, compile_threads=1)
    translate = compiler.translate_kernel
    began, go = threading.Event(), threading.Event()

    def slow(*args: Any) -> Any:
        began.set()
        assert go.wait(30)
        return translate(*args)

    monkeypatch.setattr(compiler, "translate_kernel", slow)
    x = ti.field(ti.i32, 4)
    first, second = _kernels(x, 2)
    running, waiting = first.compile_async(), second.compile_async()
    assert began.wait(30)
    ti.init(arch=ti.cpu)
    go.set()
    with pytest.raises(CancelledError):
        waiting.result(30)
    assert running.exception(30) is not None  # its field is gone
    with pytest.raises(ti.WeftError, match="`reset` was called"):
        first()


def test_threads_that_call_one_kernel_compile_it_once(translated: list[str]):
    ti.init(arch=ti.cpu)
    x = ti.field(ti.i32, ())

    @ti.kernel
    def k(n: ti.i32):
        ti.atomic_add(x[None], n)

    start = threading.Barrier(8)

    def work(n: int) -> None:
        start.wait()
        k(n)

    threads = [threading.Thread(target=work, args=(n,)) for n in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert x[None] == sum(range(8))
    assert translated == ["k"]


@pytest.mark.slow
def test_programs_come_and_go_while_threads_compile():
    """Nothing hangs, nothing crashes, and each program computes with its own code."""
    end = time.monotonic() + 3
    while time.monotonic() < end:
        ti.init(arch=ti.cpu, compile_threads=3)
        x = ti.field(ti.i32, 10)
        kernels = _kernels(x, 6)
        futures = [k.compile_async() for k in kernels]
        kernels[3]()
        futures[1].result()
        assert x.to_numpy().tolist() == [3 * i for i in range(10)]
