"""Loops over cells after other loops over them: whatever changed the cells in between, each visits those that are
active, and a loop over the same cells as before makes no list again."""

import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.sampling import every

CELLS, SIZE = 8, 4
Road = Callable[["Cells", Path], None]


class Cells:
    """A field in cells, and what it must hold: the elements of each active cell by its number."""

    def __init__(self, ti: Any) -> None:
        self.ti, self.x = ti, ti.field(ti.i32)
        self.node = ti.root.pointer(ti.i, CELLS)
        self.node.dense(ti.i, SIZE).place(self.x)
        x, node = self.x, self.node

        @ti.kernel
        def add():
            for i in x:
                x[i] += 1

        @ti.kernel
        def write(start: ti.i32):
            for i in range(start, start + 3):
                x[i] = 7

        @ti.kernel
        def drop(cell: ti.i32):
            ti.deactivate(node, cell)

        @ti.kernel
        def twice(start: ti.i32):
            for i in x:
                x[i] += 1
            for i in range(start, start + 3):
                x[i] = 7
            for i in x:
                x[i] += 1

        @ti.kernel
        def add_unless(stop: ti.i32):
            if stop == 1:
                return
            for i in x:
                x[i] += 1

        self.add, self.write, self.drop, self.twice, self.add_unless = add, write, drop, twice, add_unless
        self.meant = dict[int, Any]()

    def means(self, start: int, value: int = 7, count: int = 3) -> None:
        for i in range(start, start + count):
            self.meant.setdefault(i // SIZE, np.zeros(SIZE, np.int64))[i % SIZE] = value

    def means_more(self) -> None:
        for elements in self.meant.values():
            elements += 1

    def check(self) -> None:
        """Two loops, and what is there then."""
        for _ in range(2):
            self.add()
            self.means_more()
        found = np.zeros((CELLS, SIZE), np.int64)
        for cell, elements in self.meant.items():
            found[cell] = elements
        np.testing.assert_array_equal(self.x.to_numpy(), found.reshape(-1))
        indices, _ = self.x.active()
        assert sorted({int(i) // SIZE for i in np.ravel(indices)}) == sorted(self.meant)


def _written(cells: Cells, _: Path) -> None:
    cells.write(14)
    cells.means(14)


def _from_python(cells: Cells, _: Path) -> None:
    cells.x[30] = 5
    cells.means(30, 5, 1)


def _dropped(cells: Cells, _: Path) -> None:
    cells.drop(0)
    del cells.meant[0]


def _emptied(cells: Cells, _: Path) -> None:
    cells.node.deactivate_all()
    cells.meant.clear()


def _from_active(cells: Cells, _: Path) -> None:
    cells.x.from_active(np.array([[9], [21]]), np.array([3, 4]))
    cells.means(9, 3, 1)
    cells.means(21, 4, 1)


def _loaded(cells: Cells, folder: Path) -> None:
    kept = {cell: elements.copy() for cell, elements in cells.meant.items()}
    cells.ti.save(folder / "cells.npz", x=cells.x)
    _emptied(cells, folder)
    cells.check()
    _from_python(cells, folder)
    cells.check()
    cells.ti.load(folder / "cells.npz", x=cells.x)
    cells.meant = kept


def _between(cells: Cells, _: Path) -> None:
    cells.twice(26)
    cells.means_more()
    cells.means(26)
    cells.means_more()


def _in_a_thread(cells: Cells, folder: Path) -> None:
    other = threading.Thread(target=_written, args=(cells, folder))
    other.start()
    other.join()


def _in_a_graph(cells: Cells, _: Path) -> None:
    ti = cells.ti
    builder = ti.graph.GraphBuilder()
    start = ti.graph.Arg(ti.graph.ArgKind.SCALAR, "start", ti.i32)
    builder.dispatch(cells.write, start)
    builder.dispatch(cells.add)
    graph = builder.compile()
    for first in (14, 20):
        graph.run({"start": first})
        cells.means(first)
        cells.means_more()


def _at_its_end(cells: Cells, _: Path) -> None:
    cells.write(14)
    cells.means(14)
    cells.add_unless(1)


def _grown(cells: Cells, _: Path) -> None:
    """A tree that lies in other memory."""
    ti, before = cells.ti, cells.meant
    cells.__init__(ti)  # type: ignore[misc]
    cells.means(2)
    cells.write(2)
    assert before is not cells.meant


ROADS: dict[str, Road] = {
    "a loop that writes": _written,
    "a write from Python": _from_python,
    "a deactivation": _dropped,
    "all are deactivated": _emptied,
    "from_active": _from_active,
    "load": _loaded,
    "a kernel that also loops": _between,
    "another thread": _in_a_thread,
    "a graph": _in_a_graph,
    "a kernel that ends before its list": _at_its_end,
    "another tree": _grown,
}


@pytest.mark.parametrize("road", every(2, ROADS))
def test_loops_visit_what_is_active(ti: Any, road: str, tmp_path: Path) -> None:
    cells = Cells(ti)
    cells.write(1)
    cells.means(1)
    cells.check()
    ROADS[road](cells, tmp_path)
    cells.check()
    cells.write(2)  # a cell that was deactivated meanwhile
    cells.means(2)
    cells.check()


def test_a_launch_that_fails_makes_no_list(ti: Any) -> None:
    driver = getattr(ti.lang.program.init.program().device, "driver", None)
    if driver is None:
        pytest.skip("only the GPU in software fails on demand")
    cells = Cells(ti)
    cells.write(1)
    cells.means(1)
    driver.failing["launch"] = 719
    with pytest.raises(Exception, match="LAUNCH_FAILED"):
        cells.add()
    driver.failing.clear()
    cells.check()


def test_a_second_loop_is_one_launch(ti: Any) -> None:
    driver = getattr(ti.lang.program.init.program().device, "driver", None)
    if driver is None:
        pytest.skip("only the GPU in software counts launches")
    cells = Cells(ti)
    cells.write(1)
    counts = list[int]()
    for run in (cells.add, cells.add, lambda: cells.write(9), cells.add, cells.add):
        before = len(driver.launches)
        run()
        counts.append(len(driver.launches) - before)
    assert counts[0] == counts[3] > 1
    assert counts[1] == counts[4] == 1
