"""Each tutorial runs from its first line to its last, and its pictures look like those of the page. Notebooks of the
tutorials have the same programs.

`pytest --update` writes anew what the programs print, and the pictures.
"""

from __future__ import annotations

import importlib.util
import re
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.docs.markdown import ROOT, Block, blocks
from tests.docs.programs import programs, replay

FOLDER = ROOT / "docs" / "tutorials"
PICTURES = ROOT / "docs" / "pictures" / "tutorials"
PAGES = [page for page in sorted(FOLDER.glob("*.md")) if page.stem != "index"]
ALIKE = 4  # of 255: how far blocks of pixels may differ on average, where an order of sums or a font does
TIMES = {"tuning.png": 10}  # the same of plots whose lines are times: of another machine, they are elsewhere


def notebooks() -> Any:
    """The module that makes them; it is no part of the package."""
    spec = importlib.util.spec_from_file_location("tutorial_notebooks", ROOT / "docs" / "tutorial_notebooks.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def coarse(picture: Path) -> np.ndarray:
    """The picture as 32 x 32 means."""
    from PIL import Image

    with Image.open(picture) as image:
        return np.asarray(image.convert("RGB").resize((32, 32), Image.Resampling.BOX), np.float32)


def pictures_of(page: Path) -> list[str]:
    return re.findall(r"^!\[.*\]\(\.\./pictures/tutorials/([\w.-]+)\)$", page.read_text(encoding="utf-8"), re.MULTILINE)


@pytest.mark.unverified
@pytest.mark.parametrize(("page", "program"), list(programs(PAGES)))
def test_program(
    page: Path,
    program: list[Block],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    pytestconfig: pytest.Config,
) -> None:
    pytest.importorskip("matplotlib", reason="pictures need the extra weft[viz]")
    monkeypatch.setenv("MPLBACKEND", "agg")
    monkeypatch.chdir(tmp_path)
    update = bool(pytestconfig.getoption("--update"))
    replay(page, program, tmp_path, capsys, update)
    for name in pictures_of(page):
        if update and (tmp_path / name).exists():
            shutil.copy(tmp_path / name, PICTURES / name)
        elif (tmp_path / name).exists():
            made, shown = coarse(tmp_path / name), coarse(PICTURES / name)
            assert np.abs(made - shown).mean() < TIMES.get(name, ALIKE), f"{name} looks different from that of the page"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_a_tutorial_ends_in_a_picture_of_its_program(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    written = "".join(block.text for block in blocks(text) if block.language == "python")
    assert pictures_of(page)
    for name in pictures_of(page):
        assert f'"{name}"' in written, f"no program of the page writes {name}"
        assert coarse(PICTURES / name).std() > 10, f"{name} shows nothing"
    assert "## What to try next" in text


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_a_notebook_has_the_programs_of_the_page(page: Path, tmp_path: Path) -> None:
    nbformat = pytest.importorskip("nbformat")
    notebooks().write_all(FOLDER, tmp_path)
    made = nbformat.read(tmp_path / f"{page.stem}.ipynb", as_version=4)
    nbformat.validate(made)
    text = page.read_text(encoding="utf-8")
    code = [cell.source for cell in made.cells if cell.cell_type == "code" and "IPython" not in cell.source]
    assert code == [block.text.strip("\n") for block in blocks(text) if block.language == "python"]
    shown = [name for cell in made.cells for name in re.findall(r'^Image\("(.*)"\)$', cell.source, re.MULTILINE)]
    assert shown == pictures_of(page)
    prose = "".join(cell.source for cell in made.cells if cell.cell_type == "markdown")
    assert "<!--" not in prose
    assert "](../" not in prose


@pytest.mark.unverified
def test_a_notebook_runs_in_jupyter(tmp_path: Path) -> None:
    nbclient = pytest.importorskip("nbclient")
    nbformat = pytest.importorskip("nbformat")
    pytest.importorskip("ipykernel")
    notebooks().write_all(FOLDER, tmp_path)
    made = nbformat.read(tmp_path / "waves.ipynb", as_version=4)
    resources = {"metadata": {"path": str(tmp_path)}}
    nbclient.NotebookClient(made, timeout=200, kernel_name="python3", resources=resources).execute()
    results = [output for cell in made.cells if cell.cell_type == "code" for output in cell.outputs]
    assert any("image/png" in result.get("data", {}) for result in results)
