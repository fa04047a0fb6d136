"""What the threads of a block or warp do together, in code: barriers, votes, shuffles, and the block's arrays.

A loop that uses any of it runs by number: iteration `k` of its box on thread `k % threads` of block `k // threads`, so
that a program knows who its neighbours are. Arrays beyond 48 KiB in all come with the launch, the others with the
code.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import accumulate
from typing import TYPE_CHECKING, Any

from weft.codegen.gpu.block_reduce import barrier, by_words, sreg
from weft.codegen.llvm.spelling import in_register
from weft.ir.core import Op
from weft.ir.errors import CompilationError
from weft.ir.ops import SharedBase, Simt, Task
from weft.ir.types import Prim

if TYPE_CHECKING:
    from weft.codegen.gpu.ops import DeviceWriter

__all__ = ["MOST_THREADS", "SIMT_EMITTERS", "Arena", "arena_of", "threads_together"]

MOST_THREADS = 1024  # of a block
STATIC = 48 << 10  # bytes that code may bring
_ALIGN = 16
_DEFAULT_THREADS = 128
_DYNAMIC = "weft_dynamic"

Arena = dict[int, int]


def threads_together(task: Task) -> int:
    """How many threads a block of this loop has, if they do anything together: as many as asked for, not one more. 0 if
    they do not. CompilationError for more than there can be."""
    if not any(isinstance(op, Simt | SharedBase) for op in task.walk()):
        return 0
    wanted = task.config.block_dim or _DEFAULT_THREADS
    if wanted > MOST_THREADS:
        raise CompilationError(f"block_dim={wanted}: a block has at most {MOST_THREADS} threads", task.span)
    return wanted


def arena_of(task: Task | None) -> tuple[Arena, int]:
    """Where each of the task's shared arrays lies in memory that comes with the launch, and how much that is; nothing
    where the code can bring them."""
    found = {op.number: op.bytes for op in (task.walk() if task else ()) if isinstance(op, SharedBase)}
    sizes = [-(-size // _ALIGN) * _ALIGN for size in found.values()]
    if sum(sizes) <= STATIC:
        return {}, 0
    return dict(zip(found, accumulate(sizes, initial=0))), sum(sizes)


def _shared_base(f: DeviceWriter, op: SharedBase) -> str:
    if op.number in f.arena:
        f.module.declarations[_DYNAMIC] = f"@{_DYNAMIC} = external addrspace(3) global [0 x i8], align {_ALIGN}"
        place = f.set(f"getelementptr i8, ptr addrspace(3) @{_DYNAMIC}, i32 {f.arena[op.number]}")
    else:
        name = f"weft_shared_{op.number}"
        memory = f"internal addrspace(3) global [{op.bytes} x i8] poison, align {_ALIGN}"
        f.module.declarations[name] = f"@{name} = {memory}"
        place = f"@{name}"
    return f.set(f"addrspacecast ptr addrspace(3) {place} to ptr")


def _simt(f: DeviceWriter, op: Simt) -> str | None:
    return _KINDS[op.kind](f, op, *map(f.use, op.values))


SIMT_EMITTERS: dict[type[Op], Callable[[Any, Any], str | None]] = {SharedBase: _shared_base, Simt: _simt}
_Emit = Callable[..., "str | None"]


def _call(f: DeviceWriter, result: str, name: str, *operands: str) -> str:
    """Call an intrinsic of NVVM on operands written "type value"."""
    takes = ", ".join(operand.split()[0] for operand in operands)
    intrinsic = f.module.declare(f"{result} @llvm.nvvm.{name}({takes})", "convergent nounwind")
    call = f"call {result} @{intrinsic}({', '.join(operands)})"
    if result == "void":
        f.do(call)
        return ""
    return f.set(call)


def _nothing(name: str, *more: str) -> _Emit:
    """An intrinsic for its effect."""

    def emit(f: DeviceWriter, op: Simt, *values: str) -> None:
        _call(f, "void", name, *more, *(f"i32 {value}" for value in values))

    return emit


def _number(name: str) -> _Emit:
    """A number that a special register or an intrinsic without operands has."""
    return lambda f, op: _call(f, "i32", name)


def _sync(f: DeviceWriter, op: Simt) -> None:
    barrier(f)


def _sync_count(f: DeviceWriter, op: Simt, predicate: str) -> str:
    return _call(f, "i32", "barrier.cta.red.popc.aligned.all", "i32 0", f"i1 {_truth(f, predicate)}")


def _sync_truth(how: str) -> _Emit:
    def emit(f: DeviceWriter, op: Simt, predicate: str) -> str:
        agreed = _call(f, "i1", f"barrier.cta.red.{how}.aligned.all", "i32 0", f"i1 {_truth(f, predicate)}")
        return f.set(f"zext i1 {agreed} to i32")

    return emit


def _vote(how: str) -> _Emit:
    def emit(f: DeviceWriter, op: Simt, mask: str, predicate: str) -> str:
        agreed = _call(f, "i1", f"vote.{how}.sync", f"i32 {mask}", f"i1 {_truth(f, predicate)}")
        return f.set(f"zext i1 {agreed} to i32")

    return emit


def _ballot(f: DeviceWriter, op: Simt, predicate: str) -> str:
    here = _call(f, "i32", "activemask")
    return _call(f, "i32", "vote.ballot.sync", f"i32 {here}", f"i1 {_truth(f, predicate)}")


def _truth(f: DeviceWriter, predicate: str) -> str:
    return f.set(f"icmp ne i32 {predicate}, 0")


def _global_thread(f: DeviceWriter, op: Simt) -> str:
    first = f.set(f"mul i32 {sreg(f, 'ctaid.x')}, {sreg(f, 'ntid.x')}")
    return f.set(f"add i32 {first}, {sreg(f, 'tid.x')}")


def _match_any(f: DeviceWriter, op: Simt, mask: str, value: str) -> str:
    word = _bits(f, op, 1, value)
    return _call(f, "i32", f"match.any.sync.{word.split()[0]}", f"i32 {mask}", word)


def _match_all(f: DeviceWriter, op: Simt, mask: str, value: str) -> str:
    word = _bits(f, op, 1, value)
    name = f.module.declare(
        f"{{ i32, i1 }} @llvm.nvvm.match.all.sync.{word.split()[0]}p(i32, {word.split()[0]})", "convergent nounwind"
    )
    pair = f.set(f"call {{ i32, i1 }} @{name}(i32 {mask}, {word})")
    return f.set(f"extractvalue {{ i32, i1 }} {pair}, 0")


def _bits(f: DeviceWriter, op: Simt, position: int, value: str) -> str:
    """The bits of an operand, as "i32 %v" or "i64 %v"."""
    type = op.values[position].type
    assert isinstance(type, Prim)
    word = f"i{type.bits}"
    return f"{word} {f.set(f'bitcast {in_register(type)} {value} to {word}')}" if type.is_float else f"{word} {value}"


def _shuffle(way: str, clamp: int) -> _Emit:
    def emit(f: DeviceWriter, op: Simt, mask: str, value: str, lane: str) -> str:
        def moved(part: str) -> str:
            return _call(f, "i32", f"shfl.sync.{way}.i32", f"i32 {mask}", f"i32 {part}", f"i32 {lane}", f"i32 {clamp}")

        type = op.type
        assert isinstance(type, Prim)
        word, bits = _bits(f, op, 1, value).split()
        result = moved(bits) if word == "i32" else by_words(f, bits, moved)
        return f.set(f"bitcast {word} {result} to {in_register(type)}") if type.is_float else result

    return emit


_KINDS: dict[str, _Emit] = {
    "block_sync": _sync,
    "block_sync_all": _sync_truth("and"),
    "block_sync_any": _sync_truth("or"),
    "block_sync_count": _sync_count,
    "block_fence": _nothing("membar.cta"),
    "thread_idx": _number("read.ptx.sreg.tid.x"),
    "global_thread_idx": _global_thread,
    "grid_fence": _nothing("membar.gl"),
    "warp_sync": _nothing("bar.warp.sync"),
    "warp_lane": _number("read.ptx.sreg.laneid"),
    "warp_active": _number("activemask"),
    "warp_ballot": _ballot,
    "warp_all": _vote("all"),
    "warp_any": _vote("any"),
    "warp_uniform": _vote("uni"),
    "warp_match_any": _match_any,
    "warp_match_all": _match_all,
    "shuffle": _shuffle("idx", 31),
    "shuffle_up": _shuffle("up", 0),
    "shuffle_down": _shuffle("down", 31),
    "shuffle_xor": _shuffle("bfly", 31),
}
