"""Which calls give their values together with their adjoints, and which functions call their own values again."""

from __future__ import annotations

import re

import pytest

from tests.ir.dual_kernels import kernel_of
from tests.ir.reverse_checks import PLAIN, in_mode
from weft.ir import ops
from weft.ir.parse import parse
from weft.ir.pipeline import TO_LOWERED, TO_TASKS, run_passes
from weft.ir.text import print_ir
from weft.ir.transforms.demote_atomics import demote_called

AT = """%px = field_ptr @x[%c0] : *f64 %x = load %px : f64 %py = field_ptr @y[%c0] : *f64 %y = load %py : f64
%pz = field_ptr @z[%c0] : *f64 %l = alloca : *f64 store %l, %y """
CALL = "%r = invoke function=f, [%x] : f64 "

# The body of a kernel, and the calls of its gradient.
CALLS = {
    "a factor": (CALL + "%p = binary mul %y, %r : f64 store %pz, %p", "vjp_value"),
    "a divisor needs its own value": (CALL + "%p = binary div %y, %r : f64 store %pz, %p", "f vjp"),
    "a dividend": (CALL + "%p = binary div %r, %y : f64 store %pz, %p", "vjp_value"),
    "a square needs its own value": (CALL + "%p = binary mul %r, %r : f64 store %pz, %p", "f vjp"),
    "a value that nothing needs": (CALL + "%p = binary add %y, %r : f64 store %pz, %p", "vjp"),
    "a function of the value that a factor needs": (
        CALL + "%s = unary sin %r : f64 %p = binary mul %y, %s : f64 %q = binary add %p, %r : f64 store %pz, %q",
        "f vjp",
    ),
    "two values": (
        CALL + "%q = invoke function=f, [%y] : f64 %a = binary mul %r, %y : f64 %b = binary mul %q, %x : f64 "
        "%s = binary add %a, %b : f64 store %pz, %s",
        "vjp_value vjp_value",
    ),
    "the product of two calls": (
        CALL + "%q = invoke function=f, [%y] : f64 %p = binary mul %r, %q : f64 store %pz, %p",
        "f vjp_value vjp",
    ),
    "a call of a call": (
        CALL + "%q = invoke function=f, [%r] : f64 %p = binary mul %y, %q : f64 store %pz, %p",
        "f vjp_value vjp",
    ),
    "a factor loaded behind the call": (
        CALL + "%pw = field_ptr @y[%c1] : *f64 %w = load %pw : f64 %p = binary mul %r, %w : f64 store %pz, %p",
        "vjp_value",
    ),
    "memory that is stored to, too": (
        CALL + "%pw = field_ptr @y[%c1] : *f64 %w = load %pw : f64 store %pw, %x %p = binary mul %r, %w : f64 "
        "store %pz, %p",
        "f vjp",
    ),
    "memory that is stored to, and loaded before the call": (
        CALL + "%p = binary mul %r, %y : f64 store %py, %x store %pz, %p",
        "vjp_value",
    ),
    "memory that is added to atomically, too": (
        CALL + "%pw = field_ptr @y[%c1] : *f64 %w = load %pw : f64 %o = atomic add %pw, %x : f64 "
        "%p = binary mul %r, %w : f64 store %pz, %p",
        "f vjp",
    ),
    "a factor from a local": (
        CALL + "%w = load %l : f64 %s = binary mul %w, %w : f64 store %l, %s %p = binary mul %r, %w : f64 "
        "%t = load %l : f64 %u = binary add %t, %p : f64 store %pz, %u",
        "f vjp",
    ),
    "a value in a local": (
        CALL + "%p = binary mul %r, %y : f64 store %l, %p %t = load %l : f64 store %pz, %t",
        "vjp_value",
    ),
    "a condition of the value": (
        CALL + "%c = binary gt %r, %y : u1 %p = select %c, %r, %y : f64 store %pz, %p",
        "f vjp",
    ),
    "a branch behind the call": (
        CALL + "%c = binary gt %x, %y : u1 if %c then { %p = binary mul %r, %y : f64 store %pz, %p }",
        "f vjp",
    ),
}


def calls_of(kernel: ops.Kernel) -> str:
    return " ".join(op.function.partition(".")[2] or op.function for op in kernel.all_of(ops.Invoke))


@pytest.mark.parametrize("name", CALLS)
def test_which_calls_give_their_values(name: str) -> None:
    body, calls = CALLS[name]
    made = run_passes(in_mode(kernel_of(AT + body), "vjp"), TO_TASKS, PLAIN)
    assert calls_of(made) == calls


FUNCTION = """kernel @f.vjp_value(n: i32, x: f64, return.0.grad: f64) -> (f64) mode=vjp called=true {
%n = arg index=0 : i32 %x = arg index=1 : f64 %c0 = const 0 : i32 %c1 = const 1 : i32 %total = alloca : *f64
%zero = const 0.0 : f64 store %total, %zero %half = const 0.5 : f64
BODY
%result = load %total : f64
return [%result]
}"""
TERM = "%r = invoke function=f, [%k, %x] : f64 %t = binary mul %r, %x : f64 %old = load %total : f64 "
SUM = TERM + "%new = binary add %old, %t : f64 store %total, %new "
LOOP = "for %c0, %n, %c1 (%k: i32) { "

# A function that gives its value, and its calls. A call of `f` is one that runs again.
SWEPT = {
    "a sum": (LOOP + SUM + "}", "vjp_value"),
    "a difference": (LOOP + SUM.replace("add", "sub") + "}", "vjp_value"),
    "a difference from it": (LOOP + SUM.replace("add %old, %t", "sub %t, %old") + "}", "f vjp_value"),
    "a local that is overwritten": (LOOP + SUM.replace("add %old", "add %half") + "}", "f vjp_value"),
    "a sum that decays": (
        LOOP + TERM + "%d = binary mul %old, %half : f64 %new = binary add %d, %t : f64 store %total, %new }",
        "f vjp_value",
    ),
    "a sum of a loop in which only the last term counts": (
        LOOP + "%old = load %total : f64 for %c0, %n, %c1 (%j: i32) { "
        + TERM.replace("%old = load %total : f64 ", "") + "%new = binary add %old, %t : f64 store %total, %new } }",
        "f vjp_value",
    ),
    "an atomic sum": (LOOP + TERM.replace("%old = load %total : f64 ", "") + "%a = atomic add %total, %t : f64 }",
                      "vjp_value"),
    "an atomic sum of the iteration": (
        LOOP + "%own = alloca : *f64 store %own, %x " + TERM + "%a = atomic add %own, %t : f64 %s = load %own : f64 "
        "%new = binary add %old, %s : f64 store %total, %new }",
        "vjp_value",
    ),
    "a sum, the other way round": (LOOP + SUM.replace("add %old, %t", "add %t, %old") + "}", "vjp_value"),
    "a product": (LOOP + SUM.replace("add %old, %t", "mul %old, %t") + "}", "f f vjp"),
    "a maximum": (LOOP + SUM.replace("add %old, %t", "max %old, %t") + "}", "f f vjp"),
    "a sum that doubles": (
        LOOP + SUM + "%again = load %total : f64 %twice = binary add %again, %again : f64 store %total, %twice }",
        "f vjp_value",
    ),
    "a sum that is used": (
        "%m = alloca : *f64 store %m, %x " + LOOP + SUM + "%w = unary sin %new : f64 %u = load %m : f64 "
        "%q = binary add %u, %w : f64 store %m, %q } %e = load %m : f64 %z = load %total : f64 "
        "%ez = binary add %e, %z : f64 store %total, %ez",
        "f f vjp",
    ),
    "a sum in a branch": (LOOP + f"%c = binary gt %k, %c1 : u1 if %c then {{ {SUM} }} }}", "vjp_value"),
    "a sum or another value": (
        f"%k = binary sub %n, %c1 : i32 %c = binary gt %k, %c1 : u1 if %c then {{ {SUM} }} "
        "orelse { store %total, %x }",
        "vjp_value",
    ),
    "a sum in a loop in a loop": (
        "for %c0, %n, %c1 (%j: i32) { " + LOOP + SUM + "} }", "vjp_value",
    ),
    "a term that depends on the sum": (
        LOOP + "%old = load %total : f64 %r = invoke function=f, [%k, %old] : f64 %t = binary mul %r, %x : f64 "
        "%new = binary add %old, %t : f64 store %total, %new }",
        "f f vjp_value",
    ),
    "a result that is squared": (
        LOOP + SUM + "} %sum = load %total : f64 %sq = binary mul %sum, %sum : f64 store %total, %sq", "f vjp_value",
    ),
    "two loops": (
        LOOP + SUM + "} for %c0, %n, %c1 (%m: i32) { %u = load %total : f64 %v = binary add %u, %x : f64 "
        "store %total, %v }",
        "f vjp_value",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", SWEPT)
def test_which_functions_are_swept_once(name: str) -> None:
    body, calls = SWEPT[name]
    made = run_passes(parse(FUNCTION.replace("BODY", body)), TO_TASKS, PLAIN)
    assert sorted(calls_of(made).split()) == calls.split()
    assert [str(type) for type in made.results] == ["f64", "f64"]


ADDS = """kernel @NAME() -> () called=true {
field @x: f64[4] tree=0 components=(0) terms=((0, 1, 4, 8)) offset=(0) order=(0)
%i = const 0 : i32 %v = const 1.0 : f64 %p = field_ptr @x[%i] : *f64 %a = atomic add %p, %v : f64
CALL
return []
}"""
CALLER = """kernel @k() -> () {
%c0 = const 0 : i32 %c4 = const 4 : i32
SERIAL
parallel_for begins=[%c0], ends=[%c4] (%i: i32) { PARALLEL }
}"""


@pytest.mark.parametrize(
    ("serial", "parallel", "atomic"), [("f", "", ""), ("", "f", "f g"), ("f", "g", "g"), ("g", "f", "f g")]
)
def test_functions_that_one_thread_calls_need_no_atomics(serial: str, parallel: str, atomic: str) -> None:
    def call(name: str) -> str:
        return f"invoke function={name}, [], touched=(x)" if name else ""

    texts = (
        CALLER.replace("SERIAL", call(serial)).replace("PARALLEL", call(parallel)),
        ADDS.replace("NAME", "f").replace("CALL", call("g")),
        ADDS.replace("NAME", "g").replace("CALL", ""),
    )
    kernel, *functions = (run_passes(parse(text), TO_TASKS + TO_LOWERED, PLAIN) for text in texts)
    demote_called(kernel, functions)
    assert " ".join(one.symbol for one in functions if one.all_of(ops.Atomic)) == atomic
    assert all(re.search("store", print_ir(one)) for one in functions if not one.all_of(ops.Atomic))
