"""The fields and arguments of a program: how they are declared, what they hold at first, what is left in them."""

from __future__ import annotations

import linecache
import random as randomness
import re
from collections.abc import Iterator
from functools import cached_property, partial
from itertools import count
from typing import Any

import numpy as np

import weft as ti
from tests.fuzz.places import Layout, Place, edges, near_one
from tests.fuzz.program import Program

_numbers = count()

__all__ = ["Data", "declarations", "script"]

_INNER: dict[str, tuple[int, ...]] = {"v3": (3,), "w2": (2,), "m2": (2, 2), "c2": (2, 1)}
_TYPES = {"v3": "V3", "w2": "W2", "m2": "M2", "S": "S", "N": "N"}
_PARTS = {"k": ("i32", ()), "f": ("f32", ()), "v": ("f32", (3,))}


def declarations(program: Program) -> list[str]:
    """The lines that make the fields."""
    lines: list[str] = []
    together: dict[tuple[int, tuple[int, ...]], list[str]] = {}
    for place in program.places:
        layout, shape = program.layouts.get(place.name, Layout()), place.shape(program.extents)
        lines.append(f"{place.name} = {_declared(place, layout, shape)}")
        if layout.together:
            together.setdefault((layout.together, shape), []).append(place.name)
    for (group, shape), names in together.items():
        lines.append(f"{_block(program, group, shape)}.place({', '.join(names)})")
    nodes = {"cells": _block(program, 1, (program.extents.count,)), "boxes": _block(program, 2, program.extents.box)}
    for name, node in nodes.items():
        if re.search(rf"\b{name}\b", program.code):
            lines += [f"{name} = {node}", f"{name}.place(ti.field(ti.i32))"]
    return [program.typed(line) for line in (*lines, "few = ti.field(ti.i32, 3)")]


def _declared(place: Place, layout: Layout, shape: tuple[int, ...]) -> str:
    more = "" if layout.together else f"shape={shape}"
    if layout.offset:
        more += f", offset={layout.offset}"
    if layout.order and place.form not in ("S", "N"):
        more += f", order={layout.order!r}"
    if layout.soa:
        more += ", layout=ti.Layout.SOA"
    if place.form in ("S", "N"):
        return f"{place.form}.field({more})"
    sizes = {"v3": "ti.Vector.field(3, ", "w2": "ti.Vector.field(2, ", "m2": "ti.Matrix.field(2, 2, ",
             "c2": "ti.Matrix.field(2, 1, "}  # fmt: skip
    return f"{sizes.get(place.form, 'ti.field(')}ti.{place.type}{', ' if more else ''}{more})"


def _block(program: Program, group: int, shape: tuple[int, ...]) -> str:
    """Where fields that share blocks are placed, nested ones for the second group."""
    axes = "ti.ij" if len(shape) == 2 else "ti.i"
    levels = [shape]
    if group == 2:
        random = randomness.Random(f"{program.name} blocks {len(shape)}")
        for _ in range(random.choice((1, 1, 2))):
            inner = tuple(random.choice([n for n in range(1, size + 1) if size % n == 0]) for size in levels[-1])
            levels[-1:] = [tuple(size // n for size, n in zip(levels[-1], inner)), inner]
    return "ti.root" + "".join(f".dense({axes}, {level})" for level in levels)


def _near_one(program: Program, random: Any, place_part: str, type: str, shape: tuple[int, ...]) -> Any:
    made = near_one(random, place_part, type, shape)
    return made.astype(f"f{int(program.float_of(type)[1:]) // 8}") if type[0] == "f" else made


def _initial(program: Program, place: Place) -> Any:
    random, shape = randomness.Random(f"{program.name} {place.name}"), place.shape(program.extents)
    drawn = partial(_near_one, program) if program.smooth else edges
    if place.form in ("S", "N"):
        made = {name: drawn(random, place.part, type, (*shape, *inner)) for name, (type, inner) in _PARTS.items()}
        return made if place.form == "S" else {"s": made, "b": drawn(random, place.part, "i64", shape)}
    return drawn(random, place.part, place.type, (*shape, *_INNER.get(place.form, ())))


class Data:
    """The fields of a program in `space`, by name, and the arguments of its kernel: the same values for each run.
    `lends`: arrays may overlap."""

    def __init__(self, program: Program, lends: bool = True) -> None:
        self.program, self.lends = program, lends
        self.places, self.names = program.places, program.parameters
        self.space: dict[str, Any] = {"ti": ti, "__name__": "fuzz"}
        self.files = list[str]()
        self.run(program.header)
        self.run("\n".join(declarations(program)))

    def run(self, text: str) -> None:
        """Run that code in `space`, as from a file of its own: its lines are where Python looks for them."""
        name = f"<fuzz {self.program.name} {next(_numbers)}>"
        self.files.append(name)
        linecache.cache[name] = (len(text), None, text.splitlines(keepends=True), name)
        exec(compile(text, name, "exec"), self.space)

    def forget(self) -> None:
        """The code will not run again."""
        for name in self.files:
            linecache.cache.pop(name, None)

    @cached_property
    def initial(self) -> dict[str, Any]:
        """What the fields hold at first."""
        return {place.name: _initial(self.program, place) for place in self.places}

    def fill(self) -> None:
        """The initial values."""
        for place in self.places:
            self.space[place.name].from_numpy(self.initial[place.name])
        self.space["few"].fill(1)

    @cached_property
    def code_of_arguments(self) -> Any:
        return compile("\n".join(_argument_lines(self.program)), "<arguments>", "exec")

    def arguments(self) -> list[Any]:
        """What the kernel is called with; arrays are new each time, but for those that a field lends."""
        names = self.names
        if not names:
            return []
        space: dict[str, Any] = {**self.space, "np": np}
        exec(self.code_of_arguments, space)
        given = [space[f"{name}_"] for name in names]
        return given if self.lends else [np.copy(one) if isinstance(one, np.ndarray) else one for one in given]

    def left(self, arguments: list[Any]) -> dict[str, Any]:
        """What is in the fields and arrays."""
        found: dict[str, Any] = {}
        for place in self.places:
            found |= _flat(place.name, self.space[place.name].to_numpy())
        names = self.names
        return found | {
            name: np.array(arguments[names.index(name)]) for name in ("xs", "ks", "al", "be") if name in names
        }


def _argument_lines(program: Program) -> list[str]:
    """The lines that make the arguments, each of the name of its parameter with "_" behind it."""
    random = randomness.Random(f"{program.name} arguments")
    size = program.extents.count
    drawn = partial(_near_one, program) if program.smooth else edges
    base = drawn(random, "own", "i32", (size + 1,))
    xs, ks = drawn(random, "own", "f32", program.extents.box), drawn(random, "own", "i32", (size,))
    values = {
        "a": random.choice((-7, 3, 2**31 - 1)), "b": random.choice((0.5, -3.25)), "c": random.choice((5, 2**40 + 3)),
        "e": "V3(1.5, -2.0, 0.25)", "g": "S(k=7, f=0.5, v=[1.0, 2.0, 3.0])",
        "n": random.choice((size, min(5, size), 0)),
        "pack": "ti.types.argpack(n=ti.i32, x=ti.f32)(n=-3, x=2.5)",
        "xs": literal(xs), "ks": literal(ks), "al": "lent[1:]" if program.alias == "shift" else "lent",
        "be": "lent[::-1]" if program.alias == "reverse" else "lent",
    }  # fmt: skip
    lines = [program.typed(f"{name}_ = {values[name]}") for name in program.parameters]
    if not {"al", "be"} & {*program.parameters}:
        return lines
    lent = (
        "np.asarray(o_i32)" if program.alias == "field" else literal(base if program.alias == "shift" else base[:size])
    )
    return [f"lent = {lent}", *lines]


def literal(array: Any) -> str:
    """An array as text."""
    if array.size > 8 and (array == array.flat[0]).all():
        return f"np.full({array.shape}, {array.flat[0].item()!r}, np.{array.dtype.name})"
    text = repr(array.tolist()).replace("-inf", "-np.inf").replace(" inf", " np.inf").replace("nan", "np.nan")
    return f"np.array({text.replace('[inf', '[np.inf')}, np.{array.dtype.name if array.dtype != bool else 'bool_'})"


def _flat(name: str, values: Any) -> Iterator[tuple[str, Any]]:
    if isinstance(values, dict):
        for key, inner in values.items():
            yield from _flat(f"{name}.{key}", inner)
    else:
        yield name, values


def _filling(name: str, values: Any) -> str:
    if not isinstance(values, dict):
        return literal(values)
    return "{" + ", ".join(f"{key!r}: {_filling(name, inner)}" for key, inner in values.items()) + "}"


def script(program: Program, init: str, notes: str) -> str:
    """The program as a file that runs by itself and prints what it leaves."""
    about = "\n".join(f"# {line}".rstrip() for line in notes.splitlines())
    lines = [
        about,
        "import numpy as np",
        "",
        "import weft as ti",
        "",
        init,
        program.header.rstrip(),
        *declarations(program),
    ]
    lines += [f"{p.name}.from_numpy({_filling(p.name, _initial(program, p))})" for p in program.places]
    lines += ["few.fill(1)", "", "", program.defined + program.code, "", *_argument_lines(program)]
    lines.append(f"print('result', run({', '.join(f'{name}_' for name in program.parameters)}))")
    lines += [f"print({place.name!r}, {place.name}.to_numpy())" for place in program.places if place.part != "read"]
    lines += [f"print({name!r}, {name}_)" for name in ("xs", "ks", "al", "be") if name in program.parameters]
    return "\n".join(lines) + "\n"
