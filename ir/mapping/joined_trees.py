"""Trees whose fields and components LLVM is not told to be apart.

    x[%i].x = a                        !alias.scope "field:x#0"    ->    "tree:0"
    if c: x[%i].x = b                  !alias.scope "field:x#0"    ->    "tree:0"
    x[%i].y = d                        !alias.scope "field:x#1"    ->    "tree:0"

LLVM's loop vectorizer stores neighbours such as .x and .y together, where the last of them is stored, and loads them
together where the first of them is loaded, unless it knows of a dependence between one of them and what lies between.
It looks for dependences in each set of accesses that may alias, and in a set with one address it finds none: with
scopes of their own, the first two stores above are such a set, and the second one is lost.

So the parts of a tree get one scope in a function that touches several of them, and touches one again after it has
stored to it. A function of the program, which may be inlined into any other, has one scope for each tree. LLVM does not
vectorize loops that `lanes.py` writes, nor those of a GPU; there it makes no difference.
"""

from __future__ import annotations

from collections.abc import Iterable

from weft.ir.addresses import root_of
from weft.ir.alias import is_access
from weft.ir.core import Op, Value
from weft.ir.ops import Address, Load, TreeBase
from weft.ir.scopes import Scope

__all__ = ["joined_trees", "scope_in"]


def joined_trees(ops: Iterable[Op]) -> frozenset[int]:
    """The trees whose parts get one scope in a function of these ops, which are in the order of the program."""
    parts, stored, joined = dict[int, set[Scope]](), set[Scope](), set[int]()
    for op in ops:
        place = op.ptr if is_access(op) else None
        root = root_of(place) if isinstance(place, Address) else None
        if not isinstance(place, Address) or not isinstance(root, TreeBase):
            continue
        parts.setdefault(root.tree, set()).add(place.scope)
        if place.scope in stored:
            joined.add(root.tree)
        if not isinstance(op, Load):
            stored.add(place.scope)
    return frozenset(tree for tree in joined if len(parts.get(tree, ())) != 1)


def scope_in(place: Value, joined: frozenset[int]) -> Scope | None:
    """The scope of an address in a function where those trees are joined; None if nothing is known of it."""
    if not isinstance(place, Address):
        return None
    root = root_of(place) if joined else None
    if isinstance(root, TreeBase) and root.tree in joined:
        return Scope(f"tree:{root.tree}", exposed=place.scope.exposed)
    return place.scope
