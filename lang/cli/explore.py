"""The command `weft explore`: run a program and write a page that shows the stages of its kernels."""

from __future__ import annotations

import argparse
import importlib
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from weft.lang.calls.recipe import ON_COMPILED, Recipe
from weft.lang.cli.programs import run_program
from weft.lang.stages import Stages

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
    explore.add_argument("-o", "--out", default="", metavar="FILE", help="the file to write (default: PROGRAM.html)")
    explore.set_defaults(action=_explore)


class _Enough(SystemExit):
    """Raised when the requested kernel is compiled, because the rest of the program need not run."""


def _explore(given: argparse.Namespace) -> int:
    program, wanted = _split(given.program)
    run = _program(program)
    if run is None:
        print(f"weft: there is no file and no demo '{program}'", file=sys.stderr)
        return 2
    found: list[Stages] = []
    met: dict[str, None] = {}

    def told(recipe: Recipe) -> None:
        names = [name + recipe.suffix for name in (recipe.function.__name__, recipe.function.__qualname__)]
        met[names[0]] = None
        if wanted in ("", *names):
            found.append(_compiled(recipe, given.arch))
            if wanted:
                raise _Enough(0)

    token = ON_COMPILED.set(told)
    try:
        run()
    except (_Enough, KeyboardInterrupt):
        pass  # show what was found so far
    finally:
        ON_COMPILED.reset(token)
    if not found:
        known = f"; it compiled {', '.join(met)}" if met else ""
        print(f"weft: the program did not compile a kernel{f' {wanted!r}' if wanted else ''}{known}", file=sys.stderr)
        return 1
    from weft.lang.explore import write_page

    out = given.out or f"{Path(program).stem}.html"
    write_page(out, found)
    print(f"wrote {out}: {', '.join(dict.fromkeys(one.name for one in found))}", flush=True)
    return 0


def _program(program: str) -> Callable[[], object] | None:
    """Return a function that runs the program: a file as Python would, or one frame of a demo. None if neither
    exists."""
    if Path(program).is_file():
        return lambda: run_program(program, [])
    runner: Any = importlib.import_module("weft.demos.runner")
    return (lambda: runner.start(program)(0)) if program in runner.NAMES else None


def _split(text: str) -> tuple[str, str]:
    """Split the argument into the file and the kernel's name, which may be missing. (A path on Windows contains a
    colon.)"""
    path, _, kernel = text.rpartition(":")
    return (
        (path, kernel) if path and kernel.replace(".", "_").isidentifier() and not Path(text).is_file() else (text, "")
    )


def _compiled(recipe: Recipe, arch: str) -> Stages:
    """Return the stages, computed now: the fields may no longer exist when the program has ended."""
    stages = Stages(recipe, arch)
    _ = stages.passes, stages.artifact
    return stages
