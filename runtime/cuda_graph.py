"""A kernel's launches as one CUDA graph, built once: each call gives its nodes new parameters, then launches it.

That costs the host less than launching even a single task (see docs/adr/0009-graphs.md). To the native code that
launches a kernel (`codegen/cuda_host.py`) a graph looks like the driver: `graph_node` has the arguments of
cuLaunchKernel, with the graph's record in place of the stream, and `graph_flush` sends off what was collected. A task
whose box is empty is not launched; its node is switched off. The record, in 8-byte words:

    0 cuGraphExecKernelNodeSetParams   1 cuGraphLaunch   2 cuGraphNodeSetEnabled   3 the executable graph
    4 the stream   5 how many nodes   6 which is next   7 unused   8.. of each node: function, node, whether it is on
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

from weft.runtime.cuda_driver import CudaError, Driver
from weft.runtime.jit import Code, Loader, emit

__all__ = ["Graph", "NodeParams", "graph_of"]

_OLDEST_DRIVER = 11_060  # cuGraphNodeSetEnabled
_HEADER, _NODE = 8, 3
_MISFIT = 1  # CUDA_ERROR_INVALID_VALUE

# CUDA_KERNEL_NODE_PARAMS_v1: function, grid, block, shared bytes, parameters, extra.
_IR = f"""
define i32 @graph_node(ptr %f, i32 %gx, i32 %gy, i32 %gz, i32 %bx, i32 %by, i32 %bz, i32 %shared, ptr %record,
                       ptr %params, ptr %extra) {{
entry:
  %node.params = alloca {{ ptr, [6 x i32], i32, i32, ptr, ptr }}, align 8
  store ptr %f, ptr %node.params
  %sizes = getelementptr i8, ptr %node.params, i64 8
  store i32 %gx, ptr %sizes
  %gy.at = getelementptr i32, ptr %sizes, i64 1
  store i32 %gy, ptr %gy.at
  %gz.at = getelementptr i32, ptr %sizes, i64 2
  store i32 %gz, ptr %gz.at
  %bx.at = getelementptr i32, ptr %sizes, i64 3
  store i32 %bx, ptr %bx.at
  %by.at = getelementptr i32, ptr %sizes, i64 4
  store i32 %by, ptr %by.at
  %bz.at = getelementptr i32, ptr %sizes, i64 5
  store i32 %bz, ptr %bz.at
  %shared.at = getelementptr i32, ptr %sizes, i64 6
  store i32 %shared, ptr %shared.at
  %params.at = getelementptr i8, ptr %node.params, i64 40
  store ptr %params, ptr %params.at
  %extra.at = getelementptr i8, ptr %node.params, i64 48
  store ptr %extra, ptr %extra.at
  %next.at = getelementptr i64, ptr %record, i64 6
  br label %search
search:
  %next = load i64, ptr %next.at
  %count.at = getelementptr i64, ptr %record, i64 5
  %count = load i64, ptr %count.at
  %some = icmp ult i64 %next, %count
  br i1 %some, label %look, label %misfit
misfit:
  store i64 0, ptr %next.at
  ret i32 {_MISFIT}
look:
  %node.at = call ptr @graph_place(ptr %record, i64 %next)
  %function = load ptr, ptr %node.at
  %is.it = icmp eq ptr %function, %f
  %after = add i64 %next, 1
  store i64 %after, ptr %next.at
  %switched = call i32 @graph_switch(ptr %record, ptr %node.at, i1 %is.it)
  %well = icmp eq i32 %switched, 0
  br i1 %well, label %go, label %fail
fail:
  %status = phi i32 [ %switched, %look ], [ %set.status, %set ]
  store i64 0, ptr %next.at
  ret i32 %status
go:
  br i1 %is.it, label %set, label %search
set:
  %update = load ptr, ptr %record
  %graph.at = getelementptr ptr, ptr %record, i64 3
  %graph = load ptr, ptr %graph.at
  %handle.at = getelementptr ptr, ptr %node.at, i64 1
  %handle = load ptr, ptr %handle.at
  %set.status = call i32 %update(ptr %graph, ptr %handle, ptr %node.params)
  %is.set = icmp eq i32 %set.status, 0
  br i1 %is.set, label %done, label %fail
done:
  ret i32 0
}}

define i32 @graph_flush(ptr %record) {{
entry:
  %next.at = getelementptr i64, ptr %record, i64 6
  %first = load i64, ptr %next.at
  store i64 0, ptr %next.at
  %count.at = getelementptr i64, ptr %record, i64 5
  %count = load i64, ptr %count.at
  br label %rest
rest:
  %next = phi i64 [ %first, %entry ], [ %after, %off ]
  %some = icmp ult i64 %next, %count
  br i1 %some, label %off, label %go
off:
  %node.at = call ptr @graph_place(ptr %record, i64 %next)
  %status = call i32 @graph_switch(ptr %record, ptr %node.at, i1 false)
  %after = add i64 %next, 1
  %well = icmp eq i32 %status, 0
  br i1 %well, label %rest, label %fail
fail:
  ret i32 %status
go:
  %launch.at = getelementptr ptr, ptr %record, i64 1
  %launch = load ptr, ptr %launch.at
  %graph.at = getelementptr ptr, ptr %record, i64 3
  %graph = load ptr, ptr %graph.at
  %stream.at = getelementptr ptr, ptr %record, i64 4
  %stream = load ptr, ptr %stream.at
  %launched = call i32 %launch(ptr %graph, ptr %stream)
  ret i32 %launched
}}

define internal ptr @graph_place(ptr %record, i64 %number) {{
entry:
  %words = mul i64 %number, {_NODE}
  %behind = add i64 %words, {_HEADER}
  %place = getelementptr i64, ptr %record, i64 %behind
  ret ptr %place
}}

; On or off, if it is not so already.
define internal i32 @graph_switch(ptr %record, ptr %node.at, i1 %on) {{
entry:
  %state.at = getelementptr i64, ptr %node.at, i64 2
  %state = load i64, ptr %state.at
  %wanted = zext i1 %on to i64
  %same = icmp eq i64 %state, %wanted
  br i1 %same, label %done, label %change
done:
  ret i32 0
change:
  store i64 %wanted, ptr %state.at
  %enable.at = getelementptr ptr, ptr %record, i64 2
  %enable = load ptr, ptr %enable.at
  %graph.at = getelementptr ptr, ptr %record, i64 3
  %graph = load ptr, ptr %graph.at
  %handle.at = getelementptr ptr, ptr %node.at, i64 1
  %handle = load ptr, ptr %handle.at
  %flag = zext i1 %on to i32
  %status = call i32 %enable(ptr %graph, ptr %handle, i32 %flag)
  ret i32 %status
}}
"""


class NodeParams(ctypes.Structure):
    """CUDA_KERNEL_NODE_PARAMS_v1."""

    _fields_ = (
        ("function", ctypes.c_void_p),
        *((f"{kind}_{axis}", ctypes.c_uint) for kind in ("grid", "block") for axis in "xyz"),
        ("shared", ctypes.c_uint),
        ("params", ctypes.c_void_p),
        ("extra", ctypes.c_void_p),
    )


@cache
def _code() -> Code:
    return Loader().load(emit(_IR), ("graph_node", "graph_flush"))


class Graph:
    """The launches of functions, one after the other. `node` and `flush` are the functions above, `queue` the record
    that they take. Dropped with this object, if the context is `usable` then."""

    def __init__(
        self, driver: Driver, stream: int, functions: Sequence[int], words: int, usable: Callable[[], bool]
    ) -> None:
        """`words`: the size of a function's parameters."""
        self._driver, self._usable, self._made = driver, usable, list[tuple[str, int]]()
        block = (ctypes.c_int64 * words)()
        params = (ctypes.c_void_p * 1)(ctypes.addressof(block))
        graph = self._own("cuGraphDestroy", driver.made("cuGraphCreate", 0))
        nodes: list[int] = []
        for function in functions:
            before = (ctypes.c_void_p * 1)(*nodes[-1:])
            facts = NodeParams(function, 1, 1, 1, 32, 1, 1, 0, ctypes.addressof(params), None)
            place = ctypes.addressof(facts)
            nodes.append(driver.made("cuGraphAddKernelNode", graph, before, len(nodes[-1:]), place))
        executable = self._own("cuGraphExecDestroy", driver.made("cuGraphInstantiateWithFlags", graph, 0))
        calls = ("cuGraphExecKernelNodeSetParams", "cuGraphLaunch", "cuGraphNodeSetEnabled")
        header = (*map(driver.address, calls), executable, stream, len(nodes), 0, 0)
        entries = [word for pair in zip(functions, nodes) for word in (*pair, 1)]
        self._record: Any = (ctypes.c_uint64 * (_HEADER + len(entries)))(*header, *entries)
        self.node, self.flush = _code()["graph_node"], _code()["graph_flush"]
        self.queue = ctypes.addressof(self._record)

    def _own(self, destroy: str, handle: int) -> int:
        self._made.append((destroy, handle))
        return handle

    def __del__(self) -> None:
        if self._usable():
            for destroy, handle in reversed(self._made):
                self._driver.function(destroy)(handle)


def graph_of(
    driver: Driver, stream: int, functions: Sequence[int], words: int, usable: Callable[[], bool]
) -> Graph | None:
    """The graph of those functions; None where there is nothing to launch, or the driver cannot do it."""
    if not functions or driver.number("cuDriverGetVersion") < _OLDEST_DRIVER:
        return None
    try:
        return Graph(driver, stream, functions, words, usable)
    except CudaError:  # it cannot put these into a graph: they are launched one by one
        return None
