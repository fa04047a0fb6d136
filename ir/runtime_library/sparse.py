"""The functions of the run-time library that kernels with sparse fields call.

What a function is depends on the nodes of its kernel and on the options, and on nothing else. So it is lowered once for
all kernels that have equal nodes: the functions of a hash node take longer to lower than most kernels. Two nodes are
equal if all attributes of them and of their parts are, by `_facts_of`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from functools import lru_cache

from weft.ir.calls import called
from weft.ir.config import CompileConfig
from weft.ir.core import Value
from weft.ir.ops import Kernel
from weft.ir.runtime_library.functions import lowered, unchecked
from weft.ir.runtime_library.hashed_cells import HashedCells
from weft.ir.runtime_library.sparse_cells import SparseCells
from weft.ir.symbols import FieldSymbol, NodeSymbol

__all__ = ["forget_functions", "functions_of"]

_KEPT = 256  # how many functions are kept, those that were asked for last


def functions_of(kernels: Sequence[Kernel], config: CompileConfig) -> list[Kernel]:
    """The lowered functions that these lowered kernels call, besides those among the kernels themselves."""
    known, found = {kernel.symbol for kernel in kernels}, list[Kernel]()
    trees = {node.name: (node, kernel.nodes) for kernel in reversed(kernels) for node in kernel.nodes}
    owners = sorted(trees, key=len, reverse=True)
    own = unchecked(config)
    wanted = sorted(name for kernel in kernels for name in called(kernel))
    for name in wanted:  # grows
        if name in known:
            continue
        for owner in (one for one in owners if name.startswith(f"{one}_")):
            node, nodes = trees[owner]
            made = _function(name, _Nodes.of(node, nodes), own)
            if made is not None:
                known.add(name)
                found.append(_copy(made, nodes))
                wanted += sorted(called(found[-1]))
                break
    return found


def forget_functions() -> None:
    """Lower all functions anew from now on, for tests that change their text."""
    _function.cache_clear()
    _functions.cache_clear()


@dataclass(frozen=True)
class _Nodes:
    """A node and all nodes of its kernel, which are equal if their facts are."""

    facts: tuple[object, ...]
    node: NodeSymbol = field(compare=False)
    nodes: tuple[NodeSymbol, ...] = field(compare=False)

    @staticmethod
    def of(node: NodeSymbol, nodes: Sequence[NodeSymbol]) -> _Nodes:
        numbers = {one: number for number, one in enumerate(nodes)}
        return _Nodes((numbers[node], *(_facts_of(one, numbers) for one in nodes)), node, tuple(nodes))


def _facts_of(symbol: NodeSymbol | FieldSymbol, numbers: Mapping[NodeSymbol, int]) -> tuple[object, ...]:
    """All attributes of a node or a part of it. `numbers`: what stands for a node that is an attribute itself."""
    found = list[object]()
    for one in fields(symbol):
        value = getattr(symbol, one.name)
        if isinstance(value, NodeSymbol):
            value = "node", numbers.get(value, value)
        found.append(_facts_of(value, numbers) if isinstance(value, FieldSymbol) else value)
    return tuple(found)


@lru_cache(_KEPT)
def _function(name: str, tree: _Nodes, config: CompileConfig) -> Kernel | None:
    """The function of that name of a node, lowered. None if the node has none. It must not be changed."""
    made = _functions(tree).get(name)
    return None if made is None else lowered([made], config)[0]


@lru_cache(16)
def _functions(tree: _Nodes) -> dict[str, Kernel]:
    """All functions of a node, by their names. They must not be changed."""
    return (HashedCells if tree.node.hashed else SparseCells)(tree.node, tree.nodes).functions()


def _copy(function: Kernel, nodes: Sequence[NodeSymbol]) -> Kernel:
    """A copy for a kernel with these nodes, whose symbols take the place of those that it was made with."""
    copy = function.clone(dict[Value, Value]())
    assert isinstance(copy, Kernel)
    own: dict[str, NodeSymbol | FieldSymbol] = {node.name: node for node in nodes}
    for part in (part for node in nodes for part in node.parts.values()):
        own |= {part.name: part, part.stored.name: part.stored}
    for op in copy.walk():
        for name in op.attribute_names:
            value = getattr(op, name)
            if isinstance(value, (NodeSymbol, FieldSymbol)):
                setattr(op, name, own[value.name])
    copy.fields = tuple(own[one.name] for one in function.fields)  # type: ignore[misc]
    copy.nodes = tuple(own[one.name] for one in function.nodes)  # type: ignore[misc]
    return copy
