"""Kernels touch no byte beyond their arrays and fields: these lie between pages that nobody may touch."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="pages are closed by mprotect, which Windows lacks")

# Loops that are cut into vectors, with the edges that these have; each at every length, flush with the end.
PROGRAM = """
import numpy as np
import weft as ti
from tests import guard_pages
from tests.guard_pages import guarded
guard_pages.pytest_configure()
ti.init(arch=ti.cpu, cpu_max_num_threads=2)
Array = ti.types.ndarray()
Matrices = ti.types.ndarray(dtype=ti.types.matrix(2, 2, ti.f32), ndim=1)
pair = ti.types.struct(a=ti.i8, v=ti.types.vector(3, ti.f32))

@ti.kernel
def maps(a: Array, b: Array):
    for i in a:
        b[i] = a[i] * 2 + 1

@ti.kernel
def sums(a: Array) -> ti.f64:
    total = ti.f64(0)
    for i in a:
        total += a[i]
    return total

@ti.kernel
def neighbours(a: Array, b: Array):
    for i in range(1, a.shape[0] - 1):
        b[i] = a[i - 1] + a[i] + a[i + 1]

@ti.kernel
def backwards(a: Array, b: Array):
    for i in a:
        b[i] = a[a.shape[0] - 1 - i]

@ti.kernel
def gathers(a: Array, b: Array):
    for i in a:
        b[i] = a[(i * 7 + 3) % a.shape[0]]

@ti.kernel
def every_third(a: Array):
    for i in range((a.shape[0] + 2) // 3):
        a[3 * i] = 5

@ti.kernel
def columns(m: Matrices, k: Array, b: Array):
    ti.loop_config(simd=16)
    for i in b:
        s, j = 0.0, ti.cast(i, ti.i32)
        for r in range(k[i] % 5):
            c = k[(i + r) % b.shape[0]] & 1
            j = (j * 7 + 1) % b.shape[0]
            s += m[j][0, c] * m[j][1, c]
        b[i] = s

@ti.kernel
def components(m: Matrices, c: ti.i32, b: Array):
    ti.loop_config(simd=16)
    for i in b:
        s = 0.0
        for r in range(ti.cast(m[i][0, 0], ti.i32) % 3):
            s += m[i][1, c] + m[i][0, c]
        b[i] = s

@ti.kernel
def sines(a: Array, b: Array):
    for i in a:
        b[i] = ti.cast(ti.sin(ti.cast(a[i], ti.f32)), b.dtype)

def array(values, dtype):
    values = values.ravel()
    block = guarded(values.size * np.dtype(dtype).itemsize, np.dtype(dtype).itemsize)
    made = block.view(dtype)
    made[...] = values
    return made

def lines(dtype):
    for n in range(1, 70):
        values = np.arange(n) % 40
        a, b = array(values, dtype), array(values * 0, dtype)
        maps(a, b)
        assert (b == values * 2 + 1).all()
        assert sums(a) == values.sum()
        backwards(a, b)
        assert (b == values[::-1]).all()
        gathers(a, b)
        assert (b == values[(np.arange(n) * 7 + 3) % n]).all()
        neighbours(a, b)
        assert (b[1:-1] == (values[:-2] + values[1:-1] + values[2:])).all()
        sines(a, b)
        every_third(a)
        assert (a[::3] == 5).all()

@ti.kernel
def picture(a: Array, f: ti.template()):
    for i, j in f:
        f[i, j] = a[i, j] + i - j
    for i, j in ti.ndrange((1, f.shape[0] - 1), (1, f.shape[1] - 1)):
        a[i, j] = f[i - 1, j] + f[i + 1, j] + f[i, j - 1] + f[i, j + 1]

@ti.kernel
def structs(s: Array):
    for i in s:
        s[i].a = ti.cast(i % 100, ti.i8)
        s[i].v = ti.Vector([1.0, 2.0, 3.0]) * i

@ti.kernel
def products(a: Array, b: Array, c: Array):
    for i, j in c:
        total = 0.0
        for k in range(a.shape[1]):
            total += a[i, k] * b[k, j]
        c[i, j] = total

def cells():
    for n in range(1, 70):
        m, k = array(np.arange(4 * n), np.float32).reshape(n, 2, 2), array(np.arange(n) * 13 % 31, np.int32)
        b, want = array(np.zeros(n), np.float32), np.zeros(n)
        columns(m, k, b)
        for i in range(n):
            j = i
            for r in range(k[i] % 5):
                j, c = (j * 7 + 1) % n, k[(i + r) % n] & 1
                want[i] += m[j, 0, c] * m[j, 1, c]
        assert np.allclose(b, want)
        for c in range(2):
            components(m, c, b)
            assert np.allclose(b, m[:, 0, 0] % 3 * (m[:, 1, c] + m[:, 0, c]))

for dtype in (np.float32, np.float64, np.int32, np.int8, np.uint16, np.int64):
    lines(dtype)
for n, m in [(1, 1), (1, 17), (9, 5), (16, 16), (31, 33), (7, 130)]:
    x, y = np.arange(n * m).reshape(n, m) % 7, np.arange(m * n).reshape(m, n) % 5
    picture(array(x.ravel(), np.float32).reshape(n, m), ti.field(ti.f32, (n, m)))
    c = array(np.zeros(n * n), np.float32).reshape(n, n)
    products(array(x.ravel(), np.float32).reshape(n, m), array(y.ravel(), np.float32).reshape(m, n), c)
    assert (c == x @ y).all()
    structs(ti.ndarray(pair, n * m))
cells()
print("in bounds")
"""


def test_loops_stay_in_bounds_at_every_length(tmp_path: Path):
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)
    command = [sys.executable, "-W", "ignore", "-X", "faulthandler", str(program)]
    home = os.pathsep.join([str(Path(__file__).parent.parent.parent), os.environ.get("PYTHONPATH", "")])
    done = subprocess.run(command, capture_output=True, text=True, timeout=600, env={**os.environ, "PYTHONPATH": home})
    assert (done.returncode, done.stdout) == (0, "in bounds\n"), done.stderr
