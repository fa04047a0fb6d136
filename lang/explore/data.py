"""The data of the page: the texts of the stages of a kernel, compact enough for long kernels.

Each distinct line of all texts is stored once, with its place. A text is a list of runs of consecutive lines:

    lines   [["kernel @step() -> () {", 1], ["  %0 = const 0 : i32", 2], ...]
    text    [0, 2, 7, 1]        two lines from number 0 on, one from number 7 on
"""

from __future__ import annotations

import ast
import linecache
import re
from collections import Counter
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from weft.ir.errors import WeftError
from weft.ir.python_tree import python_tree
from weft.lang.explore.instructions import explained
from weft.lang.stages.facts import Compiled, task_facts

if TYPE_CHECKING:
    from weft.lang.stages import Stages
    from weft.lang.stages.listing import Line, Listing

__all__ = ["kernel_data"]

# The tabs of the page: the attribute of `Stages`, and the title of the tab.
_LEVELS: tuple[tuple[str, str], ...] = (
    ("tree", "Tree"),
    ("chi", "CHI"),
    ("tasks", "Tasks"),
    ("lowered", "Lowered"),
    ("llvm", "LLVM"),
    ("llvm_optimized", "LLVM optimized"),
    ("asm", "Assembly"),
    ("ptx", "PTX"),
    ("sass", "SASS"),
)


_UNTIMED = "no time: it did not run, or the calling thread ran it alone"
_BESIDE = 1 << 30  # stands for the number of a task: what runs beside the parallel loops
_TASK = re.compile(r"weft_task(\d+)")  # the function of a task in the assembly


def kernel_data(stages: Stages) -> dict[str, Any]:
    """Return everything that the page shows of one kernel, for JSON."""
    texts = _Texts()
    levels = [level for name, title in _LEVELS if (level := _level(stages, name, title, texts)) is not None]
    source = stages.source
    passes, before = list[dict[str, Any]](), None
    for record in stages.passes:
        same = before is not None and (record.ir, record.ir.spots) == (before, before.spots)
        row = {"name": record.name, "changed": record.changed, "ms": round(record.milliseconds, 4)}
        passes.append({**row, "nested": record.nested, "text": None if same else texts.runs(record.ir)})
        before = record.ir
    spots = stages.spots.chains
    shown, places = {spots[spot][0] for spot in source.spots}, {place for chain in spots for place in chain}
    files = sorted({file for file, _ in places}, key=lambda file: (file != min(shown)[0], file))
    numbers = {file: number for number, file in enumerate(files)}
    facts = task_facts(cast(Compiled, stages))  # pyright rejects a cached_property for a property
    _add_times(stages, facts)
    return {
        "name": stages.name,
        "arch": stages.arch,
        "variant": stages.variant,
        "files": files,
        "source": [[numbers[file], first, lines] for file, first, lines in _blocks(source, shown, places)],
        "spots": [[[numbers[file], line] for file, line in chain] for chain in spots],
        "levels": levels,
        "passes": passes,
        "times": [[name, round(ms, 3)] for name, ms in stages.times.items()],
        "costs": _simulate(stages, facts),
        "samples": _samples(stages, files, facts),
        "facts": facts,
        "lines": texts.lines,
        "instructions": _instructions(stages, levels, texts),
    }


def _instructions(stages: Stages, levels: list[dict[str, Any]], texts: _Texts) -> dict[str, dict[str, str]]:
    """What the instructions of each level do, and of the passes, by name."""
    shown = {level["name"]: getattr(stages, level["name"]).splitlines() for level in levels if level["text"]}
    found = {name: explained(name, lines) for name, lines in shown.items()}
    return {**found, "passes": explained("passes", [line for line, _ in texts.lines])}


def _add_times(stages: Stages, facts: list[dict[str, Any]]) -> None:
    """Add the measured times to the facts of the tasks, if there are any."""
    for number, card in enumerate(facts if stages.task_times is not None else ()):
        seconds, launches = (stages.task_times or {}).get(number, (0.0, 0))
        said = f"{1e3 * seconds:.3g} ms, the least of {launches} launches" if launches else _UNTIMED
        card["rows"].append(("measured", said))


def _samples(stages: Stages, files: list[str], facts: list[dict[str, Any]]) -> dict[str, list[tuple[float, str]]]:
    """Return the share of the samples of each line and what it is a share of, by the number of the file and of the
    line. The cards of tasks say how many samples they have."""
    if stages.line_samples is None:
        return {}
    tasks: dict[int, Counter[tuple[str, int]]] = {}
    for name, found in stages.line_samples.items():
        match = _TASK.match(name)
        counts = tasks.setdefault(int(match[1]) if match else _BESIDE, Counter())
        counts.update(found.lines)
        counts["", 0] += found.unknown
    shares: dict[str, list[tuple[float, str]]] = {}
    for task, counts in sorted(tasks.items()):
        total = counts.total()
        seconds, launches = (stages.task_times or {}).get(task, (0.0, 0))
        where = "the code beside the parallel loops" if task == _BESIDE else f"task {task}"
        for (file, line), count in counts.items():
            key = _place(files, file, line)
            if key and count:
                said = f"{count} of {total} samples of {where}"
                about = f", about {1e3 * seconds * count / total:.2g} ms" if launches else ""
                shares.setdefault(key, []).append((count / total, said + about))
        if task < len(facts):
            said = f"{total} samples, {counts['', 0]} of no line"
            facts[task]["rows"].append(("lines", said))
    return {key: sorted(found, reverse=True) for key, found in shares.items()}


def _place(files: list[str], file: str, line: int) -> str:
    """The key of a line. A file without a folder is in that of the kernel. "": the page does not have the file."""
    for same in (lambda known: known == file, lambda known: Path(known).name == file):
        for number, known in enumerate(files):
            if file and same(known):
                return f"{number}:{line}"
    return ""


def _simulate(stages: Stages, facts: list[dict[str, Any]]) -> dict[int, tuple[int, float]]:
    """Add what `llvm-mca` says of loops to the facts of their tasks. Returns the costs of instructions by their line of
    the assembly, from 0 on."""
    try:
        found = stages.throughput
    except WeftError as error:
        for card in facts[:1]:
            card["rows"].append(("simulated", str(error)))
        return {}
    costs: dict[int, tuple[int, float]] = {}
    for loop in found.loops if found is not None else ():
        task = _TASK.match(loop.function)
        if found is not None and task is not None and int(task[1]) < len(facts):
            said = f"line {loop.first + 1} of the assembly: {loop} ({found.model})"
            facts[int(task[1])]["rows"].append(("simulated", said))
            costs |= loop.costs
    return costs


def _level(stages: Stages, name: str, title: str, texts: _Texts) -> dict[str, Any] | None:
    """Return the data of a tab. If NVIDIA's tools are missing, the tab says so. None if the arch has no such stage."""
    try:
        listing: Listing | None = getattr(stages, name)
    except WeftError as error:
        return {"name": name, "title": title, "text": [], "missing": str(error)}
    return None if listing is None else {"name": name, "title": title, "text": texts.runs(listing)}


class _Texts:
    """The lines of all texts."""

    def __init__(self) -> None:
        self.lines: list[tuple[str, int]] = []
        self._numbers: dict[tuple[str, int], int] = {}

    def runs(self, listing: Listing) -> list[int]:
        """Return a text as runs: begin and length of the first run, of the second, and so on."""
        numbers = [self._number(line) for line in zip(listing.splitlines(), listing.spots, strict=True)]
        breaks = [k for k, (a, b) in enumerate(pairwise(numbers), 1) if b != a + 1]
        ends = [*breaks, len(numbers)] if numbers else []
        return [part for start, end in zip([0, *breaks], ends) for part in (numbers[start], end - start)]

    def _number(self, line: tuple[str, int]) -> int:
        number = self._numbers.get(line)
        if number is None:
            number = self._numbers[line] = len(self.lines)
            self.lines.append(line)
        return number


def _blocks(text: str, kernel: set[Line], places: set[Line]) -> list[tuple[str, int, list[str]]]:
    """Return the source to show as (file, first line, lines): the kernel, whose text is given, then each function that
    lines refer to and whose source is available."""
    blocks = [(*min(kernel), text.splitlines())]
    covered = set(kernel)
    for file, line in sorted(places - kernel):
        if (file, line) in covered:
            continue
        first, last = _function_around(file, line)
        covered |= {(file, number) for number in range(first, last + 1)}
        lines = [linecache.getline(file, number).rstrip() for number in range(first, last + 1)]
        if any(lines):
            blocks.append((file, first, lines))
    return blocks


def _function_around(file: str, line: int) -> tuple[int, int]:
    """Return the first and last line of the innermost function around a line, or the line itself if there is none."""
    try:
        tree = python_tree("".join(linecache.getlines(file)), Path(file).name)
    except (SyntaxError, ValueError):
        return line, line
    functions = [
        (min([node.lineno, *(d.lineno for d in node.decorator_list)]), node.end_lineno or node.lineno)
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef)
    ]
    around = [(first, last) for first, last in functions if first <= line <= last]
    return max(around, default=(line, line))
