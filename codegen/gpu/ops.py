"""The ops that GPUs emit in their own way: atomics, prints, failures, ends."""

from __future__ import annotations

from math import gcd

from weft.codegen.gpu.block_reduce import block_reduce, is_first_thread
from weft.codegen.gpu.device_writer import DeviceWriter, state_word
from weft.codegen.gpu.dialect import DEVICE_MEMORY, dialect_of
from weft.codegen.gpu.privatization import add_to_copy
from weft.codegen.gpu.simt import SIMT_EMITTERS
from weft.codegen.gpu.unroll_and_jam import write_for, write_sum
from weft.codegen.gpu.wide_atomics import write_row
from weft.codegen.llvm import call_ops, philox, scalar_ops, synchronization
from weft.codegen.llvm.control_ops import put_scalars, site_types, warning_site
from weft.codegen.llvm.function import EMITTERS, Emitters
from weft.codegen.llvm.memory_ops import read_slot, store
from weft.codegen.llvm.spelling import in_register
from weft.ir.artifact import (
    ERROR_WORDS,
    NOTE_WORDS,
    NOTES,
    PRINT_END,
    STATE_ERROR,
    STATE_RESULTS,
    STATE_STOP,
    Site,
)
from weft.ir.mapping.whole_words import WORD
from weft.ir.ops import (
    Address,
    Aligned,
    Assert,
    Atomic,
    AtomicRow,
    Binary,
    Clamp,
    Const,
    Exchange,
    Exit,
    Fence,
    For,
    Print,
    StoreResult,
    TempPtr,
    TreeBase,
    Warn,
)
from weft.ir.scalar import identity
from weft.ir.types import Prim, f32, f64, flat_size

__all__ = ["DEVICE", "EPILOGUE"]

_WRITERS = (call_ops, philox, scalar_ops)  # imported for the ops they register


def _address(f: DeviceWriter, op: Address) -> str:
    """As on other targets, but the part in which neighbours differ is added last, so that LLVM sees that they are
    adjacent. The alignment is recorded, because LLVM loses it in loops."""
    offset, terms = op.offset, list[str]()
    known, alignments = f.indices, f.memory.alignments
    aligned = WORD if op.base in known.words or isinstance(op.base, TreeBase) else alignments.get(f.use(op.base), 1)
    pointer, axes, add = f.use(op.base), list(range(len(op.indices))), "getelementptr inbounds i8"
    if (phase := f.phases.get(op)) is not None:  # (the word may begin before the memory does)
        (pointer, behind, row), aligned, add = phase, WORD, "getelementptr i8"
        offset, axes = offset + behind, [k for k in axes if k not in row]
    for index, stride in ((op.indices[k], op.strides[k]) for k in axes):
        if not isinstance(stride, Const):
            terms.append(f.set(f"mul nsw i64 {f.use(index)}, {f.use(stride)}"))
            aligned = aligned if stride in known.words else 1
        elif isinstance(index, Const):
            offset += int(index.value) * int(stride.value)
        else:
            first, ahead = known.steps.get(f.use(index), (f.use(index), 0))
            offset += ahead * int(stride.value)
            terms.append(f.set(f"mul nsw i64 {first}, {stride.value}") if int(stride.value) != 1 else first)
            aligned = gcd(aligned, known.multiples.get(first, 1) * int(stride.value))
    for term in terms:
        pointer = f.set(f"{add}, ptr {pointer}, i64 {term}")
    pointer = f.set(f"{add}, ptr {pointer}, i64 {offset}") if offset else pointer
    if (aligned := gcd(aligned, offset)) > 1:
        alignments[pointer] = aligned
    return pointer


def _clamp(f: DeviceWriter, op: Clamp) -> str:
    if f.interior:
        return f.use(op.index)
    prim = op.lhs.type
    assert isinstance(prim, Prim)
    return scalar_ops.binary(f, op.kind, prim, f.use(op.lhs), f.use(op.rhs))


def _aligned(f: DeviceWriter, op: Aligned) -> None:
    """Emits nothing: `task.py` reads its operands."""


def _temp_ptr(f: DeviceWriter, op: TempPtr) -> str:
    return f.set(f"getelementptr inbounds i8, ptr {state_word(f, f.temps)}, i64 {op.offset}")


def _store_result(f: DeviceWriter, op: StoreResult) -> None:
    assert isinstance(op.value.type, Prim)
    store(f, state_word(f, STATE_RESULTS + op.part), op.value.type, f.use(op.value))


def _exit(f: DeviceWriter, op: Exit) -> None:
    if f.stops:
        f.do(f"store i64 1, ptr {state_word(f, STATE_STOP)}, align 8")
    f.jump(f.exit_label)


def _assert(f: DeviceWriter, op: Assert) -> None:
    """The first thread that fails fills the error record. Every thread that fails leaves the task. The context stays
    valid."""
    fail, first, after = f.fresh_label("fail"), f.fresh_label("first"), f.fresh_label("holds")
    site = f.module.site(Site(op.kind, (op.message,), site_types(op), op.span))
    f.branch(f.use(op.condition), after, fail)
    f.start(fail)
    record = state_word(f, STATE_ERROR)
    pair = f.set(f"cmpxchg ptr {record}, i64 0, i64 2 {f.target.sync_scope}monotonic monotonic")
    f.branch(f.set(f"extractvalue {{ i64, i1 }} {pair}, 1"), first, f.exit_label)
    f.start(first)
    word = f.set(f"getelementptr inbounds i8, ptr {record}, i64 8")
    f.do(f"store i64 {site}, ptr {word}, align 8")
    put_scalars(f, record, 2, op.values[: ERROR_WORDS - 2])
    f.jump(f.exit_label)
    f.start(after)


def _print(f: DeviceWriter, op: Print) -> None:
    """Reserve words of the print buffer, and fill them if there are enough. The host prints them after the launch. A
    thread that finds too few words marks the place where its record would have begun, because the data after it is from
    earlier launches."""
    types = site_types(op)
    site = f.module.site(Site("print", op.parts, types, op.span))
    words, fits, after = 1 + sum(map(flat_size, types)), f.fresh_label("fits"), f.fresh_label("after")
    short, last = f.fresh_label("short"), f.fresh_label("last")
    buffer = read_slot(f, 1, "ptr")
    used = f.set(f"atomicrmw add ptr {buffer}, i64 {words} {f.target.sync_scope}monotonic")
    room = f.set(f"load i64, ptr {f.set(f'getelementptr inbounds i8, ptr {buffer}, i64 8')}, align 8")
    end = f.set(f"add i64 {used}, {words}")
    record = f.set(f"getelementptr i8, ptr {buffer}, i64 {f.set(f'shl i64 {used}, 3')}")
    record = f.set(f"getelementptr i8, ptr {record}, i64 16")
    f.branch(f.set(f"icmp ule i64 {end}, {room}"), fits, short)
    f.start(fits)
    f.do(f"store i64 {site}, ptr {record}, align 8")
    put_scalars(f, record, 1, op.values)
    f.jump(after)
    f.start(short)
    f.branch(f.set(f"icmp ult i64 {used}, {room}"), last, after)
    f.start(last)
    f.do(f"store i64 {PRINT_END}, ptr {record}, align 8")
    f.start(after)


def _warn(f: DeviceWriter, op: Warn) -> None:
    """The first warning is recorded if a note is free. If none is free, a later warning is recorded instead. (A call of
    a function that does that is shorter, but then NVIDIA's assembler gives the loop twice as many registers, and fewer
    threads run at once.)"""
    site, told = warning_site(f, op, f"{DEVICE_MEMORY} ")
    ask, look, mine, further, busy, after = map(f.fresh_label, ("ask", "look", "mine", "further", "busy", "after"))
    told = f"ptr {DEVICE_MEMORY} {told}"
    seen = f.set(f"load atomic i32, {told} {f.target.sync_scope}monotonic, align 4")
    f.branch(f.set(f"icmp eq i32 {seen}, 0"), ask, after, f.module.odds(False))
    f.start(ask)
    before = f.set(f"atomicrmw xchg {told}, i32 1 {f.target.sync_scope}monotonic")
    buffer, place = read_slot(f, 1, "ptr"), f.scratch(1)
    room = f.set(f"load i64, ptr {f.set(f'getelementptr inbounds i8, ptr {buffer}, i64 8')}, align 8")
    notes = f.set(f"getelementptr i8, ptr {buffer}, i64 {f.set(f'shl i64 {room}, 3')}")
    f.do(f"store i64 16, ptr {place}, align 8")
    f.branch(f.set(f"icmp eq i32 {before}, 0"), look, after)
    f.start(look)
    offset = f.set(f"load i64, ptr {place}, align 8")
    note = f.set(f"getelementptr i8, ptr {notes}, i64 {offset}")
    pair = f.set(f"cmpxchg ptr {note}, i64 0, i64 1 {f.target.sync_scope}monotonic monotonic")
    f.branch(f.set(f"extractvalue {{ i64, i1 }} {pair}, 1"), mine, further)
    f.start(further)
    following = f.set(f"add i64 {offset}, {8 * NOTE_WORDS}")
    f.do(f"store i64 {following}, ptr {place}, align 8")
    more = f.set(f"icmp ult i64 {following}, {16 + 8 * NOTES * NOTE_WORDS}")
    f.branch(more, look, busy, f.module.loop_hints(copies=False))
    f.start(mine)
    for word, value in ((1, f"ptr {read_slot(f, 0, 'ptr')}"), (2, f"i64 {site}")):
        f.do(f"store {value}, ptr {f.set(f'getelementptr inbounds i8, ptr {note}, i64 {8 * word}')}, align 8")
    put_scalars(f, note, 3, op.values[: NOTE_WORDS - 3])
    f.do(f"store i64 2, ptr {note}, align 8")
    f.jump(after)
    f.start(busy)
    f.do(f"store i32 0, {told}, align 4")
    f.jump(after)
    f.start(after)


# ---- atomics ---------------------------------------------------------------------------------------------------------


def _atomic(f: DeviceWriter, op: Atomic) -> str | None:
    type = op.value.type
    assert isinstance(type, Prim)
    if isinstance(op.ptr, Address) and (copies := f.private.get(op.ptr.scope.whole)):
        add_to_copy(f, copies, op)
        return None
    if not f.memory.plain and type in (f32, f64) and op.kind in ("min", "max"):
        return _extreme(f, op, type)
    if not f.memory.plain and type.is_float and op.kind == "sub":
        negative = f.set(f"fneg {f.typed(op.value)}")
        scope = f.target.sync_scope
        return f.set(f"atomicrmw fadd ptr {f.use(op.ptr)}, {in_register(type)} {negative} {scope}monotonic")
    return EMITTERS[Atomic](f, op)


def _extreme(f: DeviceWriter, op: Atomic, type: Prim) -> str:
    """min and max of floats by atomics on their bits: positive floats have the order of signed integers, negative ones
    the reverse order of unsigned integers. Nothing is written if the value is a NaN, or no better than the current one.
    A current NaN, which would count as a very large number, is replaced by the value. If the old value is not used, the
    current one may be a value that this multiprocessor cached: a value that was good enough once stays good enough."""
    name, bits = in_register(type), f"i{type.bits}"
    value, address, scope = f.use(op.value), f.use(op.ptr), f.target.sync_scope
    some, clear, number, up, down, done = (
        f.fresh_label(hint) for hint in ("some", "clear", "number", "up", "down", "done")
    )
    near = scope if op.users else dialect_of(f).block_scope
    seen = f.set(f"load atomic {bits}, ptr {address} {near}monotonic, align {type.size}")
    there = f.set(f"bitcast {bits} {seen} to {name}")
    better = f.set(f"fcmp u{'gt' if op.kind == 'min' else 'lt'} {name} {there}, {value}")
    ordered = f.set(f"fcmp ord {name} {value}, {value}")
    f.branch(f.set(f"and i1 {ordered}, {better}"), some, done)
    before = f.label
    f.start(some)
    word = f.set(f"bitcast {name} {value} to {bits}")
    f.branch(f.set(f"fcmp uno {name} {there}, {there}"), clear, number)
    f.start(clear)
    pair = f.set(f"cmpxchg ptr {address}, {bits} {seen}, {bits} {word} {scope}monotonic monotonic")
    f.branch(f.set(f"extractvalue {{ {bits}, i1 }} {pair}, 1"), done, number)
    f.start(number)
    f.branch(f.set(f"icmp sge {bits} {word}, 0"), up, down)
    f.start(up)
    first = f.set(f"atomicrmw {op.kind} ptr {address}, {bits} {word} {scope}monotonic")
    f.jump(done)
    f.start(down)
    other = "umin" if op.kind == "max" else "umax"
    second = f.set(f"atomicrmw {other} ptr {address}, {bits} {word} {scope}monotonic")
    f.jump(done)
    f.lines.append(f"{done}:")
    f.label, f.open = done, True
    ways = f"[ {seen}, %{before} ], [ {seen}, %{clear} ], [ {first}, %{up} ], [ {second}, %{down} ]"
    return f.set(f"bitcast {bits} {f.set(f'phi {bits} {ways}')} to {name}")


def _reduced_atomic(f: DeviceWriter, op: Atomic) -> None:
    """In an epilogue: the block reduces the values of its threads, and one thread adds the result to the total."""
    type = op.value.type
    assert isinstance(type, Prim)
    total = block_reduce(f, op.kind, type, f.use(op.value), identity(op.kind, type))
    mine, after = f.fresh_label("mine"), f.fresh_label("after")
    f.branch(is_first_thread(f), mine, after)
    f.start(mine)
    mine_only = f.use(op.value)
    f.values[op.value] = total
    _atomic(f, op)
    f.values[op.value] = mine_only
    f.start(after)


# ---- synchronization -------------------------------------------------------------------------------------------------


def _exchange(f: DeviceWriter, op: Exchange) -> str | None:
    """For some GPUs LLVM drops the order of an `atomicrmw`, so fences provide it."""
    if op.order in ("release", "acq_rel"):
        synchronization.write_fence(f, "release")
    old = EMITTERS[Exchange](f, Exchange(op.ptr, op.value, type=op.type))
    if op.order in ("acquire", "acq_rel"):
        synchronization.write_fence(f, "acquire")
    return old


def _fence(f: DeviceWriter, op: Fence) -> None:
    dialect = dialect_of(f)
    synchronization.write_fence(f, op.order, dialect.block_scope if op.scope == "block" else dialect.device_scope)


DEVICE: Emitters = {
    **EMITTERS,
    **SIMT_EMITTERS,
    Address: _address,
    Aligned: _aligned,
    Assert: _assert,
    Atomic: _atomic,
    AtomicRow: write_row,
    Binary: write_sum,
    Clamp: _clamp,
    Exchange: _exchange,
    Exit: _exit,
    Fence: _fence,
    For: write_for,
    Print: _print,
    StoreResult: _store_result,
    TempPtr: _temp_ptr,
    Warn: _warn,
}
EPILOGUE: Emitters = {**DEVICE, Atomic: _reduced_atomic}
