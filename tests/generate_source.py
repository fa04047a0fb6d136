"""Random kernels as Python source, for property tests: every one is well typed, ends, stays in bounds, has no race.

`sources()` draws the text of a kernel `run(a, b, xs, ks)` over the fields of `FIELDS` and two arrays, and of the
functions that it calls (see `generate_functions.py`). In its parallel loops each iteration writes only its own elements
of the "own" fields and of the arrays, reads the inputs anywhere, and accumulates by atomics that give the same in any
order. A literal never stands alone: what Python itself would compute is not what is tested.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from hypothesis import strategies as st

__all__ = ["COUNT", "FIELDS", "HEADER", "Function", "Writer"]

COUNT = 12  # iterations of the parallel loop, and elements of each field

# Name: (element type, elements of a vector or 0, part). Parts: "own", "input", or the atomic it accumulates by.
FIELDS: dict[str, tuple[str, int, str]] = {
    "oi": ("i32", 0, "own"),
    "of": ("f32", 0, "own"),
    "ol": ("i64", 0, "own"),
    "od": ("f64", 0, "own"),
    "ob": ("u8", 0, "own"),
    "ov": ("f32", 3, "own"),
    "ow": ("i32", 2, "own"),
    "ri": ("i32", 0, "input"),
    "rf": ("f32", 0, "input"),
    "ru": ("u32", 0, "input"),
    "aa": ("i32", 0, "add"),
    "ax": ("i64", 0, "max"),
    "an": ("f32", 0, "min"),
    "ao": ("u32", 0, "xor"),
    "aq": ("f32", 0, "quarters"),
}
HEADER = "S = ti.types.struct(k=ti.i32, f=ti.f32, v=ti.math.vec3)\n"

_INTS = ("i32", "i64", "u8", "u32", "i8")
_FLOATS = ("f32", "f64")
_LITERALS = ("0", "1", "2", "3", "7", "31", "100", "255", "-1", "-5", "65535", "2147483647")
_DECIMALS = ("0.0", "0.5", "1.0", "-1.5", "3.25", "100.0", "1e-3", "-2e7", "1e20")
_COMPARES = ("<", "<=", ">", ">=", "==", "!=")


@dataclass(frozen=True)
class Function:
    """A function of the program: the kinds of its parameters after the index ("&int": a variable that it may change),
    the kind it returns. One with `effects` is called only where a statement begins, so that the order of operands does
    not show."""

    name: str
    params: tuple[str, ...]
    result: str
    effects: bool


class Writer:
    """Writes one kernel or function. `scopes` hold the variables in sight: name -> "int", "float", "v3", "v2", "m2" or
    "s" (a struct); "index" and "given" cannot be assigned. `pure`: it writes to nothing but its variables."""

    def __init__(self, draw: Any, functions: Sequence[Function] = (), pure: bool = False) -> None:
        self.draw, self.functions, self.pure = draw, list(functions), pure
        self.lines: list[str] = []
        self.scopes: list[dict[str, str]] = [{}]
        self.made = 0
        self.loops = 0

    def pick(self, options: Any) -> Any:
        return self.draw(st.sampled_from(options))

    def chance(self, n: int) -> bool:
        return bool(self.draw(st.integers(0, n)) == n)

    def known(self, *kinds: str) -> list[str]:
        return [name for scope in self.scopes for name, kind in scope.items() if kind in kinds]

    # ---- expressions

    def number(self, depth: int) -> str:
        """A scalar of any type."""
        return self.whole(depth) if self.chance(1) else self.real(depth)

    def element(self, *types: str) -> str:
        """An element of a scalar field that may be read here."""
        names = [
            n for n, (kind, size, part) in FIELDS.items() if kind in types and not size and part in ("own", "input")
        ]
        name = self.pick([*names, *(["xs"] if "f32" in types else ["ks"])])
        if name in ("xs", "ks"):
            return f"xs[i, {self.pick((0, 1, '(i & 1)'))}]" if name == "xs" else "ks[i]"
        return f"{name}[i]" if FIELDS[name][2] == "own" else f"{name}[{self.index()}]"

    def index(self) -> str:
        return self.pick(("i", f"(i + {self.pick((1, 5, 11))}) % {COUNT}", f"({self.leaf()} & 7)"))

    def leaf(self) -> str:
        """An integer that is no literal."""
        return self.pick([*self.known("int", "index"), "oi[i]", "ri[i]"])

    def whole(self, depth: int) -> str:
        """An integer expression."""
        if depth <= 0:
            return self.leaf() if self.chance(1) else self.element(*_INTS)
        kinds = ("arith", "arith", "bits", "shift", "cast", "unary", "minmax", "ternary", "leaf", "part", "member")
        kind = self.pick((*kinds, *self.callable("int")))
        if kind == "call":
            return self.call("int", depth - 1)
        if kind == "member":
            return f"{self.struct(depth - 1)}.k"
        left, right = self.whole(depth - 1), self.operand(depth - 1)
        if kind == "arith":
            return f"({left} {self.pick(('+', '-', '*', '//', '%'))} {right})"
        if kind == "bits":
            return f"({left} {self.pick(('&', '|', '^'))} {right})"
        if kind == "shift":
            return f"({left} {self.pick(('<<', '>>'))} {self.pick((1, 3, 7, 31))})"
        if kind == "cast":
            return f"ti.cast({self.number(depth - 1)}, ti.{self.pick(_INTS)})"
        if kind == "unary":
            return f"{self.pick(('-', '~', 'abs'))}({left})"
        if kind == "minmax":
            return f"ti.{self.pick(('min', 'max'))}({left}, {right})"
        if kind == "ternary":
            return f"({left} if {self.truth(depth - 1)} else {self.whole(depth - 1)})"
        return f"{self.vector('v2', depth - 1)}[{self.pick((0, 1))}]" if kind == "part" else left

    def operand(self, depth: int) -> str:
        return self.pick(_LITERALS) if self.chance(2) else self.whole(depth)

    def real(self, depth: int) -> str:
        """A float expression."""
        if depth <= 0:
            return self.pick([*self.known("float", "given"), self.element(*_FLOATS)])
        kinds = ("arith", "arith", "arith", "cast", "unary", "minmax", "ternary", "leaf", "part", "quotient", "entry")
        kind = self.pick((*kinds, *self.callable("float")))
        if kind == "call":
            return self.call("float", depth - 1)
        if kind == "entry":
            row, column = self.pick((0, 1, "i & 1")), self.pick((0, 1, f"{self.leaf()} & 1"))
            return self.pick((f"{self.matrix(depth - 1)}[{row}, {column}]", f"{self.struct(depth - 1)}.f"))
        left = self.real(depth - 1)
        right = self.pick(_DECIMALS) if self.chance(2) else self.number(depth - 1)
        if kind == "arith":
            return f"({left} {self.pick(('+', '-', '*', '/'))} {right})"
        if kind == "cast":
            return f"ti.cast({self.number(depth - 1)}, ti.{self.pick(_FLOATS)})"
        if kind == "unary":
            return f"{self.pick(('-', 'abs', 'ti.floor', 'ti.ceil', 'ti.round', 'ti.sqrt'))}({left})"
        if kind == "minmax":
            return f"ti.{self.pick(('min', 'max'))}({left}, {right})"
        if kind == "ternary":
            return f"({left} if {self.truth(depth - 1)} else {self.real(depth - 1)})"
        if kind == "quotient":
            return f"({self.whole(depth - 1)} / {self.whole(depth - 1)})"
        return (
            f"{self.vector('v3', depth - 1)}{self.pick(('[0]', '.y', '.sum()', '[i % 3]'))}" if kind == "part" else left
        )

    def vector(self, kind: str, depth: int) -> str:
        """A vector expression."""
        leaf = self.pick([*self.known(kind), "ov[i]" if kind == "v3" else "ow[i]"])
        if depth <= 0:
            return leaf
        scalar = self.real if kind == "v3" else self.whole
        made = self.pick(("leaf", "new", "arith", "scaled", "swizzle", *self.callable(kind)))
        if made == "call":
            return self.call(kind, depth - 1)
        if made == "new":
            return f"ti.Vector([{', '.join(scalar(depth - 1) for _ in range(int(kind[1])))}])"
        if made == "arith":
            return f"({leaf} {self.pick(('+', '-', '*'))} {self.vector(kind, depth - 1)})"
        if made == "scaled":
            return f"({leaf} * {scalar(depth - 1)})"
        return f"{leaf}.{'zxy' if kind == 'v3' else 'yx'}" if made == "swizzle" else leaf

    def matrix(self, depth: int) -> str:
        """A 2 x 2 matrix of floats."""
        known = self.known("m2")
        if known and (depth <= 0 or self.chance(1)):
            return self.pick(known)
        if known and self.chance(2):
            return self.pick(
                (f"({known[0]} @ {known[-1]})", f"{known[0]}.transpose()", f"({known[0]} * {self.real(0)})")
            )
        rows = (f"[{self.real(0)}, {self.real(depth - 1)}]" for _ in range(2))
        return f"ti.Matrix([{', '.join(rows)}])"

    def struct(self, depth: int) -> str:
        """A struct of type S."""
        known = [*self.known("s"), *(["os[i]"] if not self.pure else [])]
        kinds = [*(["known"] * 2 if known else []), *(["new"] if depth > 0 else []), *self.callable("s")]
        made = self.pick(kinds or ["new"])
        if made == "known":
            return self.pick(known)
        if made == "call":
            return self.call("s", depth - 1)
        return f"S(k={self.whole(depth - 1)}, f={self.real(depth - 1)}, v={self.vector('v3', depth - 1)})"

    def callable(self, kind: str, effects: bool = False) -> list[str]:
        """["call"] if there is a function of that kind."""
        return ["call"] if self._fitting(kind, effects) else []

    def _fitting(self, kind: str, effects: bool) -> list[Function]:
        fitting = [one for one in self.functions if one.result == kind and (effects or not one.effects)]
        return [one for one in fitting if all(self.known(param[1:]) for param in one.params if param[0] == "&")]

    def call(self, kind: str, depth: int, effects: bool = False) -> str:
        """A call of a function that returns that kind."""
        one = self.pick(self._fitting(kind, effects))
        given = [self.argument(param, min(depth, 1)) for param in one.params]
        return f"{one.name}({', '.join(['i', *given])})"

    def argument(self, kind: str, depth: int) -> str:
        """An argument for a parameter of that kind; a small number for one that counts down."""
        if kind in ("xs", "ks"):
            return kind
        if kind[0] == "&":
            return self.pick(self.known(kind[1:]))
        if kind == "small":
            return self.pick(("2", "3", "i & 3"))
        return self.value(kind, depth)

    def truth(self, depth: int) -> str:
        """A condition."""
        compare = f"{self.number(depth)} {self.pick(_COMPARES)} {self.number(depth)}"
        kind = self.pick(("plain", "plain", "and", "or", "not", "chain"))
        if kind in ("and", "or"):
            return f"({compare} {kind} {self.number(depth)} {self.pick(_COMPARES)} {self.leaf()})"
        if kind == "chain":
            return f"({self.leaf()} {self.pick(_COMPARES)} {compare})"
        return f"(not {compare})" if kind == "not" else f"({compare})"

    # ---- statements

    def block(self, size: int, depth: int, indent: int) -> None:
        """Statements in a scope of their own."""
        self.scopes.append({})
        for _ in range(self.draw(st.integers(1, size))):
            self.statement(depth, indent)
        self.scopes.pop()

    def put(self, indent: int, text: str) -> None:
        self.lines.append("    " * indent + text)

    def statement(self, depth: int, indent: int) -> None:
        kinds = ["let", "let", "assign", "augment", "part", "member", "entry"]
        if not self.pure:
            kinds += ["own", "own", "atomic", "quarters", "array", "record", "called", "called"]
        if depth > 0:
            kinds += ["if", "for", "while"]
        getattr(self, "_" + self.pick(kinds))(depth, indent)

    def _let(self, depth: int, indent: int) -> None:
        kind = self.pick(("int", "int", "float", "float", "v3", "v2", "m2", "s"))
        self.let(kind, self.value(kind, 2), indent)

    def let(self, kind: str, value: str, indent: int) -> None:
        """A new variable."""
        self.made += 1
        self.scopes[-1][f"t{self.made}"] = kind
        self.put(indent, f"t{self.made} = {value}")

    def value(self, kind: str, depth: int) -> str:
        """An expression of that kind."""
        if kind in ("v3", "v2"):
            return self.vector(kind, depth)
        return {"int": self.whole, "float": self.real, "m2": self.matrix, "s": self.struct}[kind](depth)

    def _called(self, depth: int, indent: int) -> None:
        """A call with effects, by itself or for its value."""
        fitting = [one for one in self.functions if one in self._fitting(one.result, True)]
        if not fitting:
            self._let(depth, indent)
            return
        one = self.pick(fitting)
        if one.result == "" or self.chance(3):
            self.put(indent, self.call(one.result, 1, effects=True))
        elif one.result == "pair":
            self.made += 2
            value = self.call("pair", 1, effects=True)
            self.put(indent, f"t{self.made - 1}, t{self.made} = {value}")
            self.scopes[-1] |= {f"t{self.made - 1}": "int", f"t{self.made}": "float"}
        else:
            self.let(one.result, self.call(one.result, 1, effects=True), indent)

    def _member(self, depth: int, indent: int) -> None:
        names = [*self.known("s"), *(["os[i]"] if not self.pure else [])]
        if not names:
            self._let(depth, indent)
            return
        place = self.pick((".k", ".f", ".v.y", ".v[i % 3]"))
        self.put(indent, f"{self.pick(names)}{place} {self.pick(('=', '+=', '-='))} {self.number(2)}")

    def _entry(self, depth: int, indent: int) -> None:
        names = self.known("m2")
        if not names:
            self.let("m2", self.matrix(2), indent)
            return
        row, column = self.pick((0, 1, "i & 1")), self.pick((0, 1, f"{self.leaf()} & 1"))
        self.put(indent, f"{self.pick(names)}[{row}, {column}] {self.pick(('=', '+=', '*='))} {self.real(2)}")

    def _array(self, depth: int, indent: int) -> None:
        place = self.pick(("xs[i, 0]", "xs[i, i & 1]", "ks[i]"))
        self.put(indent, f"{place} {self.pick(('=', '+='))} {self.whole(2) if place[0] == 'k' else self.number(2)}")

    def _record(self, depth: int, indent: int) -> None:
        self.put(indent, f"{self.pick([*self.known('s'), 'os[i]'])} = {self.struct(2)}")

    def _quarters(self, depth: int, indent: int) -> None:
        """Sums of small multiples of a power of two are exact in any order."""
        value = f"ti.cast({self.whole(2)} & 15, ti.f32) * 0.25"
        place = f"aq[{self.index()}]"
        self.put(indent, self.pick((f"ti.atomic_add({place}, {value})", f"{place} += {value}")))

    def _assign(self, depth: int, indent: int) -> None:
        names = self.known("int", "float")
        if not names:
            self._let(depth, indent)
            return
        self.put(indent, f"{self.pick(names)} = {self.number(2)}")

    def _augment(self, depth: int, indent: int) -> None:
        names = self.known("int", "float", "v3")
        if not names:
            self._let(depth, indent)
            return
        name = self.pick(names)
        value = self.real(2) if name in self.known("v3") else self.number(2)
        self.put(indent, f"{name} {self.pick(('+=', '-=', '*='))} {value}")

    def _own(self, depth: int, indent: int) -> None:
        name = self.pick([name for name, (_, _, part) in FIELDS.items() if part == "own"])
        kind, size, _ = FIELDS[name]
        value = self.vector(f"v{size}", 2) if size else self.number(2)
        self.put(indent, f"{name}[i] {self.pick(('=', '=', '+=', '*='))} {value}")

    def _part(self, depth: int, indent: int) -> None:
        places = [f"{name}[{self.pick(('i % 3', 1))}]" for name in self.known("v3")]
        if not self.pure:
            places += ["ov[i][1]", "ov[i].z", "ov[i][(i + 1) % 3]"]
        if not places:
            self._let(depth, indent)
            return
        self.put(indent, f"{self.pick(places)} {self.pick(('=', '+=', '-='))} {self.number(2)}")

    def _atomic(self, depth: int, indent: int) -> None:
        name = self.pick(("aa", "ax", "an", "ao"))
        kind, _, part = FIELDS[name]
        value = self.real(2) if kind == "f32" else self.whole(2)
        self.put(indent, f"ti.atomic_{part}({name}[{self.index()}], {value})")

    def _if(self, depth: int, indent: int) -> None:
        self.put(indent, f"if {self.truth(1)}:")
        self.block(3, depth - 1, indent + 1)
        if self.chance(1):
            self.put(indent, "else:")
            self.block(3, depth - 1, indent + 1)

    def _leave(self, indent: int) -> None:
        if self.chance(2):
            self.put(indent, f"if {self.truth(1)}:")
            self.put(indent + 1, self.pick(("break", "continue")))

    def _for(self, depth: int, indent: int) -> None:
        self.loops += 1
        name = f"j{self.loops}"
        over = self.pick(("range", "range", "range", "static", "box", "field"))
        if over == "box":
            self.put(indent, f"for {name}, {name}_ in ti.ndrange({self.pick(('2, 3', '(1, 3), 2'))}):")
        elif over == "field":
            self.put(indent, f"for {name} in {self.pick(('ri', 'ru'))}:")
        else:
            bounds = ["3", "1, 4", "3, -1, -1", "0, 5, 2", *([f"{self.leaf()} & 3"] if over == "range" else [])]
            text = f"range({self.pick(bounds)})"
            self.put(indent, f"for {name} in {text if over == 'range' else f'ti.static({text})'}:")
        self.scopes.append({name: "static" if over == "static" else "index"})
        self.block(2 if over == "field" else 3, depth - 1, indent + 1)
        if over != "static":
            self._leave(indent + 1)
        self.scopes.pop()

    def _while(self, depth: int, indent: int) -> None:
        self.loops += 1
        name = f"w{self.loops}"
        self.put(indent, f"{name} = 0")
        self.put(indent, f"while {name} < {self.pick((0, 2, 3))}:")
        self.put(indent + 1, f"{name} += 1")
        self.scopes.append({name: "index"})
        self.block(3, depth - 1, indent + 1)
        self._leave(indent + 1)
        self.scopes.pop()
