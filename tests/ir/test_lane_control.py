"""Loops and branches in lanes mean the same as one iteration after another, and have no masks that they do not need."""

from __future__ import annotations

import pytest

from tests.ir.test_schedules import CONFIGS, FOLDER
from tests.ir.test_vector_memory import agrees, vectorized
from weft.ir.ops import For
from weft.ir.parse import parse
from weft.ir.pipeline import run_passes
from weft.ir.tasks import parallel_tasks
from weft.ir.text import print_ir
from weft.ir.types import PRIMS

COUNT = 11
SHAPES = ("lanes=8", "lanes=4, vectors=2")
STORED = "\n%value = load %acc : i32\n%told = cast %value : f32\nstore &out[i], %told"
START = "%acc = alloca : *i32\nstore %acc, %three\n"
ADD = "%old = load %acc : i32\n%shifted = binary mul %old, %three : i32\n%new = binary add %shifted, %XX : i32\n"
ADD = f"{ADD}store %acc, %new\n"

# ---- loops that lanes leave at different times -----------------------------------------------------------------------

RANGES = [
    ("i32", 3, 20, 2),
    ("i32", 20, 3, -3),
    ("i32", -5, 9, 4),
    ("i32", 2**31 - 20, 2**31 - 4, 7),
    ("i32", 20 - 2**31, -(2**31), -7),
    ("u32", 3, 20, 2),
    ("u32", 2**32 - 20, 2**32 - 4, 7),
    ("u32", 5, 10, 2**32 - 3),
    ("i64", -3, 12, 5),
    ("i64", 2**63 - 20, 2**63 - 4, 7),
    ("i64", 20 - 2**63, -(2**63), -7),
]


def loop(type: str, begin: int, end: int, step: int, known: bool) -> str:
    """A loop until `end` or up to three more, by another number in each lane. `known`: the step is a constant."""
    two = (step - 2 + 2**63) % 2**64 - 2**63 if type == "i64" else (step - 2) % 2 ** PRIMS[type].bits
    two -= 2**32 if type == "i32" and two >= 2**31 else 0
    steps = f"%step = const {step} : {type}\n"
    if not known:
        steps = f"%n32 = load %n : i32\n%read = cast %n32 : {type}\n%more = const {two} : {type}\n"
        steps += f"%step = binary add %read, %more : {type}\n"  # the field holds 2 at first
    return f"""\
{START}{steps}%begin = const {begin} : {type}
%least = const {end} : {type}
%apart = cast %odd : {type}
%end_of = binary add %least, %apart : {type}
for %begin, %end_of, %step (%r: {type}) {{
%x = cast %r : i32
{ADD.replace("XX", "x")}}}{STORED}"""


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("known", [True, False])
@pytest.mark.parametrize(("type", "begin", "end", "step"), RANGES)
def test_indices_do_not_wrap_around(type: str, begin: int, end: int, step: int, known: bool, shape: str) -> None:
    body = loop(type, begin, end, step, known)
    agrees(vectorized(body, shape, COUNT), body, COUNT)


def counts(body: str, *parts: str, shape: str = "lanes=8") -> tuple[int, ...]:
    """How often these stand in the body of the loop as vectors."""
    _, _, text = print_ir(vectorized(body, shape, COUNT)).partition("} body ")
    return tuple(text.count(part) for part in parts)


@pytest.mark.parametrize(
    ("end", "step", "known", "tests"),
    [
        (2**31 - 4, 7, True, (1, 0, 1)),
        (4 - 2**31, -7, True, (0, 1, 1)),
        (20, 2, True, (0, 0, 1)),  # the next index is never past the end of the type
        (20, 2, False, (1, 1, 4)),
    ],
)
def test_what_is_not_known_of_a_step_is_asked(end: int, step: int, known: bool, tests: tuple[int, ...]) -> None:
    """The nearest index to the end from which a step is inside of the type, on either side. One more choice keeps the
    sums of lanes that have left."""
    assert counts(loop("i32", end - 2 * step, end, step, known), "binary max", "binary min", "= select") == tests


def test_lanes_that_go_on_keep_their_values() -> None:
    """A lane that skips the rest of an iteration comes back: its locals stay, also if nobody reads them later."""
    body = f"""\
{START}%n32 = load %n : i32
%count = alloca : *i32
store %count, %three
while {{
%before = load %count : i32
%after = binary add %before, %n32 : i32
store %count, %after
%stays = binary lt %after, %k32 : u1
if %stays then {{
}} orelse {{
break
}}
%mixed = binary xor %after, %odd : i32
%low = binary and %mixed, %n32 : i32
%zero32 = binary xor %three, %three : i32
%skips = binary eq %low, %zero32 : u1
if %skips then {{
continue
}}
{ADD.replace("XX", "after")}%mine = load %acc : i32
%told = cast %mine : f32
store &out[i], %told
}}"""
    for shape in SHAPES:
        agrees(vectorized(body, shape, COUNT), body, COUNT)


# ---- loops that lanes begin at different indices ---------------------------------------------------------------------

JOINED = [
    ("i32", 20, 3, -1),
    ("i32", 3, 9, 1),
    ("i32", 2, 2, 1),
    ("i32", 3, 3, -1),
    ("i32", 2**31 - 9, 2**31 - 1, 1),
    ("i32", 9 - 2**31, -(2**31), -1),
    ("u32", 2**32 - 9, 2**32 - 1, 1),
    ("i64", 2**63 - 9, 2**63 - 1, 1),
]


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("inside", ["", "continue"])
@pytest.mark.parametrize(("type", "begin", "end", "step"), JOINED)
def test_lanes_join_a_loop_at_their_own_begins(
    type: str, begin: int, end: int, step: int, inside: str, shape: str
) -> None:
    """The index is one number for all lanes in the loop. How often a lane has been in it is not."""
    low = f"%low = binary and %x, %three : i32\n%skips = binary eq %low, %three : u1\nif %skips then {{\n{inside}\n}}\n"
    again = ADD.replace("XX", "after").replace("%old", "%o").replace("%shifted", "%s").replace("%new", "%w")
    body = f"""\
{START}%rounds = alloca : *i32
store %rounds, %three
%step = const {step} : {type}
%first = const {begin} : {type}
%limit = const {end} : {type}
%apart = cast %odd : {type}
%begin_of = binary {"add" if step > 0 else "sub"} %first, %apart : {type}
for %begin_of, %limit, %step (%r: {type}) {{
%x = cast %r : i32
%before = load %rounds : i32
%after = binary add %before, %three : i32
store %rounds, %after
{low if inside else ""}{ADD.replace("XX", "x")}{again}}}{STORED}"""
    made = vectorized(body, shape, COUNT)
    assert len([one for one in made.all_of(For) if one.body.args[0].name == "r"]) == 1
    agrees(made, body, COUNT)


# ---- what is not needed ----------------------------------------------------------------------------------------------

LEAVES = """\
%count = alloca : *i32
store %count, %three
while {
%before = load %count : i32
%after = binary add %before, %three : i32
store %count, %after
%stays = binary lt %after, %k32 : u1
if %stays then {
} orelse {
break
}
INSIDE
}
%value = load %count : i32
%told = cast %value : f32
store &out[i], %told"""
BRANCH = "%many = binary gt %odd, %three : u1\nif %many then {\nstore &b[i], %byte\n}\nstore &b[i+30], %byte"
SKIPS = "%same = binary eq %r, %odd : u1\nif %same then {\ncontinue\n}\nstore &b[i], %byte"
INNER = f"for %three, %after, %three (%r: i32) {{\n{SKIPS}\n}}"
BYTE = "%byte = cast %three : u8\n"


def test_a_branch_on_which_lanes_agree_has_no_mask() -> None:
    body = "%n32 = load %n : i32\n%alike = binary gt %n32, %three : u1\nif %alike then {\nstore &out[i], %half\n}"
    assert counts(body, "if %alike", "any_active") == (1, 0)
    assert counts(body.replace("%n32 = load %n : i32", "%n32 = binary xor %odd, %three : i32"), "any_active") == (1,)


@pytest.mark.parametrize(
    ("inside", "masks", "tests"),
    [
        ("", 1, 2),  # the lanes that stay are both those in the loop and those in its iteration
        (BRANCH, 1, 3),  # no lane leaves in that branch: those in the loop are not looked at after it
        (INNER, 3, 4),  # lanes only skip the rest of iterations of the inner loop
    ],
    ids=["leaves", "branch", "inner"],
)
def test_how_many_masks_a_loop_has(inside: str, masks: int, tests: int) -> None:
    body = BYTE + LEAVES.replace("INSIDE", inside)
    assert counts(body, "alloca : *<8 x u1>", "any_active") == (masks, tests)
    agrees(vectorized(body, "lanes=8", COUNT), body, COUNT)


# ---- loops whose iterations run in lanes -----------------------------------------------------------------------------


@pytest.mark.parametrize(("vectors", "loops"), [(1, 2), (2, 3)])
def test_how_often_a_loop_in_lanes_is_written(vectors: int, loops: int) -> None:
    """For whole groups of vectors, and for the rest, which is short: only the first one tests whether to end."""
    text = (FOLDER / "vectorize.before.chi").read_text()
    old = "schedule={lanes=8, vectors=2}"
    assert old in text
    kernel = parse(text.replace(old, f"schedule={{lanes=8, vectors={vectors}, stretch=4096}}"))
    run_passes(kernel, ("vectorize",), CONFIGS["cpu"], None, "mapped")
    made = parallel_tasks(kernel)[1].all_of(For)
    assert len(made) == loops  # and the loop around it
    assert [one.schedule.stretch for one in made].count(4096) == 1


# ---- several vectors at once -----------------------------------------------------------------------------------------

SEVERAL = {
    "a warning of the second vector": """
        %six = const 6 : i64
        %there = binary eq %i, %six : u1
        if %there then {
        warn [], message="so far", kind="overflow"
        }""",
    "a shared place that the second vector writes": """
        %six = const 6 : i64
        %there = binary eq %i, %six : u1
        if %there then {
        store %n, %k32
        }""",
    "numbers that fall": """
        %fall = binary sub %some, %i32 : i32
        atomic add &y.0[k], %fall : i32""",
    "unsigned numbers that fall": """
        %rise = cast %i : u32
        %most = const 3 : u32
        %fall = binary sub %most, %rise : u32
        %place = address %base_y, indices=[%k], strides=[%eight], offset=0, scope="field:y" : *u32
        atomic add %place, %fall : u32""",
    "a local array": """
        %list = alloca : *f32x16
        %along = address %list, indices=[%i], strides=[%four], offset=0, scope="?" : *f32
        %first = address %list, indices=[], strides=[], offset=0, scope="?" : *f32
        store %first, %half
        store %along, %f
        %told = load %along : f32
        %other = load %first : f32
        %sum = binary add %told, %other : f32
        store &out[i], %sum""",
}


@pytest.mark.parametrize("shape", ["lanes=4, vectors=2", "lanes=2, vectors=4"])
@pytest.mark.parametrize("name", SEVERAL)
def test_vectors_that_run_at_once(name: str, shape: str) -> None:
    agrees(vectorized(SEVERAL[name], shape, COUNT), SEVERAL[name], COUNT)


def test_what_all_vectors_store_is_stored_once() -> None:
    assert counts("store %n, %three", "store %n,", shape="lanes=4, vectors=2") == (1,)
