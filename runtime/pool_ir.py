"""The thread pool itself. `pool.py` has the prose: the protocol and the layout of the pool's memory. (Native code, see
`native.py`.)"""

from __future__ import annotations

from weft.runtime import system
from weft.runtime.guard_ir import guard_ir
from weft.runtime.locks import INTERVAL, LOCKS, pause
from weft.runtime.native import Function, Module, Value

__all__ = ["PLACES", "SCRATCH_GUARD", "THREAD", "THREAD_BYTES", "place", "pool_ir"]

SCRATCH_GUARD = 16 << 20  # bytes without access on either side of scratch memory
_SCRATCH_UNIT = 64 << 10  # what scratch memory is a multiple of: whole pages on every system

# The layout of the pool's memory, in bytes. `pool.py` describes what each part is for.
PLACES: dict[str, int] = {
    "lock": 0,
    "workers": 4,
    "started": 8,
    "stopping": 12,
    "spin": 16,
    "state": 64,
    "epoch": 68,  # the upper half of the state
    "sleepers": 128,
    "launch_lock": 160,
    "owner": 168,
    "looper": 176,
    "body": 192,
    "ctx": 200,
    "box": 208,
    "n": 216,
    "grain": 224,
    "scratch": 232,
    "scratch_size": 240,
    "fault": 248,
    "share": 256,
    "longer": 264,
    "shares": 272,
    "threads": 320,
}
THREAD_BYTES = 64  # bytes of the record of a thread, a cache line
THREAD: dict[str, int] = {"next": 0, "number": 8, "pool": 16, "handle": 24}  # the layout of a record


def place(pool: Value, name: str) -> Value:
    """The address of a place in the pool's memory."""
    return pool.behind(PLACES[name])


def _thread(pool: Value, number: Value) -> Value:
    """The record of a thread."""
    return place(pool, "threads").behind(number * THREAD_BYTES)


_OPEN = 1 << 31
_WAITING = 1 << 30
_COUNT = _WAITING - 1

_IR = Module()
_IR.declare(
    {
        "llvm.memset.p0.i64": "void (ptr, i8, i64, i1)",
        "llvm.memcpy.p0.p0.i64": "void (ptr, ptr, i64, i1)",
        "llvm.smin.i64": "i64 (i64, i64)",
        "llvm.smax.i64": "i64 (i64, i64)",
    }
)


@_IR.function("void", "i64", "ptr", "ptr", "ptr", "i64", "i64", exported=True)
def parallel_for(f: Function, handle: Value, body: Value, ctx: Value, box: Value, n: Value, grain: Value) -> None:
    """Without a thread to wait for: if the pool is busy, the caller runs the loop by itself."""
    f.ret_if(n.compare("sle", 0))
    pool = handle.cast("inttoptr", "ptr")
    with f.unless(n.compare("sle", grain) | place(pool, "workers").load("i32").eq(0)):
        _, mine = pool.swap_if(0, 1, "i32", "acquire monotonic")
        with f.when(mine):
            f.call("run_loop", pool, body, ctx, box, n, grain)
            f.call("lock_give", pool)
            f.ret()
    f.call(body, ctx, box, f.constant(0), n, type="void")
    f.ret()


@_IR.function("void", "ptr", "ptr", "ptr", "ptr", "i64", "i64")
def run_loop(f: Function, pool: Value, body: Value, ctx: Value, box: Value, n: Value, grain: Value) -> None:
    """Run by the thread that holds the pool's lock."""
    with f.when(place(pool, "started").load("i32").eq(0)):
        pause = f.call("guard_pause")
        f.call("start_workers", pool)
        f.call("guard_resume", pause)
    workers = place(pool, "workers").load("i32").cast("zext", "i64")
    chosen = f.call("llvm.smax.i64", n.op("sdiv", workers * 16), 1)
    chunk = grain.compare("sgt", 0).select(grain, chosen)
    shares = f.call("llvm.smin.i64", workers + 1, (n - 1).op("sdiv", chunk) + 1)
    share, longer = n.op("sdiv", shares), n.op("srem", shares)
    loop = {"body": body, "ctx": ctx, "box": box, "n": n, "grain": chunk}
    for name, value in {**loop, "share": share, "longer": longer, "shares": shares}.items():
        place(pool, name).store(value)
    place(pool, "fault").store(0)
    with f.count(shares) as k:
        _thread(pool, k).store(f.call("begin_of", pool, k), "monotonic")
    f.call("publish", pool, _OPEN)
    f.call("run_chunks", _thread(pool, f.constant(0)))
    f.call("close_and_join", pool, ctx)
    f.ret()


@_IR.function("i64", "ptr", "i64")
def begin_of(f: Function, pool: Value, number: Value) -> None:
    """Where a share begins, and the one before it ends. The first shares are longer by 1. Long shares consist of whole
    cache lines."""
    n, share, longer = (place(pool, name).load("i64") for name in ("n", "share", "longer"))
    begin = number * share + f.call("llvm.smin.i64", number, longer)
    f.ret(f.call("llvm.smin.i64", _whole_lines(begin, share), n))


def _whole_lines(number: Value, size: Value) -> Value:
    """A number of iterations, rounded up to whole cache lines in chunks of that size, if that is long."""
    return size.compare("sge", 1024).select((number + 63) & -64, number)


@_IR.function("void", "ptr", "i64")
def publish(f: Function, pool: Value, flags: Value) -> None:
    """The next epoch begins with `flags`; two sleepers are woken, they wake others."""
    state = place(pool, "state")
    epoch = (state.load("i64", "monotonic") >> 32) + 1
    state.store((epoch << 32) | flags, "seq_cst")
    with f.unless(place(pool, "sleepers").load("i32", "seq_cst").eq(0)):
        f.call("thread_wake", place(pool, "epoch"), 2)
    f.ret()


@_IR.function("void", "ptr", "ptr")
def close_and_join(f: Function, pool: Value, ctx: Value) -> None:
    """Nobody may enter any more; wait for those inside: spin, then sleep on the low word of the state, and look whether
    the launch was interrupted: those inside cannot tell."""
    state = place(pool, "state")
    spin = place(pool, "spin").load("i64")
    state.atomic("and", ~_OPEN, "acq_rel")
    with f.count(spin + 1):
        f.ret_if((state.load("i64", "acquire") & _COUNT).eq(0))
        pause(f)
    with f.loop():
        before = state.atomic("or", _WAITING, "acq_rel")
        f.ret_if((before & _COUNT).eq(0))
        f.call("thread_wait", state, (before | _WAITING).cast("trunc", "i32"), INTERVAL)
        f.call("stopped", ctx)


@_IR.function("void", "ptr")
def take_chunks(f: Function, thread: Value) -> None:
    """Take the chunks of the own share, and then those that are left of other shares."""
    pool, number = thread.behind(THREAD["pool"]).load("ptr"), thread.behind(THREAD["number"]).load("i64")
    shares = place(pool, "shares").load("i64")
    with f.count(number + shares, begin=number) as k:
        more = f.call("take_share", pool, k.op("urem", shares))
        f.leave_if(~more)
    f.ret()


@_IR.function("i1", "ptr", "i64")
def take_share(f: Function, pool: Value, number: Value) -> None:
    """Take chunk after chunk of a share until none is left: a quarter of what is left, `grain` at least. Memory is read
    in long runs, and the last chunks are short. False if the loop ends early."""
    body, ctx, box = (place(pool, name).load("ptr") for name in ("body", "ctx", "box"))
    grain, next, limit = place(pool, "grain").load("i64"), _thread(pool, number), f.call("begin_of", pool, number + 1)
    with f.loop():
        begin, end = f.variable("i64", next.load("i64", "monotonic")), f.variable("i64", 0)
        with f.loop():
            left = limit - begin.get()
            f.ret_if(left.compare("sle", 0), True, "i1")
            least = f.call("llvm.smax.i64", left >> 2, grain)
            size = _whole_lines(least, least)
            end.set(begin.get() + f.call("llvm.smin.i64", size, left))
            found, taken = next.swap_if(begin.get(), end.get(), "i64", "monotonic monotonic")
            f.leave_if(taken)
            begin.set(found)
        f.leave_if(place(pool, "fault").load("i64", "monotonic").ne(0))
        f.leave_if(f.call("stopped", ctx))
        f.call(body, ctx, box, begin.get(), end.get(), type="void")
    f.ret(False, "i1")


@_IR.function("void", "ptr")
def run_chunks(f: Function, thread: Value) -> None:
    """A thread that faults leaves the loop: the fault is recorded, and no thread takes another chunk."""
    fault = f.call("guard_run", f.symbol("take_chunks"), thread)
    f.ret_if(fault.eq(0))
    place(thread.behind(THREAD["pool"]).load("ptr"), "fault").swap_if(0, fault, "i64", "monotonic monotonic")
    f.ret()


@_IR.function("ptr", "ptr")
def worker(f: Function, thread: Value) -> None:
    """What a thread of the pool runs: wait for an epoch, enter, take chunks, leave."""
    pool = thread.behind(THREAD["pool"]).load("ptr")
    state, sleepers, epoch = (place(pool, name) for name in ("state", "sleepers", "epoch"))
    spin = place(pool, "spin").load("i64")
    seen, slept = f.variable("i32", 0), f.variable("i1", False)
    with f.loop():
        news = f.variable("i1", False)
        news.set(False)
        with f.count(spin + 1):
            news.set((state.load("i64", "acquire") >> 32).cast("trunc", "i32").ne(seen.get()))
            f.leave_if(news.get())
            pause(f)
        with f.unless(news.get()):
            sleepers.atomic("add", 1, "seq_cst", "i32")
            f.call("thread_wait", epoch, seen.get(), 0)
            sleepers.atomic("sub", 1, "seq_cst", "i32")
            slept.set(True)
            f.again()
        entered = f.call("worker_enters", pool, seen.address)
        with f.unless(entered):  # looked at after the epoch: that of the end may have come meanwhile, and is the last
            f.ret_if(place(pool, "stopping").load("i32", "acquire").ne(0), 0, "ptr")
        with f.when(entered):
            with f.when(slept.get()), f.unless(sleepers.load("i32", "monotonic").eq(0)):
                f.call("thread_wake", epoch, 2)
            f.call("run_chunks", thread)
            before = state.atomic("sub", 1, "acq_rel") & (_COUNT | _WAITING)
            with f.when(before.eq(_WAITING | 1)):
                f.call("thread_wake", state, 1)
        slept.set(False)


@_IR.function("i1", "ptr", "ptr")
def worker_enters(f: Function, pool: Value, seen: Value) -> None:
    """Whether a worker is inside now; false if the loop is closed. `seen` becomes the epoch that it saw."""
    state = place(pool, "state")
    current = f.variable("i64", state.load("i64", "acquire"))
    with f.loop():
        now = current.get()
        seen.store((now >> 32).cast("trunc", "i32"))
        f.ret_if((now & _OPEN).eq(0), False, "i1")
        found, entered = state.swap_if(now, now + 1, "i64", "acq_rel acquire")
        f.ret_if(entered, True, "i1")
        current.set(found)


@_IR.function("void", "ptr")
def start_workers(f: Function, pool: Value) -> None:
    """Start as many as are wanted, or as the system gives."""
    count = f.variable("i32", 0)
    with f.count(place(pool, "workers").load("i32"), type="i32") as k:
        thread = _thread(pool, k.cast("zext", "i64") + 1)
        handle = f.call("thread_start", f.symbol("worker"), thread)
        f.leave_if(handle.eq(0))
        thread.behind(THREAD["handle"]).store(handle)
        count.set(k + 1)
    place(pool, "started").store(count.get())
    f.ret()


@_IR.function("void", "ptr")
def give_launch_lock(f: Function, pool: Value) -> None:
    """By its holder."""
    place(pool, "owner").store(0, "monotonic")
    f.call("lock_give", place(pool, "launch_lock"))
    f.ret()


@_IR.function("i32", "i64", exported=True)
def stop_workers(f: Function, handle: Value) -> None:
    """Ends and joins all workers and clears the pool; 0 if a launch was under way, and nothing was done. It takes the
    launch lock: a launch that is between two loops may use the scratch memory."""
    pool = handle.cast("inttoptr", "ptr")
    _, idle = place(pool, "launch_lock").swap_if(0, 1, "i32", "acquire monotonic")
    f.ret_if(~idle, 0, "i32")
    _, mine = pool.swap_if(0, 1, "i32", "acquire monotonic")
    with f.unless(mine):
        f.call("give_launch_lock", pool)
        f.ret(0, "i32")
    started, stopping = place(pool, "started"), place(pool, "stopping")
    count = started.load("i32")
    stopping.store(1, "release", "i32")
    f.call("publish", pool, 0)
    f.call("thread_wake", place(pool, "epoch"), 2**31 - 1)
    with f.count(count, type="i32") as k:
        f.call("thread_join", _thread(pool, k.cast("zext", "i64") + 1).behind(THREAD["handle"]).load("i64"))
    f.call("scratch_free", pool)
    started.store(0, type="i32")
    stopping.store(0, type="i32")
    place(pool, "state").store(0, "seq_cst")
    f.call("lock_give", pool)
    f.call("give_launch_lock", pool)
    f.ret(1, "i32")


@_IR.function("ptr", "i64", "i64", exported=True)
def scratch(f: Function, handle: Value, bytes: Value) -> None:
    """Memory for the holder of the launch lock; null if there is none. It is between guards, as fields are: kernels add
    to copies of fields there."""
    pool = handle.cast("inttoptr", "ptr")
    where, size = place(pool, "scratch"), place(pool, "scratch_size")
    f.ret_if(size.load("i64").compare("sge", bytes), where.load("ptr"))
    f.call("scratch_free", pool)
    room = (bytes + (_SCRATCH_UNIT - 1)) & -_SCRATCH_UNIT
    whole = room + 2 * SCRATCH_GUARD
    begin = f.call("pages_reserve", whole)
    f.ret_if(begin.eq(0), 0, "ptr")
    new = begin.behind(SCRATCH_GUARD)
    with f.unless(f.call("pages_commit", new, room)):
        f.call("pages_release", begin, whole)
        f.ret(0, "ptr")
    where.store(new)
    size.store(room)
    f.ret(new)


@_IR.function("void", "ptr")
def scratch_free(f: Function, pool: Value) -> None:
    """Give the scratch memory back to the system, if there is any."""
    where, size = place(pool, "scratch"), place(pool, "scratch_size")
    old = where.load("ptr")
    f.ret_if(old.eq(0))
    f.call("pages_release", old.behind(-SCRATCH_GUARD), size.load("i64") + 2 * SCRATCH_GUARD)
    where.store(0)
    size.store(0)
    f.ret()


@_IR.function("void", "ptr", "ptr", "i64", "i64", exported=True)
def set_part(f: Function, _: Value, box: Value, begin: Value, end: Value) -> None:
    """The body of a loop over units of memory. box: {where to, where from, bytes, bytes of a unit}. It copies, or sets
    all bytes to 0 if there is no source."""
    to, source = (box.behind(8 * word).load("ptr") for word in range(2))
    bytes, unit = (box.behind(8 * word).load("i64") for word in (2, 3))
    first = begin * unit
    length = f.call("llvm.smin.i64", end * unit, bytes) - first
    with f.when(source.eq(0)):
        f.call("llvm.memset.p0.i64", to.behind(first), f.constant(0, "i8"), length, False)
        f.ret()
    f.copy(to.behind(first), source.behind(first), length)
    f.ret()


@_IR.function("void", "i64", exported=True)
def spin(f: Function, count: Value) -> None:
    """For calibration: how long is a spin?"""
    with f.count(count):
        pause(f)
    f.ret()


def pool_ir() -> str:
    """LLVM IR of the pool, of threads, guards and locks."""
    return "\n".join((system.THREADS.text(), guard_ir(system.CATCHES_FAULTS), LOCKS.text(), _IR.text()))
