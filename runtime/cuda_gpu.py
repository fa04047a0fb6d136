"""One GPU of the process: its context, its stream, and their lifetime.

The context is the primary one, which PyTorch, CuPy and JAX share. Both are kept until the process ends, unless a kernel
breaks the context: after an access to unmapped memory, every later call fails with the same error. The device of the
next program then asks for a new context. CUDA creates one after a few kinds of such errors (not after that one, with
the drivers that were tried). A process that was forked after CUDA was started cannot use CUDA at all.
"""

from __future__ import annotations

import os
import threading
import time
from contextlib import AbstractContextManager, nullcontext
from functools import cached_property

from weft.ir.artifact import CudaTarget
from weft.runtime import cuda_driver
from weft.runtime.cuda_driver import BROKEN, FORKED, OUT_OF_MEMORY, CudaError, CudaUnavailable, Driver
from weft.runtime.errors import OutOfMemory

__all__ = ["Gpu", "gpu", "missing"]

_OLDEST_CAPABILITY = 70
_PATIENCE = 200e-6  # seconds of polling without a pause
_LONGEST_PAUSE = 2e-3
_NO_OTHER = (
    "an earlier error of a kernel broke the context of the GPU, and CUDA does not allow this process another "
    "one: restart the process, or use arch=cpu"
)


class _Back:
    """Restores the previous context of the thread."""

    def __init__(self, driver: Driver, context: int) -> None:
        self._driver, self._context = driver, context

    def __enter__(self) -> None:
        pass

    def __exit__(self, *_: object) -> None:
        self._driver.use_context(self._context)


_STAYS = nullcontext()


class Gpu:
    """GPU number `index`. `usable` is true if its context works and belongs to this process."""

    def __init__(self, driver: Driver, index: int) -> None:
        self.driver, self.index, self.usable = driver, index, True
        self.device = driver.device(index)
        self.context = driver.retain_context(self.device)
        self._stack: tuple[int, int] | None = None  # the previous limit, and the limit that was requested
        with self.enter():
            self.stream = driver.create_stream()
        facts = self.facts = driver.facts(self.device)
        self.processors, self.capability = facts.processors, facts.capability
        if not facts.has_pools:
            raise CudaUnavailable("this GPU or driver has no stream-ordered allocator: update the NVIDIA driver")
        driver.keep_pool(self.pool)  # returning freed memory to the system at each wait would be slow

    def enter(self) -> AbstractContextManager[None]:
        """Make the context current for this thread, and return an object that restores the previous one. Other
        libraries take the current context for the device that their user chose. If there is only one GPU, its context
        stays current."""
        if not self.usable:
            raise CudaError(
                FORKED if self.driver.forked else "the context of the GPU was lost: call init() to create another one"
            )
        before = self.context if self._alone else self.driver.current_context()
        self.driver.use_context(self.context)
        return _STAYS if before == self.context else _Back(self.driver, before)

    @cached_property
    def _alone(self) -> bool:
        return self.driver.device_count() == 1

    def synchronize(self) -> None:
        """Wait until the stream is empty. Ctrl-C ends the wait but not the work: Python checks for it between the
        pauses, which grow with the time waited so far."""
        with self.enter():
            began = time.perf_counter()
            while not self.driver.is_done(self.stream):
                waited = time.perf_counter() - began
                if waited > _PATIENCE:
                    time.sleep(min(waited / 16, _LONGEST_PAUSE))

    @property
    def pool(self) -> int:
        """The memory pool of the allocator."""
        return self.driver.default_pool(self.device)

    def reserve_stack(self, size: int) -> None:
        """Give each thread at least that many bytes of stack, for recursive functions. Raises OutOfMemory if the GPU
        cannot provide it for all threads that it can hold at once."""
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
                f"the GPU does not have enough memory for stacks of {size} bytes for all of its threads. A "
                "recursive function needs these stacks. Request smaller ones with init(cuda_stack_limit=...), "
                "or free memory, also of other processes"
            ) from None
        self._stack = (self._stack or (known,))[0], size

    def release_stack(self) -> None:
        """Return the stack memory of `reserve_stack`, which can be gigabytes, unless another library has changed the
        limit since. No kernel that needs it may run any more."""
        if self._stack is None or not self.usable:
            return
        (before, asked), self._stack = self._stack, None
        with self.enter():
            if self.driver.stack_limit() == asked:
                self.driver.set_stack_limit(before)

    def trim(self) -> None:
        """Return unused memory of the pool to the system. A context that turns out to be broken is given up instead."""
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
        """Drop the context with all that it owns. The next `gpu(index)` makes a new one."""
        self.usable = False
        _gpus.pop(self.index, None)
        _given_up.add(self.index)
        self.driver.reset_context(self.device)

    @cached_property
    def target(self) -> CudaTarget:
        """The target to compile for: the capability of the device, and the newest PTX version that the driver
        accepts."""
        version = self.driver.version()
        return CudaTarget(self.capability, _newest_ptx(version // 1000, version % 1000 // 10))


def _newest_ptx(major: int, minor: int) -> int:
    """Return the PTX version for a CUDA version: CUDA 12.0 came with PTX 8.0, 12.5 and 12.6 with 8.5, 12.8 with 8.7,
    and 13.0 with 9.0."""
    if major > 12:
        return 90 + 10 * (major - 13) + minor
    return 80 + minor - (1 if minor > 5 else 0)


_gpus: dict[int, Gpu] = {}
_given_up: set[int] = set()
_lock = threading.Lock()


def gpu(index: int) -> Gpu:
    """Return GPU number `index`, which is opened at its first use."""
    with _lock:
        if index not in _gpus:
            try:
                _gpus[index] = Gpu(cuda_driver.driver(), index)
            except CudaError as error:
                if error.status not in BROKEN:
                    raise
                raise CudaUnavailable(_NO_OTHER, error.status) from None
        return _gpus[index]


def missing(index: int = 0) -> str:
    """Return why GPU number `index` cannot be used, or "" if it can."""
    try:
        driver = cuda_driver.driver()
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
