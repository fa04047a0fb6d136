"""Programs without a display, in a folder of their own; pictures that were looked at once."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import weft as ti
from weft.lang.ui.images import imread
from weft.lang.ui.window import Window

GOLDEN = Path(__file__).parent / "golden"


@pytest.fixture(autouse=True)
def program(kept_kernels: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    ti.init(arch=ti.cpu)
    monkeypatch.chdir(tmp_path)
    for name in ("DISPLAY", "WAYLAND_DISPLAY"):
        monkeypatch.delenv(name, raising=False)
    yield
    ti.reset()


@pytest.fixture
def like(request: pytest.FixtureRequest) -> Any:
    """`like(window, name)`: the frame must look like the picture `golden/name.png`: another machine may round
    otherwise, so a channel in a thousand may be off by more than 4 of 255. `share`: how many, where there is text,
    whose edges each version of pillow draws a little differently."""

    def compare(window: Window, name: str, share: float = 1e-3) -> None:
        path = GOLDEN / f"{name}.png"
        if request.config.getoption("--update"):
            path.parent.mkdir(parents=True, exist_ok=True)
            window.save_image(str(path))
        seen, wanted = window.get_image_buffer_as_numpy(), imread(str(path), 4) / np.float32(255)
        assert seen.shape == wanted.shape
        off = abs(seen - wanted) > 4.5 / 255
        assert off.mean() < share, f"{off.sum()} channels differ from {path}"

    return compare
