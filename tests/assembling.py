"""NVIDIA's assembler reads all PTX that tests make: what it refuses fails the session, which says who made it.

It runs beside the tests, once for each text (several at a time would be one program to it, with each name twice); what
it took in an earlier session is known. In `make test` it optimizes nothing: that takes most of its time, and it refuses
a text before. It is the `ptxas` of the PATH or of the package nvidia-cuda-nvcc; without one nothing is read, and the
summary says so.
"""

from __future__ import annotations

import functools
import os
import re
import subprocess
import tempfile
from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path
from threading import Lock
from typing import Any

from weft.lang.stages import disassembly

__all__ = ["MISSING", "Assembler", "ptxas", "target_of", "watch"]

MISSING = "NO PTX WAS ASSEMBLED: there is no ptxas: pip install nvidia-cuda-nvcc, or put a CUDA toolkit on the PATH"

_AT_ONCE = 2
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
    """Runs of the assembler: `read` takes a text, `refusals` waits for all. `maker` is the test that makes them now,
    `taken` names the texts that are known to be good."""

    def __init__(self, taken: Iterable[str] = (), level: int = 3) -> None:
        self.texts, self.taken, self.maker, self.level = set[str](), set(taken), "", level
        self._folder: tempfile.TemporaryDirectory[str] | None = None
        self._running: deque[tuple[subprocess.Popen[str], _Text]] = deque()
        self._refusals = list[str]()
        self._lock = Lock()

    def read(self, ptx: str) -> None:
        """Have it assembled, unless it was before. Threads that compile may call this at once."""
        with self._lock:
            self._read(ptx)

    def _read(self, ptx: str) -> None:
        if ptxas() is None or ptx in self.texts:
            return
        self.texts.add(ptx)
        if _name(ptx) in self.taken:
            return
        self._folder = self._folder or tempfile.TemporaryDirectory(prefix="weft-ptx")
        path = Path(self._folder.name, f"{len(self.texts)}.ptx")
        path.write_text(ptx, encoding="utf-8")
        if len(self._running) == _AT_ONCE:
            self._finish()
        self._running.append((_assembling(path, target_of(ptx), self.level), _Text(path, self.maker)))

    def _finish(self) -> None:
        run, text = self._running.popleft()
        said, _ = run.communicate()
        ptx = text.path.read_text(encoding="utf-8")
        if run.returncode:
            self._refusals.append(f"{text.maker}: ptxas does not take the code:\n{said}\n{ptx}")
        else:
            self.taken.add(_name(ptx))
        text.path.unlink()

    def refusals(self) -> list[str]:
        """What it said of the texts that it did not take since the last time."""
        while self._running:
            self._finish()
        found, self._refusals = self._refusals, []
        return found


@dataclass(frozen=True)
class _Text:
    """A file, and the test that made what is in it."""

    path: Path
    maker: str


@functools.cache
def _version() -> bytes:
    tool = ptxas()
    assert tool is not None
    return subprocess.run([tool, "--version"], capture_output=True, check=True).stdout


def _name(ptx: str) -> str:
    """That of a text, for this assembler."""
    return blake2b(_version() + ptx.encode(), digest_size=16).hexdigest()


def _assembling(text: Path, target: int, level: int) -> subprocess.Popen[str]:
    tool = ptxas()
    assert tool is not None
    command = [tool, f"-arch=sm_{target}", f"-O{level}", "-o", os.devnull, str(text)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)


def watch(assembler: Assembler) -> None:
    """Have it read what Weft compiles for GPUs from now on."""
    from weft.codegen.nvptx import kernel as cuda

    compile_kernel = cuda.compile_kernel

    @functools.wraps(compile_kernel)
    def compiled(*args: Any, **keywords: Any) -> Any:
        artifact = compile_kernel(*args, **keywords)
        assembler.read(artifact.ptx)
        return artifact

    cuda.compile_kernel = compiled
