"""The command `weft`: run a demo or a program written for Taichi, and inspect the machine."""

from __future__ import annotations

import argparse
import importlib
import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from weft.lang.cli.programs import run_program
from weft.lang.extras import MissingLibrary
from weft.lang.program.options import did_you_mean

__all__ = ["main"]

_DRAWING = {"PIL": "pillow", "matplotlib": "matplotlib"}  # modules, and the packages that contain them


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return the exit status."""
    parser = argparse.ArgumentParser(prog="weft", description="Spatial computing in Python.")
    parser.add_argument("--version", action="version", version=f"weft {version()}")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND")
    demo = commands.add_parser("demo", help="run a demo; without a name, list the demos")
    demo.add_argument("name", nargs="?", metavar="NAME")
    demo.add_argument("--arch", choices=("cpu", "cuda", "python"), default="cpu", help="the target that kernels run on")
    demo.add_argument("--frames", type=_positive, default=0, metavar="N", help="the number of frames to run")
    demo.add_argument(
        "--out", default="", metavar="FILE", help="write a .png, .gif or .mp4 instead of opening a window"
    )
    demo.set_defaults(action=_demo)
    _add_program(commands.add_parser("run", help="run a Python program; its `import taichi` imports Weft"), _run)
    _more_commands(commands)
    given = parser.parse_args(arguments)
    try:
        return int(given.action(given)) if given.command else _help(parser)
    except BrokenPipeError:  # the reader of the output, such as `head`, has closed it
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1


def _add_program(command: argparse.ArgumentParser, action: Callable[[argparse.Namespace], int]) -> None:
    """Add the arguments for a program and its own arguments. `action` runs the program."""
    command.add_argument("program", metavar="PROGRAM")
    rest = command.add_argument("arguments", nargs=argparse.REMAINDER, metavar="ARGUMENT")
    rest.required = False  # it may be empty; argparse mishandles this when it lists missing arguments
    command.set_defaults(action=action)


def _more_commands(commands: Any) -> None:
    """Add the commands that Taichi's command line has too."""
    example = commands.add_parser(
        "example", help="run a demo, or print or copy its source; without a name, list the demos"
    )
    example.add_argument("name", nargs="?", metavar="NAME")
    example.add_argument("-p", "-P", "--print", action="store_true", help="print the source instead")
    example.add_argument("-s", "--save", action="store_true", help="copy the source into this folder instead")
    example.set_defaults(action=_example)
    debug = commands.add_parser("debug", help="like `run`, with debug=True: kernels check indices and assertions")
    _add_program(debug, _debug)
    for name, text in (("doctor", "show what Weft finds on this machine"), ("diagnose", "the same as doctor")):
        commands.add_parser(name, help=text).set_defaults(action=_doctor)
    commands.add_parser("repl", help="start a Python prompt with `import weft as ti`").set_defaults(action=_repl)
    importlib.import_module("weft.lang.cli.media").add_commands(commands)
    importlib.import_module("weft.lang.cli.cache").add_commands(commands)
    importlib.import_module("weft.lang.cli.explore").add_commands(commands)
    importlib.import_module("weft.lang.cli.build").add_commands(commands)


def _help(parser: argparse.ArgumentParser) -> int:
    parser.print_help()
    return 0


def _doctor(_: argparse.Namespace) -> int:
    print(importlib.import_module("weft.runtime.doctor").report(), flush=True)
    return 0


def _repl(_: argparse.Namespace) -> int:
    code = importlib.import_module("code")
    weft = importlib.import_module("weft")
    code.interact(banner=f"weft {version()}, as ti", local={"ti": weft}, exitmsg="")
    return 0


def _debug(given: argparse.Namespace) -> int:
    os.environ["WEFT_DEBUG"] = "1"
    return _run(given, debugs=True)


def _example(given: argparse.Namespace) -> int:
    runner: Any = importlib.import_module("weft.demos.runner")
    if given.name is None and (given.print or given.save):
        print("weft: the name of a demo is missing; `weft example` lists the demos", file=sys.stderr)
        return 2
    name = (given.name or "").removesuffix(".py")
    if name not in runner.NAMES or not (given.print or given.save):
        return _demo(argparse.Namespace(name=name or None, arch="cpu", frames=0, out=""))
    source = Path(str(importlib.import_module(f"weft.demos.{name}").__file__))
    if given.print:
        print(source.read_text(encoding="utf-8"), end="", flush=True)
    if given.save:
        Path(source.name).write_bytes(source.read_bytes())
        print(f"saved {source.name}: edit it, and run it with `python {source.name}`", flush=True)
    return 0


def version() -> str:
    """Return the version of the installed distribution."""
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
    # Demos are in a layer above the language, so they are found by name, like any program that uses Weft.
    runner: Any = importlib.import_module("weft.demos.runner")
    if given.name is None:
        width = max(map(len, runner.NAMES))
        for name in runner.NAMES:
            print(f"{name:<{width}}  {runner.summary(name)}", flush=True)
        return 0
    if given.name not in runner.NAMES:
        meant = did_you_mean(given.name, runner.NAMES) or f"; the demos are {', '.join(runner.NAMES)}"
        print(f"weft: there is no demo '{given.name}'{meant}", file=sys.stderr)
        return 2
    try:
        runner.run(given.name, given.arch, given.frames, given.out)
    except ModuleNotFoundError as error:
        if error.name not in _DRAWING:
            raise
        print(f"weft: demos need {_DRAWING[error.name]} to draw: pip install 'weft[viz]'", file=sys.stderr)
        return 1
    except MissingLibrary as error:
        print(f"weft: {error}", file=sys.stderr)
        return 1
    return 0


def _run(given: argparse.Namespace, debugs: bool = False) -> int:
    if not Path(given.program).is_file():
        print(f"weft: there is no file '{Path(given.program)}'", file=sys.stderr)
        return 2
    return run_program(given.program, given.arguments, debugs)
