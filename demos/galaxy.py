"""N-body galaxy: two spinning discs of stars meet; every star attracts every other (direct summation, leapfrog)."""

import numpy as np

import weft as ti
from weft.demos.runner import play

FRAMES = 150
STARS, SIZE, DT, SOFTENING = 6144, 512, 0.004, 0.0004
HALF, CORE, DISC = STARS // 2, 0.22, 0.3


@ti.data_oriented
class Galaxy:
    """Places, velocities and masses of STARS stars."""

    def __init__(self):
        self.x = ti.Vector.field(3, ti.f32, STARS)
        self.v = ti.Vector.field(3, ti.f32, STARS)
        self.mass, self.hue = ti.field(ti.f32, STARS), ti.field(ti.f32, STARS)
        self.image = ti.Vector.field(3, ti.f32, (SIZE, SIZE))
        self.start()

    @ti.kernel
    def start(self):
        """Two discs around heavy cores, each star as fast as its circle asks for."""
        for i in self.x:
            second = i >= HALF
            centre = ti.Vector([0.45, 0.2, 0.06]) if second else ti.Vector([-0.45, -0.2, -0.06])
            drift = ti.Vector([-0.3, 0.16, 0.0]) if second else ti.Vector([0.3, -0.16, 0.0])
            radius = 0.025 - 0.1 * ti.log(1.0 - 0.96 * ti.random())
            angle = 2 * np.pi * ti.random()
            speed = ti.sqrt((CORE + DISC * (1 - ti.exp(-radius / 0.1) * (1 + radius / 0.1))) / radius)
            self.mass[i] = DISC / HALF
            if i % HALF == 0:
                self.mass[i], radius, speed = CORE, 0.0, 0.0
            tilt = 0.9 if second else -0.5
            flat = ti.Vector([ti.cos(angle), ti.sin(angle)]) * radius
            turn = ti.Vector([-ti.sin(angle), ti.cos(angle)]) * speed
            lift = (ti.random() - 0.5) * 0.02
            self.x[i] = centre + ti.Vector([flat.x, flat.y * ti.cos(tilt), flat.y * ti.sin(tilt) + lift])
            self.v[i] = drift + ti.Vector([turn.x, turn.y * ti.cos(tilt), turn.y * ti.sin(tilt)])
            self.hue[i] = (0.0 if second else 0.6) + 0.4 * ti.random()

    @ti.kernel
    def accelerate(self):
        """Every star attracts every other; softened, so that near misses stay finite."""
        for i in range(STARS):
            here = self.x[i]
            pull = ti.Vector([0.0, 0.0, 0.0])
            for j in range(STARS):
                d = self.x[j] - here
                inverse = ti.rsqrt(d.dot(d) + SOFTENING)
                pull += d * (self.mass[j] * inverse * inverse * inverse)
            self.v[i] += DT * pull

    @ti.kernel
    def move(self):
        for i in self.x:
            self.x[i] += DT * self.v[i]

    @ti.kernel
    def draw(self, turn: ti.f32):
        for i, j in self.image:
            self.image[i, j] *= 0.0
        for s in self.x:
            p = self.x[s]
            q = ti.Vector([p.x * ti.cos(turn) + p.z * ti.sin(turn), p.y])
            at = (q * 0.66 + 0.5) * SIZE
            warm, cold = ti.Vector([1.0, 0.55, 0.28]), ti.Vector([0.36, 0.58, 1.0])
            color = warm * (1 - self.hue[s]) + cold * self.hue[s]
            for i, j in ti.ndrange((-2, 3), (-2, 3)):
                pixel = int(at) + ti.Vector([i, j])
                if 0 <= pixel.x < SIZE and 0 <= pixel.y < SIZE:
                    self.image[pixel] += color * 0.75 * ti.exp(-(pixel + 0.5 - at).norm_sqr() * 0.7)
        for i, j in self.image:
            self.image[i, j] = 1 - ti.exp(-1.35 * self.image[i, j])

    def __call__(self, number):
        for _ in range(2):
            self.accelerate()
            self.move()
        self.draw(0.012 * number)
        return self.image


build = Galaxy

if __name__ == "__main__":
    ti.init(arch=ti.cpu)
    play(build(), FRAMES)
