"""The CUDA backend: compiles a lowered kernel to PTX with an entry for each launch, and an object file that launches
them.

Everything up to PTX works without a GPU.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from weft.codegen.gpu import kernel as gpu
from weft.codegen.gpu.kernel import Emitted
from weft.codegen.llvm import machine
from weft.codegen.nvptx.dialect import dialect
from weft.codegen.nvptx.host import host_module
from weft.codegen.nvptx.lost_borrows import keep_borrows
from weft.codegen.nvptx.lost_wraps import keep_wraps
from weft.codegen.nvptx.math_library import CudaMath, own_operators
from weft.codegen.nvptx.target import device_machine, header, link_math, most_arguments, most_shared, newest, optimize
from weft.ir.artifact import Artifact, CudaTarget
from weft.ir.calls import draws, may_fail
from weft.ir.config import CompileConfig
from weft.ir.ops import Kernel

__all__ = ["compile_kernel", "emit_kernel"]

_HOST_LEVEL = 1


def compile_kernel(
    kernel: Kernel,
    config: CompileConfig,
    timer: Any = None,
    device: CudaTarget | None = None,
    functions: Sequence[Kernel] = (),
) -> Artifact:
    """Lowered CHI, with the functions it calls, to PTX for a device (the oldest that will do, if none is given) and to
    the host's object file. `timer(stage)` is called as each stage begins."""
    note = timer or (lambda _stage: None)
    note("emit")
    target = newest(device or CudaTarget())
    emitted, math = emit_kernel(kernel, config, target, functions)
    gpu.check_limits(kernel, emitted, f"sm_{target.sm}", most_arguments(target), most_shared(target))
    module = emitted.module
    text = module.text(header(target, config.opt_level))
    note("optimize")
    native = machine.parse(text)
    link_math(native, frozenset(math.names), target, config.opt_level)
    optimize(native, target, config.opt_level)
    note("codegen")
    ptx = keep_wraps(keep_borrows(device_machine(target, config.opt_level).emit_assembly(native)))
    note("host")
    host, check = _host_object(kernel, emitted)
    return Artifact(
        name=kernel.symbol,
        target="cuda",
        code=ptx.encode(),
        entry="weft_entry",
        slots=module.slots,
        sites=tuple(module.sites),
        llvm=text,
        native=native,
        host=host,
        stack_bytes=emitted.stack_bytes,
        check=check,
        **gpu.launch_facts(kernel, emitted),
    )


def emit_kernel(
    kernel: Kernel, config: CompileConfig, target: CudaTarget, functions: Sequence[Kernel] = ()
) -> tuple[Emitted, CudaMath]:
    """The LLVM module of a lowered kernel for the device, and the math functions that it calls."""
    math = CudaMath()
    own = own_operators(math, config.fast_math)
    return gpu.emit_kernel(kernel, config, dialect(target, config.cuda_stack_limit), math, own, functions), math


def _host_object(kernel: Kernel, emitted: Emitted) -> tuple[bytes, str]:
    """The host's object file, and its function that checks for overlaps."""
    module, launches = emitted.module, emitted.launches
    tasks, slots = [task for launch in launches for task in launch.tasks()], module.slots
    fallible = any(map(may_fail, tasks))
    drawn = any(draws(task) for task in tasks if task.kind == "serial")
    flagged = fallible or drawn or any(launch.guards for launch in launches)
    made, check = host_module(module.config, kernel, slots, launches, fallible, flagged)
    return machine.emit_object(made, _HOST_LEVEL, module.config.cpu_features), check
