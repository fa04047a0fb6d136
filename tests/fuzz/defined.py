"""The rows of the table that use what stands outside of the kernel: references, templates, methods, lambdas."""

from __future__ import annotations

import re

from tests.fuzz.expressions import number
from tests.fuzz.nodes import Body, Expr, Stmt
from tests.fuzz.places import FLOATS, INTS, PLACES
from tests.fuzz.rows import Writer, expression, fitted, statement
from tests.fuzz.statements import line, summand

__all__ = ["DEFINITIONS", "METHODS", "definitions"]

Text = tuple[str, list[Expr]] | None
Made = tuple[list[tuple[str, Body | None]], list[Expr]] | None

# The methods of the type S.
METHODS = """@ti.func
def halved(self, by):
    return self.f * 0.5 + by


@ti.func
def bump(self, by):
    self.k += by


"""


def _into(name: str, parameter: str, text: str) -> str:
    return f"@ti.func\ndef {name}(s: {parameter}, v):\n    {text}\n"


_FAMILIES = {
    "add": ("s += v", "ti.atomic_sub(s, v)", "s = s + v"), "mul": ("s *= v",), "and": ("s &= v",),
    "or": ("s |= v", "ti.atomic_or(s, v)"), "xor": ("s ^= v",), "min": ("ti.atomic_min(s, v)",),
    "max": ("ti.atomic_max(s, v)",),
}  # fmt: skip

# By its name, each definition that a program may use.
DEFINITIONS: dict[str, str] = {
    "trade_i": "@ti.real_func\ndef trade_i(a: ti.ref(ti.i32), b: ti.i32) -> ti.i32:\n"
               "    old = a\n    a += b\n    return old\n",
    "trade_f": "@ti.real_func\ndef trade_f(a: ti.ref(ti.f32), b: ti.f32) -> ti.f32:\n"
               "    old = a\n    if b > a:\n        return b\n    a = a * b\n    return old\n",
    "change_i": "@ti.func\ndef change_i(a: ti.ref(ti.i32), b):\n    a ^= b\n    return a\n",
    "change_f": "@ti.func\ndef change_f(a: ti.ref(ti.f32), b):\n    a = b - a\n    return a\n",
    "TOOL": "@ti.data_oriented\nclass Tool:\n    def __init__(self, n):\n        self.n, self.kept = n, o_i16\n\n"
            "    @ti.func\n    def mix(self, x, y):\n        return x * self.n + y\n\n"
            "    @ti.func\n    def own(self, i, x):\n        if x > 3:\n            return self.kept[i]\n"
            "        return self.kept[i] + self.n\n\n\nTOOL = Tool(3)\n",
    "twice": "twice = lambda x: x + x\n",
    "mixed": "mixed = [lambda x, by=2: x * by, lambda x: x - 1]\n",
    **{f"into_{family}_{n}": _into(f"into_{family}_{n}", "ti.template()", text)
       for family, texts in _FAMILIES.items() for n, text in enumerate(texts)},
}  # fmt: skip


def definitions(code: str) -> str:
    """Those that the code names."""
    words = {*re.findall(r"\w+", code)}
    return "".join(f"{text}\n\n" for name, text in DEFINITIONS.items() if name in words)


# ---- expressions -----------------------------------------------------------------------------------------------------


@expression("struct method", "real")
def _struct_method(w: Writer, kind: str, depth: int) -> Text:
    return "{0}.halved({1})", [w.expr("S", depth), number(w, depth)]


@expression("method of a class", "int", "real", "v3")
def _method(w: Writer, kind: str, depth: int) -> Text:
    return "TOOL.mix({0}, {1})", [w.expr(kind, depth), w.expr(kind, depth)]


@expression("lambda of the program", "int", "real", "v3", "w2")
def _lambda(w: Writer, kind: str, depth: int) -> Text:
    text = w.pick(("twice({0})", "mixed[0]({0})", "mixed[1]({0})", "mixed[0]({0}, {1})", "mixed[0]({0}, by={1})"))
    return text, [w.expr(kind, depth), w.expr("int" if kind in ("int", "w2") else "real", depth)]


@expression("lambda called at once", "int", "real", "w2")
def _called(w: Writer, kind: str, depth: int) -> Text:
    name = w.fresh("x")
    return f"(lambda {name}: {name} * 2 - {{1}})({{0}})", [w.expr(kind, depth), w.expr(kind, depth)]


@expression("row or column", "real")
def _slice(w: Writer, kind: str, depth: int) -> Text:
    at = "ti.cast({1} & 1, ti.i32)"
    text = w.pick((f"{{0}}[{at}, :].y", f"{{0}}[:, {at}][0]", f"({{0}}[{at}, :].sum() + 0.0)"))
    return text, [w.expr("m2", depth), w.expr("int", depth)]


@expression("n x 1 matrix", "real")
def _column(w: Writer, kind: str, depth: int) -> Text:
    made = f"ti.Matrix([[{{0}}], [{{1}}]], ti.{w.pick(FLOATS)})"
    text = w.pick((f"({made} * {{0}})[1, 0]", f"{made}[ti.cast({{2}} & 1, ti.i32), 0]", f"({{3}} @ {made})[0, 0]"))
    return text, [w.expr("real", depth), number(w, depth), w.expr("int", depth), w.expr("m2", depth)]


@expression("element of n x 1", "real")
def _column_element(w: Writer, kind: str, depth: int) -> Text:
    part = w.pick(("[1, 0]", "[ti.cast({0} & 1, ti.i32), 0]"))
    return f"{w.own(w.pick(w.places('own', 'c2')))}{part}", [w.expr("int", depth)]


# ---- statements ------------------------------------------------------------------------------------------------------


@statement("struct method call")
def _method_call(w: Writer, depth: int) -> Made:
    targets = [*w.known("S", changing=True), w.own(w.pick(w.places("own", "S", axes=1)))]
    return line(f"{w.pick(targets)}.bump({{0}})", w.expr("int", 1))


@statement("method that returns early")
def _early(w: Writer, depth: int) -> Made:
    if w.layout(PLACES["o_i16"]).offset:
        return None
    value, name = w.expr("int", 1), w.fresh()
    w.let(name, "int")
    return line(f"{name} = TOOL.own({w.scope.own}, {{0}})", value)


@statement("reference", weight=1.5)
def _reference(w: Writer, depth: int) -> Made:
    """A number of the very type: a local made for it, or an own element."""
    kind, letter = w.pick((("int", "i"), ("real", "f")))
    type, name, given = f"{letter}32", w.fresh(), w.fresh()
    value, other = w.expr(kind, 1), w.expr(kind, 1)
    function = w.pick((f"trade_{letter}", f"change_{letter}"))
    w.let(name, kind)
    call = f"{name} = {function}({{place}}, {{1}})"
    if w.chance(0.5):
        place = w.pick([place for place in w.places("own", kind) if place.type == type])
        return line(call.replace("{place}", w.own(place)).replace("{1}", "{0}"), other)
    w.let(given, kind)
    return [(f"{given}: ti.{type} = {{0}}", None), (call.replace("{place}", given), None)], [value, other]


@statement("shared through a function", where=lambda w: w.scope.parallel and bool(_numbers(w)), weight=3.0)
def _through(w: Writer, depth: int) -> Made:
    """A shared local, updated by a function that has it as a template."""
    name = w.pick(_numbers(w))
    family, _, type = w.scope.shared[name].partition(" ")
    kind = next(names[name] for names in w.scope.names if name in names)
    last = 1 if family == "add" and kind == "truth" else len(_FAMILIES[family])
    value = summand(w, kind, family, type)
    if value is None:
        return None
    if kind in ("int", "real"):  # `s = s + v` is atomic where integers and floats do not mix
        value = Expr("cast", f"ti.cast({{0}}, ti.{type})", kind, [value])
    return line(f"into_{family}_{w.random.randrange(last)}({name}, {{0}})", value)


def _numbers(w: Writer) -> list[str]:
    return [name for name, what in w.scope.shared.items() if " " in what and not what.startswith("extreme")]


@statement("extreme by if", where=lambda w: w.scope.parallel and "static" not in w.scope.blocks and bool(_free(w)),
           weight=3.0)  # fmt: skip
def _extreme(w: Writer, depth: int) -> Made:
    """An atomic minimum or maximum, where the loop has no other access to the local."""
    name, found = w.pick(_free(w)), w.fresh("e")
    type = w.scope.shared[name].partition(" ")[2]
    kind = "int" if type in INTS else "real"
    w.used.add(name)
    test = w.pick(("{0} > {1}", "{0} >= {1}", "{0} < {1}", "{0} <= {1}", "{1} > {0}", "{1} < {0}"))
    body = Body([Stmt("extreme by if", [(f"{name} = {found}", None)], pinned=True)])
    value = w.expr(kind, 2)
    given = f"ti.cast({{0}}, ti.{type})"
    if kind == "real":  # without a zero's sign; of the very type, or it would be a plain assignment with a cast
        given = f"ti.cast({given} + 0.0, ti.{type})"
    return [(f"{found} = {given}", None), (f"if {test.format(found, name)}:", body)], [value]


def _free(w: Writer) -> list[str]:
    return [name for name, what in w.scope.shared.items() if what.startswith("extreme") and name not in w.used]


@statement("lambda")
def _local_lambda(w: Writer, depth: int) -> Made:
    """It sees what is around it, when it is called."""
    name, x, given = w.fresh("g"), w.fresh("x"), w.fresh()
    inner, value = w.expr("int", 1), w.expr("int", 1)
    w.let(given, "int")
    text, parts = fitted(f"{name} = lambda {x}, by=3: {x} * by + {{0}}", [inner])
    call = w.pick((f"{given} = {name}({{1}})", f"{given} = {name}({{1}}, 5) + {name}({w.scope.own})"))
    return [(text, None), (call, None)], [*parts, value]


@statement("store to n x 1")
def _column_store(w: Writer, depth: int) -> Made:
    target = w.own(w.pick(w.places("own", "c2")))
    if w.chance(0.5):
        return line(f"{target} = ti.Matrix([[{{0}}], [{{1}}]], ti.f32)", w.expr("real", 1), number(w, 1))
    return line(f"{target}[ti.cast({{0}} & 1, ti.i32), 0] = {{1}}", w.expr("int", 1), w.expr("real", 1))


@statement("assignment to a row")
def _row(w: Writer, depth: int) -> Made:
    targets = [*w.known("m2", changing=True), w.own(w.pick(w.places("own", "m2", axes=1)))]
    at = "ti.cast({0} & 1, ti.i32)"
    place = f"{w.pick(targets)}[{w.pick((f'{at}, :', f':, {at}', '1, :'))}]"
    return line(f"{place} = {{1}}.xz", w.expr("int", 1), w.expr("v3", 1))
