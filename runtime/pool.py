"""The pool of native worker threads that runs parallel loops.

The thread that calls a loop works too, and never waits for a worker that has not begun. The layout of the pool's
memory, by cache lines (`pool_ir.py` names the offsets):

      0   lock (0 free, 1 while a loop runs, 2 if threads wait for it), workers wanted, workers started, stopping
          (i32 each), spins before sleeping (i64)
     64   state (i64): epoch << 32 | open << 31 | waiting << 30 | number of workers inside
    128   number of sleeping workers (i32)
    160   the launch lock: 0 free, 1 taken, 2 taken and waited for (i32); the thread that holds it (i64); the thread
          whose launch runs a loop (i64)
    192   the loop: body, ctx, box, n, the least chunk
    232   scratch memory for the current launch, which grows as needed: its address, its bytes
    248   the first fault of the loop, see `guard_ir.py`
    256   the iterations of a share, how many shares are longer by 1, the number of shares
    320   a record for each thread, the caller first: where the next chunk of its share begins, its number, the pool,
          the handle of the thread

A caller that gets the lock writes the loop and publishes it: epoch + 1, open, nobody inside. A worker that sees a new
epoch enters by adding one to the state, which succeeds only while the loop is open. It takes chunks until none is left
and leaves. The caller takes chunks as well. When none is left, it clears `open` and waits until nobody is inside. A
worker that wakes late cannot enter, so a loop ends as soon as its work is done.

The iterations of a loop are divided into equal *shares*, one for each thread if they are long enough. A thread takes
the chunks of its own share first, so that it finds in its cache what it read or wrote in the loop before
(docs/adr/0091-shares-of-threads.md). Then it takes chunks of other shares. Long chunks come first, because memory is
then read in long runs; the last chunks are short, so that all threads finish together.

A caller that does not get the lock runs its loop alone; a launch waits for it (`launch_locks.py`). A waiting thread
spins for some 30 us and then sleeps on the word that it waits for, so an idle pool uses no CPU time.
"""

from __future__ import annotations

import ctypes
import os
import time
import weakref
from functools import cache
from typing import Any

import numpy as np

from weft.runtime.jit import Code
from weft.runtime.pool_ir import PLACES, SCRATCH_GUARD, THREAD, THREAD_BYTES

__all__ = ["Pool", "in_scratch"]

SPIN_SECONDS = 30e-6
_CALIBRATION = 1000
_UNIT = 64 << 10  # bytes that are worth a thread's while to copy


class Pool:
    """`threads` threads, including the caller. Native threads start with the first loop that needs them. They end with
    this object, or when Python exits. After a fork, the child starts its own."""

    FUNCTIONS = (
        "parallel_for",
        "stop_workers",
        "spin",
        "scratch",
        "set_part",
    )  # the functions that the code must export

    def __init__(self, threads: int, code: Code) -> None:
        """`code` is POOL_IR, loaded."""
        self.threads = max(1, threads)
        size = (PLACES["threads"] + THREAD_BYTES * self.threads) // 8 + 8
        memory = np.zeros(size, np.int64)
        skip = -memory.ctypes.data % 64 // 8
        self._words: Any = memory[skip:]
        self._code = code
        self.handle = int(self._words.ctypes.data)
        self.parallel_for, self.scratch = self._code["parallel_for"], self._code["scratch"]
        self._at("workers").value = self.threads - 1
        for number in range(self.threads):
            record = PLACES["threads"] + THREAD_BYTES * number
            self._words[(record + THREAD["number"]) // 8] = number
            self._words[(record + THREAD["pool"]) // 8] = self.handle
        self._at("spin", ctypes.c_int64).value = _spins(self._code)
        self._finish = weakref.finalize(self, _stop, self._code, self._words, os.getpid())
        _watch_forks()
        _pools.add(self)

    def _at(self, name: str, kind: Any = ctypes.c_int32) -> Any:
        """Return the value at that offset."""
        return kind.from_address(self.handle + PLACES[name])

    def close(self) -> None:
        """Stop the workers. The next loop starts them again. Does nothing during a launch."""
        _stop(self._code, self._words, os.getpid())

    def set(self, to: int, bytes: int, source: int = 0) -> None:
        """Copy memory that does not overlap, or set it to 0 if there is no source. All threads that have no other work
        take part."""
        record = (ctypes.c_int64 * 8)()  # as a launch has for its errors; it stays 0
        ctx = (ctypes.c_int64 * 2)(0, ctypes.addressof(record))
        box = (ctypes.c_int64 * 4)(to, source, bytes, _UNIT)
        run = ctypes.CFUNCTYPE(None, ctypes.c_int64, *[ctypes.c_void_p] * 3, ctypes.c_int64, ctypes.c_int64)
        run(self._code["parallel_for"])(self.handle, self._code["set_part"], ctx, box, -(-bytes // _UNIT), 1)

    @property
    def started(self) -> int:
        """The number of running workers."""
        return int(self._at("started").value)

    @property
    def sleeping(self) -> int:
        """The number of sleeping workers."""
        return int(self._at("sleepers").value)

    @property
    def launching(self) -> bool:
        """Whether a launch holds the launch lock now."""
        return bool(self._at("launch_lock").value)

    def missed(self, address: int) -> bool:
        """Return whether an address is between the guards of the scratch memory."""
        begin, size = (self._at(name, ctypes.c_int64).value for name in ("scratch", "scratch_size"))
        return bool(begin) and begin - SCRATCH_GUARD <= address < begin + size + SCRATCH_GUARD

    def forget(self) -> None:
        """Reset the pool in a forked child: the parent's threads do not exist here, and their work is lost."""
        for name in ("lock", "started", "stopping", "sleepers", "launch_lock"):
            self._at(name).value = 0
        for name in ("state", "owner", "looper", "scratch", "scratch_size"):
            self._at(name, ctypes.c_int64).value = 0
        self._finish.detach()
        self._finish = weakref.finalize(self, _stop, self._code, self._words, os.getpid())


_pools: weakref.WeakSet[Pool] = weakref.WeakSet()


def in_scratch(address: int) -> bool:
    """Return whether an address is between the guards of the scratch memory of any pool."""
    return any(pool.missed(address) for pool in list(_pools))


@cache
def _watch_forks() -> None:
    """Register one fork hook for all pools, because a hook cannot be removed."""
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(after_in_child=_forget_all)


def _forget_all() -> None:
    for pool in _pools:
        pool.forget()


def _spins(code: Code) -> int:
    """Measure how many pauses last SPIN_SECONDS on this machine."""
    spin = ctypes.CFUNCTYPE(None, ctypes.c_int64)(code["spin"])
    spin(_CALIBRATION // 10)
    start = time.perf_counter()
    spin(_CALIBRATION)
    return max(1, int(SPIN_SECONDS / (time.perf_counter() - start) * _CALIBRATION))


def _stop(code: Code, words: Any, process: int) -> None:
    if os.getpid() != process:
        return
    ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_int64)(code["stop_workers"])(int(words.ctypes.data))
