"""Emits code once for each place in a word where a row of memory may begin (see the pass `version_rows`).

In each version, the aligned addresses of the row are known, and LLVM merges their accesses into words of 16 bytes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from weft.codegen.gpu.device_writer import DeviceWriter
from weft.codegen.gpu.dialect import DEVICE_MEMORY
from weft.ir.core import Op
from weft.ir.mapping.phased_rows import element_size, row_axes
from weft.ir.mapping.whole_words import WORD
from weft.ir.ops import Address

__all__ = ["phased_row", "write_by_phase"]

_GLOBAL = f"ptr {DEVICE_MEMORY}"


def phased_row(ops: Iterable[Op]) -> list[Address]:
    """The addresses among these ops that are in one row, of which it is tested where in a word it begins."""
    return [op for op in ops if isinstance(op, Address) and op.phased]


def write_by_phase(f: DeviceWriter, row: Sequence[Address], write: Callable[[], None]) -> None:
    """What `write` writes, once for each place where the row may begin; just once without a row."""
    if not row:
        write()
        return
    first, axes, size = row[0], row_axes(row[0]), element_size(row[0])
    begin = f.use(first.base)
    for k in axes:
        by = f.set(f"mul nsw i64 {f.use(first.indices[k])}, {f.use(first.strides[k])}")
        begin = f.set(f"getelementptr i8, ptr {begin}, i64 {by}")
    near = f.set(f"addrspacecast ptr {begin} to {_GLOBAL}")
    bits, done = f.set(f"ptrtoint {_GLOBAL} {near} to i64"), f.fresh_label("done")
    near = f.set(f"inttoptr i64 {f.set(f'and i64 {bits}, {-WORD}')} to {_GLOBAL}")
    word = f.set(f"addrspacecast {_GLOBAL} {near} to ptr")
    phases = range(0, WORD, size)
    labels = [f.fresh_label("phase") for _ in phases]
    cases = " ".join(f"i64 {bytes}, label %{label}" for bytes, label in zip(phases[1:], labels[1:], strict=True))
    f.do(f"switch i64 {f.set(f'and i64 {bits}, {WORD - size}')}, label %{labels[0]} [ {cases} ]")
    f.open = False
    outside = f.phases
    for bytes, label in zip(phases, labels, strict=True):
        f.start(label)
        f.phases = {**outside, **dict.fromkeys(row, (word, bytes, axes))}
        write()
        f.jump(done)
    f.phases = outside
    f.start(done)
