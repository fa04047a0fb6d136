"""Uniformity analysis: the facts about consecutive iterations of a parallel loop that running them in SIMD lanes relies
on.

Number the lanes 0, 1, 2 ... along the innermost axis. Every value of a range_for's body has a *step*:

    0      all lanes have the same value        x[k] where k is a loop's index, %i of a loop over (%i, %j)
    c      lane n has the value of lane 0 + c*n     %j, %j + 3, 2 * %j; the address of x[%i, %j]
    None   anything else                        x[idx[%j]], sin(%j)

Only an integer of 32 bits or more, or an address, has a step other than 0 and None.

A local is *split* (each lane has its own copy) unless all lanes store the same value into it, together. A loop is
*divergent* if lanes may join it, leave it, or start its next iteration, at different times. If lanes can only leave it,
the lanes still in it are in the same iteration, and a split local may be *common* to them. An example is the number of
the iteration: lanes that have left keep the one in which they left.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from weft.ir.addresses import is_index, root_of
from weft.ir.core import Block, Op, Value, ops_of
from weft.ir.intervals import interval
from weft.ir.ops import (
    Address,
    Alloca,
    Atomic,
    Binary,
    Break,
    Cast,
    Const,
    Continue,
    For,
    If,
    Load,
    Store,
    Task,
    While,
)
from weft.ir.types import Prim, u1

__all__ = ["FAMILY", "RULES", "Uniformity", "target_of", "uniformity"]

Step = int | None
_FAR = 2**30  # smaller numbers stay within an i32 when a small number is added
_ROUND = 2**24  # smaller steps of an i32 do not wrap around within 64 lanes
FAMILY = {"add": "add", "sub": "add", "min": "min", "max": "max", "and": "and", "or": "or", "xor": "xor", "mul": "mul"}


class Uniformity:
    """The facts about the iterations of `task`, or the iterations of a loop that counts by one. `reason` says why they
    cannot run in lanes, if so. `sums` are the stores that add to an accumulator outside (see `thread_local`), each with
    its operator and the added value."""

    def __init__(self, task: Task | For) -> None:
        self.task = task
        self.reason = ""
        self.steps: dict[Value, Step] = {}
        self.split: set[Value] = set()
        self.common: dict[Value, Op] = {}  # split locals, and the loop in which those still in it share them
        self.divergent: set[Op] = set()
        self.sums: dict[Store, tuple[str, Value]] = {}
        self.skipped: set[Op] = set()  # loads of accumulators and the sums themselves: part of `sums`
        self._inside: dict[Op, None] = {}  # a set in order: of it comes the order of `sums`
        for arg in task.body.args:
            self.steps[arg] = 0
        self.steps[task.body.args[-1]] = 1
        self._look(task.body)
        if not self.reason:
            self._settle()

    def step(self, value: Value) -> Step:
        """The difference of the value from lane to lane, or None if it is not constant."""
        return self.steps.get(value, 0)

    def varies(self, value: Value) -> bool:
        """Whether lanes may have different values."""
        return self.steps.get(value, 0) != 0

    def is_split(self, ptr: Value) -> bool:
        """Whether the address is in a local of which each lane has its own copy."""
        return root_of(ptr) in self.split

    def index_step(self, value: Value) -> Step:
        """The step of an index. It does not wrap, because an index that did would be outside its field. This does not
        hold for u32: in `x[u32(%j) - 5]` under a condition, inactive lanes have indices that wrapped modulo 2**32. Nor
        does it hold if a few steps wrap around completely, so that lanes on both sides are inside: `x[%j * 2**30]`. Nor
        does it hold if a 64-bit index is far from the 32-bit number that it is computed from: `x[i64(%j) + 2**31]`.
        Nor does it hold for 64-bit indices that fall from lane to lane, `x[i64(%k - %j)]`: that of lane 0 is the
        largest. Its 32-bit number may have wrapped if an active lane is at the end of an object of almost 2**31
        elements.
        """
        step = self.step(value)
        if step is not None:
            return step
        if isinstance(value, Cast) and is_index(value.type):
            step = self.index_step(value.x)
            if step is None or _bits(value) < _bits(value.x) or _wraps(value):
                return None
            return step if _bits(value) == _bits(value.x) or 0 <= step < _ROUND else None
        if isinstance(value, Binary) and value.kind in _LINEAR and not _moves_far(value):
            step = _LINEAR[value.kind](self.index_step(value.lhs), self.index_step(value.rhs), value)
            return None if step and step < 0 and _bits(value) == 64 else step
        return None

    def likely_step(self, value: Value) -> Step:
        """The step that an index has in most places: where it is not clamped to its range, nor wraps around."""
        step = self.index_step(value)
        if step is not None:
            return step
        if isinstance(value, Cast) and is_index(value.type):
            return self.likely_step(value.x)
        if not isinstance(value, Binary):
            return None
        a, b = self.likely_step(value.lhs), self.likely_step(value.rhs)
        if value.kind in _LINEAR:
            return _LINEAR[value.kind](a, b, value)
        if value.kind in ("min", "max"):
            return a if b == 0 else b if a == 0 else None
        return a if value.kind in ("mod", "raw_mod", "and") and b == 0 else None

    def joins(self, op: For) -> bool:
        """Whether lanes begin a loop at different indices, and end it at the same one. Then a lane waits until the
        index is its own first one, so that all lanes in the loop have the same index. (They do not wait for others if
        a `break` may end it sooner.)"""
        if self.step(op.begin) is not None or self.step(op.end) != 0:
            return False
        if not isinstance(op.step, Const) or abs(op.step.value) != 1:
            return False
        return not any(isinstance(inner, Break) and target_of(inner) is op for inner in op.walk())

    def reads_common(self, op: Op) -> bool:
        """Whether the op loads from a split local a value that all active lanes have in common."""
        loop = self.common.get(op.ptr) if isinstance(op, Load) else None
        return loop is not None and op.within(loop)

    # ---- what cannot be done, and accumulators

    def _look(self, body: Block) -> None:
        for op in body:
            for inner in op.walk():
                self._inside[inner] = None
                if not inner.lanes:
                    self.reason = f"it holds '{inner.opname}'"
                elif (
                    isinstance(inner, Address)
                    and isinstance(root_of(inner), Alloca)
                    and inner.base is not root_of(inner)
                ):
                    self.reason = "it increments a local twice"
                elif isinstance(inner, Atomic) and isinstance(root_of(inner.ptr), Alloca):
                    self.reason = "it contains an atomic on a local"
        for inner in list(self._inside):
            if isinstance(inner, Store) and self._outside(root_of(inner.ptr)):
                self._sum(inner)
            elif isinstance(inner, Alloca):
                loop = _loop_of(inner)
                if loop is not None:
                    self.common[inner] = loop
        if any(self._reads(store.ptr) for store in self.sums):
            self.reason = "it reads an accumulator"

    def _outside(self, root: Value) -> bool:
        return isinstance(root, Alloca) and root not in self._inside

    def _sum(self, store: Store) -> None:
        """`store %acc, (load %acc) + %v`, and nothing writes to the accumulator in between."""
        value, place = store.value, store.ptr
        others = [user for user in place.users if not isinstance(user, (Load, Store))]
        if not isinstance(place, Alloca) or others or not isinstance(value, Binary) or value.kind not in FAMILY:
            self.reason = "it writes to a local of the thread"
            return
        mine = (value.lhs, value.rhs)
        old = next((load for load in place.users if load in mine and load in self._inside), None)
        if old is None or (value.kind == "sub" and old is not value.lhs) or value.lhs is value.rhs:
            self.reason = "it writes to a local of the thread"
            return
        if len(old.users) > 1 or len(value.users) > 1 or _is_stale(old, store):
            self.reason = "it reads an accumulator"
            return
        if value.type is u1:
            self.reason = "it reduces truth values, which are stored as bytes"
            return
        self.sums[store] = (value.kind, value.rhs if old is value.lhs else value.lhs)
        self.skipped |= {old, value}

    def _reads(self, accumulator: Value) -> bool:
        """Whether anything but the sums themselves loads from it."""
        loads = (user for user in accumulator.users if isinstance(user, Load) and user in self._inside)
        return any(load not in self.skipped for load in loads)

    # ---- the fixpoint: everything starts out shared, and facts only get weaker

    def _settle(self) -> None:
        changed = True
        while changed:
            before = (len(self.split), len(self.divergent), len(self.common), dict(self.steps))
            self._block(self.task.body)
            changed = before != (len(self.split), len(self.divergent), len(self.common), self.steps)

    def _block(self, block: Block) -> None:
        for op in block:
            if op.lanes == "rule":
                RULES[type(op)](self, op)
            elif op.lanes == "own" or any(map(self.varies, op.operands)):
                self._set(op, None)
            for name in op.region_names:
                self._block(getattr(op, name))

    def _set(self, value: Value, step: Step) -> None:
        """Facts only become weaker: a step that differs from the previous one becomes None."""
        known = self.steps.get(value, 0)
        if known == step:
            return
        if known != 0 or (step is not None and abs(step) > _FAR):
            step = None
        self.steps[value] = step

    def _parts(self, op: Op) -> bool:
        """Whether only some lanes go into an `if`. (All go the same way where one way is right for all.)"""
        return isinstance(op, If) and not (op.versioned or op.general) and self.varies(op.condition)

    def apart(self, op: Op, block: Block | None) -> bool:
        """Whether only some lanes of `block` may run `op`, which is nested in it."""
        inner = op.block
        while inner is not block:
            assert inner is not None
            owner = inner.owner
            assert owner is not None
            if owner in self.divergent or self._parts(owner):
                return True
            inner = owner.block
        return False


_KEPT = "_uniformity"  # the attribute of an op in which `uniformity` keeps facts


def uniformity(root: Task | For) -> Uniformity:
    """The facts about `root`. They are kept until an op of its body is replaced or gets other operands: several passes
    in a row use them, and change only what ops say about lanes."""
    now = [(op, *op.operands) for op in ops_of(root.body)]
    kept: tuple[list[tuple[Value, ...]], Uniformity] | None = vars(root).get(_KEPT)
    if kept is None or kept[0] != now:
        kept = vars(root)[_KEPT] = now, Uniformity(root)
    return kept[1]


def target_of(op: Op) -> Op:
    """The loop (or task) that a break or continue belongs to."""
    owner = op.parent
    while isinstance(owner, If):
        owner = owner.parent
    assert owner is not None
    return owner


def _loop_of(local: Alloca) -> Op | None:
    """The only loop that stores to a scalar local, if both are in the same block and the loop never starts its next
    iteration early. Other stores are in the same block too."""
    stores = [user for user in local.users if isinstance(user, Store)]
    if not all(isinstance(user, (Load, Store)) for user in local.users):
        return None
    loops = {_beside(store, local) for store in stores if store.block is not local.block}
    loop = loops.pop() if len(loops) == 1 else None
    if not isinstance(loop, (For, While)):
        return None
    return None if any(isinstance(op, Continue) and target_of(op) is loop for op in loop.walk()) else loop


def _beside(op: Op, local: Alloca) -> Op | None:
    """The ancestor of `op` (or `op` itself) in the block of the local."""
    around: Op | None = op
    while around is not None and around.block is not local.block:
        around = around.parent
    return around


def _is_stale(old: Op, store: Store) -> bool:
    """Whether something may be stored to the local between the load and the store."""
    op: Op | None = old.next
    while op is not store:
        assert op is not None
        if any(isinstance(inner, Store) and inner.ptr is store.ptr for inner in op.walk()):
            return True
        op = op.next
    return False


def _wraps(cast: Cast) -> bool:
    """Whether the cast maps consecutive unsigned numbers to distant ones, at 2**32."""
    assert isinstance(cast.x.type, Prim)
    return not cast.x.type.is_signed and _bits(cast) > _bits(cast.x)


def _moves_far(op: Binary) -> bool:
    """Whether a sum of 64-bit numbers may be far from both of them. A number near the limits of an i32, where other
    lanes wrap, may then be an index inside the field."""
    if op.kind not in ("add", "sub") or _bits(op) < 64:
        return False
    return not any(low >= -_ROUND and high <= _ROUND for low, high in (interval(op.lhs), interval(op.rhs)))


def _bits(value: Value) -> int:
    assert isinstance(value.type, Prim)
    return value.type.bits


def _sum_step(a: Step, b: Step, op: Binary) -> Step:
    return None if a is None or b is None else a + b


def _difference_step(a: Step, b: Step, op: Binary) -> Step:
    return None if a is None or b is None else a - b


def _product_step(a: Step, b: Step, op: Binary) -> Step:
    if a == 0 and b == 0:
        return 0
    if isinstance(op.rhs, Const) and a is not None:
        return a * int(op.rhs.value)
    if isinstance(op.lhs, Const) and b is not None:
        return b * int(op.lhs.value)
    return None


_LINEAR: dict[str, Callable[[Step, Step, Binary], Step]] = {
    "add": _sum_step,
    "sub": _difference_step,
    "mul": _product_step,
}


def _binary(facts: Uniformity, op: Binary) -> None:
    a, b = facts.step(op.lhs), facts.step(op.rhs)
    if op.kind in _LINEAR:
        facts._set(op, _LINEAR[op.kind](a, b, op))
    else:
        facts._set(op, 0 if a == 0 and b == 0 else None)


def _cast(facts: Uniformity, op: Cast) -> None:
    """Narrowing keeps the step, modulo the width. Widening keeps it if no lane wrapped."""
    step = facts.step(op.x)
    if step and not (is_index(op.type) and (_bits(op) <= _bits(op.x) or _near(op.x))):
        step = None
    facts._set(op, step)


def _near(value: Value) -> bool:
    low, high = interval(value)
    return low >= -_FAR and high <= _FAR


def _load(facts: Uniformity, op: Load) -> None:
    split = facts.is_split(op.ptr) and not facts.reads_common(op)
    facts._set(op, 0 if facts.step(op.ptr) == 0 and not split else None)


def _store(facts: Uniformity, op: Store) -> None:
    root = root_of(op.ptr)
    loop = facts.common.get(root)
    if loop is not None and (facts.varies(op.value) or (op.within(loop) and facts.apart(op, loop.regions[0]))):
        del facts.common[root]
    if not isinstance(root, Alloca) or facts._outside(root):
        return
    if facts.varies(op.value) or facts.varies(op.ptr) or facts.apart(op, root.block):
        facts.split.add(root)


def _address(facts: Uniformity, op: Address) -> None:
    """In bytes; for a local, which may be split, only whether the lanes mean the same element."""
    total = facts.step(op.base)
    for index, stride in zip(op.indices, op.strides):
        step = facts.index_step(index)
        if facts.varies(stride) or (step and not isinstance(stride, Const)):
            step = None
        if step is None or total is None:
            total = None
            break
        total += step * int(stride.value) if isinstance(stride, Const) else 0
    facts._set(op, total)


def _for(facts: Uniformity, op: For) -> None:
    begin, end, step = facts.step(op.begin), facts.step(op.end), facts.step(op.step)
    joins = facts.joins(op)
    facts._set(op.body.args[0], 0 if joins else begin if step == 0 else None)
    if joins:
        facts.common = {local: loop for local, loop in facts.common.items() if loop is not op}
    if step != 0 or begin is None or begin != end or (begin and not (_near(op.begin) and _near(op.end))):
        facts.divergent.add(op)


def _jump(facts: Uniformity, op: Op) -> None:
    """A jump that only some lanes of its loop take makes the loop divergent."""
    loop = target_of(op)
    assert isinstance(loop, (For, While, Task))
    if facts.apart(op, loop.body):
        facts.divergent.add(loop)


RULES: dict[type[Op], Callable[[Uniformity, Any], None]] = {
    Binary: _binary,
    Cast: _cast,
    Load: _load,
    Store: _store,
    Address: _address,
    For: _for,
    Break: _jump,
    Continue: _jump,
}
