"""Random sparse trees and random kernels on them: lowered, they do what they mean."""

from __future__ import annotations

from dataclasses import replace
from random import Random

import pytest

from tests.ir.test_sparse_lowering import PLAIN, compare
from tests.sampling import draws
from tests.sparse_programs import Draw, drawn_tree


@pytest.mark.parametrize("seed", range(draws(64)))
def test_random_series_of_kernels(seed: int) -> None:
    rng = Random(seed)
    made = drawn_tree(rng)
    draw = Draw(rng, made)
    bodies = [(draw.body(), "") for _ in range(3)]
    compare(made, bodies, replace(PLAIN, verify=seed % 8 == 7, threads=rng.choice((1, 3))))
