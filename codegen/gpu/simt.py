"""Emits the SIMT intrinsics: barriers, votes, shuffles, and the shared arrays of a block.

A loop that uses any of them runs by number (see `number_iterations`). If the arrays exceed 48 KiB in total, the launch
allocates their memory. Otherwise the code does.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from weft.codegen.gpu.block_reduce import barrier, by_words
from weft.codegen.gpu.device_writer import DeviceWriter
from weft.codegen.gpu.dialect import SHARED, SimtEmitter, dialect_of, to_bits
from weft.codegen.llvm.spelling import in_register
from weft.ir.core import Op
from weft.ir.errors import CompilationError
from weft.ir.ops import SharedBase, Simt
from weft.ir.types import Prim

__all__ = ["SHUFFLES", "SIMT_EMITTERS"]

_ALIGN = 16
_DYNAMIC = "weft_dynamic"


def _shared_base(f: DeviceWriter, op: SharedBase) -> str:
    if op.offset >= 0:
        f.module.declarations[_DYNAMIC] = f"@{_DYNAMIC} = external {SHARED} global [0 x i8], align {_ALIGN}"
        place = f.set(f"getelementptr i8, ptr {SHARED} @{_DYNAMIC}, i32 {op.offset}")
    else:
        name = f"weft_shared_{op.number}"
        memory = f"internal {SHARED} global [{op.bytes} x i8] poison, align {_ALIGN}"
        f.module.declarations[name] = f"@{name} = {memory}"
        place = f"@{name}"
    return f.set(f"addrspacecast ptr {SHARED} {place} to ptr")


def _simt(f: DeviceWriter, op: Simt) -> str | None:
    emit = _KINDS.get(op.kind) or dialect_of(f).simt.get(op.kind)
    if emit is None:
        raise CompilationError(f"{dialect_of(f).name} does not support {op.kind}", op.span)
    return emit(f, op, *map(f.use, op.values))


SIMT_EMITTERS: dict[type[Op], Callable[[Any, Any], str | None]] = {SharedBase: _shared_base, Simt: _simt}


def _sync(f: DeviceWriter, op: Simt) -> None:
    barrier(f)


def _thread(f: DeviceWriter, op: Simt) -> str:
    return dialect_of(f).place(f, "thread", "x")


def _global_thread(f: DeviceWriter, op: Simt) -> str:
    place = dialect_of(f).place
    first = f.set(f"mul i32 {place(f, 'block', 'x')}, {place(f, 'threads', 'x')}")
    return f.set(f"add i32 {first}, {place(f, 'thread', 'x')}")


def _shuffle(f: DeviceWriter, op: Simt, mask: str, value: str, lane: str) -> str:
    """The value of another lane: 64 bits move as two words."""

    def moved(part: str) -> str:
        return dialect_of(f).shuffle(f, op.kind, mask, part, lane)

    type = op.type
    assert isinstance(type, Prim)
    word, bits = to_bits(f, op, value)
    result = moved(bits) if word == "i32" else by_words(f, bits, moved)
    return f.set(f"bitcast {word} {result} to {in_register(type)}") if type.is_float else result


SHUFFLES = ("shuffle", "shuffle_up", "shuffle_down", "shuffle_xor")
_KINDS: dict[str, SimtEmitter] = {
    "block_sync": _sync,
    "thread_idx": _thread,
    "global_thread_idx": _global_thread,
    **dict.fromkeys(SHUFFLES, _shuffle),
}
