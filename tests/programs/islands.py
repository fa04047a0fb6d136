"""Connected islands of a map: labels spread to neighbours until nothing changes."""

import taichi as ti

ti.init()

n = 24
land = ti.field(ti.u8, shape=(n, n))
label = ti.field(ti.i32, shape=(n, n))
size = ti.field(ti.i32, shape=n * n)
changed = ti.field(ti.i32, shape=())


@ti.kernel
def draw():
    for i, j in land:
        land[i, j] = (i // 3 * 5 + j // 2 * 3) % 4 != 0 and (i + 2 * j) % 7 > 1
        label[i, j] = i * n + j if land[i, j] else -1


@ti.kernel
def spread():
    for I in ti.grouped(label):
        if land[I]:
            mine = ti.atomic_min(label[I], n * n)  # as it is now: others lower it meanwhile
            for d in ti.static((ti.Vector([0, 1]), ti.Vector([1, 0]), ti.Vector([0, -1]), ti.Vector([-1, 0]))):
                J = I + d
                inside = all(J >= 0) and J.max() < n
                if inside and land[J]:
                    before = ti.atomic_min(label[J], mine)
                    if before > mine:
                        ti.atomic_max(changed[None], 1)


@ti.kernel
def measure() -> ti.i32:
    islands = 0
    for I in ti.grouped(label):
        if label[I] >= 0:
            size[label[I]] += 1
    for k in size:
        islands += size[k] > 0
    return islands


def main():
    draw()
    changed[None] = 1
    while changed[None]:
        changed[None] = 0
        spread()
    count = measure()
    return {"count": count, "labels": label.to_numpy(), "largest": size.to_numpy().max()}
