"""Which elements of gradients a gradient kernel accesses, and which it sets to 0.

A tape that knows this of all its launches knows which elements of gradients are 0 after them, and need not be cleared
for the next tape. A row of the table is one access, as text:

    clear 0:0,*,* p.grad        all elements of p.grad[t, *, *] become 0; parameter 0 is t
    write 0:-1,*,* p.grad       elements of p.grad[t - 1, *, *] may get other values
    write -:3,* q.grad          elements of q.grad[3, *]
    read 0:0,*,* p.grad         elements of p.grad[t, *, *] are read only

An index is a parameter plus a constant, a constant, or `*`: any index. A row is a `clear` if

    (1) the store is in the body of a parallel loop of the kernel itself, in no branch and no serial loop, and no jump
        can leave the iteration before it
    (2) the value is the constant 0, and the address is that of a whole element
    (3) each index of the loop is the index on one axis of the field, and runs over all of that axis. The indices on
        the other axes are parameters plus constants

Rows are in the order of the loops. Iterations of a loop may run in any order, so its clears stand before its other
writes. A write is left out if the iteration itself sets that element to 0 later: with (3), no other iteration has it.
`UNKNOWN` stands for all rows if the kernel calls functions, or has other effects.
"""

from __future__ import annotations

import math

from weft.ir import ops
from weft.ir.addresses import root_of, split
from weft.ir.core import Op, Value
from weft.ir.rewrite import literal
from weft.ir.symbols import FieldSymbol, places_of

__all__ = ["UNKNOWN", "gradient_accesses"]

UNKNOWN = ("unknown",)
_JUMPS = (ops.Break, ops.Continue, ops.Return)


def gradient_accesses(kernel: ops.Kernel) -> tuple[str, ...]:
    """The rows of a gradient kernel. None, if its fields have no gradients."""
    gradients = {one.grad for one in kernel.fields if one.grad is not None}
    if not gradients:
        return ()
    places = places_of(kernel.fields, kernel.params)
    named = {place: name for name, place in places.items()}
    names = {symbol: named[f"field:{number}"] for number, symbol in enumerate(kernel.fields)}
    rows = list[str]()
    for top in kernel.body:
        clears, writes, reads = list[str](), list[tuple[str, object]](), list[str]()
        for op in top.walk():
            if op.effect not in ("", "address"):
                return UNKNOWN
            root = root_of(op.operands[0]) if op.effect == "address" else None
            if not isinstance(root, ops.FieldPtr) or not any(root.field.shares_with(one) for one in gradients):
                continue
            row = f"{','.join(map(_index, root.indices))} {names[root.field]}"
            element = root.field, *(_named(*split(index, exact=True)) for index in root.indices)
            if not op.writes:
                reads.append(f"read {row}")
            elif root.field in gradients and _clears(op, root, top):
                clears.append(f"clear {row}")
                writes = [one for one in writes if one[1] != element]
            else:
                writes.append((f"write {row}", element))
        rows += [*clears, *dict.fromkeys(row for row, _ in writes), *dict.fromkeys(reads)]
    return tuple(rows)


def _named(base: Value | None, constant: int) -> object:
    """Equal for equal sums."""
    return ("arg", base.index, constant) if isinstance(base, ops.Arg) else (base, constant)


def _index(value: Value) -> str:
    """An index that depends on parameters only. `*` stands for any other."""
    base, constant = split(value, exact=True)
    if base is None:
        return f"-:{constant}"
    return f"{base.index}:{constant}" if isinstance(base, ops.Arg) else "*"


def _clears(op: Op, root: ops.FieldPtr, loop: Op) -> bool:
    """Whether a store sets the same elements to 0 in each run of the loop: see (1), (2) and (3)."""
    if not isinstance(op, ops.Store) or op.ptr is not root or not _is_zero(op.value):
        return False
    if not isinstance(loop, (ops.ParallelFor, ops.StructFor)) or op.parent is not loop or loop.config.serialize:
        return False
    if loop.all_of(*_JUMPS) or not root.field.path.is_full or root.field.path.dense is None:
        return False
    ranges, seen = _ranges(loop), list[Value | None]()
    first = root.field.offset or (0,) * len(root.field.shape)
    for index, start, extent in zip(root.indices, first, root.field.shape, strict=True):
        base, constant = split(index, exact=True)
        if base in ranges:
            low, end = ranges[base]
            if base in seen or low + constant > start or end + constant < start + extent:
                return False
            seen.append(base)
        elif base is not None and not isinstance(base, ops.Arg):
            return False
    return len(seen) == len(ranges)


def _is_zero(value: Value) -> bool:
    number = literal(value)
    return number is not None and number == 0 and math.copysign(1, number) > 0


def _ranges(loop: ops.ParallelFor | ops.StructFor) -> dict[Value | None, tuple[int, int]]:
    """The constant ranges of the indices of a loop; an empty range for one that is not constant."""
    args = loop.body.args
    if isinstance(loop, ops.StructFor):
        symbol: FieldSymbol = loop.field
        if not symbol.path.is_full or symbol.path.dense is None:
            return dict.fromkeys(args, (0, 0))
        first = symbol.offset or (0,) * len(symbol.shape)
        found = [(start, start + count) for start, count in zip(first, symbol.shape, strict=True)]
    else:
        pairs = [(literal(begin), literal(end)) for begin, end in zip(loop.begins, loop.ends, strict=True)]
        found = [(0, 0) if a is None or b is None else (int(a), int(b)) for a, b in pairs]
    return dict(zip(args, found, strict=True))
