"""Blocks of many threads in software: what runs an entry for each thread of a grid, in LLVM IR.

A kernel whose threads do nothing together is called for one thread after the other. Otherwise each thread of a block is
a fiber: a stack of its own, and a switch from one to the next where it waits. A thread that comes to a meeting (a
barrier, a vote, a shuffle) leaves what it brings and waits until all are there who must be; so code means what it means
on a GPU, in blocks of a thousand threads too. That not all come to a meeting is found out: nobody can go on.

The state is there once, since one launch runs at a time.
"""

from __future__ import annotations

import ctypes
import mmap
import platform
import sys
from functools import cache
from typing import Any

from tests.emulated.meetings import MEETINGS
from weft.runtime.jit import Code, Loader, emit

__all__ = ["DECLARATIONS", "REGISTERS", "missing", "run", "symbols"]

_STACK = 256 << 10  # bytes of a fiber
_MOST = 1024  # threads of a block

REGISTERS = [*(f"{kind}.{axis}" for kind in ("tid", "ntid", "ctaid", "nctaid") for axis in "xyz"), "laneid"]

DECLARATIONS = f"""
@emu_registers = external global [{len(REGISTERS)} x i32]
declare i32 @emu_barrier(i32, i1)
declare i32 @emu_vote(i32, i32, i1)
declare i32 @emu_match(i32, i32, i64)
declare i32 @emu_shuffle(i32, i32, i32, i32)
declare i32 @emu_active()
declare void @emu_aligned(ptr, i64)
"""
_EXPORTED = ("emu_registers", "emu_barrier", "emu_vote", "emu_match", "emu_shuffle", "emu_active", "emu_aligned")

_FAILURES = {
    1: "threads wait for others that never come",
    2: "threads of one warp came to meetings of several kinds",
    3: "an address is no multiple of what the code says",
}

# Saves what a call must keep, puts the stack pointer where the first argument says, and goes on with the stack that the
# second one is. By processor: the code, and where on a new stack a function's address makes it begin there.
_SWITCHES = {
    "x86_64": (
        "pushq %rbp; pushq %rbx; pushq %r12; pushq %r13; pushq %r14; pushq %r15; movq %rsp, (%rdi); movq %rsi, %rsp; "
        "popq %r15; popq %r14; popq %r13; popq %r12; popq %rbx; popq %rbp; retq",
        (64, 48),
    ),
    "aarch64": (
        "sub sp, sp, #160; stp x19, x20, [sp]; stp x21, x22, [sp, #16]; stp x23, x24, [sp, #32]; "
        "stp x25, x26, [sp, #48]; stp x27, x28, [sp, #64]; stp x29, x30, [sp, #80]; stp d8, d9, [sp, #96]; "
        "stp d10, d11, [sp, #112]; stp d12, d13, [sp, #128]; stp d14, d15, [sp, #144]; mov x9, sp; str x9, [x0]; "
        "mov sp, x1; ldp x19, x20, [sp]; ldp x21, x22, [sp, #16]; ldp x23, x24, [sp, #32]; ldp x25, x26, [sp, #48]; "
        "ldp x27, x28, [sp, #64]; ldp x29, x30, [sp, #80]; ldp d8, d9, [sp, #96]; ldp d10, d11, [sp, #112]; "
        "ldp d12, d13, [sp, #128]; ldp d14, d15, [sp, #144]; add sp, sp, #160; ret",
        (160, 88),
    ),
}
_PROCESSORS = {"amd64": "x86_64", "arm64": "aarch64"}


def _processor() -> str:
    name = platform.machine().lower()
    return _PROCESSORS.get(name, name)


def missing() -> str:
    """Why blocks of threads cannot be emulated here, "" if they can."""
    if sys.platform == "win32" or _processor() not in _SWITCHES:
        return f"there are no fibers for {sys.platform} on {platform.machine()}"
    return ""


_STATE = f"""
@emu_registers = global [{len(REGISTERS)} x i32] zeroinitializer
@now = internal global i32 0                                    ; the thread that runs
@home = internal global ptr null                                ; the stack of who runs the threads
@sp = internal global [{_MOST} x ptr] zeroinitializer
@entry = internal global ptr null
@context = internal global ptr null
@ended = internal global [{_MOST} x i1] zeroinitializer
@waits = internal global [{_MOST} x i1] zeroinitializer         ; in a meeting that is not complete
@brought = internal global [{_MOST} x i64] zeroinitializer      ; by each thread to its meeting
@got = internal global [{_MOST} x [32 x i64]] zeroinitializer   ; what each lane of its warp brought
@present = internal global [{_MOST} x i32] zeroinitializer      ; which lanes came
@there = internal global [32 x [32 x i32]] zeroinitializer      ; by warp and first lane of a meeting: which came so far
@kinds = internal global [32 x [32 x i32]] zeroinitializer      ; and what for
@alive = internal global [32 x i32] zeroinitializer             ; by warp: lanes that have not ended
@living = internal global i32 0                                 ; threads of the block that have not ended
@waiting = internal global i32 0                                ; of these, in the barrier
@agreeing = internal global i32 0                               ; of these, with a true predicate
@moves = internal global i32 0                                  ; grows whenever something happens
@failure = internal global i32 0
"""

_RUNNING = """
define internal void @set(i32 %number, i32 %value) {
  %at = getelementptr i32, ptr @emu_registers, i32 %number
  store i32 %value, ptr %at
  ret void
}

define internal void @become(i32 %t, i32 %bx, i32 %by) {
  store i32 %t, ptr @now
  %x = urem i32 %t, %bx
  %row = udiv i32 %t, %bx
  %y = urem i32 %row, %by
  %z = udiv i32 %row, %by
  %lane = and i32 %t, 31
  call void @set(i32 0, i32 %x)
  call void @set(i32 1, i32 %y)
  call void @set(i32 2, i32 %z)
  call void @set(i32 12, i32 %lane)
  ret void
}

define internal void @begin(i32 %t, ptr %stacks) {
  %w = lshr i32 %t, 5
  %l = and i32 %t, 31
  %bit = shl i32 1, %l
  %alive.at = getelementptr i32, ptr @alive, i32 %w
  %before = load i32, ptr %alive.at
  %after = or i32 %before, %bit
  store i32 %after, ptr %alive.at
  %end.at = getelementptr i1, ptr @ended, i32 %t
  store i1 false, ptr %end.at
  %t1 = add i32 %t, 1
  %offset = mul i32 %t1, STACK
  %top = getelementptr i8, ptr %stacks, i32 %offset
  %sp = getelementptr i8, ptr %top, i32 -DOWN
  %return = getelementptr i8, ptr %sp, i32 RETURN
  store ptr @fiber, ptr %return
  %sp.at = getelementptr ptr, ptr @sp, i32 %t
  store ptr %sp, ptr %sp.at
  ret void
}

define internal i32 @block(i32 %bx, i32 %by, i32 %threads, ptr %stacks) {
entry:
  call void @llvm.memset.p0.i64(ptr @alive, i8 0, i64 128, i1 false)
  call void @llvm.memset.p0.i64(ptr @there, i8 0, i64 4096, i1 false)
  store i32 %threads, ptr @living
  store i32 0, ptr @waiting
  store i32 0, ptr @agreeing
  br label %prepare
prepare:
  %p = phi i32 [ 0, %entry ], [ %p1, %prepare ]
  call void @begin(i32 %p, ptr %stacks)
  %p1 = add i32 %p, 1
  %unprepared = icmp ult i32 %p1, %threads
  br i1 %unprepared, label %prepare, label %round
round:
  %moves = load i32, ptr @moves
  br label %each
each:
  %t = phi i32 [ 0, %round ], [ %t1, %next ]
  %end.at = getelementptr i1, ptr @ended, i32 %t
  %over = load i1, ptr %end.at
  br i1 %over, label %next, label %resume
resume:
  call void @become(i32 %t, i32 %bx, i32 %by)
  %sp.at = getelementptr ptr, ptr @sp, i32 %t
  call void @switch(ptr @home, ptr %sp.at)
  br label %next
next:
  %t1 = add i32 %t, 1
  %more = icmp ult i32 %t1, %threads
  br i1 %more, label %each, label %after
after:
  %failure = load i32, ptr @failure
  %left = load i32, ptr @living
  %moved = load i32, ptr @moves
  %none = icmp eq i32 %left, 0
  %bad = icmp ne i32 %failure, 0
  %stop = or i1 %none, %bad
  br i1 %stop, label %done, label %stuck
stuck:
  %same = icmp eq i32 %moves, %moved
  br i1 %same, label %dead, label %round
dead:
  ret i32 1
done:
  ret i32 %failure
}

define internal i32 @alone(i32 %bx, i32 %by, i32 %threads) {
entry:
  %f = load ptr, ptr @entry
  %ctx = load ptr, ptr @context
  br label %each
each:
  %t = phi i32 [ 0, %entry ], [ %t1, %each ]
  call void @become(i32 %t, i32 %bx, i32 %by)
  call void %f(ptr %ctx)
  %t1 = add i32 %t, 1
  %more = icmp ult i32 %t1, %threads
  br i1 %more, label %each, label %done
done:
  %failure = load i32, ptr @failure
  ret i32 %failure
}

define void @emu_aligned(ptr %p, i64 %size) alwaysinline {
  %address = ptrtoint ptr %p to i64
  %last = sub i64 %size, 1
  %odd = and i64 %address, %last
  %well = icmp eq i64 %odd, 0
  br i1 %well, label %done, label %bad
bad:
  store i32 3, ptr @failure
  br label %done
done:
  ret void
}

define i32 @emu_run(ptr %f, ptr %ctx, i32 %gx, i32 %gy, i32 %gz, i32 %bx, i32 %by, i32 %bz, ptr %stacks) {
entry:
  store ptr %f, ptr @entry
  store ptr %ctx, ptr @context
  store i32 0, ptr @failure
  call void @set(i32 3, i32 %bx)
  call void @set(i32 4, i32 %by)
  call void @set(i32 5, i32 %bz)
  call void @set(i32 9, i32 %gx)
  call void @set(i32 10, i32 %gy)
  call void @set(i32 11, i32 %gz)
  %plane = mul i32 %gx, %gy
  %blocks = mul i32 %plane, %gz
  %row = mul i32 %bx, %by
  %threads = mul i32 %row, %bz
  %simple = icmp eq ptr %stacks, null
  br label %each
each:
  %b = phi i32 [ 0, %entry ], [ %b1, %next ]
  %x = urem i32 %b, %gx
  %rows = udiv i32 %b, %gx
  %y = urem i32 %rows, %gy
  %z = udiv i32 %rows, %gy
  call void @set(i32 6, i32 %x)
  call void @set(i32 7, i32 %y)
  call void @set(i32 8, i32 %z)
  br i1 %simple, label %alone, label %together
alone:
  %r0 = call i32 @alone(i32 %bx, i32 %by, i32 %threads)
  br label %next
together:
  %r1 = call i32 @block(i32 %bx, i32 %by, i32 %threads, ptr %stacks)
  br label %next
next:
  %r = phi i32 [ %r0, %alone ], [ %r1, %together ]
  %b1 = add i32 %b, 1
  %more = icmp ult i32 %b1, %blocks
  %good = icmp eq i32 %r, 0
  %on = and i1 %more, %good
  br i1 %on, label %each, label %done
done:
  ret i32 %r
}

declare i32 @llvm.cttz.i32(i32, i1)
declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)
declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)
"""


def text(processor: str) -> str:
    """All of it, for that processor."""
    code, (down, back) = _SWITCHES[processor]
    switch = f"""
define internal void @switch(ptr %save, ptr %to) noinline {{
  %stack = load ptr, ptr %to
  call void @switch_stacks(ptr %save, ptr %stack)
  ret void
}}
define internal void @switch_stacks(ptr %save, ptr %stack) naked noinline {{
  call void asm sideeffect "{code.replace("; ", chr(92) + "0A")}", ""()
  unreachable
}}
"""
    whole = _STATE + switch + MEETINGS + _RUNNING
    for name, value in {"MOST": _MOST, "STACK": _STACK, "DOWN": down, "RETURN": back}.items():
        whole = whole.replace(name, str(value))
    return whole


@cache
def _code() -> tuple[Code, Any]:
    code = Loader().load(emit(text(_processor())), ("emu_run", *_EXPORTED))
    kind = ctypes.CFUNCTYPE(ctypes.c_int, *[ctypes.c_void_p] * 2, *[ctypes.c_uint] * 6, ctypes.c_void_p)
    return code, kind(code["emu_run"])


@cache
def _stacks() -> tuple[mmap.mmap, int]:
    """Memory for the stacks of a block; the system gives what is touched."""
    memory = mmap.mmap(-1, _STACK * _MOST)
    return memory, ctypes.addressof(ctypes.c_char.from_buffer(memory))


def symbols() -> dict[str, int]:
    """What `DECLARATIONS` declares, by name."""
    code, _ = _code()
    return {name: code[name] for name in _EXPORTED}


def run(entry: int, context: int, grid: tuple[int, int, int], block: tuple[int, int, int], together: bool) -> None:
    """Run an entry of the grid. `together`: its threads meet. AssertionError where they never can."""
    assert not together or not missing()
    failure = _code()[1](entry, context, *grid, *block, _stacks()[1] if together else None)
    assert not failure, _FAILURES[failure]
