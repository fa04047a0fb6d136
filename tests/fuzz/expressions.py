"""The rows of the table that are expressions. A literal never stands alone: Python computes what is known."""

from __future__ import annotations

from tests.fuzz.nodes import Expr
from tests.fuzz.places import FLOATS, INTS
from tests.fuzz.rows import Writer, expression

__all__: list[str] = []

Made = tuple[str, list[Expr]] | None
VECTORS = ("v3", "w2")
ANY = ("int", "real", "truth", "v3", "w2", "m2", "S", "N")
_LITERALS = ("0", "1", "2", "3", "7", "31", "100", "-1", "-5", "127", "65535", "2147483647")
_DECIMALS = ("0.0", "0.5", "1.0", "-1.5", "3.25", "100.0", "0.1")
_COMPARES = ("<", "<=", ">", ">=", "==", "!=")
_SCALAR_OF = {"v3": "real", "w2": "int", "m2": "real"}


def scalar_of(kind: str) -> str:
    """The kind of the elements of a vector or matrix."""
    return _SCALAR_OF.get(kind, kind)


def number(w: Writer, depth: int) -> Expr:
    """A number of any type."""
    return w.expr(w.pick(("int", "int", "real", *("real",) * 4 * w.smooth)), depth)


def right(w: Writer, kind: str, depth: int) -> Expr:
    """A right operand: now and then a literal, or a scalar for a vector."""
    if kind in VECTORS and w.chance(0.3):
        kind = scalar_of(kind)
    if kind in ("int", "real") and w.chance(0.3):
        return Expr("literal", w.pick(_LITERALS if kind == "int" else _DECIMALS), kind)
    return w.expr(kind, depth)


def index(w: Writer, extent: str) -> str:
    """An index in [0, extent) in front of its part `{n}`, which the caller gives."""
    return f"ti.cast({{0}} % {extent}, ti.i32)"


# ---- leaves ----------------------------------------------------------------------------------------------------------


@expression("variable", *ANY, weight=2.0)
def _variable(w: Writer, kind: str, depth: int) -> Made:
    names = w.known(kind)
    return (w.pick(names), []) if names else None


@expression("argument", "int", "real", "v3", "S", where=lambda w: w.scope.where == "kernel")
def _argument(w: Writer, kind: str, depth: int) -> Made:
    return {"int": w.pick(("a", "c", "pack.n")), "real": w.pick(("b", "pack.x")), "v3": "e", "S": "g"}[kind], []


@expression("own element", *ANY, weight=2.0)
def _own(w: Writer, kind: str, depth: int) -> Made:
    places = w.places("own", kind) if kind != "truth" else w.places("own", "truth", axes=1)
    return w.own(w.pick(places)), []


@expression("gathered element", *ANY, weight=1.5)
def _gathered(w: Writer, kind: str, depth: int) -> Made:
    place = w.pick(w.places("read", kind))
    if place.axes == 2:
        part = Expr("variable", w.scope.own, "int")
        return w.at(place, w.pick(("1", f"({part} + 1) % ROWS")), w.pick(("5", f"({part} + 4) % COLS"))), []
    if (depth > 0 and w.chance(0.5)) or w.pending():
        return w.at(place, index(w, "COUNT")), [w.expr("int", depth - 1)]
    return w.at(place, w.pick((f"({w.scope.own} + {w.pick((1, 5))}) % COUNT", w.scope.own, "7"))), []


@expression("index array", "int", weight=1.0)
def _index_array(w: Writer, kind: str, depth: int) -> Made:
    return f"{w.pick(('perm', 'perm_2'))}[{w.scope.own}]", []


@expression("element of an array", "int", "real", weight=1.0, where=lambda w: bool(w.scope.arrays))
def _array(w: Writer, kind: str, depth: int) -> Made:
    if ("ks" if kind == "int" else "xs") not in w.scope.arrays:
        return None
    return ("ks[" + w.scope.own + "]" if kind == "int" else f"xs[{two(w)}]"), []


def two(w: Writer) -> str:
    """The own index of an array of two axes."""
    return w.scope.own2


@expression("lent element", "int", where=lambda w: w.scope.where == "kernel")
def _lent(w: Writer, kind: str, depth: int) -> Made:
    return lent(w, w.pick(("al", "be"))), []


def lent(w: Writer, name: str) -> str:
    """The own element of one of two arrays that overlap."""
    own = w.scope.own
    moved = {"same": own, "field": own, "reverse": f"COUNT - 1 - {own}", "shift": f"{own} + 1"}[w.alias]
    return f"{name}[{moved if name == 'be' else own}]"


@expression("shape", "int", where=lambda w: {"xs", "ks"} <= w.scope.arrays)
def _shape(w: Writer, kind: str, depth: int) -> Made:
    text = w.pick(("xs.shape[1]", "ks.shape[0]", "({0} + xs.shape[0])")) if not w.pending() else "({0} + xs.shape[0])"
    return text, [w.expr("int", depth)]


@expression("random", "int", "real", weight=0.4)
def _random(w: Writer, kind: str, depth: int) -> Made:
    return (f"ti.random({w.pick(('ti.i32', 'ti.u32', 'ti.i64') if kind == 'int' else ('ti.f32', 'ti.f64'))})"), []


# ---- operators -------------------------------------------------------------------------------------------------------


@expression("arithmetic", "int", "real", "v3", "w2", "m2", weight=4.0)
def _arithmetic(w: Writer, kind: str, depth: int) -> Made:
    return f"({{0}} {w.pick(('+', '-', '*'))} {{1}})", [w.expr(kind, depth), right(w, kind, depth)]


@expression("divide", "real", "v3")
def _divide(w: Writer, kind: str, depth: int) -> Made:
    if kind == "real" and w.chance(0.3):
        return ("({0} / ({1} | 1))" if w.safe else "({0} / {1})"), [w.expr("int", depth), w.expr("int", depth)]
    return "({0} / {1})", [w.expr(kind, depth), right(w, kind, depth)]


@expression("floor divide", "int", "real")
def _floor_divide(w: Writer, kind: str, depth: int) -> Made:
    text = "({0} %s ({1} | 1))" if w.safe and kind == "int" else "({0} %s {1})"
    return text % w.pick(("//", "%")), [w.expr(kind, depth), right(w, kind, depth)]


@expression("processor's divide", "int", "real")
def _raw(w: Writer, kind: str, depth: int) -> Made:
    text = f"ti.{w.pick(('raw_div', 'raw_mod'))}({{0}}, {{1}} | 1)"
    if kind == "real" or not w.safe:
        text = text.replace(" | 1", "")
    return text, [w.expr(kind, depth), right(w, kind, depth)]


@expression("power", "int", "real")
def _power(w: Writer, kind: str, depth: int) -> Made:
    if kind == "real" or w.chance(0.5):
        return f"({{0}} ** {2 if kind == 'real' else w.pick((0, 1, 2, 3, 5))})", [w.expr(kind, depth)]
    return "({0} ** ({1} & 7))", [w.expr("int", depth), w.expr("int", depth)]


@expression("bits", "int", "w2", "truth", weight=1.5)
def _bits(w: Writer, kind: str, depth: int) -> Made:
    return f"({{0}} {w.pick(('&', '|', '^'))} {{1}})", [w.expr(kind, depth), right(w, kind, depth)]


@expression("shift", "int", "w2")
def _shift(w: Writer, kind: str, depth: int) -> Made:
    text = w.pick(("({0} << {1})", "({0} >> {1})", "ti.bit_shr({0}, {1})"))
    return text, [w.expr(kind, depth), right(w, kind, depth)]


@expression("negate", "int", "real", "v3", "w2", "m2", weight=1.5)
def _negate(w: Writer, kind: str, depth: int) -> Made:
    return f"({w.pick(('-', '+', '-'))}{{0}})", [w.expr(kind, depth)]


@expression("invert", "int", "w2")
def _invert(w: Writer, kind: str, depth: int) -> Made:
    return "(~{0})", [w.expr(kind, depth)]


@expression("absolute", "int", "real", "v3", "w2")
def _absolute(w: Writer, kind: str, depth: int) -> Made:
    return "abs({0})", [w.expr(kind, depth)]


@expression("cast", "int", "real", "truth", "v3", "w2", weight=2.5)
def _cast(w: Writer, kind: str, depth: int) -> Made:
    if kind in VECTORS:
        return f"ti.cast({{0}}, ti.{w.pick(FLOATS if kind == 'v3' else INTS)})", [w.expr(kind, depth)]
    to = w.pick(INTS if kind == "int" else FLOATS if kind == "real" else ("u1",))
    text = w.pick((f"ti.cast({{0}}, ti.{to})", f"ti.{to}({{0}})"))
    return text, [w.expr(w.pick(("int", "real", "truth")), depth)]


@expression("bit cast", "int", "real", where=lambda w: not w.smooth)
def _bit_cast(w: Writer, kind: str, depth: int) -> Made:
    width = w.pick((32, 64))
    whole, real = w.pick((f"i{width}", f"u{width}")), f"f{width}"
    if kind == "int":
        return f"ti.bit_cast(ti.cast({{0}}, ti.{real}), ti.{whole})", [w.expr("int", depth)]
    return f"ti.bit_cast(ti.cast({{0}}, ti.{whole}), ti.{real})", [w.expr("int", depth)]


@expression("compare", "truth", weight=3.0)
def _compare(w: Writer, kind: str, depth: int) -> Made:
    return f"({{0}} {w.pick(_COMPARES)} {{1}})", [number(w, depth), right(w, w.pick(("int", "real")), depth)]


@expression("chained compare", "truth")
def _chain(w: Writer, kind: str, depth: int) -> Made:
    text = f"({{0}} {w.pick(_COMPARES)} {{1}} {w.pick(_COMPARES)} {{2}})"
    return text, [number(w, depth), number(w, depth), number(w, depth)]


@expression("and", "truth", "int", "real")
def _and(w: Writer, kind: str, depth: int) -> Made:
    return "({0} and {1})", [w.expr(kind, depth), w.expr(kind, depth)]


@expression("or", "truth", "int", "real")
def _or(w: Writer, kind: str, depth: int) -> Made:
    return "({0} or {1})", [w.expr(kind, depth), w.expr(kind, depth)]


@expression("not", "truth")
def _not(w: Writer, kind: str, depth: int) -> Made:
    return "(not {0})", [w.expr(w.pick(("truth", "int", "real")), depth)]


@expression("number of truth", "int")
def _number_of_truth(w: Writer, kind: str, depth: int) -> Made:
    return "({0} + {1})", [w.expr("truth", depth), w.expr("int", depth)]


@expression("conditional", "int", "real", "truth", "v3", "w2", "m2", weight=1.5)
def _conditional(w: Writer, kind: str, depth: int) -> Made:
    return "({1} if {0} else {2})", [w.expr("truth", depth), w.expr(kind, depth), w.expr(kind, depth)]


@expression("select", "int", "real", "v3", "w2")
def _select(w: Writer, kind: str, depth: int) -> Made:
    return "ti.select({0}, {1}, {2})", [w.expr("truth", depth), w.expr(kind, depth), w.expr(kind, depth)]


@expression("min or max", "int", "real", "v3", "w2", weight=1.5)
def _min_max(w: Writer, kind: str, depth: int) -> Made:
    """Which zero is the smaller is left open."""
    name = w.pick(("ti.min", "ti.max", "min", "max") if kind in ("int", "real") else ("ti.min", "ti.max"))
    zero = " + 0.0" if kind in ("real", "v3") else ""
    return f"({name}({{0}}, {{1}}){zero})", [w.expr(kind, depth), right(w, kind, depth)]


@expression("round", "real", "v3", "int")
def _round(w: Writer, kind: str, depth: int) -> Made:
    name = w.pick(("ti.floor", "ti.ceil", "ti.round"))
    if kind == "int":
        return f"{name}({{0}}, ti.{w.pick(INTS)})", [w.expr("real", depth)]
    return f"{name}({{0}})", [w.expr(kind, depth)]


@expression("root", "real", "v3")
def _root(w: Writer, kind: str, depth: int) -> Made:
    inside = "abs({0}) + 0.25" if w.smooth and w.chance(0.8) else "{0}"
    return f"ti.sqrt({inside})", [w.expr(kind, depth)]


@expression("count bits", "int")
def _count_bits(w: Writer, kind: str, depth: int) -> Made:
    types = w.pick(("i32", "u32", "i64", "u64"))
    return f"ti.math.{w.pick(('popcnt', 'clz'))}(ti.cast({{0}}, ti.{types}))", [w.expr("int", depth)]


# ---- vectors, matrices, structs --------------------------------------------------------------------------------------


@expression("vector", "v3", "w2", weight=1.5)
def _vector(w: Writer, kind: str, depth: int) -> Made:
    if kind == "v3":
        if w.chance(0.3):
            return "V3({0}, {1}, {2})", [w.expr("real", depth) for _ in range(3)]
        return f"ti.Vector([{{0}}, {{1}}, {{2}}], ti.{w.pick(FLOATS)})", [number(w, depth) for _ in range(3)]
    return f"ti.Vector([{{0}}, {{1}}], ti.{w.pick(INTS)})", [w.expr("int", depth), number(w, depth)]


@expression("entry", "int", "real", weight=1.5)
def _entry(w: Writer, kind: str, depth: int) -> Made:
    if kind == "int":
        return w.pick(("{0}[1]", "{0}.x")), [w.expr("w2", depth)]
    return w.pick(("{0}[2]", "{0}.y", "{0}.r")), [w.expr("v3", depth)]


@expression("entry at run time", "int", "real")
def _entry_at(w: Writer, kind: str, depth: int) -> Made:
    if kind == "int":
        return "{0}[ti.cast({1} & 1, ti.i32)]", [w.expr("w2", depth), w.expr("int", depth)]
    if w.chance(0.5):
        parts = [w.expr("m2", depth), w.expr("int", depth), w.expr("int", depth)]
        return "{0}[ti.cast({1} & 1, ti.i32), ti.cast({2} & 1, ti.i32)]", parts
    return "{0}[ti.cast({1} % 3, ti.i32)]", [w.expr("v3", depth), w.expr("int", depth)]


@expression("swizzle", "v3", "w2")
def _swizzle(w: Writer, kind: str, depth: int) -> Made:
    return f"{{0}}.{w.pick(('zxy', 'yyx', 'bgr') if kind == 'v3' else ('yx', 'xx'))}", [w.expr(kind, depth)]


@expression("reduction", "int", "real")
def _reduction(w: Writer, kind: str, depth: int) -> Made:
    if w.chance(0.3) and kind == "real":
        return "{0}.dot({1})", [w.expr("v3", depth), w.expr("v3", depth)]
    last = "" if kind == "int" else " + 0.0"
    text = f"({{0}}.{w.pick(('sum', 'min', 'max'))}(){last})"
    return text, [w.expr("w2" if kind == "int" else "v3", depth)]


@expression("any or all", "truth")
def _any_all(w: Writer, kind: str, depth: int) -> Made:
    kind = w.pick(VECTORS)
    text = f"({{0}} {w.pick(_COMPARES)} {{1}}).{w.pick(('any', 'all'))}()"
    return text, [w.expr(kind, depth), w.expr(kind, depth)]


@expression("cross", "v3")
def _cross(w: Writer, kind: str, depth: int) -> Made:
    return "{0}.cross({1})", [w.expr("v3", depth), w.expr("v3", depth)]


@expression("matrix", "m2")
def _matrix(w: Writer, kind: str, depth: int) -> Made:
    return "ti.Matrix([[{0}, {1}], [{2}, {3}]], ti.f32)", [w.expr("real", depth - k) for k in range(4)]


@expression("matrix product", "m2", "real")
def _product(w: Writer, kind: str, depth: int) -> Made:
    if kind == "real":
        return "({0} @ {1}.xy)[1]", [w.expr("m2", depth), w.expr("v3", depth)]
    return "({0} @ {1})", [w.expr("m2", depth), w.expr("m2", depth)]


@expression("transpose", "m2", "real")
def _transpose(w: Writer, kind: str, depth: int) -> Made:
    if kind == "real":
        return w.pick(("{0}.trace()", "{0}.determinant()", "{0}[1, :].y")), [w.expr("m2", depth)]
    return "{0}.transpose()", [w.expr("m2", depth)]


@expression("struct", "S", weight=1.5)
def _struct(w: Writer, kind: str, depth: int) -> Made:
    parts = [w.expr("int", depth), w.expr("real", depth), w.expr("v3", depth)]
    return w.pick(("S(k={0}, f={1}, v={2})", "S({0}, {1}, {2})", "S(v={2}, k={0})")), parts


@expression("nested struct", "N", weight=1.5)
def _nested(w: Writer, kind: str, depth: int) -> Made:
    return "N(s={0}, b={1})", [w.expr("S", depth), w.expr("int", depth)]


@expression("member", "int", "real", "v3", "S")
def _member(w: Writer, kind: str, depth: int) -> Made:
    if kind == "S":
        return "{0}.s", [w.expr("N", depth)]
    nested = w.chance(0.4)
    text = {"int": "k", "real": w.pick(("f", "v.z", "v[1]")), "v3": "v"}[kind]
    return f"{{0}}.{'s.' if nested else ''}{text}", [w.expr("N" if nested else "S", depth)]


# ---- known at compile time -------------------------------------------------------------------------------------------


@expression("comprehension", "int", "w2")
def _comprehension(w: Writer, kind: str, depth: int) -> Made:
    name = w.fresh("q")
    if kind == "w2":
        return f"ti.Vector([{{0}} + {name} for {name} in ti.static(range(2))], ti.i32)", [w.expr("int", depth)]
    return f"sum([{{0}} * {name} for {name} in ti.static(range(1, 4))])", [w.expr("int", depth)]


@expression("static list", "int", "real")
def _list(w: Writer, kind: str, depth: int) -> Made:
    return f"[{{0}}, {{1}}][ti.static({w.pick((0, 1))})]", [w.expr(kind, depth), w.expr(kind, depth)]
