"""Weft beside C++, Numba, Warp and Taichi on this machine: `python -m tests.bench [PROGRAM ...] [--peers cpp,taichi]`.

Each peer runs in its own process with all threads (or one: `--alone`); rounds alternate, so that all see the same
machine, and the best step of each counts. What they computed is compared with Weft's. A ratio is Weft's time over the
peer's: below 1, Weft is faster. `--cpu-features v3` adds Weft as it is on a machine without AVX-512. Peers that are not
there leave a dash. Derivatives (`lse_gradient`) are measured if they are named, beside JAX and PyTorch, too, with
`--peers jax,torch`. `--write` puts table and plot into
`docs/performance.md`.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from tests.bench import report

HERE = Path(__file__).parent
PEERS = ("cpp", "numba", "warp", "taichi")
ARRAYS = ("jax", "torch")  # peers that only have programs with derivatives: measured if they are named
Key = TypeVar("Key", bound=Hashable)
_SLOW = 1000.0  # milliseconds of a step that two rounds are enough for
ELSEWHERE = ("numba", "warp", "taichi", *ARRAYS)  # installed beside the interpreter of --peer-python


class Worker:
    """A process that runs the programs of one peer."""

    def __init__(self, name: str, python: str, threads: int = 0, level: str = "") -> None:
        """`name`: a peer, or one of `report.LEVELS`: Weft for that instruction set. `level`: the one that a peer that
        can is compiled for."""
        self.name = name
        program, features = ("weft", name) if name in report.LEVELS else (name, level)
        self.said = tempfile.TemporaryFile()  # noqa: SIM115 - for as long as the process
        self.process = subprocess.Popen(
            [python, str(HERE / "worker.py"), program, str(threads)],
            env={**os.environ, "WEFT_CPU_FEATURES": features} if features else None,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self.said,
            text=True,
        )
        self.absent: str = self._answer().get("absent", "")

    def ask(self, order: str) -> dict[str, Any]:
        """The answer to one line."""
        if self.process.poll() is not None:
            return {"absent": "its process has ended"}
        assert self.process.stdin is not None
        self.process.stdin.write(order + "\n")
        self.process.stdin.flush()
        return self._answer()

    def _answer(self) -> dict[str, Any]:
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        if line:
            return json.loads(line)  # type: ignore[no-any-return]
        self.process.wait()
        self.said.seek(0)
        words = self.said.read().decode(errors="replace").strip().splitlines()
        return {"absent": f"its process ended: {words[-1] if words else 'without a word'}"}

    def end(self) -> None:
        """Stop the process."""
        with self.process, self.said:
            self.process.kill()


@dataclass
class Measured:
    """A program's best step and first call with one peer, in milliseconds; `absent`: why there is none; `apart`: which
    part of the sample differs from Weft's."""

    best: float = float("inf")
    first: float = 0.0
    absent: str = ""
    apart: float = 0.0
    sample: list[float] = field(default_factory=list[float])


def measure(name: str, workers: list[Worker], rounds: int, seconds: float) -> dict[str, Measured]:
    """One program with all peers, in turn."""
    return measure_each(name, {worker.name: worker for worker in workers}, rounds, seconds, reference="weft")


def measure_each(
    name: str, workers: Mapping[Key, Worker], rounds: int, seconds: float, reference: Key
) -> dict[Key, Measured]:
    """One program with all workers, in turn. The results are compared with those of `reference`."""
    found = {key: Measured(absent=worker.absent) for key, worker in workers.items()}
    for key, worker in workers.items():
        mine = found[key]
        if not mine.absent:
            answer = worker.ask(f"make {name}")
            mine.absent, mine.first = answer.get("absent", ""), answer.get("first", 0.0)
            mine.sample = answer.get("sample", [])
    for number in range(rounds):
        for key, worker in workers.items():
            mine = found[key]
            if not mine.absent and (number < 2 or mine.best < _SLOW):
                answer = worker.ask(f"time {seconds}")
                mine.absent = answer.get("absent", "")
                mine.best = min(mine.best, answer.get("best", float("inf")))
    wanted = found[reference].sample
    for mine in found.values():
        mine.apart = different(mine.sample, wanted) if wanted and not mine.absent else 0.0
    return found


def different(got: list[float], wanted: list[float]) -> float:
    """Which part of a sample is off by more than a thousandth: of the number itself, and of the largest one."""
    if len(got) != len(wanted):
        return 1.0
    a, b = np.array(got), np.array(wanted)
    return float(np.mean(~(np.abs(a - b) <= 1e-3 * np.abs(b) + 1e-5 * np.abs(b).max())))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    usual = [name for names in report.SECTIONS.values() for name in names]
    names = [*usual, *(name for names in report.DERIVATIVES.values() for name in names)]
    parser.add_argument("programs", nargs="*", metavar="PROGRAM", help=", ".join(names))
    parser.add_argument("--peers", default=",".join(PEERS), help="of cpp,numba,warp,taichi,jax,torch")
    parser.add_argument("--peer-python", default=sys.executable, help="an interpreter that has numba, warp and taichi")
    parser.add_argument("--cpu-features", default="", help=f"Weft for these too, of {','.join(report.LEVELS)}")
    parser.add_argument("--rounds", type=int, default=4)
    parser.add_argument("--seconds", type=float, default=0.25, help="of each round of each peer, at least one step")
    parser.add_argument("--alone", action="store_true", help="one thread each, processor's time: for a busy machine")
    parser.add_argument("--write", action="store_true", help="put table and plot into docs/")
    given = parser.parse_args()
    unknown = sorted(set(given.programs) - set(names))
    if unknown:
        parser.error(f"there is no program {', '.join(unknown)}; there are {', '.join(names)}")
    peers = [peer for peer in f"{given.cpu_features},{given.peers}".split(",") if peer]
    if strange := [peer for peer in peers if peer not in (*report.LEVELS, *PEERS, *ARRAYS)]:
        parser.error(f"there is no peer or instruction set {', '.join(strange)}")
    print(report.heading(peers))
    pythons = {peer: given.peer_python if peer in ELSEWHERE else sys.executable for peer in ("weft", *peers)}
    threads = 1 if given.alone else 0
    workers = {peer: Worker(peer, python, threads) for peer, python in pythons.items()}
    found: dict[str, dict[str, Measured]] = {}
    for name in given.programs or usual:
        found[name] = measure(name, list(workers.values()), given.rounds, given.seconds)
        print(report.row(name, found[name], peers), flush=True)
        for peer, worker in workers.items():
            if worker.process.poll() is not None and not worker.absent:
                workers[peer] = Worker(peer, pythons[peer], threads)
    for worker in workers.values():
        worker.end()
    print(report.notes(found, peers))
    if given.write:
        report.write(found, peers, given.alone)


if __name__ == "__main__":
    main()
