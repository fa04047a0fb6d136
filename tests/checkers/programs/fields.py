# pyright: strict
"""A simulation on fields, with a type everywhere. Strict checkers find no error, and the program runs."""

import weft as ti

DT = 0.01


@ti.dataclass
class Ball:
    """Where a ball is, and how fast it moves."""

    place: ti.vec2
    speed: ti.vec2
    mass: ti.f32

    @ti.func
    def energy(self) -> ti.f32:
        return 0.5 * self.mass * self.speed.norm_sqr()


@ti.func
def sample(q: ti.Field[ti.f32], p: ti.vec2) -> ti.f32:
    """q at p, linear between its elements."""
    k = ti.floor(ti.math.clamp(p, 0.0, ti.Vector([q.shape[0], q.shape[1]]) - 1.001), ti.i32)
    t = p - k
    low = ti.math.mix(q[k], q[k.x + 1, k.y], t.x)
    high = ti.math.mix(q[k.x, k.y + 1], q[k.x + 1, k.y + 1], t.x)
    return ti.math.mix(low, high, t.y)


@ti.data_oriented
class World:
    """Balls that fall on a height field."""

    def __init__(self, n: int) -> None:
        self.height = ti.field(ti.f32, (n, n))
        self.balls = ti.field(Ball, shape=n)
        self.force = ti.Vector.field(2, ti.f32, n, needs_grad=True)
        self.turn = ti.Matrix.field(2, 2, ti.f32, shape=())
        self.count = ti.field(ti.i32, ())
        self.drag = 0.5

    @ti.kernel
    def start(self, level: ti.f32) -> None:
        for i, j in self.height:
            self.height[i, j] = level + i * 0.5 + ti.sin(j * 0.1)
        for i in self.balls:
            self.balls[i] = Ball(ti.vec2(i, 1.0), ti.Vector([0.0, -1.0]), 2.0)
            self.force[i] = [0.0, -9.8]
        self.turn[None] = ti.Matrix([[0.0, -1.0], [1.0, 0.0]])

    @ti.func
    def damped(self, v: ti.vec2) -> ti.vec2:
        return v * (1 - self.drag * DT)

    @ti.kernel
    def step(self, substeps: ti.i32) -> ti.f32:
        total = 0.0
        for i in self.balls:
            ball = self.balls[i]
            for _ in range(substeps):
                ball.speed += DT * self.force[i] / ball.mass
                ball.place += DT * self.damped(ball.speed)
            ground = sample(self.height, ball.place)
            if ball.place.y < ground:
                ball.place.y, ball.speed.y = ground, -ball.speed.y
            ball.place.xy = ti.min(ball.place.xy, 100.0)
            self.balls[i] = ball
            total += ball.energy()
        for I in ti.grouped(self.height):
            self.height[I] = ti.max(self.height[I], 0.0)
            if I.x > I[1] and all(I >= 0):
                ti.atomic_add(self.count[None], 1)
        for i, j in ti.static(ti.ndrange(2, (-1, 1))):
            offset = ti.Vector([i, j])
            self.force[1 + i] += (self.turn[None] @ offset).normalized(1e-6) * 0.1 + offset.cast(ti.f32)
        return total


def run(n: int = 8) -> tuple[float, int]:
    """The energy of the balls after a few steps, and a count."""
    world = World(n)
    world.start(0.25)
    energy = 0.0
    for _ in range(3):
        energy = world.step(2)
    first: float = world.height[0, 0]
    place: ti.vec2 = world.balls[0].place
    print(first, place.y, world.force[0].norm(), world.force.grad[0].x, world.height.to_numpy().mean())
    return energy, world.count[None]
