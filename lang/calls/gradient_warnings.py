"""Warnings about derivatives, each given once for its place in the source."""

from __future__ import annotations

import warnings
from typing import Any

from weft.ir.autodiff.torn import Torn
from weft.ir.errors import CompilationError, Span
from weft.lang.errors import GradientWarning

__all__ = ["warn_at", "warn_of_old_values", "with_advice"]

_given = dict[Any, Any]()  # as Python keeps what it has warned of


def warn_at(span: Span | None, message: str) -> None:
    """Give a GradientWarning for a place in the source, once."""
    text = message if span is None else f"\n{span.render()}\n{message}"
    file, line = ("<kernel>", 1) if span is None else (span.file, span.line)
    warnings.warn_explicit(GradientWarning(text), None, file, line, registry=_given)


def warn_of_old_values(kernel: Any, instance: Any) -> None:
    """Warn that the gradient kernel, which a program launches itself, needs values that the original kernel has
    overwritten."""
    tree = instance.recipe.translate().tree
    names = {f"field:{k}": symbol.name for k, symbol in enumerate(tree.fields)}
    names |= {f"param:{k}": param.name for k, param in enumerate(tree.params)}
    told = ", ".join(f"'{names[place]}'" for place in instance.facts.saved)
    name = kernel.__name__
    warn_at(
        tree.span,
        f"{name}() needs the values of {told} from before kernel '{name.removesuffix('.grad')}' overwrote "
        "them, but uses the values that are there when it runs: restore the old values first, or record the "
        "call with ti.ad.Tape",
    )


def with_advice(error: CompilationError, name: str) -> CompilationError:
    """The error of a call of a kernel. If it is a gradient that the program launches itself, and that a tape could
    compute, the message says how."""
    if not isinstance(error, Torn) or not name.endswith(".grad"):
        return error
    return Torn(
        f"{error.message} Instead of {name}(...), call {name.removesuffix('.grad')}(...) in the block of "
        "`tape = ti.ad.Tape(None)`, set the gradients of what it writes, and call tape.grad().",
        error.span,
    )
