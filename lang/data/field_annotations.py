"""`ti.Field[ti.f32]` as an annotation: a compile-time constant that is a field of such elements."""

from __future__ import annotations

from typing import Any

from weft.ir.errors import TypeMismatch
from weft.ir.types import Type
from weft.lang.values.brackets import Unsized, accepts, meant
from weft.lang.values.types import CompoundType, Template, check_number

__all__ = ["FieldAnnotation", "Subscripted"]


class FieldAnnotation(Template):
    """`kind[element]`: a `template()` whose argument must be a field of the class `kind`, with elements of the type
    `element`. None is any type."""

    def __init__(self, kind: type, element: Any = None) -> None:
        super().__init__()
        self.kind = kind
        self.element = None if element is Any else meant(element)
        if self.element is not None and not isinstance(self.element, CompoundType | Type | Unsized):
            check_number(self.element)

    @property
    def not_of_values(self) -> str:
        """Why this is not the type of a value."""
        return f"{self!r} annotates a parameter for fields; it is not a type of values"

    def accepts(self, value: Any) -> bool:
        """Whether `value` is such a field."""
        return isinstance(value, Subscripted) and value.is_a(self.kind) and accepts(self.element, value.element_type)

    def __repr__(self) -> str:
        name = f"ti.{self.kind.__name__}"
        return name if self.element is None else f"{name}[{_spelled(self.element)}]"


def _spelled(element: Any) -> str:
    if isinstance(element, type):
        return element.__name__
    return f"ti.{element}" if isinstance(element, Type) else repr(element)


class Subscripted:
    """What the classes of fields have: `Field[ti.f32]` annotates a parameter."""

    @property
    def element_type(self) -> Any:
        """The type of an element: an IR type, or a struct type."""
        raise NotImplementedError

    def is_a(self, kind: type) -> bool:
        """Whether this is a field of that class."""
        return isinstance(self, kind)

    def __class_getitem__(cls, element: Any) -> FieldAnnotation:
        if isinstance(element, tuple):
            raise TypeMismatch(
                f"ti.{cls.__name__} takes the type of the elements, as in ti.{cls.__name__}[ti.f32], got "
                f"{len(element)} in its brackets; a field knows its number of axes"
            )
        return FieldAnnotation(cls, element)
