"""All PTX that tests make is read by NVIDIA's assembler, and what it refuses is told."""

from __future__ import annotations

from collections.abc import Callable

import pytest

import weft as ti
from tests.assembling import MISSING, Assembler, ptxas, target_of
from tests.codegen.ptx import Recorder, compiled, compiling

__all__ = ["compiling"]  # a fixture

pytestmark = pytest.mark.skipif(ptxas() is None, reason=MISSING)

_ENTRY = ".version 8.3\n.target sm_90\n.address_size 64\n.visible .entry run() {{ {} }}\n"


def test_what_cannot_be_assembled_is_told() -> None:
    assembler = Assembler()
    assembler.start(_ENTRY.format("ret;"))
    assembler.start(_ENTRY.format("add.s32 %r1, %r2;"))
    (refusal,) = assembler.refusals()
    assert "ptxas does not take the code" in refusal
    assert "add.s32 %r1, %r2;" in refusal
    assert not assembler.refusals()


def test_no_more_than_a_few_run_at_once() -> None:
    assembler = Assembler()
    for number in range(9):
        assembler.start(_ENTRY.format("ret; " * number + "nothing;" * (number % 2)))
    assert len(assembler.texts) == 9
    assert len(assembler.refusals()) == 4


def test_what_tests_compile_is_read(compiling: Callable[..., Recorder], request: pytest.FixtureRequest) -> None:
    device = compiling()
    x = ti.field(ti.i32, 12)

    @ti.kernel
    def run():
        for i in x:
            x[i] = i * 12345

    ptx = compiled(device, run)
    plugins = request.config.pluginmanager.get_plugins()
    (watching,) = (plugin.ASSEMBLER for plugin in plugins if hasattr(plugin, "ASSEMBLER"))
    assert ptx in watching.texts


@pytest.mark.parametrize(("said", "chosen"), [("sm_70", 90), ("sm_90", 90), ("sm_120", 120)])
def test_targets(said: str, chosen: int) -> None:
    assert target_of(_ENTRY.format("ret;").replace("sm_90", said)) == chosen
