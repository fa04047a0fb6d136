"""What watching costs: `python -m tests.bench.overheads`.

A call of two kernels is timed with nothing on, with `ti.profile`, with the log of launches (written to nowhere), with
both, and with `init(kernel_profiler=True)`, in turns in one process. The best of many rounds counts, so the ratios hold
also on a machine that does other things."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager, nullcontext
from typing import Any

import weft as ti

ROUNDS, CALLS = 40, 500


def kernels() -> dict[str, Callable[[], Any]]:
    """Calls by what they pass."""
    x, array = ti.field(ti.f32, 16), ti.ndarray(ti.f32, 16)

    @ti.kernel
    def nothing():
        pass

    @ti.kernel
    def three(a: ti.f32, b: ti.types.ndarray(), c: ti.template()):
        for i in c:
            c[i] += a * b[i]

    return {"no arguments": nothing, "three arguments": lambda: three(1.0, array, x)}


@contextmanager
def logged() -> Generator[None, None, None]:
    """Launches are told of, to nobody."""
    logger, handler = logging.getLogger("weft"), logging.NullHandler()
    logger.addHandler(handler)
    before, logger.propagate = logger.propagate, False
    ti.set_logs("launch")
    try:
        yield
    finally:
        ti.set_logs()
        logger.removeHandler(handler)
        logger.propagate = before


@contextmanager
def both() -> Generator[None, None, None]:
    """Profiled and logged."""
    with ti.profile(), logged():
        yield


def best(call: Callable[[], Any], around: Callable[[], Any]) -> float:
    """Nanoseconds of a call, inside `around()`."""
    with around():
        call()
        began = time.perf_counter()
        for _ in range(CALLS):
            call()
        return 1e9 * (time.perf_counter() - began) / CALLS


def main() -> None:
    """Print the table."""
    watched = {"nothing": nullcontext, "ti.profile": ti.profile, "log of launches": logged, "both": both}
    times: dict[tuple[str, str], float] = {}
    ti.init(arch=ti.cpu)
    calls = kernels()
    for _ in range(ROUNDS):
        for what, around in (*watched.items(), ("nothing, afterwards", nullcontext)):
            for name, call in calls.items():
                times[name, what] = min(times.get((name, what), 1e9), best(call, around))
    ti.init(arch=ti.cpu, kernel_profiler=True)
    for name, call in kernels().items():
        times[name, "kernel_profiler"] = min(best(call, nullcontext) for _ in range(ROUNDS))
    for name in calls:
        base = times[name, "nothing"]
        print(f"{name}:")
        for (other, what), spent in times.items():
            if other == name:
                print(f"  {what:<20}{spent:>8.0f} ns {spent / base:>7.1f} x {spent - base:>8.0f} ns more")


if __name__ == "__main__":
    main()
