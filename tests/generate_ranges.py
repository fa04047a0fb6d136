"""Random nests of loops over ranges as source that Weft and plain Python both run.

`nests()` draws a `Nest`: the body of a function of some integers and of `out`, into whose elements it adds numbers that
tell which indices its loops had, and in which order the serial ones. Bounds and steps are small, or at the ends of
their types; constants, arguments, or variables that the loop changes. What may be long is left early.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from hypothesis import strategies as st

from weft.ir.boxes import points

__all__ = ["CELLS", "HEADER", "Nest", "nests", "wrapped"]

CELLS = 3
HEADER = "@ti.func\ndef mix(h, i):\n    return h * 31 + i\n\n"

_NARROW, _WIDE = ("i8", "u8", "i16", "u16", "i32"), ("i64", "u64", "u32")
_MOST = 12  # rounds of a loop that is not left early
_LEAVE = 4  # rounds of one that is


@dataclass(frozen=True)
class Nest:
    """A function's parameters with the values they get, and its body."""

    params: tuple[tuple[str, str, int], ...]
    body: str

    @property
    def kernel(self) -> str:
        """The whole as a kernel, behind `HEADER`."""
        typed = [f"{name}: ti.{type}" for name, type, _ in self.params]
        return f"{HEADER}@ti.kernel\ndef run({', '.join([*typed, 'out: ti.types.ndarray()'])}):\n{self.body}"

    @property
    def arguments(self) -> list[int]:
        return [value for *_, value in self.params]

    def result(self) -> list[int]:
        """What it adds up, by Python."""
        out = [0] * CELLS
        space: dict[str, Any] = {"ti": _Python, "mix": lambda h, i: wrapped(h * 31 + int(i))}
        names = ", ".join([*(name for name, *_ in self.params), "out"])
        exec(f"def run({names}):\n{self.body}", space)
        space["run"](*self.arguments, out)
        return [wrapped(x) for x in out]


class _Python:
    """The language's own names, for Python."""

    i64 = int

    @staticmethod
    def loop_config(**settings: Any) -> None:
        """Python has one way to run a loop."""

    @staticmethod
    def ndrange(*bounds: tuple[int, int]) -> Any:
        return points([range(*pair) for pair in bounds])

    @staticmethod
    def grouped(box: Any) -> Any:
        return box


def wrapped(x: int) -> int:
    """`x` as an i64."""
    return (x + 2**63) % 2**64 - 2**63


def _ends(type: str) -> tuple[int, int]:
    bits = int(type[1:])
    low, high = (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1) if type[0] == "i" else (0, 2**bits - 1)
    return low, min(high, 2**63 - 1)  # a range counts in i64 at most


class _Writer:
    def __init__(self, draw: Any) -> None:
        self.draw = draw
        self.params: list[tuple[str, str, int]] = []
        self.lines: list[str] = []
        self.made = 0

    def pick(self, options: Any) -> Any:
        return self.draw(st.sampled_from(options))

    def chance(self, n: int) -> bool:
        return bool(self.draw(st.integers(0, n)) == n)

    def name(self, letter: str) -> str:
        self.made += 1
        return f"{letter}{self.made}"

    def put(self, indent: int, text: str) -> None:
        self.lines.append("    " * indent + text)

    # ---- ranges

    def number(self, types: tuple[str, ...], near: int | None = None) -> tuple[str, int]:
        """An integer of one of those types, perhaps not far from another one."""
        type = self.pick(types)
        low, high = _ends(type)
        if near is None or self.chance(3):
            near = self.pick((0, 0, low, high, high, high // 2))
        return type, max(low, min(high, near + self.draw(st.integers(-_MOST, _MOST))))

    def written(self, type: str, value: int, indent: int) -> tuple[str, str]:
        """How to write it: the text, and the variable that it is, if it may be changed."""
        if self.chance(1):
            return (str(value) if -(2**31) <= value < 2**31 else f"ti.i64({value})"), ""
        self.params.append((f"p{len(self.params)}", type, value))
        if self.chance(1):
            return self.params[-1][0], ""
        variable = self.name("b")
        self.put(indent, f"{variable} = {self.params[-1][0]}")
        return variable, variable

    def range(self, indent: int, long: bool, steps: bool = True) -> tuple[str, range, list[str]]:
        """The arguments of a range, what it goes over, and variables in it. `long`: may have any length."""
        types = self.pick((_NARROW, _NARROW, _NARROW + _WIDE))
        begin_type, begin = self.number(types)
        step_type, step = "i32", 1
        if steps and not self.chance(2):
            step_type = self.pick([type for type in types if type[0] == "i"])
            low, high = _ends(step_type)
            step = self.pick((1, -1, 2, -2, 3, -3, 5, -7, 100, low, high, high // 2)) or 1
        end_type, end = self.number(types, begin + step * self.draw(st.integers(0, 6)))
        over = range(begin, end, step)
        if not long and over[: _MOST + 1][_MOST:]:
            low, high = _ends(end_type)
            end = max(low, min(high, begin + step * _MOST))
            over = range(begin, end, step)
            if over[: _MOST + 1][_MOST:]:
                over, end, end_type = range(begin, begin, step), begin, begin_type
        written = [self.written(begin_type, begin, indent), self.written(end_type, end, indent)]
        if step != 1 or self.chance(2):
            written.append(self.written(step_type, step, indent) if steps else ("1", ""))
        elif begin == 0 and self.chance(1):
            del written[0]
        texts = [text for text, _ in written]
        return ", ".join(texts), over, [variable for _, variable in written if variable]

    # ---- loops

    def loop(self, indent: int, depth: int, top: bool) -> None:
        """A loop, at the top level a parallel one unless it says otherwise."""
        parallel = top and not self.chance(3)
        counter = "" if parallel or self.chance(1) else self.name("n")
        if self.chance(3):
            names, head, changed = self.box(indent, bool(counter))
        else:
            texts, _, changed = self.range(indent, bool(counter))
            names = [self.name("i")]
            head = f"{names[0]} in range({texts})"
        if counter:
            self.put(indent, f"{counter} = 0")
        if top:
            setting = self.pick(("simd=1", "simd=4", "simd=8")) if parallel else "serialize=True"
            self.put(indent, f"ti.loop_config({setting})")
        self.put(indent, f"for {head}:")
        if counter:
            self.put(indent + 1, f"{counter} += 1")
            self.put(indent + 1, f"if {counter} > {_LEAVE}:")
            self.put(indent + 2, "break")
        if top:
            self.put(indent + 1, "h = ti.i64(7)")
        for name in names:
            self.put(indent + 1, f"h = mix(h, {name})")
        if not parallel:
            for variable in changed:
                self.put(indent + 1, f"{variable} = {variable} // 2")
        self.body(indent + 1, depth - 1, parallel)
        if top:
            self.put(indent + 1, f"out[{self.draw(st.integers(0, CELLS - 1))}] += h")

    def box(self, indent: int, long: bool) -> tuple[list[str], str, list[str]]:
        """A loop over a box of two axes, of few points unless it may be long."""
        while True:
            before = len(self.lines), len(self.params)
            axes = [self.range(indent, long, steps=False) for _ in range(2)]
            if long or len(axes[0][1][:50]) * len(axes[1][1][:50]) <= 3 * _MOST:
                break
            del self.lines[before[0] :], self.params[before[1] :]
        bounds = ", ".join(f"({self.pair(texts)})" for texts, *_ in axes)
        changed = [variable for *_, variables in axes for variable in variables]
        if self.chance(1):
            name = self.name("i")
            return [f"{name}[0]", f"{name}[1]"], f"{name} in ti.grouped(ti.ndrange({bounds}))", changed
        names = [self.name("i"), self.name("i")]
        return names, f"{', '.join(names)} in ti.ndrange({bounds})", changed

    def pair(self, texts: str) -> str:
        parts = texts.split(", ")
        return ", ".join((["0"] if len(parts) == 1 else []) + parts[:2])

    def body(self, indent: int, depth: int, parallel: bool) -> None:
        for _ in range(self.draw(st.integers(1, 2))):
            kind = self.pick(("loop", "loop", "jump", "count") if depth > 0 else ("jump", "count", "while"))
            if kind == "loop":
                self.loop(indent, depth, top=False)
            elif kind == "jump":
                self.put(indent, f"if h % {self.pick((2, 3, 5))} == {self.pick((0, 1))}:")
                self.put(indent + 1, "continue" if parallel or self.chance(1) else "break")
            elif kind == "while":
                name = self.name("w")
                self.put(indent, f"{name} = {self.draw(st.integers(0, 3))}")
                self.put(indent, f"while {name} > 0:")
                self.put(indent + 1, f"{name} -= 1")
                self.put(indent + 1, f"h = mix(h, {name})")
            else:
                self.put(indent, f"out[{self.draw(st.integers(0, CELLS - 1))}] += h")


@st.composite
def nests(draw: Any) -> Nest:
    """A function of one or two nests of loops."""
    writer = _Writer(draw)
    for _ in range(draw(st.integers(1, 2))):
        writer.loop(1, draw(st.integers(1, 3)), top=True)
    return Nest(tuple(writer.params), "\n".join(writer.lines) + "\n")
