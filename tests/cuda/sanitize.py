"""The demos and the behaviour tests under NVIDIA's compute-sanitizer: memory and races, a line for each.

    python tests/cuda/sanitize.py [seconds in all, 600] [programs at once, 8] [part of a name ...]

Each program runs by itself, with a time limit; what the time in all does not allow is said to be left out. Tests of
memory that runs out, and torch itself, provoke calls of the driver that fail with OUT_OF_MEMORY: memcheck says so.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

_ROOT = Path(__file__).parent.parent.parent
_TOOLS = {"memcheck": ("--leak-check", "no"), "racecheck": ("--racecheck-report", "all")}
_LIMIT = 240  # seconds of one program
_LATE = 124  # how `timeout` ends then

_DEMO = """
import importlib
import weft as ti
ti.init(arch=ti.cuda, enable_fallback=False)
frame = importlib.import_module("weft.demos.{name}").build()
frame(0), frame(1)
ti.sync()
"""


def programs() -> dict[str, list[str]]:
    """What Python is given for each: every demo, the tests of the device, and those of the language's behaviour."""
    demos = sorted(
        path.stem for path in (_ROOT / "demos").glob("*.py") if re.search(r"^(def )?build\b", path.read_text(), re.M)
    )
    behaviour = {path.stem.removeprefix("test_"): path for path in sorted(_ROOT.glob("tests/lang/behaviour/test_*.py"))}
    # test_bindings.py has a libcuda of its own, which the sanitizer replaces by the real one
    device = {path.stem.removeprefix("test_"): path for path in sorted(_ROOT.glob("tests/cuda/test_*.py"))}
    del device["bindings"]
    pytest = ["-m", "pytest", "-q", "-p", "no:cacheprovider", "-k"]
    tests = {f"test cuda {name}": [*pytest, "not emulated", str(path)] for name, path in device.items()}
    tests |= {f"test lang {name}": [*pytest, "cuda", str(path)] for name, path in behaviour.items()}
    return {f"demo {name}": ["-c", _DEMO.format(name=name)] for name in demos} | tests


def verdict(tool: str, arguments: list[str], limit: float) -> str:
    """What the tool says about a program: its summary, and how it ended."""
    command = [
        "timeout",
        f"{limit:.0f}",
        "compute-sanitizer",
        "--tool",
        tool,
        *_TOOLS[tool],
        "--target-processes",
        "all",
    ]
    done = subprocess.run([*command, sys.executable, *arguments], cwd=_ROOT, capture_output=True, text=True)
    said = done.stdout + done.stderr
    sums = re.findall(r"(?:ERROR|RACECHECK) SUMMARY: (.*)", said)
    first = _first(said)
    if done.returncode == _LATE:
        return f"not done in {limit:.0f} s; until then {first or 'nothing found'}"
    tests = next(iter(re.findall(r"\d+ (?:passed|failed).* in ", said)), "").removesuffix(" in ")
    ended = "" if done.returncode == 0 else f", exit {done.returncode}: {said.strip().splitlines()[-1][:120]}"
    return f"{'; '.join(dict.fromkeys(sums)) or 'no summary'}{' - ' + first if first else ''}{ended} {tests}"


def _first(said: str) -> str:
    """The first thing found, in the tool's words."""
    return next(iter(re.findall(r"========= ((?:Invalid|Error|Warning|Race|Program hit).*)", said)), "")


def main(seconds: str = "600", at_once: str = "8", *parts: str) -> None:
    """One line for each program and tool."""
    if shutil.which("compute-sanitizer") is None:
        print("compute-sanitizer is not installed; it comes with the CUDA toolkit")
        return
    end = time.monotonic() + float(seconds)

    def run(name: str, arguments: list[str], tool: str) -> None:
        begin = time.monotonic()
        left = end - begin
        said = verdict(tool, arguments, min(left, _LIMIT)) if left > 5 else "left out, no time"
        print(f"{name:30} {tool:10} {time.monotonic() - begin:4.0f} s  {said}", flush=True)

    with ThreadPoolExecutor(int(at_once)) as workers:
        for name, arguments in programs().items():
            for tool in _TOOLS:
                if not parts or any(part in name for part in parts):
                    workers.submit(run, name, arguments, tool)


if __name__ == "__main__":
    main(*sys.argv[1:])
