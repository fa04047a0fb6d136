"""Functions that the builder writes do what the Python code says."""

from __future__ import annotations

import ctypes
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from weft.runtime.jit import Loader, emit
from weft.runtime.native import Block, Function, Module, Value

PAIR = Block("i64 first", "ptr second")
IR = Module()


@IR.function("i64", "i64", exported=True)
def collatz(f: Function, start: Value) -> None:
    """A loop with a way out in the middle, and variables."""
    n, steps = f.variable("i64", start), f.variable("i64", 0)
    with f.loop():
        now = n.get()
        f.leave_if(now.compare("sle", 1))
        steps.set(steps.get() + 1)
        with f.when((now & 1).eq(0)):
            n.set(now >> 1)
            f.again()
        n.set(now * 3 + 1)
    f.ret(steps.get())


@IR.function("i64", "ptr", "i64", exported=True)
def greatest(f: Function, numbers: Value, count: Value) -> None:
    """Nested control flow in a counted loop."""
    f.ret_if(count.compare("sle", 0), -1)
    found = f.variable("i64", numbers.load("i64"))
    with f.count(count, 1) as k:
        now = numbers.at(k).load("i64")
        with f.unless(now.compare("sle", found.get())):
            found.set(now)
    f.ret(found.get())


@IR.function("i64", "i64", "i64", exported=True)
def which(f: Function, kind: Value, x: Value) -> None:
    """A dispatch, some of whose cases return."""
    made = f.variable("i64", -1)
    f.dispatch(kind, {1: lambda: f.ret(x + 1), 2: lambda: made.set(x.signed_shift(1)), 5: lambda: made.set(~x)})
    f.ret(made.get())


@IR.function("i64", "ptr", exported=True)
def second(f: Function, block: Value) -> None:
    """Words of blocks by name, and a call."""
    first, inner = PAIR.read(block, "first", "second")
    with f.once():
        f.leave_if(inner.eq(0))
        f.ret(f.call("collatz", first) + inner.load("i64"))
    f.ret(first)


@pytest.fixture(scope="module")
def code() -> Any:
    made = Loader().load(emit(IR.text()), ("collatz", "greatest", "which", "second"))
    word = ctypes.c_int64
    types = {
        "collatz": (word,),
        "greatest": (ctypes.c_void_p, word),
        "which": (word, word),
        "second": (ctypes.c_void_p,),
    }
    functions = {name: ctypes.CFUNCTYPE(word, *given)(made[name]) for name, given in types.items()}
    return lambda name, *args: (made, functions[name](*args))[1]


@pytest.mark.parametrize(("start", "steps"), [(1, 0), (2, 1), (6, 8), (27, 111)])
def test_loops(code: Any, start: int, steps: int):
    assert code("collatz", start) == steps


@given(st.lists(st.integers(-(2**63), 2**63 - 1), max_size=6))
def test_counted_loops(code: Any, numbers: list[int]):
    words = (ctypes.c_int64 * 6)(*numbers)
    assert code("greatest", ctypes.addressof(words), len(numbers)) == max(numbers, default=-1)


@pytest.mark.parametrize(("kind", "result"), [(1, -6), (2, -4), (5, 6), (0, -1), (9, -1)])
def test_dispatch(code: Any, kind: int, result: int):
    assert code("which", kind, -7) == result


def test_blocks(code: Any):
    inner = ctypes.c_int64(100)
    for address, result in ((0, 6), (ctypes.addressof(inner), 108)):
        words = PAIR.words(first=6, second=address)
        block = (ctypes.c_int64 * len(PAIR))(*words)
        assert code("second", ctypes.addressof(block)) == result
    with pytest.raises(AssertionError):
        PAIR.words(first=1)
