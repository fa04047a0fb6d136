"""The programs of a page, and what runs them: each Python block with those that continue it is one program."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest

import weft
from tests.docs.markdown import ROOT, Block, blocks


def programs(pages: Iterable[Path]) -> Iterator[Any]:
    """Each Python block with those that continue it, and the outputs below them: one program."""
    for page in pages:
        program: list[Block] = []
        name = page.relative_to(ROOT)
        for block in blocks(page.read_text(encoding="utf-8")):
            goes_on = block.note in ("continues", "output")
            if program and not goes_on:
                yield pytest.param(page, program, id=f"{name}:{program[0].line}")
                program = []
            if goes_on or (block.language == "python" and not block.note.startswith("file: ")):
                program.append(block)
        if program:
            yield pytest.param(page, program, id=f"{name}:{program[0].line}")


def replay(page: Path, program: list[Block], folder: Path, capsys: pytest.CaptureFixture[str], update: bool) -> None:
    """Run the blocks one after the other as files in `folder`: each prints or raises what the page says."""
    names: dict[str, Any] = {"__name__": "__main__"}
    shown, latest = "", program[0]
    for block in program:
        if block.note.startswith("skip: "):
            pytest.skip(block.note.removeprefix("skip: "))
        if block.note.startswith("needs: "):
            pytest.importorskip(block.note.removeprefix("needs: "))
        if block.note == "output":
            if update:
                _renew(page, latest, shown)
            else:
                assert shown == block.text.strip("\n")
            continue
        latest = block
        file = folder / f"program_{block.line}.py"
        file.write_text(block.text, encoding="utf-8")
        error = _run(block.text, file, names)
        wanted = block.note.removeprefix("raises: ") if block.note.startswith("raises: ") else ""
        assert error is None or wanted, f"the block at line {block.line} fails: {type(error).__name__}: {error}"
        assert not wanted or wanted in [kind.__name__ for kind in type(error).__mro__]
        printed = capsys.readouterr().out
        shown = (printed if error is None else str(error)).replace(str(file), "program.py").strip("\n")
    weft.reset()


def _renew(page: Path, source: Block, shown: str) -> None:
    """Write what the block printed into the output block below it."""
    text = page.read_text(encoding="utf-8")
    place = text.index(source.text)
    block = next(block for block in blocks(text) if block.start > place and block.note == "output")
    page.write_text(text[: block.start] + shown + "\n" + text[block.end :], encoding="utf-8", newline="\n")


def _run(text: str, file: Path, names: dict[str, Any]) -> Exception | None:
    """Run a block as the file it was written to; gives what it raised."""
    try:
        exec(compile(text, str(file), "exec", dont_inherit=True), names)
    except Exception as error:
        return error
    return None
