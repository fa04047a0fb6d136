"""Reduces several vectors together, on CPUs.

    %s = reduce add %x : f32                        %lo = shuffle %x, %y, order=(0, 1, 4, 5)
    atomic add %p, %s                               %hi = shuffle %x, %y, order=(2, 3, 6, 7)
    %y = binary mul %x, %w : <4 x f32>       ->     %both = binary add %lo, %hi : <4 x f32>
    %t = reduce add %y : f32                        ...
    atomic add %q, %t                               %s = lane %last, 0; %t = lane %last, 2

A gradient adds the elements of each component of a vector up for memory that all lanes share. One vector takes a step
for each half of its lanes; several of them share most of these steps (`mapping/joint_reductions.py`).

The elements of a vector are combined in any order, so the results may differ by rounding, as those of one reduction do.
Reductions are joined if they are in one block, have the same kind and type, and all their vectors can be computed
before the first op that uses one of the results: what computes them there is pure.

With fast_math, the sum of a vector of products that is wider than a register is computed register by register, so that
each product and its sum are one instruction. A gradient uses the same products in another sum, too. So they would be
computed for themselves otherwise, and then added twice.
"""

from __future__ import annotations

from functools import partial

from weft.ir.config import CompileConfig
from weft.ir.core import Builder, Op, Value
from weft.ir.mapping.joint_reductions import Group, Plan, groups_of
from weft.ir.mapping.lane_choice import vector_bits
from weft.ir.ops import Binary, Const, Kernel, Lane, Select, Shuffle, Splat
from weft.ir.passes import pass_
from weft.ir.rewrite import literal
from weft.ir.tasks import parallel_tasks
from weft.ir.types import Lanes, Prim, i64
from weft.ir.types import lanes as lanes_of

__all__ = ["join_reductions"]


@pass_("join_reductions")
def join_reductions(root: Kernel, config: CompileConfig) -> bool:
    """Reduce vectors together where their order does not matter to memory."""
    assert config.target is not None
    bits, changed = vector_bits(config.target.features) or _LEAST, False
    for block in [block for task in parallel_tasks(root) for op in task.walk() for block in op.regions]:
        while (
            group := next(groups_of(block, bits), None)
        ) is not None:  # what the last one moved may matter to the next one
            _join(group, bits, config.fast_math)
            changed = True
    return changed


_LEAST = 128  # the bits of a register of vectors that every CPU has


def _join(group: Group, bits: int, fast_math: bool) -> None:
    type = group.reductions[0].x.type
    assert isinstance(type, Lanes)
    assert isinstance(type.elem, Prim)
    for one in group.reductions:
        _compute_before(one.x, group.at)
    build, kind = Builder.at(group.at), group.reductions[0].kind
    lanes = min(type.count, bits // type.elem.bits)
    halve = _summed if fast_math and kind == "add" and type.elem.is_float else partial(_halved, kind=kind)
    vectors = [halve(build, vector=one.x, lanes=lanes) for one in group.reductions]
    plan = Plan(len(vectors), lanes, type.elem.bits)
    for step in plan.steps:
        first, second = vectors[step.first], vectors[step.second]
        low = first if step.low is None else build.add(Shuffle(first, second, step.low))
        vectors.append(build.add(Binary(kind, low, build.add(Shuffle(first, second, step.high)))))
    for one, lane in zip(group.reductions, plan.results, strict=True):
        one.replace(build.add(Lane(vectors[-1], build.add(Const(lane, type=i64)))))


def _compute_before(value: Value, at: Op) -> None:
    """Move what computes the value before that op, where it is behind it in its block."""
    block, behind, needed = at.block, list[Op](), {value}
    assert block is not None
    while (op := behind[-1].next if behind else at.next) is not None:
        behind.append(op)
    for op in reversed(behind):
        if op in needed:
            needed.update(op.operands)
    for op in behind:
        if op in needed:
            op.unlink()
            block.insert(op, at)


def _summed(build: Builder, vector: Value, lanes: int) -> Value:
    """The sum of the registers of a vector. A product is summed without being computed as a whole: a product and a sum
    are one instruction."""
    assert isinstance(vector.type, Lanes)
    count, mask, product = vector.type.count, None, vector
    if isinstance(vector, Select) and literal(vector.b) == 0:
        mask, product = vector.condition, vector.a
    if count == lanes or not isinstance(product, Binary) or product.kind != "mul":
        return _halved(build, "add", vector, lanes)
    zero = build.add(Const(0.0, type=vector.type.elem))
    total: Value = build.add(Splat(zero, type=lanes_of(vector.type.elem, lanes)))
    for at in range(0, count, lanes):
        part = tuple(range(at, at + lanes))
        made = build.add(Binary("mul", *(build.add(Shuffle(one, one, part)) for one in product.operands)))
        added = build.add(Binary("add", made, total))
        total = added if mask is None else build.add(Select(build.add(Shuffle(mask, mask, part)), added, total))
    return total


def _halved(build: Builder, kind: str, vector: Value, lanes: int) -> Value:
    """The vector with so many lanes, which combine those of each register."""
    assert isinstance(vector.type, Lanes)
    count = vector.type.count
    while count > lanes:
        count //= 2
        low, high = (build.add(Shuffle(vector, vector, tuple(range(at, at + count)))) for at in (0, count))
        vector = build.add(Binary(kind, low, high))
    return vector
