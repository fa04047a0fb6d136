"""`ti.simt.block`: barriers and memory shared by the threads of a block.

In a parallel loop that uses them, iteration `k` runs on thread `k % block_dim` of block `k // block_dim`. Iterations
are numbered with the last axis fastest. `loop_config(block_dim=)` sets the number of threads of a block; the default is
128.
"""

from __future__ import annotations

from weft.lang.simt.intrinsic import in_lanes, intrinsic

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
    "shape dtype",
    """An array in the shared memory of the block: `a[i, j]`, `a.shape`. Create it in the loop that uses it. `shape` is
a number or a tuple, known at compile time. `dtype` is a primitive, vector or matrix type. Its initial content is
undefined. `a[i] += v` is atomic.

Example:
    x = ti.field(ti.i32, 64)

    @ti.kernel
    def reverse():
        ti.loop_config(block_dim=64)
        for i in range(64):
            pad = ti.simt.block.SharedArray((64,), ti.i32)
            pad[i] = 10 * i
            ti.simt.block.sync()
            x[i] = pad[63 - i]

    reverse()
    x[0], x[63]  # (630, 0)
""",
)
sync = intrinsic(
    "block.sync",
    "",
    """A barrier: all threads of the block wait for one another. After it, each sees the writes of the others before it.
All threads of the block that still run must reach it.

Example:
    x = ti.field(ti.i32, 64)

    @ti.kernel
    def shift():
        ti.loop_config(block_dim=64)
        for i in range(64):
            pad = ti.simt.block.SharedArray((64,), ti.i32)
            pad[i] = i
            ti.simt.block.sync()
            x[i] = pad[(i + 1) % 64]

    shift()
    x[0], x[63]  # (1, 0)
""",
)
sync_all_nonzero = intrinsic(
    "block.sync_all_nonzero",
    "predicate",
    "Waits as `sync`. Returns 1 if the predicate is nonzero in all threads of the block, else 0."
    + in_lanes("ti.simt.block.sync_all_nonzero(i < 31)", "[0, 0, 0, 0]"),
)
sync_any_nonzero = intrinsic(
    "block.sync_any_nonzero",
    "predicate",
    "Waits as `sync`. Returns 1 if the predicate is nonzero in at least one thread of the block, else 0."
    + in_lanes("ti.simt.block.sync_any_nonzero(i == 7)", "[1, 1, 1, 1]"),
)
sync_count_nonzero = intrinsic(
    "block.sync_count_nonzero",
    "predicate",
    "Waits as `sync`. Returns the number of threads of the block in which the predicate is nonzero."
    + in_lanes("ti.simt.block.sync_count_nonzero(i % 2)", "[16, 16, 16, 16]"),
)
mem_sync = intrinsic(
    "block.mem_sync",
    "",
    """A memory fence: threads of the block see the writes of this thread before the fence before those after it. It
does not wait.

Example:
    data, ready = ti.field(ti.i32, 32), ti.field(ti.i32, 32)

    @ti.kernel
    def publish():
        ti.loop_config(block_dim=32)
        for i in range(32):
            data[i] = 10 * i
            ti.simt.block.mem_sync()
            ready[i] = 1  # a thread of the block that sees this also sees data[i]

    publish()
    data[3], ready[3]  # (30, 1)
""",
)
thread_idx = intrinsic(
    "block.thread_idx",
    "",
    "The index of this thread in its block." + in_lanes("ti.simt.block.thread_idx()", "[0, 1, 2, 3]"),
)
global_thread_idx = intrinsic(
    "block.global_thread_idx",
    "",
    "The index of this thread in the whole launch. `ti.global_thread_idx` is the same."
    + in_lanes("ti.simt.block.global_thread_idx()", "[0, 1, 2, 3]"),
)
