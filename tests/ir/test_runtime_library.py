"""The run-time library, judged by the evaluator: under many schedules, with a memory that is weak."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from tests.runtime_library import CAPACITY, PROGRAMS, Program, functions_of
from weft.ir.adversary import Schedule
from weft.ir.config import CompileConfig
from weft.ir.core import Block, Builder
from weft.ir.errors import InternalError
from weft.ir.evaluate import evaluate
from weft.ir.memory_model import Fault, Memory
from weft.ir.ops import Const, FieldPtr, Invoke, Kernel
from weft.ir.parse import parse
from weft.ir.pipeline import TO_LOWERED, TO_TASKS, run_passes
from weft.ir.runtime_library.append_list import AppendList
from weft.ir.runtime_library.functions import lowered
from weft.ir.runtime_library.spin_locks import SpinLocks
from weft.ir.symbols import FieldSymbol
from weft.ir.text import print_ir
from weft.ir.types import i32, i64
from weft.ir.verify import verify

CONFIG = CompileConfig(fast_math=False)
SCHEDULES = tuple(Schedule(seed, weak) for seed in range(40) for weak in (False, True))
ITERATIONS = {"locks": 12, "locks that are tried": 12, "list": 20, "cleared list": 20}


def left(kernel: Kernel, functions: Sequence[Kernel], schedule: Schedule | None) -> dict[str, Any]:
    memory = Memory.of(kernel.fields)
    evaluate(kernel, [], memory, CONFIG, 50_000, functions, schedule)
    return {symbol.name: memory.read(symbol) for symbol in kernel.fields}


def holds(program: Program, iterations: int, functions: Sequence[Kernel] | None = None) -> bool:
    """Whether the program leaves what it must under all schedules."""
    kernel = program.kernel(iterations)
    made = functions_of(kernel) if functions is None else functions
    try:
        for schedule in (None, *SCHEDULES):
            program.check(left(kernel, made, schedule), iterations)
    except (AssertionError, Fault):
        return False
    return True


@pytest.mark.parametrize("name", PROGRAMS)
def test_under_schedules(name: str) -> None:
    program = PROGRAMS[name]
    kernel = program.kernel(ITERATIONS[name])
    verify(kernel, "chi")
    functions = functions_of(kernel)
    for function in functions:
        verify(function, "chi")
    for schedule in (None, *SCHEDULES):
        program.check(left(kernel, functions, schedule), ITERATIONS[name])


@pytest.mark.parametrize("name", PROGRAMS)
def test_as_lowered_code(name: str) -> None:
    program = PROGRAMS[name]
    kernel = program.kernel(ITERATIONS[name])
    functions = lowered(functions_of(kernel), CONFIG)
    for function in functions:
        verify(function, "lowered")
        assert "warn" not in print_ir(function), "indices of the library are not checked"
    code = run_passes(kernel, TO_TASKS + TO_LOWERED, CONFIG)
    for schedule in SCHEDULES[::4]:
        program.check(left(code, functions, schedule), ITERATIONS[name])


def test_what_finds_no_room_is_told() -> None:
    assert holds(PROGRAMS["list"], CAPACITY + 9)


def test_a_lock_that_nobody_gives_back_is_not_had_twice() -> None:
    program = PROGRAMS["locks"]
    body = program.body.replace("invoke function=locks_release, [%lock], touched=(words)", "")
    kernel = Program(body, program.check).kernel(8)
    with pytest.raises(Fault, match="too many loop iterations"):
        evaluate(kernel, [], Memory.of(kernel.fields), CONFIG, limit=1000, functions=functions_of(kernel))


# What each structure rests on: without it, some schedule breaks it.
WEAKER = {
    "a lock that does not acquire": ("locks", "locks_acquire", "order=acquire", "order=relaxed", 12),
    "a lock that does not release": ("locks", "locks_release", "order=release", "order=relaxed", 12),
    "a tried lock that does not acquire": (
        "locks that are tried",
        "locks_try_acquire",
        "order=acquire",
        "order=relaxed",
        12,
    ),
    "a lock that looks, then takes": (
        "locks",
        "locks_acquire",
        "%old = compare_exchange %word, %free, %taken, order=acquire : i32",
        "%old = atomic_load %word, order=acquire : i32\natomic_store %word, %taken",
        12,
    ),
    "a list that does not release": ("list", "list_append", "order=release", "order=relaxed", 20),
    "a list that does not acquire": ("list", "list_at", "order=acquire", "order=relaxed", 20),
    "a list that counts by load and store": (
        "list",
        "list_append",
        "%slot = atomic add %count, %one : i64",
        "%slot = atomic_load %count : i64\n%next = binary add %slot, %one : i64\natomic_store %count, %next",
        20,
    ),
    "a list without an end": ("list", "list_append", "binary lt %slot", "binary ge %slot", CAPACITY + 9),
}


@pytest.mark.parametrize("case", WEAKER)
def test_what_the_structures_rest_on(case: str) -> None:
    name, which, before, after, iterations = WEAKER[case]
    program = PROGRAMS[name]
    kernel = program.kernel(iterations)
    functions, changed = list[Kernel](), 0
    for function in functions_of(kernel):
        text = print_ir(function)
        if which == function.symbol and before in text:
            text, changed = text.replace(before, after), changed + 1
        made = parse(text)
        rebound(made, kernel.fields)
        verify(made, "chi")
        functions.append(made)
    assert changed
    found = True
    for schedule in (Schedule(seed, weak=True) for seed in range(400)):
        try:
            program.check(left(kernel, functions, schedule), iterations)
        except (AssertionError, Fault):
            found = False
            break
    assert not found, f"{case}: nobody notices"


def rebound(function: Kernel, fields: Sequence[FieldSymbol]) -> None:
    of = {symbol.name: symbol for symbol in fields}
    for op in function.walk():
        if isinstance(op, FieldPtr):
            op.field = of[op.field.name]
    function.fields = tuple(of[symbol.name] for symbol in function.fields)


# ---- how passes use it -----------------------------------------------------------------------------------------------


def test_calls_by_a_builder() -> None:
    kernel = PROGRAMS["list"].kernel(1)
    of = {symbol.name: symbol for symbol in kernel.fields}
    locks = SpinLocks("locks", of["words"])
    values = AppendList("list", of["count"], of["slots"])
    build = Builder(Block())
    index, word = build.add(Const(3, type=i64)), build.add(Const(7, type=i32))
    locks.acquire(build, index)
    assert str(locks.try_acquire(build, index).type) == "u1"
    slot = values.append(build, word)
    assert values.at(build, slot).type is i32
    assert {values.size(build).type, values.lost(build).type, slot.type} == {i64}
    values.clear(build)
    locks.release(build, index)
    made = Kernel("user", fields=kernel.fields, body=build.block)
    verify(made, "chi")
    defined = {function.symbol for function in functions_of(kernel)}
    assert {op.function for op in made.all_of(Invoke)} == defined
    memory = Memory.of(made.fields)
    evaluate(made, [], memory, CONFIG, functions=functions_of(kernel))
    assert memory.read(of["count"]) == 0
    assert not memory.read(of["words"]).any()


def test_functions_are_new_each_time() -> None:
    """Passes change them in place."""
    kernel = PROGRAMS["list"].kernel(1)
    locks = SpinLocks("locks", kernel.fields[0])
    first, second = locks.functions(), locks.functions()
    run_passes(first[1], TO_TASKS + TO_LOWERED, CONFIG)
    assert print_ir(locks.functions()[1]) == print_ir(second[1])


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda of: SpinLocks("a", of["count"]), "their words must be a field of i32 with one axis"),
        (lambda of: AppendList("a", of["slots"], of["slots"]), "its count must be a field of i64 without axes"),
        (lambda of: AppendList("a", of["count"], of["count"]), "words of 32 or 64 bits along one axis"),
    ],
)
def test_fields_of_other_kinds_are_refused(make: Any, message: str) -> None:
    of = {symbol.name: symbol for symbol in PROGRAMS["list"].kernel(1).fields}
    with pytest.raises(InternalError, match=message):
        make(of)
