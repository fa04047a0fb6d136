"""Kernels of different values have different keys in the disk cache."""

from __future__ import annotations

from pathlib import Path

import pytest

import weft
from tests.lang.cache.cached_programs import Session

# A program, and values that X can have in it: each of these makes another kernel, or the same only if it is the same.
NUMBER = "return ti.cast(X, ti.f64) + ti.atan2(ti.f64(0.0), ti.f64(X))"
KINDS: dict[str, tuple[str, list[str]]] = {
    "numbers": (
        NUMBER,
        [
            *("0.0", "-0.0", "1", "1.0", "True", "False", "0", "2", "float('inf')", "-float('inf')", "float('nan')"),
            *("np.float32(1)", "np.float64(1)", "np.int8(1)", "np.int64(1)", "np.bool_(1)", "np.float32(-0.0)"),
        ],
    ),
    "texts": ("return ti.static(len(X)) + (0.5 if ti.static(X == 'ab') else 0.25)", ["'ab'", "'ba'", "b'ab'", "'a'"]),
    "tuples": ("return X[0] / 2", ["(1, 2)", "(1.0, 2)", "(1,)", "(True, 2)", "[1, 2]", "np.array([1, 2])"]),
    "dicts": (
        "return ti.static(X['a']) + ti.static(len(X))",
        ["{'a': 1}", "{'a': 2}", "{'a': 1, 'b': 1}", "{'a': -0.0}"],
    ),
    "order in a dict": ("return ti.static(list(X)[0] == 'a')", ["{'a': 1, 'b': 1}", "{'b': 1, 'a': 1}"]),
    "types": ("return ti.cast(2.75, X)", ["ti.f32", "ti.i32", "ti.f64", "ti.u8", "float", "int"]),
    "functions": (
        "return X(3)",
        ["ti.func(lambda a: a + 1)", "ti.func(lambda a: a + 2)", "(lambda a: a + 1)", "ti.abs", "ti.sqrt"],
    ),
    "closures": ("return X(3)", ["make(1)", "make(2)", "make(1.0)", "make(-0.0)", "make(0.0)"]),
    "defaults": ("return X(3)", ["given(1)", "given(2)", "given(1.0)"]),
    "decorated": ("return X(3)", ["twice(plain)", "thrice(plain)", "twice(other)"]),
    "enums": (
        "return ti.static(X.A.value) + ti.static(len(X))",
        ["enum.Enum('E', 'A B')", "enum.Enum('E', 'A')", "enum.IntEnum('E', {'A': 5, 'B': 6})"],
    ),
    "classes": (
        "return X.n",
        ["type('C', (), {'n': 1})", "type('C', (), {'n': 2})", "type('C', (type('B', (), {'n': 3}),), {})"],
    ),
    "classes that it makes objects of": (
        "return X(ti.f64(4.0) + 0 * ti.random()).n",
        ["Kept", "Doubled"],
    ),
    "objects": (
        "return X.n",
        ["types.SimpleNamespace(n=1)", "types.SimpleNamespace(n=1.5)", "type('C', (), {'n': 1})()"],
    ),
    "matrices": (
        "return (X * 1).sum()",
        [
            "ti.Vector([1, 2])",
            "ti.Vector([1.0, 2])",
            "ti.Vector([1, 2, 0])",
            "ti.Matrix([[1, 2]])",
            "ti.Vector([1, 2], ti.f64)",
        ],
    ),
    "fields": (
        "return X[0] + X.shape[0]",
        ["ti.field(ti.i32, 2)", "ti.field(ti.f32, 2)", "ti.field(ti.i32, 3)", "ti.field(ti.i32, 2, offset=0)"],
    ),
    "structs": (
        "return X(1.75).a",
        ["ti.types.struct(a=ti.f32)", "ti.types.struct(a=ti.i32)", "ti.types.struct(a=ti.f64)"],
    ),
    "slices and ranges": ("return ti.static(sum(X)) * 1.0", ["range(3)", "range(4)", "range(0, 3, 2)"]),
    "complex": ("return ti.static(X.imag)", ["1j", "2j", "-0j", "complex(0, -0.0)"]),
}

TEXT = """
import enum, types
import numpy as np
import weft as ti
def make(n):
    @ti.func
    def inner(a):
        return ti.atan2(a * 0.0, ti.cast(n, ti.f32)) + n / 2
    return inner
def given(n):
    @ti.func
    def inner(a, b=n):
        return a / 2 + b / 2
    return inner
def plain(a):
    return a + 1.5
def other(a):
    return a + 2.5
def twice(f):
    return lambda a: f(a) * 2
def thrice(f):
    return lambda a: f(a) * 3
class Kept:
    def __init__(self, n):
        self.n = n
class Doubled:
    def __init__(self, n):
        self.n = n * 2
X = VALUE
@ti.kernel
def k() -> ti.f64:
    BODY
def main():
    return repr(float(np.array(k())))
"""


def outcome(session: Session, text: str, **options: object) -> str:
    """What a program gives, or how it fails."""
    try:
        return str(session.run(text, "program.py", **options))
    except weft.WeftError as error:
        return f"{type(error).__name__}: {str(error).rsplit(chr(10), 1)[-1]}"


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("kind", KINDS)
def test_a_kernel_of_another_value_is_never_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str):
    body, values = KINDS[kind]
    session = Session(tmp_path, monkeypatch)
    texts = [TEXT.replace("BODY", body).replace("VALUE", value) for value in values]
    expected = [outcome(session, text, offline_cache=False) for text in texts]
    for _ in range(2):
        assert [outcome(session, text) for text in texts] == expected
    assert session.kept(), "nothing is kept"
    for text, result in zip(texts, expected):
        if "Error" not in result:
            assert session.warm(text, "program.py") == result
