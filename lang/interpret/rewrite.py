"""Rewrite the body of a kernel or `@func` so that plain Python runs it with the semantics of a kernel.

    x[i] += a * 2          becomes      __weft__.update("add", x, i, __weft__.binary("mul", a, 2))

The rewritten code keeps the user's names, lines and columns, so `breakpoint()`, pdb and tracebacks show the user's
file. Code inside `static(...)` is not rewritten. `__weft__` is a `Semantics` (see `values.py`). It is a variable of the
closure, so no name is added to the user's globals.
"""

from __future__ import annotations

import ast
import math
from collections.abc import Callable, Iterable, Sequence
from types import CodeType
from typing import Any, TypeVar

import numpy as np

from weft.ir.types import Prim
from weft.lang.functions.annotations import annotation_of, is_template
from weft.lang.functions.lambdas import LAMBDA
from weft.lang.functions.source import reads
from weft.lang.interpret.faults import Loop
from weft.lang.interpret.references import changeable, ending, places, putting_back
from weft.lang.interpret.updates import KINDS, atomic, augmented, by_steps, called
from weft.lang.values.builtins import Builtin
from weft.lang.values.matrix import Matrix, Vector
from weft.lang.values.struct import Struct
from weft.lang.values.types import CompoundType

__all__ = ["HELPER", "Rewriter", "is_written"]

HELPER = "__weft__"
_PARTS = "__weft_parts__"
_LATER = "__weft_later__"

_UNARY: dict[type[ast.unaryop], str] = {ast.USub: "neg", ast.Invert: "bit_not", ast.Not: "not"}
_COMPARE: dict[type[ast.cmpop], str] = {
    ast.Lt: "lt",
    ast.LtE: "le",
    ast.Gt: "gt",
    ast.GtE: "ge",
    ast.Eq: "eq",
    ast.NotEq: "ne",
}
# The functions that a kernel may call for their value only, besides those of the language.
_HARMLESS = (
    Matrix,
    Vector,
    *(abs, bool, float, int, len, max, min, pow, round, sum),
    *filter(callable, vars(math).values()),
)
_ITEMS = "__weft_items__"  # what a comprehension goes over, where that had to be found before
_DISPLAYS = (ast.List, ast.Tuple, ast.ListComp, ast.GeneratorExp)
NodeT = TypeVar("NodeT", bound=ast.AST)


class Rewriter(ast.NodeTransformer):
    """Rewrites one function. `resolve` returns the object that an expression of names and attributes refers to outside
    of the function, or None. `templates` are the template parameters. `top` is true for a kernel, whose outermost loops
    are parallel."""

    def __init__(self, resolve: Callable[[ast.expr], Any], templates: Sequence[str] = (), top: bool = False) -> None:
        self.outer, self.templates, self.settled = resolve, templates, {"self", *templates}
        self.scopes: list[set[str]] = [set()]
        self.top = top  # whether the current statement is at the top level of a kernel
        self.loops: list[Loop] = []  # ordered by first line
        self.discards = False  # whether something is assigned to `_`
        self.perhaps: set[str] = set()  # names declared on one side of a compile-time if
        self.inner: list[set[str]] = []  # the parameters of the enclosing inner functions
        self.returns: ast.expr | None = None  # the return annotation of the innermost inner function

    def function(self, node: ast.FunctionDef) -> ast.FunctionDef:
        """Rewrite the function itself: convert the parameters as annotated, then run the body."""
        arguments, self.discards = node.args, not reads(node, "_")
        names = [arg.arg for arg in _parameters(arguments)]
        self.scopes[0].update(names)
        changed = [] if self.top else changeable(node, self.templates)
        body = ending(self, node, self.body(node.body), changed)
        taken = [
            _at(
                node, ast.Assign([ast.Name(name, ast.Store())], self.call("parameter", ast.Constant(name), _name(name)))
            )
            for name in names
        ]
        for arg in _parameters(arguments):
            arg.annotation = None
        arguments.defaults, arguments.kw_defaults = [], [None] * len(arguments.kwonlyargs)
        node.decorator_list, node.returns, node.body = [], None, [*taken, *body]
        return node

    # ---- statements

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.FunctionDef:
        """Rewrite a function inside the function: it stays plain Python with rewritten operators, without its
        decorators."""
        self.scopes[-1].add(node.name)
        top, scopes, returns = self.top, self.scopes, self.returns
        args = _parameters(node.args)
        own = {name.id for name in ast.walk(node) if isinstance(name, ast.Name) and isinstance(name.ctx, ast.Store)}
        self.top, self.scopes, self.returns = False, [scope - own for scope in scopes], node.returns
        self.inner.append({arg.arg for arg in args})
        taken = [
            _at(node, ast.Assign([ast.Name(a.arg, ast.Store())], self.call("annotated", _name(a.arg), a.annotation)))
            for a in args
            if a.annotation is not None
        ]
        node.body = [*taken, *self.scoped(node.body, self.inner[-1])]
        self.inner.pop()
        self.top, self.scopes, self.returns = top, scopes, returns
        for arg in args:
            arg.annotation = None
        node.decorator_list, node.returns = [], None
        return node

    def visit_Lambda(self, node: ast.Lambda) -> ast.Lambda:
        """Rewrite a lambda like a function inside the function."""
        self.inner.append({arg.arg for arg in _parameters(node.args)})
        node.body = self.visit(node.body)
        self.inner.pop()
        node.args = self.visit(node.args)
        return node

    def resolve(self, node: ast.expr) -> Any:
        """Return the object that an expression refers to outside of the function. None if a parameter of an inner
        function shadows the name."""
        root = node
        while isinstance(root, ast.Attribute):
            root = root.value
        hidden = isinstance(root, ast.Name) and any(root.id in names for names in self.inner)
        return None if hidden else self.outer(node)

    def body(self, statements: Iterable[ast.stmt]) -> list[ast.stmt]:
        """Rewrite statements in the current scope. One statement may become several."""
        found: list[ast.stmt] = []
        for statement in statements:
            made = self.visit(statement)
            found += made if isinstance(made, list) else [made]
        return found

    def scoped(self, statements: Iterable[ast.stmt], declared: Iterable[str] = ()) -> list[ast.stmt]:
        """Rewrite statements in a scope of their own. Their declarations end with it."""
        self.scopes.append(set(declared))
        found = self.body(statements)
        self.scopes.pop()
        return found

    def visit_Assign(self, node: ast.Assign) -> list[ast.stmt]:
        """Assign to each target in turn. A value of `static` is bound unchanged: an alias of a field, or a Python
        number."""
        if self.is_static(node.value):
            node.value = self.visit(node.value)
            for target in node.targets:
                self.scopes[-1].update(name.id for name in ast.walk(target) if isinstance(name, ast.Name))
            return [node]
        value = by_steps(self, node)
        if len(node.targets) == 1:
            return self.bind(node.targets[0], value, node)
        first = _at(node, ast.Assign([ast.Name(_PARTS, ast.Store())], self.call("declare", value)))
        return [first, *(s for target in node.targets for s in self.bind(target, _name(_PARTS), node))]

    def bind(self, target: ast.expr, value: ast.expr, node: ast.AST, depth: int = 0) -> list[ast.stmt]:
        """Return the statements of `target = value`. `value` is rewritten already. `depth` counts the enclosing
        targets."""
        if isinstance(target, ast.Name):
            return [_at(node, ast.Assign([target], self.assigned(target.id, value)))]
        if isinstance(target, ast.Subscript):
            base, index = self.visit(target.value), self.index(target.slice)
            stored = self.ordered("store", value=value, base=base, index=index, name=called(target.value))
            return [_at(node, ast.Expr(stored))]
        if isinstance(target, ast.Attribute):
            base = self.visit(target.value)
            stored = self.ordered("store_member", value=value, base=base, name=ast.Constant(target.attr))
            return [_at(node, ast.Expr(stored))]
        if not isinstance(target, (ast.Tuple, ast.List)):
            raise SyntaxError(f"cannot assign to {ast.unparse(target)} in a kernel")
        parts = self.call("unpack", value, ast.Constant(len(target.elts)))
        name = f"{_PARTS}{depth}"  # nested targets have parts of their own
        made: list[ast.stmt] = [_at(node, ast.Assign([ast.Name(name, ast.Store())], parts))]
        for number, element in enumerate(target.elts):
            part = ast.Subscript(_name(name), ast.Constant(number), ast.Load())
            made += self.bind(element, part, node, depth + 1)
        return made

    def assigned(self, name: str, value: ast.expr) -> ast.expr:
        """Return the value for a variable: the first value unchanged, a later one cast to the type of the first."""
        if name == "_" and self.discards:
            return self.call("declare", value)
        if any(name in scope for scope in self.scopes):
            return self.call("assign", _name(name), value)
        if name in self.perhaps:
            known = ast.Call(
                ast.Attribute(ast.Call(_name("locals"), [], []), "get", ast.Load()), [ast.Constant(name)], []
            )
            return self.call("assign", known, value)
        self.scopes[-1].add(name)
        return self.call("declare", value)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> list[ast.stmt]:
        """Rewrite an annotated assignment: `x: f32 = 1` declares an f32."""
        if node.value is None or not isinstance(node.target, ast.Name):
            return [node]
        self.scopes[-1].add(node.target.id)
        value = self.call("annotated", self.visit(node.value), node.annotation)
        return [_at(node, ast.Assign([node.target], value))]

    def visit_AugAssign(self, node: ast.AugAssign) -> list[ast.stmt]:
        """Rewrite `target op= value`: in place if the target is part of an object, else as an assignment."""
        return [_at(node, augmented(self, node))]

    def visit_For(self, node: ast.For) -> ast.For:
        """Leave loops over `static(...)` to Python. Other loops iterate over `iterate(...)` of the range or field."""
        top = self.top
        if self.is_static(node.iter):
            node.iter = self.visit(node.iter)
        else:
            indices = [name.id for name in ast.walk(node.target) if isinstance(name, ast.Name)]
            self.loops.append(Loop(node.body[0].lineno, node.end_lineno or node.lineno, tuple(indices)))
            node.iter = _at(node.iter, self.call("parallel" if top else "iterate", self.visit(node.iter)))
            self.top = False
        names = [name.id for name in ast.walk(node.target) if isinstance(name, ast.Name)]
        node.body, node.orelse = self.scoped(node.body, names), self.scoped(node.orelse)
        self.top = top
        return node

    def visit_While(self, node: ast.While) -> ast.While:
        """Rewrite a while loop. It runs as in Python."""
        node.test = self.tested(node.test)
        top, self.top = self.top, False
        node.body, node.orelse = self.scoped(node.body), self.scoped(node.orelse)
        self.top = top
        return node

    def visit_If(self, node: ast.If) -> ast.If:
        """Rewrite an if. A compile-time `if` opens no scope: the declarations of the side that is taken remain."""
        settled = self.is_settled(node.test)
        top = self.top
        if not self.is_static(node.test):
            node.test = self.tested(node.test)
            self.top = False
        if not settled:
            node.body, node.orelse = self.scoped(node.body), self.scoped(node.orelse)
            self.top = top
            return node
        for side in ("body", "orelse"):
            self.scopes.append(set())
            setattr(node, side, self.body(getattr(node, side)))
            self.perhaps |= self.scopes.pop()
        self.top = top
        return node

    def visit_Return(self, node: ast.Return) -> ast.Return:
        """Cast the returned values to the annotated types."""
        if node.value is not None and not self.inner:
            node.value = self.call("result", self.visit(node.value))
        elif node.value is not None:
            value = self.visit(node.value)
            node.value = value if self.returns is None else self.call("annotated", value, self.returns)
        return node

    def visit_Assert(self, node: ast.Assert) -> ast.stmt:
        """Always evaluate the condition and check it in debug mode only, as on every arch."""
        usual = ast.Constant(f"assert {ast.unparse(node.test)}")
        fails = ast.UnaryOp(ast.Not(), self.tested(node.test))
        checked = ast.BoolOp(ast.And(), [fails, ast.Attribute(_name(HELPER), "debug", ast.Load())])
        failure = self.call("failure", usual if node.msg is None else self.visit(node.msg))
        return _at(node, ast.If(checked, [_at(node, ast.Raise(failure))], []))

    # ---- expressions

    def visit_BinOp(self, node: ast.BinOp) -> ast.expr:
        """Use the row of the operator in the BINARY table."""
        lhs, rhs = self.visit(node.left), self.visit(node.right)
        return _at(node, self.call("binary", ast.Constant(KINDS[type(node.op)]), lhs, rhs))

    def visit_UnaryOp(self, node: ast.UnaryOp) -> ast.expr:
        """Use the row of the operator in the UNARY table. A negative literal stays a literal."""
        if isinstance(node.operand, ast.Constant) and isinstance(node.op, ast.USub):
            return node
        if isinstance(node.op, ast.UAdd):
            operand: ast.expr = self.visit(node.operand)
            return operand
        operand = self.tested(node.operand) if isinstance(node.op, ast.Not) else self.visit(node.operand)
        return _at(node, self.call("unary", ast.Constant(_UNARY[type(node.op)]), operand))

    def visit_BoolOp(self, node: ast.BoolOp) -> ast.expr:
        """Rewrite `and` and `or`. They short-circuit and give the operand that decides. The other operands are also
        evaluated, if that has no effects, to find the common type."""
        harmless = all(self.is_harmless(part) for value in node.values for part in ast.walk(value))
        place = ast.Constant(node.lineno), ast.Constant(node.col_offset)
        values = [self.visit(value) for value in node.values]
        if harmless:
            kind = ast.Constant("and" if isinstance(node.op, ast.And) else "or")
            return _at(node, self.call("deciding", kind, *map(_later, values)))
        node.values = [_at(value, self.call("strong", value)) for value in values]
        return _at(node, self.call("chosen", *place, node))

    def tested(self, node: ast.expr) -> ast.expr:
        """Rewrite an expression of which only the truth value is used."""
        if not isinstance(node, ast.BoolOp):
            made: ast.expr = self.visit(node)
            return made
        node.values = [_at(value, self.call("truth", self.tested(value))) for value in node.values]
        return node

    def visit_Compare(self, node: ast.Compare) -> ast.expr:
        """Evaluate each operand of a chain `a < b < c` at most once, as Python does: c only if a < b. `is` and `in` are
        Python's."""
        if not all(type(op) in _COMPARE for op in node.ops):
            made: ast.expr = self.generic_visit(node)  # type: ignore[assignment]
            return made
        (first, *kinds) = [ast.Constant(_COMPARE[type(op)]) for op in node.ops]
        left, right, *rest = [self.visit(side) for side in (node.left, *node.comparators)]
        if not rest:
            return _at(node, self.call("compare", first, left, right))
        chain: ast.expr = self.call("last_side", kinds[-1], rest[-1])
        for kind, side in zip(kinds[-2::-1], rest[-2::-1]):
            chain = ast.IfExp(self.call("next_side", kind, side), chain, self.call("chained"))
        return _at(node, ast.IfExp(self.call("first_sides", first, left, right), chain, self.call("chained")))

    def visit_IfExp(self, node: ast.IfExp) -> ast.expr:
        """Rewrite a conditional expression. The side that is not selected is also evaluated, if that has no effects, to
        find the common type."""
        if self.is_static(node.test):
            node.body, node.orelse = self.visit(node.body), self.visit(node.orelse)
            return node
        harmless = all(self.is_harmless(part) for side in (node.body, node.orelse) for part in ast.walk(side))
        test, a, b = self.tested(node.test), self.visit(node.body), self.visit(node.orelse)
        if harmless:
            return _at(node, self.call("choose", test, _later(a), _later(b)))
        place = ast.Constant(node.lineno), ast.Constant(node.col_offset)
        return _at(node, self.call("chosen", *place, ast.IfExp(test, self.call("strong", a), self.call("strong", b))))

    def is_harmless(self, part: ast.AST) -> bool:
        """Return whether the evaluation of this node itself has no effects."""
        if not isinstance(part, ast.Call):
            return not isinstance(part, ast.NamedExpr)
        known = self.resolve(part.func)
        if isinstance(known, Builtin):
            return not known.name.startswith(("atomic_", "rand"))
        return isinstance(known, (Prim, CompoundType)) or any(known is one for one in _HARMLESS)

    def visit_Call(self, node: ast.Call) -> ast.expr:
        """Rewrite a call. `callee` finds what it runs: a function of the language, a rewritten `@func`, or the function
        itself."""
        known = self.resolve(node.func)
        if isinstance(known, Builtin) and known.name == "static":
            return self.displayed(node)
        if isinstance(known, Builtin) and known.name.startswith("atomic_"):
            return _at(node, atomic(self, node, known.name.removeprefix("atomic_")))
        if known is breakpoint and not (node.args or node.keywords):
            return _at(node, ast.IfExp(self.call("standard"), self.call("stop"), node))
        if known in (locals, super, breakpoint):
            return node
        if known is print:
            node.args = [_at(arg, self.call("shown", self.visit(arg))) for arg in node.args]
            return node
        written = places(self, node) if self.may_change(known, node.func) else []
        node.func = _at(node.func, self.call("callee", self.visit(node.func)))
        node.args = [self.visit(arg) for arg in node.args]
        node.keywords = [self.visit(keyword) for keyword in node.keywords]
        return _at(node, putting_back(self, node, written)) if written else node

    def displayed(self, node: NodeT) -> NodeT:
        """Leave the arguments of `static` unchanged, except the items of lists, which may be computed when the kernel
        runs."""
        if isinstance(node, (*_DISPLAYS, ast.Subscript)):
            made: NodeT = self.visit(node)
            return made
        if isinstance(node, ast.Call):
            node.args = [self.displayed(arg) for arg in node.args]
        return node

    def may_change(self, known: Any, function: ast.expr) -> bool:
        """Return whether a call may change its arguments: a call of a `@func` with template parameters, or of a method
        that is only known when the kernel runs."""
        if known is None:
            return isinstance(function, ast.Attribute) and isinstance(function.value, ast.Name)
        body = getattr(known, "function", None)
        return body is not None and any(is_template(annotation_of(body, name)) for name in body.__annotations__)

    def visit_Subscript(self, node: ast.Subscript) -> ast.expr:
        """Rewrite the load of an element of a field, array, matrix or Python sequence."""
        return _at(node, self.call("load", self.visit(node.value), self.index(node.slice), called(node.value)))

    def visit_Slice(self, node: ast.Slice) -> ast.expr:
        """Make `a:b` an object, for `load` and `store`."""
        limits = [
            ast.Constant(None) if part is None else self.visit(part) for part in (node.lower, node.upper, node.step)
        ]
        return _at(node, self.call("slice", *limits))

    def visit_Name(self, node: ast.Name) -> ast.expr:
        """Turn numpy numbers, matrices and structs from outside into constants."""
        return self.outside(node) if isinstance(node.ctx, ast.Load) else node

    def outside(self, node: ast.Name | ast.Attribute) -> ast.expr:
        """Return the node for a value that is known beforehand."""
        is_constant = isinstance(self.resolve(node), (np.generic, Matrix, Struct))
        return _at(node, self.call("captured", node)) if is_constant else node

    def visit_Attribute(self, node: ast.Attribute) -> ast.expr:
        """Rewrite a member of a value. What is known beforehand (modules, fields) stays unchanged."""
        if self.resolve(node) is not None:
            return self.outside(node)
        return _at(node, self.call("member", self.visit(node.value), ast.Constant(node.attr)))

    def index(self, node: ast.expr) -> ast.expr:
        """Return the indices of a subscript."""
        made: ast.expr = self.visit(node)
        return made

    def visit_FormattedValue(self, node: ast.FormattedValue) -> ast.expr:
        """Print a part of an f-string as `print` shows it, with its format if it has one."""
        spec = ast.Constant("") if node.format_spec is None else self.visit(node.format_spec)
        shown = self.call("formatted", self.visit(node.value), spec, ast.Constant(node.conversion))
        node.value, node.format_spec, node.conversion = _at(node.value, shown), None, -1
        return node

    def visit_NamedExpr(self, node: ast.NamedExpr) -> ast.expr:
        """Assign in `(x := value)` as a statement does."""
        node.value = self.assigned(node.target.id, self.visit(node.value))
        return node

    def visit_ListComp(self, node: ast.ListComp) -> ast.expr:
        """Python allows no assignment in what a comprehension goes over, and a call that may change a variable is made
        one: then a function takes the items, found outside of it."""
        made = self.generic_visit(node)
        assert isinstance(made, ast.ListComp)
        first = made.generators[0]
        if not _assigns(first.iter):
            return made
        items, first.iter = first.iter, _name(_ITEMS)
        whole = _later(made)
        whole.args.args.append(ast.arg(_ITEMS))
        return _at(node, ast.Call(whole, [items], []))

    # ---- making nodes

    def is_settled(self, node: ast.expr) -> bool:
        """Return whether a condition is known before the kernel runs: it is `static(...)`, or consists of outside
        names, constants, and attributes of `self` and of template parameters."""
        if self.is_static(node):
            return True
        if any(isinstance(part, (ast.Call, ast.Subscript, ast.NamedExpr)) for part in ast.walk(node)):
            return False
        names = [part for part in ast.walk(node) if isinstance(part, ast.Name)]
        return all(name.id in self.settled or self.resolve(name) is not None for name in names)

    def is_static(self, node: ast.expr) -> bool:
        """Return whether the expression calls `static`."""
        known = self.resolve(node.func) if isinstance(node, ast.Call) else None
        return isinstance(known, Builtin) and known.name == "static"

    def call(self, method: str, *args: ast.expr) -> ast.expr:
        """Make the node `__weft__.method(args)`."""
        return ast.Call(ast.Attribute(_name(HELPER), method, ast.Load()), list(args), [])

    def ordered(self, method: str, **args: ast.expr) -> ast.expr:
        """Make such a call whose arguments are evaluated in another order than that of the method's parameters."""
        named = [ast.keyword(name, value) for name, value in args.items()]
        return ast.Call(ast.Attribute(_name(HELPER), method, ast.Load()), [], named)


def _parameters(arguments: ast.arguments) -> list[ast.arg]:
    return [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]


def _assigns(node: ast.expr) -> bool:
    return any(isinstance(part, ast.NamedExpr) for part in ast.walk(node))


def _later(value: ast.expr) -> ast.Lambda:
    """Make `lambda: value`. A parameter that is never passed distinguishes it from lambdas of the user."""
    nothing = ast.arguments([], [], ast.arg(_LATER), [], [], None, [])
    return ast.Lambda(nothing, value)


def is_written(code: CodeType) -> bool:
    """Return whether the user wrote the code of a rewritten function. False for parts that were split off: by `_later`,
    or (before Python 3.12) by a comprehension."""
    if code.co_name == LAMBDA:
        return _LATER not in code.co_varnames
    return not code.co_name.startswith("<")


def _name(name: str) -> ast.expr:
    return ast.Name(name, ast.Load())


def _at(place: ast.AST, node: NodeT) -> NodeT:
    """Return `node` with the position of `place` in the user's file."""
    return ast.copy_location(node, place)
