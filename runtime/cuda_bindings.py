"""Call the CUDA driver through NVIDIA's package `cuda.bindings`.

`driver()` returns the driver, ready to use. It imports the package, so `import weft` and kernels for the CPU do not
need it. Native code that launches kernels does not use the package. It calls functions of the driver by their
addresses.

A function of `cuda.bindings` returns a tuple: a CUresult, then its results. In versions 12.6 to 13, the functions that
Weft calls have the same arguments. `tests/cuda/test_bindings.py` runs all of them against a driver in software.
"""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Callable
from functools import cache
from importlib import import_module
from typing import Any

from weft.runtime.cuda_driver import NO_DEVICE, CudaError, CudaUnavailable, DeviceFacts, Dim3, Driver, failure

__all__ = ["LIBRARY", "BindingsDriver", "driver", "open_driver"]

LIBRARY = "nvcuda.dll" if sys.platform == "win32" else "libcuda.so.1"
OLDEST_DRIVER = 12_000  # the package looks functions up by cuGetProcAddress_v2, which came with CUDA 12.0

_NOT_READY = 600  # CUDA_ERROR_NOT_READY
_LOG_BYTES = 8192
_NAME_BYTES = 256
_FILLS = {1: "cuMemsetD8Async", 2: "cuMemsetD16Async", 4: "cuMemsetD32Async"}


def open_driver() -> Driver:
    """Return the driver without starting it. Raises CudaUnavailable if there is no driver, or if the package is
    missing."""
    try:
        library = ctypes.CDLL(LIBRARY)
    except OSError as error:
        raise CudaUnavailable(f"no NVIDIA driver was found ({error}); install one, or use arch=cpu") from None
    try:
        bindings = import_module("cuda.bindings.driver")
    except ImportError as error:
        raise CudaUnavailable(
            f"there is an NVIDIA driver, but not the Python package that Weft calls it with ({error}): "
            "type `pip install weft[cuda]`, or use arch=cpu"
        ) from None
    return BindingsDriver(bindings, library)


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


class BindingsDriver(Driver):
    """The driver, called through `bindings`, the module `cuda.bindings.driver`. `library` is the shared library of the
    driver, whose exported functions native code calls."""

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
        return int(self._call("cuDriverGetVersion"))

    def start(self) -> None:
        self._call("cuInit", 0)

    def address(self, function: str) -> int:
        return ctypes.cast(getattr(self._library, function), ctypes.c_void_p).value or 0

    def error(self, status: int, what: str) -> CudaError:
        try:
            known = self._cuda.CUresult(status)
        except ValueError:  # the driver is newer than the package
            return failure(status, f"status {status}", "not known to cuda-bindings", what, self.forked)
        text = self._cuda.cuGetErrorString(known)[1] or b""
        return failure(status, known.name, text.decode(errors="replace"), what, self.forked)

    # ---- devices and contexts

    def device_count(self) -> int:
        return int(self._call("cuDeviceGetCount"))

    def device(self, index: int) -> int:
        return int(self._call("cuDeviceGet", index))

    def facts(self, device: int) -> DeviceFacts:
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
        )

    def retain_context(self, device: int) -> int:
        return int(self._call("cuDevicePrimaryCtxRetain", device))

    def reset_context(self, device: int) -> None:
        self._release("cuDevicePrimaryCtxReset", device)

    def current_context(self) -> int:
        return int(self._call("cuCtxGetCurrent"))

    def use_context(self, context: int) -> None:
        self._call("cuCtxSetCurrent", context)

    def synchronize_context(self) -> None:
        self._call("cuCtxSynchronize")

    def stack_limit(self) -> int:
        return int(self._call("cuCtxGetLimit", self._cuda.CUlimit.CU_LIMIT_STACK_SIZE))

    def set_stack_limit(self, size: int) -> None:
        self._call("cuCtxSetLimit", self._cuda.CUlimit.CU_LIMIT_STACK_SIZE, size)

    # ---- streams and events

    def create_stream(self) -> int:
        return int(self._call("cuStreamCreate", 0))

    def is_done(self, stream: int) -> bool:
        (status,) = self._cuda.cuStreamQuery(stream)
        if status and status != _NOT_READY:
            raise self.error(int(status), "waiting for the GPU")
        return not status

    def synchronize_stream(self, stream: int) -> None:
        self._call("cuStreamSynchronize", stream)

    def wait_event(self, stream: int, event: int) -> None:
        self._call("cuStreamWaitEvent", stream, event, 0)

    def create_event(self, timed: bool) -> int:
        flags = self._cuda.CUevent_flags
        return int(self._call("cuEventCreate", int(flags.CU_EVENT_DEFAULT if timed else flags.CU_EVENT_DISABLE_TIMING)))

    def record_event(self, event: int, stream: int) -> None:
        self._call("cuEventRecord", event, stream)

    def synchronize_event(self, event: int) -> None:
        self._call("cuEventSynchronize", event)

    def seconds_between(self, begin: int, end: int) -> float:
        return float(self._call("cuEventElapsedTime", begin, end)) * 1e-3

    def destroy_event(self, event: int) -> None:
        self._release("cuEventDestroy", event)

    # ---- memory

    def allocate(self, size: int, stream: int) -> int:
        return int(self._call("cuMemAllocAsync", size, stream))

    def free(self, address: int, stream: int) -> None:
        self._release("cuMemFreeAsync", address, stream)

    def free_memory(self) -> tuple[int, int]:
        free, total = self._call("cuMemGetInfo")
        return int(free), int(total)

    def default_pool(self, device: int) -> int:
        return int(self._call("cuDeviceGetDefaultMemPool", device))

    def keep_pool(self, pool: int) -> None:
        threshold = self._cuda.CUmemPool_attribute.CU_MEMPOOL_ATTR_RELEASE_THRESHOLD
        self._call("cuMemPoolSetAttribute", pool, threshold, self._cuda.cuuint64_t(2**64 - 1))

    def trim_pool(self, pool: int) -> None:
        self._call("cuMemPoolTrimTo", pool, 0)

    def allocate_pinned(self, size: int) -> int:
        return int(self._call("cuMemHostAlloc", size, 0))

    def free_pinned(self, address: int) -> None:
        self._release("cuMemFreeHost", address)

    def copy_in(self, address: int, source: int | bytes, size: int, stream: int) -> None:
        # The package takes the address of any object with a buffer, including a numpy integer, so the number must be an
        # int.
        self._call("cuMemcpyHtoDAsync", address, source if isinstance(source, bytes) else int(source), size, stream)

    def copy_out(self, target: int, address: int, size: int, stream: int) -> None:
        self._call("cuMemcpyDtoHAsync", int(target), address, size, stream)

    def copy(self, target: int, source: int, size: int, stream: int) -> None:
        self._call("cuMemcpyDtoDAsync", target, source, size, stream)

    def fill(self, address: int, pattern: int, size: int, times: int, stream: int) -> None:
        self._call(_FILLS[size], address, pattern, times, stream)

    def owner(self, address: int) -> int:
        # Called directly: the package's versions 13.2 and 13.3 return 0 for every device.
        ordinal = int(self._cuda.CUpointer_attribute.CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL)
        number = ctypes.c_int()
        status = self._library.cuPointerGetAttribute(ctypes.byref(number), ordinal, ctypes.c_uint64(address))
        if status:
            raise self.error(status, "cuPointerGetAttribute")
        return number.value

    # ---- modules and functions

    def load_ptx(self, ptx: bytes) -> int:
        text, kinds = bytearray(_LOG_BYTES), self._cuda.CUjit_option
        options = [kinds.CU_JIT_ERROR_LOG_BUFFER, kinds.CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES]
        try:
            return int(self._call("cuModuleLoadDataEx", ptx + b"\0", 2, options, [text, _LOG_BYTES]))
        except CudaError as error:
            log = text.partition(b"\0")[0].decode(errors="replace")
            raise CudaError(f"{error}\n{log}".rstrip(), error.status) from None

    def load_cubin(self, cubin: bytes) -> int:
        return int(self._call("cuModuleLoadData", cubin))

    def assemble(self, ptx: bytes) -> bytes:
        text, kind = ptx + b"\0", self._cuda.CUjitInputType.CU_JIT_INPUT_PTX
        linker = self._call("cuLinkCreate", 0, [], [])
        try:
            self._call("cuLinkAddData", linker, kind, text, len(text), b"kernel", 0, [], [])
            cubin, size = self._call("cuLinkComplete", linker)
            return ctypes.string_at(cubin, size)  # the memory belongs to the linker
        finally:
            self._release("cuLinkDestroy", linker)

    def unload_module(self, module: int) -> None:
        self._release("cuModuleUnload", module)

    def function(self, module: int, name: str) -> int:
        return int(self._call("cuModuleGetFunction", module, name.encode()))

    def allow_shared(self, function: int, size: int) -> None:
        most = self._cuda.CUfunction_attribute.CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
        self._call("cuFuncSetAttribute", function, most, size)

    def resident_blocks(self, function: int, threads: int, shared: int) -> int:
        return int(self._call("cuOccupancyMaxActiveBlocksPerMultiprocessor", function, threads, shared))

    def launch(self, function: int, grid: Dim3, block: Dim3, shared: int, stream: int, params: int) -> None:
        self._call("cuLaunchKernel", function, *grid, *block, shared, stream, params, 0)

    # ---- graphs

    def create_graph(self) -> int:
        return int(self._call("cuGraphCreate", 0))

    def add_kernel(self, graph: int, after: int, function: int, threads: int, params: int) -> int:
        node = self._cuda.CUDA_KERNEL_NODE_PARAMS()
        node.func = self._cuda.CUfunction(function)
        node.gridDimX = node.gridDimY = node.gridDimZ = 1
        node.blockDimX, node.blockDimY, node.blockDimZ = threads, 1, 1
        node.kernelParams = params
        before = [self._cuda.CUgraphNode(after)] if after else []
        return int(self._call("cuGraphAddKernelNode", graph, before, len(before), node))

    def instantiate(self, graph: int) -> int:
        return int(self._call("cuGraphInstantiate", graph, 0))

    def destroy_executable(self, executable: int) -> None:
        self._release("cuGraphExecDestroy", executable)

    def destroy_graph(self, graph: int) -> None:
        self._release("cuGraphDestroy", graph)
