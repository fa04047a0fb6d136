"""Which ops of parallel loops have derivatives that depend on the order of iterations (`autodiff/order.py`)."""

from __future__ import annotations

import pytest

from tests.ir.dual_kernels import kernel_of
from tests.ir.reverse_checks import in_mode
from weft.ir.autodiff.companions import Companions
from weft.ir.autodiff.demand import Demand
from weft.ir.autodiff.order import needs_order, put_in_order
from weft.ir.ops import Atomic, For, ParallelFor

_FIELDS = """field @w: f64[4] tree=12 components=(0) terms=((0, 1, 4, 8)) offset=(0) order=(0)
field @n: i32[4] tree=13 components=(0) terms=((0, 1, 4, 4)) offset=(0) order=(0)"""
_START = """%ten = const 10 : i32  %half = const 0.5 : f64  %s = shared_local : *f64x2  %two = splat %half : f64x2
store %s, %two  parallel_for begins=[%c0], ends=[%c4] (%i: i32) { %px = field_ptr @x[%i] : *f64  %x = load %px : f64
%pz = field_ptr @z[%c1] : *f64  %pw = field_ptr @w[%c1] : *f64  %pn = field_ptr @n[%c1] : *i32
%py = field_ptr @y[%i] : *f64  %a = binary mul %x, %x : f64  """
_END = " }  %e = load %s : f64x2  %f = extract %e, index=1 : f64  %q = field_ptr @y[%c0] : *f64  store %q, %f"
_OLD = "a derivative by the old value of an atomic add in a parallel loop"
_MUL = "an atomic mul in a parallel loop that accesses this memory otherwise, too"

CASES = {
    "a store": ("store %py, %a", ""),
    "a relaxed store": ("store %pz, %a, relaxed=true", "a store of a value that other iterations may overwrite"),
    "a relaxed store of a constant": ("store %pz, %half, relaxed=true", ""),
    "a relaxed store elsewhere": ("store %pw, %a, relaxed=true", ""),
    "a sum": ("%o = atomic add %pz, %a : f64", ""),
    "a difference": ("%o = atomic sub %pz, %a : f64", ""),
    "a maximum": ("%o = atomic max %pz, %a : f64", ""),
    "an exchange": ("%o = atomic xchg %pz, %a : f64", "an atomic xchg in a parallel loop"),
    "an exchange elsewhere": ("%o = atomic xchg %pw, %a : f64", ""),
    "bits": ("%o = atomic xor %pn, %i : i32", ""),
    "a product": ("%o = atomic mul %pz, %a : f64", ""),
    "two products": ("%o = atomic mul %pz, %a : f64 %o2 = atomic mul %pz, %x : f64", ""),
    "a product and a sum": ("%o = atomic mul %pz, %a : f64 %o2 = atomic add %pz, %x : f64", _MUL),
    "a product and a sum elsewhere": ("%o = atomic mul %pz, %a : f64 %o2 = atomic add %pw, %x : f64", ""),
    "the old value of a sum": ("%o = atomic add %pz, %a : f64  store %py, %o", _OLD),
    "the old value of a sum, twice": ("%o = atomic add %pz, %a : f64  %u = unary sin %o : f64  store %py, %u", _OLD),
    "the old value of a sum, where there is no derivative": ("%o = atomic add %pz, %a : f64  store %pw, %o", ""),
    "a comparison with the old value of a sum": (
        "%o = atomic add %pz, %a : f64  %c = binary gt %o, %half : u1  if %c then { store %pn, %ten }", "",
    ),
    "a maximum of a part of a local": (
        "%se = element_ptr %s[%c1] : *f64  %o = atomic max %se, %a : f64", "an atomic max of a part of a local",
    ),
    "a product of a part of a local": (
        "%se = element_ptr %s[%c1] : *f64  %o = atomic mul %se, %a : f64", "an atomic mul of a part of a local",
    ),
    "a sum of a part of a local": ("%se = element_ptr %s[%c1] : *f64  %o = atomic add %se, %a : f64", ""),
    "a maximum of a part of memory": (
        "%pv = field_ptr @v[%c1] : *f64x2  %se = element_ptr %pv[%c1] : *f64  %o = atomic max %se, %a : f64", "",
    ),
    "a maximum of a local": ("%sv = splat %a : f64x2  %o = atomic max %s, %sv : f64x2", ""),
    "an op that synchronizes": ("%r = exchange %pz, %a : f64", "exchange of memory that carries a derivative"),
    "an op that loads": ("%r = atomic_load %pz : f64", "atomic_load of memory that carries a derivative"),
    "an op that synchronizes integers": ("%r = exchange %pn, %i : i32", ""),
    "an op that synchronizes elsewhere": ("%r = exchange %pw, %a : f64", ""),
    "an element that an old value chooses": (
        "%o = atomic add %pn, %c1 : i32  %pk = field_ptr @y[%o] : *f64  store %pk, %a", "",
    ),
}  # fmt: skip


def told(body: str) -> list[str]:
    kernel = in_mode(kernel_of(_START + body + _END, fields=_FIELDS), "vjp")
    demand = Demand(kernel, Companions(kernel), False)
    return [what for op in demand.ops if (what := needs_order(demand, op))]


@pytest.mark.parametrize("name", CASES)
def test_what_needs_an_order(name: str) -> None:
    body, what = CASES[name]
    assert told(body) == [what] * bool(what)


_LOOP = "parallel_for begins=[%c0], ends=[%c4] (%i: i32) { %px = field_ptr @x[%i] : *f64  %x = load %px : f64  "
_XCHG = "%pz = field_ptr @z[%c1] : *f64  %o = atomic xchg %pz, %x : f64 }  "


@pytest.mark.parametrize(
    ("body", "parallel", "serial"),
    [
        (_LOOP + _XCHG, 0, 1),
        ("parallel_for begins=[%c0], ends=[%c4] (%j: i32) { } " + _LOOP + _XCHG, 1, 1),  # only the loop of the op
        (_LOOP + "%b = shared shape=(4) : [f64; 1]  " + _XCHG, 1, 0),
        (_LOOP + "simt block_sync []  " + _XCHG, 1, 0),
    ],
)
def test_loops_run_in_order(body: str, parallel: int, serial: int) -> None:
    """But those that only the threads of a block can run."""
    kernel = in_mode(kernel_of(body), "vjp")
    assert put_in_order([op for op in kernel.walk() if isinstance(op, Atomic)]) == bool(serial)
    assert len(kernel.all_of(ParallelFor)) == parallel
    assert len(kernel.all_of(For)) == serial


def test_serial_code_has_an_order() -> None:
    kernel = in_mode(
        kernel_of("%pz = field_ptr @z[%c1] : *f64  %x = load %pz : f64  %o = atomic xchg %pz, %x : f64"), "vjp"
    )
    assert not put_in_order([op for op in kernel.walk() if isinstance(op, Atomic)])
