"""One module's side of a benchmark: reads `program repetitions` lines, answers with the times in milliseconds.

Started as `python worker.py weft` or `python worker.py taichi`; the answers go to the original standard output, the
module's own chatter to standard error.
"""

from __future__ import annotations

import importlib
import os
import sys
import time
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent))


def main() -> None:
    answers = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)
    from programs import PROGRAMS

    name = sys.argv[1]
    start = time.perf_counter()
    ti: Any = importlib.import_module(name)
    answers.write(f"{(time.perf_counter() - start) * 1e3}\n")
    for line in sys.stdin:
        program, repetitions = line.split()
        ti.init(arch=ti.cpu, offline_cache=False)
        step = PROGRAMS[program](ti)
        first = time.perf_counter()
        step()
        ti.sync()
        times = [(time.perf_counter() - first) * 1e3]
        for _ in range(int(repetitions)):
            begin = time.perf_counter()
            step()
            ti.sync()
            times.append((time.perf_counter() - begin) * 1e3)
        answers.write(" ".join(f"{t:.4f}" for t in times) + "\n")
        ti.reset()


if __name__ == "__main__":
    main()
