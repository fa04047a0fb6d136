"""Topics of the log: what Weft reports about its own work. `WEFT_LOG=cache,launch:debug` or `weft.set_logs("cache",
launch="debug")` turns topics on.

Each topic is a logger of Python's `logging`, "weft.cache" and so on, and is silent until it is turned on. Code that
logs a message tests `TOPIC.on` first, which is the only cost of a silent topic. While launches are logged, calls of
kernels go through Python (see `measure/launch_log.py`).
"""

from __future__ import annotations

import logging
import os
from collections.abc import Callable
from typing import Any

from weft.ir.errors import WeftError
from weft.lang.logs.levels import level_number, show_on_stderr

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
]

_USUAL = "info"


class Topic:
    """One topic. `on`: whether it was asked for; `followers` are told when that changes."""

    __slots__ = ("about", "followers", "logger", "name", "on")

    def __init__(self, name: str, about: str) -> None:
        self.name, self.about, self.on = name, about, False
        self.logger = logging.getLogger(f"weft.{name}")
        self.followers: list[Callable[[bool], None]] = []

    def follow(self, told: Callable[[bool], None]) -> None:
        """Call `told(on)` whenever `on` changes, and now if the topic was asked for."""
        self.followers.append(told)
        if self.on:
            told(True)

    def info(self, message: str, *values: Any) -> None:
        """Tell that something happened."""
        self.logger.info(message, *values)

    def debug(self, message: str, *values: Any) -> None:
        """Tell the details, for level debug."""
        self.logger.debug(message, *values)


TRANSLATE = Topic("translate", "kernels that are translated, and the targets that they are compiled for")
PASSES = Topic("passes", "passes that changed the IR (debug: all of them), with times")
OFFLOAD = Topic("offload", "the tasks of a kernel, and the memory that each reads and writes")
CODEGEN = Topic("codegen", "the stages of code generation, with times")
CACHE = Topic("cache", "kernels that are read from the disk cache or written to it")
LAUNCH = Topic("launch", "launches, with times (debug: with arguments)")
MEMORY = Topic("memory", "memory that is allocated and freed")
VERIFY = Topic("verify", 'launches that are verified, with verify="results", and the reasons why others are not')

TOPICS: dict[str, Topic] = {
    one.name: one for one in (TRANSLATE, PASSES, OFFLOAD, CODEGEN, CACHE, LAUNCH, MEMORY, VERIFY)
}


def set_logs(*names: Any, **levels: Any) -> None:
    """Tell of these topics on stderr, and of no others: `set_logs("cache", launch="debug")`. `names` are topics (their
    level is "info") or "all"; the keywords are topics with levels: TRACE, DEBUG, INFO, WARN, ERROR, CRITICAL. Without
    arguments all are silent. Raises WeftError for what is no topic or no level.

    The topics are `translate`, `passes`, `offload`, `codegen`, `cache`, `launch`, `memory` and `verify`.

    Example:
        ti.set_logs("memory")
        x = ti.field(ti.f32, 1000)
        x[0] = 1  # stderr tells of the memory
        ti.set_logs()
        ti.set_logs("storage")  # raises WeftError
    """
    wrong = next((name for name in names if not isinstance(name, str)), None)
    if wrong is not None:
        raise WeftError(
            f"the name of a log must be a string, not {wrong!r}; the logs are {', '.join(TOPICS)}, and 'all'"
        )
    asked = {**{name: _USUAL for name in names if name != "all"}, **levels}
    if "all" in names or "all" in levels:
        level = asked.pop("all", _USUAL)
        asked = {**dict.fromkeys(TOPICS, level), **asked}
    for name in asked:
        if name not in TOPICS:
            raise WeftError(f"there is no log {name!r}; the logs are {', '.join(TOPICS)}, and 'all'")
    numbers = {name: level_number(level) for name, level in asked.items()}
    before = [topic for topic in TOPICS.values() if topic.on]
    for name, topic in TOPICS.items():
        topic.on = name in numbers
        topic.logger.setLevel(numbers.get(name, logging.NOTSET))
    if numbers:
        show_on_stderr()
    for topic in TOPICS.values():
        if topic.on != (topic in before):
            for told in topic.followers:
                told(topic.on)


def logs_from_environment(text: str) -> None:
    """What WEFT_LOG says: a list of topics, each alone or as `topic:level`."""
    parts = [part.partition(":") for part in text.replace(",", " ").split()]
    if parts:
        set_logs(**{name: level or _USUAL for name, _, level in parts})


logs_from_environment(os.environ.get("WEFT_LOG", ""))
