"""The files of the demos as programs of their own."""

from __future__ import annotations

import importlib
import runpy

import pytest

from weft.demos import runner

pytest.importorskip("matplotlib", reason="pictures need the extra weft[viz]")


@pytest.mark.parametrize("name", runner.NAMES)
def test_a_file_runs_by_itself(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """As `python NAME.py`: it starts Weft, and shows its frames."""
    shown = []
    monkeypatch.setattr(runner, "play", lambda frame, frames: shown.append((frame, frames)))
    runpy.run_path(str(runner.FOLDER / f"{name}.py"), run_name="__main__")
    ((frame, frames),) = shown
    assert callable(frame)
    assert frames == importlib.import_module(f"weft.demos.{name}").FRAMES
