"""Facts about each task: how often it runs, what memory it accesses, and how it was vectorized or why it was not."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from math import prod
from typing import TYPE_CHECKING, Any, Protocol

from weft.codegen.llvm.remarks import Remark, remarks
from weft.ir.addresses import byte_sum, root_of
from weft.ir.alias import Access, is_access
from weft.ir.config import CompileConfig
from weft.ir.core import Block, Op, Value
from weft.ir.errors import WeftError
from weft.ir.ops import Address, Alloca, Atomic, Const, For, Kernel, Load, Store, Task, While, Yield
from weft.ir.tasks import accesses, tasks_of
from weft.ir.types import Prim

if TYPE_CHECKING:
    from weft.ir.artifact import Artifact
    from weft.ir.config import CompileConfig
    from weft.lang.stages.disassembly import Cubin
    from weft.lang.stages.listing import Spots

__all__ = ["Compiled", "facts_text", "task_facts"]

Rows = list[tuple[str, str]]

# LLVM's remarks about a loop, with the advice that Weft gives for each.
_HINTS: tuple[tuple[str, str], ...] = (
    (
        "cannot identify array bounds",
        "an index is read from memory, so LLVM cannot tell whether two iterations access the same element",
    ),
    ("unsafe dependent memory", "an iteration may read what another writes: write to another field, or copy first"),
    (
        "could not determine number of loop iterations",
        "a `while`, or a loop with `break`: the number of iterations is not known before the loop runs",
    ),
    ("call instruction cannot be vectorized", "a function without a vector version is called"),
    (
        "value that could not be identified as reduction",
        "a value is carried from one iteration to the next, and it is not a simple reduction",
    ),
    (
        "Control flow cannot be substituted for a select",
        "an `if` around a memory access that must not be executed for all iterations",
    ),
    ("instruction return type cannot be vectorized", "a value that has no vector form"),
    ("loop control flow is not understood", "there are loops or several exits inside"),
    (
        "cost-model indicates that vectorization is not beneficial",
        "vectors would be slower: the accesses are strided or gathered",
    ),
    ("instruction cannot be vectorized", "an atomic, or another operation without a vector form"),
    ("vectorization is explicitly disabled", "the body is so long that vectorizing would take too long to compile"),
)
_GOOD, _BARE = "vectorized", "loop not vectorized"


class Compiled(Protocol):
    """The parts of `Stages` that the facts are about."""

    @property
    def arch(self) -> str:
        """The arch that the kernel was compiled for."""
        ...

    @property
    def config(self) -> CompileConfig:
        """The options of the compiler."""
        ...

    @property
    def kernel(self) -> Kernel:
        """The kernel with all decisions about how it runs, before vectors are made of iterations."""
        ...

    @property
    def functions(self) -> list[Kernel]:
        """The lowered functions that the kernel calls."""
        ...

    @property
    def artifact(self) -> Artifact | None:
        """The code; None for arch=python."""
        ...

    @property
    def cubin(self) -> Cubin | None:
        """The output of ptxas; None on a CPU."""
        ...

    @property
    def spots(self) -> Spots:
        """The places that lines refer to."""
        ...


def task_facts(stages: Compiled) -> list[dict[str, Any]]:
    """Return a card for each task: its kind, its place, rows of (topic, value), and remarks with their places."""
    artifact = stages.artifact
    kernel = stages.kernel
    said = _SAID[stages.arch](artifact, stages.config) if artifact is not None and stages.arch in _SAID else []
    cards: list[dict[str, Any]] = []
    for number, task in enumerate(tasks_of(kernel)):
        rows = [*_box(task), *_touched(task)]
        if task.kind != "serial":
            rows += _ARCHES.get(stages.arch, _nothing)(stages, task, number)
        notes = _notes([one for one in said if _concerns(stages, task, one)])
        title = "serial" if task.kind == "serial" else "parallel loop"
        spot = task.span.line if task.span is not None and artifact is not None else 0
        cards.append({"title": f"{number}: {title}", "spot": spot, "rows": rows, "notes": notes})
    return cards


def _concerns(stages: Compiled, task: Task, remark: Remark) -> bool:
    """Return whether a remark is about a loop of the task. For a task that runs in lanes, Weft itself vectorizes, so
    only remarks about loops that LLVM vectorized count."""
    if task.kind == "serial" or not any(op.span is not None and op.span.line == remark.line for op in task.walk()):
        return False
    return remark.text.startswith(_GOOD) or bool(task.schedule.serial_because)


def facts_text(stages: Compiled) -> str:
    """Return the cards as text."""
    lines: list[str] = []
    for card in task_facts(stages):
        lines.append(f"task {card['title']}{_line_of(stages, card['spot'], ', line {}')}")
        lines += [f"    {name:<18}{what}" for name, what in card["rows"]]
        for spot, text, hint in card["notes"]:
            lines.append(f"    {_line_of(stages, spot, 'line {}: ')}{text}")
            lines += [f"        {hint}"] if hint else []
    return "".join(f"{line}\n" for line in lines)


def _line_of(stages: Compiled, spot: int, words: str) -> str:
    chain = stages.spots.chains[spot]
    return words.format(chain[0][1]) if chain else ""


def _notes(said: list[Remark]) -> list[tuple[int, str, str]]:
    """Return (spot, LLVM's remark, Weft's explanation). If one remark about a place has an explanation, the others are
    left out. A remark that a loop was not vectorized is left out if another one gives the reason."""
    said = [one for one in said if one.text != _BARE] or said
    notes = [(one.line, one.text, next((hint for words, hint in _HINTS if words in one.text), "")) for one in said]
    plain = {spot for spot, text, hint in notes if hint or text.startswith(_GOOD)}
    return [note for note in notes if note[2] or note[1].startswith(_GOOD) or note[0] not in plain]


# ---- the box and the memory ------------------------------------------------------------------------------------------


def _box(task: Task) -> Rows:
    limits = task.bounds.last
    if task.kind == "serial" or not isinstance(limits, Yield):
        return [("iterations", "one thread runs it once")]
    axes = [f"{_limit(begin)} .. {_limit(end)}" for begin, end in zip(limits.begins, limits.ends, strict=True)]
    known = [_extent(begin, end) for begin, end in zip(limits.begins, limits.ends, strict=True)]
    count = 1
    for extent in known:
        count *= extent or 0
    total = f"  ({count:,})" if count and len(axes) > 1 else ""
    return [("iterations", " x ".join(axes) + total)]


def _limit(value: Value) -> str:
    return str(value.value) if isinstance(value, Const) else value.name or "?"


def _extent(begin: Value, end: Value) -> int | None:
    if isinstance(begin, Const) and isinstance(end, Const):
        return max(0, int(end.value) - int(begin.value))
    return None


def _touched(task: Task) -> Rows:
    rows: Rows = [("reads", ", ".join(task.read_set) or "nothing"), ("writes", ", ".join(task.write_set) or "nothing")]
    outer, inner = _bytes(task, inside=False), _bytes(task, inside=True)
    rows.append(("per iteration", f"{outer[0]} B read, {outer[1]} B written"))
    if any(inner):
        rows.append(("per inner iteration", f"{inner[0]} B read, {inner[1]} B written"))
    if task.kind != "serial" and (steps := _steps(task)):
        rows.append(("neighbours", ", ".join(steps)))
    return rows


def _bytes(task: Task, inside: bool) -> tuple[int, int]:
    """Return the bytes that an iteration reads and writes, either inside its inner loops or outside of them."""
    read = written = 0
    for op, deep in _memory(task.body, False):
        if deep == inside:
            kind = op.ptr.type
            elem = getattr(kind, "elem", None)
            size = elem.size if isinstance(elem, Prim) else 8
            read += 0 if isinstance(op, Store) else size
            written += 0 if isinstance(op, Load) else size
    return read, written


def _memory(block: Block, deep: bool) -> Iterator[tuple[Access, bool]]:
    for op in block:
        if is_access(op) and not _local(op.ptr):
            yield op, deep
        for inner in op.regions:
            yield from _memory(inner, deep or isinstance(op, (For, While)))


def _local(ptr: Value) -> bool:
    return isinstance(root_of(ptr), Alloca)


def _steps(task: Task) -> list[str]:
    """Return the distance in bytes between the accesses of neighbouring iterations to each field."""
    found: dict[str, None] = {}
    for op in accesses(task):
        if _local(op.ptr) or not isinstance(op.ptr, Address) or not _inside(op, task.body):
            continue
        step, elem = _step(op.ptr, task.body.args[-1]), getattr(op.ptr.type, "elem", None)
        size = elem.size if isinstance(elem, Prim) else 0
        words = {None: "anywhere", 0: "one place", size: "side by side"}
        name = op.ptr.scope.name or "memory"
        found[f"{name} {words.get(step, f'{step} B apart')}"] = None
    return [*found]


def _inside(op: Op, block: Block) -> bool:
    around: Op | None = op
    while around is not None and around.block is not block:
        around = around.parent
    return around is not None


def _step(ptr: Value, index: Value) -> int | None:
    """Return the bytes between the addresses of neighbouring iterations; None if they vary."""
    total = 0
    for factor, stride in byte_sum(ptr).terms:
        if factor is index and isinstance(stride, Const):
            total += int(stride.value)
        elif _depends(factor, index):
            return None
    return total


def _depends(value: Value, index: Value) -> bool:
    """Return whether a value may differ in the next iteration."""
    if value is index or isinstance(value, Load):
        return True
    return isinstance(value, Op) and any(_depends(operand, index) for operand in value.operands)


# ---- how each arch runs it -------------------------------------------------------------------------------------------


def _nothing(_stages: Compiled, _task: Task, _number: int) -> Rows:
    return []


def _on_cpu(_stages: Compiled, task: Task, _: int) -> Rows:
    rows: Rows = [
        ("price", f"about {max(1.0, task.schedule.price):,.0f} instructions per iteration"),
        ("lanes", _lanes(task)),
    ]
    moved: list[Load | Store | Atomic] = [*task.all_of(Load), *task.all_of(Store), *task.all_of(Atomic)]
    if moves := Counter(_MOVES[op.move] for op in moved if op.move in _MOVES):
        rows.append(("moved by lanes", ", ".join(f"{count} {how}" for how, count in moves.most_common())))
    if copies := task.schedule.privatized:
        rows.append(("copies", f"{', '.join(copy.scope.name for copy in copies)}: one for each thread"))
    return rows


# Descriptions of how lanes move values (see `ir/mapping/moves.py`). Values that stay in registers are not listed.
_MOVES = {
    "one": "shared",
    "adjacent": "side by side",
    "row": "in rows",
    "maybe_row": "in rows or gathered",
    "tile": "in tiles",
    "cell": "as whole cells",
    "gather": "gathered",
    "scatter": "scattered",
    "combine": "combined into one atomic",
    "wait": "atomics lane by lane",
    "each": "atomics lane by lane",
}


def _lanes(task: Task) -> str:
    """Describe how iterations use SIMD lanes, or why they do not."""
    schedule, folded = task.schedule, [loop.schedule.lanes for loop in task.all_of(For) if loop.schedule.lanes > 1]
    if schedule.lanes > 1:
        return f"{schedule.lanes * schedule.vectors} iterations at once, one in each lane"
    if folded:
        return f"one iteration after another, {max(folded)} iterations of an inner loop at once"
    return schedule.serial_because


def _threads(task: Task) -> Rows:
    """Return the other facts of the schedule about the threads of a task, if there are any."""
    schedule, rows = task.schedule, Rows()
    if schedule.across * schedule.rows > 1:
        deep = f" in {schedule.rows} rows" if schedule.rows > 1 else ""
        rows.append(("a thread takes", f"{schedule.across} neighbours{deep}"))
    if any(loop.schedule.warp for loop in task.all_of(For)):
        rows.append(("a warp takes", "one iteration, and its lanes share the iterations of the loop in it"))
    if schedule.privatized:
        copies = (f"{copy.copies} copies of {copy.scope.name}" for copy in schedule.privatized)
        rows.append(("a block has", ", ".join(copies)))
    return rows


def _on_cuda(stages: Compiled, task: Task, _: int) -> Rows:
    schedule = task.schedule
    rows: Rows = [("block", f"{prod(schedule.block)} threads"), *_threads(task)]
    assert stages.artifact is not None
    name = stages.artifact.tasks[schedule.launch]
    try:
        registers = stages.cubin.registers(name) if stages.cubin is not None else None
        rows.append(("registers", f"{registers} per thread" if registers else "ptxas did not report it"))
    except WeftError as error:
        rows.append(("registers", str(error)))
    static = re.search(rf"\.entry {name}\(.*?\n}}", stages.artifact.ptx, re.DOTALL)
    shared = [int(size) for size in re.findall(r"\.shared .*?\[(\d+)\]", static[0] if static else "")]
    rows.append(("shared memory", f"{sum(shared) + schedule.shared_bytes} B per block"))
    return rows


def _of_vectorizer(artifact: Artifact, config: CompileConfig) -> list[Remark]:
    return remarks(artifact.llvm, config.opt_level, config.cpu_features)


_ARCHES = {"cpu": _on_cpu, "cuda": _on_cuda}
_SAID = {"cpu": _of_vectorizer}
