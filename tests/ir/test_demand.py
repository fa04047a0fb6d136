"""What reverse mode computes again, and which locals loops keep: what `Demand` says of small kernels."""

from __future__ import annotations

from collections.abc import Iterable

import pytest

from tests.ir.dual_kernels import kernel_of
from tests.ir.reverse_checks import in_mode
from weft.ir import ops
from weft.ir.autodiff.companions import Companions
from weft.ir.autodiff.demand import Demand
from weft.ir.core import Value

_FIELDS = """field @w: f64[4] tree=12 components=(0) terms=((0, 1, 4, 8)) offset=(0) order=(0)
field @n: i32[4] tree=13 components=(0) terms=((0, 1, 4, 4)) offset=(0) order=(0)"""
_START = """%p = field_ptr @x[%c0] : *f64 %x = load %p : f64 %q = field_ptr @y[%c0] : *f64 %y = load %q : f64
%l = alloca : *f64 store %l, %x %half = const 0.5 : f64 %m = alloca : *f64 store %m, %y """
_END = " %r = load %l : f64 store %p, %r"


def told(body: str) -> dict[str, str]:
    """The names of the values that carry derivatives, and of those that the gradient needs. For each loop, between
    bars: what its reversed rounds need, the locals that they begin with, and the locals and the values that make these
    locals again."""
    kernel = in_mode(kernel_of(_START + body + _END, fields=_FIELDS), "vjp")
    demand = Demand(kernel, Companions(kernel), False)
    found = {"active": _names(demand, demand.active), "needed": _names(demand, demand.needed)}
    for loop in demand.ops:
        if isinstance(loop, (ops.For, ops.While)):
            name, inside = loop.body.args[0].name if isinstance(loop, ops.For) else "while", demand.reversal(loop)
            state = demand.state(loop, inside)
            more, again = demand.advance(loop, state)
            found[name] = f"{_names(demand, inside)} | {_listed(state)} | {_listed(more)} | {_names(demand, again)}"
    return found


def _names(demand: Demand, values: set[Value]) -> str:
    return " ".join(op.name for op in demand.ops if op in values and op.name and op.name not in ("c0", "c1", "c4"))


def _listed(values: Iterable[Value]) -> str:
    return " ".join(value.name for value in values)


# The body of a kernel, and what is told of it.
CASES: dict[str, tuple[str, dict[str, str]]] = {
    "a state that a sine needs": (
        "for %c0, %c4, %c1 (%k: i32) { %a = load %l : f64 %b = unary sin %a : f64 %d = binary mul %b, %y : "
        "f64 store %l, %d }",
        {"active": "x y l a b d r", "needed": "x y l a b d", "k": "a b | l | l | a b d"},
    ),
    "a sum needs nothing": (
        "for %c0, %c4, %c1 (%k: i32) { %a = load %l : f64 %b = binary add %a, %y : f64 store %l, %b }",
        {"active": "x y l a b r", "needed": "", "k": " |  |  | "},
    ),
    "a constant factor": (
        "for %c0, %c4, %c1 (%k: i32) { %a = load %l : f64 %b = binary mul %a, %half : f64 store %l, %b }",
        {"active": "x l a b r", "needed": "half", "k": " |  |  | "},
    ),
    "a branch": (
        "for %c0, %c4, %c1 (%k: i32) { %a = load %l : f64 %t = binary lt %a, %half : u1 if %t then { %b = "
        "binary mul %a, %half : f64 store %l, %b } }",
        {"active": "x l a b r", "needed": "x l half a t b", "k": "a t | l | l | a t b"},
    ),
    "an index": (
        "%i = alloca : *i32 store %i, %c0 for %c0, %c4, %c1 (%k: i32) { %a = load %l : f64 %j = load %i : i32 "
        "%e = field_ptr @y[%j] : *f64 %v = load %e : f64 %b = binary add %a, %v : f64 store %l, %b %u = "
        "binary add %j, %c1 : i32 store %i, %u }",
        {"active": "x l a v b r", "needed": "i j u", "k": "j | i | i | j u"},
    ),
    "stored first": (
        "for %c0, %c4, %c1 (%k: i32) { store %m, %half %g = load %m : f64 %a = load %l : f64 %b = binary mul "
        "%a, %g : f64 store %l, %b }",
        {"active": "x y l m g a b r", "needed": "x y l half m g a b", "k": "g a | l | l | g a b"},
    ),
    "stored first in both branches": (
        "for %c0, %c4, %c1 (%k: i32) { %t = binary lt %k, %c1 : u1 if %t then { store %m, %half } orelse { "
        "store %m, %y } %g = load %m : f64 %a = load %l : f64 %b = binary mul %a, %g : f64 store %l, %b }",
        {"active": "x y l m g a b r", "needed": "x y l half m t g a b", "k": "t g a | l | l | t g a b"},
    ),
    "stored first in one branch": (
        "for %c0, %c4, %c1 (%k: i32) { %t = binary lt %k, %c1 : u1 if %t then { store %m, %half } %g = load "
        "%m : f64 %a = load %l : f64 %b = binary mul %a, %g : f64 store %l, %b }",
        {"active": "x y l m g a b r", "needed": "x y l half m t g a b", "k": "t g a | m l | m l | t g a b"},
    ),
    "stored by a loop inside": (
        "for %c0, %c4, %c1 (%k: i32) { for %c0, %k, %c1 (%j: i32) { store %m, %half } %g = load %m : f64 %a = "
        "load %l : f64 %b = binary mul %a, %g : f64 store %l, %b }",
        {"active": "x y l m g a b r", "needed": "x y l half m g a b", "k": "g a | m l | m l | g a b", "j": " |  |  | "},
    ),
    "a loop inside with its own local": (
        "for %c0, %c4, %c1 (%k: i32) { %o = alloca : *f64 %a = load %l : f64 store %o, %a for %c0, %c4, %c1 "
        "(%j: i32) { %f = load %o : f64 %g = binary mul %f, %f : f64 store %o, %g } %h = load %o : f64 store "
        "%l, %h }",
        {
            "active": "x l o a f g h r",
            "needed": "x l o a f g h",
            "k": "o a f g | l | l | o a f g h",
            "j": "f | o | o | f g",
        },
    ),
    "two locals in turn": (
        "for %c0, %c4, %c1 (%k: i32) { %a = load %l : f64 %b = load %m : f64 %d = unary sin %b : f64 store "
        "%l, %d %e = binary add %a, %y : f64 store %m, %e }",
        {"active": "x y l m a b d e r", "needed": "x y l m a b d e", "k": "b | m | m l | a b d e"},
    ),
    "a local that no derivative needs": (
        "%i = alloca : *f64 store %i, %half for %c0, %c4, %c1 (%k: i32) { %a = load %l : f64 %g = load %i : "
        "f64 %h = unary sin %g : f64 store %i, %h %b = binary add %a, %h : f64 store %l, %b }",
        {"active": "x l a b r", "needed": "", "k": " |  |  | "},
    ),
    "memory without a gradient": (
        "%s = field_ptr @w[%c0] : *f64 for %c0, %c4, %c1 (%k: i32) { %a = load %l : f64 %b = unary sin %a : "
        "f64 store %s, %b %d = binary add %a, %half : f64 store %l, %d }",
        {"active": "x l a d r", "needed": "", "k": " |  |  | "},
    ),
    "a number of an integer": (
        "for %c0, %c4, %c1 (%k: i32) { %a = load %l : f64 %n = cast %a : i32 %f = cast %n : f64 %b = binary "
        "mul %f, %y : f64 store %l, %b }",
        {"active": "x y l b r", "needed": "x y l a n f b", "k": "a n f | l | l | a n f b"},
    ),
    "an element of an array": (
        "%z = alloca : *f64x2 %v = splat %x : f64x2 store %z, %v for %c0, %c4, %c1 (%k: i32) { %i = binary "
        "and %k, %c1 : i32 %e = element_ptr %z[%i] : *f64 %a = load %e : f64 %b = binary mul %a, %a : f64 "
        "store %e, %b } %w = load %z : f64x2 %h = extract %w, index=1 : f64 store %l, %h",
        {"active": "x l z v a b w h r", "needed": "x z v i a b", "k": "i a | z | z | i a b"},
    ),
    "a whole array first": (
        "%z = alloca : *f64x2 for %c0, %c4, %c1 (%k: i32) { %v = splat %x : f64x2 store %z, %v %e = "
        "element_ptr %z[%c1] : *f64 %a = load %e : f64 %b = binary mul %a, %a : f64 store %e, %b } %w = load "
        "%z : f64x2 %h = extract %w, index=1 : f64 store %l, %h",
        {"active": "x l z v a b w h r", "needed": "x z v a b", "k": "v a |  |  | "},
    ),
    "a select": (
        "for %c0, %c4, %c1 (%k: i32) { %a = load %l : f64 %t = binary lt %k, %c1 : u1 %b = select %t, %a, "
        "%half : f64 store %l, %b }",
        {"active": "x l a b r", "needed": "t", "k": "t |  |  | "},
    ),
    "a select of a product": (
        "for %c0, %c4, %c1 (%k: i32) { %a = load %l : f64 %t = binary lt %a, %half : u1 %g = binary mul %a, "
        "%a : f64 %b = select %t, %g, %half : f64 store %l, %b }",
        {"active": "x l a g b r", "needed": "x l half a t g b", "k": "a t | l | l | a t g b"},
    ),
    "an atomic sum of a local": (
        "for %c0, %c4, %c1 (%k: i32) { %a = atomic add %l, %y : f64 %b = load %l : f64 %d = binary mul %b, %b "
        ": f64 %e = atomic add %m, %d : f64 } %g = load %m : f64 store %q, %g",
        {"active": "x y l m b d g r", "needed": "x y l a b", "k": "a b | l | l | a"},
    ),
    "a while loop": (
        "%run = alloca : *u1 %true = const true : u1 store %run, %true %false = const false : u1 while { %t = "
        "load %run : u1 if %t orelse { break } %a = load %l : f64 %s = binary lt %a, %half : u1 if %s then { "
        "store %run, %false } orelse { %b = binary mul %a, %a : f64 store %l, %b } }",
        {"active": "x l a b r", "needed": "x l half run true false t a s b", "while": "a | l | l | a b"},
    ),
    "a product of parts": (
        "%mm = field_ptr @m[%c0] : *f64x2x2 %mv = load %mm : f64x2x2 %vv = field_ptr @v[%c0] : *f64x2 %vx = "
        "load %vv : f64x2 %u = matmul %mv, %vx : f64x2 store %vv, %u %fx = splat %half : f64x2 %w = matmul "
        "%mv, %fx : f64x2 %h = reduce add %w : f64 store %l, %h",
        {"active": "x l mv vx u w h r", "needed": "half mv vx fx"},
    ),
    "a parallel loop": (
        "%s = shared_local : *f64 store %s, %x parallel_for begins=[%c0], ends=[%c4] (%i: i32) { %e = "
        "field_ptr @y[%i] : *f64 %v = load %e : f64 %b = binary mul %v, %y : f64 %o = atomic add %s, %b : f64 "
        "} %g = load %s : f64 %h = binary mul %g, %g : f64 store %l, %h",
        {"active": "x y l s v b g h r", "needed": "x y s v b o g"},
    ),
    "an extreme of a local": (
        "%s = shared_local : *f64 store %s, %x parallel_for begins=[%c0], ends=[%c4] (%i: i32) { %e = "
        "field_ptr @y[%i] : *f64 %v = load %e : f64 %o = atomic max %s, %v : f64 } %g = load %s : f64 store "
        "%l, %g",
        {"active": "x l s v g r", "needed": "x s v o"},
    ),
    "a product of a local": (
        "%s = shared_local : *f64 store %s, %x parallel_for begins=[%c0], ends=[%c4] (%i: i32) { %e = "
        "field_ptr @y[%i] : *f64 %v = load %e : f64 %o = atomic mul %s, %v : f64 } %g = load %s : f64 store "
        "%l, %g",
        {"active": "x l s v g r", "needed": "x s v o"},
    ),
    "a product of constants": (
        "%s = shared_local : *f64 store %s, %x parallel_for begins=[%c0], ends=[%c4] (%i: i32) { %o = atomic "
        "mul %s, %half : f64 } %g = load %s : f64 store %l, %g",
        {"active": "x l s g r", "needed": "half"},
    ),
    "a loop in a branch of a loop": (
        "for %c0, %c4, %c1 (%k: i32) { %t = binary lt %k, %c1 : u1 if %t then { for %c0, %k, %c1 (%j: i32) { "
        "%a = load %l : f64 %b = binary mul %a, %a : f64 store %l, %b } } orelse { %d = load %l : f64 %e = "
        "unary sin %d : f64 store %l, %e } }",
        {
            "active": "x l a b d e r",
            "needed": "x l t a b d e",
            "k": "t a b d | l | l | t a b d e",
            "j": "a | l | l | a b",
        },
    ),
    "an address that is computed": (
        "%i = alloca : *i32 store %i, %c0 for %c0, %c4, %c1 (%k: i32) { %j = load %i : i32 %e = field_ptr "
        "@y[%j] : *f64 %a = load %l : f64 store %e, %a %u = binary add %j, %k : i32 store %i, %u }",
        {"active": "x l a r", "needed": "i j u", "k": "j | i | i | j u"},
    ),
    "the number of rounds": (
        "%i = alloca : *i32 store %i, %c4 for %c0, %c4, %c1 (%k: i32) { %n = load %i : i32 for %c0, %n, %c1 "
        "(%j: i32) { %a = load %l : f64 %b = binary add %a, %y : f64 store %l, %b } %u = binary sub %n, %c1 : "
        "i32 store %i, %u }",
        {"active": "x y l a b r", "needed": "i n u", "k": "n | i | i | n u", "j": " |  |  | "},
    ),
    "a part of a struct": (
        "%s = make_struct [%c1, %x] : {k: i32, f: f64} %z = alloca : *{k: i32, f: f64} store %z, %s for %c0, "
        "%c4, %c1 (%k: i32) { %e = member_ptr %z, index=1 : *f64 %a = load %e : f64 %b = binary mul %a, %y : "
        "f64 store %e, %b } %w = load %z : {k: i32, f: f64} %h = member %w, index=1 : f64 store %l, %h",
        {"active": "x y l s z a b w h r", "needed": "x y s z a b", "k": "a | z | z | a b"},
    ),
    "a quotient whose divisor has no derivative": (
        "%s = field_ptr @w[%c0] : *f64 %w = load %s : f64 for %c0, %c4, %c1 (%k: i32) { %a = load %l : f64 %b "
        "= binary div %a, %w : f64 store %l, %b }",
        {"active": "x l a b r", "needed": "w", "k": " |  |  | "},
    ),
    "a power": (
        "for %c0, %c4, %c1 (%k: i32) { %a = load %l : f64 %b = binary pow %a, %half : f64 store %l, %b }",
        {"active": "x l a b r", "needed": "x l half a b", "k": "a | l | l | a b"},
    ),
    "a parallel loop in a loop's state": (
        "%s = shared_local : *f64 store %s, %x for %c0, %c4, %c1 (%k: i32) { %a = load %s : f64 %b = binary "
        "mul %a, %a : f64 store %l, %b %d = atomic add %s, %b : f64 }",
        {"active": "x l s a b r", "needed": "x s a b d", "k": "a | s | s | a b d"},
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_what_a_gradient_needs(name: str) -> None:
    body, wanted = CASES[name]
    assert told(body) == wanted
