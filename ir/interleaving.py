"""Orders in which the iterations of a parallel loop may run. The adversary (`adversary.py`) draws them from a seed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from random import Random
from typing import TypeVar

__all__ = ["Schedule"]

Item = TypeVar("Item")


@dataclass(frozen=True)
class Schedule:
    """An order of execution, drawn from `seed`: the number of threads, the iterations of each, and the thread that
    continues after each access. Seed 0 is the reverse of program order on one thread. `weak`: a thread may read old
    values of memory (see `weak_memory.py`)."""

    seed: int
    weak: bool = False

    def threads(self, points: Sequence[Item], loop: int) -> list[list[Item]]:
        """The iterations, or groups of them, of each thread, for the loop with the number `loop`."""
        if self.seed == 0:
            return [list(reversed(points))]
        draw = Random(f"{self.seed} {loop}")
        count = draw.choice((1, 2, 3, 7, max(1, len(points))))
        if draw.random() < 0.5:  # as a GPU deals them out
            chunks = [list(points[start::count]) for start in range(count)]
        else:
            size = max(1, -(-len(points) // count))
            chunks = [list(points[start : start + size]) for start in range(0, max(1, len(points)), size)]
        for chunk in chunks:
            if draw.random() < 0.5:
                draw.shuffle(chunk)
        draw.shuffle(chunks)
        return chunks

    def sharers(self, loop: int) -> int:
        """The most threads that share copies of fields, as those of a block of a GPU do."""
        return Random(f"{self.seed} {loop} sharers").choice((2, 3, 1 << 10))

    def turns(self, loop: int) -> Random | None:
        """The threads that continue in turn; None: each thread runs to its end."""
        draw = Random(f"{self.seed} {loop} turns")
        return None if self.seed == 0 or draw.random() < 0.2 else draw
