"""Launches that record values for their gradients (`ir/autodiff/records.py`)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from weft.ir.errors import WeftError
from weft.ir.types import i64
from weft.lang.autodiff.contexts import suspended
from weft.lang.kernels.kernel import kernel
from weft.lang.program.init import program
from weft.lang.values.kinds import Longs
from weft.lang.values.makers import MAKERS

__all__ = ["recording_launch"]

_MOST = 2**31 - 1  # records of a launch


def recording_launch(recorder: Any, counter: Callable[[], Any], gradient: Any) -> Callable[..., Any]:
    """What launches the recording kernel `recorder` with the arguments of a call, and gives its records to a launch of
    the gradient. `counter` gives the counting kernel. It raises KernelFault if the records do not fit into the memory
    that is free, and WeftError if there are too many."""
    text = gradient.instance.facts.records
    number, *types = text.split()
    grows = types[:1] == ["+"]

    def run(*args: Any, **keywords: Any) -> Any:
        with suspended():
            launch = recorder.bind(args, keywords)
            if launch.instance.facts.records != text:
                name = recorder.__name__
                raise WeftError(f"the records of {name}() are not those that its gradient reads: {text}")
            count = _counted(counter(), args, keywords) if number == "?" else int(number)
            records = _room(count, grows)
            launch.give_last(records)
            result = launch()
            gradient.give_last(_shrunk(records) if grows else records)
            return result

    return run


def _counted(counter: Any, args: tuple[Any, ...], keywords: dict[str, Any]) -> int:
    """The number of places that a launch needs."""
    launch = counter.bind(args, keywords)
    launch()
    return int(launch.flat[-1][0])


def _room(count: int, grows: bool) -> Any:
    """An array with so many places. If the number of records `grows`, it has more: half of the memory that is free, of
    which a CPU takes the pages that are used, and an eighth of that of a GPU."""
    if count > _MOST:
        raise WeftError(f"a tape cannot keep {count} values for the gradient of one launch")
    if grows:
        present = program()
        part = 2 if present.backend.lowered_as == "cpu" else 8
        count = max(count, min(_MOST, present.device.memory.free // (8 * part)))
    return MAKERS.ndarray(i64, max(count, 1))


def _shrunk(records: Any) -> Any:
    """Those records that were stored. The first one says how many there are."""
    made = MAKERS.ndarray(i64, int(records[0]))
    _copy(records, made)
    return made


@kernel
def _copy(source: Longs, target: Longs) -> None:
    for i in range(target.shape[0]):
        target[i] = source[i]
