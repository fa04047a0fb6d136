"""Memory: addresses, loads, stores, atomics. Every access here is to a scalar at a byte address."""

from __future__ import annotations

from weft.codegen.llvm.function import FunctionWriter, emits
from weft.codegen.llvm.late_loads import held
from weft.codegen.llvm.scalar_ops import binary
from weft.codegen.llvm.spelling import constant, in_memory, in_register
from weft.ir.artifact import SERVICES
from weft.ir.core import Value, pointee
from weft.ir.errors import InternalError
from weft.ir.mapping.joined_trees import scope_in
from weft.ir.ops import (
    Address,
    Alloca,
    ArrayBase,
    ArrayExtent,
    ArrayStride,
    Atomic,
    Const,
    Load,
    ScalarArg,
    Store,
    StoreResult,
    TempPtr,
    TreeBase,
)
from weft.ir.types import Array, Prim, Tensor, flatten, i64, u1

__all__ = ["access_tag", "read_slot", "slot_address", "store"]


def slot_address(f: FunctionWriter, slot: int) -> str:
    """The address of a slot of the context."""
    return f.set(f"getelementptr inbounds i8, ptr %ctx, i64 {8 * slot}")


def read_slot(f: FunctionWriter, slot: int, type: str, known: str = "") -> str:
    """The value of a slot that the host wrote: constant during the launch. `known`: metadata about it."""
    return f.set(f"load {type}, ptr {slot_address(f, slot)}, align 8, !invariant.load !{{}}{known}")


def service(f: FunctionWriter, name: str, type: str = "ptr") -> str:
    """A word of the runtime's service table."""
    table = read_slot(f, 0, "ptr")
    word = f.set(f"getelementptr inbounds i8, ptr {table}, i64 {8 * SERVICES.index(name)}")
    return f.set(f"load {type}, ptr {word}, align 8, !invariant.load !{{}}")


def _param(f: FunctionWriter, index: int) -> int:
    return f.module.slots.param_start[index]


@emits(TreeBase)
def _tree_base(f: FunctionWriter, op: TreeBase) -> str:
    return read_slot(f, f.module.slots.FIRST_TREE + op.tree, "ptr", f.target.tree_base)


@emits(ArrayBase)
def _array_base(f: FunctionWriter, op: ArrayBase) -> str:
    return read_slot(f, _param(f, op.index), "ptr")


@emits(ArrayExtent)
def _array_extent(f: FunctionWriter, op: ArrayExtent) -> str:
    return read_slot(f, _param(f, op.index) + 1 + op.axis, "i64")


@emits(ArrayStride)
def _array_stride(f: FunctionWriter, op: ArrayStride) -> str:
    array = f.module.slots.params[op.index].type
    assert isinstance(array, Array)
    return read_slot(f, _param(f, op.index) + 1 + array.ndim + op.axis, "i64")


@emits(ScalarArg)
def _scalar_arg(f: FunctionWriter, op: ScalarArg) -> str:
    assert isinstance(op.type, Prim)
    value = read_slot(f, _param(f, op.index) + op.part, in_memory(op.type))
    return f.set(f"trunc i8 {value} to i1") if op.type is u1 else value


@emits(TempPtr)
def _temp_ptr(f: FunctionWriter, op: TempPtr) -> str:
    return f.set(f"getelementptr inbounds i8, ptr %ctx, i64 {8 * f.module.slots.temp_start + op.offset}")


@emits(StoreResult)
def _store_result(f: FunctionWriter, op: StoreResult) -> None:
    assert isinstance(op.value.type, Prim)
    address = slot_address(f, f.module.slots.result_start + op.part)
    store(f, address, op.value.type, f.use(op.value), "")


@emits(Alloca)
def _alloca(f: FunctionWriter, op: Alloca) -> str:
    held = pointee(op)
    if isinstance(held, Prim):
        return f.stack(in_memory(held))
    if isinstance(held, Tensor):
        return f.stack(f"[{held.count} x {in_memory(held.elem)}]", align=16)
    raise InternalError(f"codegen: a local of type {held} ({len(flatten(held))} scalars) should have been split")


@emits(Address)
def _address(f: FunctionWriter, op: Address) -> str:
    """Constant terms are folded; the sum is spelled so that LLVM sees an affine recurrence that never wraps."""
    offset, terms = op.offset, list[str]()
    for index, stride in zip(op.indices, op.strides, strict=True):
        if isinstance(index, Const) and isinstance(stride, Const):
            offset += int(index.value) * int(stride.value)
        elif isinstance(stride, Const) and int(stride.value) == 1:
            terms.append(f.use(index))
        else:
            terms.append(f.set(f"mul nsw i64 {f.use(index)}, {f.use(stride)}"))
    home = f.memory.moved.get(op.scope.whole) if isinstance(op.base, TreeBase) else None
    pointer = home or f.use(op.base)
    for term in terms:
        pointer = f.set(f"getelementptr inbounds i8, ptr {pointer}, i64 {term}")
    if offset:
        pointer = f.set(f"getelementptr inbounds i8, ptr {pointer}, i64 {offset}")
    return pointer


def access_tag(f: FunctionWriter, pointer: Value, group: bool = True) -> str:
    """The metadata of an access there; `group`: it is independent of other iterations' accesses."""
    scope = scope_in(pointer, f.memory.joined)
    return f.module.access(scope, f.memory.group if group else "") if scope is not None else ""


def _alignment(f: FunctionWriter, address: str, type: Prim) -> int:
    return max(type.size, f.memory.alignments.get(address, 1))


def _load(f: FunctionWriter, address: str, type: Prim, tag: str) -> str:
    align = f", align {_alignment(f, address, type)}{tag}"
    if type is not u1:
        return f.set(f"load {in_register(type)}, ptr {address}{align}")
    byte = f.set(f"load i8, ptr {address}{align}")
    return f.set(f"icmp ne i8 {byte}, 0")


def store(f: FunctionWriter, address: str, type: Prim, value: str, tag: str = "") -> None:
    """Put a scalar into memory."""
    if type is u1:
        value = f.set(f"zext i1 {value} to i8")
    f.do(f"store {in_memory(type)} {value}, ptr {address}, align {_alignment(f, address, type)}{tag}")


@emits(Load)
def _emit_load(f: FunctionWriter, op: Load) -> str:
    assert isinstance(op.type, Prim)
    loaded = _load(f, f.use(op.ptr), op.type, access_tag(f, op.ptr) + (f.memory.frozen if op.invariant else ""))
    return held(f, op, in_register(op.type), loaded)


@emits(Store)
def _emit_store(f: FunctionWriter, op: Store) -> None:
    assert isinstance(op.value.type, Prim)
    store(f, f.use(op.ptr), op.value.type, f.use(op.value), access_tag(f, op.ptr))


@emits(Atomic)
def _emit_atomic(f: FunctionWriter, op: Atomic) -> str:
    type = op.value.type
    assert isinstance(type, Prim)
    address, value = f.use(op.ptr), f.use(op.value)
    if f.memory.plain:
        # Iterations share this address, so the access is not part of the loop's parallel group.
        tag = access_tag(f, op.ptr, group=False)
        old = held(f, op, in_register(type), _load(f, address, type, tag))
        new = value if op.kind == "xchg" else binary(f, op.kind, type, old, value)
        store(f, address, type, new, tag)
        return old
    if type is u1 or op.kind == "mul":
        return _compare_exchange(f, op.kind, type, address, value)
    scope = f.target.sync_scope
    return f.set(f"atomicrmw {_native(op.kind, type)} ptr {address}, {in_register(type)} {value} {scope}monotonic")


def _native(kind: str, type: Prim) -> str:
    if type.is_float:
        return {"add": "fadd", "sub": "fsub", "min": "fmin", "max": "fmax", "xchg": "xchg"}[kind]
    if kind in ("min", "max") and not type.is_signed:
        return "u" + kind
    return kind


def _compare_exchange(f: FunctionWriter, kind: str, type: Prim, address: str, value: str) -> str:
    """A read-modify-write without an instruction of its own: repeat until no other thread has written in between."""
    bits, scope = f"i{type.size * 8}", f.target.sync_scope
    retry, done = f.fresh_label("retry"), f.fresh_label("done")
    first = f.set(f"load atomic {bits}, ptr {address} {scope}monotonic, align {type.size}")
    before = f.label
    f.jump(retry)
    f.lines.append(f"{retry}:")
    seen, again = f.register("seen"), f.register("again")
    f.lines.append(f"  {seen} = phi {bits} [ {first}, %{before} ], [ {again}, %{retry} ]")
    f.label, f.open = retry, True
    old = _from_bits(f, seen, type, bits)
    new = value if kind == "xchg" else binary(f, kind if type is not u1 else _TRUTH[kind], type, old, value)
    if type is u1:
        word = f.set(f"zext i1 {new} to i8")
    else:
        word = f.set(f"bitcast {in_register(type)} {new} to {bits}") if type.is_float else new
    pair = f.set(f"cmpxchg ptr {address}, {bits} {seen}, {bits} {word} {scope}monotonic monotonic")
    f.lines.append(f"  {again} = extractvalue {{ {bits}, i1 }} {pair}, 0")
    won = f.set(f"extractvalue {{ {bits}, i1 }} {pair}, 1")
    f.branch(won, done, retry)
    f.start(done)
    return old


# What the arithmetic of two-valued integers is.
_TRUTH = {"add": "xor", "sub": "xor", "mul": "and", "min": "and", "max": "or", "and": "and", "or": "or", "xor": "xor"}


def _from_bits(f: FunctionWriter, word: str, type: Prim, bits: str) -> str:
    if type is u1:
        return f.set(f"icmp ne i8 {word}, {constant(0, i64)}")
    return f.set(f"bitcast {bits} {word} to {in_register(type)}") if type.is_float else word
