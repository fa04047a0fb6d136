"""Launches that are collected in a CUDA graph, in LLVM IR.

To the native code that launches a kernel (`codegen/nvptx/host.py`) a graph looks like the driver: `graph_node` has the
arguments of cuLaunchKernel, with the graph's record in place of the stream, and `graph_flush` sends off what was
collected. A task whose box is empty is not launched; its node is switched off. The record, in 8-byte words:

    0 cuGraphExecKernelNodeSetParams   1 cuGraphLaunch   2 cuGraphNodeSetEnabled   3 the executable graph
    4 the stream   5 how many nodes   6 which is next   7 unused   8.. of each node: function, node, whether it is on
"""

from __future__ import annotations

__all__ = ["GRAPH_IR", "HEADER"]

HEADER, _NODE = 8, 3
_MISFIT = 1  # CUDA_ERROR_INVALID_VALUE

# CUDA_KERNEL_NODE_PARAMS_v1: function, grid, block, shared bytes, parameters, extra.
GRAPH_IR = f"""
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
  %behind = add i64 %words, {HEADER}
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
