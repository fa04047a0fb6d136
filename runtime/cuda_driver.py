"""The interface to the CUDA driver: the protocol `Driver`, and the exceptions for its errors.

`cuda_bindings.py` implements the protocol with NVIDIA's package `cuda.bindings`. The tests implement it in software.
Handles and device addresses are plain integers on both sides of the protocol.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import NamedTuple, Protocol

from weft.ir.errors import WeftError

__all__ = [
    "BROKEN",
    "FORKED",
    "NO_DEVICE",
    "OUT_OF_MEMORY",
    "CudaError",
    "CudaUnavailable",
    "DeviceFacts",
    "Dim3",
    "Driver",
    "Enter",
    "failure",
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
    "this process was forked after CUDA was started, which CUDA does not support: "
    'start processes with multiprocessing\'s "spawn" method, or call init(arch=cuda) in the children only'
)

# Advice for some errors.
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


class Driver(Protocol):
    """The calls of the CUDA driver that Weft makes. A call that fails raises CudaError.

    Calls that release a resource (`free`, `destroy_*`, `unload_module`, `reset_context`) ignore errors instead. They
    fail if the context is broken, and the resource is then gone with it."""

    forked: bool  # whether this process was forked after the driver was started

    def version(self) -> int:
        """The newest CUDA version that the driver supports: 12080 is 12.8."""
        ...

    def start(self) -> None:
        """Initialize the driver for this process. It may be called again."""
        ...

    def address(self, function: str) -> int:
        """Return the address of an exported C function of the driver, for native code that calls it."""
        ...

    def error(self, status: int, what: str) -> CudaError:
        """Return the exception for the CUresult of the operation `what`."""
        ...

    # ---- devices and contexts

    def device_count(self) -> int:
        """Return the number of devices."""
        ...

    def device(self, index: int) -> int:
        """Return the handle of device number `index`."""
        ...

    def facts(self, device: int) -> DeviceFacts:
        """Return the properties of the device."""
        ...

    def retain_context(self, device: int) -> int:
        """Return the primary context of the device, which libraries share."""
        ...

    def reset_context(self, device: int) -> None:
        """Destroy the primary context and everything in it."""
        ...

    def current_context(self) -> int:
        """Return the context of the calling thread, or 0 if it has none."""
        ...

    def use_context(self, context: int) -> None:
        """Make this the context of the calling thread."""
        ...

    def synchronize_context(self) -> None:
        """Wait for all work in the current context."""
        ...

    def stack_limit(self) -> int:
        """Return the bytes of stack for each thread of a kernel."""
        ...

    def set_stack_limit(self, size: int) -> None:
        """Reserve that many bytes of stack for each thread that the GPU can hold at once."""
        ...

    # ---- streams and events

    def create_stream(self) -> int:
        """Create a stream. It and the legacy default stream wait for each other."""
        ...

    def is_done(self, stream: int) -> bool:
        """Return whether all work of the stream is done."""
        ...

    def synchronize_stream(self, stream: int) -> None:
        """Wait for all work of the stream."""
        ...

    def wait_event(self, stream: int, event: int) -> None:
        """Make later work in the stream wait for the event."""
        ...

    def create_event(self, timed: bool) -> int:
        """Create an event. It has a time if it is `timed`, and is cheaper otherwise."""
        ...

    def record_event(self, event: int, stream: int) -> None:
        """Record the event: it happens when the current work in the stream is done."""
        ...

    def synchronize_event(self, event: int) -> None:
        """Wait for the event."""
        ...

    def seconds_between(self, begin: int, end: int) -> float:
        """Return the seconds from one timed event to another. Both must have happened."""
        ...

    def destroy_event(self, event: int) -> None:
        """Destroy the event."""
        ...

    # ---- memory

    def allocate(self, size: int, stream: int) -> int:
        """Allocate device memory in stream order."""
        ...

    def free(self, address: int, stream: int) -> None:
        """Free device memory in stream order."""
        ...

    def free_memory(self) -> tuple[int, int]:
        """Return the free bytes and the total bytes of the device."""
        ...

    def default_pool(self, device: int) -> int:
        """Return the memory pool that `allocate` uses."""
        ...

    def keep_pool(self, pool: int) -> None:
        """Keep freed memory in the pool until `trim_pool`."""
        ...

    def trim_pool(self, pool: int) -> None:
        """Return the unused memory of the pool to the system."""
        ...

    def allocate_pinned(self, size: int) -> int:
        """Allocate page-locked host memory."""
        ...

    def free_pinned(self, address: int) -> None:
        """Free page-locked memory."""
        ...

    def copy_in(self, address: int, source: int | bytes, size: int, stream: int) -> None:
        """Copy from the host (an address, or the bytes themselves) to the device."""
        ...

    def copy_out(self, target: int, address: int, size: int, stream: int) -> None:
        """Copy from the device to an address of the host."""
        ...

    def copy(self, target: int, source: int, size: int, stream: int) -> None:
        """Copy within the device."""
        ...

    def fill(self, address: int, pattern: int, size: int, times: int, stream: int) -> None:
        """Fill memory with a pattern of 1, 2 or 4 bytes."""
        ...

    def owner(self, address: int) -> int:
        """Return the number of the device that owns this memory. Raises CudaError if the driver does not know the
        memory."""
        ...

    # ---- modules and functions

    def load_ptx(self, ptx: bytes) -> int:
        """Assemble PTX and load it. A CudaError contains the messages of the assembler."""
        ...

    def load_cubin(self, cubin: bytes) -> int:
        """Load machine code."""
        ...

    def assemble(self, ptx: bytes) -> bytes:
        """Return the machine code (cubin) of PTX for the device of the current context."""
        ...

    def unload_module(self, module: int) -> None:
        """Unload a module. None of its functions may be running."""
        ...

    def function(self, module: int, name: str) -> int:
        """Return the kernel of that name."""
        ...

    def allow_shared(self, function: int, size: int) -> None:
        """Allow launches of the function with that many bytes of dynamic shared memory."""
        ...

    def resident_blocks(self, function: int, threads: int, shared: int) -> int:
        """Return how many blocks with that many threads and bytes of dynamic shared memory a multiprocessor can hold at
        once."""
        ...

    def launch(self, function: int, grid: Dim3, block: Dim3, shared: int, stream: int, params: int) -> None:
        """Launch a kernel. `params` is the address of an array with the addresses of its parameters."""
        ...

    # ---- graphs

    def create_graph(self) -> int:
        """Create an empty graph."""
        ...

    def add_kernel(self, graph: int, after: int, function: int, threads: int, params: int) -> int:
        """Add a node that launches one block of the function after node `after` (0: without waiting)."""
        ...

    def instantiate(self, graph: int) -> int:
        """Return the executable form of the graph."""
        ...

    def destroy_executable(self, executable: int) -> None:
        """Destroy an executable graph."""
        ...

    def destroy_graph(self, graph: int) -> None:
        """Destroy a graph."""
        ...
