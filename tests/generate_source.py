"""Random kernels as Python source, for property tests: every one is well typed, ends, stays in bounds, has no race.

`sources()` draws the text of a kernel `run(a, b)` over the fields of `FIELDS`. In its parallel loop each iteration
writes only its own elements of the "own" fields, reads the inputs anywhere, and accumulates by atomics that give the
same in any order. A literal never stands alone: what Python itself would compute is not what is tested.
"""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

__all__ = ["COUNT", "FIELDS", "HEADER", "sources"]

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
}
HEADER = "@ti.kernel\ndef run(a: ti.i32, b: ti.f32):\n    for i in range(COUNT):\n"

_INTS = ("i32", "i64", "u8", "u32", "i8")
_FLOATS = ("f32", "f64")
_LITERALS = ("0", "1", "2", "3", "7", "31", "100", "255", "-1", "-5", "65535", "2147483647")
_DECIMALS = ("0.0", "0.5", "1.0", "-1.5", "3.25", "100.0", "1e-3", "-2e7", "1e20")
_COMPARES = ("<", "<=", ">", ">=", "==", "!=")


class _Writer:
    """Writes one kernel. `scopes` hold the variables in sight: name -> "int", "float", "v3" or "v2"."""

    def __init__(self, draw: Any) -> None:
        self.draw = draw
        self.lines: list[str] = []
        self.scopes: list[dict[str, str]] = [{"i": "index", "a": "index"}]
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
        name = self.pick(names)
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
        kind = self.pick(("arith", "arith", "bits", "shift", "cast", "unary", "minmax", "ternary", "leaf", "part"))
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
            return self.pick([*self.known("float"), "b", self.element(*_FLOATS)])
        kind = self.pick(("arith", "arith", "arith", "cast", "unary", "minmax", "ternary", "leaf", "part", "quotient"))
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
        made = self.pick(("leaf", "new", "arith", "scaled", "swizzle"))
        if made == "new":
            return f"ti.Vector([{', '.join(scalar(depth - 1) for _ in range(int(kind[1])))}])"
        if made == "arith":
            return f"({leaf} {self.pick(('+', '-', '*'))} {self.vector(kind, depth - 1)})"
        if made == "scaled":
            return f"({leaf} * {scalar(depth - 1)})"
        return f"{leaf}.{'zxy' if kind == 'v3' else 'yx'}" if made == "swizzle" else leaf

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
        kinds = ("let", "let", "assign", "augment", "own", "own", "atomic", "part")
        getattr(self, "_" + self.pick((*kinds, "if", "for", "while") if depth > 0 else kinds))(depth, indent)

    def _let(self, depth: int, indent: int) -> None:
        kind = self.pick(("int", "int", "float", "float", "v3", "v2"))
        value = self.value(kind)
        self.made += 1
        self.scopes[-1][f"t{self.made}"] = kind
        self.put(indent, f"t{self.made} = {value}")

    def value(self, kind: str) -> str:
        if kind in ("v3", "v2"):
            return self.vector(kind, 2)
        return self.whole(2) if kind == "int" else self.real(2)

    def _assign(self, depth: int, indent: int) -> None:
        names = self.known("int", "float")
        if not names:
            self._let(depth, indent)
            return
        self.put(indent, f"{self.pick(names)} = {self.number(2)}")

    def _augment(self, depth: int, indent: int) -> None:
        names = self.known("int", "float", "v3")
        if not names:
            self._own(depth, indent)
            return
        name = self.pick(names)
        self.put(
            indent,
            f"{name} {self.pick(('+=', '-=', '*='))} {self.real(2) if name in self.known('v3') else self.number(2)}",
        )

    def _own(self, depth: int, indent: int) -> None:
        name = self.pick([name for name, (_, _, part) in FIELDS.items() if part == "own"])
        kind, size, _ = FIELDS[name]
        value = self.vector(f"v{size}", 2) if size else self.number(2)
        self.put(indent, f"{name}[i] {self.pick(('=', '=', '+=', '*='))} {value}")

    def _part(self, depth: int, indent: int) -> None:
        places = [*(f"{name}[i % 3]" for name in self.known("v3")), "ov[i][1]", "ov[i].z", "ov[i][(i + 1) % 3]"]
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
        bounds = self.pick(("3", "1, 4", "3, -1, -1", f"{self.leaf()} & 3", "0, 5, 2"))
        self.put(indent, f"for {name} in range({bounds}):")
        self.scopes.append({name: "index"})
        self.block(3, depth - 1, indent + 1)
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


@st.composite
def sources(draw: Any) -> str:
    """The text of a kernel."""
    writer = _Writer(draw)
    writer.scopes.append({})
    for _ in range(draw(st.integers(2, 7))):
        writer.statement(2, 2)
    return HEADER + "\n".join(writer.lines) + "\n"
