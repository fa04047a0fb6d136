"""`ti.get_addr`: where elements lie in the memory of their tree, on every arch."""

from __future__ import annotations

import pytest

from weft.ir.errors import TypeMismatch


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


def test_sparse_fields(ti):
    """0 where nothing is active. In a cell, differences are those of memory."""
    x, y, h, listed, v = *(ti.field(ti.f32) for _ in range(4)), ti.Vector.field(3, ti.f32)
    ti.root.pointer(ti.ij, 4).dense(ti.ij, (2, 4)).place(x, y)
    ti.root.hash(ti.i, 4).dense(ti.i, 4).place(h, v)
    ti.root.dense(ti.i, 3).dynamic(ti.j, 16, chunk_size=4).place(listed)
    x[3, 5] = h[-7] = x[0, 0] = 1
    listed[1, 5] = 3
    out = ti.field(ti.u64, 12)

    @ti.kernel
    def look(i: ti.i32):
        here = ti.get_addr(x, [i, 5])
        out[0] = here - ti.get_addr(x, [i - 1, 4])
        out[1] = ti.get_addr(y, [i, 5]) - here
        out[2] = ti.get_addr(x, [i, 0]) == 0
        out[3] = here > 0 and here != ti.get_addr(x, [1, 1])
        out[4] = ti.get_addr(h, [-i - 4]) - ti.get_addr(h, [-8])
        out[5] = ti.get_addr(v.get_scalar_field(2), [-7]) - ti.get_addr(h, [-7])
        out[6] = ti.get_addr(h, [i]) == 0
        out[7] = ti.get_addr(listed, [1, 5]) - ti.get_addr(listed, [1, 4])
        out[8] = ti.get_addr(listed, [1, 6]) + ti.get_addr(listed, [0, 0])
        out[9] = ti.get_addr(listed, [1, 3]) > 0

    look(3)
    assert out.to_numpy().tolist() == [40, 4, 1, 1, 16, 12, 1, 4, 0, 1, 0, 0]
    assert ti.get_addr(x, [2, 4]) - ti.get_addr(x, [3, 5]) == ti.get_addr(x, [0, 0]) - ti.get_addr(x, [1, 1]) != 0
    x.parent().parent().deactivate_all()
    assert ti.get_addr(x, [3, 5]) == 0


def test_places_are_aligned(ti):
    """Also those in pools behind memories of an odd size."""
    x, listed = ti.field(ti.f64), ti.field(ti.i32)
    upper = ti.root.pointer(ti.ij, (3, 5))
    upper.pointer(ti.ij, (2, 3)).dense(ti.ij, 2).place(x)
    upper.dynamic(ti.k, 8, chunk_size=3).place(listed)
    for at in ([3, 4], [11, 29], [0, 1]):
        x[at] = 1
        assert ti.get_addr(x, at) % 8 == 0 < ti.get_addr(x, at)
    listed[1, 2, 5] = 4
    assert ti.get_addr(listed, [1, 2, 5]) % 4 == 0 < ti.get_addr(listed, [1, 2, 5])


def test_masks(ti):
    a, b = ti.field(ti.f32), ti.field(ti.f32)
    ti.root.pointer(ti.i, 4).bitmasked(ti.i, 4).place(a)
    ti.root.bitmasked(ti.i, 8).place(b, offset=-4)
    a[6] = a[4] = b[-3] = b[2] = 1

    @ti.kernel
    def look(i: ti.i32) -> ti.math.ivec4:
        step = int(ti.get_addr(a, [i]) - ti.get_addr(a, [4]))
        zeros = ti.get_addr(a, [5]) + ti.get_addr(a, [13]) + ti.get_addr(b, [i - 6])
        return [step, int(zeros), int(ti.get_addr(b, [2]) - ti.get_addr(b, [-3])), int(ti.get_addr(b, [2]) > 0)]

    assert look(6).to_numpy().tolist() == [8, 0, 20, 1]


def test_what_has_no_place(ti):
    with pytest.raises(TypeMismatch, match="get_addr takes a field"):
        ti.get_addr(3, [0])
