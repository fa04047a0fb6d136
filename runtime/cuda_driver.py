"""Call the CUDA driver through NVIDIA's package `cuda.bindings`.

`driver()` returns the driver, ready to use. It imports the package, so `import weft` and kernels for the CPU do not
need it. Native code that launches kernels does not use the package. It calls functions of the driver by their
addresses. Handles and device addresses are plain integers. `tests/emulated/driver.py` overrides all methods of `Driver`
with a driver in software.

A function of `cuda.bindings` returns a tuple: a CUresult, then its results. In versions 12.6 to 13, the functions that
Weft calls have the same arguments. `tests/cuda/test_bindings.py` runs all of them against a driver in software.
"""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Callable
from contextlib import AbstractContextManager
from functools import cache
from importlib import import_module
from typing import Any, NamedTuple

from weft.ir.errors import WeftError

__all__ = [
    "BROKEN",
    "FORKED",
    "LIBRARY",
    "OUT_OF_MEMORY",
    "CudaError",
    "CudaUnavailable",
    "DeviceFacts",
    "Dim3",
    "Driver",
    "Enter",
    "driver",
    "failure",
    "open_driver",
]

# The values of CUresult that Weft distinguishes.
OUT_OF_MEMORY, NO_DEVICE = 2, 100
# Illegal address, launch timeout, assertion, stack, illegal instruction, misaligned, address space, PC, launch failure.
BROKEN = frozenset((700, 702, 710, 714, 715, 716, 717, 718, 719))


class CudaError(WeftError, RuntimeError):
    """The CUDA driver reported an error. `status` is its CUresult; 0 if the error is not the driver's."""

    def __init__(self, message: str, status: int = 0) -> None:
        super().__init__(message)
        self.status = status


class CudaUnavailable(CudaError):
    """CUDA cannot be used here; the message says why and what to do."""


FORKED = (
    "CUDA does not support a process that was forked after CUDA was started: start processes with "
    'multiprocessing\'s "spawn" method, or call init(arch=cuda) only in the children'
)

# Advice for some errors.
_ADVICE = {
    "CUDA_ERROR_ILLEGAL_ADDRESS": "a kernel accessed memory outside of its fields and arrays; "
    "run with init(debug=True) to find out where",
    "CUDA_ERROR_MISALIGNED_ADDRESS": "the address of an array argument is not a multiple of the size of its elements",
    "CUDA_ERROR_LAUNCH_TIMEOUT": "the kernel ran longer than the watchdog of the display allows",
    "CUDA_ERROR_NOT_INITIALIZED": FORKED,
    "CUDA_ERROR_NO_BINARY_FOR_GPU": "this GPU is too old: Weft needs compute capability 7.0 or newer",
    "CUDA_ERROR_UNSUPPORTED_PTX_VERSION": "the NVIDIA driver is too old for the generated PTX: update it",
    "CUDA_ERROR_INVALID_PTX": "Weft generated invalid PTX. This is a bug in Weft: please report it",
}

_LOST = (
    "The context of the GPU is lost, with all fields and ndarrays. init() tries to create another context, but "
    "after most such errors CUDA does not allow that: then restart this process, or continue with arch=cpu"
)


def failure(status: int, name: str, text: str, what: str, forked: bool = False) -> CudaError:
    """Return the exception for a CUresult. `name` and `text` are those of the driver. `what` names the failed
    operation."""
    advice = FORKED if forked else _ADVICE.get(name, "")
    lost = f". {_LOST}" if status in BROKEN else ""
    return CudaError(f"{what}: {name} ({text})" + (f": {advice}" if advice else "") + lost, status)


Enter = Callable[[], AbstractContextManager[None]]  # makes a device's context current; then restores the previous one
Dim3 = tuple[int, int, int]


class DeviceFacts(NamedTuple):
    """The properties of a device."""

    name: str
    memory: int  # bytes
    capability: int  # compute capability: 90 is 9.0
    processors: int  # streaming multiprocessors
    has_pools: bool  # whether it has the stream-ordered allocator
    pages_on_demand: bool  # whether managed memory takes pages when they are touched


LIBRARY = "nvcuda.dll" if sys.platform == "win32" else "libcuda.so.1"
OLDEST_DRIVER = 12_000  # the package looks functions up by cuGetProcAddress_v2, which came with CUDA 12.0

_NOT_READY = 600  # CUDA_ERROR_NOT_READY
_LOG_BYTES = 8192
_NAME_BYTES = 256
_FILLS = {1: "cuMemsetD8Async", 2: "cuMemsetD16Async", 4: "cuMemsetD32Async"}


class Driver:
    """The driver, called through `bindings`, the module `cuda.bindings.driver`. `library` is the shared library of the
    driver, whose exported functions native code calls. `forked` says whether this process was forked after the driver
    was started.

    A call that fails raises CudaError. Calls that release a resource (`free`, `destroy_*`, `unload_module`,
    `reset_context`) ignore errors instead. They fail if the context is broken, and the resource is then gone with
    it."""

    def __init__(self, bindings: Any, library: ctypes.CDLL) -> None:
        self._cuda, self._library = bindings, library
        self.forked = False

    def _call(self, name: str, *arguments: Any) -> Any:
        """Call a function of the driver and return its result, or a tuple if there are several."""
        try:
            results = getattr(self._cuda, name)(*arguments)
        except RuntimeError as error:  # the driver lacks the function in the version that the package requests
            raise CudaError(f"{name}: {error}. {self._mismatch()}") from None
        if results[0]:
            raise self.error(int(results[0]), name)
        return results[1] if len(results) == 2 else results[1:]

    def _release(self, name: str, *arguments: Any, ends: Callable[[], bool] = sys.is_finalizing) -> None:
        """Call a function that releases a resource, and ignore errors. At the end of the process, everything is
        released anyway, and the package can no longer be called. (Module globals are cleared earlier, hence the default
        argument.)"""
        if not ends():
            getattr(self._cuda, name)(*arguments)

    def _mismatch(self) -> str:
        version = import_module("cuda.bindings").__version__
        return (
            f"cuda-bindings is {version}: if the NVIDIA driver supports less than that, update the driver, or install "
            "the version of cuda-bindings that goes with it"
        )

    def version(self) -> int:
        """The newest CUDA version that the driver supports: 12080 is 12.8."""
        return int(self._call("cuDriverGetVersion"))

    def start(self) -> None:
        """Initialize the driver for this process. It may be called again."""
        self._call("cuInit", 0)

    def address(self, function: str) -> int:
        """Return the address of an exported C function of the driver, for native code that calls it."""
        return ctypes.cast(getattr(self._library, function), ctypes.c_void_p).value or 0

    def error(self, status: int, what: str) -> CudaError:
        """Return the exception for the CUresult of the operation `what`."""
        try:
            known = self._cuda.CUresult(status)
        except ValueError:  # the driver is newer than the package
            return failure(status, f"status {status}", "not known to cuda-bindings", what, self.forked)
        text = self._cuda.cuGetErrorString(known)[1] or b""
        return failure(status, known.name, text.decode(errors="replace"), what, self.forked)

    # ---- devices and contexts

    def device_count(self) -> int:
        """Return the number of devices."""
        return int(self._call("cuDeviceGetCount"))

    def device(self, index: int) -> int:
        """Return the handle of device number `index`."""
        return int(self._call("cuDeviceGet", index))

    def facts(self, device: int) -> DeviceFacts:
        """Return the properties of the device."""
        kinds = self._cuda.CUdevice_attribute

        def fact(name: str) -> int:
            return int(self._call("cuDeviceGetAttribute", getattr(kinds, f"CU_DEVICE_ATTRIBUTE_{name}"), device))

        name: bytes = self._call("cuDeviceGetName", _NAME_BYTES, device)
        return DeviceFacts(
            name.partition(b"\0")[0].decode(errors="replace"),
            int(self._call("cuDeviceTotalMem", device)),
            10 * fact("COMPUTE_CAPABILITY_MAJOR") + fact("COMPUTE_CAPABILITY_MINOR"),
            fact("MULTIPROCESSOR_COUNT"),
            bool(fact("MEMORY_POOLS_SUPPORTED")),
            bool(fact("CONCURRENT_MANAGED_ACCESS")),
        )

    def retain_context(self, device: int) -> int:
        """Return the primary context of the device, which libraries share."""
        return int(self._call("cuDevicePrimaryCtxRetain", device))

    def reset_context(self, device: int) -> None:
        """Destroy the primary context and everything in it."""
        self._release("cuDevicePrimaryCtxReset", device)

    def current_context(self) -> int:
        """Return the context of the calling thread, or 0 if it has none."""
        return int(self._call("cuCtxGetCurrent"))

    def use_context(self, context: int) -> None:
        """Make this the context of the calling thread."""
        self._call("cuCtxSetCurrent", context)

    def synchronize_context(self) -> None:
        """Wait for all work in the current context."""
        self._call("cuCtxSynchronize")

    def stack_limit(self) -> int:
        """Return the bytes of stack for each thread of a kernel."""
        return int(self._call("cuCtxGetLimit", self._cuda.CUlimit.CU_LIMIT_STACK_SIZE))

    def set_stack_limit(self, size: int) -> None:
        """Reserve that many bytes of stack for each thread that the GPU can hold at once."""
        self._call("cuCtxSetLimit", self._cuda.CUlimit.CU_LIMIT_STACK_SIZE, size)

    # ---- streams and events

    def create_stream(self) -> int:
        """Create a stream. It and the legacy default stream wait for each other."""
        return int(self._call("cuStreamCreate", 0))

    def is_done(self, stream: int) -> bool:
        """Return whether all work of the stream is done."""
        (status,) = self._cuda.cuStreamQuery(stream)
        if status and status != _NOT_READY:
            raise self.error(int(status), "waiting for the GPU")
        return not status

    def synchronize_stream(self, stream: int) -> None:
        """Wait for all work of the stream."""
        self._call("cuStreamSynchronize", stream)

    def wait_event(self, stream: int, event: int) -> None:
        """Make later work in the stream wait for the event."""
        self._call("cuStreamWaitEvent", stream, event, 0)

    def create_event(self, timed: bool) -> int:
        """Create an event. It has a time if it is `timed`, and is cheaper otherwise."""
        flags = self._cuda.CUevent_flags
        return int(self._call("cuEventCreate", int(flags.CU_EVENT_DEFAULT if timed else flags.CU_EVENT_DISABLE_TIMING)))

    def record_event(self, event: int, stream: int) -> None:
        """Record the event: it happens when the current work in the stream is done."""
        self._call("cuEventRecord", event, stream)

    def synchronize_event(self, event: int) -> None:
        """Wait for the event."""
        self._call("cuEventSynchronize", event)

    def seconds_between(self, begin: int, end: int) -> float:
        """Return the seconds from one timed event to another. Both must have happened."""
        return float(self._call("cuEventElapsedTime", begin, end)) * 1e-3

    def destroy_event(self, event: int) -> None:
        """Destroy the event."""
        self._release("cuEventDestroy", event)

    # ---- memory

    def allocate(self, size: int, stream: int) -> int:
        """Allocate device memory in stream order."""
        return int(self._call("cuMemAllocAsync", size, stream))

    def free(self, address: int, stream: int) -> None:
        """Free device memory in stream order."""
        self._release("cuMemFreeAsync", address, stream)

    def allocate_managed(self, size: int) -> int:
        """Reserve addresses whose pages take memory, and are zero, when they are first touched."""
        flags = self._cuda.CUmemAttach_flags
        return int(self._call("cuMemAllocManaged", size, int(flags.CU_MEM_ATTACH_GLOBAL)))

    def prefer_device(self, address: int, size: int, device: int) -> None:
        """Make the pages of managed memory stay on the device. First touches by it are three times as fast then."""
        kinds, where = self._cuda.CUmem_advise, self._cuda.CUmemLocation()
        where.type = self._cuda.CUmemLocationType.CU_MEM_LOCATION_TYPE_DEVICE
        where.id = device
        # the function that takes a location; since version 13 it has the plain name
        name = "cuMemAdvise_v2" if hasattr(self._cuda, "cuMemAdvise_v2") else "cuMemAdvise"
        self._call(name, address, size, kinds.CU_MEM_ADVISE_SET_PREFERRED_LOCATION, where)

    def free_managed(self, address: int) -> None:
        """Free managed memory. This waits for the work of the device."""
        self._release("cuMemFree", address)

    def free_memory(self) -> tuple[int, int]:
        """Return the free bytes and the total bytes of the device."""
        free, total = self._call("cuMemGetInfo")
        return int(free), int(total)

    def default_pool(self, device: int) -> int:
        """Return the memory pool that `allocate` uses."""
        return int(self._call("cuDeviceGetDefaultMemPool", device))

    def keep_pool(self, pool: int) -> None:
        """Keep freed memory in the pool until `trim_pool`."""
        threshold = self._cuda.CUmemPool_attribute.CU_MEMPOOL_ATTR_RELEASE_THRESHOLD
        self._call("cuMemPoolSetAttribute", pool, threshold, self._cuda.cuuint64_t(2**64 - 1))

    def trim_pool(self, pool: int) -> None:
        """Return the unused memory of the pool to the system."""
        self._call("cuMemPoolTrimTo", pool, 0)

    def allocate_pinned(self, size: int) -> int:
        """Allocate page-locked host memory."""
        return int(self._call("cuMemHostAlloc", size, 0))

    def free_pinned(self, address: int) -> None:
        """Free page-locked memory."""
        self._release("cuMemFreeHost", address)

    def copy_in(self, address: int, source: int | bytes, size: int, stream: int) -> None:
        """Copy from the host (an address, or the bytes themselves) to the device."""
        # The package takes the address of any object with a buffer, including a numpy integer, so the number must be an
        # int.
        self._call("cuMemcpyHtoDAsync", address, source if isinstance(source, bytes) else int(source), size, stream)

    def copy_out(self, target: int, address: int, size: int, stream: int) -> None:
        """Copy from the device to an address of the host."""
        self._call("cuMemcpyDtoHAsync", int(target), address, size, stream)

    def copy(self, target: int, source: int, size: int, stream: int) -> None:
        """Copy within the device."""
        self._call("cuMemcpyDtoDAsync", target, source, size, stream)

    def fill(self, address: int, pattern: int, size: int, times: int, stream: int) -> None:
        """Fill memory with a pattern of 1, 2 or 4 bytes."""
        self._call(_FILLS[size], address, pattern, times, stream)

    def owner(self, address: int) -> int:
        """Return the number of the device that owns this memory. Raises CudaError if the driver does not know the
        memory."""
        # Called directly: the package's versions 13.2 and 13.3 return 0 for every device.
        ordinal = int(self._cuda.CUpointer_attribute.CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL)
        number = ctypes.c_int()
        status = self._library.cuPointerGetAttribute(ctypes.byref(number), ordinal, ctypes.c_uint64(address))
        if status:
            raise self.error(status, "cuPointerGetAttribute")
        return number.value

    # ---- modules and functions

    def load_ptx(self, ptx: bytes) -> int:
        """Assemble PTX and load it. A CudaError contains the messages of the assembler."""
        text, kinds = bytearray(_LOG_BYTES), self._cuda.CUjit_option
        options = [kinds.CU_JIT_ERROR_LOG_BUFFER, kinds.CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES]
        try:
            return int(self._call("cuModuleLoadDataEx", ptx + b"\0", 2, options, [text, _LOG_BYTES]))
        except CudaError as error:
            log = text.partition(b"\0")[0].decode(errors="replace")
            raise CudaError(f"{error}\n{log}".rstrip(), error.status) from None

    def load_cubin(self, cubin: bytes) -> int:
        """Load machine code."""
        return int(self._call("cuModuleLoadData", cubin))

    def assemble(self, ptx: bytes) -> bytes:
        """Return the machine code (cubin) of PTX for the device of the current context."""
        text, kind = ptx + b"\0", self._cuda.CUjitInputType.CU_JIT_INPUT_PTX
        linker = self._call("cuLinkCreate", 0, [], [])
        try:
            self._call("cuLinkAddData", linker, kind, text, len(text), b"kernel", 0, [], [])
            cubin, size = self._call("cuLinkComplete", linker)
            return ctypes.string_at(cubin, size)  # the memory belongs to the linker
        finally:
            self._release("cuLinkDestroy", linker)

    def unload_module(self, module: int) -> None:
        """Unload a module. None of its functions may be running."""
        self._release("cuModuleUnload", module)

    def function(self, module: int, name: str) -> int:
        """Return the kernel of that name."""
        return int(self._call("cuModuleGetFunction", module, name.encode()))

    def allow_shared(self, function: int, size: int) -> None:
        """Allow launches of the function with that many bytes of dynamic shared memory."""
        most = self._cuda.CUfunction_attribute.CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
        self._call("cuFuncSetAttribute", function, most, size)

    def resident_blocks(self, function: int, threads: int, shared: int) -> int:
        """Return how many blocks with that many threads and bytes of dynamic shared memory a multiprocessor can hold at
        once."""
        return int(self._call("cuOccupancyMaxActiveBlocksPerMultiprocessor", function, threads, shared))

    def launch(self, function: int, grid: Dim3, block: Dim3, shared: int, stream: int, params: int) -> None:
        """Launch a kernel. `params` is the address of an array with the addresses of its parameters."""
        self._call("cuLaunchKernel", function, *grid, *block, shared, stream, params, 0)

    # ---- graphs

    def create_graph(self) -> int:
        """Create an empty graph."""
        return int(self._call("cuGraphCreate", 0))

    def add_kernel(self, graph: int, after: int, function: int, threads: int, params: int) -> int:
        """Add a node that launches one block of the function after node `after` (0: without waiting)."""
        node = self._cuda.CUDA_KERNEL_NODE_PARAMS()
        node.func = self._cuda.CUfunction(function)
        node.gridDimX = node.gridDimY = node.gridDimZ = 1
        node.blockDimX, node.blockDimY, node.blockDimZ = threads, 1, 1
        node.kernelParams = params
        before = [self._cuda.CUgraphNode(after)] if after else []
        return int(self._call("cuGraphAddKernelNode", graph, before, len(before), node))

    def instantiate(self, graph: int) -> int:
        """Return the executable form of the graph."""
        return int(self._call("cuGraphInstantiate", graph, 0))

    def destroy_executable(self, executable: int) -> None:
        """Destroy an executable graph."""
        self._release("cuGraphExecDestroy", executable)

    def destroy_graph(self, graph: int) -> None:
        """Destroy a graph."""
        self._release("cuGraphDestroy", graph)


def open_driver() -> Driver:
    """Return the driver without starting it. Raises CudaUnavailable if there is no driver, or if the package is
    missing."""
    try:
        library = ctypes.CDLL(LIBRARY)
    except OSError as error:
        raise CudaUnavailable(f"no NVIDIA driver was found ({error}): install one, or use arch=cpu") from None
    try:
        bindings = import_module("cuda.bindings.driver")
    except ImportError as error:
        raise CudaUnavailable(
            f"there is an NVIDIA driver, but not the Python package that Weft calls it with ({error}): "
            "type `pip install weft[cuda]`, or use arch=cpu"
        ) from None
    return Driver(bindings, library)


@cache
def driver() -> Driver:
    """Return the driver, ready to use. Raises CudaUnavailable if there is none, or if it cannot be used."""
    made = open_driver()
    version = made.version()
    if version < OLDEST_DRIVER:
        found, oldest = (f"{number // 1000}.{number % 1000 // 10}" for number in (version, OLDEST_DRIVER))
        raise CudaUnavailable(f"the NVIDIA driver supports CUDA {found} only: update it to one that supports {oldest}")
    try:
        made.start()
    except CudaError as error:
        if error.status == NO_DEVICE:
            why = "the NVIDIA driver sees no GPU; look at nvidia-smi and CUDA_VISIBLE_DEVICES"
            raise CudaUnavailable(why, error.status) from None
        raise CudaUnavailable(f"starting CUDA: {error}", error.status) from None
    return made
