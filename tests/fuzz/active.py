"""More rows of programs to be differentiated: real functions of reals, structs and matrices that loops change, loops
that are left early, stencils, and recurrences in memory."""

from __future__ import annotations

from tests.fuzz.defined import DEFINITIONS
from tests.fuzz.nodes import Body, Expr, Stmt
from tests.fuzz.places import Place
from tests.fuzz.rows import SMOOTH, Writer, expression, fitted, statement
from tests.fuzz.smooth import with_parts

__all__ = ["IN_MEMORY"]

IN_MEMORY = ("stencil", "stencil", "stencil", "recurrence")  # rows that are whole parallel loops

Made = tuple[list[tuple[str, Body | None]], list[Expr]] | None

# ---- functions of reals ----------------------------------------------------------------------------------------------

# Bodies of functions of two reals, each as a real function and as one that is inlined.
_BODIES = {
    "newton": "r = 1.0 + x * x\n    n = 0\n    while abs(r * r - 1.5 - y * y) > 0.05 and n < 9:\n"
              "        r = 0.5 * (r + (1.5 + y * y) / r)\n        n += 1\n    return r",
    "folded": "s = x\n    for k in range(5):\n        if k == 2:\n            continue\n        s = ti.sin(s) * y + x\n"
              "        if s > 1.2:\n            break\n    return s",
    "early": "if x > y:\n        return ti.sin(x) * y\n    for k in range(3):\n        x_ = x * (k + 1)\n"
             "        if x_ > 0.5:\n            return ti.cos(x_) * y\n    return x - y * y",
    "turned": "m = ti.Matrix([[ti.cos(x), -ti.sin(x)], [ti.sin(x), ti.cos(x)]], ti.f64)\n"
              "    v = m @ ti.Vector([y, x * y], ti.f64)\n    for k in range(2):\n        v[k] = v[1 - k] * v.x\n"
              "    return v.dot(v)",
}  # fmt: skip
# A real function may call itself, change an argument, and return a vector.
_REALS = {
    "powers": "def powers(x: ti.f64, n: ti.i32) -> ti.f64:\n    if n <= 0:\n        return x\n"
              "    return ti.sin(powers(x, n - 1)) * x",
    "halves": "def halves(x: ti.f64, y: ti.f64) -> V3:\n    v = V3(x, y, x * y)\n    for k in range(3):\n"
              "        v[k] = v[k] * ti.sin(v[(k + 1) % 3])\n    return v",
    "scaled": "def scaled(a: ti.ref(ti.f64), y: ti.f64) -> ti.f64:\n    old = a\n    while a < 1.0 and a > -1.0:\n"
              "        a = a * (2.0 + y * y)\n        if a == 0.0:\n            break\n    return old * a",
}  # fmt: skip
for _name, _body in _BODIES.items():
    DEFINITIONS[f"{_name}_r"] = f"@ti.real_func\ndef {_name}_r(x: ti.f64, y: ti.f64) -> ti.f64:\n    {_body}\n"
    if _name != "early":  # no function that is inlined returns from a loop
        DEFINITIONS[f"{_name}_f"] = f"@ti.func\ndef {_name}_f(x, y):\n    {_body}\n"
for _name, _body in _REALS.items():
    DEFINITIONS[_name] = f"@ti.real_func\n{_body}\n"


@expression("real func of reals", "real", "v3", weight=1.5, table=SMOOTH)
def _of_reals(w: Writer, kind: str, depth: int) -> tuple[str, list[Expr]]:
    parts = [w.expr("real", depth), w.expr("real", depth)]
    if kind == "v3":
        return "halves({0}, {1})", parts
    if w.chance(0.2):
        return f"powers({{0}}, {w.pick(('1', '3', f'({w.scope.own}) & 3'))})", parts
    return f"{w.pick([*_BODIES])}_r({{0}}, {{1}})", parts


@expression("func of reals", "real", weight=1.0, table=SMOOTH)
def _inlined(w: Writer, kind: str, depth: int) -> tuple[str, list[Expr]]:
    return f"{w.pick([name for name in _BODIES if name != 'early'])}_f({{0}}, {{1}})", [
        w.expr("real", depth),
        w.expr("real", depth),
    ]


@statement("changed argument", weight=0.7, where=lambda w: not w.at_top, table=SMOOTH)
def _changed(w: Writer, depth: int) -> Made:
    """A real function changes a local that it has as a reference."""
    name, old, values = w.fresh(), w.fresh(), [w.expr("real", 1), w.expr("real", 1)]
    w.let(name, "real")
    w.let(old, "real")
    return with_parts([(f"{name}: ti.f64 = {{0}}", None), (f"{old} = scaled({name}, {{1}})", None)], values)


# ---- loops -----------------------------------------------------------------------------------------------------------

_PARTS = {  # how a round of loop `k` changes the local `t`
    "v3": ("{t}[{k} % 3] = ti.sin({t}[({k} + 1) % 3]) * {0}", "{t}.xy = {t}.yx * {t}.z", "{t} = {t} * {t}.x * 0.5",
           "{t}[0] += {t}[{k} % 3] * {0}", "{t} = {t}.cross({1}) * 0.5"),
    "m2": ("{t}[{k} & 1, 0] = {t}[0, {k} & 1] * {0}", "{t} = {t} @ {t} * 0.25", "{t}[1, 1] -= ti.sin({t}[0, 1])",
           "{t}[:, {k} & 1] = {t}[1, :] * {0}", "{t} = {t}.transpose() + {1} * 0.5"),
    "S": ("{t}.f = {t}.f * {t}.v[{k} % 3] * 0.5", "{t}.v = {t}.v * {t}.f", "{t}.v.y = ti.sin({t}.f) * {0}",
          "{t}.v[{k} % 3] *= {0}", "{t}.k += 1"),
}  # fmt: skip


@statement("carried aggregate", opens=True, weight=4.0, where=lambda w: not w.at_top and w.room(4), table=SMOOTH)
def _aggregate(w: Writer, depth: int) -> Made:
    """A loop that changes parts of a vector, a matrix or a struct, and is left or goes on early by what they are."""
    kind, t, k = w.pick(("v3", "m2", "S")), w.fresh("t"), w.fresh("w")
    target, exprs = w.own(w.pick(w.places("own", kind))), [w.expr(kind, 1), w.expr("int", 0)]
    w.let(t, kind)
    w.enter("serial", 4)
    w.scope.fixed = w.scope.fixed | {k}
    heads = (f"for {k} in range(3):", f"for {k} in range({{1}} & 3):", f"while {k} < 3 and {_measure(kind, t)} < 1.5:")
    head = w.pick((*heads, "while True:"))
    body = w.block(1, min(depth, 1)) if w.chance(0.3) else Body()
    body.stmts += [_round(w, w.pick(_PARTS[kind]), kind, t, k) for _ in range(w.pick((1, 2, 3)))]
    body.stmts.insert(w.pick((0, len(body.stmts))), _left_early(w, _measure(kind, t), k))
    if head.startswith("while"):
        body.fixed.append(f"{k} += 1")
    if head == "while True:":
        body.fixed.append(f"if {k} > 3 or {_measure(kind, t)} > 1.5: break")
    clauses: list[tuple[str, Body | None]] = [(f"{t} = {{0}}", None)]
    clauses += [(f"{k} = 0", None)] if head.startswith("while") else []
    clauses += [(head, body), (f"{target} = {t}" if kind == "S" else f"{target} = {target} * 0.5 + {t}", None)]
    return with_parts(clauses, exprs)


def _measure(kind: str, t: str) -> str:
    return {"v3": f"{t}.x", "m2": f"{t}[0, 1]", "S": f"{t}.f"}[kind]


def _round(w: Writer, text: str, kind: str, t: str, k: str) -> Stmt:
    given = [w.expr("real", 1), w.expr(kind, 1)]
    text, parts = fitted(text.replace("{t}", t).replace("{k}", k), given)
    return Stmt("carried value", [(text, None)], parts)


def _left_early(w: Writer, measure: str, k: str) -> Stmt:
    test, word = w.pick(((f"{measure} > 1.1", "break"), (f"{k} == 1", "continue"), (f"{measure} < -0.9", "continue")))
    return Stmt("if", [(f"if {test}:", Body([Stmt(word, [(word, None)])]))])


# ---- memory ----------------------------------------------------------------------------------------------------------

_ALONG = {  # the loop over inner elements, indices of neighbours, and guards for the others
    1: (("for i in range(1, COUNT - 1):", ("i - 1", "i + 1", "i"), "i", ""),
        ("for i in range(COUNT):", ("ti.max(i - 1, 0)", "ti.min(i + 1, COUNT - 1)", "i"), "i", ""),
        ("for i in range(COUNT):", ("(i + COUNT - 1) % COUNT", "(i + 1) % COUNT", "i"), "i", ""),
        ("for i in range(COUNT):", ("i - 1", "i + 1", "i"), "i", "if i > 0 and i < COUNT - 1:")),
    2: (("for i, j in ti.ndrange((1, ROWS - 1), (1, COLS - 1)):", ("i - 1, j", "i, j + 1", "i + 1, j - 1"), "i, j", ""),
        ("for i, j in ti.ndrange(ROWS, COLS):", ("i - 1, j", "i, j + 1", "i, j"), "i, j",
         "if i > 0 and j < COLS - 1:")),
}  # fmt: skip
_STENCILS = ("{T} = {A} * 0.5 + {B} * 0.25 - {C}", "{T} = ti.sin({A}) * {B} + {C}", "{T} = {T} * {A} + {B}",
             "{T} += {A} * {B} - {C}", "{T} = ti.max({A}, {B}) * {C}", "{T} = {A} * {A} + {T}")  # fmt: skip


@statement("stencil", opens=True, weight=3.0, where=lambda w: w.at_top and not w.loop, table=SMOOTH)
def _stencil(w: Writer, depth: int) -> Made:
    """A parallel loop that computes each element of a field from neighbours in others."""
    axes = w.pick((1, 1, 2))
    target = w.pick(w.places("own", "real", axes=axes))
    sources = [one for part in ("own", "read") for one in w.places(part, "real", axes=axes) if one is not target]
    head, near, own, guard = w.pick(_ALONG[axes])
    texts = [_filled(w, w.pick(_STENCILS), target, own, sources, near) for _ in range(w.pick((1, 1, 2)))]
    if w.chance(0.2):  # scattered instead
        texts = [f"{_at(w, target, near[0])} += {_at(w, w.pick(sources), own)} * {_at(w, w.pick(sources), near[1])}"]
    body = Body([Stmt("own store", [(text, None)]) for text in texts])
    return [(head, Body([Stmt("if", [(guard, body)])]) if guard else body)], []


def _filled(w: Writer, text: str, target: Place, own: str, sources: list[Place], near: tuple[str, ...]) -> str:
    text = text.replace("{T}", _at(w, target, own))
    for name in "ABC":
        text = text.replace(f"{{{name}}}", _at(w, w.pick(sources), w.pick(near)))
    return text


def _at(w: Writer, place: Place, index: str) -> str:
    return w.at(place, *index.split(", ")) if place.axes == 2 else w.at(place, index)


@statement("recurrence", opens=True, weight=0.6, where=lambda w: w.at_top and not w.loop, table=SMOOTH)
def _recurrence(w: Writer, depth: int) -> Made:
    """A loop that runs in order, whose iterations read what others wrote."""
    place = w.pick(w.places("own", "real", axes=1))
    here, last = w.at(place, "i"), w.at(place, "i - 1")
    text = w.pick((f"{here} = {here} + {last} * 0.5", f"{here} -= {last}", f"{here} = ti.sin({last}) * {here}"))
    return [("ti.loop_config(serialize=True)", None),
            ("for i in range(1, COUNT):", Body([Stmt("own store", [(text, None)])]))], []  # fmt: skip
