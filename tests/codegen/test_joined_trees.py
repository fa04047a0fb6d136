"""The trees whose parts LLVM is not told to be apart."""

from __future__ import annotations

import pytest

from weft.ir.core import Op, ops_of
from weft.ir.mapping.joined_trees import joined_in, joined_trees, scope_in
from weft.ir.ops import Address, Load, Store
from weft.ir.parse import parse
from weft.ir.scopes import Scope
from weft.ir.tasks import tasks_of
from weft.ir.verify import verify

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


TASKS = """\
kernel @k() -> () {
  task serial body {
    BASE
    TWICE
    %q = address %b, indices=[], strides=[], offset=8, scope="field:y" : *i64
    store %q, %v
  }
  task serial body {
    %w = const 1 : i32
  }
  task range_for schedule={lanes=LANES} bounds {
    %zero = const 0 : i64
    %end = const 64 : i64
    yield begins=[%zero], ends=[%end]
  } prologue {
    %bt = tree_base tree=1 : *i64
    %eight = const 8 : i64
    %u = const 1 : i64
  } body (%i: i64) {
    %pt = address %bt, indices=[%i], strides=[%eight], offset=0, scope="field:z" : *i64
    %qt = address %bt, indices=[%i], strides=[%eight], offset=600, scope="field:w" : *i64
    LOOP {
      store %pt, %i
      store %pt, %u
      store %qt, %i
    }
  }
}
"""
TASKS = TASKS.replace("BASE", "%b = tree_base tree=0 : *i64\n    %v = const 1 : i64").replace(
    "TWICE",
    '%p = address %b, indices=[], strides=[], offset=0, scope="field:x" : *i64\n    store %p, %v\n    store %p, %v',
)


ROWS = """\
kernel @k() -> () {
  task range_for schedule={HINT} bounds {
    %zero = const 0 : i64
    %end = const 64 : i64
    yield begins=[%zero], ends=[%end]
  } prologue {
    %t = tree_base tree=0 : *i64
    %eight = const 8 : i64
    %u = const 1 : i64
  } body (%i: i64) {
    %p = address %t, indices=[%i], strides=[%eight], offset=0, scope="field:z" : *i64
    %q = address %t, indices=[%i], strides=[%eight], offset=600, scope="field:w" : *i64
    store %p, %i
    store %q, %i
    for %zero, %eight, %uAROUND (%j: i64) {
      for %zero, %eight, %u, row=true (%k: i64) {
        store %p, %k
        store %q, %k
      }
      MORE
    }
    for %zero, %eight, %u, row=true (%m: i64) {
      store %p, %m
    }
  }
}
"""


@pytest.mark.parametrize(
    ("hint", "around", "more", "joined"),
    [
        ("vectorize=free", ", schedule={around=true}", "", {0}),  # LLVM may unroll the loops in it
        ("vectorize=never", ", schedule={around=true}", "", set()),
        ("vectorize=never", "", "", set()),
        ("vectorize=never", "", "store %p, %j", {0}),
        ("vectorize=never", ", schedule={around=true}", "store %p, %j", set()),
        ("vectorize=never", ", schedule={around=true}", "for %zero, %eight, %u (%l: i64) { AGAIN }", {0}),
        ("lanes=8", ", schedule={around=true}", "store %p, %j", set()),
    ],
)
def test_each_loop_that_becomes_vectors_counts_by_itself(hint: str, around: str, more: str, joined: set[int]) -> None:
    again = "\n        store %p, %j\n        store %p, %l\n        store %q, %l\n      "
    text = ROWS.replace("HINT", hint).replace("AROUND", around).replace("MORE", more.replace(" AGAIN ", again))
    kernel = parse(text.replace("schedule={vectorize=free} ", ""))
    (task,) = tasks_of(kernel)
    assert joined_in(task, kernel) == joined


@pytest.mark.parametrize(
    ("lanes", "loop", "joined"),
    [
        (1, "for %u, %u, %u (%k: i64)", {1}),
        (1, "if %yes then", {1}),
        (8, "for %u, %u, %u (%k: i64)", {1}),
        (8, "while", {1}),
        (8, "if %yes then", set()),  # LLVM vectorizes no loop of vectors
    ],
)
def test_trees_in_a_task(lanes: int, loop: str, joined: set[int]) -> None:
    """Both serial tasks are one function. The verifier takes a kernel for which no tree is chosen yet."""
    yes = "%yes = binary lt %i, %u : u1\n    if" if loop.startswith("if") else loop.split()[0]
    text = TASKS.replace("LANES", str(lanes)).replace("LOOP", loop.replace(loop.split()[0], yes, 1))
    kernel = parse(
        text.replace("store %qt, %i\n", "store %qt, %i\n      break\n" if loop == "while" else "store %qt, %i\n")
    )
    verify(kernel, "mapped")
    assert [joined_in(task, kernel) for task in tasks_of(kernel)] == [{0}, {0}, joined]
