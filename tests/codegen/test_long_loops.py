"""Loops whose length each iteration finds out are written twice: for few rounds, and cut into stretches."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import weft as ti
from weft.codegen.llvm import control_ops
from weft.ir.mapping import stretches

STEPS = (1, -1, 2, -3, 7)


@pytest.fixture
def soon(monkeypatch: pytest.MonkeyPatch) -> None:
    """A few rounds are many already, and stretches are short."""
    monkeypatch.setattr(control_ops, "LIKELY", 3)
    monkeypatch.setattr(control_ops, "_PATIENCE", 2)
    monkeypatch.setattr(stretches, "_STRETCH", 40.0)
    ti.init(arch=ti.cpu, offline_cache=False)


def _bounds(type: str, step: int) -> list[tuple[int, int]]:
    """Of ranges of few and of many rounds, at both ends of the type; some are empty."""
    info = np.iinfo(np.dtype(type.replace("i", "int")))
    low, high = int(info.min), int(info.max)
    pairs = [(b, b + n) for n in (0, 1, 3, 4, 5, 13, 20, 1000) for b in (low, -7, high - n)]
    pairs += [(5, 3), (high, low)]
    return pairs if step > 0 else [(end, begin) for begin, end in pairs]


def _rounds(begin: int, end: int, step: int) -> list[int]:
    """How many rounds there are, and the sum of what each makes of its index."""
    return [len(range(begin, end, step)), sum(i % 1009 for i in range(begin, end, step))]


def _rounds_until(begin: int, end: int, step: int) -> list[int]:
    """The same for a loop with `continue` and `break`."""
    count = total = 0
    for i in range(begin, end, step):
        if i % 3 == 0:
            continue
        if count >= 50:
            break
        count += 1
        total += i % 1009
    return [count, total]


def _run(type: Any, step: int, pairs: list[tuple[int, int]], until: bool) -> Any:
    begins, ends = ti.field(type, len(pairs)), ti.field(type, len(pairs))
    out = ti.field(ti.i64, (len(pairs), 2))
    begins.from_numpy(np.array([begin for begin, _ in pairs], begins.to_numpy().dtype))
    ends.from_numpy(np.array([end for _, end in pairs], ends.to_numpy().dtype))

    @ti.kernel
    def run():
        for k in begins:
            count, total = ti.i64(0), ti.i64(0)
            for i in range(begins[k], ends[k], step):
                if ti.static(until):
                    if i % 3 == 0:
                        continue
                    if count >= 50:
                        break
                count += 1
                total += i % 1009
            out[k, 0], out[k, 1] = count, total

    run()
    return out.to_numpy().tolist()


@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize("type", ["i32", "i64"])
@pytest.mark.parametrize("until", [False, True])
def test_every_round_once(soon: None, type: str, step: int, until: bool) -> None:
    pairs = _bounds(type, step)
    wanted = [(_rounds_until if until else _rounds)(*pair, step) for pair in pairs]
    assert _run(getattr(ti, type), step, pairs, until) == wanted


def test_long_ones_as_they_come() -> None:
    """Without a change of the limits: both versions, and the look between them."""
    ti.init(arch=ti.cpu, offline_cache=False)
    ends, out = ti.field(ti.i64, 4), ti.field(ti.i64, (2, 4))

    @ti.kernel
    def run():
        for k in ends:
            for i in range(ends[k]):
                out[0, k] += i ^ k
            for i in range(k, ends[k], 2):
                out[1, k] += i ^ k

    lengths = [stretches.LIKELY - 1, stretches.LIKELY, 3 * stretches.LIKELY, 5_000_001]
    ends.from_numpy(np.array(lengths))
    run()
    assert out.to_numpy().tolist() == [
        [int((np.arange(n) ^ k).sum()) for k, n in enumerate(lengths)],
        [int((np.arange(k, n, 2) ^ k).sum()) for k, n in enumerate(lengths)],
    ]
