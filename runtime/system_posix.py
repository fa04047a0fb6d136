"""What Linux and macOS share: native threads by pthreads."""

from __future__ import annotations

__all__ = ["pthreads", "stack_limit"]

_STACK = 8 << 20  # bytes, of the pool's threads

# Workers take no signal that another thread could handle: %mask has all but those of faults.
_PTHREADS = """
declare i32 @pthread_create(ptr, ptr, ptr, ptr)
declare i32 @pthread_join(i64, ptr)
declare i32 @pthread_attr_init(ptr)
declare i32 @pthread_attr_setstacksize(ptr, i64)
declare i32 @pthread_attr_destroy(ptr)
declare i32 @pthread_sigmask(i32, ptr, ptr)

define internal i64 @thread_start(ptr %function, ptr %argument) {
  %handle = alloca i64
  %attributes = alloca [128 x i8], align 16
  %mask = alloca SIGNALS
  %saved = alloca SIGNALS
  store i64 0, ptr %handle
  FILL
  call i32 @pthread_sigmask(i32 SET, ptr %mask, ptr %saved)
  call i32 @pthread_attr_init(ptr %attributes)
  call i32 @pthread_attr_setstacksize(ptr %attributes, i64 STACK)
  %failed = call i32 @pthread_create(ptr %handle, ptr %attributes, ptr %function, ptr %argument)
  call i32 @pthread_attr_destroy(ptr %attributes)
  call i32 @pthread_sigmask(i32 SET, ptr %saved, ptr null)
  %value = load i64, ptr %handle
  %ok = icmp eq i32 %failed, 0
  %result = select i1 %ok, i64 %value, i64 0
  ret i64 %result
}

define internal void @thread_join(i64 %handle) {
  call i32 @pthread_join(i64 %handle, ptr null)
  ret void
}
"""


def pthreads(signals: str, fill: str, set_mask: int) -> str:
    """LLVM IR of `thread_start` and `thread_join`. `signals` is the type of a set of signals, `fill` fills `%mask`,
    `set_mask` is SIG_SETMASK."""
    parts = {"SIGNALS": signals, "FILL": fill, "SET": str(set_mask), "STACK": str(_STACK)}
    text = _PTHREADS
    for name, part in parts.items():
        text = text.replace(name, part)
    return text


def stack_limit() -> int:
    """The limit of the process, which new threads get as well; at most that of the pool's."""
    import resource  # Windows has none, and its tests look at all systems' code

    soft = resource.getrlimit(resource.RLIMIT_STACK)[0]
    return 2 << 20 if soft == resource.RLIM_INFINITY else min(soft, _STACK)
