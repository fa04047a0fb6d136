"""Disassemble the code of an NVIDIA GPU with NVIDIA's tools: ptxas assembles PTX, nvdisasm disassembles the result."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from weft.ir.errors import WeftError
from weft.lang.stages.listing import Listing, of_sass

__all__ = ["Cubin", "cubin_of", "sass_of"]

_TARGET = re.compile(r"^\.target\s+(sm_\w+)", re.MULTILINE)
_OLD = ("sm_75", "sm_80", "sm_90")  # newer GPUs run older PTX, but a new ptxas does not know old GPUs
_PACKAGES = {"ptxas": "nvidia-cuda-nvcc", "nvdisasm": "nvidia-cuda-nvdisasm", "cuobjdump": "nvidia-cuda-cuobjdump"}


@dataclass(frozen=True)
class Cubin:
    """The output of ptxas: code for one GPU, and its report of registers and memory."""

    code: bytes
    report: str

    def registers(self, entry: str) -> int | None:
        """Return the number of registers per thread of that entry."""
        part = self.report.partition(f"'{entry}'")[2].partition("Compiling entry function")[0]
        found = re.search(r"Used (\d+) registers", part)
        return int(found[1]) if found else None


def cubin_of(ptx: str) -> Cubin:
    """Assemble PTX for the GPU that it names. Raises WeftError if there is no ptxas, or if it rejects the PTX."""
    tool, target = _tool("ptxas"), _TARGET.search(ptx)
    if tool is None:
        raise _missing("ptxas")
    with tempfile.TemporaryDirectory() as folder:
        given, made = Path(folder, "kernel.ptx"), Path(folder, "kernel.cubin")
        given.write_text(ptx, encoding="utf-8")
        said = ""
        for chip in dict.fromkeys((target[1] if target else _OLD[0], *_OLD)):
            run = _run([tool, "-v", "-lineinfo", f"-arch={chip}", "-o", str(made), str(given)])
            if not run.returncode:
                return Cubin(made.read_bytes(), run.stdout + run.stderr)
            said = said or run.stderr.strip()
        raise WeftError(f"ptxas rejects the code: {said}")


def sass_of(cubin: Cubin) -> Listing:
    """Return the instructions: with lines if nvdisasm is installed, without lines by cuobjdump. Raises WeftError if
    both are missing."""
    fine, plain = _tool("nvdisasm"), _tool("cuobjdump")
    if fine is None and plain is None:
        raise _missing("nvdisasm", "cuobjdump")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "kernel.cubin")
        path.write_bytes(cubin.code)
        run = _run([fine, "-c", "-g", str(path)] if fine else [str(plain), "-sass", str(path)])
    if run.returncode:
        raise WeftError(f"{Path(fine or str(plain)).name}: {run.stderr.strip() or 'failed'}")
    return of_sass(run.stdout)


def _run(command: list[str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, capture_output=True, text=True, check=False)


def _tool(name: str) -> str | None:
    """Return the path of the program: from PATH, a CUDA toolkit, or one of NVIDIA's packages."""
    homes = [os.environ.get("CUDA_HOME", ""), os.environ.get("CUDA_PATH", ""), "/usr/local/cuda"]
    places = [str(Path(home, "bin")) for home in homes if home]
    for entry in sys.path:
        if entry.endswith("-packages"):
            places += [str(place) for place in sorted(Path(entry).glob("nvidia/*/bin"))]
    return shutil.which(name) or shutil.which(name, path=os.pathsep.join(places))


def _missing(*names: str) -> WeftError:
    packages = " or ".join(f"`pip install {_PACKAGES[name]}`" for name in names)
    return WeftError(f"no {' and no '.join(names)} was found: {packages}, or put a CUDA toolkit on the PATH")
