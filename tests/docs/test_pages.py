"""The documentation is run: Python blocks work and print what the page says, links lead somewhere.

`pytest --update` writes anew what stands in the blocks of output.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import weft
from tests.docs.markdown import PAGES, ROOT, Block, anchors, blocks, links, prose

TEXTS = {page: page.read_text(encoding="utf-8") for page in PAGES}


def name_of(page: Path) -> str:
    return str(page.relative_to(ROOT))


def programs() -> Iterator[Any]:
    """Each Python block with those that continue it, and the outputs below them: one program."""
    for page, text in TEXTS.items():
        program: list[Block] = []
        for block in blocks(text):
            goes_on = block.note in ("continues", "output")
            if program and not goes_on:
                yield pytest.param(page, program, id=f"{name_of(page)}:{program[0].line}")
                program = []
            if goes_on or (block.language == "python" and not block.note.startswith("file: ")):
                program.append(block)
        if program:
            yield pytest.param(page, program, id=f"{name_of(page)}:{program[0].line}")


@pytest.mark.parametrize(("page", "program"), list(programs()))
def test_program(
    page: Path,
    program: list[Block],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    pytestconfig: pytest.Config,
) -> None:
    monkeypatch.chdir(tmp_path)  # programs may write files
    names: dict[str, Any] = {"__name__": "__main__"}
    shown, latest = "", program[0]
    for block in program:
        if block.note.startswith("skip: "):
            pytest.skip(block.note.removeprefix("skip: "))
        if block.note.startswith("needs: "):
            pytest.importorskip(block.note.removeprefix("needs: "))
        if block.note == "output":
            if pytestconfig.getoption("--update"):
                renew(page, latest, shown)
            else:
                assert shown == block.text.strip("\n")
            continue
        latest = block
        file = tmp_path / f"program_{block.line}.py"
        file.write_text(block.text, encoding="utf-8")
        error = run(block.text, file, names)
        wanted = block.note.removeprefix("raises: ") if block.note.startswith("raises: ") else ""
        assert error is None or wanted, f"the block at line {block.line} fails: {type(error).__name__}: {error}"
        assert not wanted or wanted in [kind.__name__ for kind in type(error).__mro__]
        printed = capsys.readouterr().out
        shown = (printed if error is None else str(error)).replace(str(file), "program.py").strip("\n")
    weft.reset()


def renew(page: Path, source: Block, shown: str) -> None:
    """Write what the block printed into the output block below it."""
    text = page.read_text(encoding="utf-8")
    place = text.index(source.text)
    block = next(block for block in blocks(text) if block.start > place and block.note == "output")
    page.write_text(text[: block.start] + shown + "\n" + text[block.end :], encoding="utf-8", newline="\n")


def run(text: str, file: Path, names: dict[str, Any]) -> Exception | None:
    """Run a block as the file it was written to; gives what it raised."""
    try:
        exec(compile(text, str(file), "exec", dont_inherit=True), names)
    except Exception as error:
        return error
    return None


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


def test_every_page_is_in_the_navigation() -> None:
    text = TEXTS[ROOT / "docs" / "index.md"]
    trees = re.findall(r"^```\{toctree\}\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    entries = [line for tree in trees for line in tree.splitlines() if line and not line.startswith(":")]
    named = sorted(re.sub(r".*<(.*)>", r"\1", entry) for entry in entries)
    pages = sorted(page.stem for page in PAGES if page.parent.name == "docs" and page.stem != "index")
    assert named == pages


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
