"""Derivatives come from the disk too, apart from their kernels, with what tapes know about them."""

from __future__ import annotations

from pathlib import Path

import pytest

import weft as ti
from tests.lang.cache.cached_programs import Session

PROGRAM = """
import weft as ti

x = ti.field(ti.f64, (), needs_grad=True, needs_dual=True, name="x")
z = ti.field(ti.f64, (), name="z")
loss = ti.field(ti.f64, (), needs_grad=True, needs_dual=True)

@ti.kernel
def square():
    x[None] = x[None] * x[None]

@ti.kernel
def leave():
    z[None] = x[None]

@ti.kernel
def add():
    loss[None] += x[None] * x[None] + z[None]

def main():
    x[None] = 3.0
    with ti.ad.Tape(loss):
        square()
        square()
        leave()
        add()
    gradient, x[None] = x.grad[None], 3.0
    with ti.ad.FwdMode(loss, x):
        square()
        add()
    return gradient, loss.dual[None]
"""


def test_gradients_and_duals(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    session = Session(tmp_path, monkeypatch)  # one file: warnings name places, which are part of the key then
    for run in (session.fresh, session.warm):
        with pytest.warns(ti.GradientWarning, match="'z', which has no gradient"):
            assert run(PROGRAM, "program.py") == (8 * 3.0**7, 4 * 3.0**3)
