"""Checks of what the user differentiates, and by what: fields and ndarrays with a gradient or a dual."""

from __future__ import annotations

from typing import Any

import numpy as np

from weft.ir.errors import TypeMismatch, WeftError
from weft.lang.calls.companions import companion_of as gradient_of
from weft.lang.data.companions import KINDS
from weft.lang.data.field import Field
from weft.lang.data.ndarray import Ndarray
from weft.lang.data.sparse_access import SPARSE
from weft.lang.data.struct_field import StructField

__all__ = [
    "called",
    "clear_element",
    "companion_if_any",
    "companion_of",
    "elements_of",
    "fill_all",
    "hand_on",
    "numbers_in",
    "places_of",
    "put_numbers",
    "where_active",
]


def called(variable: Any) -> str:
    """The name of a field or ndarray in messages."""
    return f"'{variable.name}'" if getattr(variable, "name", "") else repr(variable)


def companion_of(variable: Any, kind: str, what: str) -> Any:
    """The gradient or the dual of a field or ndarray, which is `what` in messages. Raises WeftError if it has none, and
    TypeMismatch for anything else."""
    assert kind in KINDS
    if isinstance(variable, StructField):
        members = ", ".join(f".{name}" for name in variable.members)
        raise TypeMismatch(
            f"{what} must be a field of numbers, vectors or matrices, not of structs: choose one of {members}"
        )
    if _is_tensor(variable) and kind == "grad":
        found = gradient_of(variable, "grad")
        if found is None:
            raise WeftError(f"{what} is a tensor without a gradient: make it with requires_grad=True")
        return found
    if not isinstance(variable, Field | Ndarray):
        raise TypeMismatch(f"{what} must be a field or an ndarray, not {variable!r}")
    found = variable.companions.get(kind)
    if found is None:
        word = {"grad": "gradient", "dual": "dual"}[kind]
        raise WeftError(f"{what} {called(variable)} has no {word}: make it with needs_{kind}=True")
    return found


def companion_if_any(variable: Any, kind: str = "grad") -> Any:
    """The gradient or the dual of a field or ndarray. None if it has none."""
    return None if variable is None else variable.companions.get(kind)


def _is_tensor(variable: Any) -> bool:
    """Whether it is a tensor of torch."""
    return hasattr(variable, "requires_grad") and hasattr(variable, "detach")


def fill_all(variable: Any, number: float) -> None:
    """Set all numbers of a field, an ndarray or a tensor to this one."""
    if _is_tensor(variable):
        variable.detach().fill_(number)  # shares its memory
    else:
        variable.fill(number)


def places_of(variable: Any) -> Any:
    """The indices of the elements that stand for a field below a hash node, which has no array of all elements: the
    active ones, in order. None for other memory, for which all elements stand."""
    if isinstance(variable, Field) and variable.snode.node.is_unbounded:
        return SPARSE.active(variable)
    return None


def numbers_in(variable: Any, places: Any = None) -> Any:
    """A new array of the numbers of a field or ndarray: of all elements, or of those that stand for it (`places_of`).
    `places`: those that stood for it before."""
    now = places_of(variable)
    return variable.to_numpy() if now is None else SPARSE.read(variable, now if places is None else places)


def put_numbers(variable: Any, numbers: Any, places: Any = None) -> None:
    """Set the numbers of a field or ndarray, but not those of elements that are not active: they stay 0. `numbers` and
    `places` are as `numbers_in` has them."""
    now = places_of(variable)
    if now is not None and places is not None:
        here = SPARSE.among(places, now)
        SPARSE.write(variable, places[here], numbers[here])
    elif now is not None:
        SPARSE.write(variable, now, numbers)
    elif isinstance(variable, Field) and variable.describe().node is not None:
        SPARSE.put_active(variable, numbers)
    else:
        variable.from_numpy(numbers)


def hand_on(grad: Any, into: Any, places: Any = None) -> None:
    """The gradient of setting all elements of a field or ndarray to those of another one: `into`, the gradient of the
    source, takes what is in `grad`, which becomes 0. `into` is None for a source without a gradient. What is not active
    in the source takes nothing. `places`: of an array that `numbers_in` gave."""
    if into is not None and isinstance(grad, Field) and isinstance(into, Field) and into.describe().node is not None:
        indices = SPARSE.active(into)
        numbers = SPARSE.read(grad, indices + np.array(grad.offset, np.int64) - np.array(into.offset, np.int64))
        grad.fill(0)
        SPARSE.write(into, indices, SPARSE.read(into, indices) + numbers)
        return
    numbers = None if into is None else numbers_in(grad)
    grad.fill(0)
    if into is not None:
        put_numbers(into, numbers_in(into, places) + numbers, places)


def where_active(variable: Any, numbers: Any) -> Any:
    """These numbers, one for each number of a field or ndarray, with 0 for those that are not active."""
    if not isinstance(variable, Field) or variable.describe().node is None or places_of(variable) is not None:
        return numbers
    found, at = np.zeros_like(numbers), SPARSE.active(variable) - np.array(variable.offset, np.int64)
    found[tuple(at.T)] = numbers[tuple(at.T)]
    return found


def clear_element(derived: Any, index: tuple[int, ...], part: Any) -> None:
    """Set an element of a gradient or dual to 0, or only a part of a vector or matrix. (None: all of it.)"""
    if derived is None:
        return
    if part is None:
        derived[index] = 0
    else:
        derived[index]._put(part, 0)


def elements_of(variable: Any) -> tuple[int, ...]:
    """The shape of all numbers of a field, an ndarray or a tensor: that of `numbers_in(variable)`."""
    if _is_tensor(variable):
        return tuple(variable.shape)
    places = places_of(variable)
    if places is not None:
        return (len(places), *variable.element_shape)
    return (*variable.shape, *variable.element_shape)
