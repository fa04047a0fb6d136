"""Declare the intrinsics of `ti.simt`. `translate/simt.py` defines what their calls mean."""

from __future__ import annotations

from typing import Any

from weft.ir.errors import CompilationError
from weft.lang.values.builtins import Builtin

__all__ = ["intrinsic"]


def intrinsic(name: str, doc: str) -> Builtin:
    """Declare `ti.simt.<name>`. A call raises CompilationError outside of kernels, and in kernels of other arches."""

    def refuse(*_: Any, **__: Any) -> Any:
        raise CompilationError(
            f"ti.simt.{name} works only in kernels of arch=ti.cuda, because threads of a GPU execute it together"
        )

    return Builtin(f"simt.{name}", refuse, doc)
