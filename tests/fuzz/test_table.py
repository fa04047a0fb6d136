"""Random programs have each construct in each other, and before each other; what they do not have is an error."""

from collections import Counter

import numpy as np
import pytest

import weft as ti
from tests.fuzz.nodes import contents
from tests.fuzz.program import draw
from tests.fuzz.refused import REFUSED
from tests.fuzz.rows import ROWS
from tests.fuzz.table import CELLS, count, goals_of, shown
from weft.ir.errors import CompilationError

_FEW, _MANY = 250, 40_000


def programs(first, last):
    return (draw(f"table-{number}", goals_of(number)) for number in range(first, last))


def test_a_few_programs_have_every_construct():
    met: Counter[str] = Counter()
    for program in programs(0, _FEW):
        for _, body in program.roots():
            for stmt in body.stmts:
                met.update({stmt.row, *contents(stmt)})
    missing = {name for name in ROWS if not met[name]} - {"kernel", "func", "real func", "recursive func"}
    assert not missing, f"{_FEW} programs have no {', '.join(sorted(missing))}"


def test_a_few_programs_fill_most_of_the_table():
    met = count(programs(0, _FEW))
    assert sum(1 for cell in CELLS if met[cell]) > 0.6 * len(CELLS), shown(met)


@pytest.mark.slow
@pytest.mark.exhaustive
def test_no_cell_of_the_table_is_empty():
    met: Counter[tuple[str, str, str]] = Counter()
    for first in range(0, _MANY, 1000):
        met += count(programs(first, first + 1000))
        if all(met[cell] for cell in CELLS):
            return
    pytest.fail(shown(met))


def test_a_program_is_the_same_each_time_it_is_drawn():
    for number in range(20):
        assert draw(f"twice-{number}", goals_of(number)).source == draw(f"twice-{number}", goals_of(number)).source


@pytest.mark.parametrize("cell", REFUSED, ids=" ".join)
def test_what_no_program_has_is_an_error(cell, tmp_path):
    refusal = REFUSED[cell]
    ti.init(arch=ti.cpu)
    x = ti.field(ti.i32, 8)
    path = tmp_path / "program.py"
    path.write_text(refusal.program)
    space = {"ti": ti, "x": x, "cells": x.parent()}
    try:
        exec(compile(refusal.program, str(path), "exec"), space)
        with pytest.raises(CompilationError, match=refusal.message):
            space["run"](np.zeros(4, np.int32))
    finally:
        ti.reset()
