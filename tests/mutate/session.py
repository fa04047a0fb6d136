"""A session of pytest that collects once, and then runs tests in copies of itself: all of them to see which conditions
each asks and with what answer, and for each mutant those that met the answer that it takes away."""

from __future__ import annotations

import builtins
import hashlib
import json
import time
from collections import Counter, defaultdict, deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, dataclass, replace
from importlib import import_module
from itertools import groupby
from pathlib import Path
from typing import Any

import pytest
from _pytest.runner import runtestprotocol

from tests.mutate import forks
from tests.mutate.mutants import Mutant, mutants, watched
from tests.mutate.swap import Functions
from tests.mutate.targets import TARGETS

__all__ = ["Job", "Recorded", "Session", "Verdict", "first_tests", "renumbered"]

_TOGETHER = 12  # tests that one copy records: those of a long file run in several copies at once


@dataclass(frozen=True)
class Job:
    """One mutant, by its number in its module."""

    module: str
    number: int
    name: str
    line: int


@dataclass(frozen=True)
class Recorded:
    """A test: its seconds, and the mutants that change an answer in it, by module."""

    name: str
    seconds: float
    passed: bool
    met: dict[str, list[int]]


@dataclass(frozen=True)
class Verdict:
    """What became of a mutant: "killed" by a test, "late", "survived" (`tests` of them), "unmet" (by any test)."""

    job: Job
    what: str
    tests: int
    by: str = ""


class Session:
    """A plugin of pytest. `work` is called with it, in place of the loop over the tests. `modules`: those whose
    conditions are watched and broken."""

    def __init__(self, work: Callable[[Session], None], modules: Iterable[str] = TARGETS) -> None:
        self.work, self.modules = work, tuple(modules)

    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        self.items = {item.nodeid: item for item in session.items}
        self.paths = {name: str(import_module(name).__file__) for name in self.modules}
        self.sources = {name: Path(path).read_text(encoding="utf-8") for name, path in self.paths.items()}
        self.functions = Functions(set(self.paths.values()))
        for plugin in session.config.pluginmanager.get_plugins():
            if hasattr(plugin, "ASSEMBLER"):  # it would read code that nobody asks it about
                plugin.ASSEMBLER.read = lambda _: None
        self.work(self)
        return True

    def record(self, path: Path, processes: int, keep: bool = False) -> list[Recorded]:
        """What each test meets. `path` keeps it while all targets stay as they are, or where `keep` is given: then a
        condition that is new counts as met by those tests only that are recorded from now on. A file belongs to one
        choice of modules."""
        names = {module: [one.name for one in mutants(source)] for module, source in self.sources.items()}
        targets = [Path(str(import_module(name).__file__)).read_text(encoding="utf-8") for name in TARGETS]
        digest = hashlib.blake2b("".join((*self.modules, *targets)).encode()).hexdigest()
        head, *lines = path.read_text().splitlines() if path.exists() else ['{"digest": "", "names": {}}']
        old = json.loads(head)
        kept = lines if old["digest"] == digest or keep else []
        known = [renumbered(Recorded(**json.loads(line)), old["names"], names) for line in kept]
        if old["digest"] != digest:
            path.parent.mkdir(parents=True, exist_ok=True)
            rows = [{"digest": "" if known else digest, "names": names}, *map(asdict, known)]
            path.write_text("".join(json.dumps(row) + "\n" for row in rows))
        new = self.items.keys() - {one.name for one in known}
        with path.open("a") as out:
            for outcome in forks.run(self._recordings(new), processes):
                for message in outcome.sent:
                    if "error" in message:
                        raise RuntimeError(message["error"])
                    known.append(Recorded(**message))
                    out.write(json.dumps(asdict(known[-1])) + "\n")
                out.flush()
                print(f"{len(known):6} tests, {outcome.about}", flush=True)
        return [one for one in known if one.name in self.items]

    def _recordings(self, new: Iterable[str]) -> Iterator[forks.Task]:
        wanted = [item for name, item in self.items.items() if name in new]
        for file, items in groupby(wanted, lambda item: item.path):
            chosen = list(items)
            for start in range(0, len(chosen), _TOGETHER):
                part = chosen[start : start + _TOGETHER]
                yield forks.Task(file.name, lambda send, part=part: self._watch(part, send), lambda _: 600)

    def _watch(self, items: list[pytest.Item], send: forks.Send) -> None:
        met: defaultdict[str, set[int]] = defaultdict(set)
        for module, path in self.paths.items():
            add = met[module].add

            def seen(number: int, value: Any, add: Callable[[int], None] = add) -> Any:
                add(2 * number + bool(value))  # it is not the mutant of this answer that differs
                return value

            name = f"seen in {module}"
            setattr(builtins, name, seen)
            assert self.functions.swap(path, watched(self.sources[module], name)), module
        for item, following in zip(items, [*items[1:], None]):
            for one in met.values():
                one.clear()
            begin = time.perf_counter()
            passed = _passes(item, following)
            found = {module: sorted(numbers) for module, numbers in met.items() if numbers}
            send({"name": item.nodeid, "seconds": time.perf_counter() - begin, "passed": passed, "met": found})

    def judge(self, jobs: Iterable[Job], recorded: list[Recorded], processes: int, budget: float) -> Iterator[Verdict]:
        """Run the tests that may notice, the likely ones first, in at most `budget` seconds a mutant. A test that has
        killed is run without a mutant, too: if it fails then, it counts for nothing any more."""
        tests = {one.name: one for one in recorded if one.passed}
        kills: dict[str, Counter[str]] = defaultdict(Counter)
        unmet: list[Job] = []
        made = {module: mutants(self.sources[module]) for module in self.sources}
        sound: set[str] = set()
        suspects: deque[str] = deque()
        waiting: defaultdict[str, list[Verdict]] = defaultdict(list)
        todo = deque[Job]()

        def tasks() -> Iterator[forks.Task]:
            while True:
                if suspects:
                    yield self._alone(tests[suspects.popleft()])
                    continue
                job = todo.popleft() if todo else next(source, None)
                if job is None:
                    return
                may = [one for one in tests.values() if job.number in one.met.get(job.module, ())]
                if not may:
                    unmet.append(job)
                    continue
                chosen = first_tests(may, job.module, kills[job.module], budget)
                limits = {one.name: _patience(one) for one in chosen}
                yield forks.Task(
                    (job, len(chosen)),
                    lambda send, job=job, chosen=chosen: self._try(job, made[job.module][job.number], chosen, send),
                    lambda message, limits=limits: limits.get(message.get("begins", ""), 60.0),
                )

        source = iter(jobs)
        while True:
            for outcome in forks.run(tasks(), processes):
                if isinstance(outcome.about, str):  # a suspect
                    held = waiting.pop(outcome.about)
                    if any("passed" in message for message in outcome.sent):
                        sound.add(outcome.about)
                        yield from held
                    else:
                        del tests[outcome.about]
                        todo.extend(verdict.job for verdict in held)
                    continue
                verdict = _verdict(outcome)
                kills[verdict.job.module][verdict.by] += 1
                if not verdict.by or verdict.by in sound:
                    yield verdict
                    continue
                if verdict.by not in tests:
                    todo.append(verdict.job)
                    continue
                if verdict.by not in waiting:
                    suspects.append(verdict.by)
                waiting[verdict.by].append(verdict)
            if not suspects and not todo:
                break
        for job in unmet:
            yield Verdict(job, "unmet", 0)

    def _alone(self, test: Recorded) -> forks.Task:
        """A test without a mutant."""

        def run(send: forks.Send) -> None:
            if _passes(self.items[test.name], None):
                send({"passed": test.name})

        return forks.Task(test.name, run, lambda _: _patience(test))

    def _try(self, job: Job, mutant: Mutant, tests: list[Recorded], send: forks.Send) -> None:
        assert self.functions.swap(self.paths[job.module], mutant.source), f"{job} changes nothing that is loaded"
        send({"loaded": True})
        for test in tests:
            send({"begins": test.name})
            if not _passes(self.items[test.name], None):
                send({"killed": test.name})
                return


def renumbered(test: Recorded, old: dict[str, list[str]], new: dict[str, list[str]]) -> Recorded:
    """The same with the numbers that its mutants have in the modules as they are now."""
    met: dict[str, list[int]] = {}
    for module, numbers in test.met.items():
        if old.get(module) == new.get(module):
            met[module] = numbers
        elif module in new:
            place = {name: number for number, name in enumerate(new[module])}
            met[module] = [place[name] for number in numbers if (name := old[module][number]) in place]
    return replace(test, met=met)


def _verdict(outcome: forks.Outcome) -> Verdict:
    job, tests = outcome.about
    if not any("loaded" in message for message in outcome.sent):
        raise RuntimeError(f"{job}: {outcome.sent}")
    last = [message["begins"] for message in outcome.sent if "begins" in message][-1:]
    by = last[0] if last else ""
    if outcome.end == "late":
        return Verdict(job, "late", tests, by)
    if outcome.end == "crashed" or "killed" in outcome.sent[-1]:
        return Verdict(job, "killed", tests, by)
    return Verdict(job, "survived", tests)


def first_tests(tests: list[Recorded], module: str, kills: Counter[str], budget: float) -> list[Recorded]:
    """The tests with the best odds for their time: those that have killed in this module, and those written for it."""
    own = tuple(f"{path}" for path in TARGETS[module])

    def odds(test: Recorded) -> float:
        return -(kills[test.name] + (0.5 if test.name.startswith(own) else 0.1)) / (test.seconds + 0.05)

    chosen: list[Recorded] = []
    for test in sorted(tests, key=odds):
        if budget - test.seconds >= 0 or not chosen:
            chosen.append(test)
            budget -= test.seconds
    return chosen


def _patience(test: Recorded) -> float:
    """How many seconds it may compute."""
    return max(20.0, 10 * test.seconds)


def _passes(item: pytest.Item, following: pytest.Item | None) -> bool:
    reports = runtestprotocol(item, log=False, nextitem=following)
    return not any(report.failed for report in reports)
