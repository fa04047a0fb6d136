"""Addresses that stand in a row most of the time: how far apart they are, and that what is loaded there is right."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import weft as ti
from tests.codegen.folding import has_lanes
from weft.ir.mapping.rows import likely_bytes, likely_stride
from weft.ir.ops import Address
from weft.ir.parse import parse
from weft.ir.tasks import tasks_of
from weft.ir.uniform import Uniformity

KERNEL = """\
kernel @k(n: i64) -> () {{
  task range_for bounds {{
    %begin = const 0 : i64
    %end = const 5000 : i64
    yield begins=[%begin, %begin], ends=[%end, %end]
  }} prologue {{
    %base = tree_base tree=0 : *i64
    %zero = const 0 : i64
    %one = const 1 : i64
    %four = const 4 : i64
    %eight = const 8 : i64
    %forty = const 40 : i64
    %minus = const -4 : i64
    %n = scalar_arg index=0, part=0 : i64
  }} body (%i: i64, %j: i64) {{
    %b = address %base, indices=[%j], strides=[%four], offset=0, scope="field:b" : *i64
    %far = load %b : i64
    %row = binary mul %i, %forty : i64
    %m = binary min %j, %n : i64
    %r = binary mod %j, %n : i64
{body}
  }}
}}
"""


def addresses(body: str) -> tuple[Uniformity, list[Address]]:
    (task,) = tasks_of(parse(KERNEL.format(body=textwrap.indent(body, "    "))))
    return Uniformity(task), task.all_of(Address)


def one(indices: str, strides: str, base: str = "%base", name: str = "p", type: str = "f32", offset: int = 0) -> str:
    place = f'indices=[{indices}], strides=[{strides}], offset={offset}, scope="field:x"'
    return f"%{name} = address {base}, {place} : *{type}\n"


@pytest.mark.parametrize(
    ("body", "bytes", "elements"),
    [
        (one("%j", "%four"), 4, 1),
        (one("%i", "%four"), 0, 0),
        (one("%far", "%four"), None, 0),
        (one("%m", "%four"), 4, 1),
        (one("%m", "%eight", offset=4), 8, 2),
        (one("%r", "%eight", type="f64"), 8, 1),
        (one("%i, %m", "%forty, %four"), 4, 1),
        (one("%far, %m", "%forty, %four"), None, 0),
        (one("%m, %far", "%four, %forty"), None, 0),
        (one("%j, %m", "%forty, %four"), 44, 0),
        (one("%j, %m", "%eight, %four"), 12, 3),
        (one("%m", "%n"), None, 0),
        (one("%i, %m", "%n, %four"), 4, 1),
        (one("%m", "%far"), None, 0),
        (one("%i, %m", "%far, %four"), None, 0),
        (one("%m", "%minus"), -4, 0),
        (one("%m", "%four", type="u8"), 4, 0),
        (one("%m", "%forty"), 40, 0),
        (one("%m", "%eight", name="q") + one("", "", "%q", offset=4), 8, 2),
        (one("%m", "%eight", name="q") + one("%one", "%four", "%q"), 8, 2),
        (one("%far", "%eight", name="q") + one("%m", "%four", "%q"), None, 0),
        (one("%j", "%eight", name="q") + one("%m", "%four", "%q"), 12, 3),
    ],
)
def test_how_far_apart(body: str, bytes: int | None, elements: int) -> None:
    facts, found = addresses(body)
    assert facts.reason == ""
    assert likely_bytes(facts, found[-1]) == bytes
    assert likely_stride(facts, found[-1]) == elements


ROWS, COLUMNS = 3, 43


@pytest.fixture(params=[8, 16, 32])
def lanes(request: pytest.FixtureRequest) -> Iterator[int]:
    if not has_lanes():
        pytest.skip("there are no lanes without AVX2")
    ti.init(arch=ti.cpu)
    yield request.param
    ti.reset()


def matrix(dtype: Any, *part: int) -> Any:
    """Numbers that tell where they are."""
    size = (ROWS, COLUMNS, *part)
    return np.arange(np.prod(size)).reshape(size).astype(dtype)


COLUMN: dict[str, tuple[Callable[..., Any], Callable[..., Any]]] = {
    "clamped": (lambda i, j, far: ti.min(j + 2, COLUMNS - 1), lambda i, j, far: np.minimum(j + 2, COLUMNS - 1)),
    "clamped below": (lambda i, j, far: ti.max(j - 3, 0), lambda i, j, far: np.maximum(j - 3, 0)),
    "clamped to a limit of the row": (lambda i, j, far: ti.min(j, 7 + i), lambda i, j, far: np.minimum(j, 7 + i)),
    "around": (lambda i, j, far: (j + 5) % COLUMNS, lambda i, j, far: (j + 5) % COLUMNS),
    "masked off": (lambda i, j, far: (j + 5) & 15, lambda i, j, far: (j + 5) & 15),
    "every second": (lambda i, j, far: ti.min(j * 2, COLUMNS - 1), lambda i, j, far: np.minimum(j * 2, COLUMNS - 1)),
    "backwards": (lambda i, j, far: ti.max(COLUMNS - 3 - j, 0), lambda i, j, far: np.maximum(COLUMNS - 3 - j, 0)),
    "of two": (
        lambda i, j, far: ti.min(ti.max(j - 1, 0) + 2, 9),
        lambda i, j, far: np.minimum(np.maximum(j - 1, 0) + 2, 9),
    ),
    "anywhere": (lambda i, j, far: far, lambda i, j, far: far),
    "anywhere, clamped": (lambda i, j, far: ti.min(far + 1, 30), lambda i, j, far: np.minimum(far + 1, 30)),
}


@pytest.mark.parametrize("name", COLUMN)
def test_loads_and_stores(lanes: int, name: str) -> None:
    of, expected = COLUMN[name]
    of = ti.func(of)
    plain, wide = ti.field(ti.f32, (ROWS, COLUMNS)), ti.field(ti.f64, (ROWS, COLUMNS))
    cells, short = ti.Vector.field(3, ti.f32, (ROWS, COLUMNS)), ti.field(ti.i16, (ROWS, COLUMNS))
    far, row = ti.field(ti.i32, COLUMNS), ti.field(ti.i32, COLUMNS)
    got = ti.Vector.field(6, ti.f64, (ROWS, COLUMNS))

    @ti.kernel
    def run():
        ti.loop_config(simd=lanes)
        for i, j in plain:
            at = of(i, j, far[j])
            line = ti.min(i + row[j], ROWS - 1)
            total = 0.0
            for _ in range(i % 2 + 1):
                total += plain[i, at]
            got[i, j] = ti.Vector(
                [plain[i, at], wide[i, at], cells[i, at].y, short[i, at], plain[line, at], total], ti.f64
            )

    random = np.random.default_rng(1)
    given = {"far": random.integers(0, COLUMNS, COLUMNS), "row": random.integers(0, 2, COLUMNS)}
    far.from_numpy(given["far"].astype(np.int32))
    row.from_numpy(given["row"].astype(np.int32))
    for field, part in ((plain, ()), (wide, ()), (cells, (3,)), (short, ())):
        field.from_numpy(matrix(np.float64, *part).astype(field.to_numpy().dtype))
    run()
    i, j = np.indices((ROWS, COLUMNS))
    at = expected(i, j, given["far"][j])
    lines = np.minimum(i + given["row"][j], ROWS - 1)
    numbers = matrix(np.float64)
    want = [numbers[i, at], numbers[i, at], matrix(np.float64, 3)[i, at, 1], numbers[i, at], numbers[lines, at],
            numbers[i, at] * (i % 2 + 1)]  # fmt: skip
    np.testing.assert_array_equal(got.to_numpy(), np.stack(want, axis=-1))
