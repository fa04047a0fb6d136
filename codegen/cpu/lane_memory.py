"""Memory in lanes: vector loads and stores for adjacent lanes, gathers and scatters for others."""

from __future__ import annotations

from collections.abc import Callable, Hashable

from weft.codegen.cpu.lane_atomics import Together
from weft.codegen.cpu.lane_gathers import gather_part, pointers_of
from weft.codegen.cpu.lane_rows import load_adjacent, load_row, short, store_adjacent, store_row
from weft.codegen.cpu.lane_strides import find_row
from weft.codegen.cpu.lanes import LaneWriter, Row, Waiting, by_lane
from weft.codegen.llvm.function import EMITTERS
from weft.codegen.llvm.memory_ops import access_tag, store
from weft.codegen.llvm.scalar_ops import binary
from weft.codegen.llvm.spelling import in_memory
from weft.ir.addresses import root_of
from weft.ir.core import Op, Value
from weft.ir.errors import InternalError
from weft.ir.mapping.cell_parts import constant_terms
from weft.ir.mapping.rows import in_cell
from weft.ir.ops import Address, Alloca, Atomic, Cast, Const, Load, Random, Store
from weft.ir.scalar import identity
from weft.ir.types import Pointer, Prim, Tensor, i32, i64, u1

__all__ = ["combined"]


@by_lane(Alloca)
def _alloca(f: LaneWriter, op: Alloca) -> str:
    """A split local holds a vector for each scalar. A scalar starts at zero, because inactive lanes read it too. A
    value that lanes have in common in a loop is also kept as a scalar."""
    if op not in f.facts.split:
        text: str = EMITTERS[Alloca](f, op) or ""
        return text
    assert isinstance(op.type, Pointer)
    held = op.type.elem
    f.homes[op] = f.here
    if isinstance(held, Tensor):
        return f.stack(f"[{held.count} x {_vector(f, held.elem)}]", align=64)
    assert isinstance(held, Prim)
    if op in f.facts.common and not f.which:
        f.common[op] = f.stack(in_memory(held))
        store(f, f.common[op], held, f.literal(0, held))
    slot = f.stack(_vector(f, held), align=64)
    f.do(f"store {_vector(f, held)} zeroinitializer, ptr {slot}, align 64")
    return slot


def _vector(f: LaneWriter, type: Prim) -> str:
    return f"<{f.lanes} x {in_memory(type)}>"


# ---- addresses -------------------------------------------------------------------------------------------------------


@by_lane(Address)
def _address(f: LaneWriter, op: Address) -> str:
    """The address of lane 0 if the lanes are evenly spaced, else a vector of addresses. If it differs only by a
    constant from an address that was computed in this block, it is not computed again."""
    if f.facts.is_split(op):
        return _split_address(f, op)
    find_row(f, op)
    offset = op.offset + constant_terms(op)
    even: list[tuple[Value, Value]] = []
    uneven: list[tuple[Value, Value]] = []
    for index, stride in zip(op.indices, op.strides, strict=True):
        if isinstance(index, Const) and isinstance(stride, Const):
            continue
        if f.facts.step(op) is not None or (f.facts.step(index) == 0 and f.facts.step(stride) == 0):
            even.append((index, stride))
        else:
            uneven.append((index, stride))
    key = (f.which, op.base, *op.indices, *op.strides)
    if uneven and key in f.spread:
        pointer, wide = f.spread[key], True
    else:
        pointer, wide = _even_address(f, op, even)
        for index, stride in uneven:
            offsets = _offsets(f, index, stride, op.scope.whole in f.layouts.near)
            name = f"<{f.lanes} x ptr>" if wide else "ptr"
            pointer, wide = f.set(f"getelementptr i8, {name} {pointer}, <{f.lanes} x i64> {offsets}"), True
        if uneven:
            f.spread[key] = pointer
    if offset:
        pointer = _moved(f, pointer, str(offset), wide)
    return pointer


def _even_address(f: LaneWriter, op: Address, terms: list[tuple[Value, Value]]) -> tuple[str, bool]:
    """The base and those terms, which the lanes share or of which lane 0's counts, and whether it is a vector."""
    wide = f.facts.step(op) is None and f.facts.varies(op.base)
    pointer = pointers_of(f, op.base) if wide else f.use(op.base)
    for index, stride in terms:
        term = f.first(index)
        if not (isinstance(stride, Const) and stride.value == 1):
            term = f.set(f"mul i64 {term}, {f.use(stride)}")
        pointer = _moved(f, pointer, term, wide)
    return pointer, wide


def _moved(f: LaneWriter, pointer: str, term: str, wide: bool) -> str:
    return f.set(f"getelementptr i8, {f'<{f.lanes} x ptr>' if wide else 'ptr'} {pointer}, i64 {term}")


def _offsets(f: LaneWriter, index: Value, stride: Value, near: bool) -> str:
    """index * stride in every lane, in 32 bits if that is enough, because gathers are then twice as fast."""
    with f.wide():
        if near and isinstance(index, Cast) and index.x.type is i32 and isinstance(stride, Const):
            product = f.set(f"mul {f.spell(i32)} {f.use(index.x)}, {f.literal(stride.value, i32)}")
            return f.set(f"sext {f.spell(i32)} {product} to {f.spell(i64)}")
        return f.set(f"mul {f.spell(i64)} {f.use(index)}, {f.use(stride)}")


def _split_address(f: LaneWriter, op: Address) -> str:
    """The address in a split local array, where element k of lane n is at k * lanes + n."""
    base, together = f.values[op.base], f.facts.step(op) == 0
    with f.wide(1 if together else f.lanes):
        total = f.literal(op.offset, i64)
        for index, stride in zip(op.indices, op.strides, strict=True):
            term = f.set(f"mul {f.spell(i64)} {f.use(index)}, {f.use(stride)}")
            total = f.set(f"add {f.spell(i64)} {total}, {term}")
        total = f.set(f"mul {f.spell(i64)} {total}, {f.literal(f.lanes, i64)}")
        if together:
            return f.set(f"getelementptr i8, ptr {base}, i64 {total}")
        size = _pointee(op).size
        total = f.set(f"add {f.spell(i64)} {total}, {f.ramp(size, i64)}")
        return f.set(f"getelementptr i8, ptr {base}, {f.spell(i64)} {total}")


def _pointee(ptr: Value) -> Prim:
    assert isinstance(ptr.type, Pointer)
    if not isinstance(ptr.type.elem, Prim):
        raise InternalError(f"codegen: an access of a {ptr.type.elem} should have been split")
    return ptr.type.elem


# ---- loads and stores ------------------------------------------------------------------------------------------------


@by_lane(Load)
def _load(f: LaneWriter, op: Load) -> str:
    """Load in the way that the op's `move` says (see `ir/mapping/moves.py`)."""
    if op.move == "one":
        text: str = EMITTERS[Load](f, op) or ""
        return text
    type = _pointee(op.ptr)
    if op.move == "common":
        common = f.set(f"load {in_memory(type)}, ptr {f.common[op.ptr]}, align {type.size}")
        return f.set(f"icmp ne {in_memory(type)} {common}, 0") if type is u1 else common
    loaded = _LOADS[op.move](f, op, type, access_tag(f, op.ptr, group=False))
    return f.set(f"icmp ne {_vector(f, type)} {loaded}, zeroinitializer") if type is u1 else loaded


def _load_own(f: LaneWriter, op: Load, type: Prim, _: str) -> str:
    vector = _vector(f, type)
    loaded = f.set(f"load {vector}, ptr {f.use(op.ptr)}, align {type.size}")
    if op.ptr is root_of(op.ptr):
        return loaded
    return f.set(f"freeze {vector} {loaded}")  # inactive lanes may never have written here


def _load_adjacent(f: LaneWriter, op: Load, type: Prim, tag: str) -> str:
    return load_adjacent(f, f.use(op.ptr), type, tag)


def _load_row(f: LaneWriter, op: Load, type: Prim, _: str) -> str:
    return load_row(f, Row("", f.use(op.ptr), f.facts.step(op.ptr) or 0), op.ptr, type)


def _load_cell(f: LaneWriter, op: Load, type: Prim, _: str) -> str:
    assert isinstance(op.ptr, Address)
    return gather_part(f, op.ptr, f.layouts.cells[op.ptr.scope.whole].size, type)


def _load_maybe_row(f: LaneWriter, op: Load, type: Prim, tag: str) -> str:
    """Load as a row if the lanes are in one. This was tested when the address was computed (see `lane_strides`)."""
    row = f.rows[op.ptr, f.which]
    near, far, done = (f.fresh_label(hint) for hint in ("row", "gather", "done"))
    f.branch(row.even, near, far)
    f.start(near)
    quick = load_row(f, row, op.ptr, type)
    near = f.label
    f.jump(done)
    f.start(far)
    slow = _gather(f, op, type, tag)
    far = f.label
    f.start(done)
    return f.set(f"phi {_vector(f, type)} [ {quick}, %{near} ], [ {slow}, %{far} ]")


def _gather(f: LaneWriter, op: Load, type: Prim, tag: str) -> str:
    vector, place = _vector(f, type), f"<{f.lanes} x ptr>"
    suffix = f"v{f.lanes}{short(type)}.v{f.lanes}p0"
    name = f.module.declare(f"{vector} @llvm.masked.gather.{suffix}({place}, {f.mask_type}, {vector})")
    given = f"{place} align {type.size} {pointers_of(f, op.ptr)}, {f.mask_type} {f.mask}, {vector} zeroinitializer"
    return f.set(f"call {vector} @{name}({given}){tag}")


_LOADS: dict[str, Callable[[LaneWriter, Load, Prim, str], str]] = {
    "own": _load_own,
    "adjacent": _load_adjacent,
    "row": _load_row,
    "maybe_row": _load_maybe_row,
    "cell": _load_cell,
    "gather": _gather,
}


@by_lane(Store)
def _store(f: LaneWriter, op: Store) -> None:
    """Store in the way that the op's `move` says."""
    if op.move == "sum":
        _sum(f, op)
        return
    if op.move == "one":
        f.flush()
        EMITTERS[Store](f, op)
        return
    type = _pointee(op.ptr)
    if op.ptr in f.common and not f.which:
        store(f, f.common[op.ptr], type, f.use(op.value))
    with f.wide():
        value = f.use(op.value)
        if type is u1:
            value = f.set(f"zext {f.mask_type} {value} to {_vector(f, type)}")
    _STORES[op.move](f, op, type, value)


def _store_own(f: LaneWriter, op: Store, type: Prim, value: str) -> None:
    _blend(f, op.ptr, type, value)


def _store_adjacent(f: LaneWriter, op: Store, type: Prim, value: str) -> None:
    f.flush()
    store_adjacent(f, f.use(op.ptr), value, type, access_tag(f, op.ptr, group=False))


def _store_each(f: LaneWriter, op: Store, type: Prim, value: str) -> None:
    if f.facts.is_split(op.ptr):
        _scatter(f, op.ptr, type, value, "")
        return
    f.flush()
    _scatter(f, op.ptr, type, value, access_tag(f, op.ptr, group=False))


def _scatter(f: LaneWriter, ptr: Value, type: Prim, value: str, tag: str) -> None:
    vector, place = _vector(f, type), f"<{f.lanes} x ptr>"
    suffix = f"v{f.lanes}{short(type)}.v{f.lanes}p0"
    name = f.module.declare(f"void @llvm.masked.scatter.{suffix}({vector}, {place}, {f.mask_type})")
    given = f"{vector} {value}, {place} align {type.size} {pointers_of(f, ptr)}, {f.mask_type} {f.mask}"
    f.do(f"call void @{name}({given}){tag}")


def _join(f: LaneWriter, op: Store, type: Prim, value: str) -> None:
    """A part of cells. It is stored together with the other parts that are stored next."""
    step = f.facts.step(op.ptr) or 0
    inner, _ = in_cell(f.layouts, op.ptr, step, type)
    key, place = _cell_key(op.ptr, inner), inner // type.size
    waiting = f.waiting.get(f.which)
    if waiting is not None and (waiting.key != key or place in waiting.values):
        f.flush()
    if f.which not in f.waiting:
        first = _moved(f, f.use(op.ptr), str(-inner), False) if inner else f.use(op.ptr)
        f.waiting[f.which] = Waiting(key, first, op.ptr, step, store_row)
    f.waiting[f.which].values[place] = value


def _cell_key(ptr: Value, inner: int) -> Hashable:
    """A key that is equal for parts of the same cell."""
    if not isinstance(ptr, Address):
        return ptr
    terms = (
        x.value if isinstance(x, Const) else x for pair in zip(ptr.indices, ptr.strides, strict=True) for x in pair
    )
    return (ptr.base, *terms, ptr.offset - inner)


def _blend(f: LaneWriter, ptr: Value, type: Prim, value: str) -> None:
    """Store the value of the active lanes to a split local. The others need not keep theirs if the local was allocated
    for just these lanes, or if the others have left the loop and do not read it any more."""
    vector, place, local = _vector(f, type), f.use(ptr), root_of(ptr)
    if f.homes[local][f.which] != f.mask and not (f.leaving is not None and _ends_in(local, f.leaving)):
        old = f.set(f"load {vector}, ptr {place}, align {type.size}")
        value = f.set(f"select {f.mask_type} {f.mask}, {vector} {value}, {vector} {old}")
    f.do(f"store {vector} {value}, ptr {place}, align {type.size}")


def _ends_in(local: Value, loop: Op) -> bool:
    """Whether no op reads the local, which was allocated just outside of the loop, after the loop."""
    if not isinstance(local, Alloca) or local.block is not loop.block:
        return False
    return all(user.within(loop) for user in local.users if not isinstance(user, Store))


_STORES: dict[str, Callable[[LaneWriter, Store, Prim, str], None]] = {
    "own": _store_own,
    "adjacent": _store_adjacent,
    "row": _join,
    "scatter": _store_each,
}


# ---- atomics and sums ------------------------------------------------------------------------------------------------


def _total(f: LaneWriter, kind: str, value: Value, type: Prim) -> str:
    """The values of the active lanes, combined in any order, as for atomics."""
    kind = "add" if kind == "sub" else kind
    with f.wide():
        neutral = f.literal(identity(kind, type), type)
        mine = f.set(f"select {f.mask_type} {f.mask}, {f.spell(type)} {f.use(value)}, {f.spell(type)} {neutral}")
    return combined(f, kind, type, mine)


def combined(f: LaneWriter, kind: str, type: Prim, mine: str) -> str:
    """All elements of a vector, combined by `kind` in any order."""
    with f.wide():
        vector, suffix = f.spell(type), f.suffix(type)
    scalar = f.spell(type)
    if type.is_float and kind in ("add", "mul"):
        name = f.module.declare(f"{scalar} @llvm.vector.reduce.f{kind}.{suffix}({scalar}, {vector})")
        start = f.literal(identity(kind, type), type)
        return f.set(f"call {f.module.fast}{scalar} @{name}({scalar} {start}, {vector} {mine})")
    row = (
        f"f{kind}" if type.is_float else kind if kind not in ("min", "max") else ("s" if type.is_signed else "u") + kind
    )
    name = f.module.declare(f"{scalar} @llvm.vector.reduce.{row}.{suffix}({vector})")
    return f.set(f"call {scalar} @{name}({vector} {mine})")


def _sum(f: LaneWriter, op: Store) -> None:
    """An accumulator of the thread is a scalar, so the lanes combine first. In a loop whose iterations run in lanes, it
    may be a vector."""
    kind, value = f.facts.sums[op]
    type = _pointee(op.ptr)
    assert isinstance(value.type, Prim)
    if op.ptr in f.totals:
        _sum_up(f, kind, type, f.totals[op.ptr][f.which], value)
        return
    total, place = _total(f, kind, value, type), f.use(op.ptr)
    old = f.set(f"load {in_memory(type)}, ptr {place}, align {type.size}")
    new = binary(f, kind, type, old, total)
    f.do(f"store {in_memory(type)} {new}, ptr {place}, align {type.size}")


def _sum_up(f: LaneWriter, kind: str, type: Prim, slot: str, value: Value) -> None:
    vector = _vector(f, type)
    old = f.set(f"load {vector}, ptr {slot}, align 64")
    with f.wide():
        new = binary(f, kind, type, old, f.use(value))
    kept = f.set(f"select {f.mask_type} {f.mask}, {vector} {new}, {vector} {old}")
    f.do(f"store {vector} {kept}, ptr {slot}, align 64")


@by_lane(Atomic)
def _atomic(f: LaneWriter, op: Atomic) -> str | None:
    """One atomic for all lanes, one lane after another, or later, as the op says."""
    type = _pointee(op.ptr)
    if op.move == "combine":
        if any(atomics.minds(op) for atomics in f.together.values()):
            f.flush()
        total = _total(f, op.kind, op.value, type)
        f.write_with(op, {op.value: total})
        return None
    if op.move == "wait":
        f.together.setdefault(f.which, Together()).add(f, op)
        return None
    with f.wide():
        value = f.use(op.value)
    pointers, slot = pointers_of(f, op.ptr), ""
    if op.users:
        slot = f.stack(_vector(f, type), align=64)
        f.do(f"store {_vector(f, type)} zeroinitializer, ptr {slot}, align 64")
    _each_lane(f, op, value, pointers, slot)
    if not op.users:
        return None
    old = f.set(f"load {_vector(f, type)}, ptr {slot}, align 64")
    return f.set(f"icmp ne {_vector(f, type)} {old}, zeroinitializer") if type is u1 else old


def _each_lane(f: LaneWriter, op: Atomic, value: str, pointers: str, slot: str) -> None:
    """The scalar op for each active lane, in ascending order."""
    type = _pointee(op.ptr)
    with f.wide():
        vector = f.spell(type)
    with f.each() as number:
        pointer = f.set(f"extractelement <{f.lanes} x ptr> {pointers}, i64 {number}")
        mine = f.set(f"extractelement {vector} {value}, i64 {number}")
        old = f.write_with(op, {op.ptr: pointer, op.value: mine})
        if slot:
            word = f.set(f"getelementptr {in_memory(type)}, ptr {slot}, i64 {number}")
            store(f, word, type, old)


@by_lane(Random)
def _random(f: LaneWriter, op: Random) -> str:
    """Each lane draws for itself, because its numbers depend on its iteration and on how many it drew before."""
    type = op.type
    assert isinstance(type, Prim)
    slot = f.stack(_vector(f, type), align=64)
    f.do(f"store {_vector(f, type)} zeroinitializer, ptr {slot}, align 64")
    draws, lane = f.draws, f.lane
    with f.each() as number:
        place = f.set(f"add i64 {number}, {f.which * f.lanes}") if f.which else number
        f.draws = f.set(f"getelementptr i32, ptr {draws}, i64 {place}")
        f.lane = f.set(f"add i64 {lane}, {place}")
        drawn = EMITTERS[Random](f, op) or ""
        store(f, f.set(f"getelementptr {in_memory(type)}, ptr {slot}, i64 {number}"), type, drawn)
    f.draws, f.lane = draws, lane
    loaded = f.set(f"load {_vector(f, type)}, ptr {slot}, align 64")
    return f.set(f"icmp ne {_vector(f, type)} {loaded}, zeroinitializer") if type is u1 else loaded
