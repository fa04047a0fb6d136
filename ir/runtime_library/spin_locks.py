"""Spin locks for iterations.

A lock is a word: 0 if it is free, 1 if an iteration holds it. An iteration that acquires it sees everything that
earlier holders did.

    try_acquire(index) -> u1    acquires the lock if it is free
    acquire(index)              acquires the lock, however long that takes
    release(index)              releases the lock; only its holder may call it

An iteration must not acquire a lock that it holds, and two iterations that hold one lock each must not wait for each
other's. On a GPU whose threads run in lockstep, the critical section must be inside the condition, or the holder may
wait for threads that wait for it. (On NVIDIA GPUs from sm_70 on, divergent threads make progress independently, and
`acquire` works.)

    while { %mine = try_acquire(%index); if %mine { ...; release(%index); break } }
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from weft.ir.core import Builder, Value
from weft.ir.errors import InternalError
from weft.ir.ops import Kernel
from weft.ir.runtime_library.functions import call, copies, define
from weft.ir.symbols import FieldSymbol
from weft.ir.types import i32

__all__ = ["SpinLocks"]

_HEAD = """
  %index = arg index=0 : i64
  %free = const 0 : i32
  %taken = const 1 : i32
  %word = field_ptr @words[%index] : *i32
"""

_TRY = """
  %old = compare_exchange %word, %free, %taken, order=acquire : i32
  %mine = binary eq %old, %free : u1
  return [%mine]
"""

# Between two attempts it only reads, so that it does not take the cache line from the holder.
_ACQUIRE = """
  while {
    %old = compare_exchange %word, %free, %taken, order=acquire : i32
    %mine = binary eq %old, %free : u1
    if %mine then { break }
    while {
      %seen = atomic_load %word : i32
      %again = binary eq %seen, %free : u1
      if %again then { break }
    }
  }
"""

_RELEASE = """
  atomic_store %word, %free, order=release
"""


@dataclass(frozen=True)
class SpinLocks:
    """As many locks as the field `words` has elements: i32, of one axis, zero at first. `name` is that of the
    functions, and unlike that of any other structure of the kernel."""

    name: str
    words: FieldSymbol

    def __post_init__(self) -> None:
        if self.words.dtype is not i32 or len(self.words.shape) != 1:
            raise InternalError(f"spin locks '{self.name}': their words must be a field of i32 with one axis")

    def functions(self) -> list[Kernel]:
        """The functions, for a kernel that calls them."""
        return copies((self._try, self._acquire, self._release))

    def try_acquire(self, build: Builder, index: Value) -> Value:
        """Take lock number `index` (i64) if it is free; gives whether it was."""
        return call(build, self._try, [index])

    def acquire(self, build: Builder, index: Value) -> None:
        """Take lock number `index` (i64), once it is free."""
        call(build, self._acquire, [index])

    def release(self, build: Builder, index: Value) -> None:
        """Give lock number `index` (i64) back."""
        call(build, self._release, [index])

    @cached_property
    def _try(self) -> Kernel:
        return self._function("try_acquire", "u1", _TRY)

    @cached_property
    def _acquire(self) -> Kernel:
        return self._function("acquire", "", _ACQUIRE)

    @cached_property
    def _release(self) -> Kernel:
        return self._function("release", "", _RELEASE)

    def _function(self, name: str, result: str, body: str) -> Kernel:
        return define(f"@{self.name}_{name}(index: i64) -> ({result})", _HEAD + body, {"words": self.words})
