"""Programs written for Taichi, run as they are: what they compute is what Taichi computes.

`expected.json` holds digests of their results under Taichi 1.7.4; `record.py` writes it.
"""

from __future__ import annotations

import json
import os
import runpy
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import weft as ti
import weft.compat
from tests import emulated

FOLDER = Path(__file__).parent
EXPECTED: dict[str, Any] = json.loads((FOLDER / "expected.json").read_text(encoding="utf-8"))
RECORD = runpy.run_path(str(FOLDER / "record.py"))
SLOW_IN_PYTHON = {
    *("bilateral", "cloth", "codec", "euler", "fractal", "laplace", "lattice", "lbm", "mpm128", "pendulums"),
    *("sdf_renderer", "spheres", "spots", "waterwave", "xpbd"),
}

# Single precision, other orders of sums: how far results may drift over the steps taken.
TOLERANCE = {"mpm128": 2e-3, "cloth": 5e-3, "sdf_renderer": 5e-3}


@pytest.fixture(autouse=True)
def taichi_is_weft() -> Iterator[None]:
    weft.compat.install()
    yield
    weft.compat.uninstall()
    ti.reset()


def check(name: str) -> None:
    """Run program `name` and hold its results to the recorded ones."""
    found = RECORD["measure"](name)
    assert set(found) == set(EXPECTED[name])
    tolerance = TOLERANCE.get(name, 5e-4)
    for key, expected in EXPECTED[name].items():
        digest, label = found[key], f"{name}: {key}"
        assert digest["shape"] == expected["shape"], label
        scale = expected["size"] / np.prod(expected["shape"])
        np.testing.assert_allclose(digest["size"], expected["size"], rtol=tolerance, err_msg=label)
        np.testing.assert_allclose(digest["sum"], expected["sum"], atol=tolerance * expected["size"], err_msg=label)
        np.testing.assert_allclose(digest["probes"], expected["probes"], tolerance, tolerance * scale, err_msg=label)


def test_every_program_is_recorded() -> None:
    assert RECORD["names"]() == sorted(EXPECTED)


@pytest.mark.parametrize("name", sorted(EXPECTED))
def test_on_the_processor(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(os.environ, "WEFT_ARCH", "cpu")
    check(name)


@pytest.mark.parametrize("name", sorted(EXPECTED))
@pytest.mark.unverified
def test_without_races(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(os.environ, "WEFT_ARCH", "cpu")
    monkeypatch.setitem(os.environ, "WEFT_CHECK_RACES", "1")
    RECORD["measure"](name)


@pytest.mark.parametrize("name", sorted(set(EXPECTED) - SLOW_IN_PYTHON))
@pytest.mark.unverified
def test_in_python(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(os.environ, "WEFT_ARCH", "python")
    check(name)


@pytest.mark.emulated
@pytest.mark.parametrize("name", sorted(EXPECTED))
def test_on_an_emulated_gpu(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    emulated.use(monkeypatch)
    monkeypatch.setitem(os.environ, "WEFT_ARCH", "cuda")
    check(name)
