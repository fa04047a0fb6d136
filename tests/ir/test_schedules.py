"""Schedules: each pass that maps tasks to a target, on a small kernel, and what the verifier refuses.

`golden/mapping/NAME.before.chi` is the input of the pass NAME; `NAME.chi` is what the pass makes of it."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path

import pytest

from weft.ir.config import CompileConfig
from weft.ir.errors import InternalError
from weft.ir.ops import For, Kernel
from weft.ir.parse import ParseError, parse
from weft.ir.pipeline import TO_LANES, TO_MAPPED, find_pass, map_to_target, run_passes
from weft.ir.schedule import Schedule
from weft.ir.target import ADDS_VECTORS, CUDA, Target
from weft.ir.tasks import tasks_of
from weft.ir.text import print_ir
from weft.ir.verify import verify

FOLDER = Path(__file__).parent / "golden" / "mapping"
NAMES = sorted(path.name.removesuffix(".before.chi") for path in FOLDER.glob("*.before.chi"))
FEATURES = frozenset({"avx2", "avx512f", "avx512vl"})
CONFIGS = {
    "cpu": CompileConfig(target=Target("cpu", features=FEATURES, threads=4), verify=True),
    "gpu": CompileConfig(traits=CUDA, target=Target("gpu", features=frozenset({ADDS_VECTORS})), verify=True),
}
KINDS = {name: kind for kind in CONFIGS for name in TO_MAPPED[kind] + TO_LANES[kind]}
LEVELS = {"join_reductions": "vectors"}  # of the input, if it is not mapped CHI

TASK = """\
kernel @k() -> () {
  task range_for schedule={SCHEDULE} bounds {
    %zero = const 0 : i64
    %end = const 256 : i64
    yield begins=[%zero], ends=[%end]
  } prologue {
    %one = const 1 : i64
    PROLOGUE
  } body (%i: i64) {
    %sum = alloca : *i64
    store %sum, %zero
    BEFORE
    for %BEGIN, %END, %STEP, schedule={LOOP} (%k: i64) {
      %old = load %sum : i64
      %new = binary add %old, %k : i64
      store %sum, %new
      MORE
    }
    AFTER
  } epilogue {
    EPILOGUE
  }
}
"""
PLACE = '%b = tree_base tree=0 : *i64\n%p = address %b, indices=[], strides=[], offset=0, scope="field:n" : *i64\n'
YES = "%yes = binary lt %i, %one : u1"
TWICE = """\
%q = address %b, indices=[], strides=[], offset=8, scope="field:n" : *i64
store %p, %i
store %q, %i
store %p, %i
"""
ALIGNED = {"PROLOGUE": "aligned values=[%one], taps=[]"}
USUAL = {"SCHEDULE": "", "LOOP": "", "BEGIN": "one", "END": "one", "STEP": "one"}
PARTS = (*USUAL, "PROLOGUE", "BEFORE", "MORE", "AFTER", "EPILOGUE")


def task(**parts: str) -> str:
    text = TASK.replace("%zero\n", "%one\n")
    for name in PARTS:
        text = text.replace(name, parts.get(name, USUAL.get(name, "")))
    return text


@pytest.mark.parametrize("name", NAMES)
def test_text(name: str, golden: Callable[[str, str], None]) -> None:
    kernel, level = parse((FOLDER / f"{name}.before.chi").read_text()), LEVELS.get(name, "mapped")
    verify(kernel, level)
    run_passes(kernel, (name,), CONFIGS[KINDS[name]], None, level)
    golden(f"mapping/{name}.chi", print_ir(kernel).rstrip() + "\n")
    assert print_ir(parse(print_ir(kernel))) == print_ir(kernel)


def test_each_pass_has_such_a_text() -> None:
    assert {*KINDS} == {*NAMES}


@pytest.mark.parametrize("name", NAMES)
def test_passes_say_whether_they_change_anything(name: str) -> None:
    serial = "kernel @k() -> () {\n  task serial body {\n    %x = const 1 : i32\n  }\n}\n"
    for text in (serial, task()):
        kernel = parse(text)
        before = print_ir(kernel)
        assert find_pass(name)(kernel, CONFIGS[KINDS[name]]) == (print_ir(kernel) != before)


def test_only_mapped_kernels_have_schedules() -> None:
    kernel = parse(task(SCHEDULE="block=(32, 1, 1)"))
    verify(kernel, "mapped")
    with pytest.raises(InternalError, match="has a schedule, but the kernel is not mapped to a target yet"):
        verify(kernel, "lowered")
    with pytest.raises(InternalError, match="has no target to be mapped to"):
        map_to_target(parse(task()), (), CompileConfig())


def test_an_empty_schedule_is_left_out() -> None:
    (made,) = tasks_of(parse(task()))
    assert made.schedule == Schedule()
    assert "schedule" not in print_ir(parse(task()))


def test_invalid_schedules_are_not_parsed() -> None:
    with pytest.raises(ParseError, match=r"in schedule= before line 2: .*'blocks'.* is not of type Schedule"):
        parse(task(SCHEDULE="blocks=(32, 1, 1)"))


@pytest.mark.parametrize(
    ("parts", "complaint"),
    [
        ({"SCHEDULE": "block=(32)"}, "has blocks of shape"),
        ({"SCHEDULE": "block=(32, 0, 1)"}, "has blocks of shape"),
        ({"SCHEDULE": "block=(32, 32, 2)"}, "has blocks of 2048 threads; the limit is 1024"),
        ({"SCHEDULE": "block=(32, 1, 1), numbered=true"}, "but they do not communicate"),
        ({"SCHEDULE": "block=(32, 1, 1)", "BEFORE": "simt block_sync []"}, "has threads that communicate, but does"),
        ({"SCHEDULE": "block=(32, 2, 1), numbered=true", "BEFORE": "simt block_sync []"}, "expected (n, 1, 1)"),
        ({"SCHEDULE": "launch=1"}, "is in launch 1, but the task before it is in launch -1"),
        ({"SCHEDULE": "launch=0, box=20"}, "has a `box` but reads no memory"),
        ({"SCHEDULE": "grid=large"}, "has the grid 'large'; expected one of"),
        ({"SCHEDULE": "grid=filled, waves=8"}, "has the grid 'filled' but no `box`, or a `box` but not that grid"),
        ({"SCHEDULE": "grid=limited"}, "has 0 waves of blocks"),
        ({"SCHEDULE": "grid=cover, waves=8"}, "has 8 waves of blocks"),
        ({"SCHEDULE": "grid=resident, waves=8"}, "has 8 waves of blocks"),
        ({"SCHEDULE": "grid=limited, waves=8", "LOOP": "warp=true"}, "but its threads need one block each"),
        ({"SCHEDULE": "across=3"}, "is coarsened by (3, 1); expected powers of two"),
        ({"SCHEDULE": "across=2, rows=0"}, "is coarsened by (2, 0); expected powers of two"),
        ({"SCHEDULE": "across=2, phases=some", **ALIGNED}, "has phases 'some'; expected"),
        ({"SCHEDULE": "rows=2", **ALIGNED}, "is coarsened along rows, but has only one axis"),
        ({"SCHEDULE": "across=2"}, "does not contain exactly one op 'aligned'"),
        ({"SCHEDULE": "across=2, numbered=true", **ALIGNED}, "but also numbers its threads"),
        ({"SCHEDULE": "across=2", "LOOP": "warp=true", **ALIGNED}, "but also runs each iteration on a warp"),
        ({"SCHEDULE": "across=2", "MORE": "while {\nbreak\n}", **ALIGNED}, "depends on the order of iterations"),
        ({"SCHEDULE": "across=2", "END": "i", **ALIGNED}, "bounds of its loops differ between iterations"),
        ({"LOOP": "jam=3"}, "has jam=3; expected 0, 2, 4 or 8"),
        ({"LOOP": "ahead=true"}, "loads ahead, but it is not jammed"),
        ({"LOOP": "jam=4, ahead=true"}, "loads ahead, but it is not jammed"),
        ({"LOOP": "jam=4", "BEFORE": "%two = const 2 : i64", "STEP": "two"}, "its step is not one"),
        ({"LOOP": "jam=4", "MORE": "for %one, %one, %one (%h: i64) {\n}"}, "but contains another loop"),
        ({"LOOP": "jam=4", "MORE": "print [], parts=(\"x\")"}, "depends on the order of iterations"),
        ({"LOOP": "unroll=-1"}, "has unroll=-1; expected 0 or more"),
        ({"LOOP": "unroll=4", "BEFORE": "%n = load %sum : i64", "END": "n"}, "its number of iterations is unknown"),
        ({"LOOP": "unroll=4", "MORE": "for %one, %one, %one (%h: i64) {\n}"}, "but contains another loop"),
        ({"LOOP": "warp=true", "AFTER": "for %one, %one, %one (%h: i64) {\n}"}, "is not the only loop of its task"),
        ({"LOOP": "warp=true", "BEFORE": "%n = load %sum : i64", "END": "n"}, "its number of iterations is unknown"),
        ({"LOOP": "warp=true", "BEFORE": "%two = const 2 : i64", "STEP": "two"}, "its step is not one"),
        ({"LOOP": "warp=true", "MORE": PLACE + "store %p, %k"}, "does more than reduce into locals"),
        ({"LOOP": "warp=true", "BEFORE": PLACE + "store %p, %i"}, "ops before it access memory that is not local"),
        ({"LOOP": "warp=true", "PROLOGUE": PLACE + "store %p, %one"}, "ops before it access memory that is not local"),
        ({"LOOP": "warp=true", "EPILOGUE": "%two = const 2 : i64"}, "its task has an epilogue"),
        ({"SCHEDULE": "lanes=3"}, "has 1 vectors of 3 lanes"),
        ({"SCHEDULE": "lanes=128"}, "has 1 vectors of 128 lanes"),
        ({"SCHEDULE": "lanes=8, vectors=0"}, "has 0 vectors of 8 lanes"),
        ({"SCHEDULE": "vectors=4"}, "has 4 vectors, but no lanes"),
        ({"SCHEDULE": 'lanes=8, serial_because="a whim"'}, "runs in lanes, but `serial_because` says why it does not"),
        ({"SCHEDULE": "lanes=8", "AFTER": 'print [], parts=("hi")'}, "cannot run in lanes: it holds 'print'"),
        ({"LOOP": "lanes=5"}, "has 1 vectors of 5 lanes"),
        ({"LOOP": "lanes=8", "SCHEDULE": "lanes=8"}, "runs its iterations in lanes, but so does the task around it"),
        ({"LOOP": "lanes=8", "MORE": PLACE + "store %p, %k"}, "does more than compute reductions"),
        ({"LOOP": "lanes=8", "MORE": "if %yes then {\n  break\n}", "BEFORE": YES}, "does more than compute reductions"),
        ({"LOOP": "lanes=8", "BEFORE": "%two = const 2 : i64", "STEP": "two"}, "does more than compute reductions"),
        ({"LOOP": "lanes=8", "MORE": "store %sum, %k"}, "does more than compute reductions"),
        ({"SCHEDULE": "stretch=100"}, "has stretches of 100 iterations; expected a multiple of"),
        ({"SCHEDULE": "stretch=256, even=true"}, "is even, but its stretches may have different lengths"),
        ({"SCHEDULE": "stretch=512, even=true, alone=true"}, "is even, but its stretches may have different lengths"),
        ({"SCHEDULE": "stretch=-16, even=true, alone=true"}, "is even, but its stretches may have different lengths"),
        ({"LOOP": "short=true"}, "is short, but has no stretches"),
        ({"SCHEDULE": "price=-1.0"}, "has the price -1.0"),
        ({"SCHEDULE": "alone=true, plain=true"}, "more than one of `alone`, `plain` and `privatized`"),
        ({"SCHEDULE": "vectorize=twice"}, "has vectorize='twice'"),
        ({"SCHEDULE": "unordered=true, lanes=8"}, "is unordered, but LLVM does not vectorize it"),
        ({"SCHEDULE": "unordered=true, vectorize=never"}, "is unordered, but LLVM does not vectorize it"),
        ({"SCHEDULE": "unordered=true", "AFTER": PLACE + TWICE}, "the order of its accesses matters"),
    ],
)  # fmt: skip
def test_invalid_schedules_are_refused(parts: dict[str, str], complaint: str) -> None:
    verify(parse(task(**{name: text for name, text in parts.items() if name not in ("SCHEDULE", "LOOP")})), "mapped")
    with pytest.raises(InternalError) as caught:
        verify(parse(task(**parts)), "mapped")
    assert complaint in str(caught.value)


def test_a_loop_inside_of_another_is_no_warps() -> None:
    inner = "for %one, %one, %one, schedule={warp=true} (%h: i64) {\n}"
    with pytest.raises(InternalError, match="is divided among a warp, but is not in the body of a task"):
        verify(parse(task(MORE=inner)), "mapped")


SCATTER = """\
kernel @k() -> () {
  field @h: i32[16] tree=0 components=(0) terms=((0, 1, 16, 4))EXPOSED
  task range_for schedule={VERSIONprivatized=COPIES} bounds {
    %zero = const 0 : i64
    %end = const 256 : i64
    yield begins=[%zero], ends=[%end]
  } prologue {
    %base = tree_base tree=0 : *i64
    %four = const 4 : i64
    %one = const 1 : i32
  } body (%i: i64) {
    %p = address %base, indices=[%i], strides=[%four], offset=0, scope="field:h" : *i32
    atomic add %p, %one : i32
    MORE
  }
}
"""
COPIES = '({scope="field:h", tree=0, low=0, words=16, kind=add, type=i32, reach=4})'


@pytest.mark.parametrize(
    ("old", "new", "complaint"),
    [
        ("words=16", "words=15", "privatizes field:h with another layout"),
        ("low=0", "low=4", "privatizes field:h with another layout"),
        ("tree=0, low", "tree=1, low", "privatizes field:h with another layout"),
        ("reach=4", "reach=8", "privatizes field:h with another layout"),
        ("kind=add", "kind=max", "privatizes field:h, but does not only update it"),
        ('"field:h", tree', '"field:g", tree', "privatizes field:g, which is not a field of this kernel"),
        ("EXPOSED", " exposed=true", "which is not a field of this kernel, or overlaps"),
        ("MORE", "%v = load %p : i32", "privatizes field:h, but does not only update it"),
        ("MORE", "store %p, %one", "privatizes field:h, but does not only update it"),
        ("MORE", "atomic max %p, %one : i32", "privatizes field:h, but does not only update it"),
        ("MORE", "%v = atomic add %p, %one : i32\n%w = binary add %v, %one : i32", "does not only update it"),
        ("MORE", 'assert %yes, [], message="no"', "privatizes field:h, but does not only update it"),
        ("VERSION", "alone=true, ", "more than one of `alone`, `plain` and `privatized`"),
        ("reach=4", "reach=4, copies=3", "makes 3 copies of field:h; expected"),
    ],
)
def test_invalid_private_copies_are_refused(old: str, new: str, complaint: str) -> None:
    def made(text: str) -> str:
        text = text.replace("MORE", "").replace("EXPOSED", "").replace("VERSION", "")
        return text.replace("assert", "%yes = binary lt %i, %end : u1\n    assert")

    scatter = SCATTER.replace("COPIES", COPIES)
    verify(parse(made(scatter)), "mapped")
    assert old in scatter
    with pytest.raises(InternalError) as caught:
        verify(parse(made(scatter.replace(old, new))), "mapped")
    assert complaint in str(caught.value)


@pytest.mark.parametrize(("block", "copies", "fits"), [(True, 512, True), (True, 1024, False), (False, 1024, True)])
def test_copies_fit_the_memory_of_a_block(block: bool, copies: int, fits: bool) -> None:
    text = SCATTER.replace("COPIES", COPIES.replace("reach=4", f"reach=4, copies={copies}"))
    text = text.replace("VERSION", "block=(32, 1, 1), " if block else "").replace("MORE", "").replace("EXPOSED", "")
    with nullcontext() if fits else pytest.raises(InternalError, match="has 65536 bytes of copies in each block"):
        verify(parse(text), "mapped")


@pytest.mark.parametrize(
    ("said", "complaint"),
    [
        ("axis=0, low=1, high=1, fits=true", ""),
        ("axis=0, low=1, high=2, fits=true", "has a clamp whose attributes do not match its index"),
        ("axis=0, low=0, high=1, fits=true", "has a clamp whose attributes do not match its index"),
        ("axis=0, low=1, high=1", "has a clamp whose attributes do not match its index"),
        ("axis=1, low=1, high=1, fits=true", "has a clamp whose attributes do not match its index"),
        ("axis=0, low=1, high=1, moved=1, fits=true", "has a clamp whose attributes do not match its index"),
        ("axis=0, low=2, high=1, fits=true", "has a clamp whose attributes do not match its index"),
    ],
)
def test_what_a_clamp_says_of_its_index(said: str, complaint: str) -> None:
    text = task(SCHEDULE="across=2", BEFORE=f"%m = binary add %i, %one : i64\n%c = clamp min %m, %one, {said} : i64")
    kernel = parse(
        text.replace("PROLOGUE", "").replace(
            "%one = const 1 : i64\n", "%one = const 1 : i64\naligned values=[], taps=[]\n"
        )
    )
    if not complaint:
        verify(kernel, "mapped")
        return
    with pytest.raises(InternalError, match=complaint):
        verify(kernel, "mapped")


@pytest.mark.parametrize(
    ("old", "new", "complaint"),
    [
        (", phases=anywhere", "", "but its schedule has no phases"),
        ("schedule={across=4, busy=1024, phases=anywhere} ", "", "but its schedule has no phases"),
        (", schedule={unroll=4}", "", "outside of the code that has versions"),
        ("schedule={unroll=4}", "schedule={jam=4}", "outside of the code that has versions"),
        (
            "[%place, %none], strides=[%row, %four]",
            "[%i, %none], strides=[%four, %row]",
            "begin at different offsets in a word",
        ),
        ("[%place, %none], strides=[%row, %four]", "[%i, %place], strides=[%row, %four]", ""),
        ("indices=[%i, %place]", "indices=[%q, %place]", "cannot be computed before the code that has versions"),
        ("indices=[%i, %place]", "indices=[%j, %place]", "cannot be computed before the code that has versions"),
        (
            "indices=[%i, %place], strides=[%row, %four]",
            "indices=[%place], strides=[%four]",
            "cannot be computed before",
        ),
        ("indices=[%i, %j]", "indices=[%j, %i]", "cannot be computed before the code that has versions"),
    ],
)
def test_which_rows_begin_anywhere(old: str, new: str, complaint: str) -> None:
    text = (FOLDER / "version_rows.chi").read_text()
    verify(parse(text), "mapped")
    assert old in text
    text = text.replace(old, new)
    if "begin at" in complaint or not complaint:
        text = text.replace('offset=0, scope="field:x" :', 'offset=0, scope="field:x", phased=true :')
    if not complaint:
        verify(parse(text), "mapped")
        return
    with pytest.raises(InternalError, match=complaint):
        verify(parse(text), "mapped")


@pytest.mark.parametrize(
    ("old", "new", "complaint"),
    [
        ("grid=filled, waves=8", "grid=cover", "a `box` but not that grid"),
        ("grid=filled, waves=8", "grid=filled", "has 0 waves of blocks"),
        ("launch=2, grid=cover", "launch=2, numbered=true, grid=resident", "but its threads need one block each"),
    ],
)
def test_invalid_grids_are_refused(old: str, new: str, complaint: str) -> None:
    text = (FOLDER / "choose_grids.chi").read_text()
    text = text.replace(
        "    %two = const 2 : i32\n", "    %two = simt thread_idx [] : i32\n" if "numbered" in new else ""
    )
    assert old in text
    with pytest.raises(InternalError, match=complaint):
        verify(parse(text.replace(old, new)), "mapped")


CALLS = """\
kernel @NAME(n: i32) -> () called=true {
  task serial body {
    %n = scalar_arg index=0, part=0 : i32
    %zero = const 0 : i32
    %one = const 1 : i32
    %last = const LAST : i32
    for %zero, %last, %one (%i: i32) {
      BODY
    }
  }
}
"""


def called(name: str, last: str, body: str) -> Kernel:
    return parse(CALLS.replace("NAME", name).replace("LAST", last).replace("BODY", body))


@pytest.mark.parametrize(
    ("last", "body", "stretch"),
    [
        ("100", "", 39024),  # a hundred iterations, and a call
        ("1000000", "%x = binary add %i, %n : i32", 3),  # an iteration costs a third of what lies between two tests
        ("2147483647", "%x = binary add %i, %n : i32", -16),  # the function tests by itself
        ("2", "invoke function=f, [%i]", -16),  # it calls itself
    ],
)
def test_loops_around_calls_test_as_often_as_calls_cost(last: str, body: str, stretch: int) -> None:
    function, caller = called("f", last, body), called("k", "1000000", "invoke function=f, [%i]")
    map_to_target(caller, [function], CONFIGS["cpu"])
    (loop,) = caller.all_of(For)
    assert loop.schedule.stretch == stretch


def test_joined_trees() -> None:
    text = (FOLDER / "join_scopes.chi").read_text()
    verify(parse(text.replace("joined=(0)", "joined=(0, 1)")), "mapped")  # LLVM knows less than it may
    for old, new, trees in (("joined=(0)", "joined=(1)", "0"), ("joined=(1)", "joined=(0)", "1")):
        assert old in text
        with pytest.raises(InternalError, match=rf"does not join the alias scopes of the trees \[{trees}\]"):
            verify(parse(text.replace(old, new)), "mapped")


def test_the_trees_of_functions_are_joined() -> None:
    kernel = parse((FOLDER / "join_scopes.before.chi").read_text())
    kernel.called = True
    run_passes(kernel, ("join_scopes",), CONFIGS["cpu"], None, "mapped")
    assert {task.schedule.joined for task in tasks_of(kernel)} == {(0, 1)}


def test_what_is_aligned_stands_in_a_prologue() -> None:
    with pytest.raises(InternalError, match="is not in the prologue of a task"):
        verify(parse(task(BEFORE="aligned values=[], taps=[]")), "mapped")
    with pytest.raises(InternalError, match="has operands other than bases and strides of arrays"):
        verify(parse(task(PROLOGUE="%n = const 1 : i32\naligned values=[%n], taps=[]")), "mapped")


LOADED = PLACE.replace("%p", "%at").replace("%b", "%tree") + "%end = load %at : i64"
TWO_ARRAYS = "bytes=40, offset=0 : *i64\n%b = shared_base number=1, bytes=40, offset=32 : *i64"
LAUNCHES = """\
kernel @k() -> () {
  task serial schedule={launch=0} body {
    %yes = const true : u1
    assert %yes, [], message="no"
  }
  task serial schedule={launch=0} body {
    %x = const 1 : i32
  }
  task range_for schedule={launch=1, guarded=true} bounds {
    %zero = const 0 : i64
    %end = const 64 : i64
    yield begins=[%zero], ends=[%end]
  } body (%i: i64) {
    %a = shared_base number=0, bytes=40 : *i64
  }
}
"""


@pytest.mark.parametrize(
    ("old", "new", "complaint"),
    [
        ("launch=1, guarded=true", "launch=1", "is not guarded, but an earlier launch may end the kernel"),
        ("launch=1, guarded=true", "launch=0, guarded=true", "is in launch 0, but the task before it is in launch 0"),
        ("launch=1, guarded=true", "launch=2, guarded=true", "is in launch 2, but the task before it is in launch 0"),
        ("launch=1, guarded=true", "launch=1, guarded=true, box=20", "has a `box` but reads no memory"),
        ("%end = const 64 : i64", LOADED, "has a `box` but reads no memory"),
        (
            "serial schedule={launch=0}",
            "serial schedule={launch=0, across=2}",
            "fields in its schedule that only parallel tasks may have",
        ),
        ("bytes=40 :", "bytes=40, offset=0 :", "has 40 bytes of shared arrays, but reserves 0"),
        ("bytes=40 : *i64", TWO_ARRAYS, "has shared arrays that overlap"),
    ],
)
def test_invalid_launches_are_refused(old: str, new: str, complaint: str) -> None:
    verify(parse(LAUNCHES), "mapped")
    assert old in LAUNCHES
    with pytest.raises(InternalError) as caught:
        verify(parse(LAUNCHES.replace(old, new, 1)), "mapped")
    assert complaint in str(caught.value)


@pytest.mark.parametrize(
    ("values", "unit", "complaint"),
    [
        ("%v, %v", 2, ""),
        ("%v, %v, %v, %v, %v, %v", 2, ""),
        ("%v, %v, %v", 1, ""),
        ("%v, %v, %v, %v", 2, "adds 4 values in units of 2"),
        ("%v, %v", 1, "adds 2 values in units of 1"),
        ("%v, %v, %v", 3, "adds 3 values in units of 3"),
        ("%v", 1, "adds fewer than two values"),
        ("%w, %w", 2, "has an address or values of other types than f32"),
    ],
)
def test_rows_of_sums(values: str, unit: int, complaint: str) -> None:
    numbers = "%v = const 1.0 : f32\n%w = const 1.0 : f64\n"
    row = numbers + PLACE.replace("*i64\n", "*f32\n").replace("tree=0 : *f32", "tree=0 : *i64")
    kernel = parse(task(BEFORE=f"{row}atomic_row %p, [{values}], unit={unit}"))
    if not complaint:
        verify(kernel, "mapped")
        return
    with pytest.raises(InternalError, match=complaint):
        verify(kernel, "mapped")


def test_only_functions_ask_for_their_stack() -> None:
    with pytest.raises(InternalError, match="is not in a function that kernels call"):
        verify(parse(task(BEFORE="%left = stack_left : u1")), "mapped")
