"""The device for an NVIDIA GPU.

Each GPU has one context (the primary one, which PyTorch, CuPy and JAX share) and one stream. Both exist until the
process ends. The stream and the default stream of other libraries wait for each other, so work on shared memory happens
in program order. A launch returns at once. A function that needs its results waits for them.
"""

from __future__ import annotations

import ctypes
import struct
import sys
import threading
import weakref
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any

import numpy as np

from weft.ir.artifact import CUDA_SERVICES, NOTE_WORDS, NOTES, PRINT_END, Artifact, CudaTarget
from weft.ir.types import Array, flat_size
from weft.runtime import cuda_gpu
from weft.runtime.console import format_print
from weft.runtime.cuda_driver import CudaUnavailable
from weft.runtime.cuda_gpu import Gpu
from weft.runtime.cuda_graph import Graph, graph_of
from weft.runtime.cuda_memory import CudaMemory, DeviceBuffer
from weft.runtime.cuda_module import Keeper, load_module
from weft.runtime.cuda_staging import Staging
from weft.runtime.cuda_streams import UNKNOWN, ForeignArray
from weft.runtime.cuda_timer import LaunchTimer, Stamp, Stamps
from weft.runtime.direct import Native
from weft.runtime.errors import KernelFault, warn
from weft.runtime.jit import Loader, emit
from weft.runtime.launch import CpuKernel, Launching
from weft.runtime.observer import Observer
from weft.runtime.pool_ir import PLACES

__all__ = ["CudaDevice", "CudaKernel", "missing"]

missing = cuda_gpu.missing

_PRINT_WORDS = 1 << 20  # words in the print buffer
_CACHES = 256 << 20  # bytes: more than the size of any second-level cache
_DRIVER_FUNCTIONS = {
    "launch": "cuLaunchKernel",
    "memset": "cuMemsetD32Async",
    "copy_out": "cuMemcpyDtoHAsync_v2",
    "synchronize": "cuStreamSynchronize",
    "get_current": "cuCtxGetCurrent",
    "set_current": "cuCtxSetCurrent",
}


class CudaDevice(Launching):
    """Runs kernels on GPU number `index`. `emit` compiles the runtime's own LLVM IR to an object file. `store` keeps
    the machine code that the driver makes of PTX."""

    arch = "cuda"
    threads = 0

    def __init__(
        self,
        random_seed: int = 0,
        index: int = 0,
        emit: Callable[[str], bytes] = emit,
        store: Keeper | None = None,
    ) -> None:
        why = missing(index)
        if why:
            raise CudaUnavailable(why)
        self._open(cuda_gpu.gpu(index), random_seed, emit, store)

    def _open(self, gpu: Gpu, random_seed: int, emit: Callable[[str], bytes], store: Keeper | None) -> None:
        self.gpu, self._seed, self._emit, self._store = gpu, random_seed, emit, store
        self.lock = threading.RLock()  # held while a print buffer is filled and shown
        self.locks = np.zeros(PLACES["owner"] // 8 + 1, np.int64)  # with the lock that its launches take; see `pool.py`
        self.memory = CudaMemory(gpu.driver, gpu.stream, gpu.enter, gpu.index, lambda: gpu.usable, gpu.facts)
        self.loader = Loader()
        self.timer: LaunchTimer | None = None
        self._always_timed = False
        self._observer: Observer | None = None
        # Kernels that may emit warnings, by the address of their state.
        self.fallible = weakref.WeakValueDictionary[int, CudaKernel]()

    @property
    def target(self) -> CudaTarget:
        """The target to compile for."""
        return self.gpu.target

    @property
    def number(self) -> int:
        """The number of the GPU."""
        return self.gpu.index

    @property
    def processors(self) -> int:
        """The number of multiprocessors."""
        return self.gpu.processors

    @cached_property
    def prints(self) -> DeviceBuffer:
        """The print buffer: words used, capacity in words, records."""
        buffer = self.memory.allocate(8 * (2 + _PRINT_WORDS + NOTES * NOTE_WORDS), "the print buffer")
        buffer.write(0, np.array([0, _PRINT_WORDS], np.uint64))
        return buffer

    def assign(self, target: Any, value: Any) -> None:
        """`target[...] = value`."""
        target[...] = value

    def load(self, artifact: Artifact) -> CudaKernel:
        """Make the kernel ready to run. The loaded kernel keeps this device alive."""
        with self.gpu.enter():
            return CudaKernel(artifact, self)

    def load_functions(self, artifact: Artifact) -> tuple[int, list[int]]:
        """Load the PTX of the artifact. Returns the driver's module and the handles of its entries. The context must be
        current."""
        driver = self.gpu.driver
        if artifact.stack_bytes:
            self.gpu.reserve_stack(artifact.stack_bytes)
        module = load_module(driver, artifact.name, artifact.code, self.gpu.capability, self._store)
        handles = [driver.function(module, name) for name in artifact.tasks]
        for handle, shared in zip(handles, artifact.shared):
            if shared:
                driver.allow_shared(handle, shared)
        return module, handles

    def unload(self, module: int) -> None:
        """Unload a module once the pending work is done."""
        if not self.gpu.usable:
            return
        with self.gpu.enter():
            self.gpu.synchronize()
            self.gpu.driver.unload_module(module)

    def synchronize(self) -> None:
        """Wait until all launches so far are done, then emit the warnings of kernels."""
        self.gpu.synchronize()
        if self.fallible:
            self._show_notes()

    def _show_notes(self) -> None:
        """Emit the warnings that kernels recorded."""
        place = 8 * (2 + _PRINT_WORDS)
        size = 8 * NOTE_WORDS
        notes = self.prints.read(place, NOTES * size).tobytes()
        for at in range(0, NOTES * size, size):
            complete, state, site = struct.unpack_from("=QQQ", notes, at)
            if complete != 2:
                continue
            self.prints.write(place + at, np.zeros(1, np.uint64))
            kernel = self.fallible.get(state)
            if kernel is not None:
                warn(kernel.artifact.sites[site], notes[at + 24 : at + size], kernel.artifact.name)

    @cached_property
    def _stamps(self) -> Stamps:
        return Stamps(self.gpu.driver, self.gpu.stream, self.gpu.enter, lambda: self.gpu.usable)

    def stamp(self) -> Stamp:
        """Return the point after all launches so far."""
        return self._stamps.take()

    def seconds_between(self, begin: Stamp, end: Stamp) -> float:
        """Return the seconds between two stamps by the device's clock. Both must be in the past."""
        return self._stamps.seconds(begin, end)

    def cache_flush(self) -> Callable[[], None]:
        """Return a function that evicts all data from the caches by filling a larger memory. It does not wait."""
        buffer = self.memory.allocate(_CACHES, "the memory that is overwritten to flush the caches")
        return lambda: buffer.fill(0, np.uint32(0), _CACHES // 4)

    @property
    def times_tasks(self) -> bool:
        """Whether the tasks of launches are timed now."""
        return self.timer is not None

    def time_tasks(self) -> None:
        """Start measuring on the device how long the tasks of kernels take."""
        self._always_timed = True
        self.timer = self._own_timer

    @cached_property
    def _own_timer(self) -> LaunchTimer:
        return LaunchTimer(self.gpu.driver, self._stamps, self.gpu.synchronize)

    def task_times(self) -> list[tuple[str, float]]:
        """Wait for the launches since the last call and return their (task, seconds)."""
        if self.timer is None:
            return []
        spans, observer = self.timer.take(), self._observer
        if observer is not None:
            for span in spans:
                observer.task(f"GPU {self.gpu.index}", *span)
        return [(span.name, span.seconds) for span in spans]

    def observe(self, observer: Observer | None) -> None:
        """Report tasks, copies and memory to that observer from now on, or to none if it is None."""
        if self._observer is not None:
            self.task_times()
        self._observer = self.memory.observer = observer
        if observer is not None and not self._always_timed:
            self._own_timer.begin()
        self.timer = self._own_timer if observer is not None or self._always_timed else None

    def close(self) -> None:
        """Wait for pending work and return unused memory to the system."""
        if self._observer is not None and self.gpu.usable:
            self.task_times()
        self.gpu.trim()
        self.gpu.release_stack()


class CudaKernel:
    """A loaded kernel, called as `kernel(trees, args)` with addresses on the device. numpy arrays in the arguments are
    in host memory: they are copied to the device, and copied back if the kernel writes to them."""

    def __init__(self, artifact: Artifact, device: CudaDevice) -> None:
        self.artifact, self._device = artifact, device
        module, self._functions = device.load_functions(artifact)
        self._resident = [
            max(device.gpu.driver.resident_blocks(*facts), 1)
            for facts in zip(self._functions, artifact.threads, artifact.shared, strict=True)
        ]
        self._module = _Module(device, module)
        self._state = device.memory.allocate(artifact.state_bytes, f"kernel {artifact.name}")
        self._printing = any(site.kind == "print" for site in artifact.sites)
        self.heard: list[Callable[[str], None]] = []  # functions that receive the text of prints
        self._warns = any(site.warns for site in artifact.sites)
        if self._warns:
            device.fallible[self._state.address] = self
        self._code = device.loader.load(artifact.host, artifact.functions)
        self._host = self._hosted(self._collected())
        self._timed: tuple[LaunchTimer, CpuKernel] | None = None
        self.conclude = self._host.conclude
        types = [param.type for param in artifact.slots.params]
        self._axes = {k: type.ndim for k, type in enumerate(types) if isinstance(type, Array)}
        self._arrays = list(self._axes)

    @property
    def native(self) -> Native | None:
        """The data that a direct call needs, or None if direct calls are not possible now."""
        return None if self._printing or self._device.timer is not None else self._host.native

    @property
    def drawn(self) -> int:
        """Return the key of the random numbers of the last launch, 0 before the first one."""
        return self._host_now().drawn or self._host.drawn

    def _host_now(self) -> CpuKernel:
        """Return the host code for launches in the current mode."""
        timer = self._device.timer
        if timer is None:
            return self._host
        if self._timed is None or self._timed[0] is not timer:
            self._timed = timer, self._hosted(self._timing(timer))
        timer.ease()
        return self._timed[1]

    def _hosted(self, launching: dict[str, int]) -> CpuKernel:
        """Return the host code with those words about launches in its service table."""
        device, artifact = self._device, self.artifact
        driver = device.gpu.driver
        words = {name: driver.address(function) for name, function in _DRIVER_FUNCTIONS.items()} | launching
        words |= {"context": device.gpu.context, "stream": device.gpu.stream, "processors": device.gpu.processors}
        words |= {"lists": device.memory.lists.address}
        words |= {"pool": device.locks.ctypes.data, "state": self._state.address, "prints": 0, "drawn": 0}
        if self._printing or self._warns:
            words["prints"] = device.prints.address
        table = [*(words[name] for name in CUDA_SERVICES[:-1]), *self._functions, *self._resident]
        return CpuKernel(
            artifact,
            self._code,
            device.launcher,
            lambda _: (ctypes.c_int64 * len(table))(*table),
            lambda status: driver.error(status, f"kernel {artifact.name}"),
        )

    def _timing(self, timer: LaunchTimer) -> dict[str, int]:
        """Return the words for launches that are timed one by one."""
        timer.know(self._functions, self.artifact.tasks)
        return {"launch": timer.address, "queue": self._device.gpu.stream, "flush": 0}

    def _collected(self) -> dict[str, int]:
        """Return the words for launches that are collected in a graph, if the driver supports that."""
        gpu, artifact = self._device.gpu, self.artifact
        entries = list(zip(self._functions, artifact.threads, strict=True))
        graph = self._module.graph = graph_of(
            gpu.driver, gpu.stream, self._device.native, entries, artifact.slots.result_start, lambda: gpu.usable
        )
        if graph is None:
            return {"queue": gpu.stream, "flush": 0}
        return {"launch": graph.node, "queue": graph.queue, "flush": graph.flush}

    def __call__(self, trees: Sequence[int], args: Sequence[Any]) -> tuple[Any, ...]:
        streams = {args[k].stream for k in self._arrays if args[k].__class__ is ForeignArray}
        if not streams:
            return self._stage(trees, args)
        memory = self._device.memory
        known = sorted(streams - {UNKNOWN})
        for stream in known:
            memory.follow(stream)
        result = self._stage(trees, args)
        for stream in known:
            memory.lead(stream)
        if UNKNOWN in streams:
            self._device.synchronize()
        return result

    def replay(self, context: bytes) -> tuple[Any, ...]:
        """Launch it with a context that `bind` has filled, as `CpuKernel.replay`. (Kernels that print do not bind.)"""
        return self._host_now().replay(context)

    @property
    def in_series(self) -> CpuKernel | None:
        """Return the host code that takes part in `CpuKernel.replay_each`, or None."""
        return None if self._printing or self._warns else self._host_now().in_series

    def overlap(self, trees: Sequence[int], args: Sequence[Any]) -> bool:
        """Return whether such a call would raise Overlapping."""
        return self._host.overlap(trees, args)

    def _stage(self, trees: Sequence[int], args: Sequence[Any]) -> tuple[Any, ...]:
        arrays = {k: args[k] for k in self._arrays if not isinstance(args[k], tuple)}
        if not arrays:
            return self._run(trees, args)
        staging, given = Staging(self._device.memory, arrays), list(args)
        for k, (address, shape, strides) in staging.places.items():
            ndim = self._axes[k]
            given[k] = address, shape[:ndim], strides[:ndim]
        try:
            result = self._run(trees, given)
        except KernelFault:  # keep what the kernel wrote before it failed, as on a CPU
            staging.copy_out(self.artifact.written)
            raise
        staging.copy_out(self.artifact.written)
        return result

    def _run(self, trees: Sequence[int], args: Sequence[Any]) -> tuple[Any, ...]:
        host = self._host_now()
        if not self._printing:
            return host(trees, args)
        with self._device.lock:
            try:
                result = host(trees, args)
            except KernelFault:  # show what it printed before it failed, and empty the buffer
                self._show_prints()
                raise
            self._show_prints()
        return result

    def _show_prints(self) -> None:
        """Show what the kernel printed, in the order in which its threads reserved space."""
        buffer, sites = self._device.prints, self.artifact.sites
        used = struct.unpack("=Q", buffer.read(0, 8))[0]
        if not used:
            return
        data = buffer.read(16, 8 * min(used, _PRINT_WORDS)).tobytes()
        buffer.write(0, np.zeros(1, np.uint64))
        at, pieces = 0, list[str]()
        while at < len(data):
            number = struct.unpack_from("=Q", data, at)[0]
            if number == PRINT_END:
                break
            site = sites[number]
            size = 8 * sum(map(flat_size, site.types))
            pieces.append(format_print(site, data[at + 8 : at + 8 + size]))
            at += 8 + size
        for hear in self.heard:
            for piece in pieces:
                hear(piece)
        if used > _PRINT_WORDS:
            pieces.append("... the rest of the output was lost, because the print buffer is full\n")
        if sys.stdout is not None:
            sys.stdout.write("".join(pieces))


class _Module:
    """Keeps a module of the driver, and the graph of its functions, loaded for its own lifetime."""

    graph: Graph | None = None

    def __init__(self, device: CudaDevice, module: int) -> None:
        self._device, self._module = device, module

    def __del__(self, ends: Callable[[], bool] = sys.is_finalizing) -> None:  # (module globals are cleared earlier)
        self.graph = None
        if not ends():
            self._device.unload(self._module)
