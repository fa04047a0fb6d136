"""The printer: IR as text that people can read and `parse.py` can parse.

The text follows from the declared fields of an op, in their order:

    kernel @step(dt: f32) -> () {
      field @x: f32[8] tree=0 components=(0) terms=((0, 1, 8, 4)) order=(0)
      %dt = arg index=0 : f32
      %n = const 8 : i32
      parallel_for begins=[%0], ends=[%n] (%i: i32) {
        %1 = field_ptr @x[%i] : *f32
        %2 = atomic add %1, %dt : f32
      }
    }

Operands are printed as `%name`, a variable number of them in brackets. Symbols are printed as `@name`, and `kind` and
`value` without a name. Other attributes are printed as `name=value` if they differ from their default. Then follow `:
type` and the regions, which are named if an op has several. Empty ones are omitted. Commas are optional. Names come
from the user's variables and are made unique. Values without a name are numbered.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable
from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np

from weft.ir.core import Block, BlockArg, Field, Op, Value
from weft.ir.errors import Span
from weft.ir.ops import Kernel
from weft.ir.scopes import Scope
from weft.ir.storage.cell import Shadow
from weft.ir.storage.dense import Term
from weft.ir.symbols import COMPANIONS, FieldSymbol, NodeSymbol
from weft.ir.types import VOID, Type

__all__ = ["RESERVED", "Lister", "Names", "attribute", "is_bare", "print_ir"]

RESERVED = ("true", "false", "nan", "inf")  # words that are numbers, never strings
_WORD = re.compile(r"[^\W\d][\w.]*\Z")


class Names:
    """Gives every value and symbol of one text a unique name, the first comer its own."""

    def __init__(self) -> None:
        self.taken: set[str] = set()
        self.of: dict[object, str] = {}
        self.numbered = 0

    def value(self, value: Value) -> str:
        """`%x` for a value the user called x, `%7` for one without a name."""
        known = self.of.get(value)
        if known is None:
            stem = re.sub(r"[^\w.]", "_", value.name)
            known = self.of[value] = "%" + (self.number() if not stem or stem.isdigit() else self.unique(stem))
        return known

    def number(self) -> str:
        """The next number."""
        self.numbered += 1
        return str(self.numbered - 1)

    def unique(self, stem: str) -> str:
        """`stem`, or the first of `stem_1`, `stem_2` ... that is free."""
        name, count = stem, 0
        while name in self.taken:
            count += 1
            name = f"{stem}_{count}"
        self.taken.add(name)
        return name


def print_ir(what: Op | Block, spans: bool = False) -> str:
    """The text of an op with all inside it, or of the ops of a block. `spans` adds each op's place in the source as a
    comment. Text of a kernel parses back; a fragment's outer values are named where they are first met."""
    printer = _Printer(spans)
    if isinstance(what, Op):
        printer.op(what, "")
    else:
        printer.block(what, "")
    return "\n".join(printer.lines) + "\n"


class Lister:
    """Prints one program repeatedly, as passes change it. A value that stays the same keeps its name and its number, so
    that two listings can be compared line by line."""

    def __init__(self) -> None:
        self._printer = _Printer(False)

    def lines(self, what: Op) -> tuple[list[str], list[Span | None]]:
        """The lines of the text of an op with all inside it, and where in the source each comes from."""
        printer = self._printer
        printer.lines, printer.places = [], []
        printer.op(what, "")
        return printer.lines, printer.places


class _Printer:
    def __init__(self, spans: bool) -> None:
        self.names, self.spans = Names(), spans
        self.fields = Names()  # of nodes too
        self.parts = set[FieldSymbol]()  # of nodes
        self.lines: list[str] = []
        self.places: list[Span | None] = []  # of the lines

    def line(self, text: str, span: Span | None) -> None:
        self.lines.append(text)
        self.places.append(span)

    def block(self, block: Block, indent: str) -> None:
        for op in block:
            self.op(op, indent)

    def op(self, op: Op, indent: str) -> None:
        if isinstance(op, Kernel):
            self.kernel(op, indent)
            return
        head = op.opname if op.type is VOID else f"{self.names.value(op)} = {op.opname}"
        head += self.items(op)
        if op.type is not VOID:
            head += f" : {op.type}"
        place = f"  # {op.span}" if self.spans and op.span is not None else ""
        regions = [field for field in op.declared if field.role == "region"]
        if not regions:
            self.line(indent + head + place, op.span)
            return
        line = indent + head
        for field in regions:
            region: Block = getattr(op, field.name)
            if len(regions) > 1:
                if region.first is None and not region.args:
                    continue
                line += f" {field.name}"
            self.line(f"{line}{self.arguments(region.args)} {{{place}", op.span)
            self.block(region, indent + "  ")
            line, place = indent + "}", ""
        self.line(line + place, op.span)

    def kernel(self, op: Kernel, indent: str) -> None:
        params = ", ".join(f"{p.name}: {p.type}" + (f" hidden={p.hidden}" if p.hidden else "") for p in op.params)
        results = ", ".join(map(str, op.results))
        temp = f" temp_bytes={op.temp_bytes}" if op.temp_bytes else ""
        temp += (" called=true" if op.called else "") + (" whole=true" if op.whole else "")
        temp += f" mode={op.mode}" if op.mode else ""
        temp += f" saved={attribute(op.saved)}" if op.saved else ""
        temp += f" records={attribute(op.records)}" if op.records else ""
        temp += f" grad_accesses={attribute(op.grad_accesses)}" if op.grad_accesses else ""
        temp += f" lost={attribute(tuple(place.name for place in op.lost))}" if op.lost else ""
        self.line(f"{indent}kernel {symbol(op.symbol)}({params}) -> ({results}){temp} {{", op.span)
        for node in op.nodes:
            self.node(node, indent)
        for field in op.fields:
            if field in self.parts:
                self.line(f"{indent}  field {self.field(field)}", None)
            else:
                self.line(f"{indent}  field {self.field(field)}: {self.storage(field)}{self.companions(field)}", None)
        self.block(op.body, indent + "  ")
        self.line(indent + "}", None)

    def items(self, op: Op) -> str:
        """The operands and attributes, each with its separator from the previous one."""
        groups = sum(field.role == "operands" for field in op.declared)
        text, separator = "", " "
        for field in op.declared:
            if field.role == "region":
                continue
            item = self.item(op, field, groups > 1)
            if not item:
                continue
            text += item if item[0] == "[" and _indexes(op) else separator + item
            separator = " " if field.name == "kind" else ", "
        return text

    def item(self, op: Op, field: Field, several: bool) -> str:
        content: Any = getattr(op, field.name)
        if field.role == "operand":
            return self.names.value(content)
        if field.role == "operands":
            listed = "[" + ", ".join(map(self.names.value, content)) + "]"
            return f"{field.name}={listed}" if several else listed
        if content == field.default:
            return ""
        text = self.symbol(content) if isinstance(content, FieldSymbol | NodeSymbol) else attribute(content)
        return text if is_bare(field) else f"{field.name}={text}"

    def arguments(self, args: Iterable[BlockArg]) -> str:
        listed = ", ".join(f"{self.names.value(arg)}: {arg.type}" for arg in args)
        return f" ({listed})" if listed else ""

    def symbol(self, content: FieldSymbol | NodeSymbol) -> str:
        if isinstance(content, NodeSymbol):
            return self.fields.of.get(content) or symbol(content.name)  # of a fragment of a kernel
        return self.field(content)

    def companions(self, field: FieldSymbol) -> str:
        found = ((kind, getattr(field, kind)) for kind in COMPANIONS.values())
        return "".join(f" {kind}={self.field(other)}" for kind, other in found if other is not None)

    def node(self, node: NodeSymbol, indent: str) -> None:
        """A sparse node, and the fields in which it is kept. Those that follow from its numbers have a name only."""
        numbers = ("cell_bytes", "pool", "book", "capacity", "pieces", "limit", "axis", "chunk", "unbounded")
        usual = {one.name: one.default for one in fields(NodeSymbol)}
        facts = "".join(f" {one}={getattr(node, one)}" for one in numbers if getattr(node, one) != usual[one])
        facts += " ordered=true" if node.ordered else ""
        name = self.fields.of[node] = symbol(self.fields.unique(node.name))
        self.line(f"{indent}  node {name}: {node.kind}{facts}", None)
        for role, part in node.parts.items():
            self.parts.add(part)
            self.fields.of[part] = symbol(self.fields.unique(f"{node.name}.{role}"))
            if role in ("table", "length", "seen", "body"):
                self.line(f"{indent}    {role}: {self.storage(part)}", None)

    def storage(self, field: FieldSymbol) -> str:
        node = "" if field.node is None else f" node={self.fields.of[field.node]}"
        return f"{field.dtype}{_layout(field)}{node}"

    def field(self, field: FieldSymbol) -> str:
        known = self.fields.of.get(field)
        if known is None:
            known = self.fields.of[field] = symbol(self.fields.unique(field.name))
        return known


def is_bare(field: Field) -> bool:
    """Whether an attribute is printed without its name."""
    return field.name in ("kind", "value", "field", "node") and field.default is ...


def _indexes(op: Op) -> bool:
    """Whether the op's bracketed operands index the item before them, as in `@x[%i]`."""
    return op.opname.endswith("_ptr") or "node" in op.attribute_names


def symbol(name: str) -> str:
    """Return `@name`, quoted if it is not a word."""
    return "@" + (name if _WORD.match(name) else json.dumps(name))


def attribute(content: Any) -> str:
    """The text of an attribute: a number, a truth value, a string, a type, a record, or a tuple."""
    if isinstance(content, np.generic):
        content = content.item()
    if isinstance(content, Scope):
        content = str(content)
    if isinstance(content, str):
        return content if _WORD.match(content) and content not in RESERVED else json.dumps(content)
    if isinstance(content, bool):
        return "true" if content else "false"
    if isinstance(content, float):
        return repr(content) if math.isfinite(content) else str(content)
    if isinstance(content, Term | Shadow):
        return attribute(tuple(getattr(content, one.name) for one in fields(content)))
    if is_dataclass(content):
        chosen = [(f.name, getattr(content, f.name)) for f in fields(content) if getattr(content, f.name) != f.default]
        return "{" + ", ".join(f"{name}={attribute(choice)}" for name, choice in chosen) + "}"
    if isinstance(content, tuple):
        return "(" + ", ".join(map(attribute, content)) + ")"
    if isinstance(content, int | Type):
        return str(content)
    raise TypeError(f"an attribute cannot be a {type(content).__name__}: {content!r}")


def _layout(field: FieldSymbol) -> str:
    """The extents of a field and how it is stored."""
    extents = f"[{', '.join(map(str, field.shape))}]" if field.shape else ""
    if not field.path.is_collapsed:
        raise TypeError(f"the path of field '{field.name}' is not collapsed: {field.path}")
    cell = field.path.cell
    facts: dict[str, Any] = {"tree": field.tree, "components": cell.components}
    facts |= dict(level.text for level in field.path.levels)
    facts |= {"offset": field.offset, "order": field.order, "halo": cell.halo, "shadows": cell.shadows}
    facts |= ({"exposed": True} if field.exposed else {}) | ({"hidden": field.hidden} if field.hidden else {})
    facts |= {"fresh": True} if field.fresh else {}
    return extents + "".join(f" {name}={attribute(fact)}" for name, fact in facts.items() if fact != ())
