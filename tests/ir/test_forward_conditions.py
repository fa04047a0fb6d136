"""The conditions of forward mode, one by one: what it refuses and what it need not refuse, which loops it must run in
order, and ops whose duals random kernels rarely have."""

from __future__ import annotations

import re

import numpy as np
import pytest

from tests.ir.dual_kernels import kernel_of
from tests.ir.test_forward_mode import CONFIGS, hold, inputs_of, run
from tests.sampling import every
from weft.ir.errors import CompilationError
from weft.ir.evaluate import evaluate
from weft.ir.memory_model import Memory
from weft.ir.ops import Kernel, ParallelFor
from weft.ir.pipeline import run_passes
from weft.ir.text import print_ir

_LINE = "terms=((0, 1, 4, {0})) offset=(0) order=(0)"
# Fields of integers and of floats without a dual, and a struct of both with a dual.
MORE = "\n".join([
    f"field @n: i32[4] tree=12 components=(0) {_LINE.format(4)}",
    f"field @w: f64[4] tree=13 components=(0) {_LINE.format(8)}",
    f"field @s.dual: {{k: i32, q: f64, p: f64x2}}[4] tree=14 components=(0, 8, 16, 24) {_LINE.format(32)}",
    f"field @s: {{k: i32, q: f64, p: f64x2}}[4] tree=15 components=(0, 8, 16, 24) {_LINE.format(32)} dual=@s.dual",
])  # fmt: skip
X = "%px = field_ptr @x[%c0] : *f64  %x = load %px : f64"
ADDRESSES = f"""{X}  %py = field_ptr @y[%c0] : *f64  %pn = field_ptr @n[%c0] : *i32  %pw = field_ptr @w[%c0] : *f64
%n = load %pn : i32  %w = load %pw : f64  %u = const 7 : u32"""


def made(body: str, **more: str) -> Kernel:
    """The kernel with that body, in forward mode."""
    kernel = kernel_of(body, fields=MORE, **more)
    return run_passes(kernel, ("differentiate",), CONFIGS["optimized"])


REAL = "a call of the real function 'f'"
TOGETHER = "shared memory in a parallel loop that uses the memory or the functions of a thread block"
INTRINSIC = "of a value that carries a derivative"
# A body, and the words of the refusal; none if there is nothing to refuse.
REFUSED = {
    "a function of integers": ("%r = invoke function=f, [%n] : i32", ""),
    "a function of a float that carries a derivative": ("%r = invoke function=f, [%x] : i32", ""),
    "a function of a float without one": ("%r = invoke function=f, [%w] : i32", ""),
    "a function that gives a float": ("%r = invoke function=f, [%n] : f64", ""),
    "a function that changes an integer": ("%l = alloca : *i32  %r = invoke function=f, [%l] : i32", ""),
    "a function that changes a float": ("%l = alloca : *f64  %r = invoke function=f, [%l] : i32", REAL),
    "a function that accesses memory": ("%r = invoke function=f, [%n], touched=(x) : i32", ""),
    "an exchange of an integer": ("%r = exchange %pn, %n : i32", ""),
    "an exchange of an integer in a struct with a dual": (
        "%ps = field_ptr @s[%c0] : *{k: i32, q: f64, p: f64x2} %pk = member_ptr %ps, index=0 : *i32 "
        "%r = exchange %pk, %n : i32", ""
    ),
    "an exchange of a float without a dual": ("%r = exchange %pw, %w : f64", ""),
    "an atomic load of an integer": ("%r = atomic_load %pn : i32", ""),
    "an atomic load of a float where threads cooperate": (
        "parallel_for begins=[%c0], ends=[%c4] (%i: i32) "
        "{ %k = simt shuffle [%u, %n, %n] : i32  %r = atomic_load %px : f64 }", TOGETHER
    ),
    "an atomic store to a float without a dual": ("atomic_store %pw, %x", ""),
    "an exchange of a local without one": (
        "%l = shared_local : *f64 store %l, %w %r = exchange %l, %w : f64 store %px, %r", ""
    ),
    "a shuffle of an integer": ("%r = simt shuffle [%u, %n, %n] : i32 store %pn, %r", ""),
    "a shuffle of a float without a dual": ("%r = simt shuffle [%u, %w, %n] : f64 store %pw, %r", ""),
    "a shuffle of a float with one": ("%r = simt shuffle [%u, %x, %n] : f64 store %pw, %r", INTRINSIC),
    "an atomic that bits of integers have": ("%r = atomic or %pn, %n : i32", ""),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_refused(name: str) -> None:
    body, message = REFUSED[name]
    if not message:
        made(f"{ADDRESSES}\n{body}")
        return
    with pytest.raises(CompilationError, match=message):
        made(f"{ADDRESSES}\n{body}")


# The body of a parallel loop, and whether it stays parallel.
PARALLEL = {
    "a store": ("store %px, %y", True),
    "a relaxed store": ("store %pt, %x, relaxed=true", False),
    "a relaxed store to memory without a dual": ("%p = field_ptr @w[%c0] : *f64 store %p, %x, relaxed=true", True),
    "a relaxed store of an integer": ("%p = field_ptr @n[%c0] : *i32 store %p, %i, relaxed=true", True),
    "a sum": ("%a = atomic add %pt, %x : f64", True),
    "the old value of a sum": ("%a = atomic add %pt, %x : f64 store %px, %a", False),
    "the old value of a difference": ("%a = atomic sub %pt, %x : f64 store %px, %a", False),
    "the old value of bits": ("%p = field_ptr @n[%c0] : *i32 %a = atomic or %p, %i : i32 store %p, %a", True),
    "a maximum of an integer in a struct with a dual": (
        "%ps = field_ptr @s[%c0] : *{k: i32, q: f64, p: f64x2} %pk = member_ptr %ps, index=0 : *i32 "
        "%a = atomic max %pk, %i : i32", True,
    ),
    "a product with a number that has a dual": ("%a = atomic mul %pt, %x : f64", False),
    "a product with a number that has none": ("%a = atomic mul %pt, %w : f64", True),
    "a maximum": ("%a = atomic max %pt, %x : f64", False),
    "a maximum beside a random number": ("%g = random : f64 store %px, %g %a = atomic max %pt, %x : f64", False),
    "a minimum of numbers without a dual": ("%a = atomic min %pt, %w : f64", False),
    "a maximum in memory without a dual": ("%p = field_ptr @w[%c0] : *f64 %a = atomic max %p, %x : f64", True),
    "a maximum of integers": ("%p = field_ptr @n[%c0] : *i32 %a = atomic max %p, %i : i32", True),
    "an exchange": ("%a = atomic xchg %pt, %x : f64", False),
    "a maximum in a local of the iteration": (
        "%l = alloca : *f64 store %l, %x %a = atomic max %l, %y : f64 %b = load %l : f64 store %px, %b", True
    ),
    "a maximum in a local of all iterations": ("%a = atomic max %s, %x : f64", False),
    "a maximum in such a local without a dual": ("%a = atomic max %f, %w : f64", True),
}  # fmt: skip
LOOP = """%s = shared_local : *f64 store %s, %x0  %f = shared_local : *f64 store %f, %w0
parallel_for begins=[%c0], ends=[%c4] (%i: i32) {{
  %px = field_ptr @x[%i] : *f64  %x = load %px : f64  %y0 = field_ptr @y[%i] : *f64  %y = load %y0 : f64
  %pt = field_ptr @total[] : *f64  %qw = field_ptr @w[%i] : *f64  %w = load %qw : f64
  {body} }}
%t = field_ptr @total[] : *f64  %r = load %s : f64  %q = load %f : f64  %o = atomic add %t, %r : f64
%e = atomic add %t, %q : f64"""
BEFORE = "%p0 = field_ptr @x[%c0] : *f64 %x0 = load %p0 : f64 %q0 = field_ptr @w[%c0] : *f64 %w0 = load %q0 : f64\n"


@pytest.mark.parametrize("name", PARALLEL)
def test_which_loops_run_in_order(name: str) -> None:
    body, stays = PARALLEL[name]
    kernel = made(BEFORE + LOOP.format(body=body))
    assert bool(kernel.all_of(ParallelFor)) == stays


@pytest.mark.parametrize(("op", "refused"), [("max", True), ("mul", True), ("add", False)])
def test_a_function_knows_no_loops_around_it(op: str, refused: bool) -> None:
    """But memory that is its own has its order."""
    shared = f"{ADDRESSES}\n%pt = field_ptr @total[] : *f64 %a = atomic {op} %pt, %x : f64"
    own = f"{ADDRESSES}\n%l = alloca : *f64 store %l, %x %a = atomic {op} %l, %x : f64"
    for body, raises in ((shared, refused), (own, False)):
        kernel = kernel_of(body, fields=MORE)
        kernel.called = True
        if not raises:
            run_passes(kernel, ("differentiate",), CONFIGS["optimized"])
            continue
        with pytest.raises(CompilationError, match=f"this {op} of shared memory in a real function"):
            run_passes(kernel, ("differentiate",), CONFIGS["optimized"])


def test_a_loop_over_a_field_runs_in_the_order_of_its_axes() -> None:
    """The slowest axis is the outer loop, and indices begin at the offset of the field."""
    layout = "components=(0) terms=((0, 1, 2, 8), (1, 1, 3, 16)) offset=(5, 0) order=(1, 0)"
    field = f"field @g.dual: f64[2, 3] tree=20 {layout}\nfield @g: f64[2, 3] tree=21 {layout} dual=@g.dual"
    body = """struct_for @g (%i: i32, %j: i32) { %p = field_ptr @g[%i, %j] : *f64  %v = load %p : f64
    %t = field_ptr @total[] : *f64  %a = atomic xchg %t, %v : f64 }"""
    kernel = run_passes(kernel_of(body, fields=field), ("differentiate",), CONFIGS["optimized"])
    text = print_ir(kernel)
    assert "struct_for" not in text
    assert len(re.findall(r"^ *for ", text, re.MULTILINE)) == 2
    inputs = inputs_of(0) | {"g": np.arange(6.0).reshape(2, 3), "g.dual": np.arange(6.0).reshape(2, 3) * 10}
    found, _ = run(kernel, inputs, CONFIGS["optimized"])
    assert (found["total"], found["total.dual"]) == (5.0, 50.0)  # the last element in memory, g[6, 2]


@pytest.mark.parametrize(
    ("field", "shape"),
    [
        ("g{0}: f64[4] tree={1} components=(0) terms=((0, 1, 4, 8)) order=(0) halo=((1, 1))", (4,)),
        ("g{0}: f64[4] tree={1} components=(0) terms=((0, 1, 4, 8)) order=(0) halo=((0, 0))", (4,)),
        ("g{0}: f64 tree={1} components=(0)", ()),
    ],
)
def test_loops_in_order_over_fields_with_a_halo_or_without_axes(field: str, shape: tuple[int, ...]) -> None:
    both = f"field @{field.format('.dual', 20)}\nfield @{field.format('', 21)} dual=@g.dual"
    arg, index = ("%i: i32", "%i") if shape else ("", "")
    body = f"""struct_for @g ({arg}) {{ %p = field_ptr @g[{index}] : *f64  %v = load %p : f64
    %t = field_ptr @total[] : *f64  %a = atomic xchg %t, %v : f64 }}"""
    kernel = run_passes(kernel_of(body, fields=both), ("differentiate",), CONFIGS["optimized"])
    assert "struct_for" not in print_ir(kernel)
    values = np.arange(1.0, 1.0 + np.prod(shape)).reshape(shape)
    inputs = inputs_of(0) | {"g": values, "g.dual": values * 10}
    found, _ = run(kernel, inputs, CONFIGS["optimized"])
    last = values.flat[-2 if "halo=((1" in field else -1]  # the last element that is not in the halo
    assert (found["total"], found["total.dual"]) == (last, last * 10)


_FIRST = """%px = field_ptr @x[%c0] : *f64  %x = load %px : f64  %pm = field_ptr @m[%c0] : *f64x2x2
%m = load %pm : f64x2x2  %pv = field_ptr @v[%c0] : *f64x2  %v = load %pv : f64x2  %pz = field_ptr @z[%c1] : *f64
%two = const 2.0 : f64  %half = const 0.5 : f64  %pt = field_ptr @total[] : *f64"""
VALUES = {
    "the product of a matrix": "%r = reduce mul %m : f64 store %pz, %r",
    "the maximum of a matrix": "%r = reduce max %m : f64 store %pz, %r",
    "a product of constants and a matrix": """%k = make_tensor [%two, %half, %half, %two] : f64x2x2
        %r = matmul %k, %m : f64x2x2 %q = matmul %r, %k : f64x2x2 store %pm, %q""",
    "constant vectors": """%k = splat %two : f64x2 %r = matmul %m, %k : f64x2 store %pv, %r
        %e = make_tensor [%two, %x] : f64x2 %pw = field_ptr @v[%c1] : *f64x2 store %pw, %e""",
    "a constant in place of a value": "store %pv, %k2 store %pm, %k4",
    "a product with a constant": "%r = atomic mul %pt, %two : f64 %q = binary mul %r, %x : f64 store %pz, %q",
    "the old value of a sum of constants": "%r = atomic add %pt, %two : f64 %q = binary mul %r, %x : f64 store %pz, %q",
    "the old value of a difference": "%r = atomic sub %pt, %x : f64 %q = unary sin %r : f64 store %pz, %q",
    "a maximum that a constant wins": "%r = atomic max %pt, %nine : f64 %q = binary mul %r, %x : f64 store %pz, %q",
    "the old value of an exchange": "%r = atomic xchg %pt, %x : f64 %q = binary mul %r, %x : f64 store %pz, %q",
    "an exchange": "%r = exchange %pt, %x : f64 %q = binary mul %r, %x : f64 store %pz, %q",
    "an atomic load": "%r = atomic_load %px : f64 %q = binary mul %r, %x : f64 store %pz, %q",
    "an atomic store": "%q = binary mul %two, %x : f64 atomic_store %pz, %q",
    "an exchange of a local of all iterations": """%l = shared_local : *f64 store %l, %x
        %r = exchange %l, %two : f64 %q = load %l : f64 %t = binary mul %r, %q : f64 store %pz, %t""",
    "one side of a choice": """%c = binary lt %x, %nine : u1 %r = select %c, %x, %two : f64
        %q = select %c, %two, %x : f64 %t = binary mul %r, %q : f64 store %pz, %t""",
    "an operator without a derivative in between": """%f = unary floor %x : f64 %r = binary mul %f, %x : f64
        store %pz, %r""",
    "numbers of both signs": """%g = unary neg %x : f64 %r = binary sub %two, %g : f64 %t = binary mul %r, %g : f64
        store %pz, %t""",
    "a part of a local": """%l = alloca : *f64x2 store %l, %k2 %e = element_ptr %l[%c1] : *f64 store %e, %x
        %r = load %l : f64x2 store %pv, %r""",
    "a local that holds constants only": """%l = alloca : *f64 store %l, %two %r = load %l : f64
        %q = binary mul %r, %x : f64 store %pz, %q""",
    "a local that holds a value after a constant": """%l = alloca : *f64 store %l, %two %r = load %l : f64
        store %l, %x %q = load %l : f64 %t = binary mul %r, %q : f64 store %pz, %t""",
}  # fmt: skip
_CONSTANTS = "%nine = const 9.0 : f64 %k2 = splat %two : f64x2 %k4 = splat %half : f64x2x2"


@pytest.mark.parametrize("name", every(2, VALUES))
def test_values(name: str) -> None:
    body = f"{_FIRST}\n{_CONSTANTS}\n{VALUES[name]}"
    assert sum(hold(kernel_of(body), seed, machine=seed == 0) for seed in range(3)) >= 2


def test_a_struct_of_integers_and_floats_in_memory() -> None:
    """The integers of a dual stay as they are, or are 0."""
    body = f"""{X}  %ps = field_ptr @s[%c0] : *{{k: i32, q: f64, p: f64x2}}
    %s = load %ps : {{k: i32, q: f64, p: f64x2}}
    %q = member %s, index=1 : f64  %k = member %s, index=0 : i32  %p = member %s, index=2 : f64x2
    %r = binary mul %q, %x : f64  %t = make_struct [%k, %r, %p] : {{k: i32, q: f64, p: f64x2}}
    %pd = field_ptr @s[%c1] : *{{k: i32, q: f64, p: f64x2}}  store %pd, %t
    %z = make_struct [%c4, %one, %both] : {{k: i32, q: f64, p: f64x2}}  %two = const 2 : i32
    %pe = field_ptr @s[%two] : *{{k: i32, q: f64, p: f64x2}}  store %pe, %z"""
    body = "%one = const 1.0 : f64 %both = splat %one : f64x2\n" + body
    kernel = made(body)
    fields = {symbol.name: symbol for symbol in kernel.fields}
    memory = Memory.of(kernel.fields)

    def cell(name: str, index: int) -> list[float]:
        return [float(value) for value in memory.place(fields[name], [index]).load_scalars()]

    memory.place(fields["x"], [0]).store_scalars([3.0])
    memory.place(fields["x.dual"], [0]).store_scalars([0.5])
    memory.place(fields["s"], [0]).store_scalars([7, 2.0, 10.0, 20.0])
    memory.place(fields["s.dual"], [0]).store_scalars([0, 4.0, 0.25, 0.75])
    memory.place(fields["s.dual"], [2]).store_scalars([5, 5.0, 5.0, 5.0])
    evaluate(kernel, [], memory, CONFIGS["optimized"])
    assert cell("s", 1) == [7.0, 6.0, 10.0, 20.0]
    assert cell("s.dual", 1) == [0.0, 2.0 * 0.5 + 4.0 * 3.0, 0.25, 0.75]
    assert cell("s.dual", 2) == [0.0, 0.0, 0.0, 0.0]


OVERLAPS = {
    "both": ("14", "14", ""),
    "neither shares": ("14", "16", "share memory, but their duals do not"),
    "one has none": ("14", "", "share memory, but their duals do not"),
}


@pytest.mark.parametrize("name", OVERLAPS)
def test_fields_that_overlap(name: str) -> None:
    """A vector and a field of its second component. Their duals must overlap as they do."""
    first, second, message = OVERLAPS[name]
    line = _LINE.format(16)
    fields = [f"field @a.dual: f64x2[4] tree={first} components=(0, 8) {line}"]
    fields += [f"field @b.dual: f64[4] tree={second} components=(8) {line}"] if second else []
    fields += [f"field @a: f64x2[4] tree=15 components=(0, 8) {line} dual=@a.dual"]
    fields += [f"field @b: f64[4] tree=15 components=(8) {line}" + (" dual=@b.dual" if second else "")]
    fields += [f"field @k: i32[4] tree=15 components=(8) {line}"]  # integers have no dual, and need none
    kernel = kernel_of("%p = field_ptr @b[%c0] : *f64 %v = load %p : f64", fields="\n".join(fields))
    if message:
        with pytest.raises(CompilationError, match=message):
            run_passes(kernel, ("differentiate",), CONFIGS["optimized"])
    else:
        run_passes(kernel, ("differentiate",), CONFIGS["optimized"])
