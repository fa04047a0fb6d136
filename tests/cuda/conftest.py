"""`ti` is the language on a GPU, and on the emulated one, so that these tests say something on every machine."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

import weft.runtime.cuda as cuda
from tests import emulated


@pytest.fixture(params=["gpu", pytest.param("emulated", marks=pytest.mark.emulated)])
def ti(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """`weft`, after `init(arch=cuda)`."""
    import weft

    if request.param == "emulated":
        emulated.use(monkeypatch)
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
