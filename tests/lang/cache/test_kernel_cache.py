"""Kernels come from the disk when nothing that they depend on has changed, and never otherwise."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.lang.cache.cached_programs import Session
from weft.lang.library import mathlib


@pytest.fixture
def session(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Session:
    return Session(tmp_path, monkeypatch)


PROGRAM = """
import dataclasses
import enum
import functools
import typing
import types
import numpy as np
import weft as ti

N = 2
NUMPY = np.float32(1.5)
LIST = [1, 2, 3]
NAMED = {"a": 1, "b": [4, 5]}
ARRAY = np.array([1, 2, 3])
VECTOR = ti.Vector([1.0, 2.0])
SPACE = types.SimpleNamespace(a=5, unused=0)
flag = False

class Color(enum.Enum):
    RED = 10
    BLUE = 20

class Numbered(enum.IntEnum):
    ONE = 1

class Settings:
    scale = 3
    other = 1
    def double(self, n):
        return 2 * n

class Derived(Settings):
    pass

settings = Settings()

@ti.func
def inner(a):
    return a + 0.5

@ti.func
def outer(a, b=1.0):
    return inner(a) * 2 + b

@ti.pyfunc
def both(a):
    return a * 3

def plain(n):
    return n + 7

def plain_too(n):
    return plain(n) * 2

@ti.real_func
def real(n: ti.i32) -> ti.i32:
    r = 1
    if n > 0:
        r = n + real(n - 1)
    return r

@ti.func
def value():
    v: ti.f32 = 2.5
    return v * 1.0

Pair = ti.types.struct(a=ti.i32, b=ti.f32)

@ti.dataclass
class Ball:
    mass: ti.f32
    @ti.func
    def weight(self):
        return self.mass * 9.0

@ti.data_oriented
class Solver:
    def __init__(self):
        self.n = 4
        self.x = ti.field(ti.f32, shape=8)
        self.sub = types.SimpleNamespace(k=6)
    @property
    def half(self):
        return self.n / 2
    @ti.func
    def helper(self, i):
        return i * self.n
    @ti.kernel
    def k(self) -> ti.f32:
        self.x[2] = self.helper(3) + self.half + self.sub.k
        return self.x[2]

@dataclasses.dataclass
class Options:
    gain: float = 1.25

class Point(typing.NamedTuple):
    u: int
    v: int

class Adder:
    step = 5
    @ti.func
    def __call__(self, a):
        return a + self.step

class Louder(Adder):
    @ti.func
    def loud(self, a):
        return super().__call__(a) * 2

options, point, adder, louder = Options(), Point(3, 4), Adder(), Louder()
part = functools.partial(outer, b=3.0)
def mesh():
    return float(np.sqrt(np.linspace(0, 1, 5)[3] ** 2))
x = ti.field(ti.f32, shape=(4, 4))

@ti.kernel
def k() -> ti.f32:
    return BODY

def main():
    return k()
"""

# An expression, what to replace in the program, and the values before and after.
CHANGES: dict[str, tuple[str, str, str, float, float]] = {
    "constant": ("N * 1.0", "N = 2", "N = 3", 2, 3),
    "type of a constant": ("N / 4", "N = 2", "N = 2.0", 0.5, 0.5),
    "numpy scalar": ("NUMPY", "np.float32(1.5)", "np.float32(2.5)", 1.5, 2.5),
    "list": ("LIST[1]", "[1, 2, 3]", "[1, 9, 3]", 2, 9),
    "nested container": ("NAMED['b'][0]", "[4, 5]", "[6, 5]", 4, 6),
    "array": ("ARRAY[2]", "np.array([1, 2, 3])", "np.array([1, 2, 4])", 3, 4),
    "vector": ("VECTOR[0] + VECTOR.y", "[1.0, 2.0]", "[1.0, 3.0]", 3, 4),
    "namespace": ("SPACE.a", "a=5", "a=6", 5, 6),
    "enum": ("Color.RED.value", "RED = 10", "RED = 11", 10, 11),
    "int enum": ("Numbered.ONE + 1", "ONE = 1", "ONE = 2", 2, 3),
    "all of an enum": ("sum([c.value for c in ti.static(Color)])", "BLUE = 20", "BLUE = 21", 30, 31),
    "class attribute": ("Settings.scale", "scale = 3", "scale = 4", 3, 4),
    "attribute of an instance's class": ("settings.scale", "scale = 3", "scale = 4", 3, 4),
    "inherited": ("Derived.scale", "scale = 3", "scale = 4", 3, 4),
    "overridden": ("Derived.scale", "(Settings):\n    pass", "(Settings):\n    scale = 8", 3, 8),
    "static branch": ("1.0 if ti.static(flag) else 2.0", "flag = False", "flag = True", 2, 1),
    "func two levels down": ("outer(1.0)", "a + 0.5", "a + 0.75", 4, 4.5),
    "default argument": ("outer(1.0)", "b=1.0", "b=2.0", 4, 5),
    "pyfunc": ("both(2.0)", "a * 3", "a * 4", 6, 8),
    "Python function": ("plain_too(1)", "n + 7", "n + 8", 16, 18),
    "method run by Python": ("settings.double(N)", "2 * n", "3 * n", 4, 6),
    "real function": ("real(3)", "r = n + real(n - 1)", "r = n * real(n - 1)", 7, 6),
    "struct type": ("Pair(1, 2.75).b", "b=ti.f32", "b=ti.i32", 2.75, 2),
    "struct method": ("Ball(1.0).weight()", "self.mass * 9.0", "self.mass * 8.0", 9, 8),
    "shape": ("x.shape[0]", "shape=(4, 4)", "shape=(5, 4)", 4, 5),
    "text": ("N * 2.0", "return N * 2.0", "return N * 4.0", 4, 8),
    "dataclass": ("options.gain", "gain: float = 1.25", "gain: float = 2.25", 1.25, 2.25),
    "named tuple": ("point.v", "Point(3, 4)", "Point(3, 5)", 4, 5),
    "order of a named tuple": ("point.v", "    u: int\n    v: int", "    v: int\n    u: int", 4, 3),
    "callable object": ("adder(1.0)", "step = 5", "step = 6", 6, 7),
    "its function": ("adder(1.0)", "return a + self.step", "return a - self.step", 6, -4),
    "numpy in a function": ("ti.static(mesh())", "np.linspace(0, 1, 5)", "np.linspace(0, 2, 5)", 0.75, 1.5),
    "super": ("louder.loud(1.0)", "return a + self.step", "return a - self.step", 12, -8),
    "partial": ("part(1.0)", "b=3.0", "b=4.0", 6, 7),
    "function behind a partial": ("part(1.0)", "a + 0.5", "a + 0.75", 6, 6.5),
    "local annotation": ("value()", "v: ti.f32", "v: ti.i32", 2.5, 2),
}


@pytest.mark.parametrize("what", CHANGES)
def test_what_is_changed_is_compiled_anew(session: Session, what: str):
    body, old, new, before, after = CHANGES[what]
    text = PROGRAM.replace("BODY", body)
    assert old in text
    assert session.fresh(text, "program.py") == before
    assert session.kept() == 1, "was not kept"
    assert session.fresh(text.replace(old, new), "program.py") == after
    assert session.warm(text, "program.py") == before
    assert session.warm(text.replace(old, new), "program.py") == after


UNRELATED = {
    "a comment elsewhere": ("N = 2", "N = 2  # two\n\n"),
    "another constant": ("LIST = [1, 2, 3]", "LIST = [1]"),
    "another function": ("n + 7", "n + 8"),
    "an attribute nobody reads": ("unused=0", "unused=1"),
    "another attribute of a class": ("other = 1", "other = 2"),
}


@pytest.mark.parametrize("what", UNRELATED)
def test_what_does_not_matter_is_not_compiled(session: Session, what: str):
    text = PROGRAM.replace("BODY", "outer(N * 1.0) + SPACE.a + Settings.scale")
    assert text.count(UNRELATED[what][0]) == 1
    assert session.fresh(text) == session.warm(text.replace(*UNRELATED[what])) == 14


OF_WEFT = {
    "ti.math.clamp(N * 1.0, 0.0, 1.5)": 1.5,
    "ti.math.mix(1.0, N, 0.5) + ti.math.pi * 0.0": 1.5,
    "ti.math.vec2(N, 1.0).x": 2,
    "ti.math.dot(ti.math.vec2(1.0, N), ti.math.vec2(3.0, 4.0))": 11,
    "ti.types.vector(2, ti.f32)(N, 3.0)[1]": 3,
    "ti.sin(0.0) + ti.max(N, 1) + ti.i64(3)": 5,
    "ti.Vector([1.0, N]).norm_sqr()": 5,
    "ti.random() * 0.0 + N": 2,
    "ti.static(ti.math.e > N) * 1.0": 1,
    "ti.svd(ti.Matrix([[N, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]]))[1][0, 0]": 2,
    "ti.sym_eig(ti.Matrix([[N, 0.0], [0.0, 1.0]]))[0].sum()": 3,
}


@pytest.mark.parametrize("body", OF_WEFT)
def test_kernels_that_use_what_weft_brings_are_kept(session: Session, body: str):
    text = PROGRAM.replace("BODY", body)
    assert session.fresh(text) == session.warm(text) == OF_WEFT[body]
    other = text.replace("N = 2", "N = 4")
    assert session.run(other) == session.run(other, offline_cache=False)


def test_a_function_of_weft_that_somebody_replaced(session: Session):
    text = PROGRAM.replace("BODY", "ti.math.clamp(N * 1.0, 0.0, 1.5)")
    assert session.fresh(text) == 1.5
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(mathlib, "clamp", mathlib.mix)
        assert session.fresh(text) == -1
    assert session.warm(text) == 1.5


def test_the_same_program_in_another_file(session: Session):
    text = PROGRAM.replace("BODY", "N * 1.0")
    assert session.fresh(text, "one.py") == session.warm(text, "two.py") == 2


FIELDS = {
    "dtype": ("ti.f32, shape=6", "ti.i32, shape=6"),
    "shape": ("shape=6", "shape=7"),
    "offset": ("shape=6", "shape=6, offset=-2"),
    "beside another": ("x = ti.field(ti.f32, shape=6)", "x = ti.field(ti.f32)\ny = ti.field(ti.f32)\n"
                       "ti.root.dense(ti.i, 6).place(y, x)"),
    "order": ("z = ti.field(ti.f32, shape=(2, 3))", "z = ti.field(ti.f32, shape=(2, 3), order='ji')"),
    "blocks": ("z = ti.field(ti.f32, shape=(2, 3))",
               "z = ti.field(ti.f32)\nti.root.dense(ti.j, 3).dense(ti.i, 2).place(z)"),
    "a vector": ("x = ti.field(ti.f32, shape=6)", "x = ti.Vector.field(1, ti.f32, shape=6)"),
    "the same field twice": ("z = ti.field(ti.f32, shape=(2, 3))", "z = w"),
}  # fmt: skip


@pytest.mark.parametrize("what", FIELDS)
def test_the_layout_of_fields(session: Session, what: str):
    text = """
import weft as ti
x = ti.field(ti.f32, shape=6)
w = ti.field(ti.f32, shape=(2, 3))
z = ti.field(ti.f32, shape=(2, 3))

@ti.kernel
def k():
    for i in x:
        x[i] = i * 2.5
    for i, j in z:
        w[i, j] = i + 10 * j
        z[i, j] = i + 100 * j + 0.25

def main():
    k()
    return [f.to_numpy().ravel().tolist() for f in (x, w, z)]
"""
    changed = text.replace(*FIELDS[what])
    assert changed != text
    plain, other = session.run(text, offline_cache=False), session.run(changed, offline_cache=False)
    assert session.kept() == 0
    assert plain != other or what in ("beside another", "order", "blocks", "a vector")
    assert session.fresh(text, "a.py") == plain
    assert session.fresh(changed, "a.py") == other
    assert session.warm(text, "a.py") == plain
    assert session.warm(changed, "a.py") == other


def test_options(session: Session):
    text = PROGRAM.replace("BODY", "N / 3.0 * float(7)")
    first = session.fresh(text)
    for options in ({"debug": True}, {"fast_math": False}, {"opt_level": 0}, {"default_fp": "f64"}):
        given: dict[str, Any] = {**options}
        if "default_fp" in given:
            import weft as ti

            given["default_fp"] = ti.f64
        assert session.fresh(text, **given) == pytest.approx(first)
        assert session.warm(text, **given) == pytest.approx(first)
    assert session.warm(text, random_seed=5, compile_threads=3) == first
    session.run(text, threads=1)
    assert session.fresh(text, threads=3, opt_level=0) == first  # whether atomics lock is decided in compiling
    assert session.fresh(text, threads=4, opt_level=0) == first
    session.run(text, threads=9)
    assert session.warm(text, threads=40) == first


def test_a_function_of_a_module_is_exchanged(session: Session):
    module = (
        "import weft as ti\n@ti.func\ndef force(a):\n    return a * LEVEL\n@ti.func\ndef drag(a):\n    return a - 1\n"
    )
    text = """
import physics
import weft as ti
PATCH
@ti.kernel
def k() -> ti.f32:
    return physics.force(3.0)
def main():
    return k()
"""
    plain, patched = text.replace("PATCH", ""), text.replace("PATCH", "physics.force = physics.drag")
    assert session.fresh(plain, modules={"physics": module + "LEVEL = 2"}) == 6
    assert session.fresh(patched, modules={"physics": module + "LEVEL = 2"}) == 2
    assert session.fresh(plain, modules={"physics": module + "LEVEL = 5"}) == 15
    assert session.warm(plain, modules={"physics": module + "LEVEL = 2"}) == 6


def test_wefts_own_names_exchanged(session: Session, monkeypatch: pytest.MonkeyPatch):
    import weft

    text = (
        "import weft as ti\n@ti.kernel\ndef k() -> ti.f32:\n    return ti.max(1.0, 2.0)\ndef main():\n    return k()\n"
    )
    assert session.fresh(text) == 2
    monkeypatch.setattr(weft, "max", weft.min)
    assert session.fresh(text) == 1


SOLVER = PROGRAM.replace("BODY", "1.0") + "\ndef main():\n    s = Solver()\n    CHANGE\n    return s.k()\n"


@pytest.mark.parametrize(
    ("change", "result"),
    [
        ("s.n = 5", 15 + 2.5 + 6),
        ("s.sub.k = 7", 12 + 2 + 7),
        ("s.sub = types.SimpleNamespace(k=8)", 12 + 2 + 8),
        ("s.x = ti.field(ti.i32, shape=8)", 20),
        ("s.helper = inner", None),
    ],
)
def test_attributes_of_self(session: Session, change: str, result: float | None):
    first = SOLVER.replace("CHANGE", "pass")
    assert session.fresh(first) == 20
    assert session.warm(first) == 20
    second = SOLVER.replace("CHANGE", change)
    if result is None:
        assert session.fresh(second) == 3.5 + 2 + 6
    else:
        assert session.fresh(second, "a.py") == result
        assert session.warm(second, "a.py") == result  # with its warnings, which name the file
    assert session.warm(first) == 20


def test_templates_closures_and_lambdas(session: Session):
    text = """
import weft as ti
def make(n, f):
    @ti.kernel
    def k(a: ti.template(), b: ti.template()) -> ti.f32:
        g = lambda u: u * 2
        return f(g(a), n) + b[0] + ti.static(len(b))
    return k
@ti.func
def add(u, v):
    return u + v
@ti.func
def sub(u, v):
    return u - v
def main():
    return make(N, F)(A, B)
"""
    seen: set[float] = set()
    for n, f, a, b in (
        (1, "add", 3, [4]),
        (2, "add", 3, [4]),
        (1, "sub", 3, [4]),
        (1, "add", 4, [4]),
        (1, "add", 3, [4, 1]),
    ):
        one = text.replace("(N, F)", f"({n}, {f})").replace("(A, B)", f"({a}, {b})")
        want = (2 * a + n if f == "add" else 2 * a - n) + b[0] + len(b)
        assert session.fresh(one) == want
        assert session.warm(one) == want
        seen.add(want)
    assert session.compiled == 5


def test_arrays_argument_packs_and_executed_text(session: Session):
    text = """
import numpy as np
import weft as ti
pack = ti.types.argpack(a=ti.KIND, v=ti.types.vector(2, ti.f32))
code = '''
@ti.kernel
def k(p: pack, x: ti.types.ndarray(), s: Pair) -> ti.f32:
    return p.a + p.v[1] + x[1] + s.b
'''
Pair = ti.types.struct(a=ti.i32, b=ti.f32)
exec(code)
def main():
    return k(pack(a=2.5 if 'KIND' == 'f32' else 2, v=[1, 2]), np.array([1, 2], np.DTYPE), Pair(1, 5))
"""

    def program(kind: str, dtype: str) -> str:
        return text.replace("KIND", kind).replace("DTYPE", dtype)

    assert session.fresh(program("i32", "float32")) == 11
    assert session.fresh(program("f32", "float32")) == 11.5
    assert session.fresh(program("i32", "int32")) == 11
    assert session.warm(program("i32", "float32")) == 11
    other = program("i32", "float32").replace("+ s.b", "- s.b")
    assert session.fresh(other) == 1


# What Python gives as a kernel is compiled may be another thing the next time.
MEANWHILE = {
    "a random number": ("R = None", "ti.static(random.random()) * 0 + 1.0"),
    "the time": ("def now():\n    return time.time() * 0 + 1.0", "ti.static(now())"),
    "something printed meanwhile": ("N = 1", "[ti.static_print(N), 1.0][1]"),
    "a counter": (
        "STATE = [0]\ndef count():\n    STATE[0] += 1\n    globals()['C'] = 1\n    return 1.0",
        "ti.static(count())",
    ),
    "the environment": ("import os\ndef env():\n    return 1.0 if os.environ.get('HOME') else 1.0", "ti.static(env())"),
    "a file": ("def load():\n    with open(__file__) as f:\n        return 1.0", "ti.static(load())"),
    "numpy's random numbers": ("def r():\n    return np.random.rand() * 0 + 1.0", "ti.static(r())"),
    "a file read by numpy": (
        "p = __file__ + '.npy'\nnp.save(p, np.ones(2))",
        "np.load(p)[0]",
    ),
    "the same, in a function": (
        "p = __file__ + '.npy'\nnp.save(p, np.ones(2))\ndef table():\n    return float(np.load(p)[0])",
        "ti.static(table())",
    ),
    "an iterator": ("import itertools\nC = itertools.count(1)", "float(next(C)) * 0 + 1"),
    "a remembered result": ("import functools\n@functools.cache\ndef f():\n    return 1.0\nf()", "ti.static(f())"),
    "a set": ("S = {'a', 'b'}", "float([1 for s in S][0])"),
    "a generator": ("G = (n for n in [1])", "float([n for n in ti.static(G)][0])"),
    "a list that the kernel changes": ("L = [1]\nM = L", "float(len([L.append(2)]))"),
    "an object made at compile time": ("class Made:\n    def __init__(self):\n        self.a = 1.0", "Made().a"),
    "a method that changes its object": (
        "class Acc:\n    n = 0\n    def next(self):\n        self.n += 1\n        return 1.0\nacc = Acc()",
        "ti.static(acc.next())",
    ),
    "computed attribute names": (
        "class Box:\n    def __getattr__(self, name):\n        return float(len(globals()) * 0 + 1)\nbox = Box()",
        "ti.static(box.anything)",
    ),
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("what", MEANWHILE)
def test_kernels_that_run_python_as_they_compile_are_kept(session: Session, what: str):
    define, body = MEANWHILE[what]
    text = f"import random\nimport time\nimport numpy as np\nimport weft as ti\n{define}\n"
    text += f"@ti.kernel\ndef k() -> ti.f32:\n    return {body}\n"
    text += "def main():\n    return k()\n"
    assert session.fresh(text, "a.py") == 1
    assert session.kept() == 1
    assert session.run(text, "a.py") == 1


def test_a_number_that_changes_is_another_kernel(session: Session):
    """Python gives another number in each process: each gets its own."""
    text = "import weft as ti\nN = {}\ndef count():\n    global N\n    N += 1\n    return N\n"
    text += "@ti.kernel\ndef k() -> ti.i32:\n    return ti.static(count())\ndef main():\n    return k()\n"
    assert session.fresh(text.format(1)) == 2
    assert session.fresh(text.format(2)) == 3
    assert session.warm(text.format(1)) == 2
