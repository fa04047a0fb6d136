"""Runs the body of a loop that is written as ops on vectors, by the evaluator and as machine code of the CPU.

The body takes groups of LANES iterations. The last group of a row is not full: LENGTH is no multiple of them.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.codegen.chi_runs import evaluated, mapped_on_cpu
from weft.ir.adversary import Schedule
from weft.ir.config import CompileConfig
from weft.ir.ops import Kernel
from weft.ir.parse import parse
from weft.ir.text import print_ir
from weft.ir.types import PRIMS
from weft.ir.verify import verify

__all__ = ["EXACT", "LANES", "LENGTH", "check", "inputs", "program", "results"]

LENGTH, LANES = 45, 16
EXACT = CompileConfig(fast_math=False, threads=1)  # so that groups begin at multiples of LANES
NAN, INF = float("nan"), float("inf")

PROGRAM = """\
kernel @k() -> () {
  field @a: T[LENGTH] tree=0 components=(0) terms=((0, 1, LENGTH, SIZE_T))
  field @b: T[LENGTH] tree=1 components=(0) terms=((0, 1, LENGTH, SIZE_T))
  field @on: u1[LENGTH] tree=2 components=(0) terms=((0, 1, LENGTH, 1))
  field @to: i32[LENGTH] tree=3 components=(0) terms=((0, 1, LENGTH, 4))
  field @out: R[LENGTH] tree=4 components=(0) terms=((0, 1, LENGTH, SIZE_R))
  field @sum: R tree=5 components=(0)
  task range_for schedule={lanes=N} bounds {
    %0 = const 0 : i64
    %1 = const LENGTH : i64
    yield begins=[%0], ends=[%1]
  } prologue {
    %base_a = tree_base tree=0 : *i64
    %base_b = tree_base tree=1 : *i64
    %base_on = tree_base tree=2 : *i64
    %base_to = tree_base tree=3 : *i64
    %base_out = tree_base tree=4 : *i64
    %base_sum = tree_base tree=5 : *i64
    %zero = const 0 : i64
    %one = const 1 : i64
    %size_t = const SIZE_T : i64
    %size_r = const SIZE_R : i64
    %four = const 4 : i64
    %total = address %base_sum, indices=[], strides=[], offset=0, scope="field:sum" : *R
  } body (%i: i64, %left: i64) {
    %here = first_lanes %left : <N x u1>
    %pa = address %base_a, indices=[%i], strides=[%size_t], offset=0, scope="field:a" : *T
    %pb = address %base_b, indices=[%i], strides=[%size_t], offset=0, scope="field:b" : *T
    %pon = address %base_on, indices=[%i], strides=[%one], offset=0, scope="field:on" : *u1
    %pto = address %base_to, indices=[%i], strides=[%four], offset=0, scope="field:to" : *i32
    %pout = address %base_out, indices=[%i], strides=[%size_r], offset=0, scope="field:out" : *R
    %a = masked_load %pa, %here : <N x T>
    %b = masked_load %pb, %here : <N x T>
    %on = masked_load %pon, %here : <N x u1>
    %to32 = masked_load %pto, %here : <N x i32>
    %to = cast %to32 : <N x i64>
    %all = splat %pa : <N x *T>
BODY
  }
}
"""
STORED = "    masked_store %pout, %r, %here"


def program(body: str, type: str = "f32", result: str = "", lanes: int = LANES, stored: bool = True) -> Kernel:
    """The kernel with that code in its loop. It stores %r to `out`, unless the code does."""
    result = result or type
    text = PROGRAM.replace("BODY", body + ("\n" + STORED if stored else "")).replace("LENGTH", str(LENGTH))
    text = text.replace("SIZE_T", str(PRIMS[type].size)).replace("SIZE_R", str(PRIMS[result].size))
    for short, whole in (("<N x T>", f"<{lanes} x {type}>"), ("<N x R>", f"<{lanes} x {result}>")):
        text = text.replace(short, whole)
    text = text.replace("<N x", f"<{lanes} x").replace("lanes=N", f"lanes={lanes}").replace("*T", f"*{type}")
    text = text.replace("*R", f"*{result}").replace(": T", f": {type}").replace(": R", f": {result}")
    kernel = parse(text)
    verify(kernel, "vectors")
    assert print_ir(parse(print_ir(kernel))) == print_ir(kernel)
    return kernel


def numbers(type: str, seed: int) -> Any:
    """Values of all kinds: small ones, extremes, NaN."""
    draw, prim = np.random.default_rng(seed), PRIMS[type]
    if prim.is_float:
        values = draw.normal(0, 100, LENGTH)
        values[draw.choice(LENGTH, 6, replace=False)] = [NAN, INF, -INF, 0.0, -0.0, 1e30]
        with np.errstate(over="ignore"):
            return values.astype(prim.np)
    if type == "u1":
        return draw.random(LENGTH) < 0.5
    limits = np.iinfo(prim.np)
    values = draw.integers(max(limits.min, -9), 9, LENGTH).astype(prim.np)
    values[draw.choice(LENGTH, 4, replace=False)] = [limits.min, limits.max, limits.max - 1, 0]
    return values


def inputs(type: str) -> dict[str, Any]:
    """What the fields hold at first."""
    draw = np.random.default_rng(3)
    on = draw.random(LENGTH) < 0.4
    on[16:32] = False  # a group without an active lane
    return {"a": numbers(type, 1), "b": numbers(type, 2), "on": on, "to": draw.integers(0, LENGTH, LENGTH)}


def results(kernel: Kernel, given: dict[str, Any], config: CompileConfig = EXACT) -> list[dict[str, Any]]:
    """What all fields hold in the end, by the evaluator and by machine code."""
    return [
        evaluated(kernel, given, config=config),
        evaluated(kernel, given, Schedule(5), config=config),
        mapped_on_cpu(kernel, config)(given),
    ]


def check(kernel: Kernel, given: dict[str, Any], **expected: Any) -> None:
    """These fields hold these values in the end."""
    for number, found in enumerate(results(kernel, given)):
        for name, wanted in expected.items():
            values, wanted = np.asarray(found[name]), np.asarray(wanted)
            floats = values.dtype.kind == "f"
            same = np.array_equal(values, wanted.astype(values.dtype), equal_nan=floats)
            assert same, f"run {number}: {name} is {values}, not {wanted}"
