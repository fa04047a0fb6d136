"""Functions of the run-time library on sparse nodes are lowered once for all kernels whose nodes are equal."""

from __future__ import annotations

from dataclasses import fields, replace
from typing import Any

import pytest

from tests.sparse_trees import Declared, branch, declare, place
from weft.ir.config import CompileConfig
from weft.ir.core import Block
from weft.ir.ops import Kernel
from weft.ir.parse import parse
from weft.ir.pipeline import TO_LOWERED, TO_TASKS, run_passes
from weft.ir.runtime_library import sparse
from weft.ir.runtime_library.sparse import forget_functions, functions_of
from weft.ir.storage.snode import SNode
from weft.ir.text import print_ir
from weft.ir.types import f32

CONFIG = CompileConfig()


def tree(cells: int = 8, chunk: int = 4) -> Declared:
    """Lists below a pointer node below a hash node."""
    root = SNode("root")
    outer = branch(root, "hash", (0, cells))
    inner = branch(outer, "pointer", (0, 4))
    place(branch(inner, "dynamic", (1, 16), chunk=chunk), "x", f32)
    return declare(root)


def calling(made: Declared) -> Kernel:
    """A lowered kernel that makes elements longer than their lists, and drops some."""
    kernel = parse(
        """kernel @k() -> () {
        %b = const 0 : i32
        %e = const 4 : i32
        %v = const 1.0 : f32
        parallel_for begins=[%b], ends=[%e] (%i: i32) {
          %at = field_ptr @x[%i, %i] : *f32
          store %at, %v
          %w = cast %i : i64
          deactivate @hash[%w]
        }
        }""".replace("@hash", f"@{made.nodes[0].name}"),
        made.fields,
        made.nodes,
    )
    return run_passes(kernel, TO_TASKS + TO_LOWERED, CONFIG)


def texts(functions: list[Kernel]) -> dict[str, str]:
    return {function.symbol: print_ir(function) for function in functions}


def test_equal_nodes_share_functions(monkeypatch: pytest.MonkeyPatch) -> None:
    lowered, count = sparse.lowered, [0]

    def counted(*arguments: Any) -> list[Kernel]:
        count[0] += 1
        return lowered(*arguments)

    monkeypatch.setattr(sparse, "lowered", counted)
    forget_functions()
    first = functions_of([calling(tree())], CONFIG)
    made = count[0]
    assert made == len(first) > 5
    known = texts(first)
    for function in first:  # a pass changes them
        function.body, function.fields = Block(), ()
    again = tree()
    second = functions_of([calling(again)], CONFIG)
    assert count[0] == made
    assert texts(second) == known
    own = {id(part.stored) for node in again.nodes for part in node.parts.values()}
    own |= {id(part) for node in again.nodes for part in node.parts.values()}
    assert all(id(symbol) in own for function in second for symbol in function.fields)


@pytest.mark.parametrize("other", [{"cells": 16}, {"chunk": 8}])
def test_other_nodes_have_functions_of_their_own(other: dict[str, int]) -> None:
    forget_functions()
    functions_of([calling(tree())], CONFIG)
    shared = texts(functions_of([calling(tree(**other))], CONFIG))
    forget_functions()
    assert shared == texts(functions_of([calling(tree(**other))], CONFIG))


def test_each_attribute_tells_nodes_apart() -> None:
    made = tree()
    for node in made.nodes:
        for symbol in (node, node.table):
            for one in fields(symbol):
                other = replace(symbol, **{one.name: ("another",)})  # type: ignore[arg-type]
                numbers = {each: number for number, each in enumerate(made.nodes)}
                assert sparse._facts_of(other, numbers) != sparse._facts_of(symbol, numbers), one.name


def test_options_tell_functions_apart() -> None:
    forget_functions()
    kernel = calling(tree())
    functions_of([kernel], CONFIG)
    plain = replace(CONFIG, advanced_optimization=False)
    shared = texts(functions_of([kernel], plain))
    forget_functions()
    assert shared == texts(functions_of([kernel], plain))
