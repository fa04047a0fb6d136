"""From a Python function to a kernel's tree: everything Python-dynamic is settled here.

`translator` holds the state and the dispatch tables; `expressions`, `operators`, `indexing`, `attributes`, `calls` with
`functions`, `methods`, `constructors` and `inlining` say what expressions mean; `statements`, `loops` and `printing`
what statements do; `values` takes what is known at compile time to run time. All of that is imported by the first
translation: `import weft` does not wait for it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from weft.lang.translate.contract import Argument, Translation

if TYPE_CHECKING:
    from weft.ir.config import CompileConfig

__all__ = ["Argument", "Translation", "translate_kernel"]


def translate_kernel(
    function: Callable[..., Any], arguments: Sequence[Argument], results: tuple[Any, ...], config: CompileConfig
) -> Translation:
    """The tree of one instance of a kernel. CompilationError, with its place, for a mistake of the user."""
    from weft.lang.translate.kernels import translate

    return translate(function, arguments, results, config)
