"""How much of the processors' time Linux's control groups leave a process: what `docker run --cpus 2` sets.

    /proc/self/cgroup       0::/a/b             version 2
                            4:cpu,cpuacct:/a    version 1: its own hierarchy for `cpu`
    /sys/fs/cgroup/a/b/cpu.max                             "200000 100000": 2 CPUs' time; "max 100000": all
    /sys/fs/cgroup/cpu,cpuacct/a/cpu.cfs_quota_us          200000 of cpu.cfs_period_us; -1: all

The groups above limit as well. In a container the path may be that of the host; what is at the mount then counts.
"""

from __future__ import annotations

import math
from pathlib import Path

__all__ = ["cpu_quota"]


def cpu_quota(root: Path = Path("/")) -> float:
    """CPUs' worth of time, which may be a fraction; infinite where nothing limits it."""
    limits = [math.inf]
    for line in _text(root / "proc/self/cgroup").splitlines():
        number, _, rest = line.partition(":")
        controllers, _, path = rest.partition(":")
        if number == "0" or "cpu" in controllers.split(","):
            top = root / "sys/fs/cgroup" / controllers
            group = top / path.lstrip("/")
            limits += [_limit(each) for each in (group, *group.parents) if each == top or top in each.parents]
    return min(limits)


def _limit(group: Path) -> float:
    """What one group allows."""
    names = ("cpu.max", "cpu.cfs_quota_us", "cpu.cfs_period_us")
    numbers = [int(word) for name in names for word in _text(group / name).split() if word.isdigit()]
    return numbers[0] / numbers[1] if len(numbers) == 2 and min(numbers) > 0 else math.inf


def _text(path: Path) -> str:
    try:
        return path.read_text()
    except OSError:
        return ""
