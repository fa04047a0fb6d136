"""Weft beside Taichi on this machine: `python -m tests.bench [PROGRAM ...] [--peer-python PATH]`.

Both run in their own process with all threads; rounds alternate, so that both see the same machine. The table gives the
median step, the ratio Weft / Taichi, the ratio the project wants to stay below, and the time of the first call.
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import sys
from pathlib import Path

from tests.bench.programs import PROGRAMS

# Weft / Taichi that we hold ourselves to.
TARGETS = {
    "heat_4096": 0.35,
    "heat_4096_ndrange": 0.35,
    "seven_point_256": 0.2,
    "sum_64m": 0.4,
    "saxpy_64m": 0.7,
    "nbody_8192": 0.6,
    "mpm88_50": 0.7,
    "transcendental_16m": 0.3,
    "mandelbrot_2048": 0.07,
    "bilateral_1024": 0.3,
    "raymarch_1024": 0.15,
}


class Worker:
    """A process that runs the programs with one module."""

    def __init__(self, python: str, module: str) -> None:
        script = str(Path(__file__).with_name("worker.py"))
        self.process = subprocess.Popen(
            [python, script, module],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        self.import_ms = float(self._answer())

    def _answer(self) -> str:
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        if not line:
            raise SystemExit(f"the benchmark process ended: {self.process.args}")
        return line

    def run(self, program: str, repetitions: int) -> list[float]:
        """Times in ms: the first call (which compiles), then each repetition."""
        assert self.process.stdin is not None
        self.process.stdin.write(f"{program} {repetitions}\n")
        self.process.stdin.flush()
        return [float(t) for t in self._answer().split()]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("programs", nargs="*", default=list(PROGRAMS))
    parser.add_argument("--peer-python", default=sys.executable, help="an interpreter that has taichi installed")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--repetitions", type=int, default=9)
    given = parser.parse_args()
    print(f"{'program':<20} {'weft ms':>9} {'taichi ms':>10} {'ratio':>7} {'want':>6} {'first call ms':>22}")
    for name in given.programs:
        weft, taichi = Worker(sys.executable, "weft"), Worker(given.peer_python, "taichi")
        mine: list[float] = []
        theirs: list[float] = []
        firsts: list[tuple[float, float]] = []
        for _ in range(given.rounds):
            a, b = weft.run(name, given.repetitions), taichi.run(name, given.repetitions)
            mine += a[1:]
            theirs += b[1:]
            firsts.append((a[0], b[0]))
        weft.process.kill()
        taichi.process.kill()
        w, t = statistics.median(mine), statistics.median(theirs)
        first = f"{min(f[0] for f in firsts):.0f} / {min(f[1] for f in firsts):.0f}"
        print(f"{name:<20} {w:>9.3f} {t:>10.3f} {w / t:>7.3f} {TARGETS.get(name, 0):>6} {first:>22}", flush=True)


if __name__ == "__main__":
    main()
