"""`ti.simt.warp`: operations of the 32 lanes of a warp. `mask` (u32) has a bit for each participating lane. Each of
these lanes must reach the call with the same mask. `_i32` and `_f32` give the type that `val` is cast to."""

from __future__ import annotations

from weft.lang.simt.intrinsic import in_lanes, intrinsic

__all__ = [
    "active_mask",
    "all_nonzero",
    "any_nonzero",
    "ballot",
    "match_all",
    "match_any",
    "shfl_down_f32",
    "shfl_down_i32",
    "shfl_sync_f32",
    "shfl_sync_i32",
    "shfl_up_f32",
    "shfl_up_i32",
    "shfl_xor_f32",
    "shfl_xor_i32",
    "sync",
    "unique",
]

all_nonzero = intrinsic(
    "warp.all_nonzero",
    "mask predicate",
    "Returns 1 if `predicate` is nonzero in all lanes of the mask, else 0."
    + in_lanes("ti.simt.warp.all_nonzero(0xFFFFFFFF, i + 1)", "[1, 1, 1, 1]"),
)
any_nonzero = intrinsic(
    "warp.any_nonzero",
    "mask predicate",
    "Returns 1 if `predicate` is nonzero in at least one lane of the mask, else 0."
    + in_lanes("ti.simt.warp.any_nonzero(0xFFFFFFFF, i == 40)", "[0, 0, 0, 0]"),
)
unique = intrinsic(
    "warp.unique",
    "mask predicate",
    "Returns 1 if `predicate` is nonzero in all lanes of the mask or in none of them, else 0."
    + in_lanes("ti.simt.warp.unique(0xFFFFFFFF, i < 16)", "[0, 0, 0, 0]"),
)
ballot = intrinsic(
    "warp.ballot",
    "predicate",
    "Returns a u32 with a bit for each active lane whose `predicate` is nonzero."
    + in_lanes("ti.cast(ti.simt.warp.ballot(i < 4), ti.i32)", "[15, 15, 15, 15]"),
)
shfl_sync_i32 = intrinsic(
    "warp.shfl_sync_i32",
    "mask val offset",
    "Returns `val`, as i32, of lane `offset`."
    + in_lanes("ti.simt.warp.shfl_sync_i32(0xFFFFFFFF, 10 * i, 3)", "[30, 30, 30, 30]"),
)
shfl_sync_f32 = intrinsic(
    "warp.shfl_sync_f32",
    "mask val offset",
    "Returns `val`, as f32, of lane `offset`."
    + in_lanes("ti.simt.warp.shfl_sync_f32(0xFFFFFFFF, 10.0 * i, 3)", "[30.0, 30.0, 30.0, 30.0]", "f32"),
)
shfl_up_i32 = intrinsic(
    "warp.shfl_up_i32",
    "mask val offset",
    "Returns `val`, as i32, of the lane `offset` lanes before this one, or its own `val` if there is none."
    + in_lanes("ti.simt.warp.shfl_up_i32(0xFFFFFFFF, 10 * i, 1)", "[0, 0, 10, 20]"),
)
shfl_up_f32 = intrinsic(
    "warp.shfl_up_f32",
    "mask val offset",
    "Returns `val`, as f32, of the lane `offset` lanes before this one, or its own `val` if there is none."
    + in_lanes("ti.simt.warp.shfl_up_f32(0xFFFFFFFF, 10.0 * i, 1)", "[0.0, 0.0, 10.0, 20.0]", "f32"),
)
shfl_down_i32 = intrinsic(
    "warp.shfl_down_i32",
    "mask val offset",
    "Returns `val`, as i32, of the lane `offset` lanes after this one, or its own `val` if there is none."
    + in_lanes("ti.simt.warp.shfl_down_i32(0xFFFFFFFF, 10 * i, 2)", "[20, 30, 40, 50]"),
)
shfl_down_f32 = intrinsic(
    "warp.shfl_down_f32",
    "mask val offset",
    "Returns `val`, as f32, of the lane `offset` lanes after this one, or its own `val` if there is none."
    + in_lanes("ti.simt.warp.shfl_down_f32(0xFFFFFFFF, 10.0 * i, 2)", "[20.0, 30.0, 40.0, 50.0]", "f32"),
)
shfl_xor_i32 = intrinsic(
    "warp.shfl_xor_i32",
    "mask val offset",
    "Returns `val`, as i32, of the lane with the index of this lane XOR `offset`."
    + in_lanes("ti.simt.warp.shfl_xor_i32(0xFFFFFFFF, 10 * i, 1)", "[10, 0, 30, 20]"),
)
shfl_xor_f32 = intrinsic(
    "warp.shfl_xor_f32",
    "mask val offset",
    "Returns `val`, as f32, of the lane with the index of this lane XOR `offset`."
    + in_lanes("ti.simt.warp.shfl_xor_f32(0xFFFFFFFF, 10.0 * i, 1)", "[10.0, 0.0, 30.0, 20.0]", "f32"),
)
match_any = intrinsic(
    "warp.match_any",
    "mask value",
    "Returns a bit for each lane of the mask that has the same `value`."
    + in_lanes("ti.cast(ti.simt.warp.match_any(0xFFFFFFFF, ti.max(i, 2)), ti.i32)", "[7, 7, 7, 8]"),
)
match_all = intrinsic(
    "warp.match_all",
    "mask value",
    "Returns the mask if all its lanes have the same `value`, else 0."
    + in_lanes("ti.cast(ti.simt.warp.match_all(0xFFFFFFFF, i), ti.i32)", "[0, 0, 0, 0]"),
)
active_mask = intrinsic(
    "warp.active_mask",
    "",
    "Returns a u32 with a bit for each active lane."
    + in_lanes("ti.cast(ti.simt.warp.active_mask() >> i & 1, ti.i32)", "[1, 1, 1, 1]"),
)
sync = intrinsic(
    "warp.sync",
    "mask",
    """A barrier for the lanes of the mask. After it, each sees the writes of the others before it.

Example:
    x, out = ti.field(ti.i32, 32), ti.field(ti.i32, 32)

    @ti.kernel
    def run():
        ti.loop_config(block_dim=32)
        for i in range(32):
            x[i] = 10 * i
            ti.simt.warp.sync(0xFFFFFFFF)
            out[i] = x[31 - i]

    run()
    out[0]  # 310
""",
)
