"""Where the text of kernels may come from: the command line, standard input, `exec`, sessions, files that change."""

from __future__ import annotations

import gc
import linecache
import os
import re
import subprocess
import sys
import time
from pathlib import Path

import pytest

import weft as ti
from weft.lang.functions import source

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
    return {**os.environ, "PYTHONPATH": str(Path(__file__).parents[3] / ".links")}


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
        assert "Python does not keep the source of a program that it reads from a pipe" in run("-", input=PROGRAM)


def test_an_executed_string():
    scope = {"ti": ti}
    exec(DEFINITIONS, scope)
    assert scope["k"]() == 42


LAMBDAS = """
import weft as ti
ti.init()
f, g = lambda v: v + 1, lambda v: v * 10
@ti.kernel
def k(n: int) -> int:
    return f(n) + g(n)
print(k(1) + 30)
"""


def test_lambdas_of_the_command_line_and_of_an_executed_string():
    assert run("-c", LAMBDAS) == "42"
    scope = {"ti": ti}
    exec(LAMBDAS, scope)
    assert scope["k"](2) == 23


FAULTY = """
x = ti.field(ti.f32, 4)
read = lambda i: x[i]
@ti.kernel
def k(n: int) -> ti.f32:
    return read(n)
@ti.kernel
def wrong() -> int:
    return zz
"""


@pytest.mark.parametrize("arch", ["cpu", "python"])
def test_messages_show_the_text_that_is_in_no_file(arch: str):
    ti.init(arch=arch, debug=True)
    scopes = []
    for text in (FAULTY, FAULTY.replace("zz", "yy").replace("return read(n)", "return 1 + read(n)")):
        exec(text, scope := {"ti": ti})
        scopes.append(scope)
    first, second = scopes
    with pytest.raises(IndexError) as fault:
        first["k"](7)
    name = re.search(r'File "(<string [0-9a-f]{6}>)"', str(fault.value))
    assert name, str(fault.value)
    assert f'''
  File "{name[1]}", line 6, in k
    return read(n)
           ^^^^^^^
  File "{name[1]}", line 3, in <lambda>
    read = lambda i: x[i]
                     ^^^^
x[7] is out of bounds: its shape is (4,)''' in str(fault.value)
    with pytest.raises(IndexError, match=r"return 1 \+ read\(n\)\n               \^\^\^\^\^\^\^\n"):
        second["k"](7)
    with pytest.raises(NameError, match="return zz\n           \\^\\^\n"):
        first["wrong"]()
    with pytest.raises(NameError, match="return yy\n           \\^\\^\n"):
        second["wrong"]()


def test_messages_show_the_text_of_the_command_line():
    said = run("-c", f"import weft as ti\nti.init(arch=ti.cpu, debug=True){FAULTY}k(9)")
    assert "    return read(n)\n           ^^^^^^^\n" in said


LOSING = """
@ti.kernel
def k(n: int) -> int:
    last = 0
    for i in range(n):
        last = i
    last = last + 0.5 * n
    return last
"""


@pytest.mark.parametrize("name", [{}, {"__name__": None}, {"__name__": "named"}])
def test_warnings_of_an_executed_string(name: dict[str, str | None]):
    """Also where the globals have no name, of which Python would make no warning at all."""
    ti.init(arch=ti.cpu)
    exec(LOSING, scope := {"ti": ti, **name})
    with (
        pytest.warns(ti.RaceWarning, match="assign 'last', which"),
        pytest.warns(ti.PrecisionWarning, match="'last' has"),
    ):
        scope["k"](7)


def test_texts_of_functions_that_are_gone_go():
    def compiled_and_dropped() -> None:
        text = "@ti.kernel\ndef k(n: int) -> int:\n    return n + 12345\n"
        exec(text, scope := {"ti": ti})
        result = scope["k"](0)
        assert result == 12345

    ti.init(arch=ti.cpu)
    compiled_and_dropped()
    name = next(name for name, entry in linecache.cache.items() if name[0] == "<" and "12345" in "".join(entry[2]))
    ti.reset()
    source._PARSED.clear()
    gc.collect()
    assert name not in linecache.cache


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
    try:
        shown = _read_until(master, ">>> ")
        for line in PROGRAM.strip().replace("\n@ti", "\n\n@ti").replace("\ndef p", "\n\ndef p").split("\n"):
            if line.startswith("print"):
                os.write(master, b"\n")  # ends the function
                shown += _read_until(master, ">>> ")
                # A slow compilation shows its progress on the terminal: the answer need not begin a line.
                line = line.replace("print(", "print('answer:', ")
            os.write(master, line.encode() + b"\n")
            shown += _read_until(master, ">>> ", "... ")
        assert "answer: 42" in shown, shown[-2000:]
    finally:
        child.kill()
        child.wait()
        os.close(master)


def _read_until(master: int, *prompts: str) -> str:
    """Read what a terminal shows, up to a prompt at its end, so that lines are not mixed up with answers."""
    import select

    shown, deadline = "", time.monotonic() + 120
    while not shown.endswith(prompts):
        ready, _, _ = select.select([master], [], [], max(deadline - time.monotonic(), 0))
        assert ready, f"no prompt after {shown!r}"
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


def test_a_file_that_is_edited_and_edited_back(tmp_path: Path):
    """The code of its first and of its last text is equal: each keeps a text of its own."""
    path = tmp_path / "edited.py"

    def loaded(sign: str) -> dict[str, object]:
        path.write_text(f"import weft as ti\n@ti.func\ndef f(x):\n    return x {sign} 1\n")
        space: dict[str, object] = {}
        exec(compile(path.read_text(), str(path), "exec"), space)
        return space

    first, second, last = loaded("+"), loaded("-"), loaded("+")
    for space in (first, second, last):
        assert space["f"].function.__code__.co_filename == str(path)
    assert first["f"].function.__code__ == last["f"].function.__code__
    del first, space
    gc.collect()
    assert source.text_of(last["f"].function.__code__).endswith("return x + 1\n")
    assert source.text_of(second["f"].function.__code__).endswith("return x - 1\n")
