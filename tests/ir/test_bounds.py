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
from weft.ir.parse import parse
from weft.ir.storage.dense import Term
from weft.ir.symbols import FieldSymbol, Param
from weft.ir.transforms.bounds import bounds
from weft.ir.types import array, f32, i32, i64, pointer, struct, tensor, u8
from weft.ir.verify import verify

DEBUG = CompileConfig(debug=True, fast_math=False)
X = FieldSymbol.dense("x", f32, (8,), 0, (0,), (Term(0, 1, 8, 4),), (-2,), (0,))


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


LOOPS = """kernel @k(a: [f32; 2], b: [f32; 2], n: i32) -> () {{
  %a = arg index=0 : [f32; 2]
  %again = arg index=0 : [f32; 2]
  %b = arg index=1 : [f32; 2]
  %n = arg index=2 : i32
  %0 = const 0 : i32
  %minus = const -1 : i32
  %rows = array_shape %a, axis=0
  %same = array_shape %again, axis=0
  %columns = array_shape %a, axis=1
  %others = array_shape %b, axis=0
  parallel_for begins=[{begin}], ends=[{end}] (%i: i32) {{
    %p = array_ptr %a[%i, %0] : *f32
    %v = load %p : f32
  }}
}}
"""


@pytest.mark.parametrize(
    ("begin", "end", "tests"),
    [
        ("%0", "%rows", 0),
        ("%0", "%same", 0),
        ("%0", "%columns", 1),
        ("%0", "%others", 1),
        ("%0", "%n", 1),
        ("%minus", "%rows", 2),
        ("%n", "%rows", 2),
    ],
)
def test_loops_over_an_axis(begin: str, end: str, tests: int) -> None:
    """The other index is a constant: only against the extent is it tested."""
    kernel = parse(LOOPS.format(begin=begin, end=end))
    assert bounds(kernel, DEBUG)
    verify(kernel, "chi")
    (made,) = asserts(kernel)
    about = [op for op in kernel.walk() if isinstance(op, ops.Binary) and isinstance(op.lhs, BlockArg)]
    assert len(about) == tests
    assert made.message == "a[{}, {}] is out of bounds: its shape is ({}, {})"


PAIR = struct((("a", f32), ("b", tensor(f32, (3,)))))
P = FieldSymbol.dense("p", PAIR, (8,), 1, (0, 4, 8, 12), (Term(0, 1, 8, 16),), (0,), (0,))


def test_what_the_source_does_not_name() -> None:
    kernel = ops.Kernel("k", (Param("n", i32),), (), (P,))
    at = Builder(kernel.body)
    n, zero = at.add(ops.Arg(0, type=i32)), at.add(ops.Const(0, type=i32))
    pad = at.add(ops.Shared((4,), type=array(f32, 1), name="pad"))
    local = at.add(ops.Alloca(type=pointer(PAIR), name="l"))
    nameless = at.add(ops.Alloca(type=pointer(tensor(f32, (3,)))))
    cell = at.add(ops.FieldPtr(P, [zero]))
    for ptr in (
        ops.ArrayPtr(pad, [n]),
        ops.ElementPtr(at.add(ops.MemberPtr(cell, 1)), [n]),
        ops.ElementPtr(at.add(ops.MemberPtr(local, 1)), [n]),
        ops.ElementPtr(nameless, [n]),
    ):
        at.add(ops.Load(at.add(ptr)))
    assert bounds(kernel, DEBUG)
    verify(kernel, "chi")
    shapes = {"pad": 4, "p": 3, "l": 3, "a local": 3}
    wanted = [f"{name}[{{}}] is out of bounds: its shape is ({size},)" for name, size in shapes.items()]
    assert [made.message for made in asserts(kernel)] == wanted
