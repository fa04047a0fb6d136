"""Sparse fields with the checks of `init`: each checks them, or leaves them out and says so."""

from __future__ import annotations

import copy
import gc
import logging
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import weft as ti
from weft.ir.errors import WeftError
from weft.lang.errors import ArgumentError
from weft.lang.program.init import program


def made(**options: Any) -> tuple[Any, Any]:
    ti.init(arch=ti.cpu, **options)
    x = ti.field(ti.i32, name="x")
    ti.root.pointer(ti.i, 8).dense(ti.i, 4).place(x)

    @ti.kernel
    def go(k: ti.i32) -> ti.i32:
        x[k] = 5
        s = 0
        for i in x:
            s += x[i] + 1
        return s

    return x, go


OPTIONS = [{"debug": True}, {"check_uninitialised": True}, {"check_races": True}, {"verify": "results"}]


@pytest.mark.parametrize("options", OPTIONS, ids=lambda options: "+".join(options))
def test_programs_run_with_checks(options: dict[str, Any], caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        x, go = made(**options)
        assert (go(9), go(9), x[9], x[31], int(x.to_numpy().sum())) == (9, 9, 5, 0, 5)
        if "check_races" in options:
            assert "kernel go is not checked for races, because its threads use sparse fields" in caplog.text
        if "verify" not in options:
            with pytest.raises(IndexError, match=r"x\[77\] is out of bounds: its shape is \(32,\)"):
                go(77)
    ti.reset()


def test_without_checks_an_access_out_of_bounds_is_masked() -> None:
    x, go = made()
    with pytest.warns(ti.OutOfBoundsWarning, match=r"x\[77\] is out of bounds"):
        assert go(77) == 0
    assert len(x.active()[0]) == 0


def test_copies_and_checkpoints_have_the_values(tmp_path: Path) -> None:
    x, go = made()
    go(9)
    values = x.to_numpy()
    assert (copy.deepcopy(x).to_numpy() == values).all()
    assert (pickle.loads(pickle.dumps(x)).to_numpy() == values).all()
    path = tmp_path / "x.npz"
    ti.save(str(path), {"x": x})
    x.fill(3)
    x[30] = 4
    ti.load(str(path), {"x": x})
    assert (x.to_numpy() == values).all()


def test_memory_goes_with_the_tree() -> None:
    ti.init(arch=ti.cpu)
    memory = program().device.memory
    before = memory.total

    def build() -> None:
        x = ti.field(ti.f32)
        builder = ti.FieldsBuilder()
        node = builder.pointer(ti.i, 1 << 20)
        node.dense(ti.i, 64).place(x)
        builder.finalize()
        for _ in range(3):
            x.from_active(np.arange(0, 1 << 22, 64)[:, None], 1.0)
            node.deactivate_all()
        assert memory.total < before + (80 << 20)  # cells are used again: 16 MiB of them, and their tables

    build()
    gc.collect()
    assert memory.total <= before + (1 << 20)


def test_tuning_refuses() -> None:
    x, _ = made()

    @ti.autotune(configs=[ti.Config(block_dim=32), ti.Config(block_dim=64)])
    @ti.kernel
    def go():
        for i in x:
            x[i] += 1

    with pytest.raises((TypeError, WeftError, ArgumentError), match="the cells of sparse fields cannot be saved"):
        go()
