"""`ti.simt.grid`: operations on all threads of a launch."""

from __future__ import annotations

from weft.lang.simt.intrinsic import intrinsic

__all__ = ["memfence"]

memfence = intrinsic(
    "grid.memfence",
    "",
    """A memory fence: all threads of the GPU see the writes of this thread before the fence before those after it. It
does not wait.

Example:
    data, ready = ti.field(ti.i32, 32), ti.field(ti.i32, 32)

    @ti.kernel
    def publish():
        ti.loop_config(block_dim=32)
        for i in range(32):
            data[i] = 10 * i
            ti.simt.grid.memfence()
            ready[i] = 1  # who sees this also sees data[i]

    publish()
    data[3], ready[3]  # (30, 1)
""",
)
