"""The points of a box of indices."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

__all__ = ["points"]


def points(axes: Sequence[range]) -> Iterator[tuple[int, ...]]:
    """Yield every point, last axis fastest. `itertools.product` would first build a list of each axis, however long,
    and a loop may end early."""
    if not axes:
        yield ()
        return
    *outer, last = axes
    for point in points(outer):
        for index in last:
            yield (*point, index)
