"""One fixture for all: `ti` is the language, started on each arch in turn, so that every test holds on all of them."""

import importlib
from collections.abc import Iterator
from typing import Any

import pytest

ARCHES = ("cpu", "python", "cuda")


def missing(arch: str) -> str:
    """Why `arch` cannot run here, "" if it can."""
    if arch != "cuda":
        return ""
    try:
        return str(importlib.import_module("weft.runtime.cuda").missing())
    except ImportError as error:
        return str(error)


@pytest.fixture(params=ARCHES)
def ti(request: pytest.FixtureRequest) -> Iterator[Any]:
    """`weft`, after `init(arch=...)`; a test that wants other options calls `ti.init(arch=ti.cfg.arch, ...)`."""
    import weft

    if why := missing(request.param):
        pytest.skip(f"arch={request.param} is not tested: {why}")
    weft.init(arch=request.param, enable_fallback=False)
    yield weft
    weft.reset()
