"""Values between the elements of a field."""

import weft as ti


@ti.func
def sample(q: ti.Template, p):
    """q at p, in units of q's own grid, linear between its elements, clamped at its border."""
    low = ti.math.clamp(p, 0.0, ti.Vector(q.shape) - 1.001)
    k = ti.floor(low, ti.i32)
    t = low - k
    a = ti.math.mix(q[k], q[k.x + 1, k.y], t.x)
    b = ti.math.mix(q[k.x, k.y + 1], q[k.x + 1, k.y + 1], t.x)
    return ti.math.mix(a, b, t.y)
