"""`python -m tests.mutate [--only NAMES] [--sample N] [--seed S] [--processes P] [--budget S] [--minutes M] [--list]
[--json FILE] [--tests PATHS] [--quick]`."""

from __future__ import annotations

import argparse
import json
import os
import random
import sys
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict
from importlib.util import find_spec
from pathlib import Path

import pytest
from hypothesis import Phase, settings

from tests.mutate.equivalent import EQUIVALENT, PROFIT
from tests.mutate.mutants import mutants
from tests.mutate.session import Job, Session, Verdict
from tests.mutate.targets import TARGETS, TESTS

ROOT = Path(__file__).resolve().parents[2]


def jobs_of(module: str) -> list[Job]:
    """The mutants of a module: of its legality conditions, and not known to mean the same."""
    spec = find_spec(module)
    assert spec is not None
    assert spec.origin is not None
    same, free = EQUIVALENT.get(module, {}), PROFIT.get(module, ())
    found = mutants(Path(spec.origin).read_text(encoding="utf-8"))
    jobs = [Job(module, number, one.name, one.line) for number, one in enumerate(found) if one.name not in same]
    return [job for job in jobs if not job.name.startswith(tuple(row if ":" in row else f"{row}:" for row in free))]


def main() -> int:
    """Run the mutants; 0 if none survived."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", default="", help="parts of names of modules, separated by commas, in order")
    parser.add_argument("--name", default="", help="a part of the name of the mutants")
    parser.add_argument("--processes", type=int, default=os.cpu_count() or 1)
    parser.add_argument(
        "--budget", type=float, default=60, help="seconds of tests a mutant, as long as they take alone"
    )
    parser.add_argument(
        "--minutes", type=float, default=0, help="begin no mutant after so many, counted from the start"
    )
    parser.add_argument("--sample", type=int, default=0, help="so many mutants of each module, drawn at random")
    parser.add_argument("--seed", type=int, default=1, help="which sample, and in which order")
    parser.add_argument("--tests", default=" ".join(TESTS), help="where the tests are that may notice")
    parser.add_argument("--quick", action="store_true", help="without the exhaustive tests")
    parser.add_argument("--brief", action="store_true", help="without the exhaustive tests that take seconds")
    parser.add_argument("--met", default="out/mutate/met.jsonl", help="the file that keeps what each test meets")
    parser.add_argument("--record", action="store_true", help="only see which conditions each test meets")
    parser.add_argument("--again", default="", help="only those of which such a file says that no test noticed them")
    parser.add_argument("--keep", action="store_true", help="trust what was recorded before the compiler changed")
    parser.add_argument("--list", action="store_true", help="show the mutants")
    parser.add_argument("--json", default="", help="add what became of each to this file, a line each")
    given = parser.parse_args()
    wanted = [name for name in TARGETS if any(part in name for part in given.only.split(","))]
    jobs = [job for name in wanted for job in _drawn(jobs_of(name), given.sample, given.seed) if given.name in job.name]
    if given.again:
        lines = [json.loads(line) for line in Path(given.again).read_text().splitlines()]
        names = {(one["job"]["module"], one["job"]["name"]) for one in lines if one["what"] in ("survived", "unmet")}
        jobs = [job for job in jobs if (job.module, job.name) in names]
    if given.list:
        for job in jobs:
            print(f"{job.module}:{job.number} line {job.line}: {job.name}")
        return 0
    random.Random(given.seed).shuffle(jobs)
    jobs.sort(key=lambda job: next(place for place, part in enumerate(given.only.split(",")) if part in job.module))
    if given.record:
        jobs = []
    end = time.monotonic() + given.minutes * 60 if given.minutes else float("inf")
    verdicts: list[Verdict] = []
    session = Session(lambda session: verdicts.extend(_judged(session, jobs, given, end)), wanted)
    # Random tests draw the same in each copy of the process, and are not made small.
    settings.register_profile("mutate", derandomize=True, database=None, phases=[Phase.explicit, Phase.generate])
    settings.load_profile("mutate")
    # All tests, but with as few examples of each random one as in `make test`, and without the cases on the GPU in
    # software that `make test` leaves to `make test-all`.
    marks = "not exhaustive" if given.quick else "not exhaustive or not emulated"
    marks = f"({marks}) and not (slow and exhaustive)" if given.brief else marks
    options = ["-q", "-m", marks, "-p", "no:cacheprovider", "-p", "no:xdist"]
    code = pytest.main([*options, *given.tests.split()], plugins=[session])
    if not verdicts:
        return int(code) or 1
    return _report(verdicts)


def _drawn(jobs: list[Job], sample: int, seed: int) -> list[Job]:
    return random.Random(seed).sample(jobs, sample) if 0 < sample < len(jobs) else jobs


def _judged(session: Session, jobs: list[Job], given: argparse.Namespace, end: float) -> Iterator[Verdict]:
    recorded = session.record(ROOT / given.met, given.processes, given.keep)
    begun = (job for job in jobs if time.monotonic() < end)
    for number, verdict in enumerate(session.judge(begun, recorded, given.processes, given.budget)):
        if verdict.what in ("survived", "unmet"):
            print(f"{verdict.what}: {_told(verdict)}", flush=True)
        elif number % 20 == 0:
            print(f"{number} of {len(jobs)}: {verdict.what}: {_told(verdict)}", flush=True)
        if given.json:
            with Path(given.json).open("a") as out:
                out.write(json.dumps(asdict(verdict)) + "\n")
        yield verdict


def _told(verdict: Verdict) -> str:
    job = verdict.job
    return f"{job.module}:{job.number} line {job.line}: {job.name} ({verdict.tests} tests) {verdict.by}"


def _report(verdicts: list[Verdict]) -> int:
    """Print a table."""
    total = Counter[str]()
    print(f"\n{'module':42} {'mutants':>7} {'killed':>7} {'late':>5} {'survived':>9} {'unmet':>6}  score")
    for module in sorted({verdict.job.module for verdict in verdicts}):
        counts = Counter(verdict.what for verdict in verdicts if verdict.job.module == module)
        total += counts
        print(f"{module:42} {_row(counts)}")
    print(f"{'all':42} {_row(total)}")
    return int(total["survived"] + total["unmet"] > 0)


def _row(counts: Counter[str]) -> str:
    share = 100 * (counts["killed"] + counts["late"]) / max(1, counts.total())
    numbers = f"{counts['killed']:7} {counts['late']:5} {counts['survived']:9} {counts['unmet']:6}"
    return f"{counts.total():7} {numbers}  {share:.1f} %"


if __name__ == "__main__":
    sys.exit(main())
