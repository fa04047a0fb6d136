"""Runs a random program under a configuration, by machine code and by the evaluator, and compares what they leave."""

from __future__ import annotations

import contextlib
import io
import linecache
import warnings
from dataclasses import dataclass, field, replace
from itertools import count
from typing import Any

import numpy as np

import weft as ti
from tests.fuzz.configurations import Configuration, applied
from tests.fuzz.data import Data, bits
from tests.fuzz.program import Program
from weft.ir.errors import CompilationError, InternalError, WeftError
from weft.ir.evaluate import Fault, evaluate
from weft.ir.memory_model import Memory
from weft.ir.ops import Kernel
from weft.ir.pipeline import TO_LOWERED, TO_TASKS, run_passes
from weft.ir.text import print_ir
from weft.ir.transforms.lower_tree import lower_tree
from weft.lang.translate import translate_kernel

__all__ = ["Outcome", "blame", "compare", "execute", "listing"]

_numbers = count()


@dataclass
class Outcome:
    """How a program ended. `status`: "same", "differs", "refused" (by the compiler, with a message for the user),
    "crash" (an error of ours), "faulted" (both say so)."""

    status: str
    detail: str = ""
    places: list[str] = field(default_factory=list[str])

    @property
    def bad(self) -> bool:
        return self.status not in ("same", "faulted")


# ---- running ---------------------------------------------------------------------------------------------------------


def compiled(program: Program, data: Data) -> Any:
    """The kernel; its lines are where Python looks for them."""
    name = f"<fuzz {program.name} {next(_numbers)}>"
    source = program.source
    linecache.cache[name] = (len(source), None, source.splitlines(keepends=True), name)
    space: dict[str, Any] = {**data.space}
    exec(compile(source, name, "exec"), space)
    return space["run"], name


def _flattened(result: Any) -> list[Any]:
    if result is None:
        return []
    if isinstance(result, (tuple, list)):
        return [scalar for one in result for scalar in _flattened(one)]
    if isinstance(result, dict):
        return [scalar for one in result.values() for scalar in _flattened(one)]
    if hasattr(result, "to_dict"):
        return _flattened(result.to_dict())
    if hasattr(result, "to_list"):
        return _flattened(result.to_list())
    if isinstance(result, np.ndarray):
        return [scalar for one in result for scalar in _flattened(one)]
    return [result]


def _by_machine(kernel: Any, data: Data) -> dict[str, Any]:
    data.fill()
    arguments = data.arguments()
    text = io.StringIO()
    with contextlib.redirect_stdout(text):
        result = kernel(*arguments)
        ti.sync()
    found = data.left(arguments)
    found["result"] = np.array([float(x) if isinstance(x, float) else int(x) for x in _flattened(result)], object)
    return found | {"printed": np.array(sorted(text.getvalue().splitlines()), object)}


@dataclass
class _Judge:
    """The evaluator, given the kernel's tree once."""

    kernel: Any
    data: Data
    config: Any
    translation: Any = None

    def __post_init__(self) -> None:
        program = ti.lang.init.program()
        self.kernel._start_over(program)
        values = self.kernel._unpacked(self.data.arguments())
        arguments = [p.argument(value) for p, value in zip(self.kernel._parameters, values)]
        self.translation = translate_kernel(self.kernel.function, arguments, tuple(self.kernel.results), self.config)

    def lowered(self) -> tuple[Kernel, list[Kernel]]:
        """The kernel and the functions that it calls, with types."""
        tree = self.translation.tree
        made = [lower_tree(one, self.config) for one in (tree, *tree.functions)]
        for one in made:
            run_passes(one, ["infer_types"], self.config, level="untyped")
        return made[0], made[1:]

    def run(self, kernel: Kernel, functions: list[Kernel]) -> dict[str, Any]:
        self.data.fill()
        arguments = self.data.arguments()
        memory = Memory([tree.buffer() for tree in self.translation.trees])
        unpacked = self.kernel._unpacked(arguments)
        given = [value.to_dict() if hasattr(value, "to_dict") else value for value in unpacked]
        result = evaluate(kernel, given, memory, self.config, functions=functions)
        found = self.data.left(arguments)
        found["result"] = np.array([x.item() if hasattr(x, "item") else x for x in _flattened(result)], object)
        printed = [line for text in memory.printed for line in text.splitlines()]
        return found | {"printed": np.array(sorted(printed), object)}


def compare(wanted: dict[str, Any], found: dict[str, Any]) -> list[str]:
    """What differs."""
    names: list[str] = []
    for name, values in wanted.items():
        other = found[name]
        if name == "result":
            same = len(values) == len(other) and all(a == b or (a != a and b != b) for a, b in zip(values, other))
        elif name == "printed":
            same = list(values) == list(other)
        else:
            same = np.array_equal(bits(values), bits(other))
        if not same:
            names.append(name)
    return names


def execute(program: Program, configuration: Configuration) -> Outcome:
    """Run it both ways."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        name = ""
        try:
            with applied(configuration):
                data = Data(program, configuration.arch == "cpu")
                kernel, name = compiled(program, data)
                found = _machine(kernel, data)
                if configuration.arch == "cpu":
                    return _judged(kernel, data, found)
            with applied(replace(configuration, arch="cpu")):  # the evaluator has no device's memory
                data = Data(program, False)
                linecache.cache.pop(name, None)
                kernel, name = compiled(program, data)
                return _judged(kernel, data, found)
        except InternalError as error:
            return Outcome("crash", f"InternalError: {error}")
        except CompilationError as error:
            return Outcome("refused", f"{type(error).__name__}: {error}")
        except Exception as error:
            return Outcome("crash", f"{type(error).__name__}: {error}")
        finally:
            linecache.cache.pop(name, None)


def _machine(kernel: Any, data: Data) -> dict[str, Any] | str:
    """What the kernel leaves, or the error that it ends with."""
    try:
        return _by_machine(kernel, data)
    except (InternalError, CompilationError):
        raise
    except (WeftError, AssertionError) as error:
        return f"{type(error).__name__}: {error}"


def _judged(kernel: Any, data: Data, found: dict[str, Any] | str) -> Outcome:
    judge = _Judge(kernel, data, ti.lang.init.program().config)
    try:
        wanted = judge.run(*judge.lowered())
    except Fault as error:
        fault = found if isinstance(found, str) else ""
        return Outcome("faulted", fault) if fault else Outcome("differs", f"only the evaluator faults: {error.message}")
    if isinstance(found, str):
        return Outcome("differs", f"only the machine faults: {found}")
    places = compare(wanted, found)
    if not places:
        return Outcome("same")
    shown = "\n".join(
        f"{name}:\n  evaluator {wanted[name].tolist()}\n  machine   {found[name].tolist()}" for name in places
    )
    return Outcome("differs", shown, places)


# ---- reports ---------------------------------------------------------------------------------------------------------


def blame(program: Program, configuration: Configuration) -> str:
    """The first pass after which the evaluator computes something else, "" if none: then it is the machine code."""
    with warnings.catch_warnings(), applied(configuration):
        warnings.simplefilter("ignore")
        data = Data(program)
        kernel, _ = compiled(program, data)
        judge = _Judge(kernel, data, ti.lang.init.program().config)
        main, functions = judge.lowered()
        wanted = judge.run(main, functions)
        first: list[str] = []

        def watch(name: str, now: Kernel, changed: bool, _: float) -> None:
            if changed and not first and compare(wanted, judge.run(now, functions)):
                first.append(name)

        run_passes(main, TO_TASKS[1:] + TO_LOWERED, judge.config, watch, level="chi")
        return first[0] if first else ""


def listing(program: Program, configuration: Configuration) -> str:
    """The kernel as CHI, and the functions that it calls."""
    with warnings.catch_warnings(), applied(configuration):
        warnings.simplefilter("ignore")
        data = Data(program)
        kernel, _ = compiled(program, data)
        main, functions = _Judge(kernel, data, ti.lang.init.program().config).lowered()
        return "\n".join(print_ir(one) for one in (main, *functions))
