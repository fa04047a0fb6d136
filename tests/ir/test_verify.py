"""The verifier refuses what is wrong, and says which op and why."""

from __future__ import annotations

import pytest
from hypothesis import given, settings

from tests.generate import Program, chi_kernels
from weft.ir import ops
from weft.ir.errors import InternalError
from weft.ir.parse import parse
from weft.ir.text import print_ir
from weft.ir.verify import verify

HEAD = """\
kernel @k(a: f32, m: f32x2x3, s: {p: i32}, x: [f32; 2]) -> (f32) {
  field @y: f32[8] tree=0 components=(0) terms=((0, 1, 8, 4))
  %a = arg index=0 : f32
  %m = arg index=1 : f32x2x3
  %s = arg index=2 : {p: i32}
  %x = arg index=3 : [f32; 2]
  %i = const 1 : i32
  %yes = const true : u1
  %l = alloca : *f32
  %v = make_tensor [%a, %a] : f32x2
"""


@pytest.mark.parametrize(
    ("line", "complaint"),
    [
        ("%b = const 1 : f32", "has the value 1; expected a Python number for f32"),
        ("%b = const 1.0 : i32", "expected a Python number for i32"),
        ("%b = const 256 : u8", "out of range for u8"),
        ("%b = arg index=4 : f32", "refers to parameter 4; the kernel has 4"),
        ("%b = unary nope %a : f32", "has the unknown kind"),
        ("%b = unary sqrt %i : i32", "expected a float"),
        ("%b = binary add %a, %i : f32", "has operands of different types"),
        ("%b = binary add %a, %v : f32x2", "has operands of different shapes"),
        ("%b = random_at %a, [] : f32", "has a draw of type f32; expected i32"),
        ("%b = random_at %i, [] : f32x2", "has the type f32x2; expected a scalar"),
        ("%b = binary add %yes, %yes : u1", "does not compute on u1"),
        ("%b = binary lt %a, %a : f32", "has type f32, but its operands give u1"),
        ("%b = select %i, %a, %a : f32", "expected u1, or u1 in the shape of the alternatives"),
        ("%b = cast %v : f32", "changes the shape"),
        ("%b = bit_cast %a : i64", "changes the size"),
        ("%b = make_tensor [%a] : f32x2", "has 1 elements; expected 2"),
        ("%b = extract %v, index=2 : f32", "takes element 2; the tensor has 2"),
        ("%b = matmul %m, %v : f32x2", "which cannot be multiplied"),
        ("%b = member %s, index=1 : i32", "which does not exist"),
        ("%b = field_ptr @y[] : *f32", "has 0 indices; expected 1"),
        ("%b = array_ptr %x[%i, %a] : *f32", "has an index that is not an integer"),
        ("%k = const 1 : u64\n%b = array_ptr %x[%i, %k] : *f32", "has an index of type u64 or u1"),
        ("%b = array_ptr %x[%yes, %i] : *f32", "has an index of type u64 or u1"),
        ("%b = load %a : f32", "has an operand of type f32; expected an address"),
        ("store %l, %i", "stores i32 at an address of type *f32"),
        ("%b = atomic add %l, %i : f32", "updates an address of type *f32 with i32"),
        ("if %yes then { exit }", "does not belong to the level 'chi'"),
        ("if %i then { return [%a] }", "expected u1"),
        ("for %i, %i, %i (%j: i64) { }", "begins at values of types i32; expected i64"),
        ("parallel_for begins=[%i], ends=[] (%j: i32) { }", "ends at values of types none; expected i32"),
        ("parallel_for begins=[], ends=[] { return [%a] }", "is in a parallel loop"),
        ("parallel_for begins=[], ends=[] { break }", "is not in a serial loop"),
        ("while { parallel_for begins=[], ends=[] { } }", "is in the block of a while"),
        ("continue", "is not in a loop"),
        ("break", "is not in a serial loop"),
        ("while { break %b = unary neg %a : f32 }", "follows a terminator"),
        ("if %yes then { %b = unary neg %a : f32 } store %l, %b", "uses op 'unary' 'neg' %b (%a: f32) : f32 outside"),
        ("while { if %yes then { %b = unary neg %a : f32 } orelse { store %l, %b } }", "outside the scope"),
        ("return []", "returns values of types none; expected f32"),
        ('print [%a], parts=("a")', "has 1 values, but the text has 0 slots"),
        ('assert %yes, [], message="", kind=nope', "has the unknown kind"),
        ("%b = tree_base tree=0 : *i64", "does not belong to the level 'chi'"),
    ],
)
def test_invalid_ops_are_refused(line: str, complaint: str) -> None:
    kernel = parse(HEAD + line + "\n}")
    with pytest.raises(InternalError) as caught:
        verify(kernel, "chi")
    assert complaint in str(caught.value)


@pytest.mark.parametrize(
    ("tasks", "complaint"),
    [
        ("%i = const 1 : i32", "is not in a task"),
        ("task nope body { }", "has the unknown kind"),
        ("task range_for body (%i: i32) { }", "has bounds that do not end with a yield"),
        ("task serial bounds { yield begins=[] ends=[] } body { }", "is serial, but has bounds"),
        ("task serial body { yield begins=[] ends=[] }", "is not in the bounds of a task"),
        ("task serial body { %p = alloca : *f32 } epilogue { %q = load %p : f32 }", "outside the scope"),
        ("task serial prologue { task serial body { } } body { }", "is in the block of a task"),
    ],
)
def test_tasks(tasks: str, complaint: str) -> None:
    with pytest.raises(InternalError) as caught:
        verify(parse(f"kernel @k() -> () {{ {tasks} }}"), "tasks")
    assert complaint in str(caught.value)


VECTOR_HEAD = """\
kernel @k() -> () {
  task range_for schedule={lanes=4} bounds {
    %0 = const 0 : i64
    yield begins=[%0], ends=[%0]
  } prologue {
    %base = tree_base tree=0 : *i64
    %k = const 4 : i64
    %f = const 1.0 : f32
    %p = address %base, indices=[], strides=[], offset=0, scope="field:x" : *f32
  } body (%i: i64, %left: i64) {
    %m = first_lanes %left : <4 x u1>
    %m8 = first_lanes %left : <8 x u1>
    %v = splat %f : <4 x f32>
    %is = ramp %i, step=1 : <4 x i64>
    %ps = ramp %p, step=4 : <4 x *f32>
    %local = alloca : *<4 x f32>
"""


@pytest.mark.parametrize(
    ("line", "complaint"),
    [
        ("%b = binary add %v, %f : <4 x f32>", "has operands of different shapes"),
        ("%b = binary and %m, %m8 : <4 x u1>", "has operands of different shapes"),
        ("%b = binary add %ps, %ps : <4 x *f32>", "has an operand of type <4 x *f32>"),
        ("%c = lane %m, %0\n%b = select %c, %v, %v", "outside the scope"),
        ("%c = any_active %m\n%b = select %c, %v, %v", "has a condition of type u1; expected u1, or u1 in the shape"),
        ("%b = cast %v : <8 x i32>", "changes the shape"),
        ("%b = bit_cast %v : <4 x i64>", "changes the size"),
        ("%b = splat %i : <4 x f32>", "fills a <4 x f32> with a value of type i64"),
        ("%b = ramp %f, step=1 : <4 x f32>", "is a ramp of type <4 x f32>; expected integers or addresses"),
        ("%b = ramp %i, step=1 : <4 x i32>", "begins at a value of type i64; expected i32"),
        ("%b = lane %v, %k", "takes lane 4; the vector has 4 lanes"),
        ("%b = lane %v, %f", "has a lane number of type f32; expected i64"),
        ("%b = lane %f, %k : f32", "has a value of type f32; expected a vector"),
        ("%b = shuffle %m, %m8, order=(0)", "takes elements of vectors of types <4 x u1> and <8 x u1>"),
        ("%b = shuffle %v, %v, order=(0, 8)", "has the order (0, 8); expected numbers from -1 to 7"),
        (
            "%b = shuffle %ps, %ps, order=(0, -1)",
            "has -1 in its order, which gives zero, but its elements are addresses",
        ),
        ("%b = first_lanes %left : <4 x u8>", "has a mask of type <4 x u8>; expected elements of type u1"),
        ("%b = first_lanes %f : <4 x u1>", "has a count of type f32; expected i64"),
        ("%b = any_active %v", "has a mask of type <4 x f32>; expected elements of type u1"),
        ("%b = reduce add %ps : f32", "expected a tensor or a vector"),
        ("%b = reduce lt %v : f32", "has the unknown kind"),
        ("%b = masked_load %p, %v", "has a mask of type <4 x f32>; expected elements of type u1"),
        ("%b = masked_load %local, %m : <4 x f32>", "has an address of type *<4 x f32>; expected that of a scalar"),
        ("masked_store %p, %v, %m8", "has a mask of 8 lanes; expected 4"),
        ("masked_store %p, %is, %m", "stores <4 x i64>; expected <4 x f32>"),
        ("%b = gather %ps, %m8", "has a mask of 8 lanes; expected 4"),
        ("%b = gather %is, %m : <4 x i64>", "has an address of type i64; expected that of a scalar"),
        ("scatter %ps, %is, %m", "stores <4 x i64>; expected <4 x f32>"),
        ("%b = load %ps : f32", "has an operand of type <4 x *f32>; expected an address"),
        ("store %local, %f", "stores f32 at an address of type *<4 x f32>"),
        ("%b = alloca : *<4 x *f32>", "stores an address in memory"),
        ("%b = address %ps, indices=[], strides=[], offset=0, scope=x : *f32", "another number of lanes"),
        ("%b = address %p, indices=[], strides=[], offset=0, scope=x : <4 x *f32>", "another number of lanes"),
        (
            "%b = address %p, indices=[%m8], strides=[%k], offset=0, scope=x : <8 x *f32>",
            "has indices or strides that are not i64",
        ),
        ("each_lane %m (%n: i32) { }", "has a body whose argument is not the number of a lane, an i64"),
        ("each_lane %m (%n: i64) { continue }", "is not in a loop"),
        ("while { each_lane %m (%n: i64) { break } }", "is not in a serial loop"),
        ("%b = lane_random %f : f32", "has a lane number of type f32; expected i64"),
        (
            "for %i, %left, %k, schedule={lanes=4} (%j: i64) { }",
            "its last argument is not the number of iterations that are left",
        ),
        ("%at = load %p, move=adjacent", "contains an access with a move"),
    ],
)
def test_invalid_vector_ops_are_refused(line: str, complaint: str) -> None:
    kernel = parse(VECTOR_HEAD + line + "\n}\n}")
    with pytest.raises(InternalError, match="op '") as caught:
        verify(kernel, "vectors")
    assert complaint in str(caught.value)


def test_vectors_belong_to_their_level() -> None:
    kernel = parse(VECTOR_HEAD + "}\n}")
    verify(kernel, "vectors")
    with pytest.raises(InternalError, match="cannot run in lanes: it holds 'ramp'"):
        verify(kernel, "mapped")


def test_body_and_epilogue_see_the_prologue() -> None:
    uses = "body { %q = unary neg %p } epilogue { %r = unary neg %p }"
    verify(parse(f"kernel @k() -> () {{ task serial prologue {{ %p = const 1 : i32 }} {uses} }}"), "tasks")


def test_before_types_are_inferred_operands_may_disagree() -> None:
    kernel = parse(HEAD + "%b = binary add %a, %i : f32\n}")
    verify(kernel, "untyped")
    with pytest.raises(InternalError, match="no level 'nope'"):
        verify(kernel, "nope")


def test_links_and_users_are_counted() -> None:
    kernel = parse(HEAD + "}")
    last = kernel.body.last
    assert isinstance(last, ops.MakeTensor)
    users = last.values[0].users
    users[last] = 1
    with pytest.raises(InternalError, match=r"%a .* its list of users does not match the ops that use it"):
        verify(kernel, "chi")
    users[last] = 2
    verify(kernel, "chi")
    last.prev = None
    with pytest.raises(InternalError, match="not linked to the op before it"):
        verify(kernel, "chi")


@given(chi_kernels())
@settings(max_examples=30, deadline=None)
def test_random_kernels_verify_and_round_trip(program: Program) -> None:
    verify(program.kernel, "chi")
    text = print_ir(program.kernel)
    back = parse(text)
    assert print_ir(back) == text
    verify(back, "chi")
