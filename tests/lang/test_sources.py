"""Where the text of kernels may come from: the command line, standard input, `exec`, sessions, files that change."""

from __future__ import annotations

import linecache
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

import weft as ti

PROGRAM = """
import weft as ti
ti.init()
def plain(x):
    return x - 1
@ti.pyfunc
def both(x):
    return plain(x) + 1
@ti.func
def g(x):
    return both(x) + 1
@ti.kernel
def k() -> int:
    n = 41
    return g(n)
print(k())
"""
DEFINITIONS = PROGRAM.replace("ti.init()", "").replace("print(k())", "")


def environment() -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2] / ".links")}


def run(*command: str, **keywords: object) -> str:
    done = subprocess.run([sys.executable, *command], capture_output=True, text=True, env=environment(), **keywords)
    return done.stdout.strip() or done.stderr


def test_the_command_line_and_standard_input(tmp_path: Path):
    assert run("-c", PROGRAM) == "42"
    path = tmp_path / "program.txt"
    path.write_text(PROGRAM)
    with path.open() as file:
        assert run("-", stdin=file) == "42"
    if sys.version_info < (3, 13):  # from then on, Python keeps it
        assert "what comes through a pipe, Python does not keep" in run("-", input=PROGRAM)


def test_an_executed_string():
    scope = {"ti": ti}
    exec(DEFINITIONS, scope)
    assert scope["k"]() == 42


def test_a_cell_of_a_notebook():
    linecache.cache["<cell 7>"] = (len(DEFINITIONS), None, DEFINITIONS.splitlines(keepends=True), "<cell 7>")
    scope = {"ti": ti}
    exec(compile(DEFINITIONS, "<cell 7>", "exec"), scope)
    assert scope["k"]() == 42


def test_doctest(tmp_path: Path):
    lines = PROGRAM.strip().splitlines()
    starts = [k for k, line in enumerate(lines) if not line.startswith(" ") and not lines[k - 1].startswith("@")]
    shown = [(">>> " if k in starts else "... ") + line for k, line in enumerate(lines)]
    path = tmp_path / "page.txt"
    path.write_text("\n".join([*shown, "42", ""]))
    assert run("-m", "doctest", str(path)) == ""


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no pseudo-terminals")
def test_a_session_at_a_terminal():
    import pty

    master, slave = pty.openpty()
    plain = {**environment(), "PYTHON_BASIC_REPL": "1"}  # the other one redraws what is typed
    child = subprocess.Popen([sys.executable, "-q"], stdin=slave, stdout=slave, stderr=slave, env=plain)
    os.close(slave)
    shown = ""
    try:
        for block in PROGRAM.strip().replace("\n@ti", "\n\n@ti").replace("\ndef p", "\n\ndef p").split("\n"):
            shown = _typed(master, "\n" + block + "\n" if block.startswith("print") else block + "\n", shown)
        deadline = time.monotonic() + 60
        while "\n42" not in shown.replace("\r", "") and "Error" not in shown and time.monotonic() < deadline:
            shown += os.read(master, 65536).decode()
        assert "\n42" in shown.replace("\r", ""), shown[-2000:]
    finally:
        child.kill()
        child.wait()
        os.close(master)


def _typed(master: int, line: str, shown: str) -> str:
    """Type a line; wait for the prompt after it, so that lines are not mixed up with answers."""
    before = shown.count(">>>") + shown.count("... ")
    os.write(master, line.encode())
    deadline = time.monotonic() + 60
    while shown.count(">>>") + shown.count("... ") <= before and time.monotonic() < deadline:
        shown += os.read(master, 65536).decode()
    return shown


def test_a_program_that_is_edited_while_it_runs(tmp_path: Path):
    path = tmp_path / "edited_program.py"
    path.write_text(DEFINITIONS)
    code = compile(DEFINITIONS, str(path), "exec")
    scope = {"ti": ti}
    exec(code, scope)
    path.write_text("# one line\n" * 7 + DEFINITIONS.replace("+ 1", "+ 100"))
    ti.init(arch=ti.cpu)
    assert scope["k"]() == 42
    path.unlink()
    ti.init(arch=ti.cpu)
    assert scope["k"]() == 42
