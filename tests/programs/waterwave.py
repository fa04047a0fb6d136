"""Ripples on shallow water, with drops from Python, seen through a tilted surface."""

import numpy as np
import taichi as ti

ti.init(arch=ti.gpu)

light_color = 1
gravity = 2.0
damping = 0.2
dx = 0.02
dt = 0.01
shape = 128, 96

pixels = ti.field(dtype=float, shape=shape)
background = ti.field(dtype=float, shape=shape)
height = ti.field(dtype=float, shape=shape)
velocity = ti.field(dtype=float, shape=shape)


@ti.kernel
def reset():
    for i, j in height:
        t = i // 16 + j // 16
        background[i, j] = (t * 0.5) % 1.0
        height[i, j] = 0
        velocity[i, j] = 0


@ti.func
def laplacian(i, j):
    return (-4 * height[i, j] + height[i, j - 1] + height[i, j + 1] + height[i + 1, j] + height[i - 1, j]) / (4 * dx**2)


@ti.func
def gradient(i, j):
    return ti.Vector([height[i + 1, j] - height[i - 1, j], height[i, j + 1] - height[i, j - 1]]) * (0.5 / dx)


@ti.kernel
def create_wave(amplitude: ti.f32, x: ti.f32, y: ti.f32):
    for i, j in ti.ndrange((1, shape[0] - 1), (1, shape[1] - 1)):
        r2 = (i - x) ** 2 + (j - y) ** 2
        height[i, j] = height[i, j] + amplitude * ti.exp(-0.02 * r2)


@ti.kernel
def update():
    for i, j in ti.ndrange((1, shape[0] - 1), (1, shape[1] - 1)):
        acceleration = gravity * laplacian(i, j) - damping * velocity[i, j]
        velocity[i, j] = velocity[i, j] + acceleration * dt
    for i, j in ti.ndrange((1, shape[0] - 1), (1, shape[1] - 1)):
        height[i, j] = height[i, j] + velocity[i, j] * dt


@ti.kernel
def visualize_wave():
    for i, j in ti.ndrange((1, shape[0] - 1), (1, shape[1] - 1)):
        g = gradient(i, j)
        cos_i = 1 / ti.sqrt(1 + g.norm_sqr())
        cos_o = ti.sqrt(1 - (1 - cos_i**2) * (1 / 1.33) ** 2)
        fr = pow(1 - cos_i, 2)
        coh = cos_o * 0.05
        g = g * coh
        k, l = ti.max(0, ti.min(shape[0] - 1, int(i + g[0]))), ti.max(0, ti.min(shape[1] - 1, int(j + g[1])))
        pixels[i, j] = (1 - fr) * background[k, l] + fr * light_color


def main():
    reset()
    for drop, (x, y) in enumerate(np.array([[30, 40], [90, 60], [64, 20]], dtype=np.float32)):
        create_wave(3.0 - drop, x, y)
        for _ in range(8):
            update()
    visualize_wave()
    return {"height": height.to_numpy(), "velocity": velocity.to_numpy(), "pixels": pixels.to_numpy()}
