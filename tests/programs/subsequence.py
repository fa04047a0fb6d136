"""The longest common subsequence of two texts, by dynamic programming, and the primes below a number."""

import numpy as np
import taichi as ti

ti.init(arch=ti.cpu)

n = 60
table = ti.field(dtype=ti.i32, shape=(n + 1, n + 1))


@ti.kernel
def longest(a: ti.types.ndarray(), b: ti.types.ndarray()) -> ti.i32:
    rows, columns = a.shape[0], b.shape[0]
    ti.loop_config(serialize=True)
    for i in range(1, rows + 1):
        for j in range(1, columns + 1):
            same = table[i - 1, j - 1] + (a[i - 1] == b[j - 1])
            table[i, j] = max(same, max(table[i - 1, j], table[i, j - 1]))
    return table[rows, columns]


@ti.func
def is_prime(k: int):
    found = True
    for d in range(2, int(k**0.5) + 1):
        if k % d == 0:
            found = False
            break
    return found


@ti.kernel
def primes(below: int) -> int:
    count = 0
    for k in range(2, below):
        if is_prime(k):
            count += 1
    return count


def main():
    a = np.array([(i * i + 3) % 7 for i in range(n)], dtype=np.int32)
    b = np.array([(i * 5 + i // 4) % 7 for i in range(n)], dtype=np.int32)
    length = longest(a, b)
    return {"length": length, "table": table.to_numpy(), "primes": primes(1200)}
