"""Kernels whose indices nothing checks, and that miss: by a little, nothing happens to anybody; by much, they end with
an exception, and the process goes on."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from weft.runtime import system

HOME = Path(__file__).parents[3]
catches = pytest.mark.skipif(not system.CATCHES_FAULTS, reason="faults are not caught on this system")

HEAD = """
import gc, os, sys, threading
import numpy as np
import weft as ti
ti.init(arch=ti.cpu, cpu_max_num_threads=3, offline_cache=False, mask_out_of_bounds=False)
FAR = 10_000_000
"""


def run(program: str, tmp_path: Path, *options: str) -> subprocess.CompletedProcess[str]:
    path = tmp_path / "program.py"
    path.write_text(HEAD + program)
    environment = {**os.environ, "PYTHONPATH": str(HOME / ".links")}
    command = [sys.executable, "-W", "ignore", *options, str(path)]
    return subprocess.run(command, capture_output=True, text=True, timeout=600, env=environment)


def lives(program: str, tmp_path: Path, *options: str) -> str:
    done = run(program, tmp_path, *options)
    assert done.returncode == 0, done.stderr
    return done.stdout


MISSES_BY_ONE = """
def full(*fields):
    for x in fields:
        x.fill(1)

def whole(*fields):
    return all((x.to_numpy() == 1).all() for x in fields)

many = [ti.field(ti.f32, n) for n in (1, 8, 100, 1000, 4096, 100_000) for _ in range(4)]
grids = [ti.Vector.field(3, ti.f64, (n, n)) for n in (4, 30, 128) for _ in range(2)]
arrays = [ti.ndarray(ti.i32, (n, 50)) for n in (2, 100) for _ in range(3)]
in_root = [ti.field(ti.f32) for _ in range(4)]
ti.root.dense(ti.i, 64).place(in_root[0])
ti.root.dense(ti.ij, (16, 32)).place(in_root[1], in_root[2])
ti.root.place(in_root[3])
full(*many, *grids, *arrays, *in_root)

@ti.kernel
def line(x: ti.template()) -> ti.f32:
    n = x.shape[0]
    for k in range(1):
        x[n + k] = 7
        x[-1 - k] = 7
    return x[n] + x[-1]

@ti.kernel
def rows(x: ti.template(), m: ti.i32) -> ti.f64:
    n, s = x.shape[0], 0.0
    for j in range(m):
        x[n, j] = 7
        x[-1, j] = 7
    for j in range(m):
        s += x[-1, j][0] + x[n, j][0]
    return s

@ti.kernel
def plane(x: ti.template()) -> ti.f32:
    for j in range(32):
        x[-1, j] = 7
        x[16, j] = 7
    return x[-1, 3] + x[16, 3]

@ti.kernel
def array(a: ti.types.ndarray(ti.i32, 2)) -> ti.i32:
    for j in range(50):
        a[-1, j] = 7
        a[a.shape[0], j] = 7
    return a[-1, 3] + a[a.shape[0], 49]

for x in many:
    assert line(x) == 14
for x in grids:
    assert rows(x, x.shape[1]) == 14 * x.shape[1]
for a in arrays:
    assert array(a) == 14
line(in_root[0])
assert plane(in_root[1]) == 14
assert whole(*many, *grids, *arrays, *in_root)
del many, grids, arrays, x, a
gc.collect()
assert whole(*[ti.field(ti.f32, n) for n in (1, 8, 100, 1000)]) is False
for n in (1, 8, 100, 1000, 4096, 100_000):
    assert not ti.field(ti.f32, n).to_numpy().any()
print("alive")
"""


def test_one_beside_a_field_is_nobodys(tmp_path: Path) -> None:
    assert lives(MISSES_BY_ONE, tmp_path) == "alive\n"


SCATTERS = """

grid, other = ti.field(ti.f32, (30, 30)), ti.field(ti.i32, 100)
bins, rows = ti.field(ti.i32, 100), ti.field(ti.i32, (10, 10))
root_a, root_b = ti.field(ti.i32), ti.field(ti.i32)
ti.root.dense(ti.i, 64).place(root_a)
ti.root.dense(ti.i, 64).place(root_b)

@ti.kernel
def scatter(n: ti.i32, m: ti.i32):
    for i in range(n):
        grid[i % 32 - 1, i % 30] += 1.0
        bins[i % 102 - 1] += 1
        other[i % 100] += 1
        rows[i % 12 - 1, i % 10] += 1
        root_a[i % (64 + m) - m // 2] += 1
        root_b[i % 64] += 1

n = 1_600_000
for _ in range(3):
    for x in grid, bins, other, rows, root_a, root_b:
        x.fill(0)
    scatter(n, 2)
    assert (other.to_numpy() == n // 100).all()
    assert (root_b.to_numpy() == n // 64).all()
    i = np.arange(n)
    def counts(places, size):
        return np.bincount(places[(places >= 0) & (places < size)], minlength=size)
    assert (bins.to_numpy() == counts(i % 102 - 1, 100)).all()
    assert (root_a.to_numpy() == counts(i % 66 - 1, 64)).all()
    row = i % 32 - 1
    inside = (row >= 0) & (row < 30)
    assert (grid.to_numpy().ravel() == np.bincount(row[inside] * 30 + i[inside] % 30, minlength=900)).all()
gc.collect()
print("alive")
"""


def test_scatters_that_miss_by_one_spoil_nothing(tmp_path: Path) -> None:
    assert lives(SCATTERS, tmp_path) == "alive\n"


PUBLISHED = """
n = 64
bounds = ti.field(ti.f32, n)
p, q = ti.field(ti.f32, (n, n)), ti.field(ti.f32, (n, n))
uv = ti.Vector.field(2, ti.f32, (2, n, n))

@ti.kernel
def set_bounds():
    for i in range(n + 1):
        bounds[i] = i

@ti.kernel
def relax():
    for i, j in p:
        west = 0.0 if i == 0 else 1.0
        q[i, j] = west * p[i - 1, j] + 0.25 * p[i, j]

@ti.kernel
def react(phase: ti.i32):
    for i, j in ti.ndrange(n, n):
        uv[1 - phase, i, j] = 0.5 * (uv[phase, i - 1, j] + uv[phase, i + 1, j])

p.fill(1)
for step in range(100):
    set_bounds()
    relax()
    react(step % 2)
assert np.isfinite(uv.to_numpy()).all()
assert (q.to_numpy()[0] == 0.25).all() and (q.to_numpy()[1:] == 1.25).all()
assert (bounds.to_numpy() == np.arange(n)).all()
assert (p.to_numpy() == 1).all()
gc.collect()
print("alive")
"""


def test_accesses_of_published_programs_do_not_fault(tmp_path: Path) -> None:
    assert lives(PUBLISHED, tmp_path) == "alive\n"


FAULTS = """
x, y = ti.field(ti.f32, 1000, name="x"), ti.field(ti.i32, 5000, name="y")

@ti.kernel
def store(k: ti.i32):
    x[k] = 5

@ti.kernel
def load(k: ti.i32) -> ti.f32:
    return x[k]

@ti.kernel
def loop(k: ti.i32, n: ti.i32):
    for i in range(n):
        x[i % 1000 + k * (i == n // 2)] = ti.sin(i * 1.0)

@ti.kernel
def scatter(n: ti.i32, far: ti.i32):
    for i in range(n):
        y[i % 5000 + far * (i == n - 1)] += 1

@ti.kernel
def array(a: ti.types.ndarray(ti.f32, 1), k: ti.i32):
    a[k] = 1

def faults(of, *args):
    try:
        of(*args)
    except IndexError as error:
        return str(error)
    raise AssertionError(f"{args} lived")

for k in (FAR // 10, -FAR // 10):
    where = "past the end of" if k > 0 else "before"
    for kernel, args, did in (store, (k,), "wrote"), (load, (k,), "read"), (loop, (k, 10**6), "wrote"):
        for _ in range(3):
            text = faults(kernel, *args)
            assert f"kernel '{kernel.__name__}' {did} 3.8 MiB {where} the memory of x (3.9 KiB)" in text, text
            assert "weft debug" in text
loop(0, 10**6)
scatter(10**6, 0)
assert y.to_numpy().sum() == 10**6
text = faults(scatter, 10**6, FAR // 4)
assert "kernel 'scatter'" in text and "a thread's private copy of a small field" in text, text
y.fill(0)
scatter(10**6, 0)
assert y.to_numpy().sum() == 10**6
assert "ndarray" in faults(array, ti.ndarray(ti.f32, 3000), FAR // 10)
assert "and was stopped" in faults(store, 2**31 - 1)

# In threads of Python, and in a child.
told = []
def work():
    for _ in range(50):
        told.append(faults(loop, FAR // 10, 10**5))
threads = [threading.Thread(target=work) for _ in range(4)]
[thread.start() for thread in threads], [thread.join() for thread in threads]
assert len(told) == 200 and all("kernel 'loop'" in one for one in told)
child = os.fork()
if child == 0:
    ok = "kernel 'loop'" in faults(loop, FAR // 10, 10**6) and "kernel 'store'" in faults(store, FAR // 10)
    os._exit(7 if ok else 1)
assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
print("alive")
"""


@catches
@pytest.mark.parametrize("options", [(), ("-X", "faulthandler")])
def test_far_from_a_field_a_kernel_ends(tmp_path: Path, options: tuple[str, ...]) -> None:
    assert lives(FAULTS, tmp_path, *options) == "alive\n"


WITHIN_PRINTS = """
x = ti.field(ti.f32, 1000)

@ti.kernel
def inner(k: ti.i32):
    x[k] = 1

@ti.kernel
def outer(k: ti.i32):
    print("out", k)
    x[k] = 2

class Out:
    def __init__(self):
        self.faults = 0
    def write(self, text):
        try:
            inner(FAR)
        except IndexError:
            self.faults += 1
    def flush(self):
        pass

kept, sys.stdout = sys.stdout, Out()
outer(3)
try:
    outer(FAR)
except IndexError:
    sys.stdout.faults += 1
kept.write(f"{sys.stdout.faults} {x[3]}\\n")
sys.stdout = kept
"""


@catches
def test_a_kernel_within_the_print_of_another_ends_alone(tmp_path: Path) -> None:
    faults, value = lives(WITHIN_PRINTS, tmp_path).split()
    assert (int(faults) >= 3, value) == (True, "2.0")


NOT_IN_A_KERNEL = """
import ctypes
x = ti.field(ti.f32, 2000, name="speed")

@ti.kernel
def touch():
    x[0] = 1

touch()
address = x.__array_interface__["data"][0] if hasattr(x, "__array_interface__") else np.asarray(x).ctypes.data
{install}
ctypes.memset({where}, 1, 4)
"""


@catches
@pytest.mark.parametrize("options", [(), ("-X", "faulthandler")])
def test_elsewhere_the_process_ends_and_says_why(tmp_path: Path, options: tuple[str, ...]) -> None:
    done = run(NOT_IN_A_KERNEL.format(where="address + FAR", install=""), tmp_path, *options)
    assert done.returncode == -signal.SIGSEGV
    assert "missed memory of Weft's" in done.stderr
    assert "speed" in done.stderr
    assert "weft debug FILE" in done.stderr
    assert ("Current thread" in done.stderr) == bool(options)


@catches
@pytest.mark.parametrize("options", [(), ("-X", "faulthandler")])
def test_faults_of_others_stay_theirs(tmp_path: Path, options: tuple[str, ...]) -> None:
    done = run(NOT_IN_A_KERNEL.format(where="8", install=""), tmp_path, *options)
    assert done.returncode == -signal.SIGSEGV
    assert "weft" not in done.stderr.replace(str(HOME), "").partition("Current thread")[0]
    assert ("Current thread" in done.stderr) == bool(options)
    sent = run(
        "x = ti.field(ti.i32, ())\n@ti.kernel\ndef f():\n    x[None] = 1\nf()\nos.kill(os.getpid(), 11)", tmp_path
    )
    assert sent.returncode == -signal.SIGSEGV


LATER = """
import faulthandler
x = ti.field(ti.f32, 2000)

@ti.kernel
def store(k: ti.i32):
    x[k] = 1

store(1)
faulthandler.enable()
for _ in range(2):
    try:
        store(FAR)
    except IndexError:
        print("ended")
faulthandler.disable()
"""


@catches
def test_a_handler_that_came_later_gives_way(tmp_path: Path) -> None:
    assert lives(LATER, tmp_path) == "ended\nended\n"


LARGE = """
def resident():
    return next(int(line.split()[1]) for line in open("/proc/self/status") if line.startswith("VmRSS")) / 1024

small = ti.field(ti.f32, 10)
small[0] = 1
before = resident()
large = ti.field(ti.f32, (30_000, 20_000))

@ti.kernel
def touch():
    for i in range(100):
        large[i * 300, i] = i

touch()
assert large[29700, 99] == 99 and large[29999, 19999] == 0
assert resident() - before < 700, resident() - before
print("alive")
"""


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_memory_that_is_not_touched_is_not_there(tmp_path: Path) -> None:
    if system.physical_memory() > 3 << 30:
        assert lives(LARGE, tmp_path) == "alive\n"
