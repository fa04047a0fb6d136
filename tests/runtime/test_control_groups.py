"""How many threads and how much memory there are where something limits the process: control groups, affinity."""

from __future__ import annotations

import math
import os
import subprocess
import sys
from pathlib import Path

import pytest

from weft.runtime import system
from weft.runtime.control_groups import cpu_quota, memory_limit

CPU = "cpu,cpuacct/pod"
VERSION_1 = "9:memory:/pod\n4:cpu,cpuacct:/pod/a\n0::/\n"


@pytest.mark.parametrize(
    ("groups", "files", "wanted"),
    [
        ("0::/\n", {}, math.inf),
        ("0::/\n", {"cpu.max": "max 100000\n"}, math.inf),
        ("0::/\n", {"cpu.max": "150000 100000\n"}, 1.5),
        ("0::/a/b\n", {"a/b/cpu.max": "max 100000\n", "a/cpu.max": "300000 100000\n"}, 3.0),
        ("0::/a/b\n", {"a/b/cpu.max": "50000 100000\n", "a/cpu.max": "300000 100000\n"}, 0.5),
        ("0::/of/the/host\n", {"cpu.max": "200000 100000\n"}, 2.0),
        (VERSION_1, {f"{CPU}/a/cpu.cfs_quota_us": "-1", f"{CPU}/a/cpu.cfs_period_us": "100000"}, math.inf),
        (VERSION_1, {f"{CPU}/cpu.cfs_quota_us": "25000", f"{CPU}/cpu.cfs_period_us": "10000"}, 2.5),
        ("0::/\n", {"cpu.max": "0 0\n"}, math.inf),
    ],
)  # fmt: skip
def test_quota(tmp_path: Path, groups: str, files: dict[str, str], wanted: float) -> None:
    _write(tmp_path, groups, files)
    assert cpu_quota(tmp_path) == wanted


@pytest.mark.parametrize(
    ("groups", "files", "wanted"),
    [
        ("0::/\n", {"memory.max": "max\n"}, math.inf),
        ("0::/\n", {"memory.max": "2147483648\n"}, 1 << 31),
        ("0::/a/b\n", {"a/b/memory.max": "max\n", "a/memory.max": "1048576\n"}, 1 << 20),
        (VERSION_1, {"memory/memory.limit_in_bytes": "9223372036854771712", "cpu.max": "1 1"}, 9223372036854771712),
        (VERSION_1, {"memory/pod/memory.limit_in_bytes": "4096", "memory/memory.limit_in_bytes": "8192"}, 4096),
    ],
)
def test_memory(tmp_path: Path, groups: str, files: dict[str, str], wanted: float) -> None:
    _write(tmp_path, groups, files)
    assert memory_limit(tmp_path) == wanted


def _write(root: Path, groups: str, files: dict[str, str]) -> None:
    for name, text in {"proc/self/cgroup": groups, **{f"sys/fs/cgroup/{k}": v for k, v in files.items()}}.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)


def test_without_control_groups(tmp_path: Path) -> None:
    assert cpu_quota(tmp_path) == memory_limit(tmp_path) == math.inf
    assert 0 < system.physical_memory() <= system.host.physical_memory()


@pytest.mark.skipif(not hasattr(os, "sched_getaffinity"), reason="no affinity masks here")
@pytest.mark.parametrize(("quota", "wanted"), [(0.5, 1), (1.5, 2), (2.0, 2), (8.0, 3), (math.inf, 3)])
def test_threads(monkeypatch: pytest.MonkeyPatch, quota: float, wanted: int) -> None:
    monkeypatch.setattr(system, "cpu_quota", lambda: quota)
    monkeypatch.setattr(os, "sched_getaffinity", lambda _process: {0, 2, 5})
    assert system.threads_available() == wanted


PROGRAM = """
import os, sys
os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
import weft as ti
ti.init(arch=ti.cpu, cpu_max_num_threads=int(sys.argv[1]))
x, total = ti.field(ti.i64, 1 << 20), ti.field(ti.i64, ())
@ti.kernel
def add():
    for i in x:
        x[i] += i
    for i in x:
        total[None] += x[i]
for _ in range(20):
    add()
n = 1 << 20
assert total[None] == 210 * n * (n - 1) // 2, total[None]
print(os.listdir("/proc/self/task").__len__())
"""


@pytest.mark.skipif(sys.platform != "linux", reason="counts threads in /proc")
@pytest.mark.parametrize(("asked", "working"), [(0, 1), (3, 3)])
def test_on_one_processor(asked: int, working: int) -> None:
    """Alone, the caller does it all; threads that are asked for take turns on the processor and finish. One thread more
    sleeps: the watcher of `runtime/interrupts.py`."""
    given = {**os.environ, "OPENBLAS_NUM_THREADS": "1"}
    command = [sys.executable, "-c", PROGRAM, str(asked)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=100, check=False, env=given)
    assert (done.returncode, done.stdout) == (0, f"{working + 1}\n"), done.stderr
