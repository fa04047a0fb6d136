"""Launches that are collected in a CUDA graph. (Native code, see `native.py`.)

To the native code that launches a kernel (`codegen/nvptx/host.py`), a graph looks like the driver. `graph_node` has the
arguments of cuLaunchKernel, with the graph's record in place of the stream. `graph_flush` launches what was collected.
A task whose box is empty is not launched: its node is disabled. The record is a block of words (RECORD), followed by a
block for each node (NODE).
"""

from __future__ import annotations

from weft.runtime.native import Block, Function, Module, Value

__all__ = ["HEADER", "graph_ir"]

RECORD = Block(
    "ptr update",  # cuGraphExecKernelNodeSetParams
    "ptr launch",  # cuGraphLaunch
    "ptr enable",  # cuGraphNodeSetEnabled
    "ptr graph",  # the executable graph
    "ptr stream",
    "i64 count",  # how many nodes
    "i64 next",  # which is next
    "i64 unused",
)
NODE = Block("ptr function", "ptr handle", "i64 on")
HEADER = len(RECORD)
_MISFIT = 1  # CUDA_ERROR_INVALID_VALUE

# CUDA_KERNEL_NODE_PARAMS_v1: function, grid, block, shared bytes, parameters, extra.
_PARAMS, _SIZES, _PARAMETERS, _EXTRA = "{ ptr, [6 x i32], i32, i32, ptr, ptr }", 8, 40, 48

_IR = Module()


@_IR.function("i32", "ptr", *["i32"] * 7, "ptr", "ptr", "ptr", exported=True)
def graph_node(
    f: Function,
    kernel: Value,
    gx: Value,
    gy: Value,
    gz: Value,
    bx: Value,
    by: Value,
    bz: Value,
    shared: Value,
    record: Value,
    params: Value,
    extra: Value,
) -> None:
    """In place of cuLaunchKernel: set the parameters of the next node of that function; switch off those before it."""
    made = f.room(_PARAMS)
    made.store(kernel)
    for k, size in enumerate((gx, gy, gz, bx, by, bz, shared)):
        made.behind(_SIZES).at(k, "i32").store(size)
    made.behind(_PARAMETERS).store(params)
    made.behind(_EXTRA).store(extra)
    next = RECORD.at(record, "next")
    update, graph, count = RECORD.read(record, "update", "graph", "count")
    with f.loop():
        number = next.load("i64")
        with f.unless(number.compare("ult", count)):
            next.store(0)
            f.ret(_MISFIT, "i32")
        node = f.call("graph_place", record, number)
        next.store(number + 1)
        function, handle = NODE.read(node, "function", "handle")
        found = function.eq(kernel)
        status = f.variable("i32", f.call("graph_switch", record, node, found))
        with f.when(found & status.get().eq(0)):
            status.set(f.call(update, graph, handle, made, type="i32"))
            f.ret_if(status.get().eq(0), 0, "i32")
        with f.unless(status.get().eq(0)):
            next.store(0)
            f.ret(status.get())


@_IR.function("i32", "ptr", exported=True)
def graph_flush(f: Function, record: Value) -> None:
    """Switch off the nodes that are left, and launch the graph."""
    next = RECORD.at(record, "next")
    launch, graph, stream, count = RECORD.read(record, "launch", "graph", "stream", "count")
    first = next.load("i64")
    next.store(0)
    with f.count(count, first) as k:
        status = f.call("graph_switch", record, f.call("graph_place", record, k), False)
        f.ret_if(status.ne(0), status)
    f.ret(f.call(launch, graph, stream, type="i32"))


@_IR.function("ptr", "ptr", "i64")
def graph_place(f: Function, record: Value, number: Value) -> None:
    """The block of a node."""
    f.ret(record.at(number * len(NODE) + HEADER))


@_IR.function("i32", "ptr", "ptr", "i1")
def graph_switch(f: Function, record: Value, node: Value, on: Value) -> None:
    """On or off, if it is not so already."""
    state, wanted = NODE.at(node, "on"), on.cast("zext", "i64")
    f.ret_if(state.load("i64").eq(wanted), 0, "i32")
    state.store(wanted)
    enable, graph = RECORD.read(record, "enable", "graph")
    f.ret(f.call(enable, graph, *NODE.read(node, "handle"), on.cast("zext", "i32"), type="i32"))


def graph_ir() -> str:
    """LLVM IR of graphs."""
    return _IR.text()
