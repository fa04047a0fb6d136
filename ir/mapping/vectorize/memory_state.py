"""What `vectorize` knows about the accesses of the old ops: which are written together, and what was loaded before."""

from __future__ import annotations

from dataclasses import dataclass

from weft.ir.core import Block, Value
from weft.ir.mapping.fused_atomics import atomic_groups
from weft.ir.mapping.interleaved_stores import store_groups
from weft.ir.mapping.layouts import Layouts
from weft.ir.mapping.shared_cells import shared_cells
from weft.ir.mapping.tiles import Group, groups_of
from weft.ir.ops import Atomic, Load, Store
from weft.ir.uniform import Uniformity

__all__ = ["MemoryState", "Row"]


@dataclass(frozen=True)
class Row:
    """Addresses that are `first`, `first + step`, `first + 2 * step` ... in the active lanes if `even` is true at run
    time (None: always)."""

    even: Value | None
    first: Value
    step: int


class MemoryState:
    """The groups of accesses of each block, found when the first one of a block is written.

    - `rows`: old addresses that may form a row, for each vector (see `rows.py`)
    - `tiles`: the vectors that were loaded for a group of loads, by their offsets, for each vector
    - `parts`: the vectors that were loaded for a load and those that share its cells, for each vector
    """

    def __init__(self, facts: Uniformity, layouts: Layouts) -> None:
        self.facts, self.layouts = facts, layouts
        self.rows: dict[tuple[Value, int], Row] = {}
        self.parts: dict[tuple[Load, int], list[Value]] = {}
        self.tiles: dict[tuple[Group, int], dict[int, Value]] = {}
        self._groups: dict[Load | Store, Group] = {}
        self._stores: dict[Store, tuple[Store, ...]] = {}
        self._atomics: dict[Atomic, tuple[Atomic, ...]] = {}
        self._cells: dict[Load, Load] = {}
        self._seen: set[Block] = set()

    def stores(self, op: Store) -> tuple[Store, ...]:
        """The row stores that are executed together with this one, which is the last of them. Empty: it is not."""
        self._look(op.block)
        return self._stores.get(op, ())

    def atomics(self, op: Atomic) -> tuple[Atomic, ...]:
        """The atomics that are executed together with this one, which is the last of them. Empty: it is not."""
        self._look(op.block)
        return self._atomics.get(op, ())

    def group(self, op: Load | Store) -> Group:
        """The accesses that are moved as tiles together with this one."""
        self._look(op.block)
        return self._groups[op]

    def source(self, op: Load) -> Load:
        """The first load of the same cells."""
        self._look(op.block)
        return self._cells[op]

    def _look(self, block: Block | None) -> None:
        assert block is not None
        if block in self._seen:
            return
        self._seen.add(block)
        self._stores |= {group[-1]: group for group in store_groups(self.facts, self.layouts, block)}
        self._atomics |= {group[-1]: group for group in atomic_groups(block)}
        self._groups |= {op: group for group in groups_of(self.facts, block, marked=True) for op in group}
        self._cells |= shared_cells(self.facts, self.layouts, block)
