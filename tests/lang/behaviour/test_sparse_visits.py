"""The order in which loops visit what is active, and the random numbers of their iterations, on every arch."""

import numpy as np
import pytest

from tests.sampling import every
from weft.ir.philox import number
from weft.ir.types import f32
from weft.lang.kernels.draws import next_key
from weft.lang.program.init import program

N = 12  # along each of two axes
PLACES = np.array([[3, 4], [9, 1], [0, 11], [7, 7], [3, 9], [4, 4], [5, 5]])
# The nodes of a tree, as (kind, axes, extent); after them, the sizes of the cells in which loops go, outermost first.
TREES = {
    "pointer.dense": ([("pointer", "ij", 4), ("dense", "ij", 3)], [(3, 3)]),
    "pointer.pointer.dense": ([("pointer", "ij", 2), ("pointer", "ij", 2), ("dense", "ij", 3)], [(6, 6), (3, 3)]),
    "pointer.bitmasked": ([("pointer", "ij", 4), ("bitmasked", "ij", 3)], [(3, 3)]),
    "pointer.dense.pointer": ([("pointer", "ij", 3), ("dense", "ij", 2), ("pointer", "ij", 2)], [(4, 4), (1, 1)]),
    "hash.dense": ([("hash", "ij", 4), ("dense", "ij", 3)], [(3, 3)]),
    "bitmasked": ([("bitmasked", "ij", 12)], []),
    "bitmasked.dense": ([("bitmasked", "ij", 4), ("dense", "ij", 3)], []),
    "dense.pointer": ([("dense", "ij", 4), ("pointer", "ij", 3)], [(1, 1)]),
    "dense.dynamic": ([("dense", "i", 12), ("dynamic", "j", 12)], [(1, 2)]),
    "dynamic behind another axis": ([("dense", "j", 12), ("dynamic", "i", 12)], [(2, 1)]),
}


def tree(ti, nodes):
    """A field below these nodes, in which the elements of PLACES were written."""
    x, node = ti.field(ti.i32), ti.root
    for kind, axes, extent in nodes:
        more = {"chunk_size": 2} if kind == "dynamic" else {}
        node = getattr(node, kind)(getattr(ti, axes), extent, **more)
    node.place(x)
    for i, j in PLACES.tolist():
        x[i, j] = 1
    return x


def order(indices, sizes):
    """The active elements by cells, and the number of each iteration: that of its innermost cell times the elements
    of one, plus its place in it. Where there are no cells, its place in the field."""
    inner = sizes[-1] if sizes else (N, N)
    listed = sorted(indices.tolist(), key=lambda at: [[at[0] // m, at[1] // n] for m, n in sizes] + [at])
    cells = list(dict.fromkeys((at[0] // inner[0], at[1] // inner[1]) for at in listed))
    numbers = [
        cells.index((i // inner[0], j // inner[1])) * inner[0] * inner[1] + i % inner[0] * inner[1] + j % inner[1]
        for i, j in listed
    ]
    return listed, numbers


@pytest.mark.parametrize("name", every(3, TREES))
def test_loops_go_cell_by_cell(ti, name):
    nodes, sizes = TREES[name]
    x = tree(ti, nodes)
    at, drawn, count = ti.Vector.field(2, ti.i32, N * N), ti.field(ti.f32, (N, N)), ti.field(ti.i32, ())

    @ti.kernel
    def visit():
        ti.loop_config(serialize=True)
        for i, j in x:
            at[ti.atomic_add(count[None], 1)] = ti.Vector([i, j])

    @ti.kernel
    def draw():
        for i, j in x:
            drawn[i, j] = ti.random()

    indices = x.active()[0]
    listed, numbers = order(indices, sizes)
    visit()
    assert at.to_numpy()[: len(indices)].tolist() == listed
    key = next_key(program())
    draw()
    found = drawn.to_numpy()
    assert [found[i, j] for i, j in listed] == [number(f32, key, k, 0, 1) for k in numbers]


def test_cells_without_active_elements_count(ti):
    x = ti.field(ti.i32)
    blocks = ti.root.pointer(ti.i, 4)
    blocks.bitmasked(ti.i, 4).place(x)
    drawn = ti.field(ti.f32, 16)

    @ti.kernel
    def make():
        ti.activate(blocks, 1)
        x[9] = 1

    @ti.kernel
    def draw():
        for i in x:
            drawn[i] = ti.random()

    make()
    key = next_key(program())
    draw()
    assert drawn[9] == number(f32, key, 4 + 1, 0, 1)
