"""The documentation is run: Python blocks work and print what the page says, links lead somewhere.

`pytest --update` writes anew what stands in the blocks of output.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

import weft
from tests.docs.markdown import PAGES, ROOT, Block, anchors, links, prose
from tests.docs.programs import programs, replay

TEXTS = {page: page.read_text(encoding="utf-8") for page in PAGES}


def name_of(page: Path) -> str:
    return str(page.relative_to(ROOT))


TUTORIALS = ROOT / "docs" / "tutorials"  # test_tutorials.py runs their programs


@pytest.mark.parametrize(("page", "program"), list(programs(page for page in PAGES if page.parent != TUTORIALS)))
def test_program(
    page: Path,
    program: list[Block],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    pytestconfig: pytest.Config,
) -> None:
    monkeypatch.chdir(tmp_path)  # programs may write files
    replay(page, program, tmp_path, capsys, bool(pytestconfig.getoption("--update")))


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_links(page: Path) -> None:
    for link in links(TEXTS[page]):
        if re.match(r"\w+:", link):
            continue
        path, _, anchor = link.partition("#")
        target = (page.parent / path).resolve() if path else page
        assert target.exists(), f"{link} leads nowhere"
        assert not anchor or anchor in anchors(target.read_text(encoding="utf-8")), f"{link} names no heading"


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_files_named_are_there(page: Path) -> None:
    folders = "codegen|demos|docs|ir|lang|runtime|tests"
    for path in re.findall(rf"`((?:{folders})/[\w/.]+)`", prose(TEXTS[page])):
        assert (ROOT / path).exists(), f"`{path}` is not there"


def test_what_is_missing_is_missing() -> None:
    section = TEXTS[ROOT / "docs" / "differences.md"].split("## Not there yet")[1]
    for path in re.findall(r"`ti\.([\w.]+)`", section):
        value: Any = weft
        for name in path.split("."):
            value = getattr(value, name, None)
        assert value is None, f"docs/differences.md says that ti.{path} is not there yet, but it is"


@pytest.mark.parametrize("folder", ["docs", "docs/tutorials"])
def test_every_page_is_in_the_navigation(folder: str) -> None:
    index = ROOT / folder / "index.md"
    trees = re.findall(r"^```\{toctree\}\n(.*?)^```", TEXTS[index], re.MULTILINE | re.DOTALL)
    entries = [line for tree in trees for line in tree.splitlines() if line and not line.startswith(":")]
    named = sorted(re.sub(r".*<(.*)>", r"\1", entry) for entry in entries)
    indices = [f"{page.parent.name}/index" for page in index.parent.glob("*/index.md")]
    pages = [page.stem for page in PAGES if page.parent == index.parent and page != index]
    assert named == sorted(pages + indices)


def test_every_decision_is_listed_by_its_title() -> None:
    listed = re.findall(r"^- (\d+): \[(.*)\]\(adr/(.*)\)$", TEXTS[ROOT / "docs" / "decisions.md"], re.MULTILINE)
    headings = {page.name: TEXTS[page].split("\n")[0] for page in PAGES if page.parent.name == "adr"}
    assert {name: f"# {number}. {title}" for number, title, name in listed} == headings
    assert len({number for number, _, _ in listed}) == len(listed) == len(headings)


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_errors_named_are_exported(page: Path) -> None:
    """A program must be able to catch what the documentation names: `ti.MemoryFault`."""
    from weft.lang import errors

    for name in re.findall(r"`(\w+)`", TEXTS[page]):
        kind = getattr(errors, name, None)
        if isinstance(kind, type) and issubclass(kind, BaseException):
            assert hasattr(weft, name), f"{name_of(page)}: ti.{name} is not there"
