"""The translator's state, and its two dispatch tables.

A `Unit` is a kernel being translated; a `Translator` is one function body in it: the kernel's own, or an inlined
`@func`. What an expression means is either known now - any Python object: a number, a field, a function, a tuple of
meanings - or a `tree.Expr` (a struct: a `Record`). Handlers are registered by the class of the `ast` node.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from types import CodeType
from typing import Any, TypeVar

from weft.ir import tree
from weft.ir.config import CompileConfig
from weft.ir.errors import CompilationError, Span
from weft.ir.storage.cell import SHADOWS, Shadow
from weft.ir.symbols import FieldSymbol, LoopConfig, Param
from weft.ir.types import Type
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
    """Register the function that translates those `ast` classes."""

    def register(function: Handler) -> Handler:
        for kind in kinds:
            table: dict[Any, Any] = EXPRESSIONS if issubclass(kind, ast.expr) else STATEMENTS
            table[kind] = function
        return function

    return register


@dataclass(eq=False)
class Unit:
    """What all functions of one kernel share: its parameters, the fields it reaches, and which calls are open."""

    name: str
    config: CompileConfig
    params: list[Param] = field(default_factory=list[Param])
    results: tuple[Any, ...] = ()
    loops: LoopConfig = field(default_factory=LoopConfig)  # what holds for outermost loops that say nothing themselves
    symbols: dict[int, FieldSymbol] = field(default_factory=dict[int, FieldSymbol])
    hidden: list[FieldSymbol] = field(default_factory=list[FieldSymbol])  # see `shadows.py` of data
    trees: list[Any] = field(default_factory=list[Any])
    kept: list[Any] = field(default_factory=list[Any])  # the fields behind `symbols`: their ids stay theirs
    fixed: set[tree.Variable] = field(default_factory=set[tree.Variable])  # locals that are never assigned again
    captures: dict[tuple[int, str], tuple[Any, str, Any]] = field(default_factory=dict[Any, Any])
    functions: dict[Any, Any] = field(default_factory=dict[Any, Any])  # the instances of real ones, see `real_calls.py`
    is_function: bool = False  # whether this is one of those
    handed_back: list[tree.Variable] = field(default_factory=list[tree.Variable])  # with every return of the function
    clamped: set[int] = field(default_factory=set[int])  # array parameters whose indices are kept inside
    of_structs: dict[int, Any] = field(default_factory=dict[int, Any])  # the struct types of array parameters
    exposed: bool = False  # whether fields and arrays may overlap
    open_calls: list[tuple[Any, ...]] = field(default_factory=list[tuple[Any, ...]])
    returned: bool = False
    choices: dict[Place, Type | None] = field(default_factory=dict[Place, "Type | None"])  # see `Translation`
    warned: dict[str, Loss] = field(default_factory=dict[str, Loss])  # warnings given, by their texts

    def note(self, place: tuple[CodeType | str, int, int], caller: Span | None, type: Type | None) -> None:
        """Note the type of a choice there, see `choices`."""
        calls = list[tuple[str, int]]()
        while caller is not None:
            calls.append((caller.file, caller.line))
            caller = caller.caller
        for known in (place, (*place, tuple(calls))):
            self.choices[known] = type if self.choices.get(known, type) is type else None

    @property
    def rehearsed(self) -> bool:
        """Whether the kernel is translated only to find mistakes, and will run as Python."""
        return BACKENDS[self.config.arch].interprets

    def current(self) -> list[tree.Expr]:
        """The values that go back to the caller's variables."""
        return [tree.Var(variable, type=variable.type) for variable in self.handed_back]

    @property
    def fields(self) -> tuple[FieldSymbol, ...]:
        """Those that are reached, and those that instrumentations keep beside them."""
        return (*self.symbols.values(), *self.hidden)

    def number(self, tree: Any) -> int:
        """That of a tree, which the kernel reaches from now on."""
        if not any(tree is other for other in self.trees):
            self.trees.append(tree)
        return next(k for k, other in enumerate(self.trees) if other is tree)

    def symbol(self, of: Any, name: str) -> FieldSymbol:
        """The symbol of a field object, made at its first use; `name` is what the program calls it."""
        known = self.symbols.get(id(of))
        if known is not None:
            return known
        parts = of.describe()
        number = self.number(parts.tree)
        if not name.endswith(f".{parts.name}"):  # a member of a struct knows its own name
            name = parts.name or name
        kept = {kind: parts.tree.shadow(kind) for kind in SHADOWS}
        shadows = tuple(Shadow(k, f"{name}.{k}", self.number(tree)) for k, tree in kept.items() if tree is not None)
        made = FieldSymbol(
            name,
            tuple(parts.shape),
            number,
            replace(parts.path, cell=replace(parts.path.cell, shadows=shadows)),
            tuple(parts.offset),
            tuple(parts.order),
            self.exposed,
        )
        for other in filter(made.shares_with, self.symbols.values()):
            for one in (made, other):  # a vector field, and the field of a component of it
                object.__setattr__(one, "exposed", True)
        self.symbols[id(of)] = made
        self.kept.append(of)
        return made


@dataclass(eq=False)
class Loop:
    """An enclosing loop. `kind`: "static" (unrolled), "serial" or "parallel". `depth`: how many run-time blocks were
    open around its body."""

    kind: str
    depth: int


@dataclass(eq=False)
class Returned:
    """One `return` of an inlined function: the statement (its values are filled in at the end) and what it returns."""

    stmt: tree.Return
    value: Any
    node: ast.Return


class Translator:
    """Translates one function body. `out` is where statements go; `top`: whether that is the kernel's top level."""

    def __init__(self, unit: Unit, source: Source, names: Names, caller: Span | None = None) -> None:
        self.unit, self.source, self.names, self.caller = unit, source, names, caller
        self.out: list[tree.Stmt] = []
        self.top = False
        self.is_kernel = False
        self.alone: ast.expr | None = None  # the expression that is a whole statement
        self.depth = 0
        self.scopes_of_blocks: list[int] = []  # where in `names` the open run-time blocks begin
        self.loops: list[Loop] = []
        self.returns: list[Returned] = []
        self.jump = ""  # why the rest of the current block is not reached: "break", "continue" (static), or "ended"
        self.loop_config: LoopConfig | None = None
        self.counter = 0
        self._spans: dict[ast.AST, Span] = {}  # what is unrolled is asked for again and again

    # -- errors --------------------------------------------------------------------------------------------------------

    def span(self, node: ast.AST) -> Span:
        """Where `node` is."""
        found = self._spans.get(node)
        if found is None:
            found = self._spans[node] = self.source.span(node, self.caller)
        return found

    def error(self, message: str, node: ast.AST, kind: type[CompilationError] = CompilationError) -> CompilationError:
        """An error that blames `node`, to be raised."""
        return kind(message, self.span(node))

    # -- nodes ---------------------------------------------------------------------------------------------------------

    def expr(self, node: ast.expr) -> Any:
        """What an expression means."""
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
        """Translate statements, as far as they can be reached."""
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
        """Fill a block that runs under a condition or repeatedly: its own list of statements, its own scope."""
        outer, self.out = self.out, []
        top, self.top = self.top, False
        self.depth += 1
        self.scopes_of_blocks.append(len(self.names.scopes))
        self.names.push()
        try:
            yield self.out
        finally:
            self.names.pop()
            self.scopes_of_blocks.pop()
            self.out, self.top, self.jump = outer, top, ""
            self.depth -= 1

    def lives_here(self, name: str) -> bool:
        """Whether `name` is a local of this run-time block, not of one around it."""
        first = self.scopes_of_blocks[-1] if self.scopes_of_blocks else 0
        return any(name in scope for scope in self.names.scopes[first:])

    def guarded(self, node: ast.expr, meaning: Callable[[Translator, ast.expr], Any] | None = None) -> Any:
        """What an expression means that may not be evaluated, or more than once: statements it needs are kept inside
        it, as an inlined function without arguments. `meaning` translates it in place of `expr`."""
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
        """A fresh local that is assigned once, here."""
        variable = tree.Variable(name, value.type)
        self.unit.fixed.add(variable)
        self.emit(tree.Let(variable, value, span=value.span))
        return tree.Var(variable, type=value.type, span=value.span)

    def simple(self, value: tree.Expr) -> bool:
        """Whether `value` may be written several times: it costs nothing and cannot change meanwhile."""
        if isinstance(value, tree.Var):
            return value.variable in self.unit.fixed
        return isinstance(value, (tree.Const, tree.ParamRef))

    def frozen(self, value: tree.Expr) -> tree.Expr:
        """`value` as it is now."""
        return value if self.simple(value) else self.local(value)

    def finish(self, span: Span) -> tree.KernelTree:
        """The kernel."""
        results: tuple[Type, ...] = tuple(to_ir(result) for result in self.unit.results)
        unit = self.unit
        return tree.KernelTree(unit.name, tuple(unit.params), results, unit.fields, self.out, span=span)

    def bind(self, name: str, value: Any, role: str) -> None:
        """Let `name` mean `value` in the current scope; see `Binding` for roles."""
        self.names.bind(name, Binding(value, role))


_DEFINE_OUTSIDE = "define it outside of the kernel"
_ERRORS = "what must hold is said by 'assert'; its error reaches the caller of the kernel"

# What to call syntax that a kernel cannot have, and what to write instead.
_UNSUPPORTED: dict[str, tuple[str, str]] = {
    "GeneratorExp": ("a generator expression", "write a list comprehension"),
    "Set": ("a set", "write a list"),
    "SetComp": ("a set comprehension", "write a list comprehension"),
    "Await": ("'await'", ""),
    "Yield": ("'yield'", "store the values in a field"),
    "YieldFrom": ("'yield from'", "store the values in a field"),
    "Try": ("'try'", _ERRORS),
    "TryStar": ("'try'", _ERRORS),
    "With": ("'with'", "enter the context around the call of the kernel"),
    "AsyncWith": ("'async with'", ""),
    "AsyncFor": ("'async for'", ""),
    "AsyncFunctionDef": ("'async def'", ""),
    "ClassDef": ("a class definition", _DEFINE_OUTSIDE),
    "Import": ("'import'", "import outside of the kernel"),
    "ImportFrom": ("'import'", "import outside of the kernel"),
    "Global": ("'global'", "globals are constants in a kernel: keep what changes in a field"),
    "Nonlocal": ("'nonlocal'", "outer variables are constants in a kernel: keep what changes in a field"),
    "Delete": ("'del'", "a variable ends with the block that it was first assigned in"),
    "Match": ("'match'", "write if/elif"),
    "Starred": ("'*' outside of a call", ""),
    "Slice": ("a slice of this", ""),
}


def unsupported(node: ast.AST) -> str:
    """The message about a node that has no meaning in a kernel."""
    name = type(node).__name__
    what, instead = _UNSUPPORTED.get(name, (f"'{name}'", ""))
    return f"{what} cannot be used in a kernel" + (f": {instead}" if instead else "")
