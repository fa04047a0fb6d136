"""Kernels that a tape runs piece by piece, because their gradient needs values between two of their loops."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from weft.ir.autodiff.torn import Torn
from weft.ir.pieces import pieces_of
from weft.lang.autodiff.contexts import Context, active
from weft.lang.data.writes import LISTENERS

__all__ = ["pieces_for", "pieces_or_gradient"]

Call = Callable[..., Any]


def pieces_or_gradient(
    context: Context | None,
    kernel: Any,
    args: tuple[Any, ...],
    keywords: dict[str, Any],
    bind: Call = lambda _, gradient, *given: gradient.bind(*given),
) -> tuple[list[tuple[Any, Call]], Any]:
    """The pieces of a kernel, each with what launches it for the contexts around this one, if its gradient needs values
    between them. Otherwise none, and what `bind` gives for the kernel, its gradient and the arguments: a launch of the
    gradient. Raises CompilationError if there are no pieces, or the kernel cannot be differentiated for another
    reason."""
    pieces = kernel.bind(args, keywords).instance.pieces if kernel.is_torn else []
    if not pieces:
        try:
            return [], bind(kernel, kernel.grad, args, keywords)
        except Torn:
            pieces = pieces_for(kernel, args, keywords)
            if not pieces:
                raise
            kernel.is_torn, kernel.bind(args, keywords).instance.pieces = True, pieces
    return [(piece, partial(_outside, context, piece)) for piece in pieces], None


def pieces_for(kernel: Any, args: tuple[Any, ...], keywords: dict[str, Any]) -> list[Any]:
    """Kernels that compute what this one computes for such arguments, one after another. It has none if it cannot be
    cut."""
    count = len(pieces_of(kernel.bind(args, keywords).instance.recipe.translate().tree))
    return [kernel.related("", (), number) for number in range(count)] if count > 1 and kernel.piece is None else []


def _outside(context: Context | None, piece: Any, *args: Any, **keywords: Any) -> Any:
    """Launch a piece for the contexts around this one."""
    contexts = active()
    place = next((k for k, one in enumerate(contexts) if one is context), len(contexts))
    token = LISTENERS.set(contexts[:place])
    try:
        return piece(*args, **keywords)
    finally:
        LISTENERS.reset(token)
