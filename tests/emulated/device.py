"""A GPU in software, for tests on machines without one: the driver in Python (`driver.py`), kernels on the CPU.

The code that a GPU would run is compiled for the CPU instead, as it stands; its blocks have all their threads, which
run one after the other and take turns where they meet (see `blocks.py`). So grids, boxes, contexts, states, copies,
prints and what threads do together are the real ones. What is not: several threads at the same moment, the PTX itself
(`assembling.py` has NVIDIA's assembler read that), and time.
"""

from __future__ import annotations

from typing import Any

import pytest

import weft.runtime.cuda as cuda
from tests.emulated import blocks
from tests.emulated.driver import EmulatedDriver, turn
from tests.emulated.host_code import block_rules, host_text, meets
from weft.codegen.llvm import machine
from weft.ir.artifact import Artifact
from weft.runtime.cuda_gpu import Gpu
from weft.runtime.jit import emit

__all__ = ["EmulatedDevice", "use"]

_texts: dict[bytes, str] = {}  # the LLVM IR that PTX was made of: kernels from the disk come without


class EmulatedDevice(cuda.CudaDevice):
    """A CUDA device without a GPU."""

    def __init__(self, random_seed: int = 0, index: int = 0, emit: Any = emit, store: Any = None) -> None:
        self._modules: dict[int, Any] = {}
        self.driver = EmulatedDriver()
        self._open(Gpu(self.driver, 0), random_seed, emit, store)

    def load_functions(self, artifact: Artifact) -> tuple[int, list[int]]:
        text = artifact.llvm or _texts.get(artifact.code)
        if text is None:  # another process kept it
            raise RuntimeError("the PTX from the disk comes without the LLVM IR that the emulator runs")
        _texts[artifact.code] = text
        together = meets(text)
        if together and (why := blocks.missing()):
            pytest.skip(f"what threads do together is not tested: {why}")
        object_file = machine.host_cpu(0).machine.emit_object(machine.parse(host_text(text)))
        code = self.loader.load(object_file, artifact.tasks, symbols=blocks.symbols())
        handles, rules = [code[name] for name in artifact.tasks], block_rules(text)
        for name, handle in zip(artifact.tasks, handles, strict=True):
            self.driver.rules[handle] = rules[name]
        self.driver.together.update(handles if together else ())
        module = next(self.driver.handles)
        self._modules[module] = code, handles
        return module, handles

    def unload(self, module: int) -> None:
        with turn:
            _, handles = self._modules.pop(module)
            self.driver.together.difference_update(handles)


def use(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make `init(arch=cuda)` use the emulator."""
    monkeypatch.setattr(cuda, "missing", lambda index=0: "")
    monkeypatch.setattr(cuda, "CudaDevice", EmulatedDevice)
