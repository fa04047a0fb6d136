"""Stateless random numbers: Philox4x32-10, a counter-based generator, in plain integers.

A number is a function of the place where it is drawn. The key is that of the launch. The counter is (iteration of the
parallel loop: 64 bits, how many numbers the iteration has drawn, number of the parallel loop in the kernel). Outside of
parallel loops, iteration and loop are 0, and the draws are counted through the whole kernel. The numbers therefore
depend neither on threads nor on the arch. Code generators emit the same rounds with the same constants.

Source: Salmon, Moraes, Dror, Shaw, "Parallel random numbers: as easy as 1, 2, 3", SC 2011.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from weft.ir.types import Prim

__all__ = ["MANTISSA", "MULTIPLIERS", "ROUNDS", "WEYL", "launch_key", "number", "philox4x32"]

ROUNDS = 10
MULTIPLIERS = (0xD2511F53, 0xCD9E8D57)
WEYL = (0x9E3779B9, 0xBB67AE85)
MANTISSA = {16: 11, 32: 24, 64: 53}  # random bits in a float of so many bits
_WORD, _LONG = (1 << 32) - 1, (1 << 64) - 1


def philox4x32(counter: tuple[int, int, int, int], key: tuple[int, int]) -> tuple[int, int, int, int]:
    """Four random 32-bit words from a counter of four words and a key of two."""
    (c0, c1, c2, c3), (k0, k1) = counter, key
    for _ in range(ROUNDS):
        p0, p1 = c0 * MULTIPLIERS[0], c2 * MULTIPLIERS[1]
        c0, c1, c2, c3 = (p1 >> 32) ^ c1 ^ k0, p1 & _WORD, (p0 >> 32) ^ c3 ^ k1, p0 & _WORD
        k0, k1 = (k0 + WEYL[0]) & _WORD, (k1 + WEYL[1]) & _WORD
    return c0, c1, c2, c3


def launch_key(seed: int, launch: int = 0) -> int:
    """The 64-bit key of a launch. Launches take consecutive keys. The first one is far from those of neighbouring seeds
    (the finalizer of splitmix64)."""
    z = (seed + 0x9E3779B97F4A7C15) & _LONG
    z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & _LONG
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & _LONG
    return ((z ^ (z >> 31)) + launch) & _LONG


def number(prim: Prim, key: int, iteration: int, draw: int, stream: int) -> Any:
    """The random number at that place, a numpy scalar: in [0, 1) for floats, in the whole range for integers."""
    counter = (iteration & _WORD, iteration >> 32 & _WORD, draw & _WORD, stream & _WORD)
    low, high, _, _ = philox4x32(counter, (key & _WORD, key >> 32))
    if not prim.is_float:
        bits = np.uint64(high << 32 | low) & np.uint64((1 << prim.bits) - 1)
        return bits.astype(prim.np)
    mantissa = MANTISSA[prim.bits]
    whole = high << 32 | low if prim.bits == 64 else low
    kept = whole >> ((64 if prim.bits == 64 else 32) - mantissa)
    return prim.np.type(kept * 2.0**-mantissa)
