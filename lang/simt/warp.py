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

all_nonzero = intrinsic("warp.all_nonzero", "(mask, predicate): 1 if it is nonzero in all those lanes, else 0.")
any_nonzero = intrinsic("warp.any_nonzero", "(mask, predicate): 1 if it is nonzero in one of those lanes, else 0.")
unique = intrinsic("warp.unique", "(mask, predicate): 1 if those lanes agree on whether it is nonzero, else 0.")
ballot = intrinsic("warp.ballot", "(predicate): a bit for each lane that is here and has it nonzero.")
shfl_sync_i32 = intrinsic("warp.shfl_sync_i32", "(mask, val, offset): what lane number `offset` has as `val`.")
shfl_sync_f32 = intrinsic("warp.shfl_sync_f32", "(mask, val, offset): what lane number `offset` has as `val`.")
shfl_up_i32 = intrinsic("warp.shfl_up_i32", "(mask, val, offset): what the lane `offset` before has; there: its own.")
shfl_up_f32 = intrinsic("warp.shfl_up_f32", "(mask, val, offset): what the lane `offset` before has; there: its own.")
shfl_down_i32 = intrinsic("warp.shfl_down_i32", "(mask, val, offset): what the lane `offset` further has as `val`.")
shfl_down_f32 = intrinsic("warp.shfl_down_f32", "(mask, val, offset): what the lane `offset` further has as `val`.")
shfl_xor_i32 = intrinsic("warp.shfl_xor_i32", "(mask, val, offset): what the lane `own number ^ offset` has as `val`.")
shfl_xor_f32 = intrinsic("warp.shfl_xor_f32", "(mask, val, offset): what the lane `own number ^ offset` has as `val`.")
match_any = intrinsic("warp.match_any", "(mask, value): a bit for each of those lanes that has the same value.")
match_all = intrinsic("warp.match_all", "(mask, value): the mask if all those lanes have one value, else 0.")
active_mask = intrinsic("warp.active_mask", "A bit (of a u32) for each lane that is here.")
sync = intrinsic("warp.sync", "(mask): those lanes wait for one another, and see what each has written.")
