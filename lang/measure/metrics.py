"""Hardware counters of a GPU, under Taichi's names. NVIDIA's CUPTI would read them. Weft does not use it and says
so."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from weft.lang.arguments import is_one, shown
from weft.lang.logs.levels import logger

__all__ = [
    "CuptiMetric",
    "collect_kernel_profiler_metrics",
    "get_predefined_cupti_metrics",
    "set_kernel_profiler_metrics",
    "set_kernel_profiler_toolkit",
]

_GROUPS = ("global_access", "shared_access", "atomic_access", "cache_hit_rate", "device_utilization")
_said: set[str] = set()


@dataclass
class CuptiMetric:
    """A counter with NVIDIA's name. `header`, `val_format` and `scale` say how to show it in a table. Weft does not
    read counters; programs for Taichi make such objects.

    Example:
        ti.profiler.CuptiMetric(name="dram__bytes_read.sum", header="read").header  # 'read'
    """

    name: str = ""
    header: str = "unnamed_header"
    val_format: str = "     {:8.0f} "
    scale: float = 1.0


def _say(what: str) -> None:
    """Warn once per process for each message."""
    if what not in _said:
        _said.add(what)
        logger.warning(
            "profiler: %s needs NVIDIA's CUPTI, which Weft does not use. Weft measures times, but does not "
            "read hardware counters. Nsight Compute shows them: type `ncu python program.py`",
            what,
        )


def get_predefined_cupti_metrics(name: str = "") -> list[CuptiMetric]:
    """Return the counters of a group: an empty list, with a warning. Raises ValueError for a group that Taichi does not
    have.

    Example:
        ti.profiler.get_predefined_cupti_metrics("global_access")  # []
        ti.profiler.get_predefined_cupti_metrics("nonsense")  # raises ValueError
    """
    if not is_one(name, ("", *_GROUPS)):
        raise ValueError(f"the group of counters must be one of {', '.join(_GROUPS)}, not {shown(name)}")
    _say("get_predefined_cupti_metrics")
    return []


def set_kernel_profiler_metrics(metric_list: Sequence[CuptiMetric] = ()) -> None:
    """Warn that counters are not read. Taichi's function of this name selects them.

    Example:
        ti.profiler.set_kernel_profiler_metrics([])
        ti.profiler.set_kernel_profiler_toolkit("cupti")  # False
    """
    del metric_list
    _say("set_kernel_profiler_metrics")


@contextmanager
def collect_kernel_profiler_metrics(metric_list: Sequence[CuptiMetric] = ()) -> Generator[None, None, None]:
    """Warn that counters are not read. The body of the `with` block is timed as usual, with
    `init(kernel_profiler=True)`.

    Example:
        ti.init(arch=ti.cpu, kernel_profiler=True)
        x = ti.field(ti.f32, 100)
        with ti.profiler.collect_kernel_profiler_metrics():
            x.fill(1)
        x.sum()  # 100.0
    """
    del metric_list
    _say("collect_kernel_profiler_metrics")
    yield


def set_kernel_profiler_toolkit(toolkit_name: str = "default") -> bool:
    """Return whether that toolkit is available: "default" is, "cupti" is not. Raises ValueError for another name.

    Example:
        ti.profiler.set_kernel_profiler_toolkit("default")  # True
        ti.profiler.set_kernel_profiler_toolkit("nonsense")  # raises ValueError
    """
    if not is_one(toolkit_name, ("default", "cupti")):
        raise ValueError(f"the toolkit must be 'default' or 'cupti', not {shown(toolkit_name)}")
    if toolkit_name == "cupti":
        _say("set_kernel_profiler_toolkit('cupti')")
    return toolkit_name == "default"
