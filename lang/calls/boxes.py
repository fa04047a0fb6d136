"""Boxes: hidden arguments of derivatives that hold a number, vector or matrix of the program (`ir/autodiff/boxes.py`).

A derivative by a parameter that is passed by value, or of a result, needs memory. `ti.ad.grad` and the others ask for
boxes by name: that of the parameter, or "return.0" for the first result. Each launch has new ones."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from weft.ir.symbols import BOX, COUNTING, RECORDING, RECORDS, role_of
from weft.ir.types import Prim, Tensor, flatten, i64
from weft.lang.calls.companions import Companion
from weft.lang.calls.parameters import ArrayParameter, Compound, Parameter, Scalar
from weft.lang.data.derived import at_path, kinds_of, suffix_of
from weft.lang.data.operations import unheard
from weft.lang.translate.entry import Argument
from weft.lang.values.makers import MAKERS
from weft.lang.values.types import NdarrayType, to_ir

__all__ = ["Boxes", "can_box", "name_of"]


def can_box(annotation: Any) -> bool:
    """Whether a value of that type can have a derivative: a float, or a vector or matrix of floats."""
    type = to_ir(annotation)
    return isinstance(type, Prim | Tensor) and all(prim.is_float for prim in flatten(type))


def name_of(function: Any, mode: str, boxed: Sequence[str]) -> str:
    """The name of a kernel in a mode: "step.grad". `boxed` is what `Boxes` takes."""
    own: str = function.__name__
    if boxed and role_of(boxed[-1])[0] in (RECORDING, COUNTING):
        return f"{own}.{boxed[-1]}"
    return f"{own}.{suffix_of(mode)}" if mode else own


class _Box(ArrayParameter):
    def __init__(self, name: str, annotation: Any) -> None:
        super().__init__(f"{name}.{BOX}", NdarrayType(annotation, 0))

    def argument(self, value: Any) -> Argument:
        return replace(super().argument(value), hidden=BOX)


@dataclass
class _Row:
    """One box: what it is for, its type, and the position of its argument; None for a result."""

    name: str
    annotation: Any
    position: int | None


class _Records(ArrayParameter):
    """The array for the values that a launch records for its gradient. `kind` is a row of RECORDS."""

    def __init__(self, kind: str) -> None:
        super().__init__("launch.records", NdarrayType(i64, 1))
        self._kind = kind

    def argument(self, value: Any) -> Argument:
        return replace(super().argument(value), hidden=self._kind)


class Boxes:
    """The boxes of a derivative, with the companions of each, and the array of its records. `names` says what for: a
    parameter, a result, or at the end a row of RECORDS."""

    def __init__(self, names: Sequence[str], own: Sequence[Parameter], results: Sequence[Any], mode: str) -> None:
        self._records = _Records(names[-1]) if names[-1] in RECORDS else None
        names = names if self._records is None else names[:-1]
        boxable = {p.name: k for k, p in enumerate(own) if isinstance(p, Scalar | Compound) and can_box(p.annotation)}
        self._rows = list[_Row]()
        for name in names:
            if name in boxable:
                self._rows.append(_Row(name, own[boxable[name]].annotation, boxable[name]))
            else:
                self._rows.append(_Row(name, results[int(name.removeprefix("return."))], None))
        self._paths = kinds_of(mode)

    def parameters(self) -> list[Parameter]:
        """The hidden parameters."""
        made = list[Parameter]()
        for row in self._rows:
            box = _Box(row.name, row.annotation)
            made += [box, *(Companion(box, path) for path in self._paths)]
        return made if self._records is None else [*made, self._records]

    def arguments(self, flat: Sequence[Any], known: Mapping[str, Any]) -> list[Any]:
        """The boxes for a launch with these arguments, and their companions; room for one record. New boxes are made,
        except for those that are `known`, by what they are for."""
        made = list[Any]()
        for row in self._rows:
            box = known.get(row.name)
            if box is None:
                box = MAKERS.ndarray(row.annotation, ())
                if row.position is not None:
                    with unheard():
                        box[None] = flat[row.position]
            made += [box, *(at_path(box, path) for path in self._paths)]
        return made if self._records is None else [*made, MAKERS.ndarray(i64, 1)]

    @property
    def count(self) -> int:
        """The number of arguments that they are."""
        return (1 + len(self._paths)) * len(self._rows) + (self._records is not None)

    def found(self, flat: Sequence[Any]) -> dict[str, Any]:
        """The boxes among the arguments of a launch, by what they are for."""
        step, own = 1 + len(self._paths), flat[len(flat) - self.count :]
        return {row.name: own[k * step] for k, row in enumerate(self._rows)}
