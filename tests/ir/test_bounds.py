"""`bounds`: what is out of bounds is reported; what is not, is not; what surely is not, is not even checked."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings

from tests.generate import Program, chi_kernels
from tests.ir.test_passes_agree import check
from weft.ir import ops
from weft.ir.config import CompileConfig
from weft.ir.core import Block, BlockArg, Builder
from weft.ir.evaluate import Fault, Memory, evaluate
from weft.ir.symbols import FieldSymbol, Param, Term
from weft.ir.transforms.bounds import bounds
from weft.ir.types import array, f32, i32, i64, pointer, tensor, u8

DEBUG = CompileConfig(debug=True, fast_math=False)
X = FieldSymbol("x", f32, (8,), 0, (0,), (Term(0, 1, 8, 4),), (-2,), (0,))


@settings(max_examples=50, deadline=None, suppress_health_check=list(HealthCheck))
@given(program=chi_kernels())
def test_right_programs_run_as_before(program: Program):
    check(program, ("bounds", "scalarize", "demote_ops"), CompileConfig(boundary_check=True, fast_math=False))


def build(*params: Param) -> tuple[ops.Kernel, Builder]:
    kernel = ops.Kernel("k", params, (), (X,))
    return kernel, Builder(kernel.body)


def asserts(kernel: ops.Kernel) -> list[ops.Assert]:
    return [op for op in kernel.walk() if isinstance(op, ops.Assert)]


def test_only_in_debug():
    kernel, at = build(Param("i", i32))
    at.add(ops.Load(at.add(ops.FieldPtr(X, [at.add(ops.Arg(0, type=i32))]))))
    assert not bounds(kernel, CompileConfig())
    assert bounds(kernel, CompileConfig(boundary_check=True))


@pytest.mark.parametrize("kind", [i32, i64, u8])
def test_a_field(kind):
    kernel, at = build(Param("i", kind))
    ptr = at.add(ops.FieldPtr(X, [at.add(ops.Arg(0, type=kind))]))
    at.add(ops.Load(ptr))
    at.add(ops.Store(ptr, at.add(ops.Const(1.0, type=f32))))
    assert bounds(kernel, DEBUG)
    assert len(asserts(kernel)) == 1
    memory = Memory.of([X])
    evaluate(kernel, [5], memory, DEBUG)
    with pytest.raises(Fault, match=r"x\[6\] is out of bounds: its shape is \(8,\), from index \(-2,\)"):
        evaluate(kernel, [6], memory, DEBUG)
    if kind is not u8:
        evaluate(kernel, [-2], memory, DEBUG)
        with pytest.raises(Fault, match="out of bounds"):
            evaluate(kernel, [-3], memory, DEBUG)


def test_an_array_names_its_shape():
    kind = array(f32, 2)
    kernel, at = build(Param("a", kind), Param("i", i32))
    index = at.add(ops.Arg(1, type=i32))
    at.add(ops.Load(at.add(ops.ArrayPtr(at.add(ops.Arg(0, type=kind)), [index, index]))))
    bounds(kernel, DEBUG)
    with pytest.raises(Fault, match=r"a\[2, 2\] is out of bounds: its shape is \(3, 2\)"):
        evaluate(kernel, [np.zeros((3, 2), np.float32), 2], Memory.of([]), DEBUG)


def test_an_array_of_more_elements_than_an_index_counts():
    kernel, at = build(Param("i", u8), Param("a", array(f32, 1)))
    at.add(ops.Load(at.add(ops.ArrayPtr(at.add(ops.Arg(1, type=array(f32, 1))), [at.add(ops.Arg(0, type=u8))]))))
    assert bounds(kernel, DEBUG)
    evaluate(kernel, [200, np.zeros(300, np.float32)], Memory.of([X]), DEBUG)
    with pytest.raises(Fault, match="out of bounds"):
        evaluate(kernel, [200, np.zeros(200, np.float32)], Memory.of([X]), DEBUG)


def test_an_element_of_a_vector():
    kernel, at = build(Param("i", i32))
    local = at.add(ops.Alloca(type=pointer(tensor(f32, (3,))), name="v"))
    at.add(ops.Load(at.add(ops.ElementPtr(local, [at.add(ops.Arg(0, type=i32))]))))
    bounds(kernel, DEBUG)
    (made,) = asserts(kernel)
    assert made.message == "v[{}] is out of bounds: its shape is (3,)"


def test_the_check_stands_at_the_access():
    kernel, at = build(Param("i", i32))
    index = at.add(ops.Arg(0, type=i32))
    ptr = at.add(ops.FieldPtr(X, [index]))
    guard = at.add(ops.If(at.add(ops.Binary("lt", index, at.add(ops.Const(6, type=i32))))))
    inside = Builder(guard.then)
    inside.add(ops.Load(ptr))
    at.add(ops.Load(ptr))
    bounds(kernel, DEBUG)
    first, second = asserts(kernel)
    assert first.block is guard.then
    assert second.block is kernel.body


def test_sure_indices_are_not_checked():
    kernel, at = build(Param("a", array(f32, 1)))
    body = Block([BlockArg(i32, "i")])
    at.add(ops.StructFor(X, body=body))
    Builder(body).add(ops.Load(Builder(body).add(ops.FieldPtr(X, [body.args[0]]))))
    over = at.add(ops.Arg(0, type=array(f32, 1)))
    begin, end = at.add(ops.Const(0, type=i32)), at.add(ops.ArrayShape(over, 0))
    rows = Block([BlockArg(i32, "j")])
    at.add(ops.ParallelFor([begin], [end], body=rows))
    Builder(rows).add(ops.Load(Builder(rows).add(ops.ArrayPtr(over, [rows.args[0]]))))
    at.add(ops.Load(at.add(ops.FieldPtr(X, [begin]))))
    assert not bounds(kernel, DEBUG)
    assert not asserts(kernel)
