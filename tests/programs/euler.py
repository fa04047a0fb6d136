"""A shock tube in two dimensions: the compressible Euler equations with HLL fluxes and limited slopes."""

import taichi as ti

ti.init(arch=ti.gpu, fast_math=False)

N = 64
gamma = 1.4
h = 1.0 / N
cfl = 0.4
vec4 = ti.types.vector(4, ti.f32)

Q = ti.Vector.field(4, dtype=ti.f32, shape=(N, N))
W = ti.Vector.field(4, dtype=ti.f32, shape=(N, N))
F_x = ti.Vector.field(4, dtype=ti.f32, shape=(N + 1, N))
F_y = ti.Vector.field(4, dtype=ti.f32, shape=(N, N + 1))
dt = ti.field(dtype=ti.f32, shape=())


@ti.func
def prim_to_cons(w):
    q = ti.Vector([0.0, 0.0, 0.0, 0.0])
    q[0] = w[0]
    q[1] = w[0] * w[1]
    q[2] = w[0] * w[2]
    q[3] = w[3] / (gamma - 1) + 0.5 * w[0] * (w[1] ** 2 + w[2] ** 2)
    return q


@ti.func
def cons_to_prim(q):
    u, v = q[1] / q[0], q[2] / q[0]
    return vec4(q[0], u, v, (gamma - 1) * (q[3] - 0.5 * q[0] * (u * u + v * v)))


@ti.func
def flux(w, n: ti.template()):
    un = w[1 + n]
    q = prim_to_cons(w)
    f = q * un
    f[1 + n] += w[3]
    f[3] += w[3] * un
    return f


@ti.func
def minmod(a, b):
    return ti.select(a * b > 0, ti.select(ti.abs(a) < ti.abs(b), a, b), ti.zero(a))


@ti.func
def hll(left, right, n: ti.template()):
    a_l, a_r = ti.sqrt(gamma * left[3] / left[0]), ti.sqrt(gamma * right[3] / right[0])
    s_l = ti.min(left[1 + n] - a_l, right[1 + n] - a_r)
    s_r = ti.max(left[1 + n] + a_l, right[1 + n] + a_r)
    result = flux(left, n)
    if s_r <= 0:
        result = flux(right, n)
    elif s_l < 0:
        jump = prim_to_cons(right) - prim_to_cons(left)
        result = (s_r * flux(left, n) - s_l * flux(right, n) + s_l * s_r * jump) / (s_r - s_l)
    return result


@ti.func
def at(i, j):
    return W[ti.max(0, ti.min(N - 1, i)), ti.max(0, ti.min(N - 1, j))]


@ti.kernel
def set_ic():
    for i, j in Q:
        x, y = (i + 0.5) * h - 0.5, (j + 0.5) * h - 0.5
        w = vec4(0.125, 0.0, 0.0, 0.1)
        if x * x + y * y < 0.04:
            w = vec4(1.0, 0.0, 0.0, 1.0)
        Q[i, j] = prim_to_cons(w)


@ti.kernel
def compute_W():
    fastest = 1e-6
    for i, j in Q:
        W[i, j] = cons_to_prim(Q[i, j])
        speed = ti.sqrt(gamma * W[i, j][3] / W[i, j][0]) + ti.max(ti.abs(W[i, j][1]), ti.abs(W[i, j][2]))
        ti.atomic_max(fastest, speed)
    dt[None] = cfl * h / fastest


@ti.kernel
def compute_F():
    for i, j in F_x:
        left = at(i - 1, j) + 0.5 * minmod(at(i, j) - at(i - 1, j), at(i - 1, j) - at(i - 2, j))
        right = at(i, j) - 0.5 * minmod(at(i + 1, j) - at(i, j), at(i, j) - at(i - 1, j))
        F_x[i, j] = hll(left, right, 0)
    for i, j in F_y:
        left = at(i, j - 1) + 0.5 * minmod(at(i, j) - at(i, j - 1), at(i, j - 1) - at(i, j - 2))
        right = at(i, j) - 0.5 * minmod(at(i, j + 1) - at(i, j), at(i, j) - at(i, j - 1))
        F_y[i, j] = hll(left, right, 1)


@ti.kernel
def update_Q():
    for I in ti.grouped(Q):
        Q[I] += dt[None] / h * (F_x[I] - F_x[I + [1, 0]] + F_y[I] - F_y[I + [0, 1]])


def main():
    set_ic()
    for _ in range(20):
        compute_W()
        compute_F()
        update_Q()
    return {"Q": Q.to_numpy(), "dt": dt.to_numpy().reshape(1)}
