"""Gathers of cells: where lanes want several parts of cells that lie anywhere, each lane loads its cell whole.

    x[%k].x, x[%k].y, x[%k].z, for 16 lanes     16 loads of three floats, and shuffles, not three gathers of 16

Lanes that are not here load zeros from a place of ours.
"""

from __future__ import annotations

from collections.abc import Hashable

from weft.codegen.lane_layouts import Cell, Layouts
from weft.codegen.lane_rows import in_cell, join, pick
from weft.codegen.lanes import LaneWriter
from weft.codegen.shares import scope_of
from weft.codegen.spelling import in_memory
from weft.ir.core import Block, Value
from weft.ir.ops import Address, Load
from weft.ir.types import Prim

__all__ = ["CellParts", "gather_part"]

_SPANS = (8, 12, 16)  # bytes of a cell that one load takes
_NOWHERE = "@weft_nowhere = internal constant [16 x i8] zeroinitializer, align 16"


class CellParts:
    """Which parts of the same cells a block loads; found out for a block when it is first asked for."""

    def __init__(self, layouts: Layouts) -> None:
        self.layouts = layouts
        self._parts: dict[Block, dict[Hashable, set[int]]] = {}

    def joint(self, op: Load) -> Cell | None:
        """The cell that a load takes a part of, if it is one to load whole: the block loads other parts of it, too."""
        ptr, block = op.ptr, op.block
        if not isinstance(ptr, Address) or block is None or not isinstance(op.type, Prim) or op.type.size != 4:
            return None
        cell = self.layouts.cells.get(scope_of(ptr))
        if cell is None or cell.span not in _SPANS:
            return None
        if block not in self._parts:
            self._parts[block] = parts = dict[Hashable, set[int]]()
            for place in (x.ptr for x in block if isinstance(x, Load) and isinstance(x.ptr, Address)):
                parts.setdefault(_place(place), set()).add(place.offset)
        return cell if len(self._parts[block][_place(ptr)]) > 1 else None


def _place(ptr: Address) -> tuple[Value | str, ...]:
    return (ptr.base, *ptr.indices, *ptr.strides, scope_of(ptr))


def gather_part(f: LaneWriter, ptr: Address, pointers: str, size: int, type: Prim) -> str:
    """The lanes' parts at `pointers`, which are in cells of `size` bytes; what was loaded for other parts is not loaded
    again."""
    inner, span = in_cell(f, ptr, size, type)
    key, count = (*_place(ptr), ptr.offset - inner, f.mask), span // type.size
    if key not in f.gathered:
        vector = f"<{f.lanes} x ptr>"
        place = f.set(f"getelementptr i8, {vector} {pointers}, i64 {-inner}") if inner else pointers
        f.module.declarations["weft_nowhere"] = _NOWHERE
        away = f.splat("@weft_nowhere", "ptr")
        safe = f.set(f"select {f.mask_type} {f.mask}, {vector} {place}, {vector} {away}")
        cells = [_cell(f, f.set(f"extractelement {vector} {safe}, i64 {k}"), ptr, count, type) for k in range(f.lanes)]
        f.gathered[key] = join(f, cells, 2 if count == 2 else 4, type)
    whole, length = f.gathered[key]
    stride = length // f.lanes
    return pick(f, [whole], length, range(inner // type.size, length, stride), type)


def _cell(f: LaneWriter, pointer: str, ptr: Address, count: int, type: Prim) -> str:
    """One lane's cell: two or four elements, of three the first ones."""
    tag, name = f.module.access(scope_of(ptr), ""), in_memory(type)
    if count != 3:
        return f.set(f"load <{count} x {name}>, ptr {pointer}, align {type.size}{tag}")
    short = f"v4{name.replace('float', 'f32')}"
    masked = f.module.declare(f"<4 x {name}> @llvm.masked.load.{short}.p0(ptr, <4 x i1>, <4 x {name}>)")
    mask = "<4 x i1> <i1 true, i1 true, i1 true, i1 false>"
    given = f"ptr align {type.size} {pointer}, {mask}, <4 x {name}> zeroinitializer"
    return f.set(f"call <4 x {name}> @{masked}({given}){tag}")
