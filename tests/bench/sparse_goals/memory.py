"""Copies of pointer-backed numbers, and the memory that trees take."""

from typing import Any

from .measuring import Bench

BLOCK = 1024


def copies(bench: Bench) -> None:
    """128M i32 below a pointer node, all of them active, beside a copy between dense fields."""
    count = (1 << 27) // bench.scale
    for together in (True, False):
        bench.start()
        ti = bench.ti
        x, y, a, b = (ti.field(ti.i32) for _ in range(4))
        for fields in ((x, y),) if together else ((x,), (y,)):
            node = ti.root.pointer(ti.i, count // BLOCK)
            for one in fields:
                node.dense(ti.i, BLOCK).place(one)
        for one in (a, b):
            ti.root.dense(ti.i, count).place(one)
        _fill(ti, x, count)
        a.fill(1)
        name = f"copy of {count >> 20}M i32, {'the same cells' if together else 'two trees'}"
        bench.times[name] = bench.best(_copy(ti, x, y))
        dense = bench.times[f"{name}: dense"] = bench.best(_copy(ti, a, b))
        if bench.is_weft:
            bench.row(f"{name}: of a dense copy", bench.times[name] / dense, 1.2, 1.15)


def _fill(ti: Any, x: Any, count: int) -> None:
    @ti.kernel
    def fill():
        for i in range(count):
            x[i] = i

    fill()


def _copy(ti: Any, x: Any, y: Any) -> Any:
    @ti.kernel
    def copy():
        for i in x:
            y[i] = x[i]

    return copy


def measure(bench: Bench) -> None:
    """The memory of a room of 1024^3 f32 in cells of 8^3: without cells, with one, and with a tenth of them."""
    if not bench.is_weft:
        return
    bench.start()
    ti, n = bench.ti, 1024 // bench.scale
    _room(ti, 64)[1](1)  # what the first kernels of a process take, as for their stacks
    used = _used(bench)
    start = used()
    x, fill = _room(ti, n)
    bench.row("an empty tree of 1024^3: KiB", (used() - start) / 1024, 1024, 0)
    x[5, 6, 7] = 1.0
    bench.row("with its first element: KiB", (used() - start) / 1024, 1024, 6 * 2048)
    voxels = fill(max((n // 8) ** 3 // 10, 2))
    bench.row("bytes for each active voxel: of its 4", (used() - start) / (4 * voxels), 1.15, 1.15)


def _room(ti: Any, n: int) -> Any:
    """A field of n^3 f32 in cells of 8^3, and a function that makes so many cells, sets their elements,
    and gives how many of these are active."""
    x, blocks = ti.field(ti.f32), n // 8
    node = ti.root.pointer(ti.ijk, blocks)
    node.dense(ti.ijk, 8).place(x)

    @ti.kernel
    def activate(count: ti.i32):
        for i in range(count):
            k = i * (blocks**3 // count)
            ti.activate(node, [k // blocks**2, k // blocks % blocks, k % blocks])

    @ti.kernel
    def total() -> ti.i32:
        found = 0
        for i, j, k in x:
            x[i, j, k] = 1.0  # touches each page
            found += 1
        return found

    def fill(count: int) -> int:
        activate(count)
        return int(total())

    assert x[1, 2, 3] == 0
    return x, fill


def _used(bench: Bench) -> Any:
    """How many bytes the program has: on a GPU as its driver says."""
    if bench.arch == "cpu":
        from weft.lang.program.init import program

        return lambda: program().device.memory.total
    from cuda.bindings import driver

    def used() -> int:
        bench.ti.sync()
        _, free, total = driver.cuMemGetInfo()
        return int(total) - int(free)

    return used
