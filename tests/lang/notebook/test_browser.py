"""A view with sliders, the explorer's page and an interrupt, in a real JupyterLab in headless Chromium."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

BROWSER = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
NEEDED = ("playwright.sync_api", "jupyterlab", "anywidget", "ipykernel", "nbformat")
WHY = "needs a browser for notebooks: Chromium on the PATH, and pip install playwright jupyterlab anywidget"

CELLS = (
    "import weft as ti\nti.init(arch=ti.cpu)\nimage = ti.field(ti.f32, (64, 48))\nasked = []",
    "@ti.kernel\ndef paint(level: ti.f32):\n    for i, j in image:\n        image[i, j] = level\n"
    "def frame(level, count, on):\n    asked.append((level, count, on))\n    paint(level)\n    return image\n"
    "view = ti.ui.View(frame, level=(0.0, 1.0, 0.5), count=(1, 9), on=True)\nview",
    "paint.explore(None, 1.0)",
    "@ti.kernel\ndef endless():\n    for i, j in image:\n        s = 1.0\n        for k in range(ti.i64(1 << 40)):\n"
    "            s = ti.sin(s + k)\n        image[i, j] = s\nendless()",
)


@pytest.fixture
def page(tmp_path: Path) -> Iterator[Any]:
    """The notebook, open in a browser."""
    if BROWSER is None:
        pytest.skip(WHY)
    for name in NEEDED:
        pytest.importorskip(name, reason=WHY)
    import nbformat
    from playwright.sync_api import sync_playwright

    spec = {"kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"}}
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in CELLS], metadata=spec)
    nbformat.write(notebook, tmp_path / "try.ipynb")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    options = [
        "--no-browser",
        "--allow-root",
        f"--port={port}",
        "--IdentityProvider.token=",
        f"--notebook-dir={tmp_path}",
    ]
    folders = {name: str(tmp_path / name) for name in ("JUPYTER_CONFIG_DIR", "JUPYTER_RUNTIME_DIR", "WEFT_CACHE_DIR")}
    log = (tmp_path / "server.log").open("w")
    command = [sys.executable, "-m", "jupyterlab", *options]
    with subprocess.Popen(command, env={**os.environ, **folders}, stdout=log, stderr=log) as server:
        try:
            _wait(lambda: urllib.request.urlopen(f"http://127.0.0.1:{port}/api").status == 200, 60)
            with sync_playwright() as play:
                browser = play.chromium.launch(executable_path=BROWSER, args=["--no-sandbox"])
                made = browser.new_page(viewport={"width": 1100, "height": 1400})
                made.goto(f"http://127.0.0.1:{port}/lab/tree/try.ipynb?reset")
                made.wait_for_selector(".jp-Notebook .jp-CodeCell", timeout=60_000)
                made.wait_for_selector("text=/Python 3.*Idle/", timeout=60_000)
                yield made
                browser.close()
        finally:
            server.terminate()
            log.close()


def _wait(true: Callable[[], bool], seconds: float = 30) -> None:
    end = time.monotonic() + seconds
    while True:
        try:
            if true():
                return
        except OSError:
            pass
        assert time.monotonic() < end, "it did not happen in time"
        time.sleep(0.1)


def _cell(page: Any, number: int) -> Any:
    return page.locator(".jp-Notebook .jp-CodeCell").nth(number)


def _run(page: Any, number: int) -> Any:
    """Run a cell. Returns it."""
    for dialog in page.locator(".jp-Dialog .jp-mod-accept").all():
        dialog.click()
    cell = _cell(page, number)
    cell.locator(".cm-content").click()
    page.keyboard.press("Control+Enter")
    return cell


def _pixel(cell: Any) -> int:
    script = "canvas => canvas.getContext('2d').getImageData(5, 5, 1, 1).data[0]"
    return int(cell.locator("canvas").evaluate(script))


@pytest.mark.slow
def test_a_view_in_a_browser(page: Any) -> None:
    _run(page, 0)
    cell = _run(page, 1)
    cell.locator("canvas").wait_for(timeout=60_000)
    facts = cell.locator(".weft-view span").first
    number = lambda: int(facts.inner_text().split()[1].rstrip(",") or 0)  # noqa: E731
    _wait(lambda: facts.inner_text() != "" and number() > 5)
    assert abs(_pixel(cell) - 127) < 4
    assert cell.locator("canvas").evaluate("canvas => [canvas.width, canvas.height]") == [64, 48]

    level = cell.locator("input[type=range]").first
    level.focus()
    page.keyboard.press("End")  # a key that the notebook would take
    _wait(lambda: _pixel(cell) > 250)
    play, step = cell.locator(".weft-view button").all()
    play.click()
    _wait(lambda: play.inner_text() == "Play")
    time.sleep(0.5)
    before = number()
    time.sleep(0.5)
    assert number() == before, "the view is paused"
    step.click()
    _wait(lambda: number() == before + 1)
    cell.locator("input[type=checkbox]").click()  # a control of a paused view computes a frame
    _wait(lambda: number() == before + 2)

    explorer = _run(page, 2).frame_locator("iframe")
    explorer.locator("text=task 0: parallel loop").wait_for(timeout=60_000)

    endless = _run(page, 3)
    time.sleep(2)
    page.keyboard.press("Escape")
    page.keyboard.press("i")
    page.keyboard.press("i")
    endless.locator("text=KeyboardInterrupt").first.wait_for(timeout=10_000)
