"""What of a kernel from the disk shows: its messages, its constants, its fields; and a cache that is damaged or off."""

from __future__ import annotations

import os
import subprocess
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import weft as ti
from tests.lang.cache.cached_programs import Session
from tests.lang.cache.test_kernel_cache import PROGRAM
from weft.lang.program import store


@pytest.fixture
def session(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Session:
    return Session(tmp_path, monkeypatch)


def test_messages_name_the_right_lines(session: Session):
    text = """
import weft as ti
x = ti.field(ti.i32, 4)
@ti.kernel
def k(i: ti.i32) -> ti.i32:
    assert i < 3, "too large"
    return x[i]
def main():
    try:
        k(3)
    except ti.TaichiAssertionError as error:
        return str(error)
"""
    first = session.fresh(text, "a.py", debug=True)
    assert "line 6" in first
    assert session.warm(text, "a.py", debug=True) == first
    assert "line 8" in session.fresh("\n\n" + text, "a.py", debug=True)
    assert 'b.py"' in session.fresh(text, "b.py", debug=True)


def test_both_variants_are_kept(session: Session):
    text = """
import numpy as np
import weft as ti
A = ti.types.ndarray(ti.i32, 1)
@ti.kernel
def shift(a: A, b: A):
    for _ in range(1):
        for i in range(1, 5):
            a[i] = b[i - 1] + 1
def main():
    x, y = np.zeros(5, np.int32), np.zeros(5, np.int32)
    shift(x, y)
    shift(y, y)
    return x.tolist(), y.tolist()
"""
    found = session.fresh(text, "a.py")
    assert found == ([0, 1, 1, 1, 1], [0, 1, 2, 3, 4])
    assert session.compiled == 2
    assert session.warm(text, "a.py") == found


def test_warnings_come_again(session: Session):
    text = """
import weft as ti
x = ti.field(ti.i32, 4)
@ti.real_func
def half(a: ti.f32) -> ti.i32:
    return a / 2
@ti.func
def put(i, a):
    x[i] = a
@ti.kernel
def k(a: ti.f32):
    put(1, a)
    x[2] = half(a)
def main():
    k(3.5)
"""

    def told(run: Callable[..., Any], text: str, file: str) -> list[tuple[str, int, str]]:
        with pytest.warns(ti.PrecisionWarning) as record:
            run(text, file)
        return [(one.filename, one.lineno, str(one.message)) for one in record]

    first = told(session.fresh, text, "a.py")
    assert [(Path(file).name, line) for file, line, _ in first] == [("a.py", 9), ("a.py", 6)]
    assert told(session.warm, text, "a.py") == first
    assert [line for _, line, _ in told(session.warm, "\n" + text, "a.py")] == [10, 7]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(ti.PrecisionWarning):
            session.run(text, "a.py")


def test_prints(session: Session, capfd: pytest.CaptureFixture[str]):
    text = """
import weft as ti
@ti.kernel
def k(n: ti.i32):
    print('n is', n, n * 0.5)
def main():
    k(3)
    ti.sync()
"""
    session.fresh(text)
    first = capfd.readouterr().out
    assert first.startswith("n is 3 1.5")
    session.warm(text)
    assert capfd.readouterr().out == first


def test_a_kernel_from_the_cache_watches_its_constants(session: Session):
    text = """
import weft as ti
N = 1
x = ti.field(ti.i32, ())
@ti.kernel
def k() -> ti.i32:
    return N + x[None]
def main():
    global N, x
    seen = [k()]
    N = 5
    seen.append(k())
    x = ti.field(ti.i32, ())
    x[None] = 100
    seen.append(k())
    return seen
"""
    assert session.fresh(text) == [1, 5, 105]
    assert session.warm(text) == [1, 5, 105]


def test_a_tree_is_closed_only_by_what_uses_it(session: Session):
    text = """
import weft as ti
class Scene:
    pass
scene = Scene()
scene.y = ti.field(ti.f32)
@ti.kernel
def k() -> ti.f32:
    y = 2.0
    return y * scene.n
scene.n = 3
def main():
    result = k()
    ti.root.dense(ti.i, 4).place(scene.y)
    return result
"""
    assert session.fresh(text) == 6
    assert session.warm(text) == 6


def test_destroyed_fields_are_refused(session: Session):
    text = """
import weft as ti
builder = ti.FieldsBuilder()
x = ti.field(ti.f32)
builder.dense(ti.i, 4).place(x)
tree = builder.finalize()
@ti.kernel
def k() -> ti.f32:
    return x[1]
def main():
    first = k()
    tree.destroy()
    try:
        k()
    except ti.FieldError:
        return first
"""
    assert session.fresh(text) == 0
    before = session.compiled
    assert session.run(text) == 0
    assert session.compiled <= before + 1


def test_the_command_line(session: Session, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch):
    from weft.lang.cli import main

    session.run(PROGRAM.replace("BODY", "N * 1.0"))
    files = list((session.cache / "kernels").iterdir())
    assert main(["cache", "info"]) == 0
    said = capsys.readouterr().out
    assert said.startswith(f"{len(files)} entr")
    assert said.rstrip().endswith(str(session.cache / "kernels"))
    assert main(["cache"]) == 0
    assert capsys.readouterr().out == said
    monkeypatch.delenv("WEFT_OFFLINE_CACHE_FILE_PATH")
    assert main(["cache", "clear", "--folder", str(session.cache)]) == 0
    assert capsys.readouterr().out.startswith("removed ")
    assert not list((session.cache / "kernels").iterdir())
    assert main(["cache", "info", "--folder", str(session.folder / "none")]) == 0
    assert capsys.readouterr().out.startswith("0 entries (0 B)")


def test_damaged_entries_are_compiled_anew(session: Session):
    text = PROGRAM.replace("BODY", "outer(N * 1.0)")
    assert session.fresh(text) == 6
    for change in (lambda data: data[:-1], lambda data: data[:100], lambda data: b"", lambda data: data[::-1]):
        for file in (session.cache / "kernels").iterdir():
            file.write_bytes(change(file.read_bytes()))
        assert session.fresh(text) == 6
    assert session.warm(text) == 6


def test_entries_with_a_good_checksum_and_bad_content_are_compiled_anew(session: Session):
    from weft.runtime.cache import Store

    text = PROGRAM.replace("BODY", "outer(N * 1.0)")
    for bad in (
        b"",
        b"{}\n",
        b'{"artifact":{},"sizes":[0,0]}\n',
        b"see the key with the place\n",
        b'{"sizes":[-1,1],"artifact":null}\n',
    ):
        assert session.fresh(text) == 6
        for file in list((session.cache / "kernels").iterdir()):
            if b'"artifact"' in file.read_bytes():
                version, _, key = file.name.partition("-")
                Store(session.cache, version).put(key, bad)
    assert session.fresh(text) == 6
    for file in list((session.cache / "kernels").iterdir()):  # code that is none
        data = file.read_bytes()
        if b'"artifact"' in data:
            version, _, key = file.name.partition("-")
            line, _, rest = data[45:].partition(b"\n")
            Store(session.cache, version).put(key, line + b"\n" + bytes(len(rest)))
    assert session.fresh(text) == 6


def test_the_version_is_that_of_every_file_of_the_compiler(monkeypatch: pytest.MonkeyPatch):
    home = Path(ti.__file__).parent
    floors = [home / floor for floor in ("lang", "ir", "codegen", "runtime")]
    sources = {path.name for floor in floors for path in floor.rglob("*.py")}
    assert {name for name, _, _ in store._files(home)} == sources
    stamp, late = store.version_stamp.__wrapped__, 3.9e9  # whoever edits Weft meanwhile
    before, files = stamp(late), list(store._files(home))
    for k, (name, size, changed) in enumerate(files):
        if name in ("translator.py", "kernels.py", "task.py", "licm.py", "launch_ir.py"):
            edited = [*files[:k], (name, size + 1, changed), *files[k + 1 :]]
            monkeypatch.setattr(store, "_files", lambda home, edited=edited: iter(edited))
            assert stamp(late) != before
    monkeypatch.setattr(store, "_files", lambda home: iter([("new.py", 1, int((late + 1) * 1e9))]))
    assert stamp(late) == ""


def test_nothing_is_kept_when_it_is_turned_off(session: Session, monkeypatch: pytest.MonkeyPatch):
    text = PROGRAM.replace("BODY", "N * 1.0")
    assert session.fresh(text, offline_cache=False) == 2
    assert not session.cache.exists()
    monkeypatch.setenv("TI_OFFLINE_CACHE", "0")
    assert session.fresh(text) == 2
    assert not session.cache.exists()


def test_dumps_are_of_a_compilation(session: Session, capsys: pytest.CaptureFixture[str]):
    text = PROGRAM.replace("BODY", "N * 1.0")
    session.run(text)
    assert session.fresh(text, print_ir=True) == 2
    assert "after lower_tree" in capsys.readouterr().err


def test_compiling_leaves_modules_as_they_are(tmp_path: Path):
    """numpy imports parts of itself when they are asked for; a kernel that names `random` would mean another thing."""
    file = tmp_path / "program.py"
    file.write_text(
        "import numpy as np\nimport weft as ti\n\nti.init(arch=ti.cpu, log_level=ti.WARN)\n"
        "x = ti.Vector.field(2, ti.f32, 8)\nscale = np.float32(0.5)\n\n\n@ti.kernel\ndef start():\n"
        "    for i in x:\n        x[i] = [ti.random() * np.exp(scale), ti.random()]\n\n\nstart()\n"
    )
    settings = {"WEFT_CACHE_DIR": str(tmp_path), "WEFT_OFFLINE_CACHE": "1", "WEFT_LOG": "cache"}
    runs = [
        subprocess.run([sys.executable, file], env=os.environ | settings, capture_output=True, text=True, check=True)
        for _ in range(2)
    ]
    assert ["start: not found" in run.stderr for run in runs] == [True, False]
    assert "start: found" in runs[1].stderr
