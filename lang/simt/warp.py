"""`ti.simt.warp`: operations of the 32 lanes of a warp. `mask` (u32) has a bit for each participating lane. Each of
these lanes must reach the call with the same mask. `_i32` and `_f32` give the type that `val` is cast to."""

from __future__ import annotations

from weft.lang.simt.intrinsic import intrinsic

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
    "warp.all_nonzero", "(mask, predicate): returns 1 if `predicate` is nonzero in all lanes of the mask, else 0."
)
any_nonzero = intrinsic(
    "warp.any_nonzero",
    "(mask, predicate): returns 1 if `predicate` is nonzero in at least one lane of the mask, else 0.",
)
unique = intrinsic(
    "warp.unique",
    "(mask, predicate): returns 1 if `predicate` is nonzero in all lanes of the mask or in none of them, else 0.",
)
ballot = intrinsic(
    "warp.ballot", "(predicate): returns a u32 with a bit for each active lane whose `predicate` is nonzero."
)
shfl_sync_i32 = intrinsic("warp.shfl_sync_i32", "(mask, val, offset): returns `val` of lane `offset`.")
shfl_sync_f32 = intrinsic("warp.shfl_sync_f32", "(mask, val, offset): returns `val` of lane `offset`.")
shfl_up_i32 = intrinsic(
    "warp.shfl_up_i32",
    "(mask, val, offset): returns `val` of the lane `offset` lanes before this one, or its own `val` if there is none.",
)
shfl_up_f32 = intrinsic(
    "warp.shfl_up_f32",
    "(mask, val, offset): returns `val` of the lane `offset` lanes before this one, or its own `val` if there is none.",
)
shfl_down_i32 = intrinsic(
    "warp.shfl_down_i32", "(mask, val, offset): returns `val` of the lane `offset` lanes after this one."
)
shfl_down_f32 = intrinsic(
    "warp.shfl_down_f32", "(mask, val, offset): returns `val` of the lane `offset` lanes after this one."
)
shfl_xor_i32 = intrinsic(
    "warp.shfl_xor_i32", "(mask, val, offset): returns `val` of the lane with the index of this lane XOR `offset`."
)
shfl_xor_f32 = intrinsic(
    "warp.shfl_xor_f32", "(mask, val, offset): returns `val` of the lane with the index of this lane XOR `offset`."
)
match_any = intrinsic(
    "warp.match_any", "(mask, value): returns a bit for each lane of the mask that has the same `value`."
)
match_all = intrinsic(
    "warp.match_all", "(mask, value): returns the mask if all its lanes have the same `value`, else 0."
)
active_mask = intrinsic("warp.active_mask", "Returns a u32 with a bit for each active lane.")
sync = intrinsic(
    "warp.sync", "(mask): a barrier for the lanes of the mask. After it, each sees the writes of the others before it."
)
