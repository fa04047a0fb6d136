"""Runs a parallel loop in order, as nested serial loops.

    parallel_for begins=[%b], ends=[%e] (%i) {      for %b, %e, 1 (%i) {
      %r = random stream=1                      =>    %lane = (cast %i) - (cast %b)
    }                                                 %r = random_at %draws, [%lane], stream=1
                                                    }

Iterations of a parallel loop may run in any order, so this one is right, too. Random numbers stay those of the
iteration: its number in the box, and how many numbers it drew before, become values. No other iteration overwrites a
store.
"""

from __future__ import annotations

from dataclasses import replace

from weft.ir import ops
from weft.ir.autodiff.draws import number_draws_of
from weft.ir.core import Block, BlockArg, Builder, Op, Value
from weft.ir.symbols import FieldSymbol
from weft.ir.types import Prim, i32, i64

__all__ = ["blocks_only", "elements_of", "keep_random_numbers", "run_serially", "visits_cells"]


def blocks_only(loop: Op) -> Op | None:
    """The first op of a parallel loop that only the threads of a block can run. None: the loop may run in order."""
    return next((op for op in loop.walk() if isinstance(op, (ops.Shared, ops.Simt))), None)


def visits_cells(loop: Op) -> bool:
    """Whether a loop visits active cells. Nothing runs it in the opposite order."""
    return isinstance(loop, ops.StructFor) and (loop.cells or loop.field.node is not None)


def run_serially(loop: ops.ParallelFor | ops.StructFor) -> None:
    """Replace a parallel loop by nested serial loops, slowest axis first. One over active cells becomes one that visits
    them in order. It must not draw random numbers."""
    if visits_cells(loop):
        loop.config = replace(loop.config, serialize=True)
        return
    build = Builder.at(loop)
    if not loop.body.args:  # a field without axes
        loop.body.args = [BlockArg(i32)]
    args, box, order = list(loop.body.args), *_box(build, loop)
    block = Block()
    block.take(loop.body)
    for store in [op for outer in block for op in outer.walk() if isinstance(op, ops.Store)]:
        store.relaxed = False
    _number(block, [args[axis] for axis in order], [box[axis] for axis in order])
    for axis in reversed(order):
        begin, end = box[axis]
        assert isinstance(begin.type, Prim)
        step = build.add(ops.Const(1, type=begin.type))
        arg = BlockArg(args[axis].type, args[axis].name, args[axis].span)
        args[axis].replace_uses(arg)
        made = ops.For(begin, end, step, body=block, span=loop.span)
        block.args = [arg]
        arg.block = block
        block = Block()
        block.append(made)
    for op in block:
        block.unlink(op)
        build.add(op)
    loop.erase()


def keep_random_numbers(loop: ops.ParallelFor | ops.StructFor) -> None:
    """Make the random numbers of a loop that another pass makes serial those of its iterations."""
    if not loop.body.args or not any(isinstance(op, (ops.Random, ops.RandomAt)) for op in loop.walk()):
        return  # (a field without axes has one iteration, the first one)
    box, order = _box(Builder.at(loop), loop)
    _number(loop.body, [loop.body.args[axis] for axis in order], [box[axis] for axis in order])


def _box(build: Builder, loop: ops.ParallelFor | ops.StructFor) -> tuple[list[tuple[Value, Value]], list[int]]:
    """The begin and the end of each axis, and the axes from the slowest to the fastest."""
    if isinstance(loop, ops.ParallelFor):
        return list(zip(loop.begins, loop.ends, strict=True)), list(range(len(loop.begins)))
    type = loop.body.args[0].type
    bounds = [tuple(build.add(ops.Const(number, type=type)) for number in pair) for pair in elements_of(loop.field)]
    return [(begin, end) for begin, end in bounds], list(loop.field.space.order or (0,))


def elements_of(symbol: FieldSymbol) -> list[tuple[int, int]]:
    """The bounds of a loop over a field along each axis, without its halo. A field without axes has one element."""
    space = symbol.space
    margins = symbol.path.cell.halo or ((0, 0),) * len(space.shape)
    sides = zip(space.first, space.shape, margins, strict=True)
    return [(first + low, first + extent - high) for first, extent, (low, high) in sides] or [(0, 1)]


def _number(body: Block, args: list[BlockArg], box: list[tuple[Value, Value]]) -> None:
    """Give the random numbers of an iteration its number in the box."""
    if not any(isinstance(op, (ops.Random, ops.RandomAt)) for outer in body for op in outer.walk()):
        return
    build, lane = Builder(body, body.first, None), None
    for arg, (begin, end) in zip(args, box, strict=True):
        first, last, index = (build.add(ops.Cast(one, type=i64)) for one in (begin, end, arg))
        digit = build.add(ops.Binary("sub", index, first))
        if lane is not None:
            scaled = build.add(ops.Binary("mul", lane, build.add(ops.Binary("sub", last, first))))
            digit = build.add(ops.Binary("add", scaled, digit))
        lane = digit
    assert lane is not None
    number_draws_of(body, lane)
