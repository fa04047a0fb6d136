"""The named entities of a kernel: fields and their layout, parameters, and the sites of prints and assertions.

A kernel contains no absolute addresses. A `FieldSymbol` says how the elements of a field are stored relative to the
base of its SNode tree (see `ir/storage/`). Each launch passes the base.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

from weft.ir.errors import Span
from weft.ir.scopes import Scope, field_scope
from weft.ir.storage.cell import Cell
from weft.ir.storage.dense import Term
from weft.ir.storage.level import Space
from weft.ir.storage.path import Path, dense_path
from weft.ir.types import Type

if TYPE_CHECKING:
    from weft.ir.nodes import NodeSymbol

__all__ = [
    "BOX",
    "COMPANIONS",
    "MODES",
    "FieldSymbol",
    "LoopConfig",
    "Lost",
    "Param",
    "places_of",
    "scopes_of",
    "shadow_of",
]

# What a kernel shall become: itself; forward mode, which computes the duals of its outputs of those of its inputs;
# reverse mode, which computes the gradients of its inputs of those of its outputs; or forward mode of reverse mode.
MODES = ("", "jvp", "vjp", "vjp.jvp")

# What a field or parameter has in each mode beside its value.
COMPANIONS = {"jvp": "dual", "vjp": "grad"}

BOX = "box"  # the kind of a hidden parameter that holds a number of the program, see `autodiff/boxes.py`


@dataclass(frozen=True, eq=False)
class FieldSymbol:
    """A field as a kernel sees it.

    `shape` holds the extents, and `offset` the index of the first element per axis. User indices run from `offset[k]`
    to `offset[k] + shape[k]`; empty: from 0. `tree` is the number of the SNode tree, whose base each launch passes.
    `path` leads from the base to the cell of an element, and describes the cell. `order` lists the axes from slowest to
    fastest varying in memory. Fields do not overlap one another, except a field and a field of one of its components
    (`shares_with`). An `exposed` field may overlap exposed arrays and fields. A `hidden` field is not part of the
    program: an instrumentation uses it, and `hidden` is the row of SHADOWS that says for what. `grad` and `dual` are
    the fields of its derivatives, of the same type and shape and with a layout of their own. A kernel lists them before
    the field. A field without the one that a mode needs is a constant in that mode. `node` is the nearest sparse node
    above the field. `tree` is then the number of the memory in which its elements lie.
    """

    name: str
    shape: tuple[int, ...]
    tree: int
    path: Path
    offset: tuple[int, ...] = ()
    order: tuple[int, ...] = ()
    exposed: bool = False
    hidden: str = ""
    grad: FieldSymbol | None = None
    dual: FieldSymbol | None = None
    node: NodeSymbol | None = None

    @classmethod
    def dense(
        cls,
        name: str,
        dtype: Type,
        shape: tuple[int, ...],
        tree: int,
        components: tuple[int, ...],
        terms: tuple[Term, ...],
        offset: tuple[int, ...] = (),
        order: tuple[int, ...] = (),
        exposed: bool = False,
    ) -> FieldSymbol:
        """A field whose levels are all dense. Scalar `c` of element `(i, j, ...)` is at `components[c] + sum of the
        terms` bytes from the base of its tree."""
        return cls(name, shape, tree, dense_path(Cell(dtype, components), terms), offset, order, exposed)

    @property
    def dtype(self) -> Type:
        """The type of an element: primitive, tensor or struct."""
        return self.path.cell.type

    @property
    def components(self) -> tuple[int, ...]:
        """The offset in its cell of each scalar of an element, in bytes."""
        return self.path.cell.components

    @cached_property
    def space(self) -> Space:
        """Its indices."""
        axes = len(self.shape)
        return Space(self.shape, self.offset or (0,) * axes, self.order or tuple(range(axes)))

    def shares_with(self, other: FieldSymbol) -> bool:
        """Whether they have a component in common."""
        return self.tree == other.tree and not {*self.components}.isdisjoint(other.components)


def scopes_of(fields: Sequence[FieldSymbol]) -> dict[FieldSymbol, Scope]:
    """The scope of each of those fields: its name, in characters that mean nothing in texts of code, and a number where
    an earlier field has that name."""
    scopes: dict[FieldSymbol, Scope] = {}
    taken: set[str] = set()
    for symbol in fields:
        stem = name = re.sub(r"[^\w.]", "_", symbol.name)
        number = 0
        while name in taken:
            number += 1
            name = f"{stem}.{number}"
        taken.add(name)
        scopes[symbol] = field_scope(name, symbol.exposed)
    return scopes


def places_of(fields: Sequence[FieldSymbol], params: Sequence[Param]) -> dict[str, str]:
    """The fields and parameters of a kernel: "field:2" or "param:0", by a name that no other one has. That is its own
    name, or its own name and a number if an earlier one has it."""
    found: dict[str, str] = {}
    for kind, names in (("field", [one.name for one in fields]), ("param", [one.name for one in params])):
        for number, own in enumerate(names):
            name, again = own, 0
            while name in found:
                again += 1
                name = f"{own}.{again}"
            found[name] = f"{kind}:{number}"
    return found


def shadow_of(symbol: FieldSymbol, kind: str) -> FieldSymbol | None:
    """Return the hidden field that a field's cell declares as its shadow of that kind. It is a new object with the
    layout of the field. None if the cell does not declare one."""
    shadow = symbol.path.cell.shadow(kind)
    if shadow is None:
        return None
    path = replace(symbol.path, cell=replace(symbol.path.cell, shadows=()))
    return replace(symbol, name=shadow.field, tree=shadow.tree, path=path, hidden=kind, grad=None, dual=None)


@dataclass(frozen=True)
class Param:
    """A kernel parameter: its name and type (primitive, tensor, struct or array). A `hidden` one is none of the
    program's: the first array with that row of SHADOWS tells of the first of the kernel's own arrays, and so on. A
    hidden "dual" or "grad" belongs to the parameter whose name precedes its own, as in `x.dual`."""

    name: str
    type: Type
    hidden: str = ""


@dataclass(frozen=True)
class Lost:
    """A place where a kernel stores a value that carries a derivative to memory without a gradient: the name of the
    field or parameter, and the place in the source."""

    name: str
    span: Span | None = None


@dataclass(frozen=True)
class LoopConfig:
    """The options of `loop_config` for the next loop. 0 means that the compiler chooses."""

    serialize: bool = False
    block_dim: int = 0
    parallelize: int = 0
    simd: int = 0

    def over(self, usual: LoopConfig) -> LoopConfig:
        """This configuration, with unset options taken from `usual`."""
        numbers = {name: getattr(self, name) or getattr(usual, name) for name in ("block_dim", "parallelize", "simd")}
        return LoopConfig(self.serialize, **numbers)
