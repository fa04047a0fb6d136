"""What a checkpoint has of a program: arrays and values by name, and the random numbers.

A struct field has an array for each member: `particles.pos`. The gradient and the dual of `x` are `x.grad` and
`x.dual`, where `x` has them."""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from weft.ir.errors import TypeMismatch
from weft.lang.arguments import shown
from weft.lang.data.companions import companions_of
from weft.lang.data.field import Field
from weft.lang.data.field_tree import nodes_below
from weft.lang.data.ndarray import Ndarray
from weft.lang.data.snode_api import SNode
from weft.lang.data.struct_field import StructField
from weft.lang.data.struct_ndarray import StructMembers
from weft.lang.interpret.random import draws
from weft.lang.program.init import program
from weft.lang.values.matrix import Matrix

__all__ = ["Holder", "deactivated_before", "holders", "is_plain", "random_state", "set_random_state"]

_KINDS = "biufc"  # the kinds of numpy's types that a checkpoint can have: numbers and truth values


@dataclass(frozen=True)
class Holder:
    """An object with numbers that are written to a checkpoint or read from it."""

    name: str  # in the checkpoint
    owner: Any  # a field or ndarray without members, or a numpy array

    @property
    def dtype(self) -> Any:
        """The numpy type of the numbers."""
        return np.dtype(self.owner.dtype.np if isinstance(self.owner, Field | Ndarray) else self.owner.dtype)

    @property
    def shape(self) -> tuple[int, ...]:
        """The extents, without those of an element."""
        return tuple(self.owner.shape)

    @property
    def element(self) -> tuple[int, ...]:
        """The extents of an element, which is a number, a vector or a matrix. n x 1 matrices count as vectors."""
        if isinstance(self.owner, Ndarray):
            return self.owner.element_shape
        if not isinstance(self.owner, Field):
            return ()
        inner = self.owner._inner
        return inner[:1] if inner[1:] == (1,) else inner

    @property
    def offset(self) -> tuple[int, ...]:
        """The index of the first element."""
        return self.owner.offset if isinstance(self.owner, Field) else (0,) * len(self.shape)

    @property
    def is_sparse(self) -> bool:
        """Whether it is a sparse field, of which only the active elements are written."""
        return isinstance(self.owner, Field) and self.owner.describe().node is not None

    def active(self) -> tuple[Any, Any]:
        """The indices of the active elements of a sparse field, and their numbers, of shape `(n, *element)`."""
        indices, values = self.owner.active()
        return indices, np.asarray(values).reshape(len(indices), *self.element)

    def set_active(self, indices: Any, values: Any, offset: Sequence[int]) -> None:
        """Set these elements, which activates them, and all others to 0. Indices count from `offset`, which is that of
        the field in the file; arrays of numpy begin there."""
        if isinstance(self.owner, Field):
            self.owner.fill(0)
            self.owner.from_active(indices, values.reshape(len(indices), *self.owner.element_shape))
            return
        made = np.zeros(self.shape, self.dtype)
        made[tuple((indices - np.array(offset, np.int64)).T)] = values
        self.set(made)

    def check(self) -> None:
        """Raise an exception if `set` would: FieldError if the memory is gone, ValueError if it is read-only."""
        if isinstance(self.owner, Field):
            self.owner.describe()
        elif isinstance(self.owner, Ndarray):
            self.owner.array()
        elif not self.owner.flags.writeable:
            raise ValueError(f"'{self.name}' is read-only")

    def get(self) -> Any:
        """The numbers, as a numpy array of shape `(*shape, *element)`."""
        array = self.owner.to_numpy() if isinstance(self.owner, Field | Ndarray) else self.owner
        return np.asarray(array).reshape(self.shape + self.element)

    def set(self, array: Any) -> None:
        """Set all numbers."""
        if isinstance(self.owner, Field | Ndarray):
            self.owner.from_numpy(array)
        else:
            self.owner[...] = array


def deactivated_before(targets: Iterable[Holder]) -> list[SNode]:
    """The sparse nodes at the top all of whose fields are loaded. They are deactivated before, so that what is active
    afterwards is what was active when the file was written."""
    loaded = {id(holder.owner) for holder in targets}
    tops: dict[int, SNode] = {}
    for holder in targets:
        if holder.is_sparse:
            tree, path = holder.owner.snode.tree, holder.owner.snode.node.path()
            top = next(node for node in path if node.is_sparse)
            tops[id(top)] = SNode(top, tree)
    found = list[SNode]()
    for top in tops.values():
        places = (node for node in nodes_below(top.node) if node.kind == "place")
        fields = [top.tree.fields[place] for place in places if place in top.tree.fields]
        if all(id(made) in loaded for made in fields):
            found.append(top)
    return found


def is_plain(value: Any) -> bool:
    """Whether this is a value of Python that a checkpoint has as it is: a number, a string, True, False or None."""
    return value is None or type(value) in (bool, int, float, str)


def holders(name: str, value: Any) -> Iterator[Holder]:
    """The arrays of a field, an ndarray, a numpy array, or a dict of them. Raises TypeMismatch for anything else."""
    if isinstance(value, StructField | StructMembers):
        value = value.members
    if isinstance(value, Mapping):
        for key, member in value.items():
            yield from holders(f"{name}.{key}", member)
        return
    if isinstance(value, Field | Ndarray):
        yield Holder(name, value)
        for kind, companion in companions_of(value):
            yield from holders(f"{name}.{kind}", companion)
        return
    if isinstance(value, Matrix | np.generic):
        value = np.array(value.to_numpy() if isinstance(value, Matrix) else value)
        value.flags.writeable = False  # a copy: nothing can be loaded into it
    if not isinstance(value, np.ndarray) or value.dtype.kind not in _KINDS:
        raise TypeMismatch(
            "a checkpoint can contain fields, ndarrays, numpy arrays, numbers, strings, and dicts of fields "
            f"and arrays, but '{name}' is {shown(value)}"
        )
    yield Holder(name, value)


def random_state() -> dict[str, Any]:
    """The state of the random numbers of kernels and of Python scope, as data for JSON."""
    current = program()
    version, words, extra = current.random.getstate()
    key = draws().next_key if current.interprets else current.device.random_key
    return {"launch": key, "python": [version, list(words), extra]}


def set_random_state(state: Mapping[str, Any]) -> None:
    """Make later random numbers those that followed when `random_state` gave this state, on any arch."""
    current = program()
    version, words, extra = state["python"]
    source = random.Random()
    source.setstate((version, tuple(words), extra))
    current.random = source
    draws().next_key = state["launch"]
    current.device.random_key = state["launch"]
