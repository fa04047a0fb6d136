"""Diagnostics of a compilation: IR dumps and a table of times, selected by two environment variables.

    WEFT_DUMP=offload,cse    the IR after each of these passes, on stderr ("all": the tree, and the IR after every pass
                             that changed it; "tree", "llvm" and "asm" are the texts before and after the passes)
    WEFT_TIME=1              a table per kernel: milliseconds per stage and pass

A `Trace` belongs to one compilation. If neither variable is set, it is inactive and costs nothing.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from threading import Lock
from time import perf_counter
from typing import TYPE_CHECKING, TextIO

if TYPE_CHECKING:
    from weft.ir.ops import Kernel
    from weft.ir.passes import Observer

__all__ = ["TEXTS", "Listener", "Trace"]

Listener = Callable[[str, float, float], None]

TEXTS = ("tree", "llvm", "asm")


@dataclass
class _Row:
    """A row of the table: the number of runs, how many of them changed something, and the total time. A nested pass
    runs inside a stage, whose time includes its own."""

    runs: int = 0
    changes: int = 0
    milliseconds: float = 0.0
    nested: bool = False


@dataclass
class Trace:
    """The diagnostics of one compilation. `dumps` names passes and texts. `timed` enables the table. `listener` is
    called for each pass and each stage of the code generator with its name and the times when it began and ended, by
    `time.perf_counter`."""

    dumps: frozenset[str] = frozenset()
    timed: bool = False
    stream: TextIO = field(default_factory=lambda: sys.stderr)
    rows: dict[str, _Row] = field(default_factory=dict[str, _Row])
    running: tuple[str, float] | None = None
    listener: Listener | None = None
    lock: Lock = field(default_factory=Lock)  # of the rows that other threads count

    @staticmethod
    def from_environment(environment: Mapping[str, str] = os.environ, also: frozenset[str] = frozenset()) -> Trace:
        """The trace that WEFT_DUMP and WEFT_TIME select. `also` holds further dumps."""
        dumps = environment.get("WEFT_DUMP", "").replace(",", " ").split()
        return Trace(also.union(dumps), environment.get("WEFT_TIME", "0") not in ("", "0"))

    @property
    def active(self) -> bool:
        """Whether any output is selected."""
        return self.timed or bool(self.dumps)

    @property
    def observer(self) -> Observer | None:
        """What to give `pipeline.lower` as `observe`."""
        return self.observe if self.active or self.listener is not None else None

    def wants(self, name: str) -> bool:
        """Whether the dump of that pass or text ("tree", "llvm", "asm") is selected."""
        return name in self.dumps or ("all" in self.dumps and name not in ("llvm", "asm"))

    def observe(self, name: str, kernel: Kernel, changed: bool, began: float, ended: float) -> None:
        """After a pass: count it, and print the IR. "all" omits IR that did not change."""
        from weft.ir.pipeline import STAGES
        from weft.ir.text import print_ir

        if self.listener is not None:
            self.listener(name, began, ended)
        self.count(name, (ended - began) * 1e3, changed, nested=name not in STAGES)
        if name in self.dumps or ("all" in self.dumps and changed):
            self.show(name, kernel.symbol, lambda: print_ir(kernel))

    def show(self, name: str, kernel: str, text: Callable[[], str]) -> None:
        """Write that text under a heading, if it is wanted."""
        if self.wants(name):
            heading = f"---- {kernel}: after {name} " if name not in TEXTS else f"---- {kernel}: {name} "
            self.stream.write(f"{heading:-<100}\n{text().rstrip()}\n\n")

    @contextmanager
    def stage(self, name: str) -> Generator[None, None, None]:
        """Time the code inside: `with trace.stage("emit"): ...`."""
        start = perf_counter()
        yield
        if self.timed:
            self.count(name, (perf_counter() - start) * 1e3)

    def lap(self, name: str = "") -> None:
        """Time consecutive stages: the previous one ends here, and `name` begins unless it is empty."""
        now = perf_counter()
        if self.timed and self.running is not None:
            self.count(self.running[0], (now - self.running[1]) * 1e3)
        if self.listener is not None and self.running is not None:
            self.listener(*self.running, now)
        self.running = (name, now) if name else None

    def beside(self, name: str, began: float, ended: float) -> None:
        """Another thread, which calls this, was in that stage."""
        if self.timed:
            with self.lock:
                self.count(f"{name}, beside", (ended - began) * 1e3, nested=True)
        if self.listener is not None:
            self.listener(name, began, ended)

    def count(self, name: str, milliseconds: float, changed: bool = True, nested: bool = False) -> None:
        """Add a run of that stage or pass to the table."""
        row = self.rows.setdefault(name, _Row(nested=nested))
        row.runs += 1
        row.changes += changed
        row.milliseconds += milliseconds

    def table(self, kernel: str) -> str:
        """The times so far, in the order of first runs; nested passes indented under the stage they first ran in."""
        lines = [f"{kernel:<28}{'ms':>10}{'runs':>6}{'changed':>9}"]
        waiting: list[str] = []
        for name, row in self.rows.items():
            label = f"    {name}" if row.nested else f"  {name}"
            line = f"{label:<28}{row.milliseconds:>10.2f}{row.runs:>6}{row.changes:>9}"
            if row.nested:  # a nested pass reports before its stage does
                waiting.append(line)
            else:
                lines += [line, *waiting]
                waiting = []
        total = sum(row.milliseconds for row in self.rows.values() if not row.nested)
        return "\n".join([*lines, *waiting, f"{'  total':<28}{total:>10.2f}"]) + "\n"

    def report(self, kernel: str) -> None:
        """Print the table, if it is enabled, and warn of names that matched nothing. Call it once the kernel is
        compiled."""
        if self.timed:
            self.stream.write(self.table(kernel) + "\n")
        for name in sorted(self.dumps - {"all", *TEXTS, *self.rows}):
            self.stream.write(f"WEFT_DUMP: no pass '{name}' ran; these did: {', '.join(self.rows)}\n")
