"""Fixtures of the tests of `init(verify="results")`."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

import weft as ti
from tests import emulated
from weft.lang.checks.tally import TALLY

__all__ = ["afresh", "verifying"]

ARCHES = ("cpu", pytest.param("cuda", marks=pytest.mark.emulated))


@pytest.fixture(autouse=True)
def afresh(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.delenv("WEFT_VERIFY", raising=False)
    TALLY.clear()
    yield
    ti.reset()
    TALLY.clear()


@pytest.fixture(params=ARCHES)
def verifying(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """`init` with such verification, on that arch."""
    if request.param == "cuda":
        emulated.use(monkeypatch)

    def begin(**options: Any) -> None:
        ti.init(arch=request.param, enable_fallback=False, verify="results", **options)

    return begin
