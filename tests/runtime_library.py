"""Kernels that use the structures of the run-time library, and what must hold of what they leave."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from weft.ir.ops import Kernel
from weft.ir.parse import parse
from weft.ir.runtime_library.append_list import AppendList
from weft.ir.runtime_library.spin_locks import SpinLocks

__all__ = ["CAPACITY", "PROGRAMS", "Program"]

CAPACITY = 64
FIELDS = """\
  field @words: i32[4] tree=0 components=(0) terms=((0, 1, 4, 4)) order=(0)
  field @count: i64 tree=1 components=(0)
  field @slots: i32[CAP] tree=2 components=(0) terms=((0, 1, CAP, 4)) order=(0)
  field @data: i32[ROOM] tree=3 components=(0) terms=((0, 1, ROOM, 4)) order=(0)
  field @errors: i32 tree=4 components=(0)
  field @done: i32 tree=5 components=(0)
  field @told: i64[2] tree=6 components=(0) terms=((0, 1, 2, 8)) order=(0)
"""
Left = dict[str, Any]


@dataclass(frozen=True)
class Program:
    """A kernel over a number of iterations, the functions that it calls, and what must hold of the fields it leaves."""

    body: str
    check: Callable[[Left, int], None]
    after: str = ""

    def kernel(self, iterations: int, capacity: int = CAPACITY) -> Kernel:
        """The kernel, at level chi. `capacity`: that of the list, a power of two, at least a quarter of `iterations`
        where they append."""
        text = (
            f"kernel @k() -> () {{\n{FIELDS}  %0 = const 0 : i32\n  %1 = const 1 : i32\n  %2 = const 2 : i32\n"
            f"  %n = const {iterations} : i32\n  parallel_for begins=[%0], ends=[%n] (%i: i32) {{\n{self.body}\n  }}\n"
            f"{self.after}}}\n"
        )
        return parse(
            text.replace("ROOM - 1", str(4 * capacity - 1))
            .replace("CAP - 1", str(capacity - 1))
            .replace("ROOM", str(4 * capacity))
            .replace("CAP", str(capacity))
        )


def functions_of(kernel: Kernel) -> list[Kernel]:
    """All functions of the library, on the fields of that kernel."""
    of = {symbol.name: symbol for symbol in kernel.fields}
    return [
        *SpinLocks("locks", of["words"]).functions(),
        *AppendList("list", of["count"], of["slots"]).functions(),
    ]


# ---- locks: plain updates between acquire and release are not lost ---------------------------------------------------

_WHICH = """
    %3 = const 3 : i32
    %which = binary and %i, %3 : i32
    %lock = cast %which : i64
    %p = field_ptr @data[%which] : *i32"""
_UPDATE = """
    %v = load %p : i32
    %w = binary add %v, %1 : i32
    store %p, %w"""


def _counts(left: Left, iterations: int) -> None:
    assert list(left["data"][:4]) == [len(range(k, iterations, 4)) for k in range(4)]
    assert not left["words"].any()


_ACQUIRED = f"""{_WHICH}
    invoke function=locks_acquire, [%lock], touched=(words)
    {_UPDATE}
    invoke function=locks_release, [%lock], touched=(words)"""
_TRIED = f"""{_WHICH}
    while {{
      %mine = invoke function=locks_try_acquire, [%lock], touched=(words) : u1
      if %mine then {{
        {_UPDATE}
        invoke function=locks_release, [%lock], touched=(words)
        break
      }}
    }}"""

# ---- a list: who finds a value finds what was done before it was appended --------------------------------------------

_APPENDED = """
    %room = const ROOM - 1 : i32
    %at = binary and %i, %room : i32
    %p = field_ptr @data[%at] : *i32
    %value = binary add %i, %1 : i32
    store %p, %value, relaxed=true
    %slot = invoke function=list_append, [%value], touched=(count, slots) : i64
    %none = const -1 : i64
    %kept = binary ne %slot, %none : u1
    if %kept then {
      %d = field_ptr @done[] : *i32
      %told = atomic add %d, %1 : i32
    }
    %17 = const 17 : i32
    %far = binary mul %i, %17 : i32
    %last = const CAP - 1 : i32
    %some = binary and %far, %last : i32
    %there = cast %some : i64
    %found = invoke function=list_at, [%there], touched=(count, slots) : i32
    %is = binary ne %found, %0 : u1
    if %is then {
      %from = binary sub %found, %1 : i32
      %from_at = binary and %from, %room : i32
      %q = field_ptr @data[%from_at] : *i32
      %got = load %q : i32
      %same = binary ge %got, %found : u1
      if %same then {} orelse {
        %e = field_ptr @errors[] : *i32
        %more = atomic add %e, %1 : i32
      }
    }"""
_ASKED = """
  %t0 = field_ptr @told[%0] : *i64
  %t1 = field_ptr @told[%1] : *i64
  %size = invoke function=list_size, [], touched=(count, slots) : i64
  %lost = invoke function=list_lost, [], touched=(count, slots) : i64
  store %t0, %size
  store %t1, %lost
"""


def _appended(left: Left, iterations: int) -> None:
    assert left["errors"] == 0
    kept = min(iterations, len(left["slots"]))
    assert list(left["told"]) == [kept, iterations - kept]
    assert left["done"] == kept
    values = [int(value) for value in left["slots"] if value]
    assert len(values) == kept
    assert len(set(values)) == kept
    assert set(values) <= set(range(1, iterations + 1))


def _cleared(left: Left, iterations: int) -> None:
    del iterations
    assert list(left["told"]) == [0, 0]
    assert not left["slots"].any()
    assert left["count"] == 0


PROGRAMS: dict[str, Program] = {
    "locks": Program(_ACQUIRED, _counts),
    "locks that are tried": Program(_TRIED, _counts),
    "list": Program(_APPENDED, _appended, _ASKED),
    "cleared list": Program(_APPENDED, _cleared, "  invoke function=list_clear, [], touched=(count, slots)\n" + _ASKED),
}
