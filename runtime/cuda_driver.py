"""The CUDA driver's C interface, called directly: nothing but the driver needs to be installed.

`driver()` loads it once. `check` turns a status into an exception that says what to do about it.
"""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Callable
from contextlib import AbstractContextManager
from ctypes import POINTER, c_char_p, c_float, c_int, c_size_t, c_ubyte, c_uint, c_ulonglong, c_ushort, c_void_p
from functools import cache
from typing import Any

from weft.ir.errors import WeftError

__all__ = ["PROTOTYPES", "CudaError", "CudaUnavailable", "Driver", "Enter", "device_count", "driver", "missing"]

LIBRARY = "nvcuda.dll" if sys.platform == "win32" else "libcuda.so.1"
OLDEST_DRIVER = 11_000  # CUDA 11.0: PTX 7.0, the stream-ordered allocator came with 11.2
OLDEST_CAPABILITY = 70

OUT_OF_MEMORY, NO_DEVICE = 2, 100
CAPABILITY_MAJOR, CAPABILITY_MINOR, PROCESSORS, POOLS = 75, 76, 16, 115  # CU_DEVICE_ATTRIBUTE_*
MOST_DYNAMIC_SHARED = 8  # CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
DEVICE_ORDINAL = 9  # CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL
NOT_READY = 600
# Illegal address, launch timeout, assertion, stack, illegal instruction, misaligned, address space, PC, launch failure.
BROKEN = frozenset((700, 702, 710, 714, 715, 716, 717, 718, 719))
RELEASE_THRESHOLD = 4  # CU_MEMPOOL_ATTR_RELEASE_THRESHOLD
STACK_SIZE = 0  # CU_LIMIT_STACK_SIZE

_HANDLE, _OUT = c_void_p, POINTER(c_void_p)
PROTOTYPES: dict[str, tuple[Any, ...]] = {
    "cuInit": (c_uint,),
    "cuDriverGetVersion": (POINTER(c_int),),
    "cuGetErrorName": (c_int, POINTER(c_char_p)),
    "cuGetErrorString": (c_int, POINTER(c_char_p)),
    "cuDeviceGetCount": (POINTER(c_int),),
    "cuDeviceGet": (POINTER(c_int), c_int),
    "cuDeviceGetName": (c_char_p, c_int, c_int),
    "cuDeviceGetAttribute": (POINTER(c_int), c_int, c_int),
    "cuDeviceTotalMem_v2": (POINTER(c_size_t), c_int),
    "cuDevicePrimaryCtxRetain": (_OUT, c_int),
    "cuDevicePrimaryCtxReset_v2": (c_int,),
    "cuCtxGetCurrent": (_OUT,),
    "cuCtxSetCurrent": (_HANDLE,),
    "cuCtxSynchronize": (),
    "cuPointerGetAttribute": (c_void_p, c_int, c_void_p),
    "cuCtxGetLimit": (POINTER(c_size_t), c_int),
    "cuCtxSetLimit": (c_int, c_size_t),
    "cuMemGetInfo_v2": (POINTER(c_size_t), POINTER(c_size_t)),
    "cuStreamCreate": (_OUT, c_uint),
    "cuStreamSynchronize": (_HANDLE,),
    "cuStreamQuery": (_HANDLE,),
    "cuStreamWaitEvent": (_HANDLE, _HANDLE, c_uint),
    "cuEventCreate": (_OUT, c_uint),
    "cuEventDestroy_v2": (_HANDLE,),
    "cuEventRecord": (_HANDLE, _HANDLE),
    "cuEventSynchronize": (_HANDLE,),
    "cuEventElapsedTime": (POINTER(c_float), _HANDLE, _HANDLE),
    "cuDeviceGetDefaultMemPool": (_OUT, c_int),
    "cuMemPoolGetAttribute": (_HANDLE, c_int, c_void_p),
    "cuMemPoolSetAttribute": (_HANDLE, c_int, c_void_p),
    "cuMemPoolTrimTo": (_HANDLE, c_size_t),
    "cuMemAllocAsync": (_OUT, c_size_t, _HANDLE),
    "cuMemFreeAsync": (_HANDLE, _HANDLE),
    "cuMemHostAlloc": (_OUT, c_size_t, c_uint),
    "cuMemFreeHost": (_HANDLE,),
    "cuMemcpyHtoDAsync_v2": (_HANDLE, c_void_p, c_size_t, _HANDLE),
    "cuMemcpyDtoHAsync_v2": (c_void_p, _HANDLE, c_size_t, _HANDLE),
    "cuMemcpyDtoDAsync_v2": (_HANDLE, _HANDLE, c_size_t, _HANDLE),
    "cuMemsetD8Async": (_HANDLE, c_ubyte, c_size_t, _HANDLE),
    "cuMemsetD16Async": (_HANDLE, c_ushort, c_size_t, _HANDLE),
    "cuMemsetD32Async": (_HANDLE, c_uint, c_size_t, _HANDLE),
    "cuModuleLoadDataEx": (_OUT, c_char_p, c_uint, POINTER(c_int), _OUT),
    "cuModuleLoadData": (_OUT, c_char_p),
    "cuLinkCreate_v2": (c_uint, POINTER(c_int), _OUT, _OUT),
    "cuLinkAddData_v2": (_HANDLE, c_int, c_char_p, c_size_t, c_char_p, c_uint, POINTER(c_int), _OUT),
    "cuLinkComplete": (_HANDLE, _OUT, POINTER(c_size_t)),
    "cuLinkDestroy": (_HANDLE,),
    "cuModuleUnload": (_HANDLE,),
    "cuModuleGetFunction": (_OUT, _HANDLE, c_char_p),
    "cuFuncGetAttribute": (POINTER(c_int), c_int, _HANDLE),
    "cuFuncSetAttribute": (_HANDLE, c_int, c_int),
    "cuOccupancyMaxActiveBlocksPerMultiprocessor": (POINTER(c_int), _HANDLE, c_int, c_size_t),
    "cuGraphCreate": (_OUT, c_uint),
    "cuGraphAddKernelNode": (_OUT, _HANDLE, _OUT, c_size_t, c_void_p),
    "cuGraphInstantiateWithFlags": (_OUT, _HANDLE, c_ulonglong),
    "cuGraphExecKernelNodeSetParams": (_HANDLE, _HANDLE, c_void_p),
    "cuGraphNodeSetEnabled": (_HANDLE, _HANDLE, c_uint),
    "cuGraphLaunch": (_HANDLE, _HANDLE),
    "cuGraphExecDestroy": (_HANDLE,),
    "cuGraphDestroy": (_HANDLE,),
    "cuLaunchKernel": (_HANDLE, *[c_uint] * 7, _HANDLE, _OUT, _OUT),
}


class CudaError(WeftError, RuntimeError):
    """The CUDA driver reported an error."""

    def __init__(self, message: str, status: int = 0) -> None:
        super().__init__(message)
        self.status = status


class CudaUnavailable(CudaError):
    """CUDA cannot be used here; the message says why and what to do."""


FORKED = (
    "this process was forked after CUDA was started, which CUDA does not support: "
    'start processes with multiprocessing\'s "spawn" method, or call init(arch=cuda) in the children only'
)

# What to do about some errors.
_ADVICE = {
    "CUDA_ERROR_ILLEGAL_ADDRESS": "a kernel accessed memory outside of its fields and arrays; "
    "run with init(debug=True) to find out where",
    "CUDA_ERROR_MISALIGNED_ADDRESS": "an array argument does not lie at a multiple of its element's size",
    "CUDA_ERROR_LAUNCH_TIMEOUT": "the kernel ran longer than the display's watchdog allows",
    "CUDA_ERROR_NOT_INITIALIZED": FORKED,
    "CUDA_ERROR_NO_BINARY_FOR_GPU": "this GPU is older than what Weft compiles for (compute capability 7.0)",
    "CUDA_ERROR_UNSUPPORTED_PTX_VERSION": "the driver is older than the PTX; update the NVIDIA driver",
    "CUDA_ERROR_INVALID_PTX": "Weft generated invalid PTX, which is an error of Weft's: please report it",
}


_LOST = (
    "With that the context of the GPU is lost, with all fields and ndarrays. init() tries to start afresh, but after "
    "most such errors CUDA allows this process no other context: then restart it, or go on with arch=cpu"
)


Enter = Callable[[], AbstractContextManager[None]]  # makes a device's context current; what puts back another one


class Driver:
    """The driver's functions, checked: `driver.call("cuCtxSetCurrent", context)`."""

    def __init__(self, library: Any) -> None:
        self._library = library
        self._functions: dict[str, Any] = {}
        self.forked = False

    def function(self, name: str) -> Any:
        """The bare function; gives the status."""
        known = self._functions.get(name)
        if known is None:
            known = getattr(self._library, name)
            known.argtypes, known.restype = PROTOTYPES[name], c_int
            self._functions[name] = known
        return known

    def address(self, name: str) -> int:
        """The address of a function, for native code."""
        return ctypes.cast(self.function(name), c_void_p).value or 0

    def call(self, name: str, *arguments: Any) -> None:
        """Call it. CudaError where the status is not 0."""
        status = self.function(name)(*arguments)
        if status:
            raise self.error(status, name)

    def made(self, name: str, *arguments: Any) -> int:
        """Call a function whose first argument is where to put a handle or an address; gives that."""
        result = c_void_p()
        self.call(name, ctypes.byref(result), *arguments)
        return result.value or 0

    def number(self, name: str, *arguments: Any) -> int:
        """The same for an int."""
        result = c_int()
        self.call(name, ctypes.byref(result), *arguments)
        return result.value

    def error(self, status: int, what: str) -> CudaError:
        """The exception for a status."""
        name, text = c_char_p(), c_char_p()
        self.function("cuGetErrorName")(status, ctypes.byref(name))
        self.function("cuGetErrorString")(status, ctypes.byref(text))
        known = (name.value or b"").decode() or f"status {status}"
        advice = FORKED if self.forked else _ADVICE.get(known, "")
        described = (text.value or b"").decode()
        lost = f". {_LOST}" if status in BROKEN else ""
        return CudaError(f"{what}: {known} ({described})" + (f": {advice}" if advice else "") + lost, status)


@cache
def driver() -> Driver:
    """The driver, ready to use. CudaUnavailable if there is none, or none that will do."""
    try:
        library = ctypes.CDLL(LIBRARY)
    except OSError as error:
        raise CudaUnavailable(f"no NVIDIA driver was found ({error}); install one, or use arch=cpu") from None
    made = Driver(library)
    version = made.number("cuDriverGetVersion")
    if version < OLDEST_DRIVER:
        found = f"{version // 1000}.{version % 1000 // 10}"
        raise CudaUnavailable(f"the NVIDIA driver supports CUDA {found} only: update it to one that supports 11.2")
    status = made.function("cuInit")(0)
    if status == NO_DEVICE:
        raise CudaUnavailable("the NVIDIA driver sees no GPU; look at nvidia-smi and CUDA_VISIBLE_DEVICES", status)
    if status:
        raise CudaUnavailable(str(made.error(status, "starting CUDA")), status)
    return made


def device_count() -> int:
    """How many GPUs the driver sees."""
    return driver().number("cuDeviceGetCount")


def missing(index: int = 0) -> str:
    """Why GPU number `index` cannot be used, "" if it can."""
    try:
        count = device_count()
        if not 0 <= index < count:
            return f"there is no CUDA device {index}: the driver sees {count}"
        capability = [
            driver().number("cuDeviceGetAttribute", attribute, driver().number("cuDeviceGet", index))
            for attribute in (CAPABILITY_MAJOR, CAPABILITY_MINOR)
        ]
    except CudaError as error:
        return str(error)
    if 10 * capability[0] + capability[1] < OLDEST_CAPABILITY:
        found = ".".join(map(str, capability))
        return f"CUDA device {index} has compute capability {found}; Weft needs 7.0 (Volta) or newer"
    return ""
