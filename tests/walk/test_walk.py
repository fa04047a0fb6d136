"""The walk of a new user, as `docs/first-hour.md` tells it: a fresh clone, an installation from it, and each step with
the programs of the page. `make walk` installs all that it needs, and prints the times."""

from __future__ import annotations

import asyncio
import os
import re
import resource
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.docs.markdown import ROOT, blocks
from tests.docs.test_walkthrough import matches
from tests.lang.exports.readers import arrays_of, vtk_data
from tests.lang.notebook.notebooks import new_client, raised, shown
from tests.packages import needs
from tests.walk.site import BROWSER, Site, served
from weft.lang.exports.vtk_files import read_pvd

PAGE = (ROOT / "docs" / "first-hour.md").read_text(encoding="utf-8")
FIRST, FILL, MISTAKE, ENDLESS, AGAIN, SAND = (one.text for one in blocks(PAGE) if one.language == "python")

pytestmark = [
    pytest.mark.exhaustive,
    pytest.mark.slow,
    pytest.mark.unverified,
    pytest.mark.timeout(900),
    pytest.mark.skipif(sys.platform == "win32", reason="needs make and SIGKILL"),
]


@pytest.fixture(scope="session")
def clone(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A clone of what is committed."""
    if not (ROOT / ".git").exists() or shutil.which("git") is None:
        pytest.skip("needs git, and a clone of Weft")
    place = tmp_path_factory.mktemp("walk") / "weft"
    subprocess.run(["git", "clone", "--quiet", str(ROOT), str(place)], check=True)
    return place


@pytest.fixture(scope="session")
def environment(clone: Path) -> dict[str, str]:
    """The variables with which Python finds a copy of Weft that pip has installed from the clone."""
    site = clone.parent / "site"
    install = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--target", str(site), str(clone)]
    _run(install, clone.parent, _plain(clone.parent))
    shutil.rmtree(clone / "build", ignore_errors=True)
    return {**_plain(clone.parent), "PYTHONPATH": str(site)}


def _plain(home: Path) -> dict[str, str]:
    """The variables of a person without a display, whose cache of kernels is empty."""
    left_out = ("PYTHONPATH", "DISPLAY", "WAYLAND_DISPLAY", "PYTHONDONTWRITEBYTECODE", "PYTHONPYCACHEPREFIX")
    mine = {"WEFT_OFFLINE_CACHE": "1", "WEFT_CACHE_DIR": str(home / "kernels")}
    return {name: value for name, value in os.environ.items() if name not in left_out} | mine


def _run(command: list[str], folder: Path, variables: dict[str, str]) -> str:
    done = subprocess.run(
        command, cwd=folder, env=variables, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False
    )
    assert done.returncode == 0, done.stdout
    return done.stdout


def test_from_a_clone_to_a_picture(clone: Path, record_property: Any) -> None:
    """`make demo` writes a picture in a minute. The time counted is that of the processor: others may run beside."""
    pictures = pytest.importorskip("PIL.Image")
    before, begin = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    said = _run(["make", "demo", f"PYTHON={sys.executable}"], clone, _plain(clone.parent))
    after, seconds = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter() - begin
    busy = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    print(f"from a clone to a picture: {seconds:.1f} s, of which the processors worked {busy:.1f} s")
    record_property("seconds", seconds)
    (wrote,) = re.findall(r"^wrote (\S+)", said, re.MULTILINE)
    with pictures.open(clone / wrote) as picture:
        assert len(np.unique(np.asarray(picture.convert("L")))) > 20, "the picture shows something"
    assert busy < 60, said


@needs("ipykernel")
@needs("nbclient")
def test_a_kernel_in_a_notebook_and_an_interrupted_cell(environment: dict[str, str], tmp_path: Path) -> None:
    client = new_client(tmp_path, FIRST, FILL, ENDLESS, AGAIN, "ti.__file__", allow_errors=True)
    waited = 0.0

    async def interrupt(cell: Any) -> None:
        nonlocal waited
        await asyncio.sleep(3)
        assert not cell.outputs, "it runs"
        begin = time.perf_counter()
        await client.km.interrupt_kernel()
        while not cell.outputs:
            await asyncio.sleep(0.01)
        waited = time.perf_counter() - begin

    async def run() -> None:
        async with client.async_setup_kernel(env=environment):
            for number, cell in enumerate(client.nb.cells):
                stop = asyncio.ensure_future(interrupt(cell)) if cell.source == ENDLESS else None
                await client.async_execute_cell(cell, number)
                if stop is not None:
                    await stop

    asyncio.run(run())
    first, fill, endless, again, where = (cell.outputs for cell in client.nb.cells)
    assert first == []
    for outputs in (fill, again):
        (html,) = shown(outputs, "text/html")
        assert "f32, shape=(256, 256)" in html
        assert "data:image/png;base64," in html
    assert shown(fill, "text/html") != shown(again, "text/html")
    text = raised(endless)
    assert "KeyboardInterrupt" in text
    assert re.search(r"-> \d+ wait\(image\)\n", text + "\n")
    assert "/lang/" not in text, "no frame of Weft"
    assert environment["PYTHONPATH"] in shown(where, "text/plain")[0], "the installed copy"
    print(f"the cell ended {waited:.2f} s after the interrupt")
    assert waited < 5


@needs("pyright")
def test_a_mistake_in_the_editor(environment: dict[str, str], tmp_path: Path) -> None:
    (tmp_path / "rings.py").write_text(FIRST, encoding="utf-8")
    pyright = [sys.executable, "-m", "pyright", "--pythonpath", _python(tmp_path, environment), "rings.py"]
    assert "0 errors" in _run(pyright, tmp_path, environment)
    (tmp_path / "rings.py").write_text(f"{FIRST}\n\n{MISTAKE}", encoding="utf-8")
    done = subprocess.run(pyright, cwd=tmp_path, env=environment, stdout=subprocess.PIPE, text=True, check=False)
    (error,) = re.findall(r"(rings\.py:.*)", done.stdout)
    assert done.returncode == 1
    (shown_there,) = re.findall(r"^\$ pyright rings\.py\n([^`]*)```", PAGE, re.MULTILINE)
    assert matches(error, " ".join(shown_there.split()) + "\n"), done.stdout


def _python(folder: Path, environment: dict[str, str]) -> str:
    """A Python that imports the installed copy, as pyright asks it where packages are."""
    place = folder / "python"
    place.write_text(f'#!/bin/sh\nexport PYTHONPATH="{environment["PYTHONPATH"]}"\nexec "{sys.executable}" "$@"\n')
    place.chmod(0o755)
    return str(place)


@pytest.fixture(scope="session")
def recorded(environment: dict[str, str], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder where the page's simulation was killed, and continued; it ends as one without the interruption."""
    pytest.importorskip("pxr", reason="the simulation of the page writes USD: pip install usd-core")
    whole, broken = tmp_path_factory.mktemp("whole"), tmp_path_factory.mktemp("broken")
    for folder in (whole, broken):
        (folder / "sand.py").write_text(SAND, encoding="utf-8")
    program = [sys.executable, "sand.py"]
    _run(program, whole, environment)
    with subprocess.Popen(program, cwd=broken, env=environment, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        for line in process.stdout:
            if line == "step 33\n":
                process.send_signal(signal.SIGKILL)
                break
    assert process.returncode == -signal.SIGKILL
    assert re.match(r"continue at step (30|35|40)\n", _run(program, broken, environment))
    with np.load(whole / "sand.npz") as expected, np.load(broken / "sand.npz") as found:
        for name in ("place", "speed"):
            assert np.array_equal(expected[name], found[name]), name
    return broken


@needs("vtk")
def test_the_reader_of_paraview_opens_the_series(recorded: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    frames = read_pvd(recorded / "sand.pvd")
    assert [round(moment / 0.02) for moment, _ in frames] == list(range(60))
    heights = []
    for _, file in frames:
        data = vtk_data(str(recorded / file))
        assert data.GetNumberOfPoints() == 2000
        assert arrays_of(data.GetPointData())["speed"].shape == (2000, 3)
        heights.append(data.GetBounds()[3])
    assert min(heights) < 0.9 * heights[0], "the sand falls"


@needs("pxr")
def test_the_library_of_blender_opens_the_series(recorded: Path) -> None:
    from pxr import Usd

    stage = Usd.Stage.Open(str(recorded / "sand.usdc"))
    assert (stage.GetStartTimeCode(), stage.GetEndTimeCode()) == (0, 59)
    points = stage.GetPrimAtPath("/World/points")
    last = np.load(recorded / "sand.npz")
    assert np.array_equal(np.asarray(points.GetAttribute("points").Get(59)), last["place"])
    assert np.array_equal(np.asarray(points.GetAttribute("primvars:speed").Get(59)), last["speed"])
    assert all(len(points.GetAttribute("points").Get(frame)) == 2000 for frame in range(60))


@pytest.fixture(scope="session")
def site(clone: Path, environment: dict[str, str]) -> Iterator[Site]:
    """The documentation of the clone, built, and served on this machine."""
    for package in ("sphinx", "furo", "myst_parser", "sphinx_copybutton", "sphinx_design"):
        pytest.importorskip(package, reason="the site needs the extra weft[docs]")
    if BROWSER is None:
        pytest.skip("needs Chromium on the PATH")
    build = [sys.executable, "-m", "sphinx", "-q", "-W", "--keep-going", "-b", "html", "docs", "build/docs"]
    _run(build, clone, environment)
    with served(clone / "build" / "docs") as made:
        yield made


@pytest.mark.parametrize(("words", "page"), re.findall(r"^\| `(.+?)` \| \[.*\]\((.*)\.md\) \|$", PAGE, re.MULTILINE))
def test_a_page_is_found_by_search(words: str, page: str, site: Site) -> None:
    found = [name for name in site.search(words) if name != "first-hour"]
    assert found[:1] == [page], found
