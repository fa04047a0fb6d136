"""Moves rows of memory in whole words although they begin anywhere in a word of 16 bytes.

    s += x[i + p, j - 2]; s += x[i + p, j - 1]; ...       the taps of a filter, in rows of any length

    switch (&x[i + p, 0] & 15)                            the same for all threads of a warp
    case 4: ... the taps, x[i + p, j - 1] is aligned: one load for it and the three after it

The taps are emitted once for each position in a word at which a row may begin. In each version, the aligned taps are
known, and LLVM merges their loads. The results of neighbours, which one thread stores, are handled in the same way.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from weft.codegen.gpu.device_writer import DeviceWriter
from weft.codegen.gpu.dialect import DEVICE_MEMORY
from weft.ir.core import Op, Value
from weft.ir.mapping.whole_words import WORD, cell, whole_words
from weft.ir.ops import Address, ArrayBase, Const, Load, Store, TreeBase
from weft.ir.types import Pointer, element

__all__ = ["phased_row", "write_by_phase"]

_GLOBAL = f"ptr {DEVICE_MEMORY}"
_SIZES = (4, 8)  # of an element: of smaller ones a row may begin at too many places


Values = Mapping[Value, str]


@dataclass(frozen=True)
class Row:
    """Addresses in one row; `axes`: the indices by which they are in that row, `size`: bytes of an element."""

    addresses: tuple[Address, ...]
    axes: tuple[int, ...]
    size: int


def phased_row(ops: Sequence[Op], kind: type[Load | Store], places: Sequence[Values]) -> Row | None:
    """The row of a field or an array that the most reads, or writes, of those ops are in, the same at all places, if it
    may begin anywhere in a word."""
    rows = dict[tuple[object, ...], Row]()
    for op in ops:
        address = cell(op.ptr) if isinstance(op, kind) else None
        if address is None or not isinstance(address.base, ArrayBase | TreeBase):  # locals: each place has its own
            continue
        assert isinstance(address.type, Pointer)
        size = element(address.type.elem).size
        axes = tuple(k for k, stride in enumerate(address.strides) if not whole_words(stride) and not _along(stride))
        begins_well = isinstance(address.base, TreeBase) and not axes
        if size in _SIZES and not begins_well and all(_known(address.indices[k], ops, places) for k in axes):
            key = address.base, *((address.indices[k], address.strides[k]) for k in axes), size
            before = rows[key].addresses if key in rows else ()
            rows[key] = Row((*before, address), axes, size)
    return max(rows.values(), key=lambda row: len(row.addresses), default=None)


def _known(index: Value, ops: Sequence[Op], places: Sequence[Values]) -> bool:
    """Whether the index is known before those ops, and the same at all places."""
    texts = {values.get(index) for values in places}
    return index not in ops and len(texts) == 1 and (isinstance(index, Const) or None not in texts)


def _along(stride: Value) -> bool:
    """Whether neighbours are within a word or two."""
    return isinstance(stride, Const) and abs(int(stride.value)) <= WORD


def write_by_phase(f: DeviceWriter, row: Row, write: Callable[[], None]) -> None:
    """What `write` writes, once for each place where the row may begin."""
    first = row.addresses[0]
    begin = f.use(first.base)
    for k in row.axes:
        by = f.set(f"mul nsw i64 {f.use(first.indices[k])}, {f.use(first.strides[k])}")
        begin = f.set(f"getelementptr i8, ptr {begin}, i64 {by}")
    near = f.set(f"addrspacecast ptr {begin} to {_GLOBAL}")
    bits, done = f.set(f"ptrtoint {_GLOBAL} {near} to i64"), f.fresh_label("done")
    near = f.set(f"inttoptr i64 {f.set(f'and i64 {bits}, {-WORD}')} to {_GLOBAL}")
    word = f.set(f"addrspacecast {_GLOBAL} {near} to ptr")
    phases = range(0, WORD, row.size)
    labels = [f.fresh_label("phase") for _ in phases]
    cases = " ".join(f"i64 {bytes}, label %{label}" for bytes, label in zip(phases[1:], labels[1:], strict=True))
    f.do(f"switch i64 {f.set(f'and i64 {bits}, {WORD - row.size}')}, label %{labels[0]} [ {cases} ]")
    f.open = False
    outside = f.phases
    for bytes, label in zip(phases, labels, strict=True):
        f.start(label)
        f.phases = {**outside, **dict.fromkeys(row.addresses, (word, bytes, row.axes))}
        write()
        f.jump(done)
    f.phases = outside
    f.start(done)
