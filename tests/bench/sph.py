"""Smoothed particle hydrodynamics, written twice for the module `ti`; measured on CPUs and GPUs.

`listed_fluid` is the plain program: each cell has a list of its particles. `sorted_fluid` is the one written for speed:
particles are sorted by cell, and components lie by themselves. The cells around a particle that differ along the last
axis only are then one range of memory, which vectors run along; lists of members lead anywhere."""

DT, STIFFNESS, VISCOSITY, FALL = 1e-4, 20.0, 0.1, -9.8
WEIGHT = 315 / (64 * 3.14159265)  # of the kernel for densities


def particles_in_lists(ti, n, grid, most, cell_of):
    """The class of n particles over grid^3 cells, and how they are put into the lists of the cells."""

    @ti.data_oriented
    class Particles:
        def __init__(self):
            self.x, self.v, self.a = (ti.Vector.field(3, ti.f32, n) for _ in range(3))
            self.density, self.held = ti.field(ti.f32, n), ti.field(ti.i32, (grid, grid, grid))
            self.members = ti.field(ti.i32, (grid, grid, grid, most))

        @ti.kernel
        def sort(self):
            for i, j, k in self.held:
                self.held[i, j, k] = 0
            for i in self.x:
                c = cell_of(self.x[i])
                slot = ti.atomic_add(self.held[c], 1)
                if slot < most:
                    self.members[c, slot] = i

    return Particles


def listed_fluid(ti, side, grid, most):
    """A fluid of side^3 particles over grid^3 cells, with lists of at most so many."""
    n, mass, cell_of = side**3, 1.0 / side**3, finder(ti, grid)

    @ti.data_oriented
    class Fluid(particles_in_lists(ti, n, grid, most, cell_of)):
        def step(self):
            self.sort()
            self.weigh()
            self.push()
            self.move()

        @ti.kernel
        def weigh(self):
            for i in self.x:
                c, total = cell_of(self.x[i]), 0.0
                for o in ti.grouped(ti.ndrange((-1, 2), (-1, 2), (-1, 2))):
                    near = c + o
                    if near.min() >= 0 and near.max() < grid:
                        for k in range(ti.min(self.held[near], most)):
                            q = 1.0 - (self.x[self.members[near, k]] - self.x[i]).norm_sqr() * grid * grid
                            if q > 0:
                                total += q * q * q
                self.density[i] = mass * total * grid**3 * WEIGHT

        @ti.kernel
        def push(self):
            for i in self.x:
                c, own, force = cell_of(self.x[i]), self.density[i], ti.Vector([0.0, 0.0, 0.0])
                for o in ti.grouped(ti.ndrange((-1, 2), (-1, 2), (-1, 2))):
                    near = c + o
                    if near.min() >= 0 and near.max() < grid:
                        for k in range(ti.min(self.held[near], most)):
                            j = self.members[near, k]
                            d, other = self.x[i] - self.x[j], self.density[j]
                            r = d.norm()
                            if r < 1 / grid and r > 1e-9:
                                w = 1.0 - r * grid
                                press = STIFFNESS * (own + other - 2.0) / (2 * other)
                                force += press * w * w / r * d + VISCOSITY * w * (self.v[j] - self.v[i]) / other
                self.a[i] = mass * grid**4 * force / own + ti.Vector([0.0, FALL, 0.0])

        @ti.kernel
        def move(self):
            for i in self.x:
                self.v[i] += DT * self.a[i]
                self.x[i] += DT * self.v[i]

    return Fluid()


def finder(ti, grid):
    """The function that says in which cell a place of [0, 1)^3 is."""

    @ti.func
    def cell_of(p):
        return ti.max(0, ti.min(grid - 1, int(p * grid)))

    return cell_of


def particles_by_cell(ti, n, grid, cell_of):
    """The class of n particles over grid^3 cells, and how they are sorted by cell."""
    cells = grid**3

    @ti.data_oriented
    class Particles:
        def __init__(self):
            self.x, self.v = (ti.Vector.field(3, ti.f32, n) for _ in range(2))
            self.p, self.u = (ti.Vector.field(3, ti.f32, n, layout=ti.Layout.SOA) for _ in range(2))
            self.density, self.own = ti.field(ti.f32, n), ti.field(ti.f32, n)
            self.held, self.start = ti.field(ti.i32, cells), ti.field(ti.i32, cells + 1)
            self.cell, self.rank, self.came_from = (ti.field(ti.i32, n) for _ in range(3))

        @ti.kernel
        def sort(self):
            for c in self.held:
                self.held[c] = 0
            for i in self.x:
                c = cell_of(self.x[i])
                self.cell[i] = (c.x * grid + c.y) * grid + c.z
                self.rank[i] = ti.atomic_add(self.held[self.cell[i]], 1)
            ti.loop_config(serialize=True)
            for c in range(cells):
                self.start[c + 1] = self.start[c] + self.held[c]
            for i in self.x:
                j = self.start[self.cell[i]] + self.rank[i]
                self.p[j], self.u[j], self.came_from[j] = self.x[i], self.v[i], i

    return Particles


def sorted_fluid(ti, side, grid):
    """A fluid of side^3 particles over grid^3 cells."""
    n, mass, cell_of = side**3, 1.0 / side**3, finder(ti, grid)

    @ti.data_oriented
    class Fluid(particles_by_cell(ti, n, grid, cell_of)):
        def step(self):
            self.sort()
            self.weigh()
            self.move()

        @ti.kernel
        def weigh(self):
            for i in self.p:
                p, total = self.p[i], 0.0
                c = cell_of(p)
                low, high = ti.max(c - 1, 0), ti.min(c + 1, grid - 1)
                for a in range(low.x, high.x + 1):
                    for b in range(low.y, high.y + 1):
                        row = (a * grid + b) * grid
                        for j in range(self.start[row + low.z], self.start[row + high.z + 1]):
                            q = 1.0 - (self.p[j] - p).norm_sqr() * grid * grid
                            if q > 0:
                                total += q * q * q
                self.own[i] = mass * total * grid**3 * WEIGHT
                self.density[self.came_from[i]] = self.own[i]

        @ti.kernel
        def move(self):
            for i in self.p:
                p, u, own = self.p[i], self.u[i], self.own[i]
                c, force = cell_of(p), ti.Vector([0.0, 0.0, 0.0])
                low, high = ti.max(c - 1, 0), ti.min(c + 1, grid - 1)
                for a in range(low.x, high.x + 1):
                    for b in range(low.y, high.y + 1):
                        row = (a * grid + b) * grid
                        for j in range(self.start[row + low.z], self.start[row + high.z + 1]):
                            d, other = p - self.p[j], self.own[j]
                            r = d.norm()
                            if r < 1 / grid and r > 1e-9:
                                w = 1.0 - r * grid
                                press = STIFFNESS * (own + other - 2.0) / (2 * other)
                                force += press * w * w / r * d + VISCOSITY * w * (self.u[j] - u) / other
                k = self.came_from[i]
                self.v[k] = u + DT * (mass * grid**4 * force / own + ti.Vector([0.0, FALL, 0.0]))
                self.x[k] = p + DT * self.v[k]

    return Fluid()
