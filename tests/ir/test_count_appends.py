"""Appends that are counted before the task that does them: when that is legal, and the order that it gives."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from random import Random
from typing import Any

import numpy as np
import pytest

from tests.ir.key_loops import keyed, keys
from tests.ir.test_sparse_deactivation import lost
from tests.ir.test_sparse_lowering import PLAIN, agree, kernel_of
from tests.sampling import draws, every
from tests.sparse_trees import (
    Declared,
    I,
    J,
    K,
    branch,
    declare,
    lower,
    meant_values,
    place,
    slots,
    stored_lengths,
    stored_values,
)
from weft.ir.config import CompileConfig
from weft.ir.errors import CompilationError
from weft.ir.evaluate import Fault, Memory, evaluate
from weft.ir.interleaving import Schedule
from weft.ir.ops import FieldPtr, Kernel
from weft.ir.pipeline import TO_TASKS, run_passes
from weft.ir.runtime_library.append_counts import counts_text
from weft.ir.runtime_library.sparse_cells import written_on
from weft.ir.storage.snode import SNode
from weft.ir.symbols import FieldSymbol
from weft.ir.target import CPU
from weft.ir.tasks import parallel_tasks
from weft.ir.transforms import count_appends, early_copies
from weft.ir.types import i32

QUICK = replace(PLAIN, verify=False, threads=3)


def tree(ordered: bool = True, limit: int = 60, most: int = 1 << 40) -> Declared:
    """`x` and `y` in 3 lists of pairs, `z` in lists of two axes around that of the lists, `s` in lists below a pointer
    node. `k`, `f` and `sum` are dense."""
    root = SNode("root")
    place(root, "sum", i32)
    place(branch(root, "dense", (I, 10)), "k", i32)
    place(branch(root, "dense", (I, 10)), "f", i32)
    for kind, axes, inner, names in (
        ("dense", ((I, 3),), (J, limit), "xy"),
        ("dense", ((I, 2), (K, 2)), (J, limit), "z"),
        ("pointer", ((I, 3),), (J, limit), "s"),
    ):
        node = branch(branch(root, kind, *axes), "dynamic", inner, chunk=3)
        node.ordered = ordered
        for name in names:
            place(node, name, i32)
    return declare(root, most=most)


KEYS = keys(10, "%key_e = binary shr %key_b, %2 : i32\n%key_c = binary raw_mod %key_e, %3 : i32")
LOOP = "%limit = const 60 : i32\n" + keyed(10)
KEY = "%j = load %kp : i32\n"
ADD = "%n = append @D0[%j]\n%p = field_ptr @x[%j, %n] : *i32\nstore %p, %i\n"
AGAIN = ADD.replace("%n", "%n2").replace("%p", "%p2").replace("%i", "%7")
OTHER = (
    "%a = binary raw_mod %i, %2 : i32\n%b = binary raw_mod %i, %9 : i32\n%b1 = binary shr %b, %3 : i32\n"
    "%n3 = append @D1[%a, %b1]\n%p3 = field_ptr @z[%a, %n3, %b1] : *i32\nstore %p3, %i\n"
)

LEGAL = {
    "a list from memory": KEY + ADD,
    "one list": ADD.replace("%j", "%2"),
    "a condition on memory": KEY + f"%w = load %fp\n%c = binary eq %w, %1 : u1\nif %c then {{ {ADD} }}",
    "a trip count from memory": f"{KEY}%w = load %fp\nfor %0, %w, %1 (%e: i32) {{ {ADD} }}",
    "a value that the task changes": KEY
    + "%w = load %fp\n%w1 = binary add %w, %1 : i32\nstore %fp, %w1\n"
    + ADD.replace("%p, %i", "%p, %w"),
    "two appends to a list": KEY + ADD + AGAIN,
    "two nodes": KEY + ADD + OTHER,
    "two elements": KEY + ADD + "%q = field_ptr @y[%j, %n] : *i32\n%t = binary add %i, %9 : i32\nstore %q, %t",
    "a value that is read again": KEY + ADD + "%r = load %p\n%r1 = binary mul %r, %3 : i32\nstore %p, %r1",
    "the number of the element": KEY + ADD + "store %fp, %n",
    "a sum beside it": KEY + ADD + "%s = field_ptr @sum[] : *i32\n%s1 = atomic add %s, %n : i32",
    "an iteration that ends early": f"{KEY}%w = load %fp\n%c = binary eq %w, %1 : u1\nif %c then {{ continue }}\n{ADD}",
    "a loop that is left": f"{KEY}for %0, %9, %1 (%e: i32) {{ %w = load %fp\n%c = binary eq %w, %e : u1\n"
    f"if %c then {{ break }}\n{ADD} }}",
    "an assertion on what the task changes": KEY
    + '%w = load %fp\n%c = binary lt %w, %9 : u1\nassert %c, [], message="no"\nstore %fp, %1\n'
    + ADD,
    "an assertion on the element": KEY + ADD + '%c = binary lt %n, %limit : u1\nassert %c, [%n], message="{}"\n',
    "a loop without an end in sight": KEY + "%t = alloca : *i32\nstore %t, %0\nwhile {\n%t0 = load %t\n"
    "%d = binary gt %t0, %3 : u1\nif %d then { break }\n%t1 = binary add %t0, %2 : i32\nstore %t, %t1\n" + ADD + "}",
    "an assertion": KEY + '%c = binary lt %j, %9 : u1\nassert %c, [%j], message="{} is large"\n' + ADD,
}
ILLEGAL = {
    "a list that the task changes": (KEY + "%j1 = binary xor %j, %1 : i32\nstore %kp, %j1\n" + ADD, "memory that"),
    "a list that another iteration changes": (
        "%other = field_ptr @k[%0] : *i32\n%j = load %other\n"
        + ADD
        + "%first = binary eq %i, %0 : u1\nif %first then { store %kp, %4 }",
        "memory that the loop writes",
    ),
    "a condition on what the task changes": (
        KEY + f"%w = load %fp\n%c = binary eq %w, %1 : u1\nif %c then {{ {ADD} }}\nstore %fp, %0",
        "memory that the loop writes",
    ),
    "the result of an atomic": (
        "%s = field_ptr @sum[] : *i32\n%j0 = atomic add %s, %1 : i32\n%j = binary raw_mod %j0, %3 : i32\n" + ADD,
        "the result of 'atomic'",
    ),
    "the result of an append": (
        KEY + ADD + AGAIN.replace("[%j", "[%j2").replace("%n2 =", "%j2 = binary raw_mod %n, %3 : i32\n%n2 ="),
        "the result of 'append'",
    ),
    "an element of a list": (
        f"{KEY}%lp = field_ptr @x[%j, %0] : *i32\n%w = load %lp\n%c = binary lt %w, %3 : u1\nif %c then {{ {ADD} }}",
        "memory that the loop writes",
    ),
    "a random number": ("%j0 = random : i32\n%j = binary and %j0, %1 : i32\n" + ADD, "draws random numbers"),
    "a random value": (KEY + "%v0 = random : i32\n" + ADD.replace("%p, %i", "%p, %v0"), "draws random numbers"),
    "a task that deactivates": (KEY + ADD + "deactivate @D1[%0, %0]", "deactivates cells"),
    "a task that asks": (KEY + ADD + "%is = length @D0[%j]\nstore %fp, %is", "asks how long"),
    "a task that asks for an element": (
        KEY + ADD + "%is = is_active @D0[%j, %i]\n%is1 = cast %is : i32\nstore %fp, %is1",
        "asks how long",
    ),
    "a write behind the end": (KEY + ADD + "%q = field_ptr @x[%j, %9] : *i32\nstore %q, %i", "does not append"),
    "a write that depends on the length": (
        KEY + ADD + "%q = field_ptr @x[%j, %9], activates=false : *i32\nstore %q, %i",
        "does not append",
    ),
    "a list below a pointer node": (KEY + ADD.replace("@D0", "@D3").replace("@x", "@s"), "below another sparse node"),
    "a function": (f"invoke function=change, [%i], touched=(k)\n{KEY}{ADD}", "calls a real function"),
    "a loop that only an assertion may end": (
        KEY
        + "%w = load %fp\n%c = binary lt %w, %9 : u1\nstore %fp, %1\n"
        + ADD
        + "%t = alloca : *i32\nstore %t, %0\nwhile {\n%t0 = load %t\n%t1 = binary add %t0, %1 : i32\nstore %t, %t1\n"
        '%d = binary gt %t1, %3 : u1\nif %d then { break }\nassert %c, [], message="no"\n' + AGAIN + "}",
        "an assertion that may end the loop",
    ),
}


def run(made: Declared, body: str, config: CompileConfig, *memories: Memory) -> None:
    """Run a lowered kernel on these memories, in another order of iterations on each."""
    kernel, functions = lower(kernel_of(made, body), config)
    for seed, memory in enumerate(memories):
        schedule = Schedule(seed, seed % 2 == 0) if seed else None
        evaluate(kernel, [], memory, config, functions=functions, schedule=schedule)


def check(body: str, config: CompileConfig, made: Declared | None = None, runs: int = 2) -> None:
    """Run a loop three times, in several orders. It leaves what one thread leaves that appends by itself."""
    made = made or tree()
    meant = Memory.of(made.fields, made.nodes)
    stored = [Memory.of(made.fields, made.nodes) for _ in range(runs)]
    for text in (KEYS, body, body, EMPTY, body):
        evaluate(kernel_of(made, text), [], meant, config)
        run(made, text, config, *stored)
    for memory in stored:
        agree(made, meant, memory)


EMPTY = "deactivate @D0[%2]\ndeactivate @D0[%0]\ndeactivate @D1[%1, %0]"


def lengths(made: Declared, memory: Memory) -> Any:
    """The lengths of the lists of `x`."""
    part = made.nodes[0].length
    assert part is not None
    return memory.read(part)


def counting(made: Declared, body: str, **traits: Any) -> int:
    """How many tasks count appends."""
    kernel = kernel_of(made, body)
    run_passes(kernel, TO_TASKS[: TO_TASKS.index("lower_sparse")], replace(QUICK, traits=replace(CPU, **traits)))
    parts = [[op.field.name.split(".")[-1] for op in task.all_of(FieldPtr)] for task in parallel_tasks(kernel)]
    return sum("counts" in names and "news" not in names for names in parts)


@pytest.fixture
def many_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pieces of a few iterations and lists."""
    monkeypatch.setattr("weft.ir.storage.layout.PIECE", 1)
    monkeypatch.setattr("weft.ir.transforms.loop_pieces.LoopPieces.share", 3)


@pytest.mark.usefixtures("many_pieces")
@pytest.mark.parametrize("stops", [True, False])
@pytest.mark.parametrize("case", every(3, LEGAL))
def test_the_order_is_that_of_one_thread(case: str, stops: bool) -> None:
    body = LOOP.format(LEGAL[case])
    assert counting(tree(), body) == (4 if "@D1" in body else 3)  # two runs of the loop, and what sets counts to 0
    traits = replace(CPU, stops=stops, piece=2, groups=1 + 2 * (not stops), rows=5, counts_appends=stops)
    check(body, replace(QUICK, traits=traits, verify=case == "two nodes"))


@pytest.mark.parametrize("case", every(3, ILLEGAL))
def test_what_would_depend_on_threads_is_refused(case: str) -> None:
    body, why = ILLEGAL[case]
    with pytest.raises(CompilationError, match="the order of 'D[03]' would depend on threads: .*" + why):
        counting(tree(), LOOP.format(body))
    assert counting(tree(ordered=False), LOOP.format(body), counts_appends=True) == 0


REMOVED = {
    "a list that another iteration changes": (early_copies, "_meet", lambda a, b: False),
    "a write behind the end": (count_appends._Task, "changes", lambda self, op, node: False),
    "a task that asks": (count_appends, "_ASKING", ()),
}


@pytest.mark.usefixtures("many_pieces")
@pytest.mark.parametrize("case", REMOVED)
def test_without_the_condition_something_else_is_left(case: str, monkeypatch: pytest.MonkeyPatch) -> None:
    where, name, made = REMOVED[case]
    monkeypatch.setattr(where, name, made)
    body = LOOP.format(ILLEGAL[case][0])
    assert counting(tree(), body) == 3
    with pytest.raises((AssertionError, Fault)):
        check(body, replace(QUICK, traits=replace(CPU, piece=2, rows=5)), runs=6)


def test_a_serial_loop_and_one_with_a_wrong_list() -> None:
    serial = "for %0, %9, %1 (%i: i32) { %j = binary raw_mod %i, %3 : i32\n" + ADD + "}"
    assert counting(tree(), serial) == 0
    made = tree()
    memory = Memory.of(made.fields, made.nodes)
    for stops in (True, False):
        config = replace(QUICK, traits=replace(CPU, stops=stops))
        with pytest.raises(Fault, match=r"index \[3\] is out of bounds for the cells of 'D0': their shape is \(3,\)"):
            run(made, LOOP.format("%j = binary sub %i, %0 : i32\n" + ADD), config, memory)
        assert not lengths(made, memory).any() or not stops


@pytest.mark.parametrize("stops", [True, False])
def test_nothing_is_appended_if_a_list_is_too_long_or_there_are_too_few_chunks(stops: bool) -> None:
    config = replace(QUICK, traits=replace(CPU, stops=stops))
    body = LOOP.format(KEY + ADD)
    for made, message in (
        (tree(limit=3), r"list \[0\] of 'D0' is full: it has 3 elements"),
        (tree(most=400), r"no memory for \d+ new cells of 'D0': its pool has \d cells of 24 bytes"),
    ):
        memory = Memory.of(made.fields, made.nodes)
        run(made, KEYS, config, memory)
        one = "%n = append @D0[%2]\n%p = field_ptr @x[%2, %n] : *i32\nstore %p, %9"
        run(made, one, config, memory)
        before, node = lengths(made, memory).tolist(), made.nodes[0]
        for _ in range(2):
            with pytest.raises(Fault, match=message):
                run(made, body, config, memory)
            assert lengths(made, memory).tolist() == before
            assert slots(memory, node) == (1, 0)
        run(made, one, config, memory)
        assert lengths(made, memory).tolist() == [0, 0, 2]


@pytest.mark.usefixtures("many_pieces")
def test_counts_do_not_wrap_around() -> None:
    """They end one behind what a list holds, in each piece and in the sum."""
    made = tree(limit=3)
    memory, node = Memory.of(made.fields, made.nodes), made.nodes[0]
    body = LOOP.format("for %0, %9, %1 (%e: i32) { " + ADD.replace("%j", "%2") + "}")
    with pytest.raises(Fault, match=r"list \[2\] of 'D0' is full"):
        run(made, body, replace(QUICK, traits=replace(CPU, rows=2)), memory)
    assert memory.read(node.part("counts"))[:9].reshape(3, 3)[:, 2].tolist() == [0, 4, 4]


def test_an_interrupt_loses_no_chunk() -> None:
    """After any number of iterations. Elements that were not appended yet read 0."""
    made = tree()
    node = made.nodes[0]
    kernel, functions = lower(kernel_of(made, LOOP.format(ADD.replace("%j", "%2"))), QUICK)
    found = set[int]()
    for limit in range(0, 400, 9):
        memory = Memory.of(made.fields, made.nodes)
        with suppress(Fault):
            evaluate(kernel, [], memory, QUICK, limit, functions)
        assert not lost(memory, node)
        found.add(length := int(lengths(made, memory)[2]))
        assert slots(memory, node)[0] == -(-length // node.chunk)
    assert found == {0, 10}


def test_unordered_lists_are_counted_where_that_is_fast(monkeypatch: pytest.MonkeyPatch) -> None:
    body = LOOP.format(KEY + ADD)
    made = tree(ordered=False)
    assert counting(made, body) == 0  # 10 iterations
    monkeypatch.setattr(count_appends, "_FEW", 9)
    assert counting(made, body) == 3
    assert counting(made, body, counts_appends=False) == 0
    loop = f"{KEY}%w = load %fp\nfor %0, %w, %1 (%e: i32) {{ {ADD} }}"
    assert counting(made, LOOP.format(loop)) == 0
    unknown = body.replace("%count = const 10 : i32", "%cp = field_ptr @sum[] : *i32\n%count = load %cp")
    assert counting(made, unknown) == 6  # the task has two versions, one of which has an empty box


ONE_ROW = {
    name: LEGAL[name]
    for name in (
        "a list from memory",
        "one list",
        "a condition on memory",
        "two appends to a list",
        "two nodes",
        "two elements",
        "an iteration that ends early",
    )
}


@pytest.mark.parametrize("case", ONE_ROW)
def test_all_iterations_count_in_one_row(case: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Lists hold what they hold without counts, in any order, also if they held something before."""
    monkeypatch.setattr(count_appends, "_FEW", 2)
    monkeypatch.setattr(count_appends, "_MANY_LISTS", 1)
    shared = {"counts_appends": False, "shares_counts": True}
    made, body = tree(ordered=False), LOOP.format(ONE_ROW[case])
    assert counting(made, body, **shared) == (4 if "@D1" in body else 3)
    assert counting(made, body, counts_appends=False) == 0
    traits = replace(CPU, stops=False, piece=2, groups=3, **shared)
    config = replace(QUICK, traits=traits, verify=case == "two nodes")
    meant = Memory.of(made.fields, made.nodes)
    stored = [Memory.of(made.fields, made.nodes) for _ in range(5)]
    for text in (KEYS, body, body, EMPTY, body):
        evaluate(kernel_of(made, text), [], meant, config)
        run(made, text, config, *stored)
    for memory in stored:
        for node in made.nodes[:2]:
            lengths = meant.sparse.lengths.get(node.name, {})
            assert stored_lengths(memory, node) == {at: n for at, n in lengths.items() if n}
            assert not lost(memory, node)
        for field in made.fields:
            found, wanted = (one(where, field) for one, where in ((stored_values, memory), (meant_values, meant)))
            assert in_any_order(found, field) == in_any_order(wanted, field), field.name


def in_any_order(values: list[Any], field: FieldSymbol) -> list[Any]:
    """Elements in lists, which are along axis 1, sorted within each list."""
    shaped = np.reshape(values, field.shape)
    return np.sort(shaped, 1).tolist() if field.node is not None else values


def test_one_row_is_for_many_lists_and_counts_that_fit(monkeypatch: pytest.MonkeyPatch) -> None:
    shared = {"counts_appends": False, "shares_counts": True}
    body = LOOP.format(KEY + ADD)
    made = tree(ordered=False)
    monkeypatch.setattr(count_appends, "_FEW", 2)
    assert counting(made, body, **shared) == 0  # 3 lists
    monkeypatch.setattr(count_appends, "_MANY_LISTS", 1)
    assert counting(made, body, **shared) == 3
    assert counting(tree(), body, **shared) == 3  # in order: by pieces
    loop = f"{KEY}%w = load %fp\nfor %0, %w, %1 (%e: i32) {{ {ADD} }}"
    assert counting(made, LOOP.format(loop), **shared) == 0
    task = count_appends._Task(kernel_of(made, body), next(iter(parallel_tasks(offloaded(made, body)))), QUICK)
    assert task.fits(1 << 31, 1)
    assert not task.fits(1 << 31, 2)
    assert task.fits(None, 1)
    assert not task.fits(None, 2)


@pytest.mark.parametrize("count", [1, 21, 2**31, 2**32 - 39])
def test_sums_of_counts_do_not_wrap(count: int) -> None:
    """A row may count nearly 2**32 appends to one list, which already has elements. It is too long then."""
    made = tree()
    node = made.nodes[0]
    assert node.length is not None
    text = f"""
    %none_yet = const 0 : i32
    %one_row = const 1 : i32
    %wanted_here = const {count - 2**32 * (count >= 2**31)} : i32
    %known_before = const 40 : i32
    %row_of_sums = const 3 : i32
    %rows_at = field_ptr @D0.rows[] : *i32
    store %rows_at, %one_row
    %length_at = field_ptr @{node.length.stored.name}[%none_yet] : *i32
    store %length_at, %known_before
    %count_at = field_ptr @D0.counts[%none_yet] : *i32
    store %count_at, %wanted_here
    {counts_text(node, CPU)}
    %full_at = field_ptr @D0.full[] : *i32
    %was_full = load %full_at : i32
    %sum_at_end = field_ptr @D0.counts[%row_of_sums] : *i32
    %sum_then = load %sum_at_end : i32
    return [%was_full, %sum_then]"""
    kernel, functions = lower(written_on([node], "@k() -> (i32, i32)", text), QUICK)
    found = evaluate(kernel, [], Memory.of(made.fields, made.nodes), QUICK, functions=functions)
    assert found == [int(count > 20), min(40 + count, 61)]


def offloaded(made: Declared, body: str) -> Kernel:
    kernel = kernel_of(made, body)
    run_passes(kernel, TO_TASKS[: TO_TASKS.index("count_appends")], QUICK)
    return kernel


@pytest.mark.usefixtures("many_pieces")
@pytest.mark.parametrize("seed", range(draws(48)))
def test_random_loops(seed: int) -> None:
    """Boxes of one or two axes, nests of conditions and loops, lists of two nodes."""
    rng = Random(f"appends {seed}")
    made = tree(limit=400)
    traits = replace(CPU, piece=rng.choice((1, 2, 5)), groups=rng.choice((1, 3)), rows=rng.choice((1, 2, 7, 64)))
    traits = replace(traits, stops=rng.random() < 0.5, counts_appends=rng.random() < 0.5)
    config = replace(QUICK, traits=traits, verify=seed % 8 == 7)
    check(_drawn(rng), config, made)


def _drawn(rng: Random) -> str:
    names = iter(range(1000))

    def statements(depth: int, index: str) -> str:
        return "".join(statement(depth, index) for _ in range(rng.randint(1, 2)))

    def statement(depth: int, index: str) -> str:
        n = next(names)
        kind = rng.choice(("if", "for", "x", "z", "x") if depth else ("x", "z"))
        number = f"%k{n} = const {rng.randint(1, 12)} : i32\n%m{n} = binary mul {index}, %k{n} : i32\n"
        number += f"%v{n} = binary add %m{n}, %{rng.randint(0, 9)} : i32\n"
        if kind == "if":
            test = f"%r{n} = binary raw_mod %v{n}, %3 : i32\n%c{n} = binary lt %r{n}, %{rng.randint(1, 3)} : u1\n"
            orelse = f" orelse {{ {statements(depth - 1, index)} }}" if rng.random() < 0.5 else ""
            return f"{number}{test}if %c{n} then {{ {statements(depth - 1, index)} }}{orelse}\n"
        if kind == "for":
            inner = statements(depth - 1, f"%e{n}")
            end = f"%r{n} = binary raw_mod %v{n}, %{rng.randint(2, 4)} : i32\n"
            return f"{number}{end}for %0, %r{n}, %1 (%e{n}: i32) {{ {inner} }}\n"
        if kind == "x":
            text = f"%a{n} = binary raw_mod %v{n}, %9 : i32\n%q{n} = field_ptr @k[%a{n}] : *i32\n"
            text += f"%j{n} = load %q{n}\n%n{n} = append @D0[%j{n}]\n%p{n} = field_ptr @x[%j{n}, %n{n}] : *i32\n"
            return f"{number}{text}store %p{n}, %v{n}\n"
        text = f"%a{n} = binary raw_mod %v{n}, %2 : i32\n%b{n} = binary raw_mod %m{n}, %2 : i32\n"
        text += f"%n{n} = append @D1[%a{n}, %b{n}]\n%p{n} = field_ptr @z[%a{n}, %n{n}, %b{n}] : *i32\n"
        return f"{number}{text}store %p{n}, %v{n}\n"

    if rng.random() < 0.5:
        inside = "%one_i = binary mul %i, %7 : i32\n%i2 = binary add %one_i, %other : i32\n"
        begin, end, other = rng.choice((0, 1, 3)), rng.choice((3, 5, 9)), rng.choice((1, 4, 7))
        return (
            f"parallel_for begins=[%{begin}, %0], ends=[%{end}, %{other}] (%i: i32, %other: i32) {{\n"
            f"{inside}{statements(2, '%i2')} }}"
        )
    box = f"begins=[%{rng.choice((0, 2))}], ends=[%{rng.choice((0, 4, 9))}]"
    return f"parallel_for {box} (%i: i32) {{\n{statements(2, '%i')} }}"
