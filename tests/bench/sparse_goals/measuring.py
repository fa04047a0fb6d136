"""What all works need: a clock, the time of bytes, and where times and ratios go."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any


class Bench:
    """Times of one implementation: `ti` is Weft, or Taichi, which has no rows of its own.

    `times` has milliseconds by name, and `rows` what stands in the table: name, value, and the goal, 0 for none."""

    def __init__(self, ti: Any, arch: str, threads: int = 0, scale: int = 1, rounds: int = 4) -> None:
        self.ti, self.arch, self.scale, self.rounds = ti, arch, scale, rounds
        self.options = {"cpu_max_num_threads": threads} if threads else {}
        self.clock = time.process_time if threads == 1 and arch == "cpu" else time.perf_counter
        self.times: dict[str, float] = {}
        self.rows: list[tuple[str, float, float]] = []
        self.is_weft = ti.__name__ == "weft"

    def start(self) -> None:
        """An empty program."""
        self.ti.reset()
        self.ti.init(arch=getattr(self.ti, self.arch), offline_cache=False, **self.options)

    def best(self, run: Callable[[], Any], before: Callable[[], Any] | None = None, count: int = 1) -> float:
        """Milliseconds of the fastest of several runs, after two that are not counted. `before` runs before each.
        `count` calls are one run."""
        found = list[float]()
        for number in range(self.rounds + 2):
            if before is not None:
                before()
            self.ti.sync()
            began = self.clock()
            for _ in range(count if number > 1 else 1):
                run()
            self.ti.sync()
            found.append((self.clock() - began) / (count if number > 1 else 1))
        return 1e3 * min(found[2:])

    def row(self, name: str, value: float, cpu: float = 0.0, gpu: float = 0.0) -> None:
        """A ratio, or number of bytes, with its goals."""
        self.rows.append((name, value, cpu if self.arch == "cpu" else gpu))

    def milliseconds_of_bytes(self, size: float) -> float:
        """What a copy between dense fields takes to read and write that many bytes."""
        if "copy" not in self.times:
            ti, n = self.ti, (1 << 26) // self.scale
            a, b = ti.field(ti.f32, n), ti.field(ti.f32, n)

            @ti.kernel
            def copy():
                for i in a:
                    b[i] = a[i]

            a.fill(1)
            self.times["copy"] = self.best(copy)
            self._bytes = 8 * n
        return self.times["copy"] * size / self._bytes
