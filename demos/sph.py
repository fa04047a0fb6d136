"""SPH: a dam breaks and the water runs up the far wall (smoothed particle hydrodynamics, weakly compressible).

Each particle spreads its mass over a small disc W. Density is the sum of what reaches a place; pressure grows steeply
with it, p = B ((rho/rho0)^7 - 1), and pushes along its gradient: a_i = -sum_j m (p_i/rho_i^2 + p_j/rho_j^2 + Pi_ij)
grad W, the same for both of a pair but for the sign; Pi is the artificial viscosity. Source: Monaghan, "Simulating
free surface flows with SPH", J. Comput. Phys. 110, 1994, with Wendland's kernel.
"""

import numpy as np

import weft as ti
from weft.demos.cells import Cells
from weft.demos.palette import Palette
from weft.demos.runner import play

FRAMES = 200
SPACING, REACH, SUBSTEPS, DT = 0.012, 0.026, 16, 2.2e-4  # metres, seconds; W ends at REACH
WIDTH, HEIGHT, SIZE = 1.5, 0.9, 400  # metres; pixels for each
DENSITY, SOUND, ALPHA, GRAVITY = 1000.0, 22.0, 0.1, 9.8
PEAK = 7 / (np.pi * REACH**2)  # of W


def walls():
    """Where the particles of the tank's floor and walls are, (number, 2)."""
    end, top = round(WIDTH / SPACING), round(2 * HEIGHT / SPACING)
    places = [(i, j) for i in range(-2, end + 2) for j in range(-2, top) if j < 0 or not 0 <= i < end]
    return (np.array(places, np.float32) + 0.5) * SPACING


def mass():
    """That of a particle, so that a square lattice has the density of water: DENSITY / (sum of W over the lattice)."""
    line = np.arange(-4, 5) * SPACING
    q = np.minimum(1, np.hypot(*np.meshgrid(line, line)) / REACH)
    return DENSITY / float((PEAK * (1 - q) ** 4 * (1 + 4 * q)).sum())


MASS = mass()


@ti.func
def slope(d, far):
    """The gradient of Wendland's kernel W = PEAK (1 - q)^4 (1 + 4 q), q = far / REACH, at the displacement d."""
    return d * (-20 * PEAK / REACH**2 * (1 - far / REACH) ** 3)


@ti.func
def pressure(density):
    """Tait's equation of state; it never pulls, so that drops come off."""
    return ti.max(0.0, SOUND**2 * DENSITY / 7 * ((density / DENSITY) ** 7 - 1))


@ti.data_oriented
class SPH:
    """A column of across x up particles at the left wall of the tank; the tank is two layers that do not move."""

    def __init__(self, across=42, up=56, gravity=GRAVITY):
        self.across, self.gravity = across, gravity
        self.count, around = across * up, walls()
        total = self.count + len(around)
        self.x, self.v, self.a = (ti.Vector.field(2, ti.f32, total) for _ in range(3))
        self.rho, self.cells = ti.field(ti.f32, total), Cells(self.x, REACH, (WIDTH, 2 * HEIGHT))
        self.width, self.height = int(WIDTH * SIZE), int(HEIGHT * SIZE)
        self.image = ti.Vector.field(3, ti.f32, (self.width, self.height))
        self.water, self.palette = ti.Vector.field(2, ti.f32, (self.width, self.height)), Palette("YlGnBu_r")
        self.x.from_numpy(np.concatenate([np.zeros((self.count, 2), np.float32), around]))
        self.start()

    @ti.kernel
    def start(self):
        for i in range(self.count):
            jitter = ti.Vector([ti.random(), ti.random()]) * 0.04
            self.x[i] = (ti.Vector([i % self.across, i // self.across]) + 0.5 + jitter) * SPACING

    @ti.kernel
    def weigh(self):
        for i in self.x:
            total, home = 0.0, self.cells.home(self.x[i])
            for offset in ti.grouped(ti.ndrange((-1, 2), (-1, 2))):
                c = self.cells.number(home + offset)
                for k in range(self.cells.first[c], self.cells.first[c + 1]):
                    q = ti.min(1.0, (self.x[i] - self.x[self.cells.member[k]]).norm() / REACH)
                    total += MASS * PEAK * (1 - q) ** 4 * (1 + 4 * q)
            self.rho[i] = total

    @ti.kernel
    def push(self):
        for i in range(self.count):
            total, home = ti.Vector([0.0, -self.gravity]), self.cells.home(self.x[i])
            mine = pressure(self.rho[i]) / self.rho[i] ** 2
            for offset in ti.grouped(ti.ndrange((-1, 2), (-1, 2))):
                c = self.cells.number(home + offset)
                for k in range(self.cells.first[c], self.cells.first[c + 1]):
                    j = self.cells.member[k]
                    d = self.x[i] - self.x[j]
                    far = d.norm()
                    if j != i and far < REACH:
                        closing = ti.min(0.0, (self.v[i] - self.v[j]).dot(d))
                        closing *= REACH / 2 / (d.norm_sqr() + 0.0025 * REACH**2)
                        viscosity = -2 * ALPHA * SOUND * closing / (self.rho[i] + self.rho[j])
                        total -= MASS * (mine + pressure(self.rho[j]) / self.rho[j] ** 2 + viscosity) * slope(d, far)
            self.a[i] = total

    @ti.kernel
    def move(self):
        for i in range(self.count):
            self.v[i] += DT * self.a[i]
            self.x[i] += DT * self.v[i]

    @ti.kernel
    def draw(self):
        for i, j in self.water:
            self.water[i, j] = [0, 0]
        for p in range(self.count):
            at = self.x[p] * SIZE
            for i, j in ti.ndrange((-8, 9), (-8, 9)):
                pixel = ti.floor(at, ti.i32) + ti.Vector([i, j])
                near = 1 - (pixel + 0.5 - at).norm_sqr() / 64
                if near > 0 and 0 <= pixel.x < self.width and 0 <= pixel.y < self.height:
                    self.water[pixel] += near**3 * ti.Vector([1.0, self.v[p].norm()])
        for i, j in self.image:
            amount, swift = self.water[i, j].x, self.water[i, j].y / ti.max(self.water[i, j].x, 1e-6)
            wet = ti.math.smoothstep(0.40, 0.75, amount)
            rim = ti.math.smoothstep(1.8, 0.6, amount)
            color = self.palette(0.12 + 0.24 * swift) + 0.22 * rim
            self.image[i, j] = ti.math.mix(ti.Vector([0.05, 0.06, 0.09]) * (1 + 0.6 * j / self.height), color, wet)

    def __call__(self, _number):
        for _ in range(SUBSTEPS):
            self.cells.sort()
            self.weigh()
            self.push()
            self.move()
        self.draw()
        return self.image


build = SPH

if __name__ == "__main__":
    ti.init(arch=ti.cpu)
    play(build(), FRAMES)
