"""NVIDIA GPUs: how LLVM's NVPTX spells the operations that `codegen/gpu` uses."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from weft.codegen.gpu.dialect import DEVICE_MEMORY, Entry, GpuDialect, SimtEmitter, to_bits
from weft.codegen.nvptx.target import adds_vectors
from weft.ir.artifact import CudaTarget
from weft.ir.ops import Simt

if TYPE_CHECKING:
    from collections.abc import Sequence

    from weft.codegen.llvm.function import FunctionWriter
    from weft.codegen.llvm.module import ModuleWriter

__all__ = ["dialect"]


# Of a thread, where functions call themselves. The driver sets it aside for every thread that the GPU can hold.
_STACK_BYTES = 8 << 10

_PLACES = {"thread": "tid", "threads": "ntid", "block": "ctaid", "blocks": "nctaid"}
# What NVIDIA calls a shuffle, and the lane at which it ends.
_SHUFFLES = {
    "shuffle": ("idx", 31),
    "shuffle_up": ("up", 0),
    "shuffle_down": ("down", 31),
    "shuffle_xor": ("bfly", 31),
}


def dialect(target: CudaTarget, stack_bytes: int = 0) -> GpuDialect:
    """The dialect of that target. `stack_bytes`: the stack of a thread, if the program sets it."""
    add = _add_floats if adds_vectors(target) else None
    return replace(_NVPTX, add_floats=add, stack_bytes=stack_bytes or _STACK_BYTES)


def _entry(name: str, words: int, calls: bool) -> Entry:
    shared = ' "nvvm.grid_constant"' if calls else ""  # functions read it in place, not a copy
    return Entry(f"define ptx_kernel void @{name}(ptr byval([{words} x i64]) align 8{shared} %ctx)")


def _block_size(threads: int, exactly: bool, alone: bool) -> str:
    size = f'"nvvm.{"reqntid" if exactly else "maxntid"}"="{threads}"'
    return f'{size} "nvvm.minctasm"="1"' if alone else size


def _place(f: FunctionWriter, what: str, axis: str) -> str:
    intrinsic = f.module.declare(f"i32 @llvm.nvvm.read.ptx.sreg.{_PLACES[what]}.{axis}()")
    return f.set(f"call i32 @{intrinsic}()")


def _barrier(module: ModuleWriter) -> Sequence[str]:
    wait = module.declare("void @llvm.nvvm.barrier.cta.sync.aligned.all(i32)", "convergent nounwind")
    return (f"call void @{wait}(i32 0)",)


def _shuffle(f: FunctionWriter, kind: str, mask: str, word: str, lane: str) -> str:
    way, clamp = _SHUFFLES[kind]
    return _call(f, "i32", f"shfl.sync.{way}.i32", f"i32 {mask}", f"i32 {word}", f"i32 {lane}", f"i32 {clamp}")


def _add_floats(name: str, width: int) -> str:
    takes = ", ".join(f"float %v{k}" for k in range(width))
    places = ", ".join(f"${k + 1}" for k in range(width))
    code = f'"red.relaxed.gpu.global.add.v{width}.f32 [$0], {{{places}}};", "l{",f" * width},~{{memory}}"'
    return (
        f"define internal void @{name}(ptr %p, {takes}) nounwind alwaysinline {{\n"
        f"  %g = addrspacecast ptr %p to ptr {DEVICE_MEMORY}\n"
        f"  call void asm sideeffect {code}(ptr {DEVICE_MEMORY} %g, {takes})\n  ret void\n}}\n"
    )


# ---- ops on blocks and warps -----------------------------------------------------------------------------------------


def _call(f: FunctionWriter, result: str, name: str, *operands: str) -> str:
    """Call an intrinsic of NVVM on operands written "type value"."""
    takes = ", ".join(operand.split()[0] for operand in operands)
    intrinsic = f.module.declare(f"{result} @llvm.nvvm.{name}({takes})", "convergent nounwind")
    call = f"call {result} @{intrinsic}({', '.join(operands)})"
    if result == "void":
        f.do(call)
        return ""
    return f.set(call)


def _nothing(name: str, *more: str) -> SimtEmitter:
    """An intrinsic for its effect."""

    def emit(f: FunctionWriter, op: Simt, *values: str) -> None:
        _call(f, "void", name, *more, *(f"i32 {value}" for value in values))

    return emit


def _number(name: str) -> SimtEmitter:
    """A number that a special register or an intrinsic without operands has."""
    return lambda f, op: _call(f, "i32", name)


def _sync_count(f: FunctionWriter, op: Simt, predicate: str) -> str:
    return _call(f, "i32", "barrier.cta.red.popc.aligned.all", "i32 0", f"i1 {_truth(f, predicate)}")


def _sync_truth(how: str) -> SimtEmitter:
    def emit(f: FunctionWriter, op: Simt, predicate: str) -> str:
        agreed = _call(f, "i1", f"barrier.cta.red.{how}.aligned.all", "i32 0", f"i1 {_truth(f, predicate)}")
        return f.set(f"zext i1 {agreed} to i32")

    return emit


def _vote(how: str) -> SimtEmitter:
    def emit(f: FunctionWriter, op: Simt, mask: str, predicate: str) -> str:
        agreed = _call(f, "i1", f"vote.{how}.sync", f"i32 {mask}", f"i1 {_truth(f, predicate)}")
        return f.set(f"zext i1 {agreed} to i32")

    return emit


def _ballot(f: FunctionWriter, op: Simt, predicate: str) -> str:
    here = _call(f, "i32", "activemask")
    return _call(f, "i32", "vote.ballot.sync", f"i32 {here}", f"i1 {_truth(f, predicate)}")


def _truth(f: FunctionWriter, predicate: str) -> str:
    return f.set(f"icmp ne i32 {predicate}, 0")


def _match_any(f: FunctionWriter, op: Simt, mask: str, value: str) -> str:
    word, bits = to_bits(f, op, value)
    return _call(f, "i32", f"match.any.sync.{word}", f"i32 {mask}", f"{word} {bits}")


def _match_all(f: FunctionWriter, op: Simt, mask: str, value: str) -> str:
    word, bits = to_bits(f, op, value)
    name = f.module.declare(f"{{ i32, i1 }} @llvm.nvvm.match.all.sync.{word}p(i32, {word})", "convergent nounwind")
    pair = f.set(f"call {{ i32, i1 }} @{name}(i32 {mask}, {word} {bits})")
    return f.set(f"extractvalue {{ i32, i1 }} {pair}, 0")


_SIMT: dict[str, SimtEmitter] = {
    "block_sync_all": _sync_truth("and"),
    "block_sync_any": _sync_truth("or"),
    "block_sync_count": _sync_count,
    "block_fence": _nothing("membar.cta"),
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
}

_NVPTX = GpuDialect(
    name="NVPTX",
    device_scope='syncscope("device") ',
    block_scope='syncscope("block") ',
    entry=_entry,
    block_size=_block_size,
    place=_place,
    barrier=_barrier,
    shuffle=_shuffle,
    simt=_SIMT,
    tree_base=", !align !{i64 256}",  # the alignment that the driver's allocator guarantees
)
