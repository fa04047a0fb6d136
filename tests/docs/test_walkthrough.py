"""The walk-through, replayed from its first line to its last: files are written and edited, commands are typed."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.docs.markdown import ROOT, Block, blocks

PAGE = ROOT / "docs" / "walkthrough.md"


@pytest.mark.unverified
def test_it_goes_as_the_page_says(tmp_path: Path) -> None:
    folder = tmp_path / "afternoon"
    folder.mkdir()
    environment = {**os.environ, "PATH": f"{commands(tmp_path)}{os.pathsep}{os.environ['PATH']}"}
    environment |= {"PYTHONUNBUFFERED": "1", "DISPLAY": "", "WAYLAND_DISPLAY": ""}
    environment |= {"WEFT_OFFLINE_CACHE": "1", "WEFT_CACHE_DIR": str(tmp_path / "kernels")}  # as a person has it
    replayed = 0
    for block in blocks(PAGE.read_text(encoding="utf-8")):
        what, _, file = block.note.partition(": ")
        if what == "file":
            (folder / file).write_text(block.text, encoding="utf-8")
        elif what == "edit":
            edit(folder / file, block)
        elif what == "shell":
            replayed += shell(block, folder, environment)
    assert replayed >= 10


def commands(folder: Path) -> Path:
    """`python` and `weft` as a person has them after an installation."""
    place = folder / "bin"
    place.mkdir()
    for name, arguments in (("python", ""), ("weft", " -m weft")):
        (place / name).write_text(f'#!/bin/sh\nexec "{sys.executable}"{arguments} "$@"\n')
        (place / name).chmod(0o755)
    return place


def edit(file: Path, block: Block) -> None:
    """Do what a diff says: it has a place in the file, and only one."""
    lines = block.text.splitlines()
    before, after = ("".join(f"{line[1:]}\n" for line in lines if line[0] in kinds) for kinds in (" -", " +"))
    text = file.read_text(encoding="utf-8")
    assert f"\n{text}".count(f"\n{before}") == 1, f"line {block.line}: where in {file.name}?"
    file.write_text(f"\n{text}".replace(f"\n{before}", f"\n{after}")[1:], encoding="utf-8")


def shell(block: Block, folder: Path, environment: dict[str, str]) -> int:
    """Type each command of a block, and what pdb is told; gives how many there were."""
    parts = re.split(r"^\$ (.*)\n", block.text, flags=re.MULTILINE)[1:]
    for command, shown in zip(parts[::2], parts[1::2], strict=True):
        typed = re.findall(r"^\(Pdb\) (.*)$", shown, re.MULTILINE)
        done = subprocess.run(
            ["sh", "-c", command],
            cwd=folder,
            env=environment,
            input="".join(f"{line}\n" for line in typed),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=300,
            check=False,
        )
        said = done.stdout.replace(f"{folder}{os.sep}", "").lstrip("\n")
        assert matches(said, shown), f"line {block.line}: {command}\n{said}"
    return len(parts) // 2


def matches(said: str, shown: str) -> bool:
    """Whether that is what the page shows, where `...` is anything: in a line, or as a line any lines. (How pdb takes
    leave differs from one Python to the next.)"""
    before, leave, _ = shown.partition("(Pdb) q\n")
    wanted = re.sub(r"^(\(Pdb\) ).*\n", r"\1", before, flags=re.MULTILINE)
    lines = ["(?:.*\n)*" if line == "..." else f"{_anything(line)}[ ]*\n" for line in wanted.splitlines()]
    compare = re.match if leave else re.fullmatch
    return compare("".join(lines), said.rstrip() + "\n") is not None


def _anything(line: str) -> str:
    return ".*".join(map(re.escape, line.split("...")))


def test_what_differs_is_told_apart() -> None:
    assert matches("a 1 b\nx\ny\nend\n", "a ... b\n...\nend\n")
    assert not matches("a 1 c\nend\n", "a ... b\nend\n")
    assert not matches("a\nend\nmore\n", "a\nend\n")
