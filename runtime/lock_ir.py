"""Locks, and looking meanwhile whether the launch that waits was interrupted, in LLVM IR."""

from __future__ import annotations

from weft.ir.artifact import SERVICES
from weft.runtime import system

__all__ = ["INTERVAL", "LOCK_IR", "PAUSE"]

INTERVAL = 40  # milliseconds between two looks whether a launch was interrupted (see `interrupts.py`)
PAUSE = f'call void asm sideeffect "{system.PAUSE}", "~{{memory}}"()' if system.PAUSE else "fence seq_cst"
_SPINS = 100  # before a thread that wants a lock sleeps

LOCK_IR = f"""
; A lock is a word: 0 free, 1 taken, 2 taken and wanted. Gives false where the launch of that context was stopped
; meanwhile, and true where the lock was taken, as it is in the end without a context.
define internal i1 @lock_take(ptr %lock, ptr %ctx) {{
entry:
  br label %look
look:
  %left = phi i64 [ {_SPINS}, %entry ], [ %less, %pause ]
  %pair = cmpxchg ptr %lock, i32 0, i32 1 acquire monotonic
  %free = extractvalue {{ i32, i1 }} %pair, 1
  br i1 %free, label %taken, label %more
more:
  %patient = icmp sgt i64 %left, 0
  br i1 %patient, label %pause, label %queue
pause:
  {PAUSE}
  %less = sub i64 %left, 1
  br label %look
queue:
  %old = atomicrmw xchg ptr %lock, i32 2 acquire
  %now = icmp eq i32 %old, 0
  br i1 %now, label %taken, label %sleep
sleep:
  %anonymous = icmp eq ptr %ctx, null
  br i1 %anonymous, label %for.good, label %briefly
for.good:
  call void @thread_wait(ptr %lock, i32 2, i32 0)
  br label %queue
briefly:
  call void @thread_wait(ptr %lock, i32 2, i32 {INTERVAL})
  %stopped = call i1 @stopped(ptr %ctx)
  br i1 %stopped, label %leave, label %queue
leave:
  ret i1 false
taken:
  ret i1 true
}}

; Whether the launch of that context shall end: an error was met, or an interrupt.
define internal i1 @stopped(ptr %ctx) {{
entry:
  %record.at = getelementptr ptr, ptr %ctx, i64 1
  %record = load ptr, ptr %record.at
  %word = load atomic i64, ptr %record monotonic, align 8
  %nothing = icmp eq i64 %word, 0
  br i1 %nothing, label %on, label %ask
on:
  ret i1 false
ask:
  %table = load ptr, ptr %ctx
  %poll.at = getelementptr ptr, ptr %table, i64 {SERVICES.index("poll")}
  %poll = load ptr, ptr %poll.at
  %stop = call preserve_allcc zeroext i1 %poll(ptr %record)
  ret i1 %stop
}}

define internal void @lock_give(ptr %lock) {{
entry:
  %old = atomicrmw xchg ptr %lock, i32 0 release
  %wanted = icmp eq i32 %old, 2
  br i1 %wanted, label %wake, label %done
wake:
  call void @thread_wake(ptr %lock, i32 1)
  br label %done
done:
  ret void
}}
"""
