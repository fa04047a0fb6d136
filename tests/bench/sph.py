"""Smoothed particle hydrodynamics written for speed: particles are sorted by cell, and components lie by themselves.

The cells around a particle that differ along the last axis only are then one range of memory, which vectors run along;
lists of members, as in `sph_256k`, lead anywhere."""


def sorted_fluid(ti, side, grid):
    """A fluid of side^3 particles over grid^3 cells."""
    n, cells, radius, dt = side**3, grid**3, 1 / grid, 1e-4
    mass, stiffness, viscosity = 1.0 / n, 20.0, 0.1

    @ti.func
    def cell_of(p):
        return ti.max(0, ti.min(grid - 1, int(p * grid)))

    @ti.data_oriented
    class Fluid:
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
                self.own[i] = mass * total * grid**3 * 315 / (64 * 3.14159265)
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
                            if r < radius and r > 1e-9:
                                w = 1.0 - r * grid
                                press = stiffness * (own + other - 2.0) / (2 * other)
                                force += press * w * w / r * d + viscosity * w * (self.u[j] - u) / other
                k = self.came_from[i]
                self.v[k] = u + dt * (mass * grid**4 * force / own + ti.Vector([0.0, -9.8, 0.0]))
                self.x[k] = p + dt * self.v[k]

    return Fluid()
