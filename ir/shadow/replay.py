"""Evaluates a launch again on a copy of its memory: as the program says, or in a variant that the program allows as
well.

The result of a kernel may depend on what its meaning leaves open. One part is the order of iterations: the old values
of atomics, and the rounding of sums by atomics. The other part is rounding: of every operation with `fast_math`, else
of functions such as `sin`, which each library rounds in its own way. A `Variant` varies these: it runs the iterations
in another order, and moves results by some units in the last place, all up, all down, or each at random. The amount by
which a number moves between variants therefore shows how far it may be off, after any cancellation, branch or
convergence on its way.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Any

import numpy as np

from weft.ir import evaluate as evaluate  # registers the meaning of control ops
from weft.ir import ops
from weft.ir.adversary import Schedule
from weft.ir.config import CompileConfig
from weft.ir.core import Block, Op
from weft.ir.machine import Course, Env, Machine, Run, Steps
from weft.ir.memory_model import Fault, Memory, Place, convert
from weft.ir.scalar import BINARY
from weft.ir.shadow.launch import ArrayPlace, Image, Launch
from weft.ir.types import element

__all__ = ["AS_WRITTEN", "ORDERS", "VARIANTS", "Outcome", "Variant", "is_loose", "replay"]


@dataclass(frozen=True)
class Variant:
    """`schedule`: the order in which the iterations of parallel loops run, and how they interleave; None: serially.
    `moves`: 1 moves rounded results up, -1 down, None leaves them. Any other number is the seed of a generator that
    moves each result at random."""

    schedule: Schedule | None = None
    moves: int | None = None


AS_WRITTEN = Variant()
ORDERS = tuple(Variant(Schedule(seed)) for seed in range(4))
VARIANTS = (
    *ORDERS[:2],
    *(Variant(None, 1), Variant(ORDERS[0].schedule, -1)),
    *(Variant(Schedule(seed) if seed % 2 else None, seed) for seed in range(2, 14)),
)


@dataclass
class Outcome:
    """The result of a launch: memory, the scalars of its results, the text of each print, and the fault that ended it,
    if any. `work`: the number of ops that it ran."""

    image: Image
    results: Sequence[Any] = ()
    printed: list[str] = field(default_factory=list[str])
    fault: Fault | None = None
    work: int = 0


def replay(
    kernel: ops.Kernel,
    functions: Sequence[ops.Kernel],
    launch: Launch,
    config: CompileConfig,
    limit: int,
    variant: Variant = AS_WRITTEN,
) -> Outcome:
    """Evaluate that launch of `kernel`, which calls `functions`. More ops than `limit` are a fault, "endless"."""
    image = launch.image.copy()
    memory = Memory([image.bytes(*span) for span in launch.trees])
    args = [image.array(arg) if isinstance(arg, ArrayPlace) else arg for arg in launch.args]
    course = Course(limit, launch.key, schedule=variant.schedule)
    machine = _Replay(kernel, memory, config, course, {one.symbol: one for one in functions})
    machine.vary(variant)
    outcome = Outcome(image, printed=memory.printed)
    try:
        outcome.results = machine.run(args)
    except Fault as fault:
        outcome.fault = fault
    outcome.work = limit - course.fuel
    return outcome


# ---- what may be rounded otherwise -----------------------------------------------------------------------------------

# How many units in the last place a result may be off, by the kind of operator. (Half a unit each is what rounding
# costs: what LLVM makes of several operations with `fast_math` is off by no more than these together.)
_ROUNDED = {"add": 2, "sub": 2, "mul": 2, "div": 3, "raw_div": 3, "sqrt": 3}
_FUNCTIONS = frozenset(
    (
        *("sin", "cos", "tan", "asin", "acos", "atan", "sinh", "cosh", "tanh"),
        *("exp", "exp2", "log", "log2", "pow", "atan2", "rsqrt"),
    )
)
_OF_FUNCTION = 4  # of libmvec, and of libdevice
_OF_HARDWARE = 24  # a GPU's approximations for `fast_math` (see `codegen/nvptx/approximate.py`)
_JUMPS = frozenset(("floordiv", "mod", "raw_mod"))  # a different rounding of the quotient changes them by whole numbers


def _units(op: Op, config: CompileConfig) -> tuple[int, int]:
    """How far the operands of `op`, and its result, may be moved."""
    if not isinstance(op, (ops.Unary, ops.Binary, ops.Reduce, ops.MatMul)) or not element(op.operands[0].type).is_float:
        return 0, 0
    kind = op.kind if not isinstance(op, ops.MatMul) else "mul"
    if kind in _FUNCTIONS:
        hardware = config.fast_math and config.traits.approximates
        return (1, _OF_HARDWARE) if hardware else (int(config.fast_math), _OF_FUNCTION)
    if not config.fast_math:
        return 0, 0
    if isinstance(op, (ops.Reduce, ops.MatMul)):
        return (2, 2) if kind in _ROUNDED else (0, 0)
    return (2, 0) if kind in _JUMPS else (0, _ROUNDED.get(kind, 0))


def is_loose(kernels: Sequence[ops.Kernel], config: CompileConfig) -> bool:
    """Whether anything in those kernels may be rounded otherwise."""
    found = (op for kernel in kernels for op in kernel.walk())
    return any(_units(op, config) != (0, 0) or _adds_floats(op) for op in found)


def _adds_floats(op: Op) -> bool:
    return isinstance(op, ops.Atomic) and op.kind in _ROUNDED and element(op.type).is_float


# ---- the machine -----------------------------------------------------------------------------------------------------


class _Replay(Machine):
    """Counts ops, and runs them as a variant says."""

    variant = AS_WRITTEN
    random: Random
    touched: dict[tuple[int, int], int]  # which iteration last added to a number in memory

    def vary(self, variant: Variant) -> None:
        """Run as `variant` says."""
        self.variant, self.random, self.touched = variant, Random(variant.moves or 0), {}

    def callee(self, name: str) -> Machine:
        if name in self.functions and name not in self.called:
            made = _Replay(self.functions[name], self.memory, self.config, self.course, self.functions)
            made.variant, made.random, made.touched, made.called = self.variant, self.random, self.touched, self.called
            self.called[name] = made
        return super().callee(name)

    def block(self, block: Block) -> Run:
        run, count, course = super().block(block), len(block), self.course

        def counted(env: Env) -> Any:
            course.fuel -= count
            if course.fuel < 0:
                raise Fault("endless", "the program executes more ops than the evaluator's limit")
            return run(env)

        return counted

    def stepped(self, block: Block) -> Steps:
        steps, count, course = super().stepped(block), len(block), self.course

        def counted(env: Env) -> Generator[None, None, Any]:
            course.fuel -= count
            if course.fuel < 0:
                raise Fault("endless", "the program executes more ops than the evaluator's limit")
            return steps(env)

        return counted

    def op(self, op: Op) -> Run:
        run = super().op(op)
        if self.variant.moves is None:
            return run
        if _adds_floats(op):
            return self._moved_atomic(op)
        operands, result = _units(op, self.config)
        return self._moved(op, run, operands, result) if operands or result else run

    def _moved(self, op: Op, run: Run, operands: int, result: int) -> Run:
        slots = self.slot_list(list(dict.fromkeys(op.operands))) if operands else []

        def moved(env: Env) -> Any:
            before = [env[slot] for slot in slots]
            for slot, value in zip(slots, before):
                env[slot] = self.move(value, operands)
            found = run(env)
            for slot, value in zip(slots, before):
                env[slot] = value
            return self.move(found, result)

        return moved

    def _moved_atomic(self, op: Any) -> Run:
        """What several iterations add to is added up in any order: each sum is rounded otherwise."""
        ptr, operand, kind, type = self.slot(op.ptr), self.slot(op.value), op.kind, op.type

        def run(env: Env) -> Any:
            place: Place = env[ptr]
            old, value = place.load(type), convert(env[operand], type)
            total = BINARY[kind].evaluate(old, value)
            key, iteration = (id(place.buffer), place.offsets[0]), self.course.iteration
            if self.config.fast_math or self.touched.setdefault(key, iteration) != iteration:
                total = self.move(total, _ROUNDED[kind])
            self.touched[key] = iteration
            place.store(total, type)
            return old

        return run

    def move(self, value: Any, units: int) -> Any:
        """A float, or a tensor of floats, moved by up to this many units in the last place. Zero stays."""
        if not units or getattr(value, "dtype", None) is None or value.dtype.kind != "f":
            return value
        sign = self.variant.moves
        by: Any = sign if sign in (1, -1) else self.random.choice((-1, 0, 1))
        if sign not in (1, -1) and value.ndim:
            by = np.array([self.random.choice((-1, 0, 1)) for _ in range(value.size)], value.dtype).reshape(value.shape)
        with np.errstate(all="ignore"):
            moved = (value + np.spacing(value) * value.dtype.type(units) * by).astype(value.dtype)
            return np.where(np.isfinite(value) & (value != 0), moved, value)[()]
