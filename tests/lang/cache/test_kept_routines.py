"""The disk keeps object files of routines of the run-time library, which other kernels have, too."""

from __future__ import annotations

from pathlib import Path

import pytest

import weft as ti
from tests.lang.cache.cached_programs import Session
from weft.codegen.llvm import machine
from weft.codegen.llvm.kept_objects import KeptObjects

PROGRAM = """
import weft as ti

x, y = ti.field(ti.f32), ti.field(ti.f32)
for field in (x, y):
    ti.root.pointer(ti.ij, CELLS).dense(ti.ij, 8).place(field)

@ti.kernel
def fill():
    for i, j in ti.ndrange(16, 16):
        x[i, j] = i + j

@ti.kernel
def copy():
    for i, j in x:
        y[i, j] = x[i, j] * FACTOR

def main():
    fill()
    copy()
    return float(y.to_numpy().sum())
"""


@pytest.fixture
def session(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Session:
    return Session(tmp_path, monkeypatch)


@pytest.fixture
def texts(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The texts that LLVM compiles."""
    found, compile_anew = list[str](), machine.compile_anew

    def seen(text: str, *rest: object) -> bytes:
        found.append(text)
        return compile_anew(text, *rest)  # type: ignore[arg-type]

    monkeypatch.setattr(machine, "compile_anew", seen)
    return found


def routines(session: Session, texts: list[str], factor: int, cells: int = 64, **options: object) -> int:
    """Run the program, as a new process would, and give how many routines it compiled."""
    texts.clear()
    machine._KEPT.clear()
    text = PROGRAM.replace("FACTOR", str(factor)).replace("CELLS", str(cells))
    assert session.run(text, "program.py", **options) == factor * sum(i + j for i in range(16) for j in range(16))
    return sum("define i1 @weft_routine_" in one for one in texts)


def test_another_kernel_finds_them(session: Session, texts: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machine, "_KEPT", KeptObjects())
    first = routines(session, texts, 2)
    assert first >= 3
    assert routines(session, texts, 3) == 0
    assert texts  # the kernel is another one
    assert routines(session, texts, 3) == 0
    assert not texts
    assert routines(session, texts, 3, cells=80) >= 3
    assert routines(session, texts, 4, offline_cache=False) >= 3
    ti.reset()
