"""The evaluator itself: values, faults, and that literals keep the precision of their type."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from weft.ir import ops
from weft.ir.adversary import Schedule
from weft.ir.config import CompileConfig
from weft.ir.core import Block, Builder
from weft.ir.evaluate import Fault, Memory, evaluate
from weft.ir.parse import parse
from weft.ir.pipeline import TO_LOWERED, TO_TASKS, run_passes
from weft.ir.storage.dense import Term
from weft.ir.symbols import FieldSymbol, Param
from weft.ir.types import array, f32, f64, i32, pointer, tensor, u1

CONFIG = CompileConfig(mask_out_of_bounds=False)
LINE = FieldSymbol.dense("x", f32, (4,), 0, (0,), (Term(0, 1, 4, 4),), (1,), (0,))


def small(*results: Any, params: tuple[Param, ...] = ()) -> tuple[ops.Kernel, Builder]:
    kernel = ops.Kernel("k", params, results, (LINE,))
    return kernel, Builder(kernel.body)


@pytest.mark.parametrize(("index", "fault"), [(1, ""), (4, ""), (0, "bounds"), (5, "bounds")])
def test_user_indices_start_at_the_offset(index: int, fault: str) -> None:
    kernel, build = small()
    place = build.add(ops.FieldPtr(LINE, [build.add(ops.Const(index, type=i32))]))
    build.add(ops.Store(place, build.add(ops.Const(2.5, type=f32))))
    memory = Memory.of([LINE])
    if fault:
        with pytest.raises(Fault, match="'x'") as caught:
            evaluate(kernel, [], memory, CONFIG)
        assert caught.value.kind == fault
    else:
        evaluate(kernel, [], memory, CONFIG)
        assert memory.read(LINE)[index - 1] == 2.5


def test_a_wrong_address_is_no_fault_until_it_is_used() -> None:
    kernel, build = small()
    build.add(ops.FieldPtr(LINE, [build.add(ops.Const(99, type=i32))]))
    evaluate(kernel, [], Memory.of([LINE]), CONFIG)


HUGE = """kernel @k() -> () {{
  task range_for{schedule} bounds {{
    %begin = const -9223372036854775807 : i64
    %end = const 9223372036854775807 : i64
    yield begins=[%begin], ends=[%end]
  }} body (%i: i64) {{
    %0 = binary add %i, %i : i64
  }}
}}
"""


@pytest.mark.parametrize("schedule", ["", " schedule={lanes=8}", " schedule={across=4, busy=1024}"])
@pytest.mark.parametrize("order", [None, Schedule(1)])
def test_a_box_of_too_many_iterations_is_refused_before_it_is_listed(schedule: str, order: Schedule | None) -> None:
    kernel = parse(HUGE.format(schedule=schedule))
    with pytest.raises(Fault, match="too many loop iterations"):
        evaluate(kernel, [], Memory.of([]), CONFIG, limit=1000, schedule=order)


def test_failed_assertions_and_endless_loops_are_faults() -> None:
    kernel, build = small()
    holds = build.add(ops.Const(False, type=u1))
    build.add(ops.Assert(holds, [build.add(ops.Const(7, type=i32))], "n is {}"))
    with pytest.raises(Fault, match="n is 7"):
        evaluate(kernel, [], Memory.of([LINE]), CONFIG)
    kernel, build = small()
    build.add(ops.While(body=Block()))
    with pytest.raises(Fault) as caught:
        evaluate(kernel, [], Memory.of([LINE]), CONFIG, limit=100)
    assert caught.value.kind == "endless"


def test_strided_arrays_are_reached_in_place() -> None:
    vec2 = tensor(f32, (2,))
    kernel, build = small(params=(Param("a", array(vec2, 1, False)),))
    place = build.add(
        ops.ArrayPtr(build.add(ops.Arg(0, type=kernel.params[0].type)), [build.add(ops.Const(0, type=i32))])
    )
    value = build.add(ops.Splat(build.add(ops.Const(3.0, type=f32)), type=vec2))
    build.add(ops.Atomic("add", place, value))
    given = np.zeros((4, 2), np.float32)
    evaluate(kernel, [given[::-2]], Memory.of([LINE]), CONFIG)
    assert given.tolist() == [[0, 0], [0, 0], [0, 0], [3, 3]]


def test_a_literal_keeps_the_precision_of_its_type() -> None:
    kernel, build = small(f64, params=(Param("one", f64),))
    product = ops.Binary("mul", build.add(ops.Const(0.1, type=f32)), build.add(ops.Arg(0, type=f64)))
    build.add(ops.Return([build.add(product)]))
    expected = float(np.float32(0.1))
    assert evaluate(kernel, [1.0], Memory.of([LINE]), CONFIG) == [expected]
    run_passes(kernel, ["infer_types"], CONFIG, level="untyped")
    assert evaluate(kernel, [1.0], Memory.of([LINE]), CONFIG) == [expected]


def test_locals_are_structs_and_tensors_alike() -> None:
    mat2 = tensor(i32, (2, 2))
    kernel, build = small(i32)
    place = build.add(ops.Alloca(type=pointer(mat2)))
    build.add(ops.Store(place, build.add(ops.Splat(build.add(ops.Const(3, type=i32)), type=mat2))))
    one = build.add(ops.Const(1, type=i32))
    build.add(ops.Store(build.add(ops.ElementPtr(place, [one, one])), one))
    build.add(ops.Return([build.add(ops.Reduce("add", build.add(ops.Load(place))))]))
    assert evaluate(kernel, [], Memory.of([LINE]), CONFIG) == [10]


def counter(base: int) -> ops.Kernel:
    """f(n) = n, added up one call at a time; it ends where n is `base`."""
    kernel = ops.Kernel("f", (Param("n", i32),), (i32,), ())
    build = Builder(kernel.body)
    n = build.add(ops.Arg(0, type=i32))
    ends = build.add(ops.If(build.add(ops.Binary("eq", n, build.add(ops.Const(base, type=i32))))))
    ends.then.append(ops.Return([n]))
    one = build.add(ops.Const(1, type=i32))
    rest = build.add(ops.Invoke("f", [build.add(ops.Binary("sub", n, one))], type=i32))
    build.add(ops.Return([build.add(ops.Binary("add", rest, one))]))
    return kernel


@pytest.mark.parametrize(("base", "fault"), [(0, ""), (-(10**6), "recursion")])
def test_functions_call_themselves(base: int, fault: str) -> None:
    kernel, build = small(i32)
    call = build.add(ops.Invoke("f", [build.add(ops.Const(20, type=i32))], type=i32))
    build.add(ops.Return([build.add(ops.Binary("mul", call, call))]))
    function, memory = counter(base), Memory.of([LINE])
    if fault:
        with pytest.raises(Fault, match="calls itself") as caught:
            evaluate(kernel, [], memory, CONFIG, functions=[function])
        assert caught.value.kind == fault
        return
    assert evaluate(kernel, [], memory, CONFIG, functions=[function]) == [400]
    for root in (kernel, function):
        run_passes(root, TO_TASKS + TO_LOWERED, CONFIG)
    assert evaluate(kernel, [], memory, CONFIG, functions=[function]) == [400]
