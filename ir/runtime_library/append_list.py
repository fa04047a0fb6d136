"""A list to which iterations append concurrently, up to a capacity.

    append(value) -> i64    the slot of the value; -1 if the list is full
    at(slot)                the value in a slot; 0 if there is none yet
    size() -> i64           the number of reserved slots
    lost() -> i64           the number of values for which there was no slot
    clear()                 empties the list; no other iteration may use it at the same time

The state is a counter and the slots. Values are words, and 0 is not a valid value. An iteration that reads a value sees
everything that the appending iteration did before. Slots below `size()` may still be 0 while others append, because the
slot is reserved before the value is stored. Which value gets which slot is not defined.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from weft.ir.core import Builder, Value
from weft.ir.errors import InternalError
from weft.ir.ops import Kernel
from weft.ir.runtime_library.functions import call, copies, define
from weft.ir.symbols import FieldSymbol
from weft.ir.types import Prim, i64

__all__ = ["AppendList"]

_HEAD = """
  %zero = const 0 : i64
  %one = const 1 : i64
  %capacity = const {capacity} : i64
  %count = field_ptr @count[] : *i64
"""

_APPEND = """
  %value = arg index=0 : {type}
  %slot = atomic add %count, %one : i64
  %fits = binary lt %slot, %capacity : u1
  if %fits then {{
    %place = field_ptr @slots[%slot] : *{type}
    atomic_store %place, %value, order=release
    return [%slot]
  }}
  %none = const -1 : i64
  return [%none]
"""

_AT = """
  %slot = arg index=0 : i64
  %place = field_ptr @slots[%slot] : *{type}
  %value = atomic_load %place, order=acquire : {type}
  return [%value]
"""

_SIZE = """
  %taken = atomic_load %count, order=acquire : i64
  %size = binary min %taken, %capacity : i64
  return [%size]
"""

_LOST = """
  %taken = atomic_load %count, order=acquire : i64
  %over = binary sub %taken, %capacity : i64
  %lost = binary max %over, %zero : i64
  return [%lost]
"""

_CLEAR = """
  %taken = load %count : i64
  %size = binary min %taken, %capacity : i64
  %nothing = const {zero} : {type}
  for %zero, %size, %one (%slot: i64) {{
    %place = field_ptr @slots[%slot] : *{type}
    store %place, %nothing
  }}
  store %count, %zero
"""


@dataclass(frozen=True)
class AppendList:
    """A list in the fields `count` (i64, no axes) and `slots` (a scalar of 32 or 64 bits, one axis: the capacity).
    Both are zero at first. `name` is that of the functions."""

    name: str
    count: FieldSymbol
    slots: FieldSymbol

    def __post_init__(self) -> None:
        if self.count.dtype is not i64 or self.count.shape:
            raise InternalError(f"list '{self.name}': its count must be a field of i64 without axes")
        word = self.slots.dtype
        if not isinstance(word, Prim) or word.bits not in (32, 64) or len(self.slots.shape) != 1 or self.slots.offset:
            raise InternalError(f"list '{self.name}': its slots must be words of 32 or 64 bits along one axis")

    def functions(self) -> list[Kernel]:
        """The functions, for a kernel that calls them."""
        return copies((self._append, self._at, self._size, self._lost, self._clear))

    def append(self, build: Builder, value: Value) -> Value:
        """Put a value that is not 0 into the list; gives its slot (i64), or -1."""
        return call(build, self._append, [value])

    def at(self, build: Builder, slot: Value) -> Value:
        """What is in a slot (i64); 0 where nothing is yet."""
        return call(build, self._at, [slot])

    def size(self, build: Builder) -> Value:
        """How many slots are taken (i64)."""
        return call(build, self._size, [])

    def lost(self, build: Builder) -> Value:
        """How many values found no slot (i64)."""
        return call(build, self._lost, [])

    def clear(self, build: Builder) -> None:
        """Empty the list."""
        call(build, self._clear, [])

    @cached_property
    def _append(self) -> Kernel:
        return self._function(f"append(value: {self.slots.dtype}) -> (i64)", _APPEND)

    @cached_property
    def _at(self) -> Kernel:
        return self._function(f"at(slot: i64) -> ({self.slots.dtype})", _AT)

    @cached_property
    def _size(self) -> Kernel:
        return self._function("size() -> (i64)", _SIZE)

    @cached_property
    def _lost(self) -> Kernel:
        return self._function("lost() -> (i64)", _LOST)

    @cached_property
    def _clear(self) -> Kernel:
        return self._function("clear() -> ()", _CLEAR)

    def _function(self, signature: str, body: str) -> Kernel:
        word = self.slots.dtype
        assert isinstance(word, Prim)
        text = (_HEAD + body).format(capacity=self.slots.shape[0], type=word, zero="0.0" if word.is_float else "0")
        return define(f"@{self.name}_{signature}", text, {"count": self.count, "slots": self.slots})
