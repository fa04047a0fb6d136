"""Which launches wait for one another, in LLVM IR.

A loop may do without locks what no other iteration of its launch can spoil (see docs/adr/0004-threads-and-atomics.md);
so two launches on the same memory run one after the other. What memory is the same is told by where it begins: a hash
of the address of each tree and array chooses one of BANKS locks, which lie on cache lines of their own. A launch holds
those of its memory, taken in the order of their numbers; launches on different memory meet at nothing. Each costs some
10 ns; where Python has its own lock, calls take turns anyway, and one lock for all launches of a device is cheaper.

What a kernel's run excludes is a word, `memory`: a bit for each slot of the context that has such an address, or

    TURN    the turn of its device: one after the other of those who want it
    ALL     all banks: what prints may run Python in between, and that another kernel

A thread that has the turn takes nothing more: its launch is within another. The pool's scratch memory belongs to who
has the turn, which a launch takes when it asks for some, after its banks. A launch waits for the pool as well where
another one runs a loop, rather than run a long loop alone.
"""

from __future__ import annotations

import sysconfig

from weft.ir.artifact import Slots
from weft.ir.types import Array
from weft.runtime.guard_ir import FAULTED
from weft.runtime.pool_ir import places

__all__ = ["ALL", "FREE_THREADED", "TURN", "TURN_IR", "memory_of"]

TURN, ALL = 1, 2
_NO_SLOTS = 7  # the bits of the slots that are never an address of memory
_BITS = 6
_BANKS = 1 << _BITS
_LINE = 64  # bytes
_MIX = -7046029254386353131  # 2^64 / golden ratio


FREE_THREADED = bool(sysconfig.get_config_var("Py_GIL_DISABLED"))


def memory_of(slots: Slots, prints: bool, apart: bool = FREE_THREADED) -> int:
    """The word of a kernel. `apart`: launches on different memory do not wait for one another."""
    if not apart:
        return TURN
    if prints:
        return TURN | ALL
    arrays = (start for start, param in zip(slots.param_start, slots.params) if isinstance(param.type, Array))
    bases = [*range(slots.FIRST_TREE, slots.FIRST_TREE + slots.trees), *arrays]
    if max(bases, default=0) >= 63:  # (a word has a sign)
        return ALL
    return sum(1 << base for base in bases)


_BANKS_IR = f"""
declare i64 @llvm.cttz.i64(i64, i1)

@banks = internal global [{_BANKS * _LINE} x i8] zeroinitializer, align {_LINE}

define internal ptr @bank(i64 %number) {{
  %behind = mul i64 %number, {_LINE}
  %lock = getelementptr i8, ptr @banks, i64 %behind
  ret ptr %lock
}}

; Gives a bit for each bank that is taken.
define internal i64 @take_banks(ptr %ctx, i64 %memory) {{
entry:
  %slots = and i64 %memory, {~_NO_SLOTS}
  %all.bit = and i64 %memory, {ALL}
  %all = icmp ne i64 %all.bit, 0
  br i1 %all, label %take, label %find
find:
  %left = phi i64 [ %slots, %entry ], [ %rest, %one ]
  %found = phi i64 [ 0, %entry ], [ %found.next, %one ]
  %some = icmp ne i64 %left, 0
  br i1 %some, label %one, label %take
one:
  %slot = call i64 @llvm.cttz.i64(i64 %left, i1 true)
  %less = sub i64 %left, 1
  %rest = and i64 %left, %less
  %slot.at = getelementptr i64, ptr %ctx, i64 %slot
  %address = load i64, ptr %slot.at
  %mixed = mul i64 %address, {_MIX}
  %number = lshr i64 %mixed, {64 - _BITS}
  %bit = shl i64 1, %number
  %found.next = or i64 %found, %bit
  br label %find
take:
  %banks = phi i64 [ -1, %entry ], [ %found, %find ]
  call void @lock_banks(i64 %banks)
  ret i64 %banks
}}
"""


def _each_bank(name: str, work: str) -> str:
    """A function of a word that does that with each bank whose bit is set, by their numbers."""
    return f"""
define internal void @{name}(i64 %banks) {{
entry:
  br label %each
each:
  %left = phi i64 [ %banks, %entry ], [ %rest, %one ]
  %more = icmp ne i64 %left, 0
  br i1 %more, label %one, label %done
one:
  %number = call i64 @llvm.cttz.i64(i64 %left, i1 true)
  %less = sub i64 %left, 1
  %rest = and i64 %left, %less
  %bank = call ptr @bank(i64 %number)
  {work}
  br label %each
done:
  ret void
}}
"""


_FORGET_IR = f"""
; In a forked child: who had them is not here.
define internal void @forget_banks() {{
  call void @llvm.memset.p0.i64(ptr @banks, i8 0, i64 {_BANKS * _LINE}, i1 false)
  ret void
}}
"""

_TURN = f"""
; By the thread `me`. What nearly all launches want, a turn that is free, comes first.
define internal void @run_in_turn(ptr %kernel, ptr %ctx, ptr %pool, i64 %memory, i64 %me) {{
entry:
  {places("owner", "turn")}
  %owner = load atomic i64, ptr %owner.at monotonic, align 8
  %within = icmp eq i64 %owner, %me
  br i1 %within, label %nested, label %ask
nested:
  call void @run_guarded(ptr %kernel, ptr %ctx)
  ret void
ask:
  %no.banks = icmp eq i64 %memory, {TURN}
  br i1 %no.banks, label %try, label %claim
try:
  %pair = cmpxchg ptr %turn.at, i32 0, i32 1 acquire monotonic
  %free = extractvalue {{ i32, i1 }} %pair, 1
  br i1 %free, label %own, label %claim
own:
  store atomic i64 %me, ptr %owner.at monotonic, align 8
  call void @run_guarded(ptr %kernel, ptr %ctx)
  store atomic i64 0, ptr %owner.at monotonic, align 8
  %state = atomicrmw xchg ptr %turn.at, i32 0 release
  %wanted = icmp eq i32 %state, 2
  br i1 %wanted, label %wake, label %done
wake:
  call void @thread_wake(ptr %turn.at, i32 1)
  ret void
done:
  ret void
claim:
  %banks = call i64 @take_banks(ptr %ctx, i64 %memory)
  %turn.bit = and i64 %memory, {TURN}
  %in.turn = icmp ne i64 %turn.bit, 0
  br i1 %in.turn, label %queue, label %run
queue:
  %taken = call i1 @take_turn(ptr %pool, i64 %me, ptr %ctx)
  br i1 %taken, label %run, label %give
run:
  call void @run_guarded(ptr %kernel, ptr %ctx)
  %owner.then = load atomic i64, ptr %owner.at monotonic, align 8
  %has.turn = icmp eq i64 %owner.then, %me
  br i1 %has.turn, label %end, label %give
end:
  call void @end_turn(ptr %pool)
  br label %give
give:
  call void @give_banks(i64 %banks)
  ret void
}}

; A fault is written to the error record, unless something else was wrong before.
define internal void @run_guarded(ptr %kernel, ptr %ctx) {{
entry:
  %fault = call i64 @guard_run(ptr %kernel, ptr %ctx)
  %well = icmp eq i64 %fault, 0
  br i1 %well, label %done, label %look
look:
  %record.at = getelementptr i64, ptr %ctx, i64 1
  %record = load ptr, ptr %record.at
  %state = load atomic i32, ptr %record acquire, align 4
  %told = icmp eq i32 %state, 2
  br i1 %told, label %done, label %tell
tell:
  %word.at = getelementptr i64, ptr %record, i64 1
  store i64 %fault, ptr %word.at
  store atomic i32 {FAULTED}, ptr %record release, align 4
  br label %done
done:
  ret void
}}

; Gives false where the launch of that context was stopped meanwhile; without a context, it waits in any case.
define internal i1 @take_turn(ptr %pool, i64 %me, ptr %ctx) {{
entry:
  {places("turn", "owner")}
  %taken = call i1 @lock_take(ptr %turn.at, ptr %ctx)
  br i1 %taken, label %own, label %leave
own:
  store atomic i64 %me, ptr %owner.at monotonic, align 8
  ret i1 true
leave:
  ret i1 false
}}

; The scratch memory of the pool, until the launch is over.
define ptr @launch_scratch(i64 %handle, i64 %bytes) {{
entry:
  %pool = inttoptr i64 %handle to ptr
  {places("owner")}
  %me = call i64 @PyThread_get_thread_ident()
  %owner = load atomic i64, ptr %owner.at monotonic, align 8
  %mine = icmp eq i64 %owner, %me
  br i1 %mine, label %give, label %take
take:
  %taken = call i1 @take_turn(ptr %pool, i64 %me, ptr null)
  br label %give
give:
  %memory = call ptr @scratch(i64 %handle, i64 %bytes)
  ret ptr %memory
}}

; As `parallel_for`, but waits for the pool; a loop within one that this thread runs is run by this thread.
define void @launch_for(i64 %handle, ptr %body, ptr %ctx, ptr %share, i64 %n, i64 %grain) {{
entry:
  %some = icmp sgt i64 %n, 0
  br i1 %some, label %size, label %done
size:
  %pool = inttoptr i64 %handle to ptr
  {places("workers", "looper")}
  %workers = load i32, ptr %workers.at
  %small = icmp sle i64 %n, %grain
  %alone = icmp eq i32 %workers, 0
  %direct = or i1 %small, %alone
  br i1 %direct, label %inline, label %look
look:
  %me = call i64 @PyThread_get_thread_ident()
  %looper = load atomic i64, ptr %looper.at monotonic, align 8
  %within = icmp eq i64 %looper, %me
  br i1 %within, label %inline, label %share.out
inline:
  call void %body(ptr %ctx, ptr %share, i64 0, i64 %n)
  br label %done
share.out:
  %taken = call i1 @lock_take(ptr %pool, ptr %ctx)
  br i1 %taken, label %go, label %done
go:
  store atomic i64 %me, ptr %looper.at monotonic, align 8
  call void @run_loop(ptr %pool, ptr %body, ptr %ctx, ptr %share, i64 %n, i64 %grain)
  {places("fault")}
  %fault = load i64, ptr %fault.at
  store atomic i64 0, ptr %looper.at monotonic, align 8
  call void @lock_give(ptr %pool)
  %well = icmp eq i64 %fault, 0
  br i1 %well, label %done, label %leave
leave:
  call void @guard_leave(i64 %fault)
  br label %done
done:
  ret void
}}
"""

_TAKE_AND_GIVE_IR = _each_bank("lock_banks", "%taken = call i1 @lock_take(ptr %bank, ptr null)") + _each_bank(
    "give_banks", "call void @lock_give(ptr %bank)"
)
TURN_IR = _BANKS_IR + _TAKE_AND_GIVE_IR + _FORGET_IR + _TURN
