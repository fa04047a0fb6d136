"""A real window, on a display of its own, with real keys: where Xvfb and xdotool are installed."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

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
    if gui.frame == 2:
        print("ready", flush=True)
print("held" if held > 5 else held, *(round(x, 2) for x in gui.get_cursor_pos()), slider.value)
"""

SCENE = """
import numpy as np
import weft as ti
ti.init()
window = ti.ui.Window("scene of a test", (300, 200), vsync=True, pos=(30, 40))
camera, scene, value, ticked = ti.ui.Camera(), ti.ui.Scene(), 0.0, False
frames = 0
while window.running and frames < 900:
    for e in window.get_events(ti.ui.PRESS):
        print("press", e.key, flush=True)
    if window.is_pressed(ti.ui.ESCAPE):
        break
    with window.get_gui().sub_window("P", 0, 0, 0.5, 0.5) as gui:
        value = gui.slider_float("v", value, 0, 1)
        ticked = gui.checkbox("t", ticked)
    camera.track_user_inputs(window, movement_speed=3, hold_key=ti.ui.RMB)
    scene.set_camera(camera)
    scene.ambient_light((1, 1, 1))
    scene.particles(np.array([(0.0, 0, 5)]), 1, (1, 0, 0))
    window.get_canvas().scene(scene)
    window.show()
    frames += 1
    if frames == 2:
        print("ready", flush=True)
position, lookat = np.asarray(camera.curr_position), np.asarray(camera.curr_lookat)
print(round(value, 2), ticked, *(round(x, 2) for x in window.get_cursor_pos()))
print(position[2] > 0.2, abs(position[0]) < 1e-6, (lookat - position)[0] < -0.1)
"""


@pytest.fixture
def display() -> Iterator[dict[str, str]]:
    if not (sys.platform == "linux" and shutil.which("Xvfb") and shutil.which("xdotool")):
        pytest.skip("needs Xvfb and xdotool")
    pytest.importorskip("tkinter")
    command = ["Xvfb", "-displayfd", "1", "-screen", "0", "640x480x24"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as server:
        assert server.stdout is not None
        yield {**os.environ, "DISPLAY": f":{server.stdout.readline().strip()}"}
        server.terminate()


def _do(environment: dict[str, str], *command: str) -> str:
    done = subprocess.run(["xdotool", *command], env=environment, capture_output=True, text=True, timeout=20)
    return done.stdout.strip()


@contextmanager
def _running(display: dict[str, str], folder: Path, program: str, title: str) -> Generator[tuple[Any, str], None, None]:
    """The program, and its window once that is there."""
    (folder / "program.py").write_text(program)
    command = [sys.executable, str(folder / "program.py")]
    with subprocess.Popen(command, env=display, cwd=folder, stdout=subprocess.PIPE, text=True) as running:
        try:
            window = ""
            for _ in range(100):
                window = _do(display, "search", "--name", title).split("\n")[0]
                if window:
                    break
                time.sleep(0.2)
            assert window
            yield running, window
        finally:
            running.kill()


def test_keys_and_pointer(display: dict[str, str], tmp_path: Path) -> None:
    with _running(display, tmp_path, PROGRAM, "window of a test") as (program, window):
        assert program.stdout.readline() == "ready\n"
        _do(display, "mousemove", "--window", window, "190", "14", "click", "1")
        _do(display, "mousemove", "--window", window, "100", "75")
        _do(display, "windowfocus", "--sync", window)
        _do(display, "keydown", "d")
        time.sleep(1.0)  # long enough for the key to repeat
        _do(display, "keyup", "d")
        time.sleep(0.2)
        _do(display, "key", "Escape")
        out, _ = program.communicate(timeout=20)
    assert out.splitlines() == ["PRESS d []", "RELEASE d []", "held 0.5 0.25 9.0"]


def test_a_window_with_a_scene_and_a_panel(display: dict[str, str], tmp_path: Path) -> None:
    with _running(display, tmp_path, SCENE, "scene of a test") as (program, window):
        assert program.stdout.readline() == "ready\n"
        place = _do(display, "getwindowgeometry", "--shell", window).splitlines()
        assert {"X=30", "Y=40", "WIDTH=300", "HEIGHT=200"} <= set(place)
        _do(display, "windowfocus", "--sync", window)
        for command in (
            ("mousemove", "--window", window, "20", "47"),  # the slider
            ("mousedown", "1"),
            ("mousemove", "--window", window, "49", "60"),
            ("mouseup", "1"),
            ("mousemove", "--window", window, "20", "74"),  # the box to tick
            ("mousedown", "1"),
            ("mouseup", "1"),
            ("keydown", "w"),  # walk on
            ("keyup", "w"),
            ("mousemove", "--window", window, "150", "150"),
            ("mousedown", "3"),  # look to the right
            ("mousemove", "--window", window, "225", "150"),
            ("mouseup", "3"),
            ("key", "Escape"),
        ):
            _do(display, *command)
            time.sleep(0.25)
        out, _ = program.communicate(timeout=20)
    assert out.splitlines() == ["press w", "press RMB", "press Escape", "0.5 True 0.75 0.25", "True True True"]
