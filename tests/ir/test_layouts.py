"""The memory of fields and arrays, as lanes see it."""

from __future__ import annotations

from weft.ir.mapping.layouts import layouts_of
from weft.ir.parse import parse
from weft.ir.scopes import Scope
from weft.ir.storage.path import Cells

KERNEL = """\
kernel @k(n: i32, a: [f32x3; 1], b: [f32; 1]) -> () {
  field @x: f32x2[64] tree=0 components=(0, 4) terms=((0, 1, 64, 8))
  field @far: f32[900000000] tree=1 components=(0) terms=((0, 1, 900000000, 4))
}
"""


def test_cells_of_fields_and_arrays() -> None:
    layouts = layouts_of(parse(KERNEL))
    assert {str(scope): cells for scope, cells in layouts.cells.items()} == {
        "field:x": Cells(8, 0, 8),
        "array:1": Cells(12, 0, 12),
    }
    assert layouts.near == {Scope("field:x")}
