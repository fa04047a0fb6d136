"""Programs under schedules that call functions of the run-time library."""

import pytest

import weft as ti
from tests.fuzz.execute import Judge
from tests.fuzz.schedules import under_schedules
from tests.sampling import every
from weft.lang.program.init import program


class Cells:
    """A kernel that makes cells and adds to them, in the place of a random program, and what it finds in them."""

    def __init__(self, node):
        self.x, self.found = ti.field(ti.i32), ti.field(ti.i32, 6)
        node(ti).place(self.x)
        x, found = self.x, self.found

        @ti.kernel
        def run():
            for k in found:
                x[k * 7 - 9] = 0
            for k in range(12):
                x[(k % 6) * 7 - 9] += k
            for k in found:
                found[k] = x[k * 7 - 9]

        self.kernel = run

    def arguments(self):
        return []

    def fill(self):
        self.found.fill(-1)

    def left(self, arguments):
        return {"found": self.found.to_numpy()}


NODES = {
    "hash": lambda ti: ti.root.hash(ti.i, 64),
    "cells of hash": lambda ti: ti.root.hash(ti.i, 64).bitmasked(ti.i, 4),
}


@pytest.mark.parametrize("node", every(2, NODES))
def test_hash_nodes(node):
    ti.init(arch=ti.cpu)
    data = Cells(NODES[node])
    judge = Judge(data.kernel, data, program().config)
    wanted = judge.run(*judge.lowered())
    assert wanted["found"].tolist() == [6, 8, 10, 12, 14, 16]
    assert under_schedules(judge, wanted, range(2)) == ""
