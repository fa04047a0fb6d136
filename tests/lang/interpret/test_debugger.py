"""pdb in programs that run with `arch=python`: what a person at a terminal sees, and where an exception leaves them."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

NESTED = """\
import weft as ti

ti.init(arch=ti.python)
x = ti.field(ti.f32, 3)


@ti.func
def inner(i, v):
    w = v * 2
    breakpoint()
    w += 1
    return w


@ti.func
def outer(i):
    v = inner(i, i * 0.5)
    return v


@ti.kernel
def run():
    for i in x:
        x[i] = outer(i)


run()
print("done", x[2])
"""

FAULT = """\
import pdb
import sys

import weft as ti

ti.init(arch=ti.python, debug=True)
x = ti.field(ti.f32, (4, 3))


@ti.func
def neighbour(i, j):
    k = j + 1
    return x[i, k]


@ti.kernel
def run():
    for i, j in x:
        if i == 2:
            x[i, j] = neighbour(i, j)


if len(sys.argv) > 1:
    try:
        run()
    except IndexError as error:
        pdb.post_mortem(error.__traceback__)
else:
    run()
"""


BY_THE_COMMAND = """\
import taichi as ti

ti.init(arch=ti.ARCH)
x = ti.field(ti.i32, 2)


@ti.func
def behind(i):
    return x[i + REACH]


@ti.kernel
def run():
    for i in x:
        x[i] = behind(i)


def main():
    BREAK
    run()
    print("done")


main()
"""


def by_the_command(folder: Path, commands: list[str], **words: str) -> tuple[str, str]:
    """What `weft debug` prints, and what it says on stderr."""
    file, text = folder / "program.py", BY_THE_COMMAND
    for name, word in words.items():
        text = text.replace(name, word)
    file.write_text(text, encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-m", "weft", "debug", str(file)],
        input="\n".join([*commands, ""]),
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )
    return done.stdout.replace(str(file), "program.py"), done.stderr.replace(str(file), "program.py")


def test_weft_debug_steps_through_the_program_alone(tmp_path: Path) -> None:
    steps = ["s"] * 30
    out, said = by_the_command(tmp_path, ["w", *steps], ARCH="python", REACH="0", BREAK="breakpoint()")
    places = [line for line in out.splitlines() if line.lstrip("(Pdb) >").startswith(("program.py", "/", "<"))]
    assert all("program.py(" in line for line in places)
    assert [line.split("program.py")[1] for line in places[:3]] == ["(20)main()", "(24)<module>()", "(20)main()"]
    assert [sum(f"({line})" in place for place in places) > 0 for line in (9, 14, 15, 21)] == [True] * 4
    assert "done" in out
    assert not said


@pytest.mark.parametrize("arch", ["cpu", "python"])
def test_weft_debug_shows_the_programs_frames_alone(tmp_path: Path, arch: str) -> None:
    _, said = by_the_command(tmp_path, [], ARCH=arch, REACH="2", BREAK="pass")
    frames = [line.split(", line ")[1] for line in said.splitlines() if line.startswith("  File ")]
    shown = ["24, in <module>", "20, in main"]
    inside = ["15, in run", "9, in behind"]
    assert frames == shown + (inside if arch == "python" else []) + inside
    assert "x[2] is out of bounds: its shape is (2,)" in said
    quit_, said = by_the_command(tmp_path, ["q"], ARCH="python", REACH="0", BREAK="breakpoint()")
    assert "done" not in quit_
    assert not said


def session(program: str, folder: Path, commands: list[str], *flags: str, args: tuple[str, ...] = ()) -> str:
    """What a session prints: the commands come through a pipe."""
    file = folder / "program.py"
    file.write_text(program, encoding="utf-8")
    done = subprocess.run(
        [sys.executable, *flags, str(file), *args],
        input="\n".join([*commands, ""]),
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )
    return done.stdout.replace(str(file), "program.py") + done.stderr


def test_a_breakpoint_in_a_nested_function(tmp_path: Path) -> None:
    commands = ["p 'at', i, float(v), float(w)", "u", "p 'above', i", "u", "p 'on top', i", "c", "c", "p float(w)", "c"]
    out = session(NESTED, tmp_path, commands)
    assert out.count("program.py(1") >= 3
    assert ")inner()\n-> " in out
    assert "('at', np.int32(0), 0.0, 0.0)" in out or "('at', 0, 0.0, 0.0)" in out
    assert "> program.py(17)outer()\n-> v = inner(i, i * 0.5)" in out
    assert "> program.py(24)run()\n-> x[i] = outer(i)" in out
    assert "2.0" in out
    assert "done 3.0" in out


def test_where_and_up_show_the_program_alone(tmp_path: Path) -> None:
    out = session(NESTED, tmp_path, ["w", "u", "u", "u", "d", "p 'on top', int(i)", "q"])
    listed, moved = out.split("(Pdb) ")[1:3]
    assert [line for line in listed.splitlines() if line[:2] in ("  ", "> ")][-4:] == [
        f"  program.py({len(NESTED.splitlines()) - 1})<module>()",
        "  program.py(24)run()",
        "  program.py(17)outer()",
        listed.splitlines()[-2],
    ]
    assert "/weft/" not in listed
    assert "program.py(17)outer()" in moved
    assert "('on top', 0)" in out


@pytest.mark.skipif(sys.version_info < (3, 11) or sys.platform == "win32", reason="notes, and signals as Unix has them")
def test_ctrl_c_says_in_which_iteration(tmp_path: Path) -> None:
    file = tmp_path / "program.py"
    file.write_text(  # a shell's background process is started deaf to SIGINT, and so would this one be
        "import signal\nimport weft as ti\n\nsignal.signal(signal.SIGINT, signal.default_int_handler)\n"
        "ti.init(arch=ti.python)\nx = ti.field(ti.i32, 1)\n\n\n@ti.kernel\ndef run():\n"
        "    for i in range(3, 4):\n        while True:\n            x[0] += 1\n            if x[0] == 100:\n"
        "                print('running', flush=True)\n\n\nrun()\n"
    )
    with subprocess.Popen([sys.executable, file], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as child:
        assert child.stdout is not None
        assert child.stdout.readline() == "running\n"
        child.send_signal(signal.SIGINT)
        try:
            _, said = child.communicate(timeout=60)
        finally:
            child.kill()
    assert said.rstrip().endswith("KeyboardInterrupt\nwhere i = 3")


def test_steps_stay_in_the_program(tmp_path: Path) -> None:
    """From the @func up into the kernel, into the next iteration, and down again, without a stop in Weft or numpy."""
    out = session(NESTED, tmp_path, ["s"] * 16 + ["p 'steps', float(v)", "c", "c", "c"])
    stops = [line for line in out.splitlines() if line.removeprefix("(Pdb) ").startswith("> ")]
    assert len(stops) >= 16
    assert all("program.py" in line for line in stops), stops
    assert any("program.py(24)run()" in line for line in stops)
    assert sum("program.py(8)inner()" in line for line in stops) >= 1
    assert "done 3.0" in out


@pytest.mark.parametrize("way", ["python -m pdb", "post_mortem"])
def test_after_an_exception_one_stands_on_the_line_that_failed(tmp_path: Path, way: str) -> None:
    commands = ["p 'here', int(i), int(j), int(k)", "u", "p 'above', int(i), int(j)", "q"]
    flags = ("-m", "pdb", "-c", "continue") if way == "python -m pdb" else ()
    out = session(FAULT, tmp_path, commands, *flags, args=("catch",) if not flags else ())
    assert "> program.py(13)neighbour()\n-> return x[i, k]" in out
    assert "('here', 2, 2, 3)" in out
    assert "> program.py(20)run()\n-> x[i, j] = neighbour(i, j)" in out
    assert "('above', 2, 2)" in out
    if flags:
        assert "x[2, 3] is out of bounds: its shape is (4, 3)\nwhere i = 2, j = 2" in out


def test_another_exception_says_in_which_iteration(tmp_path: Path) -> None:
    if sys.version_info < (3, 11):
        pytest.skip("exceptions have notes from Python 3.11 on")
    program = FAULT.replace("    return x[i, k]", "    two_more.pop()\n    return x[i, k - 1]")
    program = program.replace("x = ti.field", "two_more = {1, 2}\nx = ti.field")
    out = session(program, tmp_path, [])
    assert out.rstrip().endswith("where i = 2, j = 2"), out[-600:]
    assert "KeyError: 'pop from an empty set'" in out


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no pseudo-terminals")
def test_at_a_terminal(tmp_path: Path) -> None:
    """A person types, pdb answers: readline, echo and all."""
    import pty

    file = tmp_path / "program.py"
    file.write_text(NESTED, encoding="utf-8")
    child, terminal = pty.fork()
    if child == 0:
        os.environ["TERM"] = "dumb"
        os.execv(sys.executable, [sys.executable, str(file)])
    seen = ""

    def wait_for(text: str) -> None:
        nonlocal seen
        until = time.monotonic() + 60
        while text not in seen:
            assert time.monotonic() < until, seen
            seen += os.read(terminal, 4096).decode().replace("\r\n", "\n")

    for typed, answer in (("p 'i is', int(i)", "('i is', 0)"), ("c", "(Pdb) "), ("p 'i is', int(i)", "('i is', 1)")):
        wait_for("(Pdb) ")
        seen = seen.split("(Pdb) ", 1)[1]
        os.write(terminal, f"{typed}\n".encode())
        wait_for(answer)
    wait_for("(Pdb) ")
    os.write(terminal, b"import sys; sys.stdout.flush(); import os; os._exit(7)\n")
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
    os.close(terminal)
