"""The log of launches: `WEFT_LOG=launch`. While it is on, calls of kernels go through Python instead of native code."""

from __future__ import annotations

import logging
import reprlib
import threading
from collections.abc import Callable, Sequence
from time import perf_counter, time
from typing import Any

from weft.lang.logs.topics import LAUNCH, Topic
from weft.lang.measure import watching
from weft.lang.program.init import current_program

__all__ = ["switch", "told_launch"]


def told_launch(kernel: Any, call: Callable[..., Any], args: Sequence[Any], keywords: dict[str, Any]) -> Any:
    """Run `call(*args, **keywords)`, which launches `kernel`, and log it. (A `Watch`. On a GPU, the logged time is that
    of the call; the work continues.)"""
    if LAUNCH.logger.isEnabledFor(logging.DEBUG):
        LAUNCH.debug("%s(%s)", kernel.__name__, ", ".join(map(reprlib.repr, (*args, *keywords.values()))))
    began = perf_counter()
    answer = call(*args, **keywords)
    _launches.tell(kernel.__name__, (perf_counter() - max(began, watching.launch_began())) * 1e6)
    return answer


class _Quick(threading.local):
    """A message that is logged many times. `logging` takes 3 us to make a record, mostly to find the calling line,
    which is always this one. The first record serves as a template for the others of its thread."""

    _pattern: dict[str, Any] | None = None

    def __init__(self, topic: Topic, message: str) -> None:
        self._logger, self._message = topic.logger, message

    def tell(self, *values: Any) -> None:
        """Log the message at level "info"."""
        logger, pattern = self._logger, self._pattern
        if not logger.isEnabledFor(logging.INFO):
            return
        if pattern is None or logging.getLogRecordFactory() is not logging.LogRecord:
            record = logger.makeRecord(logger.name, logging.INFO, __file__, 0, self._message, values, None)
            self._pattern = vars(record) | ({"taskName": None} if hasattr(record, "taskName") else {})
        else:
            record = logging.LogRecord.__new__(logging.LogRecord)
            told = record.__dict__
            told.update(pattern)
            told["args"], told["created"] = values, time()
            told["msecs"] = float(int(told["created"] % 1 * 1e3))
            told["relativeCreated"] += (told["created"] - pattern["created"]) * 1e3
        logger.handle(record)


_launches = _Quick(LAUNCH, "%s: %.1f us")


def switch(on: bool) -> None:
    """Turn the watch of launches on or off, and make calls that run natively go through Python once more."""
    (watching.begin if on else watching.end)(told_launch)
    current = current_program()
    if current is not None:
        current.retake()
