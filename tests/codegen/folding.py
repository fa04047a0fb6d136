"""Inner loops run in lanes wherever that is allowed, whether it pays or not."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from typing import Any

import pytest

from weft.codegen.llvm.machine import host_cpu
from weft.ir.core import Op
from weft.ir.mapping import fold_choice, lane_choice
from weft.ir.mapping.fold_choice import InnerLoop
from weft.ir.mapping.vectorize import folds
from weft.lang.program.init import program

__all__ = ["Folded", "folding", "has_lanes"]

Folded = dict[Op, InnerLoop]  # the loops of a task that run in lanes, and the loops around them


def has_lanes() -> bool:
    """Whether the instruction set that the program uses has lanes at all."""
    return "avx2" in host_cpu(3, program().config.cpu_features).features


@contextmanager
def folding() -> Generator[list[Folded]]:
    """Let all inner loops that can run so for a while; gives what was found in each task that has some."""
    tasks: list[Folded] = []
    find = folds.inner_loops

    def note(*given: Any) -> Folded:
        loops = find(*given)
        tasks.extend([loops] if loops else [])
        return loops

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(fold_choice, "_MARGIN", 0.0)
        patch.setattr(lane_choice, "_MARGIN", float("inf"))
        patch.setattr(folds, "inner_loops", note)
        yield tasks
