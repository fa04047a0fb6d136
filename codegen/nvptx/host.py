"""The host part of a CUDA kernel: `entry(ctx)` computes a grid for each launch and calls the driver, all in native
code.

It reads the context that the launcher filled (see `ir/artifact.py`) and passes it to the device by value. It waits for
the device only if necessary: for results, or for assertions that may have failed.

It leaves out the launches that make a list of active cells, while the list is known to be current (see
`_CurrentLists`).
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager

from weft.codegen.cpu.vector_math import CpuMath
from weft.codegen.gpu.kernel import shared_of
from weft.codegen.gpu.task import Launch
from weft.codegen.llvm import machine
from weft.codegen.llvm.function import FunctionWriter, TargetHooks
from weft.codegen.llvm.module import ModuleWriter
from weft.codegen.llvm.overlap_check import write_check
from weft.ir.artifact import CUDA_SERVICES, ERROR_WORDS, LIST_BITS, LIST_MIX, STATE_ERROR, STATE_RESULTS, Slots
from weft.ir.config import CompileConfig
from weft.ir.core import Value
from weft.ir.mapping.warp_sums import LANES, warp_loop
from weft.ir.ops import Const, Kernel, Task
from weft.ir.schedule import Schedule
from weft.ir.tasks import box_of
from weft.ir.types import flat_size

__all__ = ["host_module"]

_MOST_BLOCKS = {"x": 2**22, "y": 65535, "z": 65535}


def host_module(
    config: CompileConfig, kernel: Kernel, slots: Slots, launches: Sequence[Launch], fallible: bool, flagged: bool
) -> tuple[str, str]:
    """The module with `weft_entry`, and the name of its function that checks for overlaps (see `write_check`).
    `fallible`: assertions may fail; `flagged`: the state begins with zeros."""
    module, target = ModuleWriter(config, slots), TargetHooks(CpuMath(frozenset(), False))
    f = FunctionWriter(module, target)
    services = _Services(f)
    leave = _enter(f, services)
    for slot, name in ((0, "state"), (1, "prints")):
        place = f.set(f"getelementptr inbounds i8, ptr %ctx, i64 {8 * slot}")
        f.do(f"store ptr {services.word(name)}, ptr {place}, align 8")
    if flagged:
        words = 2 * STATE_RESULTS
        services.call("memset", f"ptr {services.word('state')}, i32 0, i64 {words}, ptr {services.word('stream')}")
    current = _CurrentLists(f, services, launches)
    for number, launch in enumerate(launches):
        with current.around(launch):
            _launch(f, services, launch, number, len(launches))
    if launches:
        _flush(f, services)
    _answer(f, services, slots, fallible)
    services.write_failure(current.forget_all)
    leave()
    module.functions.append(f.text(f"define void @weft_entry(ptr noalias %ctx) {target.attributes}"))
    check = write_check(module, target, kernel)
    return module.text(machine.host_cpu(1).header), check


def _enter(f: FunctionWriter, services: _Services) -> Callable[[], None]:
    """Make the device's context current, unless it is. Gives a function that emits, after everything else, the code
    that restores the thread's previous context: other libraries use the current context as the device that their user
    chose."""
    place, context = f.stack("ptr"), services.word("context")
    f.do(f"call i32 {services.word('get_current')}(ptr {place})")
    before = f.set(f"load ptr, ptr {place}, align 8")
    other, on = f.fresh_label("other"), f.fresh_label("on")
    same = f.set(f"icmp eq ptr {before}, {context}")
    f.branch(same, on, other)
    f.start(other)
    f.do(f"call i32 {services.word('set_current')}(ptr {context})")
    f.jump(on)
    f.start(on)
    ends, f.exit_label = f.exit_label, f.fresh_label("leave")

    def leave() -> None:
        back = f.fresh_label("back")
        f.jump(f.exit_label)
        f.start(f.exit_label)
        f.exit_label = ends
        f.branch(same, ends, back)
        f.start(back)
        f.do(f"call i32 {services.word('set_current')}(ptr {before})")

    return leave


class _Services:
    """The table of driver functions; a call that fails leaves the entry."""

    def __init__(self, f: FunctionWriter) -> None:
        self.f = f
        self.status, self.params = f.stack("i32", 4), f.stack("ptr")
        self.failed = f.fresh_label("failed")
        self.table = f.set("load ptr, ptr %ctx, align 8")
        record = f.set("getelementptr inbounds i8, ptr %ctx, i64 8")
        self.record = f.set(f"load ptr, ptr {record}, align 8")
        f.do(f"store ptr %ctx, ptr {self.params}, align 8")

    def word(self, name: str, type: str = "ptr", number: int = 0) -> str:
        """The word of that name in the table, or the one `number` words after it."""
        index = CUDA_SERVICES.index(name) + number
        place = self.f.set(f"getelementptr inbounds i8, ptr {self.table}, i64 {8 * index}")
        return self.f.set(f"load {type}, ptr {place}, align 8")

    def call(self, name: str, arguments: str) -> None:
        """Call a driver function; on failure, leave."""
        f, well = self.f, self.f.fresh_label("well")
        function = self.word(name)
        status = f.set(f"call i32 {function}({arguments})")
        f.do(f"store i32 {status}, ptr {self.status}, align 4")
        f.branch(f.set(f"icmp eq i32 {status}, 0"), well, self.failed)
        f.start(well)

    def write_failure(self, clear: Callable[[], None]) -> None:
        """Where failed calls end up: the error record gets the driver's status, after what `clear` emits."""
        f = self.f
        f.jump(f.exit_label)
        f.start(self.failed)
        clear()
        status = f.set(f"zext i32 {f.set(f'load i32, ptr {self.status}, align 4')} to i64")
        word = f.set(f"getelementptr inbounds i8, ptr {self.record}, i64 8")
        f.do(f"store i64 {status}, ptr {word}, align 8")
        f.do(f"store i64 3, ptr {self.record}, align 8")


class _CurrentLists:
    """What the host knows about lists of active cells. `services.word("lists")` is a table of those that are current
    (`LIST_BITS`), by the addresses of their books.

    A list is current from the launches that make it on, and until a launch that may activate or deactivate cells of its
    node. All launches of a GPU are in the order of one stream, and one thread at a time makes launches, so the table
    holds for what is launched next. A list that a kernel makes after it may have ended is not known to be current."""

    def __init__(self, f: FunctionWriter, services: _Services, launches: Sequence[Launch]) -> None:
        self.f, self.services, self.launches = f, services, [*launches]
        self.trees = sorted({tree for launch in launches for tree in (launch.lists, *launch.outdates) if tree >= 0})

    @contextmanager
    def around(self, launch: Launch) -> Generator[None]:
        """A launch, which is left out if the list that it makes is current. What it outdates is current no more."""
        f = self.f
        for tree in launch.outdates:
            self._forget(tree)
        if launch.lists < 0:
            yield
            return
        place, book, current = self._place(launch.lists)
        outdated, on = f.fresh_label("outdated"), f.fresh_label("current")
        f.branch(current, on, outdated)
        f.start(outdated)
        yield
        if self._ends_list(launch):
            f.do(f"store i64 {book}, ptr {place}, align 8")
        f.jump(on)
        f.start(on)

    def forget_all(self) -> None:
        """Nothing is known of the lists that the kernel has to do with."""
        for tree in self.trees:
            self._forget(tree)

    def _ends_list(self, launch: Launch) -> bool:
        """Whether the list is made, for certain, when the launch is done."""
        behind = self.launches[self.launches.index(launch) + 1 :][:1]
        return not launch.guards and all(other.lists != launch.lists for other in behind)

    def _forget(self, tree: int) -> None:
        f = self.f
        place, _, current = self._place(tree)
        known = f.set(f"load i64, ptr {place}, align 8")
        f.do(f"store i64 {f.set(f'select i1 {current}, i64 0, i64 {known}')}, ptr {place}, align 8")

    def _place(self, tree: int) -> tuple[str, str, str]:
        """The place of a book in the table, its address, and whether its list is current."""
        f = self.f
        slot = f.set(f"getelementptr inbounds i8, ptr %ctx, i64 {8 * (Slots.FIRST_TREE + tree)}")
        book = f.set(f"load i64, ptr {slot}, align 8")
        number = f.set(f"lshr i64 {f.set(f'mul i64 {book}, {LIST_MIX - 2**64}')}, {64 - LIST_BITS}")
        place = f.set(f"getelementptr inbounds i64, ptr {self.services.word('lists')}, i64 {number}")
        current = f.set(f"icmp eq i64 {f.set(f'load i64, ptr {place}, align 8')}, {book}")
        return place, book, current


def _launch(f: FunctionWriter, services: _Services, launch: Launch, number: int, count: int) -> None:
    after = f.fresh_label("after")
    shape: tuple[int, ...] = (1, 1, 1)
    grid = ["1", "1", "1"]
    if launch.loop is not None:
        shape = launch.loop.schedule.block
        grid = (
            _unknown_grid(f, services, launch.loop, count + number)
            if launch.loop.schedule.grid == "filled"
            else _grid(f, services, launch, launch.loop, shape, after, count + number)
        )
    blocks = ", ".join(f"i32 {count}" for count in grid)
    threads = ", ".join(f"i32 {count}" for count in shape)
    shared = shared_of(launch.loop)
    function, queue = services.word("functions", number=number), services.word("queue")
    services.call(
        "launch", f"ptr {function}, {blocks}, {threads}, i32 {shared}, ptr {queue}, ptr {services.params}, ptr null"
    )
    f.start(after)


def _unknown_grid(f: FunctionWriter, services: _Services, task: Task, resident: int) -> list[str]:
    """The box is known to the device only: a grid that fills it, of blocks that all run at once. (Others would begin
    when these end, with as much work as these had.) `resident`: see `_grid`."""
    axes, most = len(box_of(task).begins), task.schedule.waves
    processors, held = services.word("processors", "i64"), services.word("functions", "i64", resident)
    waves = _least(f, held, str(most))
    narrow = f.set(f"trunc i64 {processors} to i32")
    if axes == 1 or task.schedule.numbered:
        return [f.set(f"trunc i64 {f.set(f'mul i64 {processors}, {waves}')} to i32"), "1", "1"]
    across, down = (_known_blocks(task, number) for number in (0, 1))
    if axes == 2:
        if across is None:
            return [f.set(f"trunc i64 {waves} to i32"), narrow, "1"]
        return [str(across), _filling(f, processors, waves, across), "1"]
    if across is None or down is None:
        return [str(across or most // 2), str(down or most), narrow]
    return [str(across), str(down), _filling(f, processors, waves, across * down)]


def _known_blocks(task: Task, number: int) -> int | None:
    """The blocks that cover an axis, counted from the innermost one, if its length is known."""
    schedule, box = task.schedule, box_of(task)
    begin, end = box.begins[-1 - number], box.ends[-1 - number]
    if not isinstance(begin, Const) or not isinstance(end, Const):
        return None
    covered = schedule.block[number] * (schedule.across, schedule.rows)[number]
    length = max(1, int(end.value) - int(begin.value))
    return min(-(-length // covered), _MOST_BLOCKS["xyz"[number]])


def _filling(f: FunctionWriter, processors: str, waves: str, among: int) -> str:
    """The blocks along an axis of unknown length, where the other axes have that many."""
    total = f.set(f"mul i64 {processors}, {waves}")
    return f.set(f"trunc i64 {_share(f, total, str(among))} to i32")


def _grid(
    f: FunctionWriter, services: _Services, launch: Launch, task: Task, shape: Sequence[int], after: str, resident: int
) -> list[str]:
    """The blocks along x, y and z for the box. It continues after the launch if the box is empty. `resident`: the
    number of the word after the functions that says how many blocks a multiprocessor can hold."""
    limits = box_of(task)
    for op in task.bounds:
        if op is not limits:
            f.op(op)
    lengths = [_length(f, begin, end) for begin, end in zip(limits.begins, limits.ends, strict=True)]
    outer = lengths[0] if len(lengths) > 2 else "1"
    for length in lengths[1:-2]:
        outer = f.set(f"mul i64 {outer}, {length}")
    middle = lengths[-2] if len(lengths) > 1 else "1"
    area = f.set(f"mul i64 {f.set(f'mul i64 {outer}, {middle}')}, {lengths[-1]}")
    some = f.fresh_label("some")
    f.branch(f.set(f"icmp eq i64 {area}, 0"), after, some)
    f.start(some)
    loop = warp_loop(task)
    if task.schedule.numbered or loop is not None:
        threads = f.set(f"mul i64 {area}, {LANES}") if loop is not None else area
        return [f.set(f"trunc i64 {_blocks(f, threads, shape[0], 'x')} to i32"), "1", "1"]
    schedule = task.schedule
    each = _group_sizes(f, services, area, schedule)
    across = _blocks(f, lengths[-1], shape[0], "x", each(schedule.across))
    down = _blocks(f, middle, shape[1], "y", each(schedule.rows))
    deep = _blocks(f, outer, shape[2], "z")
    if schedule.grid in ("limited", "resident"):
        each_holds = services.word("functions", "i64", resident) if schedule.grid == "resident" else str(schedule.waves)
        enough = f.set(f"mul i64 {services.word('processors', 'i64')}, {each_holds}")
        across = _least(f, across, enough)
        down = _least(f, down, _share(f, enough, across))
        deep = _least(f, deep, _share(f, enough, f.set(f"mul i64 {across}, {down}")))
    return [f.set(f"trunc i64 {count} to i32") for count in (across, down, deep)]


def _length(f: FunctionWriter, begin: Value, end: Value) -> str:
    size = f.set(f"sub nsw i64 {f.use(end)}, {f.use(begin)}")
    return f.set(f"call i64 @{f.module.declare('i64 @llvm.smax.i64(i64, i64)')}(i64 {size}, i64 0)")


def _group_sizes(f: FunctionWriter, services: _Services, area: str, schedule: Schedule) -> Callable[[int], str]:
    """The number of neighbours that a thread takes: all, unless that leaves multiprocessors idle."""
    enough = f.set(f"mul i64 {services.word('processors', 'i64')}, {schedule.busy * schedule.across * schedule.rows}")
    many = f.set(f"icmp uge i64 {area}, {enough}")
    return lambda size: f.set(f"select i1 {many}, i64 {size}, i64 1") if size > 1 else "1"


def _blocks(f: FunctionWriter, length: str, threads: int, axis: str, each: str = "1") -> str:
    """Blocks along an axis, where each thread takes `each` places."""
    covered = str(threads) if each == "1" else f.set(f"mul i64 {each}, {threads}")
    blocks = _share(f, f.set(f"add i64 {length}, {f.set(f'sub i64 {covered}, 1')}"), covered)
    return _least(f, blocks, str(_MOST_BLOCKS[axis]))


def _share(f: FunctionWriter, total: str, among: str) -> str:
    """total / among, at least 1."""
    part = f.set(f"udiv i64 {total}, {among}")
    return f.set(f"call i64 @{f.module.declare('i64 @llvm.umax.i64(i64, i64)')}(i64 {part}, i64 1)")


def _least(f: FunctionWriter, a: str, b: str) -> str:
    return f.set(f"call i64 @{f.module.declare('i64 @llvm.umin.i64(i64, i64)')}(i64 {a}, i64 {b})")


def _flush(f: FunctionWriter, services: _Services) -> None:
    """What was launched is sent off now, where it was only collected."""
    collected, sent = f.fresh_label("collected"), f.fresh_label("sent")
    f.branch(f.set(f"icmp ne ptr {services.word('flush')}, null"), collected, sent)
    f.start(collected)
    services.call("flush", f"ptr {services.word('queue')}")
    f.jump(sent)
    f.start(sent)


def _answer(f: FunctionWriter, services: _Services, slots: Slots, fallible: bool) -> None:
    """Fetch the error record and the results, if there can be any, and store them where the launcher reads them."""
    results = sum(map(flat_size, slots.results))
    if not results and not fallible:
        return
    first = STATE_ERROR if fallible else STATE_RESULTS
    count = STATE_RESULTS + results - first
    answer = f.stack(f"[{count} x i64]")
    stream, state = services.word("stream"), services.word("state")
    place = f.set(f"getelementptr inbounds i8, ptr {state}, i64 {8 * first}")
    services.call("copy_out", f"ptr {answer}, ptr {place}, i64 {8 * count}, ptr {stream}")
    services.call("synchronize", f"ptr {stream}")
    if fallible:
        _copy(f, answer, 0, services.record, 0, ERROR_WORDS)
    _copy(f, answer, count - results, "%ctx", slots.result_start, results)


def _copy(f: FunctionWriter, source: str, first: int, target: str, to: int, words: int) -> None:
    for word in range(words):
        here = f.set(f"getelementptr inbounds i8, ptr {source}, i64 {8 * (first + word)}")
        there = f.set(f"getelementptr inbounds i8, ptr {target}, i64 {8 * (to + word)}")
        f.do(f"store i64 {f.set(f'load i64, ptr {here}, align 8')}, ptr {there}, align 8")
