"""Particles and fluids: bodies that attract each other, MPM88, smoothed particles, and stable fluids."""

import inputs
from inputs import Program, sample
from mpm88 import mpm88
from programs import program
from sph import listed_fluid, sorted_fluid


@program
def nbody_8192(ti):
    """All-pairs gravity of 8192 bodies, vec3 fields."""
    n = 8192
    x, f = ti.Vector.field(3, ti.f32, n), ti.Vector.field(3, ti.f32, n)

    @ti.kernel
    def step():
        for i in range(n):
            a = ti.Vector([0.0, 0.0, 0.0])
            for j in range(n):
                d = x[j] - x[i]
                inverse = 1.0 / ti.sqrt(d.dot(d) + 1e-3)
                a += d * (inverse * inverse * inverse)
            f[i] = a

    x.from_numpy(inputs.floats(n, 3))
    return Program(step, lambda: sample(f.to_numpy()))


def mpm88_program(ti, count, grid, steps):
    """So many substeps of MPM88."""
    fluid = mpm88(ti, count, grid)

    def step():
        for _ in range(steps):
            fluid.substep()

    fluid.x.from_numpy(inputs.block(count, 2))
    fluid.v.fill(0)
    fluid.J.fill(1)
    return Program(step, lambda: sample(fluid.x.to_numpy(), fluid.v.to_numpy()))


@program
def mpm88_50(ti):
    """50 substeps of MPM88: 8192 particles, 128 x 128 cells."""
    return mpm88_program(ti, 8192, 128, 50)


@program
def mpm88_256k(ti):
    """10 substeps of MPM88: 262144 particles, 512 x 512 cells."""
    return mpm88_program(ti, 262144, 512, 10)


def sph_program(fluid, side):
    """A step of smoothed particle hydrodynamics: cells, densities, forces, the move."""
    fluid.x.from_numpy(inputs.lattice(side))
    fluid.v.fill(0)
    return Program(fluid.step, lambda: sample(fluid.density.to_numpy(), fluid.x.to_numpy()))


@program
def sph_256k(ti):
    """A step of smoothed particle hydrodynamics, 262144 particles in lists by cell."""
    return sph_program(listed_fluid(ti, 64, 40, 32), 64)


@program
def sph_sorted_256k(ti):
    """The same, with particles sorted by cell."""
    return sph_program(sorted_fluid(ti, 64, 40), 64)


@program
def stable_fluids_1024(ti):
    """A step of stable fluids (Stam 1999), 1024 x 1024 cells: advection, 20 Jacobi iterations, projection."""
    n, dt, rounds = 1024, 0.03, 20
    v, moved = (ti.Vector.field(2, ti.f32, (n, n)) for _ in range(2))
    pressure, relaxed, divergence = (ti.field(ti.f32, (n, n)) for _ in range(3))

    @ti.func
    def at(q: ti.template(), i, j):
        return q[ti.max(0, ti.min(n - 1, i)), ti.max(0, ti.min(n - 1, j))]

    @ti.kernel
    def advect():
        for i, j in v:
            s = ti.Vector([i, j]) - dt * n * v[i, j]
            a, b = int(ti.floor(s.x)), int(ti.floor(s.y))
            fx, fy = s.x - a, s.y - b
            low = at(v, a, b) * (1 - fx) + at(v, a + 1, b) * fx
            high = at(v, a, b + 1) * (1 - fx) + at(v, a + 1, b + 1) * fx
            moved[i, j] = low * (1 - fy) + high * fy

    @ti.kernel
    def diverge():
        for i, j in moved:
            across = at(moved, i + 1, j).x - at(moved, i - 1, j).x
            divergence[i, j] = 0.5 * (across + at(moved, i, j + 1).y - at(moved, i, j - 1).y)

    @ti.kernel
    def relax(p: ti.template(), out: ti.template()):
        for i, j in p:
            around = at(p, i - 1, j) + at(p, i + 1, j) + at(p, i, j - 1) + at(p, i, j + 1)
            out[i, j] = 0.25 * (around - divergence[i, j])

    @ti.kernel
    def project():
        for i, j in v:
            slope = ti.Vector([
                at(pressure, i + 1, j) - at(pressure, i - 1, j),
                at(pressure, i, j + 1) - at(pressure, i, j - 1),
            ])  # fmt: skip
            v[i, j] = moved[i, j] - 0.5 * slope

    def step():
        advect()
        diverge()
        for _ in range(rounds // 2):
            relax(pressure, relaxed)
            relax(relaxed, pressure)
        project()

    v.from_numpy(inputs.swirl(n))
    pressure.fill(0)
    return Program(step, lambda: sample(v.to_numpy(), pressure.to_numpy()))
