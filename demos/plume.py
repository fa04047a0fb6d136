"""A sparse plume: smoke rises, curls and dissolves, on blocks that come and go with it (3-D, pointer grid).

A step carries velocity and smoke backward along the flow, lifts the smoke, strengthens the whirls that the grid blurs,
and subtracts the gradient of a pressure, so that as much air enters a cell as leaves it (Jacobi iterations that start
at the last pressure). The room has 256^3 cells, in blocks of 8^3. A block exists only if smoke is in it or beside it.
Around the blocks is still air without pressure, because what is not active reads 0.
Sources: Stam, "Stable fluids", SIGGRAPH 1999; Fedkiw, Stam, Jensen, "Visual simulation of smoke", SIGGRAPH 2001.
"""

import numpy as np
from PIL import Image, ImageDraw, ImageFont

import weft as ti
from weft import vec3, vec4
from weft.demos.grids import sample
from weft.demos.recording import as_bytes
from weft.demos.runner import play

FRAMES = 320
BLOCK, BLOCKS, EDGE = 8, 32, 2  # cells along each axis of a block; blocks along each of the room; no smoke near walls
SWEEPS, LIFT, SWIRL, SOURCE = 8, 0.15, 0.25, 4.5  # SOURCE: its radius in cells
KEEP, FADE, THIN = 0.99, 0.0035, 0.02  # what is left of smoke after a step, less FADE; THIN is as good as none
VIEW, SCALE = (28, 21), 3  # blocks across and up in the picture; pixels for each cell
SWAY, SUN, SHADE, THICK = (50, 30), (-0.55, 0.75, 0.37), 0.4, 0.2  # SWAY: how far the source goes, in cells


@ti.data_oriented
class Plume:
    """Smoke from a source that wanders."""

    def __init__(self):
        self.air, self.moved, self.curl = (ti.Vector.field(4, ti.f32) for _ in range(3))  # 3 components, smoke or norm
        self.excess, self.pressure, self.pressure2, self.light, self.most = (ti.field(ti.f32) for _ in range(5))
        self.blocks = ti.root.pointer(ti.ijk, BLOCKS)
        self.blocks.place(self.most)
        cells = self.blocks.dense(ti.ijk, BLOCK)
        cells.place(self.air, self.moved, self.curl, self.excess, self.pressure, self.pressure2, self.light)
        self.seen = ti.Vector.field(3, ti.f32, (VIEW[0] * BLOCK, VIEW[1] * BLOCK))
        self.image = ti.Vector.field(3, ti.f32, (VIEW[0] * BLOCK * SCALE, VIEW[1] * BLOCK * SCALE))

    @ti.kernel
    def follow(self, source: vec3):
        """Make blocks around smoke and the source, and drop those far from it."""
        for b in ti.grouped(self.blocks):
            self.most[b] = 0.0  # smoke in a cell of the block
            for o in ti.grouped(ti.ndrange(BLOCK, BLOCK, BLOCK)):
                self.most[b] = ti.max(self.most[b], self.air[b * BLOCK + o].w)
        self.most[ti.floor(source / BLOCK, ti.i32)] = 1.0
        for b in ti.grouped(self.blocks):
            for o in ti.grouped(ti.ndrange((-1, 2), (-1, 2), (-1, 2))):
                if self.most[b] > THIN and (b + o).min() >= EDGE and (b + o).max() < BLOCKS - EDGE:
                    ti.activate(self.blocks, b + o)
        for b in ti.grouped(self.blocks):
            near = 0.0
            for o in ti.grouped(ti.ndrange((-1, 2), (-1, 2), (-1, 2))):
                near = ti.max(near, self.most[b + o])
            if near <= THIN:
                ti.deactivate(self.blocks, b)

    @ti.func
    def slopes(self, q: ti.Template, c):
        return [0.5 * (q[c + ti.Vector(e)] - q[c - ti.Vector(e)]) for e in ti.static(((1, 0, 0), (0, 1, 0), (0, 0, 1)))]

    @ti.kernel
    def carry(self, source: vec3, push: vec3):
        for c in ti.grouped(self.air):
            p = ti.math.clamp(c - self.air[c].xyz, 0.0, BLOCK * BLOCKS - 1.001)
            k = ti.floor(p, ti.i32)
            t, a = p - k, vec4(0)
            for o in ti.static(ti.ndrange(2, 2, 2)):
                x, y, z = [t[d] if o[d] else 1 - t[d] for d in ti.static(range(3))]
                a += x * y * z * self.air[k + ti.Vector(o)]
            a.w = ti.max(KEEP * a.w - FADE, 0.0)
            a.y += LIFT * a.w
            inside = ti.math.clamp(SOURCE - (c - source).norm(), 0.0, 1.0)
            self.moved[c] = ti.math.mix(a, ti.Vector([push.x, push.y, push.z, 1.0]), inside)

    @ti.kernel
    def strengthen(self):
        for c in ti.grouped(self.moved):
            x, y, z = self.slopes(self.moved, c)
            w = vec3(y.z - z.y, z.x - x.z, x.y - y.x)
            self.curl[c] = ti.Vector([w.x, w.y, w.z, w.norm()])
        for c in ti.grouped(self.moved):
            x, y, z = self.slopes(self.curl, c)
            self.air[c] = self.moved[c]
            self.air[c].xyz += SWIRL * vec3(x.w, y.w, z.w).normalized(1e-4).cross(self.curl[c].xyz)
        for c in ti.grouped(self.air):
            x, y, z = self.slopes(self.air, c)
            self.excess[c] = x.x + y.y + z.z

    @ti.kernel
    def relax(self, p: ti.Template, out: ti.Template):
        for i, j, k in p:
            around = p[i + 1, j, k] + p[i - 1, j, k] + p[i, j + 1, k] + p[i, j - 1, k] + p[i, j, k + 1] + p[i, j, k - 1]
            out[i, j, k] = (around - self.excess[i, j, k]) / 6

    @ti.kernel
    def project(self):
        for c in ti.grouped(self.air):
            self.air[c].xyz -= ti.Vector(self.slopes(self.pressure, c))

    @ti.kernel
    def draw(self, source: vec3):
        for c in ti.grouped(self.light):
            smoke = 0.0
            for n in range(1, 9 if self.air[c].w > 0 else 1):
                smoke += self.air[ti.round(c + 2 * n * vec3(SUN), ti.i32)].w
            self.light[c] = ti.exp(-SHADE * smoke)
        for i, j in self.seen:  # from the front to the back
            color, clear, deep = vec3(0), 1.0, 0
            for m in range(BLOCKS):
                b = ti.Vector([i // BLOCK + EDGE, j // BLOCK + EDGE, BLOCKS - 1 - m])
                active = ti.is_active(self.blocks, b)
                deep += active
                for n in range(BLOCK * active):
                    c = b * BLOCK + ti.Vector([i % BLOCK, j % BLOCK, BLOCK - 1 - n])
                    hidden = clear * (1 - ti.exp(-THICK * self.air[c].w))
                    glow = 1.5 * ti.exp(-(c - source).norm_sqr() / 300) * vec3(1.0, 0.4, 0.1)
                    color += hidden * (vec3(0.96, 0.93, 0.88) * self.light[c] + vec3(0.12, 0.16, 0.26) + glow)
                    clear -= hidden
            mark = ti.min(0.014 * deep, 0.12) + 0.04 * (deep > 0 and (i % BLOCK == 0 or j % BLOCK == 0))
            color += clear * (vec3(0.03, 0.04, 0.07) + mark * vec3(0.25, 0.55, 1.0))
            self.seen[i, j] = ti.math.clamp(color, 0.0, 1.0) ** 0.8
        for p in ti.grouped(self.image):
            self.image[p] = sample(self.seen, (p + 0.5) / SCALE - 0.5)

    def __call__(self, number):
        t, middle = 0.016 * number, BLOCK * BLOCKS / 2
        source = vec3(middle - SWAY[0] * np.cos(t), 4 * BLOCK, middle + SWAY[1] * np.sin(1.7 * t))
        self.follow(source)
        self.carry(source, vec3(0.5 * np.sin(0.31 * number), 1.8, 0.5 * np.cos(0.23 * number)))
        self.strengthen()
        for _ in range(SWEEPS // 2):
            self.relax(self.pressure, self.pressure2)
            self.relax(self.pressure2, self.pressure)
        self.project()
        self.draw(source)
        pixels = as_bytes(self.image.to_numpy().swapaxes(0, 1)[::-1])
        picture, count = Image.fromarray(pixels), len(self.most.active()[1])
        told = f"{count} of {BLOCKS**3} blocks are active ({100 * count / BLOCKS**3:.1f} %)"
        ImageDraw.Draw(picture).text((12, 10), told, (110, 140, 190), ImageFont.load_default(14))
        return np.asarray(picture) / np.float32(255)


build = Plume

if __name__ == "__main__":
    ti.init(arch=ti.cpu)
    play(build(), FRAMES)
