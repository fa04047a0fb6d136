"""Argument packs combine several arguments of a kernel under one name.

    pack = ti.types.argpack(dt=ti.f32, pos=ti.types.ndarray(dtype=vec2, ndim=1))
    p = pack(dt=0.1, pos=x)
    step(p)                       # def step(p: pack): ... p.pos[i] += p.dt ...

The compiler turns a pack into one kernel parameter for each member. It resolves `p.dt` at compile time. A pack may
contain other packs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from copy import deepcopy
from threading import Lock
from typing import Any

from weft.ir.errors import TypeMismatch
from weft.lang.errors import ArgumentError
from weft.lang.values.struct import convert
from weft.lang.values.types import CompoundType, NdarrayType, primitive
from weft.runtime.epochs import keep
from weft.runtime.forks import forkable

__all__ = ["ArgPack", "ArgPackType", "Members", "is_array", "unpacked"]

_replacing = forkable(Lock())  # if two threads assign a member, each keeps the value that it replaced


class ArgPackType:
    """The type of argument packs with the given members: primitives, vectors, matrices, structs, arrays or packs. Call
    it with a value for each member, by position or by name, to make an ArgPack. `ti.types.argpack` makes one.

    Example:
        pair = ti.types.argpack(a=ti.f32, b=ti.f32)
        pair(1, 2).to_dict()  # {'a': np.float32(1.0), 'b': np.float32(2.0)}
        pair(a=1)  # raises TypeMismatch
    """

    def __init__(self, members: Any, name: str = "argpack") -> None:
        if not isinstance(members, Mapping):
            raise TypeMismatch(f"the members of an argument pack must be a dict of names and types, not {members!r}")
        self.members, self.__name__ = dict(members), name
        for member, annotation in self.members.items():
            if not isinstance(annotation, (CompoundType, ArgPackType)) and not is_array(annotation):
                try:
                    primitive(annotation)
                except TypeMismatch as error:
                    raise TypeMismatch(f"member '{member}' of an argument pack: {error}") from None

    def __call__(self, *values: Any, **named: Any) -> ArgPack:
        if len(values) > len(self.members):
            raise TypeMismatch(f"{self!r} has {len(self.members)} members, but got {len(values)} values")
        given = dict(zip(self.members, values))
        for name in named:
            if name in given:
                raise TypeMismatch(f"{self!r}: member '{name}' is given twice")
        return ArgPack(self, given | named)

    def leaves(self, prefix: str) -> Iterator[tuple[str, Any]]:
        """The (dotted name, annotation) of each member. The members of an inner pack take the place of that pack."""
        for name, annotation in self.members.items():
            full = f"{prefix}.{name}"
            if isinstance(annotation, ArgPackType):
                yield from annotation.leaves(full)
            else:
                yield full, annotation

    def values(self, pack: Any) -> Iterator[Any]:
        """The values of the members, in the order of `leaves`. Raises TypeMismatch if the value is not such a pack."""
        if not isinstance(pack, ArgPack) or pack.pack_type.members != self.members:
            raise TypeMismatch(f"expected {self!r}, got {type(pack).__name__}")
        for name, annotation in self.members.items():
            if isinstance(annotation, ArgPackType):
                yield from annotation.values(pack[name])
            else:
                yield pack[name]

    def __repr__(self) -> str:
        return f"{self.__name__}({', '.join(self.members)})"


def is_array(annotation: Any) -> bool:
    """Whether an annotation is an array annotation."""
    return isinstance(annotation, NdarrayType) or (isinstance(annotation, type) and issubclass(annotation, NdarrayType))


class ArgPack:
    """A value of an ArgPackType. Its members are read and assigned as attributes. A number is cast to the type of its
    member.

    Example:
        params = ti.types.argpack(dt=ti.f32, n=ti.i32)
        p = params(dt=0.5, n=10)
        p.n = 11.7
        p.keys, p.to_dict()  # (['dt', 'n'], {'dt': np.float32(0.5), 'n': np.int32(11)})
    """

    pack_type: ArgPackType
    entries: dict[str, Any]

    def __init__(self, pack_type: Any, values: Any) -> None:
        if not isinstance(pack_type, ArgPackType) or not isinstance(values, Mapping):
            raise TypeMismatch(
                f"ArgPack takes a type made by ti.types.argpack and a dict of members, not {pack_type!r} and {values!r}"
            )
        object.__setattr__(self, "pack_type", pack_type)
        object.__setattr__(self, "entries", {})
        for name in values:
            self._annotation(name)
        for name in pack_type.members:
            if name not in values:
                raise TypeMismatch(f"{pack_type!r}: member '{name}' is missing")
            self[name] = values[name]

    def _annotation(self, name: str) -> Any:
        try:
            return self.pack_type.members[name]
        except KeyError:
            raise AttributeError(f"{self.pack_type!r} has no member '{name}'") from None

    def __getitem__(self, name: str) -> Any:
        self._annotation(name)
        return self.entries[name]

    def __setitem__(self, name: str, value: Any) -> None:
        annotation = self._annotation(name)
        if isinstance(annotation, ArgPackType):
            tuple(annotation.values(value))
        elif not is_array(annotation):
            self.entries[name] = convert(value, annotation)
            return
        with _replacing:
            before = self.entries.get(name)
            self.entries[name] = value
        if before is not None:
            keep(before)  # calls that are under way may still use the value that this pack held

    def __copy__(self) -> ArgPack:
        return ArgPack(self.pack_type, self.entries)

    def __deepcopy__(self, memo: dict[int, Any]) -> ArgPack:
        return ArgPack(self.pack_type, {name: deepcopy(value, memo) for name, value in self.entries.items()})

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        value = self[name]
        return value.item() if hasattr(value, "dtype") and hasattr(value, "item") and not value.ndim else value

    def __setattr__(self, name: str, value: Any) -> None:
        self[name] = value

    @property
    def keys(self) -> list[str]:
        """The names of the members."""
        return list(self.pack_type.members)

    def to_dict(self) -> dict[str, Any]:
        """The members as a dict by name."""
        return dict(self.entries)

    def __repr__(self) -> str:
        return f"<ti.ArgPack {', '.join(f'{name}={value}' for name, value in self.entries.items())}>"


def unpacked(params: Iterable[tuple[str, Any]], args: Iterable[Any]) -> tuple[Any, ...]:
    """The arguments of a kernel whose parameters are (name, annotation) pairs, with each pack replaced by its members.
    Raises ArgumentError for an argument that is not the expected pack."""
    found: list[Any] = []
    for (name, annotation), value in zip(params, args, strict=True):
        if not isinstance(annotation, ArgPackType):
            found.append(value)
            continue
        try:
            found += annotation.values(value)
        except TypeMismatch as error:
            raise ArgumentError(f"argument '{name}': {error.message}") from None
    return tuple(found)


class Members:
    """A pack inside a kernel. Its attributes are what the members mean there."""

    def set(self, path: list[str], value: Any) -> None:
        """Set what the member at this path means."""
        if len(path) == 1:
            setattr(self, path[0], value)
            return
        inner = self.__dict__.setdefault(path[0], Members())
        inner.set(path[1:], value)
