"""The documentation is run: Python blocks work and print what the page says, links lead somewhere."""

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
                yield pytest.param(program, id=f"{name_of(page)}:{program[0].line}")
                program = []
            if goes_on or block.language == "python":
                program.append(block)
        if program:
            yield pytest.param(program, id=f"{name_of(page)}:{program[0].line}")


@pytest.mark.parametrize("program", list(programs()))
def test_program(program: list[Block], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    names: dict[str, Any] = {"__name__": "__main__"}
    shown = ""
    for block in program:
        if block.note.startswith("skip: "):
            pytest.skip(block.note.removeprefix("skip: "))
        if block.note == "output":
            assert shown.strip() == block.text.strip()
            continue
        file = tmp_path / "program.py"
        file = file.with_name(f"program_{block.line}.py") if file.exists() else file
        file.write_text(block.text, encoding="utf-8")
        wanted = block.note.removeprefix("raises: ") if block.note.startswith("raises: ") else ""
        error = run(block.text, file, names)
        printed = capsys.readouterr().out
        assert error is None or wanted, f"the block at line {block.line} fails: {type(error).__name__}: {error}"
        assert [kind.__name__ for kind in type(error).__mro__ if kind.__name__ == wanted] == [wanted] * bool(wanted)
        shown = (printed if error is None else str(error)).replace(str(file), "program.py")
    weft.reset()


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
