"""The entry to this room: translate a kernel. Importing it imports no part of the translator."""

from __future__ import annotations

from collections.abc import Callable, Sequence
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
) -> Translation:
    """Translate one instance of a kernel to its tree, to be compiled in a mode of MODES (`symbols.py`). Raises
    CompilationError, with its place, for a mistake of the user."""
    from weft.lang.translate.kernels import translate

    return translate(function, arguments, results, config, mode)
