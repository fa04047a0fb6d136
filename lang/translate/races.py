"""Warns if several iterations of a parallel loop assign the same local of the kernel. The result is then undefined.

    last = 0
    for i in range(n):     # parallel
        last = i           <- RaceWarning: which iteration's value stays is not defined

`ir/shared_locals.py` says which uses are not races: a sum, a maximum, a flag, a local that each iteration assigns
before it reads it. With `debug=True` a race is an error."""

from __future__ import annotations

from weft.ir import tree
from weft.ir.errors import CompilationError
from weft.ir.shared_locals import Loop, atomic_updates, loop_locals, root_variable
from weft.ir.transforms.lower_tree_facts import walk
from weft.lang.errors import RaceWarning
from weft.lang.translate.contract import Loss
from weft.lang.translate.translator import Translator

__all__ = ["warn_of_races"]


def warn_of_races(t: Translator, root: tree.KernelTree) -> None:
    """Give a RaceWarning for each such assignment in the kernel `root`, or raise CompilationError in debug mode."""
    loops = loop_locals(root)
    for loop, facts in loops.items():
        for write in facts.races:
            _warn(t, loop, write)
    if t.unit.rehearsed and loops:
        _note_atomics(t, root, atomic_updates(loops))


def _note_atomics(t: Translator, root: tree.KernelTree, atomics: set[tree.Node]) -> None:
    """Record which updates of locals are atomics, with the type of the local, for a kernel that runs as Python."""
    places = {_place(node) for node in atomics}
    for node in walk(root):
        if isinstance(node, (tree.Assign, tree.AugAssign)) and (place := _place(node)) in places:
            t.unit.note(place, node.span and node.span.caller, node.target.type if node in atomics else None)


def _place(node: tree.Node) -> tuple[str, int, int]:
    span = node.span
    return ("", 0, 0) if span is None else (span.file, span.line, span.column)


def _warn(t: Translator, loop: Loop, write: tree.Assign | tree.AugAssign) -> None:
    span = write.span or loop.span
    variable = root_variable(write.target)
    assert span is not None
    assert variable is not None
    line = "" if loop.span is None else f" in line {loop.span.line}"
    message = (
        f"all iterations of the parallel loop{line} assign '{variable.name}', which is defined outside of the "
        "loop: it is undefined which value remains; write '+=', ti.atomic_max or another atomic for a "
        "reduction, or ti.loop_config(serialize=True) before the loop to run its iterations in order"
    )
    if t.unit.config.debug:
        raise CompilationError(message, span)
    text = f"\n{span.render()}\n{message}"
    if text not in t.unit.warned:
        space = getattr(t.names.function, "__globals__", {})
        loss = t.unit.warned[text] = Loss(text, span.file, span.line, space, RaceWarning)
        loss.warn()
