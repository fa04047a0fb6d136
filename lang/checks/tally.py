"""Count verified launches (`init(verify="results")`) and why others were skipped, and report this when Python ends."""

from __future__ import annotations

import atexit
import sys
import threading
from collections import Counter
from collections.abc import Callable
from typing import Any

from weft.lang.logs.topics import VERIFY
from weft.runtime.forks import forkable

__all__ = ["TALLY", "Tally", "skipped"]


class Tally:
    """Counts of launches. `unsettled` counts verified launches in which some numbers could not be compared."""

    def __init__(self) -> None:
        self._lock = forkable(threading.Lock())
        self.clear()

    def clear(self) -> None:
        """Reset the counts."""
        self.verified = self.unsettled = 0
        self.skipped = Counter[str]()

    def agreed(self, kernel: str, work: int, unsettled: int) -> None:
        """Count a launch that agreed with the evaluator. `work` is the number of ops it took, `unsettled` how many
        numbers could not be compared."""
        with self._lock:
            self.verified += 1
            self.unsettled += bool(unsettled)
        if VERIFY.on:
            open_ = f"; {unsettled} numbers were not compared, because they depend on an order or on rounding"
            VERIFY.info("%s: agrees, %d ops%s", kernel, work, open_ if unsettled else "")

    def skip(self, kernel: str, why: str) -> None:
        """Count a launch that was not verified."""
        with self._lock:
            self.skipped[why] += 1
        if VERIFY.on:
            VERIFY.info("%s: not verified: %s", kernel, why)

    def __str__(self) -> str:
        """Return all counts in one line."""
        told = f"{self.verified} launches verified"
        if self.unsettled:
            told += f" ({self.unsettled} of them in part, because some numbers depend on an order or on rounding)"
        told += f", {self.skipped.total()} skipped"
        reasons = ", ".join(f"{count} {why}" for why, count in self.skipped.most_common())
        return f"{told}: {reasons}" if reasons else told


TALLY = Tally()


def skipped(kernel: str, run: Callable[..., Any], why: str) -> Callable[..., Any]:
    """A loaded kernel whose launches are counted as skipped."""

    def launch(*args: Any) -> Any:
        TALLY.skip(kernel, why)
        return run(*args)

    return launch


def _tell() -> None:
    if (TALLY.verified or TALLY.skipped) and sys.stderr is not None:
        sys.stderr.write(f'weft, verify="results": {TALLY}\n')


atexit.register(_tell)
