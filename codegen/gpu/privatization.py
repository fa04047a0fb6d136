"""Private copies of small fields in the memory of a block (see the pass `privatize_in_blocks`): created, updated,
merged.

The copies of a word are adjacent. With 32 copies, each lane uses a memory bank of its own.
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

__all__ = ["OpenShare", "add_to_share", "flush", "open_share"]

_SIZE = 4


@dataclass(frozen=True)
class OpenShare:
    """Copies in use: their variable, their number (a power of two), the offset of this thread's copy in bytes, and the
    address of the field."""

    share: Privatized
    variable: str
    copies: int
    own: str
    home: str


def open_share(f: FunctionWriter, share: Privatized, variable: str) -> OpenShare:
    """Make the block's copies, neutral everywhere; a barrier must follow."""
    copies = share.copies
    words = share.words * copies
    f.module.declarations[variable] = f"@{variable} = internal {SHARED} global [{words} x i32] poison, align 16"
    base = read_slot(f, f.module.slots.FIRST_TREE + share.tree, "ptr", f.target.tree_base)
    home = f.set(f"getelementptr inbounds i8, ptr {base}, i64 {share.low}")
    copy = f.set(f"and i32 {thread_number(f)}, {copies - 1}")
    opened = OpenShare(share, variable, copies, f.set(f"shl i32 {copy}, 2"), home)
    with _each_word(f, words) as number:
        f.do(f"store {in_register(share.type)} {_neutral(share)}, ptr {SHARED} {_word(f, opened, number)}, align 4")
    return opened


def add_to_share(f: FunctionWriter, opened: OpenShare, op: Atomic) -> None:
    """The atomic, on this thread's copy."""
    share = opened.share
    here, start = (f.set(f"ptrtoint ptr {place} to i64") for place in (f.use(op.ptr), opened.home))
    distance = f.set(f"trunc i64 {f.set(f'sub i64 {here}, {start}')} to i32")
    among = f.set(f"add i32 {f.set(f'mul i32 {distance}, {opened.copies}')}, {opened.own}")
    place = f.set(f"getelementptr i8, ptr {SHARED} @{opened.variable}, i32 {among}")
    name, value = in_register(share.type), f.use(op.value)
    if op.kind == "sub":
        value = f.set(f"fneg {name} {value}" if share.type.is_float else f"sub {name} 0, {value}")
    scope = dialect_of(f).block_scope
    f.do(f"atomicrmw {_native(share)} ptr {SHARED} {place}, {name} {value} {scope}monotonic")


def flush(f: FunctionWriter, opened: OpenShare) -> None:
    """Merge the block's copies into the field. A barrier must come before."""
    share, name = opened.share, in_register(opened.share.type)
    with _each_word(f, share.words) as number:
        some, after = f.fresh_label("some"), f.fresh_label("none")
        value = _total(f, opened, number)
        neutral = f.set(f"bitcast {name} {_neutral(share)} to i32")
        f.branch(f.set(f"icmp ne i32 {f.set(f'bitcast {name} {value} to i32')}, {neutral}"), some, after)
        f.start(some)
        offset = f.set(f"zext i32 {f.set(f'shl i32 {number}, 2')} to i64")
        place = f.set(f"getelementptr inbounds i8, ptr {opened.home}, i64 {offset}")
        f.do(f"atomicrmw {_native(share)} ptr {place}, {name} {value} {f.target.sync_scope}monotonic")
        f.start(after)


def _total(f: FunctionWriter, opened: OpenShare, number: str) -> str:
    """All copies of a word combined. Each lane begins with another one, so that they read from different banks."""
    share, name = opened.share, in_register(opened.share.type)
    first = f.set(f"mul i32 {number}, {opened.copies}")
    total = f.stack(name, _SIZE)
    f.do(f"store {name} {_neutral(share)}, ptr {total}, align {_SIZE}")
    with f.loop("0", str(opened.copies), type="i32") as ahead:
        copy = f.set(f"and i32 {f.set(f'add i32 {number}, {ahead}')}, {opened.copies - 1}")
        place = _word(f, opened, f.set(f"add i32 {first}, {copy}"))
        part = f.set(f"load {name}, ptr {SHARED} {place}, align {_SIZE}")
        before = f.set(f"load {name}, ptr {total}, align {_SIZE}")
        f.do(f"store {name} {binary(f, share.kind, share.type, before, part)}, ptr {total}, align {_SIZE}")
    return f.set(f"load {name}, ptr {total}, align {_SIZE}")


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


def _neutral(share: Privatized) -> str:
    return constant(identity(share.kind, share.type), share.type)


def _native(share: Privatized) -> str:
    if share.type.is_float:
        return "fadd"
    return f"u{share.kind}" if share.kind in ("min", "max") and not share.type.is_signed else share.kind


def _word(f: FunctionWriter, opened: OpenShare, number: str) -> str:
    return f.set(f"getelementptr i32, ptr {SHARED} @{opened.variable}, i32 {number}")
