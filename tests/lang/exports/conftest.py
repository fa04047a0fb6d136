"""Each test writes into a folder of its own."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import weft as ti


@pytest.fixture(autouse=True)
def folder(kept_kernels: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.chdir(tmp_path)
    ti.init(arch=ti.cpu)
    yield
    ti.reset()
