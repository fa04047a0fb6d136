"""Random numbers that gradients and checks of gradients draw again: those of an earlier launch.

All random numbers of a launch follow from its key (`ir/philox.py`). A gradient whose kernel drew numbers that it needs
takes the key of a launch of that kernel: the recorded one, or the last one."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any

from weft.ir import tree
from weft.ir.errors import WeftError
from weft.ir.transforms.lower_tree_facts import walk
from weft.lang.calls.compile import Instance
from weft.lang.calls.gradient_warnings import warn_of_old_values
from weft.lang.errors import ArgumentError

__all__ = ["last_key", "launching_gradient", "next_key", "numbers_from"]


def next_key(program: Any) -> int:
    """The key of the next launch."""
    return int(_draws().next_key if program.interprets else program.device.random_key)


def last_key(kernel: Any, args: tuple[Any, ...], keywords: dict[str, Any]) -> int:
    """The key of the last launch of a kernel with the code for such arguments; 0 if there was none. Raises WeftError if
    a gradient cannot draw the numbers of that launch again."""
    launch = kernel.bind(args, keywords)
    if kernel.config(launch.program).check_races:
        _refuse_functions(launch.instance)
    keys = [one.drawn for one in (launch.instance, launch.instance.careful) if one is not None and one.drawn]
    latest = next_key(launch.program)
    return min(keys, key=lambda key: (latest - key) % 2**64, default=0)


def _refuse_functions(instance: Instance) -> None:
    """Raise WeftError for a kernel with the check of races, which calls a function that draws numbers. The loops of the
    kernel are serial then, so that the function does not draw the numbers of the iteration."""
    for function in instance.recipe.translate().tree.functions:
        drawn = next((node for node in walk(function) if isinstance(node, tree.Random)), None)
        if drawn is not None:
            where = "" if drawn.span is None else f"\n{drawn.span.render()}\n"
            raise WeftError(
                f"{where}with the check of races, a gradient cannot draw the numbers of a @real_func again: draw them "
                "in the kernel or in a @func, or do not check for races"
            )


def launching_gradient(
    gradient: Any, program: Any, instance: Instance, args: Sequence[Any]
) -> AbstractContextManager[None]:
    """For a gradient that the program itself launches in the block: the random numbers of the last launch of its
    kernel, and a warning if it needs values that are overwritten. `args` begins with the object of a method. Raises
    ArgumentError if it draws, and there was no launch."""
    assert instance.facts is not None
    if instance.facts.saved and not gradient.restores:
        warn_of_old_values(gradient, instance)
    if not instance.facts.draws:
        return nullcontext()
    key = last_key(gradient.primal, tuple(args), {})
    if not key:
        raise ArgumentError(
            f"{gradient.__name__}() draws the random numbers of the last launch of '{gradient.primal.__name__}' again, "
            "but there was no launch with such arguments: call the kernel first"
        )
    again: AbstractContextManager[None] = program.device.replaying(key)
    return again


@contextmanager
def numbers_from(program: Any, key: int) -> Generator[None]:
    """Let the launches in the block draw numbers as those from that key on did. Other threads must not launch."""
    before, device = next_key(program), program.device.random_key
    program.device.random_key = key
    if program.interprets:
        _draws().next_key = key
    try:
        yield
    finally:
        program.device.random_key = device
        if program.interprets:
            _draws().next_key = before


def _draws() -> Any:
    from weft.lang.interpret.random import draws

    return draws()
