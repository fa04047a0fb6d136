"""`ti.ad.steps`: a loop whose gradient needs a bounded memory."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Protocol

from weft.ir.errors import TypeMismatch
from weft.lang.arguments import shown, whole_of
from weft.lang.autodiff.contexts import active
from weft.lang.errors import ArgumentError
from weft.lang.program.init import program

__all__ = ["Loop", "steps"]


@dataclass(eq=False)
class Loop:
    """A loop that runs: `count` steps, of which step `step` runs. `bytes` is its memory. `first` is the number of the
    step among those of the outermost loop."""

    count: int
    bytes: int
    step: int = 0
    first: int = 0


class _Recorder(Protocol):
    """A tape."""

    def begin_step(self, loop: Loop) -> None:
        """A step of the loop begins."""

    def end_loop(self, loop: Loop) -> None:
        """The loop ends."""


def steps(n: int, memory: int | str | None = None) -> Iterator[int]:
    """The numbers from 0 to n - 1, for the loop of a long simulation under a tape.

    Example:
        x, v, loss = (ti.field(ti.f64, (), needs_grad=True) for _ in range(3))

        @ti.kernel
        def substep():
            v[None] -= 0.01 * ti.sin(x[None])
            x[None] += 0.01 * v[None]

        @ti.kernel
        def energy():
            loss[None] += 0.5 * v[None] ** 2 - ti.cos(x[None])

        x[None], v[None] = 1.0, 0.0
        with ti.ad.Tape(loss):
            for t in ti.ad.steps(1000, memory="2kB"):
                substep()
            energy()
        round(x.grad[None], 4)      # 0.8464

    The gradients are those without `steps`, but the values that they need take no more than `memory`: a number of
    bytes, or a text such as "500MB" or "2GiB". None means half of the memory that is free. If all values fit, they are
    kept. Otherwise the state is kept at some steps, and launches of kernels are made again from there. The state is
    what kernels overwrite; nothing has to be listed. The steps for it are chosen by binomial checkpointing (Griewank
    and Walther, Algorithm 799, ACM TOMS 26, 2000). With a memory of k states, n steps run about one more time each up
    to n = k^2 / 2, two more times each up to n = k^3 / 6.

    The body is Python. It runs once for each step. What is made again are its launches, with the same arguments and
    random numbers, and `fill`, `from_numpy`, `copy_from` and single elements that Python writes. So the body may
    compute arguments, read fields, branch, and end the loop with `break`. A kernel that prints, prints again. A loop
    inside of such a loop has its steps counted with it, and the lesser memory holds for both. In `ti.ad.grad`, `vjp`
    and `hvp` it holds as under a tape; in `hvp`, the state has the duals too. Without a tape, it is `range(n)`. So it
    is under a tape with `grad_check` or `save=False`, and in forward mode, which needs no old values.

    Raises MemoryTooSmall if `memory` is less than one step needs: twice the state, and what the gradients of the step
    read. Raises ArgumentError if Python has changed an array of numpy or torch that a kernel takes. Raises TypeMismatch
    or ValueError if n is no number of at least 0, and ArgumentError for another `memory`."""
    return _steps(whole_of(n, "the number of steps", 0), None if memory is None else _bytes_of(memory))


def _steps(count: int, bytes: int | None) -> Iterator[int]:
    recorders: list[_Recorder] = [one for one in active() if one.records]  # type: ignore[misc]
    if recorders and bytes is None:
        bytes = program().device.memory.free // 2
    loop = Loop(count, bytes or 0)
    try:
        for loop.step in range(count):
            for one in recorders:
                one.begin_step(loop)
            yield loop.step
    finally:
        for one in recorders:
            one.end_loop(loop)


def _bytes_of(memory: Any) -> int:
    """The number of bytes."""
    if isinstance(memory, bool) or (not hasattr(memory, "__index__") and not isinstance(memory, str)):
        raise TypeMismatch(f"memory must be a number of bytes, or a text such as '2GB', not {shown(memory)}")
    found = re.fullmatch(r"\s*(\d+\.?\d*|\.\d+)\s*(?:([kmgt])(i?)b?|b)?\s*", str(memory), re.IGNORECASE)
    if found is None:
        raise ArgumentError(
            f"memory must be a number of bytes, or a text such as '2GB' or '500 MiB', not {shown(memory)}"
        )
    number, unit, binary = found.groups()
    power = " kmgt".index(unit.lower()) if unit else 0
    return int(float(number) * (1024 if binary else 1000) ** power)
