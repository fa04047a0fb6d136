"""Objects of the program's own classes, made in kernels of values that are computed there."""

import dataclasses

import numpy as np
import pytest

from weft.ir.errors import CompilationError


class Ray:
    def __init__(self, origin, direction, bounces=3):
        self.origin = origin
        self.direction = direction
        self.bounces = bounces

    def at(self, t):
        return self.origin + t * self.direction

    @property
    def end(self):
        return self.at(1.0)

    @staticmethod
    def doubled(x):
        return 2.0 * x


class Traced(Ray):
    depth = 7

    def __init__(self, origin, direction, color):
        super().__init__(origin, direction)
        self.color = color


@dataclasses.dataclass
class Hit:
    distance: float
    where: object
    material: int = 5


def test_a_function_gives_an_object(ti):
    x = ti.Vector.field(2, ti.f32, 4)
    eye = ti.Vector.field(2, ti.f32, ())
    eye[None] = [1, 2]

    @ti.func
    def ray_of(i):
        return Ray(eye[None], ti.Vector([i * 1.0, 0.5]))

    @ti.func
    def along(ray, t):
        return ray.at(t) + Ray.doubled(ray.end)

    @ti.kernel
    def run():
        for i in x:
            x[i] = along(ray_of(i), 2.0)

    run()
    wanted = [[1 + 2 * i + 2 * (1 + i), 3 + 2 * 2.5] for i in range(4)]
    np.testing.assert_allclose(x.to_numpy(), wanted)


def test_attributes_are_as_they_were(ti):
    """As in Python, an object keeps a value, not the variable it came from."""

    @ti.kernel
    def run() -> ti.f32:
        a = ti.Vector([1.0, 2.0])
        ray = Ray(a, a)
        a *= 10.0
        a[0] += 5.0
        b = ti.Vector([4.0, 5.0])
        ray.direction = b
        b += 10.0
        b[1] = 7.0
        return ray.origin.x + ray.direction.y

    assert run() == 1 + 5


def test_attributes_can_be_assigned(ti):
    y = ti.field(ti.f32, 4)

    @ti.kernel
    def run():
        for i in range(4):
            ray = Ray(ti.Vector([1.0, 2.0]) * i, ti.Vector([0.0, 1.0]))
            for _ in range(3):
                ray.origin += ray.direction
            if i > 2:
                ray.direction.x = 5
            ray.weight = ray.end.y
            y[i] = ray.weight + ray.direction.x

    run()
    assert y.to_numpy().tolist() == [4, 6, 8, 15]


def test_base_classes_and_constants(ti):
    @ti.kernel
    def run(a: ti.f32) -> ti.f32:
        ray = Traced(ti.Vector([a, a]), ti.Vector([1.0, 0.0]), a * 2)
        total = ray.color + ray.depth
        for _ in ti.static(range(ray.bounces)):
            total += ray.end.x
        return total

    assert run(2) == 4 + 7 + 3 * 3


def test_dataclasses(ti):
    @ti.kernel
    def run(a: ti.f32) -> ti.f32:
        hit = Hit(a, where=ti.Vector([a, 2 * a]))
        return hit.distance + hit.where.y + ti.static(hit.material)

    assert run(3) == 3 + 6 + 5


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (lambda ray: ray.towards, "has no attribute 'towards'"),
        (lambda ray: ray + 1, "an object of class Ray is not a value"),
    ],
)
def test_mistakes(ti, body, message):
    if ti.cfg.arch == "python":
        pytest.skip("there the message is Python's own")

    @ti.kernel
    def run(a: ti.f32) -> ti.f32:
        return body(Ray(a, a))

    with pytest.raises(CompilationError, match=message):
        run(1)


def test_an_attribute_made_in_a_block(ti):
    if ti.cfg.arch == "python":
        pytest.skip("there it has the attribute, or not, when the line runs")

    @ti.kernel
    def run(a: ti.f32) -> ti.f32:
        ray = Ray(a, a)
        if a > 2:
            ray.far = a
        return ray.origin

    with pytest.raises(CompilationError, match="cannot get a new attribute 'far' in a block"):
        run(1)


class Walker:
    def __init__(self, x):
        self.x = x
        self.first = self.step()

    def run(self):
        return self.step()

    def step(self):
        return 1.0


class Runner(Walker):
    def __init__(self, x):
        super().__init__(x)

    def run(self):
        return super().run() + self.x

    def step(self):
        return 30.0

    @property
    def double(self):
        return 2 * self.x

    @double.setter
    def double(self, value):
        self.x = value / 2


@dataclasses.dataclass
class Doubled:
    x: float
    by: dataclasses.InitVar[float]
    y: float = 0.0

    def __post_init__(self, by):
        self.y = self.x * by


@dataclasses.dataclass(frozen=True)
class Frozen:
    x: float


class Tenfold(Doubled):
    def __init__(self, x):
        self.x = x * 10


class Guarded:
    def __init__(self, x):
        self.x = x

    def __setattr__(self, name, value):
        object.__setattr__(self, name, 2 * value)


def test_methods_behind_super_call_those_of_the_object(ti):
    @ti.kernel
    def run(a: ti.f32) -> ti.f32:
        runner = Runner(a)
        return runner.run() + runner.first + ti.static(isinstance(runner, Walker))

    assert run(2) == 30 + 2 + 30 + 1


def test_what_dataclasses_do_after_their_fields(ti):
    @ti.kernel
    def run(a: ti.f32) -> ti.f32:
        return Doubled(a, 3.0).y + Tenfold(a).x

    assert run(2) == 6 + 20


@pytest.mark.parametrize(
    ("kind", "name", "message"),
    [
        (Runner, "double", "is a property, and kernels do not call property setters"),
        (Frozen, "x", "its class is frozen"),
        (Guarded, "x", "its class defines '__setattr__'"),
    ],
)
def test_assignments_that_would_run_something_else(ti, kind, name, message):
    if ti.cfg.arch == "python":
        pytest.skip("Python itself assigns there")

    @ti.kernel
    def run(a: ti.f32) -> ti.f32:
        made = kind(a)
        if ti.static(name == "x"):
            made.x = 5.0
        else:
            made.double = 5.0
        return made.x

    with pytest.raises(CompilationError, match=message):
        run(1)
