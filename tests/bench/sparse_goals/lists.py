"""Values appended to many lists and read again, beside a counting sort of them in dense fields."""

from typing import Any

import numpy as np

from .measuring import Bench

EACH = 64


def measure(bench: Bench) -> None:
    """64 values for each of 1M lists, with chunks of 8 and of 64 elements."""
    number = (1 << 20) // bench.scale
    for chunk in (8, 64):
        _lists(bench, number, chunk)


def _lists(bench: Bench, number: int, chunk: int) -> None:
    bench.start()
    ti, count = bench.ti, number * EACH
    x, keys = ti.field(ti.i32), ti.field(ti.i32, count)
    ti.root.dense(ti.i, number).dynamic(ti.j, 256, chunk_size=chunk).place(x)
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

    name = f"{count >> 20}M appends to {number >> 10}k lists, chunks of {chunk}"
    append()
    if total() != count * (count - 1) // 2:
        raise AssertionError("the lists hold other values than were appended")
    bench.times[f"{name}: append"] = bench.best(append, empty)
    bench.times[f"{name}: read"] = bench.best(total)
    both = bench.times[f"{name}: append"] + bench.times[f"{name}: read"]
    bench.times[f"{name}: empty"] = bench.best(empty, lambda: (empty(), append()))
    if bench.is_weft:
        sort, read = _counting_sort(bench, keys, number)
        bench.times[f"{name}: counting sort"], bench.times[f"{name}: read what is sorted"] = sort, read
        bench.row(f"{name}, and read: of a counting sort", both / (sort + read), 0, 2.5)


def _counting_sort(bench: Bench, keys: Any, number: int) -> tuple[float, float]:
    """Milliseconds to sort by atomics in dense fields, and to read what is sorted."""
    ti, count = bench.ti, keys.shape[0]
    begin, place, out = ti.field(ti.i32, number), ti.field(ti.i32, number), ti.field(ti.i32, count)
    sums = ti.algorithms.PrefixSumExecutor(number)

    @ti.kernel
    def tally():
        for i in range(number):
            begin[i] = 0
        for k in range(count):
            begin[keys[k]] += 1

    @ti.kernel
    def fill():
        for i in range(number):
            place[i] = begin[i - 1] if i > 0 else 0
        for k in range(count):
            out[ti.atomic_add(place[keys[k]], 1)] = k

    @ti.kernel
    def total() -> ti.i64:
        found = ti.i64(0)
        for i in range(number):
            for j in range(begin[i - 1] if i > 0 else 0, begin[i]):
                found += out[j]
        return found

    def sort() -> None:
        tally()
        sums.run(begin)
        fill()

    sort()
    if total() != count * (count - 1) // 2:
        raise AssertionError("the counting sort is wrong")
    return bench.best(sort), bench.best(total)
