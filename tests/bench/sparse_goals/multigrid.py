"""Poisson's equation in a sphere of cells of 8^3, solved by conjugate gradients with a multigrid preconditioner.

A V-cycle has two sweeps of red-black Gauss-Seidel on the way down and up, and 40 on the coarsest grid; its parts are
those of Taichi's example `mgpcg`. Each kernel reports how many numbers of each element it must read and write, so the
bytes' time of an iteration is known.
Source: McAdams, Sifakis, Teran, "A parallel multigrid Poisson solver for fluids simulation on large grids", SCA 2010.
"""

from typing import Any

from .measuring import Bench

CELL, LEVELS, SWEEPS, COARSE = 8, 4, 2, 40
MARGIN = CELL << LEVELS - 1  # around the sphere, so that no level reads out of bounds


class Solver:
    """The fields around a sphere of n elements across.

    Each level has a right side `r`, a correction `z` and a residual `q`, and the finest one `x` and `p`."""

    def __init__(self, ti: Any, n: int) -> None:
        self.ti, self.n, self.moved = ti, n, 0.0
        self.r, self.z, self.q = [], [], []
        self.x, self.p = ti.field(ti.f32), ti.field(ti.f32)
        self.nodes = []
        for level in range(LEVELS):
            node = ti.root.pointer(ti.ijk, (n + 2 * MARGIN) // CELL >> level)
            self.nodes.append(node)
            for kind in (self.r, self.z, self.q):
                kind.append(ti.field(ti.f32))
                node.dense(ti.ijk, CELL).place(kind[level])
        for one in (self.x, self.p):
            self.nodes[0].dense(ti.ijk, CELL).place(one)
        self.sum = ti.field(ti.f32, ())
        self.kernels = kernels(ti, n)

    def make_cells(self) -> None:
        """The cells of all levels, and the right side."""
        for node in self.nodes:
            node.deactivate_all()
        self.kernels["fill"](self.r[0])
        for level in range(1, LEVELS):
            self.kernels["below"](self.r[level - 1], self.r[level])

    def start(self) -> None:
        """Everything anew."""
        self.make_cells()
        self.sizes = [self.kernels["count"](r) for r in self.r]

    def run(self, name: str, level: int, numbers: float, *arguments: Any) -> None:
        """A kernel that moves so many numbers of each element of that level."""
        self.moved += 4 * numbers * self.sizes[level]
        self.kernels[name](*arguments)

    def smooth(self, level: int, first: int) -> None:
        for phase in (first, 1 - first):
            self.run("smooth", level, 3, self.z[level], self.r[level], phase)

    def precondition(self) -> None:
        """z from r."""
        self.run("clear", 0, 1, self.z[0])
        for level in range(LEVELS - 1):
            for _ in range(SWEEPS):
                self.smooth(level, 0)
            self.run("clear", level + 1, 1, self.z[level + 1])
            self.run("residual", level, 3, self.z[level], self.r[level], self.q[level])
            self.run("restrict", level, 1.125, self.q[level], self.r[level + 1])
        for _ in range(COARSE):
            self.smooth(LEVELS - 1, 0)
        for level in reversed(range(LEVELS - 1)):
            self.run("prolong", level, 2.125, self.z[level], self.z[level + 1])
            for _ in range(SWEEPS):
                self.smooth(level, 1)

    def product(self, a: Any, b: Any) -> float:
        """The dot product of two fields."""
        self.sum[None] = 0
        self.run("dot", 0, 2, a, b, self.sum)
        return float(self.sum[None])

    def begin(self) -> None:
        """The first residual and direction: x is 0."""
        self.precondition()
        self.run("scale", 0, 3, self.p, self.z[0], 0.0)
        self.rho = self.product(self.r[0], self.z[0])

    def iterate(self) -> None:
        """One iteration of conjugate gradients."""
        self.run("multiply", 0, 2, self.p, self.q[0])
        alpha = self.rho / self.product(self.p, self.q[0])
        self.run("add", 0, 3, self.x, self.p, self.x, alpha)
        self.run("add", 0, 3, self.r[0], self.q[0], self.r[0], -alpha)
        self.precondition()
        old, self.rho = self.rho, self.product(self.r[0], self.z[0])
        self.run("scale", 0, 3, self.p, self.z[0], self.rho / old)


def kernels(ti: Any, n: int) -> dict[str, Any]:
    """By name."""
    return making(ti, n) | stencils(ti) | between(ti) | sums(ti)


def making(ti: Any, n: int) -> dict[str, Any]:
    """What makes cells, and counts them."""
    blocks = (n + 2 * MARGIN) // CELL

    @ti.kernel
    def fill(r: ti.template()):
        for i, j, k in ti.ndrange(blocks, blocks, blocks):
            if ((ti.Vector([i, j, k]) + 0.5) * CELL - 0.5 * blocks * CELL).norm() < 0.5 * n:
                for x, y, z in ti.ndrange(CELL, CELL, CELL):
                    place = (ti.Vector([i, j, k]) * CELL + ti.Vector([x, y, z]) + 0.5) / n
                    r[i * CELL + x, j * CELL + y, k * CELL + z] = ti.sin(9.0 * place[0]) * ti.cos(7.0 * place[1])

    @ti.kernel
    def below(fine: ti.template(), coarse: ti.template()):
        for i, j, k in fine:
            coarse[i // 2, j // 2, k // 2] = 0.0

    @ti.kernel
    def count(a: ti.template()) -> ti.i32:
        found = 0
        for _i, _j, _k in a:
            found += 1
        return found

    return {"fill": fill, "below": below, "count": count}


def stencils(ti: Any) -> dict[str, Any]:
    """The operator, and half a sweep of Gauss-Seidel with it."""

    @ti.kernel
    def smooth(z: ti.template(), r: ti.template(), phase: ti.i32):
        for i, j, k in r:
            around = z[i - 1, j, k] + z[i + 1, j, k] + z[i, j - 1, k] + z[i, j + 1, k]
            new = (r[i, j, k] + around + z[i, j, k - 1] + z[i, j, k + 1]) / 6.0
            z[i, j, k] = ti.select((i + j + k) & 1 == phase, new, z[i, j, k])

    @ti.kernel
    def multiply(p: ti.template(), q: ti.template()):
        for i, j, k in p:
            around = p[i - 1, j, k] + p[i + 1, j, k] + p[i, j - 1, k] + p[i, j + 1, k]
            q[i, j, k] = 6.0 * p[i, j, k] - around - p[i, j, k - 1] - p[i, j, k + 1]

    return {"smooth": smooth, "multiply": multiply}


def between(ti: Any) -> dict[str, Any]:
    """From one level to the next one."""

    @ti.kernel
    def residual(z: ti.template(), r: ti.template(), q: ti.template()):
        for i, j, k in r:
            around = z[i - 1, j, k] + z[i + 1, j, k] + z[i, j - 1, k] + z[i, j + 1, k]
            around += z[i, j, k - 1] + z[i, j, k + 1]
            q[i, j, k] = r[i, j, k] - 6.0 * z[i, j, k] + around

    @ti.kernel
    def restrict(q: ti.template(), coarse: ti.template()):
        for i, j, k in coarse:
            total = 0.0
            for a, b, c in ti.static(ti.ndrange(2, 2, 2)):
                total += q[2 * i + a, 2 * j + b, 2 * k + c]
            coarse[i, j, k] = 0.5 * total

    @ti.kernel
    def prolong(z: ti.template(), coarse: ti.template()):
        for i, j, k in z:
            z[i, j, k] += coarse[i // 2, j // 2, k // 2]

    return {"residual": residual, "restrict": restrict, "prolong": prolong}


def sums(ti: Any) -> dict[str, Any]:
    """What is done element by element."""

    @ti.kernel
    def clear(a: ti.template()):
        for i, j, k in a:
            a[i, j, k] = 0.0

    @ti.kernel
    def dot(a: ti.template(), b: ti.template(), total: ti.template()):
        for i, j, k in a:
            total[None] += a[i, j, k] * b[i, j, k]

    @ti.kernel
    def add(a: ti.template(), b: ti.template(), out: ti.template(), factor: ti.f32):
        for i, j, k in a:
            out[i, j, k] = a[i, j, k] + factor * b[i, j, k]

    @ti.kernel
    def scale(p: ti.template(), z: ti.template(), factor: ti.f32):
        for i, j, k in p:
            p[i, j, k] = z[i, j, k] + factor * p[i, j, k]

    return {"clear": clear, "dot": dot, "add": add, "scale": scale}


def measure(bench: Bench) -> None:
    """A sphere of 256 elements across: the time of an iteration, and the share of lists of cells in a solution."""
    bench.start()
    ti, n = bench.ti, max(256 // bench.scale, MARGIN)
    solver = Solver(ti, n)
    name = f"multigrid CG, {n} across"

    lists = sum(_listing(bench, solver, level) for level in range(LEVELS))
    solver.start()
    solver.begin()
    began, steps = solver.rho, 0
    while solver.rho > 1e-10 * began and steps < 60:
        solver.iterate()
        steps += 1
    bench.times[f"{name}: iterations to 1e-5"] = steps
    if not 0 <= solver.rho <= 1e-10 * began:
        raise AssertionError(f"no solution after {steps} iterations: {solver.rho} of {began}")
    solver.start()
    solver.begin()
    solver.moved = 0.0
    solver.iterate()
    moved = solver.moved
    each = bench.times[f"{name}: an iteration"] = bench.best(solver.iterate)
    bench.times[f"{name}: lists of cells"] = lists
    if bench.is_weft:
        bench.row(f"{name}: of the bytes' time", each / bench.milliseconds_of_bytes(moved), 1.3, 1.5)
        bench.row(f"{name}: list building: %", 100 * lists / (lists + steps * each), 1, 1)


def _listing(bench: Bench, solver: Solver, level: int) -> float:
    """Milliseconds to build the list of a level."""
    count, r = solver.kernels["count"], solver.r[level]
    return max(0.0, bench.best(lambda: count(r), solver.make_cells) - bench.best(lambda: count(r)))
