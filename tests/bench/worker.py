"""One peer's side of a benchmark, in a process of its own: `python worker.py NAME THREADS`, NAME one of `PEERS`.

THREADS 0: as many threads as there are processors, and times are those of the clock. THREADS 1: one thread, and times
are the processor's, which others on the machine hardly change.

Lines come in, one answer each goes out, as JSON:

    make PROGRAM    make its data, run its first step: {"first": ms, "sample": [...]}, or {"absent": why}
    time SECONDS    steps for about as long, at least one: {"best": ms}

Answers go to the original standard output, the module's own chatter to standard error.
"""

from __future__ import annotations

import gc
import importlib
import json
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent))

from inputs import Program


def field_programs(module: str, threads: int) -> dict[str, Callable[[], Program]]:
    """The programs of `programs.py` for Weft or Taichi."""
    import gradbench
    import launches
    import more_simulations
    import physics
    import pixels
    import simulations
    import smoke
    from programs import PROGRAMS

    assert all((gradbench, launches, more_simulations, physics, pixels, simulations, smoke))
    ti: Any = importlib.import_module(module)

    def made(name: str) -> Program:
        ti.reset()
        ti.init(arch=ti.cpu, offline_cache=False, **({"cpu_max_num_threads": threads} if threads else {}))
        program = PROGRAMS[name](ti)
        return Program(lambda: (program.step(), ti.sync()), program.result)

    return {name: lambda name=name: made(name) for name in PROGRAMS}


def own_programs(module: str, threads: int) -> dict[str, Callable[[], Program]]:
    """The programs of a peer that has its own, in a file of that name."""
    if threads:
        os.environ["OMP_NUM_THREADS"] = os.environ["NUMBA_NUM_THREADS"] = str(threads)
    return importlib.import_module(module).PROGRAMS


PEERS = {
    "weft": (field_programs, "weft"),
    "taichi": (field_programs, "taichi"),
    "cpp": (own_programs, "peer_cpp"),
    "numba": (own_programs, "peer_numba"),
    "warp": (own_programs, "peer_warp"),
    "jax": (own_programs, "peer_jax"),
    "torch": (own_programs, "peer_torch"),
}


class Session:
    """The program that is being measured."""

    def __init__(self, programs: dict[str, Callable[[], Program]], clock: Callable[[], float]) -> None:
        self.programs, self.clock = programs, clock
        self.program: Any = None

    def make(self, name: str) -> dict[str, Any]:
        """Its first step, which may compile."""
        self.program = None
        gc.collect()
        if name not in self.programs:
            return {"absent": "not written for it"}
        self.program = self.programs[name]()
        spent = self.step()
        return {"first": spent, "sample": self.program.result().tolist()}

    def time(self, seconds: str) -> dict[str, Any]:
        """The best of as many steps as fit."""
        end, steps = time.perf_counter() + float(seconds), list[float]()
        while not steps or time.perf_counter() < end:
            steps.append(self.step())
        return {"best": min(steps)}

    def step(self) -> float:
        """Milliseconds of one step."""
        begin = self.clock()
        self.program.step()
        return (self.clock() - begin) * 1e3


def main() -> None:
    answers = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)
    try:
        programs, module = PEERS[sys.argv[1]]
        threads = int(sys.argv[2])
        session = Session(programs(module, threads), time.process_time if threads else time.perf_counter)
    except (ImportError, OSError, RuntimeError) as error:
        answers.write(json.dumps({"absent": str(error)}) + "\n")
        return
    answers.write("{}\n")
    for line in sys.stdin:
        order, given = line.split()
        answers.write(json.dumps(getattr(session, order)(given)) + "\n")


if __name__ == "__main__":
    main()
