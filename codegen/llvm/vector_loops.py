"""Emits loops over groups of iterations that run in SIMD lanes (see `ir/transforms/mapping/vectorize.py`)."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from weft.codegen.llvm.code import Body, Jump
from weft.codegen.llvm.function import AfterIteration, FunctionWriter

if TYPE_CHECKING:
    from collections.abc import Generator

__all__ = ["vector_loop"]


@contextmanager
def vector_loop(
    f: FunctionWriter, begin: str, end: str, span: int, after_iteration: AfterIteration | None = None
) -> Generator[tuple[str, str], None, None]:
    """A loop over [begin, end), `span` iterations at a time. Gives the first index of a group, and the number of
    iterations from there on. `after_iteration` is as for `FunctionWriter.loop`. The index after the last one may not
    fit 64 bits, so the remaining length is compared."""
    enter, body, latch, done = (f.fresh_label(hint) for hint in ("enter", "body", "latch", "done"))
    after = f.fresh_label("check") if after_iteration else latch
    index, following = f.register("i"), f.register("n")
    f.branch(f.set(f"icmp slt i64 {begin}, {end}"), enter, done)
    f.start(enter)
    f.jump(body)
    f.lines.append(f"{body}:")
    f.lines.append(f"  {index} = phi i64 [ {begin}, %{enter} ], [ {following}, %{latch} ]")
    f.label, f.open = body, True
    left = f.set(f"sub i64 {end}, {index}")
    first, in_lanes = len(f.lines), f.in_lanes
    f.jumps.append(Jump(done, after))
    f.in_lanes = True
    yield index, left
    f.in_lanes = in_lanes
    f.jumps.pop()
    f.jump(after)
    f.bodies.append(Body(f"%{body}", f"%{after}", first, len(f.lines)))
    if after_iteration:
        f.start(after)
        after_iteration(f)
    f.start(latch)
    f.lines.append(f"  {following} = add nsw i64 {index}, {span}")
    f.branch(f.set(f"icmp ugt i64 {left}, {span}"), body, done)
    f.start(done)
