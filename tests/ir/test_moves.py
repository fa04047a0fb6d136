"""How lanes move values to and from memory: what `choose_moves` says, and what the verifier refuses."""

from __future__ import annotations

import pytest

from tests.ir.test_schedules import CONFIGS, PLACE, task
from weft.ir.errors import InternalError
from weft.ir.parse import parse
from weft.ir.pipeline import run_passes
from weft.ir.text import print_ir
from weft.ir.verify import verify

MOVES = """\
kernel @k() -> () {
  field @x: f32x2[64] tree=0 components=(0, 4) terms=((0, 1, 64, 8))
  field @n: f32 tree=1 components=(0)
  field @w: f64x2[64] tree=2 components=(0, 8) terms=((0, 1, 64, 16))
  field @p: f32x12[64] tree=3 components=(0, 4, 8, 12, 16, 20, 24, 28, 32, 36, 40, 44) terms=((0, 1, 64, 48))
  task range_for schedule={lanes=8} bounds {
    %zero = const 0 : i64
    %end = const 50 : i64
    yield begins=[%zero], ends=[%end]
  } prologue {
    %base = tree_base tree=0 : *i64
    %home = tree_base tree=1 : *i64
    %wide = tree_base tree=2 : *i64
    %large = tree_base tree=3 : *i64
    %fortyeight = const 48 : i64
    %four = const 4 : i64
    %eight = const 8 : i64
    %sixteen = const 16 : i64
    %first = const 1 : i64
    %some = const 63 : i64
    %one = const 1.0 : f32
    %total = alloca : *f32
    store %total, %one
  } body (%i: i64) {
    %k = binary and %i, %some : i64
    %far = binary mul %i, %i : i64
    %fark = binary and %far, %some : i64
    %row = address %base, indices=[%i], strides=[%eight], offset=0, scope="field:x#0" : *f32
    %near = address %base, indices=[%i], strides=[%four], offset=0, scope="field:x" : *f32
    %apart = address %large, indices=[%i], strides=[%fortyeight], offset=4, scope="field:p#1" : *f32
    %maybe = address %base, indices=[%k], strides=[%four], offset=0, scope="field:x" : *f32
    %cell = address %base, indices=[%fark], strides=[%eight], offset=0, scope="field:x" : *f32
    %part = address %base, indices=[%fark], strides=[%eight], offset=4, scope="field:x" : *f32
    %shared = address %home, indices=[], strides=[], offset=0, scope="field:n" : *f32
    %own = alloca : *f32
    %v = cast %i : f32
    store %own, %v
    %array = alloca : *f32x8
    %element = address %array, indices=[%fark], strides=[%four], offset=0, scope="?" : *f32
    %along = address %array, indices=[%i], strides=[%four], offset=0, scope="?" : *f32
    store %element, %v
    %second = address %base, indices=[%fark, %first], strides=[%eight, %four], offset=0, scope="field:x" : *f32
    %long = address %wide, indices=[%fark], strides=[%sixteen], offset=0, scope="field:w" : *f64
    %longer = address %wide, indices=[%fark], strides=[%sixteen], offset=8, scope="field:w" : *f64
    %c = load %long : f64
    %d = load %longer : f64
    %e = load %second : f32
    %a = load %cell : f32
    %b = load %part : f32
    OP
    %s = load %total : f32
    %t = binary add %s, %v : f32
    store %total, %tSUM
  }
}
"""
PLACES = ("row", "near", "apart", "maybe", "cell", "shared", "own", "element", "along", "second", "long")
LEGAL = {
    "load": {
        "row": {"row", "gather"},
        "near": {"adjacent", "row", "gather"},
        "apart": {"tile", "gather"},
        "maybe": {"maybe_row", "gather"},
        "cell": {"cell", "gather"},
        "shared": {"one"},
        "own": {"own", "gather"},
        "element": {"gather"},
        "along": {"gather"},
        "second": {"gather"},  # the whole cell from a second part on ends behind the last cell
        "long": {"gather"},  # only cells of floats and integers of 32 bits are loaded whole
    },
    "store": {
        "row": {"row", "scatter"},
        "near": {"adjacent", "scatter"},
        "apart": {"tile", "scatter"},
        "maybe": {"scatter"},
        "cell": {"scatter"},
        "shared": {"scatter"},
        "own": {"own", "scatter"},
        "element": {"scatter"},
        "along": {"scatter"},
    },
    "atomic add": {
        **{name: {"wait", "each"} for name in ("row", "near", "maybe", "cell")},
        "shared": {"combine", "wait", "each"},
    },
}
WAYS = (
    "one",
    "common",
    "own",
    "adjacent",
    "row",
    "maybe_row",
    "tile",
    "cell",
    "gather",
    "scatter",
    "sum",
    "combine",
    "wait",
    "each",
    "x",
)


@pytest.mark.parametrize("kind", LEGAL)
@pytest.mark.parametrize("place", PLACES)
def test_how_lanes_may_move(kind: str, place: str) -> None:
    text = {"load": "%m = load %P, move=WAY : f32", "store": "store %P, %v, move=WAY"}
    one = text.get(kind, "%m = atomic add %P, %v, move=WAY : f32").replace("%P", f"%{place}")
    one = one.replace("f32", "f64") if place == "long" else one
    legal = LEGAL[kind].get(place)
    if legal is None:
        return
    for way in WAYS:
        kernel = parse(MOVES.replace("OP", one.replace("WAY", way)).replace("SUM", ""))
        if way in legal:
            verify(kernel, "mapped")
        else:
            with pytest.raises(InternalError, match=f"has the move '{way}'"):
                verify(kernel, "mapped")


def test_serial_accesses_have_no_moves() -> None:
    text = task(AFTER=PLACE + "store %p, %i, move=scatter")
    with pytest.raises(InternalError, match="has the move 'scatter', but does not run in lanes"):
        verify(parse(text), "mapped")


def test_a_sum_is_moved_as_one() -> None:
    plain = MOVES.replace("OP", "")
    verify(parse(plain.replace("SUM", ", move=sum")), "mapped")
    with pytest.raises(InternalError, match="has the move 'scatter'"):
        verify(parse(plain.replace("SUM", ", move=scatter")), "mapped")


def test_a_sum_of_a_shared_value_is_not_stored_once() -> None:
    text = MOVES.replace("OP", "").replace("add %s, %v", "add %s, %one")
    verify(parse(text.replace("SUM", ", move=sum")), "mapped")
    with pytest.raises(InternalError, match="has the move 'one'"):
        verify(parse(text.replace("SUM", ", move=one")), "mapped")


def test_atomics_on_truth_values_do_not_wait() -> None:
    bit = '%bit = address %base, indices=[%fark], strides=[%eight], offset=0, scope="field:x" : *u1\n'
    text = MOVES.replace("OP", f"{bit}%less = binary lt %v, %one : u1\n%m = atomic or %bit, %lessWAY : u1")
    kernel = parse(text.replace("SUM", "").replace("WAY", ""))
    run_passes(kernel, ("choose_moves",), CONFIGS["cpu"], None, "mapped")
    assert "atomic or %bit, %less, move=each" in print_ir(kernel)
    with pytest.raises(InternalError, match="has the move 'wait'"):
        verify(parse(text.replace("SUM", "").replace("WAY", ", move=wait")), "mapped")


def test_each_access_of_lanes_is_moved_somehow() -> None:
    kernel = parse(MOVES.replace("OP", "%m = load %maybe : f32\n    store %near, %m").replace("SUM", ""))
    run_passes(kernel, ("choose_moves",), CONFIGS["cpu"], None, "mapped")
    text = print_ir(kernel)
    wanted = ("store %own, %v, move=own", "load %cell, move=cell", "load %maybe, move=maybe_row", "%m, move=adjacent")
    assert all(one in text for one in (*wanted, "store %total, %t, move=sum"))


@pytest.mark.parametrize(
    ("sides", "then", "complaint"),
    [
        ("then", "store %own, %one", ""),
        ("then, orelse", "%m = load %own : f32", ""),
        ("then", "%m = binary floordiv %i, %i : i64", ""),
        ("then", "store %near, %one", "has the unasked side 'then', which has effects without active lanes"),
        ("orelse", "store %near, %one", ""),
        ("then", "%m = load %near : f32", "has the unasked side 'then', which has effects without active lanes"),
        (
            "then",
            "%m = atomic add %near, %v : f32",
            "has the unasked side 'then', which has effects without active lanes",
        ),
        ("then", "if %all then {\nstore %own, %v\n}", ""),
        ("then", "if %all then {\nstore %near, %v\n}", "has the unasked side 'then', which has effects"),
        ("then", "while {\nbreak\n}", "has the unasked side 'then', which has effects"),
        ("then", "if %less then {\nstore %own, %v\n}", ""),
        ("then", "%m = binary add %v, %one : f32\nstore %own, %m", ""),
        ("else", "store %own, %one", "has the unasked sides"),
    ],
)
def test_what_runs_without_a_lane(sides: str, then: str, complaint: str) -> None:
    head = "%less = binary lt %v, %one : u1\n%all = binary lt %one, %one : u1\n"
    text = f"{head}if %less, unasked=({sides}) then {{\n{then}\n}} orelse {{\nstore %own, %v\n}}"
    kernel = parse(MOVES.replace("OP", text).replace("SUM", ""))
    if not complaint:
        verify(kernel, "mapped")
        return
    with pytest.raises(InternalError, match=complaint):
        verify(kernel, "mapped")


def test_a_side_runs_without_a_lane_only_where_lanes_disagree() -> None:
    one, differ = "%all = binary lt %one, %one : u1\n", "%all = binary lt %v, %one : u1\n"
    for test in (f"{one}if %all,", f"{differ}if %all, versioned=true,", f"{differ}if %all, general=true,"):
        alike = f"{test} unasked=(then) then {{\nstore %own, %one\n}}"
        with pytest.raises(InternalError, match="has unasked sides, but all lanes take the same side"):
            verify(parse(MOVES.replace("OP", alike).replace("SUM", "")), "mapped")
    outside = "%less = binary lt %i, %one : u1\nif %less, unasked=(then) then {\nstore %sum, %i\n}"
    with pytest.raises(InternalError, match="has unasked sides, but does not run in lanes"):
        verify(parse(task(AFTER=outside)), "mapped")


def test_short_sides_are_not_asked_about() -> None:
    text = "%less = binary lt %v, %one : u1\nif %less then {\nstore %own, %one\n} orelse {\nstore %near, %one\n}"
    kernel = parse(MOVES.replace("OP", text).replace("SUM", ""))
    run_passes(kernel, ("choose_moves",), CONFIGS["cpu"], None, "mapped")
    assert "if %less, unasked=(then) then" in print_ir(kernel)


@pytest.mark.parametrize(
    ("condition", "then", "unasked"),
    [
        ("%v", "%m = binary mul %v, %one : f32\nstore %own, %m", True),
        ("%v", "%m = unary neg %v : f32\nstore %own, %m", True),
        ("%v", "%m = unary sqrt %v : f32\nstore %own, %m", False),
        ("%v", "%m = binary pow %v, %one : f32\nstore %own, %m", False),
        ("%v", "if %less then {\nstore %own, %v\n}", True),
        ("%v", "if %less, versioned=true then {\nstore %own, %v\n}", False),
        ("%v", "if %less, general=true then {\nstore %own, %v\n}", False),
        ("%v", "%all = binary lt %one, %one : u1\nif %all then {\nstore %own, %v\n}", False),
        ("%one", "%m = binary mul %one, %one : f32\nstore %own, %m", False),  # lanes agree
    ],
)
def test_which_sides_are_not_asked_about(condition: str, then: str, unasked: bool) -> None:
    text = f"%less = binary lt {condition}, %one : u1\nif %less then {{\n{then}\n}}"
    kernel = parse(MOVES.replace("OP", text).replace("SUM", ""))
    run_passes(kernel, ("choose_moves",), CONFIGS["cpu"], None, "mapped")
    assert ("unasked=(then)" in print_ir(kernel)) == unasked
