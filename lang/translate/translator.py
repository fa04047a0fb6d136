"""The state of the translator, and its two dispatch tables.

A `Unit` is a kernel that is being translated. A `Translator` translates one function body in it: that of the kernel or
of an inlined `@func`. An expression is translated to its meaning. A meaning that is known at compile time is any Python
object: a number, a field, a function, a tuple of meanings. Any other meaning is a `tree.Expr`, or a `Record` for a
struct. Handlers are registered by the class of the `ast` node."""

from __future__ import annotations

import ast
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from itertools import chain
from types import CodeType
from typing import Any, TypeVar

from weft.ir import tree
from weft.ir.config import CompileConfig
from weft.ir.errors import CompilationError, Span
from weft.ir.nodes import declare_nodes
from weft.ir.storage.cell import SHADOWS, Shadow
from weft.ir.storage.snode import SNode as Node
from weft.ir.symbols import FieldSymbol, LoopConfig, NodeSymbol, Param
from weft.ir.types import Type
from weft.lang.data.derived import derived_fields, ir_mode
from weft.lang.data.field_tree import FieldTree
from weft.lang.data.snode_api import SNode
from weft.lang.errors import UnsupportedSyntax
from weft.lang.functions.source import Source
from weft.lang.program.backends import BACKENDS
from weft.lang.translate.contract import Loss, Place
from weft.lang.translate.names import Binding, Names
from weft.lang.values.types import to_ir

__all__ = ["EXPRESSIONS", "STATEMENTS", "Loop", "Returned", "Translator", "Unit", "translates"]

EXPRESSIONS: dict[type[ast.expr], Callable[[Translator, Any], Any]] = {}
STATEMENTS: dict[type[ast.stmt], Callable[[Translator, Any], None]] = {}
Handler = TypeVar("Handler", bound=Callable[..., Any])


def translates(*kinds: type[ast.AST]) -> Callable[[Handler], Handler]:
    """Register the function that translates these `ast` classes."""

    def register(function: Handler) -> Handler:
        for kind in kinds:
            table: dict[Any, Any] = EXPRESSIONS if issubclass(kind, ast.expr) else STATEMENTS
            table[kind] = function
        return function

    return register


@dataclass(eq=False)
class Unit:
    """What all functions of one kernel share: its parameters, the fields that it accesses, and the open calls."""

    name: str
    config: CompileConfig
    params: list[Param] = field(default_factory=list[Param])
    results: tuple[Any, ...] = ()
    loops: LoopConfig = field(default_factory=LoopConfig)  # for outermost loops that have no settings of their own
    mode: str = ""  # a row of MODES (`symbols.py`)
    # the fields whose elements carry no derivative in the current block, by id (see `stop_grad`)
    stopped: frozenset[int] = frozenset()
    symbols: dict[int, FieldSymbol] = field(default_factory=dict[int, FieldSymbol])
    hidden: list[FieldSymbol] = field(default_factory=list[FieldSymbol])  # see `data/shadows.py`
    trees: list[Any] = field(default_factory=list[Any])
    declared: dict[Any, dict[Node, NodeSymbol]] = field(default_factory=dict[Any, Any])  # the sparse nodes, by tree
    # the fields behind `symbols`, kept so that no other object gets their ids
    kept: list[Any] = field(default_factory=list[Any])
    fixed: set[tree.Variable] = field(default_factory=set[tree.Variable])  # locals that are assigned once
    captures: dict[tuple[int, str], tuple[Any, str, Any]] = field(default_factory=dict[Any, Any])
    # the instances of real functions, see `real_calls.py`
    functions: dict[Any, Any] = field(default_factory=dict[Any, Any])
    is_function: bool = False  # whether this unit is a real function
    # returned with every return of the function
    handed_back: list[tree.Variable] = field(default_factory=list[tree.Variable])
    clamped: set[int] = field(default_factory=set[int])  # array parameters whose indices are clamped
    of_structs: dict[int, Any] = field(default_factory=dict[int, Any])  # the struct types of array parameters
    exposed: bool = False  # whether fields and arrays may overlap
    open_calls: list[tuple[Any, ...]] = field(default_factory=list[tuple[Any, ...]])
    returned: bool = False
    choices: dict[Place, Type | None] = field(default_factory=dict[Place, "Type | None"])  # see `Translation`
    warned: dict[str, Loss] = field(default_factory=dict[str, Loss])  # warnings that were given, by text

    def note(self, place: tuple[CodeType | str, int, int], caller: Span | None, type: Type | None) -> None:
        """Record the type of a choice at this place, see `choices`."""
        calls = list[tuple[str, int]]()
        while caller is not None:
            calls.append((caller.file, caller.line))
            caller = caller.caller
        for known in (place, (*place, tuple(calls))):
            self.choices[known] = type if self.choices.get(known, type) is type else None

    @property
    def rehearsed(self) -> bool:
        """Whether the kernel is only translated to find mistakes. It will run as Python."""
        return BACKENDS[self.config.arch].interprets

    def current(self) -> list[tree.Expr]:
        """The current values of the variables that are returned to the caller's variables."""
        return [tree.Var(variable, type=variable.type) for variable in self.handed_back]

    @property
    def fields(self) -> tuple[FieldSymbol, ...]:
        """The fields that the kernel accesses, and the hidden fields of instrumentations."""
        return (*self.symbols.values(), *self.hidden)

    def number(self, tree: Any) -> int:
        """The number of a tree. It is added to the trees that the kernel accesses."""
        if not any(tree is other for other in self.trees):
            self.trees.append(tree)
        return next(k for k, other in enumerate(self.trees) if other is tree)

    @property
    def nodes(self) -> Iterator[NodeSymbol]:
        """The sparse nodes of all trees, parents first."""
        return chain.from_iterable(nodes.values() for nodes in self.declared.values())

    def nodes_of(self, tree: FieldTree, place: Node | None = None, name: str = "") -> dict[Node, NodeSymbol]:
        """The symbols of the sparse nodes of a tree. They are named after the field at `place`, which the program calls
        `name`, and after other fields."""
        if tree not in self.declared:
            self.number(tree)
            names = tree.names_of_nodes(place, name)
            taken = {node.name for node in self.nodes}
            for node, name in names.items():
                number = 1
                while names[node] in taken:
                    number += 1
                    names[node] = f"{name}.{number}"
                taken.add(names[node])
            self.declared[tree] = declare_nodes(tree.layout, lambda k: self.number(tree.memory(k)), names)
        return self.declared[tree]

    def node(self, of: SNode) -> NodeSymbol:
        """The symbol of a sparse node."""
        of.tree.check("this node")
        return self.nodes_of(of.tree)[of.node]

    def _derived(self, of: Any) -> list[tuple[str, Any]]:
        """The gradient and the dual of a field that the mode of the kernel uses, each with its kind."""
        return derived_fields(of, self.mode) if self.mode else []

    def symbol(self, of: Any, name: str) -> FieldSymbol:
        """The symbol of a field object, made at its first use. `name` is its name in the program."""
        known = self.symbols.get(id(of))
        if known is not None:
            return known
        parts = of.describe()
        if not name.endswith(f".{parts.name}"):  # the field of a struct member has a name of its own
            name = parts.name or name
        above = None if parts.node is None else self.nodes_of(parts.tree, of.snode.node, name)[parts.node]
        number = self.number(parts.tree.memory(parts.memory))
        derived: dict[str, Any] = {kind: self.symbol(one, f"{name}.{kind}") for kind, one in self._derived(of)}
        kept = {kind: parts.tree.shadow(kind) for kind in SHADOWS if of.shadowed}
        shadows = tuple(Shadow(k, f"{name}.{k}", self.number(tree)) for k, tree in kept.items() if tree is not None)
        made = FieldSymbol(
            name,
            tuple(parts.shape),
            number,
            replace(parts.path, cell=replace(parts.path.cell, shadows=shadows)),
            tuple(parts.offset),
            tuple(parts.order),
            self.exposed,
            **derived,
            node=above,
        )
        for other in filter(made.shares_with, self.symbols.values()):
            for one in (made, other):  # a vector field, and the field of one of its components
                object.__setattr__(one, "exposed", True)
        self.symbols[id(of)] = made
        self.kept.append(of)
        return made


@dataclass(eq=False)
class Loop:
    """An enclosing loop. `kind` is "static" (unrolled), "serial" or "parallel". `depth` is the number of run-time
    blocks that were open around its body."""

    kind: str
    depth: int


@dataclass(eq=False)
class Returned:
    """A `return` of an inlined function: the statement, whose values are filled in at the end, and the meaning that it
    returns."""

    stmt: tree.Return
    value: Any
    node: ast.Return


class Translator:
    """Translates one function body. `out` receives the statements. `top` says whether that is the top level of the
    kernel."""

    def __init__(self, unit: Unit, source: Source, names: Names, caller: Span | None = None) -> None:
        self.unit, self.source, self.names, self.caller = unit, source, names, caller
        self.out: list[tree.Stmt] = []
        self.top = False
        self.is_kernel = False
        self.alone: ast.expr | None = None  # the expression that is a whole statement
        self.depth = 0
        self.scopes_of_blocks: list[int] = []  # the indices in `names` at which the open run-time blocks begin
        self.loops: list[Loop] = []
        self.returns: list[Returned] = []
        self.jump = ""  # why the rest of the current block cannot be reached: "break", "continue" (static), or "ended"
        self.loop_config: LoopConfig | None = None
        # the nodes that writes in the next loop, and in this one, do not activate
        self.dormant_next: frozenset[Node] = frozenset()
        self.dormant: frozenset[Node] = frozenset()
        self.counter = 0
        self._spans: dict[ast.AST, Span] = {}  # unrolled nodes are looked up repeatedly

    # -- errors --------------------------------------------------------------------------------------------------------

    def span(self, node: ast.AST) -> Span:
        """The place of `node` in the source."""
        found = self._spans.get(node)
        if found is None:
            found = self._spans[node] = self.source.span(node, self.caller)
        return found

    def error(self, message: str, node: ast.AST, kind: type[CompilationError] = CompilationError) -> CompilationError:
        """Make an error at `node`, for raising."""
        return kind(message, self.span(node))

    # -- nodes ---------------------------------------------------------------------------------------------------------

    def expr(self, node: ast.expr) -> Any:
        """The meaning of an expression."""
        handler = EXPRESSIONS.get(type(node))
        if handler is None:
            raise self.error(unsupported(node), node, UnsupportedSyntax)
        try:
            return handler(self, node)
        except CompilationError as error:
            if error.span is None:
                raise type(error)(error.message, self.span(node)) from error.__cause__
            raise

    def statement(self, node: ast.stmt) -> None:
        """Translate one statement into `out`."""
        handler = STATEMENTS.get(type(node))
        if handler is None:
            raise self.error(unsupported(node), node, UnsupportedSyntax)
        try:
            handler(self, node)
        except CompilationError as error:
            if error.span is None:
                raise type(error)(error.message, self.span(node)) from error.__cause__
            raise

    def body(self, statements: Sequence[ast.stmt]) -> None:
        """Translate statements until one of them makes the rest unreachable."""
        for node in statements:
            if self.jump:
                return
            self.statement(node)

    # -- output --------------------------------------------------------------------------------------------------------

    def emit(self, stmt: tree.Stmt) -> None:
        """Append a statement."""
        self.out.append(stmt)

    @contextmanager
    def block(self) -> Generator[list[tree.Stmt]]:
        """Fill a block that runs conditionally or repeatedly. It has its own list of statements and its own scope."""
        outer, self.out = self.out, []
        top, self.top = self.top, False
        stopped = self.unit.stopped
        self.depth += 1
        self.scopes_of_blocks.append(len(self.names.scopes))
        self.names.push()
        try:
            yield self.out
        finally:
            self.names.pop()
            self.scopes_of_blocks.pop()
            self.out, self.top, self.jump, self.unit.stopped = outer, top, "", stopped
            self.depth -= 1

    def lives_here(self, name: str) -> bool:
        """Whether `name` is a local of this run-time block, and not of an enclosing one."""
        first = self.scopes_of_blocks[-1] if self.scopes_of_blocks else 0
        return any(name in scope for scope in self.names.scopes[first:])

    def guarded(self, node: ast.expr, meaning: Callable[[Translator, ast.expr], Any] | None = None) -> Any:
        """The meaning of an expression that may not be evaluated at all, or more than once. The statements that it
        needs are kept inside of it, as an inlined function without arguments. `meaning` translates it in place of
        `expr`."""
        outer, self.out = self.out, []
        try:
            value = self.expr(node) if meaning is None else meaning(self, node)
            inner = self.out
        finally:
            self.out = outer
        if not inner:
            return value
        if not isinstance(value, tree.Expr):
            self.out.extend(inner)
            return value
        inner.append(tree.Return([value]))
        return tree.Call("", [], inner, type=value.type, span=value.span)

    def local(self, value: tree.Expr, name: str = "") -> tree.Var:
        """Make a local that is assigned once, here."""
        variable = tree.Variable(name, value.type)
        self.unit.fixed.add(variable)
        self.emit(tree.Let(variable, value, span=value.span))
        return tree.Var(variable, type=value.type, span=value.span)

    def simple(self, value: tree.Expr) -> bool:
        """Whether `value` may be used several times: it costs nothing and cannot change in the meantime."""
        if isinstance(value, tree.Var):
            return value.variable in self.unit.fixed
        return isinstance(value, (tree.Const, tree.ParamRef))

    def frozen(self, value: tree.Expr) -> tree.Expr:
        """The current value of `value`, in a local if it may change later."""
        return value if self.simple(value) else self.local(value)

    def finish(self, span: Span) -> tree.KernelTree:
        """Make the tree of the kernel."""
        results: tuple[Type, ...] = tuple(to_ir(result) for result in self.unit.results)
        unit, mode = self.unit, ir_mode(self.unit.mode)
        params, nodes = tuple(unit.params), tuple(unit.nodes)
        return tree.KernelTree(unit.name, params, results, unit.fields, self.out, mode=mode, nodes=nodes, span=span)

    def bind(self, name: str, value: Any, role: str) -> None:
        """Bind `name` to `value` in the current scope. See `Binding` for roles."""
        self.names.bind(name, Binding(value, role))


_DEFINE_OUTSIDE = "define it outside of the kernel"
_ERRORS = "use 'assert' to check a condition; the caller of the kernel gets the error"

# The names of syntax that kernels do not support, and what to write instead.
_UNSUPPORTED: dict[str, tuple[str, str]] = {
    "GeneratorExp": ("a generator expression", "write a list comprehension"),
    "Set": ("a set", "write a list"),
    "SetComp": ("a set comprehension", "write a list comprehension"),
    "Await": ("'await'", ""),
    "Yield": ("'yield'", "store the values in a field"),
    "YieldFrom": ("'yield from'", "store the values in a field"),
    "Try": ("'try'", _ERRORS),
    "TryStar": ("'try'", _ERRORS),
    "With": ("'with'", "put the 'with' around the call of the kernel"),
    "AsyncWith": ("'async with'", ""),
    "AsyncFor": ("'async for'", ""),
    "AsyncFunctionDef": ("'async def'", ""),
    "ClassDef": ("a class definition", _DEFINE_OUTSIDE),
    "Import": ("'import'", "import outside of the kernel"),
    "ImportFrom": ("'import'", "import outside of the kernel"),
    "Global": ("'global'", "global variables are constants in a kernel; use a field for values that change"),
    "Nonlocal": (
        "'nonlocal'",
        "variables of outer functions are constants in a kernel; use a field for values that change",
    ),
    "Delete": ("'del'", "a variable exists until the end of the block that assigns it first"),
    "Match": ("'match'", "write if/elif"),
    "Starred": ("'*' outside of a call", ""),
    "Slice": ("a slice of this", ""),
}


def unsupported(node: ast.AST) -> str:
    """The error message for a node that kernels do not support."""
    name = type(node).__name__
    what, instead = _UNSUPPORTED.get(name, (f"'{name}'", ""))
    return f"{what} cannot be used in a kernel" + (f": {instead}" if instead else "")
