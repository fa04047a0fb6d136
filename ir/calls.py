"""The effects of the functions that a kernel calls, direct and through other functions.

`note_effects` stores them in each `invoke`, so that passes over one kernel need not examine its functions. Before, an
`invoke` says only whether it draws random numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from weft.ir.addresses import name_of
from weft.ir.alias import is_access
from weft.ir.core import Op
from weft.ir.ops import Assert, Invoke, Kernel, LaneRandom, Random, RandomAt

__all__ = [
    "DRAWS",
    "FAILS",
    "OUTDATES",
    "RECURS",
    "called",
    "calls_itself",
    "closures",
    "draws",
    "may_fail",
    "note_effects",
]

# Effects of an `invoke`: it draws random numbers; it may end the task; it may call the function that contains it; with
# the name of the flag of a node: it may set this flag, so that the list of the node's cells is out of date.
DRAWS, FAILS, RECURS, OUTDATES = "draws", "fails", "recurs", "outdates "

_HOLDS: dict[str, Callable[[Op], bool]] = {
    DRAWS: lambda op: isinstance(op, (Random, RandomAt)),
    FAILS: lambda op: isinstance(op, Assert),
}


def called(root: Op) -> set[str]:
    """The names of the functions that are called in `root`."""
    return {op.function for op in root.all_of(Invoke)}


def closures(functions: Sequence[Kernel]) -> dict[str, set[str]]:
    """For each function, all functions that it calls, directly or indirectly. A recursive function is among its own."""
    direct = {kernel.symbol: called(kernel) for kernel in functions}
    return {name: _closure(name, direct) for name in direct}


def _closure(name: str, direct: Mapping[str, set[str]]) -> set[str]:
    found, pending = set[str](), [*sorted(direct[name])]
    while pending:
        other = pending.pop()
        if other not in found:
            found.add(other)
            pending += sorted(direct[other])
    return found


def note_effects(kernel: Kernel, functions: Sequence[Kernel]) -> None:
    """Store the effects of the functions in each `invoke` of the kernel and of the functions."""
    reached, kernels = closures(functions), {one.symbol: one for one in functions}
    effects: dict[str, tuple[str, ...]] = {}
    flags = {node.flag for one in (kernel, *functions) for node in one.nodes if node.flag}
    for name, others in reached.items():
        ops = [op for other in {name, *others} for op in kernels[other].walk()]
        found = {effect for effect, holds in _HOLDS.items() if any(map(holds, ops))}
        written = {name_of(op.ptr) for op in ops if is_access(op) and op.writes} if flags else set[str]()
        found |= {f"{OUTDATES}{flag}" for flag in written & flags}
        deep = any(other in reached[other] for other in (name, *others))  # recursion can overflow the stack
        effects[name] = tuple(sorted(found | {FAILS} if deep else found))
    for root in (kernel, *functions):
        for op in root.all_of(Invoke):
            back = root.symbol in {op.function, *reached[op.function]}
            op.effects = (*effects[op.function], RECURS) if back else effects[op.function]


def draws(root: Op) -> bool:
    """Whether ops in `root`, or functions called there, draw random numbers."""
    return any(
        isinstance(op, (Random, RandomAt, LaneRandom)) or (isinstance(op, Invoke) and DRAWS in op.effects)
        for op in root.walk()
    )


def may_fail(root: Op) -> bool:
    """Whether an assertion in `root`, or in a function called there, may end the task."""
    return any(isinstance(op, Assert) or (isinstance(op, Invoke) and FAILS in op.effects) for op in root.walk())


def calls_itself(root: Kernel) -> bool:
    """Whether the function may call itself, directly or indirectly."""
    return any(RECURS in op.effects for op in root.all_of(Invoke))
