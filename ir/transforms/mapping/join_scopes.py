"""Gives the fields of a tree one alias scope where LLVM's loop vectorizer would otherwise lose a store.

    task range_for ... { store @x#0 ...; if %c { store @x#0 ... }; store @x#1 ... }

    task range_for schedule={joined=(0)} ... { store @x#0 ...; if %c { store @x#0 ... }; store @x#1 ... }

The accesses of a field or of a component get an alias scope of their own. The accesses to the trees in `joined` get the
scope of the tree instead. `mapping/joined_trees.py` says which trees need that, and why. All serial tasks of a kernel
are compiled to one function, so they have the same trees. A function that kernels call may be inlined into any of them,
so all of its trees are joined. Each loop that LLVM may vectorize is looked at by itself.
"""

from __future__ import annotations

from dataclasses import replace

from weft.ir.config import CompileConfig
from weft.ir.mapping.joined_trees import joined_in
from weft.ir.ops import Kernel
from weft.ir.passes import pass_
from weft.ir.tasks import tasks_of

__all__ = ["join_scopes"]


@pass_("join_scopes")
def join_scopes(root: Kernel, config: CompileConfig) -> bool:
    """Choose the trees of each task whose fields have one alias scope."""
    changed = False
    for task in tasks_of(root):
        joined = tuple(sorted(joined_in(task, root)))
        if joined != task.schedule.joined:
            task.schedule, changed = replace(task.schedule, joined=joined), True
    return changed
