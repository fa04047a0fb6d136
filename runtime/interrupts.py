"""Run Python's signal handlers, such as that of Ctrl-C, while a kernel runs on the CPU.

Python runs signal handlers in the main thread, between two bytecode instructions. A kernel has no such instructions. A
kernel that the main thread launched therefore lets Python check for signals every INTERVAL milliseconds, and ends if a
handler raises an exception:

    watcher   a thread. If a launch of the main thread takes long, it sets a flag in the launch's error record (the
              high half of the first word)
    kernel    loads that word where a load costs nothing (`codegen/llvm/interrupts.py`). If it is not 0, it calls
              `poll`. The pool does so between the chunks of a loop, and threads that wait for the pool or for a
              lock do so too
    poll      in the main thread, takes the GIL, runs the handlers, and returns whether one raised; in threads of the
              pool, returns whether the launch was ended
    held      a state of the record: the launch changes something in several tasks, and must not end in between. The
              flag stays, so that the handlers run at the next test after it
    launch    raises the exception when all threads have left the kernel

Weft calls Python's own check and installs no handler. A program can set its handlers at any time, by `signal.signal`,
Jupyter or asyncio, and `_thread.interrupt_main` works too. Launches of other threads continue, as Python code in other
threads does.

The error record of a launch by the main thread is at a fixed place, where the watcher finds it. (A launch within
another one, by a kernel that prints, has its own record and is not watched.) The watcher sleeps if the main thread
launches nothing for a while; the next launch wakes it.
"""

from __future__ import annotations

import ctypes
import os
import threading
from typing import TYPE_CHECKING, Any

from weft.ir.artifact import ERROR_WORDS, HELD
from weft.runtime.locks import INTERVAL
from weft.runtime.native import Function, Module, Value

if TYPE_CHECKING:
    from collections.abc import Callable

    from weft.runtime.jit import Code

__all__ = ["FUNCTIONS", "INTERRUPTED", "INTERRUPTS", "raiser", "watch_main_thread"]

INTERRUPTED = 6  # the state in an error record
_PATIENCE = 25  # intervals without a launch after which the watcher sleeps

FUNCTIONS = ("look_for_signals", "raise_interrupt", "watch_main")  # the functions that the code must export

INTERRUPTS = Module()
INTERRUPTS.global_variable("main.ident", "i64")
INTERRUPTS.global_variable("main.state", "ptr")  # Python's state of the main thread
INTERRUPTS.global_variable("main.watched", "ptr")  # the same while the watcher is awake
INTERRUPTS.global_variable("main.record", f"[{ERROR_WORDS} x i64]", align=64)
INTERRUPTS.global_variable("launches", "i64")  # odd while the main thread is in one
INTERRUPTS.global_variable("raised", "[3 x ptr]")  # the exception of the handler: its type, value and traceback
INTERRUPTS.global_variable("watcher.awake", "i32")
INTERRUPTS.global_variable("watcher.started", "i32")
INTERRUPTS.global_variable("never", "i32")  # a word that never changes
_FLAG = 4  # the offset of the flag in an error record, in bytes

# ---- the watcher -----------------------------------------------------------------------------------------------------


@INTERRUPTS.function("i1", "ptr")
def watch_begin(f: Function, state: Value) -> None:
    """Before a launch that is not watched, by the thread with that state: start or wake the watcher if it is the main
    thread. Returns whether it is."""
    me, awake, started = f.call("PyThread_get_thread_ident"), f.symbol("watcher.awake"), f.symbol("watcher.started")
    with f.unless(me.eq(f.symbol("main.ident").load("i64", "monotonic"))):
        f.ret(False, "i1")
    f.symbol("main.state").store(state, "monotonic")
    f.symbol("main.watched").store(state, "seq_cst")
    awake.store(1, "seq_cst", "i32")
    with f.when(started.load("i32").eq(0)):
        handle = f.call("thread_start", f.symbol("watch"), None)
        started.store(handle.ne(0).cast("zext", "i32"))
        f.ret(True, "i1")
    f.call("thread_wake", awake, 1)
    f.ret(True, "i1")


@INTERRUPTS.function("ptr", "ptr")
def watch(f: Function, argument: Value) -> None:
    """The watcher, which never ends: set the flag of a launch that was running at the last look, too."""
    del argument
    launches, awake, watched, never = map(f.symbol, ("launches", "watcher.awake", "main.watched", "never"))
    seen, idle = f.variable("i64", 0), f.variable("i32", 0)
    with f.loop():
        f.call("thread_wait", never, 0, INTERVAL)
        now = launches.load("i64", "monotonic")
        same, inside = now.eq(seen.get()), now.cast("trunc", "i1")
        seen.set(now)
        with f.when(same & inside):
            f.symbol("main.record").behind(_FLAG).store(1, "monotonic", "i32")
            idle.set(0)
            f.again()
        idle.set(same.select(idle.get() + 1, f.constant(0, "i32")))
        with f.unless(idle.get().compare("ugt", _PATIENCE)):
            f.again()
        idle.set(0)
        awake.store(0, "seq_cst", "i32")
        watched.store(0, "seq_cst", "ptr")
        f.call("thread_wait", never, 0, INTERVAL)
        later = launches.load("i64", "seq_cst")
        with f.unless(later.eq(now)):  # a launch began before it saw that the watcher sleeps
            state = f.symbol("main.state").load("ptr", "monotonic")
            awake.store(1, "seq_cst", "i32")
            watched.store(state, "seq_cst")
            seen.set(later)
            f.again()
        with f.loop():
            f.call("thread_wait", awake, 0, 0)
            f.leave_if(awake.load("i32", "seq_cst").ne(0))


# ---- kernels and launches --------------------------------------------------------------------------------------------


@INTERRUPTS.function("zeroext i1", "ptr", exported=True, convention="preserve_allcc")
def look_for_signals(f: Function, record: Value) -> None:
    """Return whether the launch with that record must end. In the main thread, this runs Python's signal handlers. It
    preserves all registers, the vectors too, because loops hold their values in them."""
    state = record.load("i32", "acquire")
    f.ret_if(state.ne(0), state.ne(HELD), "i1")
    me = f.call("PyThread_get_thread_ident")
    with f.unless(me.eq(f.symbol("main.ident").load("i64", "monotonic"))):
        f.ret(False, "i1")
    record.behind(_FLAG).store(0, "monotonic", "i32")
    pause = f.call("guard_pause")  # Python is not a kernel
    f.call("PyEval_RestoreThread", f.symbol("main.state").load("ptr", "monotonic"))
    raised = f.call("PyErr_CheckSignals").ne(0)
    with f.when(raised):
        f.call("PyErr_Fetch", *(f.symbol("raised").at(k, "ptr") for k in range(3)))
    f.call("PyEval_SaveThread")
    f.call("guard_resume", pause)
    with f.unless(raised):
        f.ret(False, "i1")
    record.swap_if(0, INTERRUPTED, "i32", "acq_rel acquire")
    f.ret(True, "i1")


@INTERRUPTS.function("ptr", exported=True)
def raise_interrupt(f: Function) -> None:
    """Raise the exception of the handler. Returns null."""
    exception = f.symbol("raised")
    type, value, trace = (exception.at(k, "ptr").load("ptr") for k in range(3))
    exception.store(0, type="ptr")
    f.call("PyErr_Restore", type, value, trace)
    f.ret(0, "ptr")


@INTERRUPTS.function("i64", "ptr")
def end_watched(f: Function, record: Value) -> None:
    """After a watched launch that failed or was ended: copy its error record to where a launch that is not watched has
    it. Returns the state."""
    fixed = f.symbol("main.record")
    sound = f.symbol("raised").load("ptr").eq(0)
    state = sound.select(fixed.load("i32").cast("zext", "i64"), f.constant(INTERRUPTED))
    f.copy(record, fixed, 8 * ERROR_WORDS)
    record.store(state)
    f.ret(state)


# ---- threads and forks -----------------------------------------------------------------------------------------------


@INTERRUPTS.function("void", "i64", exported=True)
def watch_main(f: Function, ident: Value) -> None:
    """Name the main thread. In a forked child, that is the thread that forked, and there is no watcher."""
    main = f.symbol("main.ident")
    same = main.load("i64").eq(ident)
    main.store(ident, "monotonic")
    f.symbol("main.watched").store(0, type="ptr")
    f.symbol("watcher.awake").store(0, type="i32")
    f.symbol("watcher.started").store(0, type="i32")
    with f.unless(same):
        f.symbol("launches").store(0)
    f.ret()


def watch_main_thread(code: Code) -> None:
    """Let that native code watch the launches of the main thread."""
    watch: Any = ctypes.CFUNCTYPE(None, ctypes.c_int64)(code["watch_main"])
    watch(threading.main_thread().ident)
    if hasattr(os, "register_at_fork"):
        # In a child, the thread that forked is the main thread, but Python may not have recorded that yet.
        os.register_at_fork(after_in_child=lambda: watch(threading.get_ident()))


def raiser(code: Code) -> Callable[[], Any]:
    """Return a function that raises the exception of a signal handler that ran during a launch."""
    function: Callable[[], Any] = ctypes.PYFUNCTYPE(ctypes.py_object)(code["raise_interrupt"])
    return function
