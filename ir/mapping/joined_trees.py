"""Chooses the trees whose fields and components get a common alias scope.

    x[%i].x = a                        !alias.scope "field:x#0"    ->    "tree:0"
    if c: x[%i].x = b                  !alias.scope "field:x#0"    ->    "tree:0"
    x[%i].y = d                        !alias.scope "field:x#1"    ->    "tree:0"

LLVM's loop vectorizer merges stores to neighbours such as .x and .y at the place of the last one, and loads at the
place of the first one. It does not do so if it knows of a dependence between one of them and an access in between. It
looks for dependences in each set of accesses that may alias, and finds none in a set with a single address. If the
stores above had scopes of their own, the first two would be such a set, and the second store would be lost.

Therefore the parts of a tree get one scope in a function that accesses several of them and accesses one again after
storing to it. Only accesses that one vectorized loop makes are merged. So each loop that LLVM may vectorize counts by
itself: the loop over iterations, or, if that runs in lanes or is marked (`vectorize=never`, and `around` for loops in
it), each of the outermost loops in it that are not marked. A function of the program, which may be inlined into any
other one, has one scope for each tree. LLVM does not vectorize loops of a GPU, so it makes no difference there.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from weft.ir.addresses import root_of
from weft.ir.alias import is_access
from weft.ir.core import Block, Op, Value, ops_of
from weft.ir.ops import Address, For, Kernel, Load, Task, TreeBase, While
from weft.ir.scopes import Scope
from weft.ir.tasks import tasks_of

__all__ = ["joined_in", "joined_trees", "scope_in"]


def joined_trees(ops: Iterable[Op]) -> frozenset[int]:
    """The trees whose parts get one scope in a function of these ops, which are in program order."""
    parts, stored, joined = dict[int, set[Scope]](), set[Scope](), set[int]()
    for op in ops:
        if not is_access(op) or not isinstance(place := op.ptr, Address):
            continue
        root = root_of(place)
        if not isinstance(root, TreeBase):
            continue
        parts.setdefault(root.tree, set()).add(place.scope)
        if place.scope in stored:
            joined.add(root.tree)
        if not isinstance(op, Load):
            stored.add(place.scope)
    return frozenset(tree for tree in joined if len(parts.get(tree, ())) != 1)


def joined_in(task: Task, kernel: Kernel) -> frozenset[int]:
    """The trees whose parts get one scope in the function that a task is compiled to."""
    if kernel.called:  # the functions into which it is inlined may access them as well
        return frozenset(field.tree for field in kernel.fields)
    if task.kind != "serial":
        return frozenset[int]().union(*map(joined_trees, _for_llvm(task)))
    serial = (joined_trees(ops_of(one.body)) for one in tasks_of(kernel) if one.kind == "serial")
    return frozenset[int]().union(*serial)


def _for_llvm(task: Task) -> Iterator[list[Op]]:
    """The ops of each loop that LLVM may vectorize, with those of the loops in it, which LLVM may unroll."""
    if task.schedule.lanes == 1 and task.schedule.vectorize != "never":
        yield ops_of(*task.regions)
        return
    for region in task.regions:
        yield from (ops_of(loop.body) for loop in _outermost(region))


def _outermost(block: Block) -> Iterator[For | While]:
    """The loops that LLVM may vectorize and that are in no other such loop."""
    for op in block:
        if isinstance(op, While) or (isinstance(op, For) and not op.schedule.around):
            yield op
        else:
            for region in op.regions:
                yield from _outermost(region)


def scope_in(place: Value, joined: frozenset[int]) -> Scope | None:
    """The scope of an address in a function in which these trees are joined, or None if nothing is known about it."""
    if not isinstance(place, Address):
        return None
    root = root_of(place) if joined else None
    if isinstance(root, TreeBase) and root.tree in joined:
        return Scope(f"tree:{root.tree}", exposed=place.scope.exposed)
    return place.scope
