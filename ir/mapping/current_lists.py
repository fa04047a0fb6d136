"""Which lists of active cells a task makes, and which it may leave out of date.

Each node with a book has a flag there, its part `changed`: not 0 says that the list of its cells is out of date. What
activates or deactivates cells sets it, and what makes the list clears it. The host knows that a list is current if a
launch has made it, and no launch since then could set the flag. Then it need not launch what makes the list
(`codegen/nvptx/host.py`).

A list that is made behind the possible end of a kernel may not have been made, so the host does not count on it.
"""

from __future__ import annotations

from weft.ir.addresses import name_of
from weft.ir.alias import is_access
from weft.ir.calls import OUTDATES
from weft.ir.core import Op
from weft.ir.ops import Invoke, Kernel, Task

__all__ = ["flags_of", "list_of", "outdated_by"]


def flags_of(kernel: Kernel) -> dict[str, int]:
    """The name of the flag of each node, and the tree with its book."""
    return {node.flag: node.book for node in kernel.nodes if node.flag}


def list_of(task: Task, kernel: Kernel) -> int:
    """The tree with the book of the node whose list the task helps to make, and nothing else. -1: it makes none."""
    found = (node.book for node in kernel.nodes if task.routine == f"list {node.name}")
    return next(found, -1)


def outdated_by(task: Task, kernel: Kernel) -> tuple[int, ...]:
    """The trees with the books of nodes whose flags the task, or a function that it calls, may set."""
    flags, own = flags_of(kernel), list_of(task, kernel)
    found = {flags[name] for op in task.walk() for name in (*_written_by(op), *_by_calls(op)) if name in flags}
    return tuple(sorted(found - {own}))


def _written_by(op: Op) -> tuple[str, ...]:
    return (name_of(op.ptr),) if is_access(op) and op.writes else ()


def _by_calls(op: Op) -> tuple[str, ...]:
    if not isinstance(op, Invoke):
        return ()
    return tuple(effect.removeprefix(OUTDATES) for effect in op.effects if effect.startswith(OUTDATES))
