"""Chooses how lanes move each value to and from memory, and which branches they run without a test.

    task range_for schedule={lanes=16} ... { %v = load %p : f32 }

    task range_for schedule={lanes=16} ... { %v = load %p, move=adjacent : f32 }

The pass sets `move` of each load, store and atomic in a task or a loop whose iterations run in lanes. The access is
executed once for all lanes, as vectors, as rows or tiles with shuffles, or lane by lane. `mapping/moves.py`
lists these ways. `move` stays empty for all other accesses and for loads of accumulators, which are part of their sums.

    if %p then { store %local, %v }

    if %p, unasked=(then) then { store %local, %v, move=own }

If lanes may disagree about %p, they run a short branch without a test if it has no effect for inactive lanes: see
`mapping/sides.py`.
"""

from __future__ import annotations

from weft.ir.config import CompileConfig
from weft.ir.core import Block, ops_of
from weft.ir.mapping.cell_parts import CellParts
from weft.ir.mapping.lane_choice import vector_bits
from weft.ir.mapping.layouts import layouts_of
from weft.ir.mapping.moves import move_of
from weft.ir.mapping.sides import unasked_sides
from weft.ir.mapping.tiles import Tiles
from weft.ir.ops import Atomic, For, If, Kernel, Load, Store
from weft.ir.passes import pass_
from weft.ir.tasks import parallel_tasks
from weft.ir.uniform import Uniformity, uniformity

__all__ = ["choose_moves"]


@pass_("choose_moves")
def choose_moves(root: Kernel, config: CompileConfig) -> bool:
    """Choose how each access that runs in lanes is executed."""
    assert config.target is not None
    parts, changed, masks = CellParts(layouts_of(root)), False, vector_bits(config.target.features) == 512
    for task in parallel_tasks(root):
        roots = [task] if task.schedule.lanes > 1 else [one for one in task.all_of(For) if one.schedule.lanes > 1]
        for one in roots:
            _choose(one.body, uniformity(one), parts, Tiles(masks))
            changed = True
    return changed


def _choose(body: Block, facts: Uniformity, parts: CellParts, tiles: Tiles) -> None:
    for op in ops_of(body):
        if isinstance(op, (Load, Store, Atomic)) and op not in facts.skipped:
            op.move = move_of(facts, parts, tiles, op)
        elif isinstance(op, If):
            op.unasked = unasked_sides(facts, op)
