"""Emits accesses to memory by several SIMD lanes, and their addresses.

An address may be that of an inactive lane and lie outside of its object, so it is computed without `inbounds`.
"""

from __future__ import annotations

from weft.codegen.cpu.vector_math import CpuMath
from weft.codegen.cpu.vector_writer import (
    ALIGNED,
    VectorWriter,
    as_bytes,
    held_as,
    in_width,
    on_vectors,
    spread,
    vector_of,
)
from weft.codegen.llvm.function import EMITTERS, spell
from weft.codegen.llvm.late_loads import held
from weft.codegen.llvm.memory_ops import access_tag
from weft.codegen.llvm.spelling import in_memory
from weft.ir.addresses import root_of
from weft.ir.core import Value
from weft.ir.ops import Address, Alloca, Const, Gather, Load, MaskedLoad, MaskedStore, Scatter, Store, TreeBase
from weft.ir.types import Lanes, Pointer, Prim, Tensor, element, i64, lane_count, lanes, u1

__all__: list[str] = []  # it registers rows


def _suffix(type: Lanes) -> str:
    """How the name of an intrinsic spells a vector in memory."""
    elem = element(type)
    return f"v{type.count}" + (f"f{elem.bits}" if elem.is_float else f"i{8 * elem.size}")


@on_vectors(Alloca)
def _alloca(f: VectorWriter, op: Alloca) -> str | None:
    """A mask that is only stored and loaded whole is kept in bits. A local array in which each row is a vector is
    aligned for that."""
    assert isinstance(op.type, Pointer)
    held = op.type.elem
    if isinstance(held, Lanes):
        return f.stack(spell(held) if _is_whole(op) else held_as(held), align=ALIGNED)
    if isinstance(held, Tensor) and len(held.shape) == 2:
        row = held.shape[1] * held.elem.size
        return f.stack(f"[{held.count} x {in_memory(held.elem)}]", align=min(ALIGNED, max(16, row & -row)))
    return EMITTERS[Alloca](f, op)


def _is_whole(place: Value) -> bool:
    """Whether the vectors at that address are kept as they are in registers, a mask in bits."""
    return isinstance(place, Alloca) and all(isinstance(user, (Load, Store)) for user in place.users)


@on_vectors(Address)
def _address(f: VectorWriter, op: Address) -> str:
    """First what the lanes share, then the offsets of each lane."""
    if not f.in_lanes:
        return EMITTERS[Address](f, op) or ""
    count, offset = lane_count(op.type), op.offset
    terms: dict[bool, list[str]] = {False: [], True: []}
    for index, stride in zip(op.indices, op.strides, strict=True):
        if isinstance(index, Const) and isinstance(stride, Const):
            offset += int(index.value) * int(stride.value)
        else:
            wide = bool(lane_count(index.type) or lane_count(stride.type))
            terms[wide].append(_term(f, index, stride, count if wide else 0))
    home = f.memory.moved.get(op.scope.whole) if isinstance(op.base, TreeBase) else None
    pointer, type = home or f.use(op.base), spell(op.base.type)
    for term in terms[False]:
        pointer = f.set(f"getelementptr i8, {type} {pointer}, i64 {term}")
    for term in terms[True]:
        pointer, type = f.set(f"getelementptr i8, {type} {pointer}, <{count} x i64> {term}"), spell(op.type)
    if offset:
        pointer = f.set(f"getelementptr i8, {type} {pointer}, i64 {offset}")
    return pointer


def _term(f: VectorWriter, index: Value, stride: Value, count: int) -> str:
    """index * stride, in each lane or once."""
    if isinstance(stride, Const) and stride.value == 1:
        return f.use(index)
    with in_width(f, count):
        factors = [_widened(f, factor, count) for factor in (index, stride)]
        return f.set(f"mul {f.spell(i64)} {factors[0]}, {factors[1]}")


def _widened(f: VectorWriter, value: Value, count: int) -> str:
    """The text of an i64 in all of `count` lanes, or of a scalar."""
    if isinstance(value, Const):
        return f.literal(value.value, i64)
    if not count or isinstance(value.type, Lanes):
        return f.use(value)
    return spread(f, f.use(value), lanes(i64, count))


@on_vectors(Load)
def _load(f: VectorWriter, op: Load) -> str | None:
    """Inactive lanes may never have written to their elements of a local array."""
    type = op.type
    if not isinstance(type, Lanes):
        return EMITTERS[Load](f, op)
    whole = _is_whole(op.ptr)
    vector, size = spell(type) if whole else held_as(type), element(type).size
    loaded = f.set(f"load {vector}, ptr {f.use(op.ptr)}, align {size}{access_tag(f, op.ptr, group=False)}")
    root = root_of(op.ptr)
    if isinstance(root, Alloca) and root is not op.ptr:
        loaded = f.set(f"freeze {vector} {loaded}")
    return loaded if whole else _as_truth(f, type, loaded)


@on_vectors(Store)
def _store(f: VectorWriter, op: Store) -> None:
    type = op.value.type
    if not isinstance(type, Lanes):
        EMITTERS[Store](f, op)
        return
    whole = _is_whole(op.ptr)
    value = f.use(op.value) if whole else as_bytes(f, op.value)
    vector, size = spell(type) if whole else held_as(type), element(type).size
    f.do(f"store {vector} {value}, ptr {f.use(op.ptr)}, align {size}{access_tag(f, op.ptr, group=False)}")


def _as_truth(f: VectorWriter, type: Lanes, loaded: str) -> str:
    """A vector from memory, where a truth value takes a byte."""
    return f.set(f"icmp ne {held_as(type)} {loaded}, zeroinitializer") if type.elem is u1 else loaded


def _places(f: VectorWriter, op: MaskedLoad | MaskedStore | Gather | Scatter, elem: Prim) -> tuple[str, str, str]:
    """The address or addresses of an access with their type, the end of the name of its intrinsic, and the mask with
    its type."""
    mask = f"{spell(op.mask.type)} {f.use(op.mask)}"
    kind = f"v{lane_count(op.ptr.type)}p0" if isinstance(op.ptr.type, Lanes) else "p0"
    return f"{spell(op.ptr.type)} align {elem.size} {f.use(op.ptr)}", kind, mask


@on_vectors(MaskedLoad)
def _masked_load(f: VectorWriter, op: MaskedLoad) -> str:
    return _masked(f, op, "load")


@on_vectors(Gather)
def _gather(f: VectorWriter, op: Gather) -> str:
    return _masked(f, op, "gather")


def _masked(f: VectorWriter, op: MaskedLoad | Gather, name: str) -> str:
    type, takes = vector_of(op), f"{spell(op.ptr.type)}, {spell(op.mask.type)}"
    places, kind, mask = _places(f, op, element(type))
    vector = held_as(type)
    intrinsic = f.module.declare(f"{vector} @llvm.masked.{name}.{_suffix(type)}.{kind}({takes}, {vector})")
    tag = access_tag(f, op.ptr, group=False)
    loaded = f.set(f"call {vector} @{intrinsic}({places}, {mask}, {vector} zeroinitializer){tag}")
    return _as_truth(f, type, held(f, op, vector, loaded) if isinstance(op, MaskedLoad) else loaded)


@on_vectors(MaskedStore)
def _masked_store(f: VectorWriter, op: MaskedStore) -> None:
    _put(f, op, "store")


@on_vectors(Scatter)
def _scatter(f: VectorWriter, op: Scatter) -> None:
    _put(f, op, "scatter")


def _put(f: VectorWriter, op: MaskedStore | Scatter, name: str) -> None:
    type, takes = vector_of(op.value), f"{spell(op.ptr.type)}, {spell(op.mask.type)}"
    places, kind, mask = _places(f, op, element(type))
    vector, suffix, value = held_as(type), _suffix(type), as_bytes(f, op.value)
    if isinstance(op, MaskedStore) and isinstance(f.target.math, CpuMath) and "avx512f" in f.target.math.features:
        vector, suffix, value = _without_truncation(f, type, value)
    intrinsic = f.module.declare(f"void @llvm.masked.{name}.{suffix}.{kind}({vector}, {takes})")
    tag = access_tag(f, op.ptr, group=False)
    f.do(f"call void @{intrinsic}({vector} {value}, {places}, {mask}){tag}")


def _without_truncation(f: VectorWriter, type: Lanes, value: str) -> tuple[str, str, str]:
    """The type of a vector to store, how an intrinsic spells it, and the vector, such that LLVM merges no truncation
    into the store. With AVX-512, LLVM merges them. If the mask turns out to be a constant with one lane, LLVM 22 then
    stores the element as it was before the truncation, over its neighbours in memory. Integers of 16 and 32 bits are
    stored as floats. Those of 8 bits pass through an empty instruction, in a register of at least 16 bytes."""
    vector, suffix = held_as(type), _suffix(type)
    elem, count = element(type), type.count
    if elem.is_float or elem.size == 8:
        return vector, suffix, value
    if elem.size > 1:
        bits, name = 8 * elem.size, "float" if elem.size == 4 else "half"
        real = f"<{count} x {name}>"
        return real, f"v{count}f{bits}", f.set(f"bitcast {vector} {value} to {real}")
    whole = f"<{max(16, count)} x i8>"
    if count < 16:
        order = ", ".join(f"i32 {k if k < count else 'poison'}" for k in range(16))
        value = f.set(f"shufflevector {vector} {value}, {vector} poison, <16 x i32> <{order}>")
    value = f.set(f'call {whole} asm "", "=v,0"({whole} {value})')
    if count < 16:
        order = ", ".join(f"i32 {k}" for k in range(count))
        value = f.set(f"shufflevector {whole} {value}, {whole} poison, <{count} x i32> <{order}>")
    return vector, suffix, value
