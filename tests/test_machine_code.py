"""What kernels are compiled to for several targets can be written and compared, also of kernels that call functions of
the run-time library."""

from __future__ import annotations

from pathlib import Path

import pytest

import weft as ti
from tests import machine_code


def _blocks() -> None:
    """A sum over the blocks around each cell of a hash node."""
    x, y = ti.field(ti.f32), ti.field(ti.f32, ())
    ti.root.hash(ti.ij, 4).dense(ti.ij, 4).place(x)

    @ti.kernel
    def step():
        for i, j in ti.ndrange((-5, 5), (-5, 5)):
            x[i, j] = 1.0
        for i, j in x:
            y[None] += x[i, j + 1]

    step()


def test_programs_are_written_and_compared(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machine_code, "programs", lambda: [("blocks", _blocks)])
    for folder in ("before", "after"):
        machine_code.write(tmp_path / folder, "", list(machine_code.TARGETS))
    ti.reset()
    names = [path.name for path in sorted((tmp_path / "after").iterdir())]
    assert [f"blocks.step.1.{target}.ll" for target in sorted(machine_code.TARGETS)] == names
    assert machine_code.differences(tmp_path / "before", tmp_path / "after") == []
    (tmp_path / "after" / names[0]).write_text("")
    assert machine_code.differences(tmp_path / "before", tmp_path / "after") == names[:1]
