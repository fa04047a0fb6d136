"""The differences between GPU targets in LLVM IR, as one record for each target. `codegen/gpu` emits everything else.

A target defines its record in a file `dialect.py` of its own folder and passes it to `emit_kernel` (`gpu/kernel.py`).
The record says how a kernel begins, how a thread gets its number, how a block waits for its threads, how lanes of a
warp exchange values, and which threads take part in an atomic. An intrinsic that a target does not have is missing in
`simt`. A kernel that uses it is rejected with a message that names the target.

A warp has 32 lanes. If the hardware runs 64 lanes together, each half is a warp. All targets number their address
spaces alike: 1 is the memory of the device, 3 that of a block.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from weft.codegen.llvm.function import FunctionWriter, MathLibrary, TargetHooks
from weft.codegen.llvm.module import ModuleWriter
from weft.codegen.llvm.spelling import in_register
from weft.ir.ops import Simt
from weft.ir.types import Prim

__all__ = [
    "DEVICE_MEMORY",
    "SHARED",
    "DeviceHooks",
    "Entry",
    "GpuDialect",
    "SimtEmitter",
    "device_hooks",
    "dialect_of",
    "to_bits",
]

DEVICE_MEMORY = "addrspace(1)"  # of fields and arrays
SHARED = "addrspace(3)"  # memory that the threads of one block have in common

SimtEmitter = Callable[..., "str | None"]  # of a writer, the op and the registers of its operands


@dataclass(frozen=True)
class Entry:
    """How the function of a launch begins."""

    signature: str  # `define ... @name(...)`
    first: tuple[str, ...] = ()  # the instructions that define `%ctx`, if the signature does not


@dataclass(frozen=True)
class GpuDialect:
    """The spellings of one target."""

    name: str  # of the target, for error messages
    device_scope: str  # of atomics that all threads of the device take part in; ends in a space
    block_scope: str  # of atomics that only threads of the block take part in; ends in a space
    entry: Callable[[str, int, bool], Entry]  # of that name, for so many words of arguments; whether it calls functions
    block_size: Callable[[int, bool, bool], str]  # attributes for blocks of so many threads: exactly so; without others
    place: Callable[[FunctionWriter, str, str], str]  # i32 "thread", "threads", "block" or "blocks" along "x", "y", "z"
    barrier: Callable[[ModuleWriter], Sequence[str]]  # the instructions with which a block waits for its threads
    shuffle: Callable[[FunctionWriter, str, str, str, str], str]  # one of `simt.SHUFFLES`: mask, i32 word, lane
    simt: Mapping[str, SimtEmitter]  # the other ops on blocks and warps, by kind
    add_floats: Callable[[str, int], str] | None = None  # defines a function of that name that adds this many floats
    local_space: str = ""  # the address space of locals, if not the default one
    tree_base: str = ""  # metadata on the addresses of SNode trees
    stack_bytes: int = 0  # the stack of a thread, if recursion is allowed; 0: it is not


@dataclass(frozen=True)
class DeviceHooks(TargetHooks):
    """How a GPU spells what all targets have, and what only GPUs have."""

    dialect: GpuDialect = field(kw_only=True)


def device_hooks(
    dialect: GpuDialect,
    math: MathLibrary,
    own: Mapping[tuple[str, Prim], Callable[..., str]] | None = None,
    leave_if_failed: Callable[[FunctionWriter], None] | None = None,
    floor: tuple[str, ...] = (),
) -> DeviceHooks:
    """The hooks of a target with that dialect. The others are those of `TargetHooks`."""
    return DeviceHooks(
        math,
        own or {},
        leave_if_failed,
        floor,
        sync_scope=dialect.device_scope,
        tree_base=dialect.tree_base,
        local_space=dialect.local_space,
        dialect=dialect,
    )


def dialect_of(f: FunctionWriter) -> GpuDialect:
    """The dialect that a function of a GPU is written in."""
    target = f.target
    assert isinstance(target, DeviceHooks)
    return target.dialect


def to_bits(f: FunctionWriter, op: Simt, value: str) -> tuple[str, str]:
    """The bits of the second operand, which has 32 or 64: their type and register."""
    type: Any = op.values[1].type
    assert isinstance(type, Prim)
    word = f"i{type.bits}"
    return word, f.set(f"bitcast {in_register(type)} {value} to {word}") if type.is_float else value
