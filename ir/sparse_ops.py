"""The ops on the cells of sparse nodes. `ops.py` exports them too.

A cell is named by its index among the cells of the node, from 0 on. An index outside of the node's shape is the user's
error. An ordinary `store` or `atomic` through a `field_ptr` activates what it writes, and a `load` of what is not
active gives 0. The evaluator defines these semantics, see `sparse_memory.py`."""

from __future__ import annotations

from weft.ir.core import Op, Value, attr, operand, operands
from weft.ir.symbols import NodeSymbol
from weft.ir.types import Type, i32, u1, u32

__all__ = [
    "Activate",
    "Append",
    "Deactivate",
    "FoundSlot",
    "HoldInterrupts",
    "IsActive",
    "Length",
    "RunRoutine",
    "VisitedIndex",
    "VisitedSlot",
]

# ---- sparse cells ----------------------------------------------------------------------------------------------------


class Activate(Op, name="activate", writes=True, effect="anywhere", levels="chi tasks"):
    """Activates a cell, and the cells above it. The values in a new cell are 0."""

    node: NodeSymbol = attr()
    indices: list[Value] = operands()


class Deactivate(Op, name="deactivate", writes=True, effect="anywhere", levels="chi tasks"):
    """Deactivates a cell, and what is below it. From then on its values are 0. The cells above it stay active. Of a
    list, it names the list: its length becomes 0."""

    node: NodeSymbol = attr()
    indices: list[Value] = operands()


class IsActive(Op, name="is_active", reads=True, writes=True, effect="anywhere", levels="chi tasks"):
    """Gives whether a cell is active. Of a list, it names an element: whether the list is longer than that. With
    `slot`, it gives the slot of the cell (of a list: of the chunk with the element), 0 if there is none. The node has a
    pool then. Which slot a cell has is not determined."""

    node: NodeSymbol = attr()
    indices: list[Value] = operands()
    slot: bool = attr(default=False)

    def result_type(self) -> Type:
        return u32 if self.slot else u1


class Length(Op, name="length", reads=True, writes=True, effect="anywhere", levels="chi tasks"):
    """Gives the length of a list."""

    node: NodeSymbol = attr()
    indices: list[Value] = operands()

    def result_type(self) -> Type:
        return i32


class Append(Op, name="append", reads=True, writes=True, effect="anywhere", levels="chi tasks"):
    """Makes a list longer by one, and gives the index of the new last element, whose values are 0. It fails if the list
    is full. The values are stored there by ordinary stores."""

    node: NodeSymbol = attr()
    indices: list[Value] = operands()

    def result_type(self) -> Type:
        return i32


class VisitedSlot(Op, name="visited_slot", pure=True, levels="chi tasks"):
    """Gives the slot of the cell number `entry` in the list of active cells of the node. Two entries have different
    slots. It is valid in a loop over this list, which `enumerate_cells` makes."""

    node: NodeSymbol = attr()
    entry: Value = operand()

    def result_type(self) -> Type:
        return u32


class VisitedIndex(Op, name="visited_index", pure=True, levels="chi tasks"):
    """Gives the index along `axis` of the cell number `entry` in the list of active cells of the node."""

    node: NodeSymbol = attr()
    entry: Value = operand()
    axis: int = attr()

    def result_type(self) -> Type:
        return i32


class FoundSlot(Op, name="found_slot", pure=True, levels="chi tasks"):
    """Gives the slot of a cell of a hash node, 0 if it is not active. It is pure: it is valid in a task that neither
    activates nor deactivates cells of the node. The index may be outside of the node, where no cell is active."""

    node: NodeSymbol = attr()
    indices: list[Value] = operands()

    def result_type(self) -> Type:
        return u32


class RunRoutine(Op, name="run_routine", reads=True, writes=True, effect="anywhere"):
    """Runs a routine of the run-time library for a node. The tasks of the routine are lowered and compiled apart from
    the kernel. Its `kind` is a row of ROUTINES in `transforms/apart.py`. It is the only op of a serial task. It may
    access the fields in `touched`."""

    kind: str = attr()
    node: NodeSymbol = attr()
    touched: tuple[str, ...] = attr(default=())


class HoldInterrupts(Op, name="hold_interrupts", writes=True, effect="elsewhere"):
    """Says whether interrupts are `held`: from here on, nothing but a failed assertion ends the launch before its end.
    It is in serial code, and holds for the serial code and the tasks behind it."""

    held: bool = attr()
