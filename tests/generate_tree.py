"""Random kernels at Tree level: what a translator could have made. Operands mix types, functions return early, locals
keep the type of their first assignment. As in `generate.py`, every kernel ends and stays in bounds; all loops are
serial, so nothing races."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from hypothesis import strategies as st

from tests.generate import (
    EXTENT,
    FIELDS,
    FLOATS_TRIED,
    INTS_TRIED,
    PARAMS,
    Program,
    initial_values,
    pair,
    vec2,
)  # fmt: skip
from weft.ir import tree
from weft.ir.config import CompileConfig
from weft.ir.scalar import binary_type, cast_value, unary_type
from weft.ir.symbols import FieldSymbol
from weft.ir.transforms.lower_tree import lower_tree
from weft.ir.types import Prim, Tensor, Type, element, f32, f64, i32, i64, shape_of, u1, with_element

__all__ = ["kernel_trees", "program_of"]

NUMBERS: tuple[Prim, ...] = (i32, f32, i64, f64)
ARITHMETIC = ("add", "sub", "mul", "div", "floordiv", "mod", "raw_div", "raw_mod")
BITS = ("and", "or", "xor", "shl", "shr", "bit_shr")
COMPARES = ("lt", "le", "gt", "ge", "eq", "ne")


@st.composite
def kernel_trees(draw: Callable[[Any], Any]) -> tuple[tree.KernelTree, Program]:
    """A random tree, and the program it lowers to (its kernel is filled in by `program_of`)."""
    scope = _Trees(draw)
    body = scope.block(6, 2)
    body.append(tree.Return([scope.expr(i32, 2), scope.expr(vec2, 2)]))
    root = tree.KernelTree("random", PARAMS, (i32, vec2), FIELDS, body)
    args = [initial_values(draw, param.type, ())[()] for param in PARAMS[:3]]
    values = {symbol.name: initial_values(draw, symbol.dtype, symbol.shape) for symbol in FIELDS}
    placeholder: Any = None
    return root, Program(placeholder, [*args, initial_values(draw, f32, (EXTENT,))], values)


def program_of(drawn: tuple[tree.KernelTree, Program], config: CompileConfig) -> Program:
    """The program with its tree lowered."""
    root, program = drawn
    program.kernel = lower_tree(root, config)
    return program


class _Trees:
    """Draws statements and expressions; knows the variables in scope."""

    def __init__(self, draw: Callable[[Any], Any]) -> None:
        self.draw = draw
        self.variables: list[tree.Variable] = []
        self.fixed: list[tree.Variable] = []  # loop indices: not to be assigned
        self.in_loop = self.in_call = False
        self.made = 0

    def pick(self, options: Any) -> Any:
        return self.draw(st.sampled_from(options))

    def fresh(self, type: Type) -> tree.Variable:
        self.made += 1
        return tree.Variable(f"t{self.made}", type)

    def const(self, value: Any, type: Prim) -> tree.Expr:
        return tree.Const(value if type.is_float else cast_value(value, type).item(), type=type)

    # ---- expressions

    def expr(self, type: Type, depth: int) -> tree.Expr:
        """An expression of that type."""
        if type is pair:
            known = [v for v in self.variables if v.type is pair]
            if known and self.draw(st.booleans()):
                return tree.Var(self.pick(known), type=pair)
            return tree.MakeStruct([self.expr(i32, depth - 1), self.expr(vec2, depth - 1)], type=pair)
        kinds = (
            ["leaf"] if depth <= 0 else ["leaf", "operator", "operator", "operator", "ifexp", "select", "part", "call"]
        )
        if depth > 0 and type is u1:
            kinds = ["leaf", "compare", "compare", "boolop"]
        made: tree.Expr = getattr(self, "_" + self.pick(kinds))(type, depth - 1)
        return made if made.type is type else tree.Cast(made, type=type)

    def _leaf(self, type: Type, depth: int) -> tree.Expr:
        known = [v for v in (*self.variables, *self.fixed) if v.type is type]
        fields = [symbol for symbol in FIELDS if symbol.dtype is type]
        params = [n for n, param in enumerate(PARAMS) if param.type is type]
        choice = self.pick([n for n, group in (("var", known), ("field", fields), ("param", params), ("const", [1]))
                            if group])  # fmt: skip
        if choice == "var":
            return tree.Var(self.pick(known), type=type)
        if choice == "field":
            return self.place(self.pick(fields))
        if choice == "param":
            return tree.ParamRef(self.pick(params), type=type)
        prim = element(type)
        value = self.const(self.pick(FLOATS_TRIED if prim.is_float else INTS_TRIED), prim)
        return tree.Splat(value, type=type) if isinstance(type, Tensor) else value

    def _operator(self, type: Type, depth: int) -> tree.Expr:
        """Operands of any types whose result is near enough; the caller casts."""
        prim = element(type)
        if self.draw(st.integers(0, 3)) == 0:
            kind = self.pick(("neg", "abs", "sign") if prim.is_float else ("neg", "bit_not"))
            x = self.expr(type, depth)
            return tree.Unary(kind, x, type=with_element(type, unary_type(kind, prim)[1]))
        bits = not prim.is_float and self.draw(st.booleans())
        kind = self.pick(BITS if bits else ARITHMETIC)
        left, right = (self.pick((i32, i64) if bits else NUMBERS) for _ in range(2))
        wide = self.draw(st.booleans()) or not shape_of(type)
        lhs = self.expr(with_element(type, left), depth)
        rhs = self.expr(with_element(type, right) if wide else right, depth)
        return tree.Binary(kind, lhs, rhs, type=with_element(type, binary_type(kind, left, right)[2]))

    def _compare(self, type: Type, depth: int) -> tree.Expr:
        lhs, rhs = self.expr(self.pick(NUMBERS), depth), self.expr(self.pick(NUMBERS), depth)
        return tree.Binary(self.pick(COMPARES), lhs, rhs, type=u1)

    def _boolop(self, type: Type, depth: int) -> tree.Expr:
        values = [self.expr(u1, depth) for _ in range(self.draw(st.integers(2, 3)))]
        return tree.BoolOp(self.pick(("and", "or")), values, type=u1)

    def _ifexp(self, type: Type, depth: int) -> tree.Expr:
        return tree.IfExp(self.expr(u1, depth), self.expr(type, depth), self.expr(type, depth), type=type)

    def _select(self, type: Type, depth: int) -> tree.Expr:
        return tree.Select(self.expr(u1, depth), self.expr(type, depth), self.expr(type, depth), type=type)

    def _part(self, type: Type, depth: int) -> tree.Expr:
        if isinstance(type, Tensor):
            return tree.MakeTensor([self.expr(type.elem, depth) for _ in range(type.count)], type=type)
        if type is i32 and self.draw(st.booleans()):
            return tree.Member(self.expr(pair, depth), "k", type=i32)
        whole = self.expr(with_element(vec2, element(type)), depth)
        if self.draw(st.booleans()):
            return tree.Reduce("add", whole, type=type)
        return tree.Element(whole, [self.number(2)], type=type)

    def _call(self, type: Type, depth: int) -> tree.Expr:
        """An inlined function: early returns, arguments by value."""
        variables = [self.fresh(self.pick((i32, f32, vec2))) for _ in range(2)]
        arguments = [(variable, self.expr(variable.type, depth)) for variable in variables]
        outer = self.variables, self.fixed, self.in_loop, self.in_call
        self.variables, self.fixed, self.in_loop, self.in_call = [*variables], [], False, True
        body = self.block(2, 1)
        if self.draw(st.booleans()):
            early: list[tree.Stmt] = [tree.Return([self.expr(type, 1)])]
            body.append(tree.If(self.expr(u1, 1), early))
        body.append(tree.Return([self.expr(type, 1)]))
        self.variables, self.fixed, self.in_loop, self.in_call = outer
        return tree.Call("function", arguments, body, type=type)

    # ---- places

    def number(self, extent: int, first: int = 0) -> tree.Expr:
        """An i32 in [first, first + extent)."""
        known = [v for v in (*self.variables, *self.fixed) if v.type is i32]
        if not known or self.draw(st.booleans()):
            return self.const(first + self.draw(st.integers(0, extent - 1)), i32)
        wild = tree.Var(self.pick(known), type=i32)
        inside = tree.Binary("mod", wild, self.const(extent, i32), type=i32)
        return tree.Binary("add", inside, self.const(first, i32), type=i32)

    def place(self, symbol: FieldSymbol) -> tree.Expr:
        """An element of a field."""
        first = symbol.offset or (0,) * len(symbol.shape)
        indices = [self.number(extent, start) for extent, start in zip(symbol.shape, first)]
        return tree.FieldElement(symbol, indices, type=symbol.dtype)

    def target(self) -> tree.Expr:
        """Something to assign to: a variable, a field's or array's element, or a part of one."""
        kind = self.pick(("variable", "field", "array"))
        if kind == "array":
            array = tree.ParamRef(3, type=PARAMS[3].type)
            return tree.ArrayElement(array, [self.number(EXTENT)], type=f32)
        whole: tree.Expr = self.place(self.pick(FIELDS))
        if kind == "variable" and self.variables:
            variable = self.pick(self.variables)
            whole = tree.Var(variable, type=variable.type)
        if whole.type is pair:
            whole = tree.Member(whole, "p", type=vec2)
        if isinstance(whole.type, Tensor) and self.draw(st.booleans()):
            return tree.Element(whole, [self.number(extent) for extent in whole.type.shape], type=whole.type.elem)
        return whole

    # ---- statements

    def block(self, size: int, depth: int) -> list[tree.Stmt]:
        """Statements in a scope of their own."""
        before = [*self.variables]
        found = [self.statement(depth) for _ in range(self.draw(st.integers(1, size)))]
        if self.in_loop and self.draw(st.integers(0, 3)) == 0:
            leave: list[tree.Stmt] = [self.pick((tree.Break, tree.Continue))()]
            found.append(tree.If(self.expr(u1, 1), leave))
        if depth < 2:  # the outermost block's variables are still to be read by the kernel's results
            self.variables = before
        return found

    def statement(self, depth: int) -> tree.Stmt:
        """One statement."""
        kinds = ["let", "assign", "augment", "augment", "atomic"]
        if depth > 0:
            kinds += ["if_", "for_", "while_"]
        return getattr(self, "_" + self.pick(kinds))(depth - 1)  # type: ignore[no-any-return]

    def _let(self, depth: int) -> tree.Stmt:
        type = self.pick((i32, f32, f64, vec2, pair, u1))
        given = type if type in (pair, u1) else with_element(type, self.pick(NUMBERS))
        value = self.expr(given, 2)
        variable = self.fresh(type)
        self.variables.append(variable)
        return tree.Let(variable, value)

    def _assign(self, depth: int) -> tree.Stmt:
        target = self.target()
        value = self.expr(u1 if target.type is u1 else with_element(target.type, self.pick(NUMBERS)), 2)
        return tree.Assign(target, value)

    def _augment(self, depth: int) -> tree.Stmt:
        target = self.target()
        if target.type is u1:
            return tree.Assign(target, self.expr(u1, 2))
        kind = self.pick(("add", "sub", "mul", "div", "floordiv"))
        return tree.AugAssign(kind, target, self.expr(with_element(target.type, self.pick(NUMBERS)), 2))

    def _atomic(self, depth: int) -> tree.Stmt:
        target = self.target()
        if shape_of(target.type) or target.type is u1:
            return tree.Assign(target, self.expr(target.type, 1))
        value = tree.Atomic("add", target, self.expr(self.pick(NUMBERS), 1), type=target.type)
        return tree.Eval(value)

    def _if_(self, depth: int) -> tree.Stmt:
        return tree.If(self.expr(u1, 2), self.block(2, depth), self.block(2, depth))

    def _for_(self, depth: int) -> tree.Stmt:
        variable = self.fresh(i32)
        begin, end, step = self.pick(((0, 3, 1), (1, 4, 2), (3, -1, -1), (2, 2, 1)))
        outer = self.in_loop
        self.fixed, self.in_loop = [*self.fixed, variable], True
        body = self.block(2, depth)
        self.fixed, self.in_loop = self.fixed[:-1], outer
        limits = [self.const(value, i32) for value in (begin, end, step)]
        return tree.RangeFor(variable, *limits, body)

    def _while_(self, depth: int) -> tree.Stmt:
        """Counts up in a variable that nothing else assigns."""
        counter = self.fresh(i32)
        one, limit = self.const(1, i32), self.const(self.draw(st.integers(0, 3)), i32)
        count: tree.Expr = tree.Var(counter, type=i32)
        outer = self.in_loop
        self.fixed, self.in_loop = [*self.fixed, counter], True
        body = self.block(2, depth)
        self.fixed, self.in_loop = self.fixed[:-1], outer
        step = tree.AugAssign("add", count, one)
        loop = tree.While(tree.Binary("lt", tree.Var(counter, type=i32), limit, type=u1), [step, *body])
        return tree.If(tree.Const(True, type=u1), [tree.Let(counter, self.const(0, i32)), loop])
