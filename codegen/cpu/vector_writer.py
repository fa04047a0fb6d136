"""What the emitters of vectors share: the function that is written, and the types of vectors in LLVM IR."""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from weft.codegen.llvm import call_ops, control_ops, memory_ops, philox, scalar_ops, synchronization
from weft.codegen.llvm.function import EMITTERS, Emitters, FunctionWriter, spell
from weft.codegen.llvm.spelling import in_memory
from weft.ir.core import Op, Value
from weft.ir.registry import registers
from weft.ir.types import Lanes, Prim, u1

__all__ = [
    "ALIGNED",
    "VECTORS",
    "Spilled",
    "VectorWriter",
    "as_bytes",
    "as_number",
    "bits_of",
    "held_as",
    "in_width",
    "lowest_bit",
    "on_vectors",
    "spread",
    "vector_of",
]

_WRITERS = (call_ops, control_ops, memory_ops, philox, scalar_ops, synchronization)  # which register their emitters

# The emitters of all ops in code with vectors. `vectors.py`, `vector_memory.py` and `lane_loops.py` add theirs.
VECTORS: dict[type[Op], Callable[[Any, Any], str | None]] = dict(EMITTERS)

ALIGNED = 64  # the alignment in bytes of a local with vectors


@dataclass(frozen=True)
class Spilled:
    """Where the elements of a vector are: each lane has `width` numbers in the slot, of which it is the one at
    `position`."""

    slot: str
    width: int = 1
    position: int = 0


@dataclass
class VectorWriter(FunctionWriter):
    """A function with vectors.

    - `spilled`: the stack slots of vectors from which a loop over the lanes reads single elements
    - `spare`: slots that are not in use, by type
    - `read`: single elements that were read before
    """

    emitters: Emitters = field(default_factory=lambda: VECTORS)
    spilled: dict[Value, Spilled] = field(default_factory=dict[Value, Spilled])
    spare: dict[str, list[str]] = field(default_factory=dict[str, "list[str]"])
    read: dict[Op, str] = field(default_factory=dict[Op, str])


on_vectors = registers(VECTORS)  # what emits ops of a class in code with vectors


def vector_of(value: Value) -> Lanes:
    """The type of a value that is a vector."""
    assert isinstance(value.type, Lanes), value
    return value.type


def held_as(type: Lanes) -> str:
    """The LLVM type of a vector in memory."""
    held = in_memory(type.elem) if isinstance(type.elem, Prim) else spell(type.elem)
    return f"<{type.count} x {held}>"


@contextmanager
def in_width(f: FunctionWriter, count: int) -> Generator[None]:
    """Emit vectors of that many lanes within the context. 0: scalars."""
    before, f.width = f.width, count or 1
    yield
    f.width = before


def spread(f: VectorWriter, scalar: str, type: Lanes) -> str:
    """A vector with the scalar in every lane."""
    vector = spell(type)
    one = f.set(f"insertelement {vector} poison, {spell(type.elem)} {scalar}, i64 0")
    return f.set(f"shufflevector {vector} {one}, {vector} poison, <{type.count} x i32> zeroinitializer")


def as_bytes(f: VectorWriter, value: Value) -> str:
    """A vector as it is in memory."""
    type, text = vector_of(value), f.use(value)
    return f.set(f"zext {spell(type)} {text} to {held_as(type)}") if type.elem is u1 else text


def bits_of(f: VectorWriter, mask: Value) -> tuple[str, str]:
    """A mask as an integer, and the type of that."""
    type = vector_of(mask)
    return f.set(f"bitcast {spell(type)} {f.use(mask)} to i{type.count}"), f"i{type.count}"


def lowest_bit(f: VectorWriter, bits: str, type: str) -> str:
    """The number of the lowest bit of an integer that is not 0, as i64."""
    lowest = f.module.declare(f"{type} @llvm.cttz.{type}({type}, i1)")
    return as_number(f, f.set(f"call {type} @{lowest}({type} {bits}, i1 true)"), type)


def as_number(f: VectorWriter, number: str, type: str) -> str:
    """An integer of that type as i64."""
    size = int(type[1:])
    return number if size == 64 else f.set(f"zext {type} {number} to i64")
