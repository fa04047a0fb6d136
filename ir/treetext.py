"""Prints the tree as text, close to the Python source. It shows users what the translator made of a kernel.

    kernel step(dt: f32):
        field x: f32[8]
        parallel for i in range(0, 8, 1):
            y: f32 = square(a=x[i])
            where square(a: f32) -> f32:
                return (a * a)
            x[i] += (y * dt)

An inlined function is called by name, and its body follows the statement after `where`. Variables that share a name are
distinguished by a number.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import fields
from typing import Any

from weft.ir import tree
from weft.ir.errors import Span
from weft.ir.registry import registers
from weft.ir.symbols import LoopConfig
from weft.ir.text import Names
from weft.ir.types import VOID, Tensor

__all__ = ["print_tree", "tree_lines"]

# fmt: off
_SIGNS: dict[str, str] = {
    "add": "+", "sub": "-", "mul": "*", "div": "/", "floordiv": "//", "mod": "%", "pow": "**",
    "and": "&", "or": "|", "xor": "^", "shl": "<<", "shr": ">>",
    "lt": "<", "le": "<=", "gt": ">", "ge": ">=", "eq": "==", "ne": "!=",
}
# fmt: on
_PREFIXES: dict[str, str] = {"neg": "-", "bit_not": "~", "not": "not "}

_PRINTERS: dict[type[tree.Node], Callable[[Any, Any], str]] = {}


def print_tree(kernel: tree.KernelTree) -> str:
    """The text of a kernel."""
    return "\n".join(tree_lines(kernel)[0]) + "\n"


def tree_lines(kernel: tree.KernelTree) -> tuple[list[str], list[Span | None]]:
    """The lines of that text, and where in the source each comes from."""
    writer = _Writer()
    params = ", ".join(f"{param.name}: {param.type}" for param in kernel.params)
    results = f" -> {', '.join(map(str, kernel.results))}" if kernel.results else ""
    mode = f" mode={kernel.mode}" if kernel.mode else ""
    writer.line(f"kernel {kernel.name}({params}){results}{mode}:")
    writer.params = [param.name for param in kernel.params]
    writer.names.taken.update(writer.params)
    writer.indent += "    "
    for node in kernel.nodes:
        writer.line(f"{node.kind} {writer.name(node, node.name)}[{', '.join(map(str, node.shape))}]")
    for field in kernel.fields:
        shape = f"[{', '.join(map(str, field.shape))}]" if field.shape else ""
        writer.line(f"field {writer.name(field, field.name)}: {field.dtype}{shape}")
    writer.body(kernel.body)
    return writer.lines, writer.places


class _Writer:
    def __init__(self) -> None:
        self.lines: list[str] = []
        self.places: list[Span | None] = []  # of the lines
        self.indent = ""
        self.names = Names()
        self.params: list[str] = []
        self.calls: list[tree.Call] = []  # whose bodies are still to be written

    def line(self, text: str, span: Span | None = None) -> None:
        self.lines.append(self.indent + text)
        self.places.append(span)

    def name(self, thing: object, stem: str) -> str:
        """The unique name of a variable or field."""
        if thing not in self.names.of:
            self.names.of[thing] = self.names.unique(stem or "_")
        return self.names.of[thing]

    def variable(self, variable: tree.Variable) -> str:
        return self.name(variable, variable.name)

    def text(self, node: tree.Node) -> str:
        """An expression's text, or a statement's first line."""
        return _PRINTERS[type(node)](node, self)

    def list(self, nodes: Sequence[tree.Node]) -> str:
        return ", ".join(map(self.text, nodes))

    def body(self, statements: Sequence[tree.Stmt]) -> None:
        """Statements, each followed by the bodies of the functions it calls, then by its own blocks."""
        for statement in statements:
            self.line(self.text(statement), statement.span)
            calls, self.calls = self.calls, []
            for call in calls:
                listed = ", ".join(f"{self.variable(v)}: {v.type}" for v, _ in call.arguments)
                result = "" if call.type is VOID else f" -> {call.type}"
                self.block(f"where {call.name}({listed}){result}:", call.body, call.span)
            if isinstance(statement, tree.If):
                self.block(None, statement.then)
                if statement.orelse:
                    self.block("else:", statement.orelse)
            elif isinstance(statement, tree.While | tree.RangeFor | tree.BoxFor | tree.StructFor):
                self.block(None, statement.body)
        if not statements:
            self.line("pass")

    def block(self, heading: str | None, statements: Sequence[tree.Stmt], span: Span | None = None) -> None:
        if heading is not None:
            self.line(heading, span)
        outer, self.indent = self.indent, self.indent + "    "
        self.body(statements)
        self.indent = outer


_prints = registers(_PRINTERS)


# ---- expressions -----------------------------------------------------------------------------------------------------


@_prints(tree.Const)
def _const(node: tree.Const, _: _Writer) -> str:
    return repr(node.value)


@_prints(tree.Var)
def _var(node: tree.Var, to: _Writer) -> str:
    return to.variable(node.variable)


@_prints(tree.ParamRef)
def _param(node: tree.ParamRef, to: _Writer) -> str:
    return to.params[node.index]


@_prints(tree.Unary)
def _unary(node: tree.Unary, to: _Writer) -> str:
    prefix = _PREFIXES.get(node.kind)
    return f"{node.kind}({to.text(node.x)})" if prefix is None else f"{prefix}{to.text(node.x)}"


@_prints(tree.Binary)
def _binary(node: tree.Binary, to: _Writer) -> str:
    sign = _SIGNS.get(node.kind)
    left, right = to.text(node.lhs), to.text(node.rhs)
    return f"{node.kind}({left}, {right})" if sign is None else f"({left} {sign} {right})"


@_prints(tree.BoolOp)
def _bool_op(node: tree.BoolOp, to: _Writer) -> str:
    return f"({f' {node.kind} '.join(map(to.text, node.values))})"


@_prints(tree.IfExp)
def _if_exp(node: tree.IfExp, to: _Writer) -> str:
    return f"({to.text(node.a)} if {to.text(node.condition)} else {to.text(node.b)})"


@_prints(tree.Select)
def _select(node: tree.Select, to: _Writer) -> str:
    return f"select({to.list([node.condition, node.a, node.b])})"


@_prints(tree.Cast, tree.Splat)
def _cast(node: Any, to: _Writer) -> str:
    return f"{node.type}({to.text(node.x)})"


@_prints(tree.BitCast)
def _bit_cast(node: tree.BitCast, to: _Writer) -> str:
    return f"bit_cast({to.text(node.x)}, {node.type})"


@_prints(tree.Random)
def _random(node: tree.Random, _: _Writer) -> str:
    return f"random({node.type})"


@_prints(tree.Invoke)
def _invoke(node: tree.Invoke, to: _Writer) -> str:
    return f"{node.function}({to.list(node.arguments)})"


@_prints(tree.Simt)
def _simt(node: tree.Simt, to: _Writer) -> str:
    return f"{node.kind}({to.list(node.values)})"


@_prints(tree.Shared)
def _shared(node: tree.Shared, to: _Writer) -> str:
    return to.name(node, node.name)


@_prints(tree.MakeTensor)
def _make_tensor(node: tree.MakeTensor, to: _Writer) -> str:
    if not isinstance(node.type, Tensor) or len(node.type.shape) == 1:
        return f"[{to.list(node.values)}]"
    columns = node.type.shape[1]
    rows = [to.list(node.values[k : k + columns]) for k in range(0, len(node.values), columns)]
    return f"[[{'], ['.join(rows)}]]"


@_prints(tree.MatMul)
def _matmul(node: tree.MatMul, to: _Writer) -> str:
    return f"({to.text(node.lhs)} @ {to.text(node.rhs)})"


@_prints(tree.Vary)
def _vary(node: tree.Vary, to: _Writer) -> str:
    return f"vary({to.text(node.x)})"


@_prints(tree.Derivative)
def _derivative(node: tree.Derivative, to: _Writer) -> str:
    return f"derivative({to.list([node.value, node.by])})"


@_prints(tree.Transpose)
def _transpose(node: tree.Transpose, to: _Writer) -> str:
    return f"{to.text(node.x)}.transpose()"


@_prints(tree.Reduce)
def _reduce(node: tree.Reduce, to: _Writer) -> str:
    return f"reduce_{node.kind}({to.text(node.x)})"


@_prints(tree.MakeStruct)
def _make_struct(node: tree.MakeStruct, to: _Writer) -> str:
    return f"{node.type}({to.list(node.values)})"


@_prints(tree.Element)
def _element(node: tree.Element, to: _Writer) -> str:
    return f"{to.text(node.base)}[{to.list(node.indices)}]"


@_prints(tree.Member)
def _member(node: tree.Member, to: _Writer) -> str:
    return f"{to.text(node.base)}.{node.name}"


@_prints(tree.FieldElement)
def _field_element(node: tree.FieldElement, to: _Writer) -> str:
    return f"{to.name(node.field, node.field.name)}[{to.list(node.indices) or 'None'}]"


@_prints(tree.CellOp)
def _cell_op(node: tree.CellOp, to: _Writer) -> str:
    return f"{node.kind}({to.name(node.node, node.node.name)}, [{to.list(node.indices)}])"


@_prints(tree.ArrayElement)
def _array_element(node: tree.ArrayElement, to: _Writer) -> str:
    return f"{to.text(node.array)}[{to.list(node.indices) or 'None'}]"


@_prints(tree.ArrayShape)
def _array_shape(node: tree.ArrayShape, to: _Writer) -> str:
    return f"{to.text(node.array)}.shape[{node.axis}]"


@_prints(tree.Atomic)
def _atomic(node: tree.Atomic, to: _Writer) -> str:
    return f"atomic_{node.kind}({to.list([node.target, node.value])})"


@_prints(tree.Call)
def _call(node: tree.Call, to: _Writer) -> str:
    given = ", ".join(f"{to.variable(variable)}={to.text(value)}" for variable, value in node.arguments)
    to.calls.append(node)
    return f"{node.name}({given})"


# ---- statements ------------------------------------------------------------------------------------------------------


@_prints(tree.Let)
def _let(node: tree.Let, to: _Writer) -> str:
    value = to.text(node.value)
    return f"{to.variable(node.variable)}: {node.variable.type} = {value}"


@_prints(tree.Assign)
def _assign(node: tree.Assign, to: _Writer) -> str:
    return f"{to.text(node.target)} = {to.text(node.value)}"


@_prints(tree.AugAssign)
def _aug_assign(node: tree.AugAssign, to: _Writer) -> str:
    return f"{to.text(node.target)} {_SIGNS.get(node.kind, node.kind)}= {to.text(node.value)}"


@_prints(tree.Eval)
def _eval(node: tree.Eval, to: _Writer) -> str:
    return to.text(node.value)


@_prints(tree.If, tree.While)
def _if(node: Any, to: _Writer) -> str:
    return f"{'if' if isinstance(node, tree.If) else 'while'} {to.text(node.condition)}:"


def _loop(parallel: bool, config: LoopConfig, variables: Sequence[tree.Variable], over: str, to: _Writer) -> str:
    asked = ", ".join(f"{f.name}={getattr(config, f.name)}" for f in fields(config) if getattr(config, f.name))
    head = ("parallel " if parallel else "") + (f"[{asked}] " if asked else "")
    return f"{head}for {', '.join(map(to.variable, variables))} in {over}:"


@_prints(tree.RangeFor)
def _range_for(node: tree.RangeFor, to: _Writer) -> str:
    over = f"range({to.list([node.begin, node.end, node.step])})"
    return _loop(node.parallel, node.config, [node.variable], over, to)


@_prints(tree.BoxFor)
def _box_for(node: tree.BoxFor, to: _Writer) -> str:
    axes = [f"({to.text(begin)}, {to.text(end)})" for begin, end in zip(node.begins, node.ends, strict=True)]
    return _loop(node.parallel, node.config, node.variables, f"ndrange({', '.join(axes)})", to)


@_prints(tree.StructFor)
def _struct_for(node: tree.StructFor, to: _Writer) -> str:
    over = to.text(node.over) if isinstance(node.over, tree.Expr) else to.name(node.over, node.over.name)
    return _loop(node.parallel, node.config, node.variables, over, to)


@_prints(tree.Break, tree.Continue)
def _jump(node: Any, _: _Writer) -> str:
    return "break" if isinstance(node, tree.Break) else "continue"


@_prints(tree.Return)
def _return(node: tree.Return, to: _Writer) -> str:
    return f"return {to.list(node.values)}".rstrip()


@_prints(tree.Print)
def _print(node: tree.Print, to: _Writer) -> str:
    parts = [
        repr(part) if isinstance(part, str) else to.text(part[0]) + (f":{part[1]}" if part[1] else "")
        for part in node.parts
    ]
    return f"print({', '.join(parts)})"


@_prints(tree.Assert)
def _assert(node: tree.Assert, to: _Writer) -> str:
    return f"assert {', '.join([to.text(node.condition), repr(node.message), *map(to.text, node.arguments)])}"
