"""Finds the results of a kernel that depend on the order of iterations, as the memory model allows.

    s += v                       s: rounding, if v is a float: sums of floats depend on their order
    slot = atomic_add(k, 1)      k: exact, but which iteration gets which old value is not defined
    out[slot] = v                out: slots, it holds the same values in another order
    out2[i] = slot               out2: order, nothing is known of it

This is a static analysis of CHI before `offload`. It walks the kernel until nothing changes and gives each space (see
`alias.py`) a `Level`. The level of a value determines the levels of the values computed from it. The analysis assumes
that plain accesses do not race. A comparison of two runs uses it to decide what to compare, and how.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field
from enum import IntEnum

from weft.ir.alias import Access, is_access, space_of, space_of_array, space_of_field
from weft.ir.core import Block, Op, Value
from weft.ir.ops import (
    Alloca,
    Atomic,
    AtomicLoad,
    AtomicStore,
    CompareExchange,
    Const,
    Exchange,
    Exit,
    If,
    Invoke,
    Kernel,
    Load,
    ParallelFor,
    Print,
    Return,
    Store,
    StructFor,
)
from weft.ir.tasks import accesses, private_spaces, synchronizes, touched_spaces
from weft.ir.types import Array, element

__all__ = ["Level", "OrderDependence", "order_dependence"]


class Level(IntEnum):
    """How far a result depends on the order of iterations: not at all; by the rounding of float sums; the same values
    in different places; or any result that some order gives."""

    EXACT = 0
    ROUNDING = 1
    SLOTS = 2
    ORDER = 3


@dataclass
class OrderDependence:
    """The levels of the results of a kernel: of each space that it writes (others are exact), of its results, and of
    its prints."""

    spaces: dict[Hashable, Level] = field(default_factory=dict[Hashable, Level])
    results: Level = Level.EXACT
    prints: Level = Level.EXACT

    def of(self, space: Hashable) -> Level:
        """The level of a space."""
        return self.spaces.get(space, Level.EXACT)


def order_dependence(kernel: Kernel, functions: Sequence[Kernel] = ()) -> OrderDependence:
    """The levels of a kernel at level chi. `functions` are the functions that it calls. A missing function may read and
    print anything."""
    walk = _Walk(kernel, {one.symbol: one for one in functions})
    while walk.again:
        walk.again = False
        walk.block(kernel.body, Level.EXACT)
    return walk.found


class _Loop:
    """The memory behaviour of a parallel loop: `own` spaces, of which each iteration has a private part; the atomic
    kinds on each of the others; the values that relaxed stores and exchanges write to a space; and, in a loop that
    `synchronizes`, the spaces of which iterations may read what others have written, by plain accesses too."""

    def __init__(self, loop: ParallelFor | StructFor, synchronizes: bool) -> None:
        self.own = private_spaces(loop)
        self.atomics: dict[Hashable, set[str]] = {}
        self.given: dict[Hashable, set[Hashable]] = {}
        self.handed_on = set[Hashable]()
        for op in accesses(loop):
            space = space_of(op.ptr)
            if isinstance(space, Alloca):
                continue
            kind = _update_of(op)
            if kind and space not in self.own:
                self.atomics.setdefault(space, set()).add(kind)
            if kind == "xchg" or (isinstance(op, Store) and op.relaxed) or isinstance(op, AtomicStore):
                self.given.setdefault(space, set()).add(_constant(op.operands[1]))
            if synchronizes and op.writes and space not in self.own:
                self.handed_on.add(space)


def _update_of(op: Access) -> str:
    """The kind of an atomic update, or "" for other accesses."""
    if isinstance(op, Atomic):
        return "add" if op.kind == "sub" else op.kind
    return _UPDATES.get(type(op), "")


_UPDATES: dict[type[Op], str] = {Exchange: "xchg", CompareExchange: "compare"}


def _constant(value: Value) -> Hashable:
    """A key of a constant, or None if iterations may have different values."""
    return (repr(value.value), value.type) if isinstance(value, Const) else None


class _Walk:
    """Repeated walks over a kernel. `again`: the last one changed something."""

    def __init__(self, kernel: Kernel, functions: dict[str, Kernel]) -> None:
        self.kernel, self.functions, self.again = kernel, functions, True
        self.found = OrderDependence()
        self.values: dict[Value, Level] = {}
        self.loops: dict[Op, _Loop] = {}
        self.loop: _Loop | None = None  # the one we are in

    def block(self, block: Block, control: Level) -> None:
        """Walk a block whose execution, or number of executions, depends on values of level `control`."""
        for op in block:
            self.op(op, control)

    def op(self, op: Op, control: Level) -> None:
        level = max((self.values.get(value, Level.EXACT) for value in op.operands), default=Level.EXACT)
        if is_access(op):
            self.access(op, control)
        elif isinstance(op, Invoke):
            self.call(op, max(level, control))
        elif isinstance(op, Return):
            self.found.results = max(self.found.results, level, control)
        elif isinstance(op, Print):
            self.print(max(level, control))
        elif isinstance(op, (ParallelFor, StructFor)):
            self.loop = self.loops.get(op) or _Loop(op, self.synchronizes(op))
            self.loops[op] = self.loop
            self.block(op.body, max(control, level))
            self.loop = None
        elif op.region_names:
            inside = max(control, _decided(level))
            for region in op.regions:
                for arg in region.args:
                    self.learn(arg, level)
                self.block(region, inside)
            self.leave(op, inside)
        else:
            self.learn(op, level)

    def leave(self, op: Op, control: Level) -> None:
        """A jump under an uncertain condition makes everything that it may skip uncertain: the writes of the loop that
        it belongs to, or the writes of the kernel for a return."""
        jumps = [inner for inner in op.walk() if inner.terminator]
        if control is Level.EXACT or not jumps:
            return
        leaves = any(isinstance(inner, (Return, Exit)) for inner in jumps)
        outer = op.parent
        assert outer is not None
        while (leaves or isinstance(outer, If)) and outer.parent is not None:
            outer = outer.parent
        for access in accesses(outer):
            if not isinstance(access, Load):
                self.put(space_of(access.ptr), Level.ORDER)

    def access(self, op: Access, control: Level) -> None:
        space = space_of(op.ptr)
        where = self.values.get(op.ptr, Level.EXACT)
        order = Level.ORDER if self.loop is not None and space in self.loop.handed_on else Level.EXACT
        if isinstance(op, (Load, AtomicLoad)):
            held = self.found.of(space)
            held = Level.ORDER if held is Level.SLOTS else held  # which of the values it is
            self.learn(op, max(held, self.race(space), _decided(where), order))
            return
        value = max(self.values.get(value, Level.EXACT) for value in op.operands[1:])
        if isinstance(op, (Atomic, Exchange, CompareExchange)):
            self.atomic(op, space, max(value, _decided(where), _decided(control)))
        elif order is Level.ORDER:
            self.put(space, order)
        elif where is Level.ORDER and value is Level.EXACT and control is Level.EXACT:
            self.put(space, Level.SLOTS)
        else:
            self.put(space, max(value, _decided(where), _decided(control), self.last(space)))

    def atomic(self, op: Atomic | Exchange | CompareExchange, space: Hashable, level: Level) -> None:
        """In a parallel loop, the result of one kind of atomic does not depend on the order, except that sums and
        products of floats are rounded. The old value does depend on it."""
        kinds = set[str]() if self.loop is None else self.loop.atomics.get(space, set())
        if kinds:
            rounded = element(op.operands[1].type).is_float
            if len(kinds) > 1 or "compare" in kinds:
                level = Level.ORDER
            elif "xchg" in kinds:
                level = max(level, self.last(space))
            elif rounded:
                level = max(level, Level.ROUNDING)
        self.put(space, level)
        self.learn(op, max(self.found.of(space), Level.ORDER if kinds else Level.EXACT))

    def last(self, space: Hashable) -> Level:
        """Handle stores by any iteration. It does not matter which one is last if all store the same constant."""
        values = set[Hashable]() if self.loop is None else self.loop.given.get(space, set())
        return Level.ORDER if len(values) > 1 or None in values else Level.EXACT

    def race(self, space: Hashable) -> Level:
        """Handle a read of memory that other iterations update at the same time."""
        if self.loop is None or not (space in self.loop.atomics or space in self.loop.given):
            return Level.EXACT
        return Level.ORDER

    def call(self, op: Invoke, level: Level) -> None:
        """A function reads and prints, and writes the memory in `touched`. In a parallel loop, other iterations do the
        same."""
        bodies = self.reached(op)
        if bodies is None or any(body.all_of(Print) for body in bodies):
            self.print(level)
        touched = touched_spaces(op, self.kernel) if op.touched else set[Hashable]()
        known = max(self.found.spaces.values(), default=Level.EXACT)
        level = max(level, known, Level.ORDER if self.loop is not None and touched else Level.EXACT)
        for space in touched:
            self.put(space, level)
        self.learn(op, max([level, *map(self.race, self.read(op, bodies))]))

    def synchronizes(self, loop: Op) -> bool:
        """Whether iterations of the loop order memory between them, directly or in functions. An unknown function is
        assumed to do so."""
        if synchronizes(loop):
            return True
        called = [self.reached(call) for call in loop.all_of(Invoke)]
        return any(bodies is None or any(map(synchronizes, bodies)) for bodies in called)

    def reached(self, op: Invoke) -> list[Kernel] | None:
        """The functions that run in that call, or None if one is unknown."""
        found, pending = dict[str, Kernel](), [op.function]
        while pending:
            name = pending.pop()
            if name not in self.functions:
                return None
            if name not in found:
                found[name] = self.functions[name]
                pending += [call.function for call in found[name].all_of(Invoke)]
        return [*found.values()]

    def read(self, op: Invoke, bodies: list[Kernel] | None) -> set[Hashable]:
        """The spaces that a call may read: fields, and the arrays that are passed to it."""
        names = None if bodies is None else {symbol.name for body in bodies for symbol in body.fields}
        fields = [symbol for symbol in self.kernel.fields if names is None or symbol.name in names]
        arrays = [value for value in op.values if isinstance(value.type, Array)]
        return {*map(space_of_field, fields), *map(space_of_array, arrays)}

    def print(self, level: Level) -> None:
        order = Level.EXACT if self.loop is None else Level.ORDER
        self.found.prints = max(self.found.prints, level, order)

    def put(self, space: Hashable, level: Level) -> None:
        if level > self.found.of(space):
            self.found.spaces[space], self.again = level, True

    def learn(self, value: Value, level: Level) -> None:
        if level > self.values.get(value, Level.EXACT):
            self.values[value], self.again = level, True


def _decided(level: Level) -> Level:
    """The level of a decision by a value of that level: rounding may change a comparison."""
    return Level.EXACT if level is Level.EXACT else Level.ORDER
