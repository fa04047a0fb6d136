"""Splits tensors and structs into scalars.

    %v = alloca : *f32x2                       %v_0 = alloca : *f32;  %v_1 = alloca : *f32
    store %v, make_tensor %a, %b       =>      store %v_0, %a;  store %v_1, %b
    %w = load field_ptr @x %i : f32x2          %w_0 = load element_ptr (field_ptr @x %i), 0;  %w_1 = load ... 1
    %s = binary add (load %v), %w              %s_0 = binary add (load %v_0), %w_0;  %s_1 = ...

The pass walks the kernel once in program order and replaces each whole value by the list of its scalars. The work is
therefore linear in the size of the result. A local tensor that is indexed at run time stays a tensor in memory and is
accessed by `element_ptr`. So does the memory of fields, arrays and temporaries. Parameters become `scalar_arg`s. A
print or an assertion keeps the original types of its operands in `types`. The pass needs inferred types
(`infer_types`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from weft.ir import ops
from weft.ir.config import CompileConfig
from weft.ir.core import Block, Builder, Op, Value, pointee
from weft.ir.passes import pass_
from weft.ir.registry import registers
from weft.ir.transforms.demote_ops import store_results
from weft.ir.types import (
    VOID,
    Array,
    Pointer,
    Prim,
    Struct,
    Tensor,
    Type,
    element,
    flat_size,
    flatten,
    i32,
    pointer,
    shape_of,
)

__all__ = ["scalarize"]

Rule = Callable[["Scalarizer", Any], None]
RULES: dict[type[Op], Rule] = {}
cuts = registers(RULES)  # what splits ops of a class


@pass_("scalarize")
def scalarize(root: ops.Kernel, config: CompileConfig) -> bool:
    """Replace every whole value by its scalars."""
    scalarizer = Scalarizer()
    scalarizer.block(root.body)
    for op in reversed(scalarizer.dead):
        op.erase()
    return scalarizer.changed


class Scalarizer:
    """One run over a kernel.

    `parts` holds the scalars of each whole value, and the addresses of the scalars of each local that was split.
    `expanded` holds the addresses of the scalars of each whole value that stays in memory.
    """

    def __init__(self) -> None:
        self.parts: dict[Value, list[Value]] = {}
        self.expanded: dict[Value, list[Value]] = {}
        self.kept: dict[tuple[Value, int], Value] = {}  # tensors in memory: (the local that held them, scalar number)
        self.origin: dict[Value, tuple[Value, int]] = {}  # of an address inside a local: the local, the scalar number
        self.constants: dict[tuple[Block, int], Value] = {}
        self.dead: list[Op] = []
        self.changed = False

    def block(self, block: Block) -> None:
        """Split the ops in `block` and in its nested blocks."""
        for op in block:
            rule = RULES.get(type(op))
            if rule is not None:
                rule(self, op)
            for inner in op.regions:
                self.block(inner)

    def become(self, op: Op, parts: list[Value]) -> None:
        """Replace `op` by the scalars `parts`, or by the only one of them if `op` is a scalar."""
        if isinstance(op.type, (Tensor, Struct)):
            self.parts[op] = parts
            if op.name:
                _name(parts, op.name)
        elif parts:
            op.replace_uses(parts[0])
        self.dead.append(op)
        self.changed = True

    def addresses(self, ptr: Value) -> list[Value]:
        """The addresses of all scalars at `ptr`."""
        if ptr in self.parts:
            return self.parts[ptr]
        if ptr not in self.expanded:
            assert isinstance(ptr, Op)
            assert ptr.block is not None
            build = Builder(ptr.block, ptr.next, ptr.span)
            self.expanded[ptr] = self._expand(build, ptr, pointee(ptr))
        return self.expanded[ptr]

    def _expand(self, build: Builder, ptr: Value, type: Type) -> list[Value]:
        if isinstance(type, Tensor):
            rows: list[tuple[int, ...]] = [()]
            for extent in type.shape:
                rows = [(*row, k) for row in rows for k in range(extent)]
            return [build.add(ops.ElementPtr(ptr, [self._constant(build.block, k) for k in row])) for row in rows]
        if isinstance(type, Struct):
            members = [build.add(ops.MemberPtr(ptr, index)) for index in range(len(type.members))]
            return [p for m, (_, t) in zip(members, type.members, strict=True) for p in self._expand(build, m, t)]
        return [ptr]

    def _constant(self, block: Block, value: int) -> Value:
        """The i32 constant at the start of `block`."""
        key = (block, value)
        if key not in self.constants:
            self.constants[key] = Builder(block, block.first).add(ops.Const(value, type=i32))
        return self.constants[key]


def _name(parts: list[Value], name: str) -> None:
    for number, part in enumerate(parts):
        if not part.name and not isinstance(part, ops.Const):
            part.name = f"{name}_{number}"


def _whole(type: Type) -> bool:
    return isinstance(type, (Tensor, Struct))


# ---- values ----------------------------------------------------------------------------------------------------------


@cuts(ops.Arg)
def _arg(state: Scalarizer, op: ops.Arg) -> None:
    if not isinstance(op.type, Array):
        build = Builder.at(op)
        scalars = enumerate(flatten(op.type))
        parts: list[Value] = [build.add(ops.ScalarArg(op.index, part, type=prim)) for part, prim in scalars]
        if isinstance(op.type, Prim):
            parts[0].name = op.name
        state.become(op, parts)


@cuts(ops.Unary)
@cuts(ops.Binary)
@cuts(ops.Select)
@cuts(ops.Cast)
@cuts(ops.BitCast)
def _elementwise(state: Scalarizer, op: Op) -> None:
    if not _whole(op.type):
        return
    build, prims = Builder.at(op), flatten(op.type)
    columns = [state.parts.get(value) or [value] * len(prims) for value in op.operands]
    parts: list[Value] = []
    for prim, *row in zip(prims, *columns, strict=True):
        part = op.clone(dict(zip(op.operands, row)))
        part.type, part.name = prim, ""
        parts.append(build.add(part))
    state.become(op, parts)


@cuts(ops.Random)
def _random(state: Scalarizer, op: ops.Random) -> None:
    if _whole(op.type):
        build = Builder.at(op)
        state.become(op, [build.add(ops.Random(op.stream, type=prim)) for prim in flatten(op.type)])


@cuts(ops.MakeTensor)
@cuts(ops.MakeStruct)
def _make(state: Scalarizer, op: ops.MakeTensor | ops.MakeStruct) -> None:
    state.become(op, [part for value in op.values for part in state.parts.get(value, [value])])


@cuts(ops.Splat)
def _splat(state: Scalarizer, op: ops.Splat) -> None:
    state.become(op, [op.x] * flat_size(op.type))


@cuts(ops.Invoke)
def _invoke(state: Scalarizer, op: ops.Invoke) -> None:
    if op.results or (op.type is VOID and not any(_whole(value.type) for value in op.values)):
        return
    values = [part for value in op.values for part in state.parts.get(value, [value])]
    prims = () if op.type is VOID else tuple(flatten(op.type))
    build = Builder.at(op)
    type = prims[0] if prims else VOID
    given = values, op.touched, op.only_read, prims, op.stream, op.effects
    call = build.add(ops.Invoke(op.function, *given, only_written=op.only_written, type=type))
    state.become(op, [build.add(ops.Returned(call, part, type=prim)) for part, prim in enumerate(prims)])


@cuts(ops.Extract)
def _extract(state: Scalarizer, op: ops.Extract) -> None:
    state.become(op, [state.parts[op.x][op.index]])


@cuts(ops.Member)
def _member(state: Scalarizer, op: ops.Member) -> None:
    start, count = _member_range(op.x.type, op.index)
    state.become(op, state.parts[op.x][start : start + count])


def _member_range(type: Type, index: int) -> tuple[int, int]:
    """The number of the first scalar of a struct's member, and its number of scalars."""
    assert isinstance(type, Struct)
    return sum(flat_size(member) for _, member in type.members[:index]), flat_size(type.members[index][1])


@cuts(ops.Transpose)
def _transpose(state: Scalarizer, op: ops.Transpose) -> None:
    rows, columns = shape_of(op.x.type)
    parts = state.parts[op.x]
    state.become(op, [parts[i * columns + j] for j in range(columns) for i in range(rows)])


@cuts(ops.MatMul)
def _matmul(state: Scalarizer, op: ops.MatMul) -> None:
    (rows, inner), columns = shape_of(op.lhs.type), (*shape_of(op.rhs.type), 1)[1]
    lhs, rhs, prim, build = state.parts[op.lhs], state.parts[op.rhs], element(op.type), Builder.at(op)

    def dot(i: int, j: int) -> Value:
        pairs = [(lhs[i * inner + k], rhs[k * columns + j]) for k in range(inner)]
        products = [build.add(ops.Binary("mul", a, b, type=prim)) for a, b in pairs]
        return _fold(build, "add", list(products), prim)

    state.become(op, [dot(i, j) for i in range(rows) for j in range(columns)])


@cuts(ops.Reduce)
def _reduce(state: Scalarizer, op: ops.Reduce) -> None:
    state.become(op, [_fold(Builder.at(op), op.kind, state.parts[op.x], element(op.type))])


def _fold(build: Builder, kind: str, values: list[Value], prim: Prim) -> Value:
    result = values[0]
    for value in values[1:]:
        result = build.add(ops.Binary(kind, result, value, type=prim))
    return result


# ---- memory ----------------------------------------------------------------------------------------------------------


@cuts(ops.Alloca)
def _alloca(state: Scalarizer, op: ops.Alloca) -> None:
    """Each scalar becomes a local of its own, except the scalars of tensors that are indexed at run time."""
    kind = pointee(op)
    if not _whole(kind):
        return
    dynamic: set[int] = set()
    _find_dynamic(op, kind, 0, dynamic)
    if isinstance(kind, Tensor) and dynamic:
        return
    build = Builder.at(op)
    parts: list[Value] = []
    _allocate(state, op, build, kind, dynamic, parts)
    state.parts[op] = parts
    state.dead.append(op)
    state.changed = True


def _allocate(
    state: Scalarizer, op: ops.Alloca, build: Builder, type: Type, dynamic: set[int], parts: list[Value]
) -> None:
    if isinstance(type, Struct):
        for _, member in type.members:
            _allocate(state, op, build, member, dynamic, parts)
        return
    start = len(parts)
    if start in dynamic:
        kept = state.kept[op, start] = build.add(ops.Alloca(type=pointer(type), name=f"{op.name}_{start}"))
        parts += state.addresses(kept)
        return
    for prim in flatten(type):
        name = f"{op.name}_{len(parts)}" if op.name else ""
        parts.append(build.add(ops.Alloca(type=pointer(prim), name=name)))


def _find_dynamic(ptr: Value, type: Type, start: int, found: set[int]) -> None:
    """The numbers of the first scalars of those tensors in the local at `ptr` that are indexed at run time."""
    for user in ptr.users:
        if isinstance(user, ops.MemberPtr):
            assert isinstance(type, Struct)
            before, _ = _member_range(type, user.index)
            _find_dynamic(user, type.members[user.index][1], start + before, found)
        elif isinstance(user, ops.ElementPtr) and _flat_index(user, type) is None:
            found.add(start)


def _flat_index(op: ops.ElementPtr, type: Type) -> int | None:
    """The row-major number of the element if it is constant and in range."""
    flat = 0
    for index, extent in zip(op.indices, shape_of(type), strict=True):
        if not isinstance(index, ops.Const) or not 0 <= index.value < extent:
            return None
        flat = flat * extent + int(index.value)
    return flat


@cuts(ops.MemberPtr)
def _member_ptr(state: Scalarizer, op: ops.MemberPtr) -> None:
    if op.base not in state.parts:
        return
    start, count = _member_range(pointee(op.base), op.index)
    _narrow(state, op, op.base, start, count)


def _narrow(state: Scalarizer, op: Op, base: Value, start: int, count: int) -> None:
    """`op` is the address of scalars of the local `base`, which was split. The first one has the number `start`."""
    assert isinstance(op.type, Pointer)
    root, before = state.origin.get(base, (base, 0))
    kept = state.kept.get((root, before + start))
    if kept is not None and kept.type is op.type:
        op.replace_uses(kept)
    elif isinstance(op.type.elem, Prim):
        op.replace_uses(state.parts[base][start])
    else:
        state.parts[op] = state.parts[base][start : start + count]
        state.origin[op] = (root, before + start)
    state.dead.append(op)
    state.changed = True


@cuts(ops.ElementPtr)
def _element_ptr(state: Scalarizer, op: ops.ElementPtr) -> None:
    if op.base in state.parts:
        index = _flat_index(op, pointee(op.base))
        assert index is not None
        _narrow(state, op, op.base, index, 1)


@cuts(ops.Load)
def _load(state: Scalarizer, op: ops.Load) -> None:
    if _whole(op.type):
        build = Builder.at(op)
        state.become(op, [build.add(ops.Load(ptr, op.invariant)) for ptr in state.addresses(op.ptr)])


@cuts(ops.Store)
def _store(state: Scalarizer, op: ops.Store) -> None:
    if _whole(op.value.type):
        build = Builder.at(op)
        for ptr, value in zip(state.addresses(op.ptr), state.parts[op.value], strict=True):
            build.add(ops.Store(ptr, value))
        state.become(op, [])


@cuts(ops.Atomic)
def _atomic(state: Scalarizer, op: ops.Atomic) -> None:
    if _whole(op.type):
        build = Builder.at(op)
        pairs = zip(state.addresses(op.ptr), state.parts[op.value], strict=True)
        state.become(op, [build.add(ops.Atomic(op.kind, ptr, value)) for ptr, value in pairs])


# ---- what leaves the kernel ------------------------------------------------------------------------------------------


@cuts(ops.Print)
@cuts(ops.Assert)
@cuts(ops.Warn)
def _report(state: Scalarizer, op: ops.Print | ops.Assert | ops.Warn) -> None:
    values = op.values
    if op.types or not values:
        return
    op.types = tuple(value.type for value in values)
    scalars = [part for value in values for part in state.parts.get(value, [value])]
    op.set_operands([*op.operands[: -len(values)], *scalars], (len(scalars),))
    state.changed = True


@cuts(ops.Return)
def _return(state: Scalarizer, op: ops.Return) -> None:
    if any(_whole(value.type) for value in op.values):
        store_results(op, [part for value in op.values for part in state.parts.get(value, [value])])
        state.become(op, [])
