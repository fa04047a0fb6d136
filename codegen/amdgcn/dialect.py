"""AMD GPUs: how LLVM's AMDGPU spells the operations that `codegen/gpu` uses.

The hardware runs 32 or 64 threads together, as a wave. A warp of the language has 32 lanes, so a wave of 64 is two
warps. Lanes are numbered within their half, and each half takes its own 32 bits of a vote of the wave.
"""

from __future__ import annotations

from collections.abc import Sequence

from weft.codegen.amdgcn.target import AmdTarget
from weft.codegen.gpu.dialect import Entry, GpuDialect, SimtEmitter
from weft.codegen.gpu.votes import BLOCK_VOTES, warp_votes
from weft.codegen.llvm.function import FunctionWriter
from weft.codegen.llvm.module import ModuleWriter
from weft.ir.ops import Simt

__all__ = ["dialect"]

_CONVERGENT = "convergent nounwind"
_ARGUMENTS = "ptr addrspace(4)"  # memory that a launch does not change

# The hidden arguments of code objects since version 5, after the arguments of a kernel: the number of blocks (i32) and
# the number of threads of each (i16) along x. Those along y and z follow.
_HIDDEN = {"blocks": (0, "i32"), "threads": (12, "i16")}
_IDS = {"thread": "workitem", "block": "workgroup"}


def _entry(name: str, words: int, calls: bool) -> Entry:
    del calls
    return Entry(
        f"define amdgpu_kernel void @{name}({_ARGUMENTS} byref([{words} x i64]) align 8 %args)",
        (f"  %ctx = addrspacecast {_ARGUMENTS} %args to ptr",),
    )


def _block_size(threads: int, exactly: bool, alone: bool) -> str:
    del alone
    least = threads if exactly else 1
    return f'"amdgpu-flat-work-group-size"="{least},{threads}" "uniform-work-group-size"="true"'


def _place(f: FunctionWriter, what: str, axis: str) -> str:
    if what in _IDS:
        intrinsic = f.module.declare(f"i32 @llvm.amdgcn.{_IDS[what]}.id.{axis}()")
        return f.set(f"call i32 @{intrinsic}()")
    first, type = _HIDDEN[what]
    size = int(type[1:]) // 8
    hidden = f.set(f"call {_ARGUMENTS} @{f.module.declare(f'{_ARGUMENTS} @llvm.amdgcn.implicitarg.ptr()')}()")
    place = f.set(f"getelementptr inbounds i8, {_ARGUMENTS} {hidden}, i64 {first + size * 'xyz'.index(axis)}")
    value = f.set(f"load {type}, {_ARGUMENTS} {place}, align {size}, !invariant.load !{{}}")
    return value if type == "i32" else f.set(f"zext {type} {value} to i32")


def _barrier(module: ModuleWriter) -> Sequence[str]:
    wait = module.declare("void @llvm.amdgcn.s.barrier()", _CONVERGENT)
    before, behind = (f'fence syncscope("workgroup") {order}' for order in ("release", "acquire"))
    return (before, f"call void @{wait}()", behind)


class _Wave:
    """What the lanes of a wave do together."""

    def __init__(self, lanes: int) -> None:
        self._lanes = lanes

    def number(self, f: FunctionWriter) -> str:
        """The number of this lane in its wave (i32)."""
        low = f.module.declare("i32 @llvm.amdgcn.mbcnt.lo(i32, i32)")
        number = f.set(f"call i32 @{low}(i32 -1, i32 0)")
        if self._lanes == 32:
            return number
        return f.set(f"call i32 @{f.module.declare('i32 @llvm.amdgcn.mbcnt.hi(i32, i32)')}(i32 -1, i32 {number})")

    def votes(self, f: FunctionWriter, truth: str) -> str:
        """The lanes of this warp for which the condition is true (i32, one bit each). Inactive lanes have 0."""
        type = f"i{self._lanes}"
        bits = f.set(
            f"call {type} @{f.module.declare(f'{type} @llvm.amdgcn.ballot.{type}(i1)', _CONVERGENT)}(i1 {truth})"
        )
        if self._lanes == 32:
            return bits
        half = f.set(f"zext i32 {f.set(f'and i32 {self.number(f)}, 32')} to i64")
        return f.set(f"trunc i64 {f.set(f'lshr i64 {bits}, {half}')} to i32")

    def shuffle(self, f: FunctionWriter, kind: str, _mask: str, word: str, lane: str) -> str:
        """The word of another lane of the warp: this lane's own, where there is none."""
        here = self.number(f)
        mine, by = f.set(f"and i32 {here}, 31"), f.set(f"and i32 {lane}, 31")
        wanted = {"shuffle": by}.get(kind) or f.set(f"{_WAYS[kind]} i32 {mine}, {by}")
        there = f.set(f"select i1 {f.set(f'icmp ult i32 {wanted}, 32')}, i32 {wanted}, i32 {mine}")
        warp = f.set(f"and i32 {here}, -32")
        place = f.set(f"shl i32 {f.set(f'or i32 {warp}, {there}')}, 2")
        move = f.module.declare("i32 @llvm.amdgcn.ds.bpermute(i32, i32)", _CONVERGENT)
        return f.set(f"call i32 @{move}(i32 {place}, i32 {word})")


_WAYS = {"shuffle_up": "sub", "shuffle_down": "add", "shuffle_xor": "xor"}


def _fence(scope: str) -> SimtEmitter:
    return lambda f, op: f.do(f'fence syncscope("{scope}") seq_cst')


def _warp_sync(f: FunctionWriter, op: Simt, mask: str) -> None:
    """Emits nothing: the lanes of a wave always run in lockstep."""
    f.do('fence syncscope("wavefront") acq_rel')
    f.do(f"call void @{f.module.declare('void @llvm.amdgcn.wave.barrier()', _CONVERGENT)}()")


def dialect(target: AmdTarget) -> GpuDialect:
    """The dialect of that target."""
    wave = _Wave(target.lanes)
    own: dict[str, SimtEmitter] = {
        "block_fence": _fence("workgroup"),
        "grid_fence": _fence("agent"),
        "warp_sync": _warp_sync,
        "warp_lane": lambda f, op: f.set(f"and i32 {wave.number(f)}, 31"),
    }
    return GpuDialect(
        name=f"AMD's {target.processor}",
        device_scope='syncscope("agent") ',
        block_scope='syncscope("workgroup") ',
        entry=_entry,
        block_size=_block_size,
        place=_place,
        barrier=_barrier,
        shuffle=wave.shuffle,
        simt={**BLOCK_VOTES, **warp_votes(wave.votes), **own},
        local_space="addrspace(5)",
        tree_base=", !align !{i64 256}",  # the alignment that the driver's allocator guarantees
    )
