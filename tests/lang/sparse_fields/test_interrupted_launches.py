"""Ctrl-C while cells of a hash node are made and freed, in a process of its own. (`tests/ir/test_interrupted_cells.py`
ends launches at every iteration.)"""

from __future__ import annotations

import sys

import pytest

from tests.lang.calls.test_interrupts import run_alone

PROGRAM = """
import os, random, signal, threading, time
signal.signal(signal.SIGINT, signal.default_int_handler)
import numpy as np
import weft as ti

ti.init(arch=ti.cpu, offline_cache=False, cpu_max_num_threads=2)
N = 1 << 18
x = ti.field(ti.i32)
cells = ti.root.hash(ti.i, N)
cells.place(x)

@ti.kernel
def make(first: ti.i32, n: ti.i32):
    for i in range(n):
        x[(first + i) * 7] = 1

@ti.kernel
def drop(first: ti.i32, n: ti.i32):
    for i in range(n):
        ti.deactivate(cells, [(first + i) * 7])

make(0, 1)
drop(0, 1)
chance, interrupts = random.Random(1), 0
for turn in range(8):
    make(0, N)
    after = threading.Timer(chance.uniform(0.01, 0.15), lambda: os.kill(os.getpid(), signal.SIGINT))
    try:
        after.start()
        while True:
            drop(0, N // 2)
            make(N, N // 2)
            drop(N, N // 2)
            make(0, N // 2)
    except KeyboardInterrupt:
        interrupts += 1
    places = x.active()[0][:, 0]
    assert len(np.unique(places)) == len(places)
    assert len(places[places >= N * 7 // 2]) >= N // 2  # nothing touches these
    drop(0, 2 * N)
    assert not len(x.active()[0])
    make(0, N)  # no slot is lost
    drop(0, N)
print(interrupts)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="a process cannot send itself such a signal there")
def test_no_cell_and_no_slot_is_lost() -> None:
    assert run_alone(PROGRAM) == "8\n"
