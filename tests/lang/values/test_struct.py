import numpy as np
import pytest

import weft as ti
from weft.ir.errors import CompilationError, TypeMismatch
from weft.lang.data.field import FieldIndexError

vec2, vec3 = ti.math.vec2, ti.math.vec3


@pytest.fixture(autouse=True)
def fresh():
    ti.init(arch=ti.cpu)
    yield
    ti.reset()


@ti.dataclass
class Particle:
    """A point."""

    mass: float
    x: vec3
    n: int

    def kinetic(self, speed):
        return 0.5 * self.mass * speed * speed


def test_values():
    assert Particle().to_dict() == {"mass": 0.0, "x": [0.0, 0.0, 0.0], "n": 0}
    p = Particle(2, vec3(1), n=3.7)
    assert str(p) == "{'mass': 2.0, 'x': [1.0, 1.0, 1.0], 'n': 3}"
    assert p.kinetic(2.0) == 4
    p.x.y = 5
    p.mass = 1
    p.x = [1, 2, 3]
    assert p.to_dict() == {"mass": 1.0, "x": [1, 2, 3], "n": 3}
    q = p.copy()
    q.x[0] = 9
    assert p.x[0] == 1
    assert p.keys == ["mass", "x", "n"]
    assert Particle.ir.text == "{mass: f32, x: f32x3, n: i32}"
    assert Particle.__doc__ == "A point."


def test_isinstance():
    A, B = ti.types.struct(x=ti.f32, v=ti.math.vec2), ti.types.struct(x=ti.i32, v=ti.math.vec2)
    assert isinstance(A(x=1), A)
    assert isinstance(ti.Struct(x=1.0, v=ti.math.vec2(0)), A)
    assert not isinstance(B(x=1), A)
    assert not isinstance(1, A)
    assert not isinstance(A.field(shape=2), A)
    assert isinstance(A.field(shape=2)[1], A)


def test_wrong_values():
    with pytest.raises(TypeMismatch, match="no member 'speed'"):
        Particle(speed=3)
    with pytest.raises(TypeMismatch, match="3 members, but got 4"):
        Particle(1, 2, 3, 4)
    with pytest.raises(TypeMismatch, match="given twice"):
        Particle(1, mass=2)
    with pytest.raises(AttributeError, match="it has mass, x, n"):
        Particle().speed
    with pytest.raises(AttributeError):
        Particle().speed = 1
    with pytest.raises(TypeMismatch, match="must be a number"):
        Particle(mass="heavy")
    with pytest.raises(TypeMismatch, match="methods must be a dict of names and functions, not 3"):
        ti.Struct.field({"a": ti.f32}, 3)
    with pytest.raises(CompilationError, match="cannot have a default value"):

        @ti.dataclass
        class Wrong:
            a: float = 1.0


def test_free_structs():
    s = ti.Struct({"a": 1, "v": ti.Vector([1, 2])})
    assert str(s) == "{'a': 1, 'v': [1, 2]}"
    assert ti.Struct(a=1, b=2.0).b == 2.0
    assert s["a"] == 1
    s.a = 5
    assert s.a == 5
    t = ti.types.struct(a=float, inner=ti.types.struct(b=int, c=vec2))
    assert t(1, {"b": 2, "c": [3, 4]}).to_dict() == {"a": 1.0, "inner": {"b": 2, "c": [3.0, 4.0]}}


@pytest.mark.parametrize("layout", [ti.Layout.AOS, ti.Layout.SOA])
def test_fields(layout):
    f = Particle.field(shape=(2,), layout=layout)
    f[0] = Particle(1, vec3(2), 3)
    f[1].mass = 7
    f[1].x.z = 4
    f[1].x[0] = 1
    f.n[1] = 9
    assert f[0].to_dict() == {"mass": 1.0, "x": [2.0, 2.0, 2.0], "n": 3}
    assert f[1].to_dict() == {"mass": 7.0, "x": [1.0, 0.0, 4.0], "n": 9}
    assert f[1].kinetic(2.0) == 14
    assert f.shape == (2,)
    assert f.keys == ["mass", "x", "n"]
    assert f.get_member_field("mass")[1] == 7
    stride = f.mass.describe().path.window.strides[0]
    assert stride == (20 if layout is ti.Layout.AOS else 4)
    with pytest.raises(FieldIndexError):
        f[2]
    f.fill(1)
    assert f.to_numpy()["x"].sum() == 6
    f.from_numpy(f.to_numpy() | {"mass": np.array([5.0, 6.0])})
    assert f[1].mass == 6
    other = Particle.field(shape=2)
    other.copy_from(f)
    assert other[1].mass == 6


def test_placed_and_nested_fields():
    kind = ti.types.struct(a=float, inner=ti.types.struct(b=int, c=vec2))
    f = kind.field()
    ti.root.dense(ti.i, 3).place(f)
    f[2].inner.c = [1, 2]
    f[2].inner.b = 5
    assert f[2].to_dict() == {"a": 0.0, "inner": {"b": 5, "c": [1.0, 2.0]}}
    assert f.members["inner"].members["c"][2].to_list() == [1, 2]
    g = ti.Struct.field({"a": float, "p": vec2}, shape=(3,), offset=-1)
    g[-1].a = 2
    assert g.a[-1] == 2


def test_string_annotations_see_local_types():
    inner = ti.types.vector(2, int)

    @ti.dataclass
    class Local:
        a: "inner"
        b: "ti.f64"

    assert Local.ir.text == "{a: i32x2, b: f64}"
    assert inner.n == 2


def test_copies_and_pickles():
    import copy
    import pickle

    v = ti.Vector([1, 2], ti.f32)
    assert copy.deepcopy(v).to_list() == pickle.loads(pickle.dumps(v)).to_list() == [1, 2]
    p = Particle(1)
    assert copy.deepcopy(p).to_dict() == p.to_dict()
