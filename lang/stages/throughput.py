"""How fast a processor could run the innermost loops of a kernel: what LLVM's `llvm-mca` says of their instructions.

It simulates one processor that finds all data in its first cache, takes every branch as predicted, and runs the
instructions of a loop one after another, over and over. So a loop cannot be much faster, and may be slower.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from dataclasses import dataclass, field
from functools import cache

from weft.ir.errors import WeftError
from weft.lang.stages.listing import Listing

__all__ = ["Loop", "Throughput", "throughput_of", "tool"]

_LABEL = re.compile(r"(\.?L\w+):")
_JUMP = re.compile(r"\s+(?:j[a-z]+|b(?:\.\w+)?|cbn?z|tbn?z)\s+(?:\w+, )*(\.?L\w+)\s*$")
_CALL = re.compile(r"\s+(?:callq?|bl|blr)\s+\*?(\S+)")
_LEAVES = re.compile(r"\s+(?:jmp[ql]?\s+(?P<to>\.?L\w+)|b\s+(?P<branch>\.?L\w+)|jmp|retq?\b|br\s)")
_TOTAL = re.compile(r"^(Iterations|Instructions|Total Cycles|Total uOps|Block RThroughput):\s+([\d.]+)", re.MULTILINE)
_ROW = re.compile(r"^\s*(\d+)\s+(\d+)\s+([\d.]+)(?:\s+\*)?(?:\s+\*)?(?:\s+U)?\s+\S", re.MULTILINE)
_WAITS = re.compile(
    r"^\s+(?:- )?(Resource Pressure|(?:Register|Memory) Dependencies):?\s+\[ ?([\d.]+)% ?\]", re.MULTILINE
)
_LARGEST = 400  # instructions of a loop; the simulation of longer ones takes seconds
_MODELS = {  # if `llvm-mca` does not know the processor: the first of these whose feature it has
    "x86_64": (("avx512f", "icelake-server"), ("avx2", "haswell"), ("", "x86-64")),
    "aarch64": (("", "neoverse-n1"),),
}


@dataclass(frozen=True)
class Loop:
    """An innermost loop: lines `first` to `last` of the assembly, from 0 on, in function `function`.

    `cycles` are those that a pass takes when many follow each other, and `bound` those that the busiest unit of the
    processor alone needs. `waits` names what passes wait for, with the percentage of cycles. `costs` has for each line
    with an instruction its latency and the cycles after which another one like it can begin. `because` says why there
    are no numbers."""

    first: int
    last: int
    function: str
    spot: int
    cycles: float = 0.0
    bound: float = 0.0
    instructions: int = 0
    waits: tuple[tuple[str, float], ...] = ()
    costs: dict[int, tuple[int, float]] = field(default_factory=dict)
    because: str = ""

    def __str__(self) -> str:
        if self.because:
            return self.because
        waits = "".join(f", waits for {name} in {share:.0f} %" for name, share in self.waits)
        return f"{self.instructions} instructions, {self.cycles:g} cycles for a pass{waits}"


@dataclass(frozen=True)
class Throughput:
    """The loops of a kernel, the processor whose model was used, and the version of the program."""

    loops: tuple[Loop, ...]
    model: str
    program: str

    def __str__(self) -> str:
        head = f"{self.program}, model of {self.model}"
        return "\n".join(
            [head, *(f"{one.function}, line {one.first + 1} of the assembly: {one}" for one in self.loops)]
        )


def tool() -> str:
    """The path of `llvm-mca`. Raises WeftError if there is none."""
    found = os.environ.get("WEFT_MCA") or shutil.which("llvm-mca")
    for version in range(30, 13, -1):
        found = found or shutil.which(f"llvm-mca-{version}")
    if not found:
        raise WeftError("llvm-mca is not on the PATH: install LLVM's tools (`apt install llvm`), or set WEFT_MCA")
    return found


def throughput_of(asm: Listing, target: str, processor: str, features: frozenset[str]) -> Throughput:
    """Simulate the innermost loops of that assembly of `target` ("x86_64", "aarch64") for that processor, or for one
    with such features. Raises WeftError if `llvm-mca` is missing or has no model."""
    program = tool()
    lines = asm.splitlines()
    model, version = _model(program, target, processor, features)
    loops = [_simulated(program, target, model, lines, asm.spots, one) for one in innermost_loops(lines)]
    return Throughput(tuple(loops), model, version)


def innermost_loops(lines: list[str]) -> list[tuple[int, int, str]]:
    """The loops without loops in them: (line of the label, line of the jump back, name of the function). Cold code that
    jumps back into a loop is none: what lies between leaves it."""
    labels: dict[str, int] = {}
    found: list[tuple[int, int, str]] = []
    function = ""
    for place, line in enumerate(lines):
        if label := _LABEL.match(line):
            labels[label[1]] = place
        elif re.match(r"[A-Za-z_]\w*:", line):
            function = line.partition(":")[0]
        elif (jump := _JUMP.match(line)) and jump[1] in labels:
            found.append((labels[jump[1]], place, function))
    widest: dict[int, tuple[int, int, str]] = {}  # of several jumps back to a label, the last
    for loop in found:
        widest[loop[0]] = loop
    loops = [one for one in widest.values() if not _is_left(lines, *one[:2])]
    return [one for one in loops if not any(one[0] < other[0] and other[1] <= one[1] for other in loops)]


def _is_left(lines: list[str], first: int, last: int) -> bool:
    """Whether code before the end always goes elsewhere, so that the lines are not a loop."""
    inside = {match[1] for line in lines[first : last + 1] if (match := _LABEL.match(line))}
    leaves = (match for line in lines[first:last] if (match := _LEAVES.match(line)))
    return any((match["to"] or match["branch"]) not in inside for match in leaves)


def _simulated(
    program: str, target: str, model: str, lines: list[str], spots: tuple[int, ...], place: tuple[int, int, str]
) -> Loop:
    first, last, function = place
    body = [k for k in range(first, last + 1) if _is_instruction(lines[k])]
    spot = next((spots[k] for k in body if spots[k]), 0)
    empty = Loop(first, last, function, spot, instructions=len(body))
    called = [match[1].partition("@")[0] for k in body if (match := _CALL.match(lines[k]))]
    if called:
        return _without(empty, f"it calls {', '.join(dict.fromkeys(called))}, whose time is not known")
    if len(body) > _LARGEST:
        return _without(empty, f"it has more than {_LARGEST} instructions")
    text = "\n".join(_LABEL.sub("", lines[k]) for k in body) + "\n"
    command = [program, f"-mtriple={target}", f"-mcpu={model}", "-bottleneck-analysis", "-iterations=200", "-"]
    ran = subprocess.run(command, input=text, capture_output=True, text=True, timeout=60, check=False)
    if ran.returncode or "Total Cycles" not in ran.stdout:
        reason = next((line for line in ran.stderr.splitlines() if "error" in line or "note: instr" in line), "")
        return _without(empty, f"llvm-mca cannot simulate it ({' '.join(reason.split()) or 'no output'})")
    return _read(empty, body, ran.stdout)


def _without(loop: Loop, because: str) -> Loop:
    return Loop(loop.first, loop.last, loop.function, loop.spot, instructions=loop.instructions, because=because)


def _read(loop: Loop, body: list[int], text: str) -> Loop:
    totals = {name: float(value) for name, value in _TOTAL.findall(text)}
    table = text.partition("Instructions:\n")[2].partition("\n\n")[0]
    rows = [(int(latency), float(each)) for _, latency, each in _ROW.findall(table)]
    costs = dict(zip(body, rows)) if len(rows) == len(body) else {}
    waits = [(_WORDS[name], float(share)) for name, share in _WAITS.findall(text) if name in _WORDS]
    worst = sorted((one for one in waits if one[1] > 0), key=lambda one: -one[1])
    return Loop(
        loop.first,
        loop.last,
        loop.function,
        loop.spot,
        round(totals["Total Cycles"] / totals["Iterations"], 2),
        totals.get("Block RThroughput", 0.0),
        loop.instructions,
        tuple(worst[:2]),
        costs,
    )


# What passes wait for, as `llvm-mca` calls it and as we do.
_WORDS = {
    "Resource Pressure": "busy units of the processor",
    "Register Dependencies": "results in registers",
    "Memory Dependencies": "results in memory",
}


def _is_instruction(line: str) -> bool:
    text = line.strip()
    return bool(text) and line[0] in " \t" and not text.startswith((".", "#", "//"))


@cache
def _model(program: str, target: str, processor: str, features: frozenset[str]) -> tuple[str, str]:
    """The model to use, and the version of the program."""
    said = subprocess.run([program, "--version"], capture_output=True, text=True, timeout=60, check=False).stdout
    version = next((line.strip() for line in said.splitlines() if "version" in line), "llvm-mca")
    command = [program, f"-mtriple={target}", "-mcpu=help", os.devnull]
    known = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False).stderr
    models = set(re.findall(r"^\s+([\w.-]+)\s+- Select the", known, re.MULTILINE))
    if processor in models:
        return processor, version
    for needs, model in _MODELS.get(target, ()):
        if model in models and (not needs or needs in features):
            return model, version
    raise WeftError(f"llvm-mca has no model of a processor like {processor} ({target})")
