"""Limits that Linux's control groups set for a process, such as by `docker run --cpus 2 --memory 4g`.

    /proc/self/cgroup       0::/a/b             version 2
                            4:cpu,cpuacct:/a    version 1: a hierarchy of their own for such controllers
    /sys/fs/cgroup/a/b/cpu.max                             "200000 100000": 2 CPUs' time; "max 100000": all
    /sys/fs/cgroup/cpu,cpuacct/a/cpu.cfs_quota_us          200000 of cpu.cfs_period_us; -1: all
    /sys/fs/cgroup/a/b/memory.max                          bytes; "max": all
    /sys/fs/cgroup/memory/a/memory.limit_in_bytes          bytes; more than any machine has: all

The limits of the parent groups apply as well. In a container, the path may be that of the host; then the limits at the
mount point apply.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path

__all__ = ["cpu_quota", "memory_limit"]

_ROOT = Path("/")


def cpu_quota(root: Path = _ROOT) -> float:
    """Return the limit of CPU time in CPUs, possibly a fraction; infinite without a limit."""
    return min((_share(group) for group in _groups("cpu", root)), default=math.inf)


def memory_limit(root: Path = _ROOT) -> float:
    """Return the limit of memory in bytes; infinite without a limit."""
    names = ("memory.max", "memory.limit_in_bytes")
    limits = [number for group in _groups("memory", root) for name in names for number in _numbers(group / name)]
    return min(limits, default=math.inf)


def _groups(controller: str, root: Path) -> Iterator[Path]:
    """Return the groups that limit what a controller provides."""
    for line in _text(root / "proc/self/cgroup").splitlines():
        number, _, rest = line.partition(":")
        controllers, _, path = rest.partition(":")
        if number == "0" or controller in controllers.split(","):
            top = root / "sys/fs/cgroup" / controllers
            group = top / path.lstrip("/")
            yield from (each for each in (group, *group.parents) if each == top or top in each.parents)


def _share(group: Path) -> float:
    """Return the CPU time that one group allows, in CPUs."""
    numbers = [n for name in ("cpu.max", "cpu.cfs_quota_us", "cpu.cfs_period_us") for n in _numbers(group / name)]
    return numbers[0] / numbers[1] if len(numbers) == 2 and min(numbers) > 0 else math.inf


def _numbers(path: Path) -> list[int]:
    return [int(word) for word in _text(path).split() if word.isdigit()]


def _text(path: Path) -> str:
    try:
        return path.read_text()
    except OSError:
        return ""
