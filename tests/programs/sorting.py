"""Bitonic sorting, a histogram by atomics, and its running sums."""

import numpy as np
import taichi as ti

ti.init()

n, bins = 256, 16
keys = ti.field(ti.i32, shape=n)
values = ti.field(ti.f32, shape=n)
counts = ti.field(ti.i32, shape=bins)
starts = ti.field(ti.i32, shape=bins + 1)


@ti.kernel
def fill():
    for i in keys:
        keys[i] = (i * 7919 + 104729) % 1009
        values[i] = i * 0.5


@ti.func
def swap(i, j):
    keys[i], keys[j] = keys[j], keys[i]
    values[i], values[j] = values[j], values[i]


@ti.kernel
def compare(width: ti.i32, distance: ti.i32):
    for i in range(n):
        other = i ^ distance
        if other > i:
            rising = (i & width) == 0
            if (keys[i] > keys[other]) == rising:
                swap(i, other)


@ti.kernel
def count():
    for i in keys:
        counts[keys[i] * bins // 1009] += 1
    ti.loop_config(serialize=True)
    for b in range(bins):
        starts[b + 1] = starts[b] + counts[b]


def main():
    fill()
    width = 2
    while width <= n:
        distance = width // 2
        while distance:
            compare(width, distance)
            distance //= 2
        width *= 2
    count()
    assert (np.diff(keys.to_numpy()) >= 0).all()
    return {"keys": keys.to_numpy(), "values": values.to_numpy(), "starts": starts.to_numpy()}
