"""Vectors that are reduced together: the plan of the shuffles, what must not be joined, and random bodies."""

from __future__ import annotations

import random
import re
from dataclasses import replace

import numpy as np
import pytest

from tests.ir.test_schedules import CONFIGS, FEATURES
from tests.ir.test_vector_memory import outcome, vectorized
from tests.sampling import draws
from weft.ir.mapping.joint_reductions import Plan
from weft.ir.ops import Kernel, Lane, Reduce
from weft.ir.parse import parse
from weft.ir.target import Target
from weft.ir.tasks import parallel_tasks
from weft.ir.text import print_ir
from weft.ir.transforms.mapping.join_reductions import join_reductions
from weft.ir.verify import verify

SHAPES = [(4, 32), (8, 32), (16, 32), (2, 64), (4, 64), (8, 64)]


@pytest.mark.parametrize(("lanes", "bits"), SHAPES)
@pytest.mark.parametrize("count", [2, 3, 4])
def test_a_plan_combines_each_element_once(count: int, lanes: int, bits: int) -> None:
    if count > lanes:
        return
    rng = np.random.default_rng(count)
    vectors = [rng.integers(0, 1 << 40, lanes) for _ in range(count)]
    plan = Plan(count, lanes, bits)
    for step in plan.steps:
        both = np.concatenate([vectors[step.first], vectors[step.second]])
        low = vectors[step.first] if step.low is None else both[list(step.low)]
        vectors.append(low + both[list(step.high)])
    assert [vectors[-1][lane] for lane in plan.results] == [one.sum() for one in vectors[:count]]
    alone = count * lanes.bit_length() - count
    assert len(plan.steps) < alone


def joined(kernel: Kernel, bits: int = 512) -> Kernel:
    """The kernel after the pass, for a CPU with registers of so many bits."""
    features = {512: FEATURES, 256: frozenset({"avx2"}), 128: frozenset[str]()}[bits]
    config = replace(CONFIGS["cpu"], target=Target("cpu", features=features, threads=4))
    before = print_ir(kernel)
    assert join_reductions(kernel, config) == (print_ir(kernel) != before)
    verify(kernel, "vectors")
    return kernel


def reductions(kernel: Kernel) -> tuple[int, int]:
    """How many vectors are reduced alone and together."""
    (task,) = parallel_tasks(kernel)
    return len(task.all_of(Reduce)), len([op for op in task.all_of(Lane) if op.block is task.body])


SUM = "%{0}s = atomic {1} &y.{2}[zero], {3} : i32\n"


def sums(*values: str, kind: str = "add", between: str = "") -> str:
    return between.join(SUM.format(f"s{k}", kind, k % 2, value) for k, value in enumerate(values))


def test_no_more_vectors_are_joined_than_have_lanes() -> None:
    """Vectors of two numbers of 64 bits: the results of a third one would have no lane."""
    wide = sums("%i", "%k", "%i").replace("&y.0[zero]", "%n64").replace("&y.1[zero]", "%n64").replace("i32", "i64")
    body = '%n64 = address %base_n, indices=[], strides=[], offset=0, scope="field:n" : *i64\n' + wide
    together = joined(vectorized(body, "lanes=2"))
    assert reductions(together) == (1, 2)
    agree(vectorized(body, "lanes=2"), together)


BEHIND = "%r = load &y.0[zero] : i32\n%q = binary mul %r, %i32 : i32\n"
CASES = {
    "one": (sums("%i32"), (1, 0)),
    "two": (sums("%i32", "%k32"), (0, 2)),
    "five": (sums("%i32", "%k32", "%odd", "%i32", "%k32"), (1, 4)),
    "six": (sums("%i32", "%k32", "%odd", "%i32", "%k32", "%odd"), (0, 6)),
    "minima": (sums("%i32", "%k32", kind="min"), (0, 2)),
    "of two kinds": (sums("%i32") + sums("%k32", kind="max").replace("%s0", "%m"), (2, 0)),
    "computed in between": (
        sums("%i32") + "%q = binary mul %k32, %i32 : i32\n" + SUM.format("t", "add", 1, "%q"),
        (0, 2),
    ),
    "read in between": (sums("%i32") + BEHIND + SUM.format("t", "add", 1, "%q"), (2, 0)),
    "read in between, and before": (sums("%i32") + BEHIND + sums("%q", "%k32").replace("%s", "%t"), (1, 2)),
}


@pytest.mark.parametrize("bits", [128, 256, 512])
@pytest.mark.parametrize("name", CASES)
def test_what_is_joined(name: str, bits: int) -> None:
    body, expected = CASES[name]
    alone, together = vectorized(body, "lanes=8"), joined(vectorized(body, "lanes=8"), bits)
    assert reductions(together) == expected
    agree(alone, together)


def agree(alone: Kernel, together: Kernel) -> None:
    expected, found = outcome(alone)[0], outcome(together)[0]
    for field in expected:
        np.testing.assert_array_equal(found[field], expected[field], f"{field}\n{print_ir(together)}")


def test_a_long_computation_in_between() -> None:
    """Neither the time nor the depth of calls grows with the ways through it."""
    lines = [f"%q{k + 2} = binary add %q{k}, %q{k + 1} : i32\n" for k in range(1500)]
    chain = "%q0 = binary mul %k32, %i32 : i32\n%q1 = binary sub %k32, %i32 : i32\n" + "".join(lines)
    body = sums("%i32") + chain + SUM.format("t", "add", 1, "%q1501")
    alone, together = vectorized(body, "lanes=8"), joined(vectorized(body, "lanes=8"))
    assert reductions(together) == (0, 2)
    agree(alone, together)


def test_a_vector_that_depends_on_a_result_of_the_group() -> None:
    """The first result is added up once more: the second vector does not exist before the first one is reduced."""
    text = print_ir(vectorized(sums("%i32", "%k32"), "lanes=8"))
    first, second = re.findall(r"(%\d+) = reduce add", text)
    chosen = re.search(rf"= select (%\d+), %\d+, (%\d+) : <8 x i32>\n +{second} = reduce", text)
    assert chosen
    again = f"= splat {first} : <8 x i32>\n    %twice = select {chosen[1]}, %again, {chosen[2]} : <8 x i32>"
    text = re.sub(rf"(%\d+) = select .*\n( +{second} = reduce add) \1", rf"%again {again}\n\2 %twice", text)
    assert "%twice : i32" in text
    together = joined(parse(text))
    assert reductions(together) == (2, 0)
    agree(parse(text), together)


def body_of(rng: random.Random) -> str:
    """Sums, minima, loads and stores at a few places, of values that are computed from one another."""
    lines, values = list[str](), ["%i32", "%k32", "%odd", "%three"]
    for n in range(rng.randint(6, 16)):
        place, value = f"&y.{rng.randint(0, 1)}[{rng.choice(['zero', 'one', 'i'])}]", rng.choice(values)
        kind = rng.choice(["sum"] * 4 + ["value", "value", "load", "store", "branch"])
        if kind == "sum":
            lines.append(f"%a{n} = atomic {rng.choice(['add', 'add', 'min'])} {place}, {value} : i32")
        elif kind == "branch":
            lines.append(f"if %here then {{\n%a{n} = atomic add {place}, {value} : i32\n}}")
        elif kind == "store":
            lines.append(f"store {place}, {value}")
        else:
            how = f"load {place}" if kind == "load" else f"binary {rng.choice(['add', 'sub', 'max'])} {value}, %k32"
            lines.append(f"%v{n} = {how} : i32")
            values.append(f"%v{n}")
    return "\n".join(lines)


def test_random_bodies() -> None:
    """They mean the same with and without the pass, which joins something in most of them."""
    count, some = draws(160), 0
    for seed in range(count):
        body, shape = body_of(random.Random(seed)), ("lanes=8", "lanes=4, vectors=2", "lanes=16")[seed % 3]
        alone, together = vectorized(body, shape), joined(vectorized(body, shape), (512, 256, 128)[seed % 3])
        some += print_ir(alone) != print_ir(together)
        agree(alone, together)
    assert some > count / 3
