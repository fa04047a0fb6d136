"""Loads that LLVM must not move behind a store.

LLVM 22 replaces a `select` between a masked load and another vector, under the same mask, by a masked load that stands
in the place of the `select`. If a store to that memory comes between both, the new load reads what was stored
(llvm/llvm-project#215453). Masked loads are those of lanes, and those that LLVM makes of loads in branches when it
vectorizes a loop. LLVM does not look behind a `freeze`, which costs nothing.

    if %c {                                    %old = masked_load %p, %c
      %old = load %p                           %old_1 = freeze %old
      store %p, %new                   ->      masked_store %p, %new, %c
    }                                          %a = select %c, %old_1, %other
    %a = %old in the branch, else %other

Also, LLVM makes a masked store of a `select` between a new value and what was loaded from the same place. A load behind
it that reads a part of that memory, such as that of the next row of a stencil, waits until the masked store has reached
the cache, because a processor does not pass on what only some lanes store.

    %old = load %p                             %old_1 = freeze %old
    %s = select %c, %new, %old           ->    %s = select %c, %new, %old_1
    store %p, %s                               store %p, %s
"""

from __future__ import annotations

from weft.codegen.llvm.function import FunctionWriter
from weft.ir.alias import ANYWHERE, space_of, spaces_meet
from weft.ir.core import Value
from weft.ir.ops import Address, Alloca, Atomic, Const, For, If, Load, MaskedLoad, Select, Store

__all__ = ["held"]


def held(f: FunctionWriter, op: Load | MaskedLoad | Atomic, type: str, loaded: str) -> str:
    """A register with what an op has loaded from memory, a value of that LLVM type: LLVM may not load it later."""
    if not (f.target.vectorized and (_may_be_masked(op) or _is_stored_again(op)) and _is_written(f, op)):
        return loaded
    return f.set(f"freeze {type} {loaded}")


def _may_be_masked(op: Load | MaskedLoad | Atomic) -> bool:
    """Locals at fixed places become values, which are not loaded."""
    if isinstance(op, MaskedLoad):
        return True
    return not _is_fixed_local(op.ptr) and any(isinstance(outer, If) for outer in op.around())


def _is_stored_again(op: Load | MaskedLoad | Atomic) -> bool:
    """Whether a selection in a row of a cell stores it where it was loaded, among loads of other parts of that
    memory."""
    if not isinstance(op, Load) or op.block is None:
        return False
    stored = [user for one in op.users if isinstance(one, Select) for user in one.users if isinstance(user, Store)]
    if not any(one.ptr is op.ptr and one.block is op.block for one in stored):
        return False
    if not any(isinstance(outer, For) and outer.rows for outer in op.around()):
        return False
    space = space_of(op.ptr)
    return any(isinstance(one, Load) and one is not op and space_of(one.ptr) == space for one in op.block)


def _is_fixed_local(ptr: Value) -> bool:
    if isinstance(ptr, Address) and all(isinstance(index, Const) for index in ptr.indices):
        ptr = ptr.base
    return isinstance(ptr, Alloca)


def _is_written(f: FunctionWriter, op: Load | MaskedLoad | Atomic) -> bool:
    """Whether something in the same task may write what is loaded."""
    *_, outermost = op, *op.around()
    if outermost not in f.memory.written:
        inner = list(outermost.walk())
        spaces = {space_of(one.operands[0]) for one in inner if one.effect == "address" and one.writes}
        f.memory.written[outermost] = spaces | ({ANYWHERE} if any(one.effect == "anywhere" for one in inner) else set())
    space = space_of(op.ptr)
    return any(spaces_meet(space, other) for other in f.memory.written[outermost])
