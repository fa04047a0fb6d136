"""The comparison with other compilers: every row of its tables has an answer for each of them."""

from __future__ import annotations

import re

from tests.docs.public_names import ROOT

PEERS = ["Weft", "Taichi", "Numba", "Warp", "Triton"]


def rows() -> list[list[str]]:
    text = (ROOT / "docs" / "compare.md").read_text(encoding="utf-8")
    lines = [line for line in text.splitlines() if line.startswith("|") and not line.startswith("|---")]
    return [[cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]] for line in lines]


def test_each_row_has_an_answer_for_each() -> None:
    heads = [row for row in rows() if row[0] == ""]
    assert len(heads) == 6
    assert all(head[1:] == PEERS for head in heads)
    answers = [row for row in rows() if row[0]]
    assert len(answers) > 35
    assert all(len(row) == 6 and all(row) for row in answers), "a cell is empty"
    assert len({row[0] for row in answers}) == len(answers)


def test_weft_has_less_somewhere() -> None:
    """A table in which one column always wins is no comparison."""
    lacking = [
        row[0] for row in rows() if row[0] and re.match(r"no\b|compiles only|object files only|none yet", row[1])
    ]
    assert len(lacking) >= 5
