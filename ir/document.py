"""Generates two pages of the documentation from the code: `python -m weft.ir.document docs`.

`docs/ir.md` is generated from the op declarations, `docs/passes.md` from the pipeline tables and the docstrings of the
passes. A test compares the pages with the code.
"""

from __future__ import annotations

import inspect
import re
import sys
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path

from weft.ir import (
    atomic_ops,
    derivative_ops,
    lowered_ops,
    mapped_ops,
    ops,
    schedule,
    sparse_ops,
    tensor_ops,
    vector_ops,
)
from weft.ir.autodiff.rules import DERIVATIVES, spell
from weft.ir.core import LEVELS, OPS, Op, ops_at
from weft.ir.pipeline import LEVEL_AFTER, TO_LANES, TO_LOWERED, TO_MAPPED, TO_TASKS, find_pass
from weft.ir.scalar import ATOMICS, BINARY, UNARY, BinaryRow, UnaryRow
from weft.ir.simt import SIMT

__all__ = ["PAGES", "passes", "reference"]

_INTRODUCTION = """\
# The IR, op by op

This page is generated from the declarations in `ir/ops.py` and `ir/scalar.py` by
`python -m weft.ir.document docs`.

A kernel is a `kernel` op whose body is a list of ops. Regions are in braces and nest. The IR is in SSA form, and every
op is its own single result. There are no phi nodes: values that change are in an `alloca` or in memory. `print_ir`
(`ir/text.py`) prints the text form, `parse` (`ir/parse.py`) reads it, and `verify` (`ir/verify.py`) checks it.

## Types

`u1 u8 u16 u32 u64 i8 i16 i32 i64 f16 f32 f64`; vectors `f32x3` and matrices `f32x3x3`; structs `{x: f32, v: f32x3}`;
array arguments `[f32; 2]`, `[f32; 2 strided]` and, if they may overlap, `[f32; 2 exposed]`; addresses `*f32`; values of
16 SIMD lanes `<16 x f32>`, `<16 x *f32>`, and masks `<16 x u1>`; `void` for ops without a value.
"""


_PASSES = """\
# The passes

This page is generated from the pipeline tables and the docstrings of the passes by `python -m weft.ir.document docs`.

A pass is a function `name(root, config) -> bool` in the file of its name under `ir/transforms/`. It rewrites the kernel
in place and returns whether it changed anything. `WEFT_DUMP=offload,cse` prints the IR after these passes, and
`WEFT_DUMP=all` prints it after each pass. `WEFT_TIME=1` prints the time of each pass. For each pass, this page says
what the pass does, shows IR before and after, and says when the pass does not apply.
"""


def passes() -> str:
    """The page about the passes."""
    lines = [_PASSES]
    for heading, table in (("To tasks", ("lower_tree", *TO_TASKS)), ("To lowered CHI", TO_LOWERED)):
        lines += [f"**{heading}:** {_listed(table)}.\n"]
    lines += [
        f"**To what a {target.upper()} runs:** {_listed(names)}.\n" for target, names in _mapping().items() if names
    ]
    names = dict.fromkeys((*TO_TASKS, *TO_LOWERED))
    simplify = ("fold", "algebra", "forward", "dead_stores", "cse", "licm", "unreachable", "die")
    lines += ["## lower_tree\n", f"{inspect.getdoc(import_module('weft.ir.transforms.lower_tree'))}\n"]
    mapping = dict.fromkeys(name for names in _mapping().values() for name in names)
    for name in (*names, *simplify, *mapping):
        module = inspect.getdoc(import_module(find_pass(name).__module__))
        lines += [f"## {name}\n", f"{module}\n", f"{inspect.getdoc(find_pass(name))}\n"]
    return "\n".join(lines).rstrip() + "\n"


def _mapping() -> dict[str, tuple[str, ...]]:
    """The passes of each kind of target, after those that all targets share."""
    return {target: TO_MAPPED[target] + TO_LANES[target] for target in TO_MAPPED}


def _listed(names: Sequence[str]) -> str:
    return ", ".join(f"[`{name}`](#{name})" for name in names)


def reference() -> str:
    """The page about the ops."""
    return "\n".join([_INTRODUCTION, *_levels(), *_schedules(), *_ops(), *_scalars()]).rstrip() + "\n"


def _levels() -> list[str]:
    lines = ["## Levels\n", "| after | the kernel is at level |", "|---|---|"]
    level = "(tree)"
    for name in ("lower_tree", *TO_TASKS, *TO_LOWERED):
        level = LEVEL_AFTER.get(name, level)
        lines.append(f"| `{name}` | {level} |")
    lines.append("| the first pass of a target | mapped |")
    lines.append(f"| `vectorize`, for CPUs | {LEVEL_AFTER['vectorize']} |")
    return [
        *lines,
        "\nAt *untyped* the ops are those of *chi*, but the types of operands may still disagree. At *lowering*",
        "both the ops of *tasks* and those of *lowered* may occur.\n",
    ]


def _schedules() -> list[str]:
    """The fields of the records of `schedule.py`, with the comments there."""
    lines = ["## Schedules\n", f"{inspect.getdoc(schedule)}\n"]
    for kind in schedule.RECORDS.values():
        lines += [f"### `{kind.__name__}`\n", f"{inspect.getdoc(kind)}\n", "| field | what |", "|---|---|"]
        found = re.findall(r"^    (\w+): .*?  # (.*)$", inspect.getsource(kind), re.MULTILINE)
        lines += [*(f"| `{name}` | {what} |" for name, what in found), ""]
    return lines


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
    """The ops under the headings of the files that declare them."""
    files = (ops, tensor_ops, derivative_ops, atomic_ops, sparse_ops, lowered_ops, mapped_ops, vector_ops)
    source = "".join(map(inspect.getsource, files))
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
    value = op.pure or op.reads or op.local
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
    traits = [trait for trait in ("pure", "reads", "writes", "terminator", "exits", "fails") if getattr(op, trait)]
    traits += [f"effect: {op.effect}"] if op.effect else []
    levels = [level for level in LEVELS if op.opname in ops_at(level)]
    said = f"{', '.join(traits)}; " if traits else ""
    return f"*{said}{'level' if len(levels) == 1 else 'levels'} {', '.join(levels)}*"


def _scalars() -> list[str]:
    lines = ["## Scalar operators\n", "Kinds of `unary`:\n", "| kind | typing | LLVM |", "|---|---|---|"]
    lines += [_row(kind, row) for kind, row in UNARY.items()]
    lines += ["\nKinds of `binary`:\n", "| kind | typing | LLVM (float, signed, unsigned) |", "|---|---|---|"]
    lines += [_row(kind, row) for kind, row in BINARY.items()]
    lines += _derivatives()
    lines.append(f"\nKinds of `atomic`: {', '.join(f'`{kind}`' for kind in ATOMICS)}.")
    lines += ["\nKinds of `simt`:\n", "| kind | takes | gives |", "|---|---|---|"]
    for kind, row in SIMT.items():
        takes = ", ".join(str(prim or "any number") for prim in row.takes)
        lines.append(f"| `{kind}` | {takes} | {row.gives or 'its type'} |")
    return lines


def _derivatives() -> list[str]:
    """The rules of `autodiff/rules.py`, and what they say where an operator has no derivative."""
    lines = [
        "\nDerivatives by the operands `x` and `y`. The result is `r`:\n",
        "| kind | by x | by y |",
        "|---|---|---|",
    ]
    rows: dict[str, UnaryRow | BinaryRow] = {**UNARY, **BINARY}
    named = [(kind, row.derivative) for kind, row in rows.items() if row.derivative is not None]
    for kind, name in named:
        shown = [f"`{spell(part)}`" for part in DERIVATIVES[name].partials]
        lines.append(f"| `{kind}` | {shown[0]} | {shown[1] if len(shown) > 1 else ''} |")
    lines += ["\nDerivatives at kinks:\n", "| kind | operands | derivatives | why |", "|---|---|---|---|"]
    for kind, name in named:
        for kink in DERIVATIVES[name].kinks:
            at, given = (", ".join(f"{number:g}" for number in numbers) for numbers in (kink.at, kink.partials))
            lines.append(f"| `{kind}` | {at} | {given} | {kink.why} |")
    return lines


def _row(kind: str, row: UnaryRow | BinaryRow) -> str:
    spelled = row.llvm if isinstance(row.llvm, tuple) else (row.llvm,)
    shown = ", ".join("-" if one is None else f"`{one}`" for one in spelled)
    return f"| `{kind}` | {row.typing} | {shown} |"


PAGES = {"ir.md": reference, "passes.md": passes}

if __name__ == "__main__":
    for page, write in PAGES.items():
        Path(sys.argv[1], page).write_text(write(), encoding="utf-8", newline="\n")
