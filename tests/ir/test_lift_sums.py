"""Which sums are made behind the condition that they stand under, and that they stay what they were."""

from __future__ import annotations

import numpy as np
import pytest

from weft.ir.config import CompileConfig
from weft.ir.evaluate import Memory, evaluate
from weft.ir.ops import Kernel
from weft.ir.parse import parse
from weft.ir.pipeline import find_pass
from weft.ir.target import CUDA
from weft.ir.text import print_ir
from weft.ir.verify import verify

KERNEL = """kernel @k(c: u1, v: f32) -> () {
  field @x: f32[4] tree=0 components=(0) terms=((0, 1, 4, 4)) order=(0)
  task serial body {
    %c = arg index=0 : u1
    %v = arg index=1 : f32
    %0 = const 0 : i32
    %3 = const 3 : i32
    %1 = const 1 : i32
    %base = tree_base tree=0 : *i64
    %x = address %base, indices=[], strides=[], offset=0, scope="field:x" : *f32
    %y = address %base, indices=[], strides=[], offset=4, scope="field:x" : *f32
    %s = alloca : *f32
    %r = alloca : *f32
    %n = alloca : *i32
    %first = load %x : f32
    store %s, %first
    store %r, %first
    store %n, %1
    for %0, %3, %1 (%j: i32) {
      %before = load %s : f32
      BODY
    }
    %sum = load %s : f32
    %other = load %r : f32
    %count = load %n : i32
    %number = cast %count : f32
    %both = binary add %other, %number : f32
    store %x, %sum
    store %y, %both
  }
}
"""
SUM = "%a = load %s : f32\n%t = binary add %a, %v : f32\nstore %s, %t"
NINE = "\n".join(f"%l{k} = load %r : f32\nstore %r, %l{k}" for k in range(4)) + "\nstore %r, %v"
LIFTED = {
    "a sum": f"if %c then {{\n{SUM}\n}}",
    "the other side": f"if %c then {{ }} orelse {{\n{SUM}\n}}",
    "the new number first": f"if %c then {{\n{SUM.replace('%a, %v', '%v, %a')}\n}}",
    "a difference": f"if %c then {{\n{SUM.replace('add', 'sub')}\n}}",
    "a product": f"if %c then {{\n{SUM.replace('add', 'mul')}\n}}",
    "with another local": "if %c then {\n%b = load %r : f32\n%a = load %s : f32\n%t = binary add %b, %a : f32\n"
    "store %s, %t\n}",
    "beside another local": f"if %c then {{\n{SUM}\nstore %r, %v\n}}",
    "two": f"if %c then {{\n{SUM}\n}} orelse {{\n{SUM.replace('%a', '%b').replace('%t', '%u').replace('%s', '%r')}\n}}",
    "in two conditions": f"if %c then {{\nif %c then {{\n{SUM}\n}}\n}}",
    "twelve ops": f"if %c then {{\n{SUM}\n{NINE}\n}}",
}
KEPT = {
    "what the sum is taken from": f"if %c then {{\n{SUM.replace('add %a, %v', 'sub %v, %a')}\n}}",
    "a quotient": f"if %c then {{\n{SUM.replace('add', 'div')}\n}}",
    "a maximum": f"if %c then {{\n{SUM.replace('add', 'max')}\n}}",
    "twice itself": f"if %c then {{\n{SUM.replace('%a, %v', '%a, %a')}\n}}",
    "the sum is wanted": f"if %c then {{\n{SUM}\nstore %r, %t\n}}",
    "what it was is wanted": f"if %c then {{\n{SUM}\nstore %r, %a\n}}",
    "read after it": f"if %c then {{\n{SUM}\n%b = load %s : f32\nstore %r, %b\n}}",
    "written after it": f"if %c then {{\n{SUM}\nstore %s, %v\n}}",
    "of another local": f"if %c then {{\n{SUM.replace('load %s', 'load %r')}\n}}",
    "read before the condition": "if %c then {\n%t = binary add %before, %v : f32\nstore %s, %t\n}",
    "a negative number": "if %c then {\n%a = load %s : f32\n%t = unary neg %a : f32\nstore %s, %t\n}",
    "a number": "if %c then {\nstore %s, %v\n}",
    "an element": f"if %c then {{\n{SUM.replace('%s', '%x')}\n}}",
    "a local of the condition": f"if %c then {{\n%w = alloca : *f32\nstore %w, %v\n{SUM.replace('%s', '%w')}\n}}",
    "integers": "if %c then {\n%a = load %n : i32\n%t = binary add %a, %j : i32\nstore %n, %t\n}",
    "in a loop": f"if %c then {{\nfor %0, %3, %1 (%k: i32) {{\n{SUM}\n}}\n}}",
    "it breaks": f"if %c then {{\n{SUM}\nbreak\n}}",
    "it goes on": f"if %c then {{\ncontinue\n}} orelse {{\n{SUM}\n}}\nstore %r, %v",
    "more than twelve ops": f"if %c then {{\n{SUM}\n{NINE}\nstore %r, %v\n}}",
    "no condition": SUM,
}


def made(body: str) -> Kernel:
    kernel = parse(KERNEL.replace("BODY", body))
    verify(kernel, "lowered")
    return kernel


def left(kernel: Kernel, *given: object) -> bytes:
    memory = Memory.of(kernel.fields)
    (x,) = kernel.fields
    memory.write(x, np.array([-0.0, 1.0, 2.0, 3.0], np.float32))
    evaluate(kernel, list(given), memory, CompileConfig(fast_math=False))
    return memory.read(x).tobytes()


@pytest.mark.parametrize("title", [*LIFTED, *KEPT])
def test_sums(title: str) -> None:
    body = LIFTED.get(title) or KEPT[title]
    kernel = made(body)
    before = print_ir(kernel)
    assert find_pass("lift_sums")(kernel, CompileConfig()) == (title in LIFTED)
    verify(kernel, "lowered")
    assert (print_ir(kernel) != before) == (title in LIFTED)
    for given in ((condition, v) for condition in (False, True) for v in (0.0, -0.0, 1.5, float("inf"), float("nan"))):
        assert left(kernel, *given) == left(made(body), *given)
    assert not find_pass("lift_sums")(made(body), CompileConfig(arch="cuda", traits=CUDA))
