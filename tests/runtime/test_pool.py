"""The worker pool: every iteration runs exactly once, whatever the threads do."""

from __future__ import annotations

import ctypes
import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from weft.runtime.jit import Loader, emit
from weft.runtime.pool import Pool
from weft.runtime.pool_ir import PLACES, pool_ir

BODY = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64)
FOR = ctypes.CFUNCTYPE(
    None, ctypes.c_int64, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64
)

# Adds 1 to each of an array's words, and nests: body(ctx = {pool, error record, parallel_for, times}).
BODIES = """
define void @mark(ptr %ctx, ptr %words, i64 %begin, i64 %end) {
entry:
  br label %loop
loop:
  %i = phi i64 [ %begin, %entry ], [ %next, %loop ]
  %at = getelementptr i64, ptr %words, i64 %i
  %old = load i64, ptr %at
  %new = add i64 %old, 1
  store i64 %new, ptr %at
  %next = add i64 %i, 1
  %more = icmp slt i64 %next, %end
  br i1 %more, label %loop, label %done
done:
  ret void
}
define void @nest(ptr %ctx, ptr %words, i64 %begin, i64 %end) {
entry:
  %pool = load i64, ptr %ctx
  %for.at = getelementptr i64, ptr %ctx, i64 2
  %for = load ptr, ptr %for.at
  br label %loop
loop:
  %i = phi i64 [ %begin, %entry ], [ %next, %loop ]
  %offset = mul i64 %i, 100
  %row = getelementptr i64, ptr %words, i64 %offset
  call void %for(i64 %pool, ptr @mark, ptr %ctx, ptr %row, i64 100, i64 10)
  %next = add i64 %i, 1
  %more = icmp slt i64 %next, %end
  br i1 %more, label %loop, label %done
done:
  ret void
}
define void @flood(ptr %ctx, ptr %words, i64 %n, i64 %grain) {
entry:
  %pool = load i64, ptr %ctx
  %for.at = getelementptr i64, ptr %ctx, i64 2
  %for = load ptr, ptr %for.at
  %times.at = getelementptr i64, ptr %ctx, i64 3
  %times = load i64, ptr %times.at
  br label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ %next, %loop ]
  call void %for(i64 %pool, ptr @mark, ptr %ctx, ptr %words, i64 %n, i64 %grain)
  %next = add i64 %i, 1
  %more = icmp slt i64 %next, %times
  br i1 %more, label %loop, label %done
done:
  ret void
}
"""


class Bench:
    """A pool with the test's bodies."""

    def __init__(self, threads: int, pool: str = "") -> None:
        """`pool`: the LLVM IR of the pool, if it is a changed one."""
        self.loader = Loader()
        self.code = self.loader.load(emit(BODIES), ("mark", "nest", "flood"))
        self.pool = Pool(threads, self.loader.load(emit(pool or pool_ir()), Pool.FUNCTIONS))
        self.run: Any = FOR(self.pool.parallel_for)

    def loop(self, body: str, words: Any, n: int, grain: int, times: int = 1) -> None:
        record = ctypes.c_int64()  # of a launch that has met no error
        ctx = (ctypes.c_int64 * 4)(self.pool.handle, ctypes.addressof(record), self.pool.parallel_for, times)
        if times > 1:
            BODY(self.code["flood"])(ctypes.addressof(ctx), ctypes.addressof(words), n, grain)
        else:
            self.run(self.pool.handle, self.code[body], ctypes.addressof(ctx), ctypes.addressof(words), n, grain)


@pytest.mark.parametrize("threads", [1, 2, 3, 8])
@pytest.mark.parametrize(("n", "grain"), [(0, 1), (1, 1), (7, 1), (100, 7), (100, 100), (100, 1000), (1000, 0)])
def test_each_iteration_runs_once(threads: int, n: int, grain: int) -> None:
    bench = Bench(threads)
    words = (ctypes.c_int64 * (n + 1))()
    for _ in range(5):
        bench.loop("mark", words, n, grain)
    assert list(words) == [5] * n + [0]


def chunks_of(bench: Bench, n: int, grain: int, run: Callable[[int, int], None]) -> list[tuple[int, int, int]]:
    """Which thread took which chunks of a loop, each of which is a call of `run`."""
    chunks: list[tuple[int, int, int]] = []

    def body(_ctx: int, _words: int, begin: int, end: int) -> None:
        chunks.append((threading.get_ident(), begin, end))
        run(begin, end)

    called, record = BODY(body), ctypes.c_int64()
    ctx = (ctypes.c_int64 * 2)(bench.pool.handle, ctypes.addressof(record))
    bench.run(bench.pool.handle, called, ctypes.addressof(ctx), None, n, grain)
    assert sorted(at for _, begin, end in chunks for at in range(begin, end)) == [*range(n)]
    return chunks


@pytest.mark.parametrize(
    ("n", "grain", "begins"),
    [
        (64, 1, [0, 32]),
        (10, 1, [0, 3, 6, 8]),
        (4096, 8, [0, 1024, 2048, 3072]),
        (7000, 1, [0, 1792, 3520, 5312]),  # whole cache lines
    ],
)
def test_a_thread_begins_with_the_same_share_in_each_loop(n: int, grain: int, begins: list[int]) -> None:
    threads = len(begins)
    bench, owners = Bench(threads), list[dict[int, int]]()
    for _ in range(3):
        everyone, first = threading.Barrier(threads), dict[int, int]()

        def meet(begin: int, _end: int, everyone: threading.Barrier = everyone, first: dict[int, int] = first) -> None:
            if threading.get_ident() not in first:
                first[threading.get_ident()] = begin
                everyone.wait(30)

        chunks_of(bench, n, grain, meet)
        owners.append(first)
    assert owners == [owners[0]] * 3
    assert sorted(owners[0].values()) == begins
    assert owners[0][threading.get_ident()] == 0


@pytest.mark.parametrize("slow", [0, 32])
def test_other_threads_take_what_is_left_of_a_share(slow: int) -> None:
    """The first chunk of a share, a quarter of it, waits for all other iterations."""
    left, rest, lock = [64 - 8], threading.Event(), threading.Lock()
    waited: list[bool] = []

    def run(begin: int, end: int) -> None:
        if begin == slow:
            waited.append(rest.wait(30))
            return
        with lock:
            left[0] -= end - begin
            if not left[0]:
                rest.set()

    chunks_of(Bench(2), 64, 1, run)
    assert waited == [True]


def test_short_loops_occupy_no_more_threads_than_they_have_chunks() -> None:
    chunks = chunks_of(Bench(8), 100, 40, lambda _begin, _end: None)
    assert sorted((begin, end) for _, begin, end in chunks) == [(0, 34), (34, 67), (67, 100)]


def test_workers_start_with_the_first_loop_that_needs_them() -> None:
    bench = Bench(3)
    words = (ctypes.c_int64 * 100)()
    bench.loop("mark", words, 10, 10)
    assert bench.pool.started == 0
    bench.loop("mark", words, 100, 1)
    assert bench.pool.started == 2
    bench.pool.close()
    assert bench.pool.started == 0
    bench.loop("mark", words, 100, 1)
    assert bench.pool.started == 2


def test_workers_end_that_enter_too_late() -> None:
    """Each worker is late where it has seen a loop and has not entered it yet. Meanwhile, the pool is closed."""
    enters = re.compile(r"^.* = call +i1 @worker_enters\(", re.MULTILINE)
    late, count = enters.subn(r"  call void @spin(i64 30000)\n\g<0>", pool_ir())
    assert count == 1
    bench, words, rounds = Bench(4, late), (ctypes.c_int64 * 64)(), list[int]()

    def work() -> None:
        for k in range(20):
            bench.loop("mark", words, 64, 1)
            bench.pool.close()
            rounds.append(k)

    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    thread.join(60)
    assert (len(rounds), list(words)) == (20, [20] * 64)


def test_a_launch_between_two_loops_keeps_its_pool() -> None:
    bench = Bench(3)
    words = (ctypes.c_int64 * 100)()
    bench.loop("mark", words, 100, 1)
    lock = ctypes.c_int32.from_address(bench.pool.handle + PLACES["launch_lock"])
    lock.value = 1  # another thread's launch: it may use the scratch memory
    bench.pool.close()
    assert (bench.pool.started, bench.pool.launching) == (2, True)
    lock.value = 0
    bench.pool.close()
    assert (bench.pool.started, bench.pool.launching) == (0, False)
    bench.loop("mark", words, 100, 1)
    assert list(words) == [2] * 100


def test_nested_loops_run_inline() -> None:
    bench = Bench(3)
    words = (ctypes.c_int64 * 5000)()
    for _ in range(10):
        bench.loop("nest", words, 50, 1)
    assert list(words) == [10] * 5000


def test_many_loops_in_a_row() -> None:
    bench = Bench(4)
    words = (ctypes.c_int64 * 64)()
    bench.loop("mark", words, 64, 8, times=20000)
    assert list(words) == [20000] * 64


def test_two_python_threads_at_once() -> None:
    bench = Bench(3)
    blocks = [(ctypes.c_int64 * 64)() for _ in range(4)]
    threads = [threading.Thread(target=bench.loop, args=("mark", block, 64, 8, 5000)) for block in blocks]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all(list(block) == [5000] * 64 for block in blocks)


def test_idle_workers_sleep() -> None:
    bench = Bench(3)
    words = (ctypes.c_int64 * 64)()
    bench.loop("mark", words, 64, 1)
    deadline = time.monotonic() + 5
    while bench.pool.sleeping < 2 and time.monotonic() < deadline:
        time.sleep(0.01)
    assert bench.pool.sleeping == 2
    before = time.process_time()
    time.sleep(0.1)
    assert time.process_time() - before < 0.05
    for _ in range(20):  # and wake again
        bench.loop("mark", words, 64, 1)
        time.sleep(0.002)
    assert list(words) == [21] * 64


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_after_a_fork_both_sides_work() -> None:
    bench = Bench(3)
    words = (ctypes.c_int64 * 64)()
    bench.loop("mark", words, 64, 1)
    child = os.fork()
    if child == 0:
        signal.alarm(60)
        try:
            assert bench.pool.started == 0
            bench.loop("mark", words, 64, 1)
            os._exit(0 if list(words) == [2] * 64 and bench.pool.started == 2 else 1)
        finally:
            os._exit(2)
    assert os.waitpid(child, 0)[1] == 0
    bench.loop("mark", words, 64, 1)
    assert list(words) == [2] * 64


def test_python_exits_with_workers_alive() -> None:
    text = (
        "import ctypes, runpy\n"
        f"names = runpy.run_path({__file__!r})\n"
        "bench = names['Bench'](4)\n"
        "words = (ctypes.c_int64 * 64)()\n"
        "bench.loop('mark', words, 64, 1)\n"
        "print(sum(words))\n"
    )
    done = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stdout) == (0, "64\n"), done.stderr


def test_scratch_memory_grows_and_may_be_refused() -> None:
    pool = Bench(2).pool
    scratch = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64)(pool.scratch)
    small = scratch(pool.handle, 1000)
    assert small % 64 == 0
    assert scratch(pool.handle, 10) == small
    large = scratch(pool.handle, 1 << 20)
    assert large % 64 == 0
    ctypes.memset(large, 1, 1 << 20)
    assert scratch(pool.handle, 1 << 60) is None
    assert scratch(pool.handle, 1000) is not None
    pool.close()
    assert scratch(pool.handle, 1000) is not None


@pytest.mark.parametrize("threads", [1, 2, 3])
@pytest.mark.parametrize("size", [0, 1, (256 << 10) - 1, 256 << 10, (256 << 10) + 1, (3 << 20) + 5])
def test_memory_is_set_and_copied_by_all_threads(threads: int, size: int) -> None:
    bench = Bench(threads)
    random = np.random.default_rng(size)
    source, target = (random.integers(1, 255, size + 16).astype(np.uint8) for _ in range(2))
    before = target.copy()
    bench.pool.set(target.ctypes.data + 3, size, source.ctypes.data + 5)
    np.testing.assert_array_equal(target[3 : size + 3], source[5 : size + 5])
    bench.pool.set(target.ctypes.data + 3, size)
    assert not target[3 : size + 3].any()
    for outside in (slice(0, 3), slice(size + 3, None)):
        np.testing.assert_array_equal(target[outside], before[outside])
