"""What no two iterations share, by the indices of the accesses; and what each thread sums up by itself."""

from __future__ import annotations

import textwrap

import pytest

from weft.ir import ops
from weft.ir.config import CompileConfig
from weft.ir.parse import parse
from weft.ir.symbols import FieldSymbol
from weft.ir.tasks import private_spaces, tasks_of
from weft.ir.transforms.demote_atomics import demote_atomics
from weft.ir.transforms.flag_access import flag_access
from weft.ir.transforms.thread_local import thread_local

FRAME = """kernel @k(n: i32, a: [i32; 1], b: [i32; 1], c: [i32; 1 exposed], d: [i32; 1 exposed],\
 s: [i32; 1 strided]) -> () {{
    field @x: i32[8] tree=0 components=(0) terms=((0, 1, 8, 4)) offset=(0) order=(0)
    field @y: i32[8, 8] tree=1 components=(0) terms=((0, 1, 8, 32), (1, 1, 8, 4)) offset=(0, 0) order=(0, 1)
    task range_for bounds {{
        %0 = const 0 : i32
        %n = arg index=0 : i32
        yield begins=[%0, %0], ends=[%n, %n]
    }} body (%i: i32, %j: i32) {{
        %one = const 1 : i32
        %a = arg index=1 : [i32; 1]
        %b = arg index=2 : [i32; 1]
        %c = arg index=3 : [i32; 1 exposed]
        %d = arg index=4 : [i32; 1 exposed]
        %s = arg index=5 : [i32; 1 strided]
        %m = arg index=0 : i32
        %row = binary mul %i, %m : i32
        %cell = binary add %row, %j : i32
        %next = binary add %j, %one : i32
{body}
    }}
}}
"""
AB = "%p = field_ptr @y[%i, %j] : *i32\n"


@pytest.mark.parametrize(
    ("body", "private", "with_readers"),
    [
        (AB + "store %p, %i", {"y"}, {"y"}),
        (AB + "%o = atomic add %p, %i : i32", {"y"}, {"y"}),
        (AB + "%v = load %p : i32", set(), set()),
        (AB + "store %p, %i\n%q = field_ptr @y[%i, %next] : *i32\n%v = load %q : i32", {"y"}, set()),
        (AB + "store %p, %i\n%q = field_ptr @y[%i, %next] : *i32\nstore %q, %i", set(), set()),
        (AB + "store %p, %i\n%q = field_ptr @y[%j, %i] : *i32\nstore %q, %i", set(), set()),
        ("%p = field_ptr @y[%next, %i] : *i32\nstore %p, %i", {"y"}, {"y"}),
        ("%p = field_ptr @y[%i, %i] : *i32\nstore %p, %i", set(), set()),
        ("%p = field_ptr @y[%i, %m] : *i32\nstore %p, %i", set(), set()),
        ("%p = field_ptr @x[%cell] : *i32\nstore %p, %i", set(), set()),
        ("%l = alloca : *i32\nstore %l, %i\n" + AB + "store %p, %j", {"y"}, {"y"}),
        (AB + "store %p, %i\ninvoke function=f, [], touched=(x)", {"y"}, {"y"}),
        (AB + "store %p, %i\ninvoke function=f, [], touched=(y)", set(), set()),
        (AB + "store %p, %i\ninvoke function=f, [], touched=(y), only_read=(y)", {"y"}, set()),
    ],
)
def test_fields(body: str, private: set[str], with_readers: set[str]) -> None:
    (task,) = tasks_of(parse(FRAME.format(body=textwrap.indent(body, "        "))))
    for readers, wanted in ((False, private), (True, with_readers)):
        found = private_spaces(task, readers=readers)
        assert {space.name for space in found if isinstance(space, FieldSymbol)} == wanted
        assert len(found) == len(wanted)


def ptr(name: str, array: str, index: str) -> str:
    return f"%{name} = array_ptr %{array}[%{index}] : *i32\n"


@pytest.mark.parametrize(
    ("body", "private", "with_readers"),
    [
        (ptr("p", "a", "i") + "store %p, %i", 1, 1),
        (ptr("p", "s", "i") + "store %p, %i", 0, 0),  # rows of a view may overlap
        (ptr("p", "a", "i") + "store %p, %i\n" + ptr("q", "b", "next") + "%v = load %q : i32", 1, 1),
        (ptr("p", "a", "i") + "store %p, %i\n" + ptr("q", "a", "m") + "%v = load %q : i32", 1, 0),
        (ptr("p", "c", "i") + "store %p, %i", 1, 1),
        (ptr("p", "c", "i") + "store %p, %i\n" + ptr("q", "d", "m") + "%v = load %q : i32", 1, 1),
        (ptr("p", "c", "i") + "store %p, %i\n" + ptr("q", "c", "m") + "%v = load %q : i32", 1, 0),
        (ptr("p", "c", "i") + "store %p, %i\n" + ptr("q", "d", "i") + "store %q, %i", 0, 0),
    ],
)
def test_arrays(body: str, private: int, with_readers: int) -> None:
    (task,) = tasks_of(parse(FRAME.format(body=textwrap.indent(body, "        "))))
    indices = task.body.args[:1]
    for readers, wanted in ((False, private), (True, with_readers)):
        assert len(private_spaces(task, indices, readers)) == wanted


@pytest.mark.parametrize(
    ("end", "factor", "kept"),
    [
        ("%n", 65534, False),
        ("%n", -65534, False),
        ("%n", 65532, False),  # comes round, but beyond all fields
        ("%n", 65536, True),  # comes round after 2**16 iterations, of which there may be more
        ("%n", 65537, False),  # an odd one never does
        ("%k", 65536, False),
        ("%k", 2**28, False),
        ("%k", 2**29, True),  # of 16 iterations the first and the ninth meet
        ("%k", -(2**31), True),
    ],
)
def test_multiples_of_an_index_that_come_round_keep_an_atomic(end: str, factor: int, kept: bool):
    text = f"""kernel @k(n: i32) -> () {{
        field @x: i32[8] tree=0 components=(0) terms=((0, 1, 8, 4)) offset=(0) order=(0)
        task range_for bounds {{
            %b = const 0 : i32
            %k = const 16 : i32
            %n = arg index=0 : i32
            yield begins=[%b], ends=[{end}]
        }} body (%i: i32) {{
            %f = const {factor} : i32
            %j = binary mul %i, %f : i32
            %p = field_ptr @x[%j] : *i32
            %o = atomic add %p, %f : i32
        }}
    }}"""
    made = parse(text)
    demote_atomics(made, CompileConfig())
    assert bool(made.all_of(ops.Atomic)) == kept


@pytest.mark.parametrize(
    ("kind", "type", "own"),
    [
        ("and", "u1", True),
        ("or", "u1", True),
        ("xor", "u1", True),
        ("add", "u1", False),  # modulo 2, which no operator on truth values is
        ("add", "i32", True),
        ("xor", "i32", True),
        ("xchg", "i32", False),
        ("xchg", "u1", False),
    ],
)
def test_what_threads_combine_by_themselves(kind: str, type: str, own: bool) -> None:
    text = f"""kernel @k(v: {type}) -> () {{
        field @t: {type} tree=0 components=(0)
        task range_for bounds {{
            %0 = const 0 : i32
            %n = const 16 : i32
            yield begins=[%0], ends=[%n]
        }} body (%i: i32) {{
            %v = arg index=0 : {type}
            %p = field_ptr @t[] : *{type}
            %o = atomic {kind} %p, %v : {type}
        }}
    }}"""
    kernel = parse(text)
    assert thread_local(kernel, CompileConfig()) == own


@pytest.mark.parametrize(
    ("body", "reads", "writes"),
    [
        (AB + "store %p, %i", (), ("y",)),
        (AB + "%v = load %p : i32", ("y",), ()),
        (AB + "%o = atomic add %p, %i : i32", ("y",), ("y",)),
        (ptr("p", "b", "i") + "%o = atomic add %p, %i : i32", ("b",), ("b",)),
    ],
)
def test_what_a_task_reads_and_writes(body: str, reads: tuple[str, ...], writes: tuple[str, ...]) -> None:
    kernel = parse(FRAME.format(body=textwrap.indent(body, "        ")))
    flag_access(kernel, CompileConfig())
    (task,) = tasks_of(kernel)
    assert (task.read_set, task.write_set) == (reads, writes)
