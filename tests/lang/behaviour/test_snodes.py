"""SNode trees as programs see them: loops over nodes, where a node lies, and how trees end."""

import numpy as np
import pytest

from weft.ir.errors import CompilationError
from weft.lang.data.field_tree import FieldError


def test_loops_over_nodes_go_over_their_cells(ti):
    x = ti.field(ti.i32)
    blocks = ti.root.dense(ti.ij, (3, 4))
    cells = blocks.dense(ti.ij, (2, 2))
    cells.place(x)
    seen = ti.field(ti.i32, (3, 4))

    @ti.kernel
    def visit(node: ti.template()):
        for i, j in blocks:
            seen[i, j] += 1
        for i, j in x.parent(2):
            seen[i, j] += 10
        for place in ti.grouped(node):
            seen[place] += 100
            for i, j in ti.ndrange(2, 2):
                x[place[0] * 2 + i, place[1] * 2 + j] = place[0] * 10 + place[1]

    visit(blocks)
    assert (seen.to_numpy() == 111).all()
    block = np.indices((6, 8)) // 2
    assert (x.to_numpy() == block[0] * 10 + block[1]).all()


def test_loops_over_the_place_of_a_field_begin_at_its_offset(ti):
    x = ti.field(ti.i32)
    node = ti.root.dense(ti.ij, (2, 3))
    node.place(x, offset=(-1, 5))
    totals = ti.field(ti.i32, 2)

    @ti.kernel
    def run(place: ti.template()):
        for i, j in place:
            totals[0] += i * 100 + j
        for i, j in node:
            totals[1] += i * 100 + j

    run(x.snode)
    assert totals.to_numpy().tolist() == [-300 + 2 * (5 + 6 + 7), 300 + 2 * (0 + 1 + 2)]


def test_the_root_cannot_be_looped_over(ti):
    @ti.kernel
    def run():
        for i in ti.root:
            print(i)

    with pytest.raises(CompilationError, match="the root has only one cell"):
        run()


def test_where_a_node_lies(ti):
    x, y = ti.field(ti.f32, name="x"), ti.field(ti.f64)
    rows = ti.root.dense(ti.j, 3)
    cells = rows.dense(ti.i, 4)
    cells.place(x, y)
    place = x.snode
    assert (place.parent(), place.parent(2), place.parent(3), place.parent(4)) == (cells, rows, ti.root, None)
    assert place.parent(0) == place != y.snode
    assert ti.root == rows.parent() == ti.root
    assert ti.root.parent() is None
    assert (place.shape, cells.shape, rows.shape, ti.root.shape) == ((4, 3), (4, 3), (3,), ())
    assert place._path_from_root() == [ti.root, rows, cells, place]
    assert cells._get_children() == [place, y.snode]
    assert (place._name, cells._name, place._dtype) == ("x", "", ti.f32)
    assert place._physical_index_position() == {0: 0, 1: 1}
    assert rows._physical_index_position() == {1: 0}
    assert (cells._cell_size_bytes, y.snode._offset_bytes_in_parent_cell) == (16, 8)
    assert (cells._num_dynamically_allocated, cells._loop_range()) == (0, cells)
    assert str(place) == "ti.root => dense [3] => dense [4, 3] => place [4, 3]"


def test_eight_axes(ti):
    x = ti.field(ti.i32, shape=(2,) * 8, order="ponmlkji")

    @ti.kernel
    def run():
        for a, b, c, d, e, f, g, h in x:
            x[a, b, c, d, e, f, g, h] = h + 2 * g + 4 * f + 8 * e + 16 * d + 32 * c + 64 * b + 128 * a
        for place in ti.grouped(x):
            x[place] += place.sum() * 1000

    run()
    bits = np.indices((2,) * 8).reshape(8, -1)
    assert x.to_numpy().ravel().tolist() == (np.arange(256) + 1000 * bits.sum(0)).tolist()
    assert x[1, 0, 0, 0, 0, 0, 0, 1] == 2129
    with pytest.raises(CompilationError, match="at most 8 axes"):
        ti.field(ti.i32, shape=(2,) * 9)


def test_trees_end_once(ti):
    builder = ti.FieldsBuilder()
    assert (builder.empty, builder.finalized, builder.root) == (True, False, ti.root)
    x = ti.field(ti.f32)
    builder.dense(ti.i, 4).place(x)
    tree = builder.finalize()
    assert (builder.empty, builder.finalized) == (False, True)
    x.fill(1)
    tree.destroy()
    with pytest.raises(FieldError, match="this SNode tree no longer exists"):
        tree.destroy()


def test_quantized_nodes_are_to_come(ti):
    with pytest.raises(CompilationError, match="'quant_array' is not implemented yet, like all quantized types"):
        ti.root.quant_array(ti.i, 4, max_num_bits=32)
