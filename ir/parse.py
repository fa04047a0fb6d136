"""The parser: reads the text that `text.py` prints, driven by the same op declarations.

Commas and `#` comments are skipped. A type after `:` may be omitted if the op determines it. Names must be defined
before they are used. All other rules are checked by the verifier.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import is_dataclass
from typing import Any, get_args, get_origin, get_type_hints

from weft.ir.core import OPS, Block, BlockArg, Field, Op, Value
from weft.ir.errors import WeftError
from weft.ir.ops import Kernel
from weft.ir.schedule import RECORDS
from weft.ir.scopes import Scope
from weft.ir.storage.cell import Cell, Shadow
from weft.ir.storage.layout import LEVEL_READERS
from weft.ir.storage.path import Path
from weft.ir.symbols import COMPANIONS, FieldSymbol, LoopConfig, Lost, NodeSymbol, Param
from weft.ir.text import is_bare
from weft.ir.types import PRIMS, VOID, Prim, Type, array, lanes, pointer, struct, tensor

__all__ = ["ParseError", "parse", "parse_type"]

_TOKEN = re.compile(
    r"""[\s,]+ | \#[^\n]*
    | (?P<value> %[\w.]+ )
    | (?P<symbol> @(?: [\w.]+ | "(?:[^"\\]|\\.)*" ) )
    | (?P<string> "(?:[^"\\]|\\.)*" )
    | (?P<number> -?(?: \d+(?:\.\d*)?(?:[eE][+-]?\d+)? | inf\b ) )
    | (?P<word> [^\W\d][\w.]* )
    | (?P<mark> -> | [\[\](){}<>=:;*] )
    """,
    re.VERBOSE,
)
_CONSTANTS: dict[str, Any] = {"true": True, "false": False, "nan": float("nan"), "inf": float("inf")}


class ParseError(WeftError):
    """The text is not valid IR. The message gives the line and what was expected."""


def parse(text: str, fields: Sequence[FieldSymbol] = (), nodes: Sequence[NodeSymbol] = ()) -> Kernel:
    """The kernel that `text` describes. It may name these fields and nodes without declaring them."""
    parser = _Parser(text)
    parser.fields |= {symbol.name: symbol for symbol in fields}
    parser.nodes |= {node.name: node for node in nodes}
    kernel = parser.kernel()
    if parser.kind:
        raise parser.error("the end")
    return kernel


def parse_type(text: str) -> Type:
    """The type that `text` describes, as in `*f32x3`, `[{x: f32}; 2 strided]` or `<16 x f32>`."""
    parser = _Parser(text)
    type = parser.type()
    if parser.kind:
        raise parser.error("the end")
    return type


class _Parser:
    def __init__(self, text: str) -> None:
        self.source = text
        self.tokens: list[tuple[str, str, int]] = []  # kind, text, position
        position = 0
        while position < len(text):
            match = _TOKEN.match(text, position)
            if match is None:
                raise ParseError(f"line {text.count(chr(10), 0, position) + 1}: cannot read {text[position]!r}")
            if match.lastgroup is not None:
                self.tokens.append((match.lastgroup, match.group(match.lastgroup), position))
            position = match.end()
        self.tokens.append(("", "", len(text)))
        self.tokens.append(("", "", len(text)))
        self.position = 0
        self.values: dict[str, Value] = {}
        self.fields: dict[str, FieldSymbol] = {}
        self.nodes: dict[str, NodeSymbol] = {}
        self.parts: dict[str, FieldSymbol] = {}  # of nodes

    # ---- tokens ----

    @property
    def kind(self) -> str:
        return self.tokens[self.position][0]

    @property
    def text(self) -> str:
        return self.tokens[self.position][1]

    @property
    def after(self) -> str:
        return self.tokens[self.position + 1][1]

    @property
    def line(self) -> int:
        return self.source.count("\n", 0, self.tokens[self.position][2]) + 1

    def error(self, expected: str) -> ParseError:
        return ParseError(f"line {self.line}: expected {expected}, found {self.text or 'the end'!r}")

    def take(self, kind: str) -> str:
        """The next token's text, which must be of that kind."""
        if self.kind != kind:
            raise self.error(f"a {kind}")
        self.position += 1
        return self.tokens[self.position - 1][1]

    def accept(self, mark: str) -> bool:
        """Whether the next token is that mark or word. If so, it is consumed."""
        if self.text != mark or self.kind not in ("mark", "word"):
            return False
        self.position += 1
        return True

    def expect(self, mark: str) -> None:
        if not self.accept(mark):
            raise self.error(repr(mark))

    def number(self) -> int:
        try:
            return int(self.take("number"))
        except ValueError:
            self.position -= 1
            raise self.error("an integer") from None

    # ---- types and attributes ----

    def type(self) -> Type:
        if self.accept("*"):
            return pointer(self.type())
        if self.accept("["):
            elem = self.type()
            self.expect(";")
            axes = self.number()
            made = array(elem, axes, not self.accept("strided"), self.accept("wide"), self.accept("exposed"))
            self.expect("]")
            return made
        if self.accept("{"):
            members: list[tuple[str, Type]] = []
            while not self.accept("}"):
                name = self.take("word")
                self.expect(":")
                members.append((name, self.type()))
            return struct(tuple(members))
        if self.accept("<"):
            count = self.number()
            self.expect("x")
            elem = self.type()
            self.expect(">")
            return lanes(elem, count)
        return self.plain_type()

    def plain_type(self) -> Type:
        word = self.take("word")
        name, *extents = word.split("x")
        if word == "void":
            return VOID
        if name not in PRIMS or not all(map(str.isdigit, extents)):
            self.position -= 1
            raise self.error("a type")
        return tensor(PRIMS[name], tuple(map(int, extents))) if extents else PRIMS[name]

    def types(self) -> tuple[Type, ...]:
        self.expect("(")
        listed: list[Type] = []
        while not self.accept(")"):
            listed.append(self.type())
        return tuple(listed)

    def attribute(self) -> Any:
        kind, text = self.kind, self.text
        if self.accept("("):
            listed: list[Any] = []
            while not self.accept(")"):
                listed.append(self.attribute())
            return tuple(listed)
        if self.accept("{"):
            return self.facts("}")
        if kind not in _LITERALS:
            raise self.error("an attribute")
        self.position += 1
        return _LITERALS[kind](text)

    def facts(self, end: str) -> dict[str, Any]:
        """`name=attribute` pairs up to the mark `end`."""
        facts: dict[str, Any] = {}
        while not self.accept(end):
            name = self.take("word")
            self.expect("=")
            facts[name] = self.attribute()
        return facts

    def symbol(self) -> str:
        return _name(self.take("symbol"))

    # ---- kernels and ops ----

    def kernel(self) -> Kernel:
        self.expect("kernel")
        symbol = self.symbol()
        params = self.params()
        self.expect("->")
        results = self.types()
        facts = self.facts("{")
        while self.accept("node"):
            self.node()
        while self.accept("field"):
            self.field()
        body = self.block()
        fields = tuple(self.fields.values())
        known = ("temp_bytes", "called", "whole", "mode", "saved", "records", "grad_accesses")
        given: dict[str, Any] = {name: facts[name] for name in known if name in facts}
        given["lost"] = tuple(map(Lost, facts.get("lost", ())))
        return Kernel(symbol, params, results, fields, **given, nodes=tuple(self.nodes.values()), body=body)

    def params(self) -> tuple[Param, ...]:
        """`(name: type, name: type hidden=kind, ...)`."""
        self.expect("(")
        listed: list[Param] = []
        while not self.accept(")"):
            name = self.take("word")
            self.expect(":")
            type = self.type()
            hidden = ""
            if self.text == "hidden":
                self.position += 1
                self.expect("=")
                hidden = self.take("word")
            listed.append(Param(name, type, hidden))
        return tuple(listed)

    def typed_names(self) -> list[tuple[str, Type]]:
        """`(name: type, ...)`; names may be words or values."""
        self.expect("(")
        listed: list[tuple[str, Type]] = []
        while not self.accept(")"):
            name = self.take("value" if self.kind == "value" else "word")
            self.expect(":")
            listed.append((name, self.type()))
        return listed

    def node(self) -> None:
        """A sparse node: its kind and numbers, then the fields in which it is kept."""
        name = self.symbol()
        self.expect(":")
        kind = self.take("word")
        facts: dict[str, Any] = {}
        while self.kind == "word" and self.after == "=":
            key = self.take("word")
            self.expect("=")
            facts[key] = self.attribute()
        roles: dict[str, Any] = {}
        while self.text in ("table", "length", "seen", "body") and self.after == ":":
            role = self.take("word")
            self.expect(":")
            roles[role] = self.storage(f"{name}.{role}")
        if "table" not in roles:
            raise self.error("the table of the node")
        made = self.nodes[name] = NodeSymbol(name, kind, roles.pop("table"), **facts, **roles)
        self.parts |= {f"{name}.{role}": part for role, part in made.parts.items()}

    def field(self) -> None:
        name = self.symbol()
        if name in self.parts and self.text != ":":
            self.fields[name] = self.parts[name]
            return
        self.expect(":")
        self.fields[name] = self.storage(name)

    def storage(self, name: str) -> FieldSymbol:
        """The type, extents and layout of a field."""
        dtype = self.type()
        shape: list[int] = []
        if self.accept("["):
            while not self.accept("]"):
                shape.append(self.number())
        facts: dict[str, Any] = {}
        while self.kind == "word" and self.after == "=":
            key = self.take("word")
            self.expect("=")
            facts[key] = self.named(key) if key in (*COMPANIONS.values(), "node") else self.attribute()
        levels = tuple(LEVEL_READERS[key](facts.pop(key)) for key in [*facts] if key in LEVEL_READERS)
        shadows = tuple(Shadow(*shadow) for shadow in facts.pop("shadows", ()))
        cell = Cell(dtype, facts.pop("components", ()), shadows, facts.pop("halo", ()))
        return FieldSymbol(name, tuple(shape), facts.pop("tree", 0), Path(levels, cell), **facts)

    def block(self, args: list[BlockArg] | None = None) -> Block:
        """The ops up to the closing brace."""
        block = Block(args or ())
        while not self.accept("}"):
            block.append(self.op())
        return block

    def op(self) -> Op:
        name = ""
        if self.kind == "value":
            name = self.take("value")
            self.expect("=")
        declared = OPS.get(self.text) if self.kind == "word" else None
        if declared is None:
            raise self.error("an op")
        self.position += 1
        groups = sum(field.role == "operands" for field in declared.declared)
        given: dict[str, Any] = {}
        for field in declared.declared:
            if field.role != "region":
                self.item(field, groups > 1, given)
        type: Any = self.type() if self.accept(":") else None
        regions = [field.name for field in declared.declared if field.role == "region"]
        for region in regions:
            if len(regions) == 1 or (self.text == region and self.after in ("{", "(")):
                self.position += len(regions) > 1
                given[region] = self.region()
        made = declared(**given, type=type, name=_stem(name))
        if name:
            self.define(name, made)
        return made

    def item(self, field: Field, several: bool, given: dict[str, Any]) -> None:
        """Read one operand, group of operands or attribute, if it is there."""
        if field.role == "operand":
            given[field.name] = self.value()
        elif field.role == "operands":
            if several:
                self.expect(field.name)
                self.expect("=")
            self.expect("[")
            given[field.name] = values = []
            while not self.accept("]"):
                values.append(self.value())
        elif is_bare(field):
            given[field.name] = self.named(field.name) if field.name in ("field", "node") else self.attribute()
        elif self.text == field.name and self.after == "=":
            self.position += 2
            given[field.name] = self.of_annotation(field)
        elif field.default is ...:
            raise self.error(f"{field.name}=")

    def of_annotation(self, field: Field) -> Any:
        if "Type" in field.annotation:
            return self.types()
        content = self.attribute()
        try:
            return _typed(content, _ATTRIBUTES.get(field.annotation))
        except TypeError as error:
            raise ParseError(f"in {field.name}= before line {self.line}: {error}") from None

    def region(self) -> Block:
        args: list[BlockArg] = []
        if self.text == "(":
            for name, type in self.typed_names():
                args.append(BlockArg(type, _stem(name)))
                self.define(name, args[-1])
        self.expect("{")
        return self.block(args)

    def define(self, name: str, value: Value) -> None:
        if name in self.values:
            raise self.error(f"{name} to be defined once; it is defined twice before this")
        self.values[name] = value

    def value(self) -> Value:
        name = self.take("value")
        if name not in self.values:
            self.position -= 1
            raise self.error("a value defined above")
        return self.values[name]

    def named(self, what: str) -> Any:
        """The field or node of that name."""
        name = self.symbol()
        found = self.nodes.get(name) if what == "node" else self.fields.get(name) or self.parts.get(name)
        if found is None:
            self.position -= 1
            raise self.error(f"a {'node' if what == 'node' else 'field'} that the kernel declares")
        return found


def _stem(name: str) -> str:
    """The name of a value, or none if the printer numbered it."""
    return "" if name[1:].isdigit() else name[1:]


def _name(symbol: str) -> str:
    return json.loads(symbol[1:]) if symbol[1] == '"' else symbol[1:]


def _typed(content: Any, kind: Any) -> Any:
    """An attribute's content as the type that was declared for it, or for the field of a record."""
    if kind is Scope:
        return Scope.parse(str(content))
    if kind is Prim:
        return PRIMS[str(content)]
    if is_dataclass(kind):
        kinds = get_type_hints(kind)
        if not isinstance(content, dict) or not content.keys() <= kinds.keys():
            raise TypeError(f"{content!r} is not of type {getattr(kind, '__name__', kind)}")
        made: Any = kind
        return made(**{name: _typed(one, kinds[name]) for name, one in content.items()})
    if get_origin(kind) is tuple:
        (each, *_) = get_args(kind)
        return tuple(_typed(one, each) for one in content)
    return content


def _number(text: str) -> int | float:
    return int(text) if text.lstrip("-").isdigit() else float(text)


_ATTRIBUTES: dict[str, Any] = {"Scope": Scope, "LoopConfig": LoopConfig, **RECORDS}
_LITERALS: dict[str, Any] = {
    "number": _number,
    "string": json.loads,
    "word": lambda text: _CONSTANTS.get(text, text),
}
