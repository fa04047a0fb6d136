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

from weft.ir.artifact import ERROR_WORDS
from weft.runtime.locks import INTERVAL
from weft.runtime.native import known

if TYPE_CHECKING:
    from collections.abc import Callable

    from weft.runtime.jit import Code

__all__ = ["FUNCTIONS", "INTERRUPTED", "INTERRUPTS_IR", "raiser", "watch_main_thread"]

INTERRUPTED = 6  # the state in an error record
_PATIENCE = 25  # intervals without a launch after which the watcher sleeps

_STATE = f"""
@main.ident = internal global i64 0
@main.state = internal global ptr null    ; Python's state of the main thread
@main.watched = internal global ptr null  ; the same while the watcher is awake
@main.record = internal global [{ERROR_WORDS} x i64] zeroinitializer, align 64
@launches = internal global i64 0         ; odd: the main thread is in one
@raised = internal global [3 x ptr] zeroinitializer  ; the exception of the handler
@watcher.awake = internal global i32 0
@watcher.started = internal global i32 0
@never = internal global i32 0
"""

_WATCHER = f"""
; Before a launch that is not watched: whether it is the main thread's, which then is watched. `state` is the thread's.
define internal i1 @watch_begin(ptr %state) {{
entry:
  %me = call i64 @PyThread_get_thread_ident()
  %main = load atomic i64, ptr @main.ident monotonic, align 8
  %is.main = icmp eq i64 %me, %main
  br i1 %is.main, label %begin, label %other
other:
  ret i1 false
begin:
  store atomic ptr %state, ptr @main.state monotonic, align 8
  store atomic ptr %state, ptr @main.watched seq_cst, align 8
  store atomic i32 1, ptr @watcher.awake seq_cst, align 4
  %started = load i32, ptr @watcher.started
  %fresh = icmp eq i32 %started, 0
  br i1 %fresh, label %start, label %wake
start:
  %handle = call i64 @thread_start(ptr @watch, ptr null)
  %well = icmp ne i64 %handle, 0
  %flag = zext i1 %well to i32
  store i32 %flag, ptr @watcher.started
  ret i1 true
wake:
  call void @thread_wake(ptr @watcher.awake, i32 1)
  ret i1 true
}}

define internal ptr @watch(ptr %nothing) {{
entry:
  br label %nap
nap:
  %seen = phi i64 [ 0, %entry ], [ %now, %tell ], [ %now, %quiet ], [ %later, %still ], [ %now, %rested ]
  %idle = phi i32 [ 0, %entry ], [ 0, %tell ], [ %idle.next, %quiet ], [ 0, %still ], [ 0, %rested ]
  call void @thread_wait(ptr @never, i32 0, i32 {INTERVAL})
  %now = load atomic i64, ptr @launches monotonic, align 8
  %same = icmp eq i64 %now, %seen
  %inside = trunc i64 %now to i1
  %lasts = and i1 %same, %inside
  br i1 %lasts, label %tell, label %look
tell:
  store atomic i32 1, ptr getelementptr (i8, ptr @main.record, i64 4) monotonic, align 4
  br label %nap
look:
  %more = add i32 %idle, 1
  %idle.next = select i1 %same, i32 %more, i32 0
  %long = icmp ugt i32 %idle.next, {_PATIENCE}
  br i1 %long, label %rest, label %quiet
quiet:
  br label %nap
rest:
  store atomic i32 0, ptr @watcher.awake seq_cst, align 4
  store atomic ptr null, ptr @main.watched seq_cst, align 8
  call void @thread_wait(ptr @never, i32 0, i32 {INTERVAL})
  %later = load atomic i64, ptr @launches seq_cst, align 8
  %none = icmp eq i64 %later, %now
  br i1 %none, label %sleep, label %still
still:  ; a launch began while the watcher went to sleep
  %main = load atomic ptr, ptr @main.state monotonic, align 8
  store atomic i32 1, ptr @watcher.awake seq_cst, align 4
  store atomic ptr %main, ptr @main.watched seq_cst, align 8
  br label %nap
sleep:
  call void @thread_wait(ptr @watcher.awake, i32 0, i32 0)
  %awake = load atomic i32, ptr @watcher.awake seq_cst, align 4
  %rested.enough = icmp ne i32 %awake, 0
  br i1 %rested.enough, label %rested, label %sleep
rested:
  br label %nap
}}
"""

_POLL = f"""
; Whether the launch with that record shall end. In the main thread this runs Python's handlers of signals. It keeps all
; registers, the vectors too: loops have theirs in them.
define preserve_allcc zeroext i1 @look_for_signals(ptr %record) {{
entry:
  %state = load atomic i32, ptr %record acquire, align 4
  %sound = icmp eq i32 %state, 0
  br i1 %sound, label %who, label %stop
stop:
  ret i1 true
who:
  %me = call i64 @PyThread_get_thread_ident()
  %main = load atomic i64, ptr @main.ident monotonic, align 8
  %is.main = icmp eq i64 %me, %main
  br i1 %is.main, label %ask, label %go
go:
  ret i1 false
ask:
  %told.at = getelementptr i8, ptr %record, i64 4
  store atomic i32 0, ptr %told.at monotonic, align 4
  %pause = call ptr @guard_pause()  ; Python is not a kernel
  %thread = load atomic ptr, ptr @main.state monotonic, align 8
  call void @PyEval_RestoreThread(ptr %thread)
  %failed = call i32 @PyErr_CheckSignals()
  %raised = icmp ne i32 %failed, 0
  br i1 %raised, label %keep, label %leave
keep:
  call void @PyErr_Fetch(ptr @raised, ptr getelementptr (ptr, ptr @raised, i64 1),
                         ptr getelementptr (ptr, ptr @raised, i64 2))
  br label %leave
leave:
  %again = call ptr @PyEval_SaveThread()
  call void @guard_resume(ptr %pause)
  br i1 %raised, label %end, label %go
end:
  %pair = cmpxchg ptr %record, i32 0, i32 {INTERRUPTED} acq_rel acquire
  ret i1 true
}}

; Raises what a handler raised; gives null.
define ptr @raise_interrupt() {{
  %type = load ptr, ptr @raised
  %value = load ptr, ptr getelementptr (ptr, ptr @raised, i64 1)
  %trace = load ptr, ptr getelementptr (ptr, ptr @raised, i64 2)
  store ptr null, ptr @raised
  call void @PyErr_Restore(ptr %type, ptr %value, ptr %trace)
  ret ptr null
}}

; After a watched launch that was not sound: its record to where it would be otherwise. Gives the state.
define internal i64 @end_watched(ptr %record) {{
entry:
  %raised = load ptr, ptr @raised
  %sound = icmp eq ptr %raised, null
  %state32 = load i32, ptr @main.record
  %state64 = zext i32 %state32 to i64
  %state = select i1 %sound, i64 %state64, i64 {INTERRUPTED}
  call void @llvm.memcpy.p0.p0.i64(ptr %record, ptr @main.record, i64 {8 * ERROR_WORDS}, i1 false)
  store i64 %state, ptr %record
  ret i64 %state
}}
"""

_LIFE = """
; Which thread is the main one. In a forked child, that is the one that forked, and the watcher is not here.
define void @watch_main(i64 %ident) {
entry:
  %before = load i64, ptr @main.ident
  %same = icmp eq i64 %before, %ident
  store atomic i64 %ident, ptr @main.ident monotonic, align 8
  store ptr null, ptr @main.watched
  store i32 0, ptr @watcher.awake
  store i32 0, ptr @watcher.started
  br i1 %same, label %done, label %other
other:
  store i64 0, ptr @launches
  br label %done
done:
  ret void
}
"""

INTERRUPTS_IR = _STATE + _WATCHER + _POLL + _LIFE
known({"watch_begin": "i1 (ptr)", "end_watched": "i64 (ptr)", "raise_interrupt": "ptr ()"})


FUNCTIONS = ("look_for_signals", "raise_interrupt", "watch_main")  # the functions that the code must export


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
