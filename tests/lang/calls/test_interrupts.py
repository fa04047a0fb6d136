"""Ctrl-C while a kernel runs: in processes of their own, which send themselves the signal from another thread."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

PROGRAM = """
import os, signal, sys, threading, time
signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's job in the background ignores it
import weft as ti

ti.init(arch=ti.cpu, offline_cache=False, cpu_max_num_threads=THREADS, debug=DEBUG)
x, total = ti.field(ti.f32, 1 << 16), ti.field(ti.i64, 8)

@ti.kernel
def endless():
    for i in range(1):
        while True:
            total[0] += 1

@ti.kernel
def serial(n: ti.i64) -> ti.i64:
    k = ti.i64(0)
    while k < n:
        k = k * 3 % 1000003 + 1
    return k

@ti.kernel
def parallel(n: ti.i32):
    for i in range(n):
        x[i % 65536] = ti.exp(ti.sin(ti.f32(i)))

@ti.kernel
def rows(n: ti.i32):
    for i in x:
        s = 0.0
        for j in range(n):
            s += ti.sin(s + j)
        x[i] = s

@ti.kernel
def inner(n: ti.i64):
    for i in range(4):
        s = ti.i64(0)
        for j in range(n):
            s += (j * j) ^ s
        total[i] = s

@ti.kernel
def found_out(n: ti.i64):
    for i in range(4):
        s = ti.i64(0)
        for j in range(i * n):
            s += (j * j) ^ s
        total[i] = s

@ti.kernel
def found_out_by_twos(n: ti.i64):
    for i in range(4):
        s = ti.i64(0)
        for j in range(total[i], i * n, 2):
            s += (j * j) ^ s
        total[i] = s

@ti.kernel
def found_out_in_lanes(n: ti.i64):
    ti.loop_config(simd=8)
    for i in x:
        s = 0.0
        for j in range(i * n):
            s += ti.f32(j & 7)
        x[i] = s

@ti.kernel
def found_out_outside(n: ti.i64):
    for i in range(8):
        s = 0.0
        for j in range((i + 1) * n):
            s += x[j]
        x[i] = s

@ti.kernel
def in_lanes(n: ti.i32):
    for i in x:
        z, k = 0.1 * i, 0
        while k < n:
            if z > 2:
                z = z * 0.5
            else:
                z = z * 1.5 + 0.1
            k += 1
        x[i] = z

@ti.real_func
def spin(n: ti.i64) -> ti.i64:
    k = ti.i64(1)
    while k < n:
        k = k * 3 % 1000003 + 1
    return k

@ti.real_func
def around(n: ti.i64) -> ti.i64:
    return spin(n) + 1

@ti.kernel
def called(n: ti.i64):
    for i in range(8):
        total[i] = around(n)

@ti.real_func
def fib(n: ti.i32) -> ti.i32:
    r = n
    if n > 1:
        r = fib(n - 1) + fib(n - 2)
    return r

@ti.kernel
def recursive(n: ti.i32) -> ti.i32:
    return fib(n)

@ti.kernel
def check() -> ti.i32:
    s = 0
    for i in range(100000):
        s += i % 7
    return s

LONG = 2**40
CASES = {
    "endless": lambda: endless(), "serial": lambda: serial(LONG), "parallel": lambda: parallel(2**31 - 1),
    "rows": lambda: rows(10**6), "inner": lambda: inner(LONG), "in_lanes": lambda: in_lanes(2**30),
    "found_out": lambda: found_out(LONG), "found_out_by_twos": lambda: found_out_by_twos(LONG),
    "found_out_in_lanes": lambda: found_out_in_lanes(LONG), "found_out_outside": lambda: found_out_outside(LONG),
    "called": lambda: called(LONG), "recursive": lambda: recursive(80),
}
right = sum(i % 7 for i in range(100000))
serial(0), parallel(1), rows(1), inner(1), in_lanes(1), called(0), recursive(3)  # compile
found_out(1), found_out_by_twos(1), found_out_in_lanes(1), found_out_outside(1)
assert check() == right

def later(seconds=0.3, number=signal.SIGINT):
    def send():
        time.sleep(seconds)
        os.kill(os.getpid(), number)
    threading.Thread(target=send, daemon=True).start()
"""

INTERRUPTED = """
later()
try:
    CASES[sys.argv[1]]()
    print("it ended")
except KeyboardInterrupt:
    print("interrupted")
assert check() == right
total.fill(0)
inner(3)
assert total[0] == total[3] == 6
"""

# What a handler does that raises nothing is done while the kernel runs, and the kernel goes on.
HANDLED = """
seen, n = [], 1 << 22
signal.signal(signal.SIGINT, lambda *_: seen.append(time.perf_counter()))
while True:
    seen.clear()
    later()
    begun = time.perf_counter()
    assert serial_sum(n) == n
    ended = time.perf_counter()
    if ended - begun > 1.2:
        break
    time.sleep(0.5)  # until the signal has come
    n *= 4
print("beside" if seen[0] < ended - 0.3 else "afterwards")
assert check() == right
"""
SERIAL_SUM = """
@ti.kernel
def serial_sum(n: ti.i64) -> ti.i64:
    k, s = ti.i64(1), ti.i64(0)
    while s < n:
        k = k * 3 % 1000003 + 1
        s += 1 + k // 2000000
    return s
"""

# A handler that raises something else, an error of arguments among others, ends the kernel with that.
RAISED = """
class Late(TypeError):
    pass

def alarm(*_):
    raise Late

signal.signal(signal.SIGTERM, alarm)
later(number=signal.SIGTERM)
try:
    CASES["inner"]()
except Late:
    print("interrupted")
assert check() == right
"""

# The main thread waits for its turn, since another thread's kernel runs: it is interrupted, that kernel goes on.
OTHER = """
thread = threading.Thread(target=lambda: endless(), daemon=True)
thread.start()
later()
try:
    time.sleep(60)
except KeyboardInterrupt:
    print("interrupted", end=" ")
assert thread.is_alive()
later()
try:
    endless()
except KeyboardInterrupt:
    print("interrupted")
assert thread.is_alive()
"""


def run(program: str, *arguments: str, threads: int = 2, debug: bool = False) -> str:
    text = PROGRAM.replace("THREADS", str(threads)).replace("DEBUG", str(debug)) + SERIAL_SUM + program
    return run_alone(text, *arguments)


def run_alone(text: str, *arguments: str) -> str:
    """What a program prints that runs in a process of its own."""
    command = [sys.executable, "-c", text, *arguments]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout


CASES = (
    *("endless", "serial", "parallel", "rows", "inner", "in_lanes", "called", "recursive"),
    *("found_out", "found_out_by_twos", "found_out_in_lanes", "found_out_outside"),
)
posix = pytest.mark.skipif(sys.platform == "win32", reason="a process cannot send itself such a signal there")


@posix
@pytest.mark.parametrize("case", CASES)
def test_a_kernel_ends_and_the_next_one_is_right(case: str) -> None:
    assert run(INTERRUPTED, case) == "interrupted\n"


@posix
@pytest.mark.parametrize("case", ["endless", "parallel", "inner"])
@pytest.mark.parametrize(("threads", "debug"), [(1, False), (2, True)])
def test_in_one_thread_and_with_checks(case: str, threads: int, debug: bool) -> None:
    assert run(INTERRUPTED, case, threads=threads, debug=debug) == "interrupted\n"


@posix
def test_a_handler_that_raises_nothing_runs_beside_the_kernel() -> None:
    assert run(HANDLED) == "beside\n"


@posix
def test_what_a_handler_raises_ends_the_kernel() -> None:
    assert run(RAISED) == "interrupted\n"


@posix
def test_kernels_of_other_threads_go_on() -> None:
    assert run(OTHER) == "interrupted interrupted\n"


def test_a_look_keeps_the_vectors_of_a_kernel() -> None:
    """A launch of some tenths of a second looks for signals several times, with its numbers in vector registers."""
    import weft as ti

    ti.init(arch=ti.cpu, offline_cache=False, cpu_max_num_threads=1)
    x = ti.field(ti.f32, 1 << 12)

    @ti.kernel
    def rotate(n: ti.i32):
        for i in x:
            a, b, k = ti.f32(i % 5), 1.0, 0
            while k < n + i % 3:
                a, b = b * 0.75 + 1.0, a * 0.5 + 0.25
                k += 1
            x[i] = a + b

    i = np.arange(1 << 12)
    a, b = (i % 5).astype(np.float32), np.ones(1 << 12, np.float32)
    for k in range(202):  # it has come to rest by then
        a, b = (np.where(k < 200 + i % 3, new, old) for new, old in ((b * 0.75 + 1, a), (a * 0.5 + 0.25, b)))
    for rounds in (200, 100_000):
        rotate(rounds)
        assert np.allclose(x.to_numpy(), a + b, rtol=1e-5)
    ti.reset()
