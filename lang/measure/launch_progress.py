"""`ti.progress(total)`: the progress of a launch, counted in its kernel.

A kernel adds 1 / total to a number for each call, which is a reduction: each thread adds what it has counted at the end
of each chunk of the loop. While a launch runs, the thread that draws bars reads the number.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Sequence
from typing import Any

from weft.lang.data.make_field import field
from weft.lang.functions.func import func
from weft.lang.logs import progress as bars
from weft.lang.measure import watching
from weft.lang.program import init as program_state
from weft.lang.values.builtins import cast, static
from weft.lang.values.types import f64

__all__ = ["progress"]


class _Counters:
    """The number of each program that has a kernel with `ti.progress`."""

    def __init__(self) -> None:
        self._fields: weakref.WeakKeyDictionary[Any, Any] = weakref.WeakKeyDictionary()

    @property
    def is_read(self) -> bool:
        """Whether the number can be read while a launch runs: it is in the memory of the CPU."""
        return not program_state.program().backend.own_memory

    @property
    def done(self) -> Any:
        """The number of the current program. From the first access on, its launches are watched."""
        program = program_state.program()
        found = self._fields.get(program)
        if found is None:
            found = self._fields[program] = field(f64, (), name="ti.progress")
            watching.begin(_watched)
        return found

    def of(self, program: Any) -> Any:
        """The number of that program, or None."""
        return None if program is None else self._fields.get(program)

    def follow(self, program: Any, began: bool) -> None:
        """Stop watching launches when a program with a number ends: native code makes the calls of the next one."""
        if not began and self._fields.pop(program, None) is not None:
            watching.end(_watched)


_counters = _Counters()


@func
def progress(total: Any) -> None:
    """Count a part of the work of a launch, in a kernel. `total` is the number of calls of one launch. If the launch
    takes more than a second, a terminal or a notebook shows a progress bar with the time that is left.

    Counting is a sum, which costs next to nothing and keeps loops vectorized. Threads report it when they have finished
    a chunk of the loop, so the bar moves in steps. On a GPU, nothing is counted and there is no bar. Outside of
    kernels, use `tqdm`.

    Example:
        x = ti.field(ti.f32, 1000)

        @ti.kernel
        def work(n: ti.i32):
            for i in range(n):
                x[i] = ti.sqrt(i)
                ti.progress(n)

        work(1000)
        x[100]  # 10.0
    """
    if static(_counters.is_read):
        _counters.done[None] += 1.0 / cast(total, f64)


def _watched(kernel: Any, call: Callable[..., Any], args: Sequence[Any], keywords: dict[str, Any]) -> Any:
    """Run `call(*args, **keywords)`, which launches `kernel`, with a bar that shows what it counts. (A `Watch`.)"""
    counter = _counters.of(program_state.current_program())
    if counter is None:
        return call(*args, **keywords)
    before = counter[None]
    with bars.measured(kernel.__name__, lambda: counter[None] - before):
        return call(*args, **keywords)


program_state.follow_programs(_counters.follow)
