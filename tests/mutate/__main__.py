"""`python -m tests.mutate [--only NAMES] [--processes P] [--timeout S] [--list] [--json FILE] [--sample N]`."""

from __future__ import annotations

import argparse
import json
import os
import random
import subprocess
import sys
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import asdict, dataclass
from importlib.util import find_spec
from pathlib import Path

from tests.mutate.equivalent import EQUIVALENT
from tests.mutate.mutants import mutants
from tests.mutate.targets import TARGETS


@dataclass(frozen=True)
class Job:
    """One mutant, by its number in its module."""

    module: str
    number: int
    name: str
    line: int


def jobs_of(module: str) -> list[Job]:
    """The mutants of a module that are not known to mean the same."""
    spec = find_spec(module)
    assert spec is not None
    assert spec.origin is not None
    same = EQUIVALENT.get(module, {})
    found = mutants(Path(spec.origin).read_text())
    return [Job(module, number, one.name, one.line) for number, one in enumerate(found) if one.name not in same]


def run(job: Job, timeout: float) -> str:
    """What became of a mutant: "killed", "survived", "late" (it ran out of time, which CI would notice)."""
    environment = os.environ | {"WEFT_MUTANT": f"{job.module}:{job.number}", "WEFT_OFFLINE_CACHE": "0"}
    deadline = time.monotonic() + timeout
    first, *rest = TARGETS[job.module]  # most are noticed by the first
    for tests in filter(None, ([first], rest)):
        options = ["-x", "-q", "-p", "tests.mutate.plugin", "-p", "no:cacheprovider"]
        command = [sys.executable, "-m", "pytest", *options, *tests]
        try:
            left = max(1.0, deadline - time.monotonic())
            done = subprocess.run(command, env=environment, capture_output=True, timeout=left, check=False)
        except subprocess.TimeoutExpired:
            return "late"
        if done.returncode not in (0, 5):  # 5: no test was left to run, say all need a GPU
            return "killed"
    return "survived"


def main() -> int:
    """Run the mutants; 0 if none survived."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", default="", help="parts of names of modules, separated by commas")
    parser.add_argument("--processes", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--timeout", type=float, default=600, help="seconds a mutant")
    parser.add_argument("--minutes", type=float, default=0, help="begin no mutant after so many")
    parser.add_argument("--sample", type=int, default=0, help="so many mutants of each module, drawn at random")
    parser.add_argument("--list", action="store_true", help="show the mutants")
    parser.add_argument("--json", default="", help="write what became of each to this file")
    given = parser.parse_args()
    wanted = [name for name in TARGETS if any(part in name for part in given.only.split(","))]
    jobs = [job for name in wanted for job in _drawn(jobs_of(name), given.sample)]
    if given.list:
        for job in jobs:
            print(f"{job.module}:{job.number} line {job.line}: {job.name}")
        return 0
    return _report(_run_all(jobs, given.processes, given.timeout, given.minutes), given.json)


def _drawn(jobs: list[Job], sample: int) -> list[Job]:
    return random.Random(1).sample(jobs, sample) if 0 < sample < len(jobs) else jobs


def _run_all(jobs: list[Job], processes: int, timeout: float, minutes: float) -> dict[Job, str]:
    end = time.monotonic() + minutes * 60 if minutes else float("inf")
    found: dict[Job, str] = {}
    random.Random(2).shuffle(jobs)
    with ThreadPoolExecutor(processes) as pool:
        waiting = {
            pool.submit(lambda job: run(job, timeout) if time.monotonic() < end else "", job): job for job in jobs
        }
        for done in as_completed(waiting):
            job, what = waiting[done], done.result()
            if what:
                found[job] = what
            if what == "survived":
                print(f"survived: {job.module} line {job.line}: {job.name}", flush=True)
    return found


def _report(found: dict[Job, str], path: str) -> int:
    """Print a table, write all to `path` if there is one."""
    modules = sorted({job.module for job in found})
    total = Counter[str]()
    print(f"\n{'module':44} {'killed':>7} {'late':>5} {'survived':>9}  score")
    for module in modules:
        counts = Counter(what for job, what in found.items() if job.module == module)
        total += counts
        print(f"{module:44} {_row(counts)}")
    print(f"{'all':44} {_row(total)}")
    if path:
        Path(path).write_text(json.dumps([asdict(job) | {"what": what} for job, what in found.items()], indent=1))
    return int(total["survived"] > 0)


def _row(counts: Counter[str]) -> str:
    share = 100 * (1 - counts["survived"] / max(1, counts.total()))
    return f"{counts['killed']:7} {counts['late']:5} {counts['survived']:9}  {share:.1f} %"


if __name__ == "__main__":
    sys.exit(main())
