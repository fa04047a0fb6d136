"""Annotations of parameters and results, also where they are strings (`from __future__ import annotations`)."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from typing import Any, get_args, get_origin

from weft.lang.errors import UnknownName
from weft.lang.types import Template

__all__ = ["MISSING", "annotation_of", "caller_names", "is_template", "result_annotations"]

MISSING: Any = object()


def caller_names(depth: int) -> dict[str, Any]:
    """The local names where a decorator was applied, `depth` frames up: what string annotations may mean."""
    return dict(sys._getframe(depth + 1).f_locals)


def annotation_of(function: Callable[..., Any], name: str, names: Mapping[str, Any] | None = None) -> Any:
    """The annotation of parameter `name` (or "return"), evaluated; MISSING if there is none."""
    annotation = function.__annotations__.get(name, MISSING)
    if not isinstance(annotation, str):
        return annotation
    scope: dict[str, Any] = dict(names or {})
    for free, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
        try:
            scope[free] = cell.cell_contents
        except ValueError:
            continue
    try:
        return eval(annotation, function.__globals__, scope)  # noqa: S307 - the user's own program text
    except Exception as error:
        raise UnknownName(f"annotation '{annotation}' of '{name}' cannot be evaluated: {error}") from error


def is_template(annotation: Any) -> bool:
    """Whether an annotation is `ti.template()`, or `ti.template` without the call."""
    return isinstance(annotation, Template) or annotation is Template


def result_annotations(annotation: Any) -> tuple[Any, ...]:
    """The result types that a return annotation means: none, one, or those of a tuple."""
    if annotation is MISSING or annotation is None:
        return ()
    if get_origin(annotation) is tuple:
        return tuple(get_args(annotation))
    if isinstance(annotation, (tuple, list)):
        return tuple(annotation)
    return (annotation,)
