"""`mask_accesses` on indices that wrap around, of all types and shapes: kernels leave what they leave where each access
is asked about by itself."""

from __future__ import annotations

import textwrap
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from weft.ir import ops
from weft.ir.config import CompileConfig
from weft.ir.evaluate import Memory, evaluate
from weft.ir.parse import parse
from weft.ir.pipeline import TO_LOWERED, TO_TASKS, run_passes
from weft.ir.target import CPU, CUDA
from weft.ir.text import print_ir

MASKED = CompileConfig(fast_math=False, verify=False, mask_out_of_bounds=True)
PLAIN = replace(MASKED, mask_out_of_bounds=False)
BEFORE = TO_TASKS[: TO_TASKS.index("mask_accesses")]
AFTER = (*TO_TASKS[TO_TASKS.index("mask_accesses") + 1 :], *TO_LOWERED)
WAYS = ((CPU, (), AFTER), (CUDA, ("algebra",), ()))

FRAME = """\
kernel @k(n: i32, m: i32, k: i64, u: u32, a: [i32; 1]) -> () {{
  field @x: i32[8] tree=0 components=(0) terms=((0, 1, 8, 4)) offset=(0) order=(0)
  field @y: i32[8] tree=1 components=(0) terms=((0, 1, 8, 4)) offset=(-4) order=(0)
  field @v: i32x3[8] tree=2 components=(0, 4, 8) terms=((0, 1, 8, 12)) offset=(0) order=(0)
  field @w: i32[8] tree=3 components=(0) terms=((0, 1, 8, 4)) offset=(0) order=(0)
  field @out: i32[8] tree=4 components=(0) terms=((0, 1, 8, 4)) offset=(0) order=(0)
  %0 = const 0 : i32
  %8 = const 8 : i32
  %n = arg index=0 : i32
  %m = arg index=1 : i32
  %k = arg index=2 : i64
  %u = arg index=3 : u32
  %a = arg index=4 : [i32; 1]
  parallel_for begins=[%0], ends=[%8] (%i: i32) {{
    %out = field_ptr @out[%i] : *i32
    %from = field_ptr @w[%i] : *i32
    %1 = const 1 : i32
    %2 = const 2 : i32
    %7 = const 7 : i32
    %5 = const 5 : i32
    %minus = const -1 : i32
    %far = const 1073741824 : i32
    %one = const 1 : i64
{body}
  }}
}}
"""
LEFT = "%p = field_ptr @x[%j] : *i32\n%r = load %p : i32\nstore %out, %r"
LOOP = "%j = {index}\n%p = field_ptr @x[%j] : *i32\n%r = load %p : i32\n%o = atomic add %out, %r : i32"


Pairs = list[tuple[int, int]]
AROUND: Pairs = [(-(2**31), -(2**31)), (-(2**31), 3 - 2**31), (2**31 - 1, 1), (3, 4), (-1, -3), (2**30, 4)]
NEAR: Pairs = [(0, 8), (3, -2), (7, 2), (-2, 9), (12, 0)]

# What is computed, and with which n and m.
BODIES: dict[str, tuple[str, Pairs]] = {
    "a sum": ("%j = binary add %n, %m : i32\n" + LEFT, AROUND),
    "a difference": ("%j = binary sub %n, %m : i32\n" + LEFT, AROUND),
    "a product": ("%j = binary mul %n, %m : i32\n" + LEFT, AROUND),
    "a multiple": ("%j = binary mul %n, %far : i32\n" + LEFT, AROUND),
    "a shift": ("%j = binary shl %n, %7 : i32\n" + LEFT, AROUND),
    "the negative": ("%j = unary neg %n : i32\n" + LEFT, AROUND),
    "the negative of a sum": ("%s = binary add %n, %m : i32\n%j = unary neg %s : i32\n" + LEFT, AROUND),
    "the least of sums": (
        "%s = binary add %n, %m : i32\n%t = binary add %m, %7 : i32\n%j = binary min %s, %t : i32\n" + LEFT,
        AROUND,
    ),
    "the least of a sum": ("%s = binary add %n, %m : i32\n%j = binary min %7, %s : i32\n" + LEFT, AROUND),
    "the greatest of a sum": ("%s = binary add %n, %m : i32\n%j = binary max %s, %0 : i32\n" + LEFT, AROUND),
    "one of two": (
        """%s = binary add %n, %m : i32
        %c = binary lt %n, %m : u1
        %j = select %c, %s, %7 : i32
        """
        + LEFT,
        AROUND,
    ),
    "the other of two": (
        """%s = binary add %n, %m : i32
        %c = binary lt %n, %m : u1
        %j = select %c, %7, %s : i32
        """
        + LEFT,
        AROUND,
    ),
    "more than a sum that was cut off": (
        """%s = binary add %n, %m : i32
        %t = binary min %s, %7 : i32
        %q = binary max %t, %0 : i32
        %q1 = binary add %q, %1 : i32
        %j = binary min %q1, %n : i32
        """
        + LEFT,
        AROUND,
    ),
    "a sum in a sum": ("%s = binary add %n, %m : i32\n%j = binary add %s, %i : i32\n" + LEFT, AROUND),
    "a sum that a difference undoes": (
        "%s = binary add %i, %n : i32\n%j = binary sub %s, %n : i32\n" + LEFT,
        AROUND,
    ),
    "the absolute value": ("%j = unary abs %n : i32\n" + LEFT, AROUND),
    "what was read": ("%j = load %from : i32\n" + LEFT, [(0, 0)]),
    "twice what was read": ("%q = load %from : i32\n%j = binary add %q, %q : i32\n" + LEFT, [(0, 0)]),
    "as 8 bits": ("%q = load %from : i32\n%j = cast %q : u8\n" + LEFT, [(0, 0)]),
    "as 16 bits": ("%q = load %from : i32\n%j = cast %q : i16\n" + LEFT, [(0, 0)]),
    "without a sign": ("%q = load %from : i32\n%j = cast %q : u32\n" + LEFT, [(0, 0)]),
    "as 64 bits": ("%q = load %from : i32\n%j = cast %q : i64\n" + LEFT, [(0, 0)]),
    "of 64 bits, without a sign": ("%q = load %from : i32\n%j = cast %q : u64\n" + LEFT, [(0, 0)]),
    "of 64 bits, without a sign, where some are negative": (
        "%q = load %from : i32\n%j = cast %q : u64\n" + LEFT.replace("@x", "@y"),
        [(0, 0)],
    ),
    "of 64 bits, without a sign, in an array": (
        "%q = load %from : i32\n%j = cast %q : u64\n" + LEFT.replace("field_ptr @x", "array_ptr %a"),
        [(0, 0)],
    ),
    "without a sign, where some are negative": (
        "%q = cast %i : u32\n%t = cast %n : u32\n%j = binary sub %q, %t : u32\n" + LEFT.replace("@x", "@y"),
        NEAR,
    ),
    "part of a cell": (
        "%q = load %from : i32\n%c = field_ptr @v[%q] : *i32x3\n%p = element_ptr %c[%n] : *i32\n"
        "%r = load %p : i32\nstore %out, %r",
        NEAR,
    ),
    "a cell": (
        "%q = load %from : i32\n%c = field_ptr @v[%q] : *i32x3\n%r = load %c : i32x3\n%s = reduce add %r : i32\n"
        "store %out, %s",
        [(0, 0)],
    ),
    "part of a local": (
        """%t = alloca : *i32x3
        %e = make_tensor [%i, %n, %m] : i32x3
        store %t, %e
        %q = load %from : i32
        %p = element_ptr %t[%q] : *i32
        %r = load %p : i32
        store %out, %r""",
        NEAR,
    ),
    "part of a cell, to which all add": (
        """%c = field_ptr @v[%m] : *i32x3
        %p = element_ptr %c[%n] : *i32
        %o = atomic add %p, %i : i32""",
        [*NEAR, (2, 7), (-1, 0)],
    ),
    "a place that is not too far, to which all add": (
        "%j = binary min %n, %7 : i32\n%p = field_ptr @x[%j] : *i32\n%o = atomic add %p, %i : i32",
        NEAR,
    ),
    "a place that is not negative, to which all add": (
        "%j = binary max %n, %0 : i32\n%p = field_ptr @x[%j] : *i32\n%o = atomic add %p, %i : i32",
        NEAR,
    ),
    "places too far for 32 bits": (
        """%beyond = const 1099511627776 : i64
        %q = cast %n : i64
        %j = binary add %q, %beyond : i64
        %j1 = binary add %j, %one : i64
        %j2 = binary add %j1, %one : i64
        %p = field_ptr @x[%j] : *i32
        %p1 = field_ptr @x[%j1] : *i32
        %p2 = field_ptr @x[%j2] : *i32
        %r = load %p : i32
        %r1 = load %p1 : i32
        %r2 = load %p2 : i32
        %s = binary add %r, %r1 : i32
        %s1 = binary add %s, %r2 : i32
        store %out, %s1""",
        NEAR,
    ),
    "of an array": (
        "%q = load %from : i32\n%p = array_ptr %a[%q] : *i32\n%r = load %p : i32\nstore %out, %r",
        [(0, 0)],
    ),
    "either of two conditions": (
        """%c = binary lt %n, %8 : u1
        %d = binary lt %m, %8 : u1
        %e = binary or %c, %d : u1
        if %e then {
          %p = field_ptr @x[%n] : *i32
          %r = load %p : i32
          store %out, %r
        }""",
        NEAR,
    ),
    "both conditions, or not": (
        """%c = binary lt %n, %8 : u1
        %d = binary ge %n, %0 : u1
        %e = binary and %c, %d : u1
        %p = field_ptr @x[%n] : *i32
        if %e then {
          %r = load %p : i32
          store %out, %r
        } orelse {
          %s = load %p : i32
          %t = binary sub %s, %1 : i32
          store %out, %t
        }""",
        NEAR,
    ),
    "down": ("for %n, %m, %minus (%l: i32) {\n" + LOOP.format(index="binary add %l, %1 : i32") + "\n}", NEAR),
    "up": ("for %n, %m, %2 (%l: i32) {\n" + LOOP.format(index="binary add %l, %1 : i32") + "\n}", NEAR),
    "as long as it lasts": (
        """%t = alloca : *i32
        store %t, %n
        while {
          %l = load %t : i32
          %c = binary ge %l, %m : u1
          if %c then {
            break
          }
          %next = binary add %l, %1 : i32
          store %t, %next
        """
        + LOOP.format(index="binary sub %l, %1 : i32")
        + "\n}",
        NEAR,
    ),
    "up or down": (
        "for %n, %7, %m (%l: i32) {\n" + LOOP.format(index="binary add %l, %1 : i32") + "\n}",
        [(0, 1), (3, 2), (-2, 1), (9, -1), (7, -1)],
    ),
    "a difference with a number, before a loop": (
        """%d = binary sub %n, %m : i32
        %e = binary sub %d, %5 : i32
        for %0, %2, %1 (%l: i32) {
        """
        + LOOP.format(index="binary add %l, %e : i32")
        + "\n}",
        [(4, 1), (5, 1), (6, 1), (0, -12), (0, -11), (0, -10)],
    ),
    "loops that two conditions end": (
        """%q = binary xor %n, %1 : i32
        for %0, %far, %1 (%l: i32) {
          %c = binary lt %l, %n : u1
          %d = binary lt %l, %m : u1
          %e = binary lt %l, %q : u1
          if %d then {
            if %c then {
              %l1 = binary add %l, %1 : i32
              %p = field_ptr @x[%l1] : *i32
              %r = load %p : i32
              %o = atomic add %out, %r : i32
            }
          }
          if %e then {
            if %c then {
              %p1 = field_ptr @x[%l] : *i32
              %r1 = load %p1 : i32
              %o1 = atomic add %out, %r1 : i32
            } orelse {
              break
            }
          } orelse {
            break
          }
        }""",
        [(20, 3), (7, 7), (20, 20)],
    ),
    "from far": (
        """%b = binary add %k, %one : i64
        for %0, %m, %1 (%l: i32) {
          %lw = cast %l : i64
        """
        + LOOP.format(index="binary add %b, %lw : i64")
        + "\n}",
        NEAR,
    ),
    "a loop of 64 bits": (
        "%e = cast %m : i64\nfor %k, %e, %one (%l: i64) {\n" + LOOP.format(index="binary add %l, %one : i64") + "\n}",
        NEAR,
    ),
    "a loop without signs": (
        "%e = cast %m : u32\n%s = cast %1 : u32\n"
        "for %u, %e, %s (%l: u32) {\n" + LOOP.format(index="binary add %l, %s : u32") + "\n}",
        [(0, 8), (3, 5), (7, 2), (2, 12)],
    ),
}


def outcome(kernel: ops.Kernel, args: list[Any], config: CompileConfig) -> list[Any]:
    """What is in memory after a run."""
    memory = Memory.of(kernel.fields)
    for number, symbol in enumerate(kernel.fields):
        shape = memory.read(symbol).shape
        memory.write(symbol, np.arange(1, 1 + int(np.prod(shape))).reshape(shape) * (number + 1))
    memory.write(kernel.fields[3], [0, 7, 8, -1, -(2**31), 2**31 - 1, 259, 2**30])
    memory.write(kernel.fields[4], np.zeros(8, np.int32))
    given = [np.copy(arg) if isinstance(arg, np.ndarray) else arg for arg in args]
    evaluate(kernel, given, memory, config, limit=50_000)
    return [memory.read(symbol).tolist() for symbol in kernel.fields]


@pytest.mark.parametrize("name", BODIES)
def test_masks_keep_what_kernels_mean(name: str) -> None:
    body, numbers = BODIES[name]
    keeps(body, numbers)


def test_masks_keep_what_is_read_before_a_loop() -> None:
    """The task reads it again, in its prologue: its body, which has no branches, does not tell of it."""
    for place in ("field_ptr @x[%n]", "array_ptr %a[%n]"):
        keeps("store %out, %r", AROUND, f"  %p = {place} : *i32\n  %r = load %p : i32\n")


def keeps(body: str, numbers: Pairs, before: str = "") -> None:
    """Masked, the kernel leaves what it left. `before`: what stands before its loop."""
    text = FRAME.format(body=textwrap.indent(textwrap.dedent(body), "    "))
    text = text.replace("  parallel_for", before + "  parallel_for")
    array = np.arange(11, 16, dtype=np.int32)
    runs = [[n, m, n, n % 2**32, array[: m % 6]] for n, m in numbers]
    runs += [[n, m, 2**63 - 2, 2, array] for n, m in numbers[:2] if "%k" in body]
    expected = [outcome(parse(text), args, MASKED) for args in runs]
    for traits, off, after in WAYS:
        config = replace(MASKED, traits=traits, verify=True)
        kernel = run_passes(parse(text), tuple(one for one in BEFORE if one not in off), config)
        run_passes(kernel, ("mask_accesses", *after), config, level="tasks")
        for args, wanted in zip(runs, expected, strict=True):
            assert outcome(kernel, args, PLAIN) == wanted, f"{args}\n{text}\nbecame\n{print_ir(kernel)}"
