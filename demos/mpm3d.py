"""MPM in 3-D: jelly, snow and water fall into a box and onto each other (moving least squares material points).

Particles carry mass, velocity and deformation F; a grid moves them. What differs is the stress, tau = P F^T:
jelly  neo-Hookean solid        mu (F F^T - I) + lambda log(J) I,  J = det F
water  only its volume resists  K (J - 1) J I, and F forgets the rest of its shape
snow   fixed corotated solid    2 mu (F - R) F^T + lambda (J - 1) J I, F = R S, which yields: its singular values stay
       within 1 - 0.025 and 1 + 0.0045, and what is pressed together hardens.
Sources: Hu et al., "A moving least squares material point method", ACM TOG 37(4), 2018; Stomakhin et al., "A material
point method for snow simulation", ACM TOG 32(4), 2013.
"""

import weft as ti
from weft.demos.balls import Balls

FRAMES = 180
GRID, SIDE, SUBSTEPS, DT, GRAVITY = 40, 17, 10, 4e-4, 9.8  # a cube of jelly, snow or water is SIDE^3 particles
WALL, EDGE = 3, 0.27  # cells that nothing enters; the side of a cube, in the units of the box, which is 1 wide
JELLY, SNOW, WATER = 0, 1, 2
STIFF, POISSON, BULK, HARDENING = 900.0, 0.25, 700.0, 8.0
CORNERS = ((0.14, 0.36, 0.34), (0.38, 0.56, 0.42), (0.60, 0.08, 0.36))  # of the three cubes, the lowest one
COLORS = ((0.80, 0.07, 0.11), (0.88, 0.90, 0.93), (0.02, 0.20, 0.60))
mat3 = ti.types.matrix(3, 3, ti.f32)


def build(grid=GRID, side=SIDE, gravity=GRAVITY):
    """Three cubes of side^3 particles in a box of grid^3 cells."""
    cube, dx = side**3, 1 / grid
    volume = (EDGE / side) ** 3
    mu, bulk = STIFF / (2 * (1 + POISSON)), STIFF * POISSON / ((1 + POISSON) * (1 - 2 * POISSON))
    x, v, color = (ti.Vector.field(3, ti.f32, 3 * cube) for _ in range(3))
    C, F = (ti.Matrix.field(3, 3, ti.f32, 3 * cube) for _ in range(2))
    pressed = ti.field(ti.f32, 3 * cube)  # the volume that snow has lost for good
    momentum, mass = ti.Vector.field(3, ti.f32, (grid,) * 3), ti.field(ti.f32, (grid,) * 3)
    view = Balls(x, color, 0.55 * EDGE / side, eye=(1.6, 1.15, 2.2), target=(0.5, 0.22, 0.5))

    @ti.kernel
    def start():
        for p in x:
            kind, k = p // cube, p % cube
            place = ti.Vector([k % side, k // side % side, k // side**2]) + 0.25
            for m in ti.static(range(3)):
                if kind == m:
                    jitter = ti.Vector([ti.random(), ti.random(), ti.random()]) * 0.5
                    x[p] = ti.Vector(CORNERS[m]) + (place + jitter) * (EDGE / side)
                    color[p] = ti.Vector(COLORS[m]) * (0.92 + 0.16 * ti.random())
            F[p], pressed[p] = ti.Matrix.identity(ti.f32, 3), 1.0
            v[p] = [0.0, -1.0, 0.0]

    @ti.func
    def weights(p):
        """The lowest of the 27 nodes around p, p from there in cells, and the quadratic B-spline along each axis."""
        base = int(p / dx - 0.5)
        f = p / dx - base
        return base, f, [0.5 * (1.5 - f) ** 2, 0.75 - (f - 1) ** 2, 0.5 * (f - 0.5) ** 2]

    @ti.func
    def stress(p):
        """tau of particle p; snow yields here."""
        I, G, J = ti.Matrix.identity(ti.f32, 3), F[p], F[p].determinant()
        tau = mat3(0)
        if p // cube == JELLY:
            tau = mu * (G @ G.transpose() - I) + bulk * ti.log(ti.max(J, 0.05)) * I
        elif p // cube == WATER:
            F[p] = ti.max(J, 0.05) ** (1 / 3) * I
            tau = BULK * (J - 1) * J * I
        else:
            U, S, V = ti.svd(G)
            held = mat3(0)
            for d in ti.static(range(3)):
                held[d, d] = ti.math.clamp(S[d, d], 1 - 0.025, 1 + 0.0045)
            kept = held.determinant()
            pressed[p] = ti.math.clamp(pressed[p] * J / kept, 0.6, 20.0)
            F[p] = U @ held @ V.transpose()
            hard = ti.min(ti.exp(HARDENING * (1 - pressed[p])), 4.0)
            tau = hard * (2 * mu * (F[p] - U @ V.transpose()) @ F[p].transpose() + bulk * (kept - 1) * kept * I)
        return tau

    @ti.kernel
    def substep():
        for cell in ti.grouped(mass):
            momentum[cell], mass[cell] = [0, 0, 0], 0
        for p in x:
            base, f, w = weights(x[p])
            F[p] += DT * C[p] @ F[p]
            affine = volume * (C[p] - DT * 4 / dx**2 * stress(p))  # density 1, so that mass is volume
            for i, j, k in ti.static(ti.ndrange(3, 3, 3)):
                offset = ti.Vector([i, j, k])
                weight = w[i].x * w[j].y * w[k].z
                momentum[base + offset] += weight * (volume * v[p] + affine @ ((offset - f) * dx))
                mass[base + offset] += weight * volume
        for cell in ti.grouped(mass):
            if mass[cell] > 0:
                u = momentum[cell] / mass[cell] - ti.Vector([0, DT * gravity, 0])
                for d in ti.static(range(3)):
                    if (cell[d] < WALL and u[d] < 0) or (cell[d] > grid - WALL and u[d] > 0):
                        u[d] = 0
                momentum[cell] = u
        for p in x:
            base, f, w = weights(x[p])
            new_v, new_C = ti.Vector([0.0, 0.0, 0.0]), mat3(0)
            for i, j, k in ti.static(ti.ndrange(3, 3, 3)):
                offset = ti.Vector([i, j, k])
                u = w[i].x * w[j].y * w[k].z * momentum[base + offset]
                new_v += u
                new_C += 4 / dx * u.outer_product(offset - f)
            v[p], C[p] = new_v, new_C
            x[p] += DT * new_v

    start()

    def frame(_number):
        for _ in range(SUBSTEPS):
            substep()
        return view.draw()

    frame.x, frame.v, frame.F, frame.mass, frame.substep = x, v, F, mass, substep
    return frame
