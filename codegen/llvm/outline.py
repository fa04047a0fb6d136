"""Moves the body of a very long loop to a function of its own.

    head: ... body: <thousands of lines> latch: ...    ->    body: %on = call i1 @f_body(%i, ...); br %on, %latch, %exit

In a loop, LLVM's code generator loads constants before the loop, thousands of them, and each register that is live
through thousands of blocks takes time in each. Code generation would take time proportional to the square of the
length. In a function that is called for each iteration, no register lives longer than that. The function takes the
registers that it uses as parameters, and returns whether to continue: a failed assertion leaves the loop.

The body stays in place with debug lines, which belong to one function. A shorter body stays too, because LLVM may still
vectorize it.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from weft.codegen.llvm.function import FunctionWriter

__all__ = ["USED", "defined", "labels", "outline"]

# Lines of a body above which it is cut out: in lanes; of one that LLVM shall not vectorize (see `kernel.py`).
_LONG_IN_LANES, _LONG = 3000, 8000

_NAME, _ARGUMENT = re.compile(r"@([\w.]+)\("), re.compile(r"(ptr|i64)[^,()]* (%\w+)")
_DEFINED, USED = re.compile(r"\s*(%[\w.]+) = (.*)"), re.compile(r"%[\w.]+")
_ONE = r"(?:ptr|i\d+|half|float|double)"
_TYPE = rf"({_ONE}|<\d+ x {_ONE}>)"

# The type of an instruction's result, by its text: the group is the type. Other results are not passed on.
_TYPES = tuple(
    re.compile(pattern)
    for pattern in (
        rf"(?:phi|freeze|insertelement) {_TYPE} ",
        rf"load (?:atomic )?{_TYPE},",
        rf"(?:add|sub|mul|shl|lshr|ashr|and|or|xor|[us]div|[us]rem|f(?:add|sub|mul|div|rem|neg))(?: [a-z]+)* {_TYPE} ",
        rf"call (?:[a-z]+ )*{_TYPE} @",
        rf"(?:trunc|zext|sext|[us]itofp|fpto[us]i|fpext|fptrunc|bitcast|ptrtoint|inttoptr) .* to {_TYPE}$",
    )
)


def outline(f: FunctionWriter, signature: str, in_lanes: bool) -> None:
    """Cut the body of the innermost loop that is too long out of the function, if there is one."""
    least = _LONG_IN_LANES if in_lanes else _LONG
    body = min((one for one in f.bodies if len(one) > least), key=len, default=None)
    name = _NAME.search(signature)
    if body is None or name is None or f.lines_from is not None:
        return
    inside, around = f.lines[body.begin : body.end], [*f.lines[: body.begin], *f.lines[body.end :]]
    elsewhere = {register for line in around for register in USED.findall(line)}
    own = list[str]()
    for slot in reversed(f.slots):  # one may use another before it
        if slot.split()[0] in elsewhere:
            elsewhere.update(USED.findall(slot))
        else:
            own.insert(0, slot)
    types = {register: type for type, register in _ARGUMENT.findall(signature)}
    types |= defined([*(slot for slot in f.slots if slot not in own), *f.lines[: body.begin]])
    known = {body.latch, f.exit_label, *defined(own), *defined(inside), *labels(inside)}
    taken = dict.fromkeys(r for line in (*own, *inside) for r in USED.findall(line) if r not in known)
    if not all(types.get(register) for register in taken):
        return
    parameters = ", ".join(f"{types[register]} {register}" for register in taken)
    function = f"{name[1]}_body"
    head = f"define internal i1 @{function}({parameters}) noinline {f.target.attributes} {{"
    tail = (f"{body.latch[1:]}:", "  ret i1 true", f"{f.exit_label}:", "  ret i1 false", "}\n")
    f.module.functions.append("\n".join((head, "entry:", *own, f"  br label {body.label}", f"{body.label[1:]}:")))
    f.module.functions[-1] += "\n" + "\n".join((*inside, *tail))
    call = [f"  %on = call i1 @{function}({parameters})", f"  br i1 %on, label {body.latch}, label %{f.exit_label}"]
    f.lines[body.begin : body.end] = call
    f.slots = [slot for slot in f.slots if slot not in own]


def defined(lines: Sequence[str]) -> dict[str, str]:
    """The registers that the lines define, and their types; empty where they are not seen."""
    found = (_DEFINED.match(line) for line in lines)
    return {one[1]: _type_of(one[2]) for one in found if one is not None}


def labels(lines: Sequence[str]) -> set[str]:
    """The labels of the blocks that begin in the lines."""
    return {f"%{line[:-1]}" for line in lines if line.endswith(":")}


def _type_of(instruction: str) -> str:
    if instruction.startswith(("getelementptr ", "alloca ")):
        return "ptr"
    return next((found[1] for pattern in _TYPES if (found := pattern.match(instruction)) is not None), "")
