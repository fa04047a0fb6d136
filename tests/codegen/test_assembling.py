"""All PTX that tests make is read by NVIDIA's assembler, and what it refuses is told."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

import weft as ti
from tests.assembling import MISSING, Assembler, ptxas, target_of
from tests.codegen.ptx import Recorder, compiled, compiling

__all__ = ["compiling"]  # a fixture

pytestmark = pytest.mark.skipif(ptxas() is None, reason=MISSING)

_ENTRY = ".version 8.3\n.target sm_90\n.address_size 64\n.visible .entry run() {{ {} }}\n"


def test_what_cannot_be_assembled_is_told() -> None:
    assembler = Assembler()
    assembler.maker = "a good test"
    assembler.read(_ENTRY.format("ret;"))
    assembler.maker = "a bad test"
    assembler.read(_ENTRY.format("add.s32 %r1, %r2;"))
    (refusal,) = assembler.refusals()
    assert "a bad test: ptxas does not take the code" in refusal
    assert "add.s32 %r1, %r2;" in refusal
    assert not assembler.refusals()


def test_many_texts_for_several_targets() -> None:
    assembler = Assembler()
    for number in range(99):
        text = _ENTRY.format("ret; " * number + "nothing;" * (number % 33 == 5))
        assembler.maker = str(number)
        assembler.read(text.replace("sm_90", "sm_100").replace("8.3", "8.6") if number % 2 else text)
    assert len(assembler.texts) == 99
    assert sorted(refusal.partition(":")[0] for refusal in assembler.refusals()) == ["38", "5", "71"]


def test_what_was_taken_is_known() -> None:
    good, bad = _ENTRY.format("ret;"), _ENTRY.format("nothing;")
    assembler = Assembler()
    assembler.read(good)
    assembler.read(bad)
    assert len(assembler.refusals()) == len(assembler.taken) == 1
    again = Assembler(assembler.taken)
    again.read(good)
    assert not again.refusals()
    again.read(bad)
    assert len(again.refusals()) == 1


def test_a_session_fails(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    (watching,) = _watching(request)
    monkeypatch.setattr(watching, "ASSEMBLER", Assembler())
    monkeypatch.setattr(watching, "REFUSALS", [])
    session = SimpleNamespace(exitstatus=pytest.ExitCode.OK, config=SimpleNamespace())
    watching.pytest_sessionfinish(session)
    assert session.exitstatus == pytest.ExitCode.OK
    watching.ASSEMBLER.read(_ENTRY.format("nothing;"))
    watching.pytest_sessionfinish(session)
    assert session.exitstatus == pytest.ExitCode.TESTS_FAILED
    assert len(watching.REFUSALS) == 1


def _watching(request: pytest.FixtureRequest) -> list[Any]:
    """The plugin that has the tests watched."""
    return [plugin for plugin in request.config.pluginmanager.get_plugins() if hasattr(plugin, "ASSEMBLER")]


def test_what_tests_compile_is_read(compiling: Callable[..., Recorder], request: pytest.FixtureRequest) -> None:
    device = compiling()
    x = ti.field(ti.i32, 12)

    @ti.kernel
    def run():
        for i in x:
            x[i] = i * 12345

    ptx = compiled(device, run)
    (watching,) = _watching(request)
    assert ptx in watching.ASSEMBLER.texts


@pytest.mark.parametrize(("said", "chosen"), [("sm_70", 90), ("sm_90", 90), ("sm_120", 120)])
def test_targets(said: str, chosen: int) -> None:
    assert target_of(_ENTRY.format("ret;").replace("sm_90", said)) == chosen
