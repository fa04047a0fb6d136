"""The proof that values which the gradient of a kernel loads again are still there.

A gradient kernel reads memory of the program as it is after the kernel has run. So a load whose value is needed must
not be followed by a store to the same element. If it is, but no store to the element comes before it, the value is that
of before the launch, and whoever launches the gradient puts it back (`Kernel.saved`). Otherwise the kernel is refused.

Two addresses are compared in the same iteration of all loops around both, with `alias.py`. In different iterations of a
serial loop they are apart if an index in one position is

    the loop's index plus a constant, in both, and the distance is none that a later (or earlier) iteration has
    a value that the loop does not change, plus different constants

Iterations of a parallel loop do not write what another one reads. That would be a race.

An atomic minimum or maximum compares its operand with what all extremes of its kind leave in memory, because only the
operand that is left takes the adjoint:

    atomic max %p, %a                       (1)
    %x = load %p                            a load that carries a derivative
    atomic max %p, (binary mul %x, 2.0)     (2)

So what (2) does is no clobber of (1), if nothing between them carries a derivative of what (1) left. Otherwise memory
has an adjoint at (1) though the operand of (1) is not left in the end. Then (2) clobbers (1) as a store does.

A called function may read any element of what it is given. Its derivative reads them again, so a store to that memory
clobbers the call wherever it may come after it. What a called function may write, it may store to any element.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TypeGuard

from weft.ir import ops
from weft.ir.addresses import element_steps, root_of, split
from weft.ir.alias import may_alias, space_of, space_of_array, space_of_field, spaces_meet
from weft.ir.autodiff.demand import EXTREMES, LOCALS, Demand, reads_final
from weft.ir.autodiff.products import loop_around
from weft.ir.autodiff.torn import Torn
from weft.ir.core import Block, BlockArg, Op, Value
from weft.ir.rewrite import literal
from weft.ir.symbols import places_of
from weft.ir.types import Array

__all__ = ["Clobbers"]

AFTER, BEFORE = 1, -1
_SERIAL = (ops.For, ops.While)


@dataclass(frozen=True)
class Read:
    """An access whose value is read again: a load, the final value of an atomic minimum or maximum, or a call of a
    function that may read all of a field or array. `ptr`: the address, None for a call. `place`: the field or
    parameter, as "field:2" or "param:0"."""

    op: ops.Load | ops.Atomic | ops.Invoke
    ptr: Value | None
    space: Hashable
    place: str


@dataclass(frozen=True)
class Write:
    """A store, or a call of a function that may write all of a field or array. `ptr`: the address, None for a call."""

    op: Any
    ptr: Value | None
    space: Hashable


class Clobbers:
    """The needed loads of one kernel and the stores that change what they read. `saved`: the fields and parameters
    that must hold what they held before the launch, as "field:2" or "param:0". `torn`: loads whose values are in memory
    neither before nor after the launch, each with a store after it and one before it. `gone`: all loads that a store
    follows, of those groups."""

    def __init__(self, kernel: ops.Kernel, demand: Demand) -> None:
        self.kernel = kernel
        self.saved = set[str]()
        self.torn: list[tuple[Read, Write, Write]] = []
        self.gone: list[Read] = []
        self.numbers = {op: number for number, op in enumerate(demand.ops)}
        writes = [write for op in demand.ops for write in self.writes(op)]
        self.carriers = [read for op in demand.ops for read in self.carried(op, demand)]
        self.groups: dict[Hashable, list[Read]] = {}
        for op in demand.ops:
            for read in self.reads(op, demand):
                self.groups.setdefault(read.space, []).append(read)
        for group in self.groups.values():
            self.decide(group, writes)

    def reads(self, op: Op, demand: Demand) -> Iterator[Read]:
        """What an op reads that the gradient reads again."""
        if isinstance(op, ops.Invoke) and (op in demand.needed or op in demand.acts):
            arrays = [one.index for one in op.values if isinstance(one, ops.Arg) and isinstance(one.type, Array)]
            every = *op.touched, *(self.kernel.params[index].name for index in arrays)
            for space, place in self.spaces(op, [name for name in every if name not in op.only_written]):
                yield Read(op, None, space, place)
        elif _is_read(op, demand):
            yield Read(op, op.ptr, space_of(op.ptr), self.place(op.ptr))

    def carried(self, op: Op, demand: Demand) -> Iterator[Read]:
        """What an op loads whose memory gets an adjoint from it."""
        if isinstance(op, ops.Load) and op in demand.acts and _is_global(op) and demand.takes(op.ptr):
            yield Read(op, op.ptr, space_of(op.ptr), self.place(op.ptr))

    def writes(self, op: Op) -> Iterator[Write]:
        """What an op writes."""
        if isinstance(op, ops.Invoke):
            for space, _ in self.spaces(op, op.written):
                yield Write(op, None, space)
        elif op.effect == "address" and op.writes:
            ptr: Value = op.operands[0]
            yield Write(op, ptr, space_of(ptr))

    def spaces(self, op: ops.Invoke, names: Sequence[str]) -> Iterator[tuple[Hashable, str]]:
        """The spaces of the fields and arrays with these names that a called function may access, and their places."""
        for number, symbol in enumerate(self.kernel.fields):
            if symbol.name in names:
                yield space_of_field(symbol), f"field:{number}"
        arrays = [one for one in op.values if isinstance(one, ops.Arg) and isinstance(one.type, Array)]
        for array in arrays:
            if self.kernel.params[array.index].name in names:
                yield space_of_array(array), f"param:{array.index}"

    @property
    def promotable(self) -> set[Hashable]:
        """The spaces with torn loads that no called function accesses."""
        calls = self.kernel.all_of(ops.Invoke)
        called = {space for op in calls for space, _ in self.spaces(op, op.touched)}
        return {read.space for read, _, _ in self.torn if not any(spaces_meet(read.space, one) for one in called)}

    def decide(self, loads: list[Read], writes: list[Write]) -> None:
        """Whether the loads of a group read what is there after or before the launch."""
        after = [(load, write) for load in loads for write in self.conflicts(load, writes, AFTER)]
        if not after:
            return
        before = [(load, write) for load in loads for write in self.conflicts(load, writes, BEFORE)]
        if before:
            self.torn.append((*after[0], before[0][1]))
            self.gone += dict.fromkeys(load for load, _ in after)
        else:
            self.saved.update(load.place for load in loads)

    def hold(self) -> tuple[str, ...]:
        """The saved memory; raises the error for the first torn load."""
        for load, write, earlier in self.torn:
            self.refuse(load, write, earlier)
        places = places_of(self.kernel.fields, self.kernel.params)
        return tuple(sorted(name for name, place in places.items() if place in self.saved))

    def conflicts(self, load: Read, writes: list[Write], when: int) -> Iterator[Write]:
        for write in writes:
            if self.clobbers(load, write, when):
                yield write

    def place(self, ptr: Value) -> str:
        """The field or parameter of an address, as "field:2" or "param:0"."""
        root = root_of(ptr)
        if isinstance(root, ops.FieldPtr):
            return f"field:{self.kernel.fields.index(root.field)}"
        assert isinstance(root, ops.ArrayPtr)
        assert isinstance(root.array, ops.Arg)
        return f"param:{root.array.index}"

    def name(self, load: Read) -> str:
        """The name in the program of what is read."""
        kind, number = load.place.split(":")
        return (self.kernel.fields if kind == "field" else self.kernel.params)[int(number)].name

    def refuse(self, load: Read, write: Write, earlier: Write) -> None:
        lines = sorted({one.op.span.line for one in (write, earlier) if one.op.span is not None})
        where = f" in line{'s' * (len(lines) - 1)} {' and '.join(map(str, lines))}" if lines else ""
        raise Torn(
            f"reverse mode needs the value of '{self.name(load)}' that is read here, but the kernel overwrites it"
            f"{where}: it is neither the value from before the kernel nor the one from after it. Write the results to "
            "another field, or split the kernel. (A tape keeps such values.)",
            load.op.span or write.op.span,
        )

    def clobbers(self, load: Read, write: Write, when: int) -> bool:
        """Whether the write may change what the load reads, after it or before it."""
        op = load.op
        if not spaces_meet(load.space, write.space):
            return False
        if isinstance(op, ops.Atomic) and isinstance(write.op, ops.Atomic) and _joins(op, write.op):
            # (an atomic comes before itself, so one that is clobbered by what comes after it is torn)
            return when == BEFORE or (op.kind in EXTREMES and self.carries_between(load, write))
        return self.meets(load, write, when)

    def carries_between(self, load: Read, write: Write) -> bool:
        """Whether memory may get an adjoint from a load after the one op, and before the other one. (A call there is
        torn itself.)"""
        return any(
            spaces_meet(load.space, one.space) and self.meets(load, one, AFTER) and self.meets(one, write, AFTER)
            for one in self.carriers
        )

    def meets(self, one: Read | Write, other: Read | Write, when: int) -> bool:
        """Whether the other access may be to the same element as the one, after it or before it."""
        op, ptr = one.op, one.ptr
        loops = _common_loops(op, other.op)
        if any(ptr is None or other.ptr is None or not _apart(ptr, other.ptr, loop, when) for loop in loops):
            return True
        if (self.numbers[other.op] > self.numbers[op]) != (when == AFTER) or _exclusive(op, other.op):
            return False
        return ptr is None or other.ptr is None or may_alias(ptr, other.ptr)


def _joins(one: ops.Atomic, other: ops.Atomic) -> bool:
    """Whether the final value that the adjoint of one atomic reads is made by the other, too: by all extremes of its
    kind, or by the products of its loop."""
    return one.kind == other.kind and (one.kind != "mul" or loop_around(one) is loop_around(other))


def _is_global(op: Any) -> bool:
    return not isinstance(root_of(op.operands[0]), (*LOCALS, ops.Shared))


def _is_read(op: Op, demand: Demand) -> TypeGuard[ops.Load | ops.Atomic]:
    if isinstance(op, ops.Atomic):
        return op in demand.acts and reads_final(demand, op) and _is_global(op)
    return isinstance(op, ops.Load) and op in demand.needed and op not in demand.recorded and _is_global(op)


def _common_loops(a: Op, b: Op) -> list[ops.For | ops.While]:
    return [outer for outer in a.around() if isinstance(outer, _SERIAL) and b.within(outer)]


def _exclusive(a: Op, b: Op) -> bool:
    """Whether they are in different branches of an If, so that an iteration runs one of them at most."""
    outer = next((one for one in a.around() if isinstance(one, ops.If) and b.within(one)), None)
    return outer is not None and _is_in(a, outer.then) != _is_in(b, outer.then)


def _is_in(op: Op, block: Block) -> bool:
    return any(one.block is block for one in (op, *op.around()))


def _apart(p: Value, q: Value, loop: ops.For | ops.While, when: int) -> bool:
    """Whether `p` in an iteration of the loop is never `q` in a later (or earlier) one."""
    (a, p_steps), (b, q_steps) = element_steps(p), element_steps(q)
    (memory, here), (other, there) = _element(a), _element(b)
    if memory is None or memory != other:
        return False
    pairs = zip(here, there, strict=True)
    return any(_index_apart(i, j, loop, when) for i, j in pairs) or any(map(_step_apart, p_steps, q_steps))


def _element(root: Any) -> tuple[Hashable, Sequence[Value]]:
    """The field of an element, or the parameter of an element of an array, and its indices. None for the array if its
    elements may overlap."""
    if isinstance(root, ops.FieldPtr):
        return root.field, root.indices
    return (root.array.index if root.array.type.contiguous else None), root.indices


def _step_apart(s: ops.ElementPtr | ops.MemberPtr, t: ops.ElementPtr | ops.MemberPtr) -> bool:
    """Whether steps at the same depth, below equal steps, lead to different parts."""
    if isinstance(s, ops.MemberPtr):
        assert isinstance(t, ops.MemberPtr)
        return s.index != t.index
    assert isinstance(t, ops.ElementPtr)
    pairs = [(literal(i), literal(j)) for i, j in zip(s.indices, t.indices, strict=False)]
    return any(i is not None and j is not None and i != j for i, j in pairs)


def _index_apart(i: Value, j: Value, loop: ops.For | ops.While, when: int) -> bool:
    (x, c), (y, d) = split(i), split(j)
    if x is not y:
        return False
    if isinstance(loop, ops.For) and x is loop.body.args[0]:
        step = literal(loop.step)
        if not step:
            return False
        ahead, rest = divmod(c - d, int(step))  # how many iterations on the write is at this element
        return rest != 0 or ahead * when <= 0
    return c != d and (x is None or _is_constant(x, loop))


def _is_constant(value: Value, loop: Op) -> bool:
    """Whether a value is the same in all iterations of a loop."""
    if isinstance(value, BlockArg):
        return value.block is None or value.block.owner is None or not value.block.owner.within(loop)
    assert isinstance(value, Op)
    if not value.within(loop):
        return True
    return value.pure and all(_is_constant(operand, loop) for operand in value.operands)
