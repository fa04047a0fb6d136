"""The functions of the run-time library that kernels with sparse fields call."""

from __future__ import annotations

from collections.abc import Sequence

from weft.ir.calls import called
from weft.ir.config import CompileConfig
from weft.ir.ops import Kernel
from weft.ir.runtime_library.functions import lowered
from weft.ir.runtime_library.hashed_cells import HashedCells
from weft.ir.runtime_library.sparse_cells import SparseCells
from weft.ir.symbols import NodeSymbol

__all__ = ["functions_of"]


def functions_of(kernels: Sequence[Kernel], config: CompileConfig) -> list[Kernel]:
    """The lowered functions that these lowered kernels call, besides those among the kernels themselves."""
    known, found, library = {kernel.symbol for kernel in kernels}, list[Kernel](), dict[str, Kernel]()
    nodes = {node.name: (node, kernel.nodes) for kernel in reversed(kernels) for node in kernel.nodes}
    wanted = sorted(name for kernel in kernels for name in called(kernel))
    for name in wanted:  # grows
        for own in [own for own in nodes if name.startswith(f"{own}_")]:  # only nodes whose functions are called
            library |= _functions(*nodes.pop(own))
        if name not in known and name in library:
            known.add(name)
            found += lowered([library[name]], config)
            wanted += sorted(called(found[-1]))
    return found


def _functions(node: NodeSymbol, nodes: Sequence[NodeSymbol]) -> dict[str, Kernel]:
    """All functions of a node, by their names."""
    return (HashedCells if node.hashed else SparseCells)(node, nodes).functions()
