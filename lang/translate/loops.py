"""Loops over ranges, boxes, fields and arrays, and unrolled loops. Loops at the top level of a kernel are parallel."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from math import prod
from typing import Any

from weft.ir import tree
from weft.ir.errors import TypeMismatch
from weft.ir.scalar import range_of
from weft.ir.symbols import FieldSymbol, LoopConfig, NodeSymbol
from weft.ir.types import Array, Prim, Tensor, i32, i64, tensor
from weft.lang.data.field import Field
from weft.lang.data.snode_api import Root, SNode
from weft.lang.data.struct_field import StructField
from weft.lang.errors import UnsupportedSyntax
from weft.lang.translate.expressions import iterate, unpack
from weft.lang.translate.functions import Grouped, RangeOf
from weft.lang.translate.indexing import dotted
from weft.lang.translate.operators import condition, run_now, tested
from weft.lang.translate.sparse import visited
from weft.lang.translate.statements import is_static_call
from weft.lang.translate.translator import Loop, Translator, translates
from weft.lang.translate.values import Record, evaluated, is_known, is_number, kind_of, to_expr
from weft.lang.values.builtins import ndrange
from weft.lang.values.matrix import Matrix

__all__ = ["UNROLL_LIMIT"]

# A static loop becomes as many copies of its body. More copies than this would take minutes to compile.
UNROLL_LIMIT = 4096


@translates(ast.While)
def _while(t: Translator, node: ast.While) -> None:
    if node.orelse:
        raise t.error("a loop in a kernel cannot have an 'else'", node.orelse[0], UnsupportedSyntax)
    test = t.guarded(node.test, tested)
    if is_known(test) and not run_now(t, node.test, bool, test):
        return
    made = tree.While(condition(t, test, node.test), [], span=t.span(node))
    t.emit(made)
    _fill(t, made.body, node.body, "serial")


def _fill(t: Translator, into: list[tree.Stmt], statements: list[ast.stmt], kind: str, prepare: Any = None) -> None:
    """Translate the body of a run-time loop. `prepare` binds its indices."""
    config, t.loop_config = t.loop_config, None
    dormant, t.dormant, t.dormant_next = t.dormant, t.dormant | t.dormant_next, frozenset()
    with t.block() as out:
        t.loops.append(Loop(kind, t.depth))
        if prepare is not None:
            prepare()
        t.body(statements)
        t.loops.pop()
        into.extend(out)
    t.loop_config, t.dormant = config, dormant


@translates(ast.For)
def _for(t: Translator, node: ast.For) -> None:
    if node.orelse:
        raise t.error("a loop in a kernel cannot have an 'else'", node.orelse[0], UnsupportedSyntax)
    over = t.expr(node.iter)
    if is_static_call(t, node.iter):
        _static_for(t, node, over)
        return
    config, t.loop_config = t.loop_config or LoopConfig(), None
    _Runtime(t, node, config.over(t.unit.loops) if t.top else config).loop(over)


# ---- unrolled --------------------------------------------------------------------------------------------------------


def _static_for(t: Translator, node: ast.For, over: Any) -> None:
    items = evaluated(t, _static_items(t, over, node.iter))
    if len(items) > UNROLL_LIMIT:
        raise t.error(
            f"this static loop would be unrolled {len(items)} times, more than {UNROLL_LIMIT}: leave out ti.static",
            node.iter,
        )
    for item in items:
        t.names.push()
        t.loops.append(Loop("static", t.depth))
        iterate(t, node.target, item)
        t.body(node.body)
        t.loops.pop()
        t.names.pop()
        if t.jump == "break":
            t.jump = ""
            return
        if t.jump == "continue":
            t.jump = ""
        if t.jump:
            return


def _static_items(t: Translator, over: Any, node: ast.expr) -> Any:
    if is_number(over):
        raise t.error(f"a loop cannot run over the number {over}: write range({over})", node, TypeMismatch)
    if isinstance(over, Grouped):
        return [Matrix(list(point), i32) for point in _points(t, over.over, node)]
    if isinstance(over, (Field, StructField)):
        return [point[0] if len(point) == 1 else point for point in _points(t, over, node)]
    if isinstance(over, ndrange):
        points = _points(t, over, node)
        return [point[0] if len(over.bounds) == 1 else point for point in points]
    if isinstance(over, range):
        return over
    if isinstance(over, tree.Expr) and isinstance(over.type, Array):
        raise t.error("a loop over an array cannot be unrolled: its shape is known only when the kernel runs", node)
    return unpack(t, over, node)


def _points(t: Translator, over: Any, node: ast.expr) -> list[tuple[int, ...]]:
    box = over if isinstance(over, ndrange) else ndrange(*over.shape)
    if not is_known(box.bounds):
        raise t.error("the bounds of a static range must be known at compile time", node)
    times = prod(box.dimensions)
    if times > UNROLL_LIMIT:
        raise t.error(
            f"this static loop would be unrolled {times} times, more than {UNROLL_LIMIT}: leave out ti.static",
            node,
        )
    return list(box)


# ---- at run time -----------------------------------------------------------------------------------------------------


class _Runtime:
    """One run-time `for`."""

    def __init__(self, t: Translator, node: ast.For, config: LoopConfig) -> None:
        self.t, self.node, self.config = t, node, config
        self.parallel = t.top and not config.serialize
        self.kind = "parallel" if self.parallel else "serial"

    def loop(self, over: Any) -> None:
        """Dispatch on the object that the loop iterates over."""
        t, node = self.t, self.node
        grouped = isinstance(over, Grouped)
        inner = over.over if isinstance(over, Grouped) else over
        if isinstance(inner, (range, RangeOf)):
            bounds = (inner.start, inner.stop, inner.step) if isinstance(inner, range) else inner.bounds
            self.range(bounds)
        elif isinstance(inner, ndrange):
            self.box(inner, grouped)
        elif isinstance(inner, SNode) and inner.shape:
            self.cells(inner, grouped)
        elif isinstance(inner, (Field, StructField)):
            self.elements(run_now(t, node.iter, t.unit.symbol, *_first_field(inner, dotted(node.iter))), grouped)
        elif isinstance(inner, tree.Expr) and isinstance(inner.type, Array):
            self.elements(inner, grouped)
        else:
            self.refuse(inner)

    def refuse(self, over: Any) -> None:
        """Raise the error that says what a loop can iterate over."""
        t, node = self.t, self.node.iter
        if isinstance(over, (SNode, Root)):
            raise t.error("the root has only one cell: loop over a node below it, or over a field", node)
        if isinstance(over, (list, tuple, dict)) or (isinstance(over, tree.Expr) and isinstance(over.type, Tensor)):
            raise t.error(f"a loop over {_phrase(over)} must be unrolled: write ti.static(...) around it", node)
        if is_number(over):
            raise t.error(f"a loop cannot run over the number {over}: write range({over})", node, TypeMismatch)
        if isinstance(over, (tree.Expr, Record)) or over is None:
            raise t.error(
                f"{kind_of(over)} cannot be looped over: use range, ti.ndrange, a field or an array", node, TypeMismatch
            )
        raise t.error(
            f"{kind_of(over)} cannot be looped over at run time: write ti.static(...) around it", node, TypeMismatch
        )

    def names(self, count: int, what: str) -> list[str]:
        """The names of the loop variables. Raises an error if their number is wrong."""
        target = self.node.target
        parts = target.elts if isinstance(target, (ast.Tuple, ast.List)) else [target]
        names = [part.id for part in parts if isinstance(part, ast.Name)]
        for name in names:
            if name != "_" and self.t.names.find(name) is not None:
                raise self.t.error(
                    f"'{name}' is already a variable of this function, but a loop variable exists only inside "
                    "its loop: give the loop variable another name",
                    target,
                )
        if len(names) != len(parts):
            raise self.t.error("a loop variable must be a name", target, UnsupportedSyntax)
        if len(names) != count:
            hint = "; or take them as one vector, with ti.grouped(...)" if len(names) == 1 else ""
            plural = "" if count == 1 else "s"
            raise self.t.error(
                f"{what} needs {count} loop variable{plural}, got {len(names)}{hint}", target, TypeMismatch
            )
        return names

    def range(self, bounds: tuple[Any, ...]) -> None:
        """`range(end)`, `range(begin, end)`, `range(begin, end, step)`."""
        (name,) = self.names(1, "range")
        begin, end, step = (0, bounds[0], 1) if len(bounds) == 1 else (*bounds, 1)[:3]
        exprs, prim = self.integers([begin, end, step])
        variable = self.variable(name, prim)
        first, last, by = exprs
        if isinstance(by, tree.Const) and by.value == 0:
            raise self.t.error("the step of a range must not be 0", self.node.iter)
        made = tree.RangeFor(variable, first, last, by, [], self.parallel, self.config, span=self.t.span(self.node))
        self.t.emit(made)
        self.fill(made.body, lambda: self.t.bind(name, variable, "loop index"))

    def integers(self, values: list[Any]) -> tuple[list[tree.Expr], Prim]:
        """The bounds as expressions of one type: i32, or i64 if the type of one is wider or a constant does not fit
        into an i32."""
        t, node = self.t, self.node.iter
        exprs = [to_expr(t, value, node) for value in values]
        for expr in exprs:
            if not isinstance(expr.type, Prim) or expr.type.is_float:
                raise t.error(
                    f"the bounds of a loop must be integers, not {expr.type}; cast them with int(...)",
                    node,
                    TypeMismatch,
                )
        prim = i32 if all(map(_fits_i32, values, exprs)) else i64
        return [_as_type(expr, prim) for expr in exprs], prim

    def variable(self, name: str, prim: Prim) -> tree.Variable:
        """Make the variable of a loop index."""
        made = tree.Variable(name, prim)
        self.t.unit.fixed.add(made)
        return made

    def box(self, over: ndrange, grouped: bool) -> None:
        """A loop over `ndrange`, with one variable for each axis, or one vector."""
        axes = len(over.bounds)
        if axes == 0 and not grouped:
            raise self.t.error(
                "a loop over ti.ndrange() without axes has no index: write ti.grouped(...)", self.node.iter
            )
        names = self.names(1 if grouped else axes, f"{'grouped ' if grouped else ''}ndrange of {axes} axes")
        if axes == 0:  # a grouped loop: the index vector is empty
            self.once(names[0])
            return
        exprs, prim = self.integers([bound for pair in over.bounds for bound in pair])
        hidden = [f"{names[0]}{axis}" for axis in range(axes)] if grouped else names
        variables = [self.variable(name, prim) for name in hidden]
        made = tree.BoxFor(
            variables, exprs[::2], exprs[1::2], [], self.parallel, self.config, span=self.t.span(self.node)
        )
        self.t.emit(made)
        self.fill(made.body, lambda: self.bind(names, variables, grouped))

    def cells(self, node: SNode, grouped: bool) -> None:
        """A loop over the cells of a node."""
        over = visited(self.t, node, self.node.iter)
        if over is None:
            self.box(ndrange(*node.bounds), grouped)
        else:
            self.elements(over, grouped, node.offset)

    def elements(self, over: FieldSymbol | NodeSymbol | tree.Expr, grouped: bool, first: Sequence[int] = ()) -> None:
        """A loop over a field, the cells of a node or an array, with one variable for each axis, or one vector.
        `first`: the index of the first cell of a node."""
        if isinstance(over, FieldSymbol | NodeSymbol):
            axes = len(over.shape)
            offset = over.offset if isinstance(over, FieldSymbol) else ()
            index = i64 if any(map(_beyond_i32, over.shape, offset or (0,) * axes)) else i32
            self.list_is_outermost(over)
        else:
            assert isinstance(over.type, Array)
            axes, index = over.type.ndim, over.type.index
        if axes == 0 and not grouped:
            raise self.t.error("a 0-D field has only one element: write x[None] instead of a loop", self.node.iter)
        names = self.names(1 if grouped else axes, f"a loop over a field of {axes} ax{'i' if axes == 1 else 'e'}s")
        if axes == 0:  # a grouped loop: the index vector is empty
            self.once(names[0])
            return
        hidden = [f"{names[0]}{axis}" for axis in range(axes)] if grouped else names
        variables = [self.variable(name, index) for name in hidden]
        made = tree.StructFor(variables, over, [], self.parallel, self.config, span=self.t.span(self.node))
        self.t.emit(made)
        starts = first if isinstance(over, NodeSymbol) else ()
        self.fill(made.body, lambda: self.bind(names, self.shifted(variables, starts), grouped))

    def shifted(self, variables: list[tree.Variable], first: Sequence[int]) -> list[tree.Variable]:
        """The indices of a loop that counts from 0, as the program counts them."""
        if not any(first):
            return variables
        found: list[tree.Variable] = []
        for variable, start in zip(variables, first, strict=True):
            assert isinstance(variable.type, Prim)
            index, number = tree.Var(variable, type=variable.type), tree.Const(start, type=variable.type)
            local = self.t.local(tree.Binary("add", index, number, type=variable.type), variable.name)
            found.append(local.variable)
        return found

    def list_is_outermost(self, over: FieldSymbol | NodeSymbol) -> None:
        """A loop over what is active runs over a list that is made before it. So it is one of the whole kernel."""
        if isinstance(over, FieldSymbol) and over.node is None:
            return
        if not self.t.top:
            raise self.t.error(
                "a loop over a sparse field or node must be at the top level of the kernel: here, loop over "
                "ti.ndrange(...) and test the elements",
                self.node.iter,
            )
        self.parallel, self.kind = True, "parallel"

    def once(self, name: str) -> None:
        """A loop over a 0-D field or a box without axes: one iteration, whose index vector is empty."""
        variable = self.variable(name, i32)
        zero, one = tree.Const(0, type=i32), tree.Const(1, type=i32)
        made = tree.RangeFor(variable, zero, one, one, [], self.parallel, self.config, span=self.t.span(self.node))
        self.t.emit(made)
        self.fill(made.body, lambda: self.t.bind(name, (), "loop index"))

    def bind(self, names: list[str], variables: list[tree.Variable], grouped: bool) -> None:
        """Bind the names of the indices."""
        t = self.t
        if not grouped:
            for name, variable in zip(names, variables, strict=True):
                t.bind(name, variable, "loop index")
            return
        kind = tensor(variables[0].type, (len(variables),)) if isinstance(variables[0].type, Prim) else None
        assert kind is not None
        values: list[tree.Expr] = [tree.Var(variable, type=variable.type) for variable in variables]
        t.bind(names[0], tree.MakeTensor(values, type=kind, span=t.span(self.node.target)), "loop index")

    def fill(self, into: list[tree.Stmt], prepare: Any) -> None:
        """Translate the body."""
        _fill(self.t, into, self.node.body, self.kind, prepare)


def _beyond_i32(extent: int, first: int) -> bool:
    return first < -(2**31) or max(extent, first + extent) >= 2**31


def _fits_i32(value: Any, expr: tree.Expr) -> bool:
    if is_number(value):
        low = high = int(value)
    elif isinstance(expr.type, Prim) and expr.type.is_int:
        low, high = range_of(expr.type)
    else:
        return False
    least, most = range_of(i32)
    return least <= low and high <= most


def _as_type(expr: tree.Expr, prim: Prim) -> tree.Expr:
    if expr.type is prim:
        return expr
    if isinstance(expr, tree.Const):
        return tree.Const(int(expr.value), type=prim, span=expr.span)
    return tree.Cast(expr, type=prim, span=expr.span)


def _first_field(over: Any, name: str) -> tuple[Any, str]:
    """A field of scalars or tensors. For a struct field, it is the field of the first member."""
    while isinstance(over, StructField):
        member = next(iter(over.members))
        over, name = over.members[member], f"{name}.{member}"
    return over, name


def _phrase(over: Any) -> str:
    return f"a vector or matrix ({over.type})" if isinstance(over, tree.Expr) else f"a Python {type(over).__name__}"
