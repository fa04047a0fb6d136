"""Every program round-trips: what the printer writes, the parser reads, and prints the same again."""

from __future__ import annotations

import math

import pytest

from weft.ir import ops
from weft.ir.core import OPS, Block, BlockArg, Builder, Value
from weft.ir.parse import ParseError, parse, parse_type
from weft.ir.storage.dense import Term
from weft.ir.symbols import FieldSymbol, LoopConfig, Param
from weft.ir.text import print_ir
from weft.ir.types import PRIMS, Prim, Type, array, f32, f64, i32, i64, lanes, pointer, struct, tensor, u1
from weft.ir.verify import verify

CHI = """\
kernel @step(dt: f32, m: f32x2x2, s: {a: i32, v: f32x2}, x: [f32; 2 strided], y: [u8; 1 strided wide]) -> (f32, f32x2) {
  field @grid: f32x2[8, 4] tree=0 components=(0, 4) terms=((0, 1, 8, 32), (1, 1, 4, 8)) order=(0, 1)
  field @"mass of it": f32[16] tree=1 components=(0) terms=((0, 4, 4, 64), (0, 1, 4, 4)) offset=(-8) order=(0)
  field @loss: f64 tree=1 components=(256)
  %dt = arg index=0 : f32
  %m = arg index=1 : f32x2x2
  %s = arg index=2 : {a: i32, v: f32x2}
  %x = arg index=3 : [f32; 2 strided]
  %0 = const 0 : i32
  %n = const 8 : i32
  %nan = const nan : f32
  %small = const -1e-05 : f32
  %minus = const -inf : f64
  %yes = const true : u1
  %1 = array_shape %x, axis=1 : i32
  %acc = alloca : *f32
  store %acc, %small
  %most = shared_local : *f32
  store %most, %small
  parallel_for begins=[%0, %0], ends=[%n, %1], config={block_dim=128} (%i: i32, %j: i32) {
    %2 = field_ptr @grid[%i, %j] : *f32x2
    %g = load %2 : f32x2
    %3 = make_tensor [%dt, %dt] : f32x2
    %g_1 = binary mul %g, %3 : f32x2
    %4 = matmul %m, %g_1 : f32x2
    %5 = transpose %m : f32x2x2
    %6 = reduce add %4 : f32
    %7 = extract %5, index=3 : f32
    %8 = binary lt %6, %7 : u1
    %9 = select %8, %6, %7 : f32
    %10 = array_ptr %x[%j, %i] : *f32
    %11 = atomic add %10, %9 : f32
    store %most, %9, relaxed=true
    if %8 then {
      %12 = element_ptr %2[%0] : *f32
      store %12, %11
    } orelse {
      continue
    }
    %pad = shared shape=(4, 2) : [f32; 2]
    %lane = simt thread_idx [] : i32
    %mask = cast %lane : u32
    %other = simt shuffle [%mask, %9, %lane] : f32
    simt block_sync []
  }
  struct_for @"mass of it", config={serialize=true} (%p: i32) {
    %r = random : f32
    %again = random_at %p, [] : f32
    %13 = field_ptr @"mass of it"[%p] : *f32
    store %13, %r
    %now = atomic_load %13, order=acquire : f32
    atomic_store %13, %now, order=release
    %was = exchange %13, %now : f32
    %before = compare_exchange %13, %was, %now, order=acq_rel : f32
    fence
    fence order=release, scope=block
  }
  for %0, %n, %n (%k: i32) {
    while {
      break
    }
  }
  %t = alloca : *{a: i32, v: f32x2}
  %14 = member_ptr %t, index=1 : *f32x2
  %15 = member %s, index=1 : f32x2
  store %14, %15
  %16 = make_struct [%n, %15] : {a: i32, v: f32x2}
  store %t, %16
  %17 = field_ptr @loss[] : *f64
  %18 = cast %dt : f64
  %19 = splat %dt : f32x2
  %20 = bit_cast %dt : i32
  %21 = unary neg %20 : i32
  %at = vary %18 : f64
  %slope = derivative %at, %at : f64
  store %17, %18
  print [%n, %dt], parts=("n = ", "\\u0000", ", dt = ", "\\u0000.3f", "\\n")
  assert %yes, [%21], message="no {}, \\"never\\"", kind=bounds
  return [%dt, %19]
}
"""

LOWERED = """\
kernel @fill(a: f32x2, x: [f32; 1]) -> (f32) temp_bytes=16 {
  field @y: f32[8] tree=0 components=(0) terms=((0, 1, 8, 4)) order=(0)
  task serial body {
    %0 = temp_ptr offset=8 : *i64
    %1 = array_extent index=1, axis=0 : i64
    store %0, %1
  }
  task range_for config={simd=8}, read_set=(x), write_set=(y) bounds {
    %2 = const 0 : i64
    %3 = temp_ptr offset=8 : *i64
    %4 = load %3, invariant=true : i64
    yield begins=[%2], ends=[%4]
  } prologue {
    %5 = tree_base tree=0 : *i64
    %6 = array_base index=1 : *i64
    %7 = array_stride index=1, axis=0 : i64
    %8 = const 4 : i64
    %pad = shared_base number=0, bytes=64 : *i64
  } body (%i: i64) {
    %9 = address %6, indices=[%i], strides=[%7], offset=0, scope=x : *f32
    %10 = load %9 : f32
    %11 = scalar_arg index=0, part=1 : f32
    %12 = binary add %10, %11 : f32
    %13 = address %5, indices=[%i], strides=[%8], offset=-4, scope=y : *f32
    store %13, %12
  } epilogue {
    %14 = load %6 : i64
  }
  task serial body {
    %15 = const 1.5 : f32
    store_result %15, part=0
    %16 = invoke function=f_0, [%15], touched=(y), results=(f32, i32) : f32
    %17 = returned %16, part=1 : i32
    print [%15, %15], parts=("\\u0000"), types=(f32x2)
    warn [%15, %15], message="{}", types=(f32x2)
    exit
  }
}
"""


MAPPED = """\
kernel @rows(n: i64) -> () {
  field @y: f32[8] tree=0 components=(0) terms=((0, 1, 8, 4)) order=(0)
  task range_for bounds {
    %0 = const 0 : i64
    %1 = const 8 : i64
    yield begins=[%0], ends=[%1]
  } prologue {
    %2 = tree_base tree=0 : *i64
    %3 = const 4 : i64
    %4 = const 3 : i64
    aligned values=[], taps=[]
  } body (%i: i64) {
    %5 = clamp max %i, %4, axis=0, low=0, high=0, fits=true : i64
    %6 = address %2, indices=[%5], strides=[%3], offset=0, scope="field:y" : *f32
    %7 = const 1.5 : f32
    atomic_row %6, [%7, %7], unit=2
  }
}
"""

CALLED = """\
kernel @f() -> () called=true {
  task serial body {
    %0 = stack_left : u1
    assert %0, [], message="too deep", kind=recursion
  }
}
"""


SPARSE = """\
kernel @lists() -> () {
  node @L: dynamic cell_bytes=64 pool=1 book=2 capacity=15 pieces=1 limit=25 axis=1
    table: u32[7, 2] tree=0 components=(8) terms=((0, 1, 7, 16), (1, 1, 2, 4)) order=(0, 1)
    length: i32[7] tree=0 components=(0) terms=((0, 1, 7, 16)) order=(0)
    seen: i32[7] tree=0 components=(4) terms=((0, 1, 7, 16)) order=(0)
  node @H: hash cell_bytes=8 pool=3 book=4 capacity=4 pieces=1
    table: u32[1073741824] tree=4 components=(0) order=(0)
  field @x: f32[7, 25] tree=1 components=(0) cells=((0, 1), (1, 16)) terms=((1, 1, 16, 4)) order=(0, 1) node=@L
  field @L.count
  hold_interrupts held=true
  %0 = const 3 : i32
  activate @L[%0, %0]
  %1 = append @L[%0] : i32
  %2 = length @L[%0] : i32
  %3 = is_active @L[%0, %2] : u1
  deactivate @L[%0]
  %4 = field_ptr @x[%0, %1], activates=false : *f32
  %5 = field_ptr @L.count[] : *i32
  %6 = load %5 : i32
  struct_for @x (%i: i32, %j: i32) {
  }
  parallel_for begins=[%0], ends=[%6] (%k: i32) {
    %7 = visited_slot @L, %k : u32
    %8 = visited_index @L, %k, axis=1 : i32
    %9 = found_slot @H[%8] : u32
  }
  task serial routine="list L" body {
    run_routine list @L, touched=(L.count)
  }
}
"""


VECTORS = """\
kernel @some(n: i64) -> () {
  field @y: f32[8] tree=0 components=(0) terms=((0, 1, 8, 4)) order=(0)
  task range_for schedule={lanes=4} bounds {
    %0 = const 0 : i64
    %1 = const 8 : i64
    yield begins=[%0], ends=[%1]
  } prologue {
    %2 = tree_base tree=0 : *i64
    %3 = const 4 : i64
    %4 = const 1.5 : f32
  } body (%i: i64, %left: i64) {
    %5 = first_lanes %left : <4 x u1>
    %6 = first_lanes %left, first=4 : <4 x u1>
    %7 = binary and %5, %6 : <4 x u1>
    %p = address %2, indices=[%i], strides=[%3], offset=0, scope="field:y" : *f32
    %8 = masked_load %p, %5 : <4 x f32>
    %9 = splat %4 : <4 x f32>
    %10 = binary mul %8, %9 : <4 x f32>
    %11 = shuffle %10, %9, order=(0, 5, -1, 3) : <4 x f32>
    masked_store %p, %11, %5
    %ps = ramp %p, step=4, first=1 : <4 x *f32>
    %12 = gather %ps, %7 : <4 x f32>
    scatter %ps, %12, %7
    %13 = reduce xor %7 : u1
    %kept = alloca : *<4 x f32>
    store %kept, %12
    %14 = any_active %7 : u1
    if %14 then {
      %15 = first_active %7 : i64
      %16 = lane %ps, %15 : *f32
      store %16, %4
    }
    each_lane %7, cold=true (%k: i64) {
      %17 = lane_random %k, stream=1 : f32
      %18 = lane %ps, %k : *f32
      store %18, %17
    }
  }
}
"""


@pytest.mark.parametrize(
    ("text", "level"),
    [(CHI, "chi"), (LOWERED, "lowered"), (MAPPED, "mapped"), (CALLED, "mapped"), (SPARSE, "chi"), (VECTORS, "vectors")],
)
def test_round_trip(text: str, level: str) -> None:
    kernel = parse(text)
    assert print_ir(kernel) == text
    verify(kernel, level)
    assert print_ir(kernel.clone({})) == text


def test_the_texts_hold_every_op() -> None:
    met = {op.opname for text in (CHI, LOWERED, MAPPED, CALLED, SPARSE, VECTORS) for op in parse(text).walk()}
    assert sorted(OPS) == sorted(met)


def test_symbols_come_back_whole() -> None:
    kernel = parse(CHI)
    assert kernel.params[3] == Param("x", array(f32, 2, contiguous=False))
    assert kernel.results == (f32, tensor(f32, (2,)))
    assert kernel.fields[1].path.levels[0].terms == (Term(0, 4, 4, 64), Term(0, 1, 4, 4))
    assert kernel.fields[1].offset == (-8,)
    loop = next(op for op in kernel.walk() if isinstance(op, ops.ParallelFor))
    assert loop.config == LoopConfig(block_dim=128)
    assert [len(group) for group in (loop.begins, loop.ends)] == [2, 2]


def test_names_are_made_unique() -> None:
    kernel = ops.Kernel("k")
    add = Builder(kernel.body).add
    for name in ("x", "x", "x_1", "", "7", "a b", "Größe"):
        add(ops.Const(1, type=i32, name=name))
    text = print_ir(kernel)
    names = [line.split()[0] for line in text.splitlines()[1:-1]]
    assert names == [
        "%x",
        "%x_1",
        "%x_1_1",
        "%0",
        "%1",
        "%a_b",
        "%Größe",
    ]
    assert print_ir(parse(text)) == text


def test_two_fields_of_one_name_stay_two() -> None:
    first, second = (FieldSymbol.dense("x", f32, (), tree, (0,), ()) for tree in (0, 1))
    kernel = ops.Kernel("k", fields=(first, second))
    add = Builder(kernel.body).add
    add(ops.FieldPtr(second, []))
    text = print_ir(kernel)
    assert "field_ptr @x_1[]" in text
    assert print_ir(parse(text)) == text


@pytest.mark.parametrize(
    ("value", "type"),
    [(-0.0, f32), (math.inf, f64), (1e300, f64), (5e-324, f64), (2.0, f32), (True, u1), (-(2**63), i64), (0, i32)],
)
def test_constants_keep_value_and_kind(value: float, type: Prim) -> None:
    kernel = ops.Kernel("k")
    kernel.body.append(ops.Const(value, type=type))
    back = parse(print_ir(kernel)).body.first
    assert isinstance(back, ops.Const)
    assert (repr(back.value), back.type) == (repr(value), type)


@pytest.mark.parametrize("message", ["", "true", "nan", "a = %x, @y # no {}", '"\\\n\t\u2028', "kind"])
def test_strings_survive(message: str) -> None:
    kernel = ops.Kernel("k")
    add = Builder(kernel.body).add
    add(ops.Assert(add(ops.Const(True, type=u1)), [], message))
    back = parse(print_ir(kernel)).body.last
    assert isinstance(back, ops.Assert)
    assert (back.message, back.kind) == (message, "assert")


@pytest.mark.parametrize(
    "type",
    [
        *PRIMS.values(),
        tensor(f32, (3,)),
        tensor(u1, (2, 4)),
        pointer(tensor(f32, (3, 3))),
        array(struct((("x", f32), ("s", struct((("v", tensor(f32, (2,))),))))), 3, contiguous=False),
        array(i32, 0),
        lanes(f32, 16),
        lanes(pointer(u1), 2),
        pointer(lanes(u1, 64)),
    ],
    ids=str,
)
def test_types_parse(type: Type) -> None:
    assert parse_type(str(type)) is type


def test_a_fragment_prints_with_its_outer_values() -> None:
    outer = Value(f32, "dt")
    loop = ops.While(body=Block())
    loop.body.append(ops.Unary("neg", outer, name="y"))
    assert print_ir(loop) == "while {\n  %y = unary neg %dt : f32\n}\n"
    assert print_ir(loop.body) == "%y = unary neg %dt : f32\n"
    assert BlockArg(i32).block is None


@pytest.mark.parametrize(
    ("body", "complaint"),
    [
        ("%x = add", "line 2: expected an op, found 'add'"),
        ("%x = unary neg %y : f32", "line 2: expected a value defined above, found '%y'"),
        ("%p = field_ptr @y[] : *f32", "line 2: expected a field that the kernel declares"),
        ("%x = const 1 : f33", "line 2: expected a type, found 'f33'"),
        ("%x = const 1 : i32\n%x = const 2 : i32", "%x to be defined once"),
        ("%x = const 1 : i32\n%y = extract %x : i32", "expected index=, found ':'"),
        ("$", "line 2: cannot read '$'"),
        ("while {", "expected an op, found 'the end'"),
    ],
)
def test_errors_name_line_and_token(body: str, complaint: str) -> None:
    with pytest.raises(ParseError) as caught:
        parse(f"kernel @k() -> () {{\n{body}\n}}" if body != "while {" else "kernel @k() -> () {\nwhile {")
    assert complaint in str(caught.value)


def test_what_is_left_out_is_inferred_and_comments_are_skipped() -> None:
    text = "kernel @k() -> () {  # a kernel\n  %x = const 1 : i32\n  %y = binary add %x %x\n}\n"
    assert "%y = binary add %x, %x : i32" in print_ir(parse(text))
