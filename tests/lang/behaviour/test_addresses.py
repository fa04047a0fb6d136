"""`ti.get_addr`: where elements lie in the memory of their tree, on every arch."""

from __future__ import annotations

import pytest

from weft.ir.errors import CompilationError, TypeMismatch
from weft.lang.program.init import program


def test_places_of_elements_in_blocks(ti):
    a = ti.field(ti.i32)
    ti.root.dense(ti.ij, (1, 2)).dense(ti.ij, 2).dense(ti.ij, 2).place(a)

    @ti.kernel
    def fill():
        for i, j in a:
            a[i, j] = int(ti.get_addr(a.snode, [i, j]) - ti.get_addr(a.snode, [0, 0])) // 4

    fill()
    assert a.to_numpy()[:2].tolist() == [[0, 1, 4, 5, 16, 17, 20, 21], [2, 3, 6, 7, 18, 19, 22, 23]]


def test_components_offsets_and_vectors_as_indices(ti):
    v, shifted, out = ti.Vector.field(3, ti.f32, 4), ti.field(ti.f64, (3, 5), offset=(-2, 1)), ti.field(ti.u64, 4)

    @ti.kernel
    def look(k: ti.i32):
        at = ti.Vector([k - 3, k + 1])
        out[0] = ti.get_addr(v, [k]) - ti.get_addr(v, [0])
        out[1] = ti.get_addr(v.get_scalar_field(2), [k]) - ti.get_addr(v, [k])
        out[2] = ti.get_addr(shifted, at) - ti.get_addr(shifted, [-2, 1])
        out[3] = ti.get_addr(shifted, [-2, 1])

    look(2)
    assert out.to_numpy().tolist() == [24, 8, (1 * 5 + 2) * 8, 0]


def test_what_has_no_place(ti):
    x = ti.field(ti.f32)
    if not program().backend.interprets:
        ti.root.pointer(ti.i, 4).place(x)
        with pytest.raises(CompilationError, match="not a sparse field"):
            ti.get_addr(x, [0])
    with pytest.raises(TypeMismatch, match="get_addr takes a field"):
        ti.get_addr(3, [0])
