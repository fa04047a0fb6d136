"""The CUDA backend: a lowered kernel becomes PTX with an entry for each launch, and an object file that launches them.

Serial tasks that follow one another are one launch of a single thread; a parallel loop is a launch of a grid. Where the
box of a loop depends on memory, the single thread before it measures the box, so that a loop may change what its own
bounds were read from. Everything up to PTX works without a GPU.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from weft.codegen.gpu.axes import write_along
from weft.codegen.gpu.ops import DEVICE, DeviceWriter, state_word
from weft.codegen.gpu.privatization import LIMITS
from weft.codegen.gpu.simt import arena_of, threads_together
from weft.codegen.gpu.task import Launch, box_of, contains, draws, measured_first, write_launch
from weft.codegen.gpu.wide_atomics import FIRST
from weft.codegen.llvm import machine
from weft.codegen.llvm.call_ops import Callee, calls_one, survey, write_function
from weft.codegen.llvm.function import FunctionWriter
from weft.codegen.llvm.module import ModuleWriter
from weft.codegen.llvm.spelling import identifier
from weft.codegen.nvptx.host import host_module, threads_of
from weft.codegen.nvptx.lost_borrows import keep_borrows
from weft.codegen.nvptx.lost_wraps import keep_wraps
from weft.codegen.nvptx.math_library import CudaMath, own_operators
from weft.codegen.nvptx.target import device_machine, header, link_math, most_arguments, most_shared, newest, optimize
from weft.ir.artifact import STATE_ERROR, STATE_RESULTS, Artifact, CudaTarget, Slots
from weft.ir.config import CompileConfig
from weft.ir.errors import CompilationError
from weft.ir.mapping.privatizable import shares_of
from weft.ir.ops import Assert, Exit, Kernel, Task
from weft.ir.overlaps import written_arrays
from weft.ir.types import flat_size

__all__ = ["compile_kernel", "emit_kernel", "plan"]

_HOST_LEVEL = 1

# Of a thread, where functions call themselves. The driver sets it aside for every thread that the GPU can hold.
_STACK_BYTES = 8 << 10


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
    module, math, launches, state_words = emit_kernel(kernel, config, target, functions)
    _check_arguments(kernel, module.slots, target)
    for launch in launches:
        _check_shared(launch, target)
    text = module.text(header(target, config.opt_level))
    note("optimize")
    native = machine.parse(text)
    link_math(native, frozenset(math.names), target, config.opt_level)
    optimize(native, target, config.opt_level)
    note("codegen")
    ptx = keep_wraps(keep_borrows(device_machine(target, config.opt_level).emit_assembly(native)))
    note("host")
    host, check = _host_object(kernel, module, launches)
    return Artifact(
        name=kernel.symbol,
        target="cuda",
        code=ptx.encode(),
        entry="weft_entry",
        slots=module.slots,
        sites=tuple(module.sites),
        llvm=text,
        native=native,
        tasks=tuple(launch.name for launch in launches),
        host=host,
        threads=tuple(threads_of(launch.loop) for launch in launches),
        shared=tuple(arena_of(launch.loop)[1] for launch in launches),
        state_bytes=8 * state_words + kernel.temp_bytes,
        stack_bytes=stack_bytes(config) if any(callee.recursive for callee in module.callees.values()) else 0,
        written=written_arrays(kernel),
        check=check,
    )


def _leave_if_failed(f: FunctionWriter) -> None:
    after = f.fresh_label("returned")
    state = f.set(f"load i64, ptr {state_word(f, STATE_ERROR)}, align 8")
    f.branch(f.set(f"icmp eq i64 {state}, 0"), after, f.exit_label)
    f.start(after)


def _check_arguments(kernel: Kernel, slots: Slots, target: CudaTarget) -> None:
    """CompilationError for more than can be handed over with a launch."""
    used, most = 8 * slots.result_start, most_arguments(target)
    if used > most:
        raise CompilationError(
            f"the arguments of this kernel take {used} bytes, and a launch on this GPU may have {most}: "
            "pass large matrices as fields or arrays",
            kernel.span,
        )


def _check_shared(launch: Launch, target: CudaTarget) -> None:
    """CompilationError for arrays that do not fit the memory of a block."""
    used, most = arena_of(launch.loop)[1], most_shared(target)
    if launch.loop is not None and used > most:
        raise CompilationError(
            f"the SharedArrays of this loop take {used} bytes, and a block of this GPU (sm_{target.sm}) has {most}",
            launch.loop.span,
        )


def stack_bytes(config: CompileConfig) -> int:
    """The stack of a thread of a kernel with recursion: `cuda_stack_limit`, if it is given."""
    return config.cuda_stack_limit or _STACK_BYTES


def emit_kernel(
    kernel: Kernel, config: CompileConfig, target: CudaTarget, functions: Sequence[Kernel] = ()
) -> tuple[ModuleWriter, CudaMath, list[Launch], int]:
    """The LLVM module of a lowered kernel for the device, the math functions it calls, its launches in order, and the
    words of its state before the temporaries."""
    trees = 1 + max((symbol.tree for symbol in kernel.fields), default=-1)
    slots = Slots(trees, kernel.params, kernel.results, 0)
    math = CudaMath()
    module = ModuleWriter(
        config,
        slots,
        math,
        own=own_operators(math, config.fast_math),
        sync_scope='syncscope("device") ',
        tree_base=", !align !{i64 256}",  # what the driver's allocator promises
        callees=survey(functions),
        floor=_floor(stack_bytes(config)),
        leave_if_failed=_leave_if_failed,
    )
    for callee in module.callees.values():
        write_function(module, callee, DeviceWriter, DEVICE)
    launches, words = plan(kernel, module.callees)
    wide = target.sm >= FIRST.sm and target.ptx >= FIRST.ptx
    for launch in launches:
        write_launch(module, launch, words, threads_of(launch.loop), wide)
    return module, math, launches, words


def _floor(room: int) -> tuple[str, ...]:
    """How an entry finds where the stack of its thread must end: a quarter is left for what does not call itself."""
    return (
        "  %floor.local = alloca i64, align 8",
        "  %floor.here = ptrtoint ptr %floor.local to i64",
        f"  %floor = sub i64 %floor.here, {room - room // 4}",
    )


def plan(kernel: Kernel, callees: Mapping[str, Callee]) -> tuple[list[Launch], int]:
    """The launches of a kernel in order, and how many words of the state they and the results take."""
    name = identifier(kernel.symbol)
    launches: list[Launch] = []
    words = STATE_RESULTS + sum(map(flat_size, kernel.results))

    def single() -> Launch:
        if not launches or launches[-1].loop is not None:
            launches.append(Launch(f"{name}_{len(launches)}"))
        return launches[-1]

    for task in (op for op in kernel.body if isinstance(op, Task)):
        if task.kind == "serial":
            single().serial.append(task)
            continue
        if not draws(task, callees):  # iterations are numbered by their place: it must be the same on every arch
            write_along(task)
        box = 0
        if measured_first(task):
            box = words
            words += 2 * len(box_of(task).begins)
            single().boxes.append((task, box))
        shares = () if threads_together(task) else shares_of(task, kernel.fields, LIMITS)
        launches.append(Launch(f"{name}_{len(launches)}", loop=task, box=box, shares=shares))
    ended = False
    for position, launch in enumerate(launches):
        launch.guards = ended
        may_end = any(contains(task, kind) for task in launch.tasks() for kind in (Exit, Assert))
        may_end |= any(calls_one(task, callees, lambda callee: callee.fails) for task in launch.tasks())
        launch.stops = may_end and position < len(launches) - 1
        ended |= may_end
    return launches, words


def _host_object(kernel: Kernel, module: ModuleWriter, launches: list[Launch]) -> tuple[bytes, str]:
    """The host's object file, and its function that checks for overlaps."""
    tasks, callees, slots = [task for launch in launches for task in launch.tasks()], module.callees, module.slots
    wary = any(contains(task, Assert) or calls_one(task, callees, lambda callee: callee.fails) for task in tasks)
    drawn = any(draws(task, callees) for task in tasks if task.kind == "serial")
    flagged = wary or drawn or any(launch.guards for launch in launches)
    host = machine.host_cpu(_HOST_LEVEL, module.config.cpu_features)
    made, check = host_module(module.config, kernel, slots, launches, wary, flagged)
    code: bytes = host.machine.emit_object(machine.parse(made))
    return code, check
