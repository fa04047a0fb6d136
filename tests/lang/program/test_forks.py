"""Processes that are forked while threads of their parent are busy, and processes of other kinds."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.sampling import every

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")


def run(program: str, path: Path, *args: str) -> str:
    """What that program prints."""
    file = path / "program.py"
    file.write_text(program)
    environment = {**os.environ, "WEFT_OFFLINE_CACHE_FILE_PATH": str(path / "cache")}
    command = [sys.executable, "-W", "ignore", str(file), *args]
    done = subprocess.run(command, capture_output=True, text=True, timeout=400, env=environment)
    assert done.returncode == 0, done.stderr
    return done.stdout


# Two threads import, open the device, compile and store their first kernels, while the process forks all the time.
FIRST = """
import os, random, signal, sys, threading, time
import numpy as np
import weft as ti

def work():
    x = ti.field(ti.f32, 1000)

    @ti.kernel
    def total(a: ti.types.ndarray()) -> ti.f32:
        s = 0.0
        for i in x:
            x[i] = a[0]
        for i in x:
            s += ti.sqrt(x[i])
        return s

    assert total(np.full(3, 4, np.float32)) == 2000
    y = ti.Vector.field(3, ti.f32, 10)
    y.from_numpy(np.ones((10, 3)))
    assert (x.to_numpy().sum(), y[1].sum()) == (4000, 3)

random.seed(int(sys.argv[1]))
threads = [threading.Thread(target=work) for _ in range(2)]
for thread in threads:
    thread.start()
children = []
while any(thread.is_alive() for thread in threads) and len(children) < 8:
    time.sleep(random.random() * 0.1)
    child = os.fork()
    if child == 0:
        signal.alarm(120)
        try:
            work()
        finally:
            os._exit(0 if sys.exc_info()[0] is None else 1)
    children.append(child)
print([os.waitpid(child, 0)[1] for child in children] == [0] * len(children))
for thread in threads:
    thread.join()
"""


@pytest.mark.parametrize("seed", every(3, ["1", "2", "3"]))
def test_a_fork_during_first_compiles(tmp_path: Path, seed: str) -> None:
    assert run(FIRST, tmp_path, seed) == "True\n"


# Two threads do `work` all the time, and each child what `in_child` does.
ENDLESSLY = """
import os, signal, threading
import weft as ti

{program}

def endlessly(work):
    while not stopped.is_set():
        work()

stopped = threading.Event()
threads = [threading.Thread(target=endlessly, args=(one,)) for one in work]
for thread in threads:
    thread.start()
states = []
for _ in range(20):
    child = os.fork()
    if child == 0:
        signal.alarm(60)
        os._exit(0 if in_child() else 1)
    states.append(os.waitpid(child, 0)[1])
stopped.set()
for thread in threads:
    thread.join()
print(states == [0] * 20)
"""

LAUNCHES_AND_COMPILES = """
ti.init(arch=ti.cpu, offline_cache=False)
x = ti.field(ti.f32, 1 << 16)

def make():
    @ti.kernel
    def total() -> ti.f32:
        s = 0.0
        for i in x:
            s += x[i]
        return s
    return total

@ti.kernel
def fill(a: ti.f32):
    for i in x:
        x[i] = a

def in_child():
    later = make()
    later.compile_async().result()
    return make()() == later() == 1 << 16

fill(1.0)
work = [lambda: make()(), lambda: fill(1.0)]
"""

HELPERS = """
from weft.codegen.cpu import parts
from weft.runtime import system
parts._LEAST, system.threads_available = 1, lambda: 4
ti.init(arch=ti.cpu, offline_cache=False, cpu_max_num_threads=2)
x = ti.field(ti.i32, 100)

def make():
    @ti.kernel
    def k() -> ti.i32:
        for i in x:
            x[i] = i
        for i in x:
            x[i] *= 2
        s = 0
        for i in x:
            s += x[i]
        return s
    return k

def in_child():
    return make()() == 9900

in_child()
work = [lambda: make()()] * 2
"""


@pytest.mark.parametrize("program", [LAUNCHES_AND_COMPILES, HELPERS], ids=["launches and compiles", "helpers"])
def test_a_child_compiles_and_launches_whatever_the_parents_threads_did(tmp_path: Path, program: str) -> None:
    assert run(ENDLESSLY.format(program=program), tmp_path) == "True\n"


# A module that forks while it is being imported, and another thread that waits for it.
WITHIN = """
import os, sys, threading, time
sys.path.insert(0, os.path.dirname(__file__))
import weft as ti

with open(os.path.join(os.path.dirname(__file__), "forking_module.py"), "w") as file:
    file.write('''
import os, signal, time
import weft as ti
time.sleep(0.2)

@ti.kernel
def two() -> ti.i32:
    return 2

began = time.monotonic()
child = os.fork()
if child == 0:
    signal.alarm(60)
    os._exit(0 if two() == 2 else 1)
waited = time.monotonic() - began
state = os.waitpid(child, 0)[1]
''')

def other():
    import forking_module

thread = threading.Thread(target=other)
thread.start()
import forking_module
thread.join()
print(forking_module.state, forking_module.waited < 5, forking_module.two())
"""


def test_a_fork_within_an_import(tmp_path: Path) -> None:
    assert run(WITHIN, tmp_path) == "0 True 2\n"


POOLS = """
import concurrent.futures as futures, multiprocessing, os, subprocess, sys, threading
import numpy as np
import weft as ti

ti.init(arch=ti.cpu, cpu_max_num_threads=2)
x = ti.field(ti.f32, 1 << 16)

@ti.kernel
def fill(a: ti.f32):
    for i in x:
        x[i] = a

@ti.kernel
def total(b: ti.types.ndarray()) -> ti.f32:
    s = 0.0
    for i in x:
        s += x[i]
    for i in b:
        s += b[i]
    return s

def task(n):
    fill(n)
    return int(total(np.ones(4, np.float32)))

def launches(stopped):
    while not stopped.is_set():
        fill(1.0)

def in_thread(found):
    child = os.fork()
    if child == 0:
        os._exit(7 if task(3) == 3 * (1 << 16) + 4 else 1)
    found.append(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))

def main(how):
    task(1)
    stopped = threading.Event()
    thread = threading.Thread(target=launches, args=(stopped,))
    thread.start()
    if how == "preexec":
        command = [sys.executable, "-c", "print('other')"]
        made = subprocess.run(command, preexec_fn=lambda: os._exit(task(2) != 2 * (1 << 16) + 4))
        print(made.returncode)
    elif how == "thread":
        found = []
        threads = [threading.Thread(target=in_thread, args=(found,)) for _ in range(3)]
        for one in threads:
            one.start()
        for one in threads:
            one.join()
        print(found)
    else:
        context = multiprocessing.get_context(how)
        with context.Pool(2) as pool, futures.ProcessPoolExecutor(2, mp_context=context) as executor:
            print([*pool.map(task, range(4)), *executor.map(task, range(2))])
    stopped.set()
    thread.join()

if __name__ == "__main__":
    main(sys.argv[1])
"""
MAPPED = f"{[(n << 16) + 4 for n in (0, 1, 2, 3, 0, 1)]}\n"


@pytest.mark.parametrize(
    ("how", "printed"),
    [("fork", MAPPED), ("spawn", MAPPED), ("forkserver", MAPPED), ("preexec", "0\n"), ("thread", "[7, 7, 7]\n")],
)
def test_processes_of_all_kinds(tmp_path: Path, how: str, printed: str) -> None:
    assert run(POOLS, tmp_path, how) == printed


IMPATIENT = """
import os, signal, threading
import weft as ti
from weft.runtime import forks
from llvmlite.binding import ffi

ti.init(arch=ti.cpu, offline_cache=False)
forks._PATIENCE = 0.1
inside, done = threading.Event(), threading.Event()

def compiles_for_long():
    with forks.gate, ffi.lib._lock:
        inside.set()
        done.wait()

@ti.kernel
def two() -> ti.i32:
    return 2

thread = threading.Thread(target=compiles_for_long)
thread.start()
inside.wait()
child = os.fork()
if child == 0:
    signal.alarm(60)
    os._exit(0 if two() == 2 else 1)
print(os.waitpid(child, 0)[1])
done.set()
thread.join()
"""


def test_a_fork_that_waited_long_enough_for_llvm(tmp_path: Path) -> None:
    assert run(IMPATIENT, tmp_path) == "0\n"
