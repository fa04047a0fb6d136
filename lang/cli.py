"""The command `weft`: run a demo or a program written for Taichi, look at the machine."""

from __future__ import annotations

import argparse
import importlib
import os
import runpy
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

__all__ = ["main"]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; gives the exit status."""
    parser = argparse.ArgumentParser(prog="weft", description="Spatial computing in Python.")
    parser.add_argument("--version", action="version", version=f"weft {version()}")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND")
    demo = commands.add_parser("demo", help="run a demo; without a name, list them")
    demo.add_argument("name", nargs="?", metavar="NAME")
    demo.add_argument("--arch", choices=("cpu", "cuda", "python"), default="cpu", help="where kernels run")
    demo.add_argument("--frames", type=_positive, default=0, metavar="N", help="how many frames to run")
    demo.add_argument("--out", default="", metavar="FILE", help="write a .gif or .png instead of opening a window")
    run = commands.add_parser("run", help="run a program in which `import taichi` means Weft")
    run.add_argument("program", metavar="PROGRAM")
    run.add_argument("arguments", nargs=argparse.REMAINDER, metavar="ARGUMENT")
    commands.add_parser("doctor", help="what Weft finds on this machine")
    given = parser.parse_args(arguments)
    try:
        return _dispatch(parser, given)
    except BrokenPipeError:  # whoever read our output has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1


def _dispatch(parser: argparse.ArgumentParser, given: argparse.Namespace) -> int:
    if given.command == "demo":
        return _demo(given)
    if given.command == "run":
        return _run(given)
    if given.command == "doctor":
        print(importlib.import_module("weft.runtime.doctor").report(), flush=True)
        return 0
    parser.print_help()
    return 0


def version() -> str:
    """The version of the installed distribution."""
    from importlib.metadata import PackageNotFoundError
    from importlib.metadata import version as installed

    try:
        return installed("weft")
    except PackageNotFoundError:
        return "0.1.0 (not installed)"


def _positive(text: str) -> int:
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError("must be at least 1")
    return number


def _demo(given: argparse.Namespace) -> int:
    # Demos stand above the language: they are found by name, as any program that uses Weft.
    runner: Any = importlib.import_module("weft.demos.runner")
    if given.name is None:
        width = max(map(len, runner.NAMES))
        for name in runner.NAMES:
            print(f"{name:<{width}}  {runner.summary(name)}", flush=True)
        return 0
    if given.name not in runner.NAMES:
        print(f"weft: there is no demo '{given.name}'; there are {', '.join(runner.NAMES)}", file=sys.stderr)
        return 2
    runner.run(given.name, given.arch, given.frames, given.out)
    return 0


def _run(given: argparse.Namespace) -> int:
    path = Path(given.program)
    if not path.is_file():
        print(f"weft: there is no file '{path}'", file=sys.stderr)
        return 2
    importlib.import_module("weft.compat").install()
    sys.argv = [given.program, *given.arguments]
    sys.path.insert(0, str(path.resolve().parent))
    runpy.run_path(given.program, run_name="__main__")
    return 0


if __name__ == "__main__":
    sys.exit(main())
