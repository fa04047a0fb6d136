"""Dead code elimination: removes ops that no side effect depends on."""

from __future__ import annotations

from collections.abc import Callable

from weft.ir.addresses import root_of
from weft.ir.alias import LOCALS
from weft.ir.config import CompileConfig
from weft.ir.core import Op, Value, ops_of
from weft.ir.ops import Kernel
from weft.ir.passes import pass_

__all__ = ["die", "drop_dead"]


@pass_("die")
def die(root: Kernel, config: CompileConfig) -> bool:
    """Keeps ops with side effects and the ops that these need, and erases all others.

        %a = alloca : *f32                     (nothing: no one reads %a,
        store %a, %x                   ->       though it feeds itself)
        %b = load %a
        store %a, (binary add %b, 1)

    A store to a local is live only if a live op reads the local. A While is always kept, because it may never end.
    Random draws are kept, because removing one would change those after it. Jumps are kept, and so are the ops that
    they depend on.
    """
    return drop_dead(ops_of(*root.regions))


def drop_dead(ops: list[Op], unwanted: Callable[[Op], bool] = lambda _: False) -> bool:
    """Erase those of these ops on which no side effect depends. Gives whether there are any. `unwanted`: says which
    side effects do not count."""
    live, writers = _roots([op for op in ops if not unwanted(op)])
    pending = list(live)
    while pending:
        op = pending.pop()
        for value in (*op.operands, *writers.get(op, ())):
            if value not in live and isinstance(value, Op):
                live[value] = None
                pending.append(value)
        owner = op.block.owner if op.block is not None else None
        if owner is not None and owner not in live:
            live[owner] = None
            pending.append(owner)
    return _sweep(ops, live)


def _roots(ops: list[Op]) -> tuple[dict[Op, None], dict[Value, list[Op]]]:
    """The ops that must stay in any case, and the ops that write each local."""
    live: dict[Op, None] = {}
    writers: dict[Value, list[Op]] = {}
    for op in ops:
        if op.pure:
            continue
        if op.droppable:
            continue
        if op.effect == "address" and not op.orders():
            root = root_of(op.operands[0])
            if type(root) in LOCALS:
                writers.setdefault(root, []).append(op)
                continue
        live[op] = None
    return live, writers


def _sweep(ops: list[Op], live: dict[Op, None]) -> bool:
    changed = False
    for op in reversed(ops):
        if op not in live:
            op.erase()
            changed = True
    return changed
