"""One run of a kernel in the evaluator: how ops become closures, and the state that they share.

The function in `RUNNERS` for the class of an op compiles the op to a Python closure `run(env)`. The closure of a value
op gives the value. Any other closure gives None, or how control leaves its block. `env` is a list with a slot per
value. Values are numpy scalars, numpy arrays (tensors), tuples (structs), arguments as given (arrays), and `Place`s
(pointers).
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Hashable, Sequence
from dataclasses import dataclass, field
from enum import Enum
from functools import cached_property
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from weft.ir import ops
from weft.ir.addresses import root_of
from weft.ir.alias import is_access
from weft.ir.config import CompileConfig
from weft.ir.core import Block, Op, Value
from weft.ir.errors import InternalError
from weft.ir.memory_model import Fault, Memory, convert, unflatten
from weft.ir.philox import number
from weft.ir.registry import registers
from weft.ir.scalar import cast_value
from weft.ir.simt import Seat
from weft.ir.types import VOID, Array, Prim, Type, flat_size, flatten

if TYPE_CHECKING:
    from weft.ir.interleaving import Schedule
    from weft.ir.iteration_accesses import IterationAccesses
    from weft.ir.meetings import Meeting
    from weft.ir.scopes import Scope
    from weft.ir.weak_memory import View

__all__ = [
    "RUNNERS",
    "WEAK_RUNNERS",
    "Course",
    "Env",
    "Flow",
    "Machine",
    "Run",
    "Steps",
    "regrouped",
    "runs",
    "runs_weakly",
    "steps",
]

Env = list[Any]
Run = Callable[[Env], Any]
Steps = Callable[[Env], Generator[None, None, Any]]  # the same, stopping before each access that others can see


_PATIENCE = 20_000  # iterations after the end of the fuel, where interrupts wait


class Flow(Enum):
    """How control leaves a block before its end."""

    BREAK = 1
    CONTINUE = 2
    YIELD = 3
    END = 4


@dataclass
class Course:
    """The state that a kernel and the functions it calls share while they run: the remaining loop iterations, the open
    calls, and the state of random numbers."""

    fuel: int
    key: int
    held: int = 0  # more than 0: interrupts wait, see `Machine.burn`
    calls: int = 0
    stream: int = 0  # of the innermost call; 0 outside of them
    iteration: int = 0
    draws: int = 0
    serial_draws: int = 0
    loops: int = 0  # parallel loops begun
    schedule: Schedule | None = None  # how iterations interleave; None: one after the other
    view: View | None = None  # the view of the running thread, if memory is weak
    moved: dict[Scope, Any] = field(default_factory=dict)  # fields that the thread has a copy of: the bytes of its tree
    seat: Seat = field(default_factory=Seat)  # of the running thread of a GPU
    arrays: dict[Hashable, Any] = field(default_factory=dict)  # the arrays of its block
    meeting: Meeting | None = None  # where it has just begun to wait for others


class Machine:
    """One evaluation of a kernel, or of a function that it calls: the slots of values, the arguments, and the state
    that outlives a block. `functions` are the functions that `invoke` finds by name."""

    def __init__(
        self,
        kernel: ops.Kernel,
        memory: Memory,
        config: CompileConfig,
        course: Course,
        functions: dict[str, ops.Kernel],
    ) -> None:
        self.kernel, self.memory, self.config, self.course, self.functions = kernel, memory, config, course, functions
        self.slots: dict[Value, int] = {}
        self.called: dict[str, Machine] = {}
        self.args: list[Any] = []
        self.temporaries = np.ones(kernel.temp_bytes, np.uint8)
        self.result_scalars: list[Any] = []
        self.box: tuple[list[int], list[int]] = ([], [])
        self.recorded: IterationAccesses | None = None  # where the accesses of ops that become closures are recorded

    @cached_property
    def body(self) -> Run:
        """The whole kernel as one closure."""
        return self.block(self.kernel.body)

    @cached_property
    def stepped_body(self) -> Steps:
        """The same, for a function that interleaved iterations call."""
        return self.stepped(self.kernel.body)

    def run(self, args: Sequence[Any]) -> list[Any]:
        """The scalars of the results for these arguments. The function may be running already in an outer call."""
        outer = self.args, self.result_scalars
        self.args, self.result_scalars = self._frame(args)
        body = self.body
        try:
            with np.errstate(all="ignore"):
                body([None] * len(self.slots))
            return self.result_scalars
        finally:
            self.args, self.result_scalars = outer

    def run_stepped(self, args: Sequence[Any]) -> Generator[None, None, list[Any]]:
        """The same as a generator. Between its steps, other iterations may run the function with
        frames of their own."""
        outer, mine = (self.args, self.result_scalars), self._frame(args)
        body = self.stepped_body
        running = body([None] * len(self.slots))
        self.args, self.result_scalars = mine
        try:
            while next(running, self) is not self:
                mine = self.args, self.result_scalars
                yield
                self.args, self.result_scalars = mine
            return self.result_scalars
        finally:
            self.args, self.result_scalars = outer

    def _frame(self, args: Sequence[Any]) -> tuple[list[Any], list[Any]]:
        types = [param.type for param in self.kernel.params]
        given = [a if isinstance(t, Array) else convert(a, t) for a, t in zip(args, types, strict=True)]
        return given, [cast_value(0, prim) for type in self.kernel.results for prim in flatten(type)]

    def callee(self, name: str) -> Machine:
        """The machine of a function. There is one, however often the function is called."""
        if name not in self.functions:
            raise InternalError(f"evaluate: there is no function '{name}'")
        if name not in self.called:
            made = Machine(self.functions[name], self.memory, self.config, self.course, self.functions)
            made.called = self.called
            self.called[name] = made
        return self.called[name]

    def slot(self, value: Value) -> int:
        """The slot of a value in `env`."""
        return self.slots.setdefault(value, len(self.slots))

    def slot_list(self, values: Sequence[Value]) -> list[int]:
        """The slots of several values."""
        return [self.slot(value) for value in values]

    def block(self, block: Block) -> Run:
        """A block as one closure."""
        steps = [(-1 if op.type is VOID else self.slot(op), self.op(op)) for op in block]

        def run(env: Env) -> Flow | None:
            for out, step in steps:
                result = step(env)
                if out >= 0:
                    env[out] = result
                elif result is not None:
                    flow: Flow = result
                    return flow
            return None

        return run

    def stepped(self, block: Block) -> Steps:
        """A block as a generator that stops before each access to memory that other iterations can reach."""
        made = [(-1 if op.type is VOID else self.slot(op), *self.step(op)) for op in block]

        def run(env: Env) -> Generator[None, None, Flow | None]:
            for out, visible, plain, steps in made:
                if visible:
                    yield
                result = plain(env) if plain is not None else (yield from steps(env))
                if out >= 0:
                    env[out] = result
                elif result is not None:
                    flow: Flow = result
                    return flow
            return None

        return run

    def step(self, op: Op) -> tuple[bool, Run | None, Steps]:
        """Whether others can observe the op, and how it runs: at once, or in steps."""
        if type(op) in STEPPERS:
            return False, None, STEPPERS[type(op)](self, op)
        private = is_access(op) and type(root_of(op.ptr)) is ops.Alloca
        visible = (op.effect == "address" and not private) or op.orders()
        weak = visible and self.course.schedule is not None and self.course.schedule.weak
        if weak and type(op) in WEAK_RUNNERS:
            return True, self.recording(op, WEAK_RUNNERS[type(op)](self, op)), _no_steps
        return visible, self.op(op), _no_steps

    def op(self, op: Op) -> Run:
        """An op as one closure."""
        if type(op) not in RUNNERS:
            raise InternalError(f"evaluate: op '{op.opname}' has no row in the evaluator")
        return self.recording(op, RUNNERS[type(op)](self, op))

    def recording(self, op: Op, run: Run) -> Run:
        """The closure of an op, which records its access if accesses are recorded."""
        recorded, course = self.recorded, self.course
        if recorded is None or not recorded.counts(op):
            return run
        assert is_access(op)
        ptr = self.slot(op.ptr)

        def both(env: Env) -> Any:
            recorded.record(course.iteration, op, env[ptr])
            return run(env)

        return both

    def burn(self) -> None:
        """Count a loop iteration. The end of the fuel is like an interrupt."""
        self.course.fuel -= 1
        if self.course.fuel < 0 and self.left < 0:
            raise Fault("endless", "the program runs too many loop iterations")

    @property
    def left(self) -> int:
        """How many iterations may still run. Some more where interrupts wait, unless there is no end."""
        return self.course.fuel + (_PATIENCE if self.course.held or self.kernel.whole else 0)

    def afford(self, box: Sequence[range]) -> None:
        """Raise where the iterations of a box are more than may still run, before a list of them is made."""
        if prod(max(0, axis.stop - axis.start) for axis in box) > self.left:  # `len` stops at 63 bits
            raise Fault("endless", "the program runs too many loop iterations")

    def draw(self, prim: Prim, stream: int) -> Any:
        """The next random number of the current iteration, or of the code around the parallel loops."""
        now, stream = self.course, stream or self.course.stream
        if stream:
            now.draws += 1
            return number(prim, now.key, now.iteration, now.draws - 1, stream)
        now.serial_draws += 1
        return number(prim, now.key, 0, now.serial_draws - 1, 0)

    def drawn(self, prim: Prim, stream: int, draw: int, lane: int | None = None) -> Any:
        """The random number that the current iteration, or that of number `lane`, draws after so many others."""
        now, stream = self.course, stream or self.course.stream
        if lane is None:
            lane = now.iteration if stream else 0
        return number(prim, now.key, lane, draw, stream)


def regrouped(scalars: Sequence[Any], types: Sequence[Type]) -> list[Any]:
    """Values of these types from their scalars. An array is one item."""
    found: list[Any] = []
    start = 0
    for kind in types:
        count = 1 if isinstance(kind, Array) else flat_size(kind)
        part = scalars[start : start + count]
        found.append(part[0] if isinstance(kind, Array) else unflatten(part, kind))
        start += count
    return found


def _no_steps(env: Env) -> Generator[None]:
    raise InternalError("evaluate: this op cannot run in steps")
    yield


RUNNERS: dict[type[Op], Callable[[Machine, Any], Run]] = {}
STEPPERS: dict[type[Op], Callable[[Machine, Any], Steps]] = {}
WEAK_RUNNERS: dict[type[Op], Callable[[Machine, Any], Run]] = {}
runs = registers(RUNNERS)  # how ops of a class become closures
steps = registers(STEPPERS)  # the same in steps, for ops that contain other ops
runs_weakly = registers(WEAK_RUNNERS)  # accesses on weak memory, where each thread has a view of its own
