"""`ti.profiler`: measure how long kernels take, in programs that call `init(kernel_profiler=True)`.

On the CPU, a launch is timed from the call of the compiled code to its end. Compilation and the Python code around the
call are not included. On a GPU, the device itself measures each task of a kernel, and the time of a launch is the sum
of its tasks.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from weft.lang.arguments import is_one, shown, text_of
from weft.lang.measure import watching
from weft.lang.measure.metrics import (
    CuptiMetric,
    collect_kernel_profiler_metrics,
    get_predefined_cupti_metrics,
    set_kernel_profiler_metrics,
    set_kernel_profiler_toolkit,
)
from weft.lang.measure.recording import LAUNCH, Event, this_thread
from weft.lang.measure.scopes import ScopedProfiler, clear_scoped_profiler_info, print_scoped_profiler_info, timed
from weft.lang.measure.trace_events import write_trace
from weft.lang.program.init import Program, follow_programs, program
from weft.runtime.errors import Overlapping
from weft.runtime.forks import forkable

__all__ = [
    "CuptiMetric",
    "KernelTimes",
    "ScopedProfiler",
    "clear_kernel_profiler_info",
    "clear_scoped_profiler_info",
    "collect_kernel_profiler_metrics",
    "get_kernel_profiler_total_time",
    "get_predefined_cupti_metrics",
    "measured",
    "print_kernel_profiler_info",
    "print_memory_profiler_info",
    "print_scoped_profiler_info",
    "query_kernel_profiler_info",
    "save_timeline",
    "set_kernel_profiler_metrics",
    "set_kernel_profiler_toolkit",
    "timed",
]


@dataclass(frozen=True)
class Launch:
    """One launch of kernel `name`: its begin and its duration, in seconds; on a GPU also each of its tasks."""

    name: str
    began: float
    seconds: float
    tasks: tuple[tuple[str, float], ...] = ()


@dataclass(frozen=True)
class KernelTimes:
    """The launches of a kernel: their number (`counter`), and their `min`, `max`, `avg` in milliseconds; all 0 without
    launches.

    Example:
        ti.profiler.KernelTimes("step", counter=2, min=0.5, max=1.5, avg=1.0).avg  # 1.0
    """

    name: str
    counter: int
    min: float
    max: float
    avg: float


_launches: dict[int, list[Launch]] = {}  # by the generation of the program
_watched: deque[tuple[str, float, float]] = deque()  # (name, began, ended) of the current program's latest launches
_looking = forkable(threading.Lock())


def _recorded() -> list[Launch]:
    """Return the launches of the current program. Those of earlier programs are dropped."""
    generation = program().generation
    with _looking:
        if generation not in _launches:
            _launches.clear()
            _launches[generation] = []
        found = _launches[generation]
        while _watched:
            name, began, ended = _watched.popleft()
            found.append(Launch(name, began, ended - began))
        return found


def watch(kernel: Any, call: Callable[..., Any], args: Sequence[Any], keywords: dict[str, Any]) -> Any:
    """Measure a launch on the CPU. (A `Watch`.)"""
    began = time.perf_counter()
    answer = call(*args, **keywords)
    _watched.append((kernel.__name__, max(began, watching.launch_began()), time.perf_counter()))
    return answer


def _follow(current: Program, began: bool) -> None:
    """Measure the launches of a program that asks for it. (On a GPU, each kernel measures its tasks.)"""
    if not current.profiling or current.backend.times_tasks:
        return
    with _looking:
        _watched.clear()
    (watching.begin if began else watching.end)(watch)


follow_programs(_follow)


def measured(name: str, run: Callable[..., Any]) -> Callable[..., Any]:
    """Return `run` with each call recorded as a launch of kernel `name` on a GPU, which reports the time of each task.

    Example:
        def copy():
            return 7

        ti.profiler.measured("copy", copy)()  # 7
    """

    def launch(*args: Any) -> Any:
        began, launched = time.perf_counter(), True
        try:
            return run(*args)
        except Overlapping:
            launched = False
            raise
        finally:
            if launched:
                device = program().device
                device.synchronize()
                spent = time.perf_counter() - began
                tasks = tuple(device.task_times())
                _recorded().append(Launch(name, began, sum(s for _, s in tasks) if tasks else spent, tasks))

    return launch


def _times(name: str, launches: list[Launch]) -> KernelTimes:
    times = [launch.seconds * 1000 for launch in launches] or [0.0]
    return KernelTimes(name, len(launches), min(times), max(times), sum(times) / len(times))


def query_kernel_profiler_info(name: str) -> KernelTimes:
    """Return the times of the kernel of that name, a `KernelTimes` in milliseconds. The program needs
    `init(kernel_profiler=True)`.

    Example:
        ti.init(arch=ti.cpu, kernel_profiler=True)
        x = ti.field(ti.f32, 1000)

        @ti.kernel
        def fill():
            for i in x:
                x[i] = i

        fill()
        fill()
        ti.profiler.query_kernel_profiler_info("fill").counter  # 2
    """
    text_of(name, "the name of a kernel")
    return _times(name, [launch for launch in _recorded() if launch.name == name])


def get_kernel_profiler_total_time() -> float:
    """Return the total time of all launches in seconds, of a program with `init(kernel_profiler=True)`.

    Example:
        ti.init(arch=ti.cpu, kernel_profiler=True)
        x = ti.field(ti.f32, 1000)

        @ti.kernel
        def fill():
            for i in x:
                x[i] = i

        fill()
        ti.profiler.get_kernel_profiler_total_time() > 0  # True
    """
    return sum(launch.seconds for launch in _recorded())


def clear_kernel_profiler_info() -> None:
    """Forget all launches so far. Raises nothing if there were none.

    Example:
        ti.init(arch=ti.cpu, kernel_profiler=True)
        ti.profiler.clear_kernel_profiler_info()
        ti.profiler.get_kernel_profiler_total_time()  # 0
    """
    _recorded().clear()


def print_kernel_profiler_info(mode: str = "count") -> None:
    """Print a table. Mode "count" prints a line per kernel, the longest total first; "trace" prints a line per launch,
    in order. Raises ValueError for another mode.

    Example:
        ti.init(arch=ti.cpu, kernel_profiler=True)
        x = ti.field(ti.f32, 1000)

        @ti.kernel
        def fill():
            for i in x:
                x[i] = i

        fill()
        ti.profiler.print_kernel_profiler_info()
        ti.profiler.print_kernel_profiler_info("nonsense")  # raises ValueError
    """
    if not is_one(mode, ("count", "trace")):
        raise ValueError(f"the mode must be 'count' or 'trace', not {shown(mode)}")
    current = program()
    if not current.profiling:
        print("No kernels were measured: start the program with ti.init(kernel_profiler=True).")
        return
    launches = _recorded()
    print(f"Kernel times on arch={current.arch} ({mode}), milliseconds")
    (_print_counts if mode == "count" else _print_trace)(launches)
    print(f"total: {get_kernel_profiler_total_time():.6f} s in {len(launches)} launches")


def _print_counts(launches: list[Launch]) -> None:
    by_name: dict[str, list[Launch]] = {}
    for launch in launches:
        by_name.setdefault(launch.name, []).append(launch)
    total = get_kernel_profiler_total_time() * 1000 or 1.0
    print(f"{'%':>7} {'total':>11} {'count':>7} {'min':>9} {'avg':>9} {'max':>9}  kernel")
    rows = [_times(name, found) for name, found in by_name.items()]
    for row in sorted(rows, key=lambda row: (-row.avg * row.counter, row.name)):
        spent = row.avg * row.counter
        numbers = f"{row.counter:>7} {row.min:>9.3f} {row.avg:>9.3f} {row.max:>9.3f}"
        print(f"{100 * spent / total:>6.2f}% {spent:>11.3f} {numbers}  {row.name}")
        for task in _task_rows(by_name[row.name]):
            print(task)


def _task_rows(launches: list[Launch]) -> list[str]:
    """Return a line for each task, in execution order, of kernels with several tasks."""
    times: dict[str, list[float]] = {}
    for launch in launches:
        for task, seconds in launch.tasks if len(launch.tasks) > 1 else ():
            times.setdefault(task, []).append(seconds * 1000)
    return [
        f"{'':>7} {sum(found):>11.3f} {len(found):>7} {min(found):>9.3f} {sum(found) / len(found):>9.3f} "
        f"{max(found):>9.3f}    {task}"
        for task, found in times.items()
    ]


def _print_trace(launches: list[Launch]) -> None:
    first = launches[0].began if launches else 0.0
    print(f"{'began':>11} {'took':>9}  kernel")
    for launch in launches:
        print(f"{(launch.began - first) * 1000:>11.3f} {launch.seconds * 1000:>9.3f}  {launch.name}")


def save_timeline(filename: Any) -> None:
    """Write the launches as a timeline for chrome://tracing and Perfetto, a JSON file. The program needs
    `init(kernel_profiler=True)`.

    Example:
        ti.init(arch=ti.cpu, kernel_profiler=True)
        x = ti.field(ti.f32, 1000)

        @ti.kernel
        def fill():
            for i in x:
                x[i] = i

        fill()
        ti.profiler.save_timeline("launches.json")
        "traceEvents" in open("launches.json").read()  # True
    """
    launches = _recorded()
    thread = this_thread()
    events = [Event(LAUNCH, thread, one.name, one.began, one.began + one.seconds) for one in launches]
    write_trace(filename, events, {thread: program().arch}, launches[0].began if launches else 0.0)


def print_memory_profiler_info() -> None:
    """Print the owners of the device's memory, the largest first, with the bytes of each.

    Example:
        x = ti.field(ti.f32, 1000, name="density")
        x.fill(1)
        ti.profiler.print_memory_profiler_info()
    """
    memory = program().device.memory
    print(f"{memory.total / 2**20:>10.3f} MiB in all")
    for owner, size in memory.holders():
        print(f"{size / 2**20:>10.3f} MiB  {owner}")
