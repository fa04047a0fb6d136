"""Conway's game of life on a torus, from a glider and a blinker."""

import numpy as np
import taichi as ti

ti.init()

n = 16
alive = ti.field(int, shape=(n, n))
count = ti.field(int, shape=(n, n))

rule_born = [3]
rule_stays = [2, 3]


@ti.func
def get_count(i, j):
    total = 0
    for di, dj in ti.static(ti.ndrange((-1, 2), (-1, 2))):
        if ti.static(di != 0 or dj != 0):
            total += alive[(i + di) % n, (j + dj) % n]
    return total


@ti.func
def next_state(was, neighbours):
    result = 0
    if was == 0:
        for k in ti.static(rule_born):
            if neighbours == k:
                result = 1
    else:
        for k in ti.static(rule_stays):
            if neighbours == k:
                result = 1
    return result


@ti.kernel
def run():
    for i, j in alive:
        count[i, j] = get_count(i, j)
    for i, j in alive:
        alive[i, j] = next_state(alive[i, j], count[i, j])


def main():
    start = np.zeros((n, n), dtype=np.int32)
    start[1, 2] = start[2, 3] = start[3, 1] = start[3, 2] = start[3, 3] = 1
    start[11, 9:12] = 1
    alive.from_numpy(start)
    for _ in range(12):
        run()
    return {"alive": alive.to_numpy()}
