"""`weft build`: the code of all kernels of a program is on disk afterwards, for each instruction set asked for."""

from __future__ import annotations

import hashlib
import os
import re
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import weft as ti
from weft.codegen.llvm.instruction_sets import levels_here
from weft.lang.cache import kernels
from weft.lang.calls import ahead
from weft.lang.calls import compile as compiler
from weft.lang.cli import main
from weft.lang.cli.build import _ended_after
from weft.lang.program import store

PROGRAM = """
import weft as ti
ti.init(arch=ti.cpu, offline_cache=False)
x = ti.field(ti.f32, 64)
@ti.kernel
def fill(a: ti.f32):
    for i in x:
        x[i] = a * i
@ti.kernel
def at(i: ti.i32) -> ti.f32:
    assert i < 64, "too far"
    return x[i]
@ti.kernel
def unused():
    for i in x:
        x[i] = 0
fill(2.0)
print("result", at(3))
"""
Build = Callable[..., tuple[int, str]]


@pytest.fixture
def build(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Build:
    """Runs the command on a program, in a folder of its own, and gives the status and what it printed."""
    for name in ("HEADLESS", "GUI_FRAMES", "OFFLINE_CACHE", "CPU_FEATURES"):
        monkeypatch.delenv(f"WEFT_{name}", raising=False)
    monkeypatch.setenv("WEFT_OFFLINE_CACHE_FILE_PATH", str(tmp_path / "cache"))
    monkeypatch.setattr(store, "version_stamp", lambda _: "1")  # whoever edits Weft meanwhile
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", list(sys.argv))
    monkeypatch.setattr(sys, "path", list(sys.path))

    def run(text: str, *options: str) -> tuple[int, str]:
        (tmp_path / "program.py").write_text(text)
        for name in ("HEADLESS", "GUI_FRAMES", "OFFLINE_CACHE"):
            monkeypatch.setenv(f"WEFT_{name}", "")  # so that what the command sets ends with the test
            monkeypatch.delenv(f"WEFT_{name}")
        try:
            return main(["build", *options, "program.py"]), "".join(capfd.readouterr())
        finally:
            ti.reset()

    return run


def compiled(monkeypatch: pytest.MonkeyPatch, level: str = "native") -> list[str]:
    """The kernels that a later run of the program has to compile."""
    made: list[str] = []

    def counting(tree, *rest, make=compiler.make_artifact):
        made.append(tree.name)
        return make(tree, *rest)

    with monkeypatch.context() as patch:
        patch.setattr(compiler, "make_artifact", counting)
        patch.setenv("WEFT_CPU_FEATURES", level)
        patch.setenv("WEFT_OFFLINE_CACHE", "1")
        try:
            assert main(["run", "program.py"]) == 0
        finally:
            ti.reset()
    return made


def test_later_runs_compile_nothing(build: Build, monkeypatch: pytest.MonkeyPatch) -> None:
    status, said = build(PROGRAM, "--cpu-features", "v2, x86-64-v3")
    assert status == 0
    assert "result 6.0" in said
    lines = said.splitlines()
    assert lines[lines.index("result 6.0") + 1].split() == ["kernel", "native", "x86-64-v2", "x86-64-v3"]
    assert re.search(r"^fill +\d+ ms +\d+ ms +\d+ ms$", said, re.M)
    assert "2 kernels: 6 compiled" in said
    assert "not called, so not compiled: unused (program.py:14)" in said
    assert "in " + str(Path("cache", "kernels")) in said.replace(os.getcwd() + os.sep, "")
    for level in ("native", *(level for level in ("x86-64-v2", "x86-64-v3") if level in levels_here())):
        assert compiled(monkeypatch, level) == []
    status, said = build(PROGRAM, "--cpu-features", "v2")
    assert (status, "0 compiled (0.0 s), 4 found" in said) == (0, True)


@pytest.mark.skipif("x86-64-v2" not in levels_here(), reason="needs SSE4.2")
def test_another_machine_uses_the_code_for_a_level(build: Build, monkeypatch: pytest.MonkeyPatch) -> None:
    build(PROGRAM, "--cpu-features", "v2")
    monkeypatch.setattr(kernels, "native_target", lambda: "x86_64-pc-linux-gnu another-processor +sse4.2")
    assert compiled(monkeypatch, "v2") == []
    assert compiled(monkeypatch) == ["fill", "at"], "code for all features of the host is for this processor"
    monkeypatch.setattr(kernels, "native_triple", lambda: "riscv64-unknown-linux-gnu")
    assert compiled(monkeypatch, "v2") == ["fill", "at"]


def test_a_program_that_does_not_end_is_ended(build: Build) -> None:
    text = PROGRAM + "while True:\n    fill(1.0)\n"
    status, said = build(text, "--seconds", "2")
    if status == 130:
        pytest.skip("this machine did not compile a kernel in two seconds")
    assert status == 0
    assert re.search(r"^(2 kernels: 2|1 kernel: 1) compiled", said, re.M)
    assert "Traceback" not in said


def deaf(heard: list[float]) -> None:
    """Ignores the first interrupt."""
    end = time.perf_counter() + 30
    while time.perf_counter() < end:
        try:
            time.sleep(0.01)
        except KeyboardInterrupt:
            heard.append(time.perf_counter())
            if len(heard) == 2:
                raise


@pytest.mark.parametrize("handler", [signal.SIG_IGN, signal.default_int_handler], ids=["background", "terminal"])
def test_an_interrupt_that_is_ignored_comes_again(handler: Any) -> None:
    heard: list[float] = []
    before = signal.signal(signal.SIGINT, handler)

    def interrupted() -> None:
        with _ended_after(0.05):
            deaf(heard)

    try:
        with pytest.raises(KeyboardInterrupt):
            interrupted()
        assert signal.getsignal(signal.SIGINT) is handler
    finally:
        signal.signal(signal.SIGINT, before)
    assert heard[1] - heard[0] > 0.5
    with _ended_after(0):
        time.sleep(0.1)


def test_windows_do_not_open(build: Build, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DISPLAY", ":9999")
    text = PROGRAM + (
        "window = ti.ui.Window('w', (8, 8))\n"
        "frames = 0\n"
        "while window.running:\n"
        "    frames += 1\n"
        "    window.show()\n"
        "print(frames, 'frames')\n"
    )
    status, said = build(text)
    assert status == 0
    assert "2 frames" in said
    assert re.search(r"^\(Weft's own\) +\d+ ms$", said, re.M)
    assert "2 kernels: " in said, "those of the renderer do not count"
    assert not Path("out").exists()


@pytest.mark.parametrize(
    ("text", "options", "status", "said"),
    [
        ("", ["--cpu-features", "v9"], 2, "must be one of x86-64-v2, x86-64-v3, x86-64-v4, not 'v9'"),
        ("import weft as ti\nti.init(arch=ti.cpu)\n", [], 0, "the program called no kernel"),
        ("raise ValueError('mine')", [], 1, "ValueError: mine"),
        (PROGRAM.replace("ti.cpu", "ti.python"), [], 1, "not kept: arch=python compiles nothing"),
        (PROGRAM + "at(64)", [], 1, "2 kernels: 2 compiled"),
    ],
)
def test_it_says_what_went_wrong(build: Build, text: str, options: list[str], status: int, said: str) -> None:
    got, printed = build(text.replace("at(64)", "raise ValueError('late')"), *options)
    assert (got, said in printed) == (status, True)


def test_a_missing_program(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["build", "no_such.py"]) == 2
    assert "there is no file and no demo 'no_such.py'" in capsys.readouterr().err


def test_a_level_is_compiled_once(build: Build, monkeypatch: pytest.MonkeyPatch) -> None:
    """If the program chooses the level itself, it is not compiled again."""
    level = levels_here()[0]
    _, said = build(PROGRAM.replace("ti.cpu,", f"ti.cpu, cpu_features='{level}',"), "--cpu-features", level)
    assert said.splitlines()[1].split() == ["kernel", level]
    assert ahead.level_named(level[-2:]) == level


def test_the_same_wheel_has_the_same_version(tmp_path: Path) -> None:
    """The stamp of an installation does not depend on when it was installed, but on each later edit."""

    def installed(name: str, at: int) -> Path:
        home = tmp_path / name / "weft"
        lines = []
        for file in ("lang/a.py", "ir/b.py"):
            (path := home / file).parent.mkdir(parents=True, exist_ok=True)
            path.write_text(file)
            os.utime(path, (at, at))
            lines.append(f"weft/{file},sha256={hashlib.sha256(file.encode()).hexdigest()},{len(file)}")
        record = tmp_path / name / "weft-0.1.0.dist-info" / "RECORD"
        record.parent.mkdir()
        record.write_text("\n".join([*lines, "weft/demos/c.py,sha256=0,1", "weft/lang/a.pyc,,"]))
        os.utime(record, (at + 1, at + 1))
        return home

    def stamped(home: Path) -> list[str]:
        return store._as_installed(home, list(store._files(home)))

    one, two = installed("one", 1_000), installed("two", 2_000)
    assert stamped(one) == stamped(two)
    assert len(stamped(one)) == 2
    os.utime(two / "lang" / "a.py", (3_000, 3_000))  # saved in an editor
    assert stamped(two) == []
    (one / "ir" / "b.py").write_text("longer text")
    os.utime(one / "ir" / "b.py", (1_000, 1_000))
    assert stamped(one) == []
    (one / "ir" / "b.py").unlink()
    assert stamped(one) == []
    assert stamped(tmp_path / "nowhere" / "weft") == []
