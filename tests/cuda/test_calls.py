"""What is left of a call of a kernel for the next one, and for its caller: results, faults, prints, random numbers."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
import pytest

import weft.runtime.cuda as cuda


def test_tasks_that_come_and_go(ti: Any) -> None:
    """Boxes of other sizes with each call, some of them empty; the result is a struct."""
    answer = ti.types.struct(total=ti.i32, sizes=ti.types.vector(3, ti.f32), half=ti.f64)
    a, b, total = ti.field(ti.i32, 1000), ti.field(ti.i32, (40, 40)), ti.field(ti.i32, ())

    @ti.kernel
    def run(n: ti.i32, m: ti.i32, step: ti.i32) -> answer:
        for i in range(n):
            a[i] += step
        total[None] += 1
        for i, j in ti.ndrange(m, m):
            b[i, j] += step
        total[None] *= 2
        for i in range(n):
            total[None] += a[i]
        return answer(total[None], ti.Vector([1.0 * n, 2.0 * m, 3.0]), 0.5 * step)

    line, plane, expected = np.zeros(1000, int), np.zeros((40, 40), int), 0
    for n, m, step in ((1000, 40, 1), (0, 0, 5), (1, 0, 2), (0, 3, 3), (999, 39, -4), (0, 0, 0), (3, 40, 2)):
        found = run(n, m, step)
        line[:n] += step
        plane[:m, :m] += step
        expected = 2 * (expected + 1) + line[:n].sum()
        assert (found.total, found.sizes.to_list(), found.half) == (expected, [n, 2 * m, 3], step / 2)
        assert (a.to_numpy() == line).all()
        assert (b.to_numpy() == plane).all()


def test_results_of_threads_that_call_one_kernel(ti: Any) -> None:
    @ti.kernel
    def run(n: ti.i32, base: ti.i32) -> ti.i32:
        rounds = 0
        for _ in range(n):
            rounds += 1
        odd = 0
        for i in range(rounds * 2):
            odd += i % 2
        return base + rounds * 1000 + odd

    results: dict[int, list[int]] = {}

    def call(number: int) -> None:
        results[number] = [run(10 * number + k % 3, number * 1_000_000) for k in range(30)]

    threads = [threading.Thread(target=call, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for number in range(4):
        sizes = [10 * number + k % 3 for k in range(30)]
        assert results[number] == [number * 1_000_000 + 1001 * n for n in sizes]


def test_serial_parts_speak_through_memory(ti: Any) -> None:
    a = ti.field(ti.i32, 10)

    @ti.kernel
    def run(n: ti.i32) -> ti.i32:
        a[0] = n
        a[1] = a[0] + 1
        for _ in range(1):
            a[2] = a[1] * 2
        kept = a[2]
        a[0] = 7
        ti.loop_config(serialize=True)
        for i in range(3, 8):
            a[i] = a[i - 1] + a[0]
        a[8] = kept + a[7]
        if a[8] > 100:
            return -1
        a[9] = a[8]
        return a[9]

    assert [run(n) for n in (5, 1000, -3)] == [59, -1, 27]


def test_output_from_before_a_fault(ti: Any, capsys: pytest.CaptureFixture[str]) -> None:
    """It is shown with that call, not with another kernel's."""
    ti.init(arch=ti.cuda, debug=True, enable_fallback=False)

    @ti.kernel
    def fail(n: ti.i32):
        for _ in range(1):
            print("before", n, 1.5)
        for i in range(10):
            assert i < n, "too far"

    @ti.kernel
    def show():
        for _ in range(1):
            print("next")

    with pytest.raises(AssertionError, match="too far"):
        fail(5)
    assert capsys.readouterr().out == "before 5 1.5\n"
    show()
    assert capsys.readouterr().out == "next\n"


@pytest.mark.parametrize("step", [1, 2])
def test_writes_from_before_a_fault(ti: Any, step: int) -> None:
    ti.init(arch=ti.cuda, debug=True, enable_fallback=False)

    @ti.kernel
    def fail(x: ti.types.ndarray(), y: ti.types.ndarray()):
        for i in range(10):
            x[i] += 1
        for i in range(10):
            assert y[i] < 8, "too far"

    x = np.zeros(10 * step, np.int32)
    with pytest.raises(AssertionError, match="too far"):
        fail(x[::step], np.arange(10))
    assert (x[::step] == 1).all()


def test_more_prints_than_there_is_room_for(
    ti: Any, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The last words are too few for a record of three, and hold what an earlier kernel left there."""
    monkeypatch.setattr(cuda, "_PRINT_WORDS", 3002)
    ti.init(arch=ti.cuda, enable_fallback=False)

    @ti.kernel
    def short(n: ti.i32):
        for i in range(n):
            print(123_456 + i)

    @ti.kernel
    def long(n: ti.i32):
        for i in range(n):
            print(i, i)

    short(1501)
    lines = capsys.readouterr().out.splitlines()
    assert sorted(lines) == [str(123_456 + i) for i in range(1501)]
    long(1500)
    *lines, last = capsys.readouterr().out.splitlines()
    assert last == "... the rest of the output was lost, because the print buffer is full"
    assert len(set(lines)) == len(lines) == 1000
    assert all(a == b for a, b in (line.split() for line in lines))
    long(3)
    assert sorted(capsys.readouterr().out.splitlines()) == ["0 0", "1 1", "2 2"]


def test_random_numbers_that_functions_draw(ti: Any) -> None:
    """Across memory, too, where neighbouring threads would rather run along the other axis."""

    def numbers() -> Any:
        x = ti.field(ti.f32, (64, 48))

        @ti.real_func
        def draw() -> ti.f32:
            return ti.random()

        @ti.kernel
        def run():
            for i, j in ti.ndrange(48, 64):
                x[j, i] = draw()

        run()
        return x.to_numpy()

    here = numbers()
    ti.init(arch=ti.cpu)
    assert (here == numbers()).all()


def test_kernels_while_tasks_are_timed(ti: Any, capsys: pytest.CaptureFixture[str]) -> None:
    ti.init(arch=ti.cuda, kernel_profiler=True, enable_fallback=False)
    a, bins, total = ti.field(ti.i32, 1000), ti.field(ti.i32, 16), ti.field(ti.i32, ())

    @ti.kernel
    def run(n: ti.i32) -> ti.i32:
        for i in range(n):
            a[i] += 1
            bins[i % 16] += 1
        for i in range(n):
            total[None] += a[i]
        return total[None]

    @ti.kernel
    def show(n: ti.i32):
        for i in range(n):
            print(i)

    line, expected = np.zeros(1000, int), 0
    for n in (1000, 0, 5, 1000):
        line[:n] += 1
        expected += line[:n].sum()
        assert run(n) == expected
        show(n % 7)
        assert sorted(capsys.readouterr().out.split()) == [str(i) for i in range(n % 7)]
    assert bins.to_numpy().sum() == 2005
