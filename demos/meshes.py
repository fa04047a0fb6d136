"""Triangles for the demos to draw and to bend."""

import numpy as np


def knot(along, around, thick, windings):
    """Points (n, 3) on a tube along a torus knot, and triangles (m, 3), counterclockwise seen from outside.

    The tube has the radius `thick`, and along x around squares; `windings`: about the axis, and about the torus."""
    s, t = np.meshgrid(np.arange(along) * 2 * np.pi / along, np.arange(around) * 2 * np.pi / around, indexing="ij")
    p, q = windings

    def path(s):
        r = 1.3 + 0.55 * np.cos(q * s)
        return np.stack([r * np.cos(p * s), r * np.sin(p * s), 0.75 * np.sin(q * s)], -1)

    ahead = path(s + 1e-3) - path(s - 1e-3)
    side = np.cross(ahead, path(s))
    up = np.cross(side, ahead)
    side, up = (axis / np.linalg.norm(axis, axis=-1, keepdims=True) for axis in (side, up))
    points = path(s) + thick * (np.cos(t)[..., None] * side + np.sin(t)[..., None] * up)
    i, j = (axis.ravel() for axis in np.meshgrid(np.arange(along), np.arange(around), indexing="ij"))
    a, b, c, d = ((k % along) * around + m % around for k, m in ((i, j), (i + 1, j), (i + 1, j + 1), (i, j + 1)))
    triangles = np.concatenate([np.stack([a, b, c], -1), np.stack([a, c, d], -1)])
    return points.reshape(-1, 3).astype(np.float32), triangles.astype(np.int32)


def ring(across, around, inner, outer):
    """Points (n, 2) between two radii around the origin; triangles (m, 3), counterclockwise, alternating diagonals."""
    turn, radius = np.meshgrid(np.arange(around) * 2 * np.pi / around, np.linspace(inner, outer, across + 1))
    points = np.stack([radius * np.sin(turn), radius * np.cos(turn)], -1).reshape(-1, 2)
    triangles = []
    for i in range(across):
        for j in range(around):
            a, b, c, d = (k * around + m % around for k, m in ((i, j), (i + 1, j), (i + 1, j + 1), (i, j + 1)))
            triangles += [(a, d, b), (b, d, c)] if j < around // 2 else [(a, c, b), (a, d, c)]  # mirrored halves
    return points.astype(np.float32), np.array(triangles, np.int32)
