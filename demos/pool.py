"""The table of the demo `billiards`: its sizes in metres, where balls lie at the begin, and pictures of it."""

import numpy as np

import weft as ti

LENGTH, WIDTH, RADIUS, POCKET = 2.54, 1.27, 0.0286, 0.075  # of the felt, of a ball, of a hole
HOLES = [ti.Vector([x, y]) for x in (0.0, LENGTH / 2, LENGTH) for y in (0.0, WIDTH)]
BALLS, RIM, SCALE = 10, 0.1, 300  # cue ball, one to nine; metres; pixels of a metre
COLORS = "f0ecdc f2be1e 1e50be d72d23 6e328c f0781e 14783c 821e23 191919 f2be1e"


@ti.func
def to_hole(p):
    """How far the next hole is."""
    away = (p - HOLES[0]).norm()
    for hole in ti.static(HOLES[1:]):
        away = ti.min(away, (p - hole).norm())
    return away


def diamond(random):
    """Where the balls lie: the cue ball, and nine in a diamond with small gaps, the ninth in its middle."""
    side, places = 2 * RADIUS * 1.004, [(0.25 * LENGTH, WIDTH / 2)]
    for row, many in enumerate((1, 2, 3, 2, 1)):
        places += [
            (0.73 * LENGTH + row * side * 0.75**0.5, WIDTH / 2 + (k - (many - 1) / 2) * side) for k in range(many)
        ]
    places.append(places.pop(5))
    return (np.array(places) + random.uniform(-5e-5, 5e-5, (BALLS, 2))).astype(np.float32)


@ti.data_oriented
class Table:
    """Draws the places x[time, shot, ball]."""

    def __init__(self, x):
        self.x, self.color = x, ti.Vector.field(3, ti.f32, BALLS)
        self.image = ti.Vector.field(3, ti.f32, [int((side + 2 * RIM) * SCALE) for side in (LENGTH, WIDTH)])
        self.color.from_numpy(np.array([list(bytes.fromhex(c)) for c in COLORS.split()], np.float32) / 255)

    @ti.kernel
    def draw(self, best: ti.i32, now: ti.i32):
        """The paths of the ninth balls of all shots, and the balls of the best one at that time."""
        for i, j in self.image:
            p = (ti.Vector([i, j]) + 0.5) / SCALE - RIM
            felt = 0 < p.x < LENGTH and 0 < p.y < WIDTH
            color = ti.Vector([0.02, 0.34, 0.28]) if felt else ti.Vector([0.30, 0.16, 0.08])
            light = 1.1 - 0.35 * (p - ti.Vector([LENGTH, WIDTH]) / 2).norm()
            self.image[i, j] = light * color * (to_hole(p) > POCKET)
        for t, s, k in ti.ndrange(self.x.shape[0] - 1, self.x.shape[1], 16):
            p = ti.math.mix(self.x[t, s, BALLS - 1], self.x[t + 1, s, BALLS - 1], k / 16)
            glow = (p - self.x[t, s, BALLS - 1]).norm() * (48.0 if s == best else 16.0)
            self.image[ti.floor((p + RIM) * SCALE, ti.i32)] += glow * ti.Vector([1.0, 0.8, 0.3])
        for i, j, b in ti.ndrange(*self.image.shape, BALLS):
            d = ((ti.Vector([i, j]) + 0.5) / SCALE - RIM - self.x[now, best, b]) / RADIUS
            if d.norm_sqr() < 1 and to_hole(self.x[now, best, b]) > POCKET:
                color = self.color[0 if b == BALLS - 1 and abs(d.y) > 0.5 else b]
                shine = 0.8 * ti.exp(-12 * (d - ti.Vector([-0.35, 0.4])).norm_sqr())
                self.image[i, j] = (0.55 + 0.45 * ti.sqrt(1 - d.norm_sqr())) * color + shine
