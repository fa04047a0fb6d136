"""Evaluates annotations of parameters and results, including string annotations (`from __future__ import
annotations`)."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any, get_args, get_origin

from weft.lang.data.field_annotations import FieldAnnotation, Subscripted
from weft.lang.errors import UnknownName
from weft.lang.values.brackets import meant
from weft.lang.values.types import Template

__all__ = ["MISSING", "annotation_of", "evaluate_annotations", "is_template", "result_annotations"]

MISSING: Any = object()


def evaluate_annotations(function: Callable[..., Any], depth: int) -> None:
    """Evaluate string annotations in the scope where a decorator is applied, `depth` frames up. They may name locals
    of that scope that the function itself does not capture. `annotation_of` evaluates those that cannot be resolved
    yet."""
    annotations = function.__annotations__
    if not any(isinstance(annotation, str) for annotation in annotations.values()):
        return
    names = sys._getframe(depth + 1).f_locals
    for name, annotation in annotations.items():
        if isinstance(annotation, str):
            with suppress(UnknownName):
                annotations[name] = _evaluated(function, name, annotation, names)


def annotation_of(function: Callable[..., Any], name: str) -> Any:
    """The evaluated annotation of parameter `name` (or "return"). MISSING if there is none."""
    annotation = function.__annotations__.get(name, MISSING)
    if isinstance(annotation, str):
        annotation = _evaluated(function, name, annotation, {})
    if isinstance(annotation, type) and issubclass(annotation, Subscripted):
        return FieldAnnotation(annotation)
    return meant(annotation)


def _evaluated(function: Callable[..., Any], name: str, annotation: str, names: Mapping[str, Any]) -> Any:
    scope: dict[str, Any] = dict(names)
    for free, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
        with suppress(ValueError):  # the cell is still empty
            scope[free] = cell.cell_contents
    try:
        return eval(annotation, function.__globals__, scope)  # noqa: S307 - the user's own program text
    except Exception as error:
        raise UnknownName(f"annotation '{annotation}' of '{name}' cannot be evaluated: {error}") from error


def is_template(annotation: Any) -> bool:
    """Whether an annotation is `ti.template()`, or `ti.template` without the call."""
    return isinstance(annotation, Template) or annotation is Template


def result_annotations(annotation: Any) -> tuple[Any, ...]:
    """The result types of a return annotation: none, one, or those of a tuple."""
    if annotation is MISSING or annotation is None:
        return ()
    if get_origin(annotation) is tuple:
        return tuple(get_args(annotation))
    if isinstance(annotation, (tuple, list)):
        return tuple(annotation)
    return (annotation,)
