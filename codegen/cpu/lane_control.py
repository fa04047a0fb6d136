"""Control flow in lanes: code on which the lanes agree branches, and all other code is masked."""

from __future__ import annotations

from weft.codegen.cpu.cold_lanes import write_by_lane
from weft.codegen.cpu.lanes import LaneWriter, Masks, by_lane
from weft.codegen.llvm.control_ops import counted_turn, last_but_one, looks, more_rounds
from weft.codegen.llvm.function import EMITTERS, Jump
from weft.ir.core import Op
from weft.ir.mapping.stretches import may_overflow
from weft.ir.ops import Break, Continue, For, If, Task, Warn, While
from weft.ir.tasks import is_masked
from weft.ir.types import Prim
from weft.ir.uniform import target_of

__all__ = ["write_body"]


def write_body(f: LaneWriter, task: Task | For) -> None:
    """The body of the parallel loop, or of a loop whose iterations run in lanes. Its `continue` jumps to the end of an
    iteration."""
    if task in f.facts.divergent:
        slots = f.mask_slots(f.here)
        f.masks[task] = Masks(slots, slots)
    f.jumps.append(Jump(f.region, f.region))
    f.block(task.body)
    f.jumps.pop()


@by_lane(If)
def _if(f: LaneWriter, op: If) -> None:
    before, region = f.here, f.region
    if f.facts.varies(op.condition):
        (_versions if op.versioned else _masked_if)(f, op)
    else:
        _plain_if(f, op)
    f.here, f.region = before, region
    loops = _left(f, op)
    if loops:
        f.here = f.both(before, f.read_mask(f.masks[loops[-1]].round))
        after = f.fresh_label("still")
        f.branch(f.any(f.here), after, region)
        f.start(after)


def _left(f: LaneWriter, op: If) -> list[Op]:
    """The divergent loop that jumps in the If belong to, in a list, or an empty list if no lane leaves here."""
    found = (target_of(inner) for inner in op.walk() if isinstance(inner, (Break, Continue)))
    around = target_of(op)
    return [loop for loop in found if loop is around and loop in f.facts.divergent][:1]


def _plain_if(f: LaneWriter, op: If) -> None:
    then, orelse, done = (f.fresh_label(hint) for hint in ("then", "else", "done"))
    here = f.here
    f.branch(f.use(op.condition), then, orelse, f.module.odds(True) if is_masked(op) else "")
    for label, block in ((then, op.then), (orelse, op.orelse)):
        f.start(label)
        f.here, f.region = here, done
        if op.versioned and block is op.orelse and write_by_lane(f, block, done):
            continue
        f.block(block)
        f.jump(done)
    f.start(done)


def _versions(f: LaneWriter, op: If) -> None:
    """Run `then` if the condition holds in all active lanes."""
    then, orelse, done = (f.fresh_label(hint) for hint in ("fast", "careful", "done"))
    here = f.here
    f.branch(f.any(f.without(here, f.condition(op.condition))), orelse, then, f.module.odds(False))
    for label, block in ((then, op.then), (orelse, op.orelse)):
        f.start(label)
        f.here, f.region = here, done
        if block is op.orelse and write_by_lane(f, block, done):
            continue
        f.block(block)
        f.jump(done)
    f.start(done)


def _masked_if(f: LaneWriter, op: If) -> None:
    condition, here = f.condition(op.condition), f.here
    sides = [("then", op.then, f.both(here, condition))]
    if op.orelse.first is not None:
        sides.append(("orelse", op.orelse, f.without(here, condition)))
    for name, block, lanes in sides:
        if block.first is None:
            continue
        side, after = f.fresh_label("side"), f.fresh_label("after")
        if name not in op.unasked:
            seldom = block is op.orelse and is_masked(op)
            f.branch(f.any(lanes), side, after, f.module.odds(False) if seldom else "")
            f.start(side)
        f.here, f.region, leaving, f.leaving = lanes, after, f.leaving, None
        f.block(block)
        f.leaving = leaving
        f.start(after)


@by_lane(Break)
def _break(f: LaneWriter, op: Break) -> None:
    masks = f.masks.get(target_of(op))
    if masks is None:
        EMITTERS[Break](f, op)
        return
    f.leave(masks.loop)
    f.leave(masks.round)
    f.jump(f.region)


@by_lane(Continue)
def _continue(f: LaneWriter, op: Continue) -> None:
    masks = f.masks.get(target_of(op))
    if masks is None:
        EMITTERS[Continue](f, op)
        return
    f.leave(masks.round)
    f.jump(f.region)


@by_lane(While)
def _while(f: LaneWriter, op: While) -> None:
    before, region = f.here, f.region
    if op not in f.facts.divergent:
        _plain_loop(f, op)
    else:
        head, latch, done = (f.fresh_label(hint) for hint in ("while", "latch", "done"))
        masks, turn = _enter(f, op), counted_turn(f, looks(f, op))
        f.start(head)
        f.here, f.region = f.read_mask(masks.loop), latch
        f.write_mask(masks.round, f.here)
        _round(f, op)
        f.start(latch)
        again = f.fresh_label("again") if turn else head
        f.branch(f.any(f.read_mask(masks.loop)), again, done)
        if turn:
            f.start(again)
            turn(f)
            f.jump(head)
        f.start(done)
    f.here, f.region = before, region


def _enter(f: LaneWriter, op: Op) -> Masks:
    f.masks[op] = Masks(f.mask_slots(f.here), f.mask_slots(f.here))
    return f.masks[op]


def _round(f: LaneWriter, op: While | For) -> None:
    """The body of a divergent loop. If lanes can only leave it, all lanes missing in a mask have left."""
    before = f.leaving
    jumps = (inner for inner in op.walk() if isinstance(inner, Continue))
    f.leaving = None if any(target_of(jump) is op for jump in jumps) else op
    f.block(op.body)
    f.leaving = before


def _plain_loop(f: LaneWriter, op: While | For) -> None:
    """All active lanes run the same iterations."""
    EMITTERS[type(op)](f, op)


@by_lane(For)
def _for(f: LaneWriter, op: For) -> None:
    before, region = f.here, f.region
    if op not in f.facts.divergent:
        _plain_loop(f, op)
    else:
        _masked_for(f, op)
    f.here, f.region = before, region


def _masked_for(f: LaneWriter, op: For) -> None:
    """A lane stays in the loop while its own index is below its own end, and, if that is not certain, has a next index.
    Lanes that have left may count past the end of the index's type, because only the fact that they have left matters.
    """
    head, body, latch, done = (f.fresh_label(hint) for hint in ("head", "body", "latch", "done"))
    index = op.body.args[0]
    assert isinstance(index.type, Prim)
    alike = f.facts.step(index) is not None
    width, slots = 1 if alike else f.lanes, list[str]()
    with f.wide(width):
        type = f.spell(index.type)
        for _ in f.each_vector(alike):
            slots.append(f.stack(type, align=64))
            f.do(f"store {type} {f.use(op.begin)}, ptr {slots[-1]}, align 64")
    wary = may_overflow(op)
    with f.wide():
        last = [last_but_one(f, op) for _ in f.each_vector()] if wary else []
    masks, turn = _enter(f, op), counted_turn(f, -abs(looks(f, op)))
    f.start(head)
    for number in f.each_vector(alike):
        f.values[index] = f.set(f"load {type}, ptr {slots[number]}, align 64")
    with f.wide():
        more = tuple(more_rounds(f, op, f.use(index), f.use(op.end)) for _ in f.each_vector())
    f.here = f.both(f.read_mask(masks.loop), more)
    f.write_mask(masks.loop, f.here)
    f.write_mask(masks.round, f.here)
    f.branch(f.any(f.here), body, done)
    f.start(body)
    if turn:
        turn(f)
    f.region = latch
    _round(f, op)
    f.start(latch)
    if wary:
        with f.wide():
            more = tuple(more_rounds(f, op, f.use(index), last[number]) for number in f.each_vector())
        f.write_mask(masks.loop, f.both(f.read_mask(masks.loop), more))
    with f.wide(width):
        for number in f.each_vector(alike):
            following = f.set(f"add {type} {f.use(index)}, {f.use(op.step)}")
            f.do(f"store {type} {following}, ptr {slots[number]}, align 64")
    f.jump(head)
    f.start(done)


@by_lane(Warn)
def _warn(f: LaneWriter, op: Warn) -> None:
    """Report for the first active lane only: a kernel reports no more than one."""
    with f.wide():
        vectors = {value: (f.spell(value.type), f.use(value)) for value in op.values}
    bits, some, none = f"i{f.lanes}", f.fresh_label("some"), f.fresh_label("none")
    mask = f.set(f"bitcast {f.mask_type} {f.mask} to {bits}")
    f.branch(f.set(f"icmp ne {bits} {mask}, 0"), some, none)
    f.start(some)
    lowest = f.module.declare(f"{bits} @llvm.cttz.{bits}({bits}, i1)")
    first = f.set(f"call {bits} @{lowest}({bits} {mask}, i1 true)")
    lane = {value: f.set(f"extractelement {type} {text}, {bits} {first}") for value, (type, text) in vectors.items()}
    f.write_with(op, lane)
    f.jump(none)
    f.start(none)
