"""Each simplification on small kernels: what it must do, and where it must not fire."""

from __future__ import annotations

import pytest

from weft.ir.config import CompileConfig
from weft.ir.ops import Kernel
from weft.ir.parse import parse
from weft.ir.pipeline import find_pass
from weft.ir.text import print_ir
from weft.ir.verify import verify

HEADER = """\
kernel @k(a: i32, b: f32, n: i32, p: u1, s: [f32; 1 strided], t: [f32; 1], u: [f32; 1 exposed],\
 o: [f32; 1 exposed]) -> () {
  field @x: f32[8] tree=0 components=(0) terms=((0, 1, 8, 4)) order=(0)
  field @y: f32[8] tree=1 components=(0) terms=((0, 1, 8, 4)) order=(0)
  field @e: f32[8] tree=3 components=(0) terms=((0, 1, 8, 4)) order=(0) exposed=true
  field @v: f32x2[8] tree=2 components=(0, 4) terms=((0, 1, 8, 8)) order=(0)
  %a = arg index=0 : i32
  %b = arg index=1 : f32
  %n = arg index=2 : i32
  %p = arg index=3 : u1
  %s = arg index=4 : [f32; 1 strided]
  %t = arg index=5 : [f32; 1]
  %u = arg index=6 : [f32; 1 exposed]
  %o = arg index=7 : [f32; 1 exposed]
  %0 = const 0 : i32
  %1 = const 1 : i32
  %2 = const 2 : i32
  %z = const 0.0 : f32
  %one = const 1.0 : f32
  %l = alloca : *f32
  %w = alloca : *f32x2
  %i = alloca : *i32
  %x0 = field_ptr @x[%0] : *f32
  %x1 = field_ptr @x[%1] : *f32
  %xa = field_ptr @x[%a] : *f32
  %ya = field_ptr @y[%a] : *f32
"""


def run(name: str, body: str, fast_math: bool = False) -> list[str]:
    """The lines of the body after the pass, without the header's; the pass says rightly whether it changed any."""
    kernel = parse(HEADER + body + "\n}\n")
    assert isinstance(kernel, Kernel)
    verify(kernel, "chi")
    before = print_ir(kernel)
    changed = find_pass(name)(kernel, CompileConfig(fast_math=fast_math, mask_out_of_bounds=False))
    verify(kernel, "chi")
    after = print_ir(kernel)
    assert changed == (before != after)
    header = {line.strip() for line in HEADER.splitlines()}
    return [line.strip() for line in after.splitlines()[1:-1] if line.strip() not in header]


def lines(text: str) -> list[str]:
    return [line.strip() for line in text.strip().splitlines()]


CASES: list[tuple[str, str, str, str]] = [
    # pass, what it is about, before, after ("=": nothing changes)
    ("fold", "constants", "%c = binary add %1, %2 : i32\nstore %i, %c", "%c = const 3 : i32\nstore %i, %c"),
    (
        "fold",
        "parts of a tensor just made",
        "%m = make_tensor [%b, %z] : f32x2\n%e = extract %m, index=0 : f32\nstore %l, %e",
        "store %l, %b",
    ),
    ("algebra", "floats times zero may be NaN", "%c = binary mul %b, %z : f32\nstore %l, %c", "="),
    (
        "algebra",
        "integers times zero",
        "%c = binary mul %a, %0 : i32\nstore %i, %c",
        "%c = const 0 : i32\nstore %i, %c",
    ),
    ("algebra", "0.0 + -0.0 is not -0.0", "%c = binary add %b, %z : f32\nstore %l, %c", "="),
    ("algebra", "times one", "%c = binary mul %one, %b : f32\nstore %l, %c", "store %l, %b"),
    (
        "algebra",
        "whole tensors",
        "%q = splat %one : f32x2\n%m = load %w : f32x2\n%c = binary mul %m, %q : f32x2\nstore %w, %c",
        "%m = load %w : f32x2\nstore %w, %m",
    ),
    (
        "cse",
        "commuted operands, into branches",
        "%c = binary mul %a, %n : i32\nif %p then {\n%d = binary mul %n, %a : i32\nstore %i, %d\n}",
        "%c = binary mul %a, %n : i32\nif %p then {\nstore %i, %c\n}",
    ),
    (
        "cse",
        "not from one arm to the other",
        "if %p then {\n%c = binary mul %a, %n : i32\nstore %i, %c\n} orelse {\n"
        "%d = binary mul %a, %n : i32\nstore %i, %d\n}",
        "=",
    ),
    (
        "cse",
        "not into a parallel loop",
        "%c = binary mul %a, %n : i32\nstore %i, %c\nparallel_for begins=[%0], ends=[%n] (%j: i32) {\n"
        "%d = binary mul %a, %n : i32\n%f = cast %d : f32\nstore %xa, %f\n}",
        "=",
    ),
    (
        "licm",
        "out of two loops",
        "for %0, %n, %1 (%j: i32) {\nfor %0, %n, %1 (%k: i32) {\n%c = binary mul %a, %n : i32\n"
        "%d = binary add %c, %j : i32\nstore %i, %d\n}\n}",
        "%c = binary mul %a, %n : i32\nfor %0, %n, %1 (%j: i32) {\n%d = binary add %c, %j : i32\n"
        "for %0, %n, %1 (%k: i32) {\nstore %i, %d\n}\n}",
    ),
    ("licm", "not loads", "for %0, %n, %1 (%j: i32) {\n%c = load %xa : f32\nstore %ya, %c\n}", "="),
    (
        "unreachable",
        "a constant if",
        "%q = const true : u1\nif %q then {\nstore %l, %b\n} orelse {\nstore %l, %z\n}",
        "%q = const true : u1\nstore %l, %b",
    ),
    ("unreachable", "a while that runs once", "while {\nstore %l, %b\nbreak\n}", "store %l, %b"),
    ("unreachable", "a while that may go on", "while {\nif %p then {\ncontinue\n}\nbreak\n}", "="),
    ("unreachable", "a while that never ends", "while {\n}", "="),
    (
        "unreachable",
        "a for that runs once",
        "for %1, %2, %1 (%j: i32) {\nstore %i, %j\n}",
        "%j = const 1 : i32\nstore %i, %j",
    ),
    ("unreachable", "a for that never runs", "for %2, %1, %1 (%j: i32) {\nstore %i, %j\n}", ""),
    (
        "unreachable",
        "code after both arms left",
        "while {\nif %p then {\nbreak\n} orelse {\ncontinue\n}\nstore %l, %b\n}",
        "while {\nif %p then {\nbreak\n} orelse {\ncontinue\n}\n}",
    ),
    (
        "die",
        "a local that only feeds itself",
        "store %l, %b\n%c = load %l : f32\n%d = binary add %c, %b : f32\nstore %l, %d",
        "",
    ),
    ("die", "an atomic on a local that nobody reads", "%c = atomic add %l, %b : f32", ""),
    ("die", "not a while", "while {\n}", "while {\n}"),
    ("die", "not a random draw", "%r = random : f32", "%r = random : f32"),
    (
        "forward",
        "a store to a load",
        "store %xa, %b\n%c = load %xa : f32\nstore %ya, %c",
        "store %xa, %b\nstore %ya, %b",
    ),
    (
        "forward",
        "two loads",
        "%c = load %xa : f32\n%d = load %xa : f32\nstore %ya, %d\nstore %l, %c",
        "%c = load %xa : f32\nstore %ya, %c\nstore %l, %c",
    ),
    (
        "forward",
        "not past a store that may alias",
        "%c = load %xa : f32\nstore %x0, %b\n%d = load %xa : f32\nstore %ya, %d\nstore %l, %c",
        "=",
    ),
    (
        "forward",
        "past a store next to it",
        "store %x1, %b\nstore %x0, %z\n%d = load %x1 : f32\nstore %ya, %d",
        "store %x1, %b\nstore %x0, %z\nstore %ya, %b",
    ),
    ("forward", "what is there already", "%c = load %xa : f32\nstore %xa, %c", "%c = load %xa : f32"),
    (
        "forward",
        "arrays do not overlap",
        "%g = array_ptr %s[%0] : *f32\n%h = array_ptr %t[%1] : *f32\nstore %g, %b\nstore %h, %z\n"
        "%c = load %g : f32\nstore %l, %c",
        "%g = array_ptr %s[%0] : *f32\n%h = array_ptr %t[%1] : *f32\nstore %g, %b\nstore %h, %z\nstore %l, %b",
    ),
    (
        "forward",
        "exposed arrays may",
        "%g = array_ptr %u[%0] : *f32\n%h = array_ptr %o[%1] : *f32\nstore %g, %b\nstore %h, %z\n"
        "%c = load %g : f32\nstore %l, %c",
        "=",
    ),
    (
        "forward",
        "an exposed array and an exposed field may",
        "%g = array_ptr %u[%0] : *f32\n%h = field_ptr @e[%1] : *f32\nstore %g, %b\nstore %h, %z\n"
        "%c = load %g : f32\nstore %l, %c",
        "=",
    ),
    (
        "forward",
        "elements of one contiguous array do not",
        "%q = array_ptr %t[%0] : *f32\n%h = array_ptr %t[%1] : *f32\nstore %q, %b\nstore %h, %z\n"
        "%c = load %q : f32\nstore %l, %c",
        "%q = array_ptr %t[%0] : *f32\n%h = array_ptr %t[%1] : *f32\nstore %q, %b\nstore %h, %z\nstore %l, %b",
    ),
    (
        "forward",
        "elements of one strided array may",
        "%q = array_ptr %s[%0] : *f32\n%h = array_ptr %s[%1] : *f32\nstore %q, %b\nstore %h, %z\n"
        "%c = load %q : f32\nstore %l, %c",
        "=",
    ),
    (
        "forward",
        "not an atomic's result",
        "store %xa, %b\n%c = atomic add %xa, %one : f32\n%d = load %xa : f32\nstore %ya, %d\nstore %l, %c",
        "=",
    ),
    (
        "forward",
        "into a loop that does not write it",
        "store %l, %b\nfor %0, %n, %1 (%j: i32) {\n%c = load %l : f32\nstore %xa, %c\n}",
        "store %l, %b\nfor %0, %n, %1 (%j: i32) {\nstore %xa, %b\n}",
    ),
    (
        "forward",
        "not into a loop that does",
        "store %l, %b\nfor %0, %n, %1 (%j: i32) {\n%c = load %l : f32\n%d = binary add %c, %c : f32\nstore %l, %d\n}\n"
        "%e = load %l : f32\nstore %xa, %e",
        "=",
    ),
    (
        "forward",
        "past a branch that leaves",
        "store %l, %b\nwhile {\nif %p then {\nstore %l, %z\nbreak\n}\n%c = load %l : f32\nstore %xa, %c\n}",
        "=",
    ),
    (
        "forward",
        "not where two arms disagree",
        "if %p then {\nstore %xa, %z\n} orelse {\nstore %xa, %one\n}\n%c = load %xa : f32\nstore %ya, %c",
        "=",
    ),
    (
        "forward",
        "what two arms agree on",
        "if %p then {\nstore %xa, %b\n} orelse {\nstore %xa, %b\n}\n%c = load %xa : f32\nstore %ya, %c",
        "if %p then {\nstore %xa, %b\n} orelse {\nstore %xa, %b\n}\nstore %ya, %b",
    ),
    (
        "forward",
        "what the arm that goes on has stored",
        "if %p then {\nstore %xa, %z\n} orelse {\nstore %xa, %one\nreturn []\n}\n%c = load %xa : f32\nstore %ya, %c",
        "if %p then {\nstore %xa, %z\n} orelse {\nstore %xa, %one\nreturn []\n}\nstore %ya, %z",
    ),
    (
        "forward",
        "what the other arm has stored",
        "if %p then {\nstore %xa, %z\nreturn []\n} orelse {\nstore %xa, %one\n}\n%c = load %xa : f32\nstore %ya, %c",
        "if %p then {\nstore %xa, %z\nreturn []\n} orelse {\nstore %xa, %one\n}\nstore %ya, %one",
    ),
    (
        "forward",
        "what the only arm that goes on has stored, after one with two that leave",
        "if %p then {\nif %p then {\nreturn []\n} orelse {\nreturn []\n}\n} orelse {\nstore %xa, %one\n}\n"
        "%c = load %xa : f32\nstore %ya, %c",
        "if %p then {\nif %p then {\nreturn []\n} orelse {\nreturn []\n}\n} orelse {\nstore %xa, %one\n}\n"
        "store %ya, %one",
    ),
    (
        "forward",
        "into a serial loop what lies in a field",
        "store %xa, %b\nfor %0, %n, %1 (%j: i32) {\n%c = load %xa : f32\nstore %ya, %c\n}",
        "store %xa, %b\nfor %0, %n, %1 (%j: i32) {\nstore %ya, %b\n}",
    ),
    (
        "forward",
        "into a parallel loop locals only",
        "store %xa, %b\nstore %l, %z\nparallel_for begins=[%0], ends=[%n] (%j: i32) {\n%c = load %xa : f32\n"
        "%d = load %l : f32\n%e = binary add %c, %d : f32\nstore %ya, %e\n}",
        "store %xa, %b\nstore %l, %z\nparallel_for begins=[%0], ends=[%n] (%j: i32) {\n%c = load %xa : f32\n"
        "%e = binary add %c, %z : f32\nstore %ya, %e\n}",
    ),
    (
        "forward",
        "not what only an arm has computed",
        "if %p then {\n%d = load %xa : f32\nstore %ya, %d\n} orelse {\nreturn []\n}\n%c = load %xa : f32\nstore %l, %c",
        "=",
    ),
    (
        "forward",
        "not past a loop that calls what may write",
        "store %xa, %b\nfor %0, %n, %1 (%j: i32) {\n%v = invoke function=f, [%j], touched=(x) : i32\n}\n"
        "%c = load %xa : f32\nstore %ya, %c",
        "=",
    ),
    (
        "forward",
        "one element of a local vector",
        "%m = load %w : f32x2\n%e = element_ptr %w[%1] : *f32\n%c = load %e : f32\nstore %xa, %c",
        "%m = load %w : f32x2\n%e = element_ptr %w[%1] : *f32\n%c = extract %m, index=1 : f32\nstore %xa, %c",
    ),
    (
        "forward",
        "not an element that is not there",
        "%m = load %w : f32x2\n%e = element_ptr %w[%2] : *f32\n%c = load %e : f32\nstore %xa, %c",
        "=",
    ),
    (
        "forward",
        "past what touches no memory",
        "store %xa, %b\nprint [], parts=(here)\n%c = load %xa : f32\nstore %ya, %c",
        "store %xa, %b\nprint [], parts=(here)\nstore %ya, %b",
    ),
    ("dead_stores", "overwritten", "store %xa, %b\nstore %ya, %b\nstore %xa, %z", "store %ya, %b\nstore %xa, %z"),
    (
        "dead_stores",
        "an assertion in a loop may stop in between",
        "store %xa, %b\nfor %0, %n, %1 (%j: i32) {\nassert %p, [], message=m\n}\nstore %xa, %z",
        "=",
    ),
    (
        "dead_stores",
        "a part, and then the whole",
        "%m = load %w : f32x2\n%e = element_ptr %w[%1] : *f32\nstore %e, %b\nstore %w, %m\n"
        "%r = load %w : f32x2\n%f = reduce add %r : f32\nstore %xa, %f",
        "%m = load %w : f32x2\n%e = element_ptr %w[%1] : *f32\nstore %w, %m\n"
        "%r = load %w : f32x2\n%f = reduce add %r : f32\nstore %xa, %f",
    ),
    (
        "dead_stores",
        "an atomic on a local in between",
        "store %l, %b\n%c = atomic add %l, %one : f32\nstore %xa, %c\nstore %l, %z\n%d = load %l : f32\nstore %ya, %d",
        "=",
    ),
    (
        "dead_stores",
        "a call may read it in between",
        "store %xa, %b\n%v = invoke function=f, [%a], touched=(y) : i32\nstore %xa, %z",
        "=",
    ),
    (
        "dead_stores",
        "in a loop, and overwritten after it",
        "for %0, %n, %1 (%j: i32) {\nstore %xa, %b\n}\nstore %xa, %z",
        "for %0, %n, %1 (%j: i32) {\n}\nstore %xa, %z",
    ),
    ("dead_stores", "read in between", "store %xa, %b\n%c = load %x0 : f32\nstore %xa, %c", "="),
    (
        "dead_stores",
        "an assertion may stop in between",
        "store %xa, %b\nassert %p, [], message=m\nstore %xa, %z",
        "=",
    ),
    (
        "dead_stores",
        "overwritten in both arms",
        "store %xa, %b\nif %p then {\nstore %xa, %z\n} orelse {\nstore %xa, %one\n}",
        "if %p then {\nstore %xa, %z\n} orelse {\nstore %xa, %one\n}",
    ),
    (
        "dead_stores",
        "overwritten after an arm, in a loop",
        "for %0, %n, %1 (%j: i32) {\nif %p then {\nstore %xa, %b\n}\nstore %xa, %z\n}",
        "for %0, %n, %1 (%j: i32) {\nif %p\nstore %xa, %z\n}",
    ),
    (
        "dead_stores",
        "a loop may return before it is overwritten",
        "store %xa, %b\nfor %0, %n, %1 (%j: i32) {\nif %p then {\nreturn []\n}\n}\nstore %xa, %z",
        "=",
    ),
    (
        "dead_stores",
        "overwritten after a loop that always ends",
        "store %xa, %b\nfor %0, %n, %1 (%j: i32) {\nstore %ya, %b\n}\nstore %xa, %z",
        "for %0, %n, %1 (%j: i32) {\nstore %ya, %b\n}\nstore %xa, %z",
    ),
    ("dead_stores", "overwritten in one arm", "store %xa, %b\nif %p then {\nstore %xa, %z\n}", "="),
    (
        "dead_stores",
        "a local read by the next iteration",
        "store %l, %z\nfor %0, %n, %1 (%j: i32) {\n%c = load %l : f32\nstore %xa, %c\nstore %l, %b\n}",
        "=",
    ),
    (
        "dead_stores",
        "a break before it is overwritten",
        "while {\nstore %xa, %b\nif %p then {\nbreak\n}\nstore %xa, %z\n}",
        "=",
    ),
    (
        "dead_stores",
        "a return before it is overwritten",
        "store %xa, %b\nif %p then {\nreturn []\n}\nstore %xa, %z",
        "=",
    ),
    (
        "dead_stores",
        "a local that the first arm reads",
        "store %l, %b\nif %p then {\n%c = load %l : f32\nstore %xa, %c\n}",
        "=",
    ),
    (
        "dead_stores",
        "a local that the other arm reads",
        "store %l, %b\nif %p then {\nstore %xa, %z\n} orelse {\n%c = load %l : f32\nstore %xa, %c\n}",
        "=",
    ),
    (
        "dead_stores",
        "a local that no arm reads",
        "store %l, %b\nif %p then {\nstore %xa, %z\n} orelse {\nstore %ya, %z\n}",
        "if %p then {\nstore %xa, %z\n} orelse {\nstore %ya, %z\n}",
    ),
    (
        "dead_stores",
        "a local that dies",
        "%c = load %l : f32\nstore %xa, %c\nstore %l, %b",
        "%c = load %l : f32\nstore %xa, %c",
    ),
]


@pytest.mark.parametrize(("name", "about", "before", "after"), CASES, ids=[f"{c[0]}: {c[1]}" for c in CASES])
def test_case(name: str, about: str, before: str, after: str) -> None:
    del about
    assert run(name, before) == lines(before if after == "=" else after)


@pytest.mark.parametrize(("place", "known"), [("%x0", True), ("%l", True), ("%xa", False)])
def test_what_is_stored_is_there_to_be_read_where_there_surely_is_memory(place: str, known: bool) -> None:
    kernel = parse(HEADER + f"store {place}, %b\n%c = load {place} : f32\nstore %ya, %c\n}}\n")
    assert isinstance(kernel, Kernel)
    assert find_pass("forward")(kernel, CompileConfig(mask_out_of_bounds=True)) == known


def test_addresses_are_guarded_where_they_need_it() -> None:
    kernel = parse("""kernel @k(b: f32) -> () {
      field @x: f32[8] tree=0 components=(0) terms=((0, 1, 8, 4)) order=(0)
      task serial body {
        %b = arg index=0 : f32
        %base = tree_base tree=0 : *i64
        %p = address %base, indices=[], strides=[], offset=0, scope="field:x" : *f32
        %q = address %base, indices=[], strides=[], offset=4, scope="field:x" : *f32
        store %p, %b
        %c = load %p : f32
        store %q, %c
      }
    }""")
    assert isinstance(kernel, Kernel)
    verify(kernel, "lowered")
    assert find_pass("forward")(kernel, CompileConfig(mask_out_of_bounds=True))
    assert "store %q, %b" in print_ir(kernel)
