"""Random numbers by their place, which a gradient kernel can compute again.

    %r = random stream=1                %n = load %draws
                                 =>     %r = random_at %n, stream=1
                                        store %draws, %n + 1

A random number is a function of the launch, the iteration, and how many numbers the iteration drew before
(`philox.py`). That count becomes a local, so that it is kept and computed again as all locals are. Serial code has one
count for the whole kernel. (Functions that it calls do not draw, see `programs.py`.) If a loop runs in order, the
number of the iteration is an operand, too (`serial.py`).
"""

from __future__ import annotations

from weft.ir import ops
from weft.ir.core import Block, Builder, Op, Value
from weft.ir.types import Prim, Struct, Tensor, Type, element, flat_size, i32, pointer

__all__ = ["number_draws"]

_PARALLEL = (ops.ParallelFor, ops.StructFor)


def number_draws(kernel: ops.Kernel) -> None:
    """Give each random number of a kernel its place."""
    counts: dict[Block, Value] = {}
    for op in kernel.all_of(ops.Random):
        loop = next((outer for outer in op.around() if isinstance(outer, _PARALLEL)), None)
        body = kernel.body if loop is None else loop.body
        if body not in counts:
            counts[body] = _count(body)
        op.replace(_drawn(Builder.at(op), counts[body], op.type, op.stream, []))


def number_draws_of(body: Block, lane: Value) -> None:
    """Give the random numbers in the body of a loop their places in iteration `lane`, a value of the body."""
    drawn = [op for outer in body for op in outer.walk() if isinstance(op, ops.Random)]
    count = _count(body) if drawn else None
    for op in drawn:
        assert count is not None
        op.replace(_drawn(Builder.at(op), count, op.type, op.stream, [lane]))
    for again in [op for outer in body for op in outer.walk() if isinstance(op, ops.RandomAt) and not op.lane]:
        again.replace(Builder.at(again).add(ops.RandomAt(again.draw, [lane], again.stream, type=again.type)))


def _count(body: Block) -> Value:
    build = Builder(body, body.first, None)
    count = build.add(ops.Alloca(type=pointer(i32), name="draws"))
    build.add(ops.Store(count, build.add(ops.Const(0, type=i32))))
    return count


def _drawn(build: Builder, count: Value, type: Type, stream: int, lane: list[Value]) -> Value:
    if isinstance(type, Struct):
        members = [_drawn(build, count, member, stream, lane) for _, member in type.members]
        return build.add(ops.MakeStruct(members, type=type))
    if isinstance(type, Tensor):
        elements = [_drawn(build, count, element(type), stream, lane) for _ in range(flat_size(type))]
        return build.add(ops.MakeTensor(elements, type=type))
    assert isinstance(type, Prim)
    number = build.add(ops.Load(count))
    one = build.add(ops.Const(1, type=i32))
    build.add(ops.Store(count, build.add(ops.Binary("add", number, one))))
    made: Op = build.add(ops.RandomAt(number, lane, stream, type=type))
    return made
