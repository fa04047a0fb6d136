"""Places the shared arrays of a block in its memory.

    %a = shared_base number=0, bytes=40000; %b = shared_base number=1, bytes=40000

    %a = shared_base number=0, bytes=40000, offset=0; %b = shared_base number=1, bytes=40000, offset=40000

Up to 48 KiB are allocated statically by the code. If a task needs more, the launch allocates one piece of memory
(`shared_bytes`), and each array gets an offset in it.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import accumulate

from weft.ir.config import CompileConfig
from weft.ir.ops import Kernel, SharedBase
from weft.ir.passes import pass_
from weft.ir.schedule import STATIC_BYTES
from weft.ir.tasks import parallel_tasks

__all__ = ["place_shared_arrays"]

_ALIGN = 16


@pass_("place_shared_arrays")
def place_shared_arrays(root: Kernel, config: CompileConfig) -> bool:
    """Give shared arrays their offsets if the launch allocates their memory."""
    changed = False
    for task in parallel_tasks(root):
        arrays = task.all_of(SharedBase)
        found = {op.number: op.bytes for op in arrays}
        sizes = [-(-size // _ALIGN) * _ALIGN for size in found.values()]
        if sum(sizes) > STATIC_BYTES:
            offsets = dict(zip(found, accumulate(sizes, initial=0)))
            for op in arrays:
                op.offset = offsets[op.number]
            task.schedule = replace(task.schedule, shared_bytes=sum(sizes))
            changed = True
    return changed
