"""One run of a kernel by the evaluator: how ops become closures, and the state they share.

Each op is compiled to a Python closure `run(env)` by the function that its class has in `RUNNERS`. A closure of a value
op gives the value; any other gives None, or how control leaves its block. `env` is a list with a slot per value. Values
are numpy scalars, numpy arrays (tensors), tuples (structs), arguments as given (arrays), and `Place`s (pointers).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from enum import Enum
from typing import Any, TypeVar

import numpy as np

from weft.ir import ops
from weft.ir.config import CompileConfig
from weft.ir.core import Block, Op, Value
from weft.ir.errors import InternalError
from weft.ir.memory_model import Fault, Memory, convert, unflatten
from weft.ir.philox import launch_key, number
from weft.ir.types import VOID, Array, Pointer, Prim, Type, flat_size

__all__ = ["RUNNERS", "Env", "Flow", "Machine", "Run", "pointee", "runs"]

Env = list[Any]
Run = Callable[[Env], Any]
OpT = TypeVar("OpT", bound=Op)


class Flow(Enum):
    """How control leaves a block before its end."""

    BREAK = 1
    CONTINUE = 2
    YIELD = 3
    END = 4


class Machine:
    """One evaluation: where values live, the arguments, and the state that outlives a block."""

    def __init__(
        self, kernel: ops.Kernel, args: Sequence[Any], memory: Memory, config: CompileConfig, limit: int
    ) -> None:
        self.kernel, self.memory, self.config, self.fuel = kernel, memory, config, limit
        self.slots: dict[Value, int] = {}
        types = [param.type for param in kernel.params]
        self.args = [a if isinstance(t, Array) else convert(a, t) for a, t in zip(args, types, strict=True)]
        self.temporaries = np.ones(kernel.temp_bytes, np.uint8)
        self.key, self.iteration, self.draws, self.serial_draws = launch_key(config.random_seed), 0, 0, 0
        self.result_scalars: list[Any] = [0] * sum(map(flat_size, kernel.results))
        self.box: tuple[list[int], list[int]] = ([], [])

    def slot(self, value: Value) -> int:
        """The place of a value in `env`."""
        return self.slots.setdefault(value, len(self.slots))

    def slot_list(self, values: Sequence[Value]) -> list[int]:
        """The places of several values."""
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

    def op(self, op: Op) -> Run:
        """An op as one closure."""
        if type(op) not in RUNNERS:
            raise InternalError(f"evaluate: no meaning for op '{op.opname}'")
        return RUNNERS[type(op)](self, op)

    def burn(self) -> None:
        """Count a loop iteration."""
        self.fuel -= 1
        if self.fuel < 0:
            raise Fault("endless", "the program runs too many loop iterations")

    def draw(self, prim: Prim, stream: int) -> Any:
        """The next random number: of the iteration that runs, or of the code around the parallel loops."""
        if stream:
            self.draws += 1
            return number(prim, self.key, self.iteration, self.draws - 1, stream)
        self.serial_draws += 1
        return number(prim, self.key, 0, self.serial_draws - 1, 0)

    def results(self) -> list[Any]:
        """The kernel's results from the scalars stored so far."""
        found: list[Any] = []
        start = 0
        for kind in self.kernel.results:
            count = flat_size(kind)
            found.append(unflatten(self.result_scalars[start : start + count], kind))
            start += count
        return found


RUNNERS: dict[type[Op], Callable[[Machine, Any], Run]] = {}
Runner = Callable[[Machine, OpT], Run]


def runs(kind: type[OpT]) -> Callable[[Runner[OpT]], Runner[OpT]]:
    """Register how ops of class `kind` become closures."""

    def register(function: Runner[OpT]) -> Runner[OpT]:
        RUNNERS[kind] = function
        return function

    return register


def pointee(value: Value) -> Type:
    """The type that a pointer value points to."""
    assert isinstance(value.type, Pointer), value
    return value.type.elem
