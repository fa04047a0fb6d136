"""Launches that record values for their gradients (`ir/autodiff/records.py`)."""

from __future__ import annotations

from collections.abc import Callable
from contextvars import ContextVar
from functools import partial
from typing import Any
from weakref import ref

from weft.ir.errors import WeftError
from weft.ir.types import i64
from weft.lang.autodiff.contexts import suspended
from weft.lang.data.ndarray import ndarray_over
from weft.lang.kernels.kernel import kernel
from weft.lang.program.init import program
from weft.lang.values.kinds import Longs
from weft.lang.values.makers import MAKERS

__all__ = ["RecordedLaunch"]

_MOST = 2**31 - 1  # records of a launch
_RETAINED = 1 << 30  # bytes of records up to which their memory is used again


class RecordedLaunch:
    """A launch of the recording kernel `recorder`, which gives its records to a launch of the gradient. `counter` gives
    the counting kernel. `size`: the bytes of the records. It raises KernelFault if they do not fit into the memory that
    is free, and WeftError if there are too many."""

    size = 0
    _launch: Any = None
    _count: Callable[[], int]

    def __init__(self, recorder: Any, counter: Callable[[], Any], gradient: Any) -> None:
        self._recorder, self._counter, self._gradient = recorder, counter, gradient
        self._text = gradient.instance.facts.records
        number, *types = self._text.split()
        self._number, self._grows = number, types[:1] == ["+"]

    def run(self, *args: Any, **keywords: Any) -> Any:
        """Make the launch with these arguments."""
        self.bind(args, keywords)
        return self.make()

    def bind(self, args: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
        """Find the launch with these arguments, and return it."""
        with suspended():
            self._launch = self._recorder.bind(args, keywords)
            if self._launch.instance.facts.records != self._text:
                name = self._recorder.__name__
                raise WeftError(f"the records of {name}() are not those that its gradient reads: {self._text}")
            self._count = (
                partial(_counted, self._counter().bind(args, keywords))
                if self._number == "?"
                else partial(int, self._number)
            )
            return self._launch

    def make(self) -> Any:
        """Make it."""
        with suspended():
            return self._made()

    def __call__(self) -> None:
        """Make it again, with the same arguments."""
        self.make()

    def _made(self) -> Any:
        records = _room(self._count(), self._grows)
        self._launch.give_last(records)
        try:
            result = self._launch()
        finally:
            self._launch.give_last(MAKERS.ndarray(i64, 1))
        self._give(_shrunk(records) if self._grows else records)
        return result

    def _give(self, records: Any) -> None:
        self._gradient.give_last(records)
        _LATEST.set((self._text, ref(records)))
        self.size = 8 * int(records.shape[0])

    def drop(self) -> None:
        """Drop the records. The launch must be made again before its gradient runs."""
        self._give(MAKERS.ndarray(i64, 1))


_LATEST: ContextVar[tuple[str, Any]] = ContextVar("latest_records")  # what is in those of the latest launch, and where


def shared_launch(call: Callable[..., Any], gradient: Any) -> Callable[..., Any]:
    """What makes a launch that a tape around this one records, and gives its records to a launch of the gradient, too.
    `call` makes it."""

    def run(*args: Any, **keywords: Any) -> Any:
        result = call(*args, **keywords)
        text, records = _LATEST.get()
        if text != gradient.instance.facts.records:
            raise WeftError("two tapes, one in the block of the other, need different records of a launch")
        gradient.give_last(records())
        return result

    return run


def _counted(launch: Any) -> int:
    """The number of places that a launch needs."""
    launch()
    return int(launch.flat[-1][0])


def _room(count: int, grows: bool) -> Any:
    """An array with so many places. If the number of records `grows`, it has more: half of the memory that is free on a
    CPU, where it is reserved and takes the pages that are used, and an eighth of that of a GPU. That of a CPU is used
    again, because a new page of the system costs more than what is stored there. It is not if much more memory has
    become free."""
    if count > _MOST:
        raise WeftError(f"a tape cannot keep {count} values for the gradient of one launch")
    if grows:
        present = program()
        memory, on_cpu = present.device.memory, present.backend.lowered_as == "cpu"
        most = min(_MOST, memory.free // (8 * (2 if on_cpu else 8)))
        with present.lock:  # (two threads may want it)
            arena, present.arena = present.arena, None
        if arena is not None and arena.shape[0] >= max(count, most // 2):
            return arena
        count = max(count, most)
        if on_cpu:
            reserved = memory.reserve(8 * count, "records for gradients", grows=True)
            return ndarray_over(i64, (count,), memory.view(reserved, i64.np, (count,)))
    return MAKERS.ndarray(i64, max(count, 1))


def _shrunk(records: Any) -> Any:
    """Those records that were stored. The first one says how many there are."""
    used, present = int(records[0]), program()
    made = MAKERS.ndarray(i64, used)
    _copy(records, made)
    if present.backend.lowered_as == "cpu" and 8 * used <= _RETAINED:
        present.arena = records
    return made


@kernel
def _copy(source: Longs, target: Longs) -> None:
    for i in range(target.shape[0]):
        target[i] = source[i]
