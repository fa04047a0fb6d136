"""Random kernels over all types of numbers: what `generate_source.py` leaves out.

Fields of every type, in one and two axes; locals of every type, small arrays among them, with elements chosen at run
time; several loops in a kernel, which hand locals and sums on to each other; loops over ranges, boxes and fields, in as
many lanes as may be; unrolled loops that are left early; atomics that give the value before. Each iteration writes only
to its own elements, and accumulates by what gives the same in any order.
"""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

__all__ = ["COUNT", "FIELDS", "SHAPE", "kernels"]

SHAPE = (5, 9)
COUNT = SHAPE[0] * SHAPE[1]
_INTS = ("i8", "u8", "i16", "u16", "i32", "u32", "i64", "u64")
_FLOATS = ("f16", "f32", "f64")
_TYPES = _INTS + _FLOATS

# Name: (type, axes, part). "r": read anywhere; "o": each iteration its own; else the atomic that accumulates into it.
FIELDS: dict[str, tuple[str, int, str]] = {
    **{f"r_{type}": (type, 1, "r") for type in _TYPES},
    **{f"o_{type}": (type, 1, "o") for type in _TYPES},
    **{f"q_{type}": (type, 2, "r") for type in ("u8", "i32", "f32", "i64")},
    **{f"p_{type}": (type, 2, "o") for type in ("u8", "i32", "f32", "i64")},
    **{f"a_{kind}_{type}": (type, 1, kind) for type in ("i32", "u32", "i64", "u64") for kind in ("add", "max", "xor")},
    **{f"a_{kind}_i32": ("i32", 1, kind) for kind in ("sub", "min", "and", "or", "mul")},
}
_LITERALS = ("0", "1", "2", "3", "7", "13", "31", "100", "255", "-1", "-5", "-128", "65535", "2147483647")
_DECIMALS = ("0.0", "0.5", "1.0", "-1.5", "3.25", "100.0", "1e-3", "-2e7", "65504.0")


class _Writer:
    """Writes one kernel. `scopes`: variables in sight, name -> "i32", ..., or "i32*4" for an array; those in `fixed`
    cannot be assigned. `index`: the indices of the iteration, of a loop over one or two axes."""

    def __init__(self, draw: Any) -> None:
        self.draw = draw
        self.lines: list[str] = []
        self.scopes: list[dict[str, str]] = [{}]
        self.fixed: set[str] = set()
        self.index: tuple[str, ...] = ()
        self.made = 0
        self.shared: dict[str, str] = {}  # locals of the kernel that a loop accumulates into, and how
        self.read: set[str] = set()

    def pick(self, options: Any) -> Any:
        return self.draw(st.sampled_from(options))

    def chance(self, n: int) -> bool:
        return bool(self.draw(st.integers(0, n)) == n)

    def name(self, letter: str = "t") -> str:
        self.made += 1
        return f"{letter}{self.made}"

    def put(self, indent: int, text: str) -> None:
        self.lines.append("    " * indent + text)

    def known(self, *types: str) -> list[str]:
        return [n for scope in self.scopes for n, type in scope.items() if type in types and n not in self.shared]

    # ---- expressions

    def number(self, depth: int) -> str:
        return self.whole(depth) if self.chance(1) or self.chance(1) else self.real(depth)

    def place(self, types: tuple[str, ...], parts: str) -> str:
        """An element of a field."""
        axes = len(self.index)
        names = [n for n, (type, dims, part) in FIELDS.items() if type in types and part in parts
                 and (part != "o" or dims == axes)]  # fmt: skip
        name = self.pick(names)
        _, dims, part = FIELDS[name]
        if part == "o":
            return f"{name}[{', '.join(self.index)}]"
        return f"{name}[{', '.join(self.anywhere(n) for n in ((COUNT,) if dims == 1 else SHAPE))}]"

    def anywhere(self, extent: int) -> str:
        inner = self.pick(self.known(*_INTS) or ["3"])
        if self.index and self.chance(1):
            own = self.index[-1]
            return self.pick((f"({own} + {self.pick((1, 3))}) % {extent}", f"{own} % {extent}"))
        return f"ti.cast({inner} % {extent}, ti.i32)" if inner != "3" else inner

    def leaf(self, types: tuple[str, ...]) -> str:
        known = self.known(*types)
        if known and self.chance(1):
            return self.pick(known)
        return self.place(types, "ro" if self.index else "r")

    def array(self, types: tuple[str, ...], write: bool = False) -> str:
        """An element of a local array, or "" if there is none."""
        names = [n for scope in self.scopes for n, t in scope.items() if "*" in t and t.split("*")[0] in types
                 and not (write and n in self.fixed)]  # fmt: skip
        if not names:
            return ""
        name = self.pick(names)
        size = next(scope[name] for scope in self.scopes if name in scope).split("*")[1]
        return f"{name}[{self.within(int(size))}]"

    def within(self, size: int) -> str:
        if self.chance(1):
            return str(self.draw(st.integers(0, size - 1)))
        return f"ti.cast({self.leaf(_INTS)} % {size}, ti.i32)"

    def whole(self, depth: int) -> str:
        """An integer expression."""
        if depth <= 0:
            return self.array(_INTS) or self.leaf(_INTS) if self.chance(3) else self.leaf(_INTS)
        kind = self.pick(
            ("arith", "arith", "bits", "shift", "cast", "unary", "minmax", "choice", "call", "logic", "power")
        )
        a = self.whole(depth - 1)
        b = self.pick(_LITERALS) if self.chance(2) else self.whole(depth - 1)
        if kind == "arith":
            return f"({a} {self.pick(('+', '-', '*', '//', '%'))} {b})"
        if kind == "bits":
            return f"({a} {self.pick(('&', '|', '^'))} {b})"
        if kind == "shift":
            return f"({a} {self.pick(('<<', '>>'))} {b})" if self.chance(1) else f"ti.bit_shr({a}, {b})"
        if kind == "cast":
            return f"ti.cast({self.number(depth - 1)}, ti.{self.pick(_INTS)})"
        if kind == "unary":
            return f"{self.pick(('-', '~', 'abs', '+'))}({a})"
        if kind == "minmax":
            return f"ti.{self.pick(('min', 'max', 'raw_div', 'raw_mod'))}({a}, {b})"
        if kind == "choice":
            if self.chance(1):
                return f"ti.select({self.truth(depth - 1)}, {a}, {b})"
            return f"({a} if {self.truth(depth - 1)} else {self.whole(depth - 1)})"
        if kind == "logic":
            return self.pick(
                (
                    f"({a} and {self.whole(depth - 1)})",
                    f"({a} or {self.whole(depth - 1)})",
                    f"ti.cast({self.truth(depth - 1)}, ti.i32)",
                )
            )
        if kind == "power":
            return (
                f"({a} ** {self.pick((0, 1, 2, 3, 5))})"
                if self.chance(1)
                else f"({a} ** ({self.whole(depth - 1)} & 7))"
            )
        return f"{self.pick(('f_early', 'f_loop', 'f_pick'))}({a}, {self.whole(depth - 1)})"

    def real(self, depth: int) -> str:
        """A float expression."""
        if depth <= 0:
            return self.array(_FLOATS) or self.leaf(_FLOATS) if self.chance(2) else self.leaf(_FLOATS)
        kind = self.pick(("arith", "arith", "cast", "unary", "minmax", "choice", "quotient", "call"))
        a = self.real(depth - 1)
        b = self.pick(_DECIMALS) if self.chance(2) else self.number(depth - 1)
        if kind == "arith":
            return f"({a} {self.pick(('+', '-', '*', '/', '//', '%'))} {b})"
        if kind == "cast":
            return f"ti.cast({self.number(depth - 1)}, ti.{self.pick(_FLOATS)})"
        if kind == "unary":
            return f"{self.pick(('-', 'abs', 'ti.floor', 'ti.ceil', 'ti.round', 'ti.sqrt'))}({a})"
        if kind == "minmax":  # which zero is smaller is left open
            return f"(ti.{self.pick(('min', 'max'))}({a}, {b}) + 0.0)"
        if kind == "choice":
            return f"({a} if {self.truth(depth - 1)} else {self.real(depth - 1)})"
        if kind == "call":
            return f"f_real({a}, {self.whole(depth - 1)})"
        return f"({self.whole(depth - 1)} / {self.whole(depth - 1)})"

    def truth(self, depth: int) -> str:
        compare = f"{self.number(depth)} {self.pick(('<', '<=', '>', '>=', '==', '!='))} {self.number(depth)}"
        kind = self.pick(("plain", "plain", "and", "or", "not", "chain", "number"))
        if kind in ("and", "or"):
            return f"({compare} {kind} {self.truth(depth - 1) if depth > 0 else self.leaf(_INTS)})"
        if kind == "chain":
            return f"({self.leaf(_INTS)} {self.pick(('<', '<=', '!='))} {compare})"
        if kind == "number":
            return f"({self.whole(depth)})"
        return f"(not {compare})" if kind == "not" else f"({compare})"

    # ---- statements

    def block(self, size: int, depth: int, indent: int, loop: bool) -> None:
        self.scopes.append({})
        for _ in range(self.draw(st.integers(1, size))):
            self.statement(depth, indent, loop)
        self.scopes.pop()

    def statement(self, depth: int, indent: int, loop: bool) -> None:
        """One statement; `loop`: whether a serial loop is around, which it may leave."""
        kinds = ["let", "let", "list", "assign", "assign", "entry"]
        if self.index:
            kinds += ["own", "own", "old", "atomic", "atomic", *(["share"] if self.shared else [])]
        if depth > 0:
            kinds += ["if", "if", "for", "for", "while", "static"]
        if loop:
            kinds += ["jump"]
        getattr(self, "_" + self.pick(kinds))(depth, indent, loop)

    def _let(self, depth: int, indent: int, loop: bool) -> None:
        type, name = self.pick(_TYPES), self.name()
        if self.chance(1):
            self.put(indent, f"{name}: ti.{type} = {self.number(2)}")
        else:
            self.put(indent, f"{name} = ti.cast({self.number(2)}, ti.{type})")
        self.scopes[-1][name] = type

    def _list(self, depth: int, indent: int, loop: bool) -> None:
        type, size, name = self.pick(("i8", "i32", "u64", "f32", "u16")), self.pick((2, 4, 7)), self.name()
        value = self.whole if type in _INTS else self.real
        self.put(indent, f"{name} = ti.Vector([{', '.join(value(0) for _ in range(size))}], ti.{type})")
        self.scopes[-1][name] = f"{type}*{size}"

    def _entry(self, depth: int, indent: int, loop: bool) -> None:
        place = self.array(_TYPES, write=True)
        if not place:
            self._list(depth, indent, loop)
            return
        self.put(indent, f"{place} {self.pick(('=', '+=', '-=', '*='))} {self.number(2)}")

    def _assign(self, depth: int, indent: int, loop: bool) -> None:
        names = [name for name in self.known(*_TYPES) if name not in self.fixed]
        if not names:
            self._let(depth, indent, loop)
            return
        self.put(indent, f"{self.pick(names)} {self.pick(('=', '=', '+=', '-=', '*='))} {self.number(2)}")

    def _own(self, depth: int, indent: int, loop: bool) -> None:
        whole = self.place(_TYPES, "o")
        self.put(indent, f"{whole} {self.pick(('=', '=', '+=', '-=', '*='))} {self.number(3)}")

    def _old(self, depth: int, indent: int, loop: bool) -> None:
        kind, place, name = (
            self.pick(("add", "sub", "min", "max", "and", "or", "xor")),
            self.place(_INTS, "o"),
            self.name(),
        )
        self.put(indent, f"{name} = ti.atomic_{kind}({place}, {self.whole(1)})")
        self.scopes[-1][name] = FIELDS[place.split("[")[0]][0]

    def _atomic(self, depth: int, indent: int, loop: bool) -> None:
        name = self.pick([name for name, (*_, part) in FIELDS.items() if part not in "ro"])
        place, kind = f"{name}[{self.anywhere(COUNT)}]", FIELDS[name][2]
        augmented = {"add": "+=", "sub": "-=", "xor": "^=", "and": "&=", "or": "|=", "mul": "*="}
        if kind in augmented and self.chance(1):
            self.put(indent, f"{place} {augmented[kind]} {self.whole(2)}")
        else:
            self.put(indent, f"ti.atomic_{kind}({place}, {self.whole(2)})")

    def _share(self, depth: int, indent: int, loop: bool) -> None:
        name = self.pick(list(self.shared))
        if self.shared[name] in ("min", "max"):
            self.put(indent, f"ti.atomic_{self.shared[name]}({name}, {self.whole(2)})")
        else:
            self.put(indent, f"{name} {self.shared[name]} {self.whole(2)}")

    def _jump(self, depth: int, indent: int, loop: bool) -> None:
        self.put(indent, f"if {self.truth(1)}:")
        self.put(indent + 1, self.pick(("break", "continue")))

    def _if(self, depth: int, indent: int, loop: bool) -> None:
        self.put(indent, f"if {self.truth(2)}:")
        self.block(2, depth - 1, indent + 1, loop)
        if self.chance(2):
            self.put(indent, f"elif {self.truth(1)}:")
            self.block(2, depth - 1, indent + 1, loop)
        if self.chance(1):
            self.put(indent, "else:")
            self.block(2, depth - 1, indent + 1, loop)

    def _for(self, depth: int, indent: int, loop: bool) -> None:
        name = self.name("k")
        bounds = self.pick((
            "3", f"{self.leaf(_INTS)} & 3", f"ti.cast({self.leaf(_INTS)} & 7, ti.i32), 0, -1", "5, -1, -2",
            f"ti.cast({self.leaf(_INTS)} & 3, ti.i32), 12, 3",
        ))  # fmt: skip
        if not self.index:
            self.put(indent, "ti.loop_config(serialize=True)")
        self.put(indent, f"for {name} in range({bounds}):")
        self.scopes.append({name: "i32"})
        self.fixed.add(name)
        self.block(3, depth - 1, indent + 1, True)
        self.scopes.pop()

    def _while(self, depth: int, indent: int, loop: bool) -> None:
        name = self.name("w")
        self.put(indent, f"{name} = 0")
        self.put(indent, f"while {name} < {self.pick(('4', f'ti.cast({self.leaf(_INTS)} & 3, ti.i32)'))}:")
        self.put(indent + 1, f"{name} += 1")
        self.scopes.append({name: "i32"})
        self.fixed.add(name)
        self.block(3, depth - 1, indent + 1, True)
        self.scopes.pop()

    def _static(self, depth: int, indent: int, loop: bool) -> None:
        name = self.name("c")
        self.put(indent, f"for {name} in ti.static(range({self.pick((2, 3))})):")
        self.block(2, depth - 1, indent + 1, False)
        if self.chance(1):
            self.put(indent + 1, f"if ti.static({name} == 1):")
            self.put(indent + 2, self.pick(("break", "continue")))

    # ---- the kernel

    def parallel(self) -> None:
        """A parallel loop, with sums of its own perhaps."""
        self.shared = {}
        for _ in range(self.draw(st.integers(0, 2))):
            name = self.name("s")
            self.put(1, f"{name} = ti.cast({self.whole(1)}, ti.{self.pick(('i32', 'i64', 'u32'))})")
            self.scopes[-1][name] = "i32"
            self.shared[name] = self.pick(("+=", "-=", "^=", "|=", "&=", "min", "max"))
        before = self.fixed
        self.fixed = {*before, *(n for scope in self.scopes for n in scope)}
        lanes = self.pick(("", "simd=1", "simd=4", "simd=8", "simd=16", "serialize=True"))
        if lanes:
            self.put(1, f"ti.loop_config({lanes})")
        few = f"ti.cast({self.leaf(_INTS)} % 46, ti.i32)"
        head, self.index, ends = self.pick((
            (f"i in range({few})", ("i",), {"i": "i32"}), (f"i in range({few}, 45)", ("i",), {"i": "i32"}),
            (f"i in range({few} - 1, 3, -2)", ("i",), {"i": "i32"}),
            ("i in range(45)", ("i",), {"i": "i32"}), ("i in r_i32", ("i",), {"i": "i32"}),
            ("i in range(2, 44, 3)", ("i",), {"i": "i32"}), ("i in range(44, -1, -1)", ("i",), {"i": "i32"}),
            ("i, j in ti.ndrange(5, 9)", ("i", "j"), {"i": "i32", "j": "i32"}),
            ("i, j in p_f32", ("i", "j"), {"i": "i32", "j": "i32"}),
        ))  # fmt: skip
        self.put(1, f"for {head}:")
        self.scopes.append(ends)
        self.fixed |= {*ends}
        self.block(5, 2, 2, False)
        self.index, self.shared, self.fixed = (), {}, before
        self.scopes.pop()

    def write(self) -> str:
        for _ in range(self.draw(st.integers(1, 3))):
            for _ in range(self.draw(st.integers(0, 2))):
                self.statement(1, 1, False)
            self.parallel()
        self.put(1, f"return {self.whole(1)}")
        return (
            _FUNCTIONS
            + "@ti.kernel\ndef run(a: ti.i32, b: ti.u8, c: ti.i64) -> ti.i64:\n"
            + "\n".join(self.lines)
            + "\n"
        )


_FUNCTIONS = """
@ti.func
def f_early(x, y):
    if x > y:
        return x - y
    for k in range(3):
        if (x ^ k) & 1 == 1:
            return x + k
        if y < k:
            break
    return y


@ti.func
def f_loop(x, y):
    total = x
    for k in range(y & 3, 6, 2):
        for l in range(k):
            if (total + l) % 5 == 1:
                break
            total = total * 3 + l
        if total == y:
            continue
        total ^= k
    return total


@ti.func
def f_pick(x, y):
    v = ti.Vector([x, y, x ^ y, x & y])
    n = ti.cast(y & 3, ti.i32)
    v[n] += 1
    return v[3 - n] - v[n]


@ti.func
def f_real(x, n):
    y = x
    k = ti.cast(n & 3, ti.i32)
    while k > 0:
        k -= 1
        if y > 100.0:
            return y - x
        y = y * 0.5 + 1.0
    return y


"""


@st.composite
def kernels(draw: Any) -> str:
    """The text of a kernel `run(a, b, c)` over the fields of `FIELDS`."""
    writer = _Writer(draw)
    writer.scopes[0] |= {"a": "i32", "b": "u8", "c": "i64"}
    writer.fixed |= {"a", "b", "c"}
    return writer.write()
