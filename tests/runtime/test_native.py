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


IR.declare({"snprintf": "i32 (ptr, i64, ptr, ...)", "abort": "void ()"})
IR.declare({"llvm.memset.p0.i64": "void (ptr, i8, i64, i1)", "llvm.memcpy.p0.p0.i64": "void (ptr, ptr, i64, i1)"})
IR.global_variable("calls", "i64", 5)
IR.global_variable("line", "[64 x i8]", align=64)
IR.global_text("format", b'%d "\xc3\xa4" \\ %lld\n\0')


@IR.function("i64", "i64", "i64", name="square", convention="fastcc", marks="noinline nounwind")
def multiply(f: Function, x: Value, unused: Value) -> None:
    """A function of another name, with a calling convention and attributes."""
    del unused
    f.ret(x * x)


@IR.function("ptr", "i64", exported=True)
def formatted(f: Function, number: Value) -> None:
    """Globals, a constant and a call with any number of arguments."""
    calls, line = f.symbol("calls"), f.symbol("line")
    calls.store(calls.load("i64") + 1)
    f.clear(line, 64, -1)
    square = f.call("square", number, 0, mark="fastcc")
    f.call("snprintf", line, 64, f.symbol("format"), calls.load("i64").cast("trunc", "i32"), square)
    f.ret(line)


@IR.function("i64", "ptr", "i64", exported=True)
def patient(f: Function, block: Value, count: Value) -> None:
    """Stack memory of a size that the caller chooses, a fence, and a block that ends without a return."""
    with f.unless(count.compare("ult", 1000)):
        f.call("abort")
        f.unreachable()
    copied = f.room_of(count, 64)
    f.copy(copied, block, count << 3)
    f.fence("seq_cst")
    f.assembly("nop\nnop", "~{memory}")
    f.ret(copied.at(count - 1).load("i64"))


@pytest.fixture(scope="module")
def code() -> Any:
    made = Loader().load(emit(IR.text()), ("collatz", "greatest", "which", "second", "formatted", "patient"))
    word = ctypes.c_int64
    types = {
        "collatz": (word,),
        "greatest": (ctypes.c_void_p, word),
        "which": (word, word),
        "second": (ctypes.c_void_p,),
        "formatted": (word,),
        "patient": (ctypes.c_void_p, word),
    }
    functions = {name: ctypes.CFUNCTYPE(word, *given)(made[name]) for name, given in types.items()}
    return lambda name, *args: (made, functions[name](*args))[1]


def test_globals_and_calls_of_a_library(code: Any):
    for calls, number in enumerate((3, -(2**20)), 6):
        line = code("formatted", number)
        assert line % 64 == 0
        assert ctypes.string_at(line) == f'{calls} "\u00e4" \\ {number * number}\n'.encode()


def test_stack_memory_and_assembly(code: Any):
    words = (ctypes.c_int64 * 9)(*range(9))
    assert code("patient", ctypes.addressof(words), 9) == 8


def test_attributes_and_conventions():
    text = IR.text()
    assert "define internal fastcc i64 @square(i64 %x, i64 %unused) noinline nounwind {" in text
    assert "call fastcc i64 @square(" in text
    assert "call  i32 (ptr, i64, ptr, ...) @snprintf(" in text
    assert text.count("unreachable") == 1


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
