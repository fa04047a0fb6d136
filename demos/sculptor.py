"""A voxel sculptor: brushes grow a cherry tree in blocks that exist only where something is (path tracer, sparse).

A cell has a material, 0 for air, in blocks of 8^3 cells below a pointer node. A ray steps from border to border: of
cells where a block exists, of blocks where none does. From each surface that a path meets, one more ray goes to the
sun; what a ray misses is sky. A pixel is the mean of its paths, and begins anew if something else comes to its front.
In a window, you are the sculptor: H shows the keys.
Source: Kajiya, "The rendering equation", SIGGRAPH 1986.
"""

import numpy as np

import weft as ti
from weft import mat3, vec3, vec4
from weft.demos.cherry import EARTH, LAMP, PALE, strokes
from weft.demos.cornell import around
from weft.demos.orbit import Orbit
from weft.demos.runner import play
from weft.demos.voxels import AIR, FLOOR, Voxels, noise

FRAMES = 200
SIZE, PATHS, BOUNCES = (400, 300), 1, 3  # PATHS: of a pixel in a frame; BOUNCES: rays of a path
KEPT = 20  # as many of the paths of a pixel count when the sculpture changes
FOCUS, SUN, SUNLIGHT, SPREAD = (128, 66, 128), (0.12, 0.5, -0.86), (4.6, 3.2, 2.0), 0.03
COLORS = (
    *((0, 0, 0), (0.22, 0.34, 0.08), (0.2, 0.11, 0.07), (0.84, 0.28, 0.4), (0.93, 0.64, 0.7), (0.4, 0.4, 0.4)),
    *((5.0, 2.4, 0.8), (0.30, 0.30, 0.32)),  # of a lamp, what it radiates
)


@ti.func
def sky(ray):
    blue = ti.math.mix(vec3(0.80, 0.50, 0.36), vec3(0.10, 0.21, 0.46), 1 - (1 - ti.max(ray.y, 0.0)) ** 2.5)
    return blue + 0.6 * ti.max(ray.dot(vec3(SUN)), 0.0) ** 6 * vec3(1.0, 0.5, 0.25)


@ti.data_oriented
class Sculptor:
    """The sculpture, its picture, and the strokes that are still to come."""

    keys = (
        *(("Mouse", "the left button adds, the right one takes away"), ("Q, E", "a smaller brush, a larger one")),
        *(("1 to 6", "earth, bark, blossom, pale blossom, stone, lamp"), *Orbit.keys),
    )

    def __init__(self, size=SIZE, paths=PATHS):
        self.size, self.paths, self.strokes = size, paths, strokes()
        self.voxels = Voxels()
        self.light, self.image = (ti.Vector.field(3, ti.f32, size) for _ in range(2))
        self.count, self.front = ti.field(ti.f32, size), ti.Vector.field(4, ti.f32, size)  # front: a point, a material
        self.color = ti.Vector.field(3, ti.f32, len(COLORS))
        self.color.from_numpy(np.array(COLORS, np.float32))
        self.camera, self.material, self.radius = Orbit(FOCUS, 310, size, turn=0.6, rise=0.17), PALE, 6.0
        self.mark, self.last = vec4(0), vec3(0)  # the middle and the radius of the brush; the middle of the last stroke

    @ti.func
    def follow(self, origin, ray):
        """The light that one path brings."""
        total, share = vec3(0), vec3(1)
        for _ in range(BOUNCES):
            far, normal, material = self.voxels.meet(origin, ray)
            if material == AIR or material == LAMP:  # noqa: SIM109
                total += share * (sky(ray) if material == AIR else self.color[LAMP])
                break
            origin += far * ray + 2e-3 * normal
            share *= self.color[material] * (
                1 if material == FLOOR else 0.75 + 0.5 * noise(ti.floor(origin - 0.5 * normal, ti.i32))
            )
            if material == FLOOR:  # far away, it melts into the sky
                haze = 1 - ti.exp(-(((origin - vec3(FOCUS)).norm() / 420) ** 4))
                total += share / self.color[FLOOR] * haze * sky(ray * vec3(1, 0, 1))
                share *= 1 - haze
            sun = (vec3(SUN) + SPREAD * around(vec3(SUN))).normalized()
            _, _, between = self.voxels.meet(origin, sun)
            total += share * vec3(SUNLIGHT) * ti.max(normal.dot(sun), 0.0) * (between == AIR)
            ray = around(normal)
        return total

    @ti.kernel
    def pick(self, eye: vec3, lens: mat3, x: ti.f32, y: ti.f32) -> vec3:
        """The point that pixel x, y shows."""
        ray = self.camera.ray(lens, x, y)
        far, _, _ = self.voxels.meet(eye, ray)
        return vec3(eye + far * ray)

    @ti.kernel
    def draw(self, eye: vec3, lens: mat3, changed: ti.i32, mark: vec4):
        """Add paths to the pixels, and show their means."""
        for i, j in self.light:
            ray = self.camera.ray(lens, i + 0.5, j + 0.5)
            far, _, material = self.voxels.meet(eye, ray)
            front = vec4(eye + far * ray, material)
            keep = ti.min(1.0, KEPT / ti.max(self.count[i, j], 1.0)) if changed else 1.0
            keep *= (front - self.front[i, j]).norm() < 0.01
            light, count = keep * self.light[i, j], keep * self.count[i, j] + self.paths
            for _ in range(self.paths):
                light += self.follow(eye, self.camera.ray(lens, i + ti.random(), j + ti.random()))
            self.front[i, j], self.light[i, j], self.count[i, j] = front, light, count
            c = 0.8 * light / count
            c = c * (2.51 * c + 0.03) / (c * (2.43 * c + 0.59) + 0.14)  # Narkowicz's fit of the ACES film curve
            ring = material != AIR and abs((front.xyz - mark.xyz).norm() - mark.w) < 0.7
            self.image[i, j] = ti.math.mix(ti.math.clamp(c, 0.0, 1.0) ** (1 / 2.2), 1.0, 0.6 * ring)

    def steer(self, window):
        """React to the mouse and to keys that are held."""
        self.camera.steer(window)
        smaller, larger, adds, takes = (window.is_pressed(key) for key in ("q", "e", ti.ui.LMB, ti.ui.RMB))
        self.radius = min(max(self.radius * 1.04 ** (larger - smaller), 1.0), 40.0)
        self.material = next((m for m in range(EARTH, LAMP + 1) if window.is_pressed(str(m))), self.material)
        x, y = window.get_cursor_pos()
        eye, lens = self.camera.lens()
        p = self.pick(eye, lens, x * self.size[0], y * self.size[1])
        self.mark = vec4(*p, self.radius)
        # What was added is nearer to the eye: the next stroke is beside the last one.
        if (adds or takes) and (p - self.last).norm() > 0.7 * self.radius:
            self.last, material = p, self.material if adds else AIR
            self.strokes.insert(0, (0, p, vec3(self.radius), 0.1, material))

    def __call__(self, number):
        due = [stroke for stroke in self.strokes if stroke[0] <= number]
        self.strokes = self.strokes[len(due) :]
        for _, *stroke in due:
            self.voxels.stroke(*stroke)
            if stroke[-1] == AIR:
                self.voxels.tidy()
        eye, lens = self.camera.lens()
        self.draw(eye, lens, len(due) > 0, self.mark)
        return self.image.to_numpy().swapaxes(0, 1)[::-1]


build = Sculptor

if __name__ == "__main__":
    ti.init(arch=ti.cpu)
    play(build(), FRAMES)
