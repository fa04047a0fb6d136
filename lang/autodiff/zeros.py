"""Which gradients are 0 without being cleared.

A tape sets the gradients of all fields to 0 first. But the gradient of a launch sets the gradient of what the kernel
stored to 0 itself: after the gradients of a simulation that keeps its steps in a field, most elements are 0 again. If
all launches came as expected (`repeats.py`), the rows of `ir/autodiff/grad_accesses.py` say which are not.

That is *known* for the next tape if

    (1) nobody else has the gradient: no program has asked for `x.grad`, so no kernel and no library may write it
    (2) nobody else runs gradient kernels: no program has asked for `kernel.grad` or for another derivative, and no
        operator of another library has computed one
    (3) no other tape has cleared gradients, or has run some, since this one has begun, or still runs some

Otherwise, gradients are cleared as a whole."""

from __future__ import annotations

import struct
import weakref
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from weft.ir.autodiff.grad_accesses import UNKNOWN
from weft.ir.types import Prim
from weft.lang.autodiff.memory import memory_of
from weft.lang.autodiff.memory_use import Box, uses_of
from weft.lang.calls.compile import Instance
from weft.lang.data.field_tree import FieldTree
from weft.lang.data.writes import LISTENERS
from weft.lang.program.init import Program

__all__ = [
    "GradientAccesses",
    "Mark",
    "Places",
    "Zeros",
    "clear_gradients",
    "fill_in",
    "gradients_change",
    "is_hidden",
    "other_values",
    "zeros_after",
]

_MOST = 16  # boxes of one field that are told apart

Places = dict[int, dict[Box, None]]  # the boxes that may have other values than 0, by the identity of the gradient


class GradientAccesses:
    """What the launches of a gradient kernel access. `rows`: the kind of the access, the gradient, and the index on
    each axis: (the place among the arguments or -1, a constant), or None for any index."""

    def __init__(self, instance: Instance) -> None:
        uses, facts = uses_of(instance), instance.facts
        self.rows = list[tuple[str, Any, list[tuple[int, int] | None]]]()
        self.is_known = facts is not None and facts.grad_accesses != UNKNOWN
        numbers = list[int]()
        for row in facts.grad_accesses if facts is not None and self.is_known else ():
            kind, indices, place = row.split(" ")
            parts = [None if one == "*" else one.split(":") for one in indices.split(",") if one]
            numbers += [int(part[0]) for part in parts if part is not None and part[0] != "-"]
            box = [None if one is None else (-1 if one[0] == "-" else int(one[0]), int(one[1])) for one in parts]
            field = uses.field(place)
            self.is_known &= field is not None and field.whole is None
            self.rows.append((kind, field, box))
        self._numbers = sorted(set(numbers))
        self._ranges = dict[int, range]()  # the values of the types of these parameters
        self._read = self._reader(instance)

    def _reader(self, instance: Instance) -> struct.Struct:
        """What reads the arguments of a bound context that indices depend on."""
        artifact, params = getattr(instance.run, "artifact", None), instance.recipe.translate().tree.params
        layout, at = "=", 0
        if artifact is None:
            self.is_known, self._numbers = False, []
            return struct.Struct("")
        for number in self._numbers:
            prim, place = params[number].type, 8 * artifact.slots.param_start[number]
            assert isinstance(prim, Prim)
            self._ranges[number] = range(np.iinfo(prim.np).min, np.iinfo(prim.np).max + 1)
            layout += f"{place - at}x{'q' if prim.is_signed else 'Q'}"
            at = place + 8
        return struct.Struct(layout)

    def boxes(self, context: bytes) -> Iterator[tuple[str, Any, Box]]:
        """The accesses of a launch: the kind, the gradient, and the box. A box outside of a field
        has no elements: the accesses are dropped. A sum that wraps around may be any index."""
        values = dict(zip(self._numbers, self._read.unpack_from(context), strict=True))
        values[-1] = 0
        for kind, field, indices in self.rows:
            known = [None if one is None or self._wraps(values, *one) else one for one in indices]
            if kind == "clear" and known != indices:
                continue
            box = tuple(None if one is None else values[one[0]] + one[1] for one in known)
            if all(
                number is None or start <= number < start + extent
                for number, start, extent in zip(box, field.offset, field.shape, strict=True)
            ):
                yield kind, field, box

    def _wraps(self, values: Mapping[int, int], number: int, constant: int) -> bool:
        return number != -1 and values[number] + constant not in self._ranges[number]


def other_values(launches: Iterable[tuple[GradientAccesses, bytes]]) -> Places | None:
    """Which elements may have other values than 0 after these gradients, if all were 0 before. None: it is unknown."""
    found: Places = {}
    for accesses, context in launches:
        if not accesses.is_known:
            return None
        for kind, field, box in accesses.boxes(context):
            fill_in(found, kind, field, box)
    return found


def fill_in(found: Places, kind: str, field: Any, box: Box) -> None:
    """Change the boxes that may have other values by an access."""
    boxes = found.setdefault(id(field), {})
    if kind == "clear":
        for one in [one for one in boxes if _is_within(one, box)]:
            del boxes[one]
    elif kind == "write":
        boxes[box if len(boxes) < _MOST else (None,) * len(box)] = None


def _is_within(box: Box, other: Box) -> bool:
    return all(wide is None or wide == own for own, wide in zip(box, other, strict=True))


class Zeros:
    """What is known of the gradients of a program: all elements of these are 0, except those in some boxes."""

    def __init__(self, program: Program, boxes: Places) -> None:
        self.found = boxes
        hidden = filter(is_hidden, _used(program))
        self._known = {id(one): (weakref.ref(one), list(boxes.get(id(one), ()))) for one in hidden}

    def boxes(self, gradient: Any) -> Sequence[Box] | None:
        """The boxes in which a gradient may have other values than 0. None: all of it may."""
        known = self._known.get(id(gradient))
        return known[1] if known is not None and not gradient.shown and known[0]() is gradient else None


def _used(program: Program) -> Iterator[Any]:
    """The gradients of the fields of a program that were used."""
    for tree in program.living():
        if isinstance(tree, FieldTree) and not tree.destroyed:
            yield from tree.companions.used["grad"]


def is_hidden(gradient: Any) -> bool:
    """Whether only tapes have a gradient. (That of a component shares its memory with the gradient of the vector. That
    of a sparse field loses cells.)"""
    return not gradient.shown and gradient.whole is None and gradient.describe().node is None


class Mark:
    """What `program.zeros` is while nothing is known. `before`: what was known before, if that was of all gradients
    that tapes may know something of."""

    before: Zeros | None = None


def zeros_after(program: Program, cleared: Mark, boxes: Places) -> Zeros:
    """What is known after a tape that has cleared the gradients: often what was known before it."""
    before = cleared.before
    return before if before is not None and before.found is boxes else Zeros(program, boxes)


def gradients_change(program: Program) -> Mark:
    """Note that a tape changes gradients. Gives what `program.zeros` is until they change again."""
    mark = Mark()
    if program.zeros is not False:
        program.zeros = mark
    return mark


def clear_gradients(program: Program) -> Mark:
    """Set the gradients of all fields to 0: those elements that may have other values. Gives what `program.zeros` is
    until they change again."""
    known = program.zeros if isinstance(program.zeros, Zeros) and not LISTENERS.get() else None
    mark = gradients_change(program)
    mark.before = known
    for gradient in _used(program):
        boxes = None if known is None else known.boxes(gradient)
        if boxes is None:
            gradient.fill(0)
            if not gradient.shown:
                mark.before = None
        elif boxes:
            memory = memory_of(gradient)
            for box in boxes:
                memory.clear(box)
    return mark
