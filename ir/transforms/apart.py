"""Routines of the run-time library that are left out of a kernel and lowered apart from it, once for all kernels.

    task serial routine="list P" { ... }           task serial routine="list P" { run_routine kind="list", @P }
    task range_for routine="list P" { ... }   ->

The tasks that make the list of a node, or give its cells slots, are longer than most kernels. If `config.apart`, one op
stands for them. The code generator asks for them (`routines_apart`), and calls them.

What they are depends on how the node and the sparse nodes above it are laid out, and on nothing else of the kernel. A
`_Layout` says that, without names: trees have numbers in the order of their first use, and the root's memory begins
where the first table lies. The tasks are made from the layout alone (`_nodes`), so equal layouts have equal tasks.

A routine stays in the kernel if it does anything but compute, branch, and access trees: calls, assertions, prints and
random numbers have places and numbers in their kernel.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from functools import lru_cache

from weft.ir.config import CompileConfig
from weft.ir.core import Op, Value
from weft.ir.errors import InternalError
from weft.ir.mapping.routines import Routine, is_alone, numbered
from weft.ir.ops import Kernel, RunRoutine, Task
from weft.ir.pipeline import TO_LOWERED, TO_TASKS, map_to_target, run_passes
from weft.ir.runtime_library.cell_lists import list_text
from weft.ir.runtime_library.claims import claims_text, forget_text
from weft.ir.runtime_library.sparse_cells import written_on
from weft.ir.storage.path import Path
from weft.ir.symbols import FieldSymbol, NodeSymbol
from weft.ir.target import Traits
from weft.ir.tasks import tasks_of
from weft.ir.transforms.early_copies import REST, insert_tasks

__all__ = ["ROUTINES", "insert_routine", "routines_apart"]

# The text of each routine, and the pass that inserts it.
ROUTINES: dict[str, tuple[Callable[[NodeSymbol, Traits], str], str]] = {
    "list": (list_text, "enumerate_cells"),
    "forget": (forget_text, "activate_ahead"),
    "claim": (claims_text, "activate_ahead"),
}
_ALIGNED = 64  # memory of trees is aligned to that many bytes, and code may count on it
_KEPT = 64  # how many are kept, those that were asked for last

_TREES = ("pool", "book")
_PLACES = ("table", "length", "seen", "body")


@dataclass(frozen=True)
class _Layout:
    """Sparse nodes, each below the one before. A node, or a field of it, is the values of its attributes by their
    names, without its own name. A node is a number in the place of a node, and a field such values."""

    nodes: tuple[tuple[tuple[str, object], ...], ...]


def insert_routine(
    kernel: Kernel, kind: str, node: NodeSymbol, before: Op | None, config: CompileConfig, span: object
) -> None:
    """Insert the tasks of a routine for a node of the kernel, or a task that stands for them."""
    text, _ = ROUTINES[kind]
    name = f"{kind} {node.name}"
    if config.apart and _lowered(kind, _Reader(node).layout, _without_target(config)) is not None:
        task = Task("serial", routine=name)
        task.body.insert(RunRoutine(kind, node, _touched(node)))
        for op in task.walk():
            op.span = span  # type: ignore[assignment]
        kernel.body.insert(task, before)
    else:
        insert_tasks(kernel, text(node, config.traits), before, config, span, routine=name)


def _touched(node: NodeSymbol) -> tuple[str, ...]:
    """The names of all parts of a node, and of those above it."""
    parts = [part for one in _chain(node) for part in one.parts.values()]
    return tuple(dict.fromkeys(name for part in parts for name in (part.name, part.stored.name)))


def routines_apart(kernel: Kernel, config: CompileConfig) -> list[Routine]:
    """The routines that the tasks of a kernel run by `run_routine`, mapped to the target. They must not be changed."""
    found = list[Routine]()
    for number, task in enumerate(tasks_of(kernel)):
        op = task.body.first
        if isinstance(op, RunRoutine):
            read = _Reader(op.node)
            lowered = _lowered(op.kind, read.layout, _without_target(config))
            if lowered is None:
                raise InternalError(f"routine '{task.routine}' cannot be compiled apart")
            made = _mapped(lowered, config)
            trees = tuple(read.trees[tree] for tree in made.trees)
            moved = (begin + read.begins[tree] for tree, begin in zip(made.trees, made.begins, strict=True))
            found.append(Routine(number, 1, made.kernel, trees, tuple(moved), shared=True))
    return found


def _without_target(config: CompileConfig) -> CompileConfig:
    """The options for lowering. It comes before the target, and does not count on a number of threads."""
    return replace(config, target=None, threads=0, races=None)


@lru_cache(_KEPT)
def _lowered(kind: str, layout: _Layout, config: CompileConfig) -> Kernel | None:
    """A routine for nodes that are laid out like that, as lowered CHI. None if it must stay in its kernel."""
    text, inserted = ROUTINES[kind]
    nodes = _nodes(layout)
    made = written_on(nodes, "@routine() -> ()", text(nodes[-1], config.traits))
    later = TO_TASKS[TO_TASKS.index(inserted) + 1 :]
    run_passes(made, (*REST, *(name for name in later if name not in REST), *TO_LOWERED), config)
    return made if is_alone(tasks_of(made), made) else None


@lru_cache(_KEPT)
def _mapped(lowered: Kernel, config: CompileConfig) -> Routine:
    """A routine that is lowered, mapped to `config.target`."""
    copy = lowered.clone(dict[Value, Value]())
    assert isinstance(copy, Kernel)
    map_to_target(copy, [], config)
    return numbered(tasks_of(copy))


# ---- layouts ---------------------------------------------------------------------------------------------------------


class _Reader:
    """Reads how a node and those above it are laid out. Tree k of the `layout` is tree `trees[k]` of the kernel, from
    byte `begins[k]` on."""

    def __init__(self, node: NodeSymbol) -> None:
        self.trees = list[int]()
        chain = _chain(node)
        self._numbers = {one: number for number, one in enumerate(chain)}
        rooted = [place for one in chain for place in _places_of(one) if _in_root(place)]
        first = min(start for place in rooted for start in place.components)
        self._begin = first // _ALIGNED * _ALIGNED if all(map(_is_movable, rooted)) else 0
        self.layout = _Layout(tuple(map(self._node, chain)))
        self.begins = [self._begin if tree == rooted[0].tree else 0 for tree in self.trees]

    def _tree(self, number: int) -> int:
        if number < 0:
            return number
        if number not in self.trees:
            self.trees.append(number)
        return self.trees.index(number)

    def _node(self, node: NodeSymbol) -> tuple[tuple[str, object], ...]:
        found = list[tuple[str, object]]()
        for name in (one.name for one in fields(node) if one.name != "name"):
            value = getattr(node, name)
            if name in _PLACES:
                found.append((name, None if value is None else self._place(value)))
            else:
                found.append((name, self._tree(value) if name in _TREES else value))
        return tuple(found)

    def _place(self, place: FieldSymbol) -> tuple[tuple[str, object], ...]:
        found = list[tuple[str, object]]()
        for name in (one.name for one in fields(place) if one.name != "name"):
            value = getattr(place, name)
            if name == "tree":
                value = self._tree(value)
            elif name == "node":
                value = None if value is None else self._numbers[value]
            elif name == "path" and _in_root(place):
                value = _moved(value, self._begin)
            found.append((name, value))
        return tuple(found)


def _chain(node: NodeSymbol) -> list[NodeSymbol]:
    """The sparse nodes above a node, the outermost first, and the node itself."""
    return [node] if node.parent is None else [*_chain(node.parent), node]


def _places_of(node: NodeSymbol) -> list[FieldSymbol]:
    places = [getattr(node, name) for name in _PLACES]
    return [place for place in places if place is not None]


def _in_root(place: FieldSymbol) -> bool:
    """Whether a field lies in the root's memory."""
    return place.node is None or place.node.holder is None


def _is_movable(place: FieldSymbol) -> bool:
    """Whether the bytes from the base of its tree are those of its components."""
    return all(getattr(level, "offset", 0) == 0 for level in place.path.levels)


def _moved(path: Path, by: int) -> Path:
    if not by:
        return path
    return replace(path, cell=replace(path.cell, components=tuple(start - by for start in path.cell.components)))


def _nodes(layout: _Layout) -> tuple[NodeSymbol, ...]:
    """Nodes that are laid out like that."""
    made = list[NodeSymbol]()

    def place(name: str, values: tuple[tuple[str, object], ...]) -> FieldSymbol:
        given = dict(values)
        above = given.pop("node")
        node = made[above] if isinstance(above, int) else None
        return FieldSymbol(name=name, node=node, **given)  # type: ignore[arg-type]

    for number, values in enumerate(layout.nodes):
        given, name = dict(values), f"n{number}"
        for role in _PLACES:
            if given[role] is not None:
                given[role] = place(f"{name}.{role}", given[role])  # type: ignore[arg-type]
        made.append(NodeSymbol(name=name, **given))  # type: ignore[arg-type]
    return tuple(made)
