"""Which memory a launch reads and writes, as far as its arguments tell.

An access is a *box*: some axes with one index, its *point*, and all indices of the other axes. Boxes may be larger than
what is accessed, never smaller. All that follows from the instance alone is found once for each instance: see `Uses`.
A tape adds the memory, see `versions.py`."""

from __future__ import annotations

import struct
import weakref
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from weft.ir.errors import Span
from weft.ir.types import Array, Prim, flatten
from weft.lang.autodiff.accesses import Access, Finder, Point, points_of
from weft.lang.autodiff.cells import CellUses
from weft.lang.autodiff.memory import Memory, cells_around, memory_of
from weft.lang.calls.compile import Instance

__all__ = ["Box", "Touch", "Uses", "uses_of", "written_by_python"]

Box = tuple[int | None, ...]


@dataclass(frozen=True)
class Touch:
    """What a launch reads or writes: the elements in a box of `memory`, and where its source says so. `saved`: the
    gradient of the launch needs the values from before it, of this memory."""

    memory: Memory
    box: Box
    span: Span | None
    saved: bool


class Uses:
    """The accesses of an instance. It keeps no field alive."""

    def __init__(self, instance: Instance) -> None:
        translation = instance.recipe.translate()
        finder = Finder(translation.tree)
        facts = instance.facts
        self.saved = frozenset(() if facts is None else facts.saved)
        self.lost, self.draws = ((), False) if facts is None else (facts.lost, facts.draws)
        self._read = None if facts is None else frozenset(facts.reads)
        self._cells = CellUses(translation)
        self.every_read = [*finder.reads, *self._cells.reads]
        self.writes = [*finder.writes, *self._cells.writes]
        self.reads = list(filter(self.needs, self.every_read))
        self._at = {id(one): at for at, one in enumerate([*self.writes, *self.every_read])}
        self.needed, self._points = points_of([*self.writes, *self.every_read])
        self._symbols, self._params = translation.tree.fields, translation.tree.params
        self._fields = [weakref.ref(one) for one in translation.kept]
        self._positions = instance.positions
        self._numbers = self._reader(instance)
        self._constant = None if self.needed else self.points_for(())  # the points, if they depend on no number
        arrays = [k for k, p in enumerate(self._params) if isinstance(p.type, Array) and not p.hidden]
        self.arrays = [self._positions[k] for k in arrays]  # the positions of the array arguments

    def _reader(self, instance: Instance) -> Callable[[bytes], Sequence[int]] | None:
        """What reads the numbers that indices depend on from a bound context. None if there are no such contexts."""
        artifact = getattr(instance.run, "artifact", None)
        if artifact is None:
            return None
        layout, at = "=", 0
        for number in self.needed:
            prim, place = self._params[number].type, 8 * artifact.slots.param_start[number]
            assert isinstance(prim, Prim)
            layout += f"{place - at}x{'q' if prim.is_signed else 'Q'}"
            at = place + 8
        return struct.Struct(layout).unpack_from

    def touched(self, accesses: Sequence[Access], flat: Sequence[Any]) -> list[Touch]:
        """What a launch with these arguments touches by some of its accesses."""
        return self.touched_at(accesses, self.points_for(flat), lambda place: self.memory(place, flat))

    def touched_at(
        self, accesses: Sequence[Access], points: Sequence[Point] | None, memory_of_place: Callable[[str], Memory]
    ) -> list[Touch]:
        """What a launch with these points touches by some of its accesses."""
        found = dict[tuple[str, Box], Touch]()
        memories = {place: memory_of_place(place) for place in {*self.saved, *(one.place for one in accesses)}}
        saved = {memories[place].key for place in self.saved}  # two places may have one memory
        for one in accesses:
            memory = memories[one.place]
            known = {} if points is None else dict(zip(one.axes, points[self._at[id(one)]], strict=True))
            box = () if memory.whole else tuple(known.get(axis) for axis in range(len(one.indices)))
            found.setdefault((one.place, box), Touch(memory, box, one.span, memory.key in saved))
        return list(found.values())

    def needs(self, read: Access) -> bool:
        """Whether the gradient reads that memory, too. The cells of sparse trees are those in which gradients are."""
        return self._read is None or read.place in self._read or read.place.startswith("cells")

    def points(self, context: bytes) -> tuple[Point, ...] | None:
        """The points of the writes, and then of all reads, of a launch with that bound context. None if an index has no
        value."""
        if not self.needed:
            return self._constant
        assert self._numbers is not None
        try:
            return self._points(*self._numbers(context))
        except ArithmeticError:
            return None

    def points_for(self, flat: Sequence[Any]) -> tuple[Point, ...] | None:
        """The points of a launch with these arguments."""
        try:
            return self._points(*[int(flat[self._positions[number]]) for number in self.needed])
        except (ArithmeticError, TypeError, ValueError):  # an argument may be no number of Python
            return None

    def fields(self) -> list[Any]:
        """The fields that a launch uses, and the gradients and duals of them that it uses."""
        return [made for made in (one() for one in self._fields) if made is not None]

    def every_field(self) -> list[Any]:
        """The fields by their numbers. None for those that are gone."""
        return [one() for one in self._fields]

    def field(self, place: str) -> Any:
        """The field at a place such as "field:2". None if it is gone."""
        return self._fields[int(place.removeprefix("field:"))]()

    def named(self, name: str) -> list[str]:
        """The fields and parameters of that name."""
        fields = [f"field:{k}" for k, symbol in enumerate(self._symbols) if symbol.name == name]
        return fields + [f"param:{k}" for k, param in enumerate(self._params) if param.name == name]

    def is_constant(self, place: str) -> bool:
        """Whether a field or parameter has no gradient, but could have one."""
        kind, number = place.split(":")
        if kind == "field":
            symbol = self._symbols[int(number)]
            return symbol.grad is None and symbol.dual is None and any(prim.is_float for prim in flatten(symbol.dtype))
        if kind != "param":
            return False
        param = self._params[int(number)]
        assert isinstance(param.type, Array)
        own = any(prim.is_float for prim in flatten(param.type.elem))
        return own and not any(one.name in (f"{param.name}.grad", f"{param.name}.dual") for one in self._params)

    def has_gradient(self, place: str) -> bool:
        """Whether a field or parameter has a gradient, or in forward mode a dual."""
        kind, number = place.split(":")
        if kind == "field":
            symbol = self._symbols[int(number)]
            return symbol.grad is not None or symbol.dual is not None
        if kind != "param":
            return False
        name = self._params[int(number)].name
        return any(one.name in (f"{name}.grad", f"{name}.dual") for one in self._params)

    def name(self, place: str) -> str:
        """What the kernel calls a field or parameter."""
        kind, number = place.split(":")
        found: str = self._symbols[int(number)].name if kind == "field" else self._params[int(number)].name
        return found

    def memory(self, place: str, flat: Sequence[Any]) -> Memory:
        """The memory of a field or an argument."""
        kind, number = place.split(":")
        if kind == "field":
            field = self._fields[int(number)]()
            assert field is not None, "the tape calls this while the kernel is called"
            return memory_of(field)
        if kind != "param":
            return self._cells.memory(place)
        return memory_of(flat[self._positions[int(number)]])


def written_by_python(target: Any) -> list[Touch]:
    """What Python writes if it writes all elements of a field or array: of a sparse field, also cells."""
    cells = cells_around(target)
    return [Touch(one, (), None, saved=False) for one in (memory_of(target), *(() if cells is None else (cells,)))]


def uses_of(instance: Instance) -> Uses:
    """The accesses of an instance, found at the first call."""
    if instance.recorded is None:
        instance.recorded = Uses(instance)
    found: Uses = instance.recorded
    return found
