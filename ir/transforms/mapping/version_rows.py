"""Versions a filter by the place in a word where its rows begin.

    for %p, unroll=4 { %t = address %base, indices=[%row, %k] ...; %v = load %t; ... }

    for %p, unroll=4 { %t = address %base, indices=[%row, %k], phased=true ...; %v = load %t; ... }

The taps of a filter are adjacent in memory, but a row of any length begins anywhere in a word of 16 bytes. Code
generation emits a loop with such addresses once for each place in a word where the row may begin, and chooses between
them at run time. In each version it is known which taps are aligned, so one load moves four of them:

    switch (&x[row, 0] & 15)                 the same for all threads of a warp
    case 4: ... the taps; x[row, j - 1] is aligned: one load for it and the three after it

The addresses that a task stores its results to, after its loops, are marked in the same way. The pass marks one row of
each loop: the one with the most accesses. It skips rows that begin at a place that differs between the iterations of a
thread, and rows whose elements have other sizes than 4 or 8 bytes.
"""

from __future__ import annotations

from weft.ir.config import CompileConfig
from weft.ir.mapping.phased_rows import parts_of, row_of
from weft.ir.ops import Kernel
from weft.ir.passes import pass_
from weft.ir.tasks import parallel_tasks

__all__ = ["version_rows"]


@pass_("version_rows")
def version_rows(root: Kernel, config: CompileConfig) -> bool:
    """Mark the addresses of rows that begin anywhere in a word."""
    changed = False
    for task in parallel_tasks(root):
        if not task.schedule.phases:
            continue
        for part in parts_of(task):
            for address in row_of(part):
                address.phased = changed = True
    return changed
