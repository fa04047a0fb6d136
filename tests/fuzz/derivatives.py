"""Derivatives of random programs against the truth: forward mode against central differences, reverse mode against
forward mode.

A program is taken as CHI. Its numbers are a vector: each f64 in the memory of fields, in arrays and in parameters, and
behind the kernel each f64 in memory, in arrays and in results. Forward mode gives J v for a random direction v. It is
compared with differences of the kernel without a mode, for each number where the kernel is smooth: differences of two
widths, ahead and behind, agree. Reverse mode gives J^T w. It is right if <J v, w> = <v, J^T w>; no smoothness is
needed.

Each derivative runs in the evaluator as `differentiate` leaves it, under a schedule of an adversary, lowered with and
without optimizations, and as machine code. What a derivative refuses is counted as refused, with its message.
"""

from __future__ import annotations

import copy
import io
import random as randomness
import re
import traceback
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, redirect_stdout
from dataclasses import replace
from functools import partial
from itertools import chain
from typing import Any
from unittest.mock import patch

import numpy as np

import weft as ti
from tests.fuzz.called import functions_of
from tests.fuzz.configurations import Configuration, applied
from tests.fuzz.differences import LARGE, has_kinks, narrower_agree, smooth_differences
from tests.fuzz.execute import Judge, Outcome, prepared
from tests.fuzz.machines import Machine
from tests.fuzz.magnitudes import watched
from tests.fuzz.modes import NESTED, REVERSED, SECOND, named, takes_part, with_companions, with_second
from tests.fuzz.program import Program
from tests.fuzz.recorded import Different, paired_ways, with_records
from tests.fuzz.rounding_errors import spread
from tests.fuzz.second import check_nested, check_second
from tests.fuzz.spaces import PRECISION, Numbers, Space, carrying, copied, floats_in, nothing
from tests.fuzz.torn import gradients_of
from weft.ir.adversary import Schedule
from weft.ir.autodiff import checkpoints, keeping, leaves
from weft.ir.autodiff.torn import Torn
from weft.ir.config import CompileConfig
from weft.ir.errors import CompilationError, InternalError
from weft.ir.evaluate import Fault, evaluate
from weft.ir.memory_model import Memory
from weft.ir.ops import Kernel
from weft.ir.pipeline import TO_LOWERED, TO_TASKS, run_passes
from weft.ir.symbols import RECORDING
from weft.ir.transforms import offload
from weft.ir.types import Array

__all__ = ["Numbers", "Subject", "execute_derivatives"]

_ROUGH = 1e5  # a program that computes larger numbers on the way may differ from differences
_HUGE = 1e200  # the same for dot products, which are compared with the size of their terms
_CANNOT = "reverse mode cannot differentiate an atomic product with a factor of 0"  # known only as it runs

Run = Callable[[list[Any], list[Any]], list[Any]]  # of trees and arguments, gives results


# ---- one program -----------------------------------------------------------------------------------------------------


class Subject:
    """A program as CHI with its numbers. `config`: what it is compiled with."""

    def __init__(
        self, judge: Judge, seed: str, config: CompileConfig, machine: Machine | None = None, floats: str = "f64"
    ) -> None:
        self.precision = PRECISION[floats]
        chi, self.functions = judge.lowered()
        chi = named(chi)
        self.inlined, _ = judge.lowered(inlined=True)
        judge.data.fill()
        self.text, self.config, self.machine, self.judge = chi, config, machine, judge
        self.saved = frozenset[str]()  # the fields and arrays whose old values reverse mode needs
        self.records_kind, self.records = "", None  # what the kernel does with records, and where they are
        unpacked = judge.kernel._unpacked(judge.data.arguments())
        args = [value.to_dict() if hasattr(value, "to_dict") else value for value in unpacked]
        self.start = Numbers([np.array(tree.buffer(), np.uint8) for tree in judge.translation.trees], args)
        self.trees = len(self.start.trees)
        self.space = Space(chi, self.trees)
        self.random = np.random.default_rng(list(seed.encode()))
        self.base = self.space.read(self.start, True)

    def copy(self) -> Kernel:
        """The kernel without a mode."""
        return named(self.text)

    def primal(self, vector: Any, schedule: Schedule | None = None) -> Numbers:
        """What the kernel leaves behind, started from those numbers; in program order, or under a schedule."""
        numbers = self.start.copy()
        self.space.write(numbers, vector)
        memory, how = Memory(numbers.trees), {"functions": self.functions, "schedule": schedule}
        numbers.results = evaluate(self.copy(), numbers.args, memory, self.config, **how)
        numbers.results = carrying(numbers.results, self.text.results)
        return numbers

    def differentiated(self, mode: str) -> Kernel:
        """The kernel in that mode, not differentiated yet. It has the lines of the program."""
        kernel = self.with_fields(named(self.inlined), mode)
        return with_records(kernel, self.records_kind) if self.records_kind else kernel

    def with_fields(self, kernel: Kernel, mode: str) -> Kernel:
        """A kernel or a function in that mode, with the companions of its fields and parameters."""
        return with_second(kernel, self.trees, mode) if "." in mode else with_companions(kernel, mode, self.trees)

    def launch(self, mode: str, run: Run, numbers: Numbers, others: Numbers) -> None:
        """Run a kernel in a mode on numbers and on their companions. Both are changed."""
        hidden = [others.args[k] for k, one in enumerate(self.text.params) if takes_part(one, mode)]
        hidden += [] if self.records is None else [self.records]
        results = run([*numbers.trees, *others.trees], [*numbers.args, *hidden])
        if self.records_kind == RECORDING:
            numbers.results = carrying(results, self.text.results)
        if mode == "jvp":
            count = len(self.text.results)
            numbers.results = carrying(results[:count], self.text.results)
            others.results = results[count:]

    def companions(self, vector: Any, inputs: bool) -> Numbers:
        """Companions that hold such a vector, and 0 elsewhere."""
        args = [nothing(arg, one.type) for arg, one in zip(self.start.args, self.text.params)]
        others = Numbers([np.zeros_like(tree) for tree in self.start.trees], args)
        self.space.write(others, vector, inputs)
        return others

    def before(self, after: Numbers, start: Numbers | None = None, kind: str = "") -> Numbers:
        """What memory holds for reverse mode: what the kernel left, and what it started from where `saved` says so.
        `kind`: of companions with these names."""
        start = start or self.start
        made = Numbers([tree.copy() for tree in after.trees], [copied(arg) for arg in after.args])
        old, new = Memory(start.trees), Memory(made.trees)
        for symbol in self.text.fields:
            if f"{symbol.name}{kind}" in self.saved:
                new.write(symbol, old.read(symbol))
        for k, param in enumerate(self.text.params):
            if f"{param.name}{kind}" in self.saved or not isinstance(param.type, Array):
                made.args[k] = copied(start.args[k])
        return made


def runs(subject: Subject, mode: str, seed: int) -> Iterator[tuple[str, Run]]:
    """The ways in which a derivative runs. Raises CompilationError where it is refused."""

    def in_evaluator(kernel: Kernel, config: CompileConfig, functions: Sequence[Kernel], **how: Any) -> Run:
        return lambda trees, args: evaluate(kernel, args, Memory(trees), config, functions=functions, **how)

    def called(made: Kernel) -> list[Kernel]:
        return functions_of(made, subject.functions, config, partial(subject.with_fields, mode=mode))

    config = subject.config
    made = run_passes(subject.differentiated(mode), ("differentiate",), config)
    if mode != "jvp":
        subject.saved = frozenset(made.saved)
    own = [run_passes(one, ("differentiate",), config) for one in called(made)]
    yield "chi", in_evaluator(made, config, own)
    yield "adversary", in_evaluator(made, config, own, schedule=Schedule(seed))
    for name, advanced in (("optimized", True), ("not optimized", False)):
        other = replace(config, advanced_optimization=advanced)
        made = run_passes(subject.differentiated(mode), ("differentiate",), other)
        low, *functions = (
            run_passes(one, TO_TASKS + TO_LOWERED, other) for one in (subject.differentiated(mode), *called(made))
        )
        if mode != "jvp":
            subject.saved = frozenset(low.saved)
        yield name, in_evaluator(low, other, functions)
        yield f"{name}, adversary", in_evaluator(low, other, functions, schedule=Schedule(seed))
        if subject.machine is not None:
            yield f"{name}, machine code", subject.machine(subject.differentiated(mode), called(made), other)


# ---- forward mode ----------------------------------------------------------------------------------------------------


def check_forward(subject: Subject, seed: int, counts: Counter[str]) -> str:
    """What is wrong with forward mode, "" if nothing is."""
    space, direction = subject.space, subject.random.uniform(-1, 1, subject.base.size)
    ways = runs(subject, "jvp", seed)
    first = next(ways)  # refuses before anything runs
    with watched() as largest:
        here = subject.space.read(subject.primal(subject.base), False)
    slope, tolerance, smooth = smooth_differences(subject, direction, here)
    counts["differences"] += int(smooth.sum())
    counts["differences other than 0"] += int((smooth & (slope != 0)).sum())
    counts["not smooth"] += int((~smooth).sum())
    for name, run in chain((first,), ways):  # one after the other: each says what must be `saved`
        numbers, others = subject.start.copy(), subject.companions(direction, True)
        try:
            subject.launch("jvp", run, numbers, others)
        except Fault as fault:
            return f"{name}: only forward mode faults: {fault.message}"
        values, duals = subject.space.read(numbers, False), subject.space.read(others, False)
        with np.errstate(all="ignore"):
            apart = ~((np.abs(values - here) <= 1e-9 * (1 + np.abs(here))) | (values == here) | (here != here))
            wrong = smooth & ~(np.abs(duals - slope) <= tolerance)
        if "adversary" in name or "machine" in name:
            apart, wrong = apart & space.ordered(apart.size), wrong & space.ordered(apart.size)
        apart &= np.abs(here) < LARGE
        if apart.any():
            k = int(np.argmax(apart))
            if abs(values[k] - here[k]) <= spread(lambda: space.read(subject.primal(subject.base), False))[k]:
                counts["programs lost in rounding"] += 1
                return ""
            return f"{name}: the value of {subject_place(subject, k)} is {values[k]}, without a mode {here[k]}"
        if wrong.any() and largest.value > _ROUGH:
            counts["programs with numbers too large for differences"] += 1
            return ""
        if wrong.any() and has_kinks(subject, direction):
            counts["programs with kinks closer than differences"] += 1
            return ""
        if wrong.any() and (wrong <= narrower_agree(subject, direction, duals, slope)).all():
            counts["programs that narrower differences agree with"] += 1
            return ""
        if wrong.any():
            k = int(np.argmax(wrong))
            return f"{name}: the dual of {subject_place(subject, k)} is {duals[k]}, differences say {slope[k]}"
    return ""


def subject_place(subject: Subject, number: int) -> str:
    """Which number of an output that is, in words."""
    for tree, _, at in subject.space.cells:
        if number < len(at):
            names = [one.name for one in subject.text.fields if one.tree == tree]
            return f"number {number} of {' or '.join(names)}"
        number -= len(at)
    return f"number {number} of arrays and results"


# ---- reverse mode ----------------------------------------------------------------------------------------------------


def check_reverse(subject: Subject, seed: int, counts: Counter[str]) -> str:
    """What is wrong with reverse mode, by the dot products of forward mode, "" if nothing is.

    Memory holds what the kernel has left, except for the fields and arrays that the derivative names in `saved`."""
    space, random = subject.space, subject.random
    direction = random.uniform(-1, 1, subject.base.size) * space.in_memory(subject.start)
    ways = gradients_of(subject, subject.judge, lambda one: runs(one, "vjp", seed), counts)
    numbers, others = subject.start.copy(), subject.companions(direction, True)
    forward = next(runs(subject, "jvp", seed))[1]
    subject.launch("jvp", forward, numbers, others)
    duals = space.read(others, False)
    held = duals.size - sum(floats_in(type) for type in space.results)
    unchanged = space.read(subject.companions(direction, True), False)
    counts["programs in reverse mode"] += 1
    counts["programs in reverse mode that change a derivative"] += bool((duals[:held] != unchanged[:held]).any())
    weights = random.uniform(-1, 1, duals.size) * space.ordered(duals.size)
    weights[held:] = 0  # results have no gradient in memory
    terms, lost = duals * weights, None
    for name, back_from in ways:  # one after the other: each says what must be `saved`
        gradients = subject.companions(weights[:held], False)
        try:
            back_from(numbers, gradients)
        except Fault as fault:
            if fault.message.startswith(_CANNOT):
                counts["programs that reverse mode refuses as they run"] += 1
                return ""
            return f"{name}: reverse mode faults: {fault.message}"
        except Different as error:
            return str(error)
        back = space.read(gradients, True) * direction
        size = np.abs(terms).sum() + np.abs(back).sum()
        if not size < _HUGE:  # infinite, or NaN: the adjoint 0 of a value that is infinite, among others
            finite = np.abs(terms).sum() < _HUGE
            counts["gradients that alone are not finite" if finite else "dot products that are not finite"] += 1
            continue
        counts["dot products"] += 1
        counts["dot products other than 0"] += bool(np.abs(terms).sum())
        apart = abs(terms.sum() - back.sum())
        if not apart <= subject.precision.products * size:
            lost = spread(partial(_products, subject, seed, direction, weights)).sum() if lost is None else lost
            if apart <= lost:
                counts["dot products lost in rounding"] += 1
                continue
            return f"{name}: <Jv, w> = {terms.sum()!r}, but <v, J^T w> = {back.sum()!r}; the terms add up to {size:.3g}"
    return ""


def _products(subject: Subject, seed: int, direction: Any, weights: Any) -> Any:
    """<J v, w> and <v, J^T w> as the evaluator computes them; None if the gradient does not run."""
    made, space = copy.copy(subject), subject.space
    numbers, duals = made.start.copy(), made.companions(direction, True)
    made.launch("jvp", next(runs(made, "jvp", seed))[1], numbers, duals)
    held = weights.size - sum(floats_in(type) for type in space.results)
    gradients = made.companions(weights[:held], False)
    try:
        ways = gradients_of(made, made.judge, lambda one: runs(one, "vjp", seed), Counter())
        next(ways)[1](numbers, gradients)
    except (Fault, Different):
        return None
    return np.array([(space.read(duals, False) * weights).sum(), (space.read(gradients, True) * direction).sum()])


def check_hessian(subject: Subject, seed: int, counts: Counter[str], mode: str = SECOND) -> str:
    """What is wrong with second derivatives in a mode, "" if nothing is."""

    def forward(numbers: Numbers, duals: Numbers) -> None:
        subject.launch("jvp", next(runs(subject, "jvp", seed))[1], numbers, duals)
        numbers.results, duals.results = [], []

    ways = runs(subject, mode, seed)
    if mode == SECOND and _is_torn(subject):
        counts["programs with Hessians from records"] += 1
        reader, ways = paired_ways(subject, lambda one: runs(one, mode, seed), counts)
        try:
            return check_second(reader, ways, forward, counts, mode)
        except Different as error:
            return str(error)
    return check_second(subject, ways, forward, counts, mode)


def _is_torn(subject: Subject) -> bool:
    """Whether a gradient needs records."""
    try:
        for advanced in (False, True):
            config = replace(subject.config, advanced_optimization=advanced)
            run_passes(subject.differentiated("vjp"), ("differentiate",), config)
    except Torn:
        return True
    return False


def check_gradient_of_gradient(subject: Subject, seed: int, counts: Counter[str]) -> str:
    """What is wrong with reverse mode of the gradient, "" if nothing is."""
    ahead = copy.copy(subject)
    return check_nested(ahead, runs(ahead, SECOND, seed), subject, runs(subject, NESTED, seed), counts)


CHECKS: dict[str, Callable[[Subject, int, Counter[str]], str]] = {
    "jvp": check_forward,
    "vjp": check_reverse,
    SECOND: check_hessian,
    REVERSED: partial(check_hessian, mode=REVERSED),
    NESTED: check_gradient_of_gradient,
}


@contextmanager
def few_slots(seed: str) -> Iterator[None]:
    """Loops of a few iterations need several levels of checkpoints. Values are kept that are cheap to compute, too."""
    random = randomness.Random(f"slots {seed}")
    few, keep = checkpoints._FEW, keeping._KEEP
    chosen: list[tuple[object, str, Any]] = [
        (leaves, "_DIGIT", random.choice((1, 2, leaves._DIGIT))),
        (leaves, "_FEW", random.choice(((1, 1, 1), (2, 2, 4), (2, 8, 16), leaves._FEW))),
        (leaves, "_MANY", random.choice(((1, 1, 1), (2, 2, 4), (2, 8, 16), leaves._MANY))),
        (checkpoints, "_FEW", random.choice((0, 8, few))),
        (checkpoints, "_MANY", random.choice((0, 8, few, checkpoints._MANY))),
        (keeping, "_KEEP", random.choice((0.1, 0.6, keep, 100 * keep))),
        (offload, "_ON_STACK", random.choice((16, offload._ON_STACK))),
    ]
    with ExitStack() as stack:
        for module, name, value in chosen:
            stack.enter_context(patch.object(module, name, value))
        yield


def execute_derivatives(
    program: Program, configuration: Configuration, modes: Sequence[str] = ("jvp",), machine: str = ""
) -> Outcome:
    """Check the derivatives of a program. `machine`: whose machine code runs as well, none if empty. The status says
    what a mode refuses."""
    configuration = replace(configuration, arch="cpu", default_fp=program.float_of("f64") if program.smooth else "f64")
    if program.floats != "f64":
        modes = [mode for mode in modes if mode == "vjp"]  # differences and Hessians need more digits
    with warnings.catch_warnings(), np.errstate(all="ignore"), redirect_stdout(io.StringIO()), ExitStack() as stack:
        warnings.simplefilter("ignore")
        try:
            with applied(configuration), prepared(program, False) as (data, kernel):
                judge = Judge(kernel, data, ti.lang.program.init.program().config)
                stack.enter_context(few_slots(program.name))
                return _judged(program, judge, modes, Machine(configuration, machine) if machine else None)
        except Fault as fault:
            return Outcome("faulted", fault.message)
        except InternalError as error:
            return Outcome("crash", f"InternalError: {error}\n{traceback.format_exc()[-2500:]}")
        except CompilationError as error:
            return Outcome("told", f"{type(error).__name__}: {error}")
        except Exception as error:
            return Outcome("crash", f"{type(error).__name__}: {error}\n{traceback.format_exc()[-2500:]}")


def _judged(program: Program, judge: Judge, modes: Sequence[str], machine: Machine | None) -> Outcome:
    seed = int(re.sub(r"\D", "", program.name) or 0) % 1000
    counts, refused = Counter[str](), dict[str, str]()
    for mode in modes:
        subject = Subject(judge, f"{program.name} {mode}", judge.config, machine, program.floats)
        try:
            wrong = CHECKS[mode](subject, seed, counts)
        except InternalError:
            raise
        except CompilationError as error:
            refused[mode] = str(error)
            continue
        if wrong:
            return Outcome("differs", f"{mode}, {wrong}")
    if not refused:
        return Outcome("same", "", counts=counts)
    status = f"refuses {', '.join(refused)}: {' | '.join(dict.fromkeys(map(_words, refused.values())))}"
    return Outcome(status, "\n".join(refused.values()), counts=counts)


def _words(message: str) -> str:
    """The first line of a message, without names and numbers."""
    text = message.partition("\n")[0]
    return re.sub(r"'[^']*'", "'...'", re.sub(r"\d+", "N", text))
