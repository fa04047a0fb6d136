"""Compiles a lowered kernel to an object file for an AMD GPU, with a function for each launch.

`ld.lld -shared` links it to a code object (hsaco), which AMD's driver loads. Weft does not launch it: a program of the
user does, as `docs/targets.md` says. Each function takes the parameters of a launch on an NVIDIA GPU (see
`ir/artifact.py`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from weft.codegen.amdgcn.dialect import dialect
from weft.codegen.amdgcn.math_library import AmdMath, library_options, own_operators
from weft.codegen.amdgcn.target import DEFAULT, MOST_SHARED, math_library, target_of
from weft.codegen.gpu.kernel import check_limits, emit_kernel, launch_facts
from weft.codegen.llvm import cross
from weft.codegen.llvm.cross import CrossTarget
from weft.ir.artifact import Artifact
from weft.ir.config import CompileConfig
from weft.ir.errors import WeftError
from weft.ir.ops import Kernel

__all__ = ["compile_kernel"]

_TRIPLE = "amdgcn-amd-amdhsa"
_MOST_ARGUMENTS = 4096  # bytes


def compile_kernel(
    kernel: Kernel,
    config: CompileConfig,
    timer: Any = None,
    processor: str = DEFAULT,
    functions: Sequence[Kernel] = (),
) -> Artifact:
    """Lowered CHI that is mapped to a GPU, with the functions it calls, to an object file. `timer(stage)` is called as
    each stage begins."""
    note = timer or (lambda _stage: None)
    note("emit")
    target, math = target_of(processor), AmdMath()
    emitted = emit_kernel(kernel, config, dialect(target), math, own_operators(config.fast_math), functions)
    check_limits(kernel, emitted, processor, _MOST_ARGUMENTS, MOST_SHARED)
    library = math_library() if math.names else None
    if math.names and library is None:
        raise WeftError(
            f"{next(iter(math.names))} needs AMD's math library, but the file ocml.bc was not found: install "
            "ROCm or the package triton, or set WEFT_OCML to the path of the file"
        )
    module = emitted.module
    module.declarations |= library_options(target) if math.names else {}
    made = CrossTarget(_TRIPLE, processor, bitcode=str(library or ""))
    text = module.text(cross.header(made))
    note("codegen")
    return Artifact(
        name=kernel.symbol,
        target="amdgcn",
        code=cross.object_code(text, made, config.opt_level),
        entry="",
        slots=module.slots,
        sites=tuple(module.sites),
        llvm=text,
        native=made,
        **launch_facts(kernel, emitted),
    )
