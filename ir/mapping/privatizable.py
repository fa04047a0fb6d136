"""Finds the small fields for which privatization is worthwhile: a copy for each thread, or for each block of threads.

    bins[x[i]] += 1        mine[x[i]] += 1 in a private copy, then  bins[k] += mine[k]  once

The task must access the field only by atomics of one kind whose old values are not used.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from weft.ir.core import ops_of
from weft.ir.ops import Address, Assert, Atomic, Invoke, Task
from weft.ir.schedule import Privatized
from weft.ir.scopes import Scope
from weft.ir.symbols import FieldSymbol, scopes_of
from weft.ir.tasks import accesses
from weft.ir.types import element, f32, f64, i32, i64, u32, u64

__all__ = ["Limits", "privatizable_fields", "updated_by", "whole_field"]

_TYPES = (i32, u32, f32, i64, u64, f64)
_KINDS = {"add": "add", "sub": "add", "min": "min", "max": "max", "and": "and", "or": "or", "xor": "xor"}


@dataclass(frozen=True)
class Limits:
    """What a target privatizes: the most bytes of each field, and of all fields."""

    each: int = 1 << 22
    total: int = 1 << 22


def privatizable_fields(task: Task, fields: Sequence[FieldSymbol], limits: Limits) -> tuple[Privatized, ...]:
    """The fields that the threads of this task should privatize."""
    symbols, found, room = scopes_of(fields), list[Privatized](), limits.total
    by_scope = {scope: symbol for symbol, scope in symbols.items() if not symbol.exposed}
    for scope, kind in updated_by(task).items():
        copy = whole_field(scope, by_scope[scope], kind) if scope in by_scope else None
        if copy is None or not _fits(copy, limits):
            continue
        if copy.words * copy.type.size <= room:
            room -= copy.words * copy.type.size
            found.append(copy)
    return tuple(found)


def updated_by(task: Task) -> dict[Scope, str]:
    """The memory that a task only updates, by atomics of one kind in its body whose old values are not used. Gives the
    kind by scope."""
    if task.all_of(Assert, Invoke):
        return {}
    kinds: dict[Scope, set[str]] = {}
    inside = set(ops_of(task.body))
    for op in accesses(task):
        if isinstance(op.ptr, Address):
            kind = _KINDS.get(op.kind, "") if op in inside and isinstance(op, Atomic) and not op.users else ""
            kinds.setdefault(op.ptr.scope.whole, set()).add(kind)
    return {scope: seen.pop() for scope, seen in kinds.items() if len(seen) == 1 and "" not in seen}


def whole_field(scope: Scope, symbol: FieldSymbol, kind: str) -> Privatized | None:
    """A private copy of the whole field, or None if other fields are interleaved with it, or if the result of `kind`
    depends on the order."""
    type = element(symbol.dtype)
    if type.is_float and kind != "add":
        return None
    count, step = symbol.path.gapless, symbol.path.step
    if count is None or step is None:
        return None
    return Privatized(scope, symbol.tree, symbol.path.span[0], count, kind, type, step)


def _fits(copy: Privatized, limits: Limits) -> bool:
    return copy.type in _TYPES and copy.type.size < copy.words * copy.type.size <= limits.each
