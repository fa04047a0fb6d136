"""The log of launches: `WEFT_LOG=launch`. While it is on, calls of kernels go through Python instead of native code."""

from __future__ import annotations

import logging
import reprlib
from collections.abc import Callable, Sequence
from time import perf_counter
from typing import Any

from weft.lang.logs.topics import LAUNCH
from weft.lang.measure import watching

__all__ = ["switch", "told_launch"]


def told_launch(kernel: Any, call: Callable[..., Any], args: Sequence[Any], keywords: dict[str, Any]) -> Any:
    """Run `call(*args, **keywords)`, which launches `kernel`, and log it. (A `Watch`. On a GPU, the logged time is that
    of the call; the work continues.)"""
    if LAUNCH.logger.isEnabledFor(logging.DEBUG):
        LAUNCH.debug("%s(%s)", kernel.__name__, ", ".join(map(reprlib.repr, (*args, *keywords.values()))))
    began = perf_counter()
    answer = call(*args, **keywords)
    LAUNCH.info("%s: %.1f us", kernel.__name__, (perf_counter() - max(began, watching.launch_began())) * 1e6)
    return answer


def switch(on: bool) -> None:
    """Turn the watch of launches on or off."""
    (watching.begin if on else watching.end)(told_launch)
