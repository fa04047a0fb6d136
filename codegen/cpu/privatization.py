"""Privatization on a CPU: threads that share a loop add into private copies of the small fields that they contend for.

    for p in x: grid[cell(x[p])] += mass

    entry    few iterations: body(ctx, box, 0, n), where the box says that grid is in its tree
             else the pool runs private over [0, n), then merge over the words of grid
    private  take a copy that is free, fill it with 0 if nobody did; body(ctx, box with the copy for grid, begin, end)
    merge    grid[k] += copy[k] for every copy that was taken

The body reads the address of the field from the box, so the same body is used in both cases, and its atomics need no
lock in either. There are as many copies as threads. A word before each holds its state: 0 untouched, 1 filled, 2 taken.
Each copy has slack around it, as fields do: an access that misses the copy by one index is lost and overwrites nothing.
`privatizable.py` says which fields are copied.
"""

from __future__ import annotations

from collections.abc import Sequence

from weft.codegen.llvm.function import FunctionWriter
from weft.codegen.llvm.memory_ops import read_slot, service
from weft.codegen.llvm.scalar_ops import binary
from weft.ir.scalar import identity
from weft.ir.schedule import Privatized
from weft.ir.scopes import Scope

__all__ = ["extra_words", "homes", "pays_off", "prepare", "run_privatized", "write_merge", "write_private_body"]

# What a word of a copy costs its thread to fill and to add up, in the units of `cost.py`; chunks of the
# loop for each thread, so that all threads end at about the same time.
_WORD, _CHUNKS = 2.0, 4

# Bytes of a cache line, in which copies are filled and added up: as vectors, so that LLVM need not make any. Lines that
# are worth a thread's while to add up.
_LINE, _MERGE = 64, 512


def extra_words(fields: Sequence[Privatized]) -> int:
    """The words of the box after its limits: the addresses of the copies and of each field."""
    return 1 + len(fields) if fields else 0


def prepare(f: FunctionWriter, fields: Sequence[Privatized], box: str, axes: int) -> None:
    """In the entry: record that the fields are in their trees."""
    for number, field in enumerate(fields):
        f.do(f"store ptr {_tree(f, field)}, ptr {_word(f, box, 2 * axes + 1 + number)}, align 8")


def homes(f: FunctionWriter, fields: Sequence[Privatized], axes: int) -> dict[Scope, str]:
    """In the body: the addresses from which the copied fields are reached."""
    words = (_word(f, "%box", 2 * axes + 1 + number) for number in range(len(fields)))
    return {
        field.scope: f.set(f"load ptr, ptr {word}, align 8, !invariant.load !{{}}")
        for field, word in zip(fields, words, strict=True)
    }


def pays_off(f: FunctionWriter, fields: Sequence[Privatized], each: float, count: str, inner: str) -> str:
    """Whether several threads are faster, at `count` rows of `inner` iterations of price `each`: they save all of the
    work except one thread's part, and each fills and merges a copy."""
    copy = max(1, round(_WORD * sum(field.words for field in fields)))
    threads = service(f, "threads", "i64")
    work = f.set(f"mul i64 {f.set(f'mul i64 {count}, {inner}')}, {max(1, round(each))}")
    gain = f.set(f"mul i64 {work}, {f.set(f'sub i64 {threads}, 1')}")
    return f.set(f"icmp sgt i64 {gain}, {f.set(f'mul i64 {threads}, {copy}')}")


def run_privatized(f: FunctionWriter, fields: Sequence[Privatized], body: str, box: str, axes: int, count: str) -> str:
    """In the entry: let the pool run the loop on copies; gives whether there was memory for them."""
    threads, pool = service(f, "threads", "i64"), service(f, "pool", "i64")
    head, each = _head(f, threads), sum(map(_room, fields))
    size = f.set(f"add i64 {head}, {f.set(f'mul i64 {threads}, {each}')}")
    copies = f.set(f"call ptr {service(f, 'scratch')}(i64 {pool}, i64 {size})")
    ready, done = f.fresh_label("ready"), f.fresh_label("done")
    got = f.set(f"icmp ne ptr {copies}, null")
    f.branch(got, ready, done)
    f.start(ready)
    with f.loop("0", threads, f.module.loop_hints(copies=False)) as number:
        f.do(f"store atomic i64 0, ptr {_state(f, copies, number)} monotonic, align 8")
    f.do(f"store ptr {copies}, ptr {_word(f, box, 2 * axes)}, align 8")
    parts = f.set(f"mul i64 {threads}, {_CHUNKS}")
    grain = f.set(f"add i64 {f.set(f'udiv i64 {count}, {parts}')}, 1")
    run = service(f, "parallel_for")
    f.do(f"call void {run}(i64 {pool}, ptr @{body}_private, ptr %ctx, ptr {box}, i64 {count}, i64 {grain})")
    for position, field in enumerate(fields):
        merge = f"ptr @{body}_merge{position}, ptr %ctx, ptr {box}"
        f.do(f"call void {run}(i64 {pool}, {merge}, i64 {_bytes(field) // _LINE}, i64 {_MERGE})")
    f.start(done)
    return got


def write_private_body(entry: FunctionWriter, fields: Sequence[Privatized], body: str, axes: int) -> None:
    """The function that a thread runs for each chunk of the loop."""
    f = FunctionWriter(entry.module, entry.target)
    box = f.stack(f"[{2 * axes + 1 + len(fields)} x i64]")
    for position in range(2 * axes):
        limit = f.set(f"load i64, ptr {_word(f, '%box', position)}, align 8")
        f.do(f"store i64 {limit}, ptr {_word(f, box, position)}, align 8")
    copies, threads = f.set(f"load ptr, ptr {_word(f, '%box', 2 * axes)}, align 8"), service(f, "threads", "i64")
    number, before = _take(f, copies)
    places = [_copy(f, fields, k, copies, threads, number) for k in range(len(fields))]
    fill, filled = f.fresh_label("fill"), f.fresh_label("filled")
    f.branch(f.set(f"icmp eq i64 {before}, 0"), fill, filled)
    f.start(fill)
    for field, place in zip(fields, places, strict=True):
        _fill(f, field, place)
    f.start(filled)
    for position, (field, place) in enumerate(zip(fields, places, strict=True)):
        base = f.set(f"getelementptr i8, ptr {place}, i64 {-field.low}")  # the body adds `low` again
        f.do(f"store ptr {base}, ptr {_word(f, box, 2 * axes + 1 + position)}, align 8")
    f.do(f"call void @{body}(ptr %ctx, ptr {box}, i64 %begin, i64 %end)")
    f.do(f"store atomic i64 1, ptr {_state(f, copies, number)} release, align 8")
    _finish(f, f"{body}_private")


def write_merge(entry: FunctionWriter, fields: Sequence[Privatized], body: str, axes: int) -> None:
    """For each field a function that adds the lines [begin, end) of all copies to it."""
    for position, field in enumerate(fields):
        f = FunctionWriter(entry.module, entry.target)
        copies, threads = f.set(f"load ptr, ptr {_word(f, '%box', 2 * axes)}, align 8"), service(f, "threads", "i64")
        home = f.set(f"getelementptr inbounds i8, ptr {_tree(f, field)}, i64 {field.low}")
        with f.loop("0", threads, f.module.loop_hints(copies=False)) as number:
            add, after = f.fresh_label("add"), f.fresh_label("after")
            state = f.set(f"load atomic i64, ptr {_state(f, copies, number)} acquire, align 8")
            f.branch(f.set(f"icmp ne i64 {state}, 0"), add, after)
            f.start(add)
            _add_up(f, field, _copy(f, fields, position, copies, threads, number), home)
            f.start(after)
        _finish(f, f"{body}_merge{position}")


def _take(f: FunctionWriter, copies: str) -> tuple[str, str]:
    """Try one copy after another until one is free. Gives its number and the old state in its word."""
    attempt, taken = f.fresh_label("attempt"), f.fresh_label("taken")
    number, following = f.register("copy"), f.register("next")
    before = f.label
    f.jump(attempt)
    f.lines.append(f"{attempt}:")
    f.lines.append(f"  {number} = phi i64 [ 0, %{before} ], [ {following}, %{attempt} ]")
    f.label, f.open = attempt, True
    f.lines.append(f"  {following} = add i64 {number}, 1")
    state = f.set(f"atomicrmw xchg ptr {_state(f, copies, number)}, i64 2 acquire")
    f.branch(f.set(f"icmp eq i64 {state}, 2"), attempt, taken)
    f.start(taken)
    return number, state


def _fill(f: FunctionWriter, field: Privatized, place: str) -> None:
    f.width = _LINE // field.type.size
    neutral = f.literal(identity(field.kind, field.type), field.type)
    with f.loop("0", str(_bytes(field) // _LINE), f.module.loop_hints(copies=False)) as line:
        f.do(f"store {f.spell(field.type)} {neutral}, ptr {_line(f, place, line)}, align {_LINE}")
    f.width = 1


def _add_up(f: FunctionWriter, field: Privatized, copy: str, home: str) -> None:
    """home[k] = home[k] kind copy[k]: whole cache lines, then the words of the field in the last line."""
    each = _LINE // field.type.size
    whole, rest = divmod(field.words, each)
    smaller = f.module.declare("i64 @llvm.smin.i64(i64, i64)")
    end = f.set(f"call i64 @{smaller}(i64 %end, i64 {whole})") if rest else "%end"
    with f.loop("%begin", end, f.module.loop_hints(copies=False)) as line:
        _add_line(f, field, copy, home, line, each)
    if rest:
        last, after = f.fresh_label("last"), f.fresh_label("all")
        f.branch(f.set(f"icmp sgt i64 %end, {whole}"), last, after)
        f.start(last)
        _add_line(f, field, copy, home, str(whole), rest)
        f.start(after)


def _add_line(f: FunctionWriter, field: Privatized, copy: str, home: str, line: str, words: int) -> None:
    f.width = words
    type, align = f.spell(field.type), field.type.size
    here, there = _line(f, copy, line), _line(f, home, line)
    value, old = f.set(f"load {type}, ptr {here}, align {_LINE}"), f.set(f"load {type}, ptr {there}, align {align}")
    f.do(f"store {type} {binary(f, field.kind, field.type, old, value)}, ptr {there}, align {align}")
    f.width = 1


def _line(f: FunctionWriter, base: str, number: str) -> str:
    return f.set(f"getelementptr inbounds [{_LINE} x i8], ptr {base}, i64 {number}")


def _finish(f: FunctionWriter, name: str) -> None:
    signature = f"define internal void @{name}(ptr noalias %ctx, ptr %box, i64 %begin, i64 %end)"
    f.module.functions.append(f.text(f"{signature} noinline {f.target.attributes}"))


def _tree(f: FunctionWriter, field: Privatized) -> str:
    return read_slot(f, f.module.slots.FIRST_TREE + field.tree, "ptr", f.target.tree_base)


def _word(f: FunctionWriter, box: str, position: int) -> str:
    return f.set(f"getelementptr inbounds i8, ptr {box}, i64 {8 * position}")


def _state(f: FunctionWriter, copies: str, number: str) -> str:
    return f.set(f"getelementptr inbounds i64, ptr {copies}, i64 {number}")


def _head(f: FunctionWriter, threads: str) -> str:
    """The bytes of the words of the copies: whole cache lines."""
    lines = f.set(f"lshr i64 {f.set(f'add i64 {threads}, 7')}, 3")
    return f.set(f"shl i64 {lines}, 6")


def _copy(
    f: FunctionWriter, fields: Sequence[Privatized], position: int, copies: str, threads: str, number: str
) -> str:
    """Where copy `number` of a field is."""
    each, before = sum(map(_room, fields)), sum(map(_room, fields[:position])) + _slack(fields[position])
    offset = f.set(f"add i64 {_head(f, threads)}, {f.set(f'mul i64 {number}, {each}')}")
    return f.set(f"getelementptr inbounds i8, ptr {copies}, i64 {f.set(f'add i64 {offset}, {before}')}")


def _bytes(field: Privatized) -> int:
    """A copy's length: whole cache lines, that each begins on one."""
    return -(-field.words * field.type.size // _LINE) * _LINE


def _slack(field: Privatized) -> int:
    """The unused bytes on either side of a copy, which are never filled or merged: room for two indices."""
    return -(-2 * field.reach // _LINE) * _LINE


def _room(field: Privatized) -> int:
    return _bytes(field) + 2 * _slack(field)
