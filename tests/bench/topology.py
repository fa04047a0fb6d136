"""How long cells of sparse fields take to come and go: `python -m tests.bench.topology [--arch cpu] [--points N]
[--threads N] [--peer PYTHON]`.

Points at random in a room of 1024^3 elements, whose cells hold 8^3: making the cells (`activate`), writing an element
at each point (`write`), listing the cells (`list`), a loop over a list that is there (`kept`), and deactivating all
of them (`deactivate`). Then values are appended to random lists, 8 for each list (`append 8`) and 64 for each
(`append 64`), read, and the lists emptied. Beside these stands what numpy takes to sort the numbers of the cells.
`--peer` is an interpreter with Taichi, which runs the same program. Each number is the best of three, after one that is
not counted, in milliseconds. With one thread, the time of that thread counts, so that other programs do not matter
much.
"""

import argparse
import json
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np

EXTENT, CELL = 1024, 8
CLOCK = {"now": time.perf_counter}


def best(run: Callable[[], Any], sync: Callable[[], None], before: Callable[[], Any] | None = None) -> float:
    """Milliseconds of the fastest of three runs, after one that is not counted. `before` runs before each."""
    found = list[float]()
    for _ in range(4):
        if before is not None:
            before()
        sync()
        start = CLOCK["now"]()
        run()
        sync()
        found.append(CLOCK["now"]() - start)
    return 1e3 * min(found[1:])


def cells(ti: Any, count: int) -> dict[str, float]:
    """Cells at random points."""
    blocks = EXTENT // CELL
    x, points = ti.field(ti.f32), ti.Vector.field(3, ti.i32, count)
    node = ti.root.pointer(ti.ijk, (blocks, blocks, blocks))
    node.dense(ti.ijk, (CELL, CELL, CELL)).place(x)
    where = np.random.default_rng(0).integers(0, EXTENT, (count, 3)).astype(np.int32)
    points.from_numpy(where)

    @ti.kernel
    def activate():
        for p in points:
            ti.activate(node, points[p] // CELL)

    @ti.kernel
    def write():
        for p in points:
            x[points[p]] += 1.0

    @ti.kernel
    def number() -> ti.i32:
        found = 0
        for _i, _j, _k in node:
            found += 1
        return found

    keys = (where // CELL).astype(np.int64) @ np.array([blocks * blocks, blocks, 1])
    found = {"sort": best(lambda: np.sort(keys), lambda: None)}
    found["activate"] = best(activate, ti.sync, node.deactivate_all)
    found["write"] = best(write, ti.sync, node.deactivate_all)
    if number() != len(np.unique(keys)):
        raise AssertionError("other cells are active than there are points in")
    found["kept"] = best(number, ti.sync)
    found["list"] = best(number, ti.sync, lambda: (node.deactivate_all(), activate()))
    found["deactivate"] = best(node.deactivate_all, ti.sync, write)
    return found


def lists(ti: Any, number: int, each: int) -> dict[str, float]:
    """Values that are appended to so many lists, `each` for each of them."""
    count = number * each
    x, keys = ti.field(ti.i32), ti.field(ti.i32, count)
    ti.root.dense(ti.i, number).dynamic(ti.j, 1024, chunk_size=8).place(x)
    keys.from_numpy(np.random.default_rng(1).integers(0, number, count).astype(np.int32))

    @ti.kernel
    def append():
        for k in range(count):
            x[keys[k]].append(k)

    @ti.kernel
    def total() -> ti.i64:
        found = ti.i64(0)
        for i in range(number):
            for j in range(x[i].length()):
                found += x[i, j]
        return found

    @ti.kernel
    def empty():
        for i in range(number):
            x[i].deactivate()

    found = {f"append {each}": best(append, ti.sync, empty)}
    if total() != count * (count - 1) // 2:
        raise AssertionError("the lists hold other values than were appended")
    found[f"read {each}"] = best(total, ti.sync)
    return found | {f"empty {each}": best(empty, ti.sync, lambda: (empty(), append()))}


def measured(ti: Any, arch: str, count: int, threads: int = 0) -> dict[str, float]:
    """All numbers of one implementation. `threads`: 0 for as many as there are."""
    ti.init(arch=getattr(ti, arch), **({"cpu_max_num_threads": threads} if threads else {}))
    if threads == 1:
        CLOCK["now"] = time.process_time
    return cells(ti, count) | lists(ti, count // 8, 8) | lists(ti, count // 8, 64)


def table(rows: dict[str, dict[str, float]]) -> str:
    """The numbers of each implementation beside one another."""
    names = next(iter(rows.values()))
    lines = [" ".join(f"{title:>12}" for title in ("ms", *rows))]
    lines += [" ".join([f"{name:>12}", *(f"{row[name]:12.3f}" for row in rows.values())]) for name in names]
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description="How long cells of sparse fields take to come and go.")
    parser.add_argument("--arch", default="cpu")
    parser.add_argument("--points", type=int, default=1_000_000)
    parser.add_argument("--threads", type=int, default=0)
    parser.add_argument("--peer", help="an interpreter with Taichi")
    parser.add_argument("--as-json", action="store_true", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.as_json:
        import taichi

        print(json.dumps(measured(taichi, given.arch, given.points, given.threads)))
        return
    import weft

    rows = {"weft": measured(weft, given.arch, given.points, given.threads)}
    if given.peer:
        order = [given.peer, __file__, "--as-json", "--arch", given.arch, "--points", str(given.points)]
        order += ["--threads", str(given.threads)]
        rows["taichi"] = json.loads(
            subprocess.run(order, check=True, capture_output=True, text=True).stdout.splitlines()[-1]
        )
    print(table(rows))


if __name__ == "__main__":
    sys.exit(main())
