"""Structs and dataclasses: members, methods, nesting, as locals, arguments, results and fields."""

import copy

import numpy as np
import pytest

from weft.ir.errors import CompilationError


@pytest.fixture
def ray(ti):
    """A dataclass with methods, one of which changes nothing but reads two members."""

    @ti.dataclass
    class Ray:
        start: ti.math.vec3
        direction: ti.math.vec3
        t: ti.f32

        @ti.func
        def at(self, t):
            return self.start + t * self.direction

        @ti.func
        def end(self):
            return self.at(self.t)

    return Ray


def test_dataclasses_with_methods(ti, ray):
    @ti.kernel
    def run(x: ti.f32) -> ti.math.vec3:
        r = ray(start=ti.math.vec3(1, 2, 3), direction=ti.math.vec3(0, 0, 1), t=x)
        r.direction.y = 2
        r.t += 1
        return r.end() + r.at(0)

    assert run(1).to_list() == [2, 4 + 4, 6 + 2]


def test_struct_fields_and_their_elements(ti, ray):
    rays = ray.field(shape=(2, 3))

    @ti.kernel
    def run():
        for i, j in rays:
            rays[i, j].start = [i, j, 0]
            rays[i, j].direction = ti.math.vec3(1, 0, 0)
            rays[i, j].t = i * 10 + j
        for i, j in rays:
            r = rays[i, j]
            r.t = 1000
            rays[i, j].start = rays[i, j].end() + r.t * 0
            rays[i, j].t += 1

    run()
    i, j = np.indices((2, 3))
    assert rays.t.to_numpy().tolist() == (i * 10 + j + 1).tolist()
    assert rays.start.to_numpy()[..., 0].tolist() == (i + i * 10 + j).tolist()
    assert rays[1, 2].t == 13


def test_structs_by_value(ti):
    pair = ti.types.struct(a=ti.i32, v=ti.types.vector(2, ti.f32))

    @ti.func
    def changed(p):
        p.a = 100
        return p.v.sum() + p.a

    @ti.kernel
    def run(p: pair) -> ti.f32:
        q = p
        q.a += 5
        r = pair(a=1, v=[2, 3])
        s = q
        s.v[1] = 0
        return changed(q) + q.a + r.v[1] + s.v.sum() + q.v[1] * 1000

    assert run(pair(a=2, v=[0.5, 4])) == 104.5 + 7 + 3 + 0.5 + 4000


def test_nested_structs(ti):
    inner = ti.types.struct(x=ti.f32, n=ti.i32)
    outer = ti.types.struct(one=inner, two=inner, scale=ti.f32)
    things = outer.field(shape=4)

    @ti.kernel
    def run() -> outer:
        for i in things:
            things[i].one.x = i
            things[i].two = inner(x=2 * i, n=i)
            things[i].scale = 0.5
            things[i].two.n += 10
        total = things[3]
        total.one.n = 7
        total.one.x += things[2].two.x
        return total

    found = run()
    assert (found.one.x, found.one.n, found.two.x, found.two.n, found.scale) == (7, 7, 6, 13, 0.5)
    assert things.two.n.to_numpy().tolist() == [10, 11, 12, 13]
    assert things.one.x.to_numpy().tolist() == [0, 1, 2, 3]


def test_structs_as_results_and_arguments(ti):
    kind = ti.types.struct(a=ti.i64, m=ti.types.matrix(2, 2, ti.f64), ok=ti.i32)

    @ti.kernel
    def run(k: kind, s: ti.i32) -> kind:
        return kind(a=k.a * s, m=k.m @ k.m, ok=k.ok)

    found = run(kind(a=2**40, m=[[1, 2], [3, 4]], ok=1), 3)
    assert found.a == 3 * 2**40
    assert np.array(found.m.to_numpy()).tolist() == [[7, 10], [15, 22]]
    assert found.ok == 1


def test_structs_across_ifs_and_loops(ti):
    state = ti.types.struct(p=ti.math.vec2, count=ti.i32)

    @ti.kernel
    def run(n: ti.i32) -> state:
        s = state(p=[0, 0], count=0)
        for _ in range(1):
            for i in range(n):
                if i % 2:
                    s = state(p=s.p + 1, count=s.count + 1)
                else:
                    s.p.x += 10
        return s

    found = run(5)
    assert (list(found.p), found.count) == ([32, 2], 2)


def test_structs_in_python_scope(ti, ray):
    r = ray(start=[1, 2, 3], direction=[0, 1, 0], t=2)
    rays = ray.field(shape=3)
    rays[1] = r
    assert rays[1].t == 2
    assert list(rays[1].start) == [1, 2, 3]
    assert rays.t.to_numpy().tolist() == [0, 2, 0]
    rays[2].t = 5
    assert rays.t.to_numpy().tolist() == [0, 2, 5]


def test_atomics_on_members(ti):
    kind = ti.types.struct(total=ti.i32, v=ti.types.vector(2, ti.i32))
    x = kind.field(shape=())

    @ti.kernel
    def run():
        for i in range(100):
            x[None].total += i
            ti.atomic_max(x[None].v[1], i)
            x[None].v[0] += 1

    run()
    assert (x[None].total, list(x[None].v)) == (4950, [100, 99])


def test_methods_that_change_self(ti):
    @ti.dataclass
    class Counter:
        n: ti.i32

        @ti.func
        def bump(self, by):
            self.n += by
            return self.n

    @ti.kernel
    def run() -> ti.types.vector(2, ti.i32):
        c = Counter(n=5)
        first = c.bump(2)
        return ti.Vector([first, c.n])

    assert run().to_list()[0] == 7


def test_members_are_numbers_of_python(ti):
    pair = ti.types.struct(a=ti.i32, v=ti.math.vec2)
    one = pair(2**31 - 1, [1, 2])
    assert (type(one.a), one.a + 1) == (int, 2**31)
    assert type(one["a"]) is int
    assert type(dict(one.items)["a"]) is int

    @ti.kernel
    def wrapped(p: pair) -> ti.i32:
        q = p
        q.a += 1
        return q.a // 2

    assert wrapped(one) == -(2**30)  # in a kernel it is an i32


def test_copies_of_structs_are_their_own(ti, ray):
    one = ray(t=1, start=[1, 2, 3])
    for other in (copy.copy(one), copy.deepcopy(one), one.copy()):
        other.t, other.start.x = 5, 7
        assert (one.t, one.start.x, other.start.x) == (1, 1, 7)


def test_static_methods_take_no_struct(ti):
    @ti.dataclass
    class Disk:
        radius: ti.f32

        @staticmethod
        @ti.func
        def square(x):
            return x * x

        @staticmethod
        def twice(x):
            return 2 * x

        @ti.func
        def area(self):
            return 3 * self.square(self.radius)

    @ti.kernel
    def run(disk: Disk) -> ti.f32:
        return disk.area() + disk.twice(100)

    assert run(Disk(2)) == 212
    assert Disk(2).twice(4) == 8


def test_structs_do_not_inherit(ti, ray):
    with pytest.raises(TypeError, match="Moving: a class cannot inherit from a struct"):

        class Moving(ray):
            speed: ti.f32

    class Named:
        number: ti.i32

    with pytest.raises(CompilationError, match="Tagged inherits from Named"):

        @ti.dataclass
        class Tagged(Named):
            tag: ti.i32


def test_arrays_for_a_struct_field_have_its_keys(ti):
    inner = ti.types.struct(x=ti.f32, y=ti.math.vec2)
    cells = ti.types.struct(i=inner, k=ti.u8).field(shape=3)
    given = {"i": {"x": np.arange(3.0), "y": np.ones((3, 2))}, "k": np.array([1, 2, 300])}
    cells.from_numpy(given)
    back = cells.to_numpy()
    assert back["i"]["x"].tolist() == [0, 1, 2]
    assert back["k"].tolist() == [1, 2, 44]
    assert cells.get_member_field("i").y.to_numpy(keep_dims=True).shape == (3, 2, 1)
    for wrong in ({"k": given["k"]}, given | {"z": given["k"]}):
        with pytest.raises(KeyError, match="takes a dict with the keys i, k"):
            cells.from_numpy(wrong)


def test_a_struct_without_members(ti):
    """It holds nothing, and has methods: what tells two ways of computing apart at compile time."""

    @ti.dataclass
    class Linear:
        @ti.func
        def kernel(self, q):
            return 1 - q

    @ti.dataclass
    class Smooth:
        way: Linear
        power: ti.i32

        @ti.func
        def kernel(self, q):
            return self.way.kernel(q) ** self.power

    @ti.kernel
    def run(smooth: Smooth, linear: Linear, q: ti.f32) -> ti.f32:
        mine = Smooth(Linear(), 3)
        return smooth.kernel(q) + 10 * linear.kernel(q) + 100 * mine.kernel(q)

    assert run(Smooth(power=2), Linear(), 0.5) == 0.25 + 5 + 12.5
    assert Linear().to_dict() == {}
    with pytest.raises(CompilationError, match="Linear has no members, so it cannot be the type of a field"):
        Linear.field(shape=3)


def test_a_struct_of_python_s_numbers_has_the_default_types_in_kernels(ti):
    vec2 = ti.types.vector(2, ti.f64)
    inner = ti.types.struct(w=ti.f64)
    ball = ti.Struct(radius=0.1, n=3, centre=[0.1, 0.2], far=vec2(0.1, 0.2), deep={"r": 0.1}, kept=inner(w=0.1))

    @ti.func
    def grown(b):
        return b.radius * ti.f32(3.0)

    @ti.kernel
    def look() -> ti.types.vector(6, ti.f64):
        n = ball.n
        return ti.Vector(
            [ball.radius * 3, n << 31, ball.centre[0] * 3, grown(ball), ball.deep.r * 3, ball.kept.w * 3], ti.f64
        )

    third = np.float64(np.float32(0.1 * 3))
    np.testing.assert_array_equal(look().to_numpy(), [third, -(2**31), third, third, third, 0.1 * 3])
    assert ball.radius == 0.1  # in Python it keeps its digits


def test_members_of_constant_structs_are_known_beforehand(ti):
    settings = ti.types.struct(n=ti.i32, wide=ti.f64, v=ti.types.vector(2, ti.f32))
    loose, strict = ti.Struct(n=3, deep={"on": True}), settings(n=2, wide=0.1, v=[1, 2])
    x = ti.field(ti.f64, 4)

    @ti.kernel
    def run():
        v = ti.Vector.zero(ti.i32, loose.n)
        for k in ti.static(range(strict.n)):
            x[k] = v.n + strict.v[k]
        if ti.static(loose.deep.on and strict.v[1] > 1):
            x[3] = strict.wide

    run()
    np.testing.assert_array_equal(x.to_numpy(), [4, 5, 0, 0.1])
    loose.n, strict.n = 5, 3
    strict.v = [7, 8]
    strict.n = 1
    run()
    np.testing.assert_array_equal(x.to_numpy(), [12, 5, 0, 0.1])


def test_numbers_for_structs_in_structs(ti):
    """A number in the place of a struct is its first member, as in a call of its type; the others are zero."""

    @ti.dataclass
    class Inner:
        a: ti.f32
        b: ti.i32

    @ti.dataclass
    class Outer:
        p: Inner
        q: Inner
        w: ti.math.vec2

    f = Outer.field(shape=2)

    @ti.func
    def made(n):
        return Inner(a=n + 0.5, b=n)

    @ti.func
    def parts(o):
        return ti.Vector([o.p.a, o.p.b, o.q.a, o.q.b, o.w.x, o.w.y])

    @ti.kernel
    def run(what: ti.template(), n: ti.i32) -> ti.types.vector(6, ti.f32):
        o = Outer()
        if ti.static(what == 0):
            o = Outer(1)
        elif ti.static(what == 1):
            o = Outer(n, n + 1, 3)
        elif ti.static(what == 2):
            i = made(n)
            o = Outer(i, made(7), ti.math.vec2(1, 2))
            i.a = 100
        elif ti.static(what == 3):
            o = Outer(q={"b": n}, p=[1.5, n])
        else:
            f[0] = Outer(made(n), q=made(n + 1))
            f[1].p = f[0].q
            f[1].q = made(9)
            o = f[1]
        return parts(o)

    wanted = [
        [1, 0, 0, 0, 0, 0],
        [4, 0, 5, 0, 3, 3],
        [4.5, 4, 7.5, 7, 1, 2],
        [1.5, 4, 0, 4, 0, 0],
        [5.5, 5, 9.5, 9, 0, 0],
    ]
    assert [run(what, 4).to_list() for what in range(5)] == wanted
    in_python = [Outer(1), Outer(4, 5, 3), Outer(Inner(4.5, 4), Inner(7.5, 7), [1, 2]), Outer(q={"b": 4}, p=[1.5, 4])]
    for o, values in zip(in_python, wanted, strict=False):
        assert [o.p.a, o.p.b, o.q.a, o.q.b, o.w.x, o.w.y] == values
