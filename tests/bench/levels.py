"""Weft and C++ with AVX2 and with AVX-512, on one core and on all, on one machine: `python -m tests.bench.levels`.

    python -m tests.bench.levels [PROGRAM ...] [--rounds N] [--seconds S]

Each way runs in a process of its own, in turns, and the best step counts: on one core by the processor's time, on all
by the clock. C++ is compiled with `-march=x86-64-v3` and `x86-64-v4`. Instruction sets that the machine lacks and a
missing compiler leave dashes.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Mapping, Sequence

from tests.bench import report
from tests.bench.__main__ import Measured, Worker, measure_each

__all__ = ["PROGRAMS", "WAYS", "measured", "table"]

PROGRAMS = [
    "heat_4096_ndrange", "seven_point_256", "life_4096_u8", "sum_64m", "saxpy_64m", "histogram_64m",
    "transcendental_16m", "matmul_1024", "blur_5", "bilateral_1024", "mandelbrot_2048", "raymarch_1024", "nbody_8192",
    "mpm88_256k", "sph_sorted_256k", "stable_fluids_1024",
]  # fmt: skip
WAYS = [(peer, level, threads) for threads in (1, 0) for level in ("v3", "v4") for peer in ("weft", "cpp")]
Way = tuple[str, str, int]  # a peer, an instruction set, a number of threads (0: all)
NAMES = {"v2": "SSE4.2", "v3": "AVX2", "v4": "AVX-512"}


def measured(names: Sequence[str], ways: Sequence[Way], rounds: int, seconds: float) -> dict[str, dict[Way, Measured]]:
    """Each program in each way. Prints a row of the table for each program that is done."""
    workers = {way: Worker(way[0], sys.executable, way[2], level=way[1]) for way in ways}
    found: dict[str, dict[Way, Measured]] = {}
    try:
        for name in names:
            found[name] = measure_each(name, workers, rounds, seconds, reference=ways[0])
            print(_row(name, found[name], ways), flush=True)
    finally:
        for worker in workers.values():
            worker.end()
    return found


def table(found: Mapping[str, Mapping[Way, Measured]], ways: Sequence[Way]) -> str:
    """Milliseconds of Weft with each instruction set, in brackets divided by those of C++ with the same."""
    columns = [way for way in ways if way[0] == "weft"]
    titles = [f"{NAMES[level]}, {'all cores' if threads == 0 else 'one core'}" for _, level, threads in columns]
    lines = [f"| program | {' | '.join(titles)} |", "|---|" + "---:|" * len(titles)]
    return "\n".join([*lines, *(_row(name, row, ways) for name, row in found.items())])


def _row(name: str, row: Mapping[Way, Measured], ways: Sequence[Way]) -> str:
    cells = [_cell(row[way], row.get(("cpp", *way[1:]))) for way in ways if way[0] == "weft"]
    return f"| `{name}` | {' | '.join(cells)} |"


def _cell(weft: Measured, cpp: Measured | None) -> str:
    if weft.absent or cpp is None or cpp.absent:
        return report.time_of(weft)
    return f"{report.time_of(weft)} ({report.ratio_of(weft, cpp)})"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("programs", nargs="*", metavar="PROGRAM", default=PROGRAMS)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=0.1, help="of each round of each way, at least one step")
    given = parser.parse_args()
    found = measured(given.programs, WAYS, given.rounds, given.seconds)
    print(f"\n{os.cpu_count()} processors\n\n{table(found, WAYS)}")


if __name__ == "__main__":
    main()
