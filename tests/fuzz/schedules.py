"""A program under schedules of an adversary: the evaluator interleaves the iterations of its parallel loops, and runs
them in orders that nobody promised.

What code is made of runs mapped to targets too, each task as its schedule says.

Random programs are made so that nothing of what is compared depends on the order, neither of CHI as it was translated
nor of what code is made of. And where something does depend on it, say which slot an append gets,
`tests/order_dependence.py` must have said so.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from tests.fuzz.comparing import compare, differing
from tests.order_dependence import Level, OrderDependence, order_dependence
from weft.ir.adversary import Schedule
from weft.ir.alias import space_of_field
from weft.ir.evaluate import Fault
from weft.ir.ops import Kernel
from weft.ir.pipeline import map_to_target
from weft.ir.programs import lower_program
from weft.ir.target import ADDS_VECTORS, Target

if TYPE_CHECKING:
    from tests.fuzz.execute import Judge

__all__ = ["under_schedules"]

# What code is made of: lowered CHI, and tasks that are mapped to a target, which run as their schedules say.
TARGETS: dict[str, Target | None] = {
    "the last level": None,
    "what a CPU runs": Target("cpu", features=frozenset({"avx2"}), threads=4),
    "what a GPU runs": Target("gpu", features=frozenset({ADDS_VECTORS})),
}


def under_schedules(judge: Judge, wanted: dict[str, Any], seeds: Sequence[int]) -> str:
    """What differs under the schedules of those seeds from `wanted`, which the evaluator found in program order; "" if
    nothing does."""
    return next(_differences(judge, wanted, seeds), "")


def _differences(judge: Judge, wanted: dict[str, Any], seeds: Sequence[int]) -> Iterator[str]:
    chi, functions = judge.lowered()
    said = order_dependence(chi, functions)
    for seed in seeds:
        found = _run(judge, chi, functions, seed)
        if isinstance(found, str):
            yield f"CHI under schedule {seed}: {found}"
            continue
        if names := compare(wanted, found):
            yield f"CHI under schedule {seed}: other {', '.join(names)}"
        unsaid = [name for name in differing(wanted, found) if _level(said, chi, name) is Level.EXACT]
        if unsaid:
            yield f"the order shows in {', '.join(unsaid)} under schedule {seed}, and order_dependence denies it"
    tree = judge.translation.tree
    for name, target in TARGETS.items():
        made = lower_program(tree, judge.config)  # with the functions of the run-time library
        if target is not None:
            map_to_target(made.kernel, made.functions, replace(judge.config, target=target, verify=True))
        for seed in seeds:
            found = _run(judge, made.kernel, made.functions, seed)
            if isinstance(found, str):
                yield f"{name} under schedule {seed}: {found}"
            elif names := compare(wanted, found):
                yield f"{name} under schedule {seed}: other {', '.join(names)}"


def _run(judge: Judge, kernel: Kernel, functions: Sequence[Kernel], seed: int) -> dict[str, Any] | str:
    """What it leaves, or its fault."""
    try:
        return judge.run(kernel, functions, Schedule(seed))
    except Fault as fault:
        return f"fault: {fault.message}"


def _level(said: OrderDependence, chi: Kernel, name: str) -> Level:
    """What is said of the place of that name, or of the member of a struct."""
    if name in ("result", "printed"):
        return said.results if name == "result" else said.prints
    symbols: list[Hashable] = [space_of_field(one) for one in chi.fields if one.name == name]
    return max((said.of(symbol) for symbol in symbols), default=max(said.spaces.values(), default=Level.EXACT))
