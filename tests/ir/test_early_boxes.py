"""The box of a task is computed by an earlier single thread where it is known there already."""

from __future__ import annotations

import re
from collections.abc import Sequence

import pytest

from weft.ir.config import CompileConfig
from weft.ir.errors import InternalError
from weft.ir.mapping.early_boxes import leaves_its_box
from weft.ir.ops import Kernel
from weft.ir.parse import parse
from weft.ir.pipeline import run_passes
from weft.ir.target import GPU, Target
from weft.ir.tasks import tasks_of
from weft.ir.text import print_ir
from weft.ir.verify import verify

CONFIG = CompileConfig(arch="cuda", target=Target("gpu"), traits=GPU, fast_math=False)
PLACE = """\
%t{0} = temp_ptr offset={0} : *i32
%a{0} = address %t{0}, indices=[], strides=[], offset=0, scope="temp:{0}" : *i32
"""
X = """\
%tree = tree_base tree=0 : *i64
%four = const 4 : i64
%p = address %tree, indices=[%i], strides=[%four], offset=0, scope="field:x" : *i32
"""
SINGLE = (
    f"task serial body {{\n{PLACE.format(0)}{PLACE.format(8)}%n = const 7 : i32\nstore %a0, %n\nstore %a8, %n\n}}\n"
)


def loop(*read: int, body: str = "%v = const 1 : i32\n") -> str:
    """A loop whose box depends on these temporaries. It stores `%v`."""
    end = "".join(f"{PLACE.format(place)}%v{place} = load %a{place} : i32\n" for place in read)
    last = f"%end = cast %v{read[-1]} : i64\n" if read else "%end = const 20 : i64\n"
    return (
        f"task range_for bounds {{\n%begin = const 0 : i64\n{end}{last}yield begins=[%begin], ends=[%end]\n}} "
        f"body (%i: i64) {{\n{body}{X}store %p, %v\n}}\n"
    )


READS = loop(body=f"{PLACE.format(0)}%v = load %a0 : i32\n")
USES = f"{PLACE.format(0)}%w = load %a0 : i32\n"
PROLOGUE = loop().replace("} body", f"}} prologue {{\n{USES}}} body")
EPILOGUE = loop().removesuffix("}\n") + f"}} epilogue {{\n{USES}}}\n"
FIELD = """\
task range_for bounds {
%begin = const 0 : i64
%tree = tree_base tree=0 : *i64
%p = address %tree, indices=[], strides=[], offset=0, scope="field:x" : *i32
%v = load %p : i32
%end = cast %v : i64
yield begins=[%begin], ends=[%end]
} body (%i: i64) {
}
"""
WRITES = FIELD.replace("(%i: i64) {\n", f"(%i: i64) {{\n%v = const 1 : i32\n{X}store %p, %v\n")
CASES: dict[str, tuple[Sequence[str], list[int], list[int]]] = {
    "one number": ((SINGLE, loop(0), loop(0), loop(0)), [0, 1, 2, 3], [-1, -1, 0, 0]),
    "two numbers": ((SINGLE, loop(0), loop(8), loop(0, 8)), [0, 1, 2, 3], [-1, -1, 0, 0]),
    "a loop of known length between": ((SINGLE, loop(), loop(0)), [0, 1, 2], [-1, -1, 0]),
    "a loop that uses the number": ((SINGLE, READS, loop(0)), [0, 1, 3], [-1, -1, -1]),
    "a prologue that uses the number": ((SINGLE, PROLOGUE, loop(0)), [0, 1, 3], [-1, -1, -1]),
    "an epilogue that uses the number": ((SINGLE, EPILOGUE, loop(0)), [0, 1, 3], [-1, -1, -1]),
    "a loop that uses another number": ((SINGLE, READS, loop(8)), [0, 1, 2], [-1, -1, 0]),
    "a single thread between": ((SINGLE, loop(0), SINGLE, loop(0), loop(0)), [0, 1, 2, 3, 4], [-1, -1, -1, -1, 2]),
    "two single threads": ((SINGLE, SINGLE, loop(0), loop(0)), [0, 0, 1, 2], [-1, -1, -1, 0]),
    "no single thread before": ((loop(), loop(0), loop(0)), [0, 2, 3], [-1, -1, 1]),
    "at the beginning": ((loop(0), loop(0)), [1, 2], [-1, 0]),
    "a number in a field": ((SINGLE, loop(0), FIELD), [0, 1, 2], [-1, -1, -1]),
    "a number in a field that the loop writes": ((SINGLE, loop(0), WRITES), [0, 1, 3], [-1, -1, -1]),
}


def parsed(tasks: Sequence[str]) -> Kernel:
    """The kernel of these tasks, each block with names of its own."""
    blocks = [
        "} body" + block if number else block for task in tasks for number, block in enumerate(task.split("} body"))
    ]
    tasks = [re.sub(r"%(\w+)", rf"%\1_{number}", block) for number, block in enumerate(blocks)]
    field = "field @x: i32[20] tree=0 components=(0) terms=((0, 1, 20, 4)) order=(0)"
    return parse(f"kernel @k() -> () temp_bytes=16 {{\n{field}\n{''.join(tasks)}}}\n")


def planned(tasks: Sequence[str]) -> Kernel:
    """Such a kernel with launches."""
    kernel = parsed(tasks)
    run_passes(kernel, ("plan_launches",), CONFIG, level="lowered")
    verify(kernel, "mapped")
    return kernel


@pytest.mark.parametrize("name", CASES)
def test_when_boxes_are_computed(name: str) -> None:
    tasks, launches, measured = CASES[name]
    found = [task.schedule for task in tasks_of(planned(tasks))]
    assert [one.launch for one in found] == launches
    assert [one.measured for one in found] == measured


@pytest.mark.parametrize(
    ("name", "measured", "message"),
    [
        ("a loop that uses the number", 0, "is measured before a task that may change its bounds"),
        ("a number in a field that the loop writes", 0, "is measured before a task that may change its bounds"),
        ("one number", 1, "is measured in a launch that is not one of a single thread"),
    ],
)
def test_a_box_that_is_computed_too_early_is_an_error(name: str, measured: int, message: str) -> None:
    text = print_ir(planned(CASES[name][0]))
    last = text.rindex("schedule={") + len("schedule={")
    wrong = f"{text[:last]}measured={measured}, {text[last:].replace(', measured=0', '')}"
    with pytest.raises(InternalError, match=message):
        verify(parse(wrong), "mapped")


CALLS = FIELD.replace("(%i: i64) {\n", "(%i: i64) {\ninvoke function=f, [], touched=(x)\n")
OTHER = WRITES.replace('strides=[%four], offset=0, scope="field:x"', 'strides=[%four], offset=0, scope="field:y"')


@pytest.mark.parametrize(
    ("task", "own"),
    [
        (FIELD, True),
        (WRITES, False),
        (OTHER, True),
        (OTHER.replace('"field:y"', '""'), False),
        (FIELD.replace('"field:x"', '"exposed field:x"'), False),
        (CALLS, False),
        (CALLS.replace("(x)", "(y)"), True),
    ],
    ids=["nothing", "the field", "another field", "anywhere", "lent memory", "a call", "another call"],
)
def test_which_boxes_a_loop_leaves_alone(task: str, own: bool) -> None:
    (made,) = tasks_of(parsed((task,)))
    assert leaves_its_box(made) == own


def test_a_loop_computes_a_box_that_it_leaves_alone() -> None:
    assert [task.schedule.own_box for task in tasks_of(planned((FIELD, WRITES)))] == [True, False]
    text = print_ir(planned((FIELD,)))
    (body,) = re.findall(r"body \(.*", text)
    wrong = text.replace(body, f"{body}\n%w = const 1 : i32\n{X.replace('%i', body[6:].split(':')[0])}store %p, %w")
    with pytest.raises(InternalError, match="computes its box itself, but may change it"):
        verify(parse(wrong), "mapped")
