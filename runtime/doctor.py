"""Collect the facts about this machine that a bug report needs."""

from __future__ import annotations

import platform
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import Any

from weft.runtime import cuda_driver, system
from weft.runtime.cache import cache_folder
from weft.runtime.cuda_driver import CudaError
from weft.runtime.memory import readable_size

__all__ = ["CudaFacts", "cache_folder", "cuda_facts", "facts", "folder_size", "report"]


@dataclass(frozen=True)
class CudaFacts:
    """The version of the driver, and the devices with their compute capability and memory, or why there are none."""

    driver: str = ""
    devices: tuple[str, ...] = ()
    reason: str = ""


def facts() -> dict[str, str]:
    """Return all facts as (topic, finding), in the order of display."""
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
        "vector math": system.vector_math_library() or "none: kernels call scalar functions of the C library",
        "cuda driver": cuda.driver or f"none: {cuda.reason}",
    }
    found |= {f"cuda device {number}": text for number, text in enumerate(cuda.devices)}
    if cuda.driver and not cuda.devices:
        found["cuda devices"] = f"none: {cuda.reason}"
    found["cache"] = f"{folder} ({readable_size(folder_size(folder))})" if folder else "none: there is no home folder"
    return found


def report() -> str:
    """Return the facts as text, one per line."""
    found = facts()
    width = max(map(len, found))
    return "\n".join(f"{name:<{width}}  {finding}" for name, finding in found.items())


def folder_size(folder: Path) -> int:
    """Return the bytes of all files in the folder; 0 if it does not exist."""
    return sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())


def cuda_facts() -> CudaFacts:
    """Ask the CUDA driver. Devices that are too old for Weft are listed as well."""
    version = ""
    try:
        driver = cuda_driver.open_driver()
        version = f"CUDA {driver.version() // 1000}.{driver.version() % 1000 // 10}"
        driver.start()
        found = [driver.facts(driver.device(number)) for number in range(driver.device_count())]
    except CudaError as error:
        return CudaFacts(version, reason=str(error))
    devices = tuple(f"{one.name}, sm_{one.capability}, {readable_size(one.memory)}" for one in found)
    return CudaFacts(version, devices, "" if devices else "the driver sees no device")


def _features() -> str:
    from llvmlite import binding

    found: Any = binding.get_host_cpu_features()
    return " ".join(sorted(name for name, present in found.items() if present))


def _version(package: str) -> str:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return "not installed"
