"""Each op on vectors that computes, in the evaluator and in machine code, against numpy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tests.codegen.chi_runs import evaluated
from tests.codegen.vector_runs import EXACT, LANES, LENGTH, check, inputs, program, results
from weft.ir.config import CompileConfig
from weft.ir.errors import InternalError
from weft.ir.types import PRIMS

# ---- elementwise -----------------------------------------------------------------------------------------------------

ELEMENTWISE: list[tuple[str, str, str, Callable[[Any, Any], Any]]] = [
    ("binary add %a, %b : <N x R>", "f32", "f32", lambda a, b: a + b),
    ("binary add %a, %b : <N x R>", "f16", "f16", lambda a, b: a + b),
    ("binary mul %a, %b : <N x R>", "f64", "f64", lambda a, b: a * b),
    ("binary add %a, %b : <N x R>", "u8", "u8", lambda a, b: a + b),
    ("binary sub %a, %b : <N x R>", "i8", "i8", lambda a, b: a - b),
    ("binary mul %a, %b : <N x R>", "i64", "i64", lambda a, b: a * b),
    ("binary min %a, %b : <N x R>", "u16", "u16", np.minimum),
    ("binary max %a, %b : <N x R>", "f32", "f32", np.fmax),
    ("binary xor %a, %b : <N x R>", "u1", "u1", lambda a, b: a ^ b),
    ("binary and %a, %b : <N x R>", "u1", "u1", lambda a, b: a & b),
    ("binary lt %a, %b : <N x u1>", "f32", "u1", lambda a, b: a < b),
    ("binary ge %a, %b : <N x u1>", "u32", "u1", lambda a, b: a >= b),
    ("binary ne %a, %b : <N x u1>", "f16", "u1", lambda a, b: a != b),
    ("unary neg %a : <N x R>", "i16", "i16", lambda a, b: -a),
    ("unary not %a : <N x R>", "u1", "u1", lambda a, b: ~a),
    ("unary sqrt %a : <N x R>", "f64", "f64", lambda a, b: np.sqrt(a)),
    ("unary floor %a : <N x R>", "f32", "f32", lambda a, b: np.floor(a)),
    ("select %on, %a, %b : <N x R>", "f32", "f32", lambda a, b: np.where(inputs("f32")["on"], a, b)),
    ("select %on, %a, %b : <N x R>", "u1", "u1", lambda a, b: np.where(inputs("u1")["on"], a, b)),
    ("cast %a : <N x R>", "f32", "f64", lambda a, b: a.astype("f8")),
    ("cast %a : <N x R>", "i32", "f32", lambda a, b: a.astype("f4")),
    ("cast %a : <N x R>", "i64", "u8", lambda a, b: a.astype("u1")),
    ("cast %a : <N x R>", "f32", "i32", lambda a, b: np.clip(np.nan_to_num(a.astype("f8")), -(2**31), 2**31 - 1)),
    ("cast %a : <N x R>", "f32", "u1", lambda a, b: a != 0),
    ("cast %a : <N x R>", "u1", "f32", lambda a, b: a.astype("f4")),
    ("bit_cast %a : <N x R>", "f32", "i32", lambda a, b: a.view("i4")),
    ("bit_cast %a : <N x R>", "i64", "f64", lambda a, b: a.view("f8")),
]


@pytest.mark.parametrize(
    ("line", "type", "result", "wanted"), ELEMENTWISE, ids=lambda x: x if isinstance(x, str) else ""
)
def test_elementwise(line: str, type: str, result: str, wanted: Callable[[Any, Any], Any]) -> None:
    given = inputs(type)
    with np.errstate(all="ignore"):
        check(program(f"    %r = {line}", type, result), given, out=wanted(given["a"], given["b"]))


@pytest.mark.parametrize("lanes", [2, 4, 8, 32, 64])
def test_numbers_of_lanes(lanes: int) -> None:
    given = inputs("f32")
    with np.errstate(all="ignore"):
        wanted = given["a"] - given["b"]
    check(program("    %r = binary sub %a, %b : <N x R>", lanes=lanes), given, out=wanted)


def test_a_division_by_a_splat_constant_does_not_trap() -> None:
    body = "    %three = const 3 : R\n    %3 = splat %three : <N x R>\n    %r = binary floordiv %a, %3 : <N x R>"
    given = inputs("i32")
    check(program(body, "i32"), given, out=given["a"] // 3)


def test_a_division_by_zero_gives_zero_in_each_lane() -> None:
    given = inputs("i32")
    wanted = [0 if b == 0 else int(a) // int(b) for a, b in zip(given["a"], given["b"])]
    check(program("    %r = binary floordiv %a, %b : <N x R>", "i32"), given, out=np.array(wanted).astype("i4"))


def test_the_root_by_estimate_is_right_to_a_few_bits() -> None:
    body = "    %s = unary sqrt %a : <N x R>\n    %r = binary div %b, %s : <N x R>"
    given = inputs("f32") | {"a": np.linspace(1e-3, 1e3, LENGTH, dtype="f4"), "b": np.arange(LENGTH, dtype="f4")}
    for found in results(program(body), given, CompileConfig(fast_math=True, threads=1)):
        np.testing.assert_allclose(found["out"], given["b"] / np.sqrt(given["a"]), rtol=1e-6)


# ---- values of lanes -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("type", "step"), [("i64", 3), ("i32", -7), ("u8", 100)])
def test_a_ramp_counts_from_its_first_lane(type: str, step: int) -> None:
    cast = "    %x = cast %i : T\n" if type != "i64" else "    %x = address %base_a, indices=[], strides=[], offset=0"
    x = "%i" if type == "i64" else "%x"
    body = f"{cast if type != 'i64' else ''}    %r = ramp {x}, step={step}, first=2 : <N x R>"
    index = np.arange(LENGTH)
    wanted = (index - index % LANES) + (index % LANES + 2) * step
    check(program(body, type), inputs(type), out=wanted.astype(PRIMS[type].np))


def test_lane_takes_one_element() -> None:
    body = """\
    %k = const 5 : i64
    %x = lane %a, %k : T
    %bit = lane %on, %zero : u1
    %y = select %bit, %size_r, %zero : i64
    %k2 = binary max %y, %one : i64
    %z = lane %a, %k2 : T
    %s = binary add %x, %z : T
    %r = splat %s : <N x R>"""
    given = inputs("i32")
    a = np.concatenate([given["a"], np.zeros(3, "i4")])  # inactive lanes have 0
    starts = [start for start in range(0, LENGTH, LANES) for _ in range(min(LANES, LENGTH - start))]
    wanted = [a[start + 5] + a[start + (4 if given["on"][start] else 1)] for start in starts]
    check(program(body, "i32"), given, out=wanted)


def shuffled(a: Any, b: Any, order: list[int], lanes: int = LANES) -> Any:
    """What a shuffle of two fields gives, group by group."""
    made = np.zeros(LENGTH + lanes, a.dtype)
    for start in range(0, LENGTH, lanes):
        parts = [np.concatenate([x, np.zeros(lanes, x.dtype)])[start : start + lanes] for x in (a, b)]
        both = np.concatenate([*parts, np.zeros(1, a.dtype)])
        made[start : start + lanes] = both[order]
    return made[:LENGTH]


ORDERS = {
    "reversed": list(range(15, -1, -1)),
    "of both": [k // 2 + 16 * (k % 2) for k in range(16)],
    "with zeros": [k if k % 3 else -1 for k in range(16)],
    "of both with zeros": [-1 if k % 4 == 0 else k + 16 * (k % 2) for k in range(16)],
}


@pytest.mark.parametrize("type", ["f32", "u1", "u8", "i64"])
@pytest.mark.parametrize("order", ORDERS.values(), ids=ORDERS)
@pytest.mark.parametrize("b", ["a", "b"])
def test_shuffle(order: list[int], type: str, b: str) -> None:
    given = inputs(type)
    body = f"    %r = shuffle %a, %{b}, order=({', '.join(map(str, order))})"
    check(program(body, type), given, out=shuffled(given["a"], given[b], order))


def test_a_shuffle_may_join_and_halve_vectors() -> None:
    body = f"""\
    %ab = shuffle %a, %b, order=({", ".join(map(str, range(32)))})
    %r = shuffle %ab, %ab, order=({", ".join(str(2 * k) for k in range(16))})"""
    given = inputs("i32")
    check(program(body, "i32"), given, out=shuffled(given["a"], given["b"], list(range(0, 32, 2))))


def test_a_shuffle_and_a_choice_of_addresses() -> None:
    body = f"""\
    %ps = ramp %pa, step=4 : <N x *T>
    %qs = ramp %pb, step=4 : <N x *T>
    %rs = shuffle %ps, %qs, order=({", ".join(str(k + 16 * (k % 2)) for k in range(16))})
    %ss = select %on, %rs, %qs : <N x *T>
    %r = gather %ss, %here"""
    given = inputs("f32")
    odd = np.arange(LENGTH) % 2 == 1
    check(program(body), given, out=np.where(given["on"] & ~odd, given["a"], given["b"]))


REDUCED: list[tuple[str, str, Callable[[Any], Any]]] = [
    ("add", "i32", lambda x: x.sum(dtype="i4")),
    ("mul", "u8", lambda x: np.prod(x, dtype="u1")),
    ("min", "i64", np.min),
    ("max", "u16", np.max),
    ("min", "u32", np.min),
    ("and", "i32", np.bitwise_and.reduce),
    ("or", "u8", np.bitwise_or.reduce),
    ("xor", "i64", np.bitwise_xor.reduce),
    ("or", "u1", np.any),
    ("and", "u1", np.all),
    ("add", "f64", lambda x: x.sum()),
    ("max", "f32", np.max),
]


@pytest.mark.parametrize(("kind", "type", "wanted"), REDUCED, ids=[f"{kind} {type}" for kind, type, _ in REDUCED])
def test_reduce(kind: str, type: str, wanted: Callable[[Any], Any]) -> None:
    given = inputs(type)
    if PRIMS[type].is_float:
        given["a"] = np.random.default_rng(8).integers(-50, 50, LENGTH).astype(PRIMS[type].np)
    groups = np.concatenate([given["a"], np.zeros(3, PRIMS[type].np)]).reshape(-1, LANES)
    body = f"    %t = reduce {kind} %a : T\n    %r = splat %t : <N x R>"
    totals = np.array([wanted(group) for group in groups])
    check(program(body, type), given, out=np.repeat(totals, LANES)[:LENGTH])


# ---- masks -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("count", [-(2**63), -5, 0, 1, 7, 16, 17, 2**31, 2**40 + 3, 2**63 - 1])
@pytest.mark.parametrize("first", [0, 3])
@pytest.mark.parametrize("known", [True, False])
def test_first_lanes_of_any_count(count: int, first: int, known: bool) -> None:
    body = f"    %count = const {count} : i64\n"
    if not known:
        body = (
            f"    %c = const {count} : i64\n    %slot = alloca : *i64\n    store %slot, %c\n    %count = load %slot\n"
        )
    body += f"    %r = first_lanes %count, first={first} : <N x u1>"
    lane = np.arange(LENGTH) % LANES
    check(program(body, "f32", "u1"), inputs("f32"), out=[first + int(k) < count for k in lane])


def test_asking_a_mask() -> None:
    body = """\
    %some = any_active %on
    %first = first_active %on
    %none = const -1 : i64
    %asked = select %some, %first, %none
    %r = splat %asked : <N x R>"""
    check(program(body, "f32", "i64"), inputs("f32"), out=np.repeat(_first_or(-1), LANES)[:LENGTH])


def test_the_first_lane_of_no_lanes_is_0() -> None:
    kernel = program("    %f = first_active %on\n    %r = splat %f : <N x R>", "f32", "i64")
    check(kernel, inputs("f32"), out=np.repeat(_first_or(0), LANES)[:LENGTH])


def _first_or(none: int) -> Any:
    """The number of the first lane that is on, in each group of lanes, or that number if none is."""
    groups = np.concatenate([inputs("f32")["on"], np.zeros(3, bool)]).reshape(-1, LANES)
    assert not groups.any(axis=1).all()
    return np.array([group.argmax() if group.any() else none for group in groups])


# ---- what no lane may do ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("body", "complaint"),
    [
        ("    %k = binary mul %size_t, %four\n    %x = lane %a, %k : T", "reads lane 16 of a vector of 16 lanes"),
        ("    %k = binary sub %zero, %one\n    %x = lane %a, %k : T", "reads lane -1 of a vector of 16 lanes"),
        ("    each_lane %on, some=true (%k: i64) {\n    }", "runs although no lane is active"),
        ("    %k = const 16 : i64\n    %x = lane_random %k, stream=1 : f32", "draws for iteration 16 of a group"),
    ],
)
def test_the_evaluator_refuses_what_lanes_do_not_have(body: str, complaint: str) -> None:
    with pytest.raises(InternalError, match=complaint):
        evaluated(program(body, stored=False), inputs("f32"), config=EXACT)


def test_splats_are_vectors_to_all_ops() -> None:
    body = """\
    %seven = const 7 : i32
    %p = splat %seven : <N x i32>
    %q = binary add %p, %p
    %r = binary mul %q, %p"""
    check(program(body, "i32"), inputs("i32"), out=np.full(LENGTH, 98))
