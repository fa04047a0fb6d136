"""Reads the remarks of LLVM's loop vectorizer about each loop: why it was vectorized, or why not.

LLVM prints remarks if its options, which are global to the process, ask for them. Therefore another process optimizes
the module again, and its output is read:

    remark: spots:5:1: loop not vectorized: cannot identify array bounds      ->     Remark(5, "loop not ...")
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from dataclasses import dataclass

__all__ = ["Remark", "remarks"]

_REMARK = re.compile(r"remark: [^\n]*?:(\d+):\d+: ([^\n]*)")
_KINDS = ("pass-remarks", "pass-remarks-missed", "pass-remarks-analysis")
_SECONDS = 120


@dataclass(frozen=True)
class Remark:
    """LLVM's remark about the loop at that line (of the debug metadata; 0: unknown)."""

    line: int
    text: str


def remarks(llvm: str, opt_level: int, cpu_features: str) -> list[Remark]:
    """The vectorizer's remarks about that module, for that instruction set, in LLVM's order, without duplicates. Empty
    if the other process fails."""
    path = os.pathsep.join(entry for entry in sys.path if entry)
    command = [sys.executable, "-m", "weft.codegen.llvm.remarks", str(opt_level), cpu_features]
    try:
        run = subprocess.run(
            command,
            input=llvm,
            env={**os.environ, "PYTHONPATH": path},
            capture_output=True,
            text=True,
            timeout=_SECONDS,
        )
    except (OSError, subprocess.TimeoutExpired):
        return []
    found = [Remark(int(line), text.strip()) for line, text in _REMARK.findall(run.stderr)]
    told = {remark.line for remark in found if remark.text != "loop not vectorized"}
    return [*dict.fromkeys(one for one in found if one.text != "loop not vectorized" or one.line not in told)]


def _main() -> None:
    import llvmlite.binding as llvm

    from weft.codegen.llvm import machine

    for kind in _KINDS:
        llvm.set_option("weft", f"-{kind}=loop-vectorize")
    level, cpu_features = int(sys.argv[1]), sys.argv[2]
    machine.optimize(machine.parse(sys.stdin.read()), machine.host_cpu(level, cpu_features).machine, level)


if __name__ == "__main__":
    _main()
