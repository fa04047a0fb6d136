"""What a function does to its template parameters: it is done to the caller's variables, elements and members."""


def test_a_local_variable(ti):
    @ti.func
    def grow(a: ti.template(), by):
        a += by

    @ti.func
    def grow_twice(a: ti.template()):
        grow(a, 1)
        grow(by=2, a=a)

    @ti.kernel
    def run() -> ti.i32:
        b = 2
        grow_twice(b)
        return b

    assert run() == 5


def test_a_variable_keeps_its_type(ti):
    @ti.func
    def put(a: ti.template(), value):
        a = value  # noqa: F841 - it is the caller's

    @ti.kernel
    def run(value: ti.f32) -> ti.i32:
        b = 7
        put(b, value)
        return b

    assert run(2.9) == 2


def test_by_value_without_template(ti):
    @ti.func
    def grow(a):
        a += 1
        return a

    @ti.kernel
    def run() -> ti.i32:
        b = 2
        return grow(b) * 10 + b

    assert run() == 32


def test_elements_and_members(ti):
    pair = ti.types.struct(a=ti.i32, p=ti.types.vector(2, ti.f32))
    x, v = ti.field(ti.i32, 3), ti.Vector.field(2, ti.f32, 2)

    @ti.func
    def put(place: ti.template(), value):
        place = value  # noqa: F841 - it is the caller's

    @ti.kernel
    def run() -> ti.f32:
        s = pair(a=1)
        put(s.a, 7)
        put(s.p, ti.Vector([3.0, 4.0]))
        put(x[1], 5)
        put(v[0], ti.Vector([1.0, 2.0]))
        put(v[1][1], 2.5)
        return s.a + s.p.y

    assert run() == 11
    assert x.to_numpy().tolist() == [0, 5, 0]
    assert v.to_numpy().tolist() == [[1, 2], [0, 2.5]]


def test_methods_and_results(ti):
    @ti.data_oriented
    class Counter:
        def __init__(self):
            self.steps = ti.field(ti.i32, ())

        @ti.func
        def doubled(self, a: ti.template()):
            a *= 2
            self.steps[None] += 1
            return a + 1

        @ti.kernel
        def run(self) -> ti.i32:
            c = 4
            d = self.doubled(c) + self.doubled(c)
            return c * 100 + d

    counter = Counter()
    assert counter.run() == 1600 + 9 + 17
    assert counter.steps[None] == 2


def test_recursion_that_ends(ti):
    @ti.func
    def collect(n: ti.template(), total: ti.template()):
        if ti.static(n > 0):
            total += n
            collect(n - 1, total)

    @ti.kernel
    def run() -> ti.i32:
        total = 0
        collect(4, total)
        return total

    assert run() == 10


def test_fields_pass_through_several_functions(ti):
    x = ti.field(ti.i32, 4)

    @ti.func
    def write(f: ti.template(), i, value):
        f[i] = value

    @ti.func
    def both(f: ti.template(), i):
        write(f, i, i + 1)
        write(f, i + 1, i + 2)

    @ti.kernel
    def run(f: ti.template()):
        for i in range(2):
            both(f, 2 * i)

    run(x)
    assert x.to_numpy().tolist() == [1, 2, 3, 4]


def test_filling_a_field_in_a_kernel(ti):
    x = ti.field(ti.f32, (2, 3))

    @ti.kernel
    def run(a: ti.f32):
        x.fill(a)

    run(2.5)
    assert (x.to_numpy() == 2.5).all()
