"""The meaning of the ops of mapped CHI in the evaluator. It checks what they claim about addresses and indices."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from math import gcd, lcm
from typing import Any, NamedTuple

from weft.ir import ops
from weft.ir.addresses import root_of
from weft.ir.affine import affine
from weft.ir.alias import Access
from weft.ir.core import Op, Value
from weft.ir.errors import InternalError
from weft.ir.machine import Env, Machine, Run, runs, runs_weakly
from weft.ir.mapping.whole_words import WORD
from weft.ir.memory_model import Place
from weft.ir.scalar import BINARY
from weft.ir.types import Pointer, Prim, f32

__all__ = ["Together", "check_alignment"]


@dataclass(frozen=True, eq=False)
class Together:
    """What is known of an iteration that a thread runs together with others. It is in the slot of the task. In such
    iterations, clamps have no effect."""

    places: Mapping[
        Hashable, tuple[int, int]
    ]  # arguments of the task: a group begins at a multiple of its size; position
    words: frozenset[Value]  # bases and strides that are multiples of a word
    multiples: dict[Op, int] = field(default_factory=dict[Op, int])  # of accesses: what their address is a multiple of


class Alignment(NamedTuple):
    """The value of the op `aligned`: whether all of `values`, and all of `taps`, are multiples of a word."""

    values: bool
    taps: bool


@runs(ops.Aligned)
def _aligned(machine: Machine, op: ops.Aligned) -> Run:
    out, values, taps = machine.slot(op), _bytes(machine, op.values), _bytes(machine, op.taps)

    def run(env: Env) -> None:
        env[out] = Alignment(*(all(one(env) % WORD == 0 for one in some) for some in (values, taps)))

    return run


def _bytes(machine: Machine, values: Sequence[Value]) -> list[Callable[[Env], int]]:
    """Each value as a number of bytes: strides, and addresses."""
    slots = zip(values, machine.slot_list(values), strict=True)
    return [
        partial(lambda value, slot, env: _address(value, env[slot]), value, slot)
        if isinstance(value.type, Pointer)
        else partial(lambda slot, env: int(env[slot]), slot)
        for value, slot in slots
    ]


def _address(ptr: Value, place: Place) -> int:
    """The address of a place. A tree is at a multiple of any size."""
    in_tree = isinstance(root_of(ptr), ops.TreeBase)
    return place.offsets[0] + (0 if in_tree else int(place.buffer.ctypes.data))


def check_alignment(op: Access, place: Place, state: Together) -> None:
    """Raise InternalError if the address of an access is not a multiple of what is known of it. Threads that run
    iterations together move words of 16 bytes where that is known to be right."""
    if isinstance(root_of(op.ptr), ops.Alloca) or place.error:
        return
    if op not in state.multiples:
        state.multiples[op] = lcm(_multiple(op.ptr, state), place.prims[0].size)
    if _address(op.ptr, place) % state.multiples[op]:
        at = _address(op.ptr, place)
        raise InternalError(f"{op!r} accesses {at}, which should be a multiple of {state.multiples[op]}")


def _multiple(ptr: Value, state: Together) -> int:
    """What an address is a multiple of."""
    if not isinstance(ptr, ops.Address):
        return WORD if ptr in state.words or isinstance(ptr, ops.TreeBase) else 1
    found, offset = _multiple(ptr.base, state), ptr.offset
    for index, stride in zip(ptr.indices, ptr.strides, strict=True):
        if isinstance(stride, ops.Const):
            size, constant = _index(index, state)
            found, offset = gcd(found, size * int(stride.value)), offset + constant * int(stride.value)
        elif stride not in state.words:
            found = 1
    return gcd(found, offset)


def _index(index: Value, state: Together) -> tuple[int, int]:
    """A number and a constant: the index is a multiple of that number plus the constant. 0: it is the constant."""
    sum = affine(index)
    if not sum.terms:
        return 0, sum.constant
    leaf, factor = sum.single() or (None, 0)
    if factor == 1 and isinstance(leaf, ops.Clamp):
        size, constant = _index(leaf.index, state)
        return size, constant + sum.constant
    if factor == 1 and leaf in state.places:
        size, place = state.places[leaf]
        return size, place + sum.constant
    return 1, 0


@runs(ops.Clamp)
def _clamp(machine: Machine, op: ops.Clamp) -> Run:
    """The clamped index must be in the range that the op states, as far as it is known which index of
    the task it is."""
    a, b, moved = machine.slot(op.lhs), machine.slot(op.rhs), machine.slot(op.index)
    task: ops.Task | None = next((one for one in op.around() if isinstance(one, ops.Task)), None)
    assert isinstance(op.type, Prim)
    assert task is not None
    index, state = machine.slot(task.body.args[op.axis]), machine.slot(task)
    function, low, high = BINARY[op.kind].on_scalars(op.type), op.low, op.high
    nested = any(isinstance(value, ops.Clamp) for value in _behind(op.index))

    def run(env: Env) -> object:
        if isinstance(env[state], Together):
            return env[moved]
        distance = int(env[moved]) - int(env[index])
        if not nested and op.fits and not low <= distance <= high:
            raise InternalError(f"{op!r}: the index is moved by {distance}; expected {low} to {high}")
        return function(env[a], env[b])

    return run


def _behind(value: Value) -> list[Value]:
    """The value itself and the values that it is computed from."""
    return [value, *(inner for operand in getattr(value, "operands", ()) for inner in _behind(operand))]


@runs(ops.AtomicRow)
def _atomic_row(machine: Machine, op: ops.AtomicRow) -> Run:
    return _row(machine, op, lambda place, value: place.store(BINARY["add"].evaluate(place.load(f32), value), f32))


@runs_weakly(ops.AtomicRow)
def _atomic_row_weakly(machine: Machine, op: ops.AtomicRow) -> Run:
    def add(place: Place, value: Any) -> None:
        view = machine.course.view
        assert view is not None, "only threads of a parallel loop have a view"
        view.update(place, lambda old, _: BINARY["add"].evaluate(old, value), f32, "relaxed")

    return _row(machine, op, add)


def _row(machine: Machine, op: ops.AtomicRow, add: Callable[[Place, Any], None]) -> Run:
    """Each sum is executed by itself. A single unit must be at a multiple of its size."""
    ptr, values, unit = machine.slot(op.ptr), machine.slot_list(op.values), op.unit * f32.size
    aligned = len(values) == op.unit and isinstance(root_of(op.ptr), ops.TreeBase)
    masked = machine.config.masks

    def run(env: Env) -> None:
        place: Place = env[ptr]
        if masked and place.error:
            return
        if aligned and place.offsets[0] % unit:
            raise InternalError(f"{op!r} adds {unit} bytes at {place.offsets[0]}, which is not a multiple of that")
        for number, value in enumerate(values):
            add(Place(place.buffer, [place.offsets[0] + number * f32.size], [f32], place.error), env[value])

    return run


@runs(ops.StackLeft)
def _stack_left(machine: Machine, op: ops.StackLeft) -> Run:
    """The evaluator has a limit of its own (see `machine.py`)."""
    return lambda env: True
