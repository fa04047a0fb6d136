"""Runs a random program under a configuration, by machine code and by the evaluator, and compares what they leave."""

from __future__ import annotations

import contextlib
import io
import re
import traceback
import warnings
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

import weft as ti
from tests.fuzz.comparing import compare
from tests.fuzz.configurations import Configuration, applied
from tests.fuzz.data import Data
from tests.fuzz.program import Program
from tests.fuzz.rounding import causes, distance
from tests.fuzz.schedules import under_schedules
from weft.ir.adversary import Schedule
from weft.ir.errors import CompilationError, InternalError, WeftError
from weft.ir.evaluate import Fault, evaluate
from weft.ir.memory_model import Memory
from weft.ir.ops import Kernel
from weft.ir.pipeline import TO_LOWERED, TO_TASKS, run_passes
from weft.ir.text import print_ir
from weft.ir.transforms.lower_tree import lower_tree
from weft.ir.transforms.lower_tree_inlining import with_calls_inlined
from weft.lang.translate.entry import translate_kernel

__all__ = ["BY_ORDER", "FINE", "GOOD", "Judge", "Outcome", "blame", "execute", "execute_fast", "listing"]

GOOD = ("same", "faulted", "told")
FINE = ("rounds by", "refuses")  # how the statuses of other plans begin that are no findings

# Constants of which Python computes what the language refuses.
_TOLD = re.compile("modulo by zero|division by zero|by zero at compile time|does not fit|negative shift count")


BY_ORDER = "only in another order: "  # how the detail of such a difference begins


@dataclass
class Outcome:
    """How a program ended. `status`: "same", "differs", "refused" (by the compiler, with a message for the user),
    "crash" (an error of ours), "faulted" (both say so), "told" (an error in constants, known before it runs). `counts`:
    how much was compared, by name."""

    status: str
    detail: str = ""
    places: list[str] = field(default_factory=list[str])
    counts: Counter[str] = field(default_factory=Counter[str])

    @property
    def bad(self) -> bool:
        return self.status not in GOOD and not self.status.startswith(FINE)


# ---- running ---------------------------------------------------------------------------------------------------------


@contextmanager
def prepared(program: Program, lends: bool = True) -> Iterator[tuple[Data, Any]]:
    """The data of a program, and its kernel."""
    data = Data(program, lends)
    try:
        data.run(program.source)
        yield data, data.space["run"]
    finally:
        data.forget()


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
    return found | {"printed": text.getvalue().splitlines()}


@dataclass
class Judge:
    """The evaluator, given the tree of the variant that a launch runs: of arrays that overlap, the careful one."""

    kernel: Any
    data: Data
    config: Any
    translation: Any = None

    def __post_init__(self) -> None:
        program = self.kernel._program()
        values = self.kernel._unpacked(self.data.arguments())
        overlap = self.kernel._instance(program, None, values).overlap(values, with_fields=True)
        arguments = self.kernel._arguments(None, values, exposed=overlap)
        self.translation = translate_kernel(self.kernel.function, arguments, tuple(self.kernel.results), self.config)

    def lowered(self, inlined: bool = False) -> tuple[Kernel, list[Kernel]]:
        """The kernel and the functions that it calls, with types. `inlined`: as a derivative is made of it."""
        tree = self.translation.tree
        if inlined:
            tree = with_calls_inlined(tree)
        made = [lower_tree(one, self.config) for one in (tree, *tree.functions)]
        for one in made:
            run_passes(one, ["infer_types"], self.config, level="untyped")
        return made[0], made[1:]

    def run(self, kernel: Kernel, functions: Sequence[Kernel], schedule: Schedule | None = None) -> dict[str, Any]:
        """What they leave, return and print."""
        self.data.fill()
        arguments = self.data.arguments()
        memory = Memory([tree.buffer() for tree in self.translation.trees])
        unpacked = self.kernel._unpacked(arguments)
        given = [value.to_dict() if hasattr(value, "to_dict") else value for value in unpacked]
        result = evaluate(kernel, given, memory, self.config, functions=functions, schedule=schedule)
        found = self.data.left(arguments)
        found["result"] = np.array([x.item() if hasattr(x, "item") else x for x in _flattened(result)], object)
        return found | {"printed": [line for text in memory.printed for line in text.splitlines()]}


def execute_fast(program: Program, configuration: Configuration) -> Outcome:
    """Run it with and without `fast_math`, and say where a difference comes from: "rounds by" which freedoms; "differs"
    where it is no rounding."""

    def run(fast: bool = True) -> dict[str, Any]:
        options = {**configuration.options, "fast_math": fast}
        with applied(replace(configuration, options=options)), prepared(program, False) as (data, kernel):
            found = _machine(kernel, data)
            return {"result": [], "printed": [found]} if isinstance(found, str) else found

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            exact, fast = run(False), run()
            if exact.keys() != fast.keys():
                return Outcome("differs", f"only one faults: {[*exact['printed'], *fast['printed']]}")
            places = compare(exact, fast)
            if not places:
                return Outcome("same")
            by, size = causes(run, exact), distance(exact, fast)
            if by:
                return Outcome(f"rounds by {' or '.join(by)}", f"{places}, {size:.0f} units in the last place")
            return Outcome("differs", f"{places}, by no freedom of fast_math", places)
        except (InternalError, CompilationError) as error:
            return _refused(error)
        except Exception as error:
            return Outcome("crash", f"{type(error).__name__}: {error}\n{traceback.format_exc()[-2000:]}")


def _refused(error: CompilationError | InternalError) -> Outcome:
    if isinstance(error, InternalError):
        return Outcome("crash", f"InternalError: {error}")
    return Outcome("told" if _TOLD.search(str(error)) else "refused", f"{type(error).__name__}: {error}")


def execute(program: Program, configuration: Configuration, schedules: Sequence[int] = ()) -> Outcome:
    """Run it both ways, and by the evaluator under schedules of those seeds."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            with applied(configuration), prepared(program, configuration.arch == "cpu") as (data, kernel):
                found = _machine(kernel, data)
                if configuration.arch == "cpu":
                    return _judged(kernel, data, found, schedules)
            # The evaluator has no device's memory.
            with applied(replace(configuration, arch="cpu")), prepared(program, False) as (data, kernel):
                return _judged(kernel, data, found, schedules)
        except (InternalError, CompilationError) as error:
            return _refused(error)
        except Exception as error:
            return Outcome("crash", f"{type(error).__name__}: {error}\n{traceback.format_exc()[-2000:]}")


def _machine(kernel: Any, data: Data) -> dict[str, Any] | str:
    """What the kernel leaves, or the error that it ends with."""
    try:
        return _by_machine(kernel, data)
    except (InternalError, CompilationError):
        raise
    except (WeftError, AssertionError) as error:
        return f"{type(error).__name__}: {error}"


def _judged(kernel: Any, data: Data, found: dict[str, Any] | str, schedules: Sequence[int]) -> Outcome:
    judge = Judge(kernel, data, ti.lang.program.init.program().config)
    try:
        wanted = judge.run(*judge.lowered())
    except Fault as error:
        fault = found if isinstance(found, str) else ""
        return Outcome("faulted", fault) if fault else Outcome("differs", f"only the evaluator faults: {error.message}")
    if isinstance(found, str):
        return Outcome("differs", f"only the machine faults: {found}")
    places = compare(wanted, found)
    if not places:
        found_out = under_schedules(judge, wanted, schedules) if schedules else ""
        return Outcome("differs", BY_ORDER + found_out) if found_out else Outcome("same")
    pairs = ((name, *(list(np.atleast_1d(one[name])) for one in (wanted, found))) for name in places)
    shown = "\n".join(f"{name}:\n  evaluator {first}\n  machine   {second}" for name, first, second in pairs)
    return Outcome("differs", shown, places)


# ---- reports ---------------------------------------------------------------------------------------------------------


def blame(program: Program, configuration: Configuration) -> str:
    """The first pass after which the evaluator computes something else, "" if none: then it is the machine code."""
    with warnings.catch_warnings(), applied(configuration), prepared(program) as (data, kernel):
        warnings.simplefilter("ignore")
        judge = Judge(kernel, data, ti.lang.program.init.program().config)
        main, functions = judge.lowered()
        wanted = judge.run(main, functions)
        first: list[str] = []

        def agrees(now: Kernel) -> bool:
            try:
                return not compare(wanted, judge.run(now, functions))
            except Fault:
                return False

        def watch(name: str, now: Kernel, changed: bool, *_: float) -> None:
            if changed and not first and not agrees(now):
                first.append(name)

        run_passes(main, TO_TASKS[1:] + TO_LOWERED, judge.config, watch, level="chi")
        return first[0] if first else ""


def listing(program: Program, configuration: Configuration) -> str:
    """The kernel as CHI, and the functions that it calls."""
    with warnings.catch_warnings(), applied(configuration), prepared(program) as (data, kernel):
        warnings.simplefilter("ignore")
        main, functions = Judge(kernel, data, ti.lang.program.init.program().config).lowered()
        return "\n".join(print_ir(one) for one in (main, *functions))
