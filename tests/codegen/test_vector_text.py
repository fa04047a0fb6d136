"""The LLVM IR of ops on vectors, where another one would give the same numbers on most machines, and ops that few
kernels have."""

from __future__ import annotations

import re
from collections.abc import Sequence

import llvmlite.binding as llvm
import numpy as np
import pytest

from tests.codegen.vector_runs import EXACT, LANES, LENGTH, check, inputs, program
from weft.codegen.cpu.kernel import emit_kernel
from weft.ir.config import CompileConfig
from weft.ir.ops import Kernel

FAST = CompileConfig(fast_math=True, threads=1)
AVX512 = "sse2 avx2 avx512f avx512vl avx512bw"


def emitted(kernel: Kernel, features: str = "sse2 avx2", config: CompileConfig = EXACT) -> str:
    """A module that LLVM accepts."""
    text = emit_kernel(kernel, config, frozenset(features.split())).text("; a module\n")
    llvm.parse_assembly(text).verify()
    return text


def counted(text: str, parts: Sequence[str]) -> list[int]:
    return [text.count(part) for part in parts]


# ---- locals ----------------------------------------------------------------------------------------------------------


def test_masks_are_bits_if_no_lane_is_written_alone() -> None:
    body = """\
    %slot = alloca : *<N x u1>
    store %slot, %on
    %parts = alloca : *<N x u1>
    store %parts, %on
    each_lane %on (%k: i64) {
      %mine = lane %on, %k : u1
      %one_of = address %parts, indices=[%k], strides=[%one], offset=0, scope="?" : *u1
      store %one_of, %mine
    }
    %mixed = load %parts
    %same = load %slot
    %r = binary xor %mixed, %same"""
    slots = ["alloca <16 x i1>, align 64", "alloca <16 x i8>, align 64"]
    assert counted(emitted(program(body, "f32", "u1")), slots) == [1, 2]  # the last one is for the loop over lanes


ROWS = """\
    %array = alloca : *TxROWSx16
    %row = binary mul %size_t, %sixteen
    %second = address %array, indices=[%one], strides=[%row], offset=0, scope="?" : *<N x T>
    store %second, %a
    %lane = ramp %zero, step=SIZE_T : <N x i64>
    %first = select %on, %lane, %lane : <N x i64>
    %places = splat %row : <N x i64>
    %which = binary add %first, %places
    %each = address %array, indices=[%which], strides=[%one], offset=0, scope="?" : <N x *T>
    scatter %each, %b, %on
    %r = load %second"""


@pytest.mark.parametrize("type", ["f32", "u1", "f16"])
def test_rows_of_a_local_array(type: str) -> None:
    """Masks are bytes there: each lane may write its own."""
    body = "    %sixteen = const 16 : i64\n" + ROWS.replace("TxROWS", f"{type}x3")
    given = inputs(type)
    kernel = program(body, type)
    check(kernel, given, out=np.where(given["on"], given["b"], given["a"]))
    held = {"f32": "float", "u1": "i8", "f16": "half"}[type]
    row = {"f32": 64, "u1": 16, "f16": 32}[type]
    assert f"alloca [48 x {held}], align {row}" in emitted(kernel)


def test_what_inactive_lanes_may_not_have_written_is_frozen() -> None:
    body = (
        "    %sixteen = const 16 : i64\n"
        + ROWS.replace("TxROWS", "f32x3")
        + """
    %list = alloca : *f32x4
    %slot = alloca : *<N x f32>
    store %slot, %r
    %all_of = load %slot
    %place = address %base_b, indices=[%zero], strides=[%one], offset=0, scope="field:b" : *<N x f32>
    %whole = load %place
    %s = binary add %all_of, %whole : <N x f32>
    store %slot, %s"""
    )
    assert counted(emitted(program(body)), ["freeze", "alloca [4 x float]"]) == [1, 1]


# ---- accesses --------------------------------------------------------------------------------------------------------


def test_addresses_of_what_lanes_share_and_of_what_they_do_not() -> None:
    """A stride that is not known, and an index of all lanes, beside an index of each lane."""
    body = """\
    %size = binary add %size_t, %zero
    %back = binary sub %zero, %i
    %p = address %base_a, indices=[%to, %i, %back], strides=[%size, %four, %four], offset=0, scope="field:a" : <N x *T>
    %r = gather %p, %here"""
    given = inputs("f32")
    check(program(body), given, out=given["a"][given["to"]])


GATHERED = """\
    %p = address %base_a, indices=[%to], strides=[%size_t], offset=0, scope="field:a" : <N x *T>
    %r = gather %p, %here
    %q = address %base_out, indices=[%to], strides=[%size_t], offset=0, scope="field:out" : <N x *R>
    scatter %q, %r, %on"""


def test_intrinsics_are_named_by_their_addresses() -> None:
    text = emitted(program(GATHERED))
    names = ("@llvm.masked.gather.v16f32.v16p0(", "@llvm.masked.scatter.v16f32.v16p0(", "@llvm.masked.store.v16f32.p0(")
    assert all(name in text for name in names)


@pytest.mark.parametrize(
    ("type", "lanes", "casts", "shuffles"),
    [
        ("f32", 16, 0, 0),
        ("i64", 8, 0, 0),
        ("i32", 16, 1, 0),
        ("i16", 16, 1, 0),
        ("u8", 8, 0, 2),
        ("u8", 16, 0, 0),
        ("u8", 32, 0, 0),
    ],
)
def test_avx512_merges_no_truncation_into_a_store(type: str, lanes: int, casts: int, shuffles: int) -> None:
    """Only a store of adjacent lanes is one that LLVM may merge it into."""
    body = GATHERED.replace("scatter", "masked_store %pout, %r, %here\n    scatter")
    kernel = program(body, type, lanes=lanes, stored=False)
    text = emitted(kernel, AVX512)
    text = text[text.index("llvm.masked.gather") :]
    written = re.findall(r"= bitcast <\d+ x \w+> \S+ to <\d+ x (?:float|half)>", text)
    widened = re.findall(r"= shufflevector <\d+ x i8>.*poison, <\d+ x i32>", text)
    assert (len(written), len(widened)) == (casts, shuffles)
    assert text.count(" asm ") == (type == "u8")
    assert " asm " not in emitted(kernel)


# ---- numbers ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("features", "lanes", "config", "line", "estimated"),
    [
        (AVX512, 16, FAST, "div %b, %s", True),
        (AVX512, 32, FAST, "div %b, %s", True),
        (AVX512, 8, FAST, "div %b, %s", False),  # the instruction takes sixteen
        (AVX512, 16, EXACT, "div %b, %s", False),
        ("sse2 avx2", 16, FAST, "div %b, %s", False),
        (AVX512, 16, FAST, "div %s, %b", False),
    ],
)
def test_where_roots_are_estimated(
    features: str, lanes: int, config: CompileConfig, line: str, estimated: bool
) -> None:
    body = f"    %s = unary sqrt %a : <N x R>\n    %r = binary {line} : <N x R>"
    assert ("rsqrt14" in emitted(program(body, lanes=lanes), features, config)) == estimated


@pytest.mark.parametrize(
    ("source", "target", "choices"), [("f64", "i32", 3), ("f32", "i32", 4), ("f32", "i16", 3), ("f64", "i64", 4)]
)
def test_casts_look_for_numbers_above_all_only_if_a_float_is_inexact(source: str, target: str, choices: int) -> None:
    text = emitted(program("    %r = cast %a : <N x R>", source, target))
    assert text.count(" = select <16 x i1>") == choices


def test_a_ramp_from_a_constant() -> None:
    body = "    %seven = const 7 : i32\n    %r = ramp %seven, step=3, first=2 : <N x R>"
    check(program(body, "i32"), inputs("i32"), out=13 + np.arange(LENGTH) % LANES * 3)


@pytest.mark.parametrize("lanes", [8, 16])
def test_first_lanes_of_the_index_of_a_loop(lanes: int) -> None:
    """Only the number of iterations that are left is known to be more than zero, and to end at the vector's end."""
    body = """\
    %slot = alloca : *<N x u1>
    %none = const false : u1
    %nones = splat %none : <N x u1>
    store %slot, %nones
    %begin = const -3 : i64
    %end = const 21 : i64
    for %begin, %end, %one (%k: i64) {
      %some = first_lanes %k : <N x u1>
      %old = load %slot
      %new = binary xor %old, %some
      store %slot, %new
    }
    %mine = first_lanes %i, first=3 : <N x u1>
    %last = load %slot
    %r = binary xor %last, %mine"""
    lane, index = np.arange(LENGTH) % lanes, np.arange(LENGTH)
    wanted = [(sum(int(n) < k for k in range(-3, 21)) + (n + 3 < i - n)) % 2 == 1 for n, i in zip(lane, index)]
    check(program(body, "f32", "u1", lanes), inputs("f32"), out=wanted)


# ---- one lane after another ------------------------------------------------------------------------------------------


def test_sixty_four_lanes() -> None:
    body = """\
    %first = first_active %on
    %slot = alloca : *<N x T>
    store %slot, %a
    each_lane %on (%k: i64) {
      %mine = lane %b, %k : T
      %place = address %slot, indices=[%k], strides=[%size_t], offset=0, scope="?" : *T
      store %place, %mine
    }
    %mixed = load %slot
    %f = cast %first : T
    %fs = splat %f : <N x T>
    %r = binary add %mixed, %fs : <N x R>"""
    given = inputs("i32")
    first = int(given["on"].argmax())
    check(program(body, "i32", lanes=64), given, out=np.where(given["on"], given["b"], given["a"]) + np.int32(first))


@pytest.mark.parametrize("cold", [False, True])
def test_loops_over_lanes_in_one_another(cold: bool) -> None:
    """Both read the same vector, and one that is made inside."""
    long = "".join(f"        %t{k + 1} = unary neg %t{k} : T\n" for k in range(80 if cold else 0))
    say = ", cold=true" if cold else ""
    body = f"""\
    %slot = alloca : *<N x T>
    store %slot, %a
    each_lane %on (%k: i64) {{
      %before = lane %b, %k : T
      each_lane %on{say} (%h: i64) {{
        %inner = load %slot
        %x = lane %b, %h : T
        %y = lane %inner, %k : T
        %u = lane %inner, %h : T
        %t0 = binary xor %x, %y : T
{long}        %w = binary xor %t{80 if cold else 0}, %u : T
        %place = address %slot, indices=[%h], strides=[%size_t], offset=0, scope="?" : *T
        store %place, %w
      }}
      %after = lane %b, %k : T
      %sum = binary add %before, %after : T
      %mine = address %slot, indices=[%k], strides=[%size_t], offset=0, scope="?" : *T
      store %mine, %sum
    }}
    %r = load %slot"""
    given = inputs("i32")
    wanted = np.concatenate([given["a"], np.zeros(3, "i4")])
    b, on = np.concatenate([given["b"], np.zeros(3, "i4")]), np.concatenate([given["on"], np.zeros(3, bool)])
    with np.errstate(over="ignore"):
        for start in range(0, LENGTH, LANES):
            lanes = [k for k in range(start, start + LANES) if on[k]]
            for k in lanes:
                for h in lanes:
                    wanted[h] = b[h] ^ wanted[k] ^ wanted[h]
                wanted[k] = b[k] + b[k]
    check(program(body, "i32"), given, out=wanted[:LENGTH])


def test_loops_over_lanes_share_the_room_of_their_vectors() -> None:
    one = """\
    each_lane %on (%kN: i64) {
      %mineN = lane %a, %kN : T
      %pN = address %total, indices=[], strides=[], offset=0, scope="field:sum" : *R
      %oldN = atomic add %pN, %mineN : T
    }
"""
    body = one.replace("N", "1") + one.replace("N", "2").rstrip()
    assert emitted(program(body, stored=False)).count("alloca <16 x float>") == 1


def test_a_vector_is_handed_to_a_version_that_rarely_runs() -> None:
    """Not an element of each lane of it, but always the same one."""
    long = "".join(f"      %t{k + 1} = unary neg %t{k} : T\n" for k in range(80))
    body = f"""\
    %three = const 3 : i64
    %more = binary add %b, %a
    each_lane %on, cold=true (%k: i64) {{
      %same = lane %more, %three : T
      %mine = lane %a, %k : T
      %t0 = binary xor %mine, %same : T
{long}      %p = address %total, indices=[], strides=[], offset=0, scope="field:sum" : *R
      %old = atomic add %p, %t80 : T
    }}"""
    given = inputs("i32")
    a, b, on = (np.concatenate([given[name], np.zeros(3, given[name].dtype)]) for name in ("a", "b", "on"))
    with np.errstate(over="ignore"):
        same = np.repeat((a + b)[3::LANES], LANES)
    wanted = (a ^ same)[on].astype(np.int64).sum()
    kernel = program(body, "i32", stored=False)
    assert re.search(r"define internal fastcc void @\w+_apart\w*\([^)]*<16 x i32> %", emitted(kernel))
    check(kernel, given, sum=np.int64(wanted).astype(np.int32))
