"""Serializes a kernel's tree for caching. Two trees have the same text only if the compiler generates the same code for
them.

    text, spans = describe(tree)

`describe` writes every field of every node. A new kind of node, or a new field, needs no change here. An object that
occurs several times is written once and referred to by number afterwards: two variables of one name remain two, and an
array in shared memory remains one. The text has no spans, because only messages depend on them. `spans` lists them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields, is_dataclass
from functools import cache
from operator import attrgetter
from typing import Any

from weft.ir.errors import InternalError, Span
from weft.ir.tree import KernelTree, Node
from weft.ir.types import Type

__all__ = ["describe"]

_PLAIN = frozenset((type(None), bool, int, float, str))


def describe(tree: KernelTree) -> tuple[str, list[Span | None]]:
    """The text of a tree, and the span of each node."""
    words: list[str] = []
    spans: list[Span | None] = []
    numbers: dict[Any, int] = {}  # of the objects written so far
    rest: list[Any] = [tree]
    while rest:
        x = rest.pop()
        kind: Any = type(x)
        if kind in _PLAIN:
            words.append(repr(x))  # 1, 1.0 and True differ
        elif kind is list or kind is tuple:
            words.append(f"[{len(x)}")
            rest.extend(reversed(x))
        elif x in numbers:
            words.append(f"#{numbers[x]}")
        else:
            numbers[x] = len(numbers)
            name, parts, is_node = _described(kind)
            words.append(name)
            rest.extend(parts(x))
            if is_node:
                spans.append(x.span)
    return "\n".join(words), spans


@cache
def _described(kind: Any) -> tuple[str, Callable[[Any], Any], bool]:
    """The name of a class, a function that gives the parts of its objects except spans, last part first, and whether it
    is a node."""
    name = str(kind.__name__)
    if issubclass(kind, Type):
        return name, lambda type: (type.text,), False
    is_node = issubclass(kind, Node)
    if not is_dataclass(kind):
        raise InternalError(f"a tree contains an object of class {name}, which cannot be written as text")
    names = [one.name for one in reversed(fields(kind)) if not (is_node and one.name == "span")]
    if len(names) < 2:
        return name, lambda x: [getattr(x, one) for one in names], is_node
    return name, attrgetter(*names), is_node
