"""The elements that a kernel accesses, with indices as functions of the numbers that a call passes.

    x[t + 1, i] = x[t, i] * v[i]        writes x[p0 + 1, *], and reads x[p0, *] and v[*]

An index is an expression of Python in `p0`, `p1` and so on, the numbers of the parameters, or None if other things
matter. The accesses come from the tree of the kernel."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from weft.ir import tree
from weft.ir.errors import Span
from weft.ir.transforms.lower_tree_facts import memory_variables, walk
from weft.ir.types import Array, Prim, u1

__all__ = ["Access", "Finder", "Point", "points_of"]

Point = tuple[int, ...]  # the known indices of an access
_LONGEST = 400  # characters of an expression: a chain of variables may double it again and again


@dataclass(frozen=True)
class Access:
    """An element that a kernel reads or writes: the memory ("field:2" or "param:0"), and its indices. `stopped`: what
    is read carries no derivative, because the kernel says so."""

    place: str
    indices: tuple[str | None, ...]
    span: Span | None
    stopped: bool = False

    @property
    def axes(self) -> tuple[int, ...]:
        """The axes whose index is known at a call."""
        return tuple(axis for axis, index in enumerate(self.indices) if index is not None)


def points_of(accesses: Sequence[Access]) -> tuple[list[int], Callable[..., tuple[Point, ...]]]:
    """The numbers of the parameters that the known indices depend on, and the function of these numbers that gives the
    point of each access. It raises ArithmeticError if an index does not fit its type, or divides by 0."""
    texts = ["".join(f"{index}, " for index in access.indices if index is not None) for access in accesses]
    needed = sorted({int(number) for text in texts for number in re.findall(r"\bp(\d+)\b", text)})
    names, tuples = ", ".join(f"p{number}" for number in needed), "".join(f"({text}), " for text in texts)
    scope: dict[str, Any] = {"fit": _fit}
    exec(f"def points({names}): return ({tuples})", scope)  # noqa: S102 - the text is ours
    return needed, scope["points"]


def _fit(number: int, lowest: int, highest: int) -> int:
    """The number. Raises ArithmeticError if its type cannot hold it, so that it has wrapped around."""
    if not lowest <= number <= highest:
        raise ArithmeticError
    return number


class Finder:
    """Collects the accesses in the tree of a kernel, each once."""

    def __init__(self, root: tree.KernelTree) -> None:
        reads, writes = list[Access](), list[Access]()
        self._fields = {symbol: f"field:{number}" for number, symbol in enumerate(root.fields)}
        self._assigned = memory_variables(root)
        self._known: dict[tree.Variable, tree.Expr] = {}
        self._arrays = {f"param:{k}": p.type for k, p in enumerate(root.params) if isinstance(p.type, Array)}
        nodes = list(walk(root))
        for node in nodes:
            if isinstance(node, tree.Let):
                self._known[node.variable] = node.value
            elif isinstance(node, tree.Call):
                self._known.update(node.arguments)
        targets = set[int]()
        for node in nodes:
            if isinstance(node, (tree.Assign, tree.AugAssign, tree.Atomic)):
                self._write(node, writes, targets)
            elif isinstance(node, tree.Invoke):
                self._invoke(node, reads, writes)
        for node in nodes:
            if isinstance(node, (tree.FieldElement, tree.ArrayElement)) and id(node) not in targets:
                self._add(reads, node)
        self.reads, self.writes = _distinct(reads), _distinct(writes)

    def _write(self, node: tree.Assign | tree.AugAssign | tree.Atomic, writes: list[Access], targets: set[int]) -> None:
        target = node.target
        while isinstance(target, (tree.Element, tree.Member)):
            target = target.base
        if not isinstance(target, (tree.FieldElement, tree.ArrayElement)):
            return
        self._add(writes, target)
        only = isinstance(node, tree.Assign) or (isinstance(node, tree.AugAssign) and node.kind in ("add", "sub"))
        if only:
            targets.add(id(target))

    def _invoke(self, node: tree.Invoke, reads: list[Access], writes: list[Access]) -> None:
        """A called function may read everything that it is given, and write what it does not only read."""
        params = [(k, f"param:{a.index}") for k, a in enumerate(node.arguments) if isinstance(a, tree.ParamRef)]
        arrays = [(k, place) for k, place in params if place in self._arrays]
        for one, place in (*arrays, *((symbol, self._fields[symbol]) for symbol in node.touched)):
            for found in (reads,) if one in node.only_read else (reads, writes):
                found.append(Access(place, (), node.span))

    def _add(self, found: list[Access], node: tree.FieldElement | tree.ArrayElement) -> None:
        if isinstance(node, tree.FieldElement):
            place = self._fields[node.field]
        elif isinstance(node.array, tree.ParamRef):
            place = f"param:{node.array.index}"
        else:
            return  # memory of a thread block
        stopped = isinstance(node, tree.FieldElement) and node.stopped
        found.append(Access(place, tuple(map(self._index, node.indices)), node.span, stopped))

    def _index(self, node: tree.Expr) -> str | None:
        """The expression of an integer. None if it depends on other things than the numbers of the call."""
        if isinstance(node, tree.Const) and type(node.value) is int:
            return f"({node.value})"
        if not isinstance(node.type, Prim) or not node.type.is_int or node.type is u1:
            return None
        if isinstance(node, tree.Var):
            known = None if node.variable in self._assigned else self._known.get(node.variable)
            return None if known is None else self._index(known)
        if isinstance(node, tree.ParamRef):
            return f"p{node.index}"
        text = self._computed(node)
        if text is None or len(text) > _LONGEST:
            return None
        highest = (1 << (node.type.bits - node.type.is_signed)) - 1
        lowest = -highest - 1 if node.type.is_signed else 0
        return f"fit({text}, {lowest}, {highest})"

    def _computed(self, node: tree.Expr) -> str | None:
        """The expression of a number as if integers had no bounds."""
        if isinstance(node, tree.Cast):
            return self._index(node.x)
        operator = _OPERATORS.get(node.kind) if isinstance(node, tree.Binary) else None
        if operator is None or not isinstance(node, tree.Binary):
            return None
        left, right = self._index(node.lhs), self._index(node.rhs)
        return None if left is None or right is None else operator.format(left, right)


def _distinct(accesses: Iterable[Access]) -> list[Access]:
    """The first of those accesses that mean the same elements."""
    found: dict[Any, Access] = {}
    for access in accesses:
        found.setdefault((access.place, access.indices, access.stopped), access)
    return list(found.values())


_OPERATORS = {
    "add": "({} + {})",
    "sub": "({} - {})",
    "mul": "({} * {})",
    "floordiv": "({} // {})",
    "mod": "({} % {})",
    "min": "min({}, {})",
    "max": "max({}, {})",
}
