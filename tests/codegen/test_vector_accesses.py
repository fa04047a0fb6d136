"""Each op on vectors that accesses memory, in the evaluator and in machine code, against numpy."""

from __future__ import annotations

import numpy as np
import pytest

from tests.codegen.chi_runs import evaluated, mapped_on_cpu
from tests.codegen.vector_runs import EXACT, LENGTH, check, inputs, program
from weft.ir.config import CompileConfig
from weft.ir.parse import parse
from weft.ir.types import PRIMS

# ---- memory ----------------------------------------------------------------------------------------------------------

TYPES = ("f32", "f16", "f64", "u1", "u8", "i16", "i64")


@pytest.mark.parametrize("type", TYPES)
def test_masked_accesses_of_adjacent_lanes(type: str) -> None:
    body = "    %r = masked_load %pb, %on\n    masked_store %pout, %a, %here\n    masked_store %pout, %r, %on"
    given = inputs(type)
    check(program(body, type, stored=False), given, out=np.where(given["on"], given["b"], given["a"]))


@pytest.mark.parametrize("type", TYPES)
def test_inactive_lanes_read_zero(type: str) -> None:
    given = inputs(type)
    zero = np.zeros((), PRIMS[type].np)
    check(program("    %r = masked_load %pb, %on", type), given, out=np.where(given["on"], given["b"], zero))
    body = "    %ps = ramp %pb, step=SIZE_T : <N x *T>\n    %r = gather %ps, %on"
    check(program(body, type), given, out=np.where(given["on"], given["b"], zero))


@pytest.mark.parametrize("type", TYPES)
def test_gather_and_scatter(type: str) -> None:
    """Several lanes may have one address: the last one wins, within a group and among groups."""
    body = """\
    %from = address %base_a, indices=[%to], strides=[%size_t], offset=0, scope="field:a" : <N x *T>
    %r = gather %from, %here
    %into = address %base_out, indices=[%to], strides=[%size_r], offset=0, scope="field:out" : <N x *R>
    scatter %into, %b, %on"""
    given = inputs(type)
    wanted = np.zeros(LENGTH, PRIMS[type].np)
    for k in range(LENGTH):
        if given["on"][k]:
            wanted[given["to"][k]] = given["b"][k]
    kernel = program(body, type, stored=False)
    alone = CompileConfig(fast_math=False, threads=1)
    for found in (evaluated(kernel, given, config=alone), mapped_on_cpu(kernel, alone)(given)):
        assert np.array_equal(found["out"], wanted, equal_nan=type[0] == "f")
    check(program(body.split("    %into")[0].rstrip(), type), given, out=given["a"][given["to"]])


def test_addresses_are_of_64_bits_and_of_inactive_lanes_too() -> None:
    """The addresses of inactive lanes are far outside of the field. Bases, indices and strides may all be vectors."""
    body = """\
    %far = const 1099511627776 : i64
    %fars = splat %far : <N x i64>
    %index = select %on, %to, %fars : <N x i64>
    %sizes = splat %size_t : <N x i64>
    %bases = splat %base_a : <N x *i64>
    %p = address %bases, indices=[%index, %one], strides=[%sizes, %far], offset=4, scope="field:a" : <N x *T>
    %back = const -1099511627780 : i64
    %q = address %p, indices=[%back], strides=[%one], offset=0, scope="field:a" : <N x *T>
    %r = gather %q, %on"""
    given = inputs("f32")
    check(program(body), given, out=np.where(given["on"], given["a"][given["to"]], 0))


def test_lane_0_may_be_outside_of_the_field_where_it_is_inactive() -> None:
    body = """\
    %before = address %pa, indices=[], strides=[], offset=-4, scope="field:a" : *T
    %ones = splat %one : <N x i64>
    %is = ramp %i, step=1 : <N x i64>
    %inside = binary ge %is, %ones : <N x u1>
    %held = binary and %inside, %here : <N x u1>
    %r = masked_load %before, %held"""
    given = inputs("f32")
    check(program(body), given, out=np.concatenate([[0], given["a"][:-1]]))


@pytest.mark.parametrize("type", TYPES)
def test_locals_hold_vectors(type: str) -> None:
    """Masks too: whole ones in bits, and those of which single elements are written in bytes."""
    body = """\
    %slot = alloca : *<N x T>
    store %slot, %a
    %parts = alloca : *<N x T>
    store %parts, %b
    each_lane %on (%k: i64) {
      %mine = lane %a, %k : T
      %one_of = address %parts, indices=[%k], strides=[%size_t], offset=0, scope="?" : *T
      store %one_of, %mine
    }
    %mixed = load %parts
    store %slot, %mixed
    %r = load %slot"""
    given = inputs(type)
    check(program(body, type), given, out=np.where(given["on"], given["a"], given["b"]))


def test_a_local_array_has_a_vector_for_each_element() -> None:
    body = """\
    %array = alloca : *f32x3x16
    %row = const 64 : i64
    %second = address %array, indices=[%one], strides=[%row], offset=0, scope="?" : *<N x T>
    store %second, %a
    %third = address %array, indices=[], strides=[], offset=128, scope="?" : *<N x T>
    store %third, %b
    %lane = ramp %zero, step=4 : <N x i64>
    %which = select %on, %lane, %lane : <N x i64>
    %each = address %array, indices=[%which], strides=[%one], offset=128, scope="?" : <N x *T>
    %x = gather %each, %on
    scatter %each, %a, %on
    %y = load %third
    %z = load %second
    %t = binary mul %x, %z : <N x T>
    %r = binary add %t, %y : <N x T>"""
    given = inputs("f32") | {"a": np.arange(LENGTH, dtype="f4"), "b": np.arange(LENGTH, dtype="f4") + 100}
    a, b, on = given["a"], given["b"], given["on"]
    check(program(body), given, out=np.where(on, b * a + a, b))


# ---- one lane after another ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("cold", [False, True])
def test_each_lane_updates_atomically(cold: bool) -> None:
    long = "".join(f"      %t{k + 1} = unary neg %t{k} : T\n" for k in range(80)) if cold else ""
    body = f"""\
    %ps = address %base_out, indices=[%to], strides=[%size_r], offset=0, scope="field:out" : <N x *R>
    each_lane %on{", cold=true" if cold else ""} (%k: i64) {{
      %p = lane %ps, %k : *R
      %t0 = lane %a, %k : T
{long}      %old = atomic add %p, %t{80 if cold else 0} : T
    }}"""
    given = inputs("i32")
    wanted = np.zeros(LENGTH, "i4")
    np.add.at(wanted, given["to"][given["on"]], given["a"][given["on"]])
    check(program(body, "i32", stored=False), given, out=wanted)


def test_lanes_come_in_ascending_order() -> None:
    body = """\
    each_lane %on (%k: i64) {
      %before = load %total
      %ten = const 10 : R
      %x = binary mul %before, %ten : R
      %mine = lane %a, %k : T
      %y = binary add %x, %mine : R
      store %total, %y
    }"""
    given = inputs("i64") | {"a": np.arange(LENGTH) % 10, "on": np.arange(LENGTH) % 3 == 1}
    given["on"][16:] = False
    check(program(body, "i64", stored=False), given, sum=int("".join(map(str, given["a"][given["on"]]))))


def test_random_numbers_are_those_of_the_iterations() -> None:
    """The second number of an iteration does not depend on which other iterations draw."""
    body = """\
    %slot = alloca : *<N x f32>
    %nothing = const 0.0 : f32
    %0s = splat %nothing : <N x f32>
    store %slot, %0s
    each_lane %on (%u: i64) {
      %unused = lane_random %u, stream=1 : f32
    }
    each_lane %here (%k: i64) {
      %drawn = lane_random %k, stream=1 : f32
      %place = address %slot, indices=[%k], strides=[%four], offset=0, scope="?" : *f32
      store %place, %drawn
    }
    %r = load %slot"""
    alone = parse(ALONE.replace("LENGTH", str(LENGTH)))
    given = inputs("f32")
    wanted = evaluated(alone, {"on": given["on"]}, config=EXACT)["out"]
    assert len({*wanted.tolist()}) == LENGTH
    check(program(body), given, out=wanted)


ALONE = """\
kernel @k() -> () {
  field @on: u1[LENGTH] tree=0 components=(0) terms=((0, 1, LENGTH, 1))
  field @out: f32[LENGTH] tree=1 components=(0) terms=((0, 1, LENGTH, 4))
  task range_for bounds {
    %0 = const 0 : i64
    %1 = const LENGTH : i64
    yield begins=[%0], ends=[%1]
  } body (%i: i64) {
    %base_on = tree_base tree=0 : *i64
    %base_out = tree_base tree=1 : *i64
    %one = const 1 : i64
    %four = const 4 : i64
    %pon = address %base_on, indices=[%i], strides=[%one], offset=0, scope="field:on" : *u1
    %pout = address %base_out, indices=[%i], strides=[%four], offset=0, scope="field:out" : *f32
    %on = load %pon
    if %on then {
      %unused = random stream=1 : f32
    }
    %r = random stream=1 : f32
    store %pout, %r
  }
}
"""


@pytest.mark.parametrize("lanes", [4, 8])
@pytest.mark.parametrize("result", ["i32", "u32", "i16", "u8", "i8"])
def test_a_masked_store_of_one_lane_writes_no_more_than_a_truncated_value(result: str, lanes: int) -> None:
    """With AVX-512, LLVM 22 writes the 64 bits before the truncation if it merges that into a store of one lane."""
    body = """\
    %old = cast %b : <N x R>
    masked_store %pout, %old, %here
    %first = first_lanes %one : <N x u1>
    %new = cast %a : <N x R>
    masked_store %pout, %new, %first"""
    given = inputs("i64")
    wanted = given["b"].astype(PRIMS[result].np)
    wanted[::lanes] = given["a"][::lanes].astype(wanted.dtype)
    kernel = program(body, "i64", result, lanes, stored=False)
    for found in (evaluated(kernel, given, config=EXACT), mapped_on_cpu(kernel, EXACT)(given)):
        assert np.array_equal(found["out"], wanted)
