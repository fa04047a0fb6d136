"""Forward mode: beside each value that carries a derivative, its dual.

    %x = load field_ptr @x[%i]         %x = load field_ptr @x[%i]
                                       %dx = load field_ptr @x.dual[%i]
    %y = unary sin %x            =>    %y = unary sin %x
                                       %dy = binary mul (unary cos %x), %dx
    store field_ptr @y[%i], %y         store field_ptr @y[%i], %y
                                       store field_ptr @y.dual[%i], %dy

Control flow stays as it is, and so do the values. A local that may hold an active value has a second local for duals. A
store to memory that has a dual stores the dual too, or 0. An atomic sum adds both. An atomic min or max keeps the dual
of the element that won; at a tie, memory keeps its own. Such updates of a value and its dual are two accesses: see
`ordered.py`. A record of a float is followed by its dual (`records.py`). Each result of the kernel that carries a
derivative is followed, after all results, by its dual.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from weft.ir import ops
from weft.ir.addresses import root_of
from weft.ir.autodiff.adjoints import filled
from weft.ir.autodiff.companions import Companions, active_values, carries, partials_of, pointee
from weft.ir.autodiff.functions import arrays_in, name_in, parts_of, together
from weft.ir.autodiff.lost import lost_derivatives
from weft.ir.autodiff.ordered import run_in_order
from weft.ir.autodiff.rules import apply_partial
from weft.ir.autodiff.topology import split_addresses
from weft.ir.core import Block, Builder, Op, Value
from weft.ir.errors import CompilationError
from weft.ir.registry import registers
from weft.ir.types import Pointer, i32, shape_of

__all__ = ["DUALS", "Forward"]

Dual = Callable[["Forward", Any], None]
DUALS: dict[type[Op], Dual] = {}
duals = registers(DUALS)


class Forward:
    """One run over a kernel. `duals`: the dual of each active value seen so far, and the local of duals of each active
    local. `places`: the address of the dual for each address."""

    def __init__(self, kernel: ops.Kernel) -> None:
        self.kernel, self.companions = kernel, Companions(kernel)
        self.active = active_values(kernel, self.companions)
        self.duals: dict[Value, Value] = {}
        self.places: dict[Value, Value] = {}

    def run(self) -> None:
        """Add the duals to the kernel."""
        if not self.kernel.lost:  # (those of a gradient are known)
            self.kernel.lost = lost_derivatives(self.kernel, self.active, self.companions, [])
        run_in_order(self.kernel, self.active, self.companions)
        self.block(self.kernel.body)
        split_addresses(self.kernel)
        self.kernel.results += tuple(type for type in self.kernel.results if carries(type))

    def block(self, block: Block) -> None:
        """Add the duals of the ops in a block."""
        for op in block:
            function = DUALS.get(type(op))
            if function is not None:
                function(self, op)
            for region in op.regions:
                self.block(region)

    def after(self, op: Op) -> Builder:
        """A builder that inserts after an op."""
        assert op.block is not None
        return Builder(op.block, op.next, op.span)

    def dual(self, build: Builder, value: Value) -> Value:
        """The dual of a value; 0 for a constant."""
        found = self.duals.get(value)
        return filled(build, value.type) if found is None else found

    def place(self, ptr: Value) -> Value | None:
        """The address of the dual of what is at `ptr`; None: it has none."""
        if ptr in self.places or not isinstance(ptr, Op) or not carries(pointee(ptr)):
            return self.places.get(ptr)
        build = self.after(ptr)
        made: Op | None = None
        if isinstance(ptr, ops.FieldPtr):
            symbol = self.companions.field(ptr.field)
            made = None if symbol is None else ops.FieldPtr(symbol, ptr.indices, ptr.activates)
        elif isinstance(ptr, ops.ArrayPtr) and self.companions.has(ptr):
            assert isinstance(ptr.array, ops.Arg)
            index = self.companions.params[ptr.array.index]
            array = build.add(ops.Arg(index, type=self.kernel.params[index].type))
            made = ops.ArrayPtr(array, ptr.indices)
        elif isinstance(ptr, (ops.ElementPtr, ops.MemberPtr)):
            made = self._step(ptr)
        if made is None:
            return None
        self.places[ptr] = build.add(made)
        return self.places[ptr]

    def _step(self, ptr: ops.ElementPtr | ops.MemberPtr) -> Op | None:
        base = self.place(ptr.base)
        if base is None:
            return None
        return ops.ElementPtr(base, ptr.indices) if isinstance(ptr, ops.ElementPtr) else ops.MemberPtr(base, ptr.index)

    def refuse(self, op: Op, what: str) -> None:
        """Raise the error that forward mode cannot differentiate the op."""
        raise CompilationError(f"forward mode cannot differentiate {what}", op.span)


# ---- values ----------------------------------------------------------------------------------------------------------


@duals(ops.Arg)
def _arg(forward: Forward, op: ops.Arg) -> None:
    if op in forward.active:
        index = forward.companions.params[op.index]
        forward.duals[op] = forward.after(op).add(ops.Arg(index, type=op.type))


@duals(ops.Unary, ops.Binary)
def _operator(forward: Forward, op: ops.Unary | ops.Binary) -> None:
    if op in forward.active:
        forward.duals[op] = chain_rule(op, forward.duals, forward.after(op))


def chain_rule(op: Any, known: dict[Value, Value], build: Builder) -> Value:
    """The sum of partial derivative times dual over the operands that have a dual."""
    values = dict(zip("xy", op.operands)) | {"r": op}
    total: Value | None = None
    for value, part in partials_of(op):
        if value not in known:
            continue
        term = apply_partial(part, known[value], values, build)  # type: ignore[arg-type]
        total = term if total is None or term is None else build.add(ops.Binary("add", total, term))
    return filled(build, op.type) if total is None else total


@duals(ops.Select)
def _select(forward: Forward, op: ops.Select) -> None:
    if op in forward.active:
        build = forward.after(op)
        sides = [forward.dual(build, side) for side in (op.a, op.b)]
        forward.duals[op] = build.add(ops.Select(op.condition, *sides))


@duals(ops.Cast, ops.BitCast, ops.Splat, ops.Transpose)
def _linear(forward: Forward, op: Any) -> None:
    """A linear op of one operand. A cast from a float to an integer stops the derivative."""
    word = forward.companions.recorded(op)
    if word is not None:
        forward.duals[op] = _recorded_dual(forward, op, word)
    elif op in forward.active and op.x in forward.duals:
        forward.duals[op] = forward.after(op).add(type(op)(forward.duals[op.x], type=op.type))


def _recorded_dual(forward: Forward, op: ops.BitCast, word: ops.Load) -> Value:
    """The dual that the recording kernel has stored."""
    build = forward.after(op)
    bits: Value = build.add(ops.Load(_next(build, word.ptr)))
    if bits.type is not op.x.type:
        bits = build.add(ops.Cast(bits, type=op.x.type))
    return build.add(ops.BitCast(bits, type=op.type))


def _next(build: Builder, ptr: Value) -> Value:
    """The address of the word after a record."""
    assert isinstance(ptr, ops.ArrayPtr)
    (index,) = ptr.indices
    return build.add(ops.ArrayPtr(ptr.array, [build.add(ops.Binary("add", index, build.add(ops.Const(1, type=i32))))]))


def _record_dual(forward: Forward, op: ops.Store) -> None:
    """Store the dual of a record of a float."""
    word = op.value
    bits = word.x if isinstance(word, ops.Cast) else word
    if isinstance(bits, ops.BitCast):
        build = forward.after(op)
        made: Value = build.add(ops.BitCast(forward.dual(build, bits.x), type=bits.type))
        made = made if made.type is word.type else build.add(ops.Cast(made, type=word.type))
        build.add(ops.Store(_next(build, op.ptr), made))


@duals(ops.Vary)
def _vary(forward: Forward, op: ops.Vary) -> None:
    if op in forward.active and op.x in forward.duals:
        forward.duals[op] = forward.duals[op.x]


@duals(ops.Extract, ops.Member)
def _part(forward: Forward, op: ops.Extract | ops.Member) -> None:
    if op in forward.active and op.x in forward.duals:
        forward.duals[op] = forward.after(op).add(type(op)(forward.duals[op.x], op.index))


@duals(ops.MakeTensor, ops.MakeStruct)
def _whole(forward: Forward, op: ops.MakeTensor | ops.MakeStruct) -> None:
    if op in forward.active:
        build = forward.after(op)
        forward.duals[op] = build.add(type(op)([forward.dual(build, value) for value in op.values], type=op.type))


@duals(ops.MatMul)
def _matmul(forward: Forward, op: ops.MatMul) -> None:
    build, terms = forward.after(op), list[Value]()
    if op.lhs in forward.duals:
        terms.append(build.add(ops.MatMul(forward.duals[op.lhs], op.rhs)))
    if op.rhs in forward.duals:
        terms.append(build.add(ops.MatMul(op.lhs, forward.duals[op.rhs])))
    if terms:
        forward.duals[op] = terms[0] if len(terms) == 1 else build.add(ops.Binary("add", *terms))


@duals(ops.Reduce)
def _reduce(forward: Forward, op: ops.Reduce) -> None:
    """A sum is linear. Other kinds combine the elements from left to right, each by the rule of the operator."""
    if op.x not in forward.duals:
        return
    build, dual = forward.after(op), forward.duals[op.x]
    if op.kind == "add":
        forward.duals[op] = build.add(ops.Reduce("add", dual))
        return
    known: dict[Value, Value] = {}
    total: Value | None = None
    shape = shape_of(op.x.type)
    for index in range(shape[0] * (shape[1] if len(shape) > 1 else 1)):
        part = build.add(ops.Extract(op.x, index))
        known[part] = build.add(ops.Extract(dual, index))
        if total is None:
            total = part
            continue
        combined = build.add(ops.Binary(op.kind, total, part))
        known[combined] = chain_rule(combined, known, build)
        total = combined
    assert total is not None
    forward.duals[op] = known[total]


# ---- memory ----------------------------------------------------------------------------------------------------------


@duals(ops.Alloca, ops.SharedLocal, ops.Shared)
def _local(forward: Forward, op: Any) -> None:
    if op in forward.active:
        made = ops.Shared(op.shape, type=op.type) if isinstance(op, ops.Shared) else type(op)(type=op.type)
        forward.places[op] = forward.after(op).add(made)
        made.name = f"{op.name}.dual" if op.name else ""


@duals(ops.Load)
def _load(forward: Forward, op: ops.Load) -> None:
    place = forward.place(op.ptr)
    if place is not None:
        forward.duals[op] = forward.after(op).add(ops.Load(place))


@duals(ops.Store)
def _store(forward: Forward, op: ops.Store) -> None:
    if forward.companions.is_record(op.ptr):
        _record_dual(forward, op)
        return
    place = forward.place(op.ptr)
    if place is not None:
        build = forward.after(op)
        build.add(ops.Store(place, forward.dual(build, op.value), op.relaxed))


@duals(ops.Atomic)
def _atomic(forward: Forward, op: ops.Atomic) -> None:
    place = forward.place(op.ptr)
    if place is None:
        return
    build, dual, known = forward.after(op), forward.dual, op.value in forward.duals
    if op.kind in ("add", "sub"):
        if known or op.users:  # adding 0 reads the dual of the old value
            forward.duals[op] = build.add(ops.Atomic(op.kind, place, dual(build, op.value)))
        return
    if op.kind == "mul" and not known:
        forward.duals[op] = build.add(ops.Atomic("mul", place, op.value))
        return
    old = forward.duals[op] = build.add(ops.Load(place))
    new = dual(build, op.value)
    if op.kind == "mul":
        scaled = build.add(ops.Binary("mul", old, op.value))
        new = build.add(ops.Binary("add", scaled, build.add(ops.Binary("mul", op, new))))
    elif op.kind in ("min", "max"):
        winner = build.add(ops.Binary(op.kind, op, op.value))
        new = build.add(ops.Select(build.add(ops.Binary("ne", winner, op)), new, old))
    elif op.kind != "xchg":
        forward.refuse(op, f"an atomic {op.kind}")
    build.add(ops.Store(place, new))


@duals(ops.FieldPtr)
def _field(forward: Forward, op: ops.FieldPtr) -> None:
    owner = forward.companions.owners.get(op.field)
    if owner is not None:
        forward.refuse(op, f"a kernel that uses '{op.field.name}', the dual of '{owner.name}', itself")


@duals(ops.AtomicLoad, ops.AtomicStore, ops.Exchange, ops.CompareExchange)
def _synchronizing(forward: Forward, op: Any) -> None:
    if carries(pointee(op.ptr)) and (forward.companions.has(root_of(op.ptr)) or root_of(op.ptr) in forward.active):
        forward.refuse(op, f"{op.opname}: a value and its dual cannot be accessed in one atomic step")


@duals(ops.Simt)
def _simt(forward: Forward, op: ops.Simt) -> None:
    if any(value in forward.active for value in op.values):
        forward.refuse(op, f"the intrinsic '{op.kind}' of a value that carries a derivative")


@duals(ops.Invoke)
def _invoke(forward: Forward, op: ops.Invoke) -> None:
    """A call of the function's derivative, which gives the results and their duals."""
    passed = any(value in forward.active for value in op.values)
    if any(map(_writable, op.values)):
        forward.refuse(op, f"a call of the real function '{op.function}' with a variable that it may change")
    if not passed and not forward.companions.touches(op):
        return
    build, results, arrays = forward.after(op), parts_of(op.type), dict(arrays_in(op, forward.companions))
    duals: list[Value] = []
    for number, value in enumerate(op.values):
        if carries(value.type):
            duals.append(forward.dual(build, value))
        elif number in arrays:
            duals.append(build.add(ops.Arg(arrays[number], type=forward.companions.types[arrays[number]])))
    type = together([*results, *filter(carries, results)])
    every = op.touched, op.only_read, op.only_written
    touched, only_read, only_written = ((*names, *forward.companions.beside(names)) for names in every)
    name, given = name_in(op, forward.companions), [*op.values, *duals]
    made = ops.Invoke(name, given, touched, only_read, only_written=only_written, stream=op.stream, type=type)
    made.effects = op.effects
    build.add(made)
    if not results:
        op.erase()
        return
    values: list[Value] = [build.add(ops.Member(made, k)) for k in range(len(results))]
    number, parts = len(results), list[Value]()
    for result in results:
        parts.append(build.add(ops.Member(made, number)) if carries(result) else filled(build, result))
        number += carries(result)
    several = results != (op.type,)
    value = build.add(ops.MakeStruct(values, type=op.type)) if several else values[0]
    if carries(op.type):
        forward.duals[value] = build.add(ops.MakeStruct(parts, type=op.type)) if several else parts[0]
    if op in forward.active:
        forward.active.add(value)
    op.replace(value)


def _writable(value: Value) -> bool:
    return isinstance(value.type, Pointer) and carries(value.type.elem)


# ---- results ---------------------------------------------------------------------------------------------------------


@duals(ops.Return)
def _return(forward: Forward, op: ops.Return) -> None:
    build = Builder.at(op)
    extra = [forward.dual(build, value) for value in op.values if carries(value.type)]
    op.set_operands([*op.values, *extra], (len(op.values) + len(extra),))
