"""Launch the tasks of a kernel as one CUDA graph. The graph is built once; each call updates the parameters of its
nodes, then launches it.

On the host, this takes less time than the launch of a single task (see docs/adr/0009-graphs.md). `graph_ir.py` is the
native half.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from typing import Any

from weft.runtime.cuda_driver import CudaError, Driver
from weft.runtime.graph_ir import HEADER
from weft.runtime.jit import Code

__all__ = ["Graph", "graph_of"]


class Graph:
    """The launches of functions in sequence. `node` and `flush` are the functions above, `queue` is the record that
    they take. The graph is destroyed with this object, if the context is `usable` then."""

    def __init__(
        self,
        driver: Driver,
        stream: int,
        runtime: Code,
        entries: Sequence[tuple[int, int]],
        words: int,
        usable: Callable[[], bool],
    ) -> None:
        """`entries` gives each function and the number of threads in its block, because the driver rejects another
        number where the code requires one. `words` is the size of the parameters of a function."""
        self._usable, self._made = usable, list[tuple[Callable[[int], None], int]]()
        block = (ctypes.c_int64 * words)()
        params = (ctypes.c_void_p * 1)(ctypes.addressof(block))
        graph = self._own(driver.destroy_graph, driver.create_graph())
        nodes: list[int] = []
        for function, threads in entries:
            after = nodes[-1] if nodes else 0
            nodes.append(driver.add_kernel(graph, after, function, threads, ctypes.addressof(params)))
        executable = self._own(driver.destroy_executable, driver.instantiate(graph))
        calls = ("cuGraphExecKernelNodeSetParams", "cuGraphLaunch", "cuGraphNodeSetEnabled")
        header = (*map(driver.address, calls), executable, stream, len(nodes), 0, 0)
        words_of_nodes = [word for (function, _), node in zip(entries, nodes) for word in (function, node, 1)]
        self._record: Any = (ctypes.c_uint64 * (HEADER + len(words_of_nodes)))(*header, *words_of_nodes)
        self.node, self.flush = runtime["graph_node"], runtime["graph_flush"]
        self.queue = ctypes.addressof(self._record)

    def _own(self, destroy: Callable[[int], None], handle: int) -> int:
        self._made.append((destroy, handle))
        return handle

    def __del__(self) -> None:
        if self._usable():
            for destroy, handle in reversed(self._made):
                destroy(handle)


def graph_of(
    driver: Driver,
    stream: int,
    runtime: Code,
    entries: Sequence[tuple[int, int]],
    words: int,
    usable: Callable[[], bool],
) -> Graph | None:
    """Return the graph of those entries. None if there is nothing to launch, or if the driver does not support it."""
    if not entries:
        return None
    try:
        return Graph(driver, stream, runtime, entries, words, usable)
    except CudaError:  # the driver cannot put these into a graph: launch them one by one
        return None
