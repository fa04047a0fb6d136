"""Constants in indices that lead far away."""

from __future__ import annotations

import pytest

from tests.ir.test_task_passes import EXACT, kernel, range_for, transformed
from weft.ir.ops import Address, Cast, Store
from weft.ir.pipeline import find_pass


@pytest.mark.parametrize(("constant", "offset"), [(5, 20), (2**26, 2**28), (2**26 + 1, 0), (-(2**26) - 1, 0)])
def test_constants_that_lead_far_away_stay_with_the_index(constant, offset):
    """What is left of the index, times the stride, fits 32 bits where the field is small."""
    body = range_for(
        f"%q = field_ptr @x[%i]\n%v = load %q : f32\n%w = cast %v : i32\n%c = const {constant} : i32\n"
        "%j = binary add %w, %c : i32\n%p = field_ptr @x[%j]\nstore %p, %v"
    )
    for name in ("lower_access", "fold"):
        made = transformed("lower_access", kernel(body))
        if name == "fold":
            find_pass("full_simplify")(made, EXACT)
        (store,) = (op for op in made.walk() if isinstance(op, Store))
        place = store.ptr
        assert isinstance(place, Address)
        assert place.offset == offset
        assert isinstance(place.indices[0], Cast) == (offset != 0)
