"""Serial loops in reverse mode: their iterations in reverse order, each with the locals that it began with.

The *state* of a loop is the locals from outside of it that the loop writes, and that the backward sweep of an iteration
needs as the iteration found them. If iterations run again, it is what that needs, too. A loop without a state needs
nothing: its iterations are recomputed in reverse order. Otherwise the forward sweep saves states in *slots*, which are
local arrays:

    a known number of iterations, few      one slot for each, which keeps values besides (see `keeping.py`)
    else                                   SLOTS slots; when they are full, every second one is dropped, so that the
                                           distance between saved iterations doubles

The backward sweep takes the saved states in reverse order. From each one, it runs the iterations up to the next saved
one again, with SLOTS slots more, and reverses them. So there is no bound on the number of iterations, and no memory is
allocated. Up to SLOTS * SLOTS iterations, each one runs at most twice before its own sweep. Of longer loops, iterations
run more often.
"""

from __future__ import annotations

from collections.abc import Callable, Set
from dataclasses import dataclass, field

from weft.ir import ops
from weft.ir.autodiff.adjoints import Frame, leaves
from weft.ir.autodiff.keeping import Kept
from weft.ir.core import Block, BlockArg, Value
from weft.ir.rewrite import literal
from weft.ir.types import Pointer, Prim, Tensor, Type, flat_size, flatten, i32, i64, pointer, tensor

__all__ = [
    "SLOTS",
    "Slots",
    "Spaced",
    "Tape",
    "counted",
    "has_slots",
    "index_at",
    "loop_of",
    "reverse_each",
    "reverse_spaced",
    "slots_of",
]

SLOTS = 64
_FEW = 1024  # the most scalars that are kept in the locals of an iteration of a parallel loop
_MANY = 1 << 22  # the most scalars that are kept in locals of the kernel

Step = Callable[[Frame, Value], None]  # emits iteration number `Value` of a loop


class Slots:
    """Local arrays for states and kept values, with a row for each slot: one for each of them, or for each scalar of a
    struct. `shared`: they are locals of the kernel, which are not on a stack."""

    def __init__(self, frame: Frame, kept: Kept, count: int, shared: bool = False) -> None:
        self.state, self.values = kept.state, kept.values
        build = frame.outermost if shared else frame.build
        kind = ops.SharedLocal if shared else ops.Alloca
        self.columns: list[tuple[Value, int | None]] = []  # of each scalar: the array, the place in its rows
        for item in (*kept.state, *kept.values):
            held, name = _held(item), f"{item.name}.slots"
            if isinstance(held, Tensor):
                whole = build.add(kind(type=pointer(tensor(held.elem, (count, held.count))), name=name))
                self.columns += [(whole, column) for column in range(held.count)]
            else:
                made = [build.add(kind(type=pointer(tensor(prim, (count,))), name=name)) for prim in flatten(held)]
                self.columns += [(array, None) for array in made]

    def save(self, frame: Frame, index: Value) -> None:
        """Copy the state to a slot."""
        for leaf, slot in zip(self._leaves(frame), self._at(frame, index), strict=False):
            frame.build.add(ops.Store(slot, frame.build.add(ops.Load(leaf))))

    def keep(self, frame: Frame, index: Value) -> None:
        """Copy the values of an iteration to its slot."""
        add = frame.build.add
        slots = iter(self._at(frame, index)[sum(len(flatten(_held(local))) for local in self.state) :])
        for op in self.values:
            value = frame.value(op)
            if isinstance(value.type, Prim):
                add(ops.Store(next(slots), value))
                continue
            for part in range(flat_size(value.type)):
                add(ops.Store(next(slots), add(ops.Extract(value, part))))

    def restore(self, frame: Frame, index: Value) -> None:
        """Copy a slot to the state, and load the values in it."""
        add = frame.build.add
        slots = iter(self._at(frame, index))
        for leaf in self._leaves(frame):
            add(ops.Store(leaf, add(ops.Load(next(slots)))))
        for op in self.values:
            parts: list[Value] = [add(ops.Load(next(slots))) for _ in flatten(op.type)]
            frame.values[op] = parts[0] if isinstance(op.type, Prim) else add(ops.MakeTensor(parts, type=op.type))

    def copy(self, frame: Frame, source: Value, target: Value) -> None:
        """Copy one slot to another."""
        for old, new in zip(self._at(frame, source), self._at(frame, target), strict=True):
            frame.build.add(ops.Store(new, frame.build.add(ops.Load(old))))

    def _at(self, frame: Frame, index: Value) -> list[Value]:
        add = frame.build.add
        places = [[index] if column is None else [index, _const(frame, column)] for _, column in self.columns]
        return [add(ops.ElementPtr(array, place)) for (array, _), place in zip(self.columns, places, strict=True)]

    def _leaves(self, frame: Frame) -> list[Value]:
        return [leaf for local in self.state for leaf in leaves(frame.build, frame.value(local))]


@dataclass
class Tape:
    """What the forward sweep of a block leaves for the backward sweep of an op in it. `saved`: the values that locals
    had before the op. `kept`: what is kept of a loop. `advance`: the ops that compute the next state from a state.
    `slots`: where it is kept. `count`: the number of iterations. `shift`: the logarithm of the distance between saved
    iterations, if it is not 0 always."""

    saved: list[tuple[Value, Value]] = field(default_factory=list[tuple[Value, Value]])
    kept: Kept = field(default_factory=lambda: Kept([]))
    advance: Set[Value] = frozenset()
    slots: Slots | None = None
    count: Value | None = None
    shift: Value | None = None


def _held(item: Value) -> Type:
    return item.type.elem if isinstance(item.type, Pointer) else item.type


def _const(frame: Frame, number: int) -> Value:
    return frame.build.add(ops.Const(number, type=i32))


def _binary(frame: Frame, kind: str, a: Value, b: Value | int) -> Value:
    if isinstance(b, int):
        b = frame.build.add(ops.Const(b, type=a.type))
    return frame.build.add(ops.Binary(kind, a, b))


# ---- the iterations of a For -----------------------------------------------------------------------------------------


def _number(op: ops.For) -> int | None:
    """The number of iterations, if it is known."""
    begin, end, step = (literal(value) for value in (op.begin, op.end, op.step))
    if begin is None or end is None or not step:
        return None
    return len(range(int(begin), int(end), int(step)))


def has_slots(op: ops.For, kept: Kept, shared: bool) -> bool:
    """Whether a loop gets a slot for each iteration. `shared`: no parallel loop is around it."""
    number = _number(op)
    return number is not None and number * kept.scalars <= (_MANY if shared else _FEW)


def slots_of(op: ops.For, frame: Frame, kept: Kept) -> Slots:
    """A slot for each iteration of a loop."""
    number = max(1, _number(op) or 0)
    return Slots(frame, kept, number, shared=number * kept.scalars > _FEW)


def counted(op: ops.For, frame: Frame) -> Value:
    """The number of iterations of a For, an i32."""
    number = _number(op)
    if number is not None:
        return _const(frame, number)
    add = frame.build.add
    begin, end, step = (add(ops.Cast(frame.value(value), type=i64)) for value in (op.begin, op.end, op.step))
    known = literal(op.step)
    distance = _binary(frame, "sub", end, begin)
    if known == 1:
        return add(ops.Cast(_binary(frame, "max", distance, 0), type=i32))
    # rounded up: -(-distance // step)
    negated = add(ops.Unary("neg", distance))
    rounded = add(ops.Unary("neg", _binary(frame, "floordiv", negated, step)))
    return add(ops.Cast(_binary(frame, "max", rounded, 0), type=i32))


def index_at(op: ops.For, frame: Frame, number: Value) -> Value:
    """The index of an iteration of a For."""
    (arg,) = op.body.args
    add = frame.build.add
    moved = number if number.type is arg.type else add(ops.Cast(number, type=arg.type))
    if literal(op.step) != 1:
        moved = _binary(frame, "mul", moved, frame.value(op.step))
    return moved if literal(op.begin) == 0 else _binary(frame, "add", frame.value(op.begin), moved)


def loop_of(frame: Frame, count: Value, body: Callable[[Frame, Value], None]) -> None:
    """A loop over 0 .. count - 1."""
    arg = BlockArg(i32)
    begin, step = _const(frame, 0), _const(frame, 1)
    loop = frame.build.add(ops.For(begin, count, step, body=Block([arg])))
    inner = frame.inner(loop.body, frame.build.span)
    body(inner, arg)


def downwards(frame: Frame, count: Value, body: Callable[[Frame, Value], None]) -> None:
    """A loop over count - 1 .. 0."""

    def one(inner: Frame, number: Value) -> None:
        last = _binary(inner, "sub", count, 1)
        body(inner, _binary(inner, "sub", last, number))

    loop_of(frame, count, one)


# ---- one slot for each iteration -------------------------------------------------------------------------------------


def reverse_each(frame: Frame, tape: Tape, sweep: Step) -> None:
    """Reverse the iterations of which each has a slot, or which need none."""
    assert tape.count is not None

    def one(inner: Frame, number: Value) -> None:
        if tape.slots is not None:
            tape.slots.restore(inner, number)
        sweep(inner, number)

    downwards(frame, tape.count, one)


# ---- spaced slots ----------------------------------------------------------------------------------------------------


class Spaced:
    """Locals that count the iterations of a forward sweep, and space the saved ones."""

    def __init__(self, frame: Frame, kept: Kept) -> None:
        self.slots = Slots(frame, kept, SLOTS)
        self.count, self.shift = (frame.build.add(ops.Alloca(type=pointer(i32), name=name)) for name in _NAMES)
        for local in (self.count, self.shift):
            frame.build.add(ops.Store(local, _const(frame, 0)))

    def step(self, frame: Frame) -> None:
        """At the beginning of an iteration: save the state if it is the turn of the iteration."""
        add = frame.build.add
        count = add(ops.Load(self.count))
        if self.slots.state:
            self._save_if_due(frame, count)
        add(ops.Store(self.count, _binary(frame, "add", count, 1)))

    def _save_if_due(self, frame: Frame, count: Value) -> None:
        add = frame.build.add
        shift = add(ops.Load(self.shift))
        mask = _binary(frame, "sub", _binary(frame, "shl", _const(frame, 1), shift), 1)
        due = _binary(frame, "eq", _binary(frame, "and", count, mask), 0)
        branch = add(ops.If(due))
        self._save(frame.inner(branch.then, frame.build.span), count, shift)

    def _save(self, frame: Frame, count: Value, shift: Value) -> None:
        slot = _binary(frame, "shr", count, shift)
        full = frame.build.add(ops.If(_binary(frame, "eq", slot, SLOTS)))
        inner = frame.inner(full.then, frame.build.span)
        loop_of(inner, _const(inner, SLOTS // 2), self._drop)
        inner.build.add(ops.Store(self.shift, _binary(inner, "add", shift, 1)))
        now = frame.build.add(ops.Load(self.shift))
        self.slots.save(frame, _binary(frame, "shr", count, now))

    def _drop(self, frame: Frame, number: Value) -> None:
        self.slots.copy(frame, _binary(frame, "mul", number, 2), number)

    def tape(self, frame: Frame, tape: Tape) -> None:
        """After the loop: note the number of iterations, and the distance if there is a state."""
        tape.count = frame.build.add(ops.Load(self.count))
        if self.slots.state:
            tape.slots = self.slots
            tape.shift = frame.build.add(ops.Load(self.shift))


_NAMES = ("count", "shift")


def reverse_spaced(frame: Frame, tape: Tape, run: Step, sweep: Step) -> None:
    """Reverse the iterations between saved states, the last ones first. `run` emits an iteration, and `sweep` emits an
    iteration and its reverse."""
    slots, count, shift = tape.slots, tape.count, tape.shift
    assert slots is not None
    assert count is not None
    assert shift is not None
    near = Slots(frame, Kept(slots.state), SLOTS)
    distance = _binary(frame, "shl", _const(frame, 1), shift)
    stretches = _binary(frame, "shr", _binary(frame, "add", count, _binary(frame, "sub", distance, 1)), shift)

    within = _binary(frame, "max", _binary(frame, "sub", shift, SLOTS.bit_length() - 1), 0)

    def stretch(inner: Frame, number: Value) -> None:
        slots.restore(inner, number)
        begin = _binary(inner, "shl", number, shift)
        length = _binary(inner, "min", distance, _binary(inner, "sub", count, begin))
        _Stretch(near, begin, length, within, run, sweep).reverse(inner)

    downwards(frame, stretches, stretch)


@dataclass
class _Stretch:
    """Iterations `begin` .. `begin + length - 1`, whose first one begins with the current state. `shift`: the logarithm
    of the distance between those that are saved in `slots`."""

    slots: Slots
    begin: Value
    length: Value
    shift: Value
    run: Step
    sweep: Step

    def reverse(self, frame: Frame) -> None:
        """Emit their sweeps, the last one first."""
        distance = _binary(frame, "shl", _const(frame, 1), self.shift)
        less = _binary(frame, "sub", distance, 1)
        last = _binary(frame, "sub", self.length, 1)

        def again(inner: Frame, number: Value) -> None:
            due = inner.build.add(ops.If(_binary(inner, "eq", _binary(inner, "and", number, less), 0)))
            saving = inner.inner(due.then, inner.build.span)
            self.slots.save(saving, _binary(saving, "shr", number, self.shift))
            more = inner.build.add(ops.If(_binary(inner, "lt", number, last)))
            running = inner.inner(more.then, inner.build.span)
            self.run(running, _binary(running, "add", self.begin, number))

        loop_of(frame, self.length, again)
        groups = _binary(frame, "shr", _binary(frame, "add", self.length, less), self.shift)

        def group(inner: Frame, number: Value) -> None:
            first = _binary(inner, "shl", number, self.shift)
            size = _binary(inner, "min", distance, _binary(inner, "sub", self.length, first))
            downwards(inner, size, lambda most, place: self._one(most, number, first, place))

        downwards(frame, groups, group)

    def _one(self, frame: Frame, group: Value, first: Value, place: Value) -> None:
        """Reverse iteration `place` of a group: run those before it again."""
        self.slots.restore(frame, group)
        start = _binary(frame, "add", self.begin, first)
        loop_of(frame, place, lambda inner, number: self.run(inner, _binary(inner, "add", start, number)))
        self.sweep(frame, _binary(frame, "add", start, place))
