"""A GPU in software, for tests on machines without one: the driver's functions in Python, kernels on the CPU.

The code that a GPU would run is compiled for the CPU instead, with blocks of one thread that run one after the other;
so grids, boxes, contexts, states, copies and prints are the real ones. What threads do together is tried where a
program does it itself, by SIMT intrinsics: then blocks have all their threads (see `emulated_threads.py`). Not tried is
what Weft does so: a block's sum is that of its one thread.
"""

from __future__ import annotations

import ctypes
import importlib.util
import itertools
import re
import time
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any

import weft.runtime.cuda as cuda
from weft.codegen import machine
from weft.ir.artifact import Artifact, CudaTarget
from weft.runtime import cuda_driver
from weft.runtime.cuda_graph import NodeParams
from weft.runtime.jit import Loader, emit

_spec = importlib.util.spec_from_file_location("weft_emulated_threads", Path(__file__).parent / "emulated_threads.py")
assert _spec is not None
assert _spec.loader is not None
threads: Any = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(threads)

_INVALID_VALUE = 1  # CUDA_ERROR_INVALID_VALUE
_SIZE_OF_PARAMS = ctypes.sizeof(NodeParams)
_SREGS = [f"{kind}.{axis}" for kind in ("tid", "ntid", "ctaid", "nctaid") for axis in "xyz"]

_EMULATE = """
@weft_sreg = global [12 x i32] zeroinitializer
define void @weft_emulate(ptr %f, ptr %ctx, i32 %gx, i32 %gy, i32 %gz) {
entry:
  br label %z
z:
  %k = phi i32 [ 0, %entry ], [ %k1, %znext ]
  br label %y
y:
  %j = phi i32 [ 0, %z ], [ %j1, %ynext ]
  br label %x
x:
  %i = phi i32 [ 0, %y ], [ %i1, %x ]
  store i32 %i, ptr getelementptr ([12 x i32], ptr @weft_sreg, i32 0, i32 6)
  store i32 %j, ptr getelementptr ([12 x i32], ptr @weft_sreg, i32 0, i32 7)
  store i32 %k, ptr getelementptr ([12 x i32], ptr @weft_sreg, i32 0, i32 8)
  call void %f(ptr %ctx)
  %i1 = add i32 %i, 1
  %more = icmp ult i32 %i1, %gx
  br i1 %more, label %x, label %ynext
ynext:
  %j1 = add i32 %j, 1
  %morey = icmp ult i32 %j1, %gy
  br i1 %morey, label %y, label %znext
znext:
  %k1 = add i32 %k, 1
  %morez = icmp ult i32 %k1, %gz
  br i1 %morez, label %z, label %done
done:
  ret void
}
define void @weft_grid(i32 %gx, i32 %gy, i32 %gz) {
  store i32 1, ptr getelementptr ([12 x i32], ptr @weft_sreg, i32 0, i32 3)
  store i32 1, ptr getelementptr ([12 x i32], ptr @weft_sreg, i32 0, i32 4)
  store i32 1, ptr getelementptr ([12 x i32], ptr @weft_sreg, i32 0, i32 5)
  store i32 %gx, ptr getelementptr ([12 x i32], ptr @weft_sreg, i32 0, i32 9)
  store i32 %gy, ptr getelementptr ([12 x i32], ptr @weft_sreg, i32 0, i32 10)
  store i32 %gz, ptr getelementptr ([12 x i32], ptr @weft_sreg, i32 0, i32 11)
  ret void
}
"""

# The hardware's approximations, more exact than it has them.
_APPROXIMATE = """
define internal float @weft_div.full.ftz(float %a, float %b) { %r = fdiv float %a, %b ret float %r }
define internal float @weft_rsqrt.approx.ftz.f(float %x) {
  %s = call float @llvm.sqrt.f32(float %x)
  %r = fdiv float 1.0, %s
  ret float %r
}
define internal float @weft_sqrt.approx.ftz.f(float %x) { %r = call float @llvm.sqrt.f32(float %x) ret float %r }
define internal float @weft_ex2.approx.ftz.f(float %x) { %r = call float @llvm.exp2.f32(float %x) ret float %r }
define internal float @weft_lg2.approx.ftz.f(float %x) { %r = call float @llvm.log2.f32(float %x) ret float %r }
"""


def simt_entries(device: str) -> list[str]:
    """The entries whose threads do something together: blocks of these have a size that they count on, or whole warps
    that shuffle."""
    entries = re.findall(r"define ptx_kernel void @(\w+)(\(.*?)\n\}\n", device, flags=re.S)
    return [name for name, rest in entries if '"nvvm.reqntid"' in rest or "@llvm.nvvm.shfl." in rest]


def block_rules(device: str) -> dict[str, tuple[str, int]]:
    """What the code says of the blocks of each entry: "reqntid" or "maxntid", and the number."""
    found = re.findall(r'define ptx_kernel void @(\w+)\(.*"nvvm\.(reqntid|maxntid)"="(\d+)"', device)
    return {name: (kind, int(number)) for name, kind, number in found}


def host_text(device: str, simt: bool = False) -> str:
    """The device's module in the host's terms. `simt`: with blocks of many threads."""
    text = device.split("\n", 2)[2]
    text = text.replace("ptx_kernel ", "").replace("@__nv_", "@")
    text = re.sub(r"ptr byval\(\[\d+ x i64\]\) align 8( \"nvvm.grid_constant\")? %ctx", "ptr noalias %ctx", text)
    text = re.sub(
        r"define internal (\w+) (@weft_reduce_\w+)\(\w+ %value\) convergent nounwind \{.*?\n\}\n",
        r"define internal \1 \2(\1 %value) { ret \1 %value }\n",
        text,
        flags=re.S,
    )
    if simt:
        text = threads.rewrite(text)
    text = re.sub(
        r"(define internal void @weft_add_v\d\(ptr %p, [^\n]*\{\n).*?\n\}\n",
        lambda match: match[1] + _sums(match[1].count("float")) + "}\n",
        text,
        flags=re.S,
    )
    barrier = r"define internal void @weft_barrier\(\) convergent nounwind \{.*?\n\}\n"
    text = re.sub(barrier, "define internal void @weft_barrier() { ret void }\n", text, flags=re.S)
    text = re.sub(r"declare .*@llvm\.nvvm\.(?!read).*\n", "", text)
    text = re.sub(r"@llvm\.nvvm\.(\w+(\.approx|\.full)\.ftz)", r"@weft_\1", text)
    for number, name in enumerate(_SREGS):
        text = text.replace(f"declare i32 @llvm.nvvm.read.ptx.sreg.{name}()\n", "")
        place = f"getelementptr ([12 x i32], ptr @weft_sreg, i32 0, i32 {number})"
        text = text.replace(f"call i32 @llvm.nvvm.read.ptx.sreg.{name}()", f"load i32, ptr {place}")
    for name in ("sqrt", "exp2", "log2"):
        if f"declare float @llvm.{name}.f32" not in text:
            text = f"declare float @llvm.{name}.f32(float)\n" + text
    return machine.host_cpu(1).header + text + _EMULATE + _APPROXIMATE


def _sums(width: int) -> str:
    """Sums into neighbours, one by one."""
    lines = list[str]()
    for k in range(width):
        lines.append(f"  %p{k} = getelementptr float, ptr %p, i64 {k}")
        lines.append(f"  %o{k} = atomicrmw fadd ptr %p{k}, float %v{k} monotonic")
    return "\n".join([*lines, "  ret void\n"])


class _Library:
    """libcuda, as far as the runtime calls it."""

    def __init__(self) -> None:
        self.blocks: dict[int, Any] = {}
        self.kernels: dict[int, tuple[Any, ...]] = {}
        self.rules: dict[int, tuple[str, int]] = {}  # about the blocks of kernels
        self.launches: list[tuple[int, ...]] = []
        self.graphs: dict[int, dict[int, list[Any]]] = {}
        self.handles = itertools.count(1000)
        self._callbacks: dict[str, Any] = {}
        self.events: dict[int, float] = {}  # when they were recorded
        self.resident, self.asked = 8, list[tuple[int, int, int]]()  # blocks of a multiprocessor; who asked
        self.clock = time.perf_counter  # seconds
        self.current = 0  # the context that is

    def __getattr__(self, name: str) -> Any:
        if not name.startswith("cu"):
            raise AttributeError(name)
        if name not in self._callbacks:
            kind = ctypes.CFUNCTYPE(ctypes.c_int, *cuda_driver.PROTOTYPES[name])
            self._callbacks[name] = kind(getattr(type(self), "do_" + name[2:], _nothing).__get__(self))
        return self._callbacks[name]

    def do_MemAllocAsync(self, out: Any, size: int, stream: int) -> int:
        block = ctypes.create_string_buffer(b"\xcd" * (size + 512), size + 512)
        address = -(-ctypes.addressof(block) // 256) * 256
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
        emulate, grid, direct, together = self.kernels[f]
        if direct is not None:
            threads.run_blocks(lambda: direct(params[0]), (gx, gy, gz), tuple(block) if together else (1, 1, 1))
            return 0
        grid(gx, gy, gz)
        emulate(f, params[0], gx, gy, gz)
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


def _nothing(_library: Any, *_arguments: Any) -> int:
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
        self._open(_Gpu(), random_seed, emit, store)

    def load_functions(self, artifact: Artifact) -> tuple[int, list[int]]:
        text = artifact.llvm or _texts[artifact.code]
        _texts[artifact.code] = text
        simt = simt_entries(text)
        native = machine.parse(host_text(text, bool(simt)))
        object_file = machine.host_cpu(1).machine.emit_object(native)
        symbols = threads.SYMBOLS if simt else {}
        code = Loader().load(object_file, (*artifact.tasks, "weft_emulate", "weft_grid"), symbols=symbols)
        i32 = ctypes.c_uint
        emulate = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p, i32, i32, i32)(code["weft_emulate"])
        grid = ctypes.CFUNCTYPE(None, i32, i32, i32)(code["weft_grid"])
        emulate.code = code
        handles = [code[name] for name in artifact.tasks]
        rules = block_rules(text)
        for name, handle in zip(artifact.tasks, handles, strict=True):
            direct = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(handle) if simt else None
            self.gpu.library.kernels[handle] = (emulate, grid, direct, name in simt)
            self.gpu.library.rules[handle] = rules[name]
        return 0, handles

    def unload(self, module: int) -> None:
        pass


def install() -> None:
    """Make `init(arch=cuda)` use the emulator."""
    cuda.missing = lambda index=0: ""
    cuda.CudaDevice = EmulatedDevice
