"""Control flow in lanes: what runs although no lane is active, and what does not.

Each body gives the same as vectors and as iterations one after another, and does not without the condition that the
body is about."""

from __future__ import annotations

import numpy as np
import pytest

from tests.ir.test_schedules import CONFIGS
from tests.ir.test_vector_memory import agrees, vectorized
from tests.ir.vector_cases import kernel_text
from weft.ir.errors import InternalError
from weft.ir.mapping import sides
from weft.ir.mapping.vectorize.state import Vectorizer
from weft.ir.memory_model import Fault
from weft.ir.ops import If, Kernel
from weft.ir.parse import parse
from weft.ir.tasks import parallel_tasks
from weft.ir.transforms.mapping.choose_moves import choose_moves
from weft.ir.transforms.mapping.vectorize import vectorize
from weft.ir.uniform import Uniformity
from weft.ir.verify import verify

OWN = """
        %own = alloca : *i32
        store %own, %some
        %never = binary lt %k32, %three : u1
        %far0 = const 100000 : i64
        %far = address %base_n, indices=[%far0], strides=[%four], offset=0, scope="field:n" : *i32
"""
READ = """
        %v = load %own : i32
        store &y.0[i], %v"""

# Sides of branches that no lane takes: with effects that need an active lane, and without.
ACTIVE = {
    "load of an address that lanes share": "%a = load %far : i32\nstore %own, %a",
    "atomic": "%0 = atomic add &y.1[k], %three : i32",
    "warning": 'warn [%k32], message="read {}", kind="overflow"',
}
PASSIVE = {
    "computation": "%a = binary floordiv %k32, %odd : i32\nstore %own, %a",
    "load and store": "%a = load %own : i32\n%b = binary add %a, %k32 : i32\nstore %own, %b",
    "branch": "if %here then {\nstore %own, %k32\n} orelse {\nstore %own, %three\n}",
    "branch of all lanes": "%all = binary lt %some, %three : u1\nif %all orelse {\nstore %own, %three\n}",
    "jump": "store %own, %odd\ncontinue",
    "jump of all lanes in a branch": "%all = binary lt %three, %some : u1\nif %all then {\ncontinue\n}",
}
SHAPES = ("lanes=8", "lanes=4, vectors=2", "lanes=2")


def branch(condition: str, side: str) -> str:
    return f"{OWN}if {condition} then {{\n{side}\n}}{READ}"


def unasked(body: str, schedule: str) -> Kernel:
    """The kernel as vectors. All branches run without a test, if they may."""
    kernel = parse(kernel_text(body, schedule, 11))
    choose_moves(kernel, CONFIGS["cpu"])
    (task,) = parallel_tasks(kernel)
    facts = Uniformity(task)
    for op in task.all_of(If):
        if facts.varies(op.condition):
            op.unasked = tuple(name for name in sides.SIDES if sides.is_passive(facts, getattr(op, name)))
    verify(kernel, "mapped")
    vectorize(kernel, CONFIGS["cpu"])
    verify(kernel, "vectors")
    return kernel


def fails(kernel: Kernel, body: str) -> bool:
    """Whether the vectors do not give what the iterations give, or need an active lane where there is none."""
    try:
        with np.errstate(all="ignore"):
            agrees(kernel, body, 11)
    except (AssertionError, InternalError, Fault):
        return True
    return False


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("condition", ["%never", "%here"])
@pytest.mark.parametrize("name", PASSIVE)
def test_passive_sides(name: str, condition: str, shape: str) -> None:
    body = branch(condition, PASSIVE[name])
    kernel = parse(kernel_text(body, shape, 11))
    (task,) = parallel_tasks(kernel)
    facts = Uniformity(task)
    assert all(sides.is_passive(facts, op.then) for op in task.all_of(If))
    agrees(unasked(body, shape), body, 11)


@pytest.mark.parametrize("name", ACTIVE)
def test_sides_with_effects(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    body = branch("%never", ACTIVE[name])
    for shape in SHAPES:
        agrees(unasked(body, shape), body, 11)
    monkeypatch.setattr(sides, "_is_passive", lambda *_: True)
    assert fails(unasked(body, "lanes=8"), body)


@pytest.mark.parametrize("name", ACTIVE)
def test_the_rest_of_a_block_that_lanes_have_left(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    body = f"{OWN}if %never orelse {{\ncontinue\n}}\n{ACTIVE[name]}{READ}"
    for shape in SHAPES:
        agrees(vectorized(body, shape), body, 11)
    monkeypatch.setattr(Vectorizer, "rest", lambda _: None)
    assert fails(vectorized(body, "lanes=8"), body)


@pytest.mark.parametrize("shape", SHAPES)
def test_what_comes_after_a_block_that_lanes_have_left(shape: str) -> None:
    """The loop counts also in an iteration that no lane completes, and the op after the loop runs."""
    body = f"""{OWN}
        %wide = cast %odd : i64
        for %zero, %wide, %one (%c: i64) {{
          %c32 = cast %c : i32
          %first = binary lt %c32, %three : u1
          if %first then {{
            continue
          }}
          store %own, %c32
        }}
        for %zero, %k, %one (%d: i64) {{
          %d32 = cast %d : i32
          %few = binary lt %d32, %some : u1
          if %few then {{
            continue
          }}
          store %own, %d32
        }}{READ}"""
    agrees(vectorized(body, shape), body, 11)
