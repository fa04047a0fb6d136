"""The handlers of the language's functions, by name. A function with the name of a row of UNARY or BINARY is that
operator."""

from __future__ import annotations

import ast
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from weft.ir import tree
from weft.ir.errors import TypeMismatch
from weft.ir.registry import registers
from weft.ir.scalar import ATOMICS, BINARY, UNARY, range_of
from weft.ir.symbols import LoopConfig
from weft.ir.types import Array, Prim, Struct, Tensor, Type, element, u1, u16, u32, u64, with_element
from weft.lang.data.field import Field
from weft.lang.data.struct_field import StructField
from weft.lang.errors import StaticAssertion
from weft.lang.translate.operators import binary, condition, run_now, select, truth, unary
from weft.lang.translate.precision import warn_of_loss
from weft.lang.translate.translator import Translator
from weft.lang.translate.values import (
    Record,
    Unfinished,
    aliased,
    as_int,
    assignable,
    coerce,
    evaluated,
    has_effects,
    in_memory,
    is_constant,
    is_known,
    is_number,
    kind_of,
    scalar_of,
    settled_place,
    to_expr,
)
from weft.lang.values.builtins import BUILTINS
from weft.lang.values.types import MatrixType, primitive

__all__ = ["FUNCTIONS", "Call", "Grouped", "RangeOf", "cast_to", "cast_value_to", "function"]


@dataclass(eq=False)
class Call:
    """A call with the meanings of its arguments."""

    node: ast.Call
    args: list[Any]
    keywords: dict[str, Any]

    def with_first(self, value: Any) -> Call:
        """The same call with one more argument in front."""
        return replace(self, args=[value, *self.args])


@dataclass(frozen=True, eq=False)
class RangeOf(Unfinished):
    """`range(begin, end, step)` with a bound or a step that is known only at run time."""

    phrase = "a range whose bounds are known only at run time"

    bounds: tuple[Any, ...]


@dataclass(frozen=True, eq=False)
class Grouped(Unfinished):
    """`grouped(over)`: a loop whose indices are one vector."""

    phrase = "the result of ti.grouped (which only a loop can use)"

    over: Any


Handler = Callable[[Translator, Call], Any]
FUNCTIONS: dict[str, Handler] = {}


function = registers(FUNCTIONS)  # the handlers of functions, by their names


def arguments(t: Translator, c: Call, least: int, most: int, *names: str) -> list[Any]:
    """The positional arguments, including those given by a name of `names`. None for each missing one. Raises
    TypeMismatch for a wrong number of arguments."""
    values = list(c.args)
    for name in names[len(values) :]:
        values.append(c.keywords.get(name))
    extra = set(c.keywords) - set(names[len(c.args) :])
    given = len(c.args) + len(c.keywords)
    if extra or not least <= given <= most:
        wanted = str(least) if least == most else f"{least} to {most}"
        what = ast.unparse(c.node.func)
        unknown = f", and no '{min(extra)}'" if extra else ""
        plural = "" if wanted == "1" else "s"
        raise t.error(f"{what} takes {wanted} argument{plural}{unknown}, got {given}", c.node, TypeMismatch)
    return values + [None] * (most - len(values))


def _place(c: Call, position: int) -> ast.AST:
    return c.node.args[position] if position < len(c.node.args) else c.node


def exprs(t: Translator, c: Call, values: list[Any]) -> list[tree.Expr]:
    """The arguments as run-time expressions."""
    return [to_expr(t, value, _place(c, position)) for position, value in enumerate(values)]


# ---- operators by name -----------------------------------------------------------------------------------------------


def _unary_handler(kind: str) -> Handler:
    rounding = kind in ("floor", "ceil", "round", "trunc")

    def handle(t: Translator, c: Call) -> Any:
        x, dtype = (
            arguments(t, c, 1, 2 if rounding else 1, "x", *(["dtype"] if rounding else []))[:2] + [None][rounding:]
        )
        if is_constant(x) and dtype is None and kind in BUILTINS and kind not in _OF_BITS:
            return run_now(t, c.node, BUILTINS[kind].python, x)
        value = to_expr(t, x, _place(c, 0))
        if kind == "round" and isinstance(dtype, int):
            raise t.error(
                "'round' with a number of digits cannot be used in a kernel: multiply by a power of ten, "
                "round, and divide by it",
                c.node,
            )
        if rounding and not element_type(t, value, c.node).is_float:
            result = value
        else:
            result = unary(t, kind, value, c.node)
        return result if dtype is None else cast_value_to(t, result, dtype, c.node)

    return handle


_OF_BITS = ("bit_shr", "clz", "popcnt")  # the results of these for a constant depend on its width


def element_type(t: Translator, value: tree.Expr, node: ast.AST) -> Prim:
    """The primitive type of a scalar or tensor. Raises TypeMismatch for a struct."""
    if not isinstance(value.type, (Prim, Tensor)):
        raise t.error(f"expected a number, vector or matrix, not {kind_of(value)}", node, TypeMismatch)
    return element(value.type)


def _binary_handler(kind: str) -> Handler:
    def handle(t: Translator, c: Call) -> Any:
        a, b = arguments(t, c, 2, 2, "a", "b")
        if is_constant(a) and is_constant(b) and kind in BUILTINS and kind not in _OF_BITS:
            return run_now(t, c.node, BUILTINS[kind].python, a, b)
        left, right = exprs(t, c, [a, b])
        return binary(t, kind, left, right, c.node)

    return handle


def _nary_handler(kind: str) -> Handler:
    def handle(t: Translator, c: Call) -> Any:
        values = c.args
        if c.keywords:
            raise t.error(
                f"in a kernel, {kind} takes only values; it has no argument '{min(c.keywords)}'", c.node, TypeMismatch
            )
        if one_sequence := len(values) == 1 and isinstance(values[0], (list, tuple)):
            values = list(values[0])
        if not values:
            raise t.error(f"{kind} takes at least one value", c.node, TypeMismatch)
        if len(values) > 1 and all(map(is_constant, values)):
            return run_now(t, c.node, BUILTINS[kind].python, *values)
        parts = exprs(t, c, values)
        if len(parts) == 1 and not isinstance(parts[0].type, Tensor):
            if one_sequence:
                return parts[0]
            raise t.error(
                f"{kind} of one value takes a vector, matrix or list, not {kind_of(values[0])}", c.node, TypeMismatch
            )
        if len(parts) == 1:
            return tree.Reduce(kind, parts[0], type=element_type(t, parts[0], c.node), span=t.span(c.node))
        result = parts[0]
        for part in parts[1:]:
            result = binary(t, kind, result, part, c.node)
        return result

    return handle


for _kind in UNARY:
    FUNCTIONS[_kind] = _unary_handler(_kind)
for _kind in BINARY:
    FUNCTIONS[_kind] = _nary_handler(_kind) if _kind in ("min", "max") else _binary_handler(_kind)


def _logical(kind: str) -> Handler:
    def handle(t: Translator, c: Call) -> Any:
        parts = [truth(t, value, c.node) for value in arguments(t, c, 2, 2, "a", "b")]
        return binary(t, kind, parts[0], parts[1], c.node)

    return handle


FUNCTIONS["logical_and"], FUNCTIONS["logical_or"] = _logical("and"), _logical("or")


@function("select")
def _select(t: Translator, c: Call) -> Any:
    decide, a, b = arguments(t, c, 3, 3, "cond", "x1", "x2")
    left, right = to_expr(t, a, _place(c, 1)), to_expr(t, b, _place(c, 2))
    return select(t, truth(t, decide, _place(c, 0)), left, right, c.node)


@function("ifte")
def _ifte(t: Translator, c: Call) -> Any:
    decide, a, b = arguments(t, c, 3, 3, "cond", "x1", "x2")
    if is_known(decide):
        return a if run_now(t, c.node, bool, decide) else b
    left, right = to_expr(t, a, _place(c, 1)), to_expr(t, b, _place(c, 2))
    return select(t, condition(t, decide, _place(c, 0)), left, right, c.node)


# ---- types -----------------------------------------------------------------------------------------------------------


@function("cast")
def _cast(t: Translator, c: Call) -> Any:
    x, dtype = arguments(t, c, 2, 2, "obj", "dtype")
    prim = dtype if isinstance(dtype, Prim) else None
    if prim is not None and prim.is_int and prim is not u1 and isinstance(x, int) and not isinstance(x, bool):
        return cast_value_to(t, scalar_of(t, x, prim, c.node), prim, c.node)
    return cast_value_to(t, to_expr(t, x, _place(c, 0)), dtype, c.node)


def cast_value_to(t: Translator, value: tree.Expr, dtype: Any, node: ast.AST) -> tree.Expr:
    """Cast the scalars of `value` to `dtype`."""
    prim = run_now(t, node, primitive, dtype) if not isinstance(dtype, MatrixType) else dtype.dtype
    element_type(t, value, node)
    if isinstance(value, tree.Const) and isinstance(value.value, int) and prim.is_int and prim is not u1:
        bits = int(value.value) & ((1 << prim.bits) - 1)
        wrapped = bits - (1 << prim.bits) if prim.is_signed and bits >> (prim.bits - 1) else bits
        return scalar_of(t, wrapped, prim, node)
    return coerce(t, value, with_element(value.type, prim), node)


def cast_to(t: Translator, prim: Prim, c: Call) -> tree.Expr:
    """Translate `ti.f32(x)`. An integer literal may be as wide as the type."""
    (x,) = arguments(t, c, 0, 1, "x")
    x = 0 if x is None else x
    if isinstance(x, int) and not isinstance(x, bool) and prim.is_int and prim is not u1:
        low, high = range_of(prim)
        if not low <= x <= high:
            raise t.error(
                f"the integer {x} does not fit {prim}, whose range is {low} to {high}: write ti.cast({x}, "
                f"ti.{prim}) to keep its lowest {prim.bits} bits",
                c.node,
                TypeMismatch,
            )
        return cast_value_to(t, scalar_of(t, x, prim, c.node), prim, c.node)
    if isinstance(x, (int, float)) and prim.is_float:
        return scalar_of(t, float(x), prim, c.node)
    return cast_value_to(t, to_expr(t, x, _place(c, 0)), prim, c.node)


@function("bit_cast")
def _bit_cast(t: Translator, c: Call) -> Any:
    x, dtype = arguments(t, c, 2, 2, "obj", "dtype")
    value, prim = to_expr(t, x, _place(c, 0)), run_now(t, c.node, primitive, dtype)
    own = element_type(t, value, c.node)
    if own.size != prim.size:
        raise t.error(
            f"bit_cast needs types of the same size: {own} has {own.bits} bits, {prim} has {prim.bits}",
            c.node,
            TypeMismatch,
        )
    return tree.BitCast(value, type=with_element(value.type, prim), span=t.span(c.node))


def _filled(number: int) -> Handler:
    def handle(t: Translator, c: Call) -> Any:
        x = evaluated(t, arguments(t, c, 1, 1, "x")[0])
        return _fill(t, to_expr(t, x, c.node).type, number, c.node)

    return handle


def _fill(t: Translator, type: Type, number: int, node: ast.AST) -> tree.Expr:
    if isinstance(type, Struct):
        values = [_fill(t, member, number, node) for _, member in type.members]
        return tree.MakeStruct(values, type=type, span=t.span(node))
    assert isinstance(type, (Prim, Tensor))
    prim = element(type)
    value = bool(number) if prim is u1 else float(number) if prim.is_float else number
    return coerce(t, scalar_of(t, value, prim, node), type, node)


FUNCTIONS["zero"], FUNCTIONS["one"] = _filled(0), _filled(1)


# ---- random numbers, floats that are no numbers ----------------------------------------------------------------------


@function("random")
def _random(t: Translator, c: Call) -> Any:
    (dtype,) = arguments(t, c, 0, 1, "dtype")
    prim = run_now(t, c.node, primitive, float if dtype is None else dtype)
    return tree.Random(type=prim, span=t.span(c.node))


@function("randn")
def _randn(t: Translator, c: Call) -> Any:
    """A normally distributed number by the Box-Muller transform: sqrt(-2 ln(1 - u)) cos(2 pi v) for two uniform numbers
    in [0, 1)."""
    (dtype,) = arguments(t, c, 0, 1, "dtype")
    prim = run_now(t, c.node, primitive, float if dtype is None else dtype)
    u, v = (tree.Random(type=prim, span=t.span(c.node)) for _ in range(2))
    one, minus_two, turn = (scalar_of(t, x, prim, c.node) for x in (1.0, -2.0, 6.283185307179586))
    rest = binary(t, "sub", one, u, c.node)
    radius = unary(t, "sqrt", binary(t, "mul", minus_two, unary(t, "log", rest, c.node), c.node), c.node)
    return binary(t, "mul", radius, unary(t, "cos", binary(t, "mul", turn, v, c.node), c.node), c.node)


_BITS: dict[int, tuple[Prim, int, int]] = {
    16: (u16, 0x7FFF, 0x7C00),
    32: (u32, 0x7FFFFFFF, 0x7F800000),
    64: (u64, (1 << 63) - 1, 0x7FF << 52),
}  # (integer type, mask of all bits but the sign, infinity)


def _float_test(kind: str) -> Handler:
    """Test the bits of a float, because `fast_math` may assume that no value is NaN or infinite. Without its sign bit,
    NaN is greater than infinity."""

    def handle(t: Translator, c: Call) -> Any:
        (x,) = arguments(t, c, 1, 1, "x")
        value = to_expr(t, x, c.node)
        prim = element_type(t, value, c.node)
        if not prim.is_float:
            return _fill(t, with_element(value.type, u1), 0, c.node)
        integer, magnitude, infinity = _BITS[prim.bits]
        bits = tree.BitCast(value, type=with_element(value.type, integer), span=t.span(c.node))
        unsigned = binary(t, "and", bits, scalar_of(t, magnitude, integer, c.node), c.node)
        return binary(t, kind, unsigned, scalar_of(t, infinity, integer, c.node), c.node)

    return handle


FUNCTIONS["isnan"], FUNCTIONS["isinf"] = _float_test("gt"), _float_test("eq")


# ---- reductions of a tensor ------------------------------------------------------------------------------------------


def _all_or_any(kind: str) -> Handler:
    def handle(t: Translator, c: Call) -> Any:
        (x,) = arguments(t, c, 1, 1, "x")
        values = truth(t, x, c.node)
        return tree.Reduce(kind, values, type=u1, span=t.span(c.node)) if isinstance(values.type, Tensor) else values

    return handle


FUNCTIONS["any"], FUNCTIONS["all"] = _all_or_any("or"), _all_or_any("and")


# ---- atomics ---------------------------------------------------------------------------------------------------------


def _atomic_handler(kind: str) -> Handler:
    def handle(t: Translator, c: Call) -> Any:
        target, value = arguments(t, c, 2, 2, "x", "y")
        place = to_expr(t, target, _place(c, 0))
        if not assignable(place, t):
            raise t.error(
                f"atomic_{kind} must be given an element of a field or array, or a variable, to change", _place(c, 0)
            )
        if kind in ("and", "or", "xor") and element_type(t, place, c.node).is_float:
            raise t.error(f"atomic_{kind} takes integers, not {place.type}", _place(c, 0), TypeMismatch)
        operand = to_expr(t, value, _place(c, 1))
        if has_effects(place):  # the place is computed before the value
            place = settled_place(t, place)
        warn_of_loss(t, "the target", place.type, operand, _place(c, 1))
        operand = coerce(t, operand, place.type, c.node)
        return tree.Atomic(kind, place, operand, type=place.type, span=t.span(c.node))

    return handle


for _kind in ATOMICS:
    FUNCTIONS[f"atomic_{_kind}"] = _atomic_handler(_kind)


# ---- compile time ----------------------------------------------------------------------------------------------------


@function("static")
def _static(t: Translator, c: Call) -> Any:
    values = c.args
    if not values or c.keywords:
        raise t.error("ti.static takes one or more positional arguments", c.node, TypeMismatch)
    for position, value in enumerate(values):
        if isinstance(value, (RangeOf, tree.Expr, Record)) and not _is_alias(value):
            what = "the bounds of a static range" if isinstance(value, RangeOf) else "an argument of ti.static"
            raise t.error(
                f"{what} must be known at compile time: a literal, a global, a template() parameter or a shape, "
                f"not something computed when the kernel runs",
                _place(c, position),
            )
    values = [aliased(t, value) for value in values]
    return values[0] if len(values) == 1 else tuple(values)


def _is_alias(value: Any) -> bool:
    if isinstance(value, Record):
        return True
    return isinstance(value, tree.Expr) and (in_memory(value) or isinstance(value.type, (Array, Tensor)))


@function("grouped")
def _grouped(t: Translator, c: Call) -> Any:
    (over,) = arguments(t, c, 1, 1, "x")
    if is_number(over) or isinstance(over, str):
        raise t.error(
            f"ti.grouped takes a field, an array or ti.ndrange(...), not {kind_of(over)}", c.node, TypeMismatch
        )
    return Grouped(over)


@function("static_print")
def _static_print(t: Translator, c: Call) -> Any:
    values = [str(value.type) if isinstance(value, tree.Expr) else value for value in c.args]
    run_now(t, c.node, print, *values, **c.keywords)


@function("static_assert")
def _static_assert(t: Translator, c: Call) -> Any:
    decide, message = arguments(t, c, 1, 2, "cond", "msg")
    if not is_known(decide):
        raise t.error("static_assert needs a condition known at compile time", _place(c, 0))
    if not run_now(t, c.node, bool, decide):
        raise StaticAssertion("static_assert failed" + (f": {message}" if message is not None else ""), t.span(c.node))


@function("loop_config")
def _loop_config(t: Translator, c: Call) -> Any:
    known = {"serialize", "block_dim", "parallelize", "simd", "block_dim_adaptive", "bit_vectorize", "name"}
    unknown = sorted(set(c.keywords) - known)
    if c.args or unknown:
        raise t.error(f"loop_config takes {', '.join(sorted(known))} by name", c.node, TypeMismatch)
    numbers = {
        name: as_int(t, value, c.node, name) if value is not None else 0
        for name, value in c.keywords.items()
        if name in ("block_dim", "parallelize", "simd")
    }
    least = next((name for name, number in numbers.items() if number < 0), None)
    if least is not None:
        raise t.error(f"{least} must be 0 (let the compiler choose) or more, not {numbers[least]}", c.node)
    t.loop_config = LoopConfig(serialize=bool(c.keywords.get("serialize", False)), **numbers)


@function("block_local", "cache_read_only")
def _hint(t: Translator, c: Call) -> Any:
    del t, c


@function("stop_grad")
def _stop_grad(t: Translator, c: Call) -> Any:
    """Of a field: its elements carry no derivative in the rest of the block. Of a value: the value, without one."""
    x = arguments(t, c, 1, 1, "x")[0]
    if isinstance(x, Field | StructField):
        if t.unit.mode:
            t.unit.stopped |= {id(one) for one in _with_members(x)}
        return None
    if isinstance(x, Record):
        raise t.error("stop_grad takes a field, a number, a vector or a matrix: apply it to the members", c.node)
    value = to_expr(t, x, _place(c, 0))
    prim = element_type(t, value, c.node)
    if not prim.is_float or not t.unit.mode:
        return x
    bits = with_element(value.type, {2: u16, 4: u32, 8: u64}[prim.size])
    span = t.span(c.node)
    return tree.BitCast(tree.BitCast(value, type=bits, span=span), type=value.type, span=span)


def _with_members(made: Field | StructField) -> list[Any]:
    """A field, or the fields of the members of a field of structs."""
    members = made.members.values() if isinstance(made, StructField) else ()
    return [made, *(one for member in members for one in _with_members(member))]


@function("assume_in_range")
def _assume(t: Translator, c: Call) -> Any:
    return arguments(t, c, 4, 4, "val", "base", "low", "high")[0]
