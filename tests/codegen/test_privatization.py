"""Which small fields threads may scatter into copies of: all that the task does to them is atomics of one kind."""

from __future__ import annotations

import re

import pytest

from tests.mapping import GPU, for_gpu
from weft.codegen.nvptx.kernel import emit_kernel
from weft.ir.config import CompileConfig
from weft.ir.mapping.privatizable import Limits, privatizable_fields
from weft.ir.ops import Kernel
from weft.ir.parse import parse
from weft.ir.storage.dense import Term
from weft.ir.symbols import FieldSymbol, scopes_of
from weft.ir.target import CUDA
from weft.ir.tasks import tasks_of
from weft.ir.text import print_ir
from weft.ir.types import Prim, Tensor, f32, f64, i8, i32, i64, u32

KERNEL = """\
kernel @k() -> () {{
  task range_for bounds {{
    %from = const 0 : i64
    %to = const 1000 : i64
    yield begins=[%from], ends=[%to]
  }} prologue {{
    %base = tree_base tree=0 : *i64
    %step = const {step} : i64
    %v = const {value} : {type}
    %t = const true : u1
    %zero = const 0 : i64
    %bin = address %base, indices=[%zero], strides=[%step], offset=0, scope="field:x" : *{type}
    {prologue}
  }} body (%i: i64) {{
    %p = address %base, indices=[%i], strides=[%step], offset=0, scope="field:x" : *{type}
    %q = address %base, indices=[%i], strides=[%step], offset=400, scope="field:y" : *{type}
    {body}
  }} epilogue {{
    {epilogue}
  }}
}}
"""
ADD = "%a = atomic add %p, %v : {0}"
SMALL = Limits(each=400, total=600)


def field(name: str, type: Prim = i32, size: int = 100, low: int = 0, exposed: bool = False) -> FieldSymbol:
    return FieldSymbol.dense(name, type, (size,), 0, (low,), (Term(0, 1, size, type.size),), exposed=exposed)


def kernel(body: str, type: Prim = i32, prologue: str = "", epilogue: str = "") -> Kernel:
    parts = {"body": body, "prologue": prologue, "epilogue": epilogue}
    return parse(KERNEL.format(type=type, step=type.size, value="0.5" if type.is_float else "1", **parts))


def shared(body: str, x: FieldSymbol | None = None, limits: Limits = SMALL, **more: str) -> list[tuple[str, str, int]]:
    x = x or field("x")
    type = x.dtype
    assert isinstance(type, Prim)
    (task,) = tasks_of(kernel(body.replace("{0}", str(type)), type, **more))
    symbols = [x, field("y", type, 100, 400)]
    names = {scope: symbol.name for symbol, scope in scopes_of(symbols).items()}
    return [(names[one.scope], one.kind, one.words) for one in privatizable_fields(task, symbols, limits)]


X = [("x", "add", 100)]


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (ADD, X),
        (ADD.replace("add", "sub"), X),
        (ADD.replace("add", "max"), [("x", "max", 100)]),
        (ADD + "\n%b = atomic sub %bin, %v : {0}", X),
        ("if %t then {\n" + ADD + "\n}", X),
        (ADD + "\n%b = atomic max %bin, %v : {0}", []),
        (ADD + "\nstore %q, %v", X),
        (ADD + "\nstore %q, %a", []),  # the old value
        (ADD + "\nstore %bin, %v", []),
        (ADD + "\n%w = load %bin : {0}", []),
        (ADD + '\nassert %t, [], message="no"', []),
        (ADD + "\n%b = atomic add %q, %v : {0}", X),  # no room for both
    ],
)
def test_what_a_task_does_to_it(body: str, expected: list[tuple[str, str, int]]) -> None:
    assert shared(body) == expected


def test_room_for_both() -> None:
    both = ADD + "\n%b = atomic add %q, %v : {0}"
    assert shared(both, limits=Limits(each=400, total=800)) == [*X, ("y", "add", 100)]


@pytest.mark.parametrize("place", ["prologue", "epilogue"])
def test_once_a_thread_it_is_reached_as_it_is(place: str) -> None:
    assert shared(ADD, **{place: "%b = atomic add %bin, %v : i32"}) == []


@pytest.mark.parametrize(
    ("x", "kind", "found"),
    [
        (field("x", u32), "min", True),
        (field("x", f32), "add", True),
        (field("x", f32), "min", False),
        (field("x", i8), "add", False),
        (field("x", f64, 50), "add", True),
        (field("x", f64, 51), "add", False),
        (field("x", size=101), "add", False),
        (field("x", size=1), "add", False),
        (field("x", size=2), "add", True),
        (FieldSymbol.dense("x", i32, (9,), 0, (0,), (Term(0, 1, 9, 8),)), "add", False),  # others lie in between
        (FieldSymbol.dense("x", i32, (9, 9), 0, (0,), (Term(0, 1, 9, 36), Term(1, 1, 9, 4))), "add", True),
    ],
)
def test_fields(x: FieldSymbol, kind: str, found: bool) -> None:
    assert bool(shared(ADD.replace("add", kind), x)) is found


def test_vectors_and_fields_that_others_may_be() -> None:
    made = kernel(ADD.format("i32"))
    (task,) = tasks_of(made)
    vector = FieldSymbol.dense("x", Tensor(i32, (2,)), (9,), 0, (0, 4), (Term(0, 1, 9, 8),))
    assert [one.words for one in privatizable_fields(task, [vector], SMALL)] == [18]
    assert privatizable_fields(task, [], SMALL) == ()
    exposed = field("x", exposed=True)
    (scope,) = scopes_of([exposed]).values()
    (task,) = tasks_of(parse(print_ir(made).replace('"field:x"', f'"{scope}"')))
    assert privatizable_fields(task, [exposed], SMALL) == ()


@pytest.mark.parametrize(
    ("type", "kind", "written"),
    [
        (u32, "add", "add"),
        (u32, "xor", "xor"),
        (u32, "max", "umax"),
        (i32, "min", "min"),
        (f32, "add", "fadd"),
        (i64, "max", "max"),
        (f64, "add", "fadd"),
    ],
)
def test_how_a_block_adds(type: Prim, kind: str, written: str) -> None:
    made = kernel(ADD.replace("add", kind).format(type), type)
    made.fields = (field("x", type),)
    config = CompileConfig(arch="cuda", traits=CUDA)
    emitted, _ = emit_kernel(for_gpu(made, config), config, GPU)
    text = "\n".join(emitted.module.functions)
    assert set(re.findall(r"atomicrmw (\w+) ptr", text)) == {written}
    assert re.search(r"atomicrmw \w+ ptr addrspace\(3\)", text)
