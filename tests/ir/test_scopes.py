"""Scopes: their text, and which of them may overlap."""

from __future__ import annotations

import pytest

from weft.ir.scopes import ALL, UNKNOWN, Scope, array_scope, field_scope
from weft.ir.symbols import FieldSymbol, scopes_of
from weft.ir.types import f32

TEXTS = {
    "field:x": field_scope("x"),
    "field:x#2": Scope("field:x", 2),
    "exposed field:x#10": Scope("field:x", 10, exposed=True),
    "exposed array:3": array_scope(3, exposed=True),
    "local:0": Scope("local:0"),
    "": UNKNOWN,
}


@pytest.mark.parametrize("text", TEXTS)
def test_text(text: str) -> None:
    scope = TEXTS[text]
    assert str(scope) == text
    assert Scope.parse(text) == scope
    assert scope.whole == Scope(scope.space, ALL, scope.exposed)


def test_parts() -> None:
    assert (TEXTS["field:x#2"].kind, TEXTS["field:x#2"].name) == ("field", "x")


@pytest.mark.parametrize(
    ("a", "b", "overlap"),
    [
        ("field:x", "field:x", True),
        ("field:x", "field:y", False),
        ("field:x", "field:x#1", True),
        ("field:x#1", "field:x#1", True),
        ("field:x#0", "field:x#1", False),
        ("array:0", "array:1", False),
        ("exposed array:0", "array:1", True),
        ("exposed array:0", "exposed array:1", True),
        ("exposed array:0", "exposed field:x", True),
        ("exposed field:x", "exposed field:y", True),
        ("exposed field:x#0", "exposed field:x#1", False),
        ("exposed field:x", "field:y", False),
        ("exposed field:x", "array:0", False),
        ("exposed array:0", "field:x", False),
        ("exposed array:0", "shared:0", False),
        ("exposed array:0", "local:0", False),
        ("tree:0", "tree:0", True),
        ("exposed tree:0", "tree:0", True),
        ("tree:0", "tree:1", False),
        ("tree:0", "field:x#1", True),
        ("tree:0", "array:0", False),
        ("exposed tree:0", "exposed array:0", True),
        ("tree:0", "exposed array:0", False),
    ],
)
def test_overlaps(a: str, b: str, overlap: bool) -> None:
    assert Scope.parse(a).may_overlap(Scope.parse(b)) == overlap
    assert Scope.parse(b).may_overlap(Scope.parse(a)) == overlap


def test_names_of_fields_mean_nothing_in_code() -> None:
    names = ["x", "x#1", "x_1", "x}:!{", "x"]
    fields = [FieldSymbol.dense(name, f32, (8,), 0, (0,), ()) for name in names]
    spaces = [scope.space for scope in scopes_of(fields).values()]
    assert spaces == ["field:x", "field:x_1", "field:x_1.1", "field:x____", "field:x.1"]
