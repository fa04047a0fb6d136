"""Private copies of small fields in the memory of a block (see the pass `privatize_in_blocks`): created, updated,
merged.

The copies of a word are adjacent. With 32 copies of words of 4 bytes, each lane uses a memory bank of its own. A warp
updates words of 8 bytes in two halves, so 16 copies have the same effect.
"""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass

from weft.codegen.gpu.block_reduce import thread_number, threads_in_block
from weft.codegen.gpu.dialect import SHARED, dialect_of
from weft.codegen.llvm.function import FunctionWriter
from weft.codegen.llvm.memory_ops import read_slot
from weft.codegen.llvm.scalar_ops import binary
from weft.codegen.llvm.spelling import constant, in_register
from weft.ir.ops import Atomic
from weft.ir.scalar import identity
from weft.ir.schedule import Privatized

__all__ = ["BlockCopies", "add_to_copy", "flush", "make_copies"]


@dataclass(frozen=True)
class BlockCopies:
    """Copies in use: their variable, their number (a power of two), the offset of this thread's copy in bytes, and the
    address of the field."""

    field: Privatized
    variable: str
    count: int
    own: str
    home: str


def make_copies(f: FunctionWriter, field: Privatized, variable: str) -> BlockCopies:
    """Make the block's copies, neutral everywhere; a barrier must follow."""
    count = field.copies
    words = field.words * count
    declared = f"internal {SHARED} global [{words} x {_bits(field)}] poison, align 16"
    f.module.declarations[variable] = f"@{variable} = {declared}"
    base = read_slot(f, f.module.slots.FIRST_TREE + field.tree, "ptr", f.target.tree_base)
    home = f.set(f"getelementptr inbounds i8, ptr {base}, i64 {field.low}")
    copy = f.set(f"and i32 {thread_number(f)}, {count - 1}")
    copies = BlockCopies(field, variable, count, f.set(f"mul i32 {copy}, {field.type.size}"), home)
    with _each_word(f, words) as number:
        place = _word(f, copies, number)
        f.do(f"store {in_register(field.type)} {_neutral(field)}, ptr {SHARED} {place}, align {field.type.size}")
    return copies


def add_to_copy(f: FunctionWriter, copies: BlockCopies, op: Atomic) -> None:
    """The atomic, on this thread's copy."""
    field = copies.field
    here, start = (f.set(f"ptrtoint ptr {place} to i64") for place in (f.use(op.ptr), copies.home))
    distance = f.set(f"trunc i64 {f.set(f'sub i64 {here}, {start}')} to i32")
    among = f.set(f"add i32 {f.set(f'mul i32 {distance}, {copies.count}')}, {copies.own}")
    place = f.set(f"getelementptr i8, ptr {SHARED} @{copies.variable}, i32 {among}")
    name, value = in_register(field.type), f.use(op.value)
    if op.kind == "sub":
        value = f.set(f"fneg {name} {value}" if field.type.is_float else f"sub {name} 0, {value}")
    scope = dialect_of(f).block_scope
    f.do(f"atomicrmw {_native(field)} ptr {SHARED} {place}, {name} {value} {scope}monotonic")


def flush(f: FunctionWriter, copies: BlockCopies) -> None:
    """Merge the block's copies into the field. A barrier must come before."""
    field, name, bits = copies.field, in_register(copies.field.type), _bits(copies.field)
    with _each_word(f, field.words) as number:
        some, after = f.fresh_label("some"), f.fresh_label("none")
        value = _total(f, copies, number)
        neutral = f.set(f"bitcast {name} {_neutral(field)} to {bits}")
        f.branch(f.set(f"icmp ne {bits} {f.set(f'bitcast {name} {value} to {bits}')}, {neutral}"), some, after)
        f.start(some)
        offset = f.set(f"zext i32 {f.set(f'mul i32 {number}, {field.type.size}')} to i64")
        place = f.set(f"getelementptr inbounds i8, ptr {copies.home}, i64 {offset}")
        f.do(f"atomicrmw {_native(field)} ptr {place}, {name} {value} {f.target.sync_scope}monotonic")
        f.start(after)


def _total(f: FunctionWriter, copies: BlockCopies, number: str) -> str:
    """All copies of a word combined. Each lane begins with another one, so that they read from different banks."""
    field, name, size = copies.field, in_register(copies.field.type), copies.field.type.size
    first = f.set(f"mul i32 {number}, {copies.count}")
    total = f.stack(name, size)
    f.do(f"store {name} {_neutral(field)}, ptr {total}, align {size}")
    with f.loop("0", str(copies.count), type="i32") as ahead:
        copy = f.set(f"and i32 {f.set(f'add i32 {number}, {ahead}')}, {copies.count - 1}")
        place = _word(f, copies, f.set(f"add i32 {first}, {copy}"))
        part = f.set(f"load {name}, ptr {SHARED} {place}, align {size}")
        before = f.set(f"load {name}, ptr {total}, align {size}")
        f.do(f"store {name} {binary(f, field.kind, field.type, before, part)}, ptr {total}, align {size}")
    return f.set(f"load {name}, ptr {total}, align {size}")


@contextmanager
def _each_word(f: FunctionWriter, words: int) -> Generator[str, None, None]:
    """A loop of the block's threads over this many words. Gives the number of this thread's word (i32)."""
    head, body, done = (f.fresh_label(hint) for hint in ("head", "word", "done"))
    threads = threads_in_block(f)
    counter, here, following = f.stack("i32", 4), f.register("p"), f.register("n")
    f.do(f"store i32 {thread_number(f)}, ptr {counter}, align 4")
    f.start(head)
    f.lines.append(f"  {here} = load i32, ptr {counter}, align 4")
    f.branch(f.set(f"icmp ult i32 {here}, {words}"), body, done)
    f.start(body)
    yield here
    f.lines.append(f"  {following} = add i32 {here}, {threads}")
    f.do(f"store i32 {following}, ptr {counter}, align 4")
    f.jump(head)
    f.start(done)


def _neutral(field: Privatized) -> str:
    return constant(identity(field.kind, field.type), field.type)


def _native(field: Privatized) -> str:
    if field.type.is_float:
        return "fadd"
    return f"u{field.kind}" if field.kind in ("min", "max") and not field.type.is_signed else field.kind


def _word(f: FunctionWriter, copies: BlockCopies, number: str) -> str:
    return f.set(f"getelementptr {_bits(copies.field)}, ptr {SHARED} @{copies.variable}, i32 {number}")


def _bits(field: Privatized) -> str:
    """The integer as wide as a word of the field."""
    return f"i{8 * field.type.size}"
