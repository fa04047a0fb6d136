"""The properties of machines that passes use: the traits of an arch, and the target that a kernel is mapped to."""

from __future__ import annotations

from dataclasses import dataclass, replace

from weft.ir.storage.book import GROUPS, PIECE, ROWS

__all__ = ["ADDS_VECTORS", "CPU", "CUDA", "GPU", "Target", "Traits"]

ADDS_VECTORS = "adds_vectors"  # a feature of GPUs: atomics that add two or four floats


@dataclass(frozen=True)
class Target:
    """Passes of `TO_MAPPED` and `TO_LANES` read it as `config.target`. The code generators make it."""

    kind: str = "cpu"  # the row of the pipeline tables: "cpu" or "gpu"
    features: frozenset[str] = frozenset()  # CPU: the instruction set extensions, by LLVM's names; GPU: see above
    threads: int = 0  # CPU: how many threads run kernels, 0 where that is not known yet


@dataclass(frozen=True)
class Traits:
    """How the machines of an arch differ for passes that run before `TO_MAPPED`, and for the text of messages. Passes
    read it as `config.traits` and never compare names of arches."""

    # Whether a parallel task can run an op after all its iterations at no cost. On a GPU, blocks would have to
    # synchronise for that.
    joins_iterations: bool = True
    vectorizes_sums: bool = True  # whether LLVM vectorizes sums of loops: on a GPU, threads take the place of vectors
    lanes: int = 4  # a low estimate of how many iterations one vector runs; on a GPU, threads take the place of vectors
    approximates: bool = False  # whether `fast_math` uses the hardware's approximations of functions
    piece: int = 1024  # elements of an array that an iteration looks at, if a few can occupy all threads
    groups: int = 1  # iterations that add up the sums of many pieces: as many as threads begin at no cost
    # How many times as expensive it is as on a CPU to keep a number in the memory of an iteration, beside arithmetic.
    # The caches of a GPU do not hold that of all threads.
    memory: float = 1.0
    interrupts: bool = True  # whether an interrupt, such as Ctrl-C, ends a launch before its end
    rows: int = 64  # the most pieces of a loop that count what they append to lists
    counts_appends: bool = True  # whether such counts are faster than atomics on the lengths of the lists
    shares_counts: bool = False  # whether such counts are faster if all threads share a row of them, by atomics
    stops: bool = True  # whether a failed assertion of a serial task keeps later tasks from running
    stack_option: str = ""  # the option of `init` that sets the stack of a thread in bytes; "": there is none


CPU = Traits()
GPU = Traits(
    joins_iterations=False,
    vectorizes_sums=False,
    lanes=1,
    piece=PIECE,
    groups=GROUPS,
    memory=5.0,
    interrupts=False,
    rows=ROWS,
    counts_appends=False,
    shares_counts=True,
    stops=False,
)
CUDA = replace(GPU, approximates=True, stack_option="cuda_stack_limit")
