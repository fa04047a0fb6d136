"""The trees whose parts LLVM is not told to be apart."""

from __future__ import annotations

import pytest

from weft.ir.core import Op, ops_of
from weft.ir.mapping.joined_trees import joined_trees, scope_in
from weft.ir.ops import Address, Load, Store
from weft.ir.parse import parse
from weft.ir.scopes import Scope
from weft.ir.tasks import tasks_of

HEAD = """\
kernel @k(n: i32, a: [f32x2; 1]) -> () {
  task serial body {
    %t0 = tree_base tree=0 : *i64
    %t1 = tree_base tree=1 : *i64
    %array = array_base index=1 : *i64
    %value = const 1.0 : f32
"""
BASES = {"x": "%t0", "y": "%t0", "z": "%t1", "a": "%array"}


def ops(accesses: str) -> list[Op]:
    """Small letters are loads, capitals stores; x and y are in tree 0, z is in tree 1, a is an array. A number is the
    component."""
    body = ""
    for number, one in enumerate(accesses.split()):
        letter, component = one[0].lower(), f"#{one[1:]}" if one[1:] else ""
        scope = "array:1" if letter == "a" else f"field:{letter}{component}"
        body += f'    %p{number} = address {BASES[letter]}, indices=[], strides=[], offset=0, scope="{scope}" : *f32\n'
        body += f"    store %p{number}, %value\n" if one[0].isupper() else f"    %v{number} = load %p{number} : f32\n"
    (task,) = tasks_of(parse(HEAD + body + "  }\n}\n"))
    return list(ops_of(task.body))


@pytest.mark.parametrize(
    ("accesses", "joined"),
    [
        ("X0 X1", ""),
        ("x0 X0 x1 X1", ""),
        ("X0 X0 X1", "0"),
        ("X0 X1 X0", "0"),
        ("X0 x0 x1", "0"),
        ("x0 x0 X1", ""),
        ("X0 X0", ""),
        ("X X Y", "0"),
        ("X X Z", ""),
        ("X X y Z Z", "0"),
        ("X Y Z0 Z1 z0", "1"),
        ("X X Y Z0 Z1 z0", "0 1"),
        ("A A A X Y", ""),
    ],
)
def test_trees_that_are_joined(accesses: str, joined: str) -> None:
    assert joined_trees(ops(accesses)) == {int(tree) for tree in joined.split()}


def test_scopes_in_a_function() -> None:
    places = [op.ptr for op in ops("X0 Y1 Z0 A") if isinstance(op, (Load, Store))]
    texts = ["field:x#0", "field:y#1", "field:z#0", "array:1"]
    assert [str(scope_in(place, frozenset())) for place in places] == texts
    assert [str(scope_in(place, frozenset({0}))) for place in places] == ["tree:0", "tree:0", *texts[2:]]
    assert scope_in(ops("x")[0], frozenset()) is None
    exposed = places[0]
    assert isinstance(exposed, Address)
    exposed.scope = Scope("field:x", 0, exposed=True)
    assert scope_in(exposed, frozenset({0})) == Scope("tree:0", exposed=True)
