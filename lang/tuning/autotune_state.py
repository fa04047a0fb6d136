"""Save and restore what a kernel may change: trees of fields, arrays, and the seed of the random numbers."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable
from typing import Any

from weft.lang.data.field import Field
from weft.lang.data.ndarray import Ndarray
from weft.lang.data.reserved import ReservedMemory
from weft.lang.data.struct_field import StructField
from weft.lang.data.struct_ndarray import StructNdarray

__all__ = ["Kept", "Saved", "saver"]


class Saved:
    """Saved contents. `put_back` restores them."""

    def __init__(self, put_back: Callable[[], Any]) -> None:
        self.put_back = put_back


def saver(program: Any, value: Any) -> Saved:
    """Save the contents of a field, an ndarray or an array of another library. Raises TypeError for any other
    object."""
    if isinstance(value, (Field, StructField)):
        several = [_tree(program, tree) for tree in {id(tree): tree for tree in _trees(value)}.values()]
        return Saved(lambda: [one.put_back() for one in several])
    if isinstance(value, (Ndarray, StructNdarray)):
        held = copy.deepcopy(value)
        return Saved(lambda: value.copy_from(held))
    if hasattr(value, "clone"):  # a PyTorch tensor
        tensor = value.detach()
        there = tensor.clone()
        return Saved(lambda: tensor.copy_(there))
    if hasattr(value, "copy") and hasattr(value, "shape"):
        array = value.copy()
        return Saved(lambda: value.__setitem__(..., array))
    raise TypeError(f"{type(value).__name__} cannot be saved and restored")


def _trees(field: Field | StructField) -> list[Any]:
    """Return the trees that contain the members of a field."""
    if isinstance(field, Field):
        return [field.describe().tree]
    return [tree for member in field.members.values() for tree in _trees(member)]


def _tree(program: Any, tree: Any) -> Saved:
    """Save all fields of a tree."""
    if isinstance(tree, ReservedMemory):
        raise TypeError("the cells of sparse fields cannot be saved and restored: tune the kernel with dense fields")
    memory, buffer = program.device.memory, tree.buffer()
    held = memory.duplicate(buffer)
    return Saved(lambda: memory.assign(buffer, held))


class Kept:
    """The saved state of a program. Each object is saved once."""

    def __init__(self, program: Any) -> None:
        self._program = program
        self._trees: dict[int, tuple[Any, Saved]] = {}
        self._arrays: list[Saved] = []
        self._seed = program.device.random_key

    def argument(self, value: Any) -> None:
        """Save an array. Fields are saved with the trees that a kernel reaches."""
        writable = getattr(getattr(value, "flags", None), "writeable", True)
        holds = hasattr(value, "dtype") and hasattr(value, "shape") and bool(value.shape)
        if isinstance(value, StructNdarray) or (holds and writable and not isinstance(value, Field)):
            self._arrays.append(saver(self._program, value))

    def reached(self, trees: Iterable[Any]) -> None:
        """Save trees of fields, unless they are saved already."""
        for tree in trees:
            if id(tree) not in self._trees:
                self._trees[id(tree)] = tree, _tree(self._program, tree)

    def put_back(self) -> None:
        """Restore everything."""
        for one in (*self._arrays, *(saved for _, saved in self._trees.values())):
            one.put_back()
        self._program.device.random_key = self._seed
