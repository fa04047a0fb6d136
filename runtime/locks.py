"""Native locks. A waiting thread also checks whether its launch was interrupted. (Native code, see `native.py`.)"""

from __future__ import annotations

from weft.ir.artifact import SERVICES
from weft.runtime import system
from weft.runtime.native import Function, Module, Value

__all__ = ["INTERVAL", "LOCKS", "pause"]

INTERVAL = 40  # milliseconds between two checks whether a launch was interrupted (see `interrupts.py`)
_SPINS = 100  # spins of a waiting thread before it sleeps

LOCKS = Module()


def pause(f: Function) -> None:
    """Write what a spinning thread does between two looks."""
    if system.PAUSE:
        f.assembly(system.PAUSE, "~{memory}")
    else:
        f.fence("seq_cst")


@LOCKS.function("i1", "ptr", "ptr")
def lock_take(f: Function, lock: Value, ctx: Value) -> None:
    """Take a lock. A lock is a word: 0 free, 1 taken, 2 taken and waited for. Returns true if the lock was taken, and
    false if the launch of that context was stopped meanwhile. Without a context, it waits until the lock is taken."""
    with f.count(_SPINS + 1):
        _, free = lock.swap_if(0, 1, "i32", "acquire monotonic")
        f.ret_if(free, True, "i1")
        pause(f)
    with f.loop():
        f.ret_if(lock.atomic("xchg", 2, "acquire", "i32").eq(0), True, "i1")
        with f.when(ctx.eq(0)):
            f.call("thread_wait", lock, 2, 0)
            f.again()
        f.call("thread_wait", lock, 2, INTERVAL)
        f.ret_if(f.call("stopped", ctx), False, "i1")


@LOCKS.function("i1", "ptr")
def stopped(f: Function, ctx: Value) -> None:
    """Return whether the launch of that context must end, because of an error or an interrupt."""
    record = ctx.at(1).load("ptr")
    f.ret_if(record.load("i64", "monotonic").eq(0), False, "i1")
    poll = ctx.load("ptr").at(SERVICES.index("poll")).load("ptr")
    f.ret(f.call(poll, record, type="zeroext i1", mark="preserve_allcc"))


@LOCKS.function("void", "ptr")
def lock_give(f: Function, lock: Value) -> None:
    """Release a lock and wake one waiting thread."""
    with f.when(lock.atomic("xchg", 0, "release", "i32").eq(2)):
        f.call("thread_wake", lock, 1)
    f.ret()
