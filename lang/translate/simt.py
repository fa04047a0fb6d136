"""Calls of `ti.simt`: intrinsics of GPU threads, and arrays that the threads of a block share."""

from __future__ import annotations

import ast
from typing import Any

from weft.ir import tree
from weft.ir.errors import TypeMismatch
from weft.ir.scalar import identity
from weft.ir.simt import SIMT
from weft.ir.types import VOID, Prim, Tensor, Type, array, f32, i32, u32
from weft.lang.program.backends import BACKENDS
from weft.lang.translate.functions import Call, Handler, arguments, cast_value_to, function
from weft.lang.translate.operators import run_now
from weft.lang.translate.translator import Translator
from weft.lang.translate.values import as_int, is_number, kind_of, scalar_of, to_expr
from weft.lang.values.types import to_ir

__all__ = ["INTRINSICS"]

_ALL = 2**32 - 1

# For each name: the row of SIMT, and the names of the user's arguments. `None` among the others stands for the mask of
# all lanes. A type is the type that the value is cast to.
INTRINSICS: dict[str, tuple[str, tuple[str, ...], Prim | None]] = {
    "block.sync": ("block_sync", (), None),
    "block.sync_all_nonzero": ("block_sync_all", ("predicate",), None),
    "block.sync_any_nonzero": ("block_sync_any", ("predicate",), None),
    "block.sync_count_nonzero": ("block_sync_count", ("predicate",), None),
    "block.mem_sync": ("block_fence", (), None),
    "block.thread_idx": ("thread_idx", (), None),
    "block.global_thread_idx": ("global_thread_idx", (), None),
    "grid.memfence": ("grid_fence", (), None),
    "warp.all_nonzero": ("warp_all", ("mask", "predicate"), None),
    "warp.any_nonzero": ("warp_any", ("mask", "predicate"), None),
    "warp.unique": ("warp_uniform", ("mask", "predicate"), None),
    "warp.ballot": ("warp_ballot", ("predicate",), None),
    "warp.match_any": ("warp_match_any", ("mask", "value"), None),
    "warp.match_all": ("warp_match_all", ("mask", "val"), None),
    "warp.active_mask": ("warp_active", (), None),
    "warp.sync": ("warp_sync", ("mask",), None),
    **{
        f"warp.shfl_{way}_{prim}": (kind, ("mask", "val", "offset"), prim)
        for way, kind in (
            ("sync", "shuffle"),
            ("up", "shuffle_up"),
            ("down", "shuffle_down"),
            ("xor", "shuffle_xor"),
        )
        for prim in (i32, f32)
    },
    "subgroup.invocation_id": ("warp_lane", (), None),
    "subgroup.shuffle": ("shuffle", ("value", "index"), None),
    "subgroup.broadcast": ("shuffle", ("value", "index"), None),
    "subgroup.shuffle_up": ("shuffle_up", ("value", "offset"), None),
    "subgroup.shuffle_down": ("shuffle_down", ("value", "offset"), None),
    "subgroup.shuffle_xor": ("shuffle_xor", ("value", "mask"), None),
}


def _refuse_other_arches(t: Translator, c: Call) -> None:
    arch = t.unit.config.arch
    if not BACKENDS[arch].blocks:
        raise t.error(
            f"{ast.unparse(c.node.func)} works only on arch=ti.cuda, because threads of a GPU execute it "
            f"together; this is arch=ti.{arch}",
            c.node,
        )


def _handler(kind: str, names: tuple[str, ...], value_type: Prim | None) -> Handler:
    takes = SIMT[kind].takes
    whole_warp = len(names) < len(takes)

    def handle(t: Translator, c: Call) -> Any:
        _refuse_other_arches(t, c)
        given = arguments(t, c, len(names), len(names), *names)
        values = [_ALL, *given] if whole_warp else given
        exprs = [_operand(t, c, value, wanted or value_type) for value, wanted in zip(values, takes, strict=True)]
        gives = SIMT[kind].gives
        type: Type = exprs[takes.index(None)].type if gives is None else gives
        call = tree.Simt(kind, exprs, type=type, span=t.span(c.node))
        if type is not VOID:
            return t.local(call)
        t.emit(tree.Eval(call, span=call.span))
        return None

    return handle


def _operand(t: Translator, c: Call, value: Any, wanted: Prim | None) -> tree.Expr:
    """An argument as a number of the required type. If any type is allowed, it must have 32 or 64 bits."""
    if is_number(value) and wanted is u32:
        return scalar_of(t, int(value) & _ALL, u32, c.node)
    expr = to_expr(t, value, c.node)
    if not isinstance(expr.type, Prim):
        raise t.error(f"{ast.unparse(c.node.func)} takes numbers, not {kind_of(expr)}", c.node, TypeMismatch)
    if wanted is None:
        wanted = expr.type if expr.type.bits >= 32 else f32 if expr.type.is_float else i32
    return cast_value_to(t, expr, wanted, c.node)


for _name, _row in INTRINSICS.items():
    function(f"simt.{_name}")(_handler(*_row))


@function("simt.subgroup.identity")
def _identity(t: Translator, c: Call) -> Any:
    value, kind = arguments(t, c, 2, 2, "value", "kind")
    expr = to_expr(t, value, c.node)
    if not isinstance(expr.type, Prim):
        raise t.error(f"expected a number, not {kind_of(expr)}", c.node, TypeMismatch)
    return scalar_of(t, identity(kind, expr.type), expr.type, c.node)


@function("simt.block.SharedArray")
def _shared_array(t: Translator, c: Call) -> Any:
    _refuse_other_arches(t, c)
    shape, dtype = arguments(t, c, 2, 2, "shape", "dtype")
    extents = tuple(
        as_int(t, n, c.node, "an extent") for n in (shape if isinstance(shape, (tuple, list)) else (shape,))
    )
    if not extents or min(extents) < 1:
        raise t.error(f"the extents of a SharedArray must be at least 1, got {extents}", c.node, TypeMismatch)
    kind = run_now(t, c.node, to_ir, dtype)
    if not isinstance(kind, (Prim, Tensor)):
        raise t.error(
            f"the elements of a SharedArray must be numbers, vectors or matrices, not {kind}", c.node, TypeMismatch
        )
    made = tree.Shared("", extents, type=array(kind, len(extents), True), span=t.span(c.node))
    t.emit(tree.Eval(made, span=made.span))
    return made
