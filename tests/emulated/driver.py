"""The CUDA driver in software: `EmulatedDriver` does what `Driver` says, with the memory of the host.

Tests tell it what machine it is on (`gpus`, `supported`, `capability`, `pools`), make calls fail (`failing`), and look
at what was called (`calls`). Native code that launches kernels calls it by the addresses of C functions, as it calls
NVIDIA's driver.
"""

from __future__ import annotations

import ctypes
import itertools
import threading
import time
from collections.abc import Callable
from ctypes import c_int, c_size_t, c_uint, c_void_p
from functools import wraps
from typing import Any

import numpy as np

from tests.emulated import blocks
from weft.runtime import mappings
from weft.runtime.cuda_driver import OUT_OF_MEMORY, CudaError, DeviceFacts, Dim3, Driver, failure

__all__ = ["EmulatedDriver", "turn"]

INVALID_VALUE, _LAUNCH_FAILED = 1, 719  # CUresult
_NAMES = {
    1: "CUDA_ERROR_INVALID_VALUE",
    OUT_OF_MEMORY: "CUDA_ERROR_OUT_OF_MEMORY",
    3: "CUDA_ERROR_NOT_INITIALIZED",
    100: "CUDA_ERROR_NO_DEVICE",
    700: "CUDA_ERROR_ILLEGAL_ADDRESS",
    719: "CUDA_ERROR_LAUNCH_FAILED",
}
_FILLED = 16 << 20  # bytes of new memory that hold something; of a large field, the system gives what is touched
turn = threading.RLock()  # a stream does one thing at a time
_SILENT = (
    "free",
    "free_pinned",
    "free_managed",
    "destroy_event",
    "destroy_graph",
    "destroy_executable",
    "unload_module",
    "reset_context",
)
CALLS = [name for name in vars(Driver) if not name.startswith("_") and name not in ("address", "error")]


class _NodeParams(ctypes.Structure):
    """CUDA_KERNEL_NODE_PARAMS_v1, which native code fills in."""

    _fields_ = (
        ("function", c_void_p),
        *((f"{kind}_{axis}", c_uint) for kind in ("grid", "block") for axis in "xyz"),
        ("shared", c_uint),
        ("params", c_void_p),
        ("extra", c_void_p),
    )


def _answering(name: str, method: Callable[..., Any]) -> Callable[..., Any]:
    """The method as a call of the driver: counted, one at a time, failing where the test says so."""

    @wraps(method)
    def answer(self: EmulatedDriver, *arguments: Any, **named: Any) -> Any:
        with turn:
            self.calls.append(name)
            self.watch(name)
            status = self.failing.get(name, 0)
            if status:
                return None if name in _SILENT else self._fail(status, name)
            try:
                return method(self, *arguments, **named)
            except CudaError:
                raise
            except Exception as error:
                self.failure = f"{type(error).__name__}: {error}"
                return self._fail(_LAUNCH_FAILED, name)

    return answer


def _count_calls(cls: type) -> None:
    for name in CALLS:
        if name in vars(cls):
            setattr(cls, name, _answering(name, vars(cls)[name]))


class EmulatedDriver(Driver):
    """A driver with so many GPUs, all alike."""

    def __init__(
        self, gpus: int = 1, supported: int = 12_030, capability: int = 90, pools: bool = True, pages: bool = True
    ) -> None:
        self.gpus, self.supported, self.capability = gpus, supported, capability
        self.pools, self.pages = pools, pages
        self.forked, self.failure = False, ""
        self.failing = dict[str, int]()  # what calls of that name end with
        self.calls = list[str]()
        self.watch: Callable[[str], None] = lambda name: None
        self.clock = time.perf_counter  # seconds
        self.current, self.busy, self.stack = 0, 0, 1024  # the context; how often the stream is not done yet; its limit
        self.blocks = dict[int, Any]()  # memory by its address
        self.rules = dict[int, tuple[str, int]]()  # about the blocks of kernels
        self.together = set[int]()  # kernels whose threads meet
        self.launches = list[tuple[int, ...]]()
        self.resident, self.asked = (
            8,
            list[tuple[int, int, int]](),
        )  # blocks that a multiprocessor holds; of what kernels
        self.events = dict[int, float]()  # when they were recorded
        self.graphs = dict[int, dict[int, list[Any]]]()  # of each node, its last parameters and whether it is on
        self.handles = itertools.count(1000)
        self._native = dict[str, Any]()

    def __init_subclass__(cls) -> None:
        _count_calls(cls)

    def _fail(self, status: int, what: str) -> Any:
        raise self.error(status, what)

    def error(self, status: int, what: str) -> CudaError:
        return failure(status, _NAMES.get(status, "CUDA_ERROR_UNKNOWN"), self.failure, what, self.forked)

    def version(self) -> int:
        return self.supported

    def start(self) -> None:
        pass

    # ---- devices and contexts

    def device_count(self) -> int:
        return self.gpus

    def device(self, index: int) -> int:
        return index

    def facts(self, device: int) -> DeviceFacts:
        return DeviceFacts(f"Emulated {device}", 8 << 30, self.capability, 4, self.pools, self.pages)

    def retain_context(self, device: int) -> int:
        return 0xC0DE0 + device

    def reset_context(self, device: int) -> None:
        pass

    def current_context(self) -> int:
        return self.current

    def use_context(self, context: int) -> None:
        self.current = context

    def synchronize_context(self) -> None:
        pass

    def stack_limit(self) -> int:
        return self.stack

    def set_stack_limit(self, size: int) -> None:
        self.stack = size

    # ---- streams and events

    def create_stream(self) -> int:
        return next(self.handles)

    def is_done(self, stream: int) -> bool:
        self.busy = max(self.busy - 1, 0)
        return self.busy == 0

    def synchronize_stream(self, stream: int) -> None:
        pass

    def wait_event(self, stream: int, event: int) -> None:
        pass

    def create_event(self, timed: bool) -> int:
        event = 1 + len(self.events)
        self.events[event] = 0.0
        return event

    def record_event(self, event: int, stream: int) -> None:
        self.events[event] = self.clock()

    def synchronize_event(self, event: int) -> None:
        pass

    def seconds_between(self, begin: int, end: int) -> float:
        return self.events[end] - self.events[begin]

    def destroy_event(self, event: int) -> None:
        pass

    # ---- memory

    def allocate(self, size: int, stream: int) -> int:
        return self._new_block(size)

    def _new_block(self, size: int) -> int:
        block = np.empty(size + 512, np.uint8)
        address = -(-block.ctypes.data // 256) * 256
        ctypes.memset(address, 0xCD, min(size, _FILLED))
        self.blocks[address] = block
        return address

    def free(self, address: int, stream: int) -> None:
        del self.blocks[address]

    def free_memory(self) -> tuple[int, int]:
        return 4 << 30, 8 << 30

    def default_pool(self, device: int) -> int:
        return 0xB001

    def keep_pool(self, pool: int) -> None:
        pass

    def trim_pool(self, pool: int) -> None:
        pass

    def allocate_pinned(self, size: int) -> int:
        return self._new_block(size)

    def allocate_managed(self, size: int) -> int:
        block = mappings.take_reserved(size, "managed memory", grows=False)
        address = int(block.ctypes.data)
        self.blocks[address] = block
        return address

    def prefer_device(self, address: int, size: int, device: int) -> None:
        pass

    def free_managed(self, address: int) -> None:
        del self.blocks[address]

    def free_pinned(self, address: int) -> None:
        del self.blocks[address]

    def copy_in(self, address: int, source: int | bytes, size: int, stream: int) -> None:
        ctypes.memmove(address, source, size)

    def copy_out(self, target: int, address: int, size: int, stream: int) -> None:
        ctypes.memmove(target, address, size)

    def copy(self, target: int, source: int, size: int, stream: int) -> None:
        ctypes.memmove(target, source, size)

    def fill(self, address: int, pattern: int, size: int, times: int, stream: int) -> None:
        if address % size:
            self._fail(INVALID_VALUE, "fill")
        if size == 1:
            ctypes.memset(address, pattern, times)
        else:
            ctypes.memmove(address, pattern.to_bytes(size, "little") * times, size * times)

    def owner(self, address: int) -> int:
        return 0

    # ---- modules and functions: `device.py` loads kernels

    def load_ptx(self, ptx: bytes) -> int:
        return next(self.handles)

    def load_cubin(self, cubin: bytes) -> int:
        return next(self.handles)

    def assemble(self, ptx: bytes) -> bytes:
        return b"cubin of " + ptx

    def unload_module(self, module: int) -> None:
        pass

    def function(self, module: int, name: str) -> int:
        return next(self.handles)

    def allow_shared(self, function: int, size: int) -> None:
        pass

    def resident_blocks(self, function: int, threads: int, shared: int) -> int:
        self.asked.append((function, threads, shared))
        return self.resident

    def launch(self, function: int, grid: Dim3, block: Dim3, shared: int, stream: int, params: int) -> None:
        if self._refused(function, block):
            self._fail(INVALID_VALUE, "launch")
        self.launches.append((function, *grid, *block))
        first = ctypes.cast(params, ctypes.POINTER(c_void_p))[0]
        blocks.run(function, first, grid, block, function in self.together)

    def _refused(self, function: int, block: Dim3) -> bool:
        kind, number = self.rules.get(function, ("maxntid", 1024))
        threads = block[0] * block[1] * block[2]
        return threads != number if kind == "reqntid" else threads > number

    # ---- graphs. A graph and its executable are the same here: the nodes in order. The parameters lie in the launch's
    # context, which is still there when the graph is launched.

    def create_graph(self) -> int:
        handle = next(self.handles)
        self.graphs[handle] = {}
        return handle

    def add_kernel(self, graph: int, after: int, function: int, threads: int, params: int) -> int:
        nodes = self.graphs[graph]
        if self._refused(function, (threads, 1, 1)):
            self._fail(INVALID_VALUE, "add_kernel")
        assert after == len(nodes)
        nodes[len(nodes) + 1] = [None, True]
        return len(nodes)

    def instantiate(self, graph: int) -> int:
        return graph

    def destroy_executable(self, executable: int) -> None:
        pass

    def destroy_graph(self, graph: int) -> None:
        del self.graphs[graph]

    # ---- what native code calls

    def address(self, function: str) -> int:
        if function not in self._native:
            types = _NATIVE[function]
            self._native[function] = ctypes.CFUNCTYPE(c_int, *types)(self._exported(getattr(self, f"_{function}")))
        return ctypes.cast(self._native[function], c_void_p).value or 0

    def _exported(self, function: Callable[..., None]) -> Callable[..., int]:
        def answer(*arguments: Any) -> int:
            with turn:
                try:
                    function(*arguments)
                except CudaError as error:
                    return error.status
                return 0

        return answer

    def _cuLaunchKernel(self, f: int, *rest: Any) -> None:
        gx, gy, gz, bx, by, bz, shared, stream, params, _ = rest
        self.launch(f, (gx, gy, gz), (bx, by, bz), shared, stream, params)

    def _cuMemsetD32Async(self, address: int, value: int, count: int, stream: int) -> None:
        self.fill(address, value, 4, count, stream)

    def _cuMemcpyDtoHAsync_v2(self, target: int, address: int, size: int, stream: int) -> None:
        self.copy_out(target, address, size, stream)

    def _cuStreamSynchronize(self, stream: int) -> None:
        self.synchronize_stream(stream)

    def _cuCtxGetCurrent(self, out: Any) -> None:
        out[0] = self.current_context()

    def _cuCtxSetCurrent(self, context: int | None) -> None:
        self.use_context(context or 0)

    def _cuGraphExecKernelNodeSetParams(self, graph: int, node: int, params: int) -> None:
        facts = _NodeParams.from_buffer_copy(ctypes.string_at(params, ctypes.sizeof(_NodeParams)))
        self.graphs[graph][node][0] = facts

    def _cuGraphNodeSetEnabled(self, graph: int, node: int, on: int) -> None:
        self.graphs[graph][node][1] = bool(on)

    def _cuGraphLaunch(self, graph: int, stream: int) -> None:
        for f, on in self.graphs[graph].values():
            if on:
                grid, block = (f.grid_x, f.grid_y, f.grid_z), (f.block_x, f.block_y, f.block_z)
                self.launch(f.function, grid, block, f.shared, stream, f.params)


# The C functions that native code calls, by the types of their arguments.
_NATIVE: dict[str, tuple[Any, ...]] = {
    "cuLaunchKernel": (c_void_p, *[c_uint] * 7, c_void_p, c_void_p, c_void_p),
    "cuMemsetD32Async": (c_void_p, c_uint, c_size_t, c_void_p),
    "cuMemcpyDtoHAsync_v2": (c_void_p, c_void_p, c_size_t, c_void_p),
    "cuStreamSynchronize": (c_void_p,),
    "cuCtxGetCurrent": (ctypes.POINTER(c_void_p),),
    "cuCtxSetCurrent": (c_void_p,),
    "cuGraphExecKernelNodeSetParams": (c_void_p, c_void_p, c_void_p),
    "cuGraphNodeSetEnabled": (c_void_p, c_void_p, c_uint),
    "cuGraphLaunch": (c_void_p, c_void_p),
}

_count_calls(EmulatedDriver)
