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
    "(shape, dtype): an array in the shared memory of the block. Create it in the loop that uses it. `dtype` "
    "is a primitive, vector or matrix type. Its initial content is undefined.",
)
sync = intrinsic(
    "block.sync",
    "A barrier: all threads of the block wait for one another. After it, each sees the writes of the others before it.",
)
sync_all_nonzero = intrinsic(
    "block.sync_all_nonzero", "(predicate): sync(); returns 1 if the predicate is nonzero in all threads, else 0."
)
sync_any_nonzero = intrinsic(
    "block.sync_any_nonzero",
    "(predicate): sync(); returns 1 if the predicate is nonzero in at least one thread, else 0.",
)
sync_count_nonzero = intrinsic(
    "block.sync_count_nonzero", "(predicate): sync(); returns the number of threads in which the predicate is nonzero."
)
mem_sync = intrinsic(
    "block.mem_sync",
    "A memory fence: threads of the block see the writes of this thread before the fence before those after it.",
)
thread_idx = intrinsic("block.thread_idx", "The index of this thread in its block.")
global_thread_idx = intrinsic("block.global_thread_idx", "The index of this thread in the whole launch.")
