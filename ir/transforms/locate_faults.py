"""Adds the indices of the current iteration to the messages of failed assertions and of overflows.

    parallel_for (%i, %j) { ...                   parallel_for (%i, %j) { ...
      assert %c, [%k], "x[{}] is ..."      =>       assert %c, [%k, %i, %j], "x[{}] is ...\\nwhere i = {}, j = {}"
    }                                             }

The message shows the indices of all enclosing loops, outermost first, under the user's names for them. The indices are
computed in any case, so this costs nothing until an assertion fails. For a loop with a step, which counts trips, the
message shows the index that is computed from the trip. The pass skips loops without an index (`while`), and it adds no
more indices than an error record can hold.
"""

from __future__ import annotations

from weft.ir import ops
from weft.ir.artifact import ERROR_WORDS
from weft.ir.config import CompileConfig
from weft.ir.core import Block, BlockArg, Op, Value
from weft.ir.errors import message_parts
from weft.ir.passes import pass_
from weft.ir.trips import indices_of, is_counter
from weft.ir.types import flat_size

__all__ = ["locate_faults", "loop_indices"]

_LOOPS = (ops.ParallelFor, ops.StructFor, ops.For)


@pass_("locate_faults")
def locate_faults(root: ops.Kernel, config: CompileConfig) -> bool:
    """Extend each assertion and each overflow warning with the indices of the enclosing loops."""
    del config
    changed = False
    for fault in root.all_of(ops.Assert):
        changed |= _locate(fault)
    for warning in root.all_of(ops.Warn):
        changed |= warning.kind == "overflow" and _locate(warning)
    return changed


def _locate(op: ops.Assert | ops.Warn) -> bool:
    room = ERROR_WORDS - 2 - sum(flat_size(value.type) for value in op.values)
    indices = loop_indices(op)[: max(0, room)]
    if not indices or len(message_parts(op.message)[1]) != len(op.values):
        return False
    where = ", ".join(f"{name} = {{}}" for name, _ in indices)
    values, message = [*op.values, *(value for _, value in indices)], f"{op.message}\nwhere {where}"
    made: Op
    if isinstance(op, ops.Assert):
        made = ops.Assert(op.condition, values, message, op.kind)
    else:
        made = ops.Warn(values, message, op.kind)
    made.span = op.span
    assert op.block is not None
    op.block.insert(made, op)
    op.erase()
    return True


def loop_indices(op: Op) -> list[tuple[str, Value]]:
    """The name and value of each index of the loops around `op`, outermost first."""
    found: list[tuple[str, Value]] = []
    inner, outer = op, op.parent
    while outer is not None:
        if isinstance(outer, _LOOPS):
            assert inner.block is not None
            found[:0] = [(name, value) for arg in inner.block.args for name, value in [_index(arg, inner)] if name]
        inner, outer = outer, outer.parent
    return found


def _index(arg: BlockArg, before: Op) -> tuple[str, Value]:
    """The user's name for the index `arg` and its value, or "" if it has no name."""
    if not is_counter(arg):
        return arg.name, arg
    index = next((index for index in indices_of(arg) if _stands_before(index, before, arg.block)), None)
    return ("", arg) if index is None else (index.name, index)


def _stands_before(op: Op, other: Op, block: Block | None) -> bool:
    """Whether both ops are directly in `block`, and `op` comes first."""
    if op.block is not block:
        return False
    following = op.next
    while following is not None:
        if following is other:
            return True
        following = following.next
    return False
