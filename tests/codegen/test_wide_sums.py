"""Which sums of floats into neighbours one instruction adds, and when: those that nothing between them could tell."""

from __future__ import annotations

import textwrap
from typing import Any

import pytest

from weft.codegen.gpu.dialect import device_hooks
from weft.codegen.gpu.wide_atomics import write_row
from weft.codegen.llvm.module import ModuleWriter
from weft.codegen.nvptx.dialect import dialect
from weft.codegen.nvptx.math_library import CudaMath
from weft.ir.artifact import CudaTarget, Slots
from weft.ir.config import CompileConfig
from weft.ir.mapping.wide_atomics import runs_of
from weft.ir.ops import Atomic, AtomicRow
from weft.ir.parse import parse
from weft.ir.scopes import Scope
from weft.ir.target import CUDA
from weft.ir.tasks import tasks_of
from weft.ir.transforms.mapping.widen_atomics import widen

KERNEL = """\
kernel @k(n: i32) -> () {{
  task range_for bounds {{
    %from = const 0 : i64
    %to = const 1000 : i64
    yield begins=[%from], ends=[%to]
  }} prologue {{
    %base = tree_base tree=0 : *i64
    %array = array_base index=0 : *i64
    %block = shared_base number=0, bytes=400 : *i64
    %n = scalar_arg index=0, part=0 : i32
    %m = cast %n : i64
    %four = const 4 : i64
    %eight = const 8 : i64
    %twelve = const 12 : i64
    %sixteen = const 16 : i64
    %same = const 16 : i64
    %v = const 0.5 : f32
    %whole = const 1 : i32
    %t = const true : u1
  }} body (%i: i64) {{
    %own = alloca : *f32x8
    %free = address %base, indices=[%i], strides=[%four], offset=0, scope="field:z" : *f32
{body}
  }}
}}
"""
VECTOR = '%cell = address {0}, indices=[%i], strides=[{1}], offset=0, scope="field:x" : *f32x4\n'


def to(name: str, offset: int, base: str = "%base", stride: str = "%sixteen", index: str = "%i") -> str:
    """A sum of that name."""
    return (
        f"%p{name} = address {base}, indices=[{index}], strides=[{stride}], offset={offset}, "
        f'scope="field:x" : *f32\n%{name} = atomic add %p{name}, %v : f32\n'
    )


def row(names: str, first: int = 0, base: str = "%base", stride: str = "%sixteen") -> str:
    return "".join(to(name, first + 4 * k, base, stride) for k, name in enumerate(names))


def parts(names: str, base: str, stride: str) -> str:
    """Of a vector, whose components are reached from its address."""
    text = VECTOR.format(base, stride)
    for k, name in enumerate(names):
        text += f'%p{name} = address %cell, indices=[], strides=[], offset={4 * k}, scope="field:x" : *f32\n'
        text += f"%{name} = atomic add %p{name}, %v : f32\n"
    return text


A, B = to("a", 0), to("b", 4)
LOAD = "%w = load %free{} : f32\n"


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (row("abcd"), ["abcd d 4"]),
        (parts("abcd", "%base", "%sixteen"), ["abcd d 4"]),
        (row("ab"), ["ab b 2"]),
        (B + A, ["ab a 2"]),
        (to("c", 8) + row("ab") + to("d", 12), ["abcd d 4"]),
        (row("abcd", 8), ["ab b 2", "cd d 2"]),
        (row("ab", 4), []),
        (row("ab", stride="%twelve"), []),
        (row("abc", stride="%twelve"), ["abc c 1"]),
        (row("abcd", stride="%twelve"), ["abc c 1"]),
        (row("abcde", stride="%twelve"), ["abcde e 1"]),
        (row("abc", base="%array"), ["abc c 1"]),
        (row("abc", stride="%m"), ["abc c 1"]),
        (row("ab", base="%array"), []),
        (row("abcd", stride="%eight"), ["ab b 2", "cd d 2"]),
        (row("abcdef", stride="%eight"), ["abcdef f 2"]),
        (row("abcdefgh"), ["abcd d 4", "efgh h 4"]),
        (row("abcdefghjklo"), ["abcd d 4", "efgh h 4", "jklo o 4"]),
        (row("ab") + row("cd", 16), ["ab b 2", "cd d 2"]),
        (row("abc", stride="%twelve") + row("def", 20, stride="%twelve"), ["abc c 1", "def f 1"]),
        # The same place once more; equal constants; another index in between.
        (row("ab") + to("c", 0), ["ab b 2"]),
        (row("ab") + to("c", 0) + to("d", 4), ["ab b 2", "cd d 2"]),
        (A + to("b", 4, stride="%same"), ["ab b 2"]),
        (A + to("c", 0, index="%m") + B, ["ab b 2"]),
        (A + to("b", 4, index="%m"), []),
        (A + to("b", 4, base="%array"), []),
        # What stands between them.
        (A + "%w = binary add %v, %v : f32\n" + B, ["ab b 2"]),
        (A + LOAD.format(", invariant=true") + B, ["ab b 2"]),
        (A + LOAD.format("") + B, []),
        (A + "store %free, %v\n" + B, []),
        (A + "if %t then {\n}\n" + B, []),
        ("if %t then {\n" + A + B + "}\n", ["ab b 2"]),
        (A + "if %t then {\n" + B + "}\n", []),
        (A + "%w = atomic max %free, %v : f32\n" + B, []),
        (A + "%h = temp_ptr offset=8 : *f32\n%w = atomic add %h, %v : f32\n" + B, []),
        # Sums that are none, or not in memory that all threads share.
        ((A + B).replace("atomic add", "atomic sub"), []),
        (A.replace("%v : f32", "%whole : i32").replace("*f32", "*i32") + B, []),
        (A + B + "%w = binary mul %b, %v : f32\n", []),
        (row("abc", base="%own"), []),
        (row("abcd", base="%block"), []),
        (parts("abc", "%block", "%twelve"), []),
        (parts("abc", "%base", "%twelve"), ["abc c 1"]),
    ],
)
def test_runs(body: str, expected: list[str]) -> None:
    (task,) = tasks_of(parse(KERNEL.format(body=textwrap.indent(body, "    "))))
    runs = runs_of(task)
    found = dict.fromkeys(runs.values())
    assert [f"{''.join(str(one.name) for one in run.sums)} {run.last.name} {run.unit}" for run in found] == expected
    assert all(runs[one] is run for run in found for one in run.sums)


def test_sums_into_what_a_block_copies_are_none() -> None:
    """Neighbours may be of two fields."""
    body = row("ab") + row("cd", 8).replace("field:x", "field:y")
    (task,) = tasks_of(parse(KERNEL.format(body=textwrap.indent(body, "    "))))
    found = {frozenset(one.name for one in run.sums) for run in runs_of(task).values()}
    assert found == {frozenset("abcd")}
    found = {frozenset(one.name for one in run.sums) for run in runs_of(task, {Scope("field:y")}).values()}
    assert found == {frozenset("ab")}


class Writer:
    """Takes note of what is added where."""

    def __init__(self) -> None:
        self.added = list[str]()
        spellings = dialect(CudaTarget(90, 81))
        self.module = ModuleWriter(CompileConfig(traits=CUDA), Slots(1, (), (), 0))
        self.target = device_hooks(spellings, CudaMath())

    def set(self, text: str) -> str:
        return f"({text})"

    def use(self, value: Any) -> str:
        return str(value.name)

    def do(self, text: str) -> None:
        self.added.append(text)


def test_a_row_takes_the_place_of_its_sums() -> None:
    body = row("abcd") + row("efg", 16, "%array")
    (task,) = tasks_of(parse(KERNEL.format(body=textwrap.indent(body, "    "))))
    assert widen(task)
    rows = [op for op in task.body if isinstance(op, AtomicRow)]
    assert not task.all_of(Atomic)
    for one, expected in zip(rows, (1, 2), strict=True):
        writer: Any = Writer()
        write_row(writer, one)
        assert len(writer.added) == expected
