"""Programs hold all kinds of objects beside their fields: what a kernel does not use is not in its key, what it uses
is."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.lang.cache.cached_programs import Session

TEXT = """
import argparse, collections, dataclasses, datetime, enum, functools, io, logging, pathlib, random, threading, time
import numpy as np
import weft as ti

class Mode(enum.Enum):
    FAST = 2
    SLOW = 3

@dataclasses.dataclass
class Config:
    n: int = 4
    mode: Mode = Mode.FAST
    log: logging.Logger = dataclasses.field(default_factory=lambda: logging.getLogger("a"))
    source: random.Random = dataclasses.field(default_factory=random.Random)
    inner: object = None

@dataclasses.dataclass(frozen=True)
class Frozen:
    n: int = 5
    where: pathlib.Path = pathlib.Path("/tmp/out.png")
    @property
    def double(self):
        return self.n * 2

class Module:
    '''As torch has them: parameters found by __getattr__.'''
    def __init__(self):
        self.__dict__["_parameters"] = {"weight": 7, "bias": time.time()}
    def __getattr__(self, name):
        parameters = self.__dict__["_parameters"]
        if name in parameters:
            return parameters[name]
        raise AttributeError(name)

class Window:
    '''As a GUI or a plot: changes, and reaches all there is.'''
    def __init__(self, owner):
        self.owner, self.opened, self.n = owner, time.time(), time.time_ns()
    def __repr__(self):
        return f"opened {time.time()}"
    def __enter__(self):
        return self
    def __exit__(self, *_):
        self.owner.closed = True
    def __getstate__(self):
        import copy
        return copy.copy(self)

class Slots:
    __slots__ = ("n", "log")
    def __init__(self):
        self.n, self.log = 11, logging.getLogger("b")

class Scaled:
    '''A descriptor.'''
    def __init__(self, by):
        self.by = by
    def __get__(self, instance, owner=None):
        return instance.n * self.by

class Sequence:
    def __init__(self, *items):
        self.items = items
    def __len__(self):
        return len(self.items)
    def __getitem__(self, k):
        return self.items[k]

parser = argparse.ArgumentParser()
parser.add_argument("--size", type=int, default=6)
args = parser.parse_args([])
args.handle = io.StringIO()
log = logging.getLogger("c")

@functools.lru_cache
def table(k):
    return k * 1.5

def scaled(a, b):
    return a * b + 1

def above(number):
    def inner(a):
        return a + number
    return inner

thrice, shifted = functools.partial(scaled, 3.0), above(2)

@ti.data_oriented
class Sim:
    quadruple = Scaled(4)
    def __init__(self):
        self.config, self.frozen, self.args, self.log, self.path = Config(), Frozen(), args, log, pathlib.Path("/tmp/x")
        self.rng, self.source = np.random.default_rng(), random.Random()
        self.file, self.window, self.model, self.slots = open(__file__), Window(self), Module(), Slots()
        self.started, self.now, self.lock = time.time(), datetime.datetime.now(), threading.Lock()
        self.seen, self.counts, self.queue = set("abc"), collections.Counter("aab"), collections.deque()
        self.callback, self.frame, self.sequence = (lambda: self.window), time.time_ns(), Sequence(1, 2, 3)
        self.n = 3
        self.x = ti.field(ti.f32, 8)
    @property
    def half(self):
        return self.n / 2
    @functools.cached_property
    def third(self):
        return self.n / 4
    @property
    def age(self):
        return time.time() - self.started
    @property
    def home(self):
        import os
        return len(os.environ)
    @property
    def bytes(self):
        return len(open(__file__).read())
    def draw(self):
        self.frame += 1
        return self.rng.random()
    def twice(self, a):
        return 2 * a
    def __len__(self):
        return self.n
    @ti.func
    def f(self, a):
        return a * self.n
    @ti.kernel
    def k(self) -> ti.f32:
        return BODY

sim = Sim()
OPENING
def main():
    return sim.k()
"""

# An expression, its value, what to change in the program, and the value then.
USED: dict[str, tuple[str, float, str, str, float]] = {
    "a dataclass": ("self.config.n", 4, "n: int = 4", "n: int = 8", 8),
    "an enum in it": ("self.config.mode.value", 2, "Mode.FAST\n", "Mode.SLOW\n", 3),
    "an enum compared": ("ti.static(self.config.mode is Mode.FAST) * 2.0", 2, "Mode.FAST\n", "Mode.SLOW\n", 0),
    "an enum equal": ("ti.static(self.config.mode == Mode.FAST) * 2.0", 2, "Mode.FAST\n", "Mode.SLOW\n", 0),
    "a frozen dataclass": ("self.frozen.n", 5, "n: int = 5", "n: int = 9", 9),
    "a property of it": ("self.frozen.double", 10, "self.n * 2", "self.n * 3", 15),
    "parsed arguments": ("self.args.size + args.size", 12, "default=6", "default=7", 14),
    "arguments set later": ("args.size", 6, "OPENING", "args.size = 9", 9),
    "a property": ("self.half", 1.5, "self.n / 2", "self.n / 8", 0.375),
    "what a property reads": ("self.half", 1.5, "self.n = 3", "self.n = 4", 2),
    "a property exchanged": ("self.half", 1.5, "OPENING", "Sim.half = property(lambda self: 7.0)", 7),
    "a cached property": ("self.third", 0.75, "self.n / 4", "self.n / 2", 1.5),
    "a cached property, set": ("self.third", 0.75, "OPENING", "sim.third = 5.0", 5),
    "what a cached property reads": ("self.third", 0.75, "self.n = 3", "self.n = 6", 1.5),
    "a cached function": ("ti.static(table(2))", 3, "k * 1.5", "k * 2.5", 5),
    "a partial": ("thrice(2.0)", 7, "partial(scaled, 3.0)", "partial(scaled, 4.0)", 9),
    "the function of a partial": ("thrice(2.0)", 7, "a * b + 1", "a * b + 2", 8),
    "a closure": ("shifted(1.0)", 3, "above(2)", "above(5)", 6),
    "a method": ("ti.static(self.twice(3))", 6, "2 * a", "4 * a", 12),
    "a method exchanged": ("ti.static(self.twice(3))", 6, "OPENING", "Sim.twice = lambda self, a: a", 3),
    "a method of the object": ("ti.static(self.twice(3))", 6, "OPENING", "sim.twice = lambda a: a", 3),
    "a function exchanged": ("self.f(2)", 6, "OPENING", "Sim.f = ti.func(lambda_f)\n", 8),
    "slots": ("self.slots.n", 11, "self.n, self.log = 11", "self.n, self.log = 12", 12),
    "a descriptor": ("self.quadruple", 12, "Scaled(4)", "Scaled(5)", 15),
    "the code of a descriptor": ("self.quadruple", 12, "instance.n * self.by", "instance.n + self.by", 7),
    "a length": ("ti.static(len(self))", 3, "self.n = 3", "self.n = 4", 4),
    "items": ("ti.static(self.sequence[1])", 2, "Sequence(1, 2, 3)", "Sequence(1, 5, 3)", 5),
    "the code of items": ("ti.static(self.sequence[1])", 2, "return self.items[k]", "return self.items[k + 1]", 3),
    "iteration": ("sum([a for a in ti.static(self.sequence)])", 6, "Sequence(1, 2, 3)", "Sequence(1, 2)", 3),
    "a path": ("ti.static(len(self.path.name))", 1, '"/tmp/x"', '"/tmp/xyz"', 3),
    "whether there is one": ("ti.static(0.0 if self.window is None else 1.0)", 1, "OPENING", "sim.window = None", 0),
    "whether it is true": ("ti.static(1.0 if self.log else 0.0)", 1, "OPENING", "sim.log = None", 0),
    "what class it is of": (
        "ti.static(1.0 if isinstance(self.config, Config) else 0.0)", 1, "OPENING", "sim.config = sim.frozen", 0,
    ),
    "a nested object": ("self.config.inner.a", 2, "OPENING", "sim.config.inner = Box(4)", 4),
    "getattr": ("getattr(self, 'n')", 3, "self.n = 3", "self.n = 4", 4),
    "hasattr": ("ti.static(1.0 if hasattr(self, 'extra') else 0.0)", 0, "OPENING", "sim.extra = 1", 1),
    "the name of its class": ("ti.static(len(self.__class__.__name__))", 3, "OPENING", "Sim.__name__ = 'Simul'", 5),
}  # fmt: skip
BEFORE = {
    "a function exchanged": "def lambda_f(self, a):\n    return a * 4\n",
    "a nested object": "class Box:\n    def __init__(self, a):\n        self.a = a\nsim.config.inner = Box(2)\n",
}


@pytest.fixture
def session(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Session:
    return Session(tmp_path, monkeypatch)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("what", USED)
def test_objects_of_a_program(session: Session, what: str):
    body, value, old, new, other = USED[what]
    text = TEXT.replace("BODY", body)
    assert old in text
    if old == "OPENING":
        new = f"OPENING\n{new}"
    changed = text.replace(old, new)
    text, changed = (one.replace("OPENING", BEFORE.get(what, "")) for one in (text, changed))
    assert session.fresh(text, "program.py") == value
    assert session.warm(text, "program.py") == value
    assert session.fresh(changed, "program.py") == other
    assert session.warm(changed, "program.py") == other
    assert session.warm(text, "program.py") == value


def test_a_method_that_changes_what_it_returns(session: Session):
    text = """
import weft as ti
STATE = [0]
def count():
    STATE[0] += 1
    return STATE[0] * 1.0
@ti.kernel
def k() -> ti.f32:
    return ti.static(count())
def main():
    return k()
"""
    assert session.fresh(text) == session.warm(text) == 1


MADE = """
import weft as ti
class Made:
    def __init__(self):
        self.a = 1.0
class Pair:
    def __new__(cls):
        return 3.0
def f():
    return Made().a
def g():
    return Pair() * 2
@ti.kernel
def k() -> ti.f32:
    return ti.static(f()) + ti.static(g())
def main():
    return k()
"""


def test_how_objects_are_made_that_python_makes_meanwhile(session: Session):
    assert session.fresh(MADE) == 7
    assert session.run(MADE.replace("1.0", "2.0")) == 8
    assert session.run(MADE.replace("3.0", "4.0")) == 9


def test_how_objects_are_made_in_kernels(session: Session):
    text = """
import weft as ti
class Ray:
    def __init__(self, d):
        self.d = d * 2
    NEW
@ti.kernel
def k(t: ti.f32) -> ti.f32:
    return Ray(t).d
def main():
    try:
        return k(3.0)
    except ti.WeftError:
        return "refused"
"""
    plain, other = text.replace("NEW", ""), text.replace("NEW", "def __new__(cls, d):\n        return 1.0")
    assert session.fresh(plain, "a.py") == session.warm(plain, "a.py") == 6
    assert session.fresh(plain.replace("d * 2", "d * 3"), "a.py") == 9
    assert session.run(other, "a.py") == session.run(other, "a.py", offline_cache=False)


def test_functions_that_only_a_computation_finds(session: Session):
    text = """
import functools
import weft as ti
class Shape:
    def area(self, a, b):
        return a * b + 1
    double = functools.partialmethod(area, 2.0)
shape = Shape()
@ti.kernel
def k(x: ti.f32) -> ti.f32:
    return shape.double(x)
def main():
    return k(3.0)
"""
    assert session.fresh(text) == 7
    assert session.run(text.replace("a * b + 1", "a * b + 2")) == 8
    assert session.run(text.replace("2.0", "3.0")) == 10


def test_settings_of_loops_are_in_the_key():
    from weft.ir.config import CompileConfig
    from weft.ir.tree_key import describe
    from weft.lang.translate.contract import with_loops
    from weft.lang.translate.entry import translate_kernel

    def f():
        for _ in range(8):
            pass

    settings = ({}, {"block_dim": 32}, {"block_dim": 64}, {"simd": 64})
    trees = [translate_kernel(with_loops(f, one), (), (), CompileConfig()).tree for one in settings]
    assert len({describe(tree)[0] for tree in trees}) == 4


def test_a_list_that_holds_itself(session: Session):
    text = """
import weft as ti
L = [1, 2]
L.append(L)
@ti.kernel
def k() -> ti.i32:
    return L[2][1]
def main():
    return k()
"""
    assert session.fresh(text) == session.warm(text) == 2


def test_variants_by_static_branches(session: Session):
    text = """
import types
import weft as ti
WHICH = %d
a, b, c = (types.SimpleNamespace(**{name: value}) for name, value in (("x", 1), ("y", 2), ("z", 3)))
@ti.kernel
def k() -> ti.i32:
    r = 0
    if ti.static(WHICH == 0):
        r = a.x
    elif ti.static(WHICH == 1):
        r = b.y
    else:
        r = c.z
    return r
def main():
    return k()
"""
    assert [session.fresh(text % which, "a.py") for which in range(3)] == [1, 2, 3]
    assert [session.warm(text % which, "a.py") for which in range(3)] == [1, 2, 3]
    assert session.warm((text % 0).replace('("y", 2)', '("y", 5)'), "a.py") == 1  # nobody asked for it
    assert session.fresh((text % 1).replace('("y", 2)', '("y", 5)'), "a.py") == 5


def test_two_processes(tmp_path: Path):
    """A program with all of these objects, in processes of its own."""
    file = tmp_path / "program.py"
    body = "self.config.n + self.args.size + self.half + self.third + self.quadruple + thrice(2.0) + self.f(2)"
    opening = "ti.init(arch=ti.cpu, log_level=ti.WARN)\n"
    text = TEXT.replace("import weft as ti\n", f"import weft as ti\n{opening}", 1)
    file.write_text(text.replace("BODY", body).replace("OPENING", "print(sim.k())"))
    settings = {"WEFT_CACHE_DIR": str(tmp_path), "WEFT_OFFLINE_CACHE": "1", "WEFT_LOG": "cache"}
    runs = [
        subprocess.run([sys.executable, file], env=os.environ | settings, capture_output=True, text=True, check=True)
        for _ in range(2)
    ]
    assert runs[0].stdout == runs[1].stdout != ""
    assert "k: not found" in runs[0].stderr
    assert "k: found" in runs[1].stderr, runs[0].stderr


def test_a_constructor_that_was_edited(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """A kernel that makes objects of a class is kept, and is another when `__init__` is."""
    session = Session(tmp_path, monkeypatch)
    text = """
import weft as ti
class Pair:
    def __init__(self, a, b):
        self.sum = a + b
@ti.kernel
def k(a: ti.i32) -> ti.i32:
    return Pair(a, a * a).sum
def main():
    return k(3)
"""
    assert [session.run(text, "pair.py") for _ in range(2)] == [12, 12]
    assert session.compiled == 1
    assert session.run(text.replace("a + b", "a - b"), "pair.py") == -6
    assert session.run(text, "pair.py") == 12
    assert session.compiled == 2
