"""Random kernels for property tests: every one is well typed, ends, stays in bounds and has no data race.

`chi_kernels()` draws a `Program`: a kernel at CHI level (types inferred, or with operands of mixed types), arguments,
and the initial values of its fields. In a parallel loop each field plays one part: read anywhere, owned (each iteration
touches only the element at its own index), or accumulated into by one kind of atomic that gives the same in any order.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from hypothesis import strategies as st

from weft.ir import ops
from weft.ir.core import Block, BlockArg, Builder, Op, Value
from weft.ir.memory_model import Memory
from weft.ir.scalar import BINARY, UNARY, binary_type, cast_value, unary_type
from weft.ir.storage.dense import Term
from weft.ir.symbols import FieldSymbol, LoopConfig, Param
from weft.ir.types import (
    Prim,
    Struct,
    Tensor,
    Type,
    array,
    element,
    f32,
    f64,
    i8,
    i32,
    i64,
    pointer,
    shape_of,
    struct,
    tensor,
    u1,
    u8,
    u32,
    with_element,
)  # fmt: skip

__all__ = ["ARRAY", "FIELDS", "PARAMS", "Program", "chi_kernels", "initial_values"]

vec2, mat2 = tensor(f32, (2,)), tensor(f32, (2, 2))
pair = struct((("k", i32), ("p", vec2)))
ARRAY = array(f32, 1)
PARAMS = (Param("a", i32), Param("b", f32), Param("c", vec2), Param("data", ARRAY))
EXTENT = 4


def _field(name: str, dtype: Type, tree: int, start: int, stride: int, gap: int, **more: Any) -> FieldSymbol:
    count = dtype.count if isinstance(dtype, Tensor) else 1
    components = tuple(start + gap * c for c in range(count))
    return FieldSymbol.dense(
        name, dtype, (EXTENT,), tree, components, (Term(0, 1, EXTENT, stride),), order=(0,), **more
    )


FIELDS = (
    _field("x", f32, 0, 0, 12, 0),  # x and y side by side in 12-byte cells
    _field("y", i64, 1, 0, 8, 0, offset=(-2,)),
    _field("v", vec2, 2, 0, 4, 4 * EXTENT),  # structure of arrays
    FieldSymbol.dense(
        "grid", i32, (2, 4), 0, (48,), (Term(0, 1, 2, 4), Term(1, 2, 2, 16), Term(1, 1, 2, 8)), (), (0, 1)
    ),
    FieldSymbol.dense("total", i32, (), 3, (0,), ()),
    FieldSymbol.dense("best", f64, (), 3, (8,), ()),
)
SCALARS: tuple[Prim, ...] = (i32, f32, i64, u8, f64, u32, i8, u1)
FLOATS_TRIED = (0.1, 0.0, -0.0, 1.0, -1.0, 0.5, 2.0, 3.25, -7.5, 1e-40, 1e30, float("inf"), float("-inf"), float("nan"))
INTS_TRIED = (0, 1, 2, 3, 4, 5, 7, 8, -1, -2, -3, 31, 32, 127, 128, 255, 2**31 - 1, -(2**31), 2**63 - 1)
# Transcendental functions are left to tests of their own: their last bit depends on who computes them.
EXACT_UNARY = ("neg", "bit_not", "not", "abs", "sign", "floor", "ceil", "trunc", "sqrt", "popcnt", "clz")
EXACT_BINARY = tuple(kind for kind in BINARY if kind not in ("pow", "atan2"))


@dataclass
class Program:
    """A kernel with something to run it on."""

    kernel: ops.Kernel
    args: list[Any]
    fields: dict[str, Any]

    def memory(self) -> Memory:
        """Fresh memory, filled with the initial values."""
        memory = Memory.of(self.kernel.fields)
        for symbol in self.kernel.fields:
            memory.write(symbol, self.fields[symbol.name])
        return memory


def initial_values(draw: Callable[[Any], Any], type: Type, shape: tuple[int, ...]) -> Any:
    """An array of edge-case numbers of that type."""
    prim = element(type)
    tried = FLOATS_TRIED if prim.is_float else INTS_TRIED
    count = int(np.prod((*shape, *shape_of(type)), dtype=int))
    drawn = draw(st.lists(st.sampled_from(tried), min_size=count, max_size=count))
    return cast_value(np.array(drawn), prim).reshape((*shape, *shape_of(type)))


@st.composite
def chi_kernels(draw: Callable[[Any], Any], mixed: bool = False) -> Program:
    """A random kernel at CHI level. `mixed`: operands keep their own types, for `infer_types` to settle."""
    kernel = ops.Kernel("random", PARAMS, (i32, vec2), FIELDS)
    scope = _Scope(draw, Builder(kernel.body), mixed)
    for _ in range(draw(st.integers(1, 4))):
        scope.top_level()
    results: list[Value] = [scope.expr(i32, 2), scope.expr(vec2, 2)]
    scope.add(ops.Return(results))
    args = [initial_values(draw, param.type, ())[()] for param in PARAMS[:3]]
    values = {symbol.name: initial_values(draw, symbol.dtype, symbol.shape) for symbol in FIELDS}
    return Program(kernel, [*args, initial_values(draw, f32, (EXTENT,))], values)


class _Scope:
    """What can be named at a point of the program being made, and the statements and expressions to draw there."""

    def __init__(self, draw: Callable[[Any], Any], builder: Builder, mixed: bool) -> None:
        self.draw, self.builder, self.mixed = draw, builder, mixed
        self.values: list[Value] = []
        self.locals: list[Value] = []
        self.index: Value | None = None  # of the parallel loop around
        self.owned: tuple[FieldSymbol, ...] = ()
        self.readable: tuple[FieldSymbol, ...] = FIELDS
        self.accumulated: dict[FieldSymbol, str] = {}
        self.shared: dict[Value, str] = {}  # locals of the kernel that iterations update, by one kind of atomic each
        self.in_loop = False

    def inside(self, block: Block) -> _Scope:
        """The scope of a block in this one: it sees all this one sees."""
        inner = _Scope(self.draw, Builder(block), self.mixed)
        inner.__dict__.update({key: value for key, value in self.__dict__.items() if key != "builder"})
        inner.values, inner.locals = [*self.values], [*self.locals]
        return inner

    def pick(self, options: Any) -> Any:
        return self.draw(st.sampled_from(options))

    def add(self, op: Op) -> Any:
        return self.builder.add(op)

    def const(self, value: Any, type: Prim) -> Value:
        fitted = value if type.is_float else cast_value(value, type).item()  # a float need not be rounded yet
        return self.add(ops.Const(fitted, type=type))

    def cast(self, value: Value, type: Type) -> Value:
        """`value` as `type`; a scalar fills a tensor."""
        if value.type is type:
            return value
        if isinstance(type, Tensor) and not shape_of(value.type):
            return self.add(ops.Splat(self.cast(value, type.elem), type=type))
        return self.add(ops.Cast(value, type=type))

    # ---- expressions

    def expr(self, type: Type, depth: int) -> Value:
        """An expression of that type, at most about `depth` operators deep."""
        if isinstance(type, Struct):
            known = [value for value in self.values if value.type is type]
            if known and self.draw(st.booleans()):
                return self.pick(known)
            return self.add(ops.MakeStruct([self.expr(member, depth - 1) for _, member in type.members], type=type))
        kind = self.pick(("leaf",) if depth <= 0 else ("leaf", "binary", "binary", "unary", "select", "cast", "part"))
        value: Value = getattr(self, "_" + kind)(type, depth - 1)
        self.values.append(value)
        return value

    def _leaf(self, type: Type, depth: int) -> Value:
        known = [value for value in self.values if value.type is type]
        places = [place for place in self.locals if place.type is pointer(type)]
        fields = [symbol for symbol in (*self.readable, *self.owned) if symbol.dtype is type]
        params = [number for number, param in enumerate(PARAMS) if param.type is type]
        choice = self.pick([n for n, group in (("known", known), ("local", places), ("field", fields),
                                               ("param", params), ("const", [1])) if group])  # fmt: skip
        if choice == "known":
            return self.pick(known)
        if choice == "local":
            return self.add(ops.Load(self.pick(places)))
        if choice == "field":
            return self.add(ops.Load(self.address(self.pick(fields))))
        if choice == "param":
            return self.add(ops.Arg(self.pick(params), type=type))
        prim = element(type)
        return self.cast(self.const(self.pick(FLOATS_TRIED if prim.is_float else INTS_TRIED), prim), type)

    def _binary(self, type: Type, depth: int) -> Value:
        prim = element(type)
        kinds = [kind for kind in EXACT_BINARY if _fits(BINARY[kind].typing, prim)]
        kind = self.pick(kinds)
        compares = BINARY[kind].typing == "compare"
        left = with_element(type, self.pick(SCALARS)) if compares else type
        right = with_element(type, self.pick(SCALARS)) if self.mixed else left
        if self.mixed and BINARY[kind].typing in ("bits", "shift") and element(right).is_float:
            right = left
        lhs, rhs = self.expr(left, depth), self.expr(right, depth)
        operand, other, _ = binary_type(kind, element(lhs.type), element(rhs.type))
        if not self.mixed:
            lhs, rhs = self.cast(lhs, with_element(left, operand)), self.cast(rhs, with_element(left, other))
        result = self.add(ops.Binary(kind, lhs, rhs))
        if kind in ("min", "max") and element(result.type).is_float:  # which zero is smaller is left open
            zero = self.cast(self.const(0.0, element(result.type)), result.type)
            result = self.add(ops.Binary("add", result, zero))
        return self.cast(result, type)

    def _unary(self, type: Type, depth: int) -> Value:
        prim = element(type)
        kinds = [kind for kind in EXACT_UNARY if _fits(UNARY[kind].typing, prim)]
        kind = self.pick(kinds)
        x = self.expr(with_element(type, self.pick(SCALARS)) if UNARY[kind].typing == "truth" else type, depth)
        if not self.mixed:
            x = self.cast(x, with_element(type, unary_type(kind, element(x.type))[0]))
        return self.cast(self.add(ops.Unary(kind, x)), type)

    def _select(self, type: Type, depth: int) -> Value:
        condition = self.expr(with_element(type, u1) if self.draw(st.booleans()) else u1, depth)
        if shape_of(condition.type) != shape_of(type):
            condition = self.cast(condition, with_element(type, u1))
        return self.add(ops.Select(condition, self.expr(type, depth), self.expr(type, depth)))

    def _cast(self, type: Type, depth: int) -> Value:
        return self.cast(self.expr(with_element(type, self.pick(SCALARS)), depth), type)

    def _part(self, type: Type, depth: int) -> Value:
        """Something out of a tensor or struct, or a tensor out of scalars."""
        if isinstance(type, Tensor):
            return self._whole(type, depth)
        if type is i32 and self.draw(st.booleans()):
            return self.add(ops.Member(self.expr(pair, depth), 0))
        whole = self.expr(with_element(self.pick((vec2, mat2)), element(type)), depth)
        assert isinstance(whole.type, Tensor)
        if self.draw(st.booleans()):
            return self.add(ops.Extract(whole, self.draw(st.integers(0, whole.type.count - 1))))
        kinds = ("add", "mul") if element(type).is_float else ("add", "and", "or", "max")
        return self.add(ops.Reduce(self.pick(kinds if type is not u1 else ("and", "or")), whole))

    def _whole(self, type: Tensor, depth: int) -> Value:
        square = tensor(type.elem, (2, 2))
        if type.elem is not u1 and self.draw(st.booleans()):
            return self.add(ops.MatMul(self.expr(square, depth), self.expr(type, depth)))
        if type is square and self.draw(st.booleans()):
            return self.add(ops.Transpose(self.expr(type, depth)))
        if type is vec2 and self.draw(st.booleans()):
            return self.add(ops.Member(self.expr(pair, depth), 1))
        return self.add(ops.MakeTensor([self.expr(type.elem, depth - 1) for _ in range(type.count)], type=type))

    # ---- places

    def number(self, extent: int, first: int = 0) -> Value:
        """An i32 in [first, first + extent)."""
        known = [value for value in self.values if value.type is i32]
        if not known or self.draw(st.booleans()):
            return self.const(first + self.draw(st.integers(0, extent - 1)), i32)
        wild = self.pick(known)
        inside = self.add(ops.Binary("mod", wild, self.const(extent, i32)))
        return self.add(ops.Binary("add", inside, self.const(first, i32))) if first else inside

    def address(self, symbol: FieldSymbol) -> Value:
        """An element of the field; in a parallel loop that owns it, the iteration's own."""
        first = symbol.offset or (0,) * len(symbol.shape)
        indices = [self.number(extent, start) for extent, start in zip(symbol.shape, first, strict=True)]
        if symbol in self.owned:
            assert self.index is not None
            own = self.index if not symbol.offset else self.add(
                ops.Binary("add", self.index, self.const(symbol.offset[0], i32)))  # fmt: skip
            indices = [*indices[:-1], own]
        return self.add(ops.FieldPtr(symbol, indices))

    def part_of(self, place: Value) -> Value:
        """The place, or a part of it that is a scalar."""
        assert place.type is not None
        type = place.type.elem  # type: ignore[attr-defined]
        if isinstance(type, Struct):
            member = self.draw(st.integers(0, len(type.members) - 1))
            return self.part_of(self.add(ops.MemberPtr(place, member)))
        if isinstance(type, Tensor) and self.draw(st.booleans()):
            return self.add(ops.ElementPtr(place, [self.number(extent) for extent in type.shape]))
        return place

    # ---- statements

    def block(self, block: Block, size: int, depth: int) -> _Scope:
        """Fill `block` with statements."""
        inner = self.inside(block)
        for _ in range(self.draw(st.integers(0, size))):
            inner.statement(depth)
        return inner

    def statement(self, depth: int) -> None:
        """One statement. Nested ones only while `depth` is left."""
        kinds = ["local", "assign", "store", "store", "atomic", "print"]
        if depth > 0:
            kinds += ["branch", "loop", "repeat"]
        getattr(self, "_" + self.pick(kinds))(depth - 1)

    def _local(self, depth: int) -> None:
        type = self.pick((i32, f32, vec2, mat2, pair, u1))
        place = self.add(ops.Alloca(type=pointer(type)))
        self.add(ops.Store(place, self.expr(type, 2)))
        self.locals.append(place)

    def _assign(self, depth: int) -> None:
        if not self.locals:
            self._local(depth)
        place = self.part_of(self.pick(self.locals))
        type = place.type.elem  # type: ignore[attr-defined]
        if not isinstance(type, Struct) and not shape_of(type) and type is not u1 and self.draw(st.booleans()):
            kind = self.pick(("add", "sub", "mul", "xchg") if element(type).is_float else ("add", "min", "max", "xchg"))
            self.values.append(self.add(ops.Atomic(kind, place, self.expr(type, 2))))
        else:
            self.add(ops.Store(place, self.expr(type, 2)))

    def _store(self, depth: int) -> None:
        writable = self.owned if self.index is not None else FIELDS
        if not writable:
            return self._local(depth)
        place = self.part_of(self.address(self.pick(writable)))
        type = place.type.elem  # type: ignore[attr-defined]
        given = with_element(type, self.pick(SCALARS)) if self.mixed else type
        self.add(ops.Store(place, self.expr(given, 3)))
        return None

    def _atomic(self, depth: int) -> None:
        if self.index is None:
            place = self.part_of(self.address(self.pick(FIELDS)))
            type = place.type.elem  # type: ignore[attr-defined]
            kind = self.pick(("add", "sub", "mul", "xchg") if element(type).is_float else ("add", "min", "max", "xchg"))
            self.values.append(self.add(ops.Atomic(kind, place, self.expr(type, 2))))
        elif self.shared and (not self.accumulated or self.draw(st.booleans())):
            place = self.pick([*self.shared])
            self.add(ops.Atomic(self.shared[place], place, self.expr(i32, 2)))
        elif self.accumulated:
            symbol = self.pick([*self.accumulated])
            value = self.expr(symbol.dtype, 2)
            self.add(ops.Atomic(self.accumulated[symbol], self.address(symbol), value))
        else:
            self._local(depth)

    def _print(self, depth: int) -> None:
        if self.index is None:
            self.add(ops.Print([self.expr(self.pick((i32, u1, vec2)), 1)], ("value ", "\0")))

    def _branch(self, depth: int) -> None:
        op = self.add(ops.If(self.expr(u1, 2)))
        then = self.block(op.then, 3, depth)
        self.block(op.orelse, 2, depth)
        if self.in_loop and self.draw(st.booleans()):
            then.add(self.pick((ops.Break, ops.Continue))())

    def _loop(self, depth: int) -> None:
        step = self.pick((1, 1, 2, -1))
        begin, end = (0, self.draw(st.integers(0, 4))) if step > 0 else (self.draw(st.integers(0, 3)), -1)
        op = self.add(ops.For(self.const(begin, i32), self.const(end, i32), self.const(step, i32)))
        self.loop_body(op, depth)

    def loop_body(self, op: ops.For | ops.While, depth: int) -> _Scope:
        """Give the loop its index, if it has one, and statements."""
        inner = self.inside(op.body)
        inner.in_loop = True
        if isinstance(op, ops.For):
            inner.values.append(loop_index(op.body))
        for _ in range(self.draw(st.integers(1, 3))):
            inner.statement(depth)
        return inner

    def _repeat(self, depth: int) -> None:
        """A While that counts up in a local and breaks."""
        counter = self.add(ops.Alloca(type=pointer(i32)))
        self.add(ops.Store(counter, self.const(0, i32)))
        op = self.add(ops.While())
        head = Builder(op.body)
        count = head.add(ops.Load(counter))
        more = head.add(ops.Const(1, type=i32))
        head.add(ops.Store(counter, head.add(ops.Binary("add", count, more))))
        limit = head.add(ops.Const(self.draw(st.integers(0, 3)), type=i32))
        leave = head.add(ops.If(head.add(ops.Binary("ge", count, limit))))
        leave.then.append(ops.Break())
        self.loop_body(op, depth)

    # ---- the top level

    def top_level(self) -> None:
        """A serial statement or a parallel loop."""
        kind = self.pick(("serial", "box", "struct"))
        if kind == "serial":
            return self.statement(2)
        body = Block()
        shared = self.shared_locals()
        inner = self.inside(body)
        inner.shared = shared
        inner.locals, inner.in_loop = [], False  # a local of outside is shared by all iterations
        if kind == "box":
            serial = LoopConfig(serialize=False)
            two = self.draw(st.booleans())
            begins = [self.const(0, i32) for _ in range(1 + two)]
            ends = [*([self.const(2, i32)] if two else []), self.const(EXTENT, i32)]
            rows = [loop_index(body)] if two else []
            inner.values += rows
            inner.index = loop_index(body)
            self.share(inner, only_rows=two)
            self.add(ops.ParallelFor(begins, ends, serial, body))
        else:
            inner.index = loop_index(body)
            self.share(inner, only_rows=False)
            self.add(ops.StructFor(FIELDS[0], body=body))
        inner.values.append(inner.index)
        for _ in range(self.draw(st.integers(1, 4))):
            inner.statement(2)
        self.values += [self.add(ops.Load(place)) for place in shared]
        return None

    def shared_locals(self) -> dict[Value, str]:
        """New ones, each with the kind of its updates."""
        made: dict[Value, str] = {}
        for kind in ("add", "xor", "min"):
            if self.draw(st.integers(0, 2)) == 0:
                place = self.add(ops.SharedLocal(type=pointer(i32)))
                self.add(ops.Store(place, self.expr(i32, 1)))
                made[place] = kind
        return made

    def share(self, inner: _Scope, only_rows: bool) -> None:
        """Give each field its part in a parallel loop. A 2-D box owns nothing: two of its iterations share an index."""
        lines = [symbol for symbol in FIELDS if symbol.shape == (EXTENT,)]
        inner.owned = () if only_rows else tuple(s for s in lines if self.draw(st.booleans()))
        kinds = {FIELDS[3]: ("add", "xor", "max"), FIELDS[4]: ("add", "min", "or")}
        inner.accumulated = {s: self.pick(kinds[s]) for s in kinds if self.draw(st.booleans())}
        taken = {*inner.owned, *inner.accumulated}
        inner.readable = tuple(symbol for symbol in FIELDS if symbol not in taken)


def loop_index(block: Block) -> BlockArg:
    """A new i32 argument of the block."""
    arg = BlockArg(i32)
    arg.block = block
    block.args.append(arg)
    return arg


def _fits(typing: str, result: Prim) -> bool:
    """Whether an operator of that typing can give a `result`."""
    return {
        "same": True,
        "float": result.is_float,
        "integer": not result.is_float,
        "truth": result is u1,
        "promote": True,
        "compare": result is u1,
        "bits": not result.is_float,
        "shift": not result.is_float,
    }[typing]
