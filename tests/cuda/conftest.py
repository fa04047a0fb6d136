"""`ti` is the language on a GPU, and on the emulated one, so that these tests say something on every machine."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import weft.runtime.cuda as cuda

_spec = importlib.util.spec_from_file_location("weft_cuda_emulator", Path(__file__).parent / "emulator.py")
assert _spec is not None
assert _spec.loader is not None
emulator: Any = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(emulator)


@pytest.fixture(params=["gpu", "emulated"])
def ti(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """`weft`, after `init(arch=cuda)`."""
    import weft

    if request.param == "emulated":
        monkeypatch.setattr(cuda, "missing", lambda index=0: "")
        monkeypatch.setattr(cuda, "CudaDevice", emulator.EmulatedDevice)
    elif why := cuda.missing():
        pytest.skip(f"NO GPU WAS TESTED: {why}")
    weft.init(arch=weft.cuda, enable_fallback=False)
    yield weft
    weft.reset()


@pytest.fixture
def gpu(ti: Any, request: pytest.FixtureRequest) -> Any:
    """`ti` on a real GPU only."""
    if "emulated" in request.node.name:
        pytest.skip("only a GPU can tell")
    return ti
