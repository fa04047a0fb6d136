"""Materials in cells, in blocks that exist only where something is, and rays through them (sparse, pointer grid)."""

import weft as ti
from weft import vec3

AIR, FLOOR = 0, 7  # the materials are between: no material, and the one of the plane below the room
BLOCK, BLOCKS = 8, 32  # cells along each axis of a block; blocks along each of the room
ROOM = BLOCK * BLOCKS


@ti.func
def noise(c):
    """A number in 0..1 for each cell."""
    n = ti.u32(c.x) * ti.u32(73856093) ^ ti.u32(c.y) * ti.u32(19349663) ^ ti.u32(c.z) * ti.u32(83492791)
    n = (n ^ n >> 15) * ti.u32(2654435761)
    return ti.f32((n ^ n >> 13) >> 8) / 2**24


@ti.data_oriented
class Voxels:
    """A room of ROOM^3 cells, from 0 on, on a floor."""

    def __init__(self):
        self.cell = ti.field(ti.u8)
        self.blocks = ti.root.pointer(ti.ijk, BLOCKS)
        self.blocks.dense(ti.ijk, BLOCK).place(self.cell)

    @ti.kernel
    def stroke(self, middle: vec3, radii: vec3, rough: ti.f32, material: ti.i32):
        """Fill the air in an ellipsoid with a material, or make air of what is there."""
        low, high = ti.max(ti.floor(middle - radii, ti.i32), 0), ti.min(ti.ceil(middle + radii, ti.i32), ROOM)
        for x, y, z in ti.ndrange((low.x, high.x), (low.y, high.y), (low.z, high.z)):
            c = ti.Vector([x, y, z])
            inside = ((c + 0.5 - middle) / radii).norm() + rough * noise(c) < 1
            if inside and (self.cell[c] == AIR) != (material == AIR):
                self.cell[c] = ti.u8(material)

    @ti.kernel
    def tidy(self):
        """Drop the blocks that are empty."""
        for b in ti.grouped(self.blocks):
            most = 0
            for o in ti.grouped(ti.ndrange(BLOCK, BLOCK, BLOCK)):
                most = ti.max(most, int(self.cell[b * BLOCK + o]))
            if most == AIR:
                ti.deactivate(self.blocks, b)

    @ti.func
    def meet(self, origin, ray):
        """What a ray meets first: how far away, the normal and the material; AIR is the sky."""
        slope, ahead = 1 / ti.select(abs(ray) < 1e-6, 1e-6, ray), ti.cast(ray > 0, ti.i32)
        a, b = -origin * slope, (ROOM - origin) * slope
        enter = ti.min(a, b)
        near, far, material = ti.max(enter.max(), 0.0), ti.max(a, b).min(), AIR
        normal, c = (
            -ti.math.sign(ray) * (enter == near),
            ti.math.clamp(ti.floor(origin + near * ray, ti.i32), 0, ROOM - 1),
        )
        while near < far and c.min() >= 0 and c.max() < ROOM:
            size = BLOCK
            if ti.is_active(self.blocks, c // BLOCK):
                size, material = 1, int(self.cell[c])
                if material != AIR:
                    break
            first = c // size * size
            walls = (first + size * ahead - origin) * slope
            near = walls.min()
            c = ti.math.clamp(ti.floor(origin + near * ray, ti.i32), first, first + size - 1)
            c = ti.select(walls == near, first - 1 + ahead * (size + 1), c)
            normal = -ti.math.sign(ray) * (walls == near)
        if material == AIR and ray.y < 0:
            near, normal, material = -origin.y * slope.y, vec3(0, 1, 0), FLOOR
        return near, normal, material
