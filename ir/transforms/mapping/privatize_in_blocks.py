"""Privatization on GPUs: atomics on a small field, such as a histogram, update copies in the memory of each thread
block.

    task range_for ... { atomic add %bins, %1 }                                               bins[x[i]] += 1

    task range_for schedule={privatized=({scope="field:bins", kind=add, copies=32, ...})} ... { atomic add %bins, %1 }

    mine[k, c] = 0 for all k, c; barrier               as many copies as there is room for, up to one for each lane
    mine[x[i], lane % copies] += 1                     no traffic, and lanes keep out of each other's way
    barrier; bins[k] += mine[k, 0] + mine[k, 1] ...    once per block, where that is not 0

The ops stay unchanged: code generation gives the atomics on the field another address. The pass skips tasks whose
iterations are numbered, because their blocks have shared arrays of their own. `mapping/privatizable.py` says which
fields may be privatized.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from weft.ir.config import CompileConfig
from weft.ir.mapping.privatizable import Limits, privatizable_fields
from weft.ir.ops import Kernel
from weft.ir.passes import pass_
from weft.ir.schedule import Privatized
from weft.ir.tasks import parallel_tasks

__all__ = ["LIMITS", "privatize_in_blocks", "with_copies"]

LIMITS = Limits(each=16384, total=32768)
_LANES = 32


@pass_("privatize_in_blocks")
def privatize_in_blocks(root: Kernel, config: CompileConfig) -> bool:
    """Choose the fields of which each block gets private copies."""
    changed = False
    for task in parallel_tasks(root):
        fields = () if task.schedule.numbered else privatizable_fields(task, root.fields, LIMITS)
        if fields:
            task.schedule = replace(task.schedule, privatized=with_copies(fields))
            changed = True
    return changed


def with_copies(fields: Sequence[Privatized]) -> tuple[Privatized, ...]:
    """Choose the number of copies of each field in a block. The largest field chooses first. The rest is enough for one
    copy of each other field, because one copy of each is within the limit."""
    copies, room = dict[Privatized, int](), LIMITS.total
    for rank, field in enumerate(sorted(fields, key=lambda one: -one.words * one.type.size)):
        size = field.words * field.type.size
        most = room // (len(fields) - rank) // size
        copies[field] = min(1 << max(most.bit_length() - 1, 0), _LANES)
        room -= copies[field] * size
    return tuple(replace(field, copies=copies[field]) for field in fields)
