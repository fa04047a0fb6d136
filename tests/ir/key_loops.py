"""Loops over keys in memory: the set-up of tests of cells and appends that are counted before a task."""

from __future__ import annotations

__all__ = ["keyed", "keys"]


def keys(count: int, key: str) -> str:
    """A loop that stores `count` keys in `k`, and 0 and 1 by turns in `f`. The lines `key` give `%key_c` of `%key_b`,
    which is 7 times the number of the iteration."""
    return _KEYS.format(count=count, key=key)


def keyed(count: int) -> str:
    """A loop over as many keys, for `format` with its body: `%kp` and `%fp` are the addresses of its key and its
    flag."""
    return _LOOP.replace("COUNT", str(count))


_KEYS = """
%key_count = const {count} : i32
parallel_for begins=[%0], ends=[%key_count] (%key_a: i32) {{
  %key_b = binary mul %key_a, %7 : i32
  {key}
  %key_p = field_ptr @k[%key_a] : *i32
  store %key_p, %key_c
  %key_d = binary and %key_a, %1 : i32
  %key_q = field_ptr @f[%key_a] : *i32
  store %key_q, %key_d
}}"""

_LOOP = """
%count = const COUNT : i32
parallel_for begins=[%0], ends=[%count] (%i: i32) {{
  %kp = field_ptr @k[%i] : *i32
  %fp = field_ptr @f[%i] : *i32
  {}
}}"""
