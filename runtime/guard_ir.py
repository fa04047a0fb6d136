"""What happens when a kernel touches memory that is nobody's, in LLVM IR: its run ends there, and the process goes on.

    fault = guard_run(function, argument)    0; or, if the function touched such memory, a *fault*: FAULT, WROTE if it
                                             meant to write, and the address
    guard_leave(fault)                       ends the innermost `guard_run` of this thread
    mark = guard_pause(); guard_resume(mark) in between, this thread is not in a kernel: it runs what may hold locks
    guard_install(table)                     from now on; `table` is that of `guard_table.py`

A processor that meets a page without access makes the kernel of the system send SIGSEGV, or SIGBUS. What handles it
finds where this thread's `guard_run` began, lets the thread go on behind that call, and returns: the system restores
everything else. Nothing is called that a signal may have interrupted. This is sound because a kernel's code holds
nothing: it takes no lock, owns no memory but the stack's, and calls only mathematical functions and memset. Where it
calls what does, there is a pause: for prints, for scratch memory, for threads.

A fault elsewhere is somebody else's: what handled the signal before gets it. If its address is between our guards,
whose memory was missed is written to stderr first.

How a thread goes on behind a call takes a few instructions of the processor and knowledge of the signal's frame. Both
are here for Linux on x86-64. Elsewhere `guard_run` calls its function, and a fault ends the process as faults do.
"""

from __future__ import annotations

from weft.runtime import system
from weft.runtime.guard_table import ENTRIES, ENTRY

__all__ = ["FAULT", "FAULTED", "GUARD_IR", "WROTE", "guard_ir"]

FAULT, WROTE = 1 << 63, 1 << 62
FAULTED = 5  # the state of an error record whose next word is a fault

# ---- Linux, x86-64 ---------------------------------------------------------------------------------------------------

_SEGV, _BUS, _TKILL = 11, 7, -6
_FLAGS = 0x4 | 0x08000000 | 0x40000000  # SA_SIGINFO | SA_ONSTACK | SA_NODEFER
_SIGINFO = 0x4

# struct sigaction: its size, where flags are; siginfo_t: code, address; ucontext_t: RSP, RIP, the error's code.
_ACTION, _ACTION_FLAGS = 152, 136
_CODE, _ADDRESS = 8, 16
_RSP, _RIP, _ERROR = 160, 168, 192

# A frame, in words: the stack's pointer inside of `guard_call`, where to go on there, the fault.
_FRAME = "[3 x i64]"

# Called as `guard_call(function, argument, frame)`. What a call keeps is on the stack, and the frame's address; so the
# pointer to it is all that must be restored to go on at 1.
_CALL = "\\0A".join(
    [
        *(f"pushq %{name}" for name in ("rbp", "rbx", "r12", "r13", "r14", "r15", "rdx")),
        "movq %rsp, (%rdx)",
        "leaq 1f(%rip), %rax",
        "movq %rax, 8(%rdx)",
        "movq %rdi, %rax",
        "movq %rsi, %rdi",
        "callq *%rax",
        "xorl %eax, %eax",
        "jmp 2f",
        "1: cld",
        "movq (%rsp), %rdx",
        "movq 16(%rdx), %rax",
        "2:",
        *(f"popq %{name}" for name in ("rdx", "r15", "r14", "r13", "r12", "rbx", "rbp")),
        "retq",
    ]
)

_RUN = f"""
declare i32 @pthread_key_create(ptr, ptr)
declare ptr @pthread_getspecific(i32)
declare i32 @pthread_setspecific(i32, ptr)
declare i32 @sigaction(i32, ptr, ptr)
declare i32 @raise(i32)
declare i64 @write(i32, ptr, i64)
declare i64 @strlen(ptr)

@guard_key = internal global i32 -1  ; of each thread's innermost frame
@guard_table = internal global ptr null
@guard_before = internal global [2 x [{_ACTION} x i8]] zeroinitializer, align 16  ; what handled the signals

define internal i64 @guard_call(ptr %function, ptr %argument, ptr %frame) naked noinline {{
  call void asm sideeffect "{_CALL}", ""()
  unreachable
}}

define internal i64 @guard_run(ptr %function, ptr %argument) {{
entry:
  %frame = alloca {_FRAME}, align 16
  %key = load i32, ptr @guard_key
  %ready = icmp sge i32 %key, 0
  br i1 %ready, label %guarded, label %plain
plain:
  call void %function(ptr %argument)
  ret i64 0
guarded:
  %outer = call ptr @pthread_getspecific(i32 %key)
  %ignored = call i32 @pthread_setspecific(i32 %key, ptr %frame)
  %fault = call i64 @guard_call(ptr %function, ptr %argument, ptr %frame)
  %ignored2 = call i32 @pthread_setspecific(i32 %key, ptr %outer)
  ret i64 %fault
}}

define internal void @guard_leave(i64 %fault) {{
entry:
  %key = load i32, ptr @guard_key
  %frame = call ptr @pthread_getspecific(i32 %key)
  %none = icmp eq ptr %frame, null
  br i1 %none, label %stay, label %leave
stay:
  ret void
leave:
  %fault.at = getelementptr i64, ptr %frame, i64 2
  store i64 %fault, ptr %fault.at
  call void asm sideeffect "movq ($0), %rsp\\0Ajmpq *8($0)", "r,~{{memory}}"(ptr %frame)
  unreachable
}}

define ptr @guard_pause() {{
entry:
  %key = load i32, ptr @guard_key
  %ready = icmp sge i32 %key, 0
  br i1 %ready, label %pause, label %none
pause:
  %frame = call ptr @pthread_getspecific(i32 %key)
  %ignored = call i32 @pthread_setspecific(i32 %key, ptr null)
  ret ptr %frame
none:
  ret ptr null
}}

define void @guard_resume(ptr %frame) {{
entry:
  %some = icmp ne ptr %frame, null
  br i1 %some, label %resume, label %done
resume:
  %key = load i32, ptr @guard_key
  %ignored = call i32 @pthread_setspecific(i32 %key, ptr %frame)
  br label %done
done:
  ret void
}}
"""

_SIGNAL = f"""
define internal void @guard_signal(i32 %signal, ptr %info, ptr %context) {{
entry:
  %code.at = getelementptr i8, ptr %info, i64 {_CODE}
  %code = load i32, ptr %code.at
  %address.at = getelementptr i8, ptr %info, i64 {_ADDRESS}
  %address = load i64, ptr %address.at
  %real = icmp sgt i32 %code, 0  ; else a process sent it
  %key = load i32, ptr @guard_key
  %frame = call ptr @pthread_getspecific(i32 %key)
  %outside = icmp eq ptr %frame, null
  br i1 %outside, label %foreign, label %kernel
kernel:
  br i1 %real, label %leave, label %sent
sent:  ; another handler, which came first, gives way to this one: the thread meets the page once more
  %way = icmp eq i32 %code, {_TKILL}
  br i1 %way, label %done, label %foreign
leave:
  %error.at = getelementptr i8, ptr %context, i64 {_ERROR}
  %error = load i64, ptr %error.at
  %write.bit = and i64 %error, 2
  %wrote = icmp ne i64 %write.bit, 0
  %how = select i1 %wrote, i64 {(FAULT | WROTE) - (1 << 64)}, i64 {FAULT - (1 << 64)}
  %fault = or i64 %how, %address
  %fault.at = getelementptr i64, ptr %frame, i64 2
  store i64 %fault, ptr %fault.at
  %stack = load i64, ptr %frame
  %stack.at = getelementptr i8, ptr %context, i64 {_RSP}
  store i64 %stack, ptr %stack.at
  %next.at = getelementptr i64, ptr %frame, i64 1
  %next = load i64, ptr %next.at
  %instruction.at = getelementptr i8, ptr %context, i64 {_RIP}
  store i64 %next, ptr %instruction.at
  br label %done
foreign:
  br i1 %real, label %look, label %pass
look:
  call void @guard_tell(i64 %address)
  br label %pass
pass:
  call void @guard_pass(i32 %signal, ptr %info, ptr %context)
  br label %done
done:
  ret void
}}

; Give the signal to what handled it before us.
define internal void @guard_pass(i32 %signal, ptr %info, ptr %context) {{
entry:
  %before = call ptr @guard_before_of(i32 %signal)
  %handler = load ptr, ptr %before
  %number = ptrtoint ptr %handler to i64
  %usual = icmp ule i64 %number, 1  ; SIG_DFL, SIG_IGN
  br i1 %usual, label %end, label %call
end:
  %ignored = call i32 @sigaction(i32 %signal, ptr %before, ptr null)
  %code.at = getelementptr i8, ptr %info, i64 {_CODE}
  %code = load i32, ptr %code.at
  %sent = icmp sle i32 %code, 0
  br i1 %sent, label %again, label %done  ; (a fault comes again by itself)
again:
  %ignored2 = call i32 @raise(i32 %signal)
  br label %done
call:
  %flags.at = getelementptr i8, ptr %before, i64 {_ACTION_FLAGS}
  %flags = load i32, ptr %flags.at
  %info.bit = and i32 %flags, {_SIGINFO}
  %wants = icmp ne i32 %info.bit, 0
  br i1 %wants, label %full, label %short
full:
  call void %handler(i32 %signal, ptr %info, ptr %context)
  br label %done
short:
  call void %handler(i32 %signal)
  br label %done
done:
  ret void
}}

define internal ptr @guard_before_of(i32 %signal) {{
  %is.bus = icmp eq i32 %signal, {_BUS}
  %number = zext i1 %is.bus to i64
  %at = getelementptr [{_ACTION} x i8], ptr @guard_before, i64 %number
  ret ptr %at
}}
"""

_TOLD = (
    b"weft: the thread that ends here missed memory of Weft's, and was not in a kernel: ",
    b"\nweft: a library may have gone past an array that a field or an ndarray lent it; if it was given one that a"
    b"\nweft: kernel made, `weft debug FILE` checks the indices of kernels\n",
)


def _text(name: str, told: bytes) -> str:
    escaped = "".join(chr(byte) if 32 <= byte < 127 and byte not in b'"\\' else f"\\{byte:02X}" for byte in told)
    return f'@{name} = internal constant [{len(told)} x i8] c"{escaped}"\n'


_TELL = f"""
{_text("guard_first", _TOLD[0])}{_text("guard_last", _TOLD[1])}
; If the address is between our guards, say so.
define internal void @guard_tell(i64 %address) {{
entry:
  %first = load ptr, ptr @guard_table
  br label %chunk
chunk:
  %table = phi ptr [ %first, %entry ], [ %after, %behind ]
  %none = icmp eq ptr %table, null
  br i1 %none, label %done, label %each
each:
  %k = phi i64 [ 0, %chunk ], [ %next, %look ]
  %more = icmp ult i64 %k, {ENTRIES}
  br i1 %more, label %look, label %behind
behind:
  %after = load atomic ptr, ptr %table acquire, align 8
  br label %chunk
look:
  %words = mul i64 %k, {ENTRY}
  %place = add i64 %words, 1
  %begin.at = getelementptr i64, ptr %table, i64 %place
  %begin = load atomic i64, ptr %begin.at acquire, align 8
  %end.at = getelementptr i64, ptr %begin.at, i64 1
  %end = load i64, ptr %end.at
  %next = add i64 %k, 1
  %there = icmp ne i64 %begin, 0
  %behind.begin = icmp uge i64 %address, %begin
  %before.end = icmp ult i64 %address, %end
  %inside = and i1 %behind.begin, %before.end
  %found = and i1 %there, %inside
  br i1 %found, label %tell, label %each
tell:
  %text.at = getelementptr i64, ptr %begin.at, i64 2
  %text = load ptr, ptr %text.at
  %nameless = icmp eq ptr %text, null
  br i1 %nameless, label %done, label %say
say:
  %length = call i64 @strlen(ptr %text)
  %ignored = call i64 @write(i32 2, ptr @guard_first, i64 {len(_TOLD[0])})
  %ignored2 = call i64 @write(i32 2, ptr %text, i64 %length)
  %ignored3 = call i64 @write(i32 2, ptr @guard_last, i64 {len(_TOLD[1])})
  br label %done
done:
  ret void
}}
"""

_INSTALL = f"""
; Unless somebody else took the signals since: then it is theirs to give them on.
define void @guard_install(ptr %table) {{
entry:
  %key = load i32, ptr @guard_key
  %known = icmp sge i32 %key, 0
  br i1 %known, label %signals, label %create
create:
  store ptr %table, ptr @guard_table
  %made = alloca i32
  %failed = call i32 @pthread_key_create(ptr %made, ptr null)
  %poor = icmp ne i32 %failed, 0
  br i1 %poor, label %done, label %store
store:
  %number = load i32, ptr %made
  store i32 %number, ptr @guard_key
  br label %signals
signals:
  call void @guard_take(i32 {_SEGV}, i1 %known)
  call void @guard_take(i32 {_BUS}, i1 %known)
  br label %done
done:
  ret void
}}

define internal void @guard_take(i32 %signal, i1 %again) {{
entry:
  %now = alloca [{_ACTION} x i8], align 16
  %ours = alloca [{_ACTION} x i8], align 16
  %ignored = call i32 @sigaction(i32 %signal, ptr null, ptr %now)
  %handler = load i64, ptr %now
  %usual = icmp ule i64 %handler, 1
  %first = xor i1 %again, true
  %take = or i1 %usual, %first
  br i1 %take, label %install, label %done
install:
  %before = call ptr @guard_before_of(i32 %signal)
  call void @llvm.memcpy.p0.p0.i64(ptr %before, ptr %now, i64 {_ACTION}, i1 false)
  call void @llvm.memset.p0.i64(ptr %ours, i8 0, i64 {_ACTION}, i1 false)
  store ptr @guard_signal, ptr %ours
  %flags.at = getelementptr i8, ptr %ours, i64 {_ACTION_FLAGS}
  store i32 {_FLAGS}, ptr %flags.at
  %ignored2 = call i32 @sigaction(i32 %signal, ptr %ours, ptr null)
  br label %done
done:
  ret void
}}
"""

# ---- elsewhere -------------------------------------------------------------------------------------------------------

_PLAIN = """
define internal i64 @guard_run(ptr %function, ptr %argument) {
  call void %function(ptr %argument)
  ret i64 0
}

define internal void @guard_leave(i64 %fault) {
  ret void
}

define ptr @guard_pause() {
  ret ptr null
}

define void @guard_resume(ptr %frame) {
  ret void
}

define void @guard_install(ptr %table) {
  ret void
}
"""


def guard_ir(catches: bool) -> str:
    """The functions, for a system where they can catch faults, or for another."""
    return _RUN + _SIGNAL + _TELL + _INSTALL if catches else _PLAIN


GUARD_IR = guard_ir(system.CATCHES_FAULTS)
