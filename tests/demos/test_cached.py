"""Every kernel of every demo comes from the disk cache in the second process."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.machine_code import DEMOS
from weft.demos.runner import NAMES

PROGRAM = f"""
import importlib, sys
import weft as ti
from weft.demos.runner import NAMES
SMALL = {DEMOS!r}
ti.init(arch=ti.cpu, opt_level=0, log_level=ti.WARN)
for name in NAMES:
    module = importlib.import_module(f"weft.demos.{{name}}")
    if hasattr(module, "STEPS"):
        module.STEPS = 2
    module.build(**SMALL.get(name, {{}}))(0)
    print("demo", name, flush=True)
"""


@pytest.mark.exhaustive
@pytest.mark.unverified
def test_the_second_process_compiles_nothing(tmp_path: Path):
    settings = {
        "WEFT_CACHE_DIR": str(tmp_path),
        "WEFT_OFFLINE_CACHE": "1",
        "WEFT_LOG": "cache",
        "MPLBACKEND": "Agg",
    }
    runs = [
        subprocess.run(
            [sys.executable, "-c", PROGRAM], env=os.environ | settings, capture_output=True, text=True, check=True
        )
        for _ in range(2)
    ]
    done = [f"demo {name}" for name in NAMES]
    assert [[line for line in run.stdout.splitlines() if line in done] for run in runs] == [done] * 2
    first, second = (run.stderr for run in runs)
    assert "not kept" not in first, first
    assert first.count(": not found, compiled") > 90
    assert second.count(": not found, compiled") == 0, second
    assert second.count(": found") == first.count(": found") + first.count(": not found, compiled") >= 110
