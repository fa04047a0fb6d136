"""The demos and a slice of the behaviour tests under NVIDIA's compute-sanitizer: memory and races, a line for each.

    python tests/cuda/sanitize.py [seconds in all, 600]

Each program runs by itself, with a time limit; what the time in all does not allow is said to be left out.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import time
from pathlib import Path

_ROOT = Path(__file__).parent.parent.parent
_TOOLS = {"memcheck": ("--leak-check", "no"), "racecheck": ("--racecheck-report", "all")}
_LIMIT = 60  # seconds of one program

_DEMO = """
import importlib
import weft as ti
ti.init(arch=ti.cuda, enable_fallback=False)
frame = importlib.import_module("weft.demos.{name}").build()
frame(0), frame(1)
ti.sync()
"""

_DEMOS = (
    *("heat", "julia", "life", "filters", "raymarch", "stable_fluids", "galaxy", "mpm88"),
    *("mpm3d", "sph", "pbf", "fem", "cloth", "physarum", "rasterizer", "contours"),
)
_TESTS = {
    "reductions": "tests/cuda/test_device.py -k reductions",
    "atomics": "tests/cuda/test_device.py -k scattered",
    "boxes": "tests/cuda/test_device.py -k box",
    "faults": "tests/cuda/test_device.py -k faults",
    "neighbours": "tests/cuda/test_speedups.py -k neighbours",
    "threads": "tests/cuda/test_simt.py",
    "loops": "tests/lang/behaviour/test_loops.py -k cuda",
    "programs": "tests/lang/behaviour/test_programs.py -k cuda",
}


def programs() -> dict[str, list[str]]:
    """What Python is given for each."""
    demos = {name: ["-c", _DEMO.format(name=name)] for name in _DEMOS}
    tests = {
        name: ["-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", *text.split()] for name, text in _TESTS.items()
    }
    return demos | tests


def verdict(tool: str, arguments: list[str], limit: float) -> str:
    """What the tool says about a program: its summary, or that it took too long."""
    command = ["compute-sanitizer", "--tool", tool, *_TOOLS[tool], "--target-processes", "all", sys.executable]
    try:
        done = subprocess.run([*command, *arguments], cwd=_ROOT, capture_output=True, text=True, timeout=limit)
    except subprocess.TimeoutExpired:
        return f"not done in {limit:.0f} s"
    said = done.stdout + done.stderr
    sums = re.findall(r"(?:ERROR|RACECHECK) SUMMARY: (.*)", said)
    first = next(iter(re.findall(r"========= ((?:Invalid|Error|Warning|Race|Program hit).*)", said)), "")
    ended = "" if done.returncode == 0 else f", exit {done.returncode}: {said.strip().splitlines()[-1][:120]}"
    return f"{'; '.join(dict.fromkeys(sums)) or 'no summary'}{' - ' + first if first else ''}{ended}"


def main(seconds: str = "600") -> None:
    """One line for each program and tool."""
    if shutil.which("compute-sanitizer") is None:
        print("compute-sanitizer is not installed; it comes with the CUDA toolkit")
        return
    end = time.monotonic() + float(seconds)
    for name, arguments in programs().items():
        for tool in _TOOLS:
            left = end - time.monotonic()
            said = verdict(tool, arguments, min(left, _LIMIT)) if left > 5 else "left out, no time"
            print(f"{name:14} {tool:10} {said}", flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
