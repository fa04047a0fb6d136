"""The logger "weft" of Python's `logging`, and Taichi's names of levels.

Until a program sets a level, warnings and errors go where Python sends them. If a level is set, by
`init(log_level=...)`, `set_logging_level` or WEFT_LOG_LEVEL, messages go to stderr, unless the program has set up
handlers of its own.
"""

from __future__ import annotations

import logging

from weft.ir.errors import WeftError

__all__ = [
    "CRITICAL",
    "DEBUG",
    "ERROR",
    "INFO",
    "TRACE",
    "WARN",
    "is_logging_effective",
    "level_number",
    "logger",
    "set_logging_level",
    "show_on_stderr",
]

TRACE, DEBUG, INFO, WARN, ERROR, CRITICAL = "trace", "debug", "info", "warn", "error", "critical"

_LEVELS = {TRACE: 5, DEBUG: 10, INFO: 20, WARN: 30, ERROR: 40, CRITICAL: 50}

logger = logging.getLogger("weft")


def set_logging_level(level: str) -> None:
    """Show messages of `level` and above: `ti.TRACE`, `DEBUG`, `INFO`, `WARN`, `ERROR` or `CRITICAL`. They are strings.
    Raises WeftError for another level.

    Example:
        ti.set_logging_level(ti.ERROR)
        ti.is_logging_effective(ti.WARN), ti.is_logging_effective(ti.ERROR)  # (False, True)
    """
    logger.setLevel(level_number(level))
    show_on_stderr()


def show_on_stderr() -> None:
    """Write messages to stderr, unless the program has set up handlers of its own."""
    if not logger.hasHandlers():
        handler = logging.StreamHandler()
        handler.setFormatter(logging.Formatter("[%(name)s] %(levelname)s: %(message)s"))
        logger.addHandler(handler)


def is_logging_effective(level: str) -> bool:
    """Whether messages of `level` are shown. Raises WeftError for a string that is no level.

    Example:
        ti.set_logging_level(ti.INFO)
        ti.is_logging_effective(ti.DEBUG)  # False
    """
    return logger.isEnabledFor(level_number(level))


def level_number(level: str) -> int:
    """The number that `logging` knows a level by; WeftError if there is none of that name."""
    number = _LEVELS.get(str(level).lower())
    if number is None:
        raise WeftError(f"a logging level must be one of {', '.join(_LEVELS)}, not {level!r}")
    return number
