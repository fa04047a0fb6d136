"""A cherry tree as strokes of a brush: each fills an ellipsoid with a material."""

import numpy as np

from weft import vec3

EARTH, BARK, BLOSSOM, PALE, STONE, LAMP = range(1, 7)
DEEPEST, FORKS = 4, (3, 3, 3, 2)


def strokes(seed=3):
    """(frame, middle, radii, roughness, material) of each stroke, in the order of frames: a hill, then branches from
    the trunk on, then what hangs on them."""
    draw, made = np.random.default_rng(seed), []

    def stroke(frame, middle, radii, rough, material):
        made.append((frame, vec3(*middle), vec3(*np.broadcast_to(radii, 3)), rough, material))

    def grow(p, ahead, length, radius, frame, depth):
        steps = int(length / (0.6 * radius)) + 1
        for k in range(steps):
            stroke(frame + 0.35 * k * 0.6 * radius, p, radius * (1 - 0.3 * k / steps), 0.15, BARK)
            bent = ahead + 0.13 * draw.normal(size=3) + (0, 0.02, 0)
            ahead = bent / np.linalg.norm(bent)
            p = p + ahead * length / steps
        frame += 0.35 * length
        if depth == DEEPEST:
            stroke(frame + 6, p, draw.uniform(8, 12) * np.array([1, 0.75, 1]), 0.85, BLOSSOM)
            stroke(frame + 14, p + (0, 3, 0), draw.uniform(7, 11) * np.array([1, 0.7, 1]), 0.9, PALE)
            if draw.uniform() < 0.16:
                stroke(frame + 40, p - (0, 15, 0), (2.5, 3.5, 2.5), 0, LAMP)
                stroke(frame + 40, p - (0, 9, 0), (0.8, 4, 0.8), 0, BARK)
            return
        start = draw.uniform(0, 7)
        for k in range(FORKS[depth]):
            turn = start + 2 * np.pi * k / FORKS[depth] + draw.uniform(-0.4, 0.4)
            side = np.array([np.cos(turn), draw.uniform(-0.1, 0.4), np.sin(turn)])
            fork = ahead + draw.uniform(0.75, 1.15) * side
            grow(p, fork / np.linalg.norm(fork), 0.76 * length, 0.66 * radius, frame, depth + 1)

    stroke(0, (128, -16, 128), (100, 30, 100), 0.14, EARTH)
    for _ in range(7):
        turn, far = draw.uniform(0, 7), draw.uniform(45, 85)
        stroke(2, (128 + far * np.cos(turn), 4, 128 + far * np.sin(turn)), draw.uniform(4, 9, 3), 0.1, STONE)
    for foot in range(5):
        turn = 1.3 * foot
        stroke(6, (128 + 7 * np.cos(turn), 12, 128 + 7 * np.sin(turn)), (6, 4, 6), 0.15, BARK)
    grow(np.array([128.0, 12.0, 128.0]), np.array([0.0, 1.0, 0.0]), 38.0, 8.0, 6.0, 0)
    for _ in range(90):
        turn, far = draw.uniform(0, 7), 90 * np.sqrt(draw.uniform())
        fallen = (128 + far * np.cos(turn), 30 * np.sqrt(1 - (far / 100) ** 2) - 16, 128 + far * np.sin(turn))
        stroke(draw.uniform(90, 150), fallen, (1.2, 1.6, 1.2), 0.5, PALE)
    return sorted(made, key=lambda one: one[0])
