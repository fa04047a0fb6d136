"""How lanes get at memory: which vectors they load and store, what they gather and what each does by itself."""

from __future__ import annotations

import re
import textwrap
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import llvmlite.binding as llvm
import numpy as np
import pytest

from tests.codegen.folding import has_lanes
from tests.codegen.test_lanes import native
from tests.generate import Program
from tests.mapping import for_cpu
from weft.codegen.cpu.kernel import emit_kernel
from weft.ir.config import CompileConfig
from weft.ir.ops import Kernel
from weft.ir.parse import parse
from weft.ir.tasks import tasks_of
from weft.ir.types import shape_of

KERNEL = """\
kernel @k(s: i64, data: [f32; 1]) -> () {{
  field @x: f32[128] tree=0 components=(0) terms=((0, 1, 128, 4)) offset=(0) order=(0)
  field @y: f32[128] tree=1 components=(0) terms=((0, 1, 128, 4)) offset=(0) order=(0)
  field @v: f32x3[2, 128] tree=2 components=(0, 4, 8) terms=((0, 1, 2, 1536), (1, 1, 128, 12)) offset=(0, 0) order=(0,1)
  field @w: i32[128] tree=3 components=(0) terms=((0, 1, 128, 4)) offset=(0) order=(0)
  field @b: u8[128] tree=4 components=(0) terms=((0, 1, 128, 1)) offset=(0) order=(0)
  field @c: u8x3[128] tree=5 components=(0, 1, 2) terms=((0, 1, 128, 3)) offset=(0) order=(0)
  field @t: i32 tree=6 components=(0) terms=() offset=() order=()
  field @u: u1 tree=7 components=(0) terms=() offset=() order=()
{field}  task range_for bounds {{
    %begin = const 0 : i64
    %end = const {end} : i64
    yield begins=[%begin], ends=[%end]
  }} prologue {{
    %px = tree_base tree=0 : *i64
    %py = tree_base tree=1 : *i64
    %pv = tree_base tree=2 : *i64
    %pw = tree_base tree=3 : *i64
    %pb = tree_base tree=4 : *i64
    %pc = tree_base tree=5 : *i64
    %pt = tree_base tree=6 : *i64
    %pu = tree_base tree=7 : *i64
    %1 = const 1 : i64
    %one = const 1 : i64
    %uno = const 1 : i64
    %2 = const 2 : i64
    %3 = const 3 : i64
    %4 = const 4 : i64
    %7 = const 7 : i64
    %12 = const 12 : i64
    %30 = const 30 : i64
    %row = const 1536 : i64
    %s = scalar_arg index=0, part=0 : i64
    %temp = temp_ptr offset=0 : *i32
    %five = const 5 : i32
    %half = const 0.5 : f32
    %double = const 0.5 : f64
    %byte = const 9 : u8
    %true = const true : u1
{base}    %x = address %px, indices=[], strides=[], offset=0, scope="field:x" : *f32
    %t = address %pt, indices=[], strides=[], offset=0, scope="field:t" : *i32
    %u = address %pu, indices=[], strides=[], offset=0, scope="field:u" : *u1
  }} body (%i: i64) {{
    %y = address %py, indices=[%i], strides=[%4], offset=0, scope="field:y" : *f32
    %wi = address %pw, indices=[%i], strides=[%4], offset=0, scope="field:w" : *i32
{body}
  }}
}}
"""


def at(name: str, base: str, index: str, stride: str, of: str, type: str = "f32", offset: int = 0) -> str:
    return f'%{name} = address {base}, indices=[{index}], strides=[{stride}], offset={offset}, scope="{of}" : *{type}\n'


def to_y(base: str, index: str, stride: str, of: str = "field:x", offset: int = 0) -> str:
    return at("p", base, index, stride, of, offset=offset) + "%r = load %p : f32\nstore %y, %r\n"


INDEX = "%j = load %wi : i32\n%k = cast %j : i64\n"
CLAMPED = "%m = binary min %i, %30 : i64\n"


def parts(*numbers: int, cell: str = "%k", to: str = "%y") -> str:
    """The sum of those parts of a cell."""
    text = at("cell", "%pv", cell, "%12", "field:v")
    for k in numbers:
        text += at(f"v{k}", "%cell", "", "", f"field:v#{k}", offset=4 * k) + f"%l{k} = load %v{k} : f32\n"
    total = f"%l{numbers[0]}"
    for k in numbers[1:]:
        text += f"%s{k} = binary add {total}, %l{k} : f32\n"
        total = f"%s{k}"
    return text + f"store {to}, {total}\n"


CASES = {
    # loads in a row, surely or most of the time
    "side by side": to_y("%px", "%i", "%4"),
    "clamped": CLAMPED + to_y("%px", "%m", "%4"),
    "clamped, moved": CLAMPED + to_y("%px", "%m", "%4", offset=8),
    "clamped, and an even index": CLAMPED + to_y("%px", "%i, %m", "%4, %4"),
    "clamped, and an index that all share": CLAMPED + to_y("%px", "%s, %m", "%4, %4"),
    "a part of a clamped cell": CLAMPED + parts(1, cell="%m"),
    "clamped, in an even place": CLAMPED + at("a", "%px", "%i", "%4", "field:x") + to_y("%a", "%m", "%4"),
    "even, in a clamped place": CLAMPED + at("a", "%px", "%m", "%4", "field:x") + to_y("%a", "%i", "%4"),
    "even, in a place that is mostly one": (
        f"{CLAMPED}%z = binary sub %i, %m : i64\n" + at("a", "%px", "%z", "%4", "field:x") + to_y("%a", "%i", "%4")
    ),
    "even, in any place": INDEX + CLAMPED + at("a", "%px", "%k", "%4", "field:x") + to_y("%a", "%m", "%4"),
    "a stride known at run time": CLAMPED + to_y("%px", "%m, %i", "%s, %4"),
    "an even index with a stride known at run time": to_y("%px", "%i", "%s"),
    # gathers
    "anywhere": INDEX + to_y("%px", "%k", "%4"),
    "anywhere by bytes": (
        at("pbi", "%pb", "%i", "%1", "field:b", "u8")
        + "%j = load %pbi : u8\n%k = cast %j : i64\n"
        + to_y("%px", "%k", "%4")
    ),
    "anywhere by a stride known at run time": INDEX + to_y("%px", "%k", "%s"),
    "anywhere, and constants": INDEX + to_y("%px", "%2, %k", "%4, %4", offset=4),
    "anywhere, and an index that all share": INDEX + to_y("%px", "%s, %k", "%4, %4"),
    "anywhere, twice": (
        INDEX
        + "".join(at(f"x{k}", "%px", "%k", "%4", "field:x", offset=k) + f"%r{k} = load %x{k} : f32\n" for k in (0, 4))
        + "%r = binary add %r0, %r4 : f32\nstore %y, %r\n"
    ),
    "anywhere, far away": INDEX + to_y("%big", "%k", "%4", "field:big"),
    "side by side, and constants": to_y("%px", "%2, %i", "%4, %4", offset=4),
    # cells
    "every second cell": "%e = binary mul %i, %2 : i64\n" + parts(1, cell="%e"),
    "all of every second cell": "%e = binary mul %i, %2 : i64\n" + parts(0, 1, 2, cell="%e"),
    "one part of a cell anywhere": INDEX + parts(1),
    "parts of a cell anywhere": INDEX + parts(0, 2),
    "parts of cells, stored": "".join(
        at(f"o{k}", "%pv", f"%{name}, %i", "%row, %12", f"field:v#{k}", offset=4 * k) + f"store %o{k}, %half\n"
        for k, name in enumerate(("1", "one", "uno"))
    ),
    "bytes side by side": at("pbi", "%pb", "%i", "%1", "field:b", "u8")
    + "%j = load %pbi : u8\n%k = binary add %j, %byte : u8\nstore %pbi, %k\n",
    "doubles at odd distances": at("o", "%px", "%i", "%12", "field:x", "f64") + "store %o, %double\n",
    "bytes in cells": "".join(
        at(f"o{k}", "%pc", "%i", "%3", f"field:c#{k}", "u8", offset=k) + f"store %o{k}, %byte\n" for k in range(3)
    ),
    # what all share
    "a store that all agree on": "store %t, %five\n",
    "a load that all agree on": "%r = load %x : f32\nstore %y, %r\n",
    # locals
    "a local that all share": "%a = alloca : *f32\nstore %a, %half\n%r = load %a : f32\nstore %y, %r\n",
    "a local of each": (
        "%a = alloca : *i32\n%j = load %wi : i32\nstore %a, %five\n%c = binary lt %j, %five : u1\n"
        "if %c then {\n  store %a, %j\n}\n%r = load %a : i32\nstore %wi, %r\n"
    ),
    "an array of each": (
        f"{INDEX}%o = binary and %k, %3 : i64\n%a = alloca : *i32x4\n"
        + "".join(at(f"a{k}", "%a", "", "", "local:a", "i32", 4 * k) + f"store %a{k}, %j\n" for k in range(4))
        + at("ao", "%a", "%o", "%4", "local:a", "i32")
        + "store %ao, %five\n%r = load %a2 : i32\n%h = load %ao : i32\n%g = binary add %r, %h : i32\nstore %wi, %g\n"
    ),
    "an array of each, at even places": (
        f"{INDEX}%a = alloca : *i32x8\n"
        + at("ai", "%a", "%i", "%4", "local:a", "i32")
        + "store %ai, %j\n%m = binary min %i, %3 : i64\n%n = binary sub %i, %m : i64\n%f = binary add %m, %n : i64\n"
        + at("am", "%a", "%f", "%4", "local:a", "i32")
        + "%r = load %ai : i32\n%h = load %am : i32\n%g = binary add %r, %h : i32\nstore %wi, %g\n"
    ),
    # atomics
    "a sum into one place": "%j = load %wi : i32\n%o = atomic add %t, %j : i32\n",
    "a sum of what all share": "%o = atomic add %t, %five : i32\n",
    "a product into one place": "%j = load %wi : i32\n%o = atomic mul %t, %j : i32\n",
    "old values of one place": "%j = load %wi : i32\n%o = atomic add %t, %five : i32\nstore %wi, %o\n",
    "truth values into one place": "%j = load %wi : i32\n%c = binary lt %j, %five : u1\n%o = atomic xor %u, %c : u1\n",
    "a sum between sums anywhere": (
        INDEX
        + at("p", "%px", "%k", "%4", "field:x")
        + "%o = atomic add %p, %half : f32\n%g = atomic add %t, %j : i32\n%h = atomic add %p, %half : f32\n"
    ),
    "sums anywhere, and what does not see them": (
        INDEX
        + at("p", "%px", "%k", "%4", "field:x")
        + "%o = atomic add %p, %half : f32\n%a = alloca : *i32\nstore %a, %j\n%h = load %a : i32\n"
        + at("bi", "%pb", "%i", "%1", "field:b", "u8")
        + "%g = load %bi : u8\n%c = cast %h : f32\n%l = atomic add %p, %c : f32\n"
    ),
    "sums anywhere, seen in between": (
        INDEX
        + at("p", "%px", "%k", "%4", "field:x")
        + "%o = atomic add %p, %half : f32\n%h = load %x : f32\nstore %y, %h\n%l = atomic add %p, %half : f32\n"
    ),
    "sums anywhere, and temporaries": (
        INDEX
        + at("p", "%px", "%k", "%4", "field:x")
        + "%o = atomic add %p, %half : f32\n%h = load %temp : i32\n%l = atomic add %p, %half : f32\n"
        + "%f = atomic max %temp, %j : i32\n%g = atomic mul %temp, %five : i32\n"
    ),
    # random numbers
    "coins": "%c = random stream=1 : u1\n%r = cast %c : i32\nstore %wi, %r\n",
}
FEW = ("an array of each, at even places",)  # as many iterations as the array is long
ONLY_WRITTEN = (
    *("anywhere, far away", "doubles at odd distances", "coins"),
    *("sums anywhere, seen in between", "sums anywhere, and temporaries"),
)
BIG = "  field @big: f32[536870912] tree=8 components=(0) terms=((0, 1, 536870912, 4)) offset=(0) order=(0)\n"


def kernel_of(name: str, lanes: int) -> Kernel:
    body, field, base = textwrap.indent(CASES[name], "    "), "", ""
    if "%big" in body:
        field, base = BIG, "    %big = tree_base tree=8 : *i64\n"
    kernel = parse(KERNEL.format(body=body, field=field, base=base, end=8 if name in FEW else 45))
    for task in tasks_of(kernel):
        task.config = replace(task.config, simd=lanes)
    return kernel


_CALL = re.compile(r"call .*?@llvm\.((?:masked|vector\.reduce)[.\w]*|cttz.*, i1 \w+)")
_NAMES = (
    *(
        "alloca",
        "freeze",
        "load",
        "store",
        r"atomicrmw \w+",
        "mul",
        "and",
        "icmp eq",
        "select i1",
        "extractelement",
        "phi",
    ),
    "getelementptr i8, ptr",
)
_OP = re.compile(rf"({'|'.join(_NAMES)}) ?(<\d+ x \w+>|\[[^\]]*\]+|\w+|%)?")


def moves(text: str) -> str:
    """The instructions of a task that have to do with memory."""
    task = text.split("@weft_task0(", 1)[1].split("\n}", 1)[0]
    slots, body = re.findall(r"alloca .*", task), task.split("@llvm.umin", 1)[1]
    found = Counter[str]()
    for line in [*slots, *body.splitlines()]:
        call, op = _CALL.search(line), _OP.match(line.split("= ")[-1].strip())
        if call:
            found[re.sub(r"%\w+", "%", call[1])] += 1
        elif op:
            found[op[0]] += 1
    return ", ".join(f"{count} {name}" for name, count in sorted(found.items()))


def test_moves(golden: Callable[[str, str], None]) -> None:
    lines = list[str]()
    for name in CASES:
        for lanes in (8, 16):
            kernel = for_cpu(kernel_of(name, lanes), CompileConfig(), "sse2 avx2")
            text = emit_kernel(kernel, CompileConfig(), frozenset({"sse2", "avx2"})).text("; a module\n")
            llvm.parse_assembly(text).verify()
            lines.append(f"{name}, {lanes} lanes: {moves(text)}\n")
    golden("moves.txt", "".join(lines))


def filled(kernel: Kernel) -> Program:
    """Something to run it on: indices up to 60 in `w` and `b`."""
    rng, fields = np.random.default_rng(0), dict[str, Any]()
    for symbol in kernel.fields:
        shape = (*symbol.shape, *shape_of(symbol.dtype))
        fields[symbol.name] = np.asarray(rng.integers(0, 2 if symbol.name == "u" else 60, shape))
    return Program(kernel, [4, np.zeros(1, np.float32)], fields)


@pytest.mark.parametrize("name", [name for name in CASES if name not in ONLY_WRITTEN])
def test_the_same_in_lanes(name: str) -> None:
    config = CompileConfig(fast_math=False, opt_level=1)
    program = filled(kernel_of(name, 1))
    alone = native(program.kernel, program, config)
    for lanes in (4, 8, 16, 32) if has_lanes() else ():
        found = native(kernel_of(name, lanes), program, config)
        for what, values in alone.items():
            np.testing.assert_array_equal(found[what], values, err_msg=f"{what} in {lanes} lanes")
