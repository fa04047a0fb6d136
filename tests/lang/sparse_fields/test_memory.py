"""The memory that a sparse field takes: little when it is empty, and the same after each rebuild."""

from __future__ import annotations

import weft as ti
from weft.lang.program.init import program


def test_an_empty_tree_and_its_first_element_take_kilobytes() -> None:
    ti.init(arch=ti.cpu)
    memory = program().device.memory
    before = memory.total
    x = ti.field(ti.f32)
    ti.root.pointer(ti.ijk, (128, 128, 128)).dense(ti.ijk, (8, 8, 8)).place(x)

    @ti.kernel
    def write(a: ti.i32):
        x[a, a, a] = 1.0

    assert x[5, 6, 7] == 0
    assert memory.total - before < 32 << 10
    write(5)
    assert 0 < memory.total - before < 64 << 10


def test_a_hundred_rebuilds_leave_the_memory_of_one() -> None:
    ti.init(arch=ti.cpu)
    memory = program().device.memory
    x = ti.field(ti.f32)
    blocks = ti.root.pointer(ti.ij, (32, 32))
    fine = blocks.pointer(ti.ij, (4, 4))
    fine.dense(ti.ij, (8, 8)).place(x)

    @ti.kernel
    def scatter(n: ti.i32, step: ti.i32):
        for k in range(n):
            x[k * step % 1024, k * 7 % 1024] += 1.0

    @ti.kernel
    def total() -> ti.f64:
        found = ti.f64(0)
        for i, j in x:
            found += x[i, j]
        return found

    def rebuild() -> None:
        scatter(3000, 37)  # cells are made before the loop
        scatter(9, 11)
        x[1000, 3] = 1.0  # by the iteration
        assert total() == 3010
        blocks.deactivate_all()
        assert total() == 0

    rebuild()
    once = memory.total
    for _ in range(99):
        rebuild()
    assert memory.total == once
