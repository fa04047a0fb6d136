"""A real window, on a display of its own, with real keys: where Xvfb and xdotool are installed."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

DISPLAY = ":87"
PROGRAM = """
import weft as ti
ti.init()
gui = ti.GUI("window of a test", (200, 100))
slider = gui.slider("n", 0, 10)
held = 0
while gui.running and gui.frame < 600:
    for e in gui.get_events():
        if e.key == "d":
            print(e.type.name, e.key, e.modifier, flush=True)
        if e.type == ti.GUI.PRESS and e.key == ti.GUI.ESCAPE:
            gui.running = False
    held += gui.is_pressed("d")
    gui.circle((0.5, 0.5), radius=10)
    gui.show()
print("held" if held > 5 else held, *(round(x, 2) for x in gui.get_cursor_pos()), slider.value)
"""


@pytest.fixture
def display() -> Iterator[dict[str, str]]:
    if not (sys.platform == "linux" and shutil.which("Xvfb") and shutil.which("xdotool")):
        pytest.skip("needs Xvfb and xdotool")
    pytest.importorskip("tkinter")
    server = subprocess.Popen(["Xvfb", DISPLAY, "-screen", "0", "640x480x24"], stderr=subprocess.DEVNULL)
    yield {**os.environ, "DISPLAY": DISPLAY}
    server.terminate()
    server.wait()


def _do(environment: dict[str, str], *command: str) -> str:
    done = subprocess.run(["xdotool", *command], env=environment, capture_output=True, text=True, timeout=20)
    return done.stdout.strip()


def test_keys_and_pointer(display: dict[str, str], tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(PROGRAM)
    time.sleep(0.5)
    command = [sys.executable, str(tmp_path / "program.py")]
    program = subprocess.Popen(command, env=display, cwd=tmp_path, stdout=subprocess.PIPE, text=True)
    try:
        window = ""
        for _ in range(60):
            window = _do(display, "search", "--name", "window of a test").split("\n")[0]
            if window:
                break
            time.sleep(0.2)
        assert window
        _do(display, "mousemove", "--window", window, "190", "14", "click", "1")
        _do(display, "mousemove", "--window", window, "100", "75")
        _do(display, "windowfocus", "--sync", window)
        _do(display, "keydown", "d")
        time.sleep(1.0)  # long enough for the key to repeat
        _do(display, "keyup", "d")
        time.sleep(0.2)
        _do(display, "key", "Escape")
        out, _ = program.communicate(timeout=20)
    finally:
        program.kill()
    assert out.splitlines() == ["PRESS d []", "RELEASE d []", "held 0.5 0.25 9"]
