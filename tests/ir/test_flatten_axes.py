"""Axes along one row of memory become one axis: when that is legal, and that it changes nothing."""

from __future__ import annotations

from random import Random

import pytest

from tests.sampling import draws
from weft.ir.config import CompileConfig
from weft.ir.evaluate import Memory, evaluate
from weft.ir.ops import Kernel
from weft.ir.parse import parse
from weft.ir.pipeline import find_pass
from weft.ir.target import Target
from weft.ir.tasks import box_of, parallel_tasks
from weft.ir.transforms.mapping import flatten_axes
from weft.ir.verify import verify

CONFIG = CompileConfig(target=Target("cpu", features=frozenset({"avx512f"}), threads=2), verify=True)

BOX = """\
kernel @k() -> () {{
  field @m: i32[{total}] tree=0 components=(0) terms=((0, 1, {total}, 4)) order=(0)
  field @x: i32[{total}] tree=0 components=({bytes}) terms=((0, 1, {total}, 4)) order=(0)
  task range_for bounds {{
    %none = const 0 : i64
    %begin = const {begin} : i64
    {ends}
    yield begins=[%none, %none, %begin], ends=[%e0, %e1, %e2]
"""

TEXT = (
    BOX
    + """\
  }} body (%i: i64, %j: i64, %k: i64) {{
    %base = tree_base tree=0 : *i64
    %m0 = const {m[0]} : i64
    %m1 = const {m[1]} : i64
    %m2 = const {m[2]} : i64
    %x0 = const {x[0]} : i64
    %x1 = const {x[1]} : i64
    %x2 = const {x[2]} : i64
    %p = address %base, indices=[{mi}], strides=[{ms}], offset={moff}, scope="field:m" : *i32
    %mark = load %p : i32
    %limit = const 3 : i32
    %set = binary lt %mark, %limit : u1
    if %set then {{
      %q = address %base, indices=[%i, %j, %k], strides=[%x0, %x1, %x2], offset={bytes}, scope="field:x" : *i32
      %v = load %q : i32
      %w = binary add %v, %mark : i32
      {more}
      store %q, %w
    }}
  }}
}}
"""
)


# The same box: a thread adds up the marks in a local, without conditions.
SUM = (
    BOX
    + """\
  }} prologue {{
    %base = tree_base tree=0 : *i64
    %sum = alloca : *i32
    %zero = const 0 : i32
    store %sum, %zero
  }} body (%i: i64, %j: i64, %k: i64) {{
    %m0 = const {m[0]} : i64
    %m1 = const {m[1]} : i64
    %m2 = const {m[2]} : i64
    %p = address %base, indices=[{mi}], strides=[{ms}], offset={moff}, scope="field:m" : *i32
    %mark = load %p : i32
    %old = load %sum : i32
    %new = binary add %old, %mark : i32
    store %sum, %new
  }} epilogue {{
    %all = load %sum : i32
    %q = address %base, indices=[], strides=[], offset={bytes}, scope="field:x" : *i32
    %before = atomic add %q, %all : i32
  }}
}}
"""
)


def kernel(extents: tuple[int, int, int], text: str = TEXT, **other: object) -> Kernel:
    """A loop over a box of these extents that adds marks to elements where they are small."""
    a, b, c = extents
    total = 4 * a * b * c + 64
    ends = "\n".join(f"%e{k} = const {extent} : i64" for k, extent in enumerate(extents))
    facts = {"total": total, "bytes": 4 * total, "begin": 0, "ends": ends, "moff": 0, "more": ""}
    facts |= {"m": (4 * b * c, 4 * c, 4), "x": (4 * b * c, 4 * c, 4), "mi": "%i, %j, %k", "ms": "%m0, %m1, %m2"}
    made = parse(text.format(**(facts | other)))
    verify(made, "lowered")
    return made


def axes(made: Kernel) -> int:
    """How many axes the task has after the pass, which must leave the same as before."""
    memory = [Memory.of(made.fields), Memory.of(made.fields)]
    for one in memory:
        for field in made.fields:
            for at in range(field.shape[0]):
                one.place(field, [at]).store((at * 7 + field.components[0]) % 5, field.dtype)
    evaluate(made, [], memory[0], CONFIG)
    find_pass("flatten_axes")(made, CONFIG)
    verify(made, "lowered")
    evaluate(made, [], memory[1], CONFIG)
    for field in made.fields:
        assert memory[0].read(field).tolist() == memory[1].read(field).tolist()
    return len(box_of(parallel_tasks(made)[0]).ends)


def test_rows_become_one_axis() -> None:
    assert axes(kernel((3, 4, 5))) == 1
    assert axes(kernel((2, 3, 1))) == 1
    assert axes(kernel((2, 8, 8), x=(1000, 32, 4))) == 2
    assert axes(kernel((2, 8, 8), x=(0, 32, 4), m=(0, 32, 4))) == 2
    assert axes(kernel((2, 2, 64))) == 2  # 128 is long enough
    assert axes(kernel((2, 2, 65))) == 3


def test_rows_that_are_summed_become_one_axis() -> None:
    assert axes(kernel((3, 4, 5), SUM)) == 1
    assert axes(kernel((3, 4, 8), SUM, m=(180, 36, 4))) == 3  # a row with a gap
    plain = SUM.replace(
        "store %sum, %new",
        "%own = address %base, indices=[%i, %j, %k], strides=[%m0, %m1, %m2], "
        'offset=0, scope="field:m" : *i32\n    store %own, %new',
    )
    plain = plain.replace("%old = load %sum : i32", "%old = const 1 : i32").split(" epilogue")[0] + "\n}}\n"
    assert axes(kernel((3, 4, 8), plain.replace("%sum = alloca : *i32", "").replace("store %sum, %zero", ""))) == 3


ILLEGAL = {
    "a row with a gap": {"x": (180, 36, 4)},
    "rows that overlap": {"x": (80, 16, 4)},
    "a gap in the marks": {"m": (4 * 45, 4 * 9, 4)},
    "another begin": {"begin": 1},
    "an index that is used": {"more": "%wide = cast %k : i32\n%z = binary add %w, %wide : i32\nstore %q, %z"},
    "an outer index that is used": {"more": "%wide = cast %j : i32\n%z = binary add %w, %wide : i32\nstore %q, %z"},
    "an address without the outer index": {"mi": "%i, %k", "ms": "%m0, %m2"},
    "an address without the inner index": {"mi": "%i, %j", "ms": "%m0, %m1"},
    "an index that is there twice": {"mi": "%i, %j, %k, %k", "ms": "%m0, %m1, %m2, %m2"},
    "the stride of another index": {"mi": "%i, %k, %j"},
    "an unknown extent": {
        "ends": "%e0 = const 3 : i64\n%t = temp_ptr offset=0 : *i64\n%p0 = address %t, indices=[], strides=[], "
        'offset=0, scope="temp:0" : *i64\n%e1 = load %p0 : i64\n%e2 = const 8 : i64'
    },
}


@pytest.mark.parametrize("case", ILLEGAL)
def test_what_is_left(case: str) -> None:
    made = kernel((3, 4, 8), **ILLEGAL[case])
    if case == "an unknown extent":
        made.temp_bytes = 8
        assert not find_pass("flatten_axes")(made, CONFIG)
    else:
        assert axes(made) == 3


@pytest.mark.parametrize("case", ["a row with a gap", "rows that overlap", "an address without the outer index"])
def test_without_the_condition_something_else_is_left(case: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(flatten_axes, "_fits", lambda *given: True)
    with pytest.raises(AssertionError):
        axes(kernel((3, 4, 8), **ILLEGAL[case]))


@pytest.mark.parametrize("seed", range(draws(60)))
def test_random_boxes(seed: int) -> None:
    rng = Random(seed)
    extents = rng.randint(1, 4), rng.randint(1, 5), rng.randint(1, 6)
    a, b, c = extents
    rows = [(4 * b * c, 4 * c, 4), (4 * b * (c + 1), 4 * (c + 1), 4), (4 * c, 4 * a * c, 4), (4 * b * c + 8, 4 * c, 4)]
    x, m = rng.choice(rows), rng.choice(rows)
    fits = all(one[1] == 4 * c and one[2] == 4 for one in (x, m))
    assert (axes(kernel(extents, x=x, m=m)) < 3) == fits
