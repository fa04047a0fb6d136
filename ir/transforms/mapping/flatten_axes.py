"""Makes one axis of the two innermost axes of a task if they are along one row of memory, and that is short.

    task ... ends=[%n, 8, 8, 8] body (%c, %i, %j, %k) {    ->    task ... ends=[%n, 512] body (%c, %k) {
        %p = address %x, [%c, %i, %j, %k], [2048, 256, 32, 4]        %p = address %x, [%c, %k], [2048, 4]
    }                                                            }

Vectors and SIMD lanes are neighbours along the innermost axis. In cells of 8 x 8 x 8 elements, they would end after 8
iterations. This is done where iterations have conditions, or where a thread sums something up (`thread_local`): LLVM
copes with short rows without, but it would add up the lanes of a sum behind each row. The points of the box keep their
order, and so the numbers of their iterations.

Both axes begin at 0, and their extents are known. The body uses their indices only in addresses, and each such address
has both of them, with strides that fit: one step along the outer axis is as far as all steps along the inner one.
"""

from __future__ import annotations

from weft.ir.config import CompileConfig
from weft.ir.core import BlockArg, Builder, Value
from weft.ir.ops import Address, Alloca, Const, If, Kernel, Task
from weft.ir.passes import pass_
from weft.ir.tasks import box_of, parallel_tasks
from weft.ir.types import i64

__all__ = ["flatten_axes"]

_SHORT = 64  # iterations: longer rows are not worth a change


@pass_("flatten_axes")
def flatten_axes(root: Kernel, config: CompileConfig) -> bool:
    """Make one axis of innermost axes that are along one row of memory."""
    changed = False
    for task in parallel_tasks(root):
        while (task.all_of(If) or _sums(task)) and _flatten(task):
            changed = True
    return changed


def _sums(task: Task) -> bool:
    """Whether the threads keep a sum, or the like, from one iteration to the next."""
    return len(task.epilogue) > 0 and any(isinstance(op, Alloca) for op in task.prologue)


def _flatten(task: Task) -> bool:
    """Join the two innermost axes, if that is legal and the inner one is short. Gives whether it is."""
    box, args, axis = box_of(task), task.body.args, len(task.body.args) - 2
    if axis < 0:
        return False
    ends = [box.ends[axis], box.ends[axis + 1]]
    if not all(isinstance(begin, Const) and begin.value == 0 for begin in box.begins[axis : axis + 2]):
        return False
    extents = [int(end.value) for end in ends if isinstance(end, Const)]
    if len(extents) < 2 or min(extents) < 1 or extents[1] > _SHORT or extents[0] >= 1 << 32:
        return False
    outer, inner = args[axis], args[axis + 1]
    places = dict.fromkeys([*outer.users, *inner.users])
    if not places or not all(isinstance(op, Address) and _fits(op, outer, inner, extents[1]) for op in places):
        return False
    for op in places:
        assert isinstance(op, Address)
        kept = [k for k, index in enumerate(op.indices) if index is not outer]
        indices, strides = [op.indices[k] for k in kept], [op.strides[k] for k in kept]
        made = Address(op.base, indices, strides, op.offset, op.scope, op.phased, type=op.type, name=op.name)
        op.replace(Builder.at(op).add(made))
    both = Builder.at(box).add(Const(extents[0] * extents[1], type=i64))
    begins, ends = list(box.begins), list(box.ends)
    ends[axis + 1] = both
    del begins[axis], ends[axis], args[axis]
    box.set_operands([*begins, *ends], (len(begins), len(ends)))
    return True


def _fits(op: Address, outer: BlockArg, inner: BlockArg, extent: int) -> bool:
    """Whether an address has both indices once, and a step of the outer one is as far as `extent` of the inner one."""
    steps: list[int] = []
    for arg in (outer, inner):
        found: list[Value] = [stride for index, stride in zip(op.indices, op.strides, strict=True) if index is arg]
        if len(found) != 1 or not isinstance(found[0], Const):
            return False
        steps.append(int(found[0].value))
    return steps[0] == extent * steps[1]
