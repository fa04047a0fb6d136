"""Each simplification and each step of lowering on a small kernel: the whole text after it, and the same meaning.

`golden/passes/NAME.before.chi` is the input (its first line names the level); `NAME.chi` is what the pass makes of it.
The passes that cut kernels into tasks have theirs in `test_task_passes.py`."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from weft.ir.config import CompileConfig
from weft.ir.evaluate import Memory, evaluate
from weft.ir.ops import Kernel
from weft.ir.parse import parse
from weft.ir.pipeline import LEVEL_AFTER, TO_LOWERED, TO_TASKS, find_pass, run_passes
from weft.ir.text import print_ir
from weft.ir.types import flatten
from weft.ir.verify import verify

FOLDER = Path(__file__).parent / "golden" / "passes"
NAMES = sorted(path.name.removesuffix(".before.chi") for path in FOLDER.glob("*.before.chi"))
CHECKS = {
    "bounds": CompileConfig(fast_math=False, debug=True),
    "check_arithmetic": CompileConfig(fast_math=False, debug=True, check_nan=True),
    "mask_accesses": CompileConfig(fast_math=False, mask_out_of_bounds=True),
}
EVERY = sorted(path for path in (Path(__file__).parents[1]).rglob("golden/**/*.chi"))


def source(name: str) -> tuple[str, Kernel]:
    text = (FOLDER / f"{name}.before.chi").read_text()
    level = text.split("\n", 1)[0].removeprefix("# ")
    kernel = parse(text)
    verify(kernel, level)
    return level, kernel


def meaning(kernel: Kernel) -> tuple[Any, list[Any]]:
    """Results and memory after a run on fixed numbers."""
    memory = Memory.of(kernel.fields)
    for symbol in kernel.fields:
        memory.write(symbol, np.arange(1, memory.read(symbol).size + 1).reshape(memory.read(symbol).shape))
    args = [np.arange(2, 2 + len(flatten(p.type))).tolist() for p in kernel.params]
    values = [arg[0] if len(arg) == 1 else np.reshape(arg, shape_of(p.type)) for arg, p in zip(args, kernel.params)]
    results = evaluate(kernel, values, memory, CompileConfig(fast_math=False))
    return results, [memory.read(symbol) for symbol in kernel.fields]


def shape_of(type: Any) -> tuple[int, ...]:
    shape: tuple[int, ...] = type.shape
    return shape


@pytest.mark.parametrize("name", NAMES)
def test_text(name: str, golden: Callable[[str, str], None]) -> None:
    level, kernel = source(name)
    assert find_pass(name)(kernel, CHECKS.get(name, CompileConfig()))
    verify(kernel, LEVEL_AFTER.get(name, level))
    golden(f"passes/{name}.chi", print_ir(kernel).rstrip() + "\n")


@pytest.mark.parametrize("name", NAMES)
def test_meaning(name: str) -> None:
    _, kernel = source(name)
    before = meaning(kernel)
    find_pass(name)(kernel, CHECKS.get(name, CompileConfig(fast_math=False)))
    after = meaning(kernel)
    np.testing.assert_equal(after, before)


@pytest.mark.parametrize("name", NAMES)
def test_passes_say_whether_they_changed_anything(name: str) -> None:
    level, kernel = source(name)
    names = {"untyped": TO_TASKS, "chi": TO_TASKS, "tasks": (name,)}
    texts = [print_ir(kernel)]

    def compare(name: str, kernel: Kernel, changed: bool, *_: float) -> None:
        texts.append(print_ir(kernel))
        if name not in ("full_simplify", "lower_access"):  # one tells of what others have done, one runs once
            assert changed == (texts[-1] != texts[-2]), name

    config = CHECKS.get(name, CompileConfig())
    if level in names:
        run_passes(kernel, (*names[level], *names[level][-1:], *TO_LOWERED), config, compare, level)
    else:
        run_passes(kernel, (name, name), config, compare, level)


@pytest.mark.parametrize("path", EVERY, ids=lambda path: path.name)
def test_every_golden_kernel_round_trips(path: Path) -> None:
    text = path.read_text()
    body = "".join(line for line in text.splitlines(keepends=True) if not line.startswith("#"))
    assert print_ir(parse(text)).rstrip() == body.rstrip()
