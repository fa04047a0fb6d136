"""The device part of a launch: one entry, run by one thread, or by a grid of threads over a box.

A box of one axis is distributed thread by thread. In a box of several axes, the innermost axis runs along x of the
grid, the next one along y, and z covers all others, numbered together. Neighbouring threads therefore access adjacent
memory, and no element needs a division. Every loop strides by the size of the grid, so any grid computes the same
result.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

from weft.codegen.gpu.block_reduce import barrier
from weft.codegen.gpu.boundary_peeling import write_interior_test
from weft.codegen.gpu.device_writer import DeviceWriter, state_word
from weft.codegen.gpu.dialect import DeviceHooks, GpuDialect, dialect_of
from weft.codegen.gpu.ops import DEVICE, EPILOGUE
from weft.codegen.gpu.privatization import flush, make_copies
from weft.codegen.gpu.row_phases import phased_row, write_by_phase
from weft.codegen.gpu.unroll_and_jam import write_jammed
from weft.codegen.gpu.warps_per_row import write_warp
from weft.codegen.llvm.code import Jump
from weft.codegen.llvm.line_table import LineTable
from weft.codegen.llvm.module import ModuleWriter
from weft.codegen.llvm.spelling import identifier
from weft.ir.artifact import STATE_DRAWS, STATE_ERROR, STATE_RESULTS, STATE_STOP
from weft.ir.calls import draws
from weft.ir.core import Value
from weft.ir.intervals import interval
from weft.ir.mapping.coarsening import accumulators, alignment_of, split_at_accumulators
from weft.ir.mapping.warp_sums import LANES, warp_loop
from weft.ir.ops import Clamp, Const, For, Kernel, Task, Yield
from weft.ir.schedule import Schedule
from weft.ir.tasks import box_of, tasks_of
from weft.ir.types import Pointer, flat_size

__all__ = ["Launch", "launches_of", "write_launch"]

_FROZEN = ", !invariant.load !{}"


@dataclass
class Launch:
    """One launch of a kernel: the serial tasks that one thread runs, and the boxes that it then computes (task, first
    word of the state); or one parallel loop, whose box is in the state from word `box` on if that is not 0. `guards`:
    an earlier launch may have ended the kernel. `stops`: a later launch must know that this one ended it. `lists` and
    `outdates`: those of its tasks."""

    name: str
    serial: list[Task] = field(default_factory=list[Task])
    boxes: list[tuple[Task, int]] = field(default_factory=list[tuple[Task, int]])
    loop: Task | None = None
    box: int = 0
    guards: bool = False
    stops: bool = False
    lists: int = -1
    outdates: tuple[int, ...] = ()

    def tasks(self) -> list[Task]:
        """All tasks that it runs."""
        return self.serial if self.loop is None else [self.loop]


def launches_of(kernel: Kernel) -> tuple[list[Launch], int]:
    """The launches of a kernel in order, as the schedules of its tasks say, and the number of words of the state that
    they and the results take."""
    name, found = identifier(kernel.symbol), dict[int, Launch]()
    words = STATE_RESULTS + sum(map(flat_size, kernel.results))

    def launch_of(number: int, schedule: Schedule) -> Launch:
        made = found.setdefault(number, Launch(f"{name}_{number}", guards=schedule.guarded, lists=schedule.lists))
        if number == schedule.launch:
            made.stops |= schedule.ends
            made.outdates += tuple(tree for tree in schedule.outdates if tree not in made.outdates)
        return made

    for task in tasks_of(kernel):
        schedule = task.schedule
        if task.kind == "serial":
            launch_of(schedule.launch, schedule).serial.append(task)
            continue
        if schedule.box:
            earlier = schedule.launch - 1 if schedule.measured < 0 else schedule.measured
            launch_of(earlier, schedule).boxes.append((task, schedule.box))
            words = schedule.box + 2 * len(box_of(task).begins)
        made = launch_of(schedule.launch, schedule)
        made.loop, made.box = task, schedule.box
    return list(found.values()), words


def write_launch(module: ModuleWriter, target: DeviceHooks, launch: Launch, temps: int, threads: int) -> None:
    """The entry of a launch, for blocks of at most this many threads. `temps`: see `DeviceWriter`."""
    dialect = target.dialect
    f = DeviceWriter(module, target, emitters=DEVICE, stops=launch.stops, temps=temps)
    entry = dialect.entry(launch.name, module.slots.result_start, bool(module.callees))
    f.slots += entry.first
    if module.config.line_info:
        f.lines_from = LineTable(module, launch.name, launch.tasks()[0].span if launch.tasks() else None)
    if launch.guards:
        _leave_if_ended(f)
    if launch.loop is None:
        _write_serial(f, launch)
    else:
        _write_loop(f, launch, launch.loop)
    where = ""
    if f.lines_from is not None:  # what belongs to no op, such as the heads of loops, comes from the line of the task
        f.lines_from.mark(f.lines, 0, launch.tasks()[0].span if launch.tasks() else None)
        where = f" !dbg {f.lines_from.subprogram}"
    size = _block_size(dialect, launch.loop, threads)
    module.functions.append(f.text(f"{entry.signature} nounwind {size}{where}"))


def _block_size(dialect: GpuDialect, task: Task | None, threads: int) -> str:
    """The size of the blocks for the target. It is exact if the program counts its threads. By default, the target
    saves registers so that many blocks fit a multiprocessor. Loops whose speed depends on the operations that one
    thread has in flight get all the registers that they need, except if threads wait for one another, because other
    blocks must then have work."""
    if task is None:
        return dialect.block_size(1, False, False)
    return dialect.block_size(threads, task.schedule.numbered, task.schedule.few_blocks)


def _leave_if_ended(f: DeviceWriter) -> None:
    """After a `return`, or a failed assertion, of an earlier launch, there is nothing to do."""
    on = f.fresh_label("on")
    ended = f.set(f"load i64, ptr {state_word(f, STATE_STOP)}, align 8")
    failed = f.set(f"load i64, ptr {state_word(f, STATE_ERROR)}, align 8")
    either = f.set(f"or i64 {ended}, {failed}")
    f.branch(f.set(f"icmp eq i64 {either}, 0"), on, f.exit_label)
    f.start(on)


def _write_serial(f: DeviceWriter, launch: Launch) -> None:
    """A single thread: no other thread accesses its atomics. Serial tasks share one count of random numbers, in the
    state."""
    f.memory.plain = True
    for task in launch.serial:
        if draws(task) and not f.random.draws:
            f.random.draws = state_word(f, STATE_DRAWS)
        f.block(task.body)
        if not f.open:
            f.start(f.fresh_label("dead"))
    for task, word in launch.boxes:
        limits = _bounds(f, task)
        for position, value in enumerate([*limits.begins, *limits.ends]):
            f.do(f"store i64 {f.use(value)}, ptr {state_word(f, word + position)}, align 8")


def _bounds(f: DeviceWriter, task: Task) -> Yield:
    limits = box_of(task)
    for op in task.bounds:
        if op is not limits:
            f.op(op)
    return limits


# ---- parallel loops --------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Axis:
    """One axis of the box: its limits as i64, whether its length fits 31 bits."""

    begin: str
    end: str
    short: bool


def _write_loop(f: DeviceWriter, launch: Launch, task: Task) -> None:
    if draws(task):
        f.random.draws = f.stack("i32", align=4)
    axes = _axes(f, task, launch.box)
    f.memory.frozen = _FROZEN
    f.block(task.prologue)
    for number, one in enumerate(task.schedule.privatized):
        f.private[one.scope] = make_copies(f, one, f"{launch.name}_share_{number}")
    if f.private:
        barrier(f)
    ends = f.exit_label
    if f.private or task.epilogue.first is not None:  # threads that leave early still take part in the block's work
        f.exit_label = f.fresh_label("leave")
    _grid(f, task, axes)
    if f.exit_label != ends:
        f.start(f.exit_label)
        f.exit_label = ends
    if f.private:
        barrier(f)
        for copies in f.private.values():
            flush(f, copies)
    f.emitters = EPILOGUE
    f.block(task.epilogue)


def _axes(f: DeviceWriter, task: Task, word: int) -> list[_Axis]:
    limits = box_of(task)
    if not word:
        _bounds(f, task)
    count, result = len(limits.begins), list[_Axis]()
    for k, (begin, end) in enumerate(zip(limits.begins, limits.ends, strict=True)):
        short = interval(end)[1] - interval(begin)[0] < 2**31
        result.append(_Axis(_limit(f, begin, word and word + k), _limit(f, end, word and word + count + k), short))
    return result


def _limit(f: DeviceWriter, value: Value, word: int) -> str:
    if isinstance(value, Const):
        return str(int(value.value))
    if not word:
        return f.use(value)
    return f.set(f"load i64, ptr {state_word(f, word)}, align 8, !invariant.load !{{}}")


def _length(f: DeviceWriter, axis: _Axis) -> str:
    """The number of iterations along an axis, as i64. It is not negative."""
    begin, end = axis.begin, axis.end
    if begin.lstrip("-").isdigit() and end.lstrip("-").isdigit():
        return str(max(0, int(end) - int(begin)))
    size = f.set(f"sub nsw i64 {end}, {begin}")
    return f.set(f"call i64 @{f.module.declare('i64 @llvm.smax.i64(i64, i64)')}(i64 {size}, i64 0)")


def _grid(f: DeviceWriter, task: Task, axes: list[_Axis]) -> None:
    """The loops of a thread, z outermost, and the body inside."""
    inner = axes[-2:] if len(axes) > 1 else axes[-1:]
    outer = axes[: len(axes) - len(inner)]
    lengths = [_length(f, axis) for axis in axes]
    if task.schedule.numbered:
        _numbered(f, task, axes, lengths)
        return
    loop = warp_loop(task)
    if loop is not None:
        _warps(f, task, axes, lengths, loop)
        return
    if not outer:
        _planes(f, task, axes, [], lengths)
        return
    count = _product(f, lengths[: len(outer)])
    with _strided(f, "z", count, len(outer) == 1 and outer[0].short) as number:
        _planes(f, task, axes, _digits(f, number, outer, lengths[: len(outer)]), lengths)


def _numbered(f: DeviceWriter, task: Task, axes: list[_Axis], lengths: list[str]) -> None:
    """Iterations by number, last axis fastest, if threads must know which they run (see `simt.py`)."""
    with _strided(f, "x", _product(f, lengths), len(axes) == 1 and axes[0].short) as number:
        _body(f, task, axes, [_digits(f, number, axes, lengths)], lengths)


def _warps(f: DeviceWriter, task: Task, axes: list[_Axis], lengths: list[str], loop: For) -> None:
    """The same by warps."""
    threads = f.set(f"mul nsw i64 {_product(f, lengths)}, {LANES}")
    with _strided(f, "x", threads, short=False) as thread:
        number, lane = f.set(f"udiv i64 {thread}, {LANES}"), f.set(f"urem i64 {thread}, {LANES}")
        indices = _digits(f, number, axes, lengths)
        f.values.update(zip(task.body.args, indices, strict=True))
        write_warp(f, task, loop, f.set(f"trunc i64 {lane} to i32"))


def _product(f: DeviceWriter, lengths: list[str]) -> str:
    count = lengths[0]
    for length in lengths[1:]:
        count = f.set(f"mul nsw i64 {count}, {length}")
    return count


def _digits(f: DeviceWriter, number: str, axes: list[_Axis], lengths: list[str]) -> list[str]:
    """The index along each of those axes of the point with that number, the last axis fastest."""
    indices, rest = list[str](), number
    for axis, length in zip(reversed(axes[1:]), reversed(lengths[1:]), strict=True):
        indices.insert(0, _moved(f, f.set(f"urem i64 {rest}, {length}"), axis))
        rest = f.set(f"udiv i64 {rest}, {length}")
    return [_moved(f, rest, axes[0]), *indices]


def _planes(f: DeviceWriter, task: Task, axes: list[_Axis], indices: list[str], lengths: list[str]) -> None:
    """The rows of a plane and their elements, in groups as far as there are whole ones."""
    schedule, inner = task.schedule, axes[-1]
    allowed = _aligned(f, alignment_of(task)[0])
    if len(axes) == 1:
        for xs in _positions(f, "x", inner, lengths[-1], schedule.across, allowed):
            _body(f, task, axes, [[x] for x in xs], lengths)
        return
    for ys in _positions(f, "y", axes[-2], lengths[-2], schedule.rows, allowed):
        for xs in _positions(f, "x", inner, lengths[-1], schedule.across, allowed):
            _body(f, task, axes, [[*indices, y, x] for y in ys for x in xs], lengths)


def _positions(
    f: DeviceWriter, letter: str, axis: _Axis, length: str, size: int, allowed: str
) -> Generator[list[str], None, None]:
    """The loops of a thread along an axis: gives the indices of one group of iterations in each. If the grid has a
    thread for each index, groups have one iteration."""
    if size == 1:
        with _strided(f, letter, length, axis.short) as position:
            yield [_moved(f, position, axis)]
        return
    digits = size.bit_length() - 1
    place = dialect_of(f).place
    reach = f.set(f"mul i32 {place(f, 'blocks', letter)}, {place(f, 'threads', letter)}")
    low = f.set(f"ashr i64 {f.set(f'add nsw i64 {axis.begin}, {size - 1}')}, {digits}")
    high = f.set(f"ashr i64 {axis.end}, {digits}")
    count = f.set(f"sub nsw i64 {high}, {low}")
    few = f.set(f"icmp ult i64 {f.set(f'zext i32 {reach} to i64')}, {length}")
    whole = f.set(f"and i1 {few}, {f.set(f'icmp sgt i64 {count}, 0')}")
    whole = whole if allowed == "true" else f.set(f"and i1 {whole}, {allowed}")
    with _strided(f, letter, f.set(f"select i1 {whole}, i64 {count}, i64 0"), axis.short) as number:
        first = f.set(f"shl nsw i64 {f.set(f'add nsw i64 {number}, {low}')}, {digits}")
        places = [first, *(f.set(f"add nsw i64 {first}, {k}") for k in range(1, size))]
        f.indices.steps |= {place: (first, k) for k, place in enumerate(places)}
        f.indices.multiples[first] = size
        yield places
    start, stop = f.set(f"shl nsw i64 {low}, {digits}"), f.set(f"shl nsw i64 {high}, {digits}")
    head = f.set(f"select i1 {whole}, i64 {f.set(f'sub nsw i64 {start}, {axis.begin}')}, i64 {length}")
    tail = f.set(f"select i1 {whole}, i64 {f.set(f'sub nsw i64 {axis.end}, {stop}')}, i64 0")
    behind = f.set(f"sub nsw i64 {stop}, {head}")
    with _strided(f, letter, f.set(f"add nsw i64 {head}, {tail}"), axis.short) as position:
        before = f.set(f"icmp slt i64 {position}, {head}")
        base = f.set(f"select i1 {before}, i64 {axis.begin}, i64 {behind}")
        yield [f.set(f"add nsw i64 {position}, {base}")]


def _aligned(f: DeviceWriter, values: Sequence[Value]) -> str:
    """Whether all of these bases and strides of arrays are multiples of a word."""
    bits = list[str]()
    for value in values:
        name = f.use(value)
        bits.append(f.set(f"ptrtoint ptr {name} to i64") if isinstance(value.type, Pointer) else name)
    if not bits:
        return "true"
    every = bits[0]
    for one in bits[1:]:
        every = f.set(f"or i64 {every}, {one}")
    return f.set(f"icmp eq i64 {f.set(f'and i64 {every}, 15')}, 0")


def _words(f: DeviceWriter, values: Sequence[Value]) -> dict[Value, str]:
    """If so, tell LLVM about the bases, and give strides that show it."""
    known = dict[Value, str]()
    for value in values:
        if isinstance(value.type, Pointer):
            assume = f.module.declare("void @llvm.assume(i1)")
            f.do(f'call void @{assume}(i1 true) [ "align"(ptr {f.use(value)}, i64 16) ]')
        else:
            known[value] = f.set(f"and i64 {f.use(value)}, -16")
    return known


def _moved(f: DeviceWriter, position: str, axis: _Axis) -> str:
    """The index at a position of an axis."""
    return position if axis.begin == "0" else f.set(f"add nsw i64 {position}, {axis.begin}")


def _body(f: DeviceWriter, task: Task, axes: list[_Axis], group: list[list[str]], lengths: list[str]) -> None:
    """The body for one iteration, or for those of a coarsened thread."""
    if len(group) > 1:
        _coarsened(f, task, group)
        return
    (indices,) = group
    for arg, index in zip(task.body.args, indices, strict=True):
        f.values[arg] = index
    if f.random.draws:
        f.random.lane = "0"
        for axis, index, length in zip(axes, indices, lengths, strict=True):
            digit = index if axis.begin == "0" else f.set(f"sub i64 {index}, {axis.begin}")
            f.random.lane = f.set(f"add i64 {f.set(f'mul i64 {f.random.lane}, {length}')}, {digit}")
        f.do(f"store i32 0, ptr {f.random.draws}, align 4")
    f.block(task.body)


def _coarsened(f: DeviceWriter, task: Task, group: list[list[str]]) -> None:
    """The body for several iterations. If indices are clamped to a field, in two versions: boundary peeling."""
    clamps = task.all_of(Clamp)
    if not clamps:
        _jammed(f, task, group)
        return
    interior, edge, done = (f.fresh_label(hint) for hint in ("inside", "edge", "done"))
    corners = list(zip(group[0], group[-1], strict=True))
    f.branch(write_interior_test(f, clamps, corners), interior, edge)
    f.start(interior)
    f.interior = True
    _jammed(f, task, group)
    f.interior = False
    f.jump(done)
    f.start(edge)
    _one_by_one(f, task, group)
    f.start(done)


def _one_by_one(f: DeviceWriter, task: Task, group: list[list[str]]) -> None:
    """The same in a loop over the iterations."""
    first, outside = group[0], f.values
    across = sum(place[:-1] == first[:-1] for place in group)
    with f.loop("0", str(len(group))) as number:
        column = f.set(f"and i64 {number}, {across - 1}")
        indices = [*first[:-1], f.set(f"add nsw i64 {first[-1]}, {column}")]
        if across < len(group):
            row = f.set(f"lshr i64 {number}, {across.bit_length() - 1}")
            indices[-2] = f.set(f"add nsw i64 {first[-2]}, {row}")
        f.values = {**outside, **dict(zip(task.body.args, indices, strict=True))}
        f.block(task.body)
    f.values = outside


def _jammed(f: DeviceWriter, task: Task, group: list[list[str]]) -> None:
    """Emit each op for all iterations before the next op. A filter is emitted twice: for rows that are all whole words,
    and for rows that begin anywhere."""
    aligned, taps = alignment_of(task)
    if not task.schedule.phases:
        _at_all(f, task, group, aligned)
        return
    wide, narrow, done = (f.fresh_label(hint) for hint in ("wide", "narrow", "done"))
    if task.schedule.phases == "ask":
        f.branch(_aligned(f, taps), wide, narrow)
        f.start(wide)
        _at_all(f, task, group, tuple(dict.fromkeys([*aligned, *taps])))
        f.jump(done)
    f.start(narrow)
    f.phased = True
    _at_all(f, task, group, aligned)
    f.phased = False
    f.start(done)


def _at_all(f: DeviceWriter, task: Task, group: list[list[str]], aligned: tuple[Value, ...]) -> None:
    """Unroll-and-jam of the body, up to the first op that uses the thread's own sums. From there on, one iteration
    after another."""
    free, ordered = split_at_accumulators(task.body, accumulators(task))
    outside = f.values
    words = _words(f, aligned)
    each = [{**outside, **words, **dict(zip(task.body.args, indices, strict=True))} for indices in group]
    f.indices.words = frozenset(aligned)
    varying: set[Value] = {
        arg for arg, texts in zip(task.body.args, zip(*group, strict=True), strict=True) if len(set(texts)) > 1
    }
    loops = [number for number, op in enumerate(free) if isinstance(op, For)]
    stored = len(free) if ordered or not f.phased else max(loops, default=-1) + 1
    write_jammed(f, free[:stored], each, varying)
    f.values = each[0]
    write_by_phase(f, phased_row(free[stored:]), lambda: write_jammed(f, free[stored:], each, varying))
    for f.values in each:
        for op in ordered:
            f.op(op)
    f.values, f.indices.words = outside, frozenset()


@contextmanager
def _strided(f: DeviceWriter, axis: str, length: str, short: bool) -> Generator[str, None, None]:
    """This thread's positions along an axis of the grid: from its own position on in steps of the grid. Gives an i64.
    The counter has 32 bits if that is enough."""
    type = "i32" if short else "i64"
    head, body, latch, done = (f.fresh_label(hint) for hint in ("head", "body", "latch", "done"))
    place = dialect_of(f).place
    block, size, count, thread = (place(f, what, axis) for what in ("block", "threads", "blocks", "thread"))
    if not short:  # before they are multiplied: all threads of the largest grid are more than 32 bits count
        block, size, count, thread = (f.set(f"zext i32 {one} to i64") for one in (block, size, count, thread))
    first = f.set(f"add {type} {f.set(f'mul {type} {block}, {size}')}, {thread}")
    step = f.set(f"mul {type} {count}, {size}")
    if short and not length.isdigit():
        length = f.set(f"trunc i64 {length} to i32")
    here, following = f.register("p"), f.register("n")
    f.jump(head)
    before = f.label
    f.lines.append(f"{head}:")
    f.lines.append(f"  {here} = phi {type} [ {first}, %{before} ], [ {following}, %{latch} ]")
    f.label, f.open = head, True
    f.branch(f.set(f"icmp ult {type} {here}, {length}"), body, done)
    f.start(body)
    f.jumps.append(Jump(done, latch))
    yield f.set(f"zext nneg i32 {here} to i64") if short else here
    f.jumps.pop()
    f.start(latch)
    f.lines.append(f"  {following} = add {type} {here}, {step}")
    f.jump(head)
    f.start(done)
