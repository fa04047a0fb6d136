"""The command `weft build`: run a program, and keep the code of all kernels that it calls for later runs."""

from __future__ import annotations

import _thread
import argparse
import ast
import os
import signal
import sys
import threading
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from weft.ir.errors import WeftError
from weft.lang.calls.recipe import ON_COMPILED
from weft.lang.cli.programs import INTERRUPTED, runner_of
from weft.lang.logs.progress import Bar, progress
from weft.runtime.memory import readable_size

if TYPE_CHECKING:
    from weft.lang.calls.ahead import Made
    from weft.lang.calls.compile import Instance

__all__ = ["add_commands", "kernels_defined"]

_HOME = str(Path(__file__).resolve().parents[2]) + os.sep  # the folder of Weft
_FRAMES = 2  # of windows: the first frame may not call all kernels


def add_commands(commands: Any) -> None:
    """Add the command to those of `weft`."""
    build = commands.add_parser(
        "build",
        help="run a program and keep the code of all kernels that it calls, so that later runs compile nothing",
        description="Run a program and keep the code of all kernels that it calls. Its windows do not open, and are "
        f"closed after {_FRAMES} frames. Ctrl-C and --seconds end the program early; what was compiled is kept.",
    )
    build.add_argument(
        "--cpu-features",
        default="",
        metavar="LEVELS",
        help="compile for these instruction sets too: v2, v3, v4, with commas between. Programs with "
        "cpu_features=LEVEL find the code on any machine that has the instructions",
    )
    build.add_argument(
        "--folder", default="", metavar="FOLDER", help="keep the code there instead of in the user's cache"
    )
    build.add_argument("--seconds", type=float, default=0, metavar="S", help="end the program after that time")
    build.add_argument("program", metavar="PROGRAM", help="a file or the name of a demo")
    rest = build.add_argument("arguments", nargs=argparse.REMAINDER, metavar="ARGUMENT")
    rest.required = False
    build.set_defaults(action=_build)


def _build(given: argparse.Namespace) -> int:
    from weft.lang.calls.ahead import level_named

    run = runner_of(given.program, given.arguments, frames=_FRAMES, quiet=True)
    if run is None:
        print(f"weft: there is no file and no demo '{given.program}'", file=sys.stderr)
        return 2
    try:
        levels = [level_named(name.strip()) for name in given.cpu_features.split(",") if name.strip()]
    except WeftError as error:
        print(f"weft: --cpu-features: {error}", file=sys.stderr)
        return 2
    os.environ |= {"WEFT_HEADLESS": "1", "WEFT_GUI_FRAMES": str(_FRAMES), "WEFT_OFFLINE_CACHE": "1"}
    if given.folder:
        os.environ["WEFT_OFFLINE_CACHE_FILE_PATH"] = str(Path(given.folder).resolve())
    with progress(f"building {given.program}") as bar:
        builder = _Builder(given.program, levels, bar)
        token = ON_COMPILED.set(builder)
        try:
            with _ended_after(given.seconds):
                status = run()
        except KeyboardInterrupt:  # (the program of a file does not let it through)
            status = INTERRUPTED
        finally:
            ON_COMPILED.reset(token)
    print(builder.report(), flush=True)
    ended = status == INTERRUPTED and bool(builder.made)
    return 1 if builder.failures else 0 if ended else status


@contextmanager
def _ended_after(seconds: float) -> Generator[None, None, None]:
    """Interrupt the block, as Ctrl-C does, when it takes longer than that; 0: never. It is interrupted again after each
    second, because Python ignores an interrupt in some places, such as `__del__`. A process that a shell started in the
    background ignores interrupts; the block does not."""
    ended = threading.Event()
    handled = signal.getsignal(signal.SIGINT)

    def interrupt() -> None:
        pause = seconds
        while not ended.wait(pause):
            _thread.interrupt_main()
            pause = 1.0

    thread = threading.Thread(target=interrupt, daemon=True)
    if seconds > 0:
        if not callable(handled):
            signal.signal(signal.SIGINT, signal.default_int_handler)
        thread.start()
    try:
        yield
    finally:
        ended.set()
        if thread.is_alive():
            thread.join()
        if handled is not None:
            signal.signal(signal.SIGINT, handled)


class _Builder:
    """Called with each kernel that the program compiles. It compiles the kernel for the other instruction sets."""

    def __init__(self, program: str, levels: list[str], bar: Bar) -> None:
        self._program, self._levels, self._bar = program, levels, bar
        file = program if os.path.isfile(program) else os.path.join(_HOME, "demos", f"{program}.py")
        self._files = [os.path.realpath(file)]
        self._folder = os.path.dirname(self._files[0]) + os.sep
        self.made: list[Made] = []
        self.failures: dict[str, None] = {}
        self._stores: dict[Any, Any] = {}
        self._places: dict[tuple[str, str], None] = {}  # the files and names of the functions of kernels
        self._columns: dict[str, None] = {}

    def __call__(self, instance: Instance) -> None:
        recipe, program = instance.recipe, instance.program()
        if program.backend.interprets or program.store is None:
            self.failures["arch=python compiles nothing" if program.backend.interprets else "there is no cache"] = None
            return
        file = os.path.realpath(recipe.function.__code__.co_filename)
        self._places[file, recipe.function.__qualname__] = None
        self._stores[program.store.folder] = program.store
        library = file.startswith(_HOME) and not file.startswith(self._folder)
        self._make(instance, _LIBRARY if library else recipe.function.__name__ + recipe.suffix)
        self._advance(recipe.function.__name__)

    def _make(self, instance: Instance, kernel: str) -> None:
        """Note what the program compiled, and compile the kernel for the other instruction sets."""
        from weft.lang.calls.ahead import Made, make_for

        recipe, program = instance.recipe, instance.program()
        on_cpu = program.backend.arch == "cpu"
        own = recipe.config.cpu_features if on_cpu else program.backend.arch
        self.made.append(Made(kernel, own, instance.was_stored, instance.seconds))
        for level in self._levels if on_cpu else ():
            if level != own:
                try:
                    self.made.append(make_for(program, recipe, level, kernel))
                except WeftError as error:
                    self.failures[f"{kernel} for {level}: {error}"] = None
        self._columns |= dict.fromkeys([own, *(self._levels if on_cpu else ())])

    def _advance(self, name: str) -> None:
        """Tell the bar how many of the kernels that are defined so far have been called."""
        defined = kernels_defined(self._folder, self._files)
        self._bar.label = f"building {self._program}: {name}"
        self._bar.total = float(len(defined))
        self._bar.done = float(len(defined.keys() & self._places.keys()))

    def report(self) -> str:
        """What was done, as a table and sentences."""
        lines = _table(self.made, list(self._columns)) if self.made else ["the program called no kernel"]
        compiled = [one for one in self.made if not one.was_stored]
        if self.made:
            count = len({one.kernel for one in self.made} - {_LIBRARY})
            lines.append(
                f"{count} {'kernel' if count == 1 else 'kernels'}: {len(compiled)} compiled "
                f"({sum(one.seconds for one in compiled):.1f} s), {len(self.made) - len(compiled)} found"
            )
        for folder, store in self._stores.items():
            entries, size = store.size()
            lines.append(f"{entries} entries ({readable_size(size)}) in {folder}")
        missed = [place for key, place in kernels_defined(self._folder, self._files).items() if key not in self._places]
        if self.made and missed:
            lines.append(f"not called, so not compiled: {', '.join(missed)}")
        return "\n".join(lines + [f"not kept: {why}" for why in self.failures])


_LIBRARY = "(Weft's own)"


def _table(made: list[Made], columns: list[str]) -> list[str]:
    """A line for each kernel, and a column for each instruction set."""
    rows = dict.fromkeys(one.kernel for one in made)
    width = max(len("kernel"), *map(len, rows))
    lines = [f"{'kernel':<{width}}" + "".join(f"  {column:>9}" for column in columns)]
    for row in rows:
        cells = [_cell([one for one in made if (one.kernel, one.level) == (row, column)]) for column in columns]
        lines.append(f"{row:<{width}}" + "".join(f"  {cell:>{max(9, len(c))}}" for cell, c in zip(cells, columns)))
    return lines


def _cell(made: list[Made]) -> str:
    if not made:
        return "-"
    compiled = [one.seconds for one in made if not one.was_stored]
    return f"{1e3 * sum(compiled):.0f} ms" if compiled else "found"


def kernels_defined(folder: str, files: Sequence[str] = ()) -> dict[tuple[str, str], str]:
    """The kernels in the source of these files, and of the modules that were imported from that folder: file and
    qualified name, and for each what a message says."""
    modules = [getattr(module, "__file__", None) for module in list(sys.modules.values())]
    paths = [os.path.realpath(file) for file in modules if isinstance(file, str) and file.endswith(".py")]
    found: dict[tuple[str, str], str] = {}
    for path in dict.fromkeys([*files, *(path for path in paths if path.startswith(folder))]):
        for name, line in _kernels_in(path):
            found[path, name] = f"{name} ({os.path.basename(path)}:{line})"
    return found


@cache
def _kernels_in(file: str) -> list[tuple[str, int]]:
    """Qualified names and lines of functions with a decorator that is called `kernel`."""
    try:
        tree = ast.parse(Path(file).read_text(encoding="utf-8"))
    except (OSError, SyntaxError, ValueError):
        return []
    found: list[tuple[str, int]] = []

    def visit(node: ast.AST, prefix: str) -> None:
        for child in ast.iter_child_nodes(node):
            inner = prefix
            if isinstance(child, ast.FunctionDef):
                if any(_is_kernel(decorator) for decorator in child.decorator_list):
                    found.append((prefix + child.name, child.lineno))
                inner = f"{prefix}{child.name}.<locals>."
            elif isinstance(child, ast.ClassDef):
                inner = f"{prefix}{child.name}."
            visit(child, inner)

    visit(tree, "")
    return found


def _is_kernel(decorator: ast.expr) -> bool:
    named = decorator.func if isinstance(decorator, ast.Call) else decorator
    return "kernel" in (getattr(named, "attr", ""), getattr(named, "id", ""))
