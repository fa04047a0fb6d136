"""The rows of the table that are statements without blocks."""

from __future__ import annotations

from tests.fuzz.expressions import index, lent, number, two
from tests.fuzz.nodes import Body, Expr, Stmt
from tests.fuzz.places import FLOATS, INTS, PLACES, Place
from tests.fuzz.rows import KINDS, Function, Writer, fitted, statement

__all__ = ["line", "summand"]

Made = tuple[list[tuple[str, Body | None]], list[Expr]] | None
_NUMBERS = ("int", "real")
_AUGMENT = ("+=", "-=", "*=")
_BITS = ("&=", "|=", "^=", "<<=", ">>=")
_FAMILY = {"add": ("+=", "-="), "mul": ("*=",), "and": ("&=",), "or": ("|=",), "xor": ("^=",)}
_ATOMIC = {"add": ("add", "sub")}


def line(text: str, *exprs: Expr) -> Made:
    """A statement of one line."""
    text, used = fitted(text, exprs)
    return [(text, None)], used


def update(w: Writer, target: str, kind: str, depth: int = 2) -> Made:
    """Any assignment to a place that is the iteration's own."""
    if kind in ("S", "N"):
        return line(f"{target} = {{0}}", w.expr(kind, depth))
    if kind == "truth":
        return line(f"{target} {w.pick(('=', '|=', '^=', '&='))} {{0}}", w.expr("truth", depth))
    if kind == "int" and w.chance(0.3):
        return line(f"{target} {w.pick(_BITS)} {{0}}", w.expr("int", depth))
    if kind == "int" and w.chance(0.2):
        text = f"{target} {w.pick(('//=', '%='))} {{0}}"
        return line(text + " | 1" if w.safe else text, w.expr("int", depth))
    if kind == "real" and w.chance(0.2):
        return line(f"{target} {w.pick(('/= 2.0', '//= 3.0', '%= 3.0', '**= 2.0'))}")
    value = number(w, depth) if kind in _NUMBERS else w.expr(kind, depth)
    return line(f"{_augmented(w, target, kind)} {{0}}", value)


def _augmented(w: Writer, target: str, kind: str) -> str:
    """`x =`, or `x +=` and the like. In memory the latter are atomics, and sums of floats by atomics may be made in any
    order: there `x[i] = x[i] +` says it."""
    operator = w.pick(("", "", "+", "-", "*"))
    if operator and kind not in ("int", "w2") and "[" in target and not w.smooth:
        return f"{target} = {target} {operator}"
    return f"{target} {operator}="


# ---- locals ----------------------------------------------------------------------------------------------------------


@statement("let", weight=3.0)
def _let(w: Writer, depth: int) -> Made:
    kind = w.pick(w.likely_kinds("int", "int", "real", "real", *KINDS))
    value, name = w.expr(kind, 2), w.fresh()
    if kind in _NUMBERS and w.chance(0.6):
        type = w.pick(INTS if kind == "int" else FLOATS)
        text = w.pick((f"{name}: ti.{type} = {{0}}", f"{name} = ti.cast({{0}}, ti.{type})"))
    else:
        text = f"{name} = {{0}}"
    w.let(name, kind)
    return line(text, value)


@statement("unpack")
def _unpack(w: Writer, depth: int) -> Made:
    names = w.known("int", "real", changing=True)
    if len(names) >= 2 and w.chance(0.5):
        a, b = w.pick(names), w.pick(names)
        return line(f"{a}, {b} = {b}, {a}") if a != b else None
    a, b = w.fresh(), w.fresh()
    if w.chance(0.5):
        value = w.expr("w2", 1)
        w.let(a, "int")
        w.let(b, "int")
        return line(f"{a}, {b} = {{0}}", value)
    values = w.expr("int", 1), w.expr("real", 1)
    w.let(a, "int")
    w.let(b, "real")
    return line(f"{a}, {b} = {{0}}, {{1}}", *values)


@statement("chained assignment")
def _chained(w: Writer, depth: int) -> Made:
    kind = w.pick(_NUMBERS)
    value, a, b = w.expr(kind, 2), w.fresh(), w.fresh()
    w.let(a, kind)
    w.let(b, kind)
    return line(f"{a} = {b} = {{0}}", value)


@statement("assign", weight=3.0)
def _assign(w: Writer, depth: int) -> Made:
    names = w.known(*KINDS, changing=True)
    if not names:
        return None
    name = w.pick(names)
    kind = next(names[name] for names in w.scope.names if name in names)
    return update(w, name, kind)


@statement("named expression")
def _named(w: Writer, depth: int) -> Made:
    """`:=` makes a variable, or assigns to the one that is there; what stands before it reads the old value."""
    kind = w.pick(_NUMBERS)
    names, value, before, a = w.known(kind, changing=True), w.expr(kind, 1), w.expr(kind, 1), w.fresh()
    fresh = not names or w.chance(0.3)
    name = w.fresh() if fresh else w.pick(names)
    w.let(a, kind)
    if fresh:
        w.let(name, kind)
        return line(f"{a} = {{0}} + ({name} := {{1}})", before, value)
    return line(f"{a} = {name} * 2 + {{0}} + ({name} := {{1}}) - {name}", before, value)


@statement("part of a local", weight=1.5)
def _part(w: Writer, depth: int) -> Made:
    names = w.known("v3", "w2", "m2", "S", "N", changing=True)
    if not names:
        kind, name = w.pick(("v3", "w2", "m2", "S", "N")), w.fresh()
        value = w.expr(kind, 1)
        w.let(name, kind)
        return [(f"{name} = {{0}}", None)], [value]
    name = w.pick(names)
    kind = next(names[name] for names in w.scope.names if name in names)
    return _update_part(w, name, kind)


def _update_part(w: Writer, target: str, kind: str) -> Made:
    at, k = "ti.cast({0} & 1, ti.i32)", w.expr("int", 1)
    parts: dict[str, tuple[tuple[str, str], ...]] = {
        "v3": (("[1]", "real"), (".z", "real"), (f"[{at}]", "real"), ("[2]", "real")),
        "w2": (("[0]", "int"), (".y", "int"), (f"[{at}]", "int")),
        "m2": (("[0, 1]", "real"), (f"[{at}, 1]", "real"), (f"[0, {at}]", "real")),
        "S": ((".k", "int"), (".f", "real"), (".v", "v3"), (".v.y", "real"), (f".v[{at}]", "real")),
        "N": ((".b", "int"), (".s", "S"), (".s.k", "int"), (".s.v[1]", "real"), (".s.v", "v3")),
    }
    text, inner = w.pick(parts[kind])
    exact = inner in ("int", "w2") or "[" not in target
    operator = "=" if inner == "S" or not exact else w.pick(("=", *_AUGMENT))
    return line(f"{target}{text} {operator} {{1}}", k, w.expr(inner, 1))


@statement("swizzled assignment")
def _swizzled(w: Writer, depth: int) -> Made:
    names = w.known("v3", changing=True)
    value = w.expr("v3", 1)
    if not names:
        name = w.fresh()
        w.let(name, "v3")
        return [(f"{name} = {{0}}", None), (f"{name}.xy -= {{0}}.zy", None)], [value]
    return line(
        f"{w.pick(names)}.{w.pick(('xy', 'zx', 'yz'))} {w.pick(('=', '+='))} {{0}}.{w.pick(('xy', 'yx'))}", value
    )


# ---- own places ------------------------------------------------------------------------------------------------------


@statement("own store", weight=4.0)
def _own(w: Writer, depth: int) -> Made:
    kinds, axes = (w.pick(w.likely_kinds(*KINDS)),) if w.smooth else KINDS, w.pick((1, 1, 2))
    place = w.pick(w.places("own", *kinds, axes=axes) or w.places("own", *kinds))
    return update(w, w.own(place), place.kind)


@statement("swap in a branch", opens=True, weight=2.0, where=lambda w: not w.at_top)
def _swap(w: Writer, depth: int) -> Made:
    """A branch reads an own place, overwrites it, and hands the old value on."""
    kind = w.pick(_NUMBERS)
    source, target = w.own(w.pick(w.places("own", kind))), w.own(w.pick(w.places("own", kind)))
    old, new = w.fresh(), w.fresh()
    start, truth = w.expr(kind, 1), w.expr("truth", 1)
    if w.chance(0.5):  # all of one type
        target, start = source, Expr("own element", source, kind)
    value = w.expr(kind, 1)
    texts = (f"{old} = {source}", f"{source} = {{0}}", f"{new} = {old}")
    inner = Body([Stmt("own store", [(text, None)], [value] if "{0}" in text else []) for text in texts])
    w.let(new, kind)
    return [(f"{new} = {{0}}", None), ("if {1}:", inner), (f"{target} = {new}", None)], [start, truth]


@statement("part of an own place")
def _own_part(w: Writer, depth: int) -> Made:
    place = w.pick(w.places("own", "v3", "w2", "m2", "S", "N"))
    if place.kind in ("v3", "w2") and w.chance(0.5):
        return _parts_in_turn(w, w.own(place), "real" if place.kind == "v3" else "int")
    return _update_part(w, w.own(place), place.kind)


def _parts_in_turn(w: Writer, target: str, kind: str) -> Made:
    """One part of a cell twice, the second time for some only, and then another part."""
    values = w.expr(kind, 1), w.expr("truth", 1), w.expr(kind, 1), w.expr(kind, 1)
    lines = (f"{target}[0] = {{0}}", f"if {{1}}: {target}[0] = {{2}}", f"{target}[1] = {{3}}")
    return [(text, None) for text in lines], list(values)


@statement("own atomic")
def _own_atomic(w: Writer, depth: int) -> Made:
    """What was there before is known: nobody else was there."""
    place = w.pick([p for p in w.places("own", "int", "w2") if p.type in ("i32", "u32", "i64", "u64", "i16")])
    kind = w.pick(("add", "sub", "min", "max", "and", "or", "xor", "mul"))
    value, name = w.expr(place.kind, 1), w.fresh()
    w.let(name, place.kind)
    return line(f"{name} = ti.atomic_{kind}({w.own(place)}, {{0}})", value)


@statement("array store", where=lambda w: bool(w.scope.arrays), weight=1.5)
def _array(w: Writer, depth: int) -> Made:
    if w.pick(sorted(w.scope.arrays & {"xs", "ks"})) == "ks":
        return update(w, f"ks[{w.scope.own}]", "int")
    return update(w, f"xs[{two(w)}]", "real")


@statement("lent store", where=lambda w: w.scope.where == "kernel")
def _lent(w: Writer, depth: int) -> Made:
    if w.alias == "field" and w.chance(0.3):
        return update(w, f"o_i32[{w.scope.own}]", "int")
    return update(w, lent(w, w.pick(("al", "be"))), "int")


@statement("scatter", weight=1.5)
def _scatter(w: Writer, depth: int) -> Made:
    """Through a permutation; each place through one of its own, so that no two iterations meet."""
    place = w.pick(w.places("scatter", *_NUMBERS))
    through = "perm" if place.type in ("i32", "f32") else "perm_2"
    return update(w, w.at(place, f"{through}[{w.scope.own}]"), place.kind)


# ---- sums ------------------------------------------------------------------------------------------------------------


def summand(w: Writer, kind: str, family: str, type: str) -> Expr | None:
    """A value that gives the same, summed up in any order: small quarters, whole numbers without a sign of zero. None
    where there would be too many for halves, which have whole numbers up to 2048."""
    if kind in ("int", "w2", "truth") or w.smooth:
        return w.expr(kind, 2)
    if kind == "v3":
        return Expr("cast", "ti.Vector([{0} & 15, {1} & 15, {0} & 7], ti.f32) * 0.25", "v3",
                    [w.expr("int", 1), w.expr("int", 1)])  # fmt: skip
    if type == "f16" and family == "add":
        few = w.scope.rounds * w.scope.copies <= 6 and w.scope.where == "kernel"
        return Expr("cast", "ti.cast({0} & 1, ti.f16)", "real", [w.expr("int", 1)]) if few else None
    text = f"ti.cast({{0}} & 15, ti.{type})"
    return Expr("cast", text + (" * 0.25" if family == "add" else ""), "real", [w.expr("int", 1)])


def _sum(w: Writer, target: str, kind: str, family: str, type: str, *at: Expr) -> Made:
    """An atomic update; the target may have `{1}`, an index."""
    value = summand(w, kind, family, type)
    if value is None:
        return None
    if family in _FAMILY and w.chance(0.6):
        return line(f"{target} {w.pick(_FAMILY[family])} {{0}}", value, *at)
    return line(f"ti.atomic_{w.pick(_ATOMIC.get(family, (family,)))}({target}, {{0}})", value, *at)


def _met(w: Writer, place: Place) -> str:
    """An element at which iterations may meet, its index the part `{1}`."""
    return w.at(place, index(w, "COUNT").replace("{0}", "{1}"))


@statement("sum", weight=2.5)
def _atomic(w: Writer, depth: int) -> Made:
    """Where several iterations may meet."""
    place = w.pick(w.places("sum", "int", "real", "w2", "v3"))
    return _sum(w, _met(w, place), place.kind, place.family, place.type, w.expr("int", 1))


@statement("shared local", where=lambda w: w.scope.parallel and bool(_sums(w)), weight=6.0)
def _shared(w: Writer, depth: int) -> Made:
    name = w.pick(_sums(w))
    family, _, type = w.scope.shared[name].partition(" ")
    kind = next(names[name] for names in w.scope.names if name in names)
    if kind == "truth":
        return line(f"{name} {_FAMILY[family][0]} {{0}}", w.expr("truth", 2))
    if kind == "w2" and w.chance(0.4):
        return _sum(w, f"{name}[{w.pick((0, 1))}]", "int", family, "i32")
    return _sum(w, name, kind, family, type)


def _sums(w: Writer) -> list[str]:
    return [name for name, what in w.scope.shared.items() if " " in what and not what.startswith("extreme")]


def _named(w: Writer, part: str) -> list[str]:
    return [name for name, what in w.scope.shared.items() if what == part and name not in w.used]


@statement("counter", where=lambda w: w.scope.parallel and bool(_named(w, "count")))
def _counter(w: Writer, depth: int) -> Made:
    """The old values of a counter add up to the same, whichever iteration got which, if it has no other use."""
    return line(f"z_add_u32[None] += ti.atomic_add({w.pick(_named(w, 'count'))}, 1)")


@statement("append", where=lambda w: w.scope.parallel and bool(_named(w, "slots")), weight=2.0)
def _append(w: Writer, depth: int) -> Made:
    """Which slot an iteration gets is open; what all of them hold together is not."""
    count, slot = w.pick(_named(w, "slots")), w.fresh("slot")
    slots = PLACES[f"slots_{count[1:]}"]
    value = w.expr(slots.kind, 2)
    store = Stmt("append", [(f"{slots.name}[{slot}] = {{0}}", None)], [value])
    return [(f"{slot} = ti.atomic_add({count}, 1)", None), (f"if {slot} < SLOTS:", Body([store]))], []


@statement("append by a field", where=lambda w: w.scope.parallel or w.scope.where != "kernel")
def _append_by_field(w: Writer, depth: int) -> Made:
    """The counter is the element of a field, which functions see as well: one for all lists, so that each slot is taken
    once."""
    slots, slot = w.pick(w.places("lists", "int", "real", "w2")), w.fresh("slot")
    store = Stmt("append by a field", [(f"{slots.name}[{slot}] = {{0}}", None)], [w.expr(slots.kind, 2)])
    count = w.pick(("ti.atomic_add(z_slots[None], 1)", "ti.atomic_sub(z_slots[None], -1)"))
    return [(f"{slot} = {count}", None), (f"if {slot} < SLOTS:", Body([store]))], []


@statement("tick", where=lambda w: w.scope.parallel and not w.loop and bool(_named(w, "ticks")))
def _tick(w: Writer, depth: int) -> Made:
    """Each iteration keeps the old value of a counter, which it asks once."""
    count = w.pick(_named(w, "ticks"))
    w.used.add(count)
    return line(f"ticks_{count[1:]}[{w.scope.own}] = ti.atomic_add({count}, 1)")


@statement("flag")
def _flag(w: Writer, depth: int) -> Made:
    """One constant for each."""
    names = _named(w, "flag")
    if names and w.chance(0.6):
        return line(f"{w.pick(names)} = 5")
    place = w.pick(w.places("flag", "int"))
    return line(f"{w.at(place, index(w, 'COUNT'))} = 5", w.expr("int", 1))


# ---- the rest --------------------------------------------------------------------------------------------------------


@statement("print", weight=0.5)
def _print(w: Writer, depth: int) -> Made:
    kind = w.pick(("int", "real", "w2", "truth"))
    text = w.pick(('print("p", {0})', 'print(f"q {{{0}}}")', 'print({0}, 7, sep="-")'))
    return line(text, w.expr(kind, 1))


@statement("assert", weight=0.7)
def _assert(w: Writer, depth: int) -> Made:
    """One that holds."""
    return line('assert ({0} & 7) < 8, "it does not hold"', w.expr("int", 1))


def reachable(w: Writer) -> list[Function]:
    """The functions that a call here keeps the program short with."""
    return [one for one in w.functions if w.room(one.rounds)]


def _calls(w: Writer) -> list[Function]:
    ready = [one for one in reachable(w) if w.scope.arrays.issuperset({"xs", "ks"} & {*one.params})]
    return [one for one in ready if all(w.known(k[1:], changing=True) for k in one.params if k[0] == "&")]


def arguments(w: Writer, one: Function, depth: int) -> list[Expr]:
    """What a function is called with, behind the index."""
    made: list[Expr] = []
    for kind in one.params:
        if kind[0] == "&":
            made.append(Expr("variable", w.pick(w.known(kind[1:], changing=True)), kind[1:]))
        elif kind in ("xs", "ks"):
            made.append(Expr("literal", kind, kind))
        elif kind == "small":
            made.append(Expr("literal", w.pick(("2", "3", f"({w.scope.own} & 3)")), "int"))
        else:
            made.append(w.expr(kind, depth))
    return made


def called(w: Writer, one: Function, given: list[Expr]) -> str:
    """The text of a call."""
    w.most_rounds = max(w.most_rounds, w.scope.rounds * one.rounds)
    return f"{one.name}({', '.join([w.scope.own, *(f'{{{k}}}' for k in range(len(given)))])})"


@statement("call", where=lambda w: len(_calls(w)) > 0 and not w.at_top and w.room(2, 2), weight=2.5)
def _call(w: Writer, depth: int) -> Made:
    one = w.pick(_calls(w))
    given = arguments(w, one, 1)
    text = called(w, one, given)
    if not one.result or w.chance(0.2):
        return line(text, *given)
    names = [w.fresh() for _ in one.result.split()]
    for name, kind in zip(names, one.result.split()):
        w.let(name, kind)
    return line(f"{', '.join(names)} = {text}", *given)
