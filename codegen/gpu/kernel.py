"""Compiles a lowered kernel to an LLVM module with a function for each launch, in the dialect of a GPU.

Consecutive serial tasks are one launch of a single thread. A parallel loop is a launch of a grid. If the box of a loop
depends on memory, the single thread before it computes the box, so that a loop may change the memory from which its own
bounds were read.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

from weft.codegen.gpu.device_writer import DeviceWriter, state_word
from weft.codegen.gpu.dialect import DeviceHooks, GpuDialect, device_hooks
from weft.codegen.gpu.ops import DEVICE
from weft.codegen.gpu.task import Launch, launches_of, write_launch
from weft.codegen.llvm.call_ops import frame_bytes, write_function
from weft.codegen.llvm.callees import survey
from weft.codegen.llvm.function import FunctionWriter, MathLibrary
from weft.codegen.llvm.module import ModuleWriter
from weft.ir.artifact import STATE_ERROR, Slots
from weft.ir.config import CompileConfig
from weft.ir.errors import CompilationError
from weft.ir.nodes import tree_count
from weft.ir.ops import Kernel, Task
from weft.ir.overlaps import written_arrays
from weft.ir.types import Prim

__all__ = ["Emitted", "check_limits", "emit_kernel", "launch_facts", "shared_of", "threads_of"]


@dataclass(frozen=True)
class Emitted:
    """A kernel as an LLVM module."""

    module: ModuleWriter
    target: DeviceHooks
    launches: tuple[Launch, ...]  # in order
    words: int  # of the state, before the temporaries
    frame: int  # the most bytes of arrays that an entry has on the stack of its thread

    @property
    def stack_bytes(self) -> int:
        """The stack that a thread needs; 0: no more than any kernel, since no function may call itself."""
        recursive = any(callee.recursive for callee in self.module.callees.values())
        return self.target.dialect.stack_bytes + 2 * self.frame if recursive else 0


def emit_kernel(
    kernel: Kernel,
    config: CompileConfig,
    dialect: GpuDialect,
    math: MathLibrary,
    own: dict[tuple[str, Prim], Callable[..., str]],
    functions: Sequence[Kernel] = (),
) -> Emitted:
    """The LLVM module of a lowered kernel. `math` writes calls of functions, `own` the operators that the target writes
    in its own way."""
    trees = tree_count(kernel.fields, kernel.nodes)
    module = ModuleWriter(config, Slots(trees, kernel.params, kernel.results, 0), survey(functions))
    launches, words = launches_of(kernel)
    frame = max((sum(frame_bytes(task.walk()) for task in launch.tasks()) for launch in launches), default=0)
    target = device_hooks(dialect, math, own, _leave_if_failed, _floor(dialect.stack_bytes, frame))
    for callee in module.callees.values():
        if callee.recursive and not dialect.stack_bytes:
            raise CompilationError(f"{dialect.name} does not support recursive functions", callee.kernel.span)
        write_function(module, target, callee, DeviceWriter, DEVICE)
    for launch in launches:
        write_launch(module, target, launch, words, threads_of(launch.loop))
    return Emitted(module, target, tuple(launches), words, frame)


def _leave_if_failed(f: FunctionWriter) -> None:
    after = f.fresh_label("returned")
    state = f.set(f"load i64, ptr {state_word(f, STATE_ERROR)}, align 8")
    f.branch(f.set(f"icmp eq i64 {state}, 0"), after, f.exit_label)
    f.start(after)


def _floor(room: int, frame: int) -> tuple[str, ...]:
    """How an entry finds the end of the stack of its thread: a quarter is left for functions that are not recursive.
    `frame`: the bytes of its own arrays, all of which may be below the local whose address it takes, or above it."""
    return (
        "  %floor.local = alloca i64, align 8",
        "  %floor.here = ptrtoint ptr %floor.local to i64",
        f"  %floor = sub i64 %floor.here, {room - room // 4 + frame}",
    )


def threads_of(task: Task | None) -> int:
    """How many threads a block has; one for serial tasks."""
    return 1 if task is None else prod(task.schedule.block)


def launch_facts(kernel: Kernel, emitted: Emitted) -> dict[str, Any]:
    """The fields of an `Artifact` that describe launches."""
    return {
        "tasks": tuple(launch.name for launch in emitted.launches),
        "threads": tuple(threads_of(launch.loop) for launch in emitted.launches),
        "shared": tuple(shared_of(launch.loop) for launch in emitted.launches),
        "state_bytes": 8 * emitted.words + kernel.temp_bytes,
        "written": written_arrays(kernel),
    }


def shared_of(task: Task | None) -> int:
    """How many bytes of the memory of a block come with a launch of the task."""
    return 0 if task is None else task.schedule.shared_bytes


def check_limits(kernel: Kernel, emitted: Emitted, gpu: str, arguments: int, shared: int) -> None:
    """Raise CompilationError if the arguments, or the shared arrays of a block, have more bytes than
    that GPU allows."""
    used = 8 * emitted.module.slots.result_start
    if used > arguments:
        raise CompilationError(
            f"the arguments of this kernel have {used} bytes, but a launch on this GPU can have at most "
            f"{arguments}: pass large matrices as fields or arrays",
            kernel.span,
        )
    for launch in emitted.launches:
        used = shared_of(launch.loop)
        if launch.loop is not None and used > shared:
            raise CompilationError(
                f"the SharedArrays of this loop need {used} bytes, but a block of this GPU ({gpu}) has only {shared}",
                launch.loop.span,
            )
