"""The rows of the table that have blocks: conditions, serial loops, and the parallel loops of a kernel."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from tests.fuzz.nodes import Body, Expr, Stmt
from tests.fuzz.places import FLOATS, INTS, NUMBERS, PLACES, Extents, Place, kind_of
from tests.fuzz.rows import Writer, fitted, statement

__all__ = ["PARALLEL", "parallel_loop"]

Made = tuple[list[tuple[str, Body | None]], list[Expr]] | None
_FAMILIES = ("add", "add", "add", "xor", "or", "and", "mul", "min", "max")
_BOX = "ROWS, COLS"
_MANY = Extents().count


def _bind(w: Writer, *names: str, kind: str = "int") -> None:
    """Indices of a loop: nobody assigns them."""
    w.scope.names = [*w.scope.names, dict.fromkeys(names, kind)]
    w.scope.fixed = w.scope.fixed | {*names}


# ---- conditions ------------------------------------------------------------------------------------------------------


@statement("if", opens=True, weight=3.0)
def _if(w: Writer, depth: int) -> Made:
    w.enter("if")
    return [("if {0}:", w.block(3, depth))], [w.expr("truth", 2)]


@statement("if else", opens=True, weight=2.0)
def _if_else(w: Writer, depth: int) -> Made:
    w.enter("if")
    return [("if {0}:", w.block(2, depth)), ("else:", w.block(2, depth))], [w.expr("truth", 2)]


@statement("elif", opens=True, weight=2.0)
def _elif(w: Writer, depth: int) -> Made:
    w.enter("if")
    clauses = [("if {0}:", w.block(2, depth)), ("elif {1}:", w.block(2, depth))]
    if w.chance(0.6):
        clauses.append(("else:", w.block(2, depth)))
    return [*clauses], [w.expr("truth", 1), w.expr("truth", 1)]


@statement("static if", opens=True)
def _static_if(w: Writer, depth: int) -> Made:
    test = w.pick(("ti.static(LIST[0] == 2)", "ti.static(ALIAS == 'same')", "ti.static(LIST[1] > 3)"))
    return [(f"if {test}:", w.block(2, depth)), ("else:", w.block(2, depth))], []


# ---- serial loops ----------------------------------------------------------------------------------------------------


def _serial(rounds: int) -> Callable[[Writer], bool]:
    """Whether a loop is serial here, and not too long."""
    return lambda w: not w.at_top and w.room(rounds)


@statement("for range", opens=True, where=_serial(4), weight=3.0)
def _for_range(w: Writer, depth: int) -> Made:
    few = "ti.cast({0} & 3, ti.i32)"
    bounds = w.pick(("3", few, f"{few}, 0, -1", "5, -1, -2", f"{few}, 9, 3", "1, 4", f"{few}, 4"))
    exprs = [w.expr("int", 1)] if "{0}" in bounds else []
    name = w.fresh("i")
    w.enter("serial", 4)
    _bind(w, name)
    return [(f"for {name} in range({bounds}):", w.block(3, depth))], exprs


@statement("for ndrange", opens=True, where=_serial(6))
def _for_ndrange(w: Writer, depth: int) -> Made:
    bounds = w.pick(("2, 3", "(1, 3), 2", "2, ti.cast({0} & 3, ti.i32)", "2, 1, 2"))
    exprs = [w.expr("int", 1)] if "{0}" in bounds else []
    names = [w.fresh("i") for _ in range(3 if bounds == "2, 1, 2" else 2)]
    w.enter("serial", 6)
    _bind(w, *names)
    return [(f"for {', '.join(names)} in ti.ndrange({bounds}):", w.block(2, depth))], exprs


@statement("for grouped", opens=True, where=_serial(4))
def _for_grouped(w: Writer, depth: int) -> Made:
    name = w.fresh("g")
    w.enter("serial", 4)
    _bind(w, name, kind="w2")
    return [(f"for {name} in ti.grouped(ti.ndrange({w.pick(('2, 2', '(1, 3), 2'))})):", w.block(2, depth))], []


@statement("for field", opens=True, where=_serial(3), weight=0.7)
def _for_field(w: Writer, depth: int) -> Made:
    """The loop is long, and its body short."""
    name, over = w.fresh("i"), w.pick(("r_u8", "few", "cells")) if w.room(_MANY) else "few"
    w.enter("serial", 3 if over == "few" else _MANY)
    _bind(w, name)
    return [(f"for {name} in {over}:", w.block(1, min(depth, 1)))], []


@statement("while", opens=True, where=_serial(3), weight=1.5)
def _while(w: Writer, depth: int) -> Made:
    name = w.fresh("w")
    test, exprs = f"{name} < {w.pick(('0', '2', '3'))}", list[Expr]()
    if w.chance(0.5):
        test, exprs = f"{test} and {{0}}", [w.expr("truth", 1)]
    w.enter("serial", 3)
    _bind(w, name)
    return [(f"{name} = 0", None), (f"while {test}:", w.block(3, depth, fixed=[f"{name} += 1"]))], exprs


@statement("for static", opens=True, where=lambda w: w.room(3, 3), weight=1.5)
def _for_static(w: Writer, depth: int) -> Made:
    name = w.fresh("c")
    over = w.pick(("range(2)", "range(3)", "(5, 2)", "[1, 4]", "LIST"))
    w.enter("static", 3, 3)
    _bind(w, name)
    return [(f"for {name} in ti.static({over}):", w.block(2, depth))], []


@statement("static list of values", opens=True, where=lambda w: w.room(3, 3), weight=1.0)
def _for_values(w: Writer, depth: int) -> Made:
    """Unrolled over values that only the kernel knows."""
    name, k = w.fresh("e"), w.fresh("q")
    texts = (f"[{{0}} * {k} for {k} in range(3)]", "[{0}, {1}]", f"[{k} for {k} in ({{0}}, 3, {{1}}, 2) if True]")
    text, exprs = fitted(w.pick(texts), [w.expr("int", 1), w.expr("int", 1)])
    w.enter("static", 3, 3)
    _bind(w, name)
    return [(f"for {name} in ti.static({text}):", w.block(2, depth))], exprs


@statement("static list of fields", opens=True, where=lambda w: w.room(2, 2), weight=1.0)
def _for_places(w: Writer, depth: int) -> Made:
    """Unrolled over fields that each iteration has an element of."""
    name = w.fresh("h")
    places = [place for place in w.places("own", "int", "real", axes=1) if not w.layout(place).offset]
    chosen = [w.pick(places).name for _ in range(2)]
    w.enter("static", 2, 2)
    whole = all(PLACES[one].kind == "int" for one in chosen)  # sums of floats by atomics have no order
    fixed = [f"{name}[{w.scope.own}] {w.pick(('+=', '-=', '=')) if whole else '='} 3"]
    return [(f"for {name} in ti.static([{', '.join(chosen)}]):", w.block(2, depth, fixed=fixed))], []


# ---- leaving ---------------------------------------------------------------------------------------------------------


def _leaves(w: Writer, word: str) -> Made:
    return [("if {0}:", Body([Stmt(word, [(word, None)])]))], [w.expr("truth", 1)]


@statement("break", where=lambda w: w.loop == "serial", weight=1.5)
def _break(w: Writer, depth: int) -> Made:
    return _leaves(w, "break")


@statement("continue", where=lambda w: w.loop == "serial" or (w.scope.parallel and not w.loop), weight=1.5)
def _continue(w: Writer, depth: int) -> Made:
    return _leaves(w, "continue")


@statement("static break", where=lambda w: w.scope.blocks[-1:] == ("static",), weight=4.0)
def _static_break(w: Writer, depth: int) -> Made:
    names = [name for names in reversed(w.scope.names) for name in names if name[0] == "c"]
    if not names:
        return None
    word = w.pick(("break", "continue"))
    return [(f"if ti.static({names[0]} == 1):", Body([Stmt("static break", [(word, None)])]))], []


# ---- parallel loops --------------------------------------------------------------------------------------------------


def _over(w: Writer, axes: int) -> tuple[str, Place]:
    place = w.pick(w.places("read", "int", "real", "v3", "m2", axes=axes))
    return place.name, place


def _minus(name: str, first: Sequence[int], axis: int) -> str:
    return f"({name} - {first[axis]})" if first else name


def _range(w: Writer) -> tuple[str, list[str], str, str, list[Expr]]:
    few = "ti.cast({0} & 7, ti.i32)"
    bounds = w.pick((
        "COUNT", "COUNT", "n", f"{few}, COUNT", "2, COUNT - 1, 3", "COUNT - 1, -1, -1",
        "COUNT - 1, 3, -2", f"{few} - 1",
    ))  # fmt: skip
    exprs = [w.expr("int", 1)] if "{0}" in bounds else []
    return f"i in range({bounds})", ["i"], "i", "i // COLS, i % COLS", exprs


def _box(w: Writer) -> tuple[str, list[str], str, str, list[Expr]]:
    if w.chance(0.3):
        own = "(i * 12 + j * 4 + l)"
        return "i, j, l in ti.ndrange(2, 3, 4)", ["i", "j", "l"], own, f"{own} // COLS, {own} % COLS", []
    few = "ti.cast({0} & 3, ti.i32)"
    bounds = w.pick((_BOX, _BOX, "(1, ROWS), (2, COLS)", f"{few}, COLS", f"ROWS, ({few}, COLS)"))
    exprs = [w.expr("int", 1)] if "{0}" in bounds else []
    return f"i, j in ti.ndrange({bounds})", ["i", "j"], "(i * COLS + j)", "i, j", exprs


def _grouped(w: Writer) -> tuple[str, list[str], str, str, list[Expr]]:
    own = "(gi[0] * COLS + gi[1])"
    if w.chance(0.5):
        return f"gi in ti.grouped(ti.ndrange({_BOX}))", ["gi"], own, "gi", []
    name, place = _over(w, 2)
    first = w.layout(place).offset
    if first:
        own = f"((gi[0] - {first[0]}) * COLS + gi[1] - {first[1]})"
        return f"gi in ti.grouped({name})", ["gi"], own, f"gi[0] - {first[0]}, gi[1] - {first[1]}", []
    return f"gi in ti.grouped({name})", ["gi"], own, "gi", []


def _struct_for(w: Writer) -> tuple[str, list[str], str, str, list[Expr]]:
    if w.chance(0.5):
        name, place = _over(w, 1)
        own = _minus("i", w.layout(place).offset, 0)
        return f"i in {name}", ["i"], own, f"{own} // COLS, {own} % COLS", []
    name, place = _over(w, 2)
    i, j = (_minus(n, w.layout(place).offset, k) for k, n in enumerate("ij"))
    return f"i, j in {name}", ["i", "j"], f"({i} * COLS + {j})", f"{i}, {j}", []


def _over_array(w: Writer) -> tuple[str, list[str], str, str, list[Expr]]:
    if w.chance(0.5):
        return "i in ks", ["i"], "i", "i // COLS, i % COLS", []
    return "i, j in xs", ["i", "j"], "(i * COLS + j)", "i, j", []


def _snode(w: Writer) -> tuple[str, list[str], str, str, list[Expr]]:
    if w.chance(0.3):
        return "i in cells", ["i"], "i", "i // COLS, i % COLS", []
    if w.chance(0.5):
        return "i, j in boxes", ["i", "j"], "(i * COLS + j)", "i, j", []
    return "gi in ti.grouped(boxes)", ["gi"], "(gi[0] * COLS + gi[1])", "gi", []


PARALLEL = {
    "parallel range": _range,
    "parallel ndrange": _box,
    "parallel grouped": _grouped,
    "parallel struct-for": _struct_for,
    "parallel array": _over_array,
    "parallel snode": _snode,
}
_CONFIGS = ("simd=1", "simd=4", "simd=8", "simd=16", "serialize=True", "parallelize=2", "block_dim=64")


def _shares(w: Writer) -> list[Stmt]:
    """Locals in front of a loop that its iterations share, and statements that make them."""
    made: list[Stmt] = []
    unrolled = bool(w.loop)
    for _ in range(w.pick((0, 1, 1, 2))):
        name, family = w.fresh("s"), w.pick(_FAMILIES)
        kind = w.pick(("int", "int", "int", "real", "w2", "v3", "truth", *("real",) * 4 * w.smooth))
        if (kind == "real" and family not in ("add", "min", "max", *("mul",) * w.smooth)) or (
            kind == "v3" and family != "add"
        ):
            kind = "int"
        if kind == "truth" and family not in ("or", "and", "xor"):
            family = "or"
        type = {"int": w.pick(INTS), "real": w.pick(FLOATS)}.get(kind, "i32")
        start = {"w2": "ti.Vector([1, perm[2]], ti.i32)", "v3": "V3(0.5, 1.0, 2.0)", "truth": "(perm[1] > 90)"}
        text = start.get(kind, f"ti.cast(perm[3], ti.{type})")
        made.append(Stmt("shared local", [(f"{name} = {text}", None)]))
        w.let(name, kind)
        w.scope.shared[name] = f"{family} {type}"
    if unrolled:
        return made  # unrolled: a counter would be shared by several loops
    for part, letter, most, row, share in (("slots", "k", 4, "append", 0.5), ("ticks", "n", 2, "tick", 0.3)):
        free = [n for n in range(most) if (part, n) not in w.taken]
        if free and w.likely(row, share):
            w.taken.add((part, free[0]))
            _counted(w, made, f"{letter}{free[0]}", part, row)
    if w.likely("flag", 0.25):
        _counted(w, made, w.fresh("f"), "flag", "flag")
    if w.likely("counter", 0.25):
        _counted(w, made, w.fresh("m"), "count", "counter")
    if w.likely("extreme by if", 0.4):
        name, type = w.fresh("m"), w.pick(NUMBERS)
        made.append(Stmt("extreme by if", [(f"{name} = ti.cast(perm[3], ti.{type})", None)]))
        w.let(name, kind_of(type))
        w.scope.shared[name] = f"extreme {type}"
    return made


def _counted(w: Writer, made: list[Stmt], name: str, part: str, row: str) -> None:
    made.append(Stmt(row, [(f"{name} = 0", None)]))
    w.let(name, "int")
    w.scope.shared[name] = part


def _private(w: Writer) -> tuple[list[Stmt], list[Stmt], list[tuple[str, str]]]:
    """Locals from before the loop that each iteration writes first, and nobody reads later."""
    if w.chance(0.75):
        return [], [], []
    kind, name = w.pick(("int", "real", "v3")), w.fresh("u")
    first, again = {"int": ("1", "perm[{own}]"), "real": ("0.5", "r_f32[{own} % COUNT] * 0.5"),
                    "v3": ("V3(0.0, 1.0, 2.0)", "V3(1.0, perm[{own}], 3.0)")}[kind]  # fmt: skip
    before = Stmt("private local", [(f"{name} = {first}", None)])
    return (
        [before],
        [Stmt("private local", [(f"{name} = {again.format(own=w.scope.own)}", None)], pinned=True)],
        [(name, kind)],
    )


_ACTIVE = ("iteration", "reused local", "carried aggregate", "sum of reals", "own store", "atomic of reals")


def _add_active(w: Writer, body: Body, depth: int) -> None:
    """One more statement, first or last, that computes with reals: of a program to be differentiated."""
    made = w.make(w.pick([w.rows[name] for name in _ACTIVE if w.allowed(w.rows[name], depth)]), depth)
    if made is not None:
        body.stmts.insert(w.pick((0, len(body.stmts))), made)


def parallel_loop(w: Writer, row: str, size: int, depth: int) -> list[Stmt]:
    """A parallel loop with what stands before it."""
    outer = w.scope
    w.scope = replace(outer, shared={}, names=[*outer.names])
    before = _shares(w)
    config = w.pick(_CONFIGS) if w.chance(0.35) else ""
    if config:
        before.append(Stmt("loop config", [(f"ti.loop_config({config})", None)]))
    with w.inside(row):
        head, names, own, own2, exprs = PARALLEL[row](w)
        fixed = frozenset(name for names in outer.names for name in names) - {*w.scope.shared}
        w.scope = replace(w.scope, parallel=True, own=own, own2=own2, fixed=outer.fixed | fixed, blocks=())
        _bind(w, *names, kind="w2" if names == ["gi"] else "int")
        private, first, locals_ = _private(w)
        w.scope.names[-1].update(locals_)
        body = w.block(size, depth)
        if w.smooth and w.chance(0.8):
            _add_active(w, body, depth)
        body.stmts[:0] = first
    w.scope = outer
    at = len(before) - bool(config)
    return [*before[:at], *private, *before[at:], Stmt(row, [(f"for {head}:", body)], exprs)]
