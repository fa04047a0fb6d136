"""Text in kernels with `arch=python`: values print as in compiled kernels."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from weft.lang.values.formats import Piece, parse_braces, parse_percent
from weft.lang.values.matrix import Matrix
from weft.lang.values.struct import Struct
from weft.runtime.errors import KernelFault

__all__ = ["Texts"]


class Texts:
    """Formats values. `strong` gives a Python number its type in a kernel. `member` returns a member of a struct."""

    def __init__(self, strong: Callable[[Any], Any], member: Callable[[Any, str], Any]) -> None:
        self.strong, self.member = strong, member

    def shown(self, x: Any, spec: str = "") -> str:
        """Return a value as `print` writes it: vectors and matrices as lists, structs by member, each number with
        `spec`."""
        if isinstance(x, Struct):
            members = (f"{name}: {self.shown(self.member(x, name), spec)}" for name in x.keys)
            return "{" + ", ".join(members) + "}"
        if isinstance(x, Matrix):
            x = list(x)
        if isinstance(x, (list, tuple)):
            return "[" + ", ".join(self.shown(item, spec) for item in x) + "]"
        value = self.strong(x)
        if not spec:
            return str(value)
        return format(value.item() if isinstance(value, np.generic) else value, spec)

    def formatted(self, x: Any, spec: str, conversion: int) -> str:
        """Return `{x!conversion:spec}`. A value that is known before the kernel runs is formatted by Python's rules."""
        if isinstance(x, (np.generic, Matrix, Struct, list, tuple)):
            return self.shown(x, spec)
        return format(repr(x) if conversion == ord("r") else x, spec)

    def percent(self, text: str, values: Any) -> str:
        """Return `text % values`."""
        return self._filled(parse_percent(text), values if isinstance(values, tuple) else (values,), {})

    def braces(self, text: str, *values: Any, **named: Any) -> str:
        """Return `text.format(...)`."""
        return self._filled(parse_braces(text), values, named)

    def _filled(self, pieces: Sequence[Piece], values: Sequence[Any], named: Mapping[str, Any]) -> str:
        done: list[str] = []
        for piece in pieces:
            if isinstance(piece, str):
                done.append(piece)
                continue
            value = values[piece.key] if isinstance(piece.key, int) else named[piece.key]
            if piece.whole:
                value = (
                    Matrix.wrap(np.trunc(value.values).astype(np.int64)) if isinstance(value, Matrix) else int(value)
                )
            done.append(self.formatted(value, piece.spec, ord("r") if piece.quoted else -1))
        return "".join(done)

    def failure(self, message: Any) -> KernelFault:
        """Return the exception of a failed assertion."""
        if isinstance(message, tuple) and message and isinstance(message[0], str):
            fill = self.percent if "%" in message[0] else lambda text, values: self.braces(text, *values)
            return KernelFault(fill(message[0], message[1:]))
        return KernelFault(message)
