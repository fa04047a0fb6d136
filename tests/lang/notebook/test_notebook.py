"""What a real kernel of Jupyter shows: pictures, fields, the explorer's page, and tracebacks of the user's lines."""

from __future__ import annotations

import asyncio
import base64
import io
import re
import time
from pathlib import Path
from typing import Any

import pytest

from tests.lang.notebook.notebooks import new_client, raised, run_cells, shown
from tests.sampling import every

START = "import numpy as np\nimport weft as ti\nti.init(arch=ti.cpu, log_level=ti.ERROR)"


def _size(png: str) -> tuple[int, int]:
    image = pytest.importorskip("PIL.Image")
    with image.open(io.BytesIO(base64.b64decode(png))) as picture:
        return picture.size  # type: ignore[no-any-return]


def _pixel(png: str, place: tuple[int, int]) -> Any:
    image = pytest.importorskip("PIL.Image")
    with image.open(io.BytesIO(base64.b64decode(png))) as picture:
        return picture.getpixel(place)


def test_pictures_are_below_the_cell(tmp_path: Path) -> None:
    _, image, gui, again, window, files = run_cells(
        tmp_path,
        START,
        "x = ti.Vector.field(3, ti.f32, (40, 20))\nx.fill(0.5)\nti.tools.imshow(x)",
        "gui = ti.GUI('g', (60, 30))\n"
        "for k in range(100):\n    gui.clear(k << 16)\n    gui.circle((0.5, 0.5), radius=3)\n    gui.show()",
        "gui.clear(0xFF)\ngui.show()",
        "window = ti.ui.Window('w', (50, 30))\n"
        "for k in range(100):\n    window.get_canvas().set_background_color((0, k / 100, 0))\n    window.show()",
        "import os\nprint(sorted(os.listdir()))",
    )
    assert [_size(png) for png in shown(image, "image/png")] == [(40, 20)]
    assert [(_size(png), _pixel(png, (0, 0))) for png in shown(gui, "image/png")] == [((60, 30), (99, 0, 0))]
    assert [_pixel(png, (0, 0)) for png in shown(again, "image/png")] == [(0, 0, 255)], "below its own cell"
    assert [(_size(png), _pixel(png, (0, 0))) for png in shown(window, "image/png")] == [((50, 30), (0, 252, 0))]
    assert "out" not in files[0]["text"], "no file is written"


def test_fields_and_pages(tmp_path: Path) -> None:
    _, field, page, bound, elsewhere = run_cells(
        tmp_path,
        START,
        "x = ti.field(ti.f32, (8, 8), name='heat')\nx.from_numpy(np.arange(64).reshape(8, 8))\nx",
        "@ti.kernel\ndef step(k: ti.f32):\n    for i, j in x:\n        x[i, j] *= k\nstep.explore(None, 1.0)",
        "@ti.data_oriented\nclass A:\n"
        "    @ti.kernel\n    def go(self):\n        for i, j in x:\n            x[i, j] = 0\n"
        "A().go.explore()",
        "step.explore('page.html', 1.0)\nprint(open('page.html').read()[:15])",
    )
    (html,) = shown(field, "text/html")
    assert "heat: f32, shape=(8, 8)" in html
    assert "31.5" in html
    assert "data:image/png;base64," in html
    assert shown(field, "text/plain") == ["<field heat: f32, shape=(8, 8)>"]
    for cell, name in ((page, "step"), (bound, "go")):
        (html,) = shown(cell, "text/html")
        assert html.startswith('<iframe srcdoc="&lt;!')
        assert f"<the explorer of {name}>" in shown(cell, "text/plain")
    assert elsewhere[0]["text"] == "<!doctype html>\n"


WRONG = """
x = ti.field(ti.f32, 8)

@ti.func
def inner(i):
    return x[i] @ 2

@ti.kernel
def outer():
    for i in x:
        x[i] = inner(i)

def caller():
    outer()

caller()
"""


@pytest.mark.parametrize(
    ("cell", "last", "message"),
    every(4, [
        (WRONG.strip(), "---> 13     outer()", "'@' takes matrices and vectors"),
        ("x = ti.field(ti.f32, 8)\nx[9]", "----> 2 x[9]", "index"),
        ("ti.tools.imwrite(np.zeros(3), 'a.png', 'xy')", "----> 1 ti.tools.imwrite", "an image must have the shape"),
        ("ti.GUI('g', 4).set_image(np.zeros((3, 3)))", "----> 1 ti.GUI", "the image has 3 x 3 pixels"),
        ("ti.init(debug=True)\nx = ti.field(ti.f32, 4)\n@ti.kernel\ndef far(n: ti.i32):\n"
         "    for i in range(n):\n        x[i] = 1\nfar(9)", "----> 7 far(9)", "x[4] is out of bounds"),
        ("1 / 0", "----> 1 1 / 0", "division by zero"),
        ("import weft\n1 +", "1 +", "invalid syntax"),
    ]),
)  # fmt: skip
def test_tracebacks_end_at_the_users_line(cell: str, last: str, message: str, tmp_path: Path) -> None:
    outputs = run_cells(tmp_path, START, cell, "print('alive')", fails=True)
    text = raised(outputs[1])
    assert last in text
    assert message in text
    assert "/lang/" not in text, text
    assert "weft" not in text.replace("import weft", "").lower() or "WeftError" in text, text
    assert outputs[2][0]["text"] == "alive\n"


def test_a_full_traceback_is_there_if_asked_for(tmp_path: Path) -> None:
    _, outputs = run_cells(tmp_path, START, "x = ti.field(ti.f32, 8)\nx[9]", fails=True, WEFT_TRACEBACK="full")
    assert "lang/data" in raised(outputs)


LONG = """
y = ti.field(ti.f32, 1024)

@ti.kernel
def endless():
    for i in y:
        s = 1.0
        for k in range(ti.i64(1 << 40)):
            s = ti.sin(s + k)
        y[i] = s

print("started", flush=True)
endless()
"""


def test_interrupting_a_cell_stops_the_kernel(tmp_path: Path) -> None:
    """A single launch of hours, and a loop over frames in a window. The program goes on with the next cell."""
    loop = "gui = ti.GUI('g', 16)\nprint('started', flush=True)\nwhile gui.running:\n    gui.show()"
    client = new_client(tmp_path, START, LONG, loop, "print(y.shape, ti.field(ti.f32, 3).shape)", allow_errors=True)
    waited: list[float] = []

    async def interrupt(cell: Any, number: int) -> None:
        while not any("started" in output.get("text", "") for output in cell.outputs):
            await asyncio.sleep(0.05)
        await asyncio.sleep(0.3)
        waited.append(time.perf_counter())
        await client.km.interrupt_kernel()

    async def run() -> None:
        async with client.async_setup_kernel():
            for number, cell in enumerate(client.nb.cells):
                stopper = asyncio.ensure_future(interrupt(cell, number)) if number in (1, 2) else None
                await client.async_execute_cell(cell, number)
                if stopper is not None:
                    await stopper
                    waited[-1] = time.perf_counter() - waited[-1]

    asyncio.run(run())
    _, launch, frames, after = (cell.outputs for cell in client.nb.cells)
    assert "KeyboardInterrupt" in raised(launch)
    assert re.search(r"-> \d+ endless\(\)\n", raised(launch) + "\n")
    assert "KeyboardInterrupt" in raised(frames)
    assert "/lang/" not in raised(launch) + raised(frames)
    assert after[0]["text"] == "(1024,) (3,)\n"
    assert max(waited) < 5, f"it took {waited} seconds to stop"


def test_progress_is_below_the_cell(tmp_path: Path) -> None:
    cell = (
        "import time\nfrom weft.lang.logs.progress import progress\n"
        "with progress('counting', 10) as bar:\n    for _ in range(10):\n"
        "        time.sleep(0.2)\n        bar.advance()\n"
    )
    client = new_client(tmp_path, START, cell)
    seen: list[str] = []
    process = client.process_message

    def spy(message: Any, cell: Any, index: int) -> Any:
        if message["msg_type"] in ("display_data", "update_display_data"):
            seen.append(message["content"]["data"].get("text/html", ""))
        return process(message, cell, index)

    client.process_message = spy
    client.execute()
    assert any('<progress value="0.' in html and "s left</code>" in html for html in seen), seen
    assert seen[-1] == "", "the place is empty afterwards"
