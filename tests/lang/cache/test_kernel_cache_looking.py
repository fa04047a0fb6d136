"""Functions of libraries, methods that a class inherits from one, and attributes of classes find things without a name
in the program's code: a later process gets no code that was compiled when they were others."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.lang.cache.cached_programs import Session


@pytest.fixture
def session(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Session:
    return Session(tmp_path, monkeypatch)


# What looks where no name in the code says: each program computes N otherwise the second time.
LOOKING = """
import collections, dataclasses, enum, operator, pathlib, typing
import weft as ti
SHAPE
def f():
    return BODY
@ti.kernel
def inside() -> ti.f32:
    return ti.static(BODY) * 1.0
@ti.kernel
def outside() -> ti.f32:
    return ti.static(f()) * 1.0
def main():
    return inside(), outside()
"""
CONFIG = "@dataclasses.dataclass(eq=False)\nclass P:\n    a: int = 0\n    b: int = 0\ncfg = P(b=N)"
HIDDEN = {
    "asdict": (CONFIG, "dataclasses.asdict(cfg)['b']"),
    "astuple": (CONFIG, "sum(dataclasses.astuple(cfg))"),
    "asdict of what is not compared": (
        CONFIG.replace("(eq=False)", "").replace("b: int = 0", "b: int = dataclasses.field(default=0, compare=False)"),
        "dataclasses.asdict(cfg)['b']",
    ),
    "replace": (CONFIG, "operator.attrgetter('b')(dataclasses.replace(cfg, a=1))"),
    "fields": (CONFIG.replace("b: int = 0", "b: int = N"), "dataclasses.fields(P)[1].default"),
    "attrgetter": ("class P: pass\ncfg = P()\ncfg.b = N", "operator.attrgetter('b')(cfg)"),
    "methodcaller": (
        "class P:\n    def b(self):\n        return N\ncfg = P()", "operator.methodcaller('b')(cfg)",
    ),
    "UserDict": ("class P(collections.UserDict): pass\ncfg = P(a=N)", "cfg['a']"),
    "UserList": ("class P(collections.UserList): pass\ncfg = P([0, N])", "sum(cfg)"),
    "subclasses": ("class P: pass\nmore = [type('Q', (P,), {}) for _ in range(N)]", "len(P.__subclasses__())"),
    "qualname": ("class P: pass\nP.__qualname__ = 'Q' * N", "len(P.__qualname__)"),
    "qualname of a function": ("def g(): pass\ng.__qualname__ = 'g' * N", "len(g.__qualname__)"),
    "bases": ("P = type('P', tuple(type(str(i), (), {}) for i in range(N)), {})", "len(P.__bases__)"),
    "mro": ("P = type('P', tuple(type(str(i), (), {}) for i in range(N - 2)), {})", "len(P.mro())"),
}  # fmt: skip


@pytest.mark.parametrize("what", HIDDEN)
def test_what_is_looked_up_without_a_name(session: Session, what: str):
    shape, body = HIDDEN[what]
    text = LOOKING.replace("SHAPE", shape).replace("BODY", body)
    for n in (3, 3, 4, 4, 3):
        assert session.run(text.replace("N", str(n)), "a.py") == (n, n)


@pytest.mark.parametrize(
    "body", ["int(where.read_text())", "where.stat().st_size", "len(list(where.parent.glob('v*')))"]
)
def test_what_a_path_finds(session: Session, body: str):
    where = session.folder / "v.txt"
    text = LOOKING.replace("SHAPE", f"where = pathlib.Path({str(where)!r})").replace("BODY", body)
    for content in ("3", "3", "12"):
        where.write_text(content)
        assert session.run(text, "a.py") == session.run(text, "a.py", offline_cache=False)


def test_a_field_of_a_dataclass_that_no_argument_gives(session: Session):
    text = """
import dataclasses
import weft as ti
@dataclasses.dataclass
class P:
    x: float
    y: float = dataclasses.field(init=False, default=3)
@ti.kernel
def k(t: ti.f32) -> ti.f32:
    p = P(t)
    return p.x * 10 + p.y
def main():
    return k(1.0)
"""
    assert session.fresh(text, "a.py") == session.warm(text, "a.py") == 13
    assert session.fresh(text.replace("default=3", "default=4"), "a.py") == 14
    assert session.warm(text, "a.py") == 13


def test_bare_bases_of_a_library_are_followed(session: Session):
    text = """
import abc, types, typing
import weft as ti
T = typing.TypeVar("T")
class P(abc.ABC, typing.Generic[T]): pass
class Q(types.SimpleNamespace): pass
p, q = P(), Q(n=N)
p.n = N
@ti.kernel
def k() -> ti.f32:
    return p.n + q.n
def main():
    return k()
"""
    assert session.fresh(text.replace("N)", "3)").replace("= N", "= 4"), "a.py") == 7
    assert session.warm(text.replace("N)", "3)").replace("= N", "= 4"), "a.py") == 7
    assert session.fresh(text.replace("N)", "3)").replace("= N", "= 5"), "a.py") == 8
    assert session.fresh(text.replace("N)", "1)").replace("= N", "= 5"), "a.py") == 6
