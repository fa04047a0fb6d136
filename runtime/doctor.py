"""What Weft finds on this machine: the facts that a bug report needs."""

from __future__ import annotations

import ctypes
import platform
import sys
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import Any

from weft.runtime import system
from weft.runtime.cache import cache_folder
from weft.runtime.memory import readable_size

__all__ = ["CudaFacts", "cache_folder", "cuda_facts", "facts", "folder_size", "report"]

_DRIVER = "nvcuda" if sys.platform == "win32" else "libcuda.so.1"
_COMPUTE_MAJOR, _COMPUTE_MINOR = 75, 76  # CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_*
_NAME_BYTES = 256


@dataclass(frozen=True)
class CudaFacts:
    """The driver's version and the devices with their compute capability and memory, or why there are none."""

    driver: str = ""
    devices: tuple[str, ...] = ()
    reason: str = ""


def facts() -> dict[str, str]:
    """Everything, as (what, finding), in the order to show it."""
    cuda, folder = cuda_facts(), cache_folder()
    found = {
        "weft": _version("weft"),
        "python": f"{platform.python_version()} ({platform.python_implementation()})",
        "system": platform.platform(),
        "numpy": _version("numpy"),
        "llvmlite": _version("llvmlite"),
        "processor": system.cpu_name(),
        "features": _features(),
        "threads": str(system.threads_available()),
        "memory": readable_size(system.physical_memory()),
        "vector math": system.vector_math_library() or "none: scalar calls of the C library",
        "cuda driver": cuda.driver or f"none: {cuda.reason}",
    }
    found |= {f"cuda device {number}": text for number, text in enumerate(cuda.devices)}
    if cuda.driver and not cuda.devices:
        found["cuda devices"] = f"none: {cuda.reason}"
    found["cache"] = f"{folder} ({readable_size(folder_size(folder))})" if folder else "none: there is no home folder"
    return found


def report() -> str:
    """The facts as text, one a line."""
    found = facts()
    width = max(map(len, found))
    return "\n".join(f"{name:<{width}}  {finding}" for name, finding in found.items())


def folder_size(folder: Path) -> int:
    """Bytes of all files in it; 0 if there is no such folder."""
    return sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())


def cuda_facts() -> CudaFacts:
    """Asks the CUDA driver itself; needs no package of NVIDIA's."""
    try:
        driver: Any = ctypes.CDLL(_DRIVER)
    except OSError as error:
        return CudaFacts(reason=str(error))
    version, count = ctypes.c_int(), ctypes.c_int()
    driver.cuDriverGetVersion(ctypes.byref(version))
    name = f"CUDA {version.value // 1000}.{version.value % 1000 // 10}"
    status = driver.cuInit(0) or driver.cuDeviceGetCount(ctypes.byref(count))
    if status:
        return CudaFacts(driver=name, reason=_error_text(driver, status))
    devices = tuple(_device(driver, number) for number in range(count.value))
    return CudaFacts(driver=name, devices=devices, reason="" if devices else "the driver sees no device")


def _device(driver: Any, number: int) -> str:
    handle, size, name = ctypes.c_int(), ctypes.c_size_t(), ctypes.create_string_buffer(_NAME_BYTES)
    driver.cuDeviceGet(ctypes.byref(handle), number)
    driver.cuDeviceGetName(name, _NAME_BYTES, handle)
    driver.cuDeviceTotalMem_v2(ctypes.byref(size), handle)
    capability: list[int] = []
    for attribute in (_COMPUTE_MAJOR, _COMPUTE_MINOR):
        value = ctypes.c_int()
        driver.cuDeviceGetAttribute(ctypes.byref(value), attribute, handle)
        capability.append(value.value)
    return f"{name.value.decode()}, sm_{capability[0]}{capability[1]}, {readable_size(size.value)}"


def _error_text(driver: Any, status: int) -> str:
    text = ctypes.c_char_p()
    driver.cuGetErrorString(status, ctypes.byref(text))
    return text.value.decode() if text.value else f"error {status}"


def _features() -> str:
    from llvmlite import binding

    found: Any = binding.get_host_cpu_features()
    return " ".join(sorted(name for name, present in found.items() if present))


def _version(package: str) -> str:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return "not installed"
