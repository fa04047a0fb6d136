"""Random numbers by their place, which a gradient kernel can compute again.

    %r = random stream=1                %n = load %draws
                                 =>     %r = random_at %n, stream=1
                                        store %draws, %n + 1

A random number is a function of the launch, the iteration, and how many numbers the iteration drew before
(`philox.py`). That count becomes a local, so that it is kept and computed again as all locals are. Serial code has one
count for the whole kernel. (Functions that it calls do not draw, see `programs.py`.)
"""

from __future__ import annotations

from weft.ir import ops
from weft.ir.core import Block, Builder, Op, Value
from weft.ir.types import Prim, Struct, Tensor, Type, element, flat_size, i32, pointer

__all__ = ["number_draws"]

_PARALLEL = (ops.ParallelFor, ops.StructFor)


def number_draws(kernel: ops.Kernel) -> None:
    """Give each random number of a kernel its place."""
    drawn = kernel.all_of(ops.Random)
    if not drawn:
        return
    counts: dict[Block, Value] = {}
    for op in drawn:
        loop = next((outer for outer in op.around() if isinstance(outer, _PARALLEL)), None)
        body = kernel.body if loop is None else loop.body
        if body not in counts:
            counts[body] = _count(body)
        build = Builder.at(op)
        op.replace(_drawn(build, counts[body], op.type, op.stream))


def _count(body: Block) -> Value:
    build = Builder(body, body.first, None)
    count = build.add(ops.Alloca(type=pointer(i32), name="draws"))
    build.add(ops.Store(count, build.add(ops.Const(0, type=i32))))
    return count


def _drawn(build: Builder, count: Value, type: Type, stream: int) -> Value:
    if isinstance(type, Struct):
        members = [_drawn(build, count, member, stream) for _, member in type.members]
        return build.add(ops.MakeStruct(members, type=type))
    if isinstance(type, Tensor):
        elements = [_drawn(build, count, element(type), stream) for _ in range(flat_size(type))]
        return build.add(ops.MakeTensor(elements, type=type))
    assert isinstance(type, Prim)
    number = build.add(ops.Load(count))
    one = build.add(ops.Const(1, type=i32))
    build.add(ops.Store(count, build.add(ops.Binary("add", number, one))))
    made: Op = build.add(ops.RandomAt(number, stream, type=type))
    return made
