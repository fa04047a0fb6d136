"""One GPU of the process: its context, its stream, and what becomes of them.

The context is the primary one, which PyTorch, CuPy and JAX share. Both are kept for the life of the process, unless a
kernel breaks the context: after an access to memory that is not there every later call ends with the same error. Then
the device of the next program asks for a new one, which CUDA grants after few such errors (not after that one, on the
drivers that were tried). A process that was forked after CUDA was started cannot use it at all.
"""

from __future__ import annotations

import os
import threading
import time
from contextlib import AbstractContextManager, nullcontext
from functools import cached_property

from weft.ir.artifact import CudaTarget
from weft.runtime import cuda_bindings
from weft.runtime.cuda_driver import BROKEN, FORKED, OUT_OF_MEMORY, CudaError, CudaUnavailable, Driver
from weft.runtime.errors import OutOfMemory

__all__ = ["Gpu", "gpu", "missing"]

_OLDEST_CAPABILITY = 70
_PATIENCE = 200e-6  # seconds of asking without a pause
_LONGEST_PAUSE = 2e-3
_NO_OTHER = (
    "an earlier error of a kernel broke the context of the GPU, and CUDA allows this process no other one: "
    "restart it, or use arch=cpu"
)


class _Back:
    """Gives the thread back the context it had."""

    def __init__(self, driver: Driver, context: int) -> None:
        self._driver, self._context = driver, context

    def __enter__(self) -> None:
        pass

    def __exit__(self, *_: object) -> None:
        self._driver.use_context(self._context)


_STAYS = nullcontext()


class Gpu:
    """GPU number `index`. `usable`: its context is sound, and of this process."""

    def __init__(self, driver: Driver, index: int) -> None:
        self.driver, self.index, self.usable = driver, index, True
        self.device = driver.device(index)
        self.context = driver.retain_context(self.device)
        self._stack: tuple[int, int] | None = None  # the limit that was found, and that which was asked for
        with self.enter():
            self.stream = driver.create_stream()
        facts = driver.facts(self.device)
        self.processors, self.capability = facts.processors, facts.capability
        if not facts.has_pools:
            raise CudaUnavailable("this GPU or driver has no stream-ordered allocator: update the NVIDIA driver")
        driver.keep_pool(self.pool)  # giving freed memory back to the system at each wait would be slow

    def enter(self) -> AbstractContextManager[None]:
        """Make the context current for this thread, and give what puts back the one it had: other libraries take the
        current context for the device that their user chose. Where there is one GPU, it stays."""
        if not self.usable:
            raise CudaError(FORKED if self.driver.forked else "the context of the GPU was lost: init() starts afresh")
        before = self.context if self._alone else self.driver.current_context()
        self.driver.use_context(self.context)
        return _STAYS if before == self.context else _Back(self.driver, before)

    @cached_property
    def _alone(self) -> bool:
        return self.driver.device_count() == 1

    def synchronize(self) -> None:
        """Wait until the stream is empty. Ctrl-C ends the wait, not the work: Python looks for it between the pauses,
        which grow with what was waited already."""
        with self.enter():
            began = time.perf_counter()
            while not self.driver.is_done(self.stream):
                waited = time.perf_counter() - began
                if waited > _PATIENCE:
                    time.sleep(min(waited / 16, _LONGEST_PAUSE))

    @property
    def pool(self) -> int:
        """The memory pool that the allocator takes from."""
        return self.driver.default_pool(self.device)

    def reserve_stack(self, size: int) -> None:
        """Give each thread at least so many bytes of stack: what functions need that call themselves. OutOfMemory if
        the GPU has none for all the threads that it can hold at once."""
        known = self.driver.stack_limit()
        if known >= size:
            return
        self.trim()
        try:
            self.driver.set_stack_limit(size)
        except CudaError as error:
            if error.status != OUT_OF_MEMORY:
                raise
            raise OutOfMemory(
                f"the GPU has no room for a stack of {size} bytes for each of its threads, which a function that calls "
                "itself needs: ask for less by init(cuda_stack_limit=...), or free memory, also of other processes"
            ) from None
        self._stack = (self._stack or (known,))[0], size

    def release_stack(self) -> None:
        """Give back what `reserve_stack` took, which is gigabytes, unless another library has changed it since. No
        kernel that needs it may run any more."""
        if self._stack is None or not self.usable:
            return
        (before, asked), self._stack = self._stack, None
        with self.enter():
            if self.driver.stack_limit() == asked:
                self.driver.set_stack_limit(before)

    def trim(self) -> None:
        """Give unused memory of the pool back. A context that turns out to be broken is given up instead."""
        if not self.usable:
            return
        try:
            self.synchronize()
        except CudaError as error:
            if error.status not in BROKEN:
                raise
            self.give_up()
            return
        self.driver.trim_pool(self.pool)

    def give_up(self) -> None:
        """Drop the context with all that is in it; the next `gpu(index)` makes a new one."""
        self.usable = False
        _gpus.pop(self.index, None)
        _given_up.add(self.index)
        self.driver.reset_context(self.device)

    @cached_property
    def target(self) -> CudaTarget:
        """What to compile for: the device's capability, and the newest PTX that the driver takes."""
        version = self.driver.version()
        return CudaTarget(self.capability, _newest_ptx(version // 1000, version % 1000 // 10))


def _newest_ptx(major: int, minor: int) -> int:
    """CUDA 12.0 came with PTX 8.0, 12.5 and 12.6 with 8.5, 12.8 with 8.7; CUDA 13.0 with 9.0."""
    if major > 12:
        return 90 + 10 * (major - 13) + minor
    return 80 + minor - (1 if minor > 5 else 0)


_gpus: dict[int, Gpu] = {}
_given_up: set[int] = set()
_lock = threading.Lock()


def gpu(index: int) -> Gpu:
    """GPU number `index`, opened at its first use."""
    with _lock:
        if index not in _gpus:
            try:
                _gpus[index] = Gpu(cuda_bindings.driver(), index)
            except CudaError as error:
                if error.status not in BROKEN:
                    raise
                raise CudaUnavailable(_NO_OTHER, error.status) from None
        return _gpus[index]


def missing(index: int = 0) -> str:
    """Why GPU number `index` cannot be used, "" if it can."""
    try:
        driver = cuda_bindings.driver()
        count = driver.device_count()
        if not 0 <= index < count:
            return f"there is no CUDA device {index}: the driver sees {count}"
        capability = driver.facts(driver.device(index)).capability
        if capability < _OLDEST_CAPABILITY:
            found = f"{capability // 10}.{capability % 10}"
            return f"CUDA device {index} has compute capability {found}; Weft needs 7.0 (Volta) or newer"
        if index in _given_up:
            gpu(index)
    except CudaError as error:
        return str(error)
    return ""


def _forked() -> None:
    for one in _gpus.values():
        one.usable, one.driver.forked = False, True


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forked)
