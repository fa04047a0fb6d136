"""Python's parser, where threads disturb one another: a tree that is thrown away is made again."""

from __future__ import annotations

import ast
import sys
from collections.abc import Callable, Iterator
from typing import Any

import pytest

import weft as ti
from weft.ir.errors import Span
from weft.ir.python_tree import python_tree
from weft.ir.written import subscripted
from weft.lang.explore.data import _function_around

MISMATCH = "AST constructor recursion depth mismatch (before=78, after=73)"
thrown: list[Any] = []


@pytest.fixture(autouse=True)
def _disturbed(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Every text that Weft parses is thrown away the first time."""
    thrown.clear()
    usual: Callable[..., Any] = ast.parse

    def parse(text: Any, *arguments: Any, **keywords: Any) -> Any:
        ours = sys._getframe(1).f_globals["__name__"].startswith("weft.")
        if ours and text not in thrown:
            thrown.append(text)
            raise SystemError(MISMATCH)
        return usual(text, *arguments, **keywords)

    monkeypatch.setattr(ast, "parse", parse)
    yield
    assert thrown


@pytest.mark.parametrize("arch", [ti.cpu, ti.python], ids=str)
def test_kernels_and_lambdas(arch: Any):
    ti.init(arch=arch)
    double = lambda v: 2 * v  # noqa: E731

    @ti.func
    def more(v):
        return double(v) + 1

    @ti.kernel
    def run(v: ti.i32) -> ti.i32:
        return more(v)

    assert run(20) == 41


def test_messages_find_the_source_of_a_subscript():
    values = [3]
    values[0] += 1  # the line that is read
    here = test_messages_find_the_source_of_a_subscript.__code__.co_firstlineno + 2
    assert subscripted(Span(__file__, here, 4, here, 13)) == "values"
    assert _function_around(__file__, here)[0] == here - 2


@pytest.mark.parametrize(("message", "most"), [(MISMATCH, 100), ("null argument to internal routine", 1)])
def test_nothing_else_is_tried_again_nor_without_end(message: str, most: int, monkeypatch: pytest.MonkeyPatch):
    def broken(*_: Any) -> Any:
        thrown.append(None)
        raise SystemError(message)

    monkeypatch.setattr(ast, "parse", broken)
    with pytest.raises(SystemError):
        python_tree("1")
    assert len(thrown) <= most
