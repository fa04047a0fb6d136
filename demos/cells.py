"""Who is near whom: points sorted into the cells of a grid, for demos whose particles meet their neighbours."""

import weft as ti


@ti.data_oriented
class Cells:
    """A grid of cells as wide as `reach` over the box from 0 to `box`; the points in `x` are sorted into them.

    After `sort()`, a kernel visits all points within `reach` of p in the cells `home(p) + offset`, each offset -1, 0
    or 1 along every axis: those of cell c are `member[k]` for k in `range(first[c], first[c + 1])`.
    """

    def __init__(self, x, reach, box):
        self.x, self.reach = x, reach
        self.dim, self.shape = len(box), tuple(int(side / reach) + 3 for side in box)  # with a rim of empty cells
        self.total = 1
        for extent in self.shape:
            self.total *= extent
        self.count, self.first = ti.field(ti.i32, self.total), ti.field(ti.i32, self.total + 1)
        self.member = ti.field(ti.i32, x.shape)

    @ti.func
    def home(self, p):
        """The cell of the place p, one index for each axis."""
        return ti.math.clamp(ti.floor(p / self.reach, ti.i32) + 1, 1, ti.Vector(self.shape) - 2)

    @ti.func
    def number(self, cell):
        """The cell's number in `first`."""
        n = cell[0]
        for axis in ti.static(range(1, self.dim)):
            n = n * self.shape[axis] + cell[axis]
        return n

    def sort(self):
        """Sort the points where they are now; the order in a cell is that of their numbers."""
        self.tally()
        self.add_up()
        self.fill()
        self.order()

    @ti.kernel
    def tally(self):
        for c in self.count:
            self.count[c] = 0
        for i in self.x:
            self.count[self.number(self.home(self.x[i]))] += 1

    @ti.kernel
    def add_up(self):
        ti.loop_config(serialize=True)
        for c in range(self.total):
            self.first[c + 1] = self.first[c] + self.count[c]

    @ti.kernel
    def fill(self):
        for i in self.x:
            c = self.number(self.home(self.x[i]))
            self.member[self.first[c + 1] - ti.atomic_sub(self.count[c], 1)] = i

    @ti.kernel
    def order(self):
        """Threads fill a cell in any order: sort it, so that sums of floats come out the same each time."""
        for c in range(self.total):
            for k in range(self.first[c] + 1, self.first[c + 1]):
                i, hole = self.member[k], k
                while hole > self.first[c] and self.member[hole - 1] > i:
                    self.member[hole] = self.member[hole - 1]
                    hole -= 1
                self.member[hole] = i
