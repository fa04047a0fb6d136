"""A program edited at random, again and again: the cache gives what compiling would."""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from tests.lang.cache.cached_programs import Session

TEXT = """
import enum
import types
import numpy as np
import weft as ti
import settings

N = {constant}
{offset_of_lines}
class Level(enum.IntEnum):
    LOW = {enum}
class Base:
    depth = {class_attribute}
class Body(Base):
    pass
TABLE = {{"a": [{listed}, 2], "b": ({pair}, 1.5)}}
WEIGHTS = np.array([1.0, {array}])
CENTER = ti.Vector([{vector}, 2.0])
body = Body()
body.own = types.SimpleNamespace(mass={attribute})
def plain(a):
    return a + {plain}
def make(n):
    @ti.func
    def inner(a):
        return a * n + {inner}
    return inner
first, second = make({closure}), make(1)
chosen = {alias}
@ti.func
def outer(a, b={default}):
    return chosen(a) + b
@ti.real_func
def down(n: ti.i32) -> ti.i32:
    r = {real}
    if n > 0:
        r = down(n - 1) + 1
    return r
x = ti.field(ti.{dtype}, shape={shape}{layout})
@ti.data_oriented
class Solver:
    def __init__(self):
        self.n = {self}
        self.parts = [{part}]
    @ti.func
    def scaled(self, a):
        return a * self.n
    @property
    def shift(self):
        return self.n * {property}
    @ti.kernel
    def k(self, t: ti.template(), p: ti.{parameter}) -> ti.f64:
        r = ti.f64(0.0)
        r += N + Level.LOW + Body.depth + body.own.mass + TABLE["a"][0] + TABLE["b"][0] + WEIGHTS[1] + CENTER.x
        r += ti.static(plain(2)) + outer(3.0) + down(2) + self.scaled(2.0) + self.parts[0] + self.shift
        r += t * 0.5 + p + settings.value()
        x[1] = 7.75
        r += x[1] + x.shape[0]
        if ti.static(N > 3):
            r += 1000.0
        return r
def main():
    return Solver().k({template}, 2.75 if "{parameter}"[0] == "f" else 2)
"""
MODULE = "import weft as ti\nLEVEL = {module}\n@ti.func\ndef value():\n    return LEVEL * 2\n"

NUMBERS = [
    "constant",
    "enum",
    "class_attribute",
    "listed",
    "pair",
    "array",
    "vector",
    "attribute",
    "plain",
    "inner",
    "closure",
    "default",
    "real",
    "self",
    "part",
    "property",
    "template",
    "module",
]
CHOICES = {
    "alias": ["first", "second"],
    "dtype": ["f32", "i32", "f64"],
    "shape": [4, 5],
    "layout": ["", ", offset=-1", ", name='x'"],
    "parameter": ["f32", "i32", "f64"],
    "offset_of_lines": ["", "\n# a comment\n"],
}


@dataclass
class Program:
    """The values that fill the text."""

    values: dict[str, object] = field(default_factory=dict)

    def edit(self, source: random.Random, name: str) -> None:
        self.values[name] = source.choice(CHOICES[name]) if name in CHOICES else source.randint(1, 5)

    def text(self) -> str:
        return TEXT.format(**self.values)

    def module(self) -> str:
        return MODULE.format(**self.values)

    def expected(self) -> float:
        """What the kernel gives, in Python."""
        v = {name: int(str(self.values[name])) for name in NUMBERS}
        total = v["constant"] + v["enum"] + v["class_attribute"] + v["attribute"] + v["listed"] + v["pair"] + v["array"]
        total += v["vector"] + 2 + v["plain"]
        total += 3 * (v["closure"] if self.values["alias"] == "first" else 1) + v["inner"] + v["default"]
        total += v["real"] + 2 + 2 * v["self"] + v["part"] + v["self"] * v["property"] + 2 * v["module"]
        result = total + v["template"] * 0.5 + (2 if self.values["parameter"] == "i32" else 2.75)
        result += (7 if self.values["dtype"] == "i32" else 7.75) + int(str(self.values["shape"]))
        return result + (1000 if v["constant"] > 3 else 0)


@pytest.mark.parametrize("seed", range(4))
def test_random_edits_never_give_an_old_result(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seed: int):
    session, source, program = Session(tmp_path, monkeypatch), random.Random(seed), Program()
    names = [*NUMBERS, *CHOICES]
    for name in names:
        program.edit(source, name)
    seen: set[str] = set()
    for turn in range(25):
        before = dict(program.values)
        program.edit(source, source.choice(names))
        result = session.run(program.text(), "program.py", modules={"settings": program.module()})
        assert result == pytest.approx(program.expected()), f"turn {turn}"
        assert session.kept(), "nothing is kept"
        seen.add(program.text() + program.module())
        if source.random() < 0.3:
            program.values = before
    assert session.compiled <= len(seen) + 1
