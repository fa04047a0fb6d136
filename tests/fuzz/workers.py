"""Runs many programs in several processes. A process that dies is a finding with the program's name, and another one
goes on behind it."""

from __future__ import annotations

import multiprocessing
import os
import sys
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from multiprocessing.connection import wait
from pathlib import Path
from typing import Any

from tests.fuzz.configurations import Configuration, drawn
from tests.fuzz.data import script
from tests.fuzz.derivatives import execute_derivatives
from tests.fuzz.execute import FINE, GOOD, Outcome, blame, execute, execute_fast, listing
from tests.fuzz.program import Program, draw
from tests.fuzz.shrink import shrink
from tests.fuzz.table import constructs, goals_of

__all__ = ["Plan", "Report", "program_of", "run"]

_PATIENCE = 120.0  # seconds of a processor for one program
_LONGEST = 1200.0  # seconds, where it waits for something, or for a processor
_START = "spawn"  # how processes begin: as they would be without this one
_LIFE = 1500  # programs that a process runs


@dataclass(frozen=True)
class Plan:
    """What to run: programs number `first` to `first + count` of a seed, at most `minutes` long."""

    seed: str
    count: int
    processes: int = 1
    arch: str = "cpu"
    verify: bool = False
    minutes: float = 1e9
    first: int = 0
    folder: Path = Path("out/fuzz")
    shrinks: bool = True
    scheduled: int = 10  # every which program runs under schedules as well; 0: none
    fast: bool = False  # compare fast_math with exact arithmetic, not with the evaluator
    modes: tuple[str, ...] = ()  # check the derivatives of these modes, not the programs
    compiled: int = 3  # every which program's derivatives run as machine code, too, which takes most of the time


@dataclass
class Report:
    """How programs ended, what was found (name and detail), and one program for each cause of rounding. Of derivatives,
    `counts`: what was compared; `met`: for each construct, how the programs ended that have it."""

    ended: Counter[str] = field(default_factory=Counter[str])
    found: list[tuple[str, str]] = field(default_factory=list[tuple[str, str]])
    rounded: dict[str, tuple[str, str]] = field(default_factory=dict[str, tuple[str, str]])
    seconds: float = 0.0
    counts: Counter[str] = field(default_factory=Counter[str])
    met: dict[str, Counter[str]] = field(default_factory=dict[str, Counter[str]])

    @property
    def count(self) -> int:
        return sum(self.ended.values())


def program_of(plan: Plan, number: int) -> tuple[Program, Configuration]:
    """The program of that number, and how it is compiled."""
    name = f"{plan.seed}-{number}"
    smooth = bool(plan.modes)
    program = draw(name, () if smooth and number % 2 else goals_of(number)[: 2 if smooth else None], smooth)
    if "vjp" in plan.modes:
        program.floats = "f32" if number % 6 == 4 else "f16" if number % 12 == 7 else "f64"
    return program, drawn(name, plan.arch, program.safe, plan.verify)


def schedules_of(plan: Plan, number: int) -> tuple[int, ...]:
    """The schedules that program runs under, too."""
    return (0, 1 + number % 1000) if plan.scheduled and number % plan.scheduled == 0 else ()


def run(plan: Plan, tell: Callable[[str], None] = lambda text: None) -> Report:
    """Run them all."""
    report, began = Report(), time.monotonic()
    context = multiprocessing.get_context(_START)
    crews = [_Crew(plan, part, context) for part in range(plan.processes)]
    told = began
    while any(not crew.done for crew in crews):
        wait([crew.pipe for crew in crews if not crew.done], timeout=1.0)
        late = time.monotonic() - began > 60 * plan.minutes
        for crew in crews:
            crew.listen(report, tell)
            if late:
                crew.stop(report, tell)
        if time.monotonic() - told > 30:
            told = time.monotonic()
            tell(f"{report.count} programs in {told - began:.0f} s: {dict(report.ended)}")
    report.seconds = time.monotonic() - began
    return report


class _Crew:
    """One process after the other, for every n-th program."""

    def __init__(self, plan: Plan, part: int, context: Any) -> None:
        self.plan, self.context = plan, context
        self.next = plan.first + part
        self.done = False
        self.running: int | None = None
        self.before = 0.0  # seconds of processors used when it began
        self.found: tuple[str, str] | None = None  # how the program failed that is being made small
        self.start()

    def start(self) -> None:
        self.pipe, theirs = self.context.Pipe()
        self.process = self.context.Process(target=_work, args=(self.plan, self.next, theirs), daemon=True)
        self.process.start()
        theirs.close()
        self.since = time.monotonic()

    def stop(self, report: Report, tell: Callable[[str], None]) -> None:
        """End it now. A failure that is being made small is told as it is."""
        if self.done:
            return
        self.done = True
        self.process.kill()
        self.process.join()
        if self.found is not None and self.running is not None:
            self.lost("", report, tell)  # (tells what was found)

    def listen(self, report: Report, tell: Callable[[str], None]) -> None:
        """Take what the process has said; when it has ended, start another one behind what it ran."""
        if self.done:
            return
        try:
            while self.pipe.poll():
                self.take(self.pipe.recv(), report, tell)
        except (EOFError, ConnectionResetError):
            self.process.join()
            if self.running is not None:
                self.lost(f"the process ended with {self.process.exitcode}", report, tell)
            self.go_on()
            return
        if self.running is not None and self.late():
            self.process.kill()
            self.process.join()
            self.lost(f"it ran for more than {_PATIENCE:.0f} s", report, tell)
            self.go_on()

    def late(self) -> bool:
        """Whether the program that runs takes too long; other processes may take the time."""
        spent = time.monotonic() - self.since
        if spent < _PATIENCE:
            return False
        return spent > _LONGEST or _used(self.process.pid) - self.before > _PATIENCE

    def take(self, message: tuple[Any, ...], report: Report, tell: Callable[[str], None]) -> None:
        what, number, status, detail, *counts = message
        self.since = time.monotonic()
        if what == "begins":
            self.running, self.next, self.found = number, number + self.plan.processes, None
            self.before = _used(self.process.pid)
        elif what == "found":
            self.found, self.before = (status, detail), _used(self.process.pid)
        elif what == "ended":
            report.ended[status] += 1
            report.counts.update(*counts)
            if self.plan.modes:
                for row in constructs(program_of(self.plan, number)[0]):
                    report.met.setdefault(row, Counter())[status.partition(":")[0]] += 1
            if status.startswith(FINE):
                report.rounded.setdefault(status, (f"{self.plan.seed}-{number}", detail))
            elif status not in GOOD:
                report.found.append((f"{self.plan.seed}-{number}", f"{status}\n{detail}"))
                tell(f"{self.plan.seed}-{number} {status}\n{detail}")
            self.running = None

    def lost(self, why: str, report: Report, tell: Callable[[str], None]) -> None:
        assert self.running is not None
        name = f"{self.plan.seed}-{self.running}"
        status, detail = self.found or ("died", why)
        report.ended[status] += 1
        report.found.append((name, f"{status}: {detail}"))
        tell(f"{name} {status}: {detail}")
        program, configuration = program_of(self.plan, self.running)
        _write(self.plan.folder, program, configuration, Outcome(status, detail), name, "")

    def go_on(self) -> None:
        self.running = None
        if self.next >= self.plan.first + self.plan.count:
            self.done = True
        else:
            self.start()


def _used(process: int) -> float:
    """The seconds of processors that a process has used; 0 where the system does not say."""
    try:
        fields = Path(f"/proc/{process}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
    except OSError:
        return 0.0
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _work(plan: Plan, first: int, pipe: Any) -> None:
    """A process's life."""
    os.environ["WEFT_OFFLINE_CACHE"] = "0"
    sys.setrecursionlimit(5000)
    last = min(plan.first + plan.count, first + _LIFE * plan.processes)
    for number in range(first, last, plan.processes):
        pipe.send(("begins", number, "", ""))
        program, configuration = program_of(plan, number)
        schedules = schedules_of(plan, number)
        outcome = execution(plan, number)(program, configuration, schedules)
        if outcome.bad:
            pipe.send(("found", number, outcome.status, outcome.detail))  # it takes long to make it small
        detail = explain(plan, program, configuration, outcome, schedules) if outcome.bad else outcome.detail
        pipe.send(("ended", number, outcome.status, detail, outcome.counts))


Execution = Callable[[Program, Configuration, Sequence[int]], Outcome]


def execution(plan: Plan, number: int) -> Execution:
    """What runs program number `number` of a plan and judges it."""
    if plan.modes:
        machine = plan.arch if number % plan.compiled == 0 else ""
        return lambda program, configuration, _: execute_derivatives(program, configuration, plan.modes, machine)
    return (lambda program, configuration, _: execute_fast(program, configuration)) if plan.fast else execute


def explain(
    plan: Plan, program: Program, configuration: Configuration, outcome: Outcome, schedules: Sequence[int] = ()
) -> str:
    """What is told of a failure, once it is small and written down."""
    if plan.shrinks and not plan.fast:
        number = int(program.name.rpartition("-")[2]) if plan.modes else 0
        run = execution(plan, number)
        program, configuration, outcome = shrink(program, configuration, outcome, schedules, run)
    by = ""
    if (
        outcome.status == "differs" and outcome.places and plan.arch == "cpu" and not plan.fast
    ):  # the judge reads host memory
        by = blame(program, configuration) or "the machine code"
    path = _write(plan.folder, program, configuration, outcome, program.name, by)
    return f"{path}\n{configuration}\nby: {by}\n{program.code}\n{outcome.detail[:600]}"


def _write(folder: Path, program: Program, configuration: Configuration, outcome: Outcome, name: str, by: str) -> Path:
    """The program as a file that runs, and its kernel as CHI beside it."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{name}.py"
    notes = (
        f"{name}: {outcome.status}\nconfiguration: {configuration}\nfirst wrong: {by or '-'}\n{outcome.detail[:2000]}"
    )
    path.write_text(script(program, configuration.init, notes), encoding="utf-8")
    if outcome.status == "differs":
        path.with_suffix(".chi").write_text(listing(program, configuration), encoding="utf-8")
    return path
