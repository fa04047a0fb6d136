"""Comparisons of positive floats with 0: what is proved, what must not be, and random expressions."""

from __future__ import annotations

import random

import numpy as np
import pytest

from tests.sampling import draws
from weft.ir.config import CompileConfig
from weft.ir.evaluate import evaluate
from weft.ir.float_bounds import positive
from weft.ir.memory_model import Memory
from weft.ir.ops import Const, Kernel, Store
from weft.ir.parse import parse
from weft.ir.pipeline import find_pass
from weft.ir.verify import verify

HEAD = """\
kernel @k() -> () {
  field @x: TYPE[4] tree=0 components=(0) terms=((0, 1, 4, SIZE)) order=(0)
  field @y: TYPE[1] tree=1 components=(0) terms=((0, 1, 1, SIZE)) order=(0)
  %n0 = const 0 : i32  %n1 = const 1 : i32  %n2 = const 2 : i32  %n3 = const 3 : i32
  %pa = field_ptr @x[%n0]  %pb = field_ptr @x[%n1]  %pc = field_ptr @x[%n2]  %pd = field_ptr @x[%n3]
  %a = load %pa : TYPE  %b = load %pb : TYPE  %c = load %pc : TYPE  %d = load %pd : TYPE
  %zero = const 0.0 : TYPE  %one = const 1.0 : TYPE  %less = const -1.0 : TYPE  %small = const 0.0001 : TYPE
  %tiny = const 1e-45 : TYPE  %half = const 0.5 : TYPE  %sq = binary mul %a, %a : TYPE  %py = field_ptr @y[%n0]
"""


def kernel(body: str, type: str = "f32") -> Kernel:
    head = HEAD.replace("TYPE", type).replace("SIZE", {"f16": "2", "f32": "4", "f64": "8"}[type])
    made = parse(f"{head} {body.replace('TYPE', type)} store %py, %v }}\n")
    verify(made, "chi")
    return made


def value(made: Kernel):
    (store,) = made.all_of(Store)
    return store.value


PROVED = {
    "a square and a constant": "%v = binary add %sq, %small : TYPE",
    "a constant and a square": "%v = binary add %small, %sq : TYPE",
    "a sum of squares": (
        "%s = binary mul %b, %b : TYPE %t = binary add %sq, %s : TYPE %v = binary add %t, %small : TYPE"
    ),
    "a magnitude": "%s = unary abs %a : TYPE %v = binary add %s, %small : TYPE",
    "a quotient": "%s = binary add %sq, %one : TYPE %q = binary div %sq, %s : TYPE %v = binary add %q, %one : TYPE",
    "a reciprocal root": "%s = binary add %sq, %one : TYPE %r = unary rsqrt %s : TYPE %v = binary add %r, %one : TYPE",
    "its root": "%s = binary add %sq, %one : TYPE %v = unary sqrt %s : TYPE",
    "a maximum": "%v = binary max %a, %small : TYPE",
    "the less of two": "%s = binary add %sq, %one : TYPE %v = binary min %s, %half : TYPE",
    "a branch of two": "%p = binary gt %a, %b : u1 %s = binary add %sq, %one : TYPE %v = select %p, %s, %half : TYPE",
    "the elements of a vector, added up": (
        "%w = splat %a : TYPEx3 %q = binary mul %w, %w : TYPEx3 %s = reduce add %q : TYPE "
        "%v = binary add %s, %small : TYPE"
    ),
}
OPEN = {
    "a square alone": "%v = binary add %sq, %zero : TYPE",
    "a square and a negative number": "%v = binary add %sq, %less : TYPE",
    "a square less a number": "%v = binary sub %sq, %small : TYPE",
    "a product of two values": "%s = binary mul %a, %b : TYPE %v = binary add %s, %small : TYPE",
    "a value and a constant": "%v = binary add %a, %small : TYPE",
    "a maximum of two values": "%s = binary add %b, %one : TYPE %v = binary max %a, %s : TYPE",
    "a minimum with a value": "%v = binary min %a, %small : TYPE",
    "a branch that may be 0": "%p = binary gt %a, %b : u1 %v = select %p, %a, %half : TYPE",
    "the root of a value": "%v = unary sqrt %a : TYPE",
    "a quotient by a root, which may be -0.0": (
        "%r = unary sqrt %a : TYPE %q = binary div %one, %r : TYPE %v = binary add %q, %one : TYPE"
    ),
    "a reciprocal root of what may be -0.0": "%r = unary rsqrt %a : TYPE %v = binary add %r, %one : TYPE",
    "a subnormal number": "%v = binary add %sq, %tiny : TYPE",
    "a small number that a product makes less": "%s = binary add %sq, %small : TYPE %v = binary mul %s, %s : TYPE",
}


@pytest.mark.parametrize("name", PROVED)
def test_what_is_positive(name: str) -> None:
    assert positive(value(kernel(PROVED[name])))


@pytest.mark.parametrize("name", OPEN)
def test_what_may_be_0(name: str) -> None:
    assert not positive(value(kernel(OPEN[name])))


def test_a_constant_that_its_type_has_not() -> None:
    body = "%e = const 1e-9 : TYPE %v = binary add %sq, %e : TYPE"
    assert positive(value(kernel(body, "f32")))
    assert not positive(value(kernel(body, "f16")))


@pytest.mark.parametrize(("kind", "wanted"), [("eq", False), ("le", False), ("lt", False), ("ne", True)])
@pytest.mark.parametrize("swapped", [False, True])
def test_comparisons_are_constants(kind: str, wanted: bool, swapped: bool) -> None:
    mirrored = {"le": "ge", "lt": "gt"}.get(kind, kind)
    compared = f"binary {mirrored} %zero, %s" if swapped else f"binary {kind} %s, %zero"
    made = kernel(f"%s = binary add %sq, %small : TYPE %p = {compared} : u1 %v = select %p, %one, %b : TYPE")
    for _ in range(3):
        find_pass("algebra")(made, CompileConfig(fast_math=False))
    found = value(made)
    assert (isinstance(found, Const) and found.value == 1.0) == wanted
    assert "binary" not in str(found)


@pytest.mark.parametrize("kind", ["gt", "ge"])
def test_comparisons_that_are_false_of_nan_stay(kind: str) -> None:
    made = kernel(
        f"%s = binary add %sq, %small : TYPE %p = binary {kind} %s, %zero : u1 %v = select %p, %one, %b : TYPE"
    )
    find_pass("algebra")(made, CompileConfig(fast_math=False))
    assert not isinstance(value(made), Const)


SPECIAL = [0.0, -0.0, 1.0, -2.0, 1e-30, -1e-30, 1e30, np.inf, -np.inf, np.nan, 1e-45, 3e-5]


@pytest.mark.parametrize("seed", range(draws(160)))
def test_random_expressions(seed: int) -> None:
    """What is proved holds for all special values, with the evaluator's rounding."""
    rng, names, body = random.Random(seed), ["%a", "%b", "%c", "%zero", "%one", "%less", "%small", "%half"], ""
    for k in range(rng.randint(1, 6)):
        x, y = rng.choice(names), rng.choice(names)
        y = x if rng.random() < 0.3 else y
        kind = rng.choice(
            ["add", "add", "mul", "mul", "sub", "max", "min", "div", "abs", "sqrt", "rsqrt", "exp", "select"]
        )
        if kind in ("abs", "sqrt", "rsqrt", "exp"):
            body += f"%t{k} = unary {kind} {x} : TYPE "
        elif kind == "select":
            body += f"%p{k} = binary lt {x}, %d : u1 %t{k} = select %p{k}, {x}, {y} : TYPE "
        else:
            body += f"%t{k} = binary {kind} {x}, {y} : TYPE "
        names += [f"%t{k}"] * 2
    made = kernel(body + f"%v = binary add {names[-1]}, %zero : TYPE")
    if not positive(value(made)):
        return
    for _ in range(30):
        memory = Memory.of(made.fields)
        x, y = (symbol for name in "xy" for symbol in made.fields if symbol.name == name)
        memory.write(x, np.array([rng.choice(SPECIAL) for _ in range(4)], np.float32))
        with np.errstate(all="ignore"):
            evaluate(made, [], memory, CompileConfig(fast_math=False))
        found = float(memory.read(y)[0])
        assert np.isnan(found) or found >= np.finfo(np.float32).tiny
