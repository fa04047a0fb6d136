"""Locks, and looking meanwhile whether the launch that waits was interrupted. (Native code, see `native.py`.)"""

from __future__ import annotations

from weft.ir.artifact import SERVICES
from weft.runtime import system
from weft.runtime.native import Function, Module, Value

__all__ = ["INTERVAL", "LOCKS", "PAUSE"]

INTERVAL = 40  # milliseconds between two looks whether a launch was interrupted (see `interrupts.py`)
PAUSE = f'call void asm sideeffect "{system.PAUSE}", "~{{memory}}"()' if system.PAUSE else "fence seq_cst"
_SPINS = 100  # before a thread that wants a lock sleeps

LOCKS = Module()


@LOCKS.function("i1", "ptr", "ptr")
def lock_take(f: Function, lock: Value, ctx: Value) -> None:
    """A lock is a word: 0 free, 1 taken, 2 taken and wanted. Gives false if the launch of that context was stopped
    meanwhile, and true if the lock was taken, as it is in the end without a context."""
    with f.count(_SPINS + 1):
        _, free = lock.swap_if(0, 1, "i32", "acquire monotonic")
        f.ret_if(free, True, "i1")
        f.do(PAUSE)
    with f.loop():
        f.ret_if(lock.atomic("xchg", 2, "acquire", "i32").eq(0), True, "i1")
        with f.when(ctx.eq(0)):
            f.call("thread_wait", lock, 2, 0)
            f.again()
        f.call("thread_wait", lock, 2, INTERVAL)
        f.ret_if(f.call("stopped", ctx), False, "i1")


@LOCKS.function("i1", "ptr")
def stopped(f: Function, ctx: Value) -> None:
    """Whether the launch of that context shall end: an error was met, or an interrupt."""
    record = ctx.at(1).load("ptr")
    f.ret_if(record.load("i64", "monotonic").eq(0), False, "i1")
    poll = ctx.load("ptr").at(SERVICES.index("poll")).load("ptr")
    f.ret(f.call(poll, record, type="zeroext i1", mark="preserve_allcc"))


@LOCKS.function("void", "ptr")
def lock_give(f: Function, lock: Value) -> None:
    """Give a lock back, and wake one that waits."""
    with f.when(lock.atomic("xchg", 0, "release", "i32").eq(2)):
        f.call("thread_wake", lock, 1)
    f.ret()
