"""Which launches exclude one another. (Native code, see `native.py`.)

A loop may do without locks what no other iteration of its launch can spoil (see docs/adr/0004-threads-and-atomics.md).
So two launches on the same memory run one after the other. Memory is told apart by where it begins: a hash of the
address of each tree and array chooses one of STRIPES locks, which lie on cache lines of their own (lock striping). A
launch holds those of its memory, taken in the order of their numbers, so that no two launches wait for one another.
Launches on different memory seldom meet. Each lock costs some 10 ns. If Python has a global lock, launches hardly ever
overlap, and one lock for all launches of a device is cheaper.

What the run of a kernel excludes is a word, `memory`: a bit for each slot of the context that has such an address, or

    DEVICE_LOCK    the launch lock of its device
    ALL_MEMORY     all stripes: a kernel that prints may run Python in between, and that another kernel

A thread that holds the launch lock takes nothing more: its launch is within another. The scratch memory of the pool
belongs to the holder of the launch lock, which a launch takes when it asks for scratch memory, after its stripes. If
another launch runs a loop in the pool, a launch waits for it rather than run a long loop alone.
"""

from __future__ import annotations

import sysconfig
from collections.abc import Generator
from contextlib import contextmanager

from weft.ir.artifact import Slots
from weft.ir.types import Array
from weft.runtime.guard_ir import FAULTED
from weft.runtime.native import Function, Module, Value
from weft.runtime.pool_ir import place

__all__ = ["ALL_MEMORY", "DEVICE_LOCK", "FREE_THREADED", "launch_locks_ir", "memory_of"]

DEVICE_LOCK, ALL_MEMORY = 1, 2
_NO_SLOTS = 7  # the bits of the slots that are never an address of memory
_BITS = 6
_STRIPES = 1 << _BITS
_LINE = 64  # bytes
_MIX = -7046029254386353131  # 2^64 / golden ratio


FREE_THREADED = bool(sysconfig.get_config_var("Py_GIL_DISABLED"))


def memory_of(slots: Slots, prints: bool, apart: bool = FREE_THREADED) -> int:
    """The word of a kernel. `apart`: launches on different memory do not exclude one another."""
    if not apart:
        return DEVICE_LOCK
    if prints:
        return DEVICE_LOCK | ALL_MEMORY
    arrays = (start for start, param in zip(slots.param_start, slots.params) if isinstance(param.type, Array))
    bases = [*range(slots.FIRST_TREE, slots.FIRST_TREE + slots.trees), *arrays]
    if max(bases, default=0) >= 63:  # (a word has a sign)
        return ALL_MEMORY
    return sum(1 << base for base in bases)


_IR = Module()
_IR.declare({"llvm.cttz.i64": "i64 (i64, i1)"})
_IR.global_variable("stripes", f"[{_STRIPES * _LINE} x i8]", align=_LINE)


@_IR.function("i64", "ptr", "i64")
def take_stripes(f: Function, ctx: Value, memory: Value) -> None:
    """Gives a bit for each stripe that is taken."""
    found = f.variable("i64", -1)
    with f.when((memory & ALL_MEMORY).eq(0)):
        found.set(0)
        left = f.variable("i64", memory & ~_NO_SLOTS)
        with f.loop():
            now = left.get()
            f.leave_if(now.eq(0))
            address = ctx.at(f.call("llvm.cttz.i64", now, True)).load("i64")
            found.set(found.get() | (f.constant(1) << ((address * _MIX) >> (64 - _BITS))))
            left.set(now & (now - 1))
    f.call("lock_stripes", found.get())
    f.ret(found.get())


@_IR.function("void", "i64")
def lock_stripes(f: Function, stripes: Value) -> None:
    """Wait for those stripes."""
    with _each_stripe(f, stripes) as lock:
        f.call("lock_take", lock, None)
    f.ret()


@_IR.function("void", "i64")
def give_stripes(f: Function, stripes: Value) -> None:
    """Give those stripes back."""
    with _each_stripe(f, stripes) as lock:
        f.call("lock_give", lock)
    f.ret()


@contextmanager
def _each_stripe(f: Function, stripes: Value) -> Generator[Value, None, None]:
    """The lock of each stripe whose bit is set, by their numbers."""
    left = f.variable("i64", stripes)
    with f.loop():
        now = left.get()
        f.leave_if(now.eq(0))
        yield f.symbol("stripes").behind(f.call("llvm.cttz.i64", now, True) * _LINE)
        left.set(now & (now - 1))


@_IR.function("void")
def forget_stripes(f: Function) -> None:
    """In a forked child: those who held them are not here."""
    f.clear(f.symbol("stripes"), _STRIPES * _LINE)
    f.ret()


@_IR.function("void", "ptr", "ptr", "ptr", "i64", "i64")
def run_exclusively(f: Function, kernel: Value, ctx: Value, pool: Value, memory: Value, me: Value) -> None:
    """Run on the thread `me`. The common case, a free launch lock, comes first."""
    owner, lock = place(pool, "owner"), place(pool, "launch_lock")
    with f.when(owner.load("i64", "monotonic").eq(me)):
        f.call("run_guarded", kernel, ctx)
        f.ret()
    with f.when(memory.eq(DEVICE_LOCK)):
        _, free = lock.swap_if(0, 1, "i32", "acquire monotonic")
        with f.when(free):
            owner.store(me, "monotonic")
            f.call("run_guarded", kernel, ctx)
            owner.store(0, "monotonic")
            with f.when(lock.atomic("xchg", 0, "release", "i32").eq(2)):
                f.call("thread_wake", lock, 1)
            f.ret()
    stripes, may = f.call("take_stripes", ctx, memory), f.variable("i1", True)
    with f.unless((memory & DEVICE_LOCK).eq(0)):
        may.set(f.call("take_launch_lock", pool, me, ctx))
    with f.when(may.get()):
        f.call("run_guarded", kernel, ctx)
        with f.when(owner.load("i64", "monotonic").eq(me)):
            f.call("give_launch_lock", pool)
    f.call("give_stripes", stripes)
    f.ret()


@_IR.function("void", "ptr", "ptr")
def run_guarded(f: Function, kernel: Value, ctx: Value) -> None:
    """A fault is written to the error record, unless something else was wrong before."""
    fault = f.call("guard_run", kernel, ctx)
    f.ret_if(fault.eq(0))
    record = ctx.at(1).load("ptr")
    f.ret_if(record.load("i32", "acquire").eq(2))
    record.at(1).store(fault)
    record.store(FAULTED, "release", "i32")
    f.ret()


@_IR.function("i1", "ptr", "i64", "ptr")
def take_launch_lock(f: Function, pool: Value, me: Value, ctx: Value) -> None:
    """Gives false if the launch of that context was stopped meanwhile; without a context, it waits in any case."""
    f.ret_if(~f.call("lock_take", place(pool, "launch_lock"), ctx), False, "i1")
    place(pool, "owner").store(me, "monotonic")
    f.ret(True, "i1")


@_IR.function("ptr", "i64", "i64", exported=True)
def launch_scratch(f: Function, handle: Value, bytes: Value) -> None:
    """The scratch memory of the pool, until the launch is over."""
    pool, me = handle.cast("inttoptr", "ptr"), f.call("PyThread_get_thread_ident")
    with f.unless(place(pool, "owner").load("i64", "monotonic").eq(me)):
        f.call("take_launch_lock", pool, me, None)
    f.ret(f.call("scratch", handle, bytes))


@_IR.function("void", "i64", "ptr", "ptr", "ptr", "i64", "i64", exported=True)
def launch_for(f: Function, handle: Value, body: Value, ctx: Value, box: Value, n: Value, grain: Value) -> None:
    """As `parallel_for`, but waits for the pool; a loop within one that this thread runs is run by this thread."""
    f.ret_if(n.compare("sle", 0))
    pool = handle.cast("inttoptr", "ptr")
    looper, direct = place(pool, "looper"), f.variable("i1", True)
    me = f.variable("i64", 0)
    with f.unless(n.compare("sle", grain) | place(pool, "workers").load("i32").eq(0)):
        me.set(f.call("PyThread_get_thread_ident"))
        direct.set(looper.load("i64", "monotonic").eq(me.get()))
    with f.when(direct.get()):
        f.call(body, ctx, box, f.constant(0), n, type="void")
        f.ret()
    f.ret_if(~f.call("lock_take", pool, ctx))
    looper.store(me.get(), "monotonic")
    f.call("run_loop", pool, body, ctx, box, n, grain)
    fault = place(pool, "fault").load("i64")
    looper.store(0, "monotonic")
    f.call("lock_give", pool)
    with f.unless(fault.eq(0)):
        f.call("guard_leave", fault)
    f.ret()


def launch_locks_ir() -> str:
    """LLVM IR of launches that exclude one another."""
    return _IR.text()
