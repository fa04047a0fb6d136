"""Inner loops run in lanes wherever that is allowed, whether it pays or not."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from typing import Any

import pytest

from weft.codegen.cpu import kernel as cpu
from weft.codegen.llvm.machine import host_cpu
from weft.ir.mapping import fold_choice, lane_choice
from weft.ir.mapping.lane_choice import FoldPlan
from weft.lang.program.init import program

__all__ = ["folding", "has_lanes"]


def has_lanes() -> bool:
    """Whether the instruction set that the program uses has lanes at all."""
    return "avx2" in host_cpu(3, program().config.cpu_features).features


@contextmanager
def folding() -> Generator[list[FoldPlan]]:
    """Let all inner loops that can run so for a while; gives the plans that were made."""
    plans: list[FoldPlan] = []
    decide = cpu.lane_decision

    def note(*given: Any) -> Any:
        plan = decide(*given)
        plans.extend([plan] if isinstance(plan, FoldPlan) else [])
        return plan

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(fold_choice, "_MARGIN", 0.0)
        patch.setattr(lane_choice, "_MARGIN", float("inf"))
        patch.setattr(cpu, "lane_decision", note)
        yield plans
