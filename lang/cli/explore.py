"""The command `weft explore`: run a program and write a page that shows the stages of its kernels."""

from __future__ import annotations

import argparse
import os
import sys
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any

from weft.ir.errors import WeftError
from weft.lang.calls.recipe import ON_COMPILED, Recipe
from weft.lang.cli.programs import runner_of
from weft.lang.stages import Stages
from weft.lang.stages.variants import OF_COMPILER, parse_variant
from weft.runtime.launch import CpuKernel
from weft.runtime.line_sampler import LineSampler
from weft.runtime.task_clock import TaskClock

if TYPE_CHECKING:
    from weft.lang.calls.compile import Instance

__all__ = ["add_commands"]


def add_commands(commands: Any) -> None:
    """Add the command to those of `weft`."""
    explore = commands.add_parser(
        "explore", help="run a program and write a page that shows how Weft compiles its kernels"
    )
    explore.add_argument(
        "program",
        metavar="PROGRAM[:KERNEL]",
        help="a file or the name of a demo; with :KERNEL, stop when it is compiled (KERNEL.grad: its gradient)",
    )
    explore.add_argument(
        "--arch",
        choices=("cpu", "cuda", "python"),
        default="",
        help="compile for this target, even if this machine does not have it",
    )
    explore.add_argument(
        "--beside",
        action="append",
        default=[],
        metavar="VARIANT",
        help="compile each kernel in this way too, to look at both side by side: an arch, options as name=value, or "
        f"both between commas, such as cuda or fast_math=False,opt_level=1 (options: {', '.join(OF_COMPILER)})",
    )
    explore.add_argument(
        "--time",
        action="store_true",
        help="run the program to its end (a demo: some frames), and show the time of each parallel loop on the CPU, "
        "and the share of each line",
    )
    explore.add_argument("-o", "--out", default="", metavar="FILE", help="the file to write (default: PROGRAM.html)")
    explore.set_defaults(action=_explore)


class _Enough(SystemExit):
    """Raised when the requested kernel is compiled, because the rest of the program need not run."""


def _explore(given: argparse.Namespace) -> int:
    program, wanted = _split(given.program)
    run = runner_of(program, frames=10 if given.time else 1)
    if run is None:
        print(f"weft: there is no file and no demo '{program}'", file=sys.stderr)
        return 2
    try:
        search = _Search(wanted, given.arch, [parse_variant(text) for text in given.beside], given.time)
    except (WeftError, ValueError) as error:
        print(f"weft: --beside: {error}", file=sys.stderr)
        return 2
    token = ON_COMPILED.set(search)
    try:
        with search.sampling():
            run()
    except (_Enough, KeyboardInterrupt):
        pass  # show what was found so far
    finally:
        ON_COMPILED.reset(token)
    if not search.found:
        known = f"; it compiled {', '.join(search.met)}" if search.met else ""
        print(f"weft: the program did not compile a kernel{f' {wanted!r}' if wanted else ''}{known}", file=sys.stderr)
        return 1
    search.read_clocks()
    from weft.lang.explore import write_page

    out = given.out or f"{Path(program).stem}.html"
    write_page(out, search.found)
    print(f"wrote {out}: {', '.join(dict.fromkeys(one.name for one in search.found))}", flush=True)
    return 0


class _Search:
    """Collects the stages of the kernels that the program compiles. It is called with each, and ends the program at the
    one that is wanted, unless its launches are timed."""

    def __init__(self, wanted: str, arch: str, variants: list[tuple[str, dict[str, Any]]], timed: bool) -> None:
        self.wanted, self.arch, self.variants, self.timed = wanted, arch, variants, timed
        self.found: list[Stages] = []
        self.met: dict[str, None] = {}
        self._clocks: list[tuple[Stages, TaskClock]] = []
        self._lines: list[tuple[Stages, int]] = []  # with the numbers that the sampler gave
        self._sampler: LineSampler | None = None

    def __call__(self, instance: Instance) -> None:
        recipe: Recipe = instance.recipe
        names = [name + recipe.suffix for name in (recipe.function.__name__, recipe.function.__qualname__)]
        self.met[names[0]] = None
        if self.wanted not in ("", *names):
            return
        first = Stages(recipe, self.arch)
        self.found.extend(_compiled(one) for one in (first, *(_variant(first, *way) for way in self.variants)))
        if self.timed:
            self._time(first, instance)
        elif self.wanted:
            raise _Enough(0)

    def _time(self, stages: Stages, instance: Instance) -> None:
        if not isinstance(instance.loaded, CpuKernel) or stages.arch != "cpu":
            print(f"weft: the tasks of {stages.name} are not timed: that works on the CPU only", file=sys.stderr)
            return
        try:
            self._clocks.append((stages, TaskClock(instance.loaded)))
            if self._sampler is not None:
                self._lines.append((stages, self._sampler.add(instance.loaded)))
        except WeftError as error:
            print(f"weft: {error}", file=sys.stderr)

    def sampling(self) -> AbstractContextManager[object]:
        """In this block, lines are sampled, if launches are timed and where that works."""
        if self.timed:
            os.environ["WEFT_LINE_INFO"] = "1"  # the table that says which line an instruction comes from
            try:
                self._sampler = LineSampler()
            except WeftError as error:
                print(f"weft: {error}", file=sys.stderr)
        return nullcontext() if self._sampler is None else self._sampler

    def read_clocks(self) -> None:
        """Give the stages the times that were measured."""
        for stages, clock in self._clocks:
            stages.task_times = clock.tasks()
        for stages, number in self._lines:
            if self._sampler is not None:
                stages.line_samples = self._sampler.of(number)


def _split(text: str) -> tuple[str, str]:
    """Split the argument into the file and the kernel's name, which may be missing. (A path on Windows contains a
    colon.)"""
    path, _, kernel = text.rpartition(":")
    return (
        (path, kernel) if path and kernel.replace(".", "_").isidentifier() and not Path(text).is_file() else (text, "")
    )


def _variant(stages: Stages, arch: str, options: dict[str, Any]) -> Stages:
    """The same kernel, compiled for another arch or with other options."""
    changed = stages.with_options(**options) if options else stages
    return changed.on(arch) if arch else changed


def _compiled(stages: Stages) -> Stages:
    """The stages, computed now: the fields may no longer exist when the program has ended."""
    _ = stages.passes, stages.artifact
    return stages
