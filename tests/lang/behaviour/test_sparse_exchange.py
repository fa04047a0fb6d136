"""What other libraries, files and pictures get of sparse fields, and hints about them, on every arch."""

import numpy as np
import pytest

PLACES = np.array([[-3, 4], [0, 0], [7, 11], [7, 12]])


def made(ti):
    """A field with an offset, below masks in pointer cells."""
    x = ti.field(ti.f32)
    blocks = ti.root.pointer(ti.ij, (4, 6))
    blocks.bitmasked(ti.ij, 4).place(x, offset=(-4, 0))
    x.from_active(PLACES, np.arange(1.0, 5.0, dtype=np.float32))
    return x, blocks


def test_matrices_of_scipy_and_torch(ti, torch):
    pytest.importorskip("scipy")
    x, _ = made(ti)
    dense = np.zeros((16, 24), np.float32)
    dense[PLACES[:, 0] + 4, PLACES[:, 1]] = [1, 2, 3, 4]
    assert (x.to_coo().toarray() == dense).all()
    assert (x.to_torch_sparse().to_dense().numpy() == dense).all()
    assert x.to_coo().nnz == 4
    assert (x.to_numpy() == dense).all()
    assert ti.sparse.usage(x) == 4 / dense.size


def test_files_and_pictures(ti, tmp_path):
    pytest.importorskip("PIL")
    x, y = ti.field(ti.f32), ti.field(ti.f32)
    ti.root.hash(ti.ijk, 4).dense(ti.ijk, 4).place(x)
    ti.root.pointer(ti.ijk, 4).bitmasked(ti.ijk, 4).place(y)
    x[1, 2, 3], x[12, 0, 5] = 2.0, 3.0
    x.to_nanovdb(tmp_path / "x.nvdb", codec="zip")
    y.from_nanovdb(tmp_path / "x.nvdb")
    assert (y[1, 2, 3], y[12, 0, 5], len(y.active()[0])) == (2, 3, 128)
    z, blocks = made(ti)
    picture = ti.tools.draw_tree(z)
    assert picture.std() > 0.01
    assert "4 of 24 cells are active" in str(z.snode.tree)
    blocks.deactivate_all()
    assert (ti.tools.draw_tree(z) != picture).any()


def test_hints_change_nothing(ti):
    x, blocks = made(ti)
    y, total = ti.field(ti.f32, (16, 24), offset=(-4, 0)), ti.field(ti.f32, ())

    @ti.kernel
    def spread():
        ti.block_local(x)
        ti.cache_read_only(x)
        for i, j in x:
            k = ti.assume_in_range(i - 1, i, -1, 1)
            if k >= -4:
                y[k, j] += x[i, j]
            total[None] += ti.is_active(blocks, ti.rescale_index(x, blocks, [i, j]))

    spread()
    assert [y[int(i) - 1, int(j)] for i, j in PLACES] == [1, 2, 3, 4]
    assert total[None] == 4
    assert len(x.active()[0]) == 4
