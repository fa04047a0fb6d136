"""Structs and dataclasses: members, methods, nesting, as locals, arguments, results and fields."""

import numpy as np
import pytest


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
