"""7 points in cells of 8 x 8 x 8, of which a tenth is active, beside the bytes' time."""

from typing import Any

from .measuring import Bench

CELL, SHARE = 8, 0.1


def measure(bench: Bench) -> None:
    """Rooms of 512^3 and 1024^3."""
    for n in (512 // bench.scale, 1024 // bench.scale):
        _room(bench, n, True)
        _room(bench, n, False)


def _room(bench: Bench, n: int, together: bool) -> None:
    """One room; `together`: input and output are in the same cells."""
    bench.start()
    ti, blocks = bench.ti, n // CELL
    a, b = ti.field(ti.f32), ti.field(ti.f32)
    for fields in ((a, b),) if together else ((a,), (b,)):
        node = ti.root.pointer(ti.ijk, blocks)
        for one in fields:
            node.dense(ti.ijk, CELL).place(one)

    @ti.kernel
    def fill(part: ti.f32):
        for i, j, k in ti.ndrange(blocks, blocks, blocks):
            if ti.random() < part:
                for x, y, z in ti.ndrange(CELL, CELL, CELL):
                    a[i * CELL + x, j * CELL + y, k * CELL + z] = 1.0 + x

    @ti.kernel
    def count() -> ti.i32:
        found = 0
        for _i, _j, _k in a:
            found += 1
        return found

    fill(SHARE)
    name = f"7 points, {n}^3, {'the same cells' if together else 'two trees'}"
    bench.times[name] = bench.best(laplace(ti, a, b), count=10 if bench.arch == "cuda" else 1)
    if bench.is_weft:
        ideal = bench.milliseconds_of_bytes(8 * count())
        bench.row(f"{name}: of the bytes' time", bench.times[name] / ideal, 1.35, 1.6)


def laplace(ti: Any, a: Any, b: Any) -> Any:
    """The kernel: what is out of range reads 0."""
    n = a.shape[0]

    @ti.kernel
    def run():
        for i, j, k in a:
            across = a[max(i - 1, 0), j, k] + a[min(i + 1, n - 1), j, k]
            across += a[i, max(j - 1, 0), k] + a[i, min(j + 1, n - 1), k]
            b[i, j, k] = across + a[i, j, max(k - 1, 0)] + a[i, j, min(k + 1, n - 1)] - 6 * a[i, j, k]

    return run
