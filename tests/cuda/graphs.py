"""What a kernel of several tasks should cost: a native loop of launches, or one graph whose nodes get new parameters.

    python tests/cuda/graphs.py

Each row is the time of one call in microseconds, back to back, for empty tasks with 256 bytes of parameters: on the
host until the last call returns, and until the device is done. docs/adr/0009-graphs.md draws the conclusion.
"""

from __future__ import annotations

import ctypes
import struct
import time
from ctypes import c_char, c_int64, c_void_p
from typing import Any

import weft as ti
from weft.lang.program.init import program
from weft.runtime.jit import Loader, emit

_PTX = b""".version 7.0
.target sm_70
.address_size 64
.visible .entry nothing(.param .align 8 .b8 p[256]) { ret; }
"""

_IR = """
define i32 @launches(i64 %n, i64 %k, ptr %launch, ptr %f, ptr %stream, ptr %params) {
entry:
  %total = mul i64 %n, %k
  br label %each
each:
  %i = phi i64 [ 0, %entry ], [ %i1, %each ]
  %s = call i32 %launch(ptr %f, i32 1, i32 1, i32 1, i32 32, i32 1, i32 1, i32 0, ptr %stream, ptr %params, ptr null)
  %i1 = add i64 %i, 1
  %more = icmp ult i64 %i1, %total
  br i1 %more, label %each, label %done
done:
  ret i32 %s
}
define i32 @graphs(i64 %n, i64 %k, ptr %set, ptr %launch, ptr %exec, ptr %nodes, ptr %params, ptr %stream) {
entry:
  br label %each
each:
  %i = phi i64 [ 0, %entry ], [ %i1, %go ]
  br label %test
test:
  %j = phi i64 [ 0, %each ], [ %j1, %update ]
  %left = icmp ult i64 %j, %k
  br i1 %left, label %update, label %go
update:
  %node.at = getelementptr ptr, ptr %nodes, i64 %j
  %node = load ptr, ptr %node.at
  %u = call i32 %set(ptr %exec, ptr %node, ptr %params)
  %j1 = add i64 %j, 1
  br label %test
go:
  %s = call i32 %launch(ptr %exec, ptr %stream)
  %i1 = add i64 %i, 1
  %more = icmp ult i64 %i1, %n
  br i1 %more, label %each, label %done
done:
  ret i32 %s
}
"""


class _Bench:
    """A kernel, its graph of `tasks` nodes in a row, and the two loops."""

    def __init__(self, gpu: Any) -> None:
        self.gpu, self.driver = gpu, gpu.driver
        gpu.enter()
        self.function = self.driver.function(self.driver.load_ptx(_PTX), "nothing")
        self.block = (c_char * 256)()
        self.params = (c_void_p * 1)(ctypes.addressof(self.block))
        code = Loader().load(emit(_IR), ("launches", "graphs"))
        self.code = code
        self.launches = ctypes.CFUNCTYPE(ctypes.c_int, c_int64, c_int64, *[c_void_p] * 4)(code["launches"])
        self.graphs = ctypes.CFUNCTYPE(ctypes.c_int, c_int64, c_int64, *[c_void_p] * 6)(code["graphs"])

    def check(self, status: int) -> None:
        """RuntimeError unless it is 0."""
        if status:
            raise RuntimeError(f"CUDA status {status}")

    def address(self, name: str) -> Any:
        """Of a function of the driver."""
        return c_void_p(self.driver.address(name))

    def graph(self, tasks: int) -> tuple[Any, Any, Any]:
        """An executable graph, its nodes, and parameters (CUDA_KERNEL_NODE_PARAMS_v1) for any of them."""
        graph, nodes = self.driver.create_graph(), list[int]()
        for _ in range(tasks):
            after = nodes[-1] if nodes else 0
            nodes.append(self.driver.add_kernel(graph, after, self.function, 32, ctypes.addressof(self.params)))
        made = struct.pack("P7IPP", self.function, 1, 1, 1, 32, 1, 1, 0, ctypes.addressof(self.params), 0)
        return c_void_p(self.driver.instantiate(graph)), (c_void_p * tasks)(*nodes), made

    def time(self, run: Any, n: int = 2000) -> tuple[float, float]:
        """Microseconds of one of `n` calls: on the host, and until the device is done; the best of five."""
        best = [1e9, 1e9]
        for _ in range(5):
            self.gpu.synchronize()
            start = time.perf_counter()
            self.check(run(n))
            host = time.perf_counter() - start
            self.gpu.synchronize()
            spent = (host, time.perf_counter() - start)
            best = [min(a, b / n * 1e6) for a, b in zip(best, spent)]
        return best[0], best[1]


def row(bench: _Bench, tasks: int) -> list[tuple[float, float]]:
    """The three ways for kernels of so many tasks."""
    stream, address = c_void_p(bench.gpu.stream), bench.address
    executable, nodes, made = bench.graph(tasks)
    graph = (address("cuGraphExecKernelNodeSetParams"), address("cuGraphLaunch"), executable, nodes)
    ways = (
        lambda n: bench.launches(n, tasks, address("cuLaunchKernel"), bench.function, stream, bench.params),
        lambda n: bench.graphs(n, tasks, *graph, made, stream),
        lambda n: bench.graphs(n, 0, *graph, made, stream),
    )
    return [bench.time(way) for way in ways]


def main() -> None:
    """The table."""
    ti.init(arch=ti.cuda, enable_fallback=False)
    bench = _Bench(program().device.gpu)
    print("tasks  loop: host, done   graph: host, done   graph of unchanged nodes: host, done   (us a call)")
    for tasks in (1, 2, 3, 4, 6, 8, 16, 32):
        print(f"{tasks:5}", *(f"{host:10.2f} {done:8.2f}" for host, done in row(bench, tasks)), flush=True)


if __name__ == "__main__":
    main()
