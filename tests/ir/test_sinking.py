"""Ops whose derivative only a branch uses are in the branch of the gradient."""

from __future__ import annotations

import pytest

from tests.ir.dual_kernels import kernel_of
from tests.ir.reverse_checks import PLAIN, hold_dot_product, in_mode
from tests.sampling import every
from weft.ir import ops
from weft.ir.autodiff.sinking import sink_into_branches
from weft.ir.core import Op
from weft.ir.pipeline import run_passes
from weft.ir.verify import verify

_LOOP = """parallel_for begins=[%c0], ends=[%c4] (%i: i32) {{ %px = field_ptr @x[%i] : *f64
    %py = field_ptr @y[%i] : *f64  %pz = field_ptr @z[%i] : *f64  {before}  %x = load %px : f64  {between}
    %s = unary sqrt %x : f64  %one = const 1.0 : f64  %p = binary lt %s, %one : u1
    if %p then {{ %t = binary mul %s, %s : f64  {inside}  store %pz, %t }} orelse {{ {other} }}  {behind} }}"""
BRANCHES: dict[str, tuple[dict[str, str], str]] = {
    # what is in the branch after the pass: a square root and a load, a square root, or neither
    "one side": ({}, "root load"),
    "a use behind that carries no derivative": (
        {"behind": "%q = binary lt %x, %one : u1  if %q then { store %py, %one }"},
        "root load",
    ),
    "a use behind": ({"behind": "store %py, %s"}, ""),
    "both sides": ({"other": "store %pz, %s"}, ""),
    "a store to the memory between": ({"between": "store %px, %x"}, "root"),
    "a store to an array that may be the same": (
        {"between": "%k = binary and %i, %c1 : i32  %pk = field_ptr @x[%k] : *f64  store %pk, %one0", "before": ""},
        "root",
    ),
    "a store before": ({"before": "%b = load %py : f64  store %px, %b"}, "root load"),
    "a store in the branch": ({"inside": "store %px, %t"}, "root load"),
    "a local": (
        {"before": "%l = alloca : *f64  %b = load %py : f64  store %l, %b", "between": "%w = load %l : f64",
         "inside": "%u = binary mul %w, %s : f64  store %py, %u"},
        "root load load",
    ),
    "a local that changes": (
        {"before": "%l = alloca : *f64  %b = load %py : f64  store %l, %b",
         "between": "%w = load %l : f64  store %l, %x", "inside": "%u = binary mul %w, %s : f64  store %py, %u"},
        "root",
    ),
}  # fmt: skip


def _kernel(name: str) -> ops.Kernel:
    parts = dict.fromkeys(("before", "between", "inside", "other", "behind"), "") | BRANCHES[name][0]
    return kernel_of("%one0 = const 1.0 : f64  " + _LOOP.format(**parts))


def _inside(branch: ops.If) -> list[Op]:
    return [op for op in branch.walk() if isinstance(op, ops.Load) or getattr(op, "kind", "") == "sqrt"]


@pytest.mark.parametrize("name", BRANCHES)
def test_ops_move_into_the_only_side_that_uses_their_derivative(name: str) -> None:
    kernel = in_mode(_kernel(name), "vjp")
    sink_into_branches(kernel)
    verify(kernel, "chi")
    branch = kernel.all_of(ops.If)[0]
    found = ["load" if isinstance(op, ops.Load) else "root" for op in _inside(branch)]
    assert sorted(found) == sorted(BRANCHES[name][1].split())


# an iteration of a parallel loop that stores to the element of another one is a race: no gradient
@pytest.mark.parametrize("name", every(3, [name for name in BRANCHES if "may be the same" not in name]))
def test_the_dot_product_is_that_of_forward_mode(name: str) -> None:
    hold_dot_product(_kernel(name), 3, machine=False)


def test_iterations_that_do_not_take_the_branch_access_no_gradient() -> None:
    made = run_passes(in_mode(_kernel("one side"), "vjp"), ("differentiate", "full_simplify"), PLAIN)
    (loop,) = made.all_of(ops.ParallelFor)
    (branch,) = [op for op in loop.body if isinstance(op, ops.If)]
    assert all(op.within(branch) for op in made.all_of(ops.Atomic))
