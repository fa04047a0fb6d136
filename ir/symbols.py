"""What a kernel refers to by name: fields and their layout, parameters, and the sites of prints and assertions.

A kernel never bakes an address in. A `FieldSymbol` says where the elements of a field lie relative to the base of its
SNode tree; the base comes with each launch.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from weft.ir.scopes import Scope, field_scope
from weft.ir.types import Type

__all__ = ["FieldSymbol", "LoopConfig", "Marks", "Param", "Term", "scopes_of"]


@dataclass(frozen=True)
class Term:
    """One digit of an index: element `i` along `axis` adds `(i // divisor % modulus) * stride` bytes.

    A plain dense axis is one term with divisor 1 and modulus equal to the extent; nested blocks give several."""

    axis: int
    divisor: int
    modulus: int
    stride: int


@dataclass(frozen=True, eq=False)
class FieldSymbol:
    """A dense field as a kernel sees it.

    `dtype` is a primitive or tensor type. `shape` are the extents, `offset` the index of the first element per axis
    (user indices run from `offset[k]` to `offset[k] + shape[k]`). `tree` numbers the kernel's SNode trees.
    Scalar component `c` of element `(i, j, ...)` lies at `base(tree) + components[c] + sum of its terms` bytes.
    `order` lists the axes from slowest to fastest varying in memory. Fields do not overlap one another, save a field
    and one of a component of it (`shares_with`); an `exposed` one may overlap exposed arrays and fields.
    """

    name: str
    dtype: Type
    shape: tuple[int, ...]
    tree: int
    components: tuple[int, ...]
    terms: tuple[Term, ...]
    offset: tuple[int, ...] = ()
    order: tuple[int, ...] = ()
    exposed: bool = False

    def shares_with(self, other: FieldSymbol) -> bool:
        """Whether they have a component in common."""
        return self.tree == other.tree and not {*self.components}.isdisjoint(other.components)

    def affine(self) -> bool:
        """Whether every axis is one plain stride (no div or mod in the address)."""
        return all(t.divisor == 1 for t in self.terms) and len({t.axis for t in self.terms}) == len(self.terms)


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


@dataclass(frozen=True)
class Marks:
    """Where the marks of what has been written are, for the check of uninitialised elements: those of tree `k` are tree
    `first + k`, for each of the first `trees` trees."""

    trees: int
    first: int


@dataclass(frozen=True)
class Param:
    """A kernel parameter: its name and type (primitive, tensor, struct or array)."""

    name: str
    type: Type


@dataclass(frozen=True)
class LoopConfig:
    """What `loop_config` asked for the next loop. 0 means: choose."""

    serialize: bool = False
    block_dim: int = 0
    parallelize: int = 0
    simd: int = 0

    def over(self, usual: LoopConfig) -> LoopConfig:
        """This, and where it says nothing, `usual`."""
        numbers = {name: getattr(self, name) or getattr(usual, name) for name in ("block_dim", "parallelize", "simd")}
        return LoopConfig(self.serialize, **numbers)
