"""Declare the intrinsics of `ti.simt`. `translate/simt.py` defines what their calls mean."""

from __future__ import annotations

from inspect import Parameter, Signature
from typing import Any

from weft.ir.errors import CompilationError
from weft.lang.values.builtins import Builtin

__all__ = ["in_lanes", "intrinsic"]


def intrinsic(name: str, parameters: str, doc: str) -> Builtin:
    """Declare `ti.simt.<name>`, with the names of its parameters. A call raises CompilationError outside of kernels,
    and in kernels of other arches."""

    def refuse(*_: Any, **__: Any) -> Any:
        raise CompilationError(
            f"ti.simt.{name} works only in kernels of arch=ti.cuda, because threads of a GPU execute it together"
        )

    shown = [Parameter(one, Parameter.POSITIONAL_OR_KEYWORD) for one in parameters.split()]
    refuse.__signature__ = Signature(shown)  # type: ignore[attr-defined]
    return Builtin(f"simt.{name}", refuse, doc)


def in_lanes(value: str, results: str, dtype: str = "i32") -> str:
    """The example of the documentation of a function: 32 iterations, which are the lanes of a warp, store `value`.
    `results` are those of the first four."""
    return f"""

Example:
    out = ti.field(ti.{dtype}, 32)

    @ti.kernel
    def run():
        ti.loop_config(block_dim=32)
        for i in range(32):
            out[i] = {value}

    run()
    out.to_numpy()[:4].tolist()  # {results}
"""
