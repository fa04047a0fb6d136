"""Decides whether a parallel loop runs in SIMD lanes, and in how many.

Lanes help bodies that LLVM leaves scalar, which are those with loops inside. They help bodies with branches, because
LLVM would always run both sides. They help bodies whose indices are clamped or wrap around, and bodies that read
vectors at arbitrary indices or several parts of wide cells, because LLVM would gather more. They help long bodies
without branches, because LLVM's vectorizer takes time proportional to the square of the length. Both ways are priced in
rough units of one arithmetic instruction, and lanes are chosen if they are clearly cheaper. They are not chosen if
lanes would mostly gather, or if LLVM vectorizes the inner loop as well.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from weft.ir.addresses import root_of
from weft.ir.core import Op, Value, ops_of
from weft.ir.mapping.cell_parts import CellParts
from weft.ir.mapping.cost import length
from weft.ir.mapping.fold_choice import fold_prices
from weft.ir.mapping.lane_price import Price
from weft.ir.mapping.lane_vectors import vectors_at_once, vectors_of_fold, waits
from weft.ir.mapping.layouts import Layouts
from weft.ir.mapping.rows import likely_stride
from weft.ir.mapping.tiles import Tiles
from weft.ir.mapping.wide_cells import in_wide_cells
from weft.ir.ops import (
    Alloca,
    Binary,
    For,
    If,
    Load,
    Store,
    Task,
    While,
)
from weft.ir.tasks import box_of, is_masked, known_extent, usual_ops
from weft.ir.types import Prim
from weft.ir.uniform import Uniformity, uniformity

__all__ = ["FoldPlan", "LanePlan", "Plan", "lane_decision", "vector_bits"]

_MARGIN = 1.2  # prices are estimates: lanes must be cheaper by this factor
_LONG = 1000  # ops of a body
_BRIEF = 12  # ops of an `if`
_LIMITS = ("min", "max", "mod", "raw_mod", "and")


@dataclass(frozen=True)
class LanePlan:
    """Iterations run at once, one in each lane."""

    lanes: int
    many: int = 1  # the number of vectors that run at once

    @property
    def span(self) -> int:
        """The number of iterations that run at once."""
        return self.lanes * self.many


@dataclass(frozen=True)
class FoldPlan:
    """Iterations run serially, and the iterations of some inner loops run in lanes."""

    lanes: int
    loops: Mapping[For, int]  # loops that run in lanes -> vectors at once if the loop is long


Plan = LanePlan | FoldPlan


def vector_bits(features: frozenset[str]) -> int:
    """The bits of the vectors that lanes use on a CPU with these features. 0: it has no vectors for them."""
    return 512 if "avx512f" in features and "avx512vl" in features else 256 if "avx2" in features else 0


def lane_decision(task: Task, features: frozenset[str], layouts: Layouts, vector_math: bool) -> Plan | str:
    """How the task runs in lanes, or the reason why it does not. `loop_config(simd=...)` overrides the decision."""
    wanted = task.config.simd
    bits = vector_bits(features)
    asked = wanted in (2, 4, 8, 16, 32, 64)
    if any(loop.row or loop.rows for loop in task.all_of(For)):
        return "no lanes: the body is a row of a cell, which LLVM's vectorizer handles"
    if not bits:
        return "no lanes: lanes need AVX2 or AVX-512"
    if wanted and not asked:
        return f"no lanes: loop_config(simd={wanted}) turns them off"
    if not (
        asked
        or _is_long(task)
        or any(_asks(op) for op in usual_ops(task.body))
        or _gathers(task, layouts)
        or _has_tiles(task, bits)
    ):
        return "no lanes: the body has neither loops nor long branches, so LLVM's vectorizer handles it"
    facts, lanes = uniformity(task), _lanes(task, bits)
    if asked and not facts.reason:
        return LanePlan(min(wanted, lanes), max(1, wanted // lanes))
    folds = {} if asked else fold_prices(task, lanes, bits, vector_math)
    words = facts.reason or _too_dear(task, facts, bits, vector_math, {loop: cost for loop, (_, cost) in folds.items()})
    if not words:
        many = _interleaved(task, facts, lanes, bits)
        return LanePlan(lanes, many) if waits(task, facts) else LanePlan(many * lanes)
    if folds:
        return FoldPlan(lanes, {loop: vectors_of_fold(loop.body, about, bits) for loop, (about, _) in folds.items()})
    return f"no lanes: {words}"


def _too_dear(task: Task, facts: Uniformity, bits: int, vector_math: bool, folds: Mapping[For, float]) -> str:
    """The reason why lanes are not worthwhile, or nothing if they are. `folds`: the loops that will run in lanes
    otherwise, and the cost of each."""
    lanes = _lanes(task, bits)
    price = Price(facts, lanes, bits, vector_math, folds)
    price.block(task.body, 1.0, 1.0)
    alone = lanes * price.scalar_cost * _filled(task, lanes)
    if price.lanes_cost * _MARGIN > alone:
        gain = f"{lanes} iterations in lanes would cost {price.lanes_cost:.0f}, one after another {alone:.0f}"
        return f"{gain}; because costs are estimates, lanes need a gain of at least {_MARGIN}"
    return ""


def _is_long(task: Task) -> bool:
    """Whether the body has no branches, and LLVM's loop vectorizer would take a large part of the compile time."""
    return length(task) > _LONG and not any(op.region_names for op in task.body)


def _asks(op: Op) -> bool:
    """Whether the op is a loop, or an `if` that does more than select between cheap values."""
    return isinstance(op, (For, While)) or (isinstance(op, If) and not is_masked(op) and not _brief(op))


def _gathers(task: Task, layouts: Layouts) -> bool:
    """Whether LLVM would gather where lanes do not: at indices that are clamped or wrap around, whose neighbours are
    mostly adjacent, and for cells of vectors, which lanes load whole."""
    if not layouts.cells and not any(isinstance(op, Binary) and op.kind in _LIMITS for op in usual_ops(task.body)):
        return False
    facts = uniformity(task)
    if facts.reason:
        return False
    apart = (op for op in usual_ops(task.body) if isinstance(op, Load) and facts.step(op.ptr) is None)
    parts = CellParts(layouts)
    return any(likely_stride(facts, op.ptr) or parts.joint(op) for op in apart)


def _has_tiles(task: Task, bits: int) -> bool:
    """Whether LLVM would gather or scatter parts of wide cells, which lanes move whole."""
    facts, tiles = uniformity(task), Tiles(bits == 512)
    if facts.reason or in_wide_cells(task):
        return False
    accesses = (op for op in usual_ops(task.body) if isinstance(op, (Load, Store)))
    return any(tiles.group(facts, op) for op in accesses)


def _brief(op: If) -> bool:
    inside = [inner for side in op.regions for inner in ops_of(side)]
    return len(inside) <= _BRIEF and not any(isinstance(x, Store) and not _is_local(x.ptr) for x in inside)


def _is_local(ptr: Value) -> bool:
    return isinstance(root_of(ptr), Alloca)


def _usual_bits(task: Task) -> int:
    """The width of most computed values. A double takes the space of two floats."""
    kinds = [op.type for op in usual_ops(task.body) if isinstance(op, Binary)]
    widths = [kind.bits for kind in kinds if isinstance(kind, Prim) and kind.is_float]
    return 64 if widths.count(64) > len(widths) // 2 else 32


def _lanes(task: Task, bits: int) -> int:
    """The lanes of a vector, or fewer if a row is shorter: a masked load must not overlap the row stored before it."""
    extent, most = _extent(task), bits // _usual_bits(task)
    return most if extent is None else max(2, min(most, 1 << (extent - 1).bit_length()))


def _extent(task: Task) -> int | None:
    """The length of a row, if it is known."""
    known = known_extent(task, len(box_of(task).begins) - 1)
    return None if known is None else max(1, known[1] - known[0])


def _filled(task: Task, lanes: int) -> float:
    """The part of the last vector of a row that is used, if it is known."""
    extent = _extent(task)
    return 1.0 if extent is None else extent / (-(-extent // lanes) * lanes)


def _interleaved(task: Task, facts: Uniformity, lanes: int, bits: int) -> int:
    """The number of vectors at once. It is smaller if the last vectors of a row would be empty."""
    most = vectors_at_once(task, facts, bits)
    return next(k for k in (4, 2, 1) if k <= most and _filled(task, k * lanes) >= 0.9 * _filled(task, lanes))
