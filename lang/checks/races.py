"""Detect data races: `init(check_races=True)`.

A checked kernel runs the iterations of its parallel loops one after the other and records each access in shadow memory
(`ir/races.py`). It stops at the first two accesses whose order is not guaranteed. This module allocates the shadow
memory for each launch and turns its report into an exception.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from math import prod
from typing import Any

import numpy as np

from weft.ir.artifact import Artifact
from weft.ir.errors import Span
from weft.ir.races import (
    ARRAYS,
    BEFORE,
    BOX,
    CELL,
    CELL_WORDS,
    FIRST,
    HEADER,
    LOOP,
    NOW,
    SITE_BITS,
    RaceTable,
    Region,
)
from weft.ir.types import Struct, Tensor, Type, flat_size
from weft.lang.data.shadows import race_shadow
from weft.lang.logs.levels import logger
from weft.runtime.errors import DataRace

__all__ = ["Checked"]

_DOES = {"read": "reads", "write": "writes", "atomic": "updates"}
_WHY = """iterations of a parallel loop run in any order: make both accesses atomic (`x[i] += 1`, ti.atomic_max), let
each iteration write elements that no other iteration accesses, or read from one field and write to another"""


class Checked:
    """A loaded kernel with its shadow memory. It takes the arguments of the kernel and raises DataRace for a race."""

    def __init__(self, program: Any, run: Callable[..., Any], artifact: Artifact) -> None:
        assert artifact.races is not None
        self.program, self.inner, self.table = program, run, artifact.races
        if self.table.unchecked:
            logger.warning(
                "kernel %s is not checked for races, because its threads use sparse fields or shared memory of a "
                "block, or synchronize",
                artifact.name,
            )

    def __call__(self, trees: Sequence[int], args: Sequence[Any]) -> Any:
        if self.table.unchecked:
            return self.inner(trees, args)
        with self.program.lock:
            memory, tree = self.program.device.memory, self.table.shadow.tree
            regions, cells = self.placed(args)
            buffer = race_shadow(self.program).buffer(HEADER + CELL_WORDS * cells)
            header = memory.view(buffer, np.int64, (HEADER,))
            for region in regions:
                if region.array >= 0:
                    header[ARRAYS + region.array] = region.first
            try:  # the shadow memory may have moved
                return self.inner([*trees[:tree], memory.address(buffer), *trees[tree + 1 :]], args)
            except DataRace as race:
                raise report(self.table, regions, np.array(header)).with_traceback(race.__traceback__) from None

    def placed(self, args: Sequence[Any]) -> tuple[list[Region], int]:
        """Return each object with its cells, the arrays after the fields, and the number of cells. An array that is
        passed twice has its cells once."""
        regions = [region for region in self.table.regions.values() if region.array < 0]
        cells, known = self.table.cells, dict[Any, int]()
        for region in self.table.arrays():
            where, shape = _memory_of(args[region.array], region.axes)
            first = known.setdefault((where, shape, region.width), cells)
            regions.append(replace(region, first=first, shape=shape, offset=(0,) * len(shape)))
            if first == cells:
                cells += prod(shape) * region.width
        return regions, cells


def _memory_of(arg: Any, axes: int) -> tuple[int, tuple[int, ...]]:
    """Return the address of an array argument and the extents of its first `axes` axes."""
    if isinstance(arg, tuple):
        return int(arg[0]), tuple(map(int, arg[1][:axes]))
    return int(arg.__array_interface__["data"][0]), tuple(map(int, arg.shape[:axes]))


# ---- the report ------------------------------------------------------------------------------------------------------


def report(table: RaceTable, regions: Sequence[Region], header: Any) -> DataRace:
    """Return the exception for the header of the shadow memory: both places, the element, and both iterations."""
    before, now = int(header[BEFORE]), int(header[NOW])
    mask = (1 << SITE_BITS) - 1
    earlier, later = table.accesses[before & mask], table.accesses[now & mask]
    place = _place(regions, int(header[CELL]))
    old, new = (_iteration(table, header, entry >> SITE_BITS) for entry in (before, now))
    lines = [
        _render(later.span),
        f"{new} {_DOES[later.kind]} {place}, and",
        _render(earlier.span),
        f"{old} {_DOES[earlier.kind]} it:",
        _WHY,
    ]
    return DataRace("\n" + "\n".join(line for line in lines if line))


def _render(span: Span | None) -> str:
    return span.render() if span is not None else ""


def _iteration(table: RaceTable, header: Any, number: int) -> str:
    """Return iteration `number` of the loop in the user's names: "iteration i = 3, j = 0"."""
    loop = table.loops[int(header[LOOP])]
    rest = number - (int(header[FIRST]) >> SITE_BITS)
    found: dict[int, int] = {}
    for axis in reversed(range(len(loop.order))):
        begin, end, start, step = (int(header[BOX + 4 * axis + part]) for part in range(4))
        rest, digit = divmod(rest, max(1, end - begin))
        found[loop.order[axis]] = start + step * (begin + digit)
    shown = [f"{name} = {found[axis]}" for axis, name in enumerate(loop.names)]
    return "iteration " + ", ".join(shown) if shown else "the iteration"


def _place(regions: Sequence[Region], cell: int) -> str:
    """Return the user's name of a cell: `x[3, 1]`, `v[2][0]`."""
    region = max((one for one in regions if one.first <= cell), key=lambda one: (one.first, one.cells))
    element, part = divmod(cell - region.first, region.width)
    indices = np.unravel_index(element, region.shape) if region.shape else ()
    shown = ", ".join(str(int(i) + first) for i, first in zip(indices, region.offset))
    subscript = f"[{shown or None}]" if region.shape or region.is_field else ""
    assert isinstance(region.kind, Type)
    return region.name + subscript + region.member + _part(region.kind, part)


def _part(kind: Type, part: int) -> str:
    """Return the scalar of that number in an element: `.p[1]`."""
    if isinstance(kind, Tensor):
        return "[" + ", ".join(str(int(i)) for i in np.unravel_index(part, kind.shape)) + "]"
    if isinstance(kind, Struct):
        for name, member in kind.members:
            if part < flat_size(member):
                return f".{name}{_part(member, part)}"
            part -= flat_size(member)
    return ""
