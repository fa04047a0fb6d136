"""Integers that only a u64 has room for, beside smaller ones: numpy alone would make f64 of them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import weft as ti
from weft.lang.errors import ArgumentError

BIG = [2**63 - 1, 2**64 - 1]
VEC = ti.types.vector(2, ti.u64)


@ti.kernel
def given(v: VEC) -> VEC:
    return v


def _stored() -> Any:
    field = ti.Vector.field(2, ti.u64, ())
    field[None] = BIG
    return field[None]


def _copied(container: Any) -> Any:
    container.from_numpy(BIG)
    return container.to_numpy()


@pytest.mark.parametrize("arch", ["cpu", "python"])
@pytest.mark.parametrize(
    "made",
    [
        lambda: VEC(BIG),
        lambda: VEC(*BIG),
        lambda: ti.types.matrix(1, 2, ti.u64)([BIG])[0, :],
        lambda: given(BIG),
        lambda: given(ti.Vector(BIG, dt=ti.u64)),
        _stored,
        lambda: _copied(ti.field(ti.u64, 2)),
        lambda: _copied(ti.ndarray(ti.u64, 2)),
        lambda: ti.types.struct(v=VEC)(v=BIG).v,
    ],
)
def test_no_digits_are_lost(arch: str, made: Any) -> None:
    ti.init(arch=getattr(ti, arch))
    assert [int(x) for x in np.ravel(made())] == BIG


def test_floats_stay_floats() -> None:
    ti.init(arch=ti.cpu)
    assert list(ti.types.vector(2, ti.f64)([1e300, 2.5])) == [1e300, 2.5]
    with pytest.raises(ArgumentError):
        given([-1, 2**64 - 1])
