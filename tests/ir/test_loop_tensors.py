"""`loop_tensors` keeps meaning, and what it writes does not grow with the tensor."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings

from tests.generate import Program, chi_kernels
from tests.ir.test_passes_agree import check
from tests.sampling import draws
from weft.ir import ops
from weft.ir.config import CompileConfig
from weft.ir.core import Builder
from weft.ir.symbols import FieldSymbol
from weft.ir.transforms import loop_tensors as room
from weft.ir.transforms.loop_tensors import loop_tensors
from weft.ir.types import f32, tensor

EXACT = CompileConfig(fast_math=False)


@settings(max_examples=draws(150), deadline=None, suppress_health_check=list(HealthCheck))
@given(program=chi_kernels(mixed=True))
def test_random_kernels_mean_the_same(program: Program):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(room, "LIMIT", 1)
        names = ("infer_types", "loop_tensors", "scalarize", "demote_ops", "full_simplify")
        check(program, names, EXACT, "untyped")


def product(extent: int) -> ops.Kernel:
    """x[None] = x[None] @ x[None] * x[None]"""
    kind = tensor(f32, (extent, extent))
    x = FieldSymbol.dense("x", kind, (), 0, (), (), (), ())
    kernel = ops.Kernel("k", (), (), (x,))
    at = Builder(kernel.body)
    place = at.add(ops.FieldPtr(x, []))
    value = at.add(ops.Load(place))
    squared = at.add(ops.MatMul(value, value))
    at.add(ops.Store(place, at.add(ops.Binary("mul", squared, value))))
    return kernel


def test_a_product_is_as_long_as_any_other():
    lengths: set[int] = set()
    for extent in (7, 12, 32):
        kernel = product(extent)
        assert loop_tensors(kernel, EXACT)
        lengths.add(sum(1 for _ in kernel.walk()))
        assert not any(isinstance(op, ops.MatMul) for op in kernel.walk())
        assert sum(isinstance(op, ops.Alloca) for op in kernel.walk()) == 1, "the load and the product are not copied"
    assert len(lengths) == 1
    assert max(lengths) < 80


def test_small_tensors_are_left_alone():
    assert not loop_tensors(product(6), EXACT)
