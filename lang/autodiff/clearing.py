"""`ti.ad.clear_all_gradients`: sets gradients to 0."""

from __future__ import annotations

from enum import Enum
from typing import Any

from weft.ir.errors import TypeMismatch
from weft.lang.data.companions import KINDS
from weft.lang.data.field_tree import FieldTree
from weft.lang.program.init import program

__all__ = ["clear_all_gradients"]


def clear_all_gradients(gradient_type: Any = "grad") -> None:
    """Set the gradients of all fields to 0, or with "dual" their duals. Gradients of ndarrays and tensors keep their
    values, as in Taichi and PyTorch: write `x.grad.fill(0)`. Raises TypeMismatch for another kind.

    Example:
        x = ti.field(ti.f32, 2, needs_grad=True)
        x.grad.fill(3)
        ti.ad.clear_all_gradients()
        x.grad.sum()  # 0.0
    """
    kind = _NAMES.get(gradient_type.name, "") if isinstance(gradient_type, Enum) else gradient_type
    if kind not in KINDS:
        raise TypeMismatch(f"clear_all_gradients takes 'grad' or 'dual', not {gradient_type!r}")
    for tree in program().living():
        if isinstance(tree, FieldTree) and not tree.destroyed:
            for companion in tree.companions.used[kind]:
                companion.fill(0)


_NAMES = {"ADJOINT": "grad", "DUAL": "dual"}  # of Taichi's SNodeGradType
