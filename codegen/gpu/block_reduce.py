"""Reductions over the threads of a block: shuffles in each warp, then the first warp adds the results of the warps.

    v += shuffle_down(v, 16); v += shuffle_down(v, 8) ... 1      each warp, no memory
    share[warp] = v; barrier                                     one lane of each warp
    v = share[lane] for as many warps as there are; shuffles     the first warp

Every thread of the block must reach this code.
"""

from __future__ import annotations

from collections.abc import Callable

from weft.codegen.gpu.dialect import SHARED, dialect_of
from weft.codegen.llvm.function import FunctionWriter
from weft.codegen.llvm.scalar_ops import binary
from weft.codegen.llvm.spelling import constant, in_register
from weft.ir.types import Prim, u1

__all__ = [
    "barrier",
    "block_reduce",
    "by_words",
    "is_first_thread",
    "thread_number",
    "threads_in_block",
    "warp_reduce",
]

_FULL = -1  # the mask of all lanes


def thread_number(f: FunctionWriter) -> str:
    """The number of this thread in its block (i32)."""
    place = dialect_of(f).place
    x, y, z = (place(f, "thread", axis) for axis in "xyz")
    row = f.set(f"add i32 {f.set(f'mul i32 {z}, ' + place(f, 'threads', 'y'))}, {y}")
    return f.set(f"add i32 {f.set(f'mul i32 {row}, ' + place(f, 'threads', 'x'))}, {x}")


def threads_in_block(f: FunctionWriter) -> str:
    """How many threads the block has (i32)."""
    x, y, z = (dialect_of(f).place(f, "threads", axis) for axis in "xyz")
    return f.set(f"mul i32 {f.set(f'mul i32 {x}, {y}')}, {z}")


def is_first_thread(f: FunctionWriter) -> str:
    """Whether this is thread 0 of its block."""
    return f.set(f"icmp eq i32 {thread_number(f)}, 0")


def barrier(f: FunctionWriter) -> None:
    """All threads of the block wait for one another here, and then see each other's writes to shared memory."""
    body = "\n  ".join([*dialect_of(f).barrier(f.module), "ret void"])
    name = "weft_barrier"
    f.module.declarations.setdefault(name, f"define internal void @{name}() convergent nounwind {{\n  {body}\n}}\n")
    f.do(f"call void @{name}()")


def block_reduce(f: FunctionWriter, kind: str, type: Prim, value: str, neutral: int | float | bool) -> str:
    """The values of all threads combined; only the first thread gets the result."""
    name, helper = in_register(type), f"weft_reduce_{kind}_{type.text}"
    if helper not in f.module.declarations:
        f.module.declarations[helper] = _block_function(f, helper, kind, type, neutral)
    return f.set(f"call {name} @{helper}({name} {value})")


def _block_function(caller: FunctionWriter, helper: str, kind: str, type: Prim, neutral: int | float | bool) -> str:
    f = FunctionWriter(caller.module, caller.target)
    name, word = in_register(type), f"i{max(8, type.bits)}"
    share = f"weft_share_{word}"
    f.module.declarations.setdefault(share, f"@{share} = internal {SHARED} global [32 x {word}] poison, align 8")
    result = f.stack(name, type.size)
    mine = warp_reduce(f, kind, type, "%value")
    f.do(f"store {name} {mine}, ptr {result}, align {type.size}")
    number = thread_number(f)
    lane, warp = f.set(f"and i32 {number}, 31"), f.set(f"lshr i32 {number}, 5")
    lead, led, first, done = (f.fresh_label(hint) for hint in ("lead", "led", "first", "done"))
    f.branch(f.set(f"icmp eq i32 {lane}, 0"), lead, led)
    f.start(lead)
    place = f.set(f"getelementptr [32 x {word}], ptr {SHARED} @{share}, i32 0, i32 {warp}")
    f.do(f"store {word} {_to_bits(f, type, mine, word)}, ptr {SHARED} {place}, align {max(1, type.size)}")
    f.start(led)
    barrier(f)
    f.branch(f.set(f"icmp eq i32 {warp}, 0"), first, done)
    f.start(first)
    warps = f.set(f"lshr i32 {threads_in_block(f)}, 5")
    there = f.set(f"getelementptr [32 x {word}], ptr {SHARED} @{share}, i32 0, i32 {lane}")
    bits = f.set(f"load {word}, ptr {SHARED} {there}, align {max(1, type.size)}")
    present = f.set(f"icmp ult i32 {lane}, {warps}")
    shared = _from_bits(f, type, bits, word)
    each = f.set(f"select i1 {present}, {name} {shared}, {name} {constant(neutral, type)}")
    f.do(f"store {name} {warp_reduce(f, kind, type, each)}, ptr {result}, align {type.size}")
    f.start(done)
    barrier(f)  # the shared words are free for the next reduction
    total = f.set(f"load {name}, ptr {result}, align {type.size}")
    return f.returning(f"define internal {name} @{helper}({name} %value) convergent nounwind", f"{name} {total}")


def warp_reduce(f: FunctionWriter, kind: str, type: Prim, value: str) -> str:
    """The values of all lanes of the warp combined; only its first lane gets the result."""
    for offset in (16, 8, 4, 2, 1):
        value = binary(f, kind, type, value, _shuffle_down(f, type, value, offset))
    return value


def _shuffle_down(f: FunctionWriter, type: Prim, value: str, offset: int) -> str:
    """The value that the lane `offset` further has."""
    word = f"i{type.bits}"
    bits = _to_bits(f, type, value, word)
    if type.bits == 64:
        moved = by_words(f, bits, lambda part: _shuffle_word(f, part, offset))
    elif type.bits == 32:
        moved = _shuffle_word(f, bits, offset)
    else:
        moved = f.set(f"trunc i32 {_shuffle_word(f, f.set(f'zext {word} {bits} to i32'), offset)} to {word}")
    return _from_bits(f, type, moved, word)


def by_words(f: FunctionWriter, bits: str, move: Callable[[str], str]) -> str:
    """64 bits, moved as two words."""
    low, high = bits, f.set(f"lshr i64 {bits}, 32")
    low, high = (move(f.set(f"trunc i64 {half} to i32")) for half in (low, high))
    low, high = (f.set(f"zext i32 {half} to i64") for half in (low, high))
    return f.set(f"or i64 {f.set(f'shl i64 {high}, 32')}, {low}")


def _shuffle_word(f: FunctionWriter, word: str, offset: int) -> str:
    return dialect_of(f).shuffle(f, "shuffle_down", str(_FULL), word, str(offset))


def _to_bits(f: FunctionWriter, type: Prim, value: str, word: str) -> str:
    if type.is_float:
        return f.set(f"bitcast {in_register(type)} {value} to {word}")
    return f.set(f"zext i1 {value} to {word}") if type is u1 and word != "i1" else value


def _from_bits(f: FunctionWriter, type: Prim, bits: str, word: str) -> str:
    if type.is_float:
        return f.set(f"bitcast {word} {bits} to {in_register(type)}")
    return f.set(f"trunc {word} {bits} to i1") if type is u1 and word != "i1" else bits
