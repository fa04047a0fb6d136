"""`Tape(grad_check=[x])`: runs the recorded calls again with other values, and compares the gradients with
differences."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from weft.ir.errors import WeftError
from weft.lang.autodiff.differences import Check, compare_with_differences
from weft.lang.autodiff.variables import called, companion_of, numbers_in, places_of, put_numbers, where_active
from weft.lang.autodiff.versions import Latest, Record

__all__ = ["WrongGradient", "check_records"]


class WrongGradient(WeftError):
    """A gradient that a tape has computed does not agree with differences."""


def check_records(records: Sequence[Record], loss: Any, variables: Sequence[Any]) -> None:
    """Compare the gradients of these fields and ndarrays with differences of the loss. The records have copies of all
    that the calls have overwritten. Memory has its present values afterwards. Raises WrongGradient."""
    report = Check("the calls on the tape")
    copies = [copy for record in reversed(records) for copy in reversed([*record.before, *record.after])]
    present = [(one, numbers_in(one), places_of(one)) for one in variables]
    latest = Latest()
    for copy in copies:
        latest.put_back(copy)
    places = [places_of(one) for one in variables]  # which elements stand for them, see `numbers_in`
    starts = [numbers_in(one) for one in variables]
    directions = list[Any]()
    for k, one in enumerate(variables):
        random = np.random.default_rng(k).uniform(-1.0, 1.0, starts[k].shape).astype(starts[k].dtype)
        directions.append(where_active(one, random))

    def loss_at(k: int, move: Any) -> float:
        for copy in copies:
            copy.put_back()
        for one, start, at in zip(variables, starts, places, strict=True):
            put_numbers(one, start, at)
        put_numbers(variables[k], starts[k] + move, places[k])
        for record in records:
            if record.forward is not None:
                record.forward()
        return float(np.asarray(loss.to_numpy()).reshape(()))

    try:
        for k, one in enumerate(variables):
            gradient = numbers_in(companion_of(one, "grad", "the field to check"), places[k])
            compare_with_differences(
                report,
                called(one).strip("'"),
                gradient,
                directions[k],
                lambda move, k=k: loss_at(k, move),  # type: ignore[misc]
            )
    finally:
        latest.restore()
        for one, numbers, at in present:
            put_numbers(one, numbers, at)
    if not report:
        raise WrongGradient(str(report))
