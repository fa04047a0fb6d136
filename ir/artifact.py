"""A compiled kernel: the interface between `codegen` and `runtime`.

A launch passes one flat array of 8-byte slots, the *context*. `Slots` says what each slot holds. The launcher writes
the slots and the compiled code reads them:

    0              address of the runtime's service table (see `SERVICES`)
    1              address of the error record (see `ERROR_WORDS`)
    2              seed of the launch's random numbers (u64)
    3 ..           base address of each SNode tree
    ..             parameters in order: a scalar takes one slot, tensors and structs one slot per scalar,
                   an array one for its base, then one per extent (i64), then one per byte stride (i64)
    ..             one slot per scalar of the results
    ..             the kernel's temporaries (`temp_bytes`, rounded up)

Arrays that are written must not overlap other arrays or fields that the kernel uses, unless their types allow it. The
function `check` tests this, and a launch calls it first.

A scalar occupies the low bytes of its slot in its own representation. A u1 is one byte, 0 or 1.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from weft.ir.errors import Span
from weft.ir.symbols import Param
from weft.ir.types import Array, Type, flat_size

if TYPE_CHECKING:
    from weft.ir.races import RaceTable

__all__ = [
    "CUDA_SERVICES",
    "ERROR_WORDS",
    "HELD",
    "LIST_BITS",
    "LIST_MIX",
    "NOTES",
    "NOTE_WORDS",
    "PRINT_END",
    "SERVICES",
    "STATE_DRAWS",
    "STATE_ERROR",
    "STATE_RESULTS",
    "STATE_STOP",
    "Artifact",
    "CudaTarget",
    "GradientFacts",
    "Site",
    "Slots",
]

# The service table: addresses of native functions, one 8-byte word each.
#   parallel_for  void (i64 pool, void (*body)(ctx, void *box  , i64 begin, i64 end),
#                       ctx, void *box  , i64 n, i64 grain)
#                 calls body over [0, n) in chunks of `grain` or more on all workers; returns when all are done
#   print         void (i64 site, i64 *values)  values: one 8-byte slot per scalar, as in the context
#   pool          not a function: the pool handle that parallel_for takes
#   drawn         not a function: the key of the random numbers of the last launch, which the launch stores here
#   threads       not a function: the number of threads of the pool, the caller included
#   scratch       void *(i64 pool, i64 bytes)  cache-aligned memory for the current launch; null if there is none
#   stack         not a function: the bytes of stack that a launch may use on each thread
#   poll          i1 (ptr record)  whether the launch with that error record must end; called if the record's first
#                 word is not 0. Its calling convention is LLVM's preserve_allcc
SERVICES: tuple[str, ...] = ("parallel_for", "print", "pool", "drawn", "threads", "scratch", "stack", "poll")

# The error record, in 8-byte words: 0 state, 1 site, 2.. up to 14 values. The state is the low half of its word: 0 no,
# 1 being written, 2 complete; 3: the CUDA driver failed, and word 1 is its status; 4: nothing ran, arguments overlap;
# 5: an invalid access, and word 1 is the fault (`runtime/guard_ir.py`); 6: an interrupt ended the launch; HELD: no, and
# interrupts must wait. The high half is not 0 if a launch must test for interrupts.
ERROR_WORDS, HELD = 16, 7

# ---- CUDA ------------------------------------------------------------------------------------------------------------
# A CUDA kernel has two parts. On the host, `entry(ctx)` reads the context above, computes a grid for each task and
# calls the driver. On the device, each launch gets the slots 0 .. result_start - 1 by value, with two of them changed:
#
#     0   address of the kernel's *state* in device memory
#     1   address of the print buffer: words used, capacity in words, then records of one word for the site and one for
#         each scalar; PRINT_END at the place of a record that did not fit
#
# The state, in 8-byte words: a flag that a `return` was executed, the number of random numbers that serial tasks drew,
# the error record, the results, then boxes that are computed on the device, and the temporaries.
#
# After the records of the print buffer come *notes* of warnings that the host has not read yet, each in 8-byte words:
# state (0 none, 1 being written, 2 complete), the address of the kernel's state, site, values.
STATE_STOP, STATE_DRAWS, STATE_ERROR = 0, 1, 2
STATE_RESULTS = STATE_ERROR + ERROR_WORDS
NOTES, NOTE_WORDS = 32, 1 + ERROR_WORDS
PRINT_END = 2**63 - 1

# The service table of `entry(ctx)`: addresses of driver functions, then their arguments.
#   launch, memset, copy_out, synchronize, get_current, set_current
#               cuLaunchKernel, cuMemsetD32Async, cuMemcpyDtoHAsync, cuStreamSynchronize, cuCtxGetCurrent,
#               cuCtxSetCurrent
#   pool        not a function, at the same index as in SERVICES: a block of memory with the word that a launch holds
#   drawn       as in SERVICES, at the same index
#   context, stream   those of the device
#   queue, flush   the stream argument of `launch`; a function of it that submits the collected launches, or null
#   state, prints   the addresses of the kernel's state and of the print buffer
#   lists       the address of the table of the lists of active cells that are current, see `runtime/current_lists.py`
#   processors  not an address: the number of multiprocessors of the device
#   functions   the handles of the device's entries, one word each, in the order of `Artifact.tasks`; then, for each,
#               the number of its blocks that a multiprocessor can hold at once
CUDA_SERVICES: tuple[str, ...] = (
    "launch",
    "memset",
    "pool",
    "drawn",
    "copy_out",
    "synchronize",
    "get_current",
    "set_current",
    "context",
    "stream",
    "queue",
    "flush",
    "state",
    "prints",
    "lists",
    "processors",
    "functions",
)

# The table of current lists has 2**LIST_BITS words. A word is the address of the book of a node whose list is current,
# or 0. A book has one place, word (address * LIST_MIX mod 2**64) >> (64 - LIST_BITS): two books of one place are not
# both known to be current.
LIST_BITS, LIST_MIX = 10, 0x9E3779B97F4A7C15


@dataclass(frozen=True)
class CudaTarget:
    """The target of PTX code: compute capability (90 is sm_90) and PTX version (83 is 8.3)."""

    sm: int = 70
    ptx: int = 70


@dataclass(frozen=True)
class Site:
    """A print, an assertion or a warning in the source: the information that the runtime needs to handle it."""

    # "print", "outside", "overflow", "assert", "bounds", "arithmetic", "recursion", "race", "uninitialised", "lost"
    kind: str
    text: tuple[str, ...]  # the parts of a print; else (message,)
    types: tuple[Type, ...]  # the types of the values, scalars or tensors
    span: Span | None = None

    @property
    def warns(self) -> bool:
        """Whether it warns and the kernel continues."""
        return self.kind in ("outside", "overflow")

    @property
    def told_with(self) -> object:
        """A key of warnings of which a kernel issues only one: those of one source location, however often it is
        inlined or unrolled, and all warnings of accesses out of bounds."""
        span = self.span if self.kind == "overflow" else None
        return self.kind, span and (span.file, span.line, span.column, span.end_line, span.end_column)


@dataclass(frozen=True)
class Slots:
    """The layout of a kernel's context."""

    trees: int
    params: tuple[Param, ...]
    results: tuple[Type, ...]
    temp_bytes: int
    param_start: tuple[int, ...] = field(init=False)
    result_start: int = field(init=False)
    temp_start: int = field(init=False)
    count: int = field(init=False)

    FIRST_TREE = 3

    def __post_init__(self) -> None:
        position = self.FIRST_TREE + self.trees
        starts: list[int] = []
        for param in self.params:
            starts.append(position)
            position += 1 + 2 * param.type.ndim if isinstance(param.type, Array) else flat_size(param.type)
        values: Sequence[tuple[str, object]] = (
            ("param_start", tuple(starts)),
            ("result_start", position),
            ("temp_start", position + sum(map(flat_size, self.results))),
        )
        for name, value in values:
            object.__setattr__(self, name, value)
        object.__setattr__(self, "count", self.temp_start + (self.temp_bytes + 7) // 8)


@dataclass(frozen=True)
class GradientFacts:
    """What a tape has to know about a gradient kernel. `reads`: the memory that the gradient kernel reads. `saved`: the
    part of it in which it needs the values from before the launch of the original kernel. It needs the values from
    after that launch in the rest. `lost`: the places where the original kernel stores a value that carries a derivative
    to memory without a gradient. Memory is written "field:2" or "param:0": the field or the parameter of the kernel
    with that number. `draws`: it computes random numbers of the original kernel again, and so needs the key of that
    launch. `records`: what is in its records, which another launch stores (`Records.text`). `grad_accesses`: the rows
    of `autodiff/grad_accesses.py`, which end with the memory."""

    reads: tuple[str, ...] = ()
    saved: tuple[str, ...] = ()
    lost: tuple[Site, ...] = ()
    draws: bool = False
    records: str = ""
    grad_accesses: tuple[str, ...] = ()


@dataclass(frozen=True)
class Artifact:
    """A compiled kernel. For the CPU `code` is an object file whose function `entry(ctx)` runs all tasks, and `parts`
    are those with functions that it calls; for CUDA it is PTX with one entry per task."""

    name: str
    target: str  # "cpu", "cuda", "amdgcn" or "wasm32"
    code: bytes
    entry: str
    slots: Slots
    sites: tuple[Site, ...] = ()
    parts: tuple[bytes, ...] = ()
    libraries: tuple[str, ...] = ()  # shared libraries the code calls into, besides the C library
    llvm: str = ""
    # CUDA: the optimized module, if it was made here. Code for other machines: the target that LLVM compiled it for.
    native: Any = field(default=None, compare=False, repr=False)
    tasks: tuple[str, ...] = ()  # GPUs: the names of the device's entries
    host: bytes = b""  # CUDA, where `code` is PTX: the object file with `entry(ctx)`
    threads: tuple[int, ...] = ()  # GPUs: how many threads the blocks of each entry have
    shared: tuple[int, ...] = ()  # GPUs: the bytes of shared memory that each entry is launched with
    state_bytes: int = 0  # GPUs: the size of the kernel's state
    stack_bytes: int = 0  # GPUs: the stack that a thread needs for recursion
    written: tuple[int, ...] = ()  # GPUs: the numbers of the array parameters that the kernel writes to
    races: RaceTable | None = field(default=None, compare=False, repr=False)  # the meaning of the shadow of races
    reads: tuple[str, ...] = ()  # gradients: see `GradientFacts`
    saved: tuple[str, ...] = ()  # gradients: as `reads`
    draws_again: bool = False  # gradients: `GradientFacts.draws`
    records: str = ""  # gradients: as `reads`
    grad_accesses: tuple[str, ...] = ()  # gradients: as `reads`
    check: str = ""  # the function `i1 (ctx)` that tells whether arguments overlap; nothing if they may, or cannot

    @property
    def facts(self) -> GradientFacts:
        """What a tape has to know, if this is a gradient kernel."""
        lost = tuple(site for site in self.sites if site.kind == "lost")
        return GradientFacts(self.reads, self.saved, lost, self.draws_again, self.records, self.grad_accesses)

    @property
    def functions(self) -> tuple[str, ...]:
        """The functions of the object file that the host calls."""
        return (self.entry, self.check) if self.check else (self.entry,)

    @property
    def ptx(self) -> str:
        """The PTX of a CUDA kernel, or "" for other targets."""
        return self.code.decode() if self.host else ""
