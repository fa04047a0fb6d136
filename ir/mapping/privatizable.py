"""Small fields that threads scatter into: which of them are worth a copy for each thread, or block of threads.

    bins[x[i]] += 1        mine[x[i]] += 1 in a copy of one's own, then  bins[k] += mine[k]  once

Only where all that a task does to the field is atomics of one kind, whose old values nobody wants.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from weft.ir.core import ops_of
from weft.ir.ops import Address, Assert, Atomic, Invoke, Task
from weft.ir.scopes import Scope
from weft.ir.symbols import FieldSymbol, scopes_of
from weft.ir.tasks import accesses
from weft.ir.types import Prim, element, f32, f64, i32, i64, u32, u64

__all__ = ["Limits", "Share", "shares_of"]

_KINDS = {"add": "add", "sub": "add", "min": "min", "max": "max", "and": "and", "or": "or", "xor": "xor"}


@dataclass(frozen=True)
class Limits:
    """What an arch will copy: fields of these types, of so many bytes each, and together."""

    types: tuple[Prim, ...] = (i32, u32, f32, i64, u64, f64)
    each: int = 1 << 22
    together: int = 1 << 22


@dataclass(frozen=True)
class Share:
    """A field that is copied: `words` scalars, from byte `low` on in its tree, changed by `kind`. An index that is
    wrong by one misses it by `reach` bytes at most."""

    scope: Scope
    tree: int
    low: int
    words: int
    kind: str
    type: Prim
    reach: int = 0


def shares_of(task: Task, fields: Sequence[FieldSymbol], limits: Limits) -> tuple[Share, ...]:
    """The fields that the threads of this task shall copy."""
    symbols = {scope: symbol for symbol, scope in scopes_of(fields).items() if not symbol.exposed}
    if task.all_of(Assert, Invoke):
        return ()
    kinds: dict[Scope, set[str]] = {}
    inside = set(ops_of(task.body))
    for op in accesses(task):
        if isinstance(op.ptr, Address):
            kind = _KINDS.get(op.kind, "") if op in inside and isinstance(op, Atomic) and not op.users else ""
            kinds.setdefault(op.ptr.scope.whole, set()).add(kind)
    found, room = list[Share](), limits.together
    for scope, seen in kinds.items():
        if scope in symbols and len(seen) == 1 and "" not in seen:
            share = _share(scope, symbols[scope], seen.pop(), limits)
            if share is not None and share.words * share.type.size <= room:
                room -= share.words * share.type.size
                found.append(share)
    return tuple(found)


def _share(scope: Scope, symbol: FieldSymbol, kind: str, limits: Limits) -> Share | None:
    """The copy of a field that fills its memory without a gap."""
    type = element(symbol.dtype)
    if type not in limits.types or (type.is_float and kind != "add"):
        return None
    count, step = symbol.path.gapless, symbol.path.step
    if count is None or step is None or not type.size < count * type.size <= limits.each:
        return None
    return Share(scope, symbol.tree, symbol.path.span[0], count, kind, type, step)
