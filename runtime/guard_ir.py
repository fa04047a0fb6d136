"""End a kernel that accesses memory without access rights, while the process lives on. (Native code, see `native.py`.)

    fault = guard_run(function, argument)    calls a function. Returns 0 or, if it accessed such memory, a *fault*:
                                             FAULT, WROTE if the access was a write, and the address
    guard_leave(fault)                       ends the innermost `guard_run` of this thread
    mark = guard_pause(); guard_resume(mark) in between, this thread runs code that is no kernel and may hold locks
    guard_install(table)                     handles faults from now on; `table` is that of `guard_table.py`

A processor that accesses a page without access rights makes the system send SIGSEGV or SIGBUS. Our handler finds the
innermost `guard_run` of this thread, lets the thread continue after that call, and returns: the system restores
everything else. The handler calls no function that a signal may have interrupted. This is sound because a kernel holds
nothing: it takes no lock, owns no memory but the stack's, and calls only mathematical functions and memset. Where it
calls anything else (prints, scratch memory, threads), the guard is paused.

The handler that was installed before ours gets every other fault. If its address is between our guards, the handler
first writes to stderr whose memory was missed.

To continue after a call takes a few instructions of the processor and the layout of the signal's frame. Both are here
for Linux on x86-64. On other systems `guard_run` only calls its function (`unguarded_ir.py`), and a fault ends the
process.
"""

from __future__ import annotations

from weft.runtime.guard_table import ENTRIES, ENTRY
from weft.runtime.native import Function, Module, Value
from weft.runtime.unguarded_ir import UNGUARDED

__all__ = ["FAULT", "FAULTED", "WROTE", "guard_ir"]

FAULT, WROTE = 1 << 63, 1 << 62
FAULTED = 5  # the state of an error record whose next word is a fault

_SEGV, _BUS, _TKILL = 11, 7, -6
_IGNORE = 1  # SIG_IGN; SIG_DFL is 0
_FLAGS = 0x4 | 0x08000000 | 0x40000000  # SA_SIGINFO | SA_ONSTACK | SA_NODEFER
_SIGINFO = 0x4
_STDERR = 2

# Offsets and sizes in bytes. struct sigaction: its size, the flags. siginfo_t: the code, the address. ucontext_t: RSP,
# RIP, the error code of the processor (whose bit 1 says that the access was a write).
_ACTION, _ACTION_FLAGS = 152, 136
_CODE, _ADDRESS = 8, 16
_RSP, _RIP, _ERROR = 160, 168, 192
_WRITE_BIT = 2

# A frame of `guard_run`, in words: the stack pointer inside of `guard_call`, the address where to continue, the fault.
_FRAME = "[3 x i64]"
_STACK, _NEXT, _FAULT = range(3)

# `guard_call(function, argument, frame)`: the registers that a call preserves are on the stack, and the frame's address
# too. To continue at label 1, only the stack pointer must be restored.
_KEPT = ("rbp", "rbx", "r12", "r13", "r14", "r15", "rdx")
_CALL = "\n".join(
    [
        *(f"pushq %{name}" for name in _KEPT),
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
        *(f"popq %{name}" for name in reversed(_KEPT)),
        "retq",
    ]
)
_CONTINUE = "movq ($0), %rsp\njmpq *8($0)"  # at label 1, given the frame

_TOLD = (
    b"weft: the thread that ends here missed memory of Weft's, and was not in a kernel: ",
    b"\nweft: a library may have gone past an array that a field or an ndarray lent it; if it was given one that a"
    b"\nweft: kernel made, `weft debug FILE` checks the indices of kernels\n",
)

_IR = Module()
_IR.declare(
    {
        "pthread_key_create": "i32 (ptr, ptr)",
        "pthread_getspecific": "ptr (i32)",
        "pthread_setspecific": "i32 (i32, ptr)",
        "sigaction": "i32 (i32, ptr, ptr)",
        "raise": "i32 (i32)",
        "write": "i64 (i32, ptr, i64)",
        "strlen": "i64 (ptr)",
    }
)
_IR.global_variable("guard_key", "i32", -1)  # of each thread's innermost frame
_IR.global_variable("guard_table", "ptr")
_IR.global_variable("guard_before", f"[2 x [{_ACTION} x i8]]", align=16)  # the handlers that were installed before
_IR.global_text("guard_first", _TOLD[0])
_IR.global_text("guard_last", _TOLD[1])


def guard_ir(catches: bool) -> str:
    """LLVM IR of the functions, for a system where they can catch faults, or for another."""
    return _IR.text() if catches else UNGUARDED.text()


# ---- calls -----------------------------------------------------------------------------------------------------------


@_IR.function("i64", "ptr", "ptr", "ptr", marks="naked noinline")
def guard_call(f: Function, function: Value, argument: Value, frame: Value) -> None:
    """Call the function. Returns 0, or the fault of the frame."""
    del function, argument, frame  # which the assembly finds in registers
    f.assembly(_CALL)
    f.unreachable()


@_IR.function("i64", "ptr", "ptr")
def guard_run(f: Function, function: Value, argument: Value) -> None:
    """Call the function with a frame of its own. Returns 0 or a fault."""
    frame = f.room(_FRAME, 16)
    key = f.symbol("guard_key").load("i32")
    with f.unless(key.compare("sge", 0)):
        f.call(function, argument, type="void")
        f.ret(0)
    outer = f.call("pthread_getspecific", key)
    f.call("pthread_setspecific", key, frame)
    fault = f.call("guard_call", function, argument, frame)
    f.call("pthread_setspecific", key, outer)
    f.ret(fault)


@_IR.function("void", "i64")
def guard_leave(f: Function, fault: Value) -> None:
    """End the innermost `guard_run` of this thread. Returns if there is none."""
    frame = f.call("pthread_getspecific", f.symbol("guard_key").load("i32"))
    f.ret_if(frame.eq(0))
    frame.at(_FAULT).store(fault)
    f.assembly(_CONTINUE, "r,~{memory}", frame)
    f.unreachable()


@_IR.function("ptr", exported=True)
def guard_pause(f: Function) -> None:
    """Forget the frame of this thread. Returns it."""
    key = f.symbol("guard_key").load("i32")
    with f.when(key.compare("sge", 0)):
        frame = f.call("pthread_getspecific", key)
        f.call("pthread_setspecific", key, None)
        f.ret(frame)
    f.ret(0, "ptr")


@_IR.function("void", "ptr", exported=True)
def guard_resume(f: Function, frame: Value) -> None:
    """Remember the frame of this thread again."""
    with f.when(frame.ne(0)):
        f.call("pthread_setspecific", f.symbol("guard_key").load("i32"), frame)
    f.ret()


# ---- signals ---------------------------------------------------------------------------------------------------------


@_IR.function("void", "i32", "ptr", "ptr")
def guard_signal(f: Function, signal: Value, info: Value, context: Value) -> None:
    """The handler."""
    code, address = info.behind(_CODE).load("i32"), info.behind(_ADDRESS).load("i64")
    real = code.compare("sgt", 0)  # else a process sent the signal
    frame = f.call("pthread_getspecific", f.symbol("guard_key").load("i32"))
    with f.unless(frame.eq(0)):
        with f.when(real):
            wrote = (context.behind(_ERROR).load("i64") & _WRITE_BIT).ne(0)
            how = wrote.select(f.constant((FAULT | WROTE) - (1 << 64)), f.constant(FAULT - (1 << 64)))
            frame.at(_FAULT).store(how | address)
            context.behind(_RSP).store(frame.at(_STACK).load("i64"))
            context.behind(_RIP).store(frame.at(_NEXT).load("i64"))
            f.ret()
        # Another handler, which came first, passes the signal on to this one: the thread repeats the access.
        f.ret_if(code.eq(_TKILL))
    with f.when(real):
        f.call("guard_tell", address)
    f.call("guard_pass", signal, info, context)
    f.ret()


@_IR.function("void", "i32", "ptr", "ptr")
def guard_pass(f: Function, signal: Value, info: Value, context: Value) -> None:
    """Pass the signal to the handler that was installed before ours."""
    before = f.call("guard_before_of", signal)
    handler = before.load("ptr")
    with f.when(handler.cast("ptrtoint", "i64").compare("ule", _IGNORE)):  # no function
        f.call("sigaction", signal, before, None)
        with f.when(info.behind(_CODE).load("i32").compare("sle", 0)):  # a fault repeats by itself
            f.call("raise", signal)
        f.ret()
    with f.when((before.behind(_ACTION_FLAGS).load("i32") & _SIGINFO).ne(0)):
        f.call(handler, signal, info, context, type="void")
        f.ret()
    f.call(handler, signal, type="void")
    f.ret()


@_IR.function("ptr", "i32")
def guard_before_of(f: Function, signal: Value) -> None:
    """Return the place of the handler that was installed before ours."""
    f.ret(f.symbol("guard_before").at(signal.eq(_BUS).cast("zext", "i64"), f"[{_ACTION} x i8]"))


@_IR.function("void", "i64")
def guard_tell(f: Function, address: Value) -> None:
    """If the address is between our guards, write whose memory was missed."""
    table = f.variable("ptr", f.symbol("guard_table").load("ptr"))
    with f.loop():
        chunk = table.get()
        f.ret_if(chunk.eq(0))
        with f.count(ENTRIES) as k:
            entry = chunk.at(k * ENTRY + 1)
            begin, end = entry.load("i64", "acquire"), entry.at(1).load("i64")
            with f.when(begin.ne(0) & address.compare("uge", begin) & address.compare("ult", end)):
                owner = entry.at(2).load("ptr")
                f.ret_if(owner.eq(0))
                length = f.call("strlen", owner)
                f.call("write", _STDERR, f.symbol("guard_first"), len(_TOLD[0]))
                f.call("write", _STDERR, owner, length)
                f.call("write", _STDERR, f.symbol("guard_last"), len(_TOLD[1]))
                f.ret()
        table.set(chunk.load("ptr", "acquire"))


# ---- installation ----------------------------------------------------------------------------------------------------


@_IR.function("void", "ptr", exported=True)
def guard_install(f: Function, table: Value) -> None:
    """Handle faults from now on. If our handlers were replaced since an earlier call, those stay that replaced them:
    they must pass signals on."""
    key = f.symbol("guard_key")
    known = key.load("i32").compare("sge", 0)
    with f.unless(known):
        f.symbol("guard_table").store(table)
        made = f.room("i32", 4)
        f.ret_if(f.call("pthread_key_create", made, None).ne(0))
        key.store(made.load("i32"))
    f.call("guard_take", _SEGV, known)
    f.call("guard_take", _BUS, known)
    f.ret()


@_IR.function("void", "i32", "i1")
def guard_take(f: Function, signal: Value, again: Value) -> None:
    """Install our handler of a signal, in place of the one that is there; `again`: only if that is not a function."""
    now, ours = f.room(f"[{_ACTION} x i8]", 16), f.room(f"[{_ACTION} x i8]", 16)
    f.call("sigaction", signal, None, now)
    with f.when(now.load("i64").compare("ule", _IGNORE) | ~again):
        f.copy(f.call("guard_before_of", signal), now, _ACTION)
        f.clear(ours, _ACTION)
        ours.store(f.symbol("guard_signal"))
        ours.behind(_ACTION_FLAGS).store(_FLAGS, type="i32")
        f.call("sigaction", signal, ours, None)
    f.ret()
