"""Which threads are inside of native calls. `epochs.py` has the prose. (Native code, see `native.py`.)

A thread counts its calls in one of PLACES words, which lie on cache lines of their own; a hash of the thread's number
chooses the word. Its low bits say how many calls are under way, the others are the epoch: how often there were none
any more. A call costs two locked instructions on a line that hardly any other thread touches.
"""

from __future__ import annotations

from weft.runtime.native import Function, Module, Value

__all__ = ["COUNT", "PLACES", "epochs_ir", "place_of"]

_BITS = 6
PLACES = 1 << _BITS
COUNT = (1 << 16) - 1
_LINE = 8  # words
_MIX = -7046029254386353131  # 2^64 / golden ratio: neighbouring numbers go far apart
_WORD = (1 << 64) - 1


def place_of(thread: int) -> int:
    """The number of the word in which a thread counts its calls."""
    return ((thread * _MIX) & _WORD) >> (64 - _BITS)


_IR = Module()
_IR.global_variable("calls", f"[{PLACES * _LINE} x i64]", align=64)
_IR.global_variable("sweeper", "ptr")


@_IR.function("ptr")
def call_begin(f: Function) -> None:
    """Gives the word that `call_end` takes."""
    number = (f.call("PyThread_get_thread_ident") * _MIX) >> (64 - _BITS)
    word = f.symbol("calls").at(number * _LINE)
    word.atomic("add", 1, "seq_cst")
    f.ret(word)


@_IR.function("ptr", "ptr", "ptr")
def call_end(f: Function, word: Value, result: Value) -> None:
    """Gives the result; or null, with an exception set, if Ctrl-C came during the sweep. (A child that was forked
    during a call finds that there is none.)"""
    old = f.variable("i64", word.load("i64", "monotonic"))
    with f.loop():
        count = old.get() & COUNT
        f.leave_if(count.eq(0))
        step = count.eq(1).select(f.constant(COUNT), f.constant(-1))  # the last one advances the epoch
        found, swapped = word.swap_if(old.get(), old.get() + step, "i64", "seq_cst seq_cst")
        f.leave_if(swapped)
        old.set(found)
    sweep = f.symbol("sweeper").load("ptr", "seq_cst")
    f.ret_if(sweep.eq(0), result)
    f.ret(f.call("call_sweep", sweep, result))


@_IR.function("ptr", "ptr", "ptr")
def call_sweep(f: Function, sweep: Value, result: Value) -> None:
    """Call the sweeper. An exception that the call raised stays raised."""
    type, value, trace = (f.variable("ptr", 0) for _ in range(3))
    f.call("PyErr_Fetch", type.address, value.address, trace.address)
    swept = f.call("PyObject_VectorcallDict", sweep, None, 0, None)
    with f.when(swept.eq(0) & type.get().eq(0)):
        with f.when(result.compare("ugt", f.constant(COUNT, "ptr"))):  # an object, and no code
            f.call("Py_DecRef", result)
        f.ret(0, "ptr")
    f.call("PyErr_Restore", type.get(), value.get(), trace.get())
    with f.unless(swept.eq(0)):
        f.call("Py_DecRef", swept)
    f.ret(result)


@_IR.function("void", "ptr", exported=True)
def calls_now(f: Function, to: Value) -> None:
    """All words, as they are after everything that this thread did."""
    f.fence("seq_cst")
    with f.count(PLACES) as k:
        to.at(k).store(f.symbol("calls").at(k * _LINE).load("i64", "seq_cst"))
    f.ret()


@_IR.function("void", "ptr", exported=True)
def calls_sweeper(f: Function, function: Value) -> None:
    """What is called at the end of each call from now on; null: nothing."""
    f.symbol("sweeper").store(function, "seq_cst")
    f.fence("seq_cst")
    f.ret()


@_IR.function("void", exported=True)
def calls_forget(f: Function) -> None:
    """In a forked child: no other thread is here."""
    f.clear(f.symbol("calls"), 8 * PLACES * _LINE)
    f.call("forget_stripes")
    f.ret()


def epochs_ir() -> str:
    """LLVM IR of epochs."""
    return _IR.text()
