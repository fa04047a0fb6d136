"""What consecutive iterations have in common: steps of values, locals of which each lane has its own, loops that lanes
leave apart, and accumulators."""

from __future__ import annotations

import textwrap

import pytest

from weft.ir.core import Value
from weft.ir.ops import For, Task, While
from weft.ir.parse import parse
from weft.ir.tasks import tasks_of
from weft.ir.uniform import Uniformity

FRAME = """\
kernel @k(n: i32, u: u32) -> () {{
  task range_for bounds {{
    %zero = const 0 : i64
    %sixty = const 64 : i64
    %nn = scalar_arg index=0, part=0 : i32
    %end = cast %nn : i64
    yield begins=[%zero, %zero], ends=[%sixty, {end}]
  }} prologue {{
    %base = tree_base tree=0 : *i64
    %begin = const 0 : i64
    %one = const 1 : i64
    %three = const 3 : i64
    %eight = const 8 : i64
    %four = const 4 : i64
    %row = const 256 : i64
    %far = const 1073741824 : i64
    %farther = const 1073741825 : i64
    %n = scalar_arg index=0, part=0 : i32
    %m = cast %n : i64
    %u = scalar_arg index=1, part=0 : u32
    %unit = const 1.0 : f32
    %true = const true : u1
    %few = const 1 : i32
    %shape = const 1000 : i32
    %acc = alloca : *f32
    %acc2 = alloca : *f32
    %count = alloca : *i32
    %flag = alloca : *u1
    %triple = alloca : *f32x3
  }} body (%i: i64, %j: i64) {{
{body}
  }}
}}
"""


def task_of(body: str, end: str = "%end") -> tuple[Task, dict[str, Value]]:
    """The task with that body, and its values by name."""
    body = body.replace("offset=0 :", 'offset=0, scope="" :')
    kernel = parse(FRAME.format(body=textwrap.indent(body, "    "), end=end))
    (task,) = tasks_of(kernel)
    values: dict[str, Value] = {op.name: op for op in task.walk() if op.name}
    for op in task.walk():
        values |= {arg.name: arg for region in op.regions for arg in region.args}
    return task, values


def steps(body: str) -> tuple[int | None, int | None, int | None]:
    """`step`, `index_step` and `likely_step` of the last value."""
    task, values = task_of(body)
    facts = Uniformity(task)
    assert facts.reason == ""
    value = values["x"]
    assert facts.varies(value) == (facts.step(value) != 0)
    return facts.step(value), facts.index_step(value), facts.likely_step(value)


JJ = "%jj = cast %j : i32\n"
UU = "%uu = cast %j : u32\n"
MULTIPLES = JJ + "%f = const {} : i32\n%y = binary mul %jj, %f : i32\n%x = cast %y : i64"
II = "%ii = cast %i : i32\n"
OTHER = "%p = address %base, indices=[%j], strides=[%four], offset=0 : *i64\n%o = load %p : i64\n"
ANY = (None, None, None)


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("%x = binary add %j, %three : i64", (1, 1, 1)),
        ("%x = binary sub %three, %j : i64", (-1, -1, -1)),
        ("%x = binary sub %j, %j : i64", (0, 0, 0)),
        ("%x = binary mul %j, %three : i64", (3, 3, 3)),
        ("%x = binary mul %three, %j : i64", (3, 3, 3)),
        ("%x = binary mul %i, %m : i64", (0, 0, 0)),
        ("%x = binary mul %i, %three : i64", (0, 0, 0)),
        ("%x = binary mul %j, %m : i64", ANY),
        ("%x = binary mul %m, %j : i64", ANY),
        ("%x = binary mul %j, %j : i64", ANY),
        ("%x = binary mul %j, %far : i64", (2**30, 2**30, 2**30)),
        ("%x = binary mul %j, %farther : i64", (None, 2**30 + 1, 2**30 + 1)),
        ("%x = binary mod %j, %three : i64", (None, None, 1)),
        ("%x = binary raw_mod %j, %three : i64", (None, None, 1)),
        ("%x = binary mod %three, %j : i64", ANY),
        ("%x = binary floordiv %j, %three : i64", ANY),
        ("%x = binary and %j, %three : i64", (None, None, 1)),
        ("%x = binary and %i, %three : i64", (0, 0, 0)),
        ("%x = binary min %j, %m : i64", (None, None, 1)),
        ("%x = binary max %m, %j : i64", (None, None, 1)),
        ("%y = binary add %j, %one : i64\n%x = binary min %j, %y : i64", ANY),
        ("%y = binary min %j, %m : i64\n%x = binary add %y, %three : i64", (None, None, 1)),
        ("%y = binary min %j, %m : i64\n%x = cast %y : i32", (None, None, 1)),
        ("%x = cast %j : i32", (1, 1, 1)),
        ("%x = cast %j : i8", ANY),
        ("%x = cast %j : f32", ANY),
        ("%x = cast %i : f32", (0, 0, 0)),
        (JJ + "%x = cast %jj : f32", ANY),
        (JJ + "%x = cast %jj : i64", (None, 1, 1)),  # lanes may be on both sides of the end of an i32
        (JJ + "%w = cast %jj : i64\n%x = binary add %w, %three : i64", (None, 1, 1)),
        (JJ + "%w = cast %jj : i64\n%x = binary sub %three, %w : i64", (None, None, -1)),  # lane 0 may have wrapped
        (JJ + "%w = cast %jj : i64\n%x = binary add %w, %far : i64", (None, None, 1)),  # where other lanes wrap
        (JJ + "%w = cast %jj : i64\n%x = binary sub %far, %w : i64", (None, None, -1)),
        (JJ + "%w = cast %jj : i64\n%x = binary add %m, %w : i64", (None, None, 1)),
        (JJ + "%x = binary add %jj, %jj : i32", (2, 2, 2)),
        (II + "%x = cast %ii : i64", (0, 0, 0)),
        (MULTIPLES.format(2**24 - 1), (None, 2**24 - 1, 2**24 - 1)),
        (MULTIPLES.format(-1), (None, None, -1)),
        (MULTIPLES.format(2**24), (None, None, 2**24)),  # lane 63 is not all the way round
        (MULTIPLES.format(-(2**24)), (None, None, -(2**24))),
        (UU + "%x = cast %uu : i64", (None, None, 1)),
        (UU + "%x = cast %uu : i32", (1, 1, 1)),
        (
            UU + "%f = const 1073741825 : u32\n%y = binary mul %uu, %f : u32\n%x = cast %y : i32",
            (None, *[2**30 + 1] * 2),
        ),
        (JJ + "%w = cast %jj : i64\n%x = cast %w : i32", (None, None, 1)),
        ("%y = cast %j : i8\n%x = cast %y : i32", ANY),
        ("%y = cast %j : i8\n%z = cast %i : i8\n%x = binary add %y, %z : i8", ANY),
        ("%y = cast %i : i8\n%x = binary add %y, %y : i8", (0, 0, 0)),
        ("%y = cast %j : f32\n%x = binary add %y, %unit : f32", ANY),
        ("%y = cast %j : f32\n%x = cast %y : i64", ANY),
        ("%y = cast %i : f32\n%x = binary add %y, %unit : f32", (0, 0, 0)),
        ("%x = binary lt %j, %m : u1", ANY),
        ("%x = binary lt %i, %m : u1", (0, 0, 0)),
        ("%x = unary neg %j : i64", ANY),
        ("%x = unary neg %i : i64", (0, 0, 0)),
        ("%x = random : f32", ANY),
        (OTHER + "%x = binary add %o, %j : i64", ANY),
        (OTHER + "%x = binary sub %o, %j : i64", ANY),
        (OTHER + "%x = binary add %j, %o : i64", ANY),
        (OTHER + "%x = binary sub %j, %o : i64", ANY),
        (OTHER + "%x = binary mul %three, %o : i64", ANY),
        (OTHER + "%x = binary mul %o, %three : i64", ANY),
        (OTHER + "%x = binary min %i, %o : i64", ANY),
    ],
)
def test_steps(body: str, expected: tuple[int | None, int | None, int | None]) -> None:
    assert steps(body) == expected


@pytest.mark.parametrize(
    ("indices", "strides", "expected"),
    [
        ("%i, %j", "%row, %four", 4),
        ("%i", "%four", 0),
        ("%j", "%row", 256),
        ("%j", "%m", None),
        ("%i", "%m", 0),
        ("%i", "%j", None),
        ("%jj", "%four", 4),
        ("%wide", "%four", 4),
        ("%unsigned", "%four", None),
        ("%o, %j", "%row, %four", None),
        ("%j, %o", "%four, %row", None),
    ],
)
def test_steps_of_addresses(indices: str, strides: str, expected: int | None) -> None:
    more = JJ + UU + OTHER + "%wide = cast %jj : i64\n%unsigned = cast %uu : i64\n"
    more += f"%x = address %base, indices=[{indices}], strides=[{strides}], offset=0 : *f32\n%v = load %x : f32"
    task, values = task_of(more)
    facts = Uniformity(task)
    assert facts.step(values["x"]) == expected
    assert facts.step(values["v"]) == (0 if expected == 0 else None)


@pytest.mark.parametrize("base", ["%j", "%o"])
def test_an_address_in_what_lies_anywhere_lies_anywhere(base: str) -> None:
    body = OTHER + f"%a = address %base, indices=[{base}], strides=[%eight], offset=0 : *f32x2\n"
    task, values = task_of(body + "%x = address %a, indices=[%i], strides=[%four], offset=0 : *f32")
    assert Uniformity(task).step(values["x"]) == (8 if base == "%j" else None)


@pytest.mark.parametrize(
    ("body", "split"),
    [
        ("store %t, %m", False),
        ("store %t, %j", True),
        ("if %some then {\n  store %t, %m\n}", True),
        ("if %all then {\n  store %t, %m\n}", False),
        ("if %some, versioned=true then {\n  store %t, %m\n}", False),
        ("if %some, general=true then {\n  store %t, %m\n}", False),
        ("for %begin, %m, %one (%k: i64) {\n  store %t, %k\n}", False),
        ("for %begin, %j, %one (%k: i64) {\n  store %t, %m\n}", True),
        ("for %begin, %m, %one (%k: i64) {\n  %late = binary lt %k, %j : u1\n  if %late then {\n    break\n  }\n"
         "  store %t, %m\n}", True),
        ("for %begin, %m, %one (%k: i64) {\n  %late = binary lt %k, %i : u1\n  if %late then {\n    break\n  }\n"
         "  store %t, %m\n}", False),
        ("for %begin, %m, %one (%k: i64) {\n  %late = binary lt %k, %j : u1\n  if %late then {\n    continue\n  }\n"
         "  store %t, %m\n}", True),
    ],
)  # fmt: skip
def test_a_local_is_split_where_lanes_store_different_values_or_not_together(body: str, split: bool) -> None:
    start = "%t = alloca : *i64\n%some = binary lt %j, %m : u1\n%all = binary lt %i, %m : u1\n"
    task, values = task_of(start + body + "\n%x = load %t : i64")
    facts = Uniformity(task)
    assert facts.reason == ""
    assert facts.is_split(values["t"]) == split
    assert facts.step(values["x"]) == (None if split else 0)


def test_a_local_is_split_where_lanes_store_to_different_elements() -> None:
    body = (
        "%t = alloca : *f32x3\n%a = address %t, indices=[%{index}], strides=[%four], offset=0 : *f32\nstore %a, %unit"
    )
    for index, split in (("j", True), ("i", False)):
        task, values = task_of(body.format(index=index))
        assert Uniformity(task).is_split(values["a"]) == split


@pytest.mark.parametrize(
    ("bounds", "step", "apart"),
    [
        ("%begin, %m, %one", 0, False),
        ("%begin, %i, %one", 0, False),
        ("%begin, %m, %i", 0, False),
        ("%begin, %j, %one", 0, True),
        ("%j, %m, %one", 1, True),
        ("%begin, %m, %j", None, True),
        ("%o, %o, %one", None, True),
        ("%begin, %o, %one", 0, True),
        ("%j, %next, %one", 1, False),
        ("%j, %next, %o", None, True),
        ("%j, %twice, %one", 1, True),
        ("%high, %higher, %one", 1, True),  # some lane may wrap
        ("%j, %higher, %one", 1, True),
        ("%high, %next, %one", 1, True),
        ("%low, %lower, %one", 1, True),
        ("%o, %m, %one", 0, True),  # they join it
        ("%o, %m, %eight", None, True),
    ],
)
def test_loops_that_lanes_run_together(bounds: str, step: int | None, apart: bool) -> None:
    body = OTHER + "%next = binary add %j, %eight : i64\n%twice = binary add %j, %j : i64\n"
    body += "%high = binary add %j, %far : i64\n%higher = binary add %high, %eight : i64\n"
    body += "%low = binary sub %j, %farther : i64\n%lower = binary add %low, %eight : i64\n"
    task, values = task_of(body + f"for {bounds} (%k: i64) {{\n}}", end="%sixty")
    (loop,) = task.all_of(For)
    facts = Uniformity(task)
    assert facts.step(loop.body.args[0]) == step
    assert (loop in facts.divergent) == apart


def test_a_number_is_widened_where_no_lane_can_have_wrapped() -> None:
    for end, expected in (("%sixty", 1), ("%end", None)):
        task, values = task_of(JJ + "%x = cast %jj : i64", end)
        assert Uniformity(task).step(values["x"]) == expected


LEAVE = """
%x = alloca : *i64
{before}
while {{
  %k = load %x : i64
  %next = binary add %k, %one : i64
  store %x, %next
  %late = binary lt %k, %{limit} : u1
  if %late then {{
    {jump}
  }}
}}
%y = load %x : i64
"""


@pytest.mark.parametrize(
    ("before", "limit", "jump", "together", "shared"),
    [
        ("store %x, %begin", "m", "break", True, True),
        ("store %x, %begin", "j", "break", False, True),  # those still in it are in the same round
        ("store %x, %j", "j", "break", False, False),
        ("store %x, %begin", "j", "continue", False, False),
        ("store %x, %begin", "m", "continue", True, True),
    ],
)
def test_rounds_of_a_loop_that_lanes_leave(before: str, limit: str, jump: str, together: bool, shared: bool) -> None:
    task, values = task_of(LEAVE.format(before=before, limit=limit, jump=jump))
    (loop,) = task.all_of(While)
    facts = Uniformity(task)
    assert facts.reason == ""
    assert (loop not in facts.divergent) == together
    assert facts.varies(values["k"]) != shared
    assert facts.varies(values["y"]) == (not together or not shared)


@pytest.mark.parametrize(
    ("inside", "common"),
    [
        ("store %x, %next", True),
        ("store %x, %j", False),
        ("if %some then {\n  store %x, %next\n}", False),
        ("for %begin, %m, %one (%c: i64) {\n  store %x, %next\n}", True),
        ("for %begin, %j, %one (%c: i64) {\n  store %x, %next\n}", False),
        ("for %begin, %m, %one (%c: i64) {\n  continue\n}\nstore %x, %next", True),
        ("if %all then {\n  continue\n}\nstore %x, %next", False),  # how far rounds have come is not looked into
        ("%r = atomic add %x, %next : i64\nstore %x, %next", None),
    ],
)
def test_values_that_lanes_of_a_loop_share(inside: str, common: bool | None) -> None:
    body = (
        "%x = alloca : *i64\nstore %x, %begin\n%some = binary lt %j, %m : u1\n%all = binary lt %i, %m : u1\nwhile {\n"
    )
    body += "%k = load %x : i64\n%next = binary add %k, %one : i64\n" + inside
    body += "\n%late = binary lt %k, %j : u1\nif %late then {\n  break\n}\n}"
    task, values = task_of(body)
    facts = Uniformity(task)
    assert (facts.reason == "it contains an atomic on a local") == (common is None)
    if common is not None:
        assert facts.reads_common(values["k"]) == common  # type: ignore[arg-type]


@pytest.mark.parametrize("stores", [True, False])
def test_a_local_that_two_loops_store_to_is_not_common(stores: bool) -> None:
    loop = "while {\n  %k = load %x : i64\n  store %x, %k\n  %late = binary lt %k, %j : u1\n"
    loop += "  if %late then {\n    break\n  }\n}\n"
    second = loop.replace("%k", "%h").replace("late", "later")
    second = second if stores else second.replace("  store %x, %h\n", "")
    task, values = task_of("%x = alloca : *i64\nstore %x, %begin\n" + loop + second)
    facts = Uniformity(task)
    assert (facts.common == {}) == stores
    assert facts.varies(values["k"]) == stores
    assert facts.varies(values["h"])


ROUNDS = """
while {{
  %k = load {place} : i64
  %next = binary add %k, %one : i64
  store {place}, %next
  %late = binary lt %k, %j : u1
  if %late then {{
    break
  }}
}}
"""


@pytest.mark.parametrize(
    ("before", "place", "common"),
    [
        ("%x = alloca : *i64\nstore %x, %begin", "%x", True),
        (
            "%x = alloca : *i64\n%a = address %x, indices=[], strides=[], offset=0 : *i64\n"
            "for %begin, %j, %one (%c: i64) {\n  store %a, %m\n}\nstore %x, %begin",
            "%x",
            False,
        ),
        (
            "%x = alloca : *i64x3\n%a = address %x, indices=[%begin], strides=[%eight], offset=0 : *i64\n"
            "store %a, %begin",
            "%a",
            False,
        ),
    ],
)
def test_only_a_scalar_that_is_reached_in_one_way_is_common(before: str, place: str, common: bool) -> None:
    task, values = task_of(before + ROUNDS.format(place=place))
    facts = Uniformity(task)
    assert facts.reason == ""
    assert facts.reads_common(values["k"]) == common  # type: ignore[arg-type]
    assert facts.varies(values["k"]) != common


def test_a_local_of_those_that_are_here_is_common_to_them() -> None:
    inside = textwrap.indent("%x = alloca : *i64\nstore %x, %begin" + ROUNDS.format(place="%x"), "  ")
    task, values = task_of("%some = binary lt %j, %m : u1\nif %some then {\n" + inside + "\n}")
    assert Uniformity(task).reads_common(values["k"])  # type: ignore[arg-type]


SUMS = "%o = load %acc : f32\n%s = binary add %o, %unit : f32\nstore %acc, %s\n"
PLACE = "%acc = alloca : *f32\n"
OVER = '%a = address %acc, indices=[], strides=[], offset=0, scope="" : *f32\n'
BYTES = "it reduces truth values, which are stored as bytes"
TWICE = "it increments a local twice"
NOT_ALL = "it writes to a local of the thread"
READ = "it reads an accumulator"


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        ("%o = load %acc : f32\n%s = binary add %o, %unit : f32\nstore %acc, %s", ""),
        ("%o = load %acc : f32\n%s = binary add %unit, %o : f32\nstore %acc, %s", ""),
        ("%o = load %acc : f32\n%s = binary sub %o, %unit : f32\nstore %acc, %s", ""),
        ("%o = load %acc : f32\n%s = binary max %unit, %o : f32\nstore %acc, %s", ""),
        ("%o = load %acc : f32\nif %some then {\n  %s = binary add %unit, %o : f32\n  store %acc, %s\n}", READ),
        ("if %some then {\n  %o = load %acc : f32\n  %s = binary add %unit, %o : f32\n  store %acc, %s\n}", ""),
        ("%o = load %acc : f32\n%s = binary sub %unit, %o : f32\nstore %acc, %s", NOT_ALL),
        ("%o = load %acc : f32\n%s = binary add %o, %o : f32\nstore %acc, %s", NOT_ALL),
        ("%o = load %acc : f32\n%s = binary div %o, %unit : f32\nstore %acc, %s", NOT_ALL),
        ("%o = load %acc2 : f32\n%s = binary add %o, %unit : f32\nstore %acc, %s", NOT_ALL),
        ("%w = load %acc : f32\n%o = load %acc2 : f32\n%s = binary add %o, %unit : f32\nstore %acc, %s", NOT_ALL),
        ("store %acc, %unit", NOT_ALL),
        ("%s = binary add %unit, %unit : f32\nstore %acc, %s", NOT_ALL),
        ("%o = load %acc : f32\n%s = binary add %o, %unit : f32\nstore %acc, %s\nstore %acc2, %s", NOT_ALL),
        ("%o = load %acc : f32\n%s = binary add %o, %unit : f32\nstore %acc, %s\n"
         "print [%unit], parts=(\"a\"), types=(f32)", "it holds 'print'"),
        ("%o = load %acc : f32\n%s = binary add %o, %unit : f32\nstore %acc, %s\n%w = cast %o : i32", READ),
        ("%o = load %acc : f32\n%s = binary add %o, %unit : f32\nstore %acc, %s\n%w = cast %s : i32", READ),
        ("%o = load %acc : f32\n%s = binary add %o, %unit : f32\nstore %acc, %s\n%w = load %acc : f32", READ),
        ("%w = load %acc : f32", ""),  # nothing is added to it here
        ("%o = load %acc : f32\n%q = load %acc : f32\n%t = binary add %q, %unit : f32\nstore %acc, %t\n"
         "%s = binary add %o, %unit : f32\nstore %acc, %s", READ),
        ("%o = load %acc : f32\nfor %begin, %m, %one (%k: i64) {\n  %q = load %acc : f32\n"
         "  %t = binary add %q, %unit : f32\n  store %acc, %t\n}\n%s = binary add %o, %unit : f32\n"
          "store %acc, %s", READ),
        ("%o = load %acc : f32\n%q = load %acc2 : f32\n%t = binary add %q, %unit : f32\nstore %acc2, %t\n"
         "%s = binary add %o, %unit : f32\nstore %acc, %s", ""),
        ("%o = load %flag : u1\n%s = binary xor %o, %true : u1\nstore %flag, %s", BYTES),
        ("%a = address %triple, indices=[%one], strides=[%four], offset=0 : *f32\n%o = load %a : f32\n"
         "%s = binary add %o, %unit : f32\nstore %a, %s", NOT_ALL),
        ("%a = address %acc, indices=[], strides=[], offset=0 : *f32\n%w = load %a : f32\n"
         "%o = load %acc : f32\n%s = binary add %o, %unit : f32\nstore %acc, %s", NOT_ALL),
        ("%t = alloca : *f32x3\n%a = address %t, indices=[%one], strides=[%four], offset=0 : *f32\n"
         "%b = address %a, indices=[%one], strides=[%four], offset=0 : *f32\nstore %b, %unit", TWICE),
        ("%a = address %base, indices=[%one], strides=[%four], offset=0 : *f32x2\n"
         "%b = address %a, indices=[%one], strides=[%four], offset=0 : *f32\nstore %b, %unit", ""),
        ("%t = alloca : *i32\nstore %t, %few\n%a = atomic add %t, %few : i32", "it contains an atomic on a local"),
        ("%p = address %base, indices=[%j], strides=[%four], offset=0 : *i32\n%a = atomic add %p, %few : i32", ""),
    ],
)  # fmt: skip
def test_accumulators(body: str, reason: str) -> None:
    task, values = task_of("%some = binary lt %j, %m : u1\n" + body)
    facts = Uniformity(task)
    assert facts.reason == reason
    if reason == "" and "%s = " in body:
        assert {value for _, value in facts.sums.values()} == {values["unit"]}
        assert values["o"] in facts.skipped


@pytest.mark.parametrize(
    ("before", "body", "reason"),
    [
        ("", SUMS, ""),
        (OVER, SUMS, NOT_ALL),
        ("%w = load %acc : f32\n", SUMS, ""),
        ("%w = load %acc : f32\n", "%s = binary add %w, %unit : f32\nstore %acc, %s", NOT_ALL),
    ],
)
def test_an_accumulator_before_the_loop(before: str, body: str, reason: str) -> None:
    kernel = parse(FRAME.format(body=body, end="%end").replace(PLACE, PLACE + before))
    (task,) = tasks_of(kernel)
    assert Uniformity(task).reason == reason
