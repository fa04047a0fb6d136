"""Random sparse trees and random kernels on them: lowered, they do what they mean."""

from __future__ import annotations

from dataclasses import replace
from random import Random

import pytest

from tests.ir.test_sparse_lowering import PLAIN, agree, compare, kernel_of
from tests.sampling import draws
from tests.sparse_programs import Draw, drawn_tree, twin_tree
from tests.sparse_trees import lower
from weft.ir.evaluate import Memory, evaluate
from weft.ir.interleaving import Schedule
from weft.ir.target import CPU
from weft.ir.types import flatten


@pytest.mark.parametrize("seed", range(draws(64)))
def test_random_series_of_kernels(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("weft.ir.storage.layout.PIECE", 1)
    monkeypatch.setattr("weft.ir.transforms.activate_ahead._FEW", 0)
    rng = Random(seed)
    made = drawn_tree(rng)
    draw = Draw(rng, made)
    bodies = [(draw.body(), "") for _ in range(3)]
    traits = replace(CPU, piece=rng.choice((1, 2, 5, 1024)), groups=rng.choice((1, 3, 8)))
    compare(made, bodies, replace(PLAIN, verify=seed % 8 == 7, threads=rng.choice((1, 3)), traits=traits))


@pytest.mark.parametrize("seed", range(draws(64)))
def test_random_loops_over_one_of_two_trees(seed: int) -> None:
    rng = Random(f"twins {seed}")
    made = twin_tree(rng)
    draw = Draw(rng, made)
    bodies = [(draw.scatter(), ""), (draw.mirror(), ""), (draw.scatter(), ""), (draw.mirror(), "")]
    compare(made, bodies, replace(PLAIN, verify=seed % 8 == 7, threads=rng.choice((1, 3))))


@pytest.mark.parametrize("weak", [False, True])
@pytest.mark.parametrize("seed", range(draws(16)))
def test_any_order_of_iterations_leaves_the_same(seed: int, weak: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("weft.ir.storage.layout.PIECE", 1)
    monkeypatch.setattr("weft.ir.transforms.activate_ahead._FEW", 0)
    rng = Random(f"order {seed}")
    made = drawn_tree(rng)
    draw, config = (
        Draw(rng, made),
        replace(PLAIN, verify=False, traits=replace(CPU, piece=rng.choice((2, 5)), groups=3)),
    )
    meant, stored = Memory.of(made.fields, made.nodes), Memory.of(made.fields, made.nodes)
    for _ in range(3):
        body = draw.body()
        evaluate(kernel_of(made, body), [], meant, config)
        kernel, functions = lower(kernel_of(made, body), config)
        evaluate(kernel, [], stored, config, functions=functions, schedule=Schedule(seed, weak))
        agree(made, meant, stored)


@pytest.mark.parametrize("seed", range(draws(400)))
def test_all_numbers_are_aligned(seed: int) -> None:
    """A GPU loads and stores a number only at a multiple of its size."""
    made = drawn_tree(Random(f"aligned {seed}"))
    for symbol in (*made.fields, *(part for node in made.nodes for part in node.parts.values())):
        stored = symbol.stored
        dense, size = stored.path.dense, flatten(stored.dtype)[0].size
        assert dense is not None
        places = [*stored.components, dense.offset, *(term.stride for term in dense.terms if term.modulus > 1)]
        assert not any(place % size for place in places), symbol.name
