"""Sparse nodes: their layout, their text, the verifier's rules, and what ops on their cells mean."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from tests.sparse_trees import branch, declare, mixed, place
from weft.ir.config import CompileConfig
from weft.ir.errors import InternalError
from weft.ir.evaluate import Fault, Memory, evaluate
from weft.ir.ops import Kernel
from weft.ir.parse import parse
from weft.ir.storage.dense import Dense
from weft.ir.storage.snode import SNode
from weft.ir.text import print_ir
from weft.ir.types import f64, i32, u8, u16
from weft.ir.verify import verify

PLAIN = CompileConfig(fast_math=False)


def test_the_layout_and_text_of_every_kind(golden: Callable[[str, str], None]) -> None:
    made = declare(mixed())
    kernel = Kernel("k", fields=made.fields, nodes=made.nodes)
    verify(kernel, "chi")
    text = print_ir(kernel)
    cells = Kernel("cells", fields=tuple(one.stored for one in made.fields))
    verify(cells, "chi")
    golden("sparse_nodes.txt", f"{text}{print_ir(cells)}memories {made.layout.memories}\n")
    again = parse(text)
    verify(again, "chi")
    assert print_ir(again) == text


def test_no_two_places_of_a_memory_overlap() -> None:
    made = declare(mixed())
    stored = [one.stored if one.node else one for one in made.fields]
    for node in made.nodes:
        stored += [
            part.stored if part.node else part
            for role, part in node.parts.items()
            if role not in ("raw", "body", "entries")
        ]
    taken: dict[int, set[int]] = {}
    for one in stored:
        mine = {
            int(one.path.locate(at)) + start + byte
            for at in np.ndindex(*one.shape)
            for start in one.components
            for byte in range(one.dtype.size)  # type: ignore[union-attr]
        }
        known = taken.setdefault(one.tree, set())
        assert not mine & known, one.name
        known |= mine
    for number, size in enumerate(made.layout.memories):
        assert max(taken[number]) < size


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (("node @P1: pointer", "node @P1: pointers"), "unknown kind 'pointers'"),
        (("u8[10]", "u32[10]"), "has a table of u32"),
        ((" capacity=17", " capacity=1"), "lacks its memory"),
        ((" limit=20", ""), "has a length, or lacks it"),
        (("cells=((0, 3), (1, 3))", "cells=((0, 3))"), "has 1 blocks; expected 2"),
        (("cells=((0, 3), (1, 3))", "cells=((0, 2), (1, 3))"), "a block that does not fit"),
    ],
)
def test_the_verifier_refuses(change: tuple[str, str], message: str) -> None:
    text = f"kernel @k() -> () {{\n{declare(mixed()).text}\n}}"
    assert change[0] in text
    with pytest.raises(InternalError, match=message):
        verify(parse(text.replace(*change)), "chi")


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("%l = length @P0 [%0] : i32", "needs a list"),
        ("%s = is_active @B2 [%0] slot=true : u32", "needs a node with a pool"),
        ("activate @P0 [%0]", "has 1 indices; expected 2"),
        ("deactivate @D4 [%0, %0]", "has 2 indices; expected 1"),
        ("struct_for @D4.table cells=true (%i: i32, %j: i32) { }", "runs over the chunks of lists"),
    ],
)
def test_the_verifier_refuses_ops(line: str, message: str) -> None:
    with pytest.raises(InternalError, match=message):
        verify(parse(f"kernel @k() -> () {{\n{declare(mixed()).text}\n%0 = const 0 : i32\n{line}\n}}"), "chi")


# ---- what it means ---------------------------------------------------------------------------------------------------


def run(body: str, memory: Memory | None = None, results: str = "") -> tuple[Memory, list[object]]:
    """Evaluate a kernel on the tree of `mixed`, with the numbers %0 to %9."""
    made = declare(mixed())
    numbers = "\n".join(f"%{n} = const {n} : i32" for n in range(10))
    kernel = parse(f"kernel @k() -> ({results}) {{\n{made.text}\n{numbers}\n{body}\n}}")
    verify(kernel, "chi")
    memory = memory or Memory.of(kernel.fields, kernel.nodes)
    return memory, evaluate(kernel, [], memory, PLAIN)


def at(field: str, *index: int, type: str = "f32") -> str:
    return f"field_ptr @{field}[{', '.join(f'%{i}' for i in index)}] : *{type}"


def test_a_write_activates_what_is_above_and_a_read_does_not() -> None:
    memory, values = run(
        f"""
        %p = {at("x", 7, 8)}
        %r = load %p
        %before = is_active @P1 [%2, %2]
        %v = const 5.0 : f32
        store %p, %v
        %after = is_active @P1 [%2, %2]
        %above = is_active @P0 [%1, %1]
        %beside = is_active @P1 [%2, %3]
        %w = load %p
        return [%r, %before, %after, %above, %beside, %w]""",
        results="f32, u1, u1, u1, u1, f32",
    )
    assert values == [0, False, True, True, False, 5]
    assert memory.sparse.active == {"P0": {(1, 1)}, "P1": {(2, 2)}}


def test_deactivation_zeroes_the_cell_and_what_is_below() -> None:
    memory, values = run(
        f"""
        %v = const 5.0 : f32
        %p = {at("x", 7, 8)}
        store %p, %v
        %m = {at("m", 5, 2)}
        store %m, %v
        deactivate @P0 [%1, %1]
        %a = load %p
        %b = is_active @P1 [%2, %2]
        store %m, %v
        %c = load %p
        return [%a, %b, %c]""",
        results="f32, u1, f32",
    )
    assert values == [0, False, 0]
    assert memory.sparse.active == {"P0": {(1, 1)}, "P1": set(), "B2": {(5, 2)}}


def test_a_loop_visits_what_was_active_when_it_began() -> None:
    memory, _ = run(
        f"""
        %v = const 1.0 : f32
        %p = {at("y", 3)}
        store %p, %v
        struct_for @y (%i: i32) {{
          %next = binary add %i, %1 : i32
          %q = field_ptr @y[%next] : *f32
          store %q, %v
        }}"""
    )
    assert memory.sparse.active["B3"] == {(3,), (4,)}


def test_lists_grow_by_writes_and_by_append_up_to_their_limit() -> None:
    memory, values = run(
        f"""
        %p = {at("z", 9, 2, type="i32")}
        store %p, %7
        %n = length @D4 [%2]
        %j = append @D4 [%2]
        %gap = {at("z", 8, 2, type="i32")}
        %g = load %gap
        %inside = is_active @D4 [%8, %2]
        %other = length @D4 [%3]
        deactivate @D4 [%2]
        %left = length @D4 [%2]
        %gone = load %p
        return [%n, %j, %g, %inside, %other, %left, %gone]""",
        results="i32, i32, i32, u1, i32, i32, i32",
    )
    assert values == [10, 10, 0, True, 0, 0, 0]
    body = "%e = const 19 : i32\n%p = field_ptr @z[%e, %2] : *i32\nstore %p, %7\n%j = append @D4 [%2]"
    with pytest.raises(Fault, match=r"list \[2\] of 'D4' is full: it has 20 elements"):
        run(body, memory)


def test_without_activation_a_write_to_what_is_not_there_is_lost() -> None:
    memory, values = run(
        """
        %v = const 5.0 : f32
        %p = field_ptr @y[%3], activates=false : *f32
        store %p, %v
        %q = field_ptr @y[%3] : *f32
        %a = load %q
        store %q, %v
        %old = atomic add %p, %v
        %b = load %q
        return [%a, %b]""",
        results="f32, f32",
    )
    assert values == [0, 10]
    assert memory.sparse.active["B3"] == {(3,)}


@pytest.mark.parametrize("above", ["root", "pointer", "bitmasked"])
@pytest.mark.parametrize("count", [1, 2, 3, 4, 7])
def test_words_of_cells_are_aligned(count: int, above: str) -> None:
    """A GPU refuses words at addresses that are no multiples of their size."""
    for dtypes in ([i32, i32], [u8] * 8, [f64], [u16, u16, u16, u16], [u8, f64]):
        root = SNode("root")
        place(root, "first", u8)
        outer = root if above == "root" else branch(root, above, (0, 3))
        cells = branch(outer, "bitmasked", (0, count))
        for number, dtype in enumerate(dtypes):
            place(cells, f"x{number}", dtype)
        for node in declare(root).nodes:
            raw = node.part("raw")
            dense = [level for level in raw.path.levels if isinstance(level, Dense)]
            numbers = [n for level in dense for n in (level.offset, *(term.stride for term in level.terms))]
            assert not any(number % raw.dtype.size for number in (*raw.components, *numbers))
