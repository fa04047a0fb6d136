"""Pairs of constructs that no program has: those that the language refuses, each with a program that shows the error,
and those whose outcome the memory model leaves open."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["OPEN", "REFUSED", "Refusal"]

Cell = tuple[str, str, str]
_FUNCTIONS = ("func", "real func", "recursive func")
_PARALLEL = ("parallel range", "parallel ndrange", "parallel grouped", "parallel struct-for", "parallel array",
             "parallel snode")  # fmt: skip
_SERIAL = ("for range", "for ndrange", "for grouped", "for field", "while")
_UNROLLED = ("for static", "static list of fields", "static list of values")
_HEADS = {
    "parallel range": "for i in range(4):", "parallel ndrange": "for i, j in ti.ndrange(2, 2):",
    "parallel grouped": "for g in ti.grouped(ti.ndrange(2, 2)):", "parallel struct-for": "for i in x:",
    "parallel array": "for i in a:", "parallel snode": "for i in cells:",
}  # fmt: skip


@dataclass(frozen=True)
class Refusal:
    """The body of a program with a kernel `run(a)` over a field `x`, and the words of its error."""

    program: str
    message: str


def _returns() -> dict[Cell, Refusal]:
    text = "@ti.kernel\ndef run(a: ti.types.ndarray(ti.i32, 1)) -> ti.i32:\n    {}\n        return 1\n    return 2\n"
    message = "a parallel loop cannot contain 'return'"
    found: dict[Cell, Refusal] = {
        ("in", row, "return"): Refusal(text.format(head), message) for row, head in _HEADS.items()
    }
    head = "@ti.func\ndef more(s: ti.template()):\n    s += 1\n\n\n@ti.kernel\n"
    head += "def run(a: ti.types.ndarray(ti.i32, 1)) -> ti.i32:\n    s = 0\n    for i in range(4):\n"
    lines = ("        more(s)\n", "        if x[i] > 3:\n            return 1\n")
    shared = "shared through a function"  # in parallel loops only
    found["before", shared, "return"] = Refusal(head + lines[0] + lines[1] + "    return s\n", message)
    found["before", "return", shared] = Refusal(head + lines[1] + lines[0] + "    return s\n", message)
    return found


def _kernels_names() -> dict[Cell, Refusal]:
    """Locals and parameters of a kernel are not in sight of functions. (Arrays and variables may be handed on.)"""
    used = {
        "shared local": "s += 1", "counter": "x[0] += ti.atomic_add(s, 1)", "append": "x[ti.atomic_add(s, 1)] = 3",
        "tick": "x[0] = ti.atomic_add(s, 1)", "private local": "s *= 4", "argument": "x[0] = n",
        "shared through a function": "ti.atomic_max(s, 3)", "extreme by if": "s = max(s, 3)",
        "lent element": "x[0] = a[1]", "lent store": "a[0] = 1",
    }  # fmt: skip
    found: dict[Cell, Refusal] = {}
    for row in _FUNCTIONS:
        mark = "func" if row == "func" else "real_func"
        for inner, line in used.items():
            before = "" if row != "recursive func" else "    if k <= 0:\n        return\n    f(k - 1)\n"
            parameter = "k" if mark == "func" else "k: ti.i32"
            program = (f"@ti.{mark}\ndef f({parameter}):\n{before}    {line}\n\n\n@ti.kernel\n"
                       "def run(a: ti.types.ndarray(ti.i32, 1), n: ti.i32 = 3):\n    s = 0\n"
                       "    for i in range(4):\n        s += 1\n        f(2)\n    x[0] = s\n")  # fmt: skip
            found["in", row, inner] = Refusal(program, "is not defined")
    return found


def _breaks() -> dict[Cell, Refusal]:
    """A parallel loop is not left; an unrolled one not by a condition that is known only when the kernel runs, which
    is what leaves an ordinary loop. So the two kinds of `break` stand in no body together."""
    head = "@ti.kernel\ndef run(a: ti.types.ndarray(ti.i32, 1)):\n"
    text = head + "    {}\n        if x[1] > 3:\n            break\n"
    found = {("directly in", row, "break"): Refusal(text.format(loop), "a parallel loop cannot contain 'break'")
             for row, loop in _HEADS.items()}  # fmt: skip
    for word in ("break", "continue"):
        lines = ("for i in range(4):", "    for c in ti.static(range(3)):", "        if ti.static(c == 1):",
                 f"            {word}", "        if x[i] > 3:", f"            {word}")  # fmt: skip
        program = head + "".join(f"    {line}\n" for line in lines)
        refusal = Refusal(program, f"'{word}' of a static loop depends on a condition")
        found["before", "static break", word] = found["before", word, "static break"] = refusal
    return found


REFUSED: dict[Cell, Refusal] = {**_returns(), **_kernels_names(), **_breaks()}

# A body with a `break` is that of a loop, too. The old value of a counter that an iteration stores twice is another one
# under each order, and what each iteration assigns before it reads it stands at the top of its body.
OPEN: dict[Cell, str] = {
    **{("in", row, "tick"): "asked twice, a counter gives an iteration another value under each order"
       for row in (*_SERIAL, *_UNROLLED)},
    **{("before", *pair): "the body is that of a serial or unrolled loop" for word in ("break", "static break")
       for pair in (("tick", word), (word, "tick"))},
    **{("in", row, "extreme by if"): "unrolled, the local has more accesses, and the assignments race"
       for row in _UNROLLED},
    **{("before", *pair): "the body is that of an unrolled loop"
       for pair in (("extreme by if", "static break"), ("static break", "extreme by if"))},
    **{("in", row, "private local"): "it is assigned at the top of the iteration"
       for row in (*_SERIAL, *_UNROLLED, "if", "if else", "elif")},
}  # fmt: skip
