"""A GPU in software, for tests on machines without one: the driver's functions in Python, kernels on the CPU.

The code that a GPU would run is compiled for the CPU instead, as it stands; its blocks have all their threads, which
run one after the other and take turns where they meet (see `blocks.py`). So grids, boxes, contexts, states, copies,
prints and what threads do together are the real ones. What is not: several threads at the same moment, the PTX itself
(`assembling.py` has NVIDIA's assembler read that), and time.
"""

from __future__ import annotations

import ctypes
import itertools
import threading
import time
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import numpy as np
import pytest

import weft.runtime.cuda as cuda
from tests.emulated import blocks
from tests.emulated.host_code import block_rules, host_text, meets
from weft.codegen.llvm import machine
from weft.ir.artifact import Artifact, CudaTarget
from weft.runtime import cuda_driver
from weft.runtime.cuda_graph import NodeParams
from weft.runtime.jit import emit

__all__ = ["EmulatedDevice", "use"]

_INVALID_VALUE, _LAUNCH_FAILED = 1, 719  # CUDA_ERROR_*
_SIZE_OF_PARAMS = ctypes.sizeof(NodeParams)
_FILLED = 16 << 20  # bytes of new memory that hold something; of a large field, the system gives what is touched
_turn = threading.RLock()  # a stream does one thing at a time


class _Library:
    """libcuda, as far as the runtime calls it."""

    def __init__(self) -> None:
        self.blocks: dict[int, Any] = {}
        self.rules: dict[int, tuple[str, int]] = {}  # about the blocks of kernels
        self.together = set[int]()  # kernels whose threads meet
        self.launches: list[tuple[int, ...]] = []
        self.graphs: dict[int, dict[int, list[Any]]] = {}
        self.handles = itertools.count(1000)
        self._callbacks: dict[str, Any] = {}
        self.events: dict[int, float] = {}  # when they were recorded
        self.resident, self.asked = 8, list[tuple[int, int, int]]()  # blocks of a multiprocessor; who asked
        self.clock = time.perf_counter  # seconds
        self.current = 0  # the context that is
        self.failure = b""

    def __getattr__(self, name: str) -> Any:
        if not name.startswith("cu"):
            raise AttributeError(name)
        if name not in self._callbacks:
            kind = ctypes.CFUNCTYPE(ctypes.c_int, *cuda_driver.PROTOTYPES[name])
            self._callbacks[name] = kind(self._answering(getattr(self, "do_" + name[2:], _nothing)))
        return self._callbacks[name]

    def _answering(self, function: Any) -> Any:
        """The function, one call at a time; a failure is told as the driver tells one."""

        def answer(*arguments: Any) -> int:
            with _turn:
                try:
                    return int(function(*arguments))
                except Exception as error:
                    self.failure = f"{type(error).__name__}: {error}".encode()
                    return _LAUNCH_FAILED

        return answer

    def do_GetErrorString(self, status: int, out: Any) -> int:
        out[0] = self.failure
        return 0

    def do_MemAllocAsync(self, out: Any, size: int, stream: int) -> int:
        block = np.empty(size + 512, np.uint8)
        address = -(-block.ctypes.data // 256) * 256
        ctypes.memset(address, 0xCD, min(size, _FILLED))
        self.blocks[address] = block
        out[0] = address
        return 0

    def do_MemHostAlloc(self, out: Any, size: int, flags: int) -> int:
        return self.do_MemAllocAsync(out, size, 0)

    def do_MemFreeHost(self, address: int) -> int:
        return self.do_MemFreeAsync(address, 0)

    def do_MemFreeAsync(self, address: int, stream: int) -> int:
        del self.blocks[address]
        return 0

    def do_MemsetD8Async(self, address: int, value: int, count: int, stream: int) -> int:
        ctypes.memset(address, value, count)
        return 0

    def do_MemsetD16Async(self, address: int, value: int, count: int, stream: int) -> int:
        return self._pattern(address, value, 2, count)

    def do_MemsetD32Async(self, address: int, value: int, count: int, stream: int) -> int:
        return self._pattern(address, value, 4, count)

    def _pattern(self, address: int, value: int, size: int, count: int) -> int:
        if address % size:
            return _INVALID_VALUE
        ctypes.memmove(address, value.to_bytes(size, "little") * count, size * count)
        return 0

    def do_MemcpyHtoDAsync_v2(self, target: int, source: int, size: int, stream: int) -> int:
        ctypes.memmove(target, source, size)
        return 0

    def do_MemcpyDtoDAsync_v2(self, target: int, source: int, size: int, stream: int) -> int:
        ctypes.memmove(target, source, size)
        return 0

    def do_MemcpyDtoHAsync_v2(self, target: int, source: int, size: int, stream: int) -> int:
        ctypes.memmove(target, source, size)
        return 0

    def do_LaunchKernel(self, f: int, *rest: Any) -> int:
        gx, gy, gz, *block, _shared, _stream, params, _extra = rest
        if self._refused(f, block):
            return _INVALID_VALUE
        self.launches.append((f, gx, gy, gz, *block))
        blocks.run(f, params[0], (gx, gy, gz), tuple(block), f in self.together)
        return 0

    def _refused(self, f: int, block: list[int]) -> bool:
        kind, number = self.rules[f]
        threads = block[0] * block[1] * block[2]
        return threads != number if kind == "reqntid" else threads > number

    def do_DriverGetVersion(self, out: Any) -> int:
        out[0] = 12_080
        return 0

    # A graph and its executable are the same here: the nodes in order, each with its last parameters, and whether it
    # is on. The parameters lie in the launch's context, which is still there when the graph is launched.

    def do_OccupancyMaxActiveBlocksPerMultiprocessor(self, out: Any, f: int, threads: int, shared: int) -> int:
        self.asked.append((f, threads, shared))
        out[0] = self.resident
        return 0

    def do_GraphCreate(self, out: Any, flags: int) -> int:
        handle = out[0] = next(self.handles)
        self.graphs[handle] = {}
        return 0

    def do_GraphAddKernelNode(self, out: Any, graph: int, before: Any, count: int, params: int) -> int:
        nodes, facts = self.graphs[graph], NodeParams.from_buffer_copy(ctypes.string_at(params, _SIZE_OF_PARAMS))
        if self._refused(facts.function, [facts.block_x, facts.block_y, facts.block_z]):
            return _INVALID_VALUE
        assert count == min(len(nodes), 1)
        assert count == 0 or before[0] == len(nodes)
        out[0] = len(nodes) + 1
        nodes[out[0]] = [None, True]
        return 0

    def do_GraphInstantiateWithFlags(self, out: Any, graph: int, flags: int) -> int:
        out[0] = graph
        return 0

    def do_GraphExecKernelNodeSetParams(self, graph: int, node: int, params: int) -> int:
        facts = NodeParams.from_buffer_copy(ctypes.string_at(params, _SIZE_OF_PARAMS))
        self.graphs[graph][node][0] = facts
        return 0

    def do_GraphNodeSetEnabled(self, graph: int, node: int, on: int) -> int:
        self.graphs[graph][node][1] = bool(on)
        return 0

    def do_GraphLaunch(self, graph: int, stream: int) -> int:
        for f, on in self.graphs[graph].values():
            if on:
                grid, block = (f.grid_x, f.grid_y, f.grid_z), (f.block_x, f.block_y, f.block_z)
                params = ctypes.cast(f.params, ctypes.POINTER(ctypes.c_void_p))
                self.do_LaunchKernel(f.function, *grid, *block, f.shared, stream, params, None)
        return 0

    def do_GraphDestroy(self, graph: int) -> int:
        del self.graphs[graph]
        return 0

    def do_CtxGetCurrent(self, out: Any) -> int:
        out[0] = self.current
        return 0

    def do_CtxSetCurrent(self, context: int | None) -> int:
        self.current = context or 0
        return 0

    def do_EventElapsedTime(self, out: Any, begin: int, end: int) -> int:
        out[0] = 1e3 * (self.events[end] - self.events[begin])
        return 0

    def do_EventCreate(self, out: Any, flags: int) -> int:
        out[0] = 1 + len(self.events)
        self.events[out[0]] = 0.0
        return 0

    def do_EventRecord(self, event: int, stream: int) -> int:
        self.events[event] = self.clock()
        return 0


def _nothing(*_arguments: Any) -> int:
    return 0


class _Gpu:
    """What `weft.runtime.cuda.Gpu` is to the device."""

    index = device = stream = 0
    context = 0xC0DE0
    processors = 4
    usable = True
    target = CudaTarget(90, 83)

    def __init__(self) -> None:
        self.library = _Library()
        self.driver = cuda_driver.Driver(self.library)

    def enter(self) -> AbstractContextManager[None]:
        return nullcontext()

    def synchronize(self) -> None:
        pass

    trim = release_stack = synchronize


_texts: dict[bytes, str] = {}  # the LLVM IR that PTX was made of: kernels from the disk come without


class EmulatedDevice(cuda.CudaDevice):
    """A CUDA device without a GPU."""

    def __init__(self, random_seed: int = 0, index: int = 0, emit: Any = emit, store: Any = None) -> None:
        self._modules: dict[int, Any] = {}
        self._open(_Gpu(), random_seed, emit, store)

    def load_functions(self, artifact: Artifact) -> tuple[int, list[int]]:
        text = artifact.llvm or _texts[artifact.code]
        _texts[artifact.code] = text
        together = meets(text)
        if together and (why := blocks.missing()):
            pytest.skip(f"what threads do together is not tested: {why}")
        object_file = machine.host_cpu(0).machine.emit_object(machine.parse(host_text(text)))
        code = self.loader.load(object_file, artifact.tasks, symbols=blocks.symbols())
        handles, rules, library = [code[name] for name in artifact.tasks], block_rules(text), self.gpu.library
        for name, handle in zip(artifact.tasks, handles, strict=True):
            library.rules[handle] = rules[name]
        library.together.update(handles if together else ())
        module = next(library.handles)
        self._modules[module] = code, handles
        return module, handles

    def unload(self, module: int) -> None:
        with _turn:
            _, handles = self._modules.pop(module)
            self.gpu.library.together.difference_update(handles)


def use(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make `init(arch=cuda)` use the emulator."""
    monkeypatch.setattr(cuda, "missing", lambda index=0: "")
    monkeypatch.setattr(cuda, "CudaDevice", EmulatedDevice)
