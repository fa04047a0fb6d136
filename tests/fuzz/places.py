"""The data of random programs: fields and arrays, each with a part to play, so that no two iterations race.

An iteration of a parallel loop reads "read" places anywhere, has one element of each "own" place, and updates "sum"
places by atomics of one family. The elements of "slots" and "lists" are taken by an append, in any order, those of
"slots" by one counter in a local, those of all "lists" by the counter `z_slots`; those of "ticks" are old values of a
counter, each iteration's own: all are compared as multisets. "scatter" places are written through a permutation, "flag"
places with one constant.

Programs name the extents (`ROWS`, `COLS`, `COUNT`, `SLOTS`), so that a failure can be shown with smaller ones.
"""

from __future__ import annotations

import random as randomness
from dataclasses import dataclass
from typing import Any

import numpy as np

__all__ = [
    "FLOATS",
    "INTS",
    "NUMBERS",
    "PLACES",
    "UNTAKEN",
    "Extents",
    "Layout",
    "Place",
    "edges",
    "kind_of",
    "near_one",
]

INTS = ("i8", "u8", "i16", "u16", "i32", "u32", "i64", "u64")
FLOATS = ("f16", "f32", "f64")
NUMBERS = INTS + FLOATS
UNTAKEN = 7_654_321  # what a slot holds that no append took; f32 has it


@dataclass(frozen=True)
class Extents:
    """Those of the fields and arrays of a program: `rows` x `cols`, as many along one axis, and `slots`."""

    rows: int = 4
    cols: int = 6
    slots: int = 600

    @property
    def count(self) -> int:
        return self.rows * self.cols

    @property
    def box(self) -> tuple[int, int]:
        return self.rows, self.cols


@dataclass(frozen=True)
class Place:
    """A field. `form`: "" for numbers, else the kind of its elements; `family`: of the atomics of a "sum"."""

    name: str
    type: str
    axes: int
    part: str
    form: str = ""
    family: str = ""

    @property
    def kind(self) -> str:
        return self.form or kind_of(self.type)

    def shape(self, extents: Extents) -> tuple[int, ...]:
        if self.part in ("slots", "lists"):
            return (extents.slots,)
        return ((), (extents.count,), extents.box)[self.axes]

    @property
    def unordered(self) -> bool:
        """Whether only what it holds is known, not where."""
        return self.part in ("slots", "lists", "ticks")


@dataclass(frozen=True)
class Layout:
    """How a field lies: with the index of its first element; `together`: it shares blocks; `order` and `soa`: see
    the options of `ti.field`."""

    offset: tuple[int, ...] = ()
    together: int = 0
    order: str = ""
    soa: bool = False


def kind_of(type: str) -> str:
    """ "int", "real" or "truth"."""
    return "truth" if type == "u1" else "real" if type[0] == "f" else "int"


def _all() -> list[Place]:
    made = [Place(f"r_{type}", type, 1, "read") for type in (*NUMBERS, "u1")]
    made += [Place(f"q_{type}", type, 2, "read") for type in ("u8", "i32", "f32", "i64", "f64")]
    made += [Place(f"o_{type}", type, 1, "own") for type in (*NUMBERS, "u1")]
    made += [Place(f"p_{type}", type, 2, "own") for type in ("u8", "i16", "i32", "f32", "i64", "f64")]
    forms = {"v3": "f32", "w2": "i32", "m2": "f32", "S": "f32", "N": "f32"}
    made += [Place(f"r_{form}", type, 1, "read", form) for form, type in forms.items()]
    made += [Place(f"o_{form}", type, 1, "own", form) for form, type in forms.items()]
    made += [Place(f"p_{form}", type, 2, "own", form) for form, type in forms.items()]
    for family in ("add", "mul", "min", "max", "and", "or", "xor"):
        for type in ("i32", "u32", "i64", "u64", "f32", "f64", "u8", "i16"):
            narrow, whole = type in ("u8", "i16"), type[0] != "f"
            if (whole or family in ("add", "min", "max")) and (not narrow or family in ("add", "or", "max")):
                made.append(Place(f"a_{family}_{type}", type, 1, "sum", "", family))
        made.append(Place(f"z_{family}_i32", "i32", 0, "sum", "", family))
    made += [Place(f"z_{family}_f32", "f32", 0, "sum", "", family) for family in ("add", "min", "max")]
    made += [Place(f"a_{family}_w2", "i32", 1, "sum", "w2", family) for family in ("add", "max", "xor")]
    made += [Place("a_add_v3", "f32", 1, "sum", "v3", "add"), Place("o_c2", "f32", 1, "own", "c2")]
    made += [Place(f"a_{family}_f16", "f16", 1, "sum", "", family) for family in ("add", "min", "max")]
    made += [Place(f"{part}_{n}", type, 1, part, form) for part in ("slots", "lists") for n, (type, form) in
             enumerate((("i32", ""), ("f32", ""), ("i64", ""), ("i32", "w2")))]  # fmt: skip
    made += [Place(f"ticks_{n}", "i32", 1, "ticks") for n in range(2)]
    made += [Place(f"s_{type}", type, 1, "scatter") for type in ("i32", "f32", "u8", "i64")]
    made += [Place(f"f_{n}", "i32", axes, "flag") for n, axes in enumerate((0, 1))]
    made += [Place("z_add_u32", "u32", 0, "count"), Place("z_slots", "i32", 0, "count")]
    made.append(Place("a_mul_f64", "f64", 1, "factor"))  # products of reals: in programs to be differentiated
    made += [Place("perm", "i32", 1, "permutation"), Place("perm_2", "i32", 1, "permutation")]
    return made


PLACES: dict[str, Place] = {place.name: place for place in _all()}

_SPECIAL = (0.0, -0.0, 1.5, -2.25, 0.1, 1e4, -3e-5, 7.0, 0.5, 1.0)
_WILD = (float("inf"), float("-inf"), float("nan"))


def near_one(random: randomness.Random, place_part: str, type: str, shape: tuple[int, ...]) -> Any:
    """Values of a program to be differentiated: f64 for all floats, from 0.2 to 1.8 with any sign, and small whole
    numbers."""
    size = int(np.prod(shape, dtype=int))
    if place_part == "permutation" or type == "u1":
        return edges(random, place_part, type, shape)
    if type[0] == "f":
        signed = [random.choice((1.0, 1.0, -1.0)) * random.uniform(0.2, 1.8) for _ in range(size)]
        return np.array(signed, np.float64).reshape(shape)
    whole = np.dtype(f"{type[0]}{int(type[1:]) // 8}")
    return np.array([random.randrange(8) for _ in range(size)]).astype(whole).reshape(shape)


def edges(random: randomness.Random, place_part: str, type: str, shape: tuple[int, ...]) -> Any:
    """Values of a type, many of them as large or small as they get; small whole numbers for what is summed up."""
    numpy = np.dtype(np.bool_ if type == "u1" else f"{type[0]}{int(type[1:]) // 8}")
    size = int(np.prod(shape, dtype=int))
    if place_part == "permutation":
        return np.array(random.sample(range(size), size), numpy)
    if place_part in ("slots", "lists"):
        return np.full(shape, UNTAKEN, numpy)
    if place_part in ("sum", "flag", "ticks", "count"):
        return np.array([random.randrange(4) for _ in range(size)]).astype(numpy).reshape(shape)
    if type == "u1":
        return np.array([random.random() < 0.5 for _ in range(size)]).reshape(shape)
    if type[0] == "f":
        tried: tuple[Any, ...] = _SPECIAL + (_WILD if random.random() < 0.3 else ())
    else:
        bits, signed = int(type[1:]), type[0] == "i"
        low, high = (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1) if signed else (0, 2**bits - 1)
        tried = (low, high, low + 1, 0, 1, 2, 3, 5, 7, 100, high // 2)
    drawn = np.empty(size, numpy)
    for k in range(size):
        drawn[k] = random.choice(tried)
    return drawn.reshape(shape)
