"""Writes control flow in lanes: code on which the lanes agree branches, and all other code is masked.

if %p {A} else {B}       both branches, one after the other, each with its lanes; skipped if no lane takes it
while { A; break }       runs until no lane is left; `break` and `continue` remove lanes from masks in locals
for %i in %b..%end { A } if lanes have different begins and one end, they count together, and join at their own begins
after an if that lanes may have left, the rest of the block is inside `if any_active`
"""

from __future__ import annotations

from weft.ir.core import Block, Op, Value
from weft.ir.mapping.stretches import may_overflow
from weft.ir.mapping.vectorize.cold import write_by_lane
from weft.ir.mapping.vectorize.state import Mask, Masks, Vectorizer, by_lane, copied
from weft.ir.ops import Break, Const, Continue, For, If, Reduce, Select, Store, Task, While
from weft.ir.tasks import is_masked
from weft.ir.types import Prim, Type, u1
from weft.ir.uniform import target_of

__all__ = ["write_body"]


def write_body(v: Vectorizer, task: Task | For) -> None:
    """Write the body of the task, or of a loop whose iterations run in lanes. Its `continue` ends an iteration."""
    if task in v.facts.divergent:
        slots = v.mask_slots(v.point.active)
        v.loops.masks[task] = Masks(slots, slots)
    v.block(task.body)


def _nested(v: Vectorizer, block: Block, old: Block, active: Mask) -> Block:
    """Write the ops of an old block at the end of a new one, for these lanes."""
    with v.into(block, active):
        v.block(old)
    return block


# ---- branches --------------------------------------------------------------------------------------------------------


@by_lane(If)
def _if(v: Vectorizer, op: If) -> None:
    if not v.facts.varies(op.condition):
        _plain_if(v, op, v.scalar(op.condition))
    elif op.versioned or op.general:
        some = v.any(v.difference(v.point.active, v.condition(op.condition)))
        _plain_if(v, op, v.binary("xor", some, v.const(True, u1)))
    else:
        _masked_if(v, op)
    loop = _left(v, op)
    if loop is not None:
        v.point.active = v.intersection(v.point.active, v.read_mask(v.loops.masks[loop].iteration))
        v.rest()


def _left(v: Vectorizer, op: If) -> Op | None:
    """The divergent loop that jumps in the If belong to, or None if no lane leaves here."""
    found = (target_of(inner) for inner in op.walk() if isinstance(inner, (Break, Continue)))
    around = target_of(op)
    return next((loop for loop in found if loop is around and loop in v.facts.divergent), None)


def _plain_if(v: Vectorizer, op: If, condition: Value) -> None:
    """All active lanes take the same branch. A version that rarely runs is written for one lane after another."""
    made = v.add(If(condition, versioned=op.versioned, seldom=op.seldom))
    _nested(v, made.then, op.then, v.point.active)
    with v.into(made.orelse):
        if not (op.versioned and write_by_lane(v, op.orelse)):
            v.block(op.orelse)


def _masked_if(v: Vectorizer, op: If) -> None:
    condition, active = v.condition(op.condition), v.point.active
    sides = [("then", op.then, v.intersection(active, condition))]
    if op.orelse.first is not None:
        sides.append(("orelse", op.orelse, v.difference(active, condition)))
    for name, block, lanes in sides:
        if block.first is None:
            continue
        left, v.loops.left = v.loops.left, None
        if name in op.unasked:
            assert v.point.build.block is not None
            _nested(v, v.point.build.block, block, lanes)
        elif block is op.orelse and is_masked(op):  # the branch that is expected is `then`
            none = v.binary("xor", v.any(lanes), v.const(True, u1))
            _nested(v, v.add(If(none, seldom=op.seldom)).orelse, block, lanes)
        else:
            _nested(v, v.add(If(v.any(lanes))).then, block, lanes)
        v.loops.left = left


# ---- jumps -----------------------------------------------------------------------------------------------------------


@by_lane(Break)
def _break(v: Vectorizer, op: Break) -> None:
    masks = v.loops.masks.get(target_of(op))
    if masks is None:
        v.add(Break())
    else:
        v.leave(masks.loop)
        if masks.iteration is not masks.loop:
            v.leave(masks.iteration)


@by_lane(Continue)
def _continue(v: Vectorizer, op: Continue) -> None:
    masks = v.loops.masks.get(target_of(op))
    if masks is None:
        v.add(Continue())
    else:
        v.leave(masks.iteration)


# ---- loops -----------------------------------------------------------------------------------------------------------


@by_lane(While)
def _while(v: Vectorizer, op: While) -> None:
    if op not in v.facts.divergent:
        _nested(v, v.add(While(op.stretch)).body, op.body, v.point.active)
        return
    _enter(v, op)
    with v.into(v.add(While(op.stretch)).body):
        _begin(v, op, v.read_mask(v.loops.masks[op].loop))
        _iteration(v, op)
        _leave_unless(v, v.any(v.read_mask(v.loops.masks[op].loop)))


@by_lane(For)
def _for(v: Vectorizer, op: For) -> None:
    if op in v.facts.divergent:
        (_joined_for if v.facts.joins(op) else _masked_for)(v, op)
        return
    begin, end, step = (v.scalar(value) for value in (op.begin, op.end, op.step))
    (index,) = op.body.args
    v.known[index] = (mine,) = (copied(index),)
    body = Block([mine])
    v.add(For(begin, end, step, op.schedule, body=body))
    _nested(v, body, op.body, v.point.active)


def _enter(v: Vectorizer, op: For | While) -> None:
    """Make the masks of a divergent loop. If lanes can only leave it, one mask is both."""
    loop = v.mask_slots(v.point.active)
    v.loops.masks[op] = Masks(loop, v.mask_slots(v.point.active) if _continues(op) else loop)


def _continues(op: For | While) -> bool:
    return any(isinstance(inner, Continue) and target_of(inner) is op for inner in op.walk())


def _begin(v: Vectorizer, op: Op, active: Mask) -> None:
    """Begin an iteration with these lanes."""
    masks, v.point.active = v.loops.masks[op], active
    if masks.iteration is not masks.loop:
        v.write_mask(masks.iteration, active)


def _iteration(v: Vectorizer, op: For | While) -> None:
    """The body of a divergent loop. If lanes can only leave it, all lanes missing in a mask have left."""
    before, v.loops.left = v.loops.left, None if _continues(op) else op
    assert v.point.build.block is not None
    _nested(v, v.point.build.block, op.body, v.point.active)
    v.loops.left = before


def _leave_unless(v: Vectorizer, more: Value) -> None:
    """Leave the loop around if no lane is in it any more."""
    with v.into(v.add(If(more)).orelse):
        v.add(Break())


def _masked_for(v: Vectorizer, op: For) -> None:
    """A lane stays in the loop while its own index is below its own end, and, if that is not certain, has a next index.
    Lanes that have left may count past the end of the index's type, because only the fact that they have left matters.
    """
    (index,) = op.body.args
    alike = v.facts.step(index) is not None
    use = v.scalar if alike else v.vector
    slots = list[Value]()
    for _ in v.each_vector(alike):
        slots.append(v.local(index.type if alike else v.wide(index.type)))
        v.add(Store(slots[-1], use(op.begin)))
    last = [_last_but_one(v, op) for _ in v.each_vector()] if may_overflow(op) else []
    _enter(v, op)
    with v.into(v.add(While(-abs(op.schedule.stretch))).body):
        v.known[index] = tuple(v.load(slot) for slot in slots)
        masks = v.loops.masks[op]
        more = tuple(_more(v, op, v.vector(index), v.vector(op.end)) for _ in v.each_vector())
        active = v.intersection(v.read_mask(masks.loop), more)
        v.write_mask(masks.loop, active)
        _leave_unless(v, v.any(active))
        _begin(v, op, active)
        _iteration(v, op)
        if last:
            more = tuple(_more(v, op, v.vector(index), last[number]) for number in v.each_vector())
            v.write_mask(masks.loop, v.intersection(v.read_mask(masks.loop), more))
        for number in v.each_vector(alike):
            v.add(Store(slots[number], v.binary("add", use(index), use(op.step))))


def _joined_for(v: Vectorizer, op: For) -> None:
    """A loop that lanes begin at different indices and end at the same one: they count together, from the first index
    that a lane has, and a lane is active from its own one on."""
    assert isinstance(op.step, Const)
    (index,), rises = op.body.args, op.step.value > 0
    v.known[index] = (mine,) = (copied(index),)
    begins = tuple(v.vector(op.begin) for _ in v.each_vector())
    body = Block([mine])
    _enter(v, op)
    v.add(For(_first_begin(v, op, begins, rises), v.scalar(op.end), v.scalar(op.step), op.schedule, body=body))
    with v.into(body):
        masks = v.loops.masks[op]
        joined = tuple(v.binary("ge" if rises else "le", v.splat(mine), begin) for begin in begins)
        active = v.intersection(v.read_mask(masks.loop), joined)
        with v.into(v.add(If(v.any(active))).then):
            _begin(v, op, active)
            before, v.loops.left = v.loops.left, None
            assert v.point.build.block is not None
            _nested(v, v.point.build.block, op.body, active)
            v.loops.left = before


def _first_begin(v: Vectorizer, op: For, begins: Mask, rises: bool) -> Value:
    """The first of the indices at which active lanes begin a loop."""
    kind, found = "min" if rises else "max", list[Value]()
    for begin, active in zip(begins, v.point.active, strict=True):
        found.append(v.add(Select(active, begin, v.vector(op.end))))
    while len(found) > 1:
        found.append(v.binary(kind, found.pop(0), found.pop(0)))
    return v.add(Reduce(kind, found[0]))


def _more(v: Vectorizer, op: For, index: Value, end: Value) -> Value:
    """Whether the loop goes on, in each lane: which side of `end` counts depends on the sign of the step."""
    if isinstance(op.step, Const):
        return v.binary("lt" if op.step.value > 0 else "gt", index, end)
    return v.add(Select(_rises(v, op), v.binary("lt", index, end), v.binary("gt", index, end)))


def _last_but_one(v: Vectorizer, op: For) -> Value:
    """`end - step`, or as near as the type comes: an index has one that follows it if it is short of this."""
    if isinstance(op.step, Const):
        return _before_end(v, op, op.step.value > 0)
    return v.add(Select(_rises(v, op), _before_end(v, op, True), _before_end(v, op, False)))


def _before_end(v: Vectorizer, op: For, rises: bool) -> Value:
    type = _prim(op.end.type)
    end, step = v.vector(op.end), v.vector(op.step)
    low, high = (-(1 << type.bits - 1), (1 << type.bits - 1) - 1) if type.is_signed else (0, (1 << type.bits) - 1)
    kind, limit = ("max", low) if rises else ("min", high)
    return v.binary("sub", v.binary(kind, end, v.binary("add", v.literal(limit, type), step)), step)


def _rises(v: Vectorizer, op: For) -> Value:
    """Whether the step of the loop is positive, in each lane."""
    return v.binary("gt", v.vector(op.step), v.literal(0, _prim(op.step.type)))


def _prim(type: Type) -> Prim:
    assert isinstance(type, Prim)
    return type
