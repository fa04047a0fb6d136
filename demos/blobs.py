"""Soft bodies in the plane as the demos draw them: points melt together into a surface, which is lit from above."""

import weft as ti


@ti.data_oriented
class Blobs:
    """Mixes points with `x` (metres) and `color` into pictures; a point covers about `radius` pixels around it."""

    def __init__(self, x, color, pixels, scale, radius):
        self.x, self.color, self.pixels, self.scale, self.radius = x, color, pixels, scale, radius
        self.ink = ti.Vector.field(4, ti.f32, pixels)  # sums of colours, and of their weights

    @ti.func
    def thickness(self, i, j):
        return self.ink[ti.math.clamp(i, 0, self.pixels[0] - 1), ti.math.clamp(j, 0, self.pixels[1] - 1)].w

    @ti.kernel
    def draw(self, image: ti.Template):
        for i, j in self.ink:
            self.ink[i, j] = [0.0, 0.0, 0.0, 0.0]
        for p in self.x:
            at, c, reach = self.x[p] * self.scale, self.color[p], int(2 * self.radius)
            for i, j in ti.ndrange((-reach, reach + 1), (-reach, reach + 1)):
                k = ti.floor(at, ti.i32) + ti.Vector([i, j])
                if 0 <= k.x < self.pixels[0] and 0 <= k.y < self.pixels[1]:
                    near = ti.exp(-(k + 0.5 - at).norm_sqr() / self.radius**2)
                    self.ink[k] += near * ti.Vector([c.x, c.y, c.z, 1.0])
        for i, j in self.ink:
            ink = self.ink[i, j]
            slope = 2 * ink.w - self.thickness(i, j + 2) - self.thickness(i - 2, j)
            light = 0.9 + 0.25 * ti.math.clamp(slope, -1.0, 1.0)
            cover = ti.math.smoothstep(0.35, 0.75, ink.w)
            image[i, j] = ti.math.mix(image[i, j], ink.xyz / (ink.w + 1e-6) * light, cover)
