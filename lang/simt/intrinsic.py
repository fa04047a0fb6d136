"""How an intrinsic of `ti.simt` is declared; `translate/simt.py` says what a call of it means."""

from __future__ import annotations

from typing import Any

from weft.ir.errors import CompilationError
from weft.lang.values.builtins import Builtin

__all__ = ["intrinsic"]


def intrinsic(name: str, doc: str) -> Builtin:
    """`ti.simt.<name>`. CompilationError outside of kernels, and in those of other arches."""

    def refuse(*_: Any, **__: Any) -> Any:
        raise CompilationError(f"ti.simt.{name} works only in kernels of arch=ti.cuda: threads of a GPU do it together")

    return Builtin(f"simt.{name}", refuse, doc)
