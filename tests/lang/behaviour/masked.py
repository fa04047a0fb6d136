"""What tests of masked accesses share."""

import warnings
from typing import Any

import pytest

from weft.runtime.errors import OutOfBoundsWarning

__all__ = ["masked", "told"]


@pytest.fixture(autouse=True)
def masked(ti: Any) -> None:
    if ti.cfg.arch == "python":
        pytest.skip("arch=python raises where an index is out of bounds")
    ti.init(arch=ti.cfg.arch, mask_out_of_bounds=True)


def told(ti: Any, call: Any) -> list[str]:
    """What the call warns of by the next synchronisation."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        call()
        ti.sync()
    return [str(one.message) for one in caught if issubclass(one.category, OutOfBoundsWarning)]
