"""One fixture for all: `ti` is the language, started on each arch in turn, so that every test holds on all of them.
Where there is no GPU, one in software takes its place."""

import importlib
import os
from collections.abc import Iterator
from functools import cache
from typing import Any

import pytest

from tests import emulated

ARCHES = ("cpu", "python", "cuda", pytest.param("emulated", marks=pytest.mark.emulated))


@cache
def missing(arch: str) -> str:
    """Why `arch` cannot run here, "" if it can."""
    if arch == "python" and os.environ.get("WEFT_VERIFY") == "results":
        return "WEFT_VERIFY=results compares no launch there"
    if arch not in ("cuda", "emulated"):
        return ""
    try:
        why = str(importlib.import_module("weft.runtime.cuda").missing())
    except ImportError as error:
        why = str(error)
    if arch == "cuda":
        return why and f"NO GPU WAS TESTED: {why}"
    return "" if why else "the GPU itself is here"


@pytest.fixture(params=ARCHES)
def ti(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """`weft`, after `init(arch=...)`; a test that wants other options calls `ti.init(arch=ti.cfg.arch, ...)`."""
    import weft

    if why := missing(request.param):
        pytest.skip(f"arch={request.param} is not tested: {why}")
    if request.param == "emulated":
        emulated.use(monkeypatch)
    weft.init(arch="cuda" if request.param == "emulated" else request.param, enable_fallback=False)
    yield weft
    weft.reset()
