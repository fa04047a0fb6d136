"""Emits vectors: ops on values of several SIMD lanes, each in a few lines of LLVM IR.

    %v = masked_load %p, %m : <16 x f32>     call <16 x float> @llvm.masked.load(ptr %p, <16 x i1> %m, zeroinitializer)
    %w = binary mul %v, %2 : <16 x f32>      fmul <16 x float> %v, splat (float 2.0)

`VECTORS` holds the emitters of all ops in code with vectors. Elementwise ops are emitted as usual, in the width of
their type. `vector_memory.py` emits accesses to memory, `lane_loops.py` loops over the lanes.
"""

from __future__ import annotations

from collections.abc import Sequence

from weft.codegen.cpu.inverse_roots import over_estimated_root
from weft.codegen.cpu.vector_writer import (
    VectorWriter,
    as_number,
    bits_of,
    in_width,
    on_vectors,
    spread,
    vector_of,
)
from weft.codegen.llvm.function import EMITTERS, spell
from weft.codegen.llvm.spelling import constant
from weft.ir.core import BlockArg, Op, Value
from weft.ir.ops import (
    AnyActive,
    Binary,
    BitCast,
    Cast,
    Const,
    FirstActive,
    FirstLanes,
    For,
    Ramp,
    Reduce,
    Select,
    Shuffle,
    Splat,
    Task,
    Unary,
)
from weft.ir.scalar import cast_value, identity
from weft.ir.tasks import left_of
from weft.ir.types import Pointer, Prim, element, i32, i64, lane_count, lanes, u1

__all__: list[str] = []  # it registers rows

# ---- values ----------------------------------------------------------------------------------------------------------


@on_vectors(Select, Cast, BitCast)
def _elementwise(f: VectorWriter, op: Op) -> str | None:
    """An elementwise op, in the width of its type."""
    with in_width(f, lane_count(op.type)):
        return EMITTERS[type(op)](f, op)


@on_vectors(Unary, Binary)
def _arithmetic(f: VectorWriter, op: Unary | Binary) -> str | None:
    with in_width(f, lane_count(op.type)):
        made = over_estimated_root(f, op) or _fused(f, op)
    return made or _elementwise(f, op)


def _fused(f: VectorWriter, op: Unary | Binary) -> str:
    """A sum of a vector and a product of parts of vectors, by one instruction. Empty: the op is no such sum. (LLVM
    would take the parts of the product of the whole vectors instead.)"""
    product = op.operands[0]
    if op.kind != "add" or not f.module.fast or not isinstance(product, Binary) or product.kind != "mul":
        return ""
    if len(product.users) > 1 or not all(isinstance(one, Shuffle) for one in product.operands):
        return ""
    prim, vector = element(op.type), f.spell(element(op.type))
    if not prim.is_float:
        return ""
    name = f.module.declare(f"{vector} @llvm.fmuladd.{f.suffix(prim)}({vector}, {vector}, {vector})")
    parts = ", ".join(f"{vector} {f.use(one)}" for one in (*product.operands, op.operands[1]))
    return f.set(f"call {f.module.fast}{vector} @{name}({parts})")


@on_vectors(Splat)
def _splat(f: VectorWriter, op: Splat) -> str:
    type = vector_of(op)
    if isinstance(op.x, Const) and isinstance(type.elem, Prim):
        return f"splat ({spell(type.elem)} {constant(op.x.value, type.elem)})"
    return spread(f, f.use(op.x), type)


@on_vectors(Ramp)
def _ramp(f: VectorWriter, op: Ramp) -> str:
    """Integers wrap around."""
    type, start = vector_of(op), int(op.x.value) if isinstance(op.x, Const) else 0
    numbers = [start + (op.first + lane) * op.step for lane in range(type.count)]
    if isinstance(type.elem, Pointer):
        return f.set(f"getelementptr i8, ptr {f.use(op.x)}, <{type.count} x i64> {_constants(numbers, i64)}")
    constants = _constants([int(cast_value(number, type.elem)) for number in numbers], type.elem)
    if isinstance(op.x, Const):
        return constants
    return f.set(f"add {spell(type)} {spread(f, f.use(op.x), type)}, {constants}")


def _constants(numbers: Sequence[int | float | bool], type: Prim) -> str:
    """A constant vector."""
    return f"<{', '.join(f'{spell(type)} {constant(number, type)}' for number in numbers)}>"


@on_vectors(Shuffle)
def _shuffle(f: VectorWriter, op: Shuffle) -> str:
    """Masks are shuffled as words, because LLVM has no efficient shuffle of single bits."""
    type, order = vector_of(op.a), op.order
    given = [f.use(op.a)] if op.a is op.b else [f.use(op.a), f.use(op.b)]
    if len(given) == 1:
        order = tuple(k % type.count if k >= 0 else k for k in order)
    if type.elem is not u1:
        return _picked(f, spell(type), given, type.count, order)
    words = f"<{type.count} x i32>"
    mixed = _picked(f, words, [f.set(f"sext {spell(type)} {x} to {words}") for x in given], type.count, order)
    return f.set(f"icmp ne <{len(op.order)} x i32> {mixed}, zeroinitializer")


def _picked(f: VectorWriter, vector: str, given: Sequence[str], count: int, order: Sequence[int]) -> str:
    """Those elements of one or two vectors of `count` elements. -1 stands for 0."""
    made, second = f"<{len(order)} x i32>", given[1] if len(given) > 1 else "poison"
    if -1 in order and len(given) == 1:
        second, order = "zeroinitializer", [count if k < 0 else k for k in order]
    numbers = ", ".join("i32 poison" if k < 0 else f"i32 {k}" for k in order)
    mixed = f.set(f"shufflevector {vector} {given[0]}, {vector} {second}, {made} <{numbers}>")
    if -1 not in order:
        return mixed
    result = f"<{len(order)} x {vector.partition(' x ')[2][:-1]}>"
    wanted = _constants([k >= 0 for k in order], u1)
    return f.set(f"select <{len(order)} x i1> {wanted}, {result} {mixed}, {result} zeroinitializer")


@on_vectors(Reduce)
def _reduce(f: VectorWriter, op: Reduce) -> str:
    kind, vector = op.kind, vector_of(op.x)
    type, name = element(vector), spell(vector)
    scalar = spell(type)
    with in_width(f, vector.count):
        suffix = f.suffix(type)
    if type.is_float and kind in ("add", "mul"):
        intrinsic = f.module.declare(f"{scalar} @llvm.vector.reduce.f{kind}.{suffix}({scalar}, {name})")
        start = constant(identity(kind, type), type)
        return f.set(f"call {f.module.fast}{scalar} @{intrinsic}({scalar} {start}, {name} {f.use(op.x)})")
    row = kind if kind not in ("min", "max") else ("f" if type.is_float else "s" if type.is_signed else "u") + kind
    intrinsic = f.module.declare(f"{scalar} @llvm.vector.reduce.{row}.{suffix}({name})")
    return f.set(f"call {scalar} @{intrinsic}({name} {f.use(op.x)})")


# ---- masks -----------------------------------------------------------------------------------------------------------


@on_vectors(FirstLanes)
def _first_lanes(f: VectorWriter, op: FirstLanes) -> str:
    """By a comparison of 32-bit numbers, for which the count is brought into their range. The iterations that are left
    are never fewer than one."""
    count = vector_of(op).count
    numbers = range(op.first, op.first + count)
    if isinstance(op.count, Const):
        return _constants([number < op.count.value for number in numbers], u1)
    some, words = f.use(op.count), lanes(i32, count)
    loop = _counted(op.count)
    if loop is None:
        larger = f.module.declare("i64 @llvm.smax.i64(i64, i64)")
        some = f.set(f"call i64 @{larger}(i64 {some}, i64 0)")
    most = op.first + count if loop is None else loop.schedule.lanes * loop.schedule.vectors
    smaller = f.module.declare("i64 @llvm.umin.i64(i64, i64)")
    some = f.set(f"call i64 @{smaller}(i64 {some}, i64 {most})")
    wanted = spread(f, f.set(f"trunc i64 {some} to i32"), words)
    return f.set(f"icmp ult {spell(words)} {_constants(numbers, i32)}, {wanted}")


def _counted(value: Value) -> Task | For | None:
    """The loop of which the value is the number of iterations that are left, if it is that."""
    loop = value.block.owner if isinstance(value, BlockArg) and value.block is not None else None
    return loop if isinstance(loop, Task | For) and left_of(loop) is value else None


@on_vectors(AnyActive)
def _any_active(f: VectorWriter, op: AnyActive) -> str:
    bits, type = bits_of(f, op.mask)
    return f.set(f"icmp ne {type} {bits}, 0")


@on_vectors(FirstActive)
def _first_active(f: VectorWriter, op: FirstActive) -> str:
    bits, type = bits_of(f, op.mask)
    lowest = f.module.declare(f"{type} @llvm.cttz.{type}({type}, i1)")
    number = f.set(f"call {type} @{lowest}({type} {bits}, i1 false)")  # the number of lanes if there is none
    return as_number(f, f.set(f"and {type} {number}, {vector_of(op.mask).count - 1}"), type)
