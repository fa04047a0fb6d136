"""What `cfg` tells of the settings, and that a second `init` forgets those of the first."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import weft as ti
from weft.lang.program import options


@pytest.fixture(autouse=True)
def afterwards() -> Iterator[None]:
    yield
    ti.reset()


def test_cfg_knows_every_option_that_has_a_meaning() -> None:
    ti.init(
        arch=ti.cpu, kernel_profiler=True, print_kernel_asm=True, cpu_max_num_threads=3, advanced_optimization=False
    )
    assert (ti.cfg.kernel_profiler, ti.cfg.print_kernel_asm, ti.cfg.print_ir) == (True, True, False)
    assert (ti.cfg.cpu_max_num_threads, ti.cfg.threads, ti.cfg.advanced_optimization) == (3, 3, False)
    ti.init(arch=ti.cpu)
    assert ti.cfg.cpu_max_num_threads == os.cpu_count()
    assert (ti.cfg.verbose, ti.cfg.nvtx, ti.cfg.log_level) == (True, False, None)


def test_what_cfg_does_not_know() -> None:
    with pytest.raises(AttributeError, match="the option 'saturating_grid_dim' of init has no effect in Weft"):
        _ = ti.cfg.saturating_grid_dim
    with pytest.raises(AttributeError, match="cfg has no 'nonsense'"):
        _ = ti.cfg.nonsense


def test_the_page_on_options_has_them_all() -> None:
    page = (Path(__file__).parents[3] / "docs" / "options.md").read_text(encoding="utf-8")
    rows = {
        name
        for line in page.splitlines()
        if line.startswith("|")
        for name in re.findall(r"`(\w+)`", line.split("|")[1])
    }
    known = {"arch", "default_fp", "default_ip", "enable_fallback", "require_version", *options.OPTIONS}
    assert known <= rows
    assert {name for name in rows if not name.isupper()} - known <= options._INERT


def test_a_second_init_starts_from_the_defaults() -> None:
    ti.init(arch=ti.cpu, debug=True, default_fp=ti.f64, random_seed=5)
    ti.init(arch=ti.cpu)
    assert (ti.cfg.debug, ti.cfg.default_fp, ti.cfg.random_seed) == (False, ti.f32, 0)


@pytest.mark.parametrize("name", ["TI_ENABLE_TORCH", "TI_ENABLE_PADDLE", "TI_OFFLINE_CACHE", "TI_VISIBLE_DEVICE"])
def test_variables_of_taichi_that_change_nothing(name: str) -> None:
    code = "import weft as ti; ti.init(arch=ti.cpu); print(ti.cfg.arch)"
    run = subprocess.run(
        [sys.executable, "-c", code], env={**os.environ, name: "0"}, capture_output=True, text=True, check=True
    )
    assert (run.stdout, run.stderr) == ("cpu\n", "")


@pytest.mark.parametrize(
    ("name", "text", "setting"),
    [
        ("ARCH", "python", "arch"),
        ("DEBUG", "1", "debug"),
        ("CPU_MAX_NUM_THREADS", "1", "threads"),
        ("DEFAULT_IP", "i64", "default_ip"),
        ("KERNEL_PROFILER", "on", "kernel_profiler"),
        ("RANDOM_SEED", "9", "random_seed"),
    ],
)
@pytest.mark.parametrize("prefix", ["TI", "WEFT"])
def test_each_variable_has_two_names(
    prefix: str, name: str, text: str, setting: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for other in ("TI", "WEFT"):
        monkeypatch.delenv(f"{other}_{name}", raising=False)
    ti.init(arch=ti.cpu)
    usual = getattr(ti.cfg, setting)
    monkeypatch.setenv(f"{prefix}_{name}", text)
    ti.init(arch=ti.cpu)
    assert getattr(ti.cfg, setting) != usual
