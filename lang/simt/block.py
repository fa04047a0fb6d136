"""`ti.simt.block`: barriers and memory shared by the threads of a block.

In a parallel loop that uses them, iteration `k` runs on thread `k % block_dim` of block `k // block_dim`. Iterations
are numbered with the last axis fastest. `loop_config(block_dim=)` sets the number of threads of a block; the default is
128.
"""

from __future__ import annotations

from weft.lang.simt.intrinsic import intrinsic

__all__ = [
    "SharedArray",
    "global_thread_idx",
    "mem_sync",
    "sync",
    "sync_all_nonzero",
    "sync_any_nonzero",
    "sync_count_nonzero",
    "thread_idx",
]

SharedArray = intrinsic(
    "block.SharedArray",
    "(shape, dtype): an array in the fast memory of the block, made in the loop that uses it. `dtype` is a primitive, "
    "vector or matrix type. What it holds at first is not defined.",
)
sync = intrinsic("block.sync", "All threads of the block wait for one another, and see what each has written.")
sync_all_nonzero = intrinsic("block.sync_all_nonzero", "(predicate): sync(), and 1 if it is nonzero for all, else 0.")
sync_any_nonzero = intrinsic("block.sync_any_nonzero", "(predicate): sync(), and 1 if it is nonzero for one, else 0.")
sync_count_nonzero = intrinsic("block.sync_count_nonzero", "(predicate): sync(), and for how many it is nonzero.")
mem_sync = intrinsic("block.mem_sync", "What this thread wrote so far, the block sees before what it writes later.")
thread_idx = intrinsic("block.thread_idx", "The number of this thread in its block.")
global_thread_idx = intrinsic("block.global_thread_idx", "The number of this thread among all of the launch.")
