"""What the blocks that record launches have in common: their records, and loops of `ti.ad.steps`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from weft.lang.autodiff.contexts import Block
from weft.lang.autodiff.memory import memory_of
from weft.lang.autodiff.memory_use import Touch, Uses
from weft.lang.autodiff.series import Series
from weft.lang.autodiff.steps import Loop
from weft.lang.autodiff.versions import Record, Versions

__all__ = ["Recorder"]


class Recorder(Block):
    """A block that records launches. With `bounds`, loops of `ti.ad.steps` have a bounded memory; otherwise they are
    plain loops."""

    records = True

    def __init__(self, versions: Versions, bounds: bool) -> None:
        self._records: list[Record] = []
        self._versions, self._bounds = versions, bounds
        self._loops: list[Loop] = []  # of `ti.ad.steps`, the outermost first
        self._series: Series | None = None  # the record of these loops, while they run

    def begin_step(self, loop: Loop) -> None:
        """A step of a loop of `ti.ad.steps` begins. (Of `steps`.)"""
        if not self._bounds:
            return
        if loop not in self._loops:
            self._loops.append(loop)
        if self._series is None:
            self._series = Series(self._versions)
            self._records.append(self._series)
        self._series.begin(self._loops)

    def end_loop(self, loop: Loop) -> None:
        """A loop of `ti.ad.steps` ends. (Of `steps`.)"""
        if loop in self._loops:
            self._loops.remove(loop)
        if not self._loops:
            self._series = None

    def end_loops(self) -> None:
        """What comes from now on is no part of a loop."""
        self._loops.clear()
        self._series = None

    @property
    def _now(self) -> Versions | Series:
        """What keeps old values at this time."""
        return self._series or self._versions

    def _append(self, record: Record) -> None:
        if self._series is None:
            self._records.append(record)
        else:
            self._series.append(record)

    def _repeated(self, bind: Callable[..., Any], args: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
        """The launch, to be made again, if a loop may have to do that."""
        return None if self._series is None else bind(args, keywords)

    def _will_read(self, name: str, uses: Uses, flat: Sequence[Any]) -> None:
        """A launch comes. In a loop, all that it reads may be read again."""
        if self._series is not None:
            self._will_read_again(name, uses.touched(uses.every_read, flat))

    def _will_read_source(self, source: Any) -> None:
        """Python copies this field or ndarray. (None: it writes numbers.)"""
        if self._series is not None and source is not None:
            self._will_read_again("Python", [Touch(memory_of(source), (), None, saved=False)])

    def _will_read_again(self, name: str, reads: Sequence[Touch]) -> None:
        """What a loop may read again."""
        assert self._series is not None
        self._series.read(name, reads)
