"""Ray marching: a scene of distance functions with soft shadows, ambient occlusion and one bounce of reflection."""

import weft as ti
from weft import vec3
from weft.demos.runner import play

FRAMES = 120
WIDTH, HEIGHT = 640, 360
TETRAHEDRON = ((1, -1, -1), (-1, -1, 1), (-1, 1, -1), (1, 1, 1))


@ti.func
def blend(a, b, k):
    """A smooth minimum: melts two shapes together over the width k."""
    h = ti.max(k - abs(a - b), 0.0) / k
    return ti.min(a, b) - h * h * k * 0.25


@ti.func
def scene(p, time):
    """(distance, material) of the nearest surface: 0 the floor, 1 the melting balls, 2 the ring."""
    floor = p.y
    balls = 1e3
    for k in ti.static(range(4)):
        turn = time * (0.8 + 0.13 * k) + 1.57 * k
        height = 0.62 + 0.28 * ti.sin(1.7 * time + 2 * k)
        balls = blend(balls, (p - vec3(0.62 * ti.cos(turn), height, 0.62 * ti.sin(turn))).norm() - 0.36, 0.35)
    q = p - vec3(0, 0.75, 0)
    ring = ti.Vector([ti.Vector([q.x, q.z]).norm() - 1.55, q.y + 0.25 * ti.sin(3 * ti.atan2(q.z, q.x) + time)]).norm()
    found = ti.Vector([floor, 0.0])
    if balls < found.x:
        found = ti.Vector([balls, 1.0])
    if ring - 0.11 < found.x:
        found = ti.Vector([ring - 0.11, 2.0])
    return found


@ti.func
def march(origin, ray, time):
    """(distance along the ray, material); material -1 where it leaves the scene."""
    t, material, steps = 0.02, -1.0, 0
    while steps < 110 and t < 18:
        near = scene(origin + t * ray, time)
        if near.x < 0.0008 * t:
            material = near.y
            break
        t += near.x * 0.9
        steps += 1
    return ti.Vector([t, material])


@ti.func
def normal(p, time):
    n, e = vec3(0, 0, 0), 0.0007
    for x, y, z in ti.static(TETRAHEDRON):
        corner = vec3(x, y, z)
        n += corner * scene(p + e * corner, time).x
    return n.normalized()


@ti.func
def sky(ray):
    up = ti.max(ray.y, 0.0)
    return vec3(0.72, 0.42, 0.28) * (1 - up) ** 6 + vec3(0.10, 0.22, 0.46) * (0.3 + 0.7 * up)


@ti.func
def shade(p, ray, material, time):
    n, sun = normal(p, time), vec3(0.58, 0.62, -0.53)
    base = vec3(0.95, 0.30, 0.18)
    if material == 2:
        base = vec3(0.95, 0.76, 0.33)
    if material == 0:
        check = (int(ti.floor(p.x * 1.5)) + int(ti.floor(p.z * 1.5))) % 2
        base = vec3(0.10, 0.12, 0.16) + 0.22 * check
    light, t = 1.0, 0.03
    for _ in range(28):
        near = scene(p + n * 0.01 + t * sun, time).x
        light = ti.min(light, 11 * near / t)
        t += ti.max(0.02, ti.min(near, 0.25))
    occlusion = 0.0
    for k in ti.static(range(1, 5)):
        occlusion += (0.09 * k - scene(p + 0.09 * k * n, time).x) * 0.6**k
    diffuse = ti.max(n.dot(sun), 0.0) * ti.max(light, 0.0)
    gloss = ti.max((sun - ray).normalized().dot(n), 0.0) ** 60 * ti.max(light, 0.0)
    ambient = (0.32 + 0.22 * n.y) * ti.max(1 - 2.2 * occlusion, 0.0)
    return base * (1.25 * diffuse * vec3(1.0, 0.90, 0.76) + ambient * vec3(0.75, 0.85, 1.0)) + 0.5 * gloss


@ti.data_oriented
class RayMarcher:
    """The picture; a camera circles around the scene."""

    def __init__(self):
        self.image = ti.Vector.field(3, ti.f32, (WIDTH, HEIGHT))

    @ti.kernel
    def draw(self, time: ti.f32):
        for i, j in self.image:
            angle = 0.35 * time + 0.6
            eye = vec3(4.1 * ti.cos(angle), 1.9, 4.1 * ti.sin(angle))
            ahead = (vec3(0, 0.55, 0) - eye).normalized()
            side = ahead.cross(vec3(0, 1, 0)).normalized()
            up = side.cross(ahead)
            u, w = (i + 0.5 - WIDTH / 2) / HEIGHT, (j + 0.5 - HEIGHT / 2) / HEIGHT
            ray = (1.45 * ahead + u * side + w * up).normalized()
            color, origin, share = vec3(0, 0, 0), eye, 1.0
            for _ in range(2):
                hit = march(origin, ray, time)
                if hit.y < 0:
                    color += share * sky(ray)
                    break
                p = origin + hit.x * ray
                n = normal(p, time)
                fog = 1 - ti.exp(-0.0004 * hit.x**3)
                mirror = 0.08 + 0.5 * (1 - ti.max(-n.dot(ray), 0.0)) ** 4
                color += share * ((1 - mirror) * (1 - fog) * shade(p, ray, hit.y, time) + fog * sky(ray))
                share *= mirror * (1 - fog)
                origin, ray = p + 0.01 * n, ray - 2 * n.dot(ray) * n
            self.image[i, j] = ti.max(0.0, color / (1 + 0.25 * color)) ** 0.62

    def __call__(self, number):
        self.draw(0.05 * number)
        return self.image


build = RayMarcher

if __name__ == "__main__":
    ti.init(arch=ti.cpu)
    play(build(), FRAMES)
