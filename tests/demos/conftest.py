"""Each test in a program of its own, on the CPU. Many run the same demos, whose kernels are compiled once."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import weft


@pytest.fixture(autouse=True)
def program(kept_kernels: None) -> Iterator[None]:
    weft.init(arch=weft.cpu, random_seed=1)
    yield
    weft.reset()
