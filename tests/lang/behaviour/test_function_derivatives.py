"""`ti.ad.grad`, `value_and_grad`, `vjp`, `jvp` and `hvp` of kernels and of Python functions."""

import numpy as np

from tests.lang.behaviour.derivatives import close

AT, ALONG = np.array([0.5, -0.8, 1.3, 0.2]), np.array([1.0, -2.0, 0.5, 3.0])


class Program:
    """Three steps that overwrite their field, a loop that ends when a number does not change, a maximum and a sum.
    The numbers are those of JAX 0.7 for the same program."""

    value = 4.579243682584227
    gradient = (0.619972355227929, -1.987307624606718, 5.027919342273396, 1.946350441260468)
    slope = 12.947598599359466
    product = (1.604787161478449, -1.5057253178207632, 5.874188338455109, 9.334430619165795)
    jacobian = (
        (0.7776982265906695, 0.13260958397119724, -0.009292297915349381, -0.0003073891673887061),
        (-0.00016150150486216077, 1.2667533213349342, -0.2521798162643349, -0.02471113067913313),
        (0.00584109808931005, 9.725158866347259e-05, 1.0156869466991605, 0.3061768932899213),
        (0.06042390803767631, 0.0030588571901388317, -6.959103369361535e-05, 1.1415078005150114),
    )

    def __init__(self, ti):
        x, old, loss = ti.field(ti.f64, 4), ti.field(ti.f64, 4), ti.field(ti.f64, ())
        self.x, self.loss = x, loss

        @ti.kernel
        def keep():
            for i in x:
                old[i] = x[i]

        @ti.kernel
        def step(rate: ti.f64):
            for i in x:
                x[i] = old[i] + rate * ti.sin(old[i]) * old[(i + 1) % 4]

        @ti.kernel
        def energy():
            for i in x:
                z, change, y = ti.f64(1.0), ti.f64(1.0), x[i]
                while ti.abs(change) > 1e-14:
                    change = (z**3 - (1 + y * y)) / (3 * z * z)
                    z -= change
                loss[None] += z * ti.log(1 + y * y)
            ti.loop_config(serialize=True)
            for _ in range(1):
                highest = x[0]
                for i in range(1, 4):
                    highest = ti.max(highest, x[i])
                loss[None] += highest**2

        def run():
            for _ in range(3):
                keep()
                step(0.1)

        def all():
            run()
            energy()

        self.run, self.all = run, all
        x.from_numpy(AT)

    def reset(self):
        self.x.from_numpy(AT)


def test_a_program_that_overwrites_its_memory(ti):
    program = Program(ti)
    value, gradient = ti.ad.value_and_grad(program.all, program.x, program.loss)()
    close(value, program.value)
    close(gradient, program.gradient)
    program.reset()
    program.loss[None] = 0.0
    value, slope = ti.ad.jvp(program.all, program.x, program.loss)(ALONG)
    close([value, slope], [program.value, program.slope])
    program.reset()
    close(ti.ad.hvp(program.all, program.x, program.loss)(ALONG), program.product)
    close(program.loss[None], program.value)


def test_a_jacobian_by_rows_and_by_columns(ti):
    program = Program(ti)
    value, pull = ti.ad.vjp(program.run, program.x, program.x)()
    program.x.fill(-7.0)  # `pull` keeps the values that it needs
    close([pull(row) for row in np.eye(4)], program.jacobian)
    assert program.x.to_numpy().tolist() == [-7.0] * 4
    for k, column in enumerate(np.eye(4)):
        program.reset()
        again, derivative = ti.ad.jvp(program.run, program.x, program.x)(column)
        close(derivative, np.array(program.jacobian)[:, k])
        close(again, value)


def test_numbers_that_kernels_take_and_return(ti):
    x = ti.field(ti.f64, 3)
    x.from_numpy(np.array([1.0, 2.0, 3.0]))

    @ti.kernel
    def energy(k: ti.f64, shift: ti.types.vector(3, ti.f64), n: ti.i32) -> ti.f64:
        s = ti.f64(0.0)
        for i in range(n):
            s += k * (x[i] + shift[i]) ** 3
        return s

    call = (0.5, [0.0, 0.0, 0.0], 3)
    value, (by_x, by_k, by_shift) = ti.ad.value_and_grad(energy, [x, "k", 1])(*call)
    close([value, by_k], [18.0, 36.0])
    close(by_x, [1.5, 6.0, 13.5])
    close(by_shift, by_x)
    assert type(value) is type(by_k) is float
    close(ti.ad.jvp(energy, "k")(2.0, *call), [18.0, 72.0])
    products = ti.ad.hvp(energy, [x, "k"])([[1.0, 0.0, 0.0], 2.0], *call)
    close(products[0], [3.0 + 6.0, 24.0, 54.0])
    close(products[1], 3.0)

    def launched():  # the loss is the object that a kernel returned
        return energy(1.0, [0.0, 0.0, 0.0], 2)

    close(ti.ad.grad(launched, x)(), [3.0, 12.0, 0.0])


def test_results_of_several_kinds(ti):
    x = ti.field(ti.f64, ())
    x[None] = 0.5

    @ti.kernel
    def many() -> (ti.f64, ti.i32, ti.types.vector(2, ti.f64)):
        return x[None] ** 2, 7, ti.Vector([ti.sin(x[None]), 3 * x[None]], ti.f64)

    def floats():
        a, _, b = many()
        return a, b

    (a, b), (da, db) = ti.ad.jvp(floats, x)(2.0)
    close([a, da], [0.25, 2.0])
    close(db.to_numpy(), [2 * np.cos(0.5), 6.0])
    (a, b), pull = ti.ad.vjp(floats, x)()
    close(b.to_numpy(), [np.sin(0.5), 1.5])
    close([pull([1.0, [0.0, 0.0]]), pull([0.0, [1.0, 2.0]])], [1.0, np.cos(0.5) + 6.0])


def test_arrays_vectors_components_and_members(ti):
    Particle = ti.types.struct(pos=ti.types.vector(2, ti.f64), mass=ti.f64, id=ti.i32)
    s, v = Particle.field(2), ti.Vector.field(2, ti.f64, 2, offset=1)
    first, a, loss = v.get_scalar_field(0), ti.ndarray(ti.f64, 2), ti.ndarray(ti.f64, ())

    @ti.kernel
    def move(b: ti.types.ndarray(), t: ti.template()):
        for i in range(2):
            v[i + 1] = s[i].pos * s[i].mass
            first[i + 1] += t[i + 1].y * b[i]

    @ti.kernel
    def add(out: ti.types.ndarray()):
        for i in v:
            out[None] += v[i].dot(v[i])

    def program(b):
        move(b, v)
        add(loss)

    pos, mass, b = np.array([[1.0, 2.0], [3.0, -1.0]]), np.array([2.0, 0.5]), np.array([0.3, -0.7])
    s.pos.from_numpy(pos)
    s.mass.from_numpy(mass)
    a.from_numpy(b)

    def loss_of(pos, mass, b):
        moved = pos * mass[:, None]
        moved[:, 0] += moved[:, 1] * b
        return (moved**2).sum()

    def slopes(*at):
        found = []
        for k, one in enumerate(at):
            moves = [np.zeros_like(one) for one in at]
            rows = []
            for n in np.ndindex(one.shape):
                moves[k][n] = 1e-20  # a complex step is exact to rounding
                rows.append(loss_of(*(x + 1j * m for x, m in zip(at, moves))).imag / 1e-20)
                moves[k][n] = 0.0
            found.append(np.reshape(rows, one.shape))
        return found

    gradients = ti.ad.grad(program, [s.pos, s.mass, "b"], loss)(a)
    for found, wanted in zip(gradients, slopes(pos, mass, b)):
        close(found, wanted)
    loss.fill(0.0)
    directions = [np.full((2, 2), 0.5), [1.0, -1.0], [2.0, 3.0]]
    _, slope = ti.ad.jvp(program, [s.pos, s.mass, "b"], loss)(directions, a)
    close(slope, sum((np.array(d) * g).sum() for d, g in zip(directions, gradients)))
    products = ti.ad.hvp(program, [s.pos, s.mass, "b"], loss)(directions, a)
    step = 1e-6
    ahead, behind = (
        slopes(*(x + sign * step * np.array(d) for x, d in zip((pos, mass, b), directions))) for sign in (1, -1)
    )
    for found, high, low in zip(products, ahead, behind):
        close(found, (high - low) / (2 * step), rtol=1e-7)


def test_what_python_writes_to_whole_fields(ti):
    x, y, loss = (ti.field(ti.f64, n) for n in (3, 3, ()))

    @ti.kernel
    def square():
        for i in x:
            y[i] = y[i] * x[i]

    @ti.kernel
    def add():
        for i in y:
            loss[None] += y[i] * y[i]

    def program():
        y.copy_from(x)
        square()  # y = x * x
        x.fill(100.0)
        add()
        y.fill(3.0)
        add()

    at = np.array([1.0, 2.0, -3.0])
    x.from_numpy(at)
    value, gradient = ti.ad.value_and_grad(program, x, loss)()
    close(value, (at**4).sum() + 27)
    close(gradient, 4 * at**3)
    x.from_numpy(at)
    close(ti.ad.hvp(program, x, loss)([1.0, 2.0, 3.0]), 12 * at**2 * [1, 2, 3])
    x.from_numpy(at)
    close(ti.ad.jvp(program, x, loss)([1.0, 2.0, 3.0])[1], (4 * at**3 * [1, 2, 3]).sum())


def test_methods_and_gradients_that_the_program_made(ti):
    @ti.data_oriented
    class Spring:
        def __init__(self):
            self.x, self.loss = ti.field(ti.f64, 2, needs_grad=True, needs_dual=True), ti.field(ti.f64, ())

        @ti.kernel
        def energy(self, k: ti.f64):
            for i in self.x:
                self.loss[None] += k * self.x[i] ** 2

    spring = Spring()
    spring.x.from_numpy(np.array([1.0, 3.0]))
    spring.x.grad.fill(50.0)
    spring.x.dual.fill(50.0)
    by_x, by_k = ti.ad.grad(spring.energy, [spring.x, "k"], spring.loss)(2.0)
    close(by_x, [4.0, 12.0])
    close(by_k, 10.0)
    close(spring.x.grad.to_numpy(), by_x)
    spring.loss[None] = 0.0
    close(ti.ad.jvp(spring.energy, spring.x, spring.loss)([1.0, 0.0], 2.0), [20.0, 4.0])
    close(ti.ad.hvp(spring.energy, "k", spring.loss)(1.0, 2.0), 0.0)


def test_derivatives_end_where_the_program_says_so(ti):
    x, y, loss = (ti.field(ti.f64, n) for n in (2, 2, ()))

    @ti.kernel
    def square():
        for i in x:
            y[i] = ti.stop_grad(x[i]) * x[i]

    @ti.kernel
    def add():
        for i in y:
            loss[None] += y[i]

    def program():
        square()
        add()

    x.fill(3.0)
    close(ti.ad.grad(program, x, loss)(), [3.0, 3.0])
    close(ti.ad.jvp(program, x, loss)([1.0, 0.0])[1], 3.0)


def test_a_gradient_by_hand_below_a_function(ti):
    x, y, loss = (ti.field(ti.f64, n, needs_grad=True) for n in (2, 2, ()))

    @ti.kernel
    def cube():
        for i in x:
            y[i] = x[i] ** 3

    @ti.kernel
    def ten_times():
        for i in x:
            x.grad[i] += 10 * x[i] ** 2 * y.grad[i]

    @ti.kernel
    def add():
        for i in y:
            loss[None] += y[i]

    @ti.ad.grad_replaced
    def replaced():
        cube()

    @ti.ad.grad_for(replaced)
    def backward():
        ten_times()

    def program():
        replaced()
        add()

    x.fill(3.0)
    close(ti.ad.grad(program, x, loss)(), [90.0, 90.0])
    close(ti.ad.hvp(program, x, loss)([1.0, 2.0]), [60.0, 120.0])  # the derivative of the gradient by hand


def test_elements_that_python_writes(ti):
    x, y, loss = ti.field(ti.f64, 3), ti.field(ti.f64, 3), ti.field(ti.f64, ())

    @ti.kernel
    def square():
        for i in x:
            y[i] = x[i] ** 2

    @ti.kernel
    def add():
        for i in y:
            loss[None] += y[i] * x[i]

    def program():
        x[0] = 5.0
        square()
        y[1] = 7.0
        add()

    at = np.array([1.0, 2.0, 3.0])
    x.from_numpy(at)
    close(ti.ad.grad(program, x, loss)(), [0.0, 7.0, 27.0])
    x.from_numpy(at)
    close(ti.ad.hvp(program, x, loss)([1.0, 1.0, 1.0]), [0.0, 0.0, 18.0])
    x.from_numpy(at)
    loss[None] = 0.0
    close(ti.ad.jvp(program, x, loss)([1.0, 1.0, 1.0]), [125.0 + 14.0 + 27.0, 34.0])


def test_a_kernel_that_overwrites_between_its_loops(ti):
    x, y, loss = (ti.field(ti.f64, n) for n in (3, 3, ()))

    @ti.kernel
    def twice():
        for i in x:
            y[i] = x[i] * x[(i + 1) % 3]
        for i in x:
            x[i] = y[i] * y[(i + 1) % 3]
        for i in x:
            y[i] = x[i] * x[(i + 1) % 3]
        for i in x:
            loss[None] += y[i]

    def loss_of(a):
        for _ in range(3):
            a = a * np.roll(a, -1)
        return a.sum()

    at, along = np.array([1.1, 0.7, -1.3]), np.array([1.0, -1.0, 0.5])
    steps = [loss_of(at + 1e-20j * one).imag / 1e-20 for one in np.eye(3)]
    x.from_numpy(at)
    close(ti.ad.grad(twice, x, loss)(), steps)
    x.from_numpy(at)
    product = ti.ad.hvp(twice, x, loss)(along)
    ahead, behind = (
        np.array([loss_of(at + sign * 1e-6 * along + 1e-20j * one).imag / 1e-20 for one in np.eye(3)])
        for sign in (1, -1)
    )
    close(product, (ahead - behind) / 2e-6, rtol=1e-7)


def test_random_numbers_are_those_of_the_function(ti):
    x, drawn, loss = ti.field(ti.f64, 3), ti.field(ti.f64, 3), ti.field(ti.f64, ())

    @ti.kernel
    def draw():
        for i in x:
            factor = ti.random(ti.f64)
            drawn[i] = factor
            loss[None] += factor * ti.sin(x[i] * factor)

    at, along = np.array([0.5, 1.0, 2.0]), np.array([1.0, -1.0, 0.5])
    x.from_numpy(at)
    gradient = ti.ad.grad(draw, x, loss)()
    r = drawn.to_numpy()
    close(gradient, r**2 * np.cos(at * r))
    product = ti.ad.hvp(draw, x, loss)(along)
    r = drawn.to_numpy()
    close(product, -(r**3) * np.sin(at * r) * along)
    slope = ti.ad.jvp(draw, x, loss)(along)[1]
    r = drawn.to_numpy()
    close(slope, (r**2 * np.cos(at * r) * along).sum())
