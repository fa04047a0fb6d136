"""Cornell box: light bounces between coloured walls, a block and a mirror ball, more exactly with each frame (paths).

The light that leaves a point is a mean over where it came from: L = E + albedo * mean of L over directions weighted by
their cosine (Kajiya, "The rendering equation", SIGGRAPH 1986). A path follows one random direction at each bounce; at
matt points one ray goes to a random point of the lamp as well, since few paths find it by themselves. Long paths end
by chance, and those that go on count for more: no light is lost. Colours are close to those of the box at Cornell.
"""

import numpy as np

import weft as ti
from weft import vec3
from weft.demos.runner import play

FRAMES = 120
SIZE, PATHS, LONGEST, SURE = 256, 2, 24, 3  # paths of a pixel in a frame; bounces at most, and before chance decides
WHITE, RED, GREEN = (0.73, 0.73, 0.73), (0.61, 0.06, 0.06), (0.12, 0.45, 0.15)
LAMP, GLOW = (0.26, 0.74, 0.28, 0.76), (5.4, 4.3, 2.9)  # x and z of the lamp in the ceiling; what it radiates
BALL, RADIUS = (0.70, 0.19, 0.33), 0.19
BLOCK, HALF, TURN = (0.32, 0.30, 0.66), (0.15, 0.30, 0.15), 0.32
MATT, MIRROR, LIGHT = 0, 1, 2


@ti.dataclass
class Hit:
    """What a ray meets, `far` away: the normal on the ray's side, the colour, what kind of surface."""

    far: ti.f32
    normal: vec3
    color: vec3
    kind: ti.i32


@ti.func
def turned(p, angle):
    """p turned around the vertical axis."""
    c, s = ti.cos(angle), ti.sin(angle)
    return vec3(c * p.x - s * p.z, p.y, s * p.x + c * p.z)


@ti.func
def slabs(origin, ray, half):
    """Where a ray enters and leaves the box |p| < half, and the normals there."""
    a, b = (-half - origin) / ray, (half - origin) / ray
    near, far = ti.min(a, b), ti.max(a, b)
    return near.max(), far.min(), -ti.math.sign(ray) * (near == near.max()), -ti.math.sign(ray) * (far == far.min())


@ti.func
def meet(origin, ray):
    """The nearest surface along the ray."""
    _, far, _, normal = slabs(origin - 0.5, ray, vec3(0.5))
    p, hit = origin + far * ray, Hit(far, normal, vec3(WHITE), MATT)
    if abs(normal.x) > 0.5:
        hit.color = vec3(RED) if normal.x > 0 else vec3(GREEN)
    if normal.y < -0.5 and LAMP[0] < p.x < LAMP[1] and LAMP[2] < p.z < LAMP[3]:
        hit.kind = LIGHT
    d = origin - vec3(BALL)
    half = d.dot(ray)
    root = half * half - d.norm_sqr() + RADIUS**2
    if root > 0 and 1e-4 < -half - ti.sqrt(root) < hit.far:
        t = -half - ti.sqrt(root)
        hit = Hit(t, (d + t * ray).normalized(), vec3(0.92), MIRROR)
    near, far_side, face, _ = slabs(turned(origin - vec3(BLOCK), TURN), turned(ray, TURN), vec3(HALF))
    if near < far_side and 1e-4 < near < hit.far:
        hit = Hit(near, turned(face, -TURN), vec3(WHITE), MATT)
    return hit


@ti.func
def around(n):
    """A random direction about n, as likely as its cosine: n plus a point of the unit sphere."""
    up, turn = 1 - 2 * ti.random(), 2 * np.pi * ti.random()
    flat = ti.sqrt(ti.max(0.0, 1 - up * up))
    return (n * 1.0001 + vec3(flat * ti.cos(turn), up, flat * ti.sin(turn))).normalized()


@ti.data_oriented
class CornellBox:
    """A picture of size x size; `aim`: send rays to the lamp (the result is the same, the noise less)."""

    def __init__(self, size=SIZE, paths=PATHS, aim=True, longest=LONGEST):
        self.size, self.paths, self.aim, self.longest = size, paths, aim, longest
        self.light, self.image = (ti.Vector.field(3, ti.f32, (size, size)) for _ in range(2))
        self.area = (LAMP[1] - LAMP[0]) * (LAMP[3] - LAMP[2])
        self.done = 0

    @ti.func
    def from_lamp(self, p, n):
        """What a random point of the lamp sends to p, if nothing is between; the mean over them is the integral."""
        spot = vec3(ti.math.mix(LAMP[0], LAMP[1], ti.random()), 1, ti.math.mix(LAMP[2], LAMP[3], ti.random()))
        d = spot - p
        ray = d.normalized()
        got = vec3(0)
        if n.dot(ray) > 0 and meet(p, ray).kind == LIGHT:
            got = vec3(GLOW) * (n.dot(ray) * ray.y * self.area / (np.pi * d.norm_sqr()))
        return got

    @ti.func
    def follow(self, eye, look):
        """The light that one path brings to the eye."""
        origin, ray, total, share, seen = eye, look, vec3(0), vec3(1), True
        for bounce in range(self.longest):
            hit = meet(origin, ray)
            if hit.kind == LIGHT:
                total += share * vec3(GLOW) * seen  # else it has been counted when the path aimed at the lamp
                break
            origin += hit.far * ray + 1e-4 * hit.normal
            share *= hit.color
            seen = hit.kind == MIRROR or ti.static(not self.aim)
            if hit.kind == MIRROR:
                ray = ti.math.reflect(ray, hit.normal)
            else:
                if ti.static(self.aim):
                    total += share * self.from_lamp(origin, hit.normal)
                ray = around(hit.normal)
            if bounce >= SURE:
                if ti.random() > share.max():
                    break
                share /= share.max()
        return total

    @ti.kernel
    def trace(self):
        for i, j in self.light:
            for _ in range(self.paths):
                p = 0.985 * ((ti.Vector([i + ti.random(), j + ti.random()]) - self.size / 2) / self.size)
                look = vec3(p, 1).normalized()
                # The eye is outside, where the box has no front: the path begins in the opening.
                self.light[i, j] += self.follow(vec3(0.5) + look * (0.001 / look.z) + vec3(p, -0.5), look)

    @ti.kernel
    def draw(self, count: ti.f32):
        for i, j in self.image:
            c = 1.1 * self.light[i, j] / count
            c = c * (2.51 * c + 0.03) / (c * (2.43 * c + 0.59) + 0.14)  # Narkowicz's fit of the ACES film curve
            self.image[i, j] = ti.math.clamp(c, 0.0, 1.0) ** (1 / 2.2)

    def __call__(self, _number):
        self.trace()
        self.done += self.paths
        self.draw(self.done)
        return self.image


build = CornellBox

if __name__ == "__main__":
    ti.init(arch=ti.cpu)
    play(build(), FRAMES)
