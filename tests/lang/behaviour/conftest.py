"""One fixture for all: `ti` is the language, started on each arch in turn, so that every test holds on all of them.
Where there is no GPU, one in software takes its place."""

import importlib
import importlib.util
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


def library(name: str) -> Any:
    """The library of that name."""
    if importlib.util.find_spec(name) is None:
        pytest.skip(f"{name} is not installed (pip install weft[arrays])")
    return importlib.import_module(name)


@pytest.fixture
def torch(ti: Any) -> Any:
    """PyTorch."""
    return library("torch")


@pytest.fixture
def jnp(ti: Any) -> Iterator[Any]:
    """`jax.numpy`, which makes arrays where kernels run."""
    jax = library("jax")
    place = None if ti.cfg.arch == "cuda" else jax.devices("cpu")[0]
    with jax.default_device(place):
        yield library("jax.numpy")


@pytest.fixture
def number(ti: Any) -> Any:
    """Makes fields of one f64 with a gradient."""
    return lambda: ti.field(ti.f64, (), needs_grad=True)
