"""`init(verify="results")`: which launches are verified, how they are counted, and the option itself."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import replace

import pytest

import weft as ti
from tests.lang.checks.verifying import afresh as afresh
from tests.lang.checks.verifying import verifying as verifying
from weft.ir.config import CompileConfig
from weft.ir.shadow.compare import Comparison, Difference
from weft.lang.checks import results
from weft.lang.checks.tally import TALLY
from weft.lang.errors import WrongResult


def test_large_launches_are_skipped_and_counted(verifying: Callable[..., None]) -> None:
    verifying(verify_limit=2000)
    small, large, huge = ti.field(ti.i32, 10), ti.field(ti.i32, (100, 100)), ti.field(ti.i32, (5 << 20,))

    @ti.kernel
    def fill(x: ti.template()):
        for where in ti.grouped(x):
            x[where] = 1

    @ti.kernel
    def rounds(n: ti.i32):
        for _ in range(n):
            small[0] += 1

    @ti.kernel
    def far():
        huge[7] = 1

    fill(small)
    fill(large)  # foreseen
    rounds(10)
    rounds(5000)  # found out
    far()
    assert TALLY.verified == 2
    assert TALLY.skipped == {"too long": 2, "too much memory": 1}
    assert str(TALLY) == "2 launches verified, 3 skipped: 2 too long, 1 too much memory"
    assert (large.to_numpy() == 1).all()


def test_frequent_launches_are_verified_less_and_less_often() -> None:
    ti.init(arch=ti.cpu, verify="results", verify_limit=100)
    x = ti.field(ti.i32, 8)

    @ti.kernel
    def step():
        for i in x:
            x[i] += 1

    for _ in range(100):
        step()
    assert 10 < TALLY.verified < 40
    assert TALLY.verified + TALLY.skipped["of kernels that were verified often enough"] == 100


def test_blocks_of_threads_are_verified(verifying: Callable[..., None]) -> None:
    verifying()
    if ti.cfg.arch == "cpu":
        pytest.skip("kernels of blocks are a GPU's")
    x = ti.field(ti.i32, 64)

    @ti.kernel
    def blocks():
        ti.loop_config(block_dim=32)
        for i in x:
            pad = ti.simt.block.SharedArray((32,), ti.i32)
            pad[i % 32] = i
            ti.simt.block.sync()
            x[i] = pad[31 - i % 32]

    blocks()
    assert TALLY.verified == 1


def test_kernels_with_other_checks_are_skipped() -> None:
    ti.init(arch=ti.cpu, verify="results", check_uninitialised=True)
    x = ti.field(ti.i32, 4)

    @ti.kernel
    def fill():
        for i in x:
            x[i] = i

    fill()
    fill()
    assert TALLY.skipped == {"with checks of races or of uninitialised elements": 2}


@pytest.mark.filterwarnings("ignore::weft.RaceWarning")
@pytest.mark.parametrize("which", ["last", "seen", "flag"])
def test_races_for_a_local_are_not_judged(monkeypatch: pytest.MonkeyPatch, which: str) -> None:
    """No order of iterations that is tried may be the machine's. A flag that all of them set alike is no such race."""
    monkeypatch.setattr(results, "compare", lambda *_: Comparison([Difference("result", "1", "2")]))
    ti.init(arch=ti.cpu, verify="results")
    x = ti.field(ti.i32, 8)

    @ti.kernel
    def run() -> ti.i32:
        local = 0
        for i in x:
            if ti.static(which == "last"):
                local = i
            elif ti.static(which == "seen"):
                x[i] = local
                local = 1
            else:
                local = 1
        return local

    with pytest.raises(WrongResult) if which == "flag" else nullcontext():
        run()
    assert TALLY.skipped == ({} if which == "flag" else {"with a race on a local variable": 1})


def test_accesses_out_of_bounds_are_logged(caplog: pytest.LogCaptureFixture) -> None:
    ti.init(arch=ti.cpu, verify="results", mask_out_of_bounds=False)
    x, y = ti.field(ti.i32, 8, name="x"), ti.field(ti.i32, 8)

    @ti.kernel
    def beyond(n: ti.i32):
        for i in y:
            y[i] = x[(i + n) % 9]

    beyond(1)
    beyond(2)
    told = [record.getMessage() for record in caplog.records if record.name == "weft"]
    assert told == [
        "kernel beyond: index (8,) is out of bounds for field 'x' of shape (8,) (init(debug=True) shows where)"
    ]
    assert TALLY.skipped == {"with accesses out of bounds": 2}


@pytest.mark.filterwarnings("ignore::weft.runtime.errors.OutOfBoundsWarning")
def test_with_masks_nothing_leaves_its_field(monkeypatch: pytest.MonkeyPatch) -> None:
    """Masks give each access a meaning, so an evaluator that finds one without is at fault, and the launch is not
    skipped."""

    def unmasked(config: CompileConfig, **changes: object) -> CompileConfig:
        return replace(config, mask_out_of_bounds=False, **changes)  # type: ignore[arg-type]

    monkeypatch.setattr(results, "replace", unmasked)  # what the evaluator is told
    ti.init(arch=ti.cpu, verify="results", mask_out_of_bounds=True)
    x = ti.field(ti.i32, 8)

    @ti.kernel
    def beyond(n: ti.i32) -> ti.i32:
        return x[n]

    with pytest.raises(WrongResult, match="fault: the kernel computed '', but bounds is correct"):
        beyond(9)


# ---- the option ------------------------------------------------------------------------------------------------------


def test_the_option() -> None:
    for value, verified in ((True, True), (False, False), ("results", False)):
        ti.init(arch=ti.cpu, verify=value)
        assert ti.cfg.verify == value
        assert ti.lang.program.init.program().config.verify is verified
    ti.init(arch=ti.python, verify="results")
    for wrong in ("result", "", 2.5):
        with pytest.raises(TypeError, match="init: verify must be True or False or 'results', not"):
            ti.init(arch=ti.cpu, verify=wrong)


def test_the_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    for text, value in (("results", "results"), ("1", True), ("off", False)):
        monkeypatch.setenv("WEFT_VERIFY", text)
        ti.init(arch=ti.cpu)
        assert ti.cfg.verify == value
    monkeypatch.setenv("WEFT_VERIFY", "everything")
    with pytest.raises(TypeError, match=r"WEFT_VERIFY \(or TI_VERIFY\) must be 1 or 0 or results, not 'everything'"):
        ti.init(arch=ti.cpu)


def test_the_summary_at_the_end() -> None:
    code = """if 1:
        import weft as ti
        ti.init(arch=ti.cpu)
        x = ti.field(ti.i32, 4)
        x.fill(0)
        from weft.lang.algorithms.sort_and_scan import parallel_sort
        parallel_sort(x)
    """
    run = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "WEFT_VERIFY": "results"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert re.fullmatch(r'weft, verify="results": [1-9]\d* launches verified, 0 skipped\n', run.stderr)
