"""Kernels compiled for a GPU and not run: what the tests of PTX share."""

from __future__ import annotations

import dataclasses
import os
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import weft as ti
from tests.assembling import ptxas
from tests.null_device import NullDevice
from weft.ir.artifact import Artifact, CudaTarget
from weft.ir.target import CUDA
from weft.lang.program import init as state

__all__ = ["Recorder", "assembled", "compiled", "compiling"]


class Recorder(NullDevice):
    """Keeps what is loaded, and runs nothing."""

    arch = "cuda"

    def __init__(self, target: CudaTarget) -> None:
        super().__init__()
        self.target, self.loaded = target, list[Artifact]()

    def load(self, artifact: Artifact) -> Any:
        self.loaded.append(artifact)
        return super().load(artifact)


@pytest.fixture
def compiling() -> Iterator[Callable[..., Recorder]]:
    """`compiling(sm, ptx, **options)` starts a program whose kernels are only compiled; gives what collects them."""

    def start(sm: int = 90, ptx: int = 83, **options: Any) -> Recorder:
        ti.init(arch=ti.cpu, **options)
        program, device = state.program(), Recorder(CudaTarget(sm, ptx))
        program.config = dataclasses.replace(program.config, arch="cuda", traits=CUDA)
        program._device = device
        return device

    yield start
    ti.reset()


def assembled(ptx: str, sm: int, folder: Path) -> str:
    """What ptxas says about it: how many registers, how much stack. Fails where it refuses."""
    tool = ptxas()
    if tool is None:
        return ""
    source = folder / "kernel.ptx"
    source.write_text(ptx)
    run = subprocess.run(
        [tool, "-v", f"-arch=sm_{sm}", "-o", os.devnull, str(source)], capture_output=True, text=True, check=False
    )
    assert run.returncode == 0, run.stderr
    return run.stderr


def compiled(device: Recorder, kernel: Any, *args: Any) -> str:
    """The PTX of a kernel."""
    kernel(*args)
    return device.loaded[-1].ptx
