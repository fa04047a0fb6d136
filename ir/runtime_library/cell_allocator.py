"""An allocator of cells of one size, which are numbers: iterations allocate and free them.

    allocate() -> i64    a cell that no other iteration owns, from 0 on; -1 if all are in use
    free(cell)           frees a cell; only its owner may call it, and only once
    failed() -> i64      the number of failed allocations

The caller stores the cells themselves: one element each of any fields. The new owner of a cell sees everything that the
last owner did before freeing it. A cell that had no owner yet is as it was before the loop.

Cells that were never used are handed out in order, by a counter (`fresh`). Freed cells form a stack. `head` holds the
number of the topmost cell plus 1. `next` of each cell holds the same for the cell below it, or 0 if there is none. The
stack is changed by compare-and-swap on `head`. The upper half of `head` counts changes, so that an old value of `head`
does not recur when its cell does (the ABA problem), unless there are 2**32 changes in between.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from weft.ir.core import Builder, Value
from weft.ir.errors import InternalError
from weft.ir.ops import Kernel
from weft.ir.runtime_library.functions import call, copies, define
from weft.ir.symbols import FieldSymbol
from weft.ir.types import i32, i64

__all__ = ["CellAllocator"]

_HEAD = """
  %zero = const 0 : i64
  %one = const 1 : i64
  %capacity = const {capacity} : i64
  %lower = const 4294967295 : i64
  %change = const 4294967296 : i64
  %head = field_ptr @head[] : *i64
  %fresh = field_ptr @fresh[] : *i64
"""

_ALLOCATE = """
  while {{
    %old = atomic_load %head, order=acquire : i64
    %top = binary and %old, %lower : i64
    %empty = binary eq %top, %zero : u1
    if %empty then {{ break }}
    %cell = binary sub %top, %one : i64
    %link = field_ptr @next[%cell] : *i32
    %below = atomic_load %link : i32
    %below_wide = cast %below : i64
    %changes = binary sub %old, %top : i64
    %changed = binary add %changes, %change : i64
    %new = binary add %changed, %below_wide : i64
    %was = compare_exchange %head, %old, %new, order=acq_rel : i64
    %taken = binary eq %was, %old : u1
    if %taken then {{ return [%cell] }}
  }}
  %first = atomic add %fresh, %one : i64
  %fits = binary lt %first, %capacity : u1
  if %fits then {{ return [%first] }}
  %none = const -1 : i64
  return [%none]
"""

_FREE = """
  %cell = arg index=0 : i64
  %link = field_ptr @next[%cell] : *i32
  %mine = binary add %cell, %one : i64
  while {{
    %old = atomic_load %head : i64
    %top = binary and %old, %lower : i64
    %below = cast %top : i32
    atomic_store %link, %below
    %changes = binary sub %old, %top : i64
    %changed = binary add %changes, %change : i64
    %new = binary add %changed, %mine : i64
    %was = compare_exchange %head, %old, %new, order=acq_rel : i64
    %done = binary eq %was, %old : u1
    if %done then {{ break }}
  }}
"""

_FAILED = """
  %taken = atomic_load %fresh, order=acquire : i64
  %over = binary sub %taken, %capacity : i64
  %failed = binary max %over, %zero : i64
  return [%failed]
"""


@dataclass(frozen=True)
class CellAllocator:
    """An allocator in the fields `head` and `fresh` (i64, no axes) and `next` (i32, one axis: the number of cells).
    All are zero at first. `name` is that of the functions."""

    name: str
    head: FieldSymbol
    fresh: FieldSymbol
    next: FieldSymbol

    def __post_init__(self) -> None:
        if any(symbol.dtype is not i64 or symbol.shape for symbol in (self.head, self.fresh)):
            raise InternalError(f"allocator '{self.name}': its head and its counter must be fields of i64 without axes")
        if self.next.dtype is not i32 or len(self.next.shape) != 1 or self.next.offset:
            raise InternalError(f"allocator '{self.name}': its links must be a field of i32 with one axis")

    def functions(self) -> list[Kernel]:
        """The functions, for a kernel that calls them."""
        return copies((self._allocate, self._free, self._failed))

    def allocate(self, build: Builder) -> Value:
        """A cell of one's own (i64); -1 where there is none."""
        return call(build, self._allocate, [])

    def free(self, build: Builder, cell: Value) -> None:
        """Give a cell (i64) back."""
        call(build, self._free, [cell])

    def failed(self, build: Builder) -> Value:
        """How often there was no cell (i64)."""
        return call(build, self._failed, [])

    @cached_property
    def _allocate(self) -> Kernel:
        return self._function("allocate() -> (i64)", _ALLOCATE)

    @cached_property
    def _free(self) -> Kernel:
        return self._function("free(cell: i64) -> ()", _FREE)

    @cached_property
    def _failed(self) -> Kernel:
        return self._function("failed() -> (i64)", _FAILED)

    def _function(self, signature: str, body: str) -> Kernel:
        fields = {"head": self.head, "fresh": self.fresh, "next": self.next}
        text = (_HEAD + body).format(capacity=self.next.shape[0])
        return define(f"@{self.name}_{signature}", text, fields)
