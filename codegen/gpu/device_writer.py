"""A function of a GPU that is being emitted."""

from __future__ import annotations

from dataclasses import dataclass, field

from weft.codegen.gpu.privatization import BlockCopies
from weft.codegen.llvm.function import FunctionWriter
from weft.codegen.llvm.memory_ops import read_slot
from weft.ir.core import Op, Value
from weft.ir.scopes import Scope

__all__ = ["DeviceWriter", "IndexFacts", "Phase", "state_word"]

# Where the row of an address begins: the address of a whole word, the offset from it in bytes, and the positions of the
# indices that select the row (see `row_phases.py`).
Phase = tuple[str, int, tuple[int, ...]]


@dataclass
class IndexFacts:
    """What is known of indices and strides, by their registers. LLVM does not see it in loops."""

    steps: dict[str, tuple[str, int]] = field(default_factory=dict[str, tuple[str, int]])  # another one plus a constant
    multiples: dict[str, int] = field(default_factory=dict[str, int])  # a multiple of this number
    words: frozenset[Value] = frozenset()  # bases and strides of arrays that are multiples of 16 bytes


@dataclass
class DeviceWriter(FunctionWriter):
    """A function of the device."""

    stops: bool = False  # a `return` here must prevent later launches of the kernel from running
    temps: int = 0  # the word of the state where the temporaries begin
    interior: bool = False  # clamps have no effect in the current code (see `boundary_peeling.py`)
    private: dict[Scope, BlockCopies] = field(default_factory=dict[Scope, BlockCopies])  # the block's private copies
    indices: IndexFacts = field(default_factory=IndexFacts)  # what is known of indices
    phased: bool = False  # rows of taps may begin anywhere in a word
    phases: dict[Op, Phase] = field(default_factory=dict[Op, Phase])  # where the rows of these addresses begin


def state_word(f: FunctionWriter, word: int) -> str:
    """The address of a word of the kernel's state."""
    state = read_slot(f, 0, "ptr")
    return f.set(f"getelementptr inbounds i8, ptr {state}, i64 {8 * word}") if word else state
