"""Calls of kernels that others disturb: memory that goes meanwhile, arguments without number, no memory, threads."""

from __future__ import annotations

import gc
import subprocess
import sys
import threading
import time
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import weft as ti
from weft.lang.errors import ArgumentError

N, OPEN = 1 << 18, 1 << 30  # a launch waits until its gate, which it counts up, is open
Gate = ti.types.ndarray(dtype=ti.i32, ndim=1)


@ti.func
def pass_through(gate, i):
    if i == 0:
        while ti.atomic_add(gate[0], 1) < OPEN:
            pass


def _field() -> tuple[Any, Any, Callable[[], Any]]:
    """A kernel on a captured field, its argument, and what gives the object that holds the memory."""
    x = ti.field(ti.f32, N)

    @ti.kernel
    def work(gate: Gate, more: ti.i32):
        for i in range(N):
            pass_through(gate, i)
            x[i] += more

    return work, (), lambda: x._slots[0].tree.buffer()


def _template() -> tuple[Any, Any, Callable[[], Any]]:
    x = ti.field(ti.f32, N)

    @ti.kernel
    def work(gate: Gate, more: ti.i32, f: ti.template()):
        for i in range(N):
            pass_through(gate, i)
            f[i] += more

    return work, (x,), lambda: x._slots[0].tree.buffer()


def _ndarray() -> tuple[Any, Any, Callable[[], Any]]:
    a = ti.ndarray(ti.f32, N)

    @ti.kernel
    def work(gate: Gate, more: ti.i32, b: ti.types.ndarray()):
        for i in range(N):
            pass_through(gate, i)
            b[i] += more

    return work, (a,), a.array


def _structs() -> tuple[Any, Any, Callable[[], Any]]:
    a = ti.ndarray(ti.types.struct(v=ti.f32, w=ti.i32), N)

    @ti.kernel
    def work(gate: Gate, more: ti.i32, b: ti.types.ndarray()):
        for i in range(N):
            pass_through(gate, i)
            b[i].v += more

    return work, (a,), lambda: a._buffer


@pytest.mark.parametrize("by_python", [False, True], ids=["direct", "by Python"])
@pytest.mark.parametrize("make", [_field, _template, _ndarray, _structs])
def test_memory_lives_until_the_launch_is_over(make: Callable[[], Any], by_python: bool):
    ti.init(arch=ti.cpu, cpu_max_num_threads=16)  # (few take turns at atomics, or one does without them)
    work, args, memory = make()
    number: Callable[[int], Any] = np.int32 if by_python else int
    gate = np.full(1, OPEN, np.int32)
    for _ in range(2):
        work(gate, number(1), *args)
    held = memory()
    held = weakref.ref(held if held.base is None else held.base)
    gate[0] = 0
    thread = threading.Thread(target=work, args=(gate, number(1), *args))
    thread.start()
    while gate[0] == 0:
        time.sleep(0)
    ti.reset()
    gc.collect()
    assert thread.is_alive()
    assert held() is not None
    gate[0] = OPEN
    thread.join()
    del args, memory
    gc.collect()
    assert held() is None


def test_as_many_arguments_as_the_stack_cannot_hold():
    ti.init(arch=ti.cpu)

    @ti.kernel
    def one(a: ti.i32) -> ti.i32:
        return a

    assert [one(1), one(2)] == [1, 2]
    many = [1] * 3_000_000
    with pytest.raises(ArgumentError, match="too many"):
        one(*many)


def test_errors_of_packing_are_raised_by_the_call(monkeypatch: pytest.MonkeyPatch):
    ti.init(arch=ti.cpu)
    vec = ti.types.vector(2, ti.f32)

    @ti.kernel
    def first(v: vec) -> ti.f32:
        return v[0]

    class Stopping:
        """Ctrl-C comes while it is looked at."""

        @property
        def values(self) -> Any:
            raise KeyboardInterrupt

    assert [first([1.0, 2.0]), first([3.0, 4.0])] == [1, 3]
    with pytest.raises(KeyboardInterrupt):
        first(Stopping())
    with pytest.raises(ArgumentError, match="argument 'v'"):
        first([1.0, 2.0, 3.0])
    assert first([5.0, 6.0]) == 5


NO_MEMORY = """
import _testcapi
import weft as ti
ti.init(arch=ti.cpu, offline_cache=False)
vec = ti.types.vector(3, ti.f64)
@ti.kernel
def several(a: ti.f64) -> (ti.f64, ti.i64):
    return a * 2, ti.i64(1 << 40)
@ti.kernel
def one(a: ti.f64, v: vec) -> ti.f64:
    return a + v[0]
@ti.kernel
def stop(a: ti.f64) -> ti.f64:
    assert a < 0, "it is not"
    return a
v = ti.Vector([1.0, 2.0, 3.0])
def attempt(call):
    for start in range(60):
        result = None
        _testcapi.set_nomemory(start, start + 1)
        try:
            result = call()
        except (MemoryError, ti.WeftError):
            pass
        finally:
            _testcapi.remove_mem_hooks()
for call in (lambda: several(1.5), lambda: one(1.5, v), lambda: stop(-1.5)):
    call(), call()
    attempt(call)
    print(call())
"""


def test_no_memory_for_results():
    pytest.importorskip("_testcapi", reason="this Python has no module to take memory away with")
    done = subprocess.run([sys.executable, "-c", NO_MEMORY], capture_output=True, text=True, timeout=120)
    assert (done.returncode, done.stdout) == (0, "(3.0, 1099511627776)\n2.5\n-1.5\n"), done.stderr


@pytest.mark.parametrize("kind", ["scalars", "numpy", "ndarray", "vector", "struct", "template", "half", "misfits"])
def test_calls_leave_no_references(kind: str):
    ti.init(arch=ti.cpu)
    vec, pair = ti.types.vector(2, ti.f32), ti.types.struct(a=ti.i32, v=ti.f32)
    annotations: dict[str, tuple[Any, Any]] = {
        "scalars": (ti.f64, 12345.5),
        "numpy": (ti.types.ndarray(), np.zeros(3)),
        "ndarray": (ti.types.ndarray(), ti.ndarray(ti.f32, 3)),
        "vector": (vec, ti.Vector([1.0, 2.0])),
        "struct": (pair, pair(a=1, v=2.0)),
        "template": (ti.template(), ti.field(ti.f32, 3)),
        "half": (ti.f16, 1.5),
        "misfits": (ti.f32, np.float64(2.5)),
    }
    annotation, value = annotations[kind]

    @ti.kernel
    def take(a: annotation) -> ti.f64:
        return 1.25

    def references() -> tuple[int, int]:
        gc.collect()
        return sys.getrefcount(value), sys.getrefcount(type(value))

    for _ in range(20):
        take(value)
    before = references()
    blocks = sys.getallocatedblocks()
    for _ in range(5000):
        take(value)
    assert references() == before
    assert sys.getallocatedblocks() - blocks < 500  # fewer where something else was let go meanwhile


def test_threads_launch_and_compile_while_the_program_starts_over():
    ti.init(arch=ti.cpu)
    stop, wrong = threading.Event(), list[BaseException]()

    @ti.kernel
    def shared(a: ti.types.ndarray(), n: ti.i32):
        for i in a:
            a[i] += n

    def work(number: int) -> None:
        while not stop.is_set():

            @ti.kernel
            def own(x: ti.types.ndarray()) -> ti.i32:
                total = 0
                for i in x:
                    total += x[i] * number
                return total

            try:
                a = np.zeros(300, np.int32)
                for _ in range(20):
                    shared(a, 2)
                assert (a == 40).all()
                assert own(a) == 40 * 300 * number
            except BaseException as error:
                wrong.append(error)
                return

    threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
    for thread in threads:
        thread.start()
    for turn in range(12):
        time.sleep(0.05)
        ti.init(arch=ti.cpu, debug=turn % 2 == 1)
    stop.set()
    for thread in threads:
        thread.join()
    assert wrong == []


@pytest.mark.parametrize("shape", [(2**32, 2**32), (2**63,), (2**62, 4, 3)])
@pytest.mark.parametrize("dtype", [ti.i8, ti.types.struct(a=ti.i32), ti.types.vector(3, ti.f32)])
def test_an_ndarray_of_more_bytes_than_there_are_numbers(dtype: Any, shape: tuple[int, ...]):
    ti.init(arch=ti.cpu)
    with pytest.raises(MemoryError, match="TiB"):
        ti.ndarray(dtype, shape)
