"""Which values a launch records for its gradient, where they are, and that the gradient reads the right ones."""

from __future__ import annotations

import numpy as np
import pytest

from tests.ir.dual_kernels import FIELDS, kernel_of
from tests.ir.reverse_checks import CONFIGS, PLAIN, Values, in_mode, point_of, run
from weft.ir.adversary import Schedule
from weft.ir.autodiff.torn import Torn
from weft.ir.evaluate import evaluate
from weft.ir.memory_model import Memory
from weft.ir.ops import Kernel, ParallelFor, StructFor
from weft.ir.parse import parse
from weft.ir.pipeline import TO_LOWERED, TO_TASKS, run_passes
from weft.ir.symbols import COUNTING, READING, RECORDING, Param, records_kind
from weft.ir.text import print_ir
from weft.ir.types import array, i64

# x[j] is stored twice, by addresses that are not known to be equal: at[3 - j] is j. Both loads are recorded.
_TWICE = """%p{0} = field_ptr @x[%j{0}] : *f64  %1{0} = load %p{0} : f64  %2{0} = unary sin %1{0} : f64
store %p{0}, %2{0}  %b{0} = binary sub %c3, %j{0} : i32  %a{0} = field_ptr @at[%b{0}] : *i32  %k{0} = load %a{0} : i32
%q{0} = field_ptr @x[%k{0}] : *f64  %3{0} = load %q{0} : f64  %4{0} = binary mul %3{0}, %3{0} : f64
store %q{0}, %4{0}"""
_LAST = "%c3 = const 3 : i32 "
_MIRRORED = "%j = binary sub %c3, %i : i32 "
_LIMIT = """field @limit: i32[2] tree=20 components=(0) terms=((0, 1, 2, 4)) offset=(0) order=(0)
field @at: i32[4] tree=21 components=(0) terms=((0, 1, 4, 4)) offset=(0) order=(0)"""
_READ = "%l = field_ptr @limit[%c1] : *i32  %n = load %l : i32 "


def _loop(body: str, begin: str = "%c0", end: str = "%c4") -> str:
    return f"{_LAST} parallel_for begins=[{begin}], ends=[{end}] (%i: i32) {{ {_MIRRORED} {body} }}"


TWICE = _TWICE.format("")

# The body, and the number of records; "": it is refused.
_MORE = f"{{ %jb = binary sub %c3, %i2 : i32 {_TWICE.format('b')} }}"
_CELL = "%d = binary mul %m, %c2 : i32  %e = binary add %d, %n : i32  %j = binary add %e, %c1 : i32"
_TEST = "%qq = field_ptr @y[%i] : *f64  %y = load %qq : f64  %f1 = const 1.0 : f64  %t = binary lt %y, %f1 : u1"
_AFTER = _TWICE.format("b").replace("%jb", "%j").replace("%cb", "%c3")
_COUNT = """%w = alloca : *i32  store %w, %c0  while { %g = load %w : i32  %h = binary ge %g, %c3 : u1
if %h then { break } %u = binary add %g, %c1 : i32  store %w, %u"""

# The body, and the number of records; "": it is refused.
BODIES: dict[str, tuple[str, str]] = {
    "an element of an iteration": (_loop(TWICE), "8 f64 f64"),
    "two loops": (
        _loop(TWICE) + f"parallel_for begins=[%c1], ends=[%c4] (%i2: i32) {_MORE}",
        "14 f64 f64 f64 f64",
    ),
    "a box": (
        f"{_LAST} %c2 = const 2 : i32  %m1 = const -1 : i32  parallel_for begins=[%m1, %c1], ends=[%c1, %c3] "
        f"(%m: i32, %n: i32) {{ {_CELL} {TWICE} }}",
        "8 f64 f64",
    ),
    "a field's elements": (f"{_LAST} struct_for @x (%i: i32) {{ {_MIRRORED} {TWICE} }}", "8 f64 f64"),
    "a serial loop with a step": (
        _loop(f"%c7 = const 7 : i32  %c2 = const 2 : i32  for %c1, %c7, %c2 (%r: i32) {{ {TWICE} }}"),
        "24 f64 f64",
    ),
    "a serial loop downwards": (
        _loop(f"%m2 = const -2 : i32  for %c3, %m2, %m2 (%r: i32) {{ {TWICE} }}"),
        "24 f64 f64",
    ),
    "a branch": (_loop(f"{_TEST} if %t then {{ {TWICE} }}"), "8 f64 f64"),
    "bounds in memory": (_READ + _loop(TWICE, end="%n"), "? f64 f64"),
    "bounds in memory that the kernel writes": (_READ + f"{_loop(TWICE, end='%n')} store %l, %c1", "3 + f64 f64"),
    "bounds from another loop": (_loop(f"for %c0, %i, %c1 (%r: i32) {{ {TWICE} }}"), "61 + f64 f64"),
    "a while": (_loop(f"{_COUNT} {TWICE} }}"), "61 + f64 f64"),
    "a while beside other values": (_loop(f"{_COUNT} {TWICE} }} {_AFTER}"), "69 + f64 f64 f64 f64"),
    "a while in serial code": (f"{_LAST} %i = const 1 : i32 {_MIRRORED} {_COUNT} {TWICE} }}", "16 + f64 f64"),
}


def made(body: str, kind: str) -> Kernel:
    """The kernel with that body, with records of that kind."""
    kernel = in_mode(kernel_of(body, fields=_LIMIT), "vjp")
    kernel.params = (Param("records", array(i64, 1), kind),)
    return kernel


def launched(kernel: Kernel, inputs: Values, records: np.ndarray, **how: object) -> Values:
    memory = Memory.of(kernel.fields)
    for symbol in kernel.fields:
        if symbol.name in inputs:
            memory.write(symbol, inputs[symbol.name])
    evaluate(kernel, [records], memory, PLAIN, **how)
    return {symbol.name: memory.read(symbol) for symbol in kernel.fields}


@pytest.mark.parametrize("name", BODIES)
def test_records(name: str) -> None:
    body, text = BODIES[name]
    if not text:
        with pytest.raises(Torn):
            run_passes(made(body, READING), ("differentiate",), PLAIN)
        return
    point = point_of(kernel_of(body, fields=_LIMIT), 0)
    limit = {"limit": np.array([9, 3], np.int32), "at": np.array([3, 2, 1, 0], np.int32)}
    zeros = {f"{name}.grad": np.zeros_like(value) for name, value in point.before.items()}
    forward = run_passes(kernel_of(body, fields=_LIMIT), ("differentiate",), PLAIN)
    inputs = point.before | {f"{name}.dual": value for name, value in point.tangent.items()} | limit
    after = run(forward, inputs)
    for config in CONFIGS.values():
        counter = run_passes(made(body, COUNTING), ("differentiate",), config)
        room = np.zeros(1, np.int64)
        launched(counter, point.before | limit, room)
        for passes, schedule in ((("differentiate",), Schedule(3)), ((*TO_TASKS, *TO_LOWERED), None)):
            recorder, reader = (run_passes(made(body, kind), passes, config) for kind in (RECORDING, READING))
            assert recorder.records == reader.records == parse(print_ir(reader)).records
            assert reader.records == text
            records = np.full(int(room[0]) + 5000 * ("+" in text), -1, np.int64)
            left = launched(recorder, point.before | zeros | limit, records, schedule=schedule)
            for field in FIELDS:
                np.testing.assert_array_equal(left[field], after[field])
            now = {field: left[field] for field in FIELDS} | limit
            now |= {f"{field}.grad": value for field, value in point.cotangent.items()}
            found = launched(reader, now, records, schedule=schedule)
            terms = [point.cotangent[field] * after[f"{field}.dual"] for field in FIELDS]
            back = [point.tangent[field] * found[f"{field}.grad"] for field in FIELDS]
            size = sum(np.abs(term).sum() for term in (*terms, *back))
            difference = abs(sum(term.sum() for term in terms) - sum(term.sum() for term in back))
            assert difference <= 1e-12 * size


@pytest.mark.parametrize("kind", [RECORDING, READING])
def test_launches_that_may_be_made_again_run_in_order_what_depends_on_the_order(kind: str) -> None:
    """The slot of a list depends on it, and what an element held between two stores does not."""
    slots = _loop(
        "%n = field_ptr @at[%c0] : *i32  %s = atomic add %n, %c1 : i32  %q = field_ptr @x[%i] : *f64  "
        "%x = load %q : f64  %p = field_ptr @z[%s] : *f64  store %p, %x"
    )
    for body, in_order in ((slots, True), (_loop(TWICE), False)):
        for again in (False, True):
            kernel = run_passes(made(body, records_kind(kind, again)), ("differentiate",), PLAIN)
            assert bool(kernel.all_of(ParallelFor, StructFor)) != (in_order and again)
            assert kernel.records
