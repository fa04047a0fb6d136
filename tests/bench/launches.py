"""What a call of a kernel, a small loop and an element cost: a step makes a thousand of them."""

import inputs
from inputs import CALLS, Program, sample
from programs import program


def calls(call, arguments=()):
    """A step that calls with those arguments a thousand times."""

    def step():
        for _ in range(CALLS):
            call(*arguments)

    return step


@program
def loop_1024(ti):
    """1000 launches of a parallel loop over 1024 f32."""
    x = ti.field(ti.f32, 1024)

    @ti.kernel
    def add():
        for i in x:
            x[i] += 1.0

    return Program(calls(add), lambda: sample(x.to_numpy()))


@program
def launch_empty(ti):
    """1000 calls of an empty kernel."""

    @ti.kernel
    def nothing():
        pass

    return Program(calls(nothing), lambda: sample(0))


@program
def launch_scalars(ti):
    """1000 calls with four scalars."""
    x = ti.field(ti.f32, 4)

    @ti.kernel
    def keep(a: ti.f32, b: ti.f32, c: ti.i32, d: ti.i32):
        x[0] = a + b + c + d

    return Program(calls(keep, (1.0, 2.0, 3, 4)), lambda: sample(x.to_numpy()[:1]))


@program
def launch_arrays(ti):
    """1000 calls with ten ndarrays."""
    given = [ti.ndarray(ti.f32, 16) for _ in range(10)]
    array = ti.types.ndarray(ti.f32, 1)

    @ti.kernel
    def touch(
        a: array, b: array, c: array, d: array, e: array, f: array, g: array, h: array, i: array, j: array
    ):  # fmt: skip
        a[0] = b[0] + c[0] + d[0] + e[0] + f[0] + g[0] + h[0] + i[0] + j[0]

    for number, each in enumerate(given):
        each.from_numpy(inputs.floats(16) + number)
    return Program(calls(touch, tuple(given)), lambda: sample(given[0].to_numpy()))


@program
def launch_result(ti):
    """1000 calls that return a value."""
    got = [0.0]

    @ti.kernel
    def twice(a: ti.f32) -> ti.f32:
        return 2.0 * a

    def step():
        for _ in range(CALLS):
            got[0] = twice(1.5)

    return Program(step, lambda: sample(got))


@program
def element_read(ti):
    """1000 elements of a field read from Python."""
    x, got = ti.field(ti.f32, 16), [0.0]
    x.from_numpy(inputs.floats(16))

    def step():
        for _ in range(CALLS):
            got[0] = x[3]

    return Program(step, lambda: sample(got))
