"""The instruction sets that code for the CPU is compiled for: all features of the host, or a level of x86-64 that it
supports.

    native       all features of the host
    x86-64-v2    SSE4.2: vectors of 128 bits
    x86-64-v3    AVX2 and FMA: 256 bits
    x86-64-v4    AVX-512: 512 bits
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

from weft.ir.errors import WeftError

__all__ = ["LEVELS", "NATIVE", "InstructionSet", "host_features", "instruction_set", "levels_here", "named"]

NATIVE = "native"

_V2 = ("cmov", "cx8", "cx16", "fxsr", "mmx", "popcnt", "sahf", "sse", "sse2", "sse3", "sse4.1", "sse4.2", "ssse3")
_V3 = ("avx", "avx2", "bmi", "bmi2", "f16c", "fma", "lzcnt", "movbe", "xsave")
_V4 = ("avx512bw", "avx512cd", "avx512dq", "avx512f", "avx512vl")

# What each level consists of, by LLVM's names. They are LLVM's names of processors, too.
LEVELS: dict[str, frozenset[str]] = {
    "x86-64-v2": frozenset(_V2),
    "x86-64-v3": frozenset(_V2 + _V3),
    "x86-64-v4": frozenset(_V2 + _V3 + _V4),
}


@dataclass(frozen=True)
class InstructionSet:
    """The processor as LLVM sees it (its name, and features as `+avx2,-avx512f`), and the features that it has."""

    processor: str
    switches: str
    features: frozenset[str]


def named(name: str) -> str:
    """The instruction set called `name`; "v3" is "x86-64-v3". WeftError if there is none, or the machine lacks it."""
    known = {NATIVE: NATIVE} | {level: level for level in LEVELS} | {level[-2:]: level for level in LEVELS}
    if name not in known:
        raise WeftError(f"cpu_features must be one of {', '.join((NATIVE, *LEVELS))}, not {name!r}")
    level = known[name]
    if level != NATIVE and (lacks := sorted(LEVELS[level] - host_features())):
        here = levels_here()
        has = f"it has {here[-1]} ({NATIVE!r} uses all features)" if here else "it supports none of x86-64-v2 or above"
        raise WeftError(f"cpu_features={level!r}: this machine lacks {', '.join(lacks)}; {has}")
    return level


def levels_here() -> list[str]:
    """The levels of x86-64 that this machine reaches, the least first."""
    return [level for level, needs in LEVELS.items() if needs <= host_features()]


@cache
def host_features() -> frozenset[str]:
    """What the host has, by LLVM's names."""
    import llvmlite.binding as llvm

    return frozenset(name for name, on in llvm.get_host_cpu_features().items() if on)


@cache
def instruction_set(name: str = NATIVE) -> InstructionSet:
    """The instruction set of that name. For the host it lists all features, because LLVM may not know the processor's
    name."""
    import llvmlite.binding as llvm

    if name == NATIVE:
        switches: str = llvm.get_host_cpu_features().flatten()
        return InstructionSet(llvm.get_host_cpu_name(), switches, host_features())
    return InstructionSet(name, "", LEVELS[name])
