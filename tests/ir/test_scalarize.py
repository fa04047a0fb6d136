"""`scalarize` and `demote_ops` keep meaning, and produce little."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings

from tests.generate import Program, chi_kernels
from tests.ir.test_passes_agree import check
from tests.sampling import draws
from weft.ir import ops
from weft.ir.config import CompileConfig
from weft.ir.core import Builder
from weft.ir.evaluate import Memory, evaluate
from weft.ir.scalar import BINARY
from weft.ir.symbols import Param
from weft.ir.transforms.demote_ops import demote_ops
from weft.ir.transforms.scalarize import scalarize
from weft.ir.types import Prim, Struct, Tensor, f32, i8, i32, pointer, struct, tensor, u1, u32

EXACT = CompileConfig(fast_math=False)
vec3, mat = tensor(f32, (3,)), tensor(f32, (2, 3))


def names(root) -> list[str]:
    return [op.opname for op in root.walk()]


@settings(max_examples=draws(150), deadline=None, suppress_health_check=list(HealthCheck))
@given(program=chi_kernels(mixed=True))
def test_random_kernels_mean_the_same(program: Program):
    check(program, ("infer_types", "scalarize", "demote_ops"), EXACT, "untyped")
    for op in program.kernel.walk():
        assert not isinstance(op.type, (Tensor, Struct)), op
        assert not isinstance(op, (ops.Return, ops.Arg)) or op.type is program.kernel.params[-1].type
    assert not scalarize(program.kernel, EXACT)


def build(params=(), results=()) -> tuple[ops.Kernel, Builder]:
    kernel = ops.Kernel("k", tuple(params), tuple(results))
    return kernel, Builder(kernel.body)


def test_a_local_with_constant_indices_becomes_scalars():
    kernel, at = build([Param("a", vec3)], [f32])
    local = at.add(ops.Alloca(type=pointer(vec3), name="v"))
    at.add(ops.Store(local, at.add(ops.Arg(0, type=vec3))))
    one = at.add(ops.Const(1, type=i32))
    at.add(ops.Return([at.add(ops.Load(at.add(ops.ElementPtr(local, [one]))))]))
    assert scalarize(kernel, EXACT)
    assert names(kernel).count("element_ptr") == 0
    assert [op.name for op in kernel.walk() if isinstance(op, ops.Alloca)] == ["v_0", "v_1", "v_2"]


def test_a_local_with_run_time_indices_stays_in_memory():
    kind = struct((("p", vec3), ("q", mat), ("n", i32)))
    kernel, at = build([Param("a", kind), Param("i", i32)], [kind, f32])
    local = at.add(ops.Alloca(type=pointer(kind), name="s"))
    at.add(ops.Store(local, at.add(ops.Arg(0, type=kind))))
    index, one = at.add(ops.Arg(1, type=i32)), at.add(ops.Const(1, type=i32))
    q = at.add(ops.MemberPtr(local, 1))
    at.add(ops.Store(at.add(ops.ElementPtr(q, [one, index])), at.add(ops.Const(9.0, type=f32))))
    whole = at.add(ops.Load(local))
    element = at.add(ops.Load(at.add(ops.ElementPtr(q, [one, one]))))
    at.add(ops.Return([whole, element]))
    given_value = {"p": [1, 2, 3], "q": [[1, 2, 3], [4, 5, 6]], "n": 7}
    before = evaluate(kernel, [given_value, 2], Memory.of([]), EXACT)
    assert scalarize(kernel, EXACT)
    demote_ops(kernel, EXACT)
    after = evaluate(kernel, [given_value, 2], Memory.of([]), EXACT)
    assert str(before) == str(after)
    assert [op.type for op in kernel.walk() if isinstance(op, ops.Alloca)].count(pointer(mat)) == 1


def test_output_is_linear():
    kernel, at = build([Param("a", vec3)], [vec3])
    value = at.add(ops.Arg(0, type=vec3))
    for _ in range(50):
        value = at.add(ops.Binary("add", value, value))
    at.add(ops.Return([value]))
    scalarize(kernel, EXACT)
    assert names(kernel).count("binary") == 150


def test_reports_remember_their_types():
    kernel, at = build([Param("a", vec3)])
    value = at.add(ops.Arg(0, type=vec3))
    at.add(ops.Print([value, at.add(ops.Const(1, type=i32))], ("v = ", "\0", " and ", "\0.3f")))
    at.add(ops.Assert(at.add(ops.Const(False, type=u1)), [value], "bad {}"))
    scalarize(kernel, EXACT)
    report = next(op for op in kernel.walk() if isinstance(op, ops.Print))
    assert report.types == (vec3, i32)
    assert len(report.values) == 4
    check_op = next(op for op in kernel.walk() if isinstance(op, ops.Assert))
    assert check_op.types == (vec3,)
    assert check_op.condition.type is u1


def power(prim: Prim, base, exponent, constant: bool, config=EXACT):
    kernel, at = build([Param("a", prim), Param("b", prim)], [prim])
    b = at.add(ops.Const(exponent, type=prim)) if constant else at.add(ops.Arg(1, type=prim))
    at.add(ops.Return([at.add(ops.Binary("pow", at.add(ops.Arg(0, type=prim)), b, type=prim))]))
    demote_ops(kernel, config)
    has_pow = any(isinstance(op, ops.Binary) and op.kind == "pow" for op in kernel.walk())
    return evaluate(kernel, [base, exponent], Memory.of([]), config)[0], has_pow


@pytest.mark.parametrize("constant", [True, False])
@pytest.mark.parametrize("prim", [i32, u32, i8])
def test_integer_powers(prim: Prim, constant: bool):
    for base in (0, 1, -1, 2, -3, 7, -128):
        for exponent in (0, 1, 2, 3, 5, 7, 31, -1, -2, -7):
            if not prim.is_signed and (base < 0 or exponent < 0):
                continue
            got, has_pow = power(prim, base, exponent, constant)
            expected = BINARY["pow"].evaluate(prim.np.type(base), prim.np.type(exponent))
            assert got == expected, (base, exponent)
            assert not has_pow


@pytest.mark.parametrize("base", [0.0, -0.0, 2.5, -3.0, float("inf"), float("nan")])
def test_float_powers(base: float):
    for exponent in (0.0, 1.0, 2.0, -1.0):
        got, has_pow = power(f32, base, exponent, True)
        assert not has_pow
        assert np.array_equal(got, BINARY["pow"].evaluate(np.float32(base), np.float32(exponent)), equal_nan=True)
    fast = CompileConfig(fast_math=True)
    assert not power(f32, base, 3.0, True, fast)[1]
    assert not power(f32, base, -0.5, True, fast)[1]
    for exponent in (3.0, 2.5, float("inf"), float("nan")):
        assert power(f32, base, exponent, True)[1]
