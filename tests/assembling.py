"""NVIDIA's assembler reads all PTX that tests make: what it refuses fails the test that made it.

It runs beside the test, once for each text. It is the `ptxas` of the PATH or of the package nvidia-cuda-nvcc; without
one nothing is assembled, and the summary says so.
"""

from __future__ import annotations

import functools
import os
import re
import subprocess
import tempfile
from collections import deque
from pathlib import Path
from typing import Any

from weft.lang.stages import disassembly

__all__ = ["MISSING", "Assembler", "ptxas", "target_of", "watch"]

MISSING = "NO PTX WAS ASSEMBLED: there is no ptxas: pip install nvidia-cuda-nvcc, or put a CUDA toolkit on the PATH"

_AT_ONCE = 4
_USUAL = 90  # sm_90: newer GPUs run older PTX, and a new ptxas has forgotten old GPUs


@functools.cache
def ptxas() -> str | None:
    """Where the assembler is."""
    return disassembly._tool("ptxas")


def target_of(ptx: str) -> int:
    """The GPU to assemble for."""
    found = re.search(r"^\.target\s+sm_(\d+)", ptx, re.MULTILINE)
    return max(_USUAL, int(found[1]) if found else 0)


class Assembler:
    """Runs of the assembler: `start` begins one, `refusals` waits for all."""

    def __init__(self) -> None:
        self.texts = set[str]()
        self._folder: tempfile.TemporaryDirectory[str] | None = None
        self._running: deque[tuple[subprocess.Popen[str], Path]] = deque()
        self._refusals = list[str]()

    def start(self, ptx: str) -> None:
        """Assemble it, unless it was read before."""
        tool = ptxas()
        if tool is None or ptx in self.texts:
            return
        self.texts.add(ptx)
        self._folder = self._folder or tempfile.TemporaryDirectory(prefix="weft-ptx")
        path = Path(self._folder.name, f"{len(self.texts)}.ptx")
        path.write_text(ptx, encoding="utf-8")
        command = [tool, f"-arch=sm_{target_of(ptx)}", "-o", os.devnull, str(path)]
        run = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        self._running.append((run, path))
        while len(self._running) > _AT_ONCE:
            self._finish()

    def _finish(self) -> None:
        run, path = self._running.popleft()
        said, _ = run.communicate()
        if run.returncode:
            self._refusals.append(f"ptxas does not take the code:\n{said}\n{path.read_text(encoding='utf-8')}")
        path.unlink()

    def refusals(self) -> list[str]:
        """What it said of the texts that it did not take since the last time."""
        while self._running:
            self._finish()
        found, self._refusals = self._refusals, []
        return found


def watch(assembler: Assembler) -> None:
    """Have it read what Weft compiles for GPUs from now on."""
    from weft.codegen import cuda

    compile_kernel = cuda.compile_kernel

    @functools.wraps(compile_kernel)
    def compiled(*args: Any, **keywords: Any) -> Any:
        artifact = compile_kernel(*args, **keywords)
        assembler.start(artifact.ptx)
        return artifact

    cuda.compile_kernel = compiled
