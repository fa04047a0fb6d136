"""Weft's threads beside those of OpenMP in one process: both do their work, and a forked child goes on alone."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

SOURCE = """
void add_one(long *x, long n) {
#pragma omp parallel for num_threads(3)
    for (long i = 0; i < n; i++) x[i]++;
}
"""

PROGRAM = """
import ctypes, os, sys, threading, time
import numpy as np
import weft as ti

ti.init(arch=ti.cpu, cpu_max_num_threads=3)
n = 1 << 20
x, sums = np.zeros(n, np.int64), np.zeros(n, np.int64)
openmp = ctypes.CDLL(sys.argv[1]).add_one

@ti.kernel
def add(x: ti.types.ndarray(ti.i64, 1)):
    for i in x:
        x[i] += i

def rounds(array, count):
    for _ in range(count):
        add(array)
        openmp(array.ctypes.data_as(ctypes.c_void_p), ctypes.c_long(n))

def right(array, count):
    return np.array_equal(array, count * (np.arange(n) + 1))

other = threading.Thread(target=rounds, args=(sums, 20))  # a second caller at the same time
other.start()
rounds(x, 20)
other.join()
assert right(x, 20) and right(sums, 20)
child = os.fork()
if child == 0:  # OpenMP's threads do not come back after a fork; Weft's do
    for _ in range(5):
        add(x)
    os._exit(0 if np.array_equal(x, 20 * (np.arange(n) + 1) + 5 * np.arange(n)) else 1)
assert os.waitpid(child, 0)[1] == 0
rounds(x, 5)
assert right(x, 25)
time.sleep(0.3)  # by now everybody sleeps
before = time.process_time()
time.sleep(0.2)
print("asleep" if time.process_time() - before < 0.1 else "spinning")
"""


@pytest.mark.skipif(sys.platform == "win32", reason="no fork here")
@pytest.mark.skipif(shutil.which("cc") is None, reason="no C compiler here")
def test_both_work(tmp_path: Path) -> None:
    (tmp_path / "add.c").write_text(SOURCE)
    library = tmp_path / "add.so"
    built = subprocess.run(
        ["cc", "-O2", "-fopenmp", "-shared", "-fPIC", str(tmp_path / "add.c"), "-o", str(library)],
        capture_output=True,
        check=False,
    )
    if built.returncode:
        pytest.skip("the C compiler has no OpenMP")
    command = [sys.executable, "-W", "ignore::DeprecationWarning", "-c", PROGRAM, str(library)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert (done.returncode, done.stdout) == (0, "asleep\n"), done.stderr
