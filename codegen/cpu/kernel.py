"""The CPU backend: compiles a lowered kernel to one LLVM module, and that to an object file.

Each parallel task is a function over a chunk of its iteration box: `body(ctx, box, begin, end)`. A box of one axis is
divided into chunks of iterations. A box of several axes is divided into chunks of *rows*: all axes except the innermost
are numbered together, and the innermost, contiguous one is a plain loop without division that LLVM vectorizes. The
entry function runs serial tasks in place and passes parallel ones to the runtime's thread pool. Small ones run on the
caller.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from functools import lru_cache
from typing import Any

from weft.codegen.cpu import lane_loops, vector_memory, vectors
from weft.codegen.cpu.float_extremes import FLOAT_EXTREMES
from weft.codegen.cpu.parts import Parts, cuts_of
from weft.codegen.cpu.privatization import (
    extra_words,
    homes,
    pays_off,
    prepare,
    run_privatized,
    write_merge,
    write_private_body,
)
from weft.codegen.cpu.routines import Called, Calls, called
from weft.codegen.cpu.saturating_casts import saturated
from weft.codegen.cpu.vector_math import LIBRARY, CpuMath
from weft.codegen.cpu.vector_writer import VectorWriter
from weft.codegen.llvm import control_ops, machine, memory_ops, philox, scalar_ops, synchronization
from weft.codegen.llvm.call_ops import write_function
from weft.codegen.llvm.callees import survey
from weft.codegen.llvm.crew import Crew, Helpers
from weft.codegen.llvm.function import EMITTERS, AfterIteration, FunctionWriter, MemoryFacts, TargetHooks
from weft.codegen.llvm.interrupts import look, stretches
from weft.codegen.llvm.line_table import LineTable
from weft.codegen.llvm.memory_ops import service
from weft.codegen.llvm.module import ModuleWriter
from weft.codegen.llvm.outline import outline
from weft.codegen.llvm.overlap_check import write_check
from weft.codegen.llvm.vector_loops import vector_loop
from weft.ir.artifact import SERVICES, Artifact, Slots
from weft.ir.calls import draws
from weft.ir.config import CompileConfig
from weft.ir.core import Value
from weft.ir.mapping.routines import Routine, routines_in
from weft.ir.mapping.stretches import NEVER
from weft.ir.nodes import tree_count
from weft.ir.ops import Const, For, Kernel, Task, While, Yield
from weft.ir.schedule import Privatized
from weft.ir.tasks import box_of, known_extent, tasks_of
from weft.ir.types import Prim, f32, f64

__all__ = ["compile_kernel", "emit_kernel", "target_hooks"]

# Imported for the ops that they register.
_WRITERS = (control_ops, lane_loops, memory_ops, philox, scalar_ops, synchronization, vector_memory, vectors)

# Below this price a loop is not worth waking another thread. A chunk should cost about as much.
_CHUNK = 40_000.0

# How a task computes the end of its stack: a number of bytes, which the runtime provides, below its own frame.
_FLOOR = (
    "  %floor.local = alloca i64, align 8",
    "  %floor.here = ptrtoint ptr %floor.local to i64",
    "  %floor.table = load ptr, ptr %ctx, align 8, !invariant.load !{}",
    f"  %floor.word = getelementptr inbounds i8, ptr %floor.table, i64 {8 * SERVICES.index('stack')}",
    "  %floor.room = load i64, ptr %floor.word, align 8, !invariant.load !{}",
    "  %floor = sub i64 %floor.here, %floor.room",
)


def compile_kernel(
    kernel: Kernel,
    config: CompileConfig,
    timer: Any = None,
    functions: Sequence[Kernel] = (),
    helpers: Helpers | None = None,
    keep: machine.Keep | None = None,
    apart: Sequence[Routine] = (),
) -> Artifact:
    """Compile lowered CHI, with the functions it calls, to an object file, or to several if there are `helpers` and it
    is long. `timer(stage)` is called as each stage begins (emit, optimize, codegen, wait). `keep` keeps object files of
    routines, which other kernels have, too. `apart`: the routines whose tasks the kernel does not have."""
    note = timer or (lambda _stage: None)
    note("emit")
    host, level, cpu = machine.host_cpu(config.opt_level, config.cpu_features), config.opt_level, config.cpu_features
    # (the metadata of lines would not come apart)
    cuts, routines = (frozenset[int](), []) if config.line_info else (cuts_of(kernel), routines_in(kernel))
    routines += apart
    others = list[bytes]()
    if helpers is not None and (cuts or routines):
        with Crew[bytes](helpers, note) as crew:

            def give(text: str, lines: int, keep: machine.Keep | None = None) -> None:
                crew.give(lines, lambda note: machine.compile_object(text, level, note, cpu, keep))

            parts = Parts(cuts, host.header, give)
            calls = Calls(routines, host.header, lambda text: give(text, text.count("\n"), keep))
            module = emit_kernel(kernel, config, host.features, functions, parts, calls)
            check = write_check(module, target_hooks(host.features, config.fast_math), kernel)
            parts.finish(module)
            text = module.text(host.header)
            *others, code = crew.finish()
    else:

        def add(text: str) -> None:
            others.append(machine.compile_object(text, level, note, cpu, keep))

        calls = Calls(routines, host.header, add)
        module = emit_kernel(kernel, config, host.features, functions, calls=calls)
        check = write_check(module, target_hooks(host.features, config.fast_math), kernel)
        text = module.text(host.header)
        code = machine.compile_object(text, level, note, cpu)
    return Artifact(
        name=kernel.symbol,
        target="cpu",
        code=code,
        parts=tuple(others),
        entry="weft_entry",
        slots=module.slots,
        sites=tuple(module.sites),
        libraries=(LIBRARY,) if module.kept else (),
        llvm=text,
        check=check,
    )


def emit_kernel(
    kernel: Kernel,
    config: CompileConfig,
    features: frozenset[str],
    functions: Sequence[Kernel] = (),
    parts: Parts | None = None,
    calls: Calls | None = None,
    trees: int | None = None,
) -> ModuleWriter:
    """The LLVM module of a lowered kernel for a CPU with these features. `parts` is notified of each task. `calls` are
    the routines that are compiled apart; without it, their tasks are in the module. `trees`: how many trees a launch
    passes, if not those of the fields."""
    trees = tree_count(kernel.fields, kernel.nodes) if trees is None else trees
    slots = Slots(trees, kernel.params, kernel.results, kernel.temp_bytes)
    callees = survey(functions, lambda op: isinstance(op, (For, While)) and control_ops.stretch_of(op) != NEVER)
    module, target = ModuleWriter(config, slots, callees), target_hooks(features, config.fast_math)
    for callee in callees.values():
        write_function(module, target, callee, FunctionWriter, EMITTERS)
    entry = FunctionWriter(module, target, twice=True, lines_from=_line_table(module, "weft_entry", kernel))
    tasks = tasks_of(kernel)
    serial = (task.schedule.joined for task in tasks if task.kind == "serial")  # in one function, so all the same
    entry.memory.joined = frozenset(next(serial, ()))
    for number, task in enumerate(tasks):
        first = len(entry.lines)
        if calls is not None and number in calls:
            calls.write(number, entry, lambda one: _routine(one, config, features))
        elif task.kind == "serial":
            _serial(entry, task)
        else:
            _parallel(entry, task, number)
            if task is not tasks[-1]:
                look(entry)
        _mark_rest(entry, first, task)
        if parts is not None:
            parts.written(module, number, task)
    module.functions.append(_text(entry, "define void @weft_entry(ptr noalias %ctx)"))
    return module


def _routine(routine: Routine, config: CompileConfig, features: frozenset[str]) -> Called:
    """A routine as a module of its own."""
    emit = _emitted_once if routine.shared else _emitted
    return emit(routine.kernel, config, features, len(routine.trees))


def _emitted(kernel: Kernel, config: CompileConfig, features: frozenset[str], trees: int) -> Called:
    module = emit_kernel(kernel, config, features, trees=trees)
    return called(module, target_hooks(features, config.fast_math), trees)


_emitted_once = lru_cache(64)(_emitted)


def _line_table(module: ModuleWriter, name: str, whole: Kernel | Task) -> LineTable | None:
    return LineTable(module, name, whole.span) if module.config.line_info else None


def _mark_rest(f: FunctionWriter, first: int, task: Task) -> None:
    """Code that belongs to no op (heads of loops, calls) gets the source line of the task."""
    if f.lines_from is not None:
        f.lines_from.mark(f.lines, first, task.span)


def _text(f: FunctionWriter, signature: str, attributes: str = "", in_lanes: bool = False) -> str:
    """The finished function."""
    outline(f, signature, in_lanes)
    where = f" !dbg {f.lines_from.subprogram}" if f.lines_from is not None else ""
    return f.text(f"{signature} {attributes}{f.target.attributes}{where}")


def target_hooks(features: frozenset[str], fast_math: bool) -> TargetHooks:
    """How a CPU with these features spells what all targets have."""
    own = dict[tuple[str, Prim], Callable[..., str]](FLOAT_EXTREMES if fast_math else {})
    if "sse2" in features:
        own |= {("cast", type): saturated for type in (f32, f64)}
    return TargetHooks(CpuMath(features, fast_math), own, look, _FLOOR, _attributes(features), vectorized=True)


def _attributes(features: frozenset[str]) -> str:
    """Use AVX-512 if it is available. Do not use reciprocal estimates: they turn 1 / sqrt(0) into NaN, and gain nothing
    measurable."""
    wide = ' "prefer-vector-width"="512"' if "avx512f" in features else ""
    return f'nounwind{wide} "reciprocal-estimates"="none"'


def _serial(f: FunctionWriter, task: Task) -> None:
    """One thread runs, so atomics need no lock. All serial tasks share one count of random numbers."""
    f.memory.plain = True
    if draws(task) and not f.random.draws:
        f.random.draws = f.stack("i32", align=4)
        f.do(f"store i32 0, ptr {f.random.draws}, align 4")
    f.block(task.body)
    if not f.open:  # everything after a `return` is dead
        f.start(f.fresh_label("dead"))


# ---- parallel tasks --------------------------------------------------------------------------------------------------


def _parallel(f: FunctionWriter, task: Task, number: int) -> None:
    """In the entry: compute the box, then run it here or divide it among threads."""
    _bounds(f, task)
    limits, schedule = box_of(task), task.schedule
    privatized, span = schedule.privatized, schedule.lanes * schedule.vectors
    axes = len(limits.begins)
    box = f.stack(f"[{2 * axes + extra_words(privatized)} x i64]")
    for position, value in enumerate([*limits.begins, *limits.ends]):
        if isinstance(value, Const) and not privatized:  # the body knows it
            continue
        word = f.set(f"getelementptr inbounds i8, ptr {box}, i64 {8 * position}")
        f.do(f"store i64 {_wide(f, value)}, ptr {word}, align 8")
    extents = [_extent(f, b, e) for b, e in zip(limits.begins, limits.ends, strict=True)]
    count, inner = extents[0], "1"
    if axes > 1:
        for extent in extents[1:-1]:
            count = f.set(f"mul nsw i64 {count}, {extent}")
        inner = extents[-1]
    elif span > 1:  # divided by whole vectors
        count = f.set(f"udiv i64 {f.set(f'add i64 {count}, {span - 1}')}, {span}")
        inner = str(span)
    each, body = schedule.price / max(1, span / 4), f"weft_task{number}"
    if privatized:
        _write_body(f, task, body, plain=True)
        write_private_body(f, privatized, body, axes)
        write_merge(f, privatized, body, axes)
        _launch_private(f, privatized, body, box, axes, pays_off(f, privatized, each, count, inner), count)
    elif schedule.alone:
        _write_body(f, task, body, plain=True)
        f.do(f"call void @{body}(ptr %ctx, ptr {box}, i64 0, i64 {count})")
    else:
        grain = _grain(f, each, inner)
        small = f.set(f"icmp sle i64 {count}, {grain}")
        _write_body(f, task, body, plain=False)
        alone = body
        if schedule.plain:
            alone = f"{body}_plain"
            _write_body(f, task, alone, plain=True)
        _launch(f, small, (alone, body), box, count, grain)


def _bounds(f: FunctionWriter, task: Task) -> None:
    """Emit the ops that compute the box. The yield at their end is read, not emitted."""
    for op in task.bounds:
        if not isinstance(op, Yield):
            f.op(op)


def _wide(f: FunctionWriter, value: Value) -> str:
    """A bound as i64."""
    text = f.typed(value)
    return text.removeprefix("i64 ") if text.startswith("i64 ") else f.set(f"sext {text} to i64")


def _extent(f: FunctionWriter, begin: Value, end: Value) -> str:
    if isinstance(begin, Const) and isinstance(end, Const):
        return str(max(0, int(end.value) - int(begin.value)))
    size = f.set(f"sub nsw i64 {_wide(f, end)}, {_wide(f, begin)}")
    intrinsic = f.module.declare("i64 @llvm.smax.i64(i64, i64)")
    return f.set(f"call i64 @{intrinsic}(i64 {size}, i64 0)")


def _grain(f: FunctionWriter, each: float, inner: str) -> str:
    """The number of iterations (or rows) of a chunk that is worth a thread, if an iteration costs `each`."""
    row = f.set(f"mul nsw i64 {inner}, {max(1, round(each))}")
    least = f.set(f"call i64 @{f.module.declare('i64 @llvm.smax.i64(i64, i64)')}(i64 {row}, i64 1)")
    grain = f.set(f"udiv i64 {int(_CHUNK)}, {least}")
    return f.set(f"add i64 {grain}, 1")


def _launch(f: FunctionWriter, alone: str, bodies: tuple[str, str], box: str, count: str, grain: str) -> None:
    """Call the first body if this thread runs everything. Otherwise let the pool divide the second."""
    here, shared, done = (f.fresh_label(hint) for hint in ("here", "shared", "done"))
    f.branch(alone, here, shared)
    f.start(here)
    f.do(f"call void @{bodies[0]}(ptr %ctx, ptr {box}, i64 0, i64 {count})")
    f.jump(done)
    f.start(shared)
    pool, run = service(f, "pool", "i64"), service(f, "parallel_for")
    f.do(f"call void {run}(i64 {pool}, ptr @{bodies[1]}, ptr %ctx, ptr {box}, i64 {count}, i64 {grain})")
    f.start(done)


def _launch_private(
    f: FunctionWriter, privatized: Sequence[Privatized], body: str, box: str, axes: int, several: str, count: str
) -> None:
    """Let the pool run the loop on private copies if several threads are faster and there is memory. Otherwise run it
    here."""
    here, shared, done = (f.fresh_label(hint) for hint in ("here", "shared", "done"))
    prepare(f, privatized, box, axes)
    f.branch(several, shared, here)
    f.start(shared)
    f.branch(run_privatized(f, privatized, body, box, axes, count), done, here)
    f.start(here)
    f.do(f"call void @{body}(ptr %ctx, ptr {box}, i64 0, i64 {count})")
    f.start(done)


def _write_body(entry: FunctionWriter, task: Task, name: str, plain: bool) -> None:
    """The function that runs a chunk: iterations, or rows, [begin, end) of the box, or all of it if one thread runs the
    task alone. Atomics on fields of which a thread has a private copy need no lock. Those of the epilogue do."""
    module, schedule = entry.module, task.schedule
    in_lanes = _has_lanes(task)
    memory = MemoryFacts(group="" if schedule.lanes > 1 else module.node("distinct !{}"))
    f = (VectorWriter if in_lanes else FunctionWriter)(module, entry.target, memory=memory, twice=True)
    f.memory.plain, f.memory.joined = plain, frozenset(schedule.joined)
    f.cold.prefix = name
    f.lines_from = _line_table(module, name, task)
    if draws(task):
        f.random.draws = f.stack(f"<{_span(task)} x i32>" if _span(task) > 1 else "i32", align=4)
    limits = box_of(task)
    axes = len(limits.begins)
    begins = [_bound(f, value, k) for k, value in enumerate(limits.begins)]
    ends = [_bound(f, value, axes + k) for k, value in enumerate(limits.ends)]
    f.memory.moved = homes(f, schedule.privatized, axes)
    f.block(task.prologue)
    with _unless_empty(f, task, begins, ends) as ends:
        if axes == 1:
            first, last = (begins[0], ends[0]) if schedule.alone else _part(f, _span(task), begins[0], ends[0])
            _innermost(f, task, [], first, last, begins, ends)
        else:
            _rows(f, task, begins, ends)
    f.memory.plain = plain and not schedule.privatized
    f.block(task.epilogue)
    signature = f"define internal void @{name}(ptr noalias %ctx, ptr noalias %box, i64 %begin, i64 %end)"
    _mark_rest(f, 0, task)
    module.functions.append(_text(f, signature, "noinline ", in_lanes))


def _has_lanes(task: Task) -> bool:
    """Whether iterations run in lanes, those of the task or of a loop."""
    return task.schedule.lanes > 1 or any(loop.schedule.lanes > 1 for loop in task.all_of(For))


def _span(task: Task) -> int:
    """The number of iterations that run at once."""
    return task.schedule.lanes * task.schedule.vectors


def _part(f: FunctionWriter, span: int, begin: str, end: str) -> tuple[str, str]:
    """The chunk [%begin, %end) of the only axis. It is counted in vectors if iterations run in lanes."""
    if span == 1:
        return f.set(f"add nsw i64 {begin}, %begin"), f.set(f"add nsw i64 {begin}, %end")
    first, last = (f.set(f"add i64 {begin}, {f.set(f'mul i64 {n}, {span}')}") for n in ("%begin", "%end"))
    smaller = f.module.declare("i64 @llvm.smin.i64(i64, i64)")
    return first, f.set(f"call i64 @{smaller}(i64 {last}, i64 {end})")


def _bound(f: FunctionWriter, value: Value, position: int) -> str:
    """A limit of the box: a literal if it is known, so that LLVM can unroll short axes."""
    if isinstance(value, Const):
        return str(int(value.value))
    word = f.set(f"getelementptr inbounds i8, ptr %box, i64 {8 * position}")
    return f.set(f"load i64, ptr {word}, align 8, !invariant.load !{{}}")


@contextmanager
def _unless_empty(f: FunctionWriter, task: Task, begins: list[str], ends: list[str]) -> Generator[list[str]]:
    """Gives the ends of the box. If one is known, or else the box is empty, what is emitted within the context runs
    only for a box that is not empty, and the end is a literal."""
    done, exact = "", list(ends)
    for axis in range(len(ends)):
        extent = known_extent(task, axis)
        if extent is not None and exact[axis] != str(extent[1]):
            some, done = f.fresh_label("some"), done or f.fresh_label("done")
            f.branch(f.set(f"icmp ne i64 {ends[axis]}, {begins[axis]}"), some, done)
            f.start(some)
            exact[axis] = str(extent[1])
    yield exact
    if done:
        f.start(done)


def _rows(f: FunctionWriter, task: Task, begins: list[str], ends: list[str]) -> None:
    """Each row number is converted to the outer indices once. The innermost axis is then a plain loop."""
    with f.loop("%begin", "%end", f.module.loop_hints(copies=False), after_iteration=look) as row:
        outer, rest = list[str](), row
        for axis in range(len(begins) - 2, 0, -1):
            extent = f.set(f"sub nsw i64 {ends[axis]}, {begins[axis]}")
            digit = f.set(f"urem i64 {rest}, {extent}")
            rest = f.set(f"udiv i64 {rest}, {extent}")
            outer.insert(0, f.set(f"add nsw i64 {begins[axis]}, {digit}"))
        outer.insert(0, f.set(f"add nsw i64 {begins[0]}, {rest}"))
        _innermost(f, task, outer, begins[-1], ends[-1], begins, ends)


def _innermost(
    f: FunctionWriter, task: Task, outer: list[str], first: str, last: str, begins: list[str], ends: list[str]
) -> None:
    """The innermost loop: in lanes, or one that LLVM may vectorize, with its accesses marked as independent."""
    size = task.schedule.stretch
    if size <= NEVER:
        _stretch(f, task, outer, first, last, begins, ends, control_ops.counted_check(f, size))
        return
    with stretches(f, first, last, size, even=task.schedule.even) as (first, last, _):
        _stretch(f, task, outer, first, last, begins, ends, None)


def _stretch(
    f: FunctionWriter,
    task: Task,
    outer: list[str],
    first: str,
    last: str,
    begins: list[str],
    ends: list[str],
    after_iteration: AfterIteration | None,
) -> None:
    if task.schedule.lanes > 1:
        with vector_loop(f, first, last, _span(task), after_iteration) as found:
            f.values.update(zip(task.body.args, [*outer, *found], strict=True))
            if f.random.draws:
                f.random.lane = _lane(f, [*outer, found[0]], begins, ends)
                f.do(f"store <{_span(task)} x i32> zeroinitializer, ptr {f.random.draws}, align 4")
            f.block(task.body)
        return
    with f.loop(first, last, _hints(f, task), after_iteration=after_iteration) as index:
        for arg, name in zip(task.body.args, [*outer, index], strict=True):
            f.values[arg] = name
        if f.random.draws:
            f.random.lane = _lane(f, [*outer, index], begins, ends)
            f.do(f"store i32 0, ptr {f.random.draws}, align 4")
        f.block(task.body)


def _hints(f: FunctionWriter, task: Task) -> str:
    """The metadata of the loop: what the schedule allows LLVM to do with it."""
    hints: list[str] = []
    if task.schedule.unordered:
        hints.append(f.module.node(f'!{{!"llvm.loop.parallel_accesses", {f.memory.group}}}'))
    if task.schedule.vectorize == "once":
        hints.append(f.module.hint('!"llvm.loop.interleave.count", i32 1'))
        hints.append(f.module.hint('!"llvm.loop.vectorize.predicate.enable", i1 true'))
    if task.schedule.vectorize == "never":
        hints.append(f.module.hint('!"llvm.loop.vectorize.enable", i1 false'))
    return f.module.loop_hints(*hints, copies=task.schedule.unroll)


def _lane(f: FunctionWriter, indices: list[str], begins: list[str], ends: list[str]) -> str:
    """The number of this iteration in the whole box, for random numbers."""
    lane = "0"
    for index, begin, end in zip(indices, begins, ends, strict=True):
        extent = f.set(f"sub i64 {end}, {begin}")
        digit = f.set(f"sub i64 {index}, {begin}")
        lane = f.set(f"add i64 {f.set(f'mul i64 {lane}, {extent}')}, {digit}")
    return lane
