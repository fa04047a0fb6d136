"""The thread pool itself, in LLVM IR. `pool.py` has the prose: the protocol and the layout of the pool's memory."""

from __future__ import annotations

from weft.runtime import system
from weft.runtime.guard_ir import GUARD_IR
from weft.runtime.lock_ir import INTERVAL, LOCK_IR, PAUSE

__all__ = ["PLACES", "POOL_IR", "SCRATCH_GUARD", "places"]

SCRATCH_GUARD = 16 << 20  # bytes without access on either side of scratch memory
_SCRATCH_UNIT = 64 << 10  # what scratch memory is a multiple of: whole pages on every system

# What lies where in the pool's memory, in bytes; `pool.py` says what it is for.
PLACES: dict[str, int] = {
    "lock": 0,
    "workers": 4,
    "started": 8,
    "stopping": 12,
    "spin": 16,
    "state": 64,
    "epoch": 68,  # the upper half of the state
    "sleepers": 128,
    "turn": 160,
    "owner": 168,
    "looper": 176,
    "body": 192,
    "ctx": 200,
    "share": 208,
    "n": 216,
    "grain": 224,
    "scratch": 232,
    "scratch_size": 240,
    "fault": 248,
    "next": 256,
    "handles": 320,
}


def places(*names: str) -> str:
    """LLVM IR that finds places in the pool's memory: `%state.at` for "state"."""
    return "\n  ".join(f"%{name}.at = getelementptr i8, ptr %pool, i64 {PLACES[name]}" for name in names)


_OPEN = 1 << 31
_WAITING = 1 << 30
_COUNT = _WAITING - 1

_CALLER = f"""
; Without a thread to wait for: where the pool is busy, the caller runs the loop by itself.
define void @parallel_for(i64 %handle, ptr %body, ptr %ctx, ptr %share, i64 %n, i64 %grain) {{
entry:
  %some = icmp sgt i64 %n, 0
  br i1 %some, label %size, label %done
size:
  %pool = inttoptr i64 %handle to ptr
  {places("workers")}
  %workers = load i32, ptr %workers.at
  %small = icmp sle i64 %n, %grain
  %alone = icmp eq i32 %workers, 0
  %direct = or i1 %small, %alone
  br i1 %direct, label %inline, label %lock
lock:
  %taken = cmpxchg ptr %pool, i32 0, i32 1 acquire monotonic
  %mine = extractvalue {{ i32, i1 }} %taken, 1
  br i1 %mine, label %publish, label %inline
inline:
  call void %body(ptr %ctx, ptr %share, i64 0, i64 %n)
  br label %done
publish:
  call void @run_loop(ptr %pool, ptr %body, ptr %ctx, ptr %share, i64 %n, i64 %grain)
  call void @lock_give(ptr %pool)
  br label %done
done:
  ret void
}}

; By whoever has the pool's lock.
define internal void @run_loop(ptr %pool, ptr %body, ptr %ctx, ptr %share, i64 %n, i64 %grain) {{
entry:
  {places("workers", "started")}
  %workers = load i32, ptr %workers.at
  %started = load i32, ptr %started.at
  %fresh = icmp eq i32 %started, 0
  br i1 %fresh, label %start, label %job
start:
  %pause = call ptr @guard_pause()
  call void @start_workers(ptr %pool)
  call void @guard_resume(ptr %pause)
  br label %job
job:
  {places("body", "ctx", "share", "n", "grain", "next", "fault")}
  %parts = zext i32 %workers to i64
  %parts8 = mul i64 %parts, 16
  %even = sdiv i64 %n, %parts8
  %chosen = call i64 @llvm.smax.i64(i64 %even, i64 1)
  %given = icmp sgt i64 %grain, 0
  %chunk = select i1 %given, i64 %grain, i64 %chosen
  store ptr %body, ptr %body.at
  store ptr %ctx, ptr %ctx.at
  store ptr %share, ptr %share.at
  store i64 %n, ptr %n.at
  store i64 %chunk, ptr %grain.at
  store i64 0, ptr %fault.at
  store atomic i64 0, ptr %next.at monotonic, align 8
  call void @publish(ptr %pool, i64 {_OPEN})
  call void @run_chunks(ptr %pool)
  call void @close_and_join(ptr %pool, ptr %ctx)
  ret void
}}

; The next epoch begins with `flags`; two sleepers are woken, they wake others.
define internal void @publish(ptr %pool, i64 %flags) {{
  {places("state", "epoch", "sleepers")}
  %old = load atomic i64, ptr %state.at monotonic, align 8
  %epoch = lshr i64 %old, 32
  %epoch.next = add i64 %epoch, 1
  %high = shl i64 %epoch.next, 32
  %state = or i64 %high, %flags
  store atomic i64 %state, ptr %state.at seq_cst, align 8
  %asleep = load atomic i32, ptr %sleepers.at seq_cst, align 4
  %any = icmp ne i32 %asleep, 0
  br i1 %any, label %wake, label %done
wake:
  call void @thread_wake(ptr %epoch.at, i32 2)
  br label %done
done:
  ret void
}}

; Nobody may enter any more; wait for those inside: spin, then sleep on the state's low word, and look whether the
; launch was interrupted: those inside cannot tell.
define internal void @close_and_join(ptr %pool, ptr %ctx) {{
entry:
  {places("state", "spin")}
  %spin = load i64, ptr %spin.at
  %was = atomicrmw and ptr %state.at, i64 {~_OPEN} acq_rel
  br label %look
look:
  %left = phi i64 [ %spin, %entry ], [ %less, %pause ]
  %state = load atomic i64, ptr %state.at acquire, align 8
  %inside = and i64 %state, {_COUNT}
  %none = icmp eq i64 %inside, 0
  br i1 %none, label %done, label %more
more:
  %patient = icmp sgt i64 %left, 0
  br i1 %patient, label %pause, label %sleep
pause:
  {PAUSE}
  %less = sub i64 %left, 1
  br label %look
sleep:
  %before = atomicrmw or ptr %state.at, i64 {_WAITING} acq_rel
  %before.inside = and i64 %before, {_COUNT}
  %over = icmp eq i64 %before.inside, 0
  br i1 %over, label %done, label %wait
wait:
  %marked = or i64 %before, {_WAITING}
  %low = trunc i64 %marked to i32
  call void @thread_wait(ptr %state.at, i32 %low, i32 {INTERVAL})
  %ignored = call i1 @stopped(ptr %ctx)
  br label %sleep
done:
  ret void
}}
"""

_SHARED = f"""
; Take chunk after chunk until none is left: of what is left a quarter of a thread's part, `grain` at least. Memory is
; read in long runs, and the last chunks are short.
define internal void @take_chunks(ptr %pool) {{
entry:
  {places("body", "ctx", "share", "n", "grain", "next")}
  %body = load ptr, ptr %body.at
  %ctx = load ptr, ptr %ctx.at
  %share = load ptr, ptr %share.at
  %n = load i64, ptr %n.at
  %grain = load i64, ptr %grain.at
  {places("workers")}
  %workers = load i32, ptr %workers.at
  %threads = add i32 %workers, 1
  %threads.wide = zext i32 %threads to i64
  %parts = shl i64 %threads.wide, 2
  br label %take
take:
  %stop = call i1 @stopped(ptr %ctx)
  br i1 %stop, label %done, label %find
find:
  %first = load atomic i64, ptr %next.at monotonic, align 8
  br label %try
try:
  %begin = phi i64 [ %first, %find ], [ %found, %choose ]
  %left = sub i64 %n, %begin
  %more = icmp sgt i64 %left, 0
  br i1 %more, label %choose, label %done
choose:
  %part = sdiv i64 %left, %parts
  %size = call i64 @llvm.smax.i64(i64 %part, i64 %grain)
  %behind = add i64 %size, 63
  %lines = and i64 %behind, -64
  %long = icmp sge i64 %size, 1024
  %chosen = select i1 %long, i64 %lines, i64 %size
  %count = call i64 @llvm.smin.i64(i64 %chosen, i64 %left)
  %end = add i64 %begin, %count
  %pair = cmpxchg ptr %next.at, i64 %begin, i64 %end monotonic monotonic
  %found = extractvalue {{ i64, i1 }} %pair, 0
  %taken = extractvalue {{ i64, i1 }} %pair, 1
  br i1 %taken, label %run, label %try
run:
  call void %body(ptr %ctx, ptr %share, i64 %begin, i64 %end)
  br label %take
done:
  ret void
}}

; A thread that faults leaves the loop: the fault is noted, and nobody takes more.
define internal void @run_chunks(ptr %pool) {{
entry:
  %fault = call i64 @guard_run(ptr @take_chunks, ptr %pool)
  %well = icmp eq i64 %fault, 0
  br i1 %well, label %done, label %stop
stop:
  {places("n", "next", "fault")}
  %first = cmpxchg ptr %fault.at, i64 0, i64 %fault monotonic monotonic
  %n = load i64, ptr %n.at
  store atomic i64 %n, ptr %next.at monotonic, align 8
  br label %done
done:
  ret void
}}
"""

_WORKER = f"""
define internal ptr @worker(ptr %pool) {{
entry:
  {places("stopping", "spin", "state", "epoch", "sleepers")}
  %spin = load i64, ptr %spin.at
  br label %idle
idle:
  %seen = phi i32 [ 0, %entry ], [ %epoch, %closed ], [ %epoch, %leave ], [ %epoch, %tell ], [ %seen, %asleep ]
  %slept = phi i1 [ false, %entry ], [ false, %closed ], [ false, %leave ], [ false, %tell ], [ true, %asleep ]
  br label %look
look:
  %left = phi i64 [ %spin, %idle ], [ %less, %pause ]
  %state = load atomic i64, ptr %state.at acquire, align 8
  %high = lshr i64 %state, 32
  %now = trunc i64 %high to i32
  %news = icmp ne i32 %now, %seen
  br i1 %news, label %act, label %patience
patience:
  %patient = icmp sgt i64 %left, 0
  br i1 %patient, label %pause, label %asleep
pause:
  {PAUSE}
  %less = sub i64 %left, 1
  br label %look
asleep:
  %ignore1 = atomicrmw add ptr %sleepers.at, i32 1 seq_cst
  call void @thread_wait(ptr %epoch.at, i32 %seen, i32 0)
  %ignore2 = atomicrmw sub ptr %sleepers.at, i32 1 seq_cst
  br label %idle

act:
  %stopping = load atomic i32, ptr %stopping.at acquire, align 4
  %stop = icmp ne i32 %stopping, 0
  br i1 %stop, label %quit, label %try
try:
  %current = phi i64 [ %state, %act ], [ %found, %enter ]
  %top = lshr i64 %current, 32
  %epoch = trunc i64 %top to i32
  %open.bit = and i64 %current, {_OPEN}
  %open = icmp ne i64 %open.bit, 0
  br i1 %open, label %enter, label %closed
closed:
  br label %idle
enter:
  %plus = add i64 %current, 1
  %pair = cmpxchg ptr %state.at, i64 %current, i64 %plus acq_rel acquire
  %found = extractvalue {{ i64, i1 }} %pair, 0
  %entered = extractvalue {{ i64, i1 }} %pair, 1
  br i1 %entered, label %inside, label %try
inside:
  br i1 %slept, label %spread, label %work
spread:
  %asleep.count = load atomic i32, ptr %sleepers.at monotonic, align 4
  %others = icmp ne i32 %asleep.count, 0
  br i1 %others, label %rouse, label %work
rouse:
  call void @thread_wake(ptr %epoch.at, i32 2)
  br label %work
work:
  call void @run_chunks(ptr %pool)
  %before = atomicrmw sub ptr %state.at, i64 1 acq_rel
  %mask = and i64 %before, {_COUNT | _WAITING}
  %last = icmp eq i64 %mask, {_WAITING | 1}
  br i1 %last, label %tell, label %leave
tell:
  call void @thread_wake(ptr %state.at, i32 1)
  br label %idle
leave:
  br label %idle
quit:
  ret ptr null
}}
"""

_LIFE = f"""
define internal void @start_workers(ptr %pool) {{
entry:
  {places("workers", "started", "handles")}
  %workers = load i32, ptr %workers.at
  br label %each
each:
  %i = phi i32 [ 0, %entry ], [ %next, %keep ]
  %more = icmp slt i32 %i, %workers
  br i1 %more, label %start, label %done
start:
  %handle = call i64 @thread_start(ptr @worker, ptr %pool)
  %failed = icmp eq i64 %handle, 0
  br i1 %failed, label %done, label %keep
keep:
  %at = getelementptr i64, ptr %handles.at, i32 %i
  store i64 %handle, ptr %at
  %next = add i32 %i, 1
  br label %each
done:
  store i32 %i, ptr %started.at
  ret void
}}

; Whoever had its turn has had it.
define internal void @end_turn(ptr %pool) {{
  {places("turn", "owner")}
  store atomic i64 0, ptr %owner.at monotonic, align 8
  call void @lock_give(ptr %turn.at)
  ret void
}}

; Ends and joins all workers and clears the pool; 0 if a launch was under way, and nothing was done. It takes a turn: a
; launch that is between two loops may use the scratch memory.
define i32 @stop_workers(i64 %handle) {{
entry:
  %pool = inttoptr i64 %handle to ptr
  {places("turn")}
  %turns = cmpxchg ptr %turn.at, i32 0, i32 1 acquire monotonic
  %idle = extractvalue {{ i32, i1 }} %turns, 1
  br i1 %idle, label %claim, label %launching
launching:
  ret i32 0
claim:
  {places("started", "stopping", "state", "epoch", "handles")}
  %taken = cmpxchg ptr %pool, i32 0, i32 1 acquire monotonic
  %mine = extractvalue {{ i32, i1 }} %taken, 1
  br i1 %mine, label %end, label %busy
busy:
  call void @end_turn(ptr %pool)
  ret i32 0
end:
  %started = load i32, ptr %started.at
  store atomic i32 1, ptr %stopping.at release, align 4
  call void @publish(ptr %pool, i64 0)
  call void @thread_wake(ptr %epoch.at, i32 2147483647)
  br label %each
each:
  %i = phi i32 [ 0, %end ], [ %next, %join ]
  %more = icmp slt i32 %i, %started
  br i1 %more, label %join, label %done
join:
  %at = getelementptr i64, ptr %handles.at, i32 %i
  %thread = load i64, ptr %at
  call void @thread_join(i64 %thread)
  %next = add i32 %i, 1
  br label %each
done:
  call void @scratch_free(ptr %pool)
  store i32 0, ptr %started.at
  store i32 0, ptr %stopping.at
  store atomic i64 0, ptr %state.at seq_cst, align 8
  call void @lock_give(ptr %pool)
  call void @end_turn(ptr %pool)
  ret i32 1
}}

; Only the launch that has its turn asks. It is between guards, as fields are: kernels add to copies of fields there.
define ptr @scratch(i64 %handle, i64 %bytes) {{
entry:
  %pool = inttoptr i64 %handle to ptr
  {places("scratch", "scratch_size")}
  %size = load i64, ptr %scratch_size.at
  %old = load ptr, ptr %scratch.at
  %enough = icmp sge i64 %size, %bytes
  br i1 %enough, label %give, label %grow
grow:
  call void @scratch_free(ptr %pool)
  %behind = add i64 %bytes, {_SCRATCH_UNIT - 1}
  %room = and i64 %behind, -{_SCRATCH_UNIT}
  %whole = add i64 %room, {2 * SCRATCH_GUARD}
  %begin = call ptr @pages_reserve(i64 %whole)
  %none = icmp eq ptr %begin, null
  br i1 %none, label %fail, label %commit
commit:
  %new = getelementptr i8, ptr %begin, i64 {SCRATCH_GUARD}
  %well = call i1 @pages_commit(ptr %new, i64 %room)
  br i1 %well, label %keep, label %undo
undo:
  call void @pages_release(ptr %begin, i64 %whole)
  br label %fail
fail:
  ret ptr null
keep:
  store ptr %new, ptr %scratch.at
  store i64 %room, ptr %scratch_size.at
  br label %give
give:
  %memory = phi ptr [ %old, %entry ], [ %new, %keep ]
  ret ptr %memory
}}

define internal void @scratch_free(ptr %pool) {{
entry:
  {places("scratch", "scratch_size")}
  %old = load ptr, ptr %scratch.at
  %none = icmp eq ptr %old, null
  br i1 %none, label %done, label %release
release:
  %room = load i64, ptr %scratch_size.at
  %begin = getelementptr i8, ptr %old, i64 -{SCRATCH_GUARD}
  %whole = add i64 %room, {2 * SCRATCH_GUARD}
  call void @pages_release(ptr %begin, i64 %whole)
  call void @llvm.memset.p0.i64(ptr %scratch.at, i8 0, i64 16, i1 false)
  br label %done
done:
  ret void
}}

; For calibration: how long is a spin?
define void @spin(i64 %count) {{
entry:
  br label %look
look:
  %left = phi i64 [ %count, %entry ], [ %less, %look ]
  {PAUSE}
  %less = sub i64 %left, 1
  %more = icmp sgt i64 %less, 0
  br i1 %more, label %look, label %done
done:
  ret void
}}
"""

POOL_IR = f"""
declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)
declare i64 @llvm.smin.i64(i64, i64)
declare i64 @llvm.smax.i64(i64, i64)
declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)
{system.THREADS_IR}{GUARD_IR}{LOCK_IR}{_CALLER}{_SHARED}{_WORKER}{_LIFE}"""
