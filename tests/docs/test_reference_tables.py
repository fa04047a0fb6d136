"""The tables of the API reference: each parameter has a type and a meaning, and none is hidden behind `**keywords`."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Iterator
from typing import Any

import pytest

from tests.docs.public_names import ROOT, entries, find

sys.path.append(str(ROOT / "docs"))
from building import meanings, reference, signatures  # type: ignore[import-not-found]


def functions() -> Iterator[tuple[str, Any, Any]]:
    """(name, function, class that has it) of all that the reference describes and programs call."""
    for entry in entries():
        if reference.is_called(entry.name, entry.object):
            yield entry.name, entry.object, None
        for member in entry.members:
            name, one = f"{entry.name}.{member}", inspect.getattr_static(entry.object, member)
            if reference.is_called(name, getattr(entry.object, member, one)):
                yield name, one, entry.object


FUNCTIONS = list(functions())


def test_each_parameter_has_a_type_and_a_meaning() -> None:
    assert len(FUNCTIONS) > 400
    bare = [
        f"{name}.{parameter}"
        for name, one, owner in FUNCTIONS
        for parameter, kind, _default, meaning in reference.rows(name, one, owner)
        if not kind or not meaning
    ]
    assert not bare, f"docs/building/parameters.txt says no type or meaning of {bare}"


def test_each_row_is_used() -> None:
    places = [f"{name}.{part.name}" for name, one, _ in FUNCTIONS for part in signatures.parameters(name, one)]
    used = {meanings.row(place) for place in places}
    assert not (idle := [row.pattern for row in meanings.rows() if row not in used]), idle


@pytest.mark.parametrize("name", ["Vector.field", "Matrix.field", "Struct.field", "types.VectorType.field"])
def test_keywords_that_are_passed_on(name: str) -> None:
    """Methods that make fields show the keywords of `ti.field`, with its defaults."""
    keywords = {one.name: one for one in signatures.parameters("field", find("field")) if one.only_named}
    assert {"name", "order", "offset", "needs_grad", "needs_dual", "layout"} == set(keywords)
    shown = {one.name: one for one in signatures.parameters(name, find(name)) if one.only_named}
    assert shown == keywords


def test_the_stubs_have_the_parameters_of_the_functions() -> None:
    """What a page shows can be passed: the runtime has each parameter of a stub, or takes any keyword."""
    for name, one, _ in FUNCTIONS:
        called = one.__func__ if isinstance(one, (staticmethod, classmethod)) else one
        try:
            real = inspect.signature(called).parameters
        except (TypeError, ValueError):
            continue
        if any(part.kind is inspect.Parameter.VAR_KEYWORD for part in real.values()):
            continue
        extra = {part.name for part in signatures.parameters(name, one) if not part.star} - set(real)
        assert not extra, f"ti.{name} has no parameter {extra}"


def test_signatures() -> None:
    shown = {name: signatures.signature(signatures.parameters(name, one)) for name, one, _ in FUNCTIONS}
    assert shown["ui.Scene.point_light"] == "(pos, color)"
    assert shown["tools.Timer"] == "(name: str = '')"
    assert shown["save"].endswith("/, **named)")
    assert shown["field"].startswith("(dtype: type, shape=None, *, name: str = '', order: str | None = None")
    assert shown["field"].endswith("layout: Layout = Layout.AOS)")


def test_sentences() -> None:
    text = "Make it. `size` is a number. With None, it is 3. `other` is a name.\n\nExample:\n    f(size=`size`)\n"
    assert meanings.sentences_about("size", text) == "`size` is a number. With None, it is 3."
    assert meanings.sentences_about("third", text) == ""
    after = "Make it.\n\nExample:\n    f(2)\n\nIt takes `size` bytes."
    assert meanings.sentences_about("size", after) == "It takes `size` bytes."


def test_tables() -> None:
    lines = reference.table([("*a", "int", "", "numbers"), ("b", "str", "'x'", "a name")])
    assert lines[1:4] == [".. list-table::", "   :header-rows: 1", "   :widths: auto"]
    assert "   * - ``*a``" in lines
    assert "     - ``'x'``" in lines
    assert reference.table([("x", "number", "", "the operand")]) == []
    assert reference.table([]) == []
