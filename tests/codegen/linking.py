"""The linkers of LLVM, which the package ziglang brings."""

from __future__ import annotations

import importlib.util
import subprocess
from pathlib import Path

import pytest

__all__ = ["UNLINKED", "link", "needs_linkers", "zig"]


def zig() -> str | None:
    """The program that is all of them."""
    found = importlib.util.find_spec("ziglang")
    return str(Path(found.origin).parent / "zig") if found is not None and found.origin is not None else None


UNLINKED = "code for amdgcn and wasm32 was neither linked nor run: pip install weft[targets]"
needs_linkers = pytest.mark.skipif(zig() is None, reason=UNLINKED)


def link(linker: str, code: bytes, folder: Path, *switches: str) -> bytes:
    """What that linker makes of an object file."""
    source, made = folder / "kernel.o", folder / "kernel.linked"
    source.write_bytes(code)
    run = subprocess.run(
        [zig() or "", linker, *switches, "-o", str(made), str(source)], capture_output=True, text=True, check=False
    )
    assert run.returncode == 0, run.stderr
    return made.read_bytes()
