"""What sparse fields cost beside what they must cost: `python -m tests.bench.sparse_goals [WORK ...] [--arch cpu]
[--threads N] [--peer PYTHON] [--scale S]`.

Each work gives ratios of times in one process: over a dense field, a sort, or the bytes' time, which is the time of a
copy of as many bytes between dense fields. `--peer` is an interpreter with Taichi, which runs the same programs.
`--scale` divides the sizes. With one thread of a CPU, the time of that thread counts, so that other programs do not
matter much. A goal is a limit that Weft's developers set.
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from . import lists, memory, mpm, multigrid, points, stencil
from .measuring import Bench

WORKS: dict[str, Callable[[Bench], None]] = {
    "stencil": stencil.measure,
    "copy": memory.copies,
    "memory": memory.measure,
    "rebuild": points.measure,
    "mpm": mpm.measure,
    "multigrid": multigrid.measure,
    "lists": lists.measure,
}


def measured(module: str, work: str, given: argparse.Namespace) -> Bench:
    """One work of one implementation."""
    bench = Bench(importlib.import_module(module), given.arch, given.threads, given.scale, given.rounds)
    WORKS[work](bench)
    return bench


def peer(work: str, given: argparse.Namespace) -> dict[str, float]:
    """Times of Taichi, in a process of its own."""
    order = [given.peer, "-m", "sparse_goals", work, "--as-json", "--arch", given.arch]
    order += ["--threads", str(given.threads), "--scale", str(given.scale), "--rounds", str(given.rounds)]
    there = {**os.environ, "PYTHONPATH": str(Path(__file__).parent.parent)}
    done = subprocess.run(order, capture_output=True, text=True, env=there)
    if done.returncode:
        print(f"{work}: Taichi ended: {(done.stderr.strip().splitlines() or ['without a word'])[-1]}")
        return {}
    return dict(json.loads(done.stdout.splitlines()[-1]))


def table(bench: Bench, others: dict[str, float]) -> str:
    """The rows of a work, and its times, beside those of Taichi."""
    lines = [f"{name:66} {value:10.3f}" + _verdict(value, goal) for name, value, goal in bench.rows]
    for name, spent in bench.times.items():
        ratio = f", Taichi {others[name]:.3f} ({others[name] / spent:.1f}x)" if name in others else ""
        lines.append(f"    {name:62} {spent:10.3f} ms{ratio}")
    return "\n".join(lines)


def _verdict(value: float, goal: float) -> str:
    if not goal:
        return ""
    return f"   goal {goal:g}: {'met' if value <= goal else 'missed'}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("works", nargs="*", metavar="WORK", help=", ".join(WORKS))
    parser.add_argument("--arch", default="cpu")
    parser.add_argument("--threads", type=int, default=0, help="0: as many as there are")
    parser.add_argument("--peer", help="an interpreter with Taichi")
    parser.add_argument("--scale", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=4)
    parser.add_argument("--as-json", action="store_true", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if unknown := sorted(set(given.works) - set(WORKS)):
        parser.error(f"there is no work {', '.join(unknown)}; there are {', '.join(WORKS)}")
    for work in given.works or WORKS:
        if given.as_json:
            print(json.dumps(measured("taichi", work, given).times))
            continue
        bench = measured("weft", work, given)
        print(table(bench, peer(work, given) if given.peer else {}), flush=True)


if __name__ == "__main__":
    sys.exit(main())
