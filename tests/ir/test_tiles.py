"""Which accesses to parts of wide cells lanes move together, and that random bodies of such accesses mean the same."""

from __future__ import annotations

import random

import pytest

from tests.ir.test_vector_memory import agrees, vectorized
from tests.ir.vector_cases import kernel_text
from tests.sampling import draws
from weft.ir.mapping.tiles import groups_of, tile_price, width_of
from weft.ir.ops import Gather, MaskedLoad, MaskedStore, Scatter
from weft.ir.parse import parse
from weft.ir.tasks import parallel_tasks
from weft.ir.uniform import Uniformity


def body_of(rng: random.Random) -> str:
    """Loads, stores and atomics of parts of cells. An iteration writes only to its own cells, and to those that only it
    has by `%k`. `%j` is `%i` under another name."""
    lines, made = ["%j = binary mul %i, %one : i64"], ["%f", "%half"]
    for number in range(rng.randint(4, 16)):
        where = rng.choice(("i", "i", "i", "j", "k"))
        place, draw = f"&p.{rng.choice((0, 1, 5, 11))}[{where}]", rng.random()
        if draw < 0.45:
            lines.append(f"%v{number} = load {place} : f32")
            made.append(f"%v{number}")
        elif draw < 0.8:
            lines.append(f"store {place}, {rng.choice(made)}")
        elif draw < 0.85:
            lines.append(f"%a{number} = atomic add {place}, {rng.choice(made)} : f32")
        elif draw < 0.95:
            lines.append(f"%v{number} = binary sub {rng.choice(made)}, {rng.choice(made)} : f32")
            made.append(f"%v{number}")
        else:
            ends = rng.choice(("} orelse {\ncontinue\n}", "}"))
            lines.append(f"if %here then {{\nstore {place.replace('j', 'i')}, {rng.choice(made)}\n{ends}")
    return "\n".join([*lines, f"store &out[i], {made[-1]}"])


@pytest.mark.parametrize("seed", range(draws(160)))
def test_random_bodies(seed: int) -> None:
    body = body_of(random.Random(seed))
    shape = ("lanes=8", "lanes=4, vectors=2", "lanes=2", "lanes=16")[seed % 4]
    agrees(vectorized(body, shape), body, 11)


def groups(body: str) -> list[str]:
    """The groups of a body, each as the offsets of its loads or stores."""
    (task,) = parallel_tasks(parse(kernel_text(body, "lanes=4")))
    found = groups_of(Uniformity(task), task.body)
    return [f"{type(group[0]).__name__} {[op.ptr.offset // 4 for op in group]}" for group in found]  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("between", "together"),
    [
        ("", True),
        ("store &p.2[i], %a", True),  # another part
        ("store &out[i], %a", True),  # other memory
        ("store &p.4[i], %a", False),  # the part that is loaded next
        ("store &p.4[k], %a", False),  # the cell of somebody
        ("store &p.2[j], %a", False),  # a cell that may be that of another lane
        ("store &p.4[i+1], %a", False),  # two cells away from the part that is loaded next
        ("%0 = atomic add &p.2[i], %half : f32", False),
        ("if %here orelse {\ncontinue\n}", False),
        ('warn [%i32], message="{}", kind="overflow"', False),
    ],
)
def test_what_may_be_between_loads(between: str, together: bool) -> None:
    first = "%j = binary add %i, %one : i64\n%a = load &p.1[i] : f32"
    found = groups(f"{first}\n{between}\n%b = load &p.4[i] : f32\nstore &out[i], %b")
    loads = [group for group in found if group.startswith("Load")]
    assert loads == (["Load [1, 4]"] if together else ["Load [1]", "Load [4]"])


@pytest.mark.parametrize(
    ("between", "together"),
    [
        ("", True),
        ("%b = load &p.2[i] : f32", True),
        ("%b = load &out[i] : f32", True),
        ("%b = load &p.1[i] : f32", False),  # the part that was stored before
        ("%b = load &p.1[k] : f32", False),
        ("%b = load &p.1[i+1] : f32", False),  # the part that the next lane has stored before
        ("store &p.1[k], %half", False),
        ("%0 = atomic add &p.2[i], %half : f32", False),
        ("if %here orelse {\ncontinue\n}", False),
    ],
)
def test_what_may_be_between_stores(between: str, together: bool) -> None:
    found = groups(f"store &p.1[i], %f\n{between}\nstore &p.4[i], %half")
    stores = [group for group in found if group.startswith("Store")]
    assert stores == (["Store [1, 4]"] if together else ["Store [1]", "Store [4]"])


def test_loads_of_what_nothing_writes_pass_all_stores() -> None:
    loads = "%a = load &p.1[i], invariant=true : f32\nSTORE\n%b = load &p.4[i], invariant=true : f32"
    for store in ("store &p.4[k], %a", "store &p.4[i], %a", "store &out[i], %a"):
        assert groups(loads.replace("STORE", store))[0] == "Load [1, 4]"
    stores = "store &p.1[i], %f\n%b = load &p.1[k], invariant=true : f32\nstore &p.4[i], %half"
    assert groups(stores) == ["Store [1, 4]"]


def test_a_load_does_not_pass_a_store_that_waits() -> None:
    """The store to part 1 is executed with that to part 6, behind the loads of part 11."""
    waiting = "store &p.1[i], %half\n%a = load &p.11[i] : f32\nstore &p.6[i], %f\n%b = load &p.1[i] : f32"
    assert groups(waiting) == ["Store [1, 6]", "Load [11]", "Load [1]"]


def test_parts_of_two_cells_are_two_groups() -> None:
    """The parts of a group are less than a cell apart: others may be those of the next lane."""
    loads = "%a = load &p.0[i] : f32\n%b = load &p.11[i] : f32\n%c = load &p.0[i+1] : f32\n%d = load &p.1[i+1] : f32"
    assert groups(loads) == ["Load [0, 11]", "Load [12, 13]"]


def test_a_load_does_not_pass_a_store_to_the_next_cell() -> None:
    """Part 0 of the next cell is stored in between; the load of part 11 is one cell away from part 23."""
    body = "%a = load &p.11[i] : f32\nstore &p.0[i+1], %a\n%b = load &p.0[i] : f32\nstore &out[i], %b"
    assert groups(body)[0] == "Load [11]"


def test_a_part_alone_is_gathered() -> None:
    alone = vectorized("%a = load &p.3[i] : f32\nstore &p.7[i], %a", "lanes=8")
    assert len(alone.all_of(Gather)) == len(alone.all_of(Scatter)) == 1
    both = vectorized(
        "%a = load &p.3[i] : f32\n%b = load &p.7[i] : f32\nstore &p.3[i], %b\nstore &p.7[i], %a", "lanes=8"
    )
    assert not both.all_of(Gather, Scatter)
    assert len(both.all_of(MaskedStore)) == 8
    assert len(both.all_of(MaskedLoad)) == 8 + 1  # `idx`


def test_widths_and_prices() -> None:
    """Tiles are no wider than 64 bytes and than there are lanes."""
    assert [width_of(parts, 16, 4) for parts in (1, 2, 3, 5, 15, 40)] == [1, 2, 4, 8, 16, 16]
    assert [width_of(parts, 16, 8) for parts in (2, 9)] == [2, 8]
    assert width_of(15, 4, 4) == 4
    (task,) = parallel_tasks(parse(kernel_text("%a = load &p.1[i] : f32\n%b = load &p.2[i] : f32", "lanes=8")))
    (group,) = groups_of(Uniformity(task), task.body)
    assert tile_price(group, 8) == (8 + 6 + 2) / 2  # eight loads, six to join pairs, two shuffles
