"""The entry to this room: translate a kernel. Importing it imports no part of the translator."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from weft.lang.translate.contract import Argument, Translation

if TYPE_CHECKING:
    from weft.ir.config import CompileConfig

__all__ = ["Argument", "Translation", "translate_kernel"]


def translate_kernel(
    function: Callable[..., Any],
    arguments: Sequence[Argument],
    results: tuple[Any, ...],
    config: CompileConfig,
    mode: str = "",
    piece: int | None = None,
) -> Translation:
    """Translate one instance of a kernel to its tree, to be compiled in a mode of MODES (`symbols.py`). `piece`: only
    that piece of it (`pieces.py`). Raises CompilationError, with its place, for a mistake of the user."""
    from weft.lang.translate.kernels import translate

    made = translate(function, arguments, results, config, mode)
    if piece is None:
        return made
    from weft.ir.pieces import pieces_of

    return replace(made, tree=pieces_of(made.tree)[piece])
