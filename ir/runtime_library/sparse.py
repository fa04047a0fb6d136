"""The functions of the run-time library that kernels with sparse fields call."""

from __future__ import annotations

from collections.abc import Sequence

from weft.ir.calls import called
from weft.ir.config import CompileConfig
from weft.ir.ops import Kernel
from weft.ir.runtime_library.functions import lowered
from weft.ir.runtime_library.hashed_cells import HashedCells
from weft.ir.runtime_library.sparse_cells import SparseCells

__all__ = ["functions_of"]


def functions_of(kernels: Sequence[Kernel], config: CompileConfig) -> list[Kernel]:
    """The lowered functions that these lowered kernels call, besides those among the kernels themselves."""
    known, found, library = {kernel.symbol for kernel in kernels}, list[Kernel](), dict[str, Kernel]()
    for kernel in reversed(kernels):
        for node in kernel.nodes:
            library |= (HashedCells if node.hashed else SparseCells)(node, kernel.nodes).functions()
    wanted = sorted(name for kernel in kernels for name in called(kernel))
    for name in wanted:  # grows
        if name not in known and name in library:
            known.add(name)
            found += lowered([library[name]], config)
            wanted += sorted(called(found[-1]))
    return found
