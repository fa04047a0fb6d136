"""Writes `docs/ir.md`, the reference of the IR, from the declarations: `python -m weft.ir.document > docs/ir.md`.

A test holds the page and the declarations together.
"""

from __future__ import annotations

import inspect
import re
import sys

from weft.ir import ops
from weft.ir.core import OPS, Op
from weft.ir.ops import LEVELS
from weft.ir.pipeline import LEVEL_AFTER, TO_LOWERED, TO_TASKS
from weft.ir.scalar import ATOMICS, BINARY, UNARY, BinaryRow, UnaryRow

__all__ = ["reference"]

_INTRODUCTION = """\
# The IR, op by op

This page is generated from the declarations in `ir/ops.py` and `ir/scalar.py` by
`python -m weft.ir.document > docs/ir.md`.

A kernel is a `kernel` op whose body holds ops in order; regions in braces nest. Every op is its own single result, in
SSA form; there are no phi nodes: what changes lives in an `alloca` or in memory. `print_ir` (`ir/text.py`) writes the
text form, `parse` (`ir/parse.py`) reads it back, `verify` (`ir/verify.py`) checks it.

## Types

`u1 u8 u16 u32 u64 i8 i16 i32 i64 f16 f32 f64`; vectors `f32x3` and matrices `f32x3x3`; structs `{x: f32, v: f32x3}`;
array arguments `[f32; 2]` and `[f32; 2 strided]`; addresses `*f32`; `void` for ops without a value.
"""


def reference() -> str:
    """The page."""
    return "\n".join([_INTRODUCTION, *_levels(), *_ops(), *_scalars()]).rstrip() + "\n"


def _levels() -> list[str]:
    lines = ["## The way down\n", "| after | the kernel is at level |", "|---|---|"]
    level = "(tree)"
    for name in ("lower_tree", *TO_TASKS, *TO_LOWERED):
        level = LEVEL_AFTER.get(name, level)
        lines.append(f"| `{name}` | {level} |")
    return [
        *lines,
        "\nAt *untyped* the ops are those of *chi*, but operands may still disagree in type; at *lowering* the ops of",
        "*tasks* and *lowered* mix.\n",
    ]


def _ops() -> list[str]:
    lines = ["## Ops\n"]
    for heading, declared in _sections():
        lines.append(f"### {heading[0].upper()}{heading[1:]}\n")
        for op in declared:
            lines += [
                f"#### `{op.opname}`\n",
                f"```\n{_form(op)}\n```\n",
                _traits(op) + "\n",
                f"{inspect.getdoc(op)}\n",
            ]
    return lines


def _sections() -> list[tuple[str, list[type[Op]]]]:
    """The ops under the headings of `ops.py`."""
    source = inspect.getsource(ops)
    found: list[tuple[str, list[type[Op]]]] = []
    for heading, name in re.findall(r'^# ---- ([\w ,]+) -+$|^class \w+\(Op, name="(\w+)"', source, re.MULTILINE):
        if heading:
            found.append((heading, []))
        else:
            found[-1][1].append(OPS[name])
    return found


def _form(op: type[Op]) -> str:
    """The op's text form, operands by their field's names."""
    groups = sum(field.role == "operands" for field in op.declared)
    value = op.pure or op.reads or op is ops.Alloca
    text = f"%result = {op.opname}" if value else op.opname
    regions = [field.name for field in op.declared if field.role == "region"]
    for field in op.declared:
        if field.role == "operand":
            text += f" %{field.name}"
        elif field.role == "operands":
            text += f" {field.name}=[...]" if groups > 1 else f" [{field.name}...]"
        elif field.role == "attr":
            shown = f"{field.name}: {field.annotation}"
            text += f" <{shown}>" if field.default is ... else f" <{shown} = {field.default!r}>"
    return text + (" : type" if value else "") + "".join(f" {name} {{...}}" for name in regions)


def _traits(op: type[Op]) -> str:
    traits = [trait for trait in ("pure", "reads", "writes", "terminator") if getattr(op, trait)]
    levels = [level for level, allowed in LEVELS.items() if op.opname in allowed]
    said = f"{', '.join(traits)}; " if traits else ""
    return f"*{said}{'level' if len(levels) == 1 else 'levels'} {', '.join(levels)}*"


def _scalars() -> list[str]:
    lines = ["## Scalar operators\n", "Kinds of `unary`:\n", "| kind | typing | LLVM |", "|---|---|---|"]
    lines += [_row(kind, row) for kind, row in UNARY.items()]
    lines += ["\nKinds of `binary`:\n", "| kind | typing | LLVM (float, signed, unsigned) |", "|---|---|---|"]
    lines += [_row(kind, row) for kind, row in BINARY.items()]
    return [*lines, f"\nKinds of `atomic`: {', '.join(f'`{kind}`' for kind in ATOMICS)}."]


def _row(kind: str, row: UnaryRow | BinaryRow) -> str:
    spelled = row.llvm if isinstance(row.llvm, tuple) else (row.llvm,)
    shown = ", ".join("-" if one is None else f"`{one}`" for one in spelled)
    return f"| `{kind}` | {row.typing} | {shown} |"


if __name__ == "__main__":
    sys.stdout.write(reference())
