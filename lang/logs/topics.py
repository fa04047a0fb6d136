"""What Weft tells of its own work, by topic: `WEFT_LOG=cache,launch:debug` or `weft.set_logs("cache", launch="debug")`.

Each topic is a logger of Python's `logging`, "weft.cache" and so on, and is silent until it is asked for. Code that
tells something asks `TOPIC.on` first, which is all that a silent topic costs. While launches are told of, calls of
kernels go by way of Python (see `measure/watching.py`).
"""

from __future__ import annotations

import logging
import os
import reprlib
import threading
from collections.abc import Callable, Sequence
from time import perf_counter, time
from typing import Any

from weft.ir.errors import WeftError
from weft.lang.logs.levels import level_number, show_on_stderr
from weft.lang.measure import watching

__all__ = [
    "CACHE",
    "CODEGEN",
    "LAUNCH",
    "MEMORY",
    "OFFLOAD",
    "PASSES",
    "TOPICS",
    "TRANSLATE",
    "VERIFY",
    "Topic",
    "set_logs",
    "told_launch",
]

_USUAL = "info"


class Topic:
    """One topic. `on`: whether it was asked for."""

    __slots__ = ("about", "logger", "name", "on")

    def __init__(self, name: str, about: str) -> None:
        self.name, self.about, self.on = name, about, False
        self.logger = logging.getLogger(f"weft.{name}")

    def info(self, message: str, *values: Any) -> None:
        """Tell that something happened."""
        self.logger.info(message, *values)

    def debug(self, message: str, *values: Any) -> None:
        """Tell the details, for level debug."""
        self.logger.debug(message, *values)


TRANSLATE = Topic("translate", "kernels that are translated, and what they are compiled for")
PASSES = Topic("passes", "passes that changed the IR (debug: all of them), with times")
OFFLOAD = Topic("offload", "the tasks of a kernel, and what each reads and writes")
CODEGEN = Topic("codegen", "the stages of code generation, with times")
CACHE = Topic("cache", "kernels found on disk, or kept there")
LAUNCH = Topic("launch", "launches, with times (debug: with arguments)")
MEMORY = Topic("memory", "what is allocated and freed")
VERIFY = Topic("verify", 'launches that are verified, with verify="results", and why others are not')

TOPICS: dict[str, Topic] = {
    one.name: one for one in (TRANSLATE, PASSES, OFFLOAD, CODEGEN, CACHE, LAUNCH, MEMORY, VERIFY)
}


def set_logs(*names: Any, **levels: Any) -> None:
    """Tell of these topics on stderr, and of no others: `set_logs("cache", launch="debug")`. `names` are topics (their
    level is "info") or "all"; the keywords are topics with levels: TRACE, DEBUG, INFO, WARN, ERROR, CRITICAL. Without
    arguments all are silent. WeftError for what is no topic or no level."""
    wrong = next((name for name in names if not isinstance(name, str)), None)
    if wrong is not None:
        raise WeftError(f"a log is named by a string, not by {wrong!r}; there are {', '.join(TOPICS)}, and 'all'")
    asked = {**{name: _USUAL for name in names if name != "all"}, **levels}
    if "all" in names or "all" in levels:
        level = asked.pop("all", _USUAL)
        asked = {**dict.fromkeys(TOPICS, level), **asked}
    for name in asked:
        if name not in TOPICS:
            raise WeftError(f"there is no log {name!r}; there are {', '.join(TOPICS)}, and 'all'")
    numbers = {name: level_number(level) for name, level in asked.items()}
    launches = LAUNCH.on
    for name, topic in TOPICS.items():
        topic.on = name in numbers
        topic.logger.setLevel(numbers.get(name, logging.NOTSET))
    if numbers:
        show_on_stderr()
    if LAUNCH.on != launches:
        (watching.begin if LAUNCH.on else watching.end)(told_launch)
        _retake()


def told_launch(kernel: Any, call: Callable[..., Any], args: Sequence[Any], keywords: dict[str, Any]) -> Any:
    """`call(*args, **keywords)`, which launches `kernel`, told of. (A `Watch`. On a GPU the time is that of the call;
    work goes on.)"""
    if LAUNCH.logger.isEnabledFor(logging.DEBUG):
        LAUNCH.debug("%s(%s)", kernel.__name__, ", ".join(map(reprlib.repr, (*args, *keywords.values()))))
    began = perf_counter()
    answer = call(*args, **keywords)
    _launches.tell(kernel.__name__, (perf_counter() - max(began, watching.launch_began())) * 1e6)
    return answer


class _Quick(threading.local):
    """One message that is told many times: `logging` takes 3 us to make a record, most of it to find out where it is
    told from, which is here. One that it made serves as a pattern for the others of its thread."""

    _pattern: dict[str, Any] | None = None

    def __init__(self, topic: Topic, message: str) -> None:
        self._logger, self._message = topic.logger, message

    def tell(self, *values: Any) -> None:
        """Tell it, at level "info"."""
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


def _retake() -> None:
    """Calls that native code has taken over come by Python once more, to be told of, or to be taken over again."""
    from weft.lang.program import init

    current = init.current_program()
    if current is not None:
        current.retake()


def logs_from_environment(text: str) -> None:
    """What WEFT_LOG says: a list of topics, each alone or as `topic:level`."""
    parts = [part.partition(":") for part in text.replace(",", " ").split()]
    if parts:
        set_logs(**{name: level or _USUAL for name, _, level in parts})


logs_from_environment(os.environ.get("WEFT_LOG", ""))
