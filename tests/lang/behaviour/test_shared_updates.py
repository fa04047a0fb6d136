"""A local that iterations share is updated in its own type: the value is cast first, as docs/memory-model.md says."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tests.sampling import only
from weft.ir.scalar import BINARY, cast_value
from weft.ir.types import PRIMS, Prim

pytestmark = pytest.mark.filterwarnings("ignore::weft.PrecisionWarning")

TYPES = ("u1", "i8", "u8", "i16", "u16", "i32", "u32", "i64", "u64", "f16", "f32", "f64")
SYMBOLS = {"add": "+", "sub": "-", "mul": "*", "and": "&", "or": "|", "xor": "^"}
# Each type as that of the local and of the value: wider and narrower ones, signs, fractions.
KEPT = [("i32", "f32"), ("u8", "i64"), ("i8", "u16"), ("u1", "f16"), ("f16", "f64"), ("u64", "i8"), ("i16", "u1")]
KEPT += [("f32", "u8"), ("f64", "i32"), ("u16", "f64"), ("u32", "u64"), ("i64", "u32")]


def numbers(own: Prim, other: Prim) -> list[Any]:
    """What goes beyond integers; of floats the sums and products are exact in any order, or infinite."""
    given = [1, 0.75, -2.5, 0.75, 3, 0.25] if other.is_float else [1, 3, 200, -3, 200 if own.is_float else 40000, 5]
    return [cast_value(one, other) for one in given]


def updates(own: Prim, other: Prim) -> dict[str, list[tuple[str, int | None]]]:
    """What an iteration does to `{s}`, and the atomics that this is: the kind, and which element each takes if not that
    of the iteration."""
    bits = not (own.is_float or other.is_float)
    kinds = [kind for kind in SYMBOLS if bits or kind in ("add", "sub", "mul")]
    found = {f"{{s}} {SYMBOLS[kind]}= v[i]": [(kind, None)] for kind in kinds}
    found |= {f"ti.atomic_{kind}({{s}}, v[i])": [(kind, None)] for kind in (*kinds, "min", "max")}
    if own.is_float is other.is_float:
        found |= {f"{{s}} = {{s}} {SYMBOLS[kind]} v[i]": [(kind, None)] for kind in kinds}
        found |= {f"{{s}} = v[i] {SYMBOLS[kind]} {{s}}": [(kind, None)] for kind in kinds if kind != "sub"}
        found |= {"{s} = ti.max({s}, v[i])": [("max", None)], "{s} = min(v[i], {s})": [("min", None)]}
        found |= {"{s} = {s} - v[i] + v[1]": [("sub", None), ("add", 1)]}
        found |= {"{s} = ti.max({s}, v[i], v[1])": [("max", None), ("max", 1)]}
    return found


def kernel(ti: Any, own: str, other: str, lines: list[str]) -> Callable[..., Any]:
    """Each line updates a local of its own."""
    text = [f"def run(v: ti.types.ndarray(ti.{other}, 1), out: ti.types.ndarray(ti.{own}, 1)):"]
    text += [f"    s{k} = ti.{own}(1)" for k in range(len(lines))]
    text += ["    for i in range(v.shape[0]):"]
    text += [f"        {line.format(s=f's{k}')}" for k, line in enumerate(lines)]
    text += [f"    out[{k}] = s{k}" for k in range(len(lines))]
    space: dict[str, Any] = {"ti": ti}
    source = "\n".join([*text, ""])
    exec(source, space)
    made: Callable[..., Any] = ti.kernel(space["run"])
    return made


@pytest.mark.parametrize(("own", "other"), only(KEPT, [(own, other) for own in TYPES for other in TYPES]))
def test_every_operator_and_type(ti, own, other):
    ti.init(arch=ti.cfg.arch, fast_math=False)
    place, operand = PRIMS[own], PRIMS[other]
    lines, values = updates(place, operand), numbers(place, operand)
    out = np.zeros(len(lines), place.np)
    kernel(ti, own, other, [*lines])(np.array(values, operand.np), out)
    wanted: dict[str, Any] = {}
    for line, steps in lines.items():
        total = cast_value(1, place)
        for value in values:
            for kind, element in steps:
                given = value if element is None else values[element]
                total = BINARY[kind].evaluate(total, cast_value(given, place))
        wanted[line] = total.item()
    assert dict(zip(lines, out.tolist())) == wanted


def test_parts_of_locals_and_locals_of_callers(ti):
    """A function's template parameter is the caller's local: shared by one call, not by another."""
    pair = ti.types.struct(a=ti.i32, b=ti.f32)

    @ti.func
    def bump(a: ti.template(), v):
        a += v
        a = a - v + v

    @ti.kernel
    def run() -> ti.types.vector(9, ti.f32):
        total, sliced, walrus = 10, ti.Vector([10, 10, 10]), 10
        both = ti.Vector([10, 10])
        p = pair(10, 10.0)
        seen = 0
        for i in range(5):
            bump(total, -0.75)
            sliced[1:] += -0.75
            both += -0.75
            both[0] -= 1.75
            p.a -= 0.75
            p.b -= 0.75
            walrus = walrus + 1 * (given := i)
            own = 10
            bump(own, -0.75)
            seen += own + given
        after = 10
        after += -0.75
        return ti.Vector([total, sliced[0], sliced[2], both[0], both[1], p.a, p.b, seen, after + walrus])

    assert run().to_numpy().tolist() == [10, 10, 10, 5, 10, 10, 6.25, 55, 9 + 20]


def test_the_value_of_an_update_comes_before_its_place(ti):
    @ti.kernel
    def run() -> ti.i32:
        r = 1
        r += ti.atomic_add(r, 1)
        return r

    assert run() == 3


def test_an_index_that_changes_a_local_comes_before_the_value(ti):
    """As in Python: the value of `x[bump(s)] += s` is what the index left."""
    x = ti.field(ti.i32, 8)

    @ti.func
    def bump(t: ti.template()):
        t += 1
        return t

    @ti.kernel
    def run():
        s, v = 0, ti.Vector([0, 0, 0, 0])
        x[bump(s)] += s * 10
        x[bump(s)] -= s
        x[(s := s + 1)] += s
        v[bump(s) - 1] += s
        x[bump(s)] = s
        x[6], x[7] = v[3], s

    run()
    assert x.to_numpy().tolist() == [0, 10, -2, 3, 0, 4, 4, 5]


def test_an_index_is_read_before_the_value_changes_it(ti):
    x = ti.field(ti.i32, 8)

    @ti.func
    def bump(t: ti.template()):
        t += 1
        return t

    @ti.kernel
    def run():
        s, v = 0, ti.Vector([0, 0, 0, 0])
        x[s] += bump(s)
        x[s + 1] -= bump(s)
        v[s] += bump(s)
        x[s] += (s := s + 1)
        x[6], x[7] = v[2], s

    run()
    assert x.to_numpy().tolist() == [1, 0, -2, 4, 0, 0, 3, 4]


@pytest.mark.parametrize("serialize", [False, True])
def test_atomics_of_truth_values_count_modulo_two(ti, serialize):
    x = ti.field(ti.u1, ())

    @ti.kernel
    def run(n: ti.i32) -> ti.types.vector(3, ti.i32):
        added, less = ti.u1(1), ti.u1(1)
        x[None] = 1
        ti.loop_config(serialize=serialize)
        for _ in range(n):
            ti.atomic_add(added, ti.u1(1))
            ti.atomic_sub(less, ti.u1(1))
            x[None] += ti.u1(1)
        return ti.Vector([int(added), int(less), int(x[None])])

    assert run(4).to_list() == [1, 1, 1]
    assert run(3).to_list() == [0, 0, 0]
