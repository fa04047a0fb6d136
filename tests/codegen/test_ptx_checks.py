"""Kernels with checks in them, compiled for a GPU: NVIDIA's assembler takes them; a race check runs on one thread."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import weft as ti
from tests.codegen.ptx import Recorder, assembled, compiling
from weft.codegen.nvptx.target import libdevice

__all__ = ["compiling"]  # a fixture

pytestmark = pytest.mark.skipif(libdevice() is None, reason="no libdevice.10.bc: pip install nvidia-nvvm")


@pytest.mark.parametrize("check", ["check_races", "check_nan", "check_uninitialised", "debug"])
def test_checks(check: str, compiling: Callable[..., Recorder], tmp_path: Path) -> None:
    device = compiling(**{check: True})
    x, v = ti.field(ti.f32, 100), ti.Vector.field(3, ti.f32, (4, 4))

    @ti.kernel
    def run(a: ti.types.ndarray(ti.f64, 1)) -> ti.f32:
        total = 0.0
        for i in x:
            total += ti.sqrt(x[i]) / (i // 7 % (i + 1))
            a[i] += x[i]
        for i, j in v:
            v[i, j] = v[i, j].normalized()
        return total

    run(np.zeros(100))
    (artifact,) = device.loaded
    assembled(artifact.ptx, 90, tmp_path)
    kinds = {site.kind for site in artifact.sites}
    assert (
        kinds
        == {
            "check_races": {"race", "bounds"},
            "check_nan": {"arithmetic", "outside"},
            "check_uninitialised": {"uninitialised", "bounds"},
            "debug": {"bounds", "arithmetic", "overflow"},
        }[check]
    )
    assert (len(artifact.tasks) == 1) == (check == "check_races")
